"""The prose of pages without marks, read with BeautifulSoup and html5lib.

One of two implementations of ``docs/any-site.md``, the one that checks. It shares data with
the other one, ``html_page.py``, and no code.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from bs4 import BeautifulSoup
from bs4.element import PreformattedString, Tag
from soupsieve import SelectorSyntaxError

from mkdocs_markstay.extract_soup import extract_element, remove_furniture
from mkdocs_markstay.unmarked import (
    ARTICLE,
    CASES,
    CLASSES,
    HEADINGS,
    NOT_SHOWN,
    PANELS,
    WRAPPER,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from bs4.element import PageElement

    from mkdocs_markstay.sections import Section


class UnmarkedPage:
    """A page that was parsed; it can be read once."""

    def __init__(self, html: str) -> None:
        self._soup = BeautifulSoup(html, "html5lib", multi_valued_attributes=None)
        self._hidden = {id(tag) for tag in self._soup.select(", ".join(NOT_SHOWN))}
        shown = list(_descend(self._soup, closed="template"))
        # An `id` makes an anchor, and the `name` of a link where no `id` is the same.
        self._ids = Counter(_value(tag, "id") for tag in shown if tag.has_attr("id"))
        names = (_value(tag, "name") for tag in shown if tag.name == "a")
        self._names = Counter(name for name in names if name not in self._ids)

    def count_anchors(self, anchor: str) -> int:
        """Count the places in the page that an id leads to."""
        return self._ids[anchor] or self._names[anchor]

    def extract(
        self, selector: str, opens: Collection[str], furniture: Iterable[str]
    ) -> list[Section] | None:
        """Read the sections of the first element for a CSS selector; None if there is none.

        ``opens`` and ``furniture`` are as for `extract_soup.extract`.
        """
        try:
            top = next(filter(self._is_shown, self._soup.select(selector)), None)
        except SelectorSyntaxError:
            return None
        if top is None:
            return None
        headings = _find_headings(top)
        anchors = [self._find_anchors(heading, top) for heading in headings]
        _drop([*_find_teasers(top, headings), *_find_permalinks(headings)])
        for panel in top.select(PANELS):
            del panel["hidden"]
            if re.search(r"display\s*:\s*none", _value(panel, "style"), re.IGNORECASE):
                del panel["style"]
        for pattern, name in CLASSES:
            for tag in top.select(pattern):
                tag["class"] = f"{_value(tag, 'class')} {name}"
        remove_furniture(top, ", ".join(furniture))
        kept = {id(tag) for tag in _descend(top)}
        left = set(opens)
        for heading, ids in zip(headings, anchors, strict=True):
            section_id = next((each for each in ids if each in left), "")
            del heading.tag["id"]
            if section_id and id(heading.tag) in kept:
                heading.tag["id"] = section_id
                left.discard(section_id)
        self._unpack((heading.tag for heading in headings if id(heading.tag) in kept), top)
        return extract_element(top, opens)

    def _is_shown(self, tag: Tag) -> bool:
        return not any(id(each) in self._hidden for each in (tag, *tag.parents))

    def _unpack(self, headings: Iterable[Tag], top: Tag) -> None:
        """Take headings out of elements in which there is nothing else."""
        cases: dict[int, Tag] = {}
        for heading in headings:
            inside: Tag = heading
            while (case := inside.parent) is not None and case is not top and case.name in CASES:
                rest = (node for node in case.contents if node is not inside)
                if any(self._ids_of_nothing(node) is None for node in rest):
                    break
                cases[id(case)] = inside = case
        outer = [case.parent for case in cases.values() if case.parent is not None]
        for parent in {id(tag): tag for tag in outer if id(tag) not in cases}.values():
            parent.contents = list(_open(parent.contents, cases))
            for node in parent.contents:
                node.parent = parent

    def _find_anchors(self, heading: _Heading, top: Tag) -> list[str]:
        """Find the ids that lead to a heading, the one that its own link leads to first."""
        found = [self._own(heading.tag)]
        links = []
        for tag in heading.inner:
            href = _value(tag, "href")
            if href.startswith("#"):
                links.append(unquote(href[1:]))
            if href in ("", f"#{self._own(tag)}"):
                found.append(self._own(tag))
        for node in heading.tag.previous_siblings:
            before = self._ids_of_nothing(node)
            if before is None:
                break
            found += before
        else:
            parent = heading.tag.parent
            if parent is not None and parent is not top and _is_wrapper(parent):
                found.append(self._own(parent))
        found = [each for each in found if each.isprintable() and " " not in (each or " ")]
        return [each for each in links if each in found][:1] + found

    def _own(self, tag: Tag) -> str:
        name = _value(tag, "name") if tag.name == "a" else ""
        return _value(tag, "id") or (name if name not in self._ids else "")

    def _ids_of_nothing(self, node: PageElement) -> list[str] | None:
        """Give the ids of what shows nothing, None for what does."""
        if isinstance(node, PreformattedString):
            return []
        if not isinstance(node, Tag):
            return None if str(node).strip() else []
        if node.name in ("a", "span"):
            hollow = all(isinstance(child, PreformattedString) for child in node.contents)
            return [self._own(node)] if hollow and self._own(node) else None
        if node.name != "p":
            return None
        parts = [self._ids_of_nothing(child) for child in node.contents]
        return None if None in parts else [each for part in parts for each in part or ()]


class _Heading(NamedTuple):
    """A heading that is in no other one, with the links and the named spans in it."""

    tag: Tag
    inner: list[Tag]


def _find_headings(top: Tag) -> list[_Heading]:
    found: list[_Heading] = []
    todo: list[tuple[Tag, _Heading | None]] = [(top, None)]
    while todo:
        tag, heading = todo.pop()
        if heading is None and tag.name in HEADINGS:
            heading = _Heading(tag, [])
            found.append(heading)
        elif heading and (tag.name == "a" or (tag.name == "span" and tag.has_attr("id"))):
            heading.inner.append(tag)
        inside = [child for child in tag.contents if isinstance(child, Tag)]
        todo.extend((child, heading) for child in reversed(inside))
    return found


def _find_teasers(top: Tag, headings: Iterable[_Heading]) -> Iterator[Tag]:
    """Find the articles whose first heading is a link to another page."""
    seen = {id(top)}
    for heading in headings:
        linked = any(_leads_away(tag) for tag in heading.inner)
        for parent in heading.tag.parents:
            if id(parent) in seen:
                break
            seen.add(id(parent))
            linked = linked or _leads_away(parent)
            if linked and parent.name == ARTICLE:
                yield parent


def _leads_away(tag: Tag) -> bool:
    return tag.name == "a" and not (_value(tag, "href") or "#").startswith("#")


def _find_permalinks(headings: Iterable[_Heading]) -> Iterator[Tag]:
    """Find the links to places in the page that say nothing, in headings that say something."""
    for heading in headings:
        links = [link for link in heading.inner if _value(link, "href").startswith("#")]
        if links and any(map(str.isalnum, heading.tag.get_text())):
            yield from (link for link in links if not any(map(str.isalnum, link.get_text())))


def _drop(tags: Iterable[Tag]) -> None:
    """Take elements out of the contents of their parents, each parent at once."""
    gone = {id(tag): tag for tag in tags}
    for parent in {id(tag.parent): tag.parent for tag in gone.values()}.values():
        if parent is not None:
            parent.contents = [node for node in parent.contents if id(node) not in gone]


def _is_wrapper(tag: Tag) -> bool:
    classes = re.split(r"[ \t\n\f\r]+", _value(tag, "class"))
    return tag.name == WRAPPER or (tag.name == "div" and WRAPPER in classes)


def _open(nodes: Iterable[PageElement], cases: dict[int, Tag]) -> Iterator[PageElement]:
    """Give nodes, and in the place of each of the cases what is in it."""
    todo = [*nodes][::-1]
    while todo:
        node = todo.pop()
        if isinstance(node, Tag) and id(node) in cases:
            todo.extend(reversed(node.contents))
        else:
            yield node


def _descend(top: Tag, closed: str = "") -> Iterator[Tag]:
    """Give all elements in ``top``, those left out that are in an element named ``closed``."""
    todo = [top]
    while todo:
        tag = todo.pop()
        yield tag
        if tag.name != closed:
            todo.extend(child for child in tag.contents if isinstance(child, Tag))


def _value(tag: Tag, name: str) -> str:
    value = tag.get(name)
    return value if isinstance(value, str) else ""
