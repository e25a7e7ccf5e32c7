"""The links of a Markdown text: where their destinations stand, and what may be put there.

What is a link is decided by the renderer. This module only collects what could be the
destination of one; it never decides that something is a link.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from html import unescape
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from mkdocs_markstay.edits import LineChangedError, stamp_text
from mkdocs_markstay.page_source import split_front_matter

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_INLINE = re.compile(r"\]\(\s*")
# What may stand before a definition: quotes, list items, footnotes, admonitions.
_ANGLE = re.compile(r"<[ \t]*([^<>\n]*?)[ \t]*>")
_TITLE = re.compile(r"([\"']).*?\1\s*\)")
_DEFINITION = re.compile(
    r"""^[ \t>*+:.)\d-]*\[(?!\^)[^\[\]\n]*\]:[ \t]*(?:\n[ \t>]*)?
    (?:<([^<>\s]+)>|([^\s<\[]\S*))""",
    re.MULTILINE | re.VERBOSE,
)
_ATTRIBUTE = re.compile(
    r"""(?<![\w-])(?:href|src)[ \t]*=[ \t]*(?:"([^"\n]*)"|'([^'\n]*)'|([^\s"'<>`}]+))""",
    re.IGNORECASE,
)
_URL = re.compile(r"https?://[^\s<>\"'`]+", re.IGNORECASE)
_AFTER_URL = ".,;:!?)]}*_"
# No destination is longer. Without a limit, a line of brackets would take long.
_LONGEST = 2000
_LINE_END = re.compile(r"\r\n|\n|\r")
_LONE_RETURN = re.compile(r"\r(?!\n)")
# A number sign that begins a fragment, and no character reference.
_FRAGMENT = re.compile(r"(?<!&)#")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_BOM = b"\xef\xbb\xbf"


class Destination(NamedTuple):
    """What could be the destination of a link: ``text`` in a line (from 0), from ``column`` on.

    ``syntax`` is "inline", "angle" (in angle brackets), "definition", "html", or "url" for
    an address that is its own text.
    """

    line: int
    column: int
    text: str
    syntax: str

    @property
    def path(self) -> str:
        """What stands before query and fragment, as it is meant."""
        return self.plain(self._before.split("?", 1)[0])

    @property
    def query(self) -> str:
        """The query with its question mark, as written."""
        _, mark, query = self._before.partition("?")
        return mark + query

    @property
    def fragment(self) -> str:
        """What stands behind the number sign, as it is meant."""
        return self.plain(self.written_fragment)

    @property
    def written_fragment(self) -> str:
        """What stands behind the number sign, as written."""
        return self.text[len(self._before) + 1 :]

    @property
    def written_path(self) -> str:
        """What stands before query and fragment, as written."""
        return self._before.split("?", 1)[0]

    @property
    def is_absolute(self) -> bool:
        """Whether it means the same in every page."""
        return self.path.startswith("/") or "://" in self.path

    @property
    def meant(self) -> str:
        """The destination without the escapes of Markdown and HTML; percent signs stay."""
        text = self.text
        if self.syntax != "html":
            text = _ESCAPED.sub(r"\1", text)
        return unescape(text)

    def plain(self, part: str) -> str:
        """Read a part of the destination: escapes, character references, percent signs."""
        return unquote(self._replace(text=part).meant)

    def with_fragment(self, fragment: str) -> str:
        """Give the destination, as it is written, with another fragment."""
        return f"{self._before}#{fragment}" if fragment else self._before

    @property
    def _before(self) -> str:
        mark = _FRAGMENT.search(self.text)
        return self.text[: mark.start()] if mark else self.text


@dataclass(frozen=True)
class Change:
    """A destination that is to be replaced: ``old`` in a line (from 0), from ``column`` on."""

    line: int
    column: int
    old: str
    new: str


def find_destinations(text: str) -> list[Destination]:
    r"""Collect all that could be the destination of a link in a text, in order.

    Lines end in `\n`, `\r\n` or `\r`. Front matter is left out.
    """
    # Offsets stay.
    flat = _LONE_RETURN.sub("\n", text).replace("\r", " ")
    begin = len(split_front_matter(flat)[0])
    starts = [0, *(match.end() for match in _LINE_END.finditer(text))]
    taken: dict[int, tuple[int, str]] = {}
    last = begin
    for start, end, syntax in sorted(_find_spans(flat, begin), key=_order):
        if start >= last and end > start:
            taken[start] = (end, syntax)
            last = end
    found = []
    for start, (end, syntax) in taken.items():
        line = bisect_right(starts, start) - 1
        found.append(Destination(line, start - starts[line], text[start:end], syntax))
    return found


def _order(span: tuple[int, int, str]) -> tuple[int, bool, int]:
    # An address may be the destination of another kind of link.
    return span[0], span[2] == "url", -span[1]


def _find_spans(text: str, begin: int) -> Iterator[tuple[int, int, str]]:
    for match in _INLINE.finditer(text, begin):
        yield _read_inline(text, match.end())
    for match in _DEFINITION.finditer(text, begin):
        angle = match[1] is not None
        yield (*match.span(1 if angle else 2), "angle" if angle else "definition")
    for match in _ATTRIBUTE.finditer(text, begin):
        yield (*match.span(next(n for n in (1, 2, 3) if match[n] is not None)), "html")
    for match in _URL.finditer(text, begin):
        yield match.start(), match.start() + len(match[0].rstrip(_AFTER_URL)), "url"


def _read_inline(text: str, start: int) -> tuple[int, int, str]:
    """Read the destination of an inline link, which may have spaces and balanced brackets."""
    angle = _ANGLE.match(text, start, start + _LONGEST)
    if angle:
        return (*angle.span(1), "angle")
    depth, end = 1, start
    limit = min(len(text), start + _LONGEST)
    may_end_in_title = True
    while end < limit and text[end] != "\n":
        char = text[end]
        if char == "\\" and text[end + 1 : end + 2] != "\n":
            end += 1
        elif char == "(":
            if text[end - 1] == "]":  # the destination of another link
                return start, start, "inline"
            depth += 1
        elif char == ")":
            depth -= 1
            if not depth:
                break
        elif may_end_in_title and char in "\"'" and text[end - 1] in " \t":
            if _TITLE.match(text, end, limit):
                break
            may_end_in_title = False
        end += 1
    return start, start + len(text[start : min(end, limit)].rstrip()), "inline"


def rewrite(raw: bytes, changes: Iterable[Change]) -> bytes:
    """Replace destinations in a file's content, in UTF-8; every other byte stays.

    Raises LineChangedError where an old one does not stand in its place.
    """
    lines = _LINE_END.split(raw.removeprefix(_BOM).decode())
    edits: dict[int, tuple[str, str]] = {}
    # From the end of a line, so that columns stay.
    for change in sorted(changes, key=lambda change: -change.column):
        old = lines[change.line] if change.line < len(lines) else ""
        first, line = edits.get(change.line, (old, old))
        end = change.column + len(change.old)
        if line[change.column : end] != change.old:
            raise LineChangedError(change.line, old)
        edits[change.line] = (first, line[: change.column] + change.new + line[end:])
    return stamp_text(raw, edits)
