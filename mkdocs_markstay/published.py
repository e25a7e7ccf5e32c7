"""One page as it is published: its sections, and what must be true of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from mkdocs_markstay.checks import check_theme, find_ids
from mkdocs_markstay.extract_lexbor import extract, find_region_span
from mkdocs_markstay.findings import Finding
from mkdocs_markstay.records import write_page
from mkdocs_markstay.sectionids import show

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mkdocs_markstay.records import Page, PageText, Policy, Publication
    from mkdocs_markstay.sections import Section

# What mkdocs-encryptcontent-plugin leaves of a page.
_ENCRYPTED = re.compile(r"""<div[^<>]*\sid=["']?mkdocs-encrypted-content\b""")
_TOKEN = re.compile(r"(?:<#|\{:? ?#)[^<>{}]{1,200}[>}]$")


@dataclass(frozen=True)
class PageState:
    """What is known of a page from its source.

    ``lines`` maps the section ids that the author wrote to their lines, ``slugs``
    are the anchors that were made from the text of headings.
    """

    path: str
    page_id: str
    language: str
    furniture: tuple[str, ...]
    lines: dict[str, int]
    slugs: frozenset[str]


def read_published(
    html: str, page: Page, state: PageState, publication: Publication, policy: Policy
) -> tuple[PageText | None, list[Finding]]:
    """Read a page's HTML as it is published: its records for the manifest, and findings.

    There are no records where the page's prose is not in the HTML.
    """
    span = find_region_span(html)
    region = html[span[0] : span[1]] if span else ""
    if span is None or ("mkdocs-encrypted" in region and _ENCRYPTED.search(region)):
        message = (
            "the page's content is not in the published HTML (encrypted, or left out by its"
            " template), so the manifest has none of it"
        )
        return None, [Finding(state.path, 1, "not-published", message)]
    # Every other id in the region was set on purpose: by the author, or by a tool.
    opens = {*find_ids(region), *state.lines} - state.slugs
    # What UTF-8 cannot hold is published as character references.
    text = region.encode("utf-8", "xmlcharrefreplace").decode()
    sections = extract(text, opens, (*policy.furniture, *state.furniture))
    findings = [
        *check_theme(state.path, state.lines, _ids_outside(html, span) if state.lines else ()),
        *_check_lost(state, sections),
        *_check_leaks(state, region, sections, page.title),
    ]
    return write_page(page, sections, publication, policy), findings


def _ids_outside(html: str, span: tuple[int, int]) -> set[str]:
    return {*find_ids(html[: span[0]]), *find_ids(html[span[1] :])}


def _check_lost(state: PageState, sections: Sequence[Section]) -> Iterator[Finding]:
    present = {section.section_id for section in sections}
    for section_id, line in state.lines.items():
        if section_id not in present:
            message = (
                f"section id {show(section_id)} is not in the published page: it is hidden, or"
                " another plugin or the theme took it away; the manifest leaves the section out"
            )
            yield Finding(state.path, line, "lost-id", message)


def _check_leaks(
    state: PageState, region: str, sections: Sequence[Section], title: str
) -> Iterator[Finding]:
    # What is shown of a heading whose id was read is what its author wanted.
    read = {section.title for section in sections if section.section_id in state.lines}
    shown = {title, *(section.title for section in sections)} - read
    for text in sorted(shown):
        match = _TOKEN.search(text)
        # An id in code at a heading's end is what the heading is about.
        if match and f"{escape(match[0], quote=False)}</code>" not in region:
            message = (
                f"the published page shows {show(match[0])} as text in the title {show(text)};"
                " it was not read as an id"
            )
            yield Finding(state.path, 1, "leaked-id", message)
