"""The headings of one page: what was published, who wrote it, and where.

Joins three views of the same headings: the record of the Markdown conversion, the
HTML that came out of it, and the source file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from html import unescape
from typing import TYPE_CHECKING, NamedTuple

from selectolax.lexbor import LexborHTMLParser

from mkdocs_markstay.includes import IncludedFiles, find_directives
from mkdocs_markstay.locate import align, find_candidates, heading_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mkdocs_markstay.conversion import Conversion
    from mkdocs_markstay.includes import Directive
    from mkdocs_markstay.locate import Candidate
    from mkdocs_markstay.marks import BuildingMarks
    from mkdocs_markstay.page_source import Source
    from mkdocs_markstay.sectionids import HeadingText

_TAG = re.compile(r"<h([1-6])\b([^>]*)>", re.IGNORECASE)
_HAS_TAG = re.compile(r"<h[1-6]", re.IGNORECASE).search
_UNFINISHED = re.compile(r"<h([1-6])\b[^<>]*\Z", re.IGNORECASE)
_ID = re.compile(r'(?<![\w-])id="([^"]*)"')
_MACRO = re.compile(r"\{\{[^{}\n]*\}\}|\{%[^{}\n]*%\}")
# With more macros, or in a longer title, the search would take long.
_MACROS_IN_LINE = 4
_LONG_TITLE = 300
_HAS_WORD = re.compile(r"\w").search
_ALL = "h1,h2,h3,h4,h5,h6"

_HIDDEN = '[hidden], [style*="display:none"], [style*="display: none"]'

GENERATED = ".mkdocstrings, .doc-heading, .jp-Notebook"
"""Selectors of what a tool puts into a page: nobody can write ids into headings there."""


class Place(NamedTuple):
    """A line that a person can open, counted from 1.

    ``via`` is the line that pulled in the text, for a line in an included file.
    """

    path: str
    line: int
    via: Place | None = None

    def __str__(self) -> str:
        """Give the place as `path:line`."""
        return f"{self.path}:{self.line}"


@dataclass(slots=True)
class Heading:
    """One heading of a page as published.

    ``published_id`` is its anchor, ``explicit`` whether somebody or some tool gave
    it that on purpose (else it was made from the text), ``authored`` whether a person
    wrote the heading. ``title`` is its text, as in the source without the id,
    ``source_text`` with it; ``written`` and ``number`` are there for headings in
    Markdown: the text, read, and its number in the conversion. ``found`` is its line
    in the source, None if that is not known for certain; ``line`` is the line in the
    page's file (from 1), ``place`` the one to open. ``secret``: readers do not see it, so its
    text stands in no message, cache or baseline. ``filled_in``: a macro makes it of its line.
    """

    level: int
    published_id: str
    title: str
    explicit: bool
    authored: bool = True
    source_text: str = ""
    written: HeadingText | None = None
    number: int | None = None
    found: Candidate | None = None
    line: int = 1
    place: Place = Place("", 1)
    secret: bool = False
    filled_in: bool = False

    @property
    def told(self) -> str:
        """Its title, as far as it may be repeated."""
        return "" if self.secret else self.title


def read_headings(
    content: str, marks: BuildingMarks, conversion: Conversion | None, source: Source
) -> list[Heading]:
    """Read the headings of a page's content, ``marks`` still in it, in document order.

    ``conversion`` is None where the page was not made by Python-Markdown (a notebook).
    """
    tags = [(match, marks.find_number(match[2])) for match in _TAG.finditer(content)]
    if conversion is None or any(number is None for _, number in tags):
        headings = _parse(content, marks, conversion)
    else:
        headings = [
            _marked(int(match[1]), _attribute_id(match[2]), number, conversion)
            for match, number in tags
            if number is not None
        ]
    if content.rfind("<") > content.rfind(">") and (match := _UNFINISHED.search(content)):
        # The theme's next tag will finish this one.
        headings.append(Heading(int(match[1]), "", "", explicit=False))
    if "hidden" in content or "display" in content:
        hidden = _find_hidden(content)
        for heading in headings:
            heading.secret = heading.published_id in hidden
    if conversion is not None:
        _locate(headings, conversion, source)
    else:
        for heading in headings:
            heading.place = Place(source.path, 1)
    return headings


def _find_hidden(content: str) -> set[str]:
    """Find the ids of headings that are not shown, or stand in what is not shown."""
    tree = LexborHTMLParser(f"<!DOCTYPE html><body>{content}")
    hidden = (node for outer in tree.css(_HIDDEN) for node in (outer, *outer.css(_ALL)))
    return {node.attributes.get("id") or "" for node in hidden if node.tag in _ALL.split(",")}


def _attribute_id(attributes: str) -> str:
    match = _ID.search(attributes)
    return unescape(match[1]) if match else ""


def _marked(level: int, published_id: str, number: int, conversion: Conversion) -> Heading:
    made = conversion.headings[number]
    title = made.written.title
    return Heading(level, published_id, title, made.explicit, True, made.raw, made.written, number)


def _parse(content: str, marks: BuildingMarks, conversion: Conversion | None) -> list[Heading]:
    """Read headings with a parser: some of them are raw HTML, or come from another tool."""
    tree = LexborHTMLParser(f"<!DOCTYPE html><body>{content}")
    generated = {
        heading.mem_id
        for container in tree.css(GENERATED)
        for heading in (container, *container.css(_ALL))
    }
    headings = []
    for node in tree.css(_ALL):
        attributes = node.attributes
        level, published_id = int((node.tag or "h1")[1]), attributes.get("id") or ""
        number = attributes.get(marks.number)
        if number and conversion is not None:
            headings.append(_marked(level, published_id, int(number), conversion))
            continue
        title = " ".join(node.text(deep=True).split())
        slug = marks.slug in attributes
        authored = not slug and conversion is not None and node.mem_id not in generated
        explicit = bool(published_id) and not slug
        headings.append(Heading(level, published_id, title, explicit, authored, title))
    return headings


# -- lines


def _locate(headings: list[Heading], conversion: Conversion, source: Source) -> None:
    lines = source.body.split("\n")
    candidates = find_candidates(source.body)
    _claim_raw(headings, candidates)
    found = _find_marked(headings, conversion, candidates)
    found |= _find_raw(headings, candidates)
    at = {candidate.line: candidate for candidate in candidates}
    taken = set(found.values())
    free = [c for c in candidates if c.doubt < 2 and c.line not in taken]
    pulled = _Pulled(source, lines, free)
    # For each heading, the line of the next one that was found.
    following = [len(lines)]
    for index in range(len(headings) - 1, -1, -1):
        following.append(found.get(index, following[-1]))
    following.reverse()
    previous = 0
    for index, heading in enumerate(headings):
        if index in found:
            line = found[index]
            heading.found = at[line]
        elif heading.authored:
            line = pulled.find(heading, previous, max(following[index], previous))
        else:
            line = previous
        heading.line = line + source.offset + 1
        if not heading.place.path:
            heading.place = Place(source.path, heading.line)
        previous = max(previous, line)


def _claim_raw(headings: list[Heading], candidates: Sequence[Candidate]) -> None:
    """Give headings that stand as HTML in the file to their author, wherever they stand."""
    raw = {
        (candidate.level, candidate.text) for candidate in candidates if candidate.sign[:1] == "<"
    }
    for heading in headings:
        if heading.number is None and (heading.level, heading_key(heading.title)) in raw:
            heading.authored = True


def _find_marked(
    headings: list[Heading], conversion: Conversion, candidates: Sequence[Candidate]
) -> dict[int, int]:
    """Find the lines of headings that Markdown made: index of the heading -> line."""
    index_of = {
        heading.number: index
        for index, heading in enumerate(headings)
        if heading.number is not None
    }
    found: dict[int, int] = {}
    for part in (conversion.lines, conversion.notes):
        lines = [
            (heading_key(text), number)
            for text, number in part
            if number is None or number in index_of
        ]
        levels = [
            headings[index_of[number]].level if number is not None else 0 for _, number in lines
        ]
        taken = set(found.values())
        # Text in the tag of a heading may be Markdown (`<h2 markdown>`), but rarely is.
        places = [
            candidate._replace(doubt=2) if candidate.sign[:1] == "<" else candidate
            for candidate in candidates
            if candidate.line not in taken
        ]
        locations = align([key for key, _ in lines], places, levels)
        found |= {
            index_of[number]: location.line
            for (_, number), location in zip(lines, locations, strict=True)
            if number is not None and location is not None
        }
    return found


def _find_raw(headings: list[Heading], candidates: Sequence[Candidate]) -> dict[int, int]:
    """Find the lines of headings written as HTML."""
    raw = [
        index
        for index, heading in enumerate(headings)
        if heading.number is None and heading.authored
    ]
    if not raw:
        return {}
    places = [candidate for candidate in candidates if candidate.sign.startswith("<")]
    keys = [heading_key(headings[index].title) for index in raw]
    locations = align(keys, places, [headings[index].level for index in raw])
    return {
        index: location.line
        for index, location in zip(raw, locations, strict=True)
        if location is not None
    }


def fill_in(text: str) -> re.Pattern[str] | None:
    """Make a pattern of what macros can make of a text; None if there are none, or too many."""
    words = _MACRO.split(text)
    if not 1 < len(words) <= _MACROS_IN_LINE:
        return None
    return re.compile(".*".join(map(re.escape, words)), re.DOTALL)


class _Pulled:
    """Finds the lines that brought in headings which are not in the file as they were published."""

    def __init__(self, source: Source, lines: list[str], free: list[Candidate]) -> None:
        self.source = source
        self.lines = lines
        # Lines that could be headings and are none of those that were found.
        self.free = free
        self.included = IncludedFiles(source.roots)
        # The last heading that was found in an included file: the directive's line, its own.
        self.last = (-1, -1)

    @cached_property
    def directives(self) -> list[Directive]:
        return find_directives(self.lines)

    @cached_property
    def templates(self) -> list[tuple[Candidate, re.Pattern[str]]]:
        """Lines with macros in them, and what can come of each; those with words first."""
        found = [(each, fill_in(each.text)) for each in self.free if "{" in each.text]
        made = [(each, template) for each, template in found if template is not None]
        return sorted(made, key=lambda pair: not _HAS_WORD(_MACRO.sub("", pair[0].text)))

    def _find_template(self, heading: Heading, first: int, last: int) -> int | None:
        """Find the line that macros fill in to make a heading."""
        key = heading_key(heading.source_text)
        return next(
            (
                each.line
                for each, template in (self.templates if len(key) <= _LONG_TITLE else ())
                if first <= each.line < last
                and each.level == heading.level
                and template.fullmatch(key)
            ),
            None,
        )

    @cached_property
    def tags(self) -> list[tuple[int, str]]:
        return [(line, text.lower()) for line, text in enumerate(self.lines) if _HAS_TAG(text)]

    def find(self, heading: Heading, first: int, last: int) -> int:
        """Find the line (from 0) in ``lines[first:last]``; headings come in order."""
        directives = [d for d in self.directives if first <= d.line < last]
        written = [directive for directive in directives if not directive.generates]
        for directive in written:
            after = self.last[1] if directive.line == self.last[0] else -1
            # A file that is included twice: its headings begin anew.
            hit = self.included.find(directive, heading_key(heading.source_text), after)
            if hit is not None and directive.line >= self.last[0]:
                self.last = (directive.line, hit.candidate.line)
                via = Place(self.source.path, directive.line + self.source.offset + 1)
                heading.place = Place(self.source.show(hit.file), hit.candidate.line + 1, via)
                heading.found = hit.candidate
                return directive.line
        if heading.number is None:
            return self._find_raw(heading, directives, first, last)
        template = self._find_template(heading, first, last)
        if template is not None:
            heading.filled_in = True
            return template
        free = next((each.line for each in self.free if first <= each.line < last), None)
        # A tool gives its headings ids; one without an id is an author's all the same.
        if free is not None and not written and not heading.explicit:
            return free
        if directives:
            heading.authored = bool(written) or not heading.explicit
            return directives[0].line
        return first if free is None else free

    def _find_raw(
        self, heading: Heading, directives: Sequence[Directive], first: int, last: int
    ) -> int:
        tag = f"<h{heading.level}"
        hits = [line for line, text in self.tags if tag in text]
        if hits:
            return next((line for line in hits if first <= line < last), hits[0])
        # Raw HTML that is nowhere in the file is an extension's, if no other file is pulled in.
        heading.authored = any(not directive.generates for directive in directives)
        return directives[0].line if directives else first
