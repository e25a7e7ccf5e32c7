"""What translators keep of a heading and of the text below it.

Names in code, numbers, acronyms, emoji, link targets, and the number of blocks of the text.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from html import unescape
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mkdocs_markstay.outlines import OutlineHeading

_LATIN = "0-9A-Za-z_\u00c0-\u024f\u1e00-\u1eff"
_WORD = re.compile(rf"[{_LATIN}]+(?:\.[{_LATIN}]+)*")
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)*")
_ACRONYM = re.compile(r"[A-Z]{2,}s?")
# Words that are spelled like names in code: FastAPI, utf8, response_model, node.js.
_NAME = re.compile(r"[a-z][A-Z]|[A-Za-z][0-9]|[^_]_+[^_]|\w\w\.\w\w")
_BACKTICKS = re.compile(r"(`+)")
_TAG = re.compile(r"<[^<>]*>")
_TARGET = re.compile(r"\]\(<?([^()\s<>]+)")

# Of all letters in the titles of a page, the part that shows that its script is not Latin.
_FOREIGN = 0.1
# What stands below more headings than this tells none of them from the others.
_COMMON = 50


class Side:
    """One of two outlines that are compared, with what its headings keep in a translation.

    ``marks`` are those of the titles; ``bodies`` the texts below, None where that is not
    known. ``foreign``: its script is not Latin, so its words in Latin letters are names.
    """

    def __init__(self, outline: Sequence[OutlineHeading], texts: Mapping[str, str]) -> None:
        self.outline = outline
        self.marks = [_read_marks(heading.title) for heading in outline]
        self.bodies = _without_common(_read_bodies(outline, texts))
        letters = [char for heading in outline for char in heading.title if char.isalpha()]
        foreign = sum(not _WORD.match(char) for char in letters)
        self.foreign = foreign > _FOREIGN * len(letters)

    def names(self, number: int) -> frozenset[str]:
        """Give the words of a title that the other one must have, too."""
        marks = self.marks[number]
        return marks.names | marks.latin if self.foreign else marks.names

    def telling(self, number: int) -> frozenset[str]:
        """Give what of a title can tell it from others."""
        marks = self.marks[number]
        numbers = frozenset(each for each in marks.numbers if len(each) > 1)
        return self.names(number) | marks.acronyms | numbers | marks.emoji | marks.targets


def _read_bodies(outline: Sequence[OutlineHeading], texts: Mapping[str, str]) -> list[Body | None]:
    """Read the text below each heading, as far as it is known."""
    lines = {path: text.split("\n") for path, text in texts.items()}
    begins: dict[str, list[int]] = {}
    for heading in outline:
        begins.setdefault(heading.path, []).append(heading.line)
    for each in begins.values():
        each.sort()
    bodies: list[Body | None] = []
    for heading in outline:
        if heading.path not in lines:
            bodies.append(None)
            continue
        others = begins[heading.path]
        following = bisect_left(others, heading.line + 1)
        end = others[following] - 1 if following < len(others) else None
        below = lines[heading.path][heading.line : end]
        if below and not below[0].strip("=- \t>"):
            del below[0]
        bodies.append(_read_body(below))
    return bodies


class Marks(NamedTuple):
    """What of a title a translation keeps.

    ``words`` are all words in Latin letters, and all numbers; ``names`` are those that
    are spelled like names in code, or stand in it.
    """

    words: frozenset[str]
    names: frozenset[str]
    acronyms: frozenset[str]
    latin: frozenset[str]
    numbers: frozenset[str]
    emoji: frozenset[str]
    targets: frozenset[str]

    @property
    def all(self) -> frozenset[str]:
        """All that can be the same in another title."""
        return self.words | self.emoji | self.targets


class Body(NamedTuple):
    """What of the text below a heading a translation keeps: words, targets, number of blocks."""

    kept: frozenset[str]
    blocks: int


def _stem(word: str) -> str:
    """Let a word be the same in the plural, and between underscores of emphasis."""
    word = word.strip("_").casefold()
    stem = word.rstrip("es")
    return stem if len(stem) > 1 else word.rstrip("s")


def _stems(words: Iterable[str]) -> frozenset[str]:
    return frozenset(stem for word in words if len(stem := _stem(word)) > 1)


def _is_name(word: str) -> bool:
    return _NAME.search(word.strip("_")) is not None


def _read_marks(title: str) -> Marks:
    plain, code = _split_code(unicodedata.normalize("NFKC", title))
    targets = frozenset(_TARGET.findall(plain))
    plain = unescape(_TAG.sub(" ", _TARGET.sub("]", plain)))
    in_code = _WORD.findall(code)
    words = _WORD.findall(plain) + in_code
    numbers = frozenset(word for word in words if _NUMBER.fullmatch(word))
    latin = _stems(word for word in words if word not in numbers)
    names = latin & (_stems(filter(_is_name, words)) | _stems(in_code))
    # In a title in capitals they are words.
    shouted = not any(char.islower() for char in plain)
    acronyms = () if shouted else (word for word in words if _ACRONYM.fullmatch(word))
    return Marks(
        latin | numbers,
        names,
        _stems(acronyms) - names,
        latin,
        numbers,
        frozenset(char for char in plain if unicodedata.category(char) == "So"),
        targets,
    )


def _read_body(lines: Sequence[str]) -> Body:
    lines = [line.strip() for line in lines]
    blocks = sum(1 for above, line in pairwise(["", *lines]) if line and not above)
    plain, code = _split_code(unicodedata.normalize("NFKC", "\n".join(lines)))
    kept = _stems(filter(_is_name, _WORD.findall(plain))) | _stems(_WORD.findall(code))
    kept |= frozenset(_TARGET.findall(plain))
    return Body(kept, blocks)


def _split_code(text: str) -> tuple[str, str]:
    """Split a text into what stands outside and what inside of code spans."""
    plain: list[str] = []
    code: list[str] = []
    for line in text.split("\n"):
        parts = _BACKTICKS.split(line)
        closing: dict[str, list[int]] = {}
        for index in range(len(parts) - 2, 0, -2):
            closing.setdefault(parts[index], []).append(index)
        index = 0
        while index < len(parts):
            if index % 2 == 0:
                plain.append(parts[index])
                index += 1
                continue
            ends = closing[parts[index]]
            while ends and ends[-1] <= index:
                ends.pop()
            if ends:
                code.append("".join(parts[index + 1 : ends[-1]]))
                index = ends[-1]
            index += 1
    return " ".join(plain), " ".join(code)


def _without_common(bodies: Sequence[Body | None]) -> list[Body | None]:
    """Leave out what stands below so many headings that it tells none from the others."""
    counts = Counter(mark for body in bodies if body for mark in body.kept)
    common = {mark for mark, count in counts.items() if count > _COMMON}
    if not common:
        return list(bodies)
    return [body and body._replace(kept=body.kept - common) for body in bodies]
