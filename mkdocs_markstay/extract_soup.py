"""The text of published HTML, read with BeautifulSoup and html5lib.

One of two implementations of ``docs/text.md``, the one that checks: it is used
by ``mkdocs-markstay verify``. It shares the list of furniture and the rule for
code annotation marks with the other one, and no other code.

Pages may be nested deeper than Python can recurse. Whatever calls itself is
therefore a *task*: a generator that yields the task it wants done and gets that
task's result back, driven by ``_run``.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from typing import TYPE_CHECKING, Any, TypeAlias

from bs4 import BeautifulSoup
from bs4.element import PreformattedString, Tag

from mkdocs_markstay.furniture import strip_annotations
from mkdocs_markstay.sections import MAX_NESTING, Block, Section

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from bs4.element import PageElement

Task: TypeAlias = Generator[Any, Any, Any]

_LISTS = frozenset({"ul", "ol", "menu"})
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_GROUPS = frozenset({"thead", "tbody", "tfoot"})
_CLASSLESS = _HEADINGS | {"br", "img"}
"""Elements that the rules for classes leave alone."""
_TRANSPARENT = frozenset({"header", "hgroup"})
"""Parents that do not end the section of a heading in them."""

# The words are looked at in this order, before the element's name.
# No names: any element with the class.
_CLASS_RULES: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("tabbed-set", (), "tabs"),
    ("footnote", ("div", "section"), "footnotes"),
    ("admonition", (), "admonition"),
    ("arithmatex", ("div",), "math"),
    ("filename", (), "line"),
    ("highlighttable", ("table",), "container"),
    ("codehilitetable", ("table",), "container"),
)
_NAMES = {
    "paragraph": "p summary figcaption caption legend dt dd li",
    "code": "pre",
    "list": "ul ol menu",
    "definitions": "dl",
    "table": "table",
    "quote": "blockquote",
    "admonition": "details",
    "figure": "figure",
    "line": "h1 h2 h3 h4 h5 h6",
    "rule": "hr",
    "container": "div section article main aside header footer address center fieldset form"
    " hgroup search dialog body",
    # Reached only in a listing with line numbers, or on the way to a heading in a table.
    "part": "thead tbody tfoot tr td th",
    "break": "br",
    "image": "img",
}
_NAME_RULES = {name: rule for rule, names in _NAMES.items() for name in names.split()}

_OWN_RULES = frozenset({"tabs", "footnotes"})
"""What keeps its rule also with a heading inside."""
_NESTED = _OWN_RULES | {"list", "definitions", "table", "quote", "admonition", "figure"}
"""What is made of other blocks, and so may be nested without end."""

_SPAN = re.compile(
    r"""<span(?=[\s/>])((?:[^<>=]|=(?!\s*["'])|=\s*"[^"]*"|=\s*'[^']*')*)>""",
    re.ASCII | re.IGNORECASE,
)
_SPAN_END = re.compile(r"\s*</span\s*>", re.ASCII | re.IGNORECASE)
_VALUE = re.compile(r"""=\s*(?:"[^"]*"|'[^']*'|[^\s>]*)""", re.ASCII)
_INTEGER = re.compile(r"\s*[+-]?[0-9]{1,9}\s*", re.ASCII)


def find_region(page: str) -> str | None:
    """Cut the part between the marks out of a published file, ``None`` if a mark is missing."""
    begin = next(_marks(page, "data-markstay-begin", 0), None)
    if begin is None:
        return None
    start = begin.end()
    if closed := _SPAN_END.match(page, start):
        start = closed.end()
    ends = [mark.start() for mark in _marks(page, "data-markstay-end", start)]
    return page[start : ends[-1]] if ends else None


def extract(region: str, opens: Collection[str], furniture: Iterable[str]) -> list[Section]:
    """Read the sections of a region, the page itself first.

    ``opens`` holds the ids of the headings that open sections. ``furniture`` is
    the whole list of selectors of elements to leave out, ``FURNITURE`` included.
    """
    soup = BeautifulSoup(f"<!DOCTYPE html><body>{region}", "html5lib", multi_valued_attributes=None)
    body = soup.body
    assert body is not None  # the tree builder always makes one
    remove_furniture(body, ", ".join(furniture))
    return extract_element(body, opens)


def extract_element(top: Tag, opens: Collection[str]) -> list[Section]:
    """Read the sections of one element of a page; furniture and comments are gone already."""
    reader = _Reader(top, opens)
    _run(reader.region(top))
    page = reader.sections[0]
    page.blocks.extend(reader.footnotes)
    return reader.sections


def count_anchors(page: str, anchor: str) -> int:
    """Count the elements of a page, those in templates left out, that have an id."""
    soup = BeautifulSoup(page, "html5lib", multi_valued_attributes=None)
    found = soup.find_all(id=anchor)
    return sum(tag.find_parent("template") is None for tag in found)


class _Reader:
    """Walks the content of a region and gathers its sections."""

    def __init__(self, body: Tag, opens: Collection[str]) -> None:
        self.sections = [Section("", 0, "", ())]
        self.footnotes: list[Block] = []
        # Tags are told apart by id(): their own hash and equality compare whole subtrees.
        self.opening, self.page_heading = _find_openers(body, opens)
        self.holding = _find_holders([*self.opening.values(), *self.page_heading.values()])
        # Where blocks go now: into a section, or into the blocks of one element.
        self.out = self.sections[0].blocks
        # The sections that the next heading may stand under, outermost first.
        self.trail: tuple[Section, ...] = ()
        self.buffer: list[str | None] = []
        # Tab labels that wait for the first block of their panel.
        self.labels: list[str] = []
        self.depth = 0
        self.makers = {
            "list": self._list,
            "definitions": self._definitions,
            "table": self._table,
            "quote": self._quote,
            "admonition": self._joined,
            "figure": self._joined,
        }

    def region(self, body: Tag) -> Task:
        """Read everything in ``body``."""
        yield self._content(body.contents, "raw")

    def _content(self, nodes: Iterable[PageElement], loose: str) -> Task:
        yield self._walk(nodes, loose)
        self._flush(loose)

    def _walk(self, nodes: Iterable[PageElement], loose: str) -> Task:
        for node in nodes:
            if isinstance(node, Tag):
                yield self._element(node, loose)
            else:
                self.buffer.append(str(node))

    def _flush(self, loose: str) -> None:
        self._add(loose, _tidy(self.buffer))
        self.buffer = []

    def _add(self, kind: str, text: str, *, lead: bool = False) -> None:
        if text:
            self.out.extend(Block("paragraph", label, lead=True) for label in self.labels)
            self.labels = []
            self.out.append(Block(kind, text, lead))

    def _element(self, tag: Tag, loose: str) -> Task:
        if id(tag) in self.opening or id(tag) in self.page_heading:
            self._flush(loose)
            self._open(tag)
            return
        before = self.out, self.trail
        yield self._read(tag, loose)
        if tag.name not in _TRANSPARENT:
            self.out, self.trail = before

    def _open(self, heading: Tag) -> None:
        level = int(heading.name[1])
        self.trail = tuple(section for section in self.trail if section.level < level)
        if id(heading) in self.page_heading:
            self.out = self.sections[0].blocks
            return
        title = _inline(heading).replace("\n", " ")
        path = (*(section.title for section in self.trail), title)
        section = Section(_attribute(heading, "id"), level, title, path)
        self.sections.append(section)
        self.trail = (*self.trail, section)
        self.out = section.blocks

    def _read(self, tag: Tag, loose: str) -> Task:
        rule = _rule(tag)
        if rule == "break":
            self.buffer.append(None)
        elif rule == "image":
            self.buffer.append(_attribute(tag, "alt"))
        elif rule == "inline":
            yield self._walk(tag.contents, loose)
            if id(tag) in self.holding:
                # The section of the heading ends here, and with it the text gathered for it.
                self._flush(loose)
        else:
            self._flush(loose)
            yield self._block(tag, rule, loose)

    def _block(self, tag: Tag, rule: str, loose: str) -> Task:
        held = id(tag) in self.holding and rule not in _OWN_RULES
        if rule in _NESTED and self.depth >= MAX_NESTING and not held:
            self._add("raw", _inline(tag))
        elif rule == "container":
            yield self._content(tag.contents, "raw")
        elif rule == "part":
            yield self._content(tag.contents, loose)
        elif rule == "tabs":
            yield self._tabs(tag)
        elif rule == "footnotes":
            yield self._footnotes(tag)
        elif rule == "paragraph" or held:
            yield self._content(tag.contents, "paragraph")
        elif rule in self.makers:
            text = yield self.makers[rule](tag)
            self._add(rule, text)
        else:
            self._add_simple(tag, rule)

    def _add_simple(self, tag: Tag, rule: str) -> None:
        if rule == "line":
            self._add("paragraph", _inline(tag), lead=True)
        elif rule == "math":
            self._add("math", _inline(tag))
        elif rule == "code":
            self._add("code", _code(tag))

    def _blocks(self, nodes: Iterable[PageElement]) -> Task:
        """Return the blocks of some nodes, instead of adding them to a section."""
        before, self.out = self.out, []
        labels, self.labels = self.labels, []
        self.depth += 1
        yield self._content(nodes, "paragraph")
        self.depth -= 1
        blocks, self.out = self.out, before
        self.labels = labels
        return blocks

    def _joined(self, tag: Tag) -> Task:
        blocks = yield self._blocks(tag.contents)
        return "\n\n".join(block.text for block in blocks)

    def _quote(self, tag: Tag) -> Task:
        text = yield self._joined(tag)
        lines = text.split("\n") if text else []
        return "\n".join(f"> {line}" if line else ">" for line in lines)

    def _list(self, tag: Tag) -> Task:
        items = []
        for marker, nodes in _items(tag):
            text = yield self._item(nodes)
            if text:
                items.append(marker + _indent(_checkbox(nodes) + text))
        return "\n".join(items)

    def _item(self, nodes: list[PageElement]) -> Task:
        blocks = yield self._blocks(nodes)
        text = ""
        for block in blocks:
            gap = "\n" if block.kind == "list" else "\n\n"
            text += gap + block.text if text else block.text
        return text

    def _definitions(self, tag: Tag) -> Task:
        lines = []
        for part in _terms(tag):
            text = yield self._joined(part)
            if text:
                lines.append(text if part.name == "dt" else f": {_indent(text)}")
        return "\n".join(lines)

    def _table(self, tag: Tag) -> Task:
        rows = []
        for in_head, cells in _rows(tag):
            texts = []
            for cell in cells:
                blocks = yield self._blocks(cell.contents)
                words = " ".join(block.text for block in blocks).split()
                texts.append(" ".join(words).replace("|", "\\|"))
            if any(texts):
                rows.append((in_head, all(cell.name == "th" for cell in cells), texts))
        header = _header_index([row[:2] for row in rows])
        lines = [text for caption in _children(tag, "caption")[:1] if (text := _inline(caption))]
        for index, (_, _, texts) in enumerate(rows):
            lines.append(f"| {' | '.join(texts)} |")
            if index == header:
                lines.append(f"| {' | '.join('---' for _ in texts)} |")
        return "\n".join(lines)

    def _tabs(self, tag: Tag) -> Task:
        panels = _panels(tag, "tabbed-block") or _panels(tag, "tabbed-content")
        labels = _labels(tag, panels)
        labels += [None] * (len(panels) - len(labels))
        before = self.out, self.trail
        for label, panel in zip(labels, panels, strict=False):
            waiting = [*self.labels]
            if label is not None and (text := _inline(label)):
                self.labels.append(text)
            self.depth += 1
            yield self._content(panel.contents, "raw")
            self.depth -= 1
            # A panel without blocks leaves its label behind.
            self.labels = waiting if self.labels else []
            self.out, self.trail = before

    def _footnotes(self, tag: Tag) -> Task:
        for numbered in _children(tag, "ol"):
            for note in _children(numbered, "li"):
                if id(note) in self.holding:
                    # Not under the section that happens to come last.
                    self.out, self.trail = self.sections[0].blocks, ()
                    self.depth += 1
                    yield self._content(note.contents, "paragraph")
                    self.depth -= 1
                    continue
                place = len(self.footnotes)
                text = yield self._joined(note)
                if text:
                    # Before the footnotes of a footnote element inside this one.
                    self.footnotes.insert(place, Block("footnote", text))


def _run(task: Task) -> None:
    tasks = [task]
    result: Any = None
    while tasks:
        wanted, result = _step(tasks[-1], result)
        if wanted is None:
            tasks.pop()
        else:
            tasks.append(wanted)


def _step(task: Task, result: Any) -> tuple[Task | None, Any]:
    """Go on with a task: give the task that it wants done next, or else its result."""
    try:
        return task.send(result), None
    except StopIteration as done:
        return None, done.value


def _marks(page: str, name: str, start: int) -> Iterator[re.Match[str]]:
    for span in _SPAN.finditer(page, start):
        if name in _VALUE.sub(" ", span[1]).lower().replace("/", " ").split():
            yield span


def remove_furniture(body: Tag, selectors: str) -> None:
    """Take comments and furniture out of the tree.

    All matching is done on the tree as it was parsed. Only ``contents`` is kept
    right, in one pass: ``Tag.extract`` searches the siblings at each removal.
    """
    furniture = {id(tag) for tag in body.select(selectors)} if selectors else set()
    todo = [body]
    while todo:
        tag = todo.pop()
        tag.contents = [
            node
            for node in tag.contents
            if not isinstance(node, PreformattedString) and id(node) not in furniture
        ]
        todo.extend(node for node in tag.contents if isinstance(node, Tag))


def _find_openers(body: Tag, opens: Collection[str]) -> tuple[dict[int, Tag], dict[int, Tag]]:
    """Find the headings that open sections, and the one that stands for the page."""
    opening: dict[int, Tag] = {}
    page_heading: dict[int, Tag] = {}
    ids: set[str] = set()
    first_title = True
    for tag in _tags(body.contents):
        if tag.name not in _HEADINGS:
            continue
        heading_id = _attribute(tag, "id")
        if heading_id in opens and heading_id not in ids:
            opening[id(tag)] = tag
        elif tag.name == "h1" and first_title:
            page_heading[id(tag)] = tag
        ids.add(heading_id)
        first_title = first_title and tag.name != "h1"
    return opening, page_heading


def _find_holders(headings: Iterable[Tag]) -> set[int]:
    """Find the elements that have one of the headings inside."""
    holders: set[int] = set()
    for heading in headings:
        for parent in heading.parents:
            if id(parent) in holders:
                break
            holders.add(id(parent))
    return holders


def _rule(tag: Tag) -> str:
    if tag.name in _CLASSLESS:
        return _NAME_RULES[tag.name]
    classes = _classes(tag)
    for word, names, rule in _CLASS_RULES:
        if word in classes and (not names or tag.name in names):
            return rule
    return _NAME_RULES.get(tag.name, "inline")


def _attribute(tag: Tag, name: str) -> str:
    value = tag.get(name)
    return value if isinstance(value, str) else ""


def _classes(tag: Tag) -> list[str]:
    return re.findall(r"[^ \t\n\f\r]+", _attribute(tag, "class"))


def _children(tag: Tag, *names: str) -> list[Tag]:
    return [node for node in tag.contents if isinstance(node, Tag) and node.name in names]


def _nodes(
    nodes: Iterable[PageElement], closed: Callable[[Tag], bool] = lambda _: False
) -> Iterator[PageElement]:
    """Give all nodes in document order; what is in a closed element is passed over."""
    todo = [*nodes][::-1]
    while todo:
        node = todo.pop()
        yield node
        if isinstance(node, Tag) and not closed(node):
            todo.extend(reversed(node.contents))


def _tags(
    nodes: Iterable[PageElement], closed: Callable[[Tag], bool] = lambda _: False
) -> Iterator[Tag]:
    return (node for node in _nodes(nodes, closed) if isinstance(node, Tag))


def _inline(tag: Tag) -> str:
    parts: list[str | None] = []
    for node in _nodes(tag.contents):
        if not isinstance(node, Tag):
            parts.append(str(node))
        elif node.name == "br":
            parts.append(None)
        elif node.name == "img":
            parts.append(_attribute(node, "alt"))
    return _tidy(parts)


def _tidy(parts: Iterable[str | None]) -> str:
    """Make inline text of strings and line breaks (``None``)."""
    lines: list[list[str]] = [[]]
    for part in parts:
        if part is None:
            lines.append([])
        else:
            lines[-1].append(part)
    texts = (" ".join("".join(line).split()) for line in lines)
    return "\n".join(text for text in texts if text)


def _code(tag: Tag) -> str:
    parts = []
    for node in _nodes(tag.contents):
        if not isinstance(node, Tag):
            parts.append(str(node))
        elif node.name == "br":
            parts.append("\n")
    text = "".join(parts).replace("\r\n", "\n").replace("\r", "\n")
    text = strip_annotations(text).strip("\n")
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}" if text else ""


def _indent(text: str) -> str:
    first, *rest = text.split("\n")
    return "\n".join([first, *(f"  {line}" if line else "" for line in rest)])


def _items(tag: Tag) -> list[tuple[str, list[PageElement]]]:
    """Give the marker and the content of each item of a list."""
    items: list[tuple[str, list[PageElement]]] = []
    number = _integer(tag, "start", 1)
    for child in _children(tag, "li", *_LISTS):
        if child.name != "li" and items:
            items[-1][1].append(child)
            continue
        if child.name == "li":
            number = _integer(child, "value", number)
        marker = f"{number}. " if tag.name == "ol" else "- "
        items.append((marker, list(child.contents) if child.name == "li" else [child]))
        number += 1
    return items


def _integer(tag: Tag, name: str, default: int) -> int:
    value = _attribute(tag, name)
    return int(value) if _INTEGER.fullmatch(value) else default


def _checkbox(nodes: Iterable[PageElement]) -> str:
    for tag in _tags(nodes, lambda tag: tag.name in _LISTS):
        if tag.name == "input" and _attribute(tag, "type").lower() == "checkbox":
            return "[x] " if tag.has_attr("checked") else "[ ] "
    return ""


def _terms(tag: Tag) -> list[Tag]:
    terms = []
    for child in _children(tag, "dt", "dd", "div"):
        terms += _children(child, "dt", "dd") if child.name == "div" else [child]
    return terms


def _rows(tag: Tag) -> list[tuple[bool, list[Tag]]]:
    """Give the cells of each row, and whether it stands in the ``thead``."""
    return [
        (child.name == "thead", _children(row, "td", "th"))
        for child in _children(tag, "tr", *_GROUPS)
        for row in ([child] if child.name == "tr" else _children(child, "tr"))
    ]


def _header_index(rows: list[tuple[bool, bool]]) -> int | None:
    """Find the header among rows told by whether they are in ``thead`` and all ``th``."""
    heads = [index for index, (in_head, _) in enumerate(rows) if in_head]
    if heads:
        return heads[-1]
    return 0 if rows and rows[0][1] else None


def _panels(tabs: Tag, word: str) -> list[Tag]:
    def closed(tag: Tag) -> bool:
        return word in _classes(tag) or "tabbed-set" in _classes(tag)

    found = (tag for tag in _tags(tabs.contents, closed) if closed(tag))
    return [tag for tag in found if "tabbed-set" not in _classes(tag)]


def _labels(tabs: Tag, panels: list[Tag]) -> list[Tag | None]:
    inside = {id(panel) for panel in panels}

    def closed(tag: Tag) -> bool:
        return id(tag) in inside or "tabbed-set" in _classes(tag)

    found = (tag for tag in _tags(tabs.contents, closed) if not closed(tag))
    return [tag for tag in found if tag.name == "label"]
