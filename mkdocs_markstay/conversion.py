"""The record of one Markdown conversion: the headings that it made."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs_markstay.sectionids import HeadingText
    from mkdocs_markstay.stay_tokens import Provenance


@dataclass
class RenderedHeading:
    """A heading that Python-Markdown made.

    ``raw`` is its text before inline markup, the id included; ``written`` is that,
    read. ``explicit`` says whether it had an id before slugs were made.
    """

    raw: str
    written: HeadingText
    explicit: bool = False


@dataclass
class Conversion:
    """What one conversion of one page met.

    ``lines`` are, in order, the lines of the result that look like headings in the
    source, each with the number of its heading in ``headings``, or None where it
    became something else (code). ``notes`` are those of footnotes, which stand in the
    source where they were written, and at the end of the page. ``text`` are the
    lines of the Markdown, as extensions have left it. ``stays`` says what became of its
    blocks, where they have markers.
    """

    headings: list[RenderedHeading] = field(default_factory=list)
    lines: list[tuple[str, int | None]] = field(default_factory=list)
    notes: list[tuple[str, int | None]] = field(default_factory=list)
    text: list[str] = field(default_factory=list)
    stays: Provenance | None = None
