"""Markdown without section ids and markers, for plugins that render it again on their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mkdocs_markstay.locate import find_candidates, heading_key
from mkdocs_markstay.sectionids import read_heading
from mkdocs_markstay.stay_tokens import follow
from mkdocs_markstay.stays import SEGMENTATIONS

if TYPE_CHECKING:
    from mkdocs_markstay.conversion import Conversion


def leave_out_markers(markdown: str) -> str:
    """Leave the markers of blocks out of a page's Markdown."""
    lines, _ = follow(markdown.split("\n"), SEGMENTATIONS[0], every=False, marks=False)
    return "\n".join(lines)


def leave_out_ids(markdown: str, conversion: Conversion) -> str:
    """Leave the ids out of the lines of a page's Markdown that became its headings."""
    keys = {heading_key(h.raw) for h in conversion.headings if h.written.section_id is not None}
    lines = markdown.split("\n")
    for candidate in find_candidates(markdown) if keys else ():
        read = read_heading(candidate.source.rstrip("# \t\r"))
        # What looks like code, or is a tag, stays.
        if candidate.text in keys and candidate.doubt < 2 and read.section_id is not None:
            lines[candidate.line] = f"{read.title} {read.attributes}".rstrip()
    return "\n".join(lines)
