"""The markers of one page: bound to what is rendered, with anchors there, and checked."""

from __future__ import annotations

import re
import shlex
from collections import defaultdict
from dataclasses import dataclass, field, replace
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from mkdocs_markstay.checks import find_ids
from mkdocs_markstay.extract_marked import extract_marked
from mkdocs_markstay.findings import Finding
from mkdocs_markstay.headings import GENERATED, Place
from mkdocs_markstay.identity import STAY_PREFIX
from mkdocs_markstay.includes import find_directives, find_files
from mkdocs_markstay.page_report import StayPlace
from mkdocs_markstay.sectionids import show
from mkdocs_markstay.stay_binding import (
    NOTHING_SHOWN,
    REPEATED,
    TWO_MARKERS,
    Binding,
    bind,
    correct,
    give,
)
from mkdocs_markstay.stays import MarkedText, has_markers, read_markers

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mkdocs_markstay.checks import Rules
    from mkdocs_markstay.conversion import Conversion
    from mkdocs_markstay.marks import BuildingMarks
    from mkdocs_markstay.page_report import PageReport
    from mkdocs_markstay.page_source import Source
    from mkdocs_markstay.sections import Section
    from mkdocs_markstay.stay_tokens import Provenance
    from mkdocs_markstay.stays import Marker, Problem

_ID = re.compile(r"""\sid\s*=""", re.IGNORECASE)
_HEADING = re.compile(r"h[1-6]", re.IGNORECASE)
# In these, an element for a further anchor could not stand.
_NO_SPANS = frozenset(("ul", "ol", "dl", "table", "tr"))
_QUOTED = 60
_BLANK_LINE = re.compile(r"(?<=\n) +\n")

IN_NO_FILE = (
    "it stands in no line of the file as it is published: an inclusion, a macro or an extension"
    " makes it. Write one where it comes from"
)
"""What the message about a block without a marker ends with if no line for one is known."""


class ReadContent(NamedTuple):
    """The sections of a page's content, with all that they depend on.

    ``opens`` are the ids of headings that open them, ``furniture`` selectors of what is no text.
    """

    html: str
    opens: set[str]
    furniture: tuple[str, ...]
    sections: list[Section]


class RenderedStays(NamedTuple):
    """What came of the markers of a page: the blocks they were found in, and their binding.

    ``content`` is what was read to bind them, ``published`` the kinds and texts of blocks in the
    order of the document, if some of them are of no block of the source.
    """

    made: Provenance
    binding: Binding
    content: ReadContent
    published: Sequence[tuple[str, str]]

    @property
    def anchors(self) -> set[str]:
        """The anchors of blocks in the page."""
        return {STAY_PREFIX + stay_id for stay_id in self.binding.anchored}


def bind_page(
    html: str,
    marks: BuildingMarks,
    conversion: Conversion,
    furniture: tuple[str, ...],
    rules: Rules,
) -> tuple[str, RenderedStays | None]:
    """Bind the markers of a page to its HTML, ``marks`` still in it.

    Returns the HTML with what is to be published of the markers.
    """
    made = conversion.stays
    if made is None:
        return html, None
    slugs = _find_slugs(html, marks, conversion)
    region = html.encode("utf-8", "xmlcharrefreplace").decode()
    opens = set(find_ids(html)) - slugs
    page = extract_marked(region, opens, furniture, marks.block, GENERATED)
    binding = bind(made, page)
    if rules.stay_anchors or rules.keep_markers:
        html, anchored = _write_anchors(html, marks.block, binding, rules)
        binding = replace(binding, anchored=frozenset(anchored))
        opens |= {STAY_PREFIX + stay_id for stay_id in anchored}
    give(binding, page)
    content = marks.strip(html).encode("utf-8", "xmlcharrefreplace").decode()
    read = ReadContent(content, opens, furniture, page.sections)
    published = [block[:2] for _, block in page.blocks] if binding.uncovered else []
    return html, RenderedStays(made, binding, read, published)


def _find_slugs(html: str, marks: BuildingMarks, conversion: Conversion) -> set[str]:
    """Find the ids of headings that are made of their texts."""
    slugs = set()
    for match in re.finditer(r"<h[1-6]\b([^>]*)>", html):
        number = marks.find_number(match[1])
        if number is not None and not conversion.headings[number].explicit:
            slugs.update(find_ids(match[0]))
    return slugs


def _write_anchors(html: str, mark: str, binding: Binding, rules: Rules) -> tuple[str, list[str]]:
    """Put anchors, and markers that are kept, at their elements; give the ids that have one."""
    anchored: list[str] = []
    pattern = re.compile(
        rf"""<([A-Za-z][\w-]*)((?:[^<>"']|"[^"]*"|'[^']*')*?)\s{mark}="(\d+)"((?:[^<>"']|"[^"]*"|'[^']*')*)>"""
    )

    def write(match: re.Match[str]) -> str:
        markers = binding.places.get(int(match[3]))
        if not markers:
            return match[0]
        name, before, number, after = match.groups()
        inner = "".join(marker.raw for marker in markers) if rules.keep_markers else ""
        if not rules.stay_anchors:
            return match[0] + inner
        ids = [marker.id for marker in markers]
        anchor = ""
        if not (_ID.search(before) or _ID.search(after) or _HEADING.fullmatch(name)):
            anchored.append(ids[0])
            anchor = f' id="{STAY_PREFIX}{ids.pop(0)}"'
        if name.lower() not in _NO_SPANS:
            anchored.extend(ids)
            spans = (f'<span id="{STAY_PREFIX}{escape(each)}"></span>' for each in ids)
            inner = "".join(spans) + inner
        return f'<{name}{before} {mark}="{number}"{anchor}{after}>{inner}'

    return pattern.sub(write, html), anchored


@dataclass
class SourceStays:
    """What the sources of a page say of its markers.

    ``places`` are their lines, by id, ``hashes`` markstay's hashes of their blocks. ``aligned``:
    these are those of the blocks that were rendered.
    """

    places: dict[str, Place] = field(default_factory=dict)
    hashes: dict[str, str] = field(default_factory=dict)
    aligned: bool = False
    findings: list[Finding] = field(default_factory=list)


def read_source_stays(
    source: Source, rendered: RenderedStays | None, rules: Rules, *, secret: bool
) -> SourceStays:
    """Read the markers in the file of a page, and in those that it includes.

    ``secret``: nothing of the page may be repeated.
    """
    return _Reader(source, rendered, rules, secret=secret).read()


class _Reader:
    def __init__(
        self, source: Source, rendered: RenderedStays | None, rules: Rules, *, secret: bool
    ) -> None:
        self.source = source
        self.rendered = rendered
        self.rules = rules
        self.secret = secret
        self.result = SourceStays()
        # Lines of blocks without markers, by hash, in the order of the sources.
        self.bare: dict[str, list[Place]] = defaultdict(list)
        # Whether each line of the page's text is the one of its file.
        self.aligned = False

    def read(self) -> SourceStays:
        rendered = self.rendered
        body = self.source.body
        same = rendered is not None and _same_lines(rendered.made.lines, body)
        text = rendered.made.text if rendered is not None and same else None
        wanted = rendered is not None and self.rules.stays == "required"
        if text is None and (wanted or has_markers(body)):
            text = read_markers(body, self.rules.stay_blocks)
        self.result.aligned = same
        self.take(text or MarkedText(), self.source.path, self.source.offset, None)
        if rendered is None:
            return self.result
        self.aligned = same or _same_lines(rendered.made.lines, _as_parsed(body))
        if not self.aligned:
            self.read_included(rendered)
        self.check_rendered(rendered)
        return self.result

    def take(self, text: MarkedText, path: str, offset: int, via: Place | None) -> None:
        """Take what a file has; ``offset`` lines stand before the text."""
        for block in text.blocks:
            for marker in block.markers:
                self.note(marker, block.body_hash, path, offset, via)
            for child in block.children:
                self.note(child.marker, child.body_hash, path, offset, via)
            if not block.markers and self.rules.stays == "required":
                self.bare[block.body_hash].append(Place(path, block.first + offset, via))
        for problem in text.problems:
            self.tell(problem, Place(path, problem.line + offset, via))

    def note(
        self, marker: Marker, body_hash: str, path: str, offset: int, via: Place | None
    ) -> None:
        self.result.places.setdefault(marker.id, Place(path, marker.line + offset, via))
        if not self.result.aligned:
            self.result.hashes.setdefault(marker.id, body_hash)

    def tell(self, problem: Problem, place: Place) -> None:
        message = problem.message
        if self.secret and problem.code == "stay-malformed":
            message = "there is something like a marker that is none. Write: <!-- stay:ID -->"
        elif problem.code == "stay-drift":
            message += self.repair("--refresh", place, "If it still is the same block")
        elif problem.code == "stay-duplicate":
            message += self.repair("--repair", place, "If this is a copy")
        self.add(place, problem.code, message)

    def repair(self, option: str, place: Place, condition: str) -> str:
        if not self.rules.stamp:
            return ""
        path = shlex.quote(place.path)
        return f". {condition}, run: {self.rules.stamp} --stays {option} {path} --write"

    def add(self, place: Place, code: str, message: str) -> None:
        via = str(place.via or "")
        self.result.findings.append(Finding(place.path, place.line, code, message, via=via))

    def read_included(self, rendered: RenderedStays) -> None:
        """Read the files that text comes from which is not in the page's own."""
        missing = {marker.id for marker in rendered.made.text.markers()}
        missing -= self.result.places.keys()
        if not missing and self.rules.stays != "required":
            return
        for directive in find_directives(self.source.body.split("\n")):
            via = Place(self.source.path, directive.line + self.source.offset + 1)
            for file in find_files(directive, self.source.roots):
                try:
                    text = file.read_text(encoding="utf-8-sig")
                except (OSError, ValueError):
                    continue
                if has_markers(text) or self.rules.stays == "required":
                    read = read_markers(text, self.rules.stay_blocks)
                    self.take(read, self.source.show(file), 0, via)

    def check_rendered(self, rendered: RenderedStays) -> None:
        """Tell what became of the markers, as far as that is not as it should be."""
        told = {(f.code, f.path, f.line) for f in self.result.findings}
        made, binding = rendered.made, rendered.binding
        for marker, reason in binding.unbound:
            place = self.result.places.get(marker.id) or Place(self.source.path, 1)
            if reason == TWO_MARKERS or (
                reason == REPEATED and any(code == "stay-duplicate" for code, _, _ in told)
            ):
                continue
            if reason == REPEATED:
                message = (
                    f"the marker stay:{marker.id} is more than once in the page, and so on no"
                    " block. Include the file once, or give one of the blocks another id"
                )
                self.add(place, "stay-duplicate", message)
                told.add(("stay-duplicate", place.path, place.line))
            else:
                message = f"the marker stay:{marker.id} is bound to nothing: {reason}"
                self.add(place, "stay-unbound", message)
        converted = {marker.id for marker in made.text.markers()}
        for stay_id, place in self.result.places.items():
            if place.via is None and stay_id not in converted:
                message = f"the marker stay:{stay_id} is bound to nothing: {NOTHING_SHOWN}"
                self.add(place, "stay-unbound", message)
        self.check_anchored(binding)
        if self.rules.stays == "required":
            places = self.find_bare(made)
            for number in binding.missing:
                self.add_missing(made, number, places.get(number))
            for published, line in binding.uncovered:
                self.add_uncovered(rendered.published[published], line)

    def check_anchored(self, binding: Binding) -> None:
        """Tell the markers that are bound to what no anchor can be put at."""
        if not self.rules.stay_anchors:
            return
        bound = {stay.id for stays in binding.stays.values() for stay in stays if stay}
        for stay_id in sorted(bound - binding.anchored):
            message = (
                f"the marker stay:{stay_id} is bound, but its block has no anchor: it has no"
                " element of its own. In raw HTML, put its text into one, such as <p>"
            )
            place = self.result.places.get(stay_id) or Place(self.source.path, 1)
            self.add(place, "stay-unbound", message)

    def add_uncovered(self, published: tuple[str, str], line: int) -> None:
        line = (line if self.aligned else 1) + self.source.offset
        kind, text = published
        name = "a block" if self.secret else f"the {kind} {show(' '.join(text.split())[:_QUOTED])}"
        message = (
            f"{name}, published near here, is no block of its own in the source, so it has no"
            " marker. Put empty lines around it"
        )
        self.add(Place(self.source.path, line), "stay-uncovered", message)

    def find_bare(self, made: Provenance) -> dict[int, Place]:
        """Find the lines of the blocks without markers, by their numbers in the page's text.

        Blocks that are the same come in the same order there and in the sources.
        """
        found: dict[int, Place] = {}
        counts: dict[str, int] = defaultdict(int)
        for number, block in enumerate(made.text.blocks):
            if block.markers:
                continue
            if self.aligned:
                found[number] = Place(self.source.path, block.first + self.source.offset)
                continue
            places, rank = self.bare.get(block.body_hash, ()), counts[block.body_hash]
            counts[block.body_hash] += 1
            if rank < len(places):
                found[number] = places[rank]
        return found

    def add_missing(self, made: Provenance, number: int, place: Place | None) -> None:
        words = " ".join(made.content(number).split())
        name = "a block" if self.secret else f"the block {show(words[:_QUOTED])}"
        if place is None:
            place = Place(self.source.path, self.source.offset + 1)
            self.add(place, "stay-missing", f"{name} has no marker: {IN_NO_FILE}")
            return
        fence = made.text.swallowed.get(made.text.blocks[number].first)
        if fence is not None:
            line = made.text.blocks[number].first - fence
            message = (
                f"{name} has no marker, and can have none: markstay takes it for code, because the"
                f" fence {line} lines above has no end for it. End that fence, or let it begin in a"
                " line of its own"
            )
            self.add(place, "stay-missing", message)
            return
        message = f"{name} has no marker. Write one below it"
        if self.rules.stamp:
            message += f", or run: {self.rules.stamp} --stays {shlex.quote(place.path)} --write"
        self.add(place, "stay-missing", message)


def _as_parsed(body: str) -> str:
    """Give a text as Python-Markdown reads it: with spaces for tabs, and nothing in empty lines."""
    return _BLANK_LINE.sub("\n", body.expandtabs(4))


def _same_lines(lines: Sequence[str], body: str) -> bool:
    return "\n".join(lines).rstrip() == body.rstrip()


def complete(report: PageReport, source: SourceStays, rendered: RenderedStays) -> PageReport:
    """Note the markers that are bound in the report of their page, with hashes of its sources."""
    binding, sections = rendered.binding, rendered.content.sections
    if not source.aligned:
        correct(sections, source.hashes)
    ids = {stay.id for each in binding.stays.values() for stay in each if stay}
    ids |= {stay.id for stay in binding.headings.values()}
    stays = {}
    for stay_id in sorted(ids):
        place = source.places.get(stay_id)
        path, line = (place.path, place.line) if place else (report.path, 1)
        stays[stay_id] = StayPlace(path, line, stay_id in binding.anchored)
    return replace(report, stays=stays)


def check_anchors_unique(
    content: str, places: Mapping[str, Place], anchored: frozenset[str]
) -> Iterator[Finding]:
    """Find anchors of blocks that another element of the page has, too."""
    if not anchored:
        return
    counts: dict[str, int] = defaultdict(int)
    for each in find_ids(content):
        counts[each] += 1
    for stay_id in sorted(anchored):
        if counts[STAY_PREFIX + stay_id] > 1 and stay_id in places:
            place = places[stay_id]
            message = (
                f"{show(STAY_PREFIX + stay_id)}, the anchor of the marker stay:{stay_id}, is also"
                " the id of another element of the page. Give the marker or the element another id"
            )
            yield Finding(place.path, place.line, "id-taken", message, via=str(place.via or ""))
