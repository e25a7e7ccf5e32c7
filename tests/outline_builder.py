"""Builds outlines for tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import strategies as st

from mkdocs_markstay.outlines import OutlineHeading
from mkdocs_markstay.sectionids import read_heading

if TYPE_CHECKING:
    from collections.abc import Sequence

Outline = list[OutlineHeading]


def read(source: str, path: str) -> tuple[Outline, str]:
    """Read the ATX headings of a text. A line is a block of its own."""
    text = "\n\n".join(source.strip().split("\n"))
    outline = []
    for number, line in enumerate(text.split("\n"), 1):
        title = line.lstrip("#")
        if level := len(line) - len(title):
            written = read_heading(title.strip())
            section_id = written.section_id or ""
            outline.append(OutlineHeading(level, written.title, section_id, path, number, line))
    return outline, text


LEVELS = st.lists(st.integers(2, 4), max_size=12)


def build(sections: Sequence[tuple[int, str, str, str]], path: str) -> tuple[Outline, str]:
    """Build a page of sections: level, title, id, text."""
    lines: list[str] = []
    outline = []
    for level, title, section_id, text in sections:
        outline.append(OutlineHeading(level, title, section_id, path, len(lines) + 1))
        lines += [f"{'#' * level} {title}", "", *text.split("\n"), ""]
    return outline, "\n".join(lines)


def changed(data: st.DataObject, sections: list[tuple[int, str, str, str]], new: str) -> None:
    """Delete, insert or move some sections, as in a translation that is out of date."""
    for number in range(data.draw(st.integers(0, 4))):
        place = data.draw(st.integers(0, len(sections)))
        kind = data.draw(st.sampled_from(("delete", "insert", "move")))
        if kind == "insert":
            name = f"own_{number}"
            level = data.draw(st.integers(2, 4))
            sections.insert(place, (level, new, "", f"`{name}_a` `{name}_b` `{name}_c`"))
        elif place < len(sections):
            section = sections.pop(place)
            if kind == "move":
                sections.insert(data.draw(st.integers(0, len(sections))), section)
