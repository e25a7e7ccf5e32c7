"""One page, once its Markdown is rendered: its headings, what must be true of them, its report.

The same for every generator, and for the extension alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from mkdocs_markstay.checks import check_headings, check_taken
from mkdocs_markstay.headings import read_headings
from mkdocs_markstay.identity import page_id_from_source
from mkdocs_markstay.page_report import make_outline
from mkdocs_markstay.page_source import check_derived_page_id, check_replaced, read_page_options
from mkdocs_markstay.page_stays import check_anchors_unique, complete, read_source_stays
from mkdocs_markstay.stays import has_markers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mkdocs_markstay.checks import Rules
    from mkdocs_markstay.conversion import Conversion
    from mkdocs_markstay.findings import Finding
    from mkdocs_markstay.headings import Heading
    from mkdocs_markstay.marks import BuildingMarks
    from mkdocs_markstay.page_report import PageReport
    from mkdocs_markstay.page_source import Source
    from mkdocs_markstay.page_stays import RenderedStays


@dataclass(frozen=True)
class RenderedMarkdown:
    """What came of a page's Markdown.

    ``meta`` is its front matter. ``html`` is its HTML with ``marks``, ``content`` without;
    ``markdown`` its text as other plugins and extensions have left it. ``conversion`` is
    None where Python-Markdown did not make it (a notebook). ``secret``: the page will be
    encrypted, so what it says must stand in no message and no file of ours. ``made_from`` is
    the line of its file (from 1) from which on a plugin wrote it, None if none did. ``stays``
    are the markers of its blocks, None if it has none.
    """

    source: Source
    meta: Mapping[str, Any]
    html: str
    content: str
    markdown: str
    marks: BuildingMarks
    conversion: Conversion | None
    secret: bool = False
    made_from: int | None = None
    stays: RenderedStays | None = None


def read_page(
    report: PageReport,
    rendered: RenderedMarkdown,
    rules: Rules,
    *,
    page_source: str = "",
    publishable: bool = True,
) -> tuple[PageReport, list[Heading] | None]:
    """Read a page: its report, completed, and its headings.

    ``page_source`` is the path that makes its page id, if not the page's own. The headings
    are None if the page leaves itself out, or a neighbour has replaced it.
    """
    source = rendered.source
    options = read_page_options(rendered.meta, source)
    if not options.included:
        return report, None
    replaced = check_replaced(source, rendered.markdown)
    if replaced:
        return replace(report, findings=(*options.findings, *replaced)), None
    headings = read_headings(rendered.html, rendered.marks, rendered.conversion, source)
    for heading in headings:
        heading.secret = heading.secret or rendered.secret
    if rendered.made_from is not None and not rules.generated:
        for heading in headings:
            heading.authored = heading.authored and heading.line < rendered.made_from
    if report.generated:
        rules = replace(rules, stamp="")  # what a plugin made is in no file to be stamped
    findings = [
        *options.findings,
        *check_headings(headings, rules),
        *check_taken(headings, rendered.content),
    ]
    if rules.stays != "off":
        report, found = _read_stays(report, rendered, rules)
        findings += found
    page_id = options.page_id
    if not page_id:
        page_id = page_id_from_source(page_source or report.source)
        findings += check_derived_page_id(source, page_id)
    report = replace(
        report,
        published=publishable,
        page_id=page_id,
        page_id_line=source.find_key("page_id"),
        title="" if rendered.secret else _find_title(rendered.meta, headings),
        furniture=options.furniture,
        lines={h.published_id: h.line for h in headings if h.explicit and h.authored},
        # Slugs repeat the text that they are made from.
        slugs=frozenset(h.published_id for h in headings if not (h.explicit or h.secret)),
        outline=make_outline(headings),
        findings=tuple(findings),
    )
    return report, headings


def _read_stays(
    report: PageReport, rendered: RenderedMarkdown, rules: Rules
) -> tuple[PageReport, list[Finding]]:
    """Note the markers of a page in its report, and say what is wrong with them."""
    stays, source = rendered.stays, rendered.source
    if report.generated and not rules.generated:
        rules = replace(rules, stays="optional")
    if stays is None and not has_markers(source.body):
        return report, []
    read = read_source_stays(source, stays, rules, secret=rendered.secret)
    if stays is None:
        return report, read.findings
    report = complete(report, read, stays)
    taken = check_anchors_unique(rendered.content, read.places, stays.binding.anchored)
    return report, [*read.findings, *taken]


def _find_title(meta: Mapping[str, Any], headings: Sequence[Heading]) -> str:
    title = meta.get("title")
    if isinstance(title, str):
        return " ".join(title.split())
    return next((h.told for h in headings if h.level == 1 and h.authored), "")
