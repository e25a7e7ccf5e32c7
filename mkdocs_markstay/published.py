"""What must be true of one published page, seen as HTML."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING

from mkdocs_markstay.checks import check_theme, count_ids
from mkdocs_markstay.findings import Finding
from mkdocs_markstay.sectionids import show

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mkdocs_markstay.sections import Section

_TOKEN = re.compile(r"(?:<#|\{:? ?#)[^<>{}]{1,200}[>}]$")


def check_published(  # noqa: PLR0913 (a page, and what it should hold)
    path: str,
    html: str,
    region: str,
    sections: Sequence[Section],
    title: str,
    lines: Mapping[str, int],
) -> list[Finding]:
    """Check a published page against the section ids (with their lines) that were written.

    ``region`` is the part of ``html`` that is the page's prose, ``sections`` what was
    read from it, ``title`` the title of the page.
    """
    outside = html.replace(region, "", 1)
    present = {section.section_id for section in sections}
    return [
        *check_theme(path, lines, set(count_ids(outside))),
        *(
            Finding(
                path,
                line,
                "lost-id",
                f"section id {show(section_id)} is not in the published page: another plugin or"
                " the theme took it away, so the manifest leaves the section out",
            )
            for section_id, line in lines.items()
            if section_id not in present
        ),
        *_check_leaks(path, region, sections, title, lines),
    ]


def _check_leaks(
    path: str, region: str, sections: Sequence[Section], title: str, lines: Mapping[str, int]
) -> Iterator[Finding]:
    shown = {section.title: lines.get(section.section_id, 1) for section in sections}
    for text, line in {title: 1, **shown}.items():
        match = _TOKEN.search(text)
        # An id in code at a heading's end is what the heading is about.
        if match and f"{escape(match[0], quote=False)}</code>" not in region:
            yield Finding(
                path,
                line,
                "leaked-id",
                f"the published page shows {show(match[0])} as text in the title {show(text)};"
                " it was not read as an id",
            )
