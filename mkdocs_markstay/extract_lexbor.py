"""From published HTML to sections of text, with the lexbor parser.

The fast one of two extractors; the rules are in ``docs/text.md``. A page's tree is
walked once, without recursion for containers, so depth of nesting is no danger.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from selectolax.lexbor import LexborHTMLParser, SelectolaxError

from mkdocs_markstay.furniture import strip_annotations
from mkdocs_markstay.sections import MAX_NESTING, Block, Section

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from selectolax.lexbor import LexborNode

_SPAN = re.compile(r"""<span(?=[\s/>])((?:[^<>"']|"[^"]*"|'[^']*')*)>""", re.IGNORECASE)
_VALUE = re.compile(r"""=\s*(?:"[^"]*"|'[^']*'|[^\s>]*)""")
_SPAN_END = re.compile(r"\s*</span\s*>", re.IGNORECASE)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_CONTAINERS = _words(
    "div section article main aside header footer address center fieldset form hgroup search"
    " dialog body"
)
_PARAGRAPHS = _words("p summary figcaption caption legend dt dd li")
_LISTS = frozenset(("ul", "ol", "menu"))
_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_TABLE_PARTS = _words("thead tbody tfoot tr td th")
_BLOCKS = (
    _CONTAINERS
    | _PARAGRAPHS
    | _LISTS
    | _HEADINGS
    | _words("pre dl table blockquote details figure hr")
)
_LISTING = frozenset(("highlighttable", "codehilitetable"))
_CLASSED = ".tabbed-set,.footnote,.admonition,.arithmatex,.filename"
_BLOCKS_IN_P = f"p :is({','.join(sorted(_BLOCKS))},{_CLASSED})"
_INTEGER = re.compile(r"\s*[+-]?[0-9]{1,9}\s*")
_FENCE = re.compile("`{3,}")
_BREAK = "\0"  # stands for <br>; a parsed document holds no NUL


def check_selector(selector: str) -> str:
    """Say what is wrong with a CSS selector; nothing if it can be used."""
    try:
        LexborHTMLParser("<p></p>").css(selector)
    except (SelectolaxError, ValueError):
        return f"{selector!r} is not a CSS selector"
    return "" if selector.strip() else "a CSS selector is empty"


def find_region(page: str) -> str | None:
    """Cut the region between the marks out of a published page; None if a mark is missing."""
    begin = next(_marks(page, "data-markstay-begin"), None)
    if begin is None:
        return None
    closing = _SPAN_END.match(page, begin.end())
    start = closing.end() if closing else begin.end()
    ends = [end.start() for end in _marks(page, "data-markstay-end") if end.start() >= start]
    return page[start : ends[-1]] if ends else None


def _marks(page: str, name: str) -> Iterator[re.Match[str]]:
    """Find the `span` elements that have an attribute, wherever its name occurs in the text."""
    for hit in re.finditer(name, page) if name in page else re.finditer(name, page, re.IGNORECASE):
        start = max(page.rfind("<span", 0, hit.start()), page.rfind("<SPAN", 0, hit.start()))
        span = _SPAN.match(page, start) if start >= 0 else None
        if span and span.end() > hit.start():
            attributes = _VALUE.sub(" ", span[1]).lower().replace("/", " ")
            if name in attributes.split():
                yield span


def extract(region: str, opens: Collection[str], furniture: Iterable[str]) -> list[Section]:
    """Read the sections of a page; the first one is the page itself.

    ``region`` is the HTML between the marks, ``opens`` the ids of the headings that
    open sections, ``furniture`` the selectors of what is not text.
    """
    tree = LexborHTMLParser(f"<!DOCTYPE html><body>{region}")
    body = tree.body
    if body is None:
        return [Section("", 0, "", ())]
    _remove(tree, ",".join(furniture))
    return _Page(tree, body, opens).read()


def _remove(tree: LexborHTMLParser, selectors: str) -> None:
    """Remove matching elements, inner ones before the ones they stand in."""
    gone: set[int] = set()
    for node in reversed(tree.css(selectors)):
        if node.mem_id not in gone:
            gone.add(node.mem_id)
            node.remove()


class _Frame(NamedTuple):
    """An element that is being walked: what comes after it, and what holds again there."""

    following: LexborNode | None
    loose: str
    inline: bool
    section: Section | None
    path: tuple[Section, ...]


class _Walk:
    """Where a walk is: its node, the text gathered so far, the elements around it."""

    def __init__(self, top: LexborNode, loose: str) -> None:
        self.node = top.child
        self.loose = loose
        self.buffer: list[str] = []
        self.frames: list[_Frame] = []

    def flush(self) -> Iterator[Block]:
        text = _inline("".join(self.buffer))
        self.buffer.clear()
        if text:
            yield Block(self.loose, text)


class _Page:
    """The reading of one page."""

    def __init__(self, tree: LexborHTMLParser, body: LexborNode, opens: Collection[str]) -> None:
        self.body = body
        self.page = Section("", 0, "", ())
        self.sections = [self.page]
        self.section = self.page
        self.path: tuple[Section, ...] = ()
        self.footnotes: list[Block] = []
        self.openers, self.around_openers = _find_openers(tree, opens)
        # Elements whose text is more than that of their text nodes.
        self.special = _ancestors(tree.css("br,img"), body)
        self.ticks = _ticks(tree)
        self.blocks_in_p = _ancestors(tree.css(_BLOCKS_IN_P), body)
        self.classed = {node.mem_id for node in tree.css(_CLASSED)}

    def read(self) -> list[Section]:
        for section, block in self.walk(self.body, "raw", 0, sectioning=True):
            section.blocks.append(block)
        self.page.blocks += self.footnotes
        return self.sections

    # -- walking

    def walk(
        self, top: LexborNode, loose: str, depth: int, *, sectioning: bool = False
    ) -> Iterator[tuple[Section, Block]]:
        """Give the blocks in ``top``, each with the section that holds there."""
        walk = _Walk(top, loose)
        while True:
            node = walk.node
            if node is None:
                if not walk.frames or not walk.frames[-1].inline:
                    yield from ((self.section, block) for block in walk.flush())
                if not walk.frames:
                    return
                self.leave(walk)
            elif (tag := node.tag or "") in _TEXT_OF:
                walk.buffer.append(_TEXT_OF[tag](node))
                walk.node = node.next
            else:
                kind = self.kind(node, tag)
                if kind != "inline":
                    yield from ((self.section, block) for block in walk.flush())
                inside = self.inside(node, kind, walk.loose)
                if inside is not None:
                    self.enter(walk, node, inside, inline=kind == "inline")
                else:
                    yield from self.make(node, kind, depth, sectioning=sectioning)
                    walk.node = node.next

    def enter(self, walk: _Walk, node: LexborNode, loose: str, *, inline: bool) -> None:
        scope: tuple[Section | None, tuple[Section, ...]] = (None, ())
        if node.mem_id in self.around_openers and node.tag not in ("header", "hgroup"):
            scope = self.section, self.path
            inline = False  # the text after the heading ends with this element, too
        walk.frames.append(_Frame(node.next, walk.loose, inline, *scope))
        walk.node, walk.loose = node.child, loose

    def leave(self, walk: _Walk) -> None:
        frame = walk.frames.pop()
        walk.node, walk.loose = frame.following, frame.loose
        if frame.section is not None:
            self.section, self.path = frame.section, frame.path

    def kind(self, node: LexborNode, tag: str) -> str:
        """Say what ``node`` is to the walk: a kind of block, or a word of `_TAG_KINDS`."""
        if node.mem_id in self.classed and tag not in _HEADINGS:
            classes = _classes(node)
            for name, (kind, tags) in _CLASS_KINDS.items():
                if name in classes and (not tags or tag in tags):
                    return kind
        return _TAG_KINDS.get(tag, "inline")

    def inside(self, node: LexborNode, kind: str, loose: str) -> str | None:
        """Give the kind of loose blocks in ``node`` if it is walked through, else None."""
        if kind in _WALKED:
            return _WALKED[kind] or loose
        if kind == "table" and _LISTING.intersection(_classes(node)):
            return "raw"
        if kind in _NEVER_WALKED or node.mem_id in self.openers:
            return None
        if node.mem_id in self.around_openers:
            return "paragraph"
        if kind == "paragraph" and (node.tag != "p" or node.mem_id in self.blocks_in_p):
            return "paragraph"
        return None

    def make(
        self, node: LexborNode, kind: str, depth: int, *, sectioning: bool = False
    ) -> Iterator[tuple[Section, Block]]:
        """Give the blocks that ``node`` is, or holds where it is no simple block."""
        if kind in _NESTED and depth >= MAX_NESTING:
            text = self.inline_text(node)
            if text:
                yield self.section, Block("raw", text)
        elif kind == "tabs":
            yield from self.tabs(node, depth, sectioning=sectioning)
        elif kind == "footnotes":
            yield from self.notes(node, depth, sectioning=sectioning)
        else:
            block = (
                self.heading(node, sectioning=sectioning)
                if kind == "heading"
                else self.block(node, kind, depth)
            )
            if block is not None:
                yield self.section, block

    # -- blocks

    def block(self, node: LexborNode, kind: str, depth: int) -> Block | None:
        lead = kind == "filename"
        if kind in ("none", "paragraph", "math", "filename"):
            text = "" if kind == "none" else self.inline_text(node)
            kind = "paragraph" if lead else kind
        elif kind == "code":
            text = self.code(node)
        elif kind == "list":
            text = self.list_text(node, depth)
        elif kind == "definitions":
            text = self.definitions(node, depth)
        elif kind == "table":
            text = self.table(node, depth)
        else:
            text = "\n\n".join(block.text for block in self.nested(node, depth))
            if kind == "quote" and text:
                text = "\n".join(f"> {line}" if line else ">" for line in text.split("\n"))
        return Block(kind, text, lead) if text else None

    def nested(self, node: LexborNode, depth: int) -> list[Block]:
        return [block for _, block in self.walk(node, "paragraph", depth + 1)]

    def heading(self, node: LexborNode, *, sectioning: bool) -> Block | None:
        title = self.inline_text(node)
        section_id = self.openers.get(node.mem_id)
        if section_id is None or not sectioning:
            return Block("paragraph", title, lead=True) if title else None
        title = title.replace("\n", " ")
        if not section_id:
            self.section, self.path = self.page, ()
            return None
        level = int((node.tag or "h1")[1])
        above = tuple(section for section in self.path if section.level < level)
        titles = (*(section.title for section in above), title)
        self.section = Section(section_id, level, title, titles)
        self.path = (*above, self.section)
        self.sections.append(self.section)
        return None

    def tabs(
        self, node: LexborNode, depth: int, *, sectioning: bool
    ) -> Iterator[tuple[Section, Block]]:
        panels = _own(node, ".tabbed-block") or _own(node, ".tabbed-content")
        labels = _own(node, "label", panels)
        for number, panel in enumerate(panels):
            label = self.inline_text(labels[number]) if number < len(labels) else ""
            for section, block in self.scoped(panel, "raw", depth, sectioning=sectioning):
                if label:
                    yield section, Block("paragraph", label, lead=True)
                    label = ""
                yield section, block

    def notes(
        self, node: LexborNode, depth: int, *, sectioning: bool
    ) -> Iterator[tuple[Section, Block]]:
        held = self.section, self.path
        self.section, self.path = self.page, ()
        for item in (item for child in _children(node, "ol") for item in _children(child, "li")):
            if sectioning and item.mem_id in self.around_openers:
                yield from self.scoped(item, "paragraph", depth, sectioning=sectioning)
                continue
            place = len(self.footnotes)
            text = "\n\n".join(block.text for block in self.nested(item, depth))
            if text:
                # Before the notes of a footnote element in this one.
                self.footnotes.insert(place, Block("footnote", text))
        self.section, self.path = held

    def scoped(
        self, node: LexborNode, loose: str, depth: int, *, sectioning: bool
    ) -> Iterator[tuple[Section, Block]]:
        """Walk ``node`` as a container of its own: sections in it end with it."""
        held = self.section, self.path
        yield from self.walk(node, loose, depth + 1, sectioning=sectioning)
        self.section, self.path = held

    # -- text

    def inline_text(self, node: LexborNode) -> str:
        if node.mem_id not in self.special:
            return " ".join(node.text(deep=True).split())
        inner = node.traverse(include_text=True)
        return _inline("".join(_TEXT_OF[n.tag or ""](n) for n in inner if n.tag in _TEXT_OF))

    def code(self, node: LexborNode) -> str:
        if node.mem_id in self.special:
            parts = []
            for inner in node.traverse(include_text=True):
                if inner.tag == "-text":
                    parts.append(inner.text_content or "")
                elif inner.tag == "br":
                    parts.append("\n")
            text = "".join(parts)
        else:
            text = node.text(deep=True)
        text = strip_annotations(text.replace("\r\n", "\n").replace("\r", "\n")).strip("\n")
        if not text:
            return ""
        longest = max((len(run) for run in _FENCE.findall(text)), default=2)
        fence = "`" * (longest + 1)
        return f"{fence}\n{text}\n{fence}"

    def list_text(self, node: LexborNode, depth: int) -> str:
        ordered = node.tag == "ol"
        number = _integer(node, "start", 1) if ordered else 1
        items: list[tuple[str, list[Block]]] = []
        for child in _children(node):
            inner = child.tag in _LISTS
            if not inner and child.tag != "li":
                continue
            if not inner or not items:
                number = _integer(child, "value", number) if ordered and not inner else number
                tick = self.ticks.get(child.mem_id, "")
                items.append((f"{number}. {tick}" if ordered else f"- {tick}", []))
                number += 1
            if inner:  # a list directly in a list is a part of the item before it
                made = self.make(child, self.kind(child, child.tag or ""), depth + 1)
                items[-1][1].extend(block for _, block in made)
            else:
                items[-1][1].extend(self.nested(child, depth))
        return "\n".join(marker + _indent(_item(blocks)) for marker, blocks in items if blocks)

    def definitions(self, node: LexborNode, depth: int) -> str:
        parts = []
        for child in _terms(node):
            text = "\n\n".join(block.text for block in self.nested(child, depth))
            if text:
                parts.append(text if child.tag == "dt" else ": " + _indent(text))
        return "\n".join(parts)

    def table(self, node: LexborNode, depth: int) -> str:
        caption = next(_children(node, "caption"), None)
        lines = [self.inline_text(caption)] if caption is not None else []
        rows: list[tuple[bool, str, int]] = []  # in the head?, the line, number of cells
        for part in _children(node, "tr", "thead", "tbody", "tfoot"):
            for row in [part] if part.tag == "tr" else _children(part, "tr"):
                cells = list(_children(row, "td", "th"))
                texts = [self.cell(cell, depth) for cell in cells]
                if any(texts):
                    first = not rows and all(cell.tag == "th" for cell in cells)
                    head = part.tag == "thead" or first
                    rows.append((head, f"| {' | '.join(texts)} |", len(cells)))
        in_head = [number for number, (head, _, _) in enumerate(rows) if head]
        for number, (_, line, count) in enumerate(rows):
            lines.append(line)
            if number in in_head[-1:]:
                lines.append(f"| {' | '.join(['---'] * count)} |")
        return "\n".join(filter(None, lines))

    def cell(self, node: LexborNode, depth: int) -> str:
        text = " ".join(block.text for block in self.nested(node, depth))
        return " ".join(text.split()).replace("|", "\\|")


# Class -> kind, and the elements that the class counts for (none: all), in order of weight.
_CLASS_KINDS: dict[str, tuple[str, tuple[str, ...]]] = {
    "tabbed-set": ("tabs", ()),
    "footnote": ("footnotes", ("div", "section")),
    "admonition": ("admonition", ()),
    "arithmatex": ("math", ("div",)),
    "filename": ("filename", ()),
}
_TAG_KINDS = {
    **dict.fromkeys(_CONTAINERS, "container"),
    **dict.fromkeys(_PARAGRAPHS, "paragraph"),
    **dict.fromkeys(_LISTS, "list"),
    **dict.fromkeys(_HEADINGS, "heading"),
    **dict.fromkeys(_TABLE_PARTS, "part"),
    "pre": "code",
    "dl": "definitions",
    "table": "table",
    "blockquote": "quote",
    "details": "admonition",
    "figure": "figure",
    "hr": "none",
}
# Kinds that are walked through, and what is loose in them ("": the same as around them).
_WALKED = {"container": "raw", "part": "", "inline": ""}
_NEVER_WALKED = frozenset(("tabs", "footnotes", "none"))
# Kinds that are made of other blocks, and so may be nested without end.
_NESTED = frozenset(
    ("list", "definitions", "table", "quote", "admonition", "figure", "tabs", "footnotes")
)
_TEXT_OF: dict[str, Callable[[LexborNode], str]] = {
    "-text": lambda node: node.text_content or "",
    "-comment": lambda _: "",
    "br": lambda _: _BREAK,
    "img": lambda node: node.attributes.get("alt") or "",
}


def _find_openers(
    tree: LexborHTMLParser, opens: Collection[str]
) -> tuple[dict[int, str], set[int]]:
    """Find the headings that open sections ("" for the page's own h1), and what is around them."""
    openers: dict[int, str] = {}
    seen: set[str] = set()
    first_h1 = True
    headings = tree.css("h1,h2,h3,h4,h5,h6")
    for node in headings:
        section_id = node.attributes.get("id") or ""
        if section_id in opens and section_id not in seen:
            seen.add(section_id)
            openers[node.mem_id] = section_id
        elif node.tag == "h1" and first_h1:
            openers[node.mem_id] = ""
        first_h1 = first_h1 and node.tag != "h1"
    return openers, _ancestors((node for node in headings if node.mem_id in openers), tree.body)


def _ancestors(nodes: Iterable[LexborNode], top: LexborNode | None) -> set[int]:
    """Collect the ids of all elements that hold one of ``nodes``, up to ``top``."""
    found: set[int] = set()
    for node in nodes:
        parent = node.parent
        while parent is not None and parent.mem_id not in found:
            found.add(parent.mem_id)
            if top is not None and parent.mem_id == top.mem_id:
                break
            parent = parent.parent
    return found


def _ticks(tree: LexborHTMLParser) -> dict[int, str]:
    """Map list items to the checkbox in them: `[x] ` or `[ ] `."""
    ticks: dict[int, str] = {}
    for box in tree.css('li input[type="checkbox" i]'):
        item = box.parent
        while item is not None and item.tag != "li" and item.tag not in _LISTS:
            item = item.parent
        if item is not None and item.tag == "li":
            ticks.setdefault(item.mem_id, "[x] " if "checked" in box.attributes else "[ ] ")
    return ticks


def _own(
    node: LexborNode, selector: str, panels: Sequence[LexborNode] | None = None
) -> list[LexborNode]:
    """Find elements of a tabbed set that are not in a set nested in it, nor in a panel.

    Without ``panels``, what is looked for are the panels.
    """
    closed = {inner.mem_id for inner in node.css(".tabbed-set")} - {node.mem_id}
    closed |= {panel.mem_id for panel in panels or ()}
    found: list[LexborNode] = []
    for inner in node.css(selector):
        if inner.mem_id == node.mem_id or inner.mem_id in closed:
            continue
        parent = inner.parent
        while parent is not None and parent.mem_id not in closed and parent.mem_id != node.mem_id:
            parent = parent.parent
        if parent is not None and parent.mem_id == node.mem_id:
            found.append(inner)
            if panels is None:
                closed.add(inner.mem_id)
    return found


def _children(node: LexborNode, *tags: str) -> Iterator[LexborNode]:
    child = node.child
    while child is not None:
        if child.is_element_node and (not tags or child.tag in tags):
            yield child
        child = child.next


def _terms(node: LexborNode) -> Iterator[LexborNode]:
    for child in _children(node, "dt", "dd", "div"):
        if child.tag == "div":
            yield from _children(child, "dt", "dd")
        else:
            yield child


def _classes(node: LexborNode) -> list[str]:
    return (node.attributes.get("class") or "").split()


def _integer(node: LexborNode, name: str, default: int) -> int:
    value = node.attributes.get(name) or ""
    return int(value) if _INTEGER.fullmatch(value) else default


def _inline(text: str) -> str:
    if _BREAK not in text:
        return " ".join(text.split())
    pieces = (" ".join(piece.split()) for piece in text.split(_BREAK))
    return "\n".join(piece for piece in pieces if piece)


def _item(blocks: list[Block]) -> str:
    text = blocks[0].text
    for block in blocks[1:]:
        text += ("\n" if block.kind == "list" else "\n\n") + block.text
    return text


def _indent(text: str) -> str:
    return "\n".join(
        f"  {line}" if line and number else line for number, line in enumerate(text.split("\n"))
    )
