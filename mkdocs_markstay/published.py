"""One page as it is published: its sections, and what must be true of them."""

from __future__ import annotations

import re
from hashlib import sha256
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from mkdocs_markstay.checks import check_theme, find_ids
from mkdocs_markstay.extract_lexbor import extract, find_plain_headings, find_region_span
from mkdocs_markstay.findings import Finding
from mkdocs_markstay.furniture import FURNITURE
from mkdocs_markstay.records import write_page
from mkdocs_markstay.sectionids import show
from mkdocs_markstay.stay_binding import attach

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mkdocs_markstay.page_report import PageReport
    from mkdocs_markstay.page_stays import ReadContent
    from mkdocs_markstay.records import Page, PageText, Policy, Publication
    from mkdocs_markstay.sections import Section

# What mkdocs-encryptcontent-plugin leaves of a page.
_ENCRYPTED = re.compile(r"""<div[^<>]*\sid=["']?mkdocs-encrypted-content\b""")
_TOKEN_BEGINS = ("&lt;#", "&#60;#", "<#", "{#", "{ #", "{:#", "{: #")
_TOKEN = re.compile(r"(?:<#|\{:? ?#)[^<>{}]{1,200}[>}]$")


class ShownPage(NamedTuple):
    """What was read of a page that is shown: where its prose is, and all that was read by.

    ``opens`` are the ids of headings that open sections, ``furniture`` selectors of what is
    no text.
    """

    span: tuple[int, int]
    region: str
    opens: set[str]
    furniture: tuple[str, ...]
    sections: list[Section]


def read_published(
    html: str,
    page: Page,
    report: PageReport,
    publication: Publication,
    policy: Policy,
    known: ReadContent | None = None,
) -> tuple[PageText | None, list[Finding]]:
    """Read a page's HTML as it is published: its records for the manifest, and findings.

    There are no records where the page's prose is not in the HTML. ``known`` is what was read
    of the page's content before: if that is published as it was, it is not read again.
    """
    sections, findings = _read_sections(html, page.title, report, policy, known)
    if sections is None:
        return None, findings
    if known is not None and sections is not known.sections:
        findings += check_bound(report, attach(sections, known.sections))
    return write_page(page, sections, publication, policy), findings


def read_shown(
    html: str, report: PageReport, policy: Policy, known: ReadContent | None = None
) -> ShownPage | None:
    """Read a page's HTML as `read_published` does, for one who looks at it; None as there."""
    span = find_region_span(html)
    sections, _ = _read_sections(html, "", report, policy, known)
    if span is None or sections is None:
        return None
    if known is not None and sections is not known.sections:
        attach(sections, known.sections)
    region = html[span[0] : span[1]]
    furniture = (*policy.furniture, *report.furniture)
    return ShownPage(span, region, _find_openers(region, report), furniture, sections)


def digest_sections(html: str, report: PageReport) -> dict[str, str]:
    """Digest the text of each section of a page, by section id, to know it again elsewhere.

    Not the digests of passages: 12 hex digits, whatever the site's options are. A section
    without text of its own has none.
    """
    span = find_region_span(html)
    if span is None:
        return {}
    region = html[span[0] : span[1]].encode("utf-8", "xmlcharrefreplace").decode()
    sections = extract(region, report.lines.keys(), (*FURNITURE, *report.furniture))
    texts = {each.section_id: "\n\n".join(b.text for b in each.blocks) for each in sections}
    return {
        section_id: sha256(text.encode()).hexdigest()[:12]
        for section_id, text in texts.items()
        if section_id and text
    }


def check_published(html: str, title: str, report: PageReport, policy: Policy) -> list[Finding]:
    """Find what is wrong in a page's HTML, between the marks around its prose.

    The same findings as `read_published`, at a fraction of the cost for most pages.
    """
    quiet = not any(begin in html for begin in _TOKEN_BEGINS) and not _TOKEN.search(title)
    if quiet and "mkdocs-encrypted" not in html and policy.furniture == FURNITURE:
        if not report.lines:
            return []
        if not report.furniture and find_plain_headings(html).issuperset(report.lines):
            return []
    return _read_sections(html, title, report, policy)[1]


def _read_sections(
    html: str, title: str, report: PageReport, policy: Policy, known: ReadContent | None = None
) -> tuple[list[Section] | None, list[Finding]]:
    span = find_region_span(html)
    region = html[span[0] : span[1]] if span else ""
    if span is None or is_encrypted(region):
        message = (
            "the page, or a part of it, is encrypted, so the manifest has nothing of the page"
            if span
            else "the page's content is not in the published HTML (encrypted, or left out by its"
            " template), so the manifest has none of it"
        )
        return None, [Finding(report.path, 1, "not-published", message)]
    opens = _find_openers(region, report)
    # What UTF-8 cannot hold is published as character references.
    text = region.encode("utf-8", "xmlcharrefreplace").decode()
    furniture = (*policy.furniture, *report.furniture)
    if known is not None and known == (text, opens, furniture, known.sections):
        sections = known.sections
    else:
        sections = extract(text, opens, furniture)
    return sections, [
        *check_theme(
            report.path, report.anchors, _ids_outside(html, span) if report.anchors else ()
        ),
        *check_lost(report, sections),
        *check_leaks(report, region, sections, title),
    ]


def _find_openers(region: str, report: PageReport) -> set[str]:
    # Every other id in the region was set on purpose: by the author, or by a tool.
    return {*find_ids(region), *report.lines} - report.slugs


def _ids_outside(html: str, span: tuple[int, int]) -> set[str]:
    return {*find_ids(html[: span[0]]), *find_ids(html[span[1] :])}


def is_encrypted(region: str) -> bool:
    """Whether the prose of a page is encrypted, so that its HTML does not hold it."""
    return "mkdocs-encrypted" in region and _ENCRYPTED.search(region) is not None


def check_lost(report: PageReport, sections: Sequence[Section]) -> Iterator[Finding]:
    """Find section ids that an author wrote and that are not in the published page."""
    present = {section.section_id for section in sections}
    for section_id, line in report.lines.items():
        if section_id not in present:
            message = (
                f"section id {show(section_id)} is not in the published page: it is hidden, or"
                " another plugin or the theme took it away; the manifest leaves the section out"
            )
            yield Finding(report.path, line, "lost-id", message)


def check_bound(report: PageReport, lost: Iterable[str]) -> Iterator[Finding]:
    """Tell the markers whose blocks are not in the published page as they were rendered."""
    for stay_id in sorted(set(lost)):
        place = report.stays.get(stay_id)
        message = (
            f"the marker stay:{stay_id} is bound to nothing: its block is hidden, or another plugin"
            " changed the published page around it"
        )
        path, line = (place.path, place.line) if place else (report.path, 1)
        yield Finding(path, line, "stay-unbound", message)


def check_leaks(
    report: PageReport, region: str, sections: Sequence[Section], title: str
) -> Iterator[Finding]:
    """Find titles that end with what looks like an id and was not read as one."""
    # What is shown of a heading whose id was read is what its author wanted.
    read = {section.title for section in sections if section.section_id in report.lines}
    shown = {title, *(section.title for section in sections)} - read
    for text in sorted(shown):
        match = _TOKEN.search(text)
        # An id in code at a heading's end is what the heading is about.
        if match and f"{escape(match[0], quote=False)}</code>" not in region:
            message = (
                f"the published page shows {show(match[0])} as text in the title {show(text)};"
                " it was not read as an id"
            )
            yield Finding(report.path, 1, "leaked-id", message)
