"""Outlines of pages: their headings as an author wrote them, in order."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

from mkdocs_markstay.sectionids import show

if TYPE_CHECKING:
    from collections.abc import Sequence


class OutlineHeading(NamedTuple):
    """A heading of a page's outline.

    ``level`` is 1 to 6, ``title`` the text as written, without the id, ``section_id``
    the author's id, "" if there is none. ``path`` and ``line`` (from 1) are the place
    to open, ``source`` is the line that stands there, "" if it is not known. ``via`` is
    the place that pulls it in, if ``path`` is an included file.
    """

    level: int
    title: str
    section_id: str
    path: str
    line: int
    source: str = ""
    via: str = ""

    @property
    def place(self) -> str:
        """The place as `path:line`."""
        return f"{self.path}:{self.line}"

    @property
    def name(self) -> str:
        """The title and the place, as a message has them."""
        return f"{show(self.title)} ({self.place})"


def positions_of_ids(outline: Sequence[OutlineHeading]) -> dict[str, int]:
    """Map the ids of an outline, in order, to the numbers of the first headings with them."""
    positions: dict[str, int] = {}
    for number, heading in enumerate(outline):
        if heading.section_id:
            positions.setdefault(heading.section_id, number)
    return positions


def longest_run(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Choose as many pairs as possible, sorted by their first, so that the second rise, too."""
    ends: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for number, (_, second) in enumerate(pairs):
        slot = bisect_left(ends, second)
        before.append(last[slot - 1] if slot else -1)
        ends[slot : slot + 1] = [second]
        last[slot : slot + 1] = [number]
    run = []
    number = last[-1] if last else -1
    while number >= 0:
        run.append(pairs[number])
        number = before[number]
    return run[::-1]
