"""The words of a Markdown page, and those of them that nobody spells so.

Code, ids, addresses and what stands in angle brackets are no words.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from spellchecker import SpellChecker

WORDS = Path(__file__).parent / "docs" / "words.txt"

_FENCE = re.compile(r"^( *)(`{3,}).*?^\1\2$", re.MULTILINE | re.DOTALL)
_FRONT_MATTER = re.compile(r"\A---\n.*?^---\n", re.MULTILINE | re.DOTALL)
_NO_WORDS = re.compile(
    r"`+[^`]*`+"  # code
    r"|\]\([^)]*\)"  # where a link leads
    r"|\]\[[^\]]*\]"
    r"|<[^>\n]*>|\{[^}\n]*\}"  # ids, attributes and HTML
    r"|^::: .*$(?:\n    .*)*"  # what is generated
    r"|https?://\S+"
    r"|[\w.~-]*[/_@\\][\w./@\\-]*|\bmkdocs-[\w-]+"  # paths and names
    r"|--[\w-]+",
    re.MULTILINE,
)
_WORD = re.compile(r"[A-Za-z]+(?:['’][A-Za-z]+)*")

# The dictionary has both: these are not the British ones.
_AMERICAN = re.compile(
    r"(?:behavior|center|color|favor|gray|honor|labor|neighbor)\w*|licens(?:e[ds]?|ing)"
    r"|(?:analo|catalo|dialo)gs?|\w+(?:iz|yz)(?:e[drs]?|ing|ations?)",
    re.IGNORECASE,
)
_NOT_AMERICAN = {"prize", "seize", "size", "sized", "sizes"}


@cache
def _dictionary() -> SpellChecker:
    checker = SpellChecker(language="en")
    lines = WORDS.read_text("utf-8").splitlines()
    checker.word_frequency.load_words([line for line in lines if not line.startswith("#")])
    return checker


def own_words() -> list[str]:
    """List the words that the project added to the dictionary, in their order."""
    return [line for line in WORDS.read_text("utf-8").splitlines() if not line.startswith("#")]


def list_words(text: str) -> list[tuple[int, str]]:
    """List the words of a page, each with its line, counted from 1."""

    def blank(found: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", found[0])

    for pattern in (_FRONT_MATTER, _FENCE, _NO_WORDS):
        text = pattern.sub(blank, text)
    return [
        (number, word)
        for number, line in enumerate(text.split("\n"), 1)
        for word in _WORD.findall(line)
    ]


def find_misspelled(text: str) -> list[tuple[int, str]]:
    """Find the words of a page that are in no dictionary, or not British."""
    words = list_words(text)
    known = _dictionary().known({_plain(word) for _, word in words})
    return [
        (number, word)
        for number, word in words
        if len(word) > 1 and (_plain(word) not in known or _is_american(_plain(word)))
    ]


def _plain(word: str) -> str:
    """Give a word as a dictionary has it: without the ending of a genitive."""
    return word.lower().replace("’", "'").removesuffix("'s")


def _is_american(word: str) -> bool:
    return word not in _NOT_AMERICAN and _AMERICAN.fullmatch(word) is not None
