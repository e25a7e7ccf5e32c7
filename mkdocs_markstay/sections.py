"""What a page consists of: sections, and blocks of text in them.

The values that an extractor returns. The rules by which HTML becomes these
values are in ``docs/text.md`` (text version 1).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

TEXT_VERSION = 1
"""Version of the rules in ``docs/text.md``."""

MAX_NESTING = 40
"""Blocks nested deeper than this in other blocks are read as plain inline text."""

KINDS = (
    "paragraph",
    "list",
    "table",
    "code",
    "quote",
    "admonition",
    "definitions",
    "figure",
    "math",
    "raw",
    "footnote",
)
"""Every kind that a block can have."""


class Stay(NamedTuple):
    """The marker of a block: its id, and markstay's hash of the block in the source.

    ``body_hash`` is `sha256:` and 64 hex digits, "" for a part that markstay does not know.
    ``anchored``: the published block has the anchor of the marker.
    """

    id: str
    body_hash: str
    anchored: bool = False


class Block(NamedTuple):
    """One block of plain text.

    ``text`` is never empty. ``lead`` means that the block belongs to the one
    after it (a tab label, a file name over code), so no passage ends behind it. ``stays``
    are the markers of the blocks of the source that became it, in order, None for those
    that have none; it is empty if none of them has one.
    """

    kind: str
    text: str
    lead: bool = False
    stays: tuple[Stay | None, ...] = ()


@dataclass(slots=True)
class Section:
    """A section of a page, or the page itself (``section_id`` is ``""``).

    ``level`` is 1 to 6, 0 for the page. ``path`` holds the titles of the
    enclosing sections and the section's own; it is empty for the page. ``stay`` is the
    marker of its heading.
    """

    section_id: str
    level: int
    title: str
    path: tuple[str, ...]
    blocks: list[Block] = field(default_factory=list)
    stay: Stay | None = None
