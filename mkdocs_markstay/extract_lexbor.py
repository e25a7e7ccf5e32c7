"""From published HTML to sections of text, with the lexbor parser.

The fast one of two extractors; the rules are in ``docs/text.md``. A page's tree is
walked once, without recursion for containers, so depth of nesting is no danger.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from selectolax.lexbor import LexborHTMLParser, SelectolaxError

from mkdocs_markstay.furniture import strip_annotations
from mkdocs_markstay.marks import BEGIN, END
from mkdocs_markstay.sections import MAX_NESTING, Block, Section

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from selectolax.lexbor import LexborNode

_BEGIN_NAME, _END_NAME = "data-markstay-begin", "data-markstay-end"
_SPAN = re.compile(r"""<span(?=[\s/>])((?:[^<>"']|"[^"]*"|'[^']*')*)>""", re.IGNORECASE)
_LONGEST_TAG = 2000
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
_PLAIN_HEADINGS = ",".join(f"body>{tag}" for tag in sorted(_HEADINGS))
_TABLE_PARTS = _words("thead tbody tfoot tr td th")
_BLOCKS = (
    _CONTAINERS
    | _PARAGRAPHS
    | _LISTS
    | _HEADINGS
    | _words("pre dl table blockquote details figure hr")
)
_ROOTS = frozenset(("html", "head", "body"))
_LISTING = frozenset(("highlighttable", "codehilitetable"))
# What may stand in a list item or a cell that is read as a whole, and what may have
# such things in it.
_FLAT = _words("-text code kbd br img wbr")
_FLAT_OUTSIDE = _words("a strong em b i span sup sub del ins mark abbr small u s input label")
_CLASSED = ".tabbed-set,.footnote,.admonition,.arithmatex,.filename"
# What keeps a paragraph open where a block begins, or is none of those that close one.
_MAY_HOLD_P_OPEN = _words("legend marquee applet object math search dialog")
_NOTED = ",".join((*sorted(_HEADINGS), "br", "img", "li input", _CLASSED, *_MAY_HOLD_P_OPEN))
_BLOCKS_IN_P = f"p :is({','.join(sorted(_BLOCKS))},{_CLASSED})"
_SIMPLE_SELECTOR = re.compile(
    r"""([A-Za-z][\w-]*)?(?:\.([\w-]+)|\#([\w-]+)|\[([\w-]+)(?:\*?="[^"]*")?\])?""", re.VERBOSE
)
# For lower-case HTML. What is found too much, in text say, does no harm.
_TAG_NAME = re.compile(r"<([a-z][\w-]*)")
_CLASS_VALUE = re.compile(r"""class\s*=\s*("[^"]*|'[^']*|[^\s>]*)""")
_QUOTES = re.compile("[\"']")
_INTEGER = re.compile(r"\s*[+-]?[0-9]{1,9}\s*")
_FENCE = re.compile("`{3,}")
_BREAK = "\0"  # stands for <br>; a parsed document holds no NUL


def check_selector(selector: str) -> str:
    """Say what is wrong with a CSS selector; nothing if it can be used."""
    import soupsieve  # noqa: PLC0415 (slow to import, and most sites have no own selectors)

    try:
        LexborHTMLParser("<p></p>").css(selector)
        # What lexbor repairs or adds to the standard, the second extractor refuses.
        soupsieve.compile(selector)
    except (SelectolaxError, ValueError, soupsieve.SelectorSyntaxError):
        return f"{selector!r} is not a CSS selector"
    if "|" in selector.replace("|=", ""):
        return f"{selector!r} names a namespace"
    return "" if selector.strip() else "a CSS selector is empty"


def find_region(page: str) -> str | None:
    """Cut the region between the marks out of a published page; None if a mark is missing."""
    span = find_region_span(page)
    return None if span is None else page[span[0] : span[1]]


def find_region_span(page: str) -> tuple[int, int] | None:
    """Find where the region begins and ends in a published page."""
    # The marks as the build writes them, which only a minifier changes.
    begin, end = page.find(BEGIN), page.rfind(END)
    if 0 <= begin < end:
        first, last = page.find(_BEGIN_NAME), page.rfind(_END_NAME)
        if first == begin + BEGIN.index(_BEGIN_NAME) and last == end + END.index(_END_NAME):
            return begin + len(BEGIN), end
    mark = next(_marks(page, _BEGIN_NAME), None)
    if mark is None:
        return None
    closing = _SPAN_END.match(page, mark.end())
    start = closing.end() if closing else mark.end()
    ends = [mark.start() for mark in _marks(page, _END_NAME) if mark.start() >= start]
    return (start, ends[-1]) if ends else None


def _marks(page: str, name: str) -> Iterator[re.Match[str]]:
    """Find the `span` elements that have an attribute, wherever its name occurs in the text."""
    for hit in re.finditer(name, page) if name in page else re.finditer(name, page, re.IGNORECASE):
        start = page.rfind("<", max(0, hit.start() - _LONGEST_TAG), hit.start())
        span = _SPAN.match(page, start, start + 2 * _LONGEST_TAG) if start >= 0 else None
        if span and span.end() > hit.start():
            attributes = _VALUE.sub(" ", span[1]).lower().replace("/", " ")
            if name in attributes.split():
                yield span


def extract(region: str, opens: Collection[str], furniture: Iterable[str]) -> list[Section]:
    """Read the sections of a page; the first one is the page itself.

    ``region`` is the HTML between the marks, ``opens`` the ids of the headings that
    open sections, ``furniture`` the selectors of what is not text.
    """
    body = LexborHTMLParser(f"<!DOCTYPE html><body>{region}").body
    if body is None:
        return [Section("", 0, "", ())]
    remove_furniture(body, region, furniture)
    return PageReader(body, opens).read()


def extract_element(top: LexborNode, opens: Collection[str]) -> tuple[str, list[Section]]:
    """Read the text of the first h1 in an element ("" without one), and its sections."""
    page = PageReader(top, opens)
    return page.find_title(), page.read()


def remove_furniture(top: LexborNode, html: str, furniture: Iterable[str]) -> None:
    """Take out of an element what is not text; ``html`` is what it was parsed from."""
    selectors = _occurring(tuple(furniture), html)
    if selectors:
        _remove(top, selectors)


def find_plain_headings(region: str) -> set[str]:
    """Find the ids of headings that open their sections whatever else is on the page.

    They stand in nothing that could hide them, and have no attribute but the id.
    """
    tree = LexborHTMLParser(f"<!DOCTYPE html><body>{region}")
    every = (heading.attributes for heading in tree.css(_PLAIN_HEADINGS))
    return {attributes.get("id") or "" for attributes in every if len(attributes) == 1}


def _remove(top: LexborNode, selectors: str) -> None:
    """Remove matching elements in ``top``, inner ones before the ones they stand in."""
    gone = {top.mem_id}
    for node in reversed(top.css(selectors)):
        if node.mem_id not in gone and node.tag not in _ROOTS:
            gone.add(node.mem_id)
            node.remove()


def _occurring(selectors: tuple[str, ...], region: str) -> str:
    """Join the selectors that can match anything: most name what is on few pages."""
    lower = region.lower()
    tags = set(_TAG_NAME.findall(lower))
    values = " ".join(set(_CLASS_VALUE.findall(lower)))
    if "&" in values:  # a class may be spelled in ways that only the parser reads
        return ",".join(selectors)
    classes = set(_QUOTES.sub(" ", values).split())
    return ",".join(
        [
            selector
            for selector, tag, name, word in _parts_of(selectors)
            if (not tag or tag in tags)
            and (not name or name in classes)
            and (not word or word in lower)
        ]
    )


@lru_cache(maxsize=64)
def _parts_of(selectors: tuple[str, ...]) -> tuple[tuple[str, str, str, str], ...]:
    """Give with each selector the tag, the class and the word that all its matches have."""
    parts = []
    for selector in selectors:
        match = _SIMPLE_SELECTOR.fullmatch(selector)
        tag, name, own, attribute = match.groups("") if match else ("", "", "", "")
        parts.append((selector, tag.lower(), name.lower(), (own or attribute).lower()))
    return tuple(parts)


class _Frame(NamedTuple):
    """An element that is being walked: what comes after it, and what holds again there."""

    following: LexborNode | None
    loose: str
    inline: bool
    section: Section | None
    path: tuple[Section, ...]


class PageReader:
    """The reading of one page, of which `extract` gives the result.

    Blocks go to the list ``out`` that a method is given, or without one to the
    section that holds at that place.
    """

    def __init__(self, body: LexborNode, opens: Collection[str]) -> None:
        self.body = body
        self.page = Section("", 0, "", ())
        self.sections = [self.page]
        self.section = self.page
        self.path: tuple[Section, ...] = ()
        self.footnotes: list[Block] = []
        # Tab labels that wait for the first block of their panel.
        self.labels: list[str] = []
        self.ticks: dict[int, str] = {}
        noted: dict[str, list[LexborNode]] = {"heading": [], "break": [], "classed": []}
        blocks_in_p = False
        for node in body.css(_NOTED):
            tag = node.tag or ""
            if tag in _HEADINGS:
                noted["heading"].append(node)
            elif tag in ("br", "img"):
                noted["break"].append(node)
            elif tag == "input":
                _note_tick(node, self.ticks)
            else:
                noted["classed"].append(node)
                blocks_in_p = blocks_in_p or tag in _MAY_HOLD_P_OPEN
        self.classed = {node.mem_id for node in noted["classed"]}
        self.headings = noted["heading"]
        self.openers, self.around_openers = _find_openers(self.headings, body, opens)
        # Elements whose text is more than that of their text nodes.
        self.special = _ancestors(noted["break"], body)
        inner = body.css(_BLOCKS_IN_P) if blocks_in_p else noted["classed"]
        self.blocks_in_p = _ancestors(inner, body)
        self.exceptional = self.classed | self.around_openers | self.blocks_in_p

    def find_title(self) -> str:
        """Give the text of the first h1, "" without one."""
        h1 = next((node for node in self.headings if node.tag == "h1"), None)
        return "" if h1 is None else self.inline_text(h1).replace("\n", " ")

    def read(self) -> list[Section]:
        """Read the sections; the first one is the page itself."""
        self.walk(self.body, "raw", 0, None)
        self.page.blocks += self.footnotes
        return self.sections

    def add(self, kind: str, text: str, out: list[Block] | None, *, lead: bool = False) -> None:
        """Add a block, unless its text is empty, and the tab labels that wait for it."""
        if not text:
            return
        if out is None:
            out = self.section.blocks
        if self.labels:
            out += [Block("paragraph", label, lead=True) for label in self.labels]
            self.labels = []
        out.append(Block(kind, text, lead))

    # -- walking

    def walk(self, top: LexborNode, loose: str, depth: int, out: list[Block] | None) -> None:
        """Read the content of ``top``; text that is in no block makes blocks of kind ``loose``."""
        buffer: list[str] = []
        frames: list[_Frame] = []
        node = top.child
        while True:
            if node is None:
                if buffer and not (frames and frames[-1].inline):
                    self.add(loose, _inline("".join(buffer)), out)
                    buffer.clear()
                if not frames:
                    return
                node, loose, _, section, path = frames.pop()
                if section is not None:
                    self.section, self.path = section, path
                continue
            tag = node.tag or ""
            if tag in _TEXT_OF:
                text = _TEXT_OF[tag](node)
                if buffer or not text.isspace():
                    buffer.append(text)
                node = node.next
                continue
            kind = self.kind(node, tag)
            if buffer and kind != "inline":
                self.add(loose, _inline("".join(buffer)), out)
                buffer.clear()
            inside = self.inside(node, kind, loose)
            if inside is None:
                self.make(node, kind, depth, out)
                node = node.next
            else:
                frames.append(self.frame(node, loose, inline=kind == "inline"))
                node, loose = node.child, inside

    def frame(self, node: LexborNode, loose: str, *, inline: bool) -> _Frame:
        """Note what holds again behind an element that is walked through."""
        if node.mem_id in self.around_openers and node.tag not in ("header", "hgroup"):
            # The text after a heading ends with the element that the heading is in.
            return _Frame(node.next, loose, False, self.section, self.path)
        return _Frame(node.next, loose, inline, None, ())

    def kind(self, node: LexborNode, tag: str) -> str:
        """Say what ``node`` is to the walk: a kind of block, or a word of `_TAG_KINDS`."""
        if self.classed and node.mem_id in self.classed and tag not in _HEADINGS:
            classes = _classes(node)
            for name, (kind, tags) in _CLASS_KINDS.items():
                if name in classes and (not tags or tag in tags):
                    return kind
        return _TAG_KINDS.get(tag, "inline")

    def inside(self, node: LexborNode, kind: str, loose: str) -> str | None:
        """Give the kind of loose blocks in ``node`` if it is walked through, else None."""
        if kind == "paragraph" and node.tag == "p" and node.mem_id not in self.exceptional:
            return None  # most blocks: paragraphs of text alone
        if kind in _WALKED:
            return _WALKED[kind] or loose
        if kind == "table" and _LISTING.intersection(_classes(node)):
            return "raw"
        if kind in _NEVER_WALKED or node.mem_id in self.openers:
            return None
        if node.mem_id in self.around_openers:
            return "paragraph"
        return "paragraph" if kind == "paragraph" and self.holds_blocks(node) else None

    def holds_blocks(self, node: LexborNode) -> bool:
        """Whether an element that is a paragraph otherwise has blocks in it."""
        return node.tag != "p" or node.mem_id in self.blocks_in_p

    def make(self, node: LexborNode, kind: str, depth: int, out: list[Block] | None) -> None:
        """Read an element that is a block, or makes its own of what is in it."""
        if kind == "paragraph":
            self.add(kind, self.inline_text(node), out)
        elif kind == "heading":
            self.heading(node, out)
        elif kind == "code":
            self.add(kind, self.code(node), out)
        elif kind in _NESTED:
            self.make_nested(node, kind, depth, out)
        elif kind == "math":
            self.add(kind, self.inline_text(node), out)
        elif kind == "filename":
            self.add("paragraph", self.inline_text(node), out, lead=True)

    def make_nested(self, node: LexborNode, kind: str, depth: int, out: list[Block] | None) -> None:
        """Read an element whose text is made of the blocks in it."""
        if depth >= MAX_NESTING:
            self.add("raw", self.inline_text(node), out)
        elif kind == "tabs":
            self.tabs(node, depth, out)
        elif kind == "footnotes":
            self.notes(node, depth, out)
        elif kind == "list":
            self.add(kind, self.list_text(node, depth), out)
        elif kind == "table":
            self.add(kind, self.table(node, depth), out)
        elif kind == "definitions":
            self.add(kind, self.definitions(node, depth), out)
        else:
            text = "\n\n".join([block.text for block in self.nested(node, depth)])
            if kind == "quote" and text:
                text = "\n".join([f"> {line}" if line else ">" for line in text.split("\n")])
            self.add(kind, text, out)

    # -- blocks

    def nested(self, node: LexborNode, depth: int) -> list[Block]:
        """Read the content of a part of a block."""
        if self.is_flat(node):
            text = self.inline_text(node)
            return [Block("paragraph", text)] if text else []
        blocks: list[Block] = []
        labels, self.labels = self.labels, []
        self.walk(node, "paragraph", depth + 1, blocks)
        self.labels = labels
        return blocks

    def is_flat(self, node: LexborNode) -> bool:
        """Whether there is only text and plain inline markup in ``node``; False if in doubt."""
        child = node.child
        while child is not None:
            tag = child.tag
            if tag not in _FLAT:
                if tag not in _FLAT_OUTSIDE or child.mem_id in self.classed:
                    return False
                inner = child.child
                while inner is not None:
                    if inner.tag not in _FLAT or inner.mem_id in self.classed:
                        return False
                    inner = inner.next
            elif self.classed and child.mem_id in self.classed:
                return False
            child = child.next
        return True

    def heading(self, node: LexborNode, out: list[Block] | None) -> None:
        """Begin the section that a heading opens, or read the heading as text."""
        title = self.inline_text(node)
        section_id = self.openers.get(node.mem_id)
        if section_id is None or out is not None:
            self.add("paragraph", title, out, lead=True)
            return
        if not section_id:
            self.section, self.path = self.page, ()
            return
        title = title.replace("\n", " ")
        level = int((node.tag or "h1")[1])
        above = tuple([section for section in self.path if section.level < level])
        titles = (*[section.title for section in above], title)
        self.section = Section(section_id, level, title, titles)
        self.path = (*above, self.section)
        self.sections.append(self.section)

    def tabs(self, node: LexborNode, depth: int, out: list[Block] | None) -> None:
        """Read the panels of a tabbed set, each with its label before it."""
        panels = _find_panels(node)
        labels = _own(node, "label", panels)
        for number, panel in enumerate(panels):
            waiting = self.labels
            label = self.inline_text(labels[number]) if number < len(labels) else ""
            self.labels = [*waiting, label] if label else waiting
            self.scoped(panel, "raw", depth, out)
            # A panel without blocks leaves its label behind.
            self.labels = waiting if self.labels else []

    def notes(self, node: LexborNode, depth: int, out: list[Block] | None) -> None:
        """Read the notes of a footnote element: they belong to the page."""
        held = self.section, self.path
        self.section, self.path = self.page, ()
        for item in [item for child in _children(node, "ol") for item in _children(child, "li")]:
            if out is None and item.mem_id in self.around_openers:
                self.scoped(item, "paragraph", depth, out)
                continue
            place = len(self.footnotes)
            text = "\n\n".join([block.text for block in self.nested(item, depth)])
            if text:
                # Before the notes of a footnote element in this one.
                self.footnotes.insert(place, self.note(item, text))
        self.section, self.path = held

    def note(self, item: LexborNode, text: str) -> Block:
        """Make the block of a note; ``item`` is its element."""
        del item
        return Block("footnote", text)

    def scoped(self, node: LexborNode, loose: str, depth: int, out: list[Block] | None) -> None:
        """Walk ``node`` as a container of its own: sections in it end with it."""
        held = self.section, self.path
        self.walk(node, loose, depth + 1, out)
        self.section, self.path = held

    # -- text

    def inline_text(self, node: LexborNode) -> str:
        """Read text as it is in a paragraph."""
        if node.mem_id not in self.special:
            return " ".join(node.text(deep=True).split())
        inner = node.traverse(include_text=True)
        return _inline("".join(_TEXT_OF[n.tag or ""](n) for n in inner if n.tag in _TEXT_OF))

    def code(self, node: LexborNode) -> str:
        """Read code as it is, in a fence."""
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
        """Read the items of a list."""
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
                self.make(child, self.kind(child, child.tag or ""), depth + 1, items[-1][1])
            else:
                items[-1][1].extend(self.nested(child, depth))
        return "\n".join(marker + _indent(_item(blocks)) for marker, blocks in items if blocks)

    def definitions(self, node: LexborNode, depth: int) -> str:
        """Read the terms and meanings of a definition list."""
        parts = []
        for child in _terms(node):
            text = "\n\n".join(block.text for block in self.nested(child, depth))
            if text:
                parts.append(text if child.tag == "dt" else ": " + _indent(text))
        return "\n".join(parts)

    def table(self, node: LexborNode, depth: int) -> str:
        """Read the rows of a table."""
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
        """Read a cell as one line."""
        text = " ".join(block.text for block in self.nested(node, depth))
        return " ".join(text.split()).replace("|", "\\|")


def has_loose_text(node: LexborNode) -> bool:
    """Whether text stands in an element that is in none of the blocks in it."""
    child = node.child
    while child is not None:
        tag = child.tag or ""
        if tag in _TEXT_OF:
            text = _TEXT_OF[tag](child)
        else:
            text = child.text() if _TAG_KINDS.get(tag, "inline") == "inline" else ""
        if text.strip():
            return True
        child = child.next
    return False


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
    headings: Iterable[LexborNode], body: LexborNode, opens: Collection[str]
) -> tuple[dict[int, str], set[int]]:
    """Find the headings that open sections ("" for the page's own h1), and what is around them."""
    openers: dict[int, str] = {}
    found: list[LexborNode] = []
    noted: set[int] = set()
    seen: set[str] = set()
    first_h1 = True
    for node in headings:
        if node.mem_id in noted:
            continue
        noted.add(node.mem_id)
        section_id = node.attributes.get("id") or ""
        if section_id in opens and section_id not in seen:
            seen.add(section_id)
            openers[node.mem_id] = section_id
            found.append(node)
        elif node.tag == "h1" and first_h1:
            openers[node.mem_id] = ""
            found.append(node)
        first_h1 = first_h1 and node.tag != "h1"
    return openers, _ancestors(found, body)


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


def _note_tick(box: LexborNode, ticks: dict[int, str]) -> None:
    """Map the list item that a checkbox is in to `[x] ` or `[ ] `."""
    if (box.attributes.get("type") or "").lower() != "checkbox":
        return
    item = box.parent
    while item is not None and item.tag != "li" and item.tag not in _LISTS:
        item = item.parent
    if item is not None and item.tag == "li":
        ticks.setdefault(item.mem_id, "[x] " if "checked" in box.attributes else "[ ] ")


def find_own_labels(node: LexborNode) -> list[LexborNode]:
    """Find the labels of a tabbed set, one to each of its panels."""
    return _own(node, "label", _find_panels(node))


def _find_panels(node: LexborNode) -> list[LexborNode]:
    return _own(node, ".tabbed-block") or _own(node, ".tabbed-content")


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
