"""Where on a page its passages are: the elements of each, and what is not text.

The text is that of `extract_lexbor`, read by the same walk from the same HTML, in which every
element got a number before. What is shown gets the numbers that are needed, and nothing else.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from typing import TYPE_CHECKING, NamedTuple

from selectolax.lexbor import LexborHTMLParser

from mkdocs_markstay.extract_lexbor import PageReader, find_own_labels, remove_furniture
from mkdocs_markstay.passages import split_block, split_passages

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from selectolax.lexbor import LexborNode

    from mkdocs_markstay.passages import Passage, Sizes
    from mkdocs_markstay.records import Policy
    from mkdocs_markstay.sections import Block, Section

NUMBER = "data-markstay-at"
"""The attribute of an element in the served page: its number among all of the page."""
FURNITURE = "data-markstay-furniture"
"""The attribute of an element in the served page that is not text."""

# Elements that show nothing by themselves.
_UNSEEN = frozenset(("script", "style", "template", "noscript", "meta", "link"))
# Comments and elements whose content is no HTML; else the name and the attributes of a start tag.
_TAGS = re.compile(
    r"""<!--.*?(?:-->|\Z)
    |<(?P<raw>script|style|textarea|title|xmp|iframe|noembed|noframes)\b(?P<rest>.*?</(?P=raw)\s*>|.*)
    |<(?P<name>[a-z][^\s/>]*)(?:"[^"]*"|'[^']*'|[^"'>])*>""",
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)


class Piece(NamedTuple):
    """A block of a passage, or a part of one that was too long for a passage.

    ``element`` is the number of its element, None for text in no element of its own. It is
    part ``part`` of ``parts``, from 0. ``begin`` is how its own text begins, without what is
    repeated of the block's, if it has no element for itself alone. ``stays`` are the ids of
    the markers of its block.
    """

    element: int | None
    part: int = 0
    parts: int = 1
    begin: str = ""
    stays: tuple[str, ...] = ()


class Bounds(NamedTuple):
    """Where the passages of a page are, in their order, and the elements that are no text.

    ``region`` is the HTML with numbers at the elements that are named.
    """

    region: str
    passages: list[list[Piece]]
    furniture: list[int]


def find_bounds(
    region: str,
    opens: Collection[str],
    furniture: Iterable[str],
    sections: Sequence[Section],
    policy: Policy,
) -> Bounds | None:
    """Find where the passages of a page are, in the HTML that ``sections`` were read from.

    None if the HTML cannot be numbered without reading another text.
    """
    numbered, places = number_tags(region)
    body = LexborHTMLParser(f"<!DOCTYPE html><body>{numbered}").body
    if body is None:
        return None
    outer = _note_elements(body)
    remove_furniture(body, numbered, furniture)
    left = {_number(node) for node in body.css(f"[{NUMBER}]")}
    gone = {number: around for number, (around, _) in outer.items() if number not in left}
    unread = [
        number
        for number, around in gone.items()
        if around not in gone and outer[number][1] not in _UNSEEN
    ]
    page = _LocatedPage(body, opens)
    read = page.read()
    if [(s.section_id, [b[:2] for b in s.blocks]) for s in read] != [
        (s.section_id, [b[:2] for b in s.blocks]) for s in sections
    ]:
        return None
    # The same blocks, with their markers.
    elements = {
        id(block): page.elements[id(same)]
        for section, alike in zip(sections, read, strict=True)
        for block, same in zip(section.blocks, alike.blocks, strict=True)
        if id(same) in page.elements
    }
    passages = [
        [_make_piece(piece, elements) for piece in pieces]
        for section in sections
        for pieces in locate_pieces(section.blocks, policy.sizes, policy.granularity)
    ]
    wanted = dict.fromkeys(unread, f' {FURNITURE}="')
    wanted |= {
        piece.element: f' {NUMBER}="'
        for pieces in passages
        for piece in pieces
        if piece.element is not None
    }
    return Bounds(insert_numbers(region, places, wanted), passages, unread)


def number_tags(region: str) -> tuple[str, list[int]]:
    """Give every element of HTML its number, and the place of each in what was given."""
    places = [
        match.end("name") if match["name"] else match.end("raw")
        for match in _TAGS.finditer(region)
        if match["name"] or match["raw"]
    ]
    every = dict.fromkeys(range(len(places)), f' {NUMBER}="')
    return insert_numbers(region, places, every), places


def insert_numbers(region: str, places: Sequence[int], wanted: Mapping[int, str]) -> str:
    """Write the numbers of some elements into their start tags; ``wanted`` names attributes."""
    parts, end = [], 0
    for number in sorted(wanted):
        place = places[number]
        parts += [region[end:place], f'{wanted[number]}{number}"']
        end = place
    return "".join([*parts, region[end:]])


class _Located(NamedTuple):
    """A block of a section, or a part of one."""

    block: Block
    part: int
    parts: int
    own: str


def locate_pieces(blocks: Sequence[Block], sizes: Sizes, granularity: str) -> list[list[_Located]]:
    """Give with each passage of a section which blocks, or which parts of blocks, it has."""
    passages = split_passages(blocks, sizes, granularity)
    notes = [block for block in blocks if block.kind == "footnote"]
    prose = [block for block in blocks if block.kind != "footnote"]
    whole = granularity == "section"
    pieces = iter(
        [
            _Located(block, part, len(parts), _own_text(block, text, part))
            for block in (*prose, *notes)
            for parts in [[block] if whole else split_block(block, sizes)]
            for part, (_, text, *_) in enumerate(parts)
        ]
    )
    return [_take(pieces, passage) for passage in passages]


def _take(pieces: Iterable[_Located], passage: Passage) -> list[_Located]:
    return [piece for _, piece in zip(passage.blocks, pieces, strict=False)]


def _own_text(block: Block, text: str, part: int) -> str:
    """Give the text of a part without what is repeated from the first part: fence, header."""
    if not part:
        return text
    lines, first = text.split("\n"), block.text.split("\n")
    same = 0
    while same < min(len(lines) - 1, len(first)) and lines[same] == first[same]:
        same += 1
    return "\n".join(lines[same:])


def _make_piece(piece: _Located, elements: Mapping[int, int]) -> Piece:
    element = elements.get(id(piece.block))
    begin = "" if element is not None and piece.parts == 1 else piece.own
    stays = tuple(stay.id for stay in piece.block.stays if stay)
    return Piece(element, piece.part, piece.parts, begin, stays)


def _note_elements(body: LexborNode) -> dict[int, tuple[int | None, str]]:
    """Give with each numbered element the number of the one around it, and its tag."""
    found: dict[int, tuple[int | None, str]] = {}
    known: dict[int, int] = {}
    for node in body.css(f"[{NUMBER}]"):
        number = _number(node)
        parent = node.parent
        found[number] = (known.get(parent.mem_id) if parent else None, node.tag or "")
        known[node.mem_id] = number
    return found


def _number(node: LexborNode) -> int:
    return int(node.attributes.get(NUMBER) or 0)


class _LocatedPage(PageReader):
    """The reading of one page that notes the element of each block, by the block's `id`."""

    def __init__(self, body: LexborNode, opens: Collection[str]) -> None:
        super().__init__(body, opens)
        self.elements: dict[int, int] = {}
        self.node: LexborNode | None = None
        # The elements of tab labels that were seen, by their text.
        self.tab_labels: defaultdict[str, deque[LexborNode]] = defaultdict(deque)

    def add(self, kind: str, text: str, out: list[Block] | None, *, lead: bool = False) -> None:
        blocks = self.section.blocks
        count, waiting = len(blocks), len(self.labels)
        super().add(kind, text, out, lead=lead)
        if out is not None or len(blocks) == count:
            return
        *leads, last = blocks[count:]
        for block in leads[:waiting]:
            if self.tab_labels[block.text]:
                self.note_element(block, self.tab_labels[block.text].popleft())
        if self.node is not None:
            self.note_element(last, self.node)

    def make(self, node: LexborNode, kind: str, depth: int, out: list[Block] | None) -> None:
        held, self.node = self.node, node if out is None else self.node
        super().make(node, kind, depth, out)
        self.node = held

    def walk(self, top: LexborNode, loose: str, depth: int, out: list[Block] | None) -> None:
        held, self.node = self.node, None if out is None else self.node
        super().walk(top, loose, depth, out)
        self.node = held

    def tabs(self, node: LexborNode, depth: int, out: list[Block] | None) -> None:
        for label in find_own_labels(node) if out is None else ():
            self.tab_labels[self.inline_text(label)].append(label)
        super().tabs(node, depth, out)

    def note(self, item: LexborNode, text: str) -> Block:
        block = super().note(item, text)
        self.note_element(block, item)
        return block

    def note_element(self, block: Block, node: LexborNode) -> None:
        if NUMBER in node.attributes:
            self.elements[id(block)] = _number(node)
