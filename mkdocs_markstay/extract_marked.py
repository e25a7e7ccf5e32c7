"""Which element of a page's content each of its blocks was made of.

The text is that of `extract_lexbor`, read by the same walk; here it is noted where in the tree
each block and each heading stands, by marks that elements were given before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from selectolax.lexbor import LexborHTMLParser

from mkdocs_markstay.extract_lexbor import PageReader, has_loose_text, remove_furniture
from mkdocs_markstay.sections import Section

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from selectolax.lexbor import LexborNode

    from mkdocs_markstay.sections import Block


class ReadPage(NamedTuple):
    """What was read of a page's content, with marks at some of its elements.

    ``blocks`` are those of all sections in the order of the document, each with its section.
    ``within`` maps the numbers of marks to the blocks (by their place in ``blocks``) that
    their elements are, are in, or have in them; ``headings`` maps those of headings that open
    sections to the sections. ``elements`` gives with each block a number of its own element
    or of one in it, or around it alone, if there is any. ``generated`` are the blocks that
    stand in what a tool put into the page.
    """

    sections: list[Section]
    blocks: list[tuple[Section, Block]]
    within: dict[int, list[int]]
    headings: dict[int, Section]
    elements: dict[int, int]
    generated: set[int]


def extract_marked(
    region: str, opens: Collection[str], furniture: Iterable[str], mark: str, generated: str
) -> ReadPage:
    """Read the sections of a page as `extract` does, and where its marked elements are.

    ``mark`` is the attribute whose value is the number of a mark, ``generated`` a selector of
    what a tool puts into pages.
    """
    body = LexborHTMLParser(f"<!DOCTYPE html><body>{region}").body
    if body is None:
        return ReadPage([Section("", 0, "", ())], [], {}, {}, {}, set())
    remove_furniture(body, region, furniture)
    return _MarkedPage(body, opens, mark).read_marked(generated)


class _MarkedPage(PageReader):
    """The reading of one page that notes the element of each block."""

    def __init__(self, body: LexborNode, opens: Collection[str], mark: str) -> None:
        super().__init__(body, opens)
        self.mark = mark
        # In the order of the document, each with the element that it was made of.
        self.made: list[tuple[Section, Block, LexborNode | None]] = []
        self.titles: list[tuple[Section, LexborNode]] = []
        self.node: LexborNode | None = None

    def add(self, kind: str, text: str, out: list[Block] | None, *, lead: bool = False) -> None:
        section = self.section
        count = len(section.blocks)
        super().add(kind, text, out, lead=lead)
        if out is None and len(section.blocks) > count:
            *leads, last = section.blocks[count:]
            self.made += [(section, block, None) for block in leads]
            self.made.append((section, last, self.node))

    def make(self, node: LexborNode, kind: str, depth: int, out: list[Block] | None) -> None:
        held, self.node = self.node, node if out is None else self.node
        sections = len(self.sections)
        super().make(node, kind, depth, out)
        self.node = held
        if kind == "heading" and len(self.sections) > sections:
            self.titles.append((self.sections[-1], node))
        elif kind == "heading" and out is None and self.openers.get(node.mem_id) == "":
            self.titles.append((self.page, node))

    def walk(self, top: LexborNode, loose: str, depth: int, out: list[Block] | None) -> None:
        held, self.node = self.node, None if out is None else self.node
        super().walk(top, loose, depth, out)
        self.node = held

    def note(self, item: LexborNode, text: str) -> Block:
        block = super().note(item, text)
        self.made.append((self.page, block, item))
        return block

    def read_marked(self, generated: str) -> ReadPage:
        """Read the page."""
        sections = self.read()
        blocks = [(section, block) for section, block, _ in self.made]
        owners = {node.mem_id: place for place, (_, _, node) in enumerate(self.made) if node}
        titles = {node.mem_id: section for section, node in self.titles}
        within: dict[int, list[int]] = {}
        headings: dict[int, Section] = {}
        elements: dict[int, int] = {}
        around_blocks: dict[int, int] = {}
        for marked in self.body.css(f"[{self.mark}]"):
            number = int(marked.attributes[self.mark] or 0)
            around: LexborNode | None = marked
            while around is not None and around.mem_id not in owners:
                if around.mem_id in titles:
                    headings[number] = titles[around.mem_id]
                    break
                around = around.parent
            else:
                if around is None:
                    around_blocks[marked.mem_id] = number
                else:
                    place = owners[around.mem_id]
                    within[number] = [place]
                    elements.setdefault(place, number)
        for place, (_, _, node) in enumerate(self.made if around_blocks else ()):
            around = node.parent if node is not None else None
            while around is not None:
                if around.mem_id in around_blocks:
                    within.setdefault(around_blocks[around.mem_id], []).append(place)
                around = around.parent
        within.update((around_blocks[each], []) for each in self.find_loose(around_blocks))
        for number, places in within.items():
            if len(places) == 1:
                elements.setdefault(places[0], number)
        made = self.find_inner(generated)
        return ReadPage(sections, blocks, within, headings, elements, made)

    def find_inner(self, selector: str) -> set[int]:
        """Find the blocks that stand in elements that a selector matches."""
        outer = {node.mem_id for node in self.body.css(selector)}
        found = set()
        for place, (_, _, node) in enumerate(self.made if outer else ()):
            around = node
            while around is not None and around.mem_id not in outer:
                around = around.parent
            if around is not None:
                found.add(place)
        return found

    def find_loose(self, around_blocks: Collection[int]) -> Iterator[int]:
        """Find elements with text of their own: which of the blocks in them it is, is not told."""
        for marked in self.body.css(f"[{self.mark}]") if around_blocks else ():
            if marked.mem_id in around_blocks and has_loose_text(marked):
                yield marked.mem_id
