"""The markers of a Markdown text: the blocks that they are on, and what is wrong with them.

A marker is a comment after a block, `<!-- stay:8f24 hash=sha256:7a9c -->`. What one looks
like, where a block ends, how it is hashed: all of that is markstay's. Only the walk over a text
is done here, once and by offsets, so that its time grows with the length of the text; that
it finds what markstay's own `parse_document` and `lint_document` find is held by tests.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import markstay

from mkdocs_markstay.locate import find_code_lines
from mkdocs_markstay.sectionids import show

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SEGMENTATIONS = ("blank-line", "commonmark")
"""What a block of the source is: a run of lines without a blank one, or a node of CommonMark."""

_OPENING = re.compile(r"(?:<!--|\{/\*)[ \t]*stay:")
_USUAL = re.compile(r"<!-- stay:([A-Za-z0-9_-]+)(?: hash=sha256:([0-9a-f]+))? -->")
_CODE_SPAN = re.compile(r"(?<![\\`])(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
# White space as markstay knows it.
_SPACE = " \t\f\v"
# Lines that own what is indented below them.
_OWNER = re.compile(
    r"[ \t>]{0,3}(?:(?:[-*+:]|[0-9]{1,9}[.)])[ \t]|!!!|\?\?\?|===|\[\^[^\]]+\]:|///|:::)"
)
_CODE_INDENT = 4
# What is longer is no marker.
_LONGEST = 2000
_QUOTED, _NAMED = 80, 5
_HEADING = re.compile(r"#{1,6}(?:[ \t]|$)")
# What is given to markstay's parser at once: about so many characters, and at most so many
# markers of parts, because its time grows with the square of their number and faster.
_PIECE, _PARTS = 10_000, 200

_SHOWN = (
    "readers see this marker, because it stands in code, and markstay takes it for the one of a"
    " block (stay:{}). Put the code into a fence that is not indented"
)
_MALFORMED = (
    "{} begins like a marker and is none. Write: <!-- stay:ID --> with an ID of letters,"
    " digits, - and _, or remove it"
)
_ORPHAN = "the marker stay:{} stands before any block. Move it below its block, or remove it"
_HIDDEN = (
    "markstay takes the marker stay:{} for code, because the fence in line {} has no end for it."
    " End that fence, or let it begin in a line of its own"
)
_DRIFT = "the block of stay:{} is not the one that its hash was made of"
_NO_CHILD = (
    "the marker stay:{} has a subhash, and stands on no item of a list and no row of a table that"
    f" markstay knows, or with more than {_PARTS} others"
)


class Marker(NamedTuple):
    """A marker in a text: its id, and where it begins (a line from 1, a column from 0).

    ``raw`` is the comment as it is written, ``hash`` what it says of its block's hash, or
    None. ``child``: it is on an item of a list or a row of a table, not on the block that
    these are in.
    """

    id: str
    line: int
    column: int
    raw: str
    hash: str | None = None
    child: bool = False


class Child(NamedTuple):
    """A marker of a part of a block, and the hash of the part, "" if markstay finds none."""

    marker: Marker
    body_hash: str


class SourceBlock(NamedTuple):
    """A block of a text: its first and its last line (from 1), markers left out.

    ``body_hash`` is markstay's, as `sha256:` and 64 hex digits.
    """

    first: int
    last: int
    body_hash: str
    markers: tuple[Marker, ...] = ()
    children: tuple[Child, ...] = ()


class Problem(NamedTuple):
    """What is wrong in a line (from 1): the code of the finding, the id, and words."""

    line: int
    code: str
    id: str
    message: str


@dataclass
class MarkedText:
    """The blocks of a text, in order, and what is wrong with its markers.

    ``orphans`` are markers before any block, ``hidden`` those in what is code to markstay
    alone: ``swallowed`` maps the lines of that to the lines in which their fences begin.
    ``code`` are the lines of fenced code, as Python-Markdown sees it.
    """

    blocks: list[SourceBlock] = field(default_factory=list)
    orphans: list[Marker] = field(default_factory=list)
    hidden: list[Marker] = field(default_factory=list)
    swallowed: dict[int, int] = field(default_factory=dict)
    code: frozenset[int] = frozenset()
    problems: list[Problem] = field(default_factory=list)

    def markers(self) -> Iterator[Marker]:
        """Give all markers, those of parts after those of the block."""
        yield from self.orphans
        for block in self.blocks:
            yield from block.markers
            yield from (child.marker for child in block.children)


def has_markers(text: str) -> bool:
    """Whether a text has anything that looks like a marker."""
    return "stay:" in text and _OPENING.search(text) is not None


def read_markers(text: str, segmentation: str = SEGMENTATIONS[0]) -> MarkedText:
    """Read the blocks and markers of a Markdown text.

    It has line feeds as its only line ends, and no front matter: empty lines in its place.
    """
    return _Reader(text, segmentation).read()


class _Found(NamedTuple):
    """A marker, and its place in the text."""

    start: int
    end: int
    marker: Marker


class _Reader:
    def __init__(self, text: str, segmentation: str) -> None:
        self.text = text
        self.segmentation = segmentation
        self.lines = text.split("\n")
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line) + 1)
        self.read_text = MarkedText()
        in_code = find_code_lines(self.lines)
        self.read_text.code = frozenset(number + 1 for number in in_code)
        self.found: list[_Found] = []
        self.hashes: dict[tuple[str, int], str] = {}
        self.markstay_code = markstay.code_lines(text)
        # Whether lines are indented code, as far as it was asked.
        self.indented_code: dict[int, bool] = {}

    def read(self) -> MarkedText:
        read = self.read_text
        self.find_swallowed()
        chunks = self.segment()
        if has_markers(self.text):
            self.find_markers([(first, first + text.count("\n")) for first, text in chunks])
        if any(found.marker.child for found in self.found):
            self.hashes = self.hash_children()
        place = 0
        for first, chunk in chunks:
            begin = self.starts[first - 1]
            end = begin + len(chunk)
            own: list[_Found] = []
            while place < len(self.found) and self.found[place].start < end:
                own.append(self.found[place])
                place += 1
            if (
                len(own) == 1
                and own[0].end == end
                and not own[0].marker.column
                and own[0].start > begin
            ):
                # Most blocks: a marker alone in the last line.
                marker = own[0].marker
                content = self.text[begin : own[0].start].strip(_SPACE + "\n\r")
                if content and not marker.child:
                    body_hash = f"sha256:{markstay.body_hash(content)}"
                    read.blocks.append(SourceBlock(first, marker.line - 1, body_hash, (marker,)))
                    continue
            content = _leave_out(self.text, begin, end, own).strip(_SPACE + "\n\r")
            if content:
                read.blocks.append(self.make_block(first, chunk, content, own))
            else:
                self.add_to_last([found.marker for found in own])
        for block in read.blocks:
            if block.markers or block.children:
                self.check(block)
        self.check_unique()
        read.problems.sort()
        return read

    def segment(self) -> list[tuple[int, str]]:
        """Divide the text into blocks, each with its first line."""
        if self.segmentation == "commonmark":
            return markstay.segment_commonmark(self.text)
        return markstay.segment_blank_line(self.text)

    def find_markers(self, spans: Sequence[tuple[int, int]]) -> None:
        """Find the markers, but for those that readers see as code, and what is none."""
        code = self.markstay_code
        firsts = [first for first, _ in spans]
        spans_of_code: dict[int, list[tuple[int, int]]] = {}
        malformed: set[int] = set()
        for match in _OPENING.finditer(self.text):
            line = bisect_right(self.starts, match.start())
            if line in code:
                if line in self.read_text.swallowed:
                    self.add_hidden(match.start(), line)
                continue
            number = bisect_right(firsts, line) - 1
            first, last = spans[number] if number >= 0 else (line, line)
            if first not in spans_of_code:
                spans_of_code[first] = self.find_code_spans(first, last)
            spans_here = spans_of_code[first]
            shown = (
                bool(spans_here) or line in self.read_text.code or self.is_indented(first)
            ) and self.is_shown(match.start(), line, first, spans_here)
            marker = self.read_marker(match.start(), line)
            if marker is None and not shown:
                if line not in malformed:
                    malformed.add(line)
                    raw = self.text[match.start() : match.start() + _QUOTED].partition("\n")[0]
                    self.tell(line, "stay-malformed", "", _MALFORMED.format(show(raw)))
            elif marker is not None and shown:
                self.tell(line, "stay-in-code", marker.id, _SHOWN.format(marker.id))
            elif marker is not None:
                self.found.append(_Found(match.start(), match.start() + len(marker.raw), marker))

    def add_hidden(self, start: int, line: int) -> None:
        """Tell a marker that markstay takes for code, and that would be published."""
        marker = self.read_marker(start, line)
        if marker is not None:
            first = self.read_text.swallowed[line]
            self.read_text.hidden.append(marker)
            self.tell(line, "stay-unbound", marker.id, _HIDDEN.format(marker.id, first))

    def find_swallowed(self) -> None:
        """Find the lines that are code to markstay alone, because it sees no end of a fence."""
        first = last = 0
        for line in sorted(self.markstay_code):
            first = first if line == last + 1 else line
            last = line
            if line not in self.read_text.code:
                self.read_text.swallowed[line] = first

    def read_marker(self, start: int, line: int) -> Marker | None:
        """Read the marker that begins at a place of the text, if it is one."""
        column = start - self.starts[line - 1]
        usual = _USUAL.match(self.text, start)
        # What markstay writes, it reads; to read it takes ten times as long.
        if usual and markstay.format_marker(usual[1], usual[2]) == usual[0]:
            return Marker(usual[1], line, column, usual[0], usual[2])
        closing = "-->" if self.text[start] == "<" else "*/"
        end = self.text.find(closing, start, start + _LONGEST)
        if end < 0:
            return None
        raw = self.text[start : end + len("-->")]
        read = markstay.find_markers(raw)
        if not read or read[0].malformed or read[0].raw != raw:
            return None
        marker = read[0]
        written = marker.subhash if marker.has_subhash else marker.hash
        return Marker(marker.id or "", line, column, raw, written, marker.has_subhash)

    def find_code_spans(self, first: int, last: int) -> list[tuple[int, int]]:
        begin, end = self.starts[first - 1], self.starts[last] - 1
        if self.text.find("`", begin, end) < 0:
            return []
        return [match.span() for match in _CODE_SPAN.finditer(self.text, begin, end)]

    def is_shown(self, start: int, line: int, first: int, spans: list[tuple[int, int]]) -> bool:
        """Whether readers see what looks like a marker, because it stands in code."""
        if line in self.read_text.code and self.lines[line - 1][:1] in (" ", "\t", ">"):
            return True
        place = bisect_right(spans, (start, len(self.text))) - 1
        if place >= 0 and spans[place][0] <= start < spans[place][1]:
            return True
        return self.is_indented_code(first) and self.is_indented_code(line)

    def is_indented_code(self, number: int) -> bool:
        """Whether a line is indented and belongs to nothing that its text could be part of."""
        if not self.is_indented(number):
            return False
        first = above = number
        while above > 1 and first not in self.indented_code:
            above -= 1
            if self.is_indented(above):
                first = above
            elif (line := self.lines[above - 1]).strip() and not _OPENING.match(line):
                # Directly below a paragraph it goes on with that.
                self.indented_code[first] = not _OWNER.match(line) and first > above + 1
        self.indented_code[number] = self.indented_code.get(first, True)
        return self.indented_code[number]

    def is_indented(self, number: int) -> bool:
        line = self.lines[number - 1]
        indented = line[:_CODE_INDENT].expandtabs(_CODE_INDENT).startswith(" " * _CODE_INDENT)
        return indented and not line.isspace()

    def make_block(
        self, first: int, chunk: str, content: str, own: Sequence[_Found]
    ) -> SourceBlock:
        last = first + chunk.count("\n")
        if not own:
            while first < last and not self.lines[last - 1].strip(_SPACE):
                last -= 1
            return SourceBlock(first, last, f"sha256:{markstay.body_hash(content)}")
        blank: set[int] = set()
        # Lines that have nothing but markers, which may go on in the line that another is in.
        for line, group in groupby(own, _line_of):
            markers = list(group)
            if len(markers) == 1 and markers[0].marker.raw == self.lines[line - 1]:
                blank.add(line)
                continue
            height = max(found.marker.raw.count("\n") for found in markers)
            begin, end = self.starts[line - 1], self.starts[line + height] - 1
            if not _leave_out(self.text, begin, end, markers).strip():
                blank.update(range(line, line + height + 1))
        while first < last and first in blank:
            first += 1
        while first < last and (last in blank or not self.lines[last - 1].strip(_SPACE)):
            last -= 1
        every = [found.marker for found in own]
        return SourceBlock(
            first,
            last,
            f"sha256:{markstay.body_hash(content)}",
            tuple(marker for marker in every if not marker.child),
            tuple(self.make_child(marker) for marker in every if marker.child),
        )

    def make_child(self, marker: Marker) -> Child:
        return Child(marker, self.hashes.get((marker.id, marker.line), ""))

    def add_to_last(self, markers: Sequence[Marker]) -> None:
        """Give the block before them markers that stand alone."""
        if not self.read_text.blocks:
            self.read_text.orphans += markers
            return
        block = self.read_text.blocks[-1]
        self.read_text.blocks[-1] = block._replace(
            markers=(*block.markers, *(marker for marker in markers if not marker.child)),
            children=(*block.children, *(Child(each, "") for each in markers if each.child)),
        )

    def hash_children(self) -> dict[tuple[str, int], str]:
        """Map the markers of items and rows, by id and line, to the hashes of these."""
        hashes: dict[tuple[str, int], str] = {}
        for before, piece in self.split():
            if not 0 < piece.count("subhash") <= _PARTS:
                continue
            # The empty line keeps what looks like front matter from being taken for it.
            blocks = markstay.parse_document(f"\n{piece}", self.segmentation, child_blocks=True)
            for block in blocks:
                for child in block.children:
                    body_hash = f"sha256:{markstay.body_hash(child.content)}"
                    for marker in child.markers:
                        hashes[marker.id or "", marker.line - 1 + before] = body_hash
        return hashes

    def split(self) -> Iterator[tuple[int, str]]:
        """Split the text before headings, which end all lists and tables; give the lines before."""
        _, open_after = markstay.fence_state(self.text)
        begin = 0
        for number, line in enumerate(self.lines):
            long_enough = self.starts[number] - self.starts[begin] > _PIECE
            if long_enough and _HEADING.match(line) and number not in open_after:
                yield begin, "\n".join(self.lines[begin:number])
                begin = number
        yield begin, "\n".join(self.lines[begin:])

    # -- what is wrong

    def tell(self, line: int, code: str, stay_id: str, message: str) -> None:
        self.read_text.problems.append(Problem(line, code, stay_id, message))

    def check(self, block: SourceBlock) -> None:
        if len(block.markers) > 1:
            names = list(dict.fromkeys(marker.id for marker in block.markers))
        else:
            names = []
        if len(names) > 1:
            shown = ", ".join(names[:_NAMED]) + (", ..." if len(names) > _NAMED else "")
            message = f"the block has {len(names)} markers ({shown}). Keep one"
            self.tell(block.last, "stay-several", names[-1], message)
        for marker in block.markers:
            self.check_hash(marker, block.body_hash)
        for child in block.children:
            self.check_hash(*child)
            if not child.body_hash:
                message = _NO_CHILD.format(child.marker.id)
                self.tell(child.marker.line, "stay-unbound", child.marker.id, message)

    def check_hash(self, marker: Marker, body_hash: str) -> None:
        # A marker has as many digits as its writer wanted.
        if marker.hash and body_hash and not body_hash.startswith(f"sha256:{marker.hash}"):
            self.tell(marker.line, "stay-drift", marker.id, _DRIFT.format(marker.id))

    def check_unique(self) -> None:
        """Find ids that two markers have, and markers before all blocks."""
        first_of: dict[str, Marker] = {}
        for _, _, marker in self.found:
            first = first_of.setdefault(marker.id, marker)
            if first is not marker:
                message = f"the marker stay:{marker.id} is already in line {first.line}"
                self.tell(marker.line, "stay-duplicate", marker.id, message)
        for marker in self.read_text.orphans:
            self.tell(marker.line, "stay-orphan", marker.id, _ORPHAN.format(marker.id))


def _line_of(found: _Found) -> int:
    return found.marker.line


def _leave_out(text: str, begin: int, end: int, found: Sequence[_Found]) -> str:
    """Give a part of a text without the markers in it."""
    parts = []
    for each in found:
        if each.end > begin and each.start < end:
            parts.append(text[begin : max(each.start, begin)])
            begin = max(each.end, begin)
    return "".join(parts) + text[begin:end]
