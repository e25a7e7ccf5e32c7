"""What lets readers cite the places of a page: a script, a style, and what these need in its HTML.

The script puts a button beside each heading that opens a section, and beside each block with
an anchor. A page says only what it cannot find out: the page's id and URL, in an attribute of
the mark before its prose; and where a place has no permalink, a plain link to it, for
readers without JavaScript. Nothing of that is text.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from html import escape, unescape
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote, unquote

from mkdocs_markstay.extract_lexbor import find_region_span
from mkdocs_markstay.identity import STAY_PREFIX
from mkdocs_markstay.published import is_encrypted
from mkdocs_markstay.records import FRAGMENT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mkdocs_markstay.page_report import PageReport

SCRIPT = "assets/markstay/cite.js"
STYLE = "assets/markstay/cite.css"
"""The files of a site, by their URLs in it."""

_TAG = re.compile(
    r"""<!--.*?(?:-->|\Z)|<(?P<end>/?)(?P<name>[a-z][^\s/>]*)(?P<attributes>(?:[^<>"']|"[^"]*"|'[^']*')*)>""",
    re.DOTALL | re.IGNORECASE,
)
_ATTRIBUTE = re.compile(
    r"""(?P<name>[^\s"'<>/=]+)(?:\s*=\s*(?P<value>"[^"]*"|'[^']*'|[^\s"'<>]+))?"""
)
_NAME = "data-markstay-begin"
_MARK = re.compile(rf"""\s{_NAME}(?:="[^"]*"|='[^']*')?""", re.IGNORECASE)
_STAY = re.compile(rf"""\sid=["']?({STAY_PREFIX}[^\s"'>]+)""", re.IGNORECASE)
_HEADING = re.compile("h[1-6]")
# What holds no elements of the page.
_RAW = frozenset(("script", "style", "textarea", "template", "select", "button", "svg", "iframe"))


@dataclass(frozen=True)
class CitedSite:
    """What the script has to know of a site: its name and version, its URL ("" if not known).

    ``furniture`` are the selectors of what is no text; ``blocks``: they may have anchors.
    """

    name: str
    version: str
    url: str
    furniture: Sequence[str]
    directory_urls: bool = True
    blocks: bool = False


class _Tag(NamedTuple):
    name: str
    attributes: str
    closes: bool
    start: int
    end: int


class _Heading(NamedTuple):
    """A heading: its name, its id, where it ends, and whether a link to it is in it."""

    name: str
    id: str
    end: int
    linked: bool


def write_script(site: CitedSite) -> str:
    """Write the script of a site: a call of the function that is in our file."""
    values = {
        "name": site.name,
        "version": site.version,
        "url": site.url,
        "furniture": list(site.furniture),
        "directories": site.directory_urls,
        "blocks": site.blocks,
    }
    return f"{_read_asset('cite.js').rstrip()}({json.dumps(values)});\n"


def write_style() -> str:
    """Write the style of a site."""
    return _read_asset("cite.css")


def _read_asset(name: str) -> str:
    return files("mkdocs_markstay").joinpath("assets", name).read_text(encoding="utf-8")


def complete_page(html: str, url: str, report: PageReport, site: CitedSite) -> str:
    """Put into a page's HTML, as it is published, what the script needs of it, and plain links.

    ``url`` is the page's, relative to the site. A page whose prose cannot be read stays as it is.
    """
    span = find_region_span(html)
    if span is None or is_encrypted(html[span[0] : span[1]]):
        return html
    mark = list(_MARK.finditer(html, 0, span[0]))[-1]
    region = html[span[0] : span[1]]
    headings = list(_list_headings(region))
    words = [report.page_id]
    if url != derive_url(report.page_id, directory_urls=site.directory_urls):
        words.append(f"={url}")
    words += _tell_headings(headings, report.slugs)
    words += _tell_strays(region, report)
    # No page id has a tab, and hardly an id in HTML.
    told = escape(" ".join(word.replace(" ", "\t") for word in words))
    return (
        f'{html[: mark.start()]} {_NAME}="{told}"{html[mark.end() : span[0]]}'
        f"{_link_headings(region, headings, report.slugs)}{html[span[1] :]}"
    )


def derive_url(page_id: str, *, directory_urls: bool) -> str:
    """Give the URL that most pages have, as the script derives it, too."""
    if not directory_urls:
        return f"{page_id}.html"
    return "" if page_id == "index" else f"{page_id}/"


def _tell_headings(headings: Sequence[_Heading], slugs: frozenset[str]) -> list[str]:
    """Say which headings open sections: nothing, if all do that have an id but the first h1.

    `^`: the first h1, too. `-id`: that one does not; `+id`: of the others only those.
    """
    words = []
    first = next((heading for heading in headings if heading.name == "h1"), None)
    if first is not None and first.id and first.id not in slugs:
        words.append("^")
    others = dict.fromkeys(each.id for each in headings if each.id and each is not first)
    without = [f"-{each}" for each in others if each in slugs]
    only = ["+", *(f"+{each}" for each in others if each not in slugs)]
    return words + min(without, only, key=lambda told: len(" ".join(told)))


def _tell_strays(region: str, report: PageReport) -> Iterator[str]:
    """Name the ids that look like the anchor of a block, and are none."""
    for each in dict.fromkeys(_STAY.findall(region)):
        place = report.stays.get(each.removeprefix(STAY_PREFIX))
        if (place is None or not place.anchored) and each not in report.lines:
            yield f"-{each}"


def _link_headings(region: str, headings: Sequence[_Heading], slugs: frozenset[str]) -> str:
    """Put a plain link into each heading that opens a section and has none to itself."""
    parts, done = [], 0
    seen: set[str] = set()
    for heading in headings:
        if not heading.id or heading.id in slugs or heading.id in seen:
            continue
        seen.add(heading.id)
        if not heading.linked:
            href = escape(quote(heading.id, safe=FRAGMENT))
            parts += [region[done : heading.end], f'<a href="#{href}"></a>']
            done = heading.end
    return "".join(parts) + region[done:]


def _list_headings(region: str) -> Iterator[_Heading]:
    opened: _Tag | None = None
    linked = False
    for tag in _list_tags(region):
        if _HEADING.fullmatch(tag.name):
            if tag.closes and opened is not None:
                yield _Heading(opened.name, _read(opened.attributes, "id"), tag.start, linked)
                opened = None
            elif not tag.closes:
                if opened is not None:  # without an end: another heading ends it
                    yield _Heading(opened.name, _read(opened.attributes, "id"), tag.start, linked)
                opened, linked = tag, False
        elif tag.name == "a" and opened is not None and not tag.closes:
            target = _read(tag.attributes, "href").partition("#")[2]
            linked = linked or unquote(target) == _read(opened.attributes, "id")


def _list_tags(region: str) -> Iterator[_Tag]:
    """List the tags of a page, without what is in elements that hold none of its."""
    start = 0
    while match := _TAG.search(region, start):
        start = match.end()
        name = (match["name"] or "").lower()
        if not name:
            continue  # a comment
        if name in _RAW and not match["end"]:
            end = re.compile(rf"</{re.escape(name)}\s*>", re.IGNORECASE).search(region, start)
            start = end.end() if end else start
        yield _Tag(name, match["attributes"], bool(match["end"]), match.start(), start)


def _read(attributes: str, name: str) -> str:
    for match in _ATTRIBUTE.finditer(attributes):
        if match["name"].lower() == name:
            value = match["value"] or ""
            return unescape(value[1:-1] if value[:1] in ("'", '"') else value)
    return ""
