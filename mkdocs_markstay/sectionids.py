"""The section id that an author writes at the end of a heading.

Two spellings, ``Title <#id>`` and ``Title {#id}``; the second is attr_list's and
may carry other attributes. This module reads one heading's text, as Python-Markdown
has it before inline markup is read. Every function takes linear time.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from slugify import slugify

from mkdocs_markstay.findings import printable

if TYPE_CHECKING:
    from collections.abc import Collection

MAX_LENGTH = 200
"""A section id is at most this many characters long."""

_PLAIN_ID = re.compile(r"\w[\w.:-]*")
_ATTRIBUTE = re.compile(
    r"""[ \t]+
    | (?P<key>[^\s"'={}]+)=(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)'|(?P<bare>[^\s"'={}]+))
    | (?P<word>[^\s"'={}]+)""",
    re.VERBOSE,
)
# Attributes that are written without a value. Any other bare word beside an id
# is far more likely the second half of an id with a space in it.
_VALUELESS = re.compile(r"(?:data|aria)-[\w.-]+|hidden|inert|itemscope|markdown|popover|translate")
_MISPLACED = re.compile(r"\{:?[ \t]*#[^{}]*\}|<#[^<>]*>")
_UNCLOSED = re.compile(r"[ \t]+(?P<token>(?:<|\{:?[ \t]*)#(?P<id>[\w.:-]*))[ \t]*$")
_BACKTICKS = re.compile(r"`+")
# How many opening braces are tried for one closing brace: more than one is
# needed only where a quoted value holds braces.
_BRACES_TRIED = 8
# How many ids and attribute lists at the end of one heading are told apart.
_TOKENS_READ = 8
_SPACED_BRACE = re.compile(r"[ \t]\{")
# `}` in the form in which Python-Markdown keeps an escaped character.
_LITERAL_BRACE = "\x02125\x03"


@dataclass(frozen=True)
class Problem:
    """What is wrong with the id of a heading: a finding code, and a sentence part.

    ``below``: the id stands on the line below the heading.
    """

    code: str
    message: str
    below: bool = False


class HeadingText(NamedTuple):
    """A heading's text, read.

    ``text`` is what is left for the renderer: the id is taken out, ``attributes``
    (other attributes, in braces) stay at the end. ``title`` is what the author wrote
    before the id and the attributes.
    ``section_id`` is the id as written, if there is exactly one and nothing is wrong with it.
    ``wanted`` is the id that the author seems to have meant where something is wrong.
    """

    text: str
    title: str
    attributes: str = ""
    section_id: str | None = None
    problem: Problem | None = None
    wanted: str = ""


@dataclass(frozen=True)
class _Token:
    start: int
    ids: tuple[str, ...]
    attributes: str
    brace: bool
    stray: str = ""


def read_heading(raw: str) -> HeadingText:
    """Read the text of one heading and take the section id out of it."""
    if "{" not in raw and "<" not in raw:
        return HeadingText(raw, raw)
    tokens, rest = _read_tail(raw)
    ids = [section_id for token in reversed(tokens) for section_id in token.ids]
    attributes = " ".join(token.attributes for token in reversed(tokens) if token.attributes)
    if not ids:
        return _without_id(raw)
    title = rest
    text = _unescape_angles(rest)
    if attributes:
        text = f"{text} {attributes}"
    elif text.endswith("}") and _SPACED_BRACE.search(text) and not _escaped(text, len(text) - 1):
        # Without the id at the end, attr_list would now take these braces for the heading's.
        # Glued to what they belong to (a link, an image) they are that element's.
        text = text[:-1] + _LITERAL_BRACE
    stray = next((token.stray for token in tokens if token.stray), "")
    if stray:
        # The spelling is not where an id can stand, so it stays visible.
        misplaced = Problem("misplaced-id", stray)
        return HeadingText(raw, title, attributes, None, misplaced, ids[0])
    in_braces = [token.brace for token in tokens if token.ids]
    other = _misplaced(rest, spaced=True)
    if other is not None:
        ids.append(_token_id(other[0]))
    problem: Problem | None
    if len(ids) > 1:
        problem = Problem("two-ids", f"has {len(ids)} ids: {', '.join(map(show, ids[:3]))}")
    else:
        problem = check_id(ids[0]) or (_check_mangled(ids[0]) if in_braces[0] else None)
    if problem is None:
        return HeadingText(text, title, attributes, ids[0])
    if in_braces == [True] and problem.code in ("malformed-id", "two-ids"):
        # attr_list reads it in its own way: another plugin that wrote it may need that.
        text = raw
    return HeadingText(text, title, attributes, None, problem, ids[0])


def check_id(section_id: str) -> Problem | None:
    """Say what keeps ``section_id`` from being a section id, or None if it is one."""
    if not section_id:
        return Problem("empty-id", "has an empty id")
    if len(section_id) > MAX_LENGTH:
        size = len(section_id)
        return Problem(
            "malformed-id",
            f"has an id of {size} characters ({show(section_id)}); {MAX_LENGTH} are allowed",
        )
    if _PLAIN_ID.fullmatch(section_id):
        return None
    wrong = ""
    if not (section_id[0] == "_" or section_id[0].isalnum()):
        wrong = "it must start with a letter, a digit or '_'"
    else:
        # Combining marks are parts of letters in many scripts.
        odd = (
            char
            for char in section_id
            if not (char.isalnum() or char in "-_.:" or unicodedata.category(char) in ("Mn", "Mc"))
        )
        char = next(odd, "")
        wrong = "white space in it" if char.isspace() else f"{show(char)} in it" if char else ""
    if not wrong:
        return None
    return Problem("malformed-id", f"has the malformed id {show(section_id)}: {wrong}")


def propose_id(title: str, taken: Collection[str]) -> str:
    """Propose a section id for ``title`` that is not in ``taken``."""
    base = slugify(title, max_length=60, word_boundary=True) or "section"
    proposed, number = base, 1
    while proposed in taken:
        number += 1
        proposed = f"{base}-{number}"
    return proposed


def same_id_key(section_id: str) -> str:
    """Return a key that is equal for ids that people take for the same."""
    return unicodedata.normalize("NFC", section_id.casefold())


def show(text: str) -> str:
    """Quote ``text`` for a message: one line, nothing invisible or overlong in it."""
    if len(text) > 60:
        text = text[:57] + "..."
    return f"'{printable(text)}'"


def _read_tail(raw: str) -> tuple[list[_Token], str]:
    """Take ids and attribute lists off the end; the last one comes first in the list."""
    tokens: list[_Token] = []
    rest = raw.rstrip(" \t")
    while len(tokens) < _TOKENS_READ:
        if rest.endswith("#"):
            open_end = rest.rstrip("#")
            closed = open_end.rstrip(" \t")
            if closed == open_end or not (tokens or closed.endswith((">", "}"))):
                break
            rest = closed
        token = _last_token(rest)
        if token is None:
            break
        tokens.append(token)
        rest = rest[: token.start].rstrip(" \t")
        if token.stray:
            break
    return tokens, rest


def _last_token(text: str) -> _Token | None:
    if text.endswith(">"):
        start = text.rfind("<")
        if start < 0 or text[start + 1 : start + 2] != "#" or _escaped(text, start):
            return None
        stray = _stray(text, start)
        return _Token(start, (text[start + 2 : -1],), "", brace=False, stray=stray)
    if text.endswith("}"):
        start = len(text)
        for _ in range(_BRACES_TRIED):
            start = text.rfind("{", 0, start)
            if start < 0:
                return None
            token = _read_braces(text, start)
            if token is not None:
                return None if _escaped(text, start) else token
    return None


def _read_braces(text: str, start: int) -> _Token | None:
    inner = text[start + 1 : -1].removeprefix(":")
    ids: list[str] = []
    others: list[str] = []
    words = False
    position = 0
    while position < len(inner):
        match = _ATTRIBUTE.match(inner, position)
        if match is None:
            return None
        position = match.end()
        word, key = match["word"], match["key"]
        if word is not None and word.startswith("#"):
            ids.append(word[1:])
        elif key == "id":
            ids.append(next(v for v in match.group("double", "single", "bare") if v is not None))
        elif word is not None or key is not None:
            others.append(match[0])
            words = words or not (
                word is None or word.startswith(".") or _VALUELESS.fullmatch(word)
            )
    if not ids:
        if words or not others or not _spaced(text, start):
            return None
        return _Token(start, (), "{" + " ".join(others) + "}", brace=True)
    if words:
        # `{#a b}`: the whole is the id that was meant.
        ids = [inner.strip().removeprefix("#").strip()]
        others = []
    attributes = "{" + " ".join(others) + "}" if others else ""
    return _Token(start, tuple(ids), attributes, brace=True, stray=_stray(text, start))


def _spaced(text: str, start: int) -> bool:
    return start == 0 or text[start - 1] in " \t"


def _stray(text: str, start: int) -> str:
    if _spaced(text, start):
        return ""
    if text[start - 1].isspace():
        name = unicodedata.name(text[start - 1], "control character").lower()
        article = "an" if name[0] in "aeiou" else "a"
        return f"has {show(text[start:])} after {article} {name}; a plain space must stand there"
    return f"has {show(text[start:])} glued to its text; a space must stand before it"


def _escaped(text: str, start: int) -> bool:
    first = start
    while first and text[first - 1] == "\\":
        first -= 1
    return (start - first) % 2 == 1


def _without_id(raw: str) -> HeadingText:
    text = _unescape_angles(raw)
    match = _misplaced(raw, spaced=False)
    if match is None:
        unclosed = _UNCLOSED.search(raw)
        if unclosed is None or _escaped(raw, unclosed.start("token")):
            return HeadingText(text, raw)
        title, token = raw[: unclosed.start()], unclosed["token"]
        problem = Problem("malformed-id", f"has {show(token)} at its end, which is not closed")
        return HeadingText(text, title, "", None, problem, unclosed["id"])
    token = match[0]
    title = raw.replace(token, " ", 1)
    title = " ".join(title.split()).replace(" .", ".")
    problem = Problem("misplaced-id", f"has {show(token)} in its text, where it is no id")
    return HeadingText(text, title, "", None, problem, _token_id(token))


def _misplaced(raw: str, *, spaced: bool) -> re.Match[str] | None:
    """Find what is spelled like an id in the text of a heading; ``spaced``: between spaces."""
    if "#" not in raw:
        return None
    text = _without_code(raw)
    for match in _MISPLACED.finditer(text):
        start, end = match.span()
        before, after = text[max(start - 1, 0) : start], text[end : end + 1]
        if spaced and not (before in " \t" and after in " \t"):
            continue
        if not _inside(text, match.start()):
            return match
    return None


def _token_id(token: str) -> str:
    return token.strip("{}<>: \t").removeprefix("#").split(" ")[0]


def _inside(text: str, start: int) -> bool:
    """Whether the id at ``start`` is escaped, a link's target or part of a formula."""
    return _escaped(text, start) or (start > 0 and text[start - 1] in "(_^$")


def _without_code(raw: str) -> str:
    """Blank out code spans, keeping the length."""
    if "`" not in raw:
        return raw
    runs = list(_BACKTICKS.finditer(raw))
    following: dict[int, int] = {}
    closing: list[int | None] = [None] * len(runs)
    for index in range(len(runs) - 1, -1, -1):
        size = len(runs[index][0])
        closing[index] = following.get(size)
        following[size] = index
    parts: list[str] = []
    position = index = 0
    while index < len(runs):
        end = closing[index]
        if end is None:
            index += 1
            continue
        parts += [raw[position : runs[index].start()], " "]
        parts.append(" " * (runs[end].end() - runs[index].start() - 1))
        position = runs[end].end()
        index = end + 1
    parts.append(raw[position:])
    return "".join(parts)


def _unescape_angles(text: str) -> str:
    r"""Let `\<#` show as `<#`, in the form in which Python-Markdown keeps escaped characters."""
    if "\\<#" not in text:
        return text
    return re.sub(r"(?<!\\)((?:\\\\)*)\\<#", "\\1\x0260\x03#", text)


def _check_mangled(section_id: str) -> Problem | None:
    """Find ids whose braces Python-Markdown alone would read as emphasis."""
    core = section_id.strip("_")
    if core and section_id.startswith("_") and section_id.endswith("_"):
        return Problem(
            "mangled-id",
            f"has the id {show(section_id)} in braces, which Markdown without this plugin reads"
            " as emphasis",
        )
    return None
