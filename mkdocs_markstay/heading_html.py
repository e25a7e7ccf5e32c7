"""Headings and ids in the HTML of a page's content, found without a parser: they are few."""

from __future__ import annotations

import re
from html import unescape

_TAG = re.compile(
    r"""<!--.*?-->|<(?P<name>[a-z][^\s/>]*)(?P<attributes>(?:[^<>"']|"[^"]*"|'[^']*')*)>""",
    re.DOTALL | re.IGNORECASE,
)
_ATTRIBUTE = re.compile(
    r"""(?P<name>[^\s"'<>/=]+)(?:\s*=\s*(?P<value>"[^"]*"|'[^']*'|[^\s"'<>]+))?"""
)
_HEADING = re.compile("h[1-6]")
_HEADING_END = re.compile("</h[1-6]", re.IGNORECASE)
_PERMALINK = re.compile(r"""<a\b[^<>]*\bclass=["']?headerlink\b.*?</a>""", re.DOTALL)
# Elements whose content begins with no text; and those that do not even stand beside one.
_WITHOUT_TEXT = frozenset(
    ("ul", "ol", "dl", "table", "img", "hr", "br", "input", "picture", "video", "audio", "iframe")
)
_PARTS_OF_TABLES = frozenset(("tr", "thead", "tbody", "tfoot", "colgroup", "col", "caption"))
_ANY_TAG = re.compile("<!--.*?-->|<[^<>]*>", re.DOTALL)


def list_ids(content: str) -> set[str]:
    """List the ids of the elements in a page's content, not those in comments and code."""
    tags = (match for match in _TAG.finditer(content) if match["name"])
    return {_read_id(match["attributes"]) for match in tags} - {""}


def find_heading(content: str, section_id: str) -> int | None:
    """Find where the text of a section's heading begins, or of the first h1 for no id."""
    for match in _TAG.finditer(content):
        name = (match["name"] or "").lower()
        if _HEADING.fullmatch(name) and (
            _read_id(match["attributes"]) == section_id if section_id else name == "h1"
        ):
            return match.end()
    return None


def find_element(content: str, element_id: str) -> int | None:
    """Find where a further anchor of an element can stand: in it, or before it."""
    for match in _TAG.finditer(content):
        if match["name"] and _read_id(match["attributes"]) == element_id:
            name = match["name"].lower()
            if name in _PARTS_OF_TABLES:
                return None
            return match.start() if name in _WITHOUT_TEXT else match.end()
    return None


def read_title(content: str, section_id: str) -> str:
    """Read the text of a section's heading in a page's content; of the page, its first h1."""
    place = find_heading(content, section_id)
    if place is None:
        return ""
    end = _HEADING_END.search(content, place)
    inner = _PERMALINK.sub("", content[place : end.start() if end else place])
    return " ".join(unescape(_ANY_TAG.sub("", inner)).split())


def _read_id(attributes: str) -> str:
    for match in _ATTRIBUTE.finditer(attributes):
        if match["name"].lower() == "id":
            return unescape((match["value"] or "").strip("\"'"))
    return ""
