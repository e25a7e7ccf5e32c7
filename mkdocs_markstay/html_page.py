"""One page of a published site, as far as its HTML tells: what it says of itself, and its prose.

The prose is what stands between the marks, or else in the main content. Its headings are
known by their anchors, wherever a generator puts these. The rules are in
``docs/any-site.md``; ``unmarked_soup.py`` holds them to the second parser.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from selectolax.lexbor import LexborHTMLParser

from mkdocs_markstay.extract_lexbor import extract_element, find_region, remove_furniture
from mkdocs_markstay.unmarked import (
    ARTICLE,
    CASES,
    CLASSES,
    HEADINGS,
    IDS_OF_TOOLS,
    MAINS,
    NOT_PROSE,
    NOT_SHOWN,
    PANELS,
    SEARCH,
    SLUGS_OF_TOOLS,
    WRAPPER,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from selectolax.lexbor import LexborNode

    from mkdocs_markstay.sections import Section

_ALL_HEADINGS = ",".join(HEADINGS)
_SIGNS = (SEARCH, *(sign for sign, _ in NOT_PROSE))
# Without an address, a page only loads itself again.
_REDIRECT = re.compile(r"\s*[\d.]*\s*[;,]?\s*url\s*=", re.IGNORECASE)
_NOT_DISPLAYED = re.compile(r"display\s*:\s*none", re.IGNORECASE)


class Head(NamedTuple):
    """What a page says of itself. Everything is "" where it says nothing.

    ``redirect`` is `always` if the page leads on to another one, `noscript` if it does so
    without scripts; ``version`` is the documented version, ``robots`` what robots are told.
    """

    language: str
    title: str
    redirect: str
    version: str
    robots: str


class AnchoredHeading(NamedTuple):
    """A heading in the prose of a page, with the ids that lead to it, the best one first.

    ``of_tool``: True if a tool made it with an id on purpose, False if a tool made it and its
    id of its text, None if nothing tells.
    """

    level: int
    title: str
    anchors: tuple[str, ...]
    of_tool: bool | None = None


@dataclass
class Prose:
    """The prose of a page: its headings, in order, and what is needed to read it once.

    ``selector`` is that of the element that holds it, "" for what stands between the marks;
    furniture is gone from it already. ``html`` is what it was parsed from.
    ``repeated`` are the ids in the whole page that lead to more than one place, ``signs`` the
    CSS selectors of what makes a page no prose that were found in it.
    """

    selector: str
    top: LexborNode
    html: str
    headings: list[AnchoredHeading]
    nodes: list[LexborNode]
    repeated: frozenset[str] = frozenset()
    signs: frozenset[str] = frozenset()

    def read(self, opens: Collection[str]) -> tuple[str, list[Section]]:
        """Read the text of the first h1 ("" without one), and the sections."""
        left = set(opens)
        for node, heading in zip(self.nodes, self.headings, strict=True):
            section_id = next((anchor for anchor in heading.anchors if anchor in left), "")
            left.discard(section_id)
            _set(node, "id", section_id)
        return extract_element(self.top, opens)


class HtmlPage:
    """A page that was parsed."""

    def __init__(self, html: str) -> None:
        self.html = html
        self._tree = LexborHTMLParser(html)
        self._hidden = {node.mem_id for node in self._tree.css(", ".join(NOT_SHOWN))}

    def read_head(self) -> Head:
        """Read what the page says of itself."""
        top = self._tree.css_first("html")
        title = self._tree.css_first("head > title")
        named: dict[str, str] = {}
        redirect = ""
        for meta in self._tree.css("meta[content]"):
            attributes = meta.attributes
            content = attributes.get("content") or ""
            named.setdefault((attributes.get("name") or "").lower(), content)
            refresh = (attributes.get("http-equiv") or "").lower() == "refresh"
            if refresh and _REDIRECT.match(content) and redirect != "always":
                parent = meta.parent
                inside = parent is not None and parent.tag == "noscript"
                redirect = "noscript" if inside else "always"
        language = (top.attributes.get("lang") if top is not None else "") or ""
        return Head(
            next(iter(language.split()), ""),
            " ".join(title.text(deep=True).split()) if title is not None else "",
            redirect,
            named.get("docusaurus_version") or named.get("docsearch:version") or "",
            named.get("robots", ""),
        )

    def find_marked(self, furniture: Iterable[str]) -> Prose | None:
        """Find what stands between the marks, if they are there, without the furniture."""
        region = find_region(self.html)
        body = None
        if region is not None:
            body = LexborHTMLParser(f"<!DOCTYPE html><body>{region}").body
        if region is None or body is None:
            return None
        remove_furniture(body, region, furniture)
        nodes = _distinct(body.css(_ALL_HEADINGS))
        describe = _Describer(body)
        headings = [describe(node, [node.attributes.get("id") or ""], []) for node in nodes]
        return Prose("", body, region, headings, nodes)

    def find_content(self, selector: str, furniture: Iterable[str]) -> Prose | None:
        """Find the main content, without the furniture; None if there is none.

        It is the first element for the CSS selector, if one is given.
        """
        selector = selector or self._guess()
        top = self._find(selector) if selector else None
        if top is None:
            return None
        counts = Counter(node.attributes.get("id") or "" for node in self._tree.css("[id]"))
        names = Counter(
            name
            for node in self._tree.css("a[name]")
            if (name := node.attributes.get("name") or "") not in counts
        )
        anchors = _Anchors(top, counts)
        found = {node.mem_id: anchors.find(node) for node in anchors.headings}
        signs = frozenset(sign for sign in _SIGNS if top.css_first(sign) is not None)
        _adapt(top, anchors)
        remove_furniture(top, self.html, furniture)
        left = {node.mem_id for node in top.css(_ALL_HEADINGS)}
        nodes = [node for node in anchors.headings if node.mem_id in left]
        for node in nodes:
            _unpack(node, anchors)
        describe = _Describer(top)
        headings = [
            describe(node, found[node.mem_id], [to for _, to in anchors.find_links(node)])
            for node in nodes
        ]
        repeated = frozenset(name for name, count in (counts + names).items() if count > 1)
        return Prose(selector, top, self.html, headings, nodes, repeated, signs)

    def is_cut_off(self, prose: Prose) -> bool:
        """Whether the file ends before the element that holds the prose does."""
        if "<" in self.html[self.html.rfind(">") + 1 :]:
            return True
        tag = prose.top.tag or ""
        if tag not in ("main", ARTICLE):
            return False  # others are closed somewhere in any case
        begin = re.search(rf"<{tag}[\s>/]", self.html, re.IGNORECASE)
        end = re.compile(rf"</{tag}[\s>/]", re.IGNORECASE)
        return begin is not None and end.search(self.html, begin.end()) is None

    def _guess(self) -> str:
        """Give the selector of the main content: the only article in it, if the title is there."""
        for selector in MAINS:
            main = self._find(selector)
            if main is not None:
                articles = [each for each in _outermost(main, ARTICLE) if self._is_shown(each)]
                if len(articles) != 1:
                    return selector
                inside = {node.mem_id for node in articles[0].css("h1")}
                every = {node.mem_id for node in main.css("h1")}
                return f"{selector} {ARTICLE}" if every <= inside else selector
        body = self._tree.body
        articles = _outermost(body, ARTICLE) if body is not None else []
        return ARTICLE if len(list(filter(self._is_shown, articles))) == 1 else ""

    def _find(self, selector: str) -> LexborNode | None:
        """Find the first element for a selector that is shown."""
        return next(filter(self._is_shown, self._tree.css(selector)), None)

    def _is_shown(self, node: LexborNode) -> bool:
        around: LexborNode | None = node
        while around is not None and around.mem_id not in self._hidden:
            around = around.parent
        return around is None


class _Anchors:
    """Finds the ids that lead to the headings in ``top``; ``ids`` are those of the whole page.

    A heading in a heading is a part of it.
    """

    def __init__(self, top: LexborNode, ids: Collection[str]) -> None:
        self.top = top
        self.ids = ids
        self.headings: list[LexborNode] = []
        # By the mem_id of each heading: its links to places in the page, and the ids in it.
        self.links: dict[int, list[tuple[LexborNode, str]]] = {}
        self.inner: dict[int, list[str]] = {}
        # Headings with a link to another page.
        self.away: set[int] = set()
        heading_of: dict[int, int] = {}
        for node in _distinct(top.css(_ALL_HEADINGS)):
            around = _nearest(node, heading_of)
            heading_of[node.mem_id] = around or node.mem_id
            if not around:
                self.headings.append(node)
        for node in _distinct(top.css("a, span[id]")):
            if heading := _nearest(node, heading_of):
                self.note(node, heading)

    def note(self, node: LexborNode, heading: int) -> None:
        """Note what an element in a heading tells."""
        href, anchor = node.attributes.get("href") or "", self.own(node)
        if href.startswith("#"):
            self.links.setdefault(heading, []).append((node, unquote(href[1:])))
        elif href and node.tag == "a":
            self.away.add(heading)
        if anchor and href in ("", f"#{anchor}"):
            self.inner.setdefault(heading, []).append(anchor)

    def own(self, node: LexborNode) -> str:
        """Give the id of an element, or the name of an `a` that is nobody's id."""
        attributes = node.attributes
        name = attributes.get("name") if node.tag == "a" else ""
        return attributes.get("id") or (name if name and name not in self.ids else "") or ""

    def find_links(self, heading: LexborNode) -> list[tuple[LexborNode, str]]:
        """Give the links in a heading that lead to a place in the page, with that place."""
        return self.links.get(heading.mem_id, [])

    def find(self, heading: LexborNode) -> list[str]:
        """Find the ids that lead to a heading: its own, in it, before it, around it."""
        found = [self.own(heading), *self.inner.get(heading.mem_id, ())]
        node = heading.prev
        while node is not None:
            before = self.empty(node)
            if before is None:
                return found
            found += before
            node = node.prev
        parent = heading.parent
        if parent is not None and parent.mem_id != self.top.mem_id and _is_wrapper(parent):
            found.append(self.own(parent))
        return found

    def empty(self, node: LexborNode) -> list[str] | None:
        """Give the ids of what can be seen by nobody, None for anything else."""
        if node.is_comment_node or (node.is_text_node and not (node.text_content or "").strip()):
            return []
        if node.tag == "p":
            inside = [self.empty(child) for child in _children(node)]
            return None if None in inside else [each for ids in inside for each in ids or ()]
        if node.tag in ("a", "span") and (anchor := self.own(node)):
            hollow = all(child.is_comment_node for child in _children(node))
            return [anchor] if hollow else None
        return None


class _Describer:
    """Describes the headings in ``top``."""

    def __init__(self, top: LexborNode) -> None:
        self.of_tool: dict[int, bool] = {}
        for selector, on_purpose in ((SLUGS_OF_TOOLS, False), (IDS_OF_TOOLS, True)):
            for outer in _outermost(top, selector):
                self.of_tool |= {node.mem_id: on_purpose for node in outer.css(_ALL_HEADINGS)}

    def __call__(
        self, node: LexborNode, found: Iterable[str], links: Iterable[str]
    ) -> AnchoredHeading:
        """Describe a heading; the generator's own link to it tells which id is the best."""
        anchors = [each for each in dict.fromkeys(found) if _can_be_cited(each)]
        linked = next((each for each in links if each in anchors), "")
        ordered = dict.fromkeys([linked, *anchors] if linked else anchors)
        title = " ".join(node.text(deep=True).split())
        level = int((node.tag or "h1")[1])
        return AnchoredHeading(level, title, tuple(ordered), self.of_tool.get(node.mem_id))


def _can_be_cited(anchor: str) -> bool:
    return anchor.isprintable() and bool(anchor) and " " not in anchor


def _adapt(top: LexborNode, anchors: _Anchors) -> None:
    """Bring the HTML of other generators into the form that the rules for text know."""
    for node in [*_find_teasers(top, anchors), *_find_permalinks(anchors)]:
        node.remove()
    for panel in top.css(PANELS):
        _set(panel, "hidden", "")
        if _NOT_DISPLAYED.search(panel.attributes.get("style") or ""):
            _set(panel, "style", "")
    for selector, name in CLASSES:
        for node in top.css(selector):
            classes = node.attributes.get("class") or ""
            if name not in classes.split():
                _set(node, "class", f"{classes} {name}")


def _unpack(heading: LexborNode, anchors: _Anchors) -> None:
    """Take a heading out of elements in which there is nothing else."""
    case = heading.parent
    while case is not None and case.tag in CASES and case.mem_id != anchors.top.mem_id:
        inside = (child for child in _children(case) if child.mem_id != heading.mem_id)
        if any(anchors.empty(child) is None for child in inside):
            return
        case.unwrap()
        case = heading.parent


def _find_teasers(top: LexborNode, anchors: _Anchors) -> list[LexborNode]:
    """Find the articles in ``top`` whose first heading is a link to another page."""
    teasers = []
    seen = {top.mem_id}
    for heading in anchors.headings:
        linked = heading.mem_id in anchors.away
        node = heading.parent
        while node is not None and node.mem_id not in seen:
            seen.add(node.mem_id)
            href = node.attributes.get("href") if node.tag == "a" else ""
            linked = linked or not (href or "#").startswith("#")
            if linked and node.tag == ARTICLE:
                teasers.append(node)
            node = node.parent
    return teasers


def _find_permalinks(anchors: _Anchors) -> Iterator[LexborNode]:
    """Find the links to places in the page that say nothing, in headings that say something."""
    for heading in anchors.headings:
        links = anchors.find_links(heading)
        if links and _says_something(heading):
            yield from (link for link, _ in links if not _says_something(link))


def _says_something(node: LexborNode) -> bool:
    return any(map(str.isalnum, node.text(deep=True)))


def _is_wrapper(node: LexborNode) -> bool:
    classes = (node.attributes.get("class") or "").split() if node.tag == "div" else []
    return node.tag == WRAPPER or WRAPPER in classes


def _outermost(top: LexborNode, selector: str) -> list[LexborNode]:
    """Find the matching elements in ``top`` that are in no other one."""
    found = []
    inside: set[int] = set()
    for node in top.css(selector):
        if node.mem_id not in inside and node.mem_id != top.mem_id:
            found.append(node)
            inside.update(inner.mem_id for inner in node.css(selector))
    return found


def _nearest(node: LexborNode, known: dict[int, int]) -> int:
    """Give what is known of the nearest element around a node (0: nothing), and note it."""
    way = []
    parent = node.parent
    while parent is not None and parent.mem_id not in known:
        way.append(parent.mem_id)
        parent = parent.parent
    found = known[parent.mem_id] if parent is not None else 0
    known.update(dict.fromkeys(way, found))
    return found


def _distinct(nodes: Iterable[LexborNode]) -> list[LexborNode]:
    return list({node.mem_id: node for node in nodes}.values())


def _children(node: LexborNode) -> Iterator[LexborNode]:
    child = node.child
    while child is not None:
        yield child
        child = child.next


def _set(node: LexborNode, name: str, value: str) -> None:
    """Set an attribute, or take it away."""
    attributes = node.attrs
    if value:
        attributes[name] = value
    elif name in attributes:
        del attributes[name]
