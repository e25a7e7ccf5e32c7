"""Renders one page with markers, without a generator, and reads it as a build does."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from markdown import Markdown
from markdown.treeprocessors import Treeprocessor

from mkdocs_markstay.checks import Rules
from mkdocs_markstay.extension import MarkstayExtension
from mkdocs_markstay.extract_lexbor import extract
from mkdocs_markstay.furniture import FURNITURE
from mkdocs_markstay.marks import BuildingMarks
from mkdocs_markstay.page_source import Source
from mkdocs_markstay.page_stays import bind_page, read_source_stays
from mkdocs_markstay.stay_binding import attach

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from markdown.extensions import Extension

    from mkdocs_markstay.findings import Finding
    from mkdocs_markstay.sections import Section

EXTENSIONS = (
    "abbr",
    "admonition",
    "attr_list",
    "def_list",
    "footnotes",
    "md_in_html",
    "tables",
    "toc",
    "pymdownx.blocks.admonition",
    "pymdownx.critic",
    "pymdownx.details",
    "pymdownx.highlight",
    "pymdownx.superfences",
)


@dataclass(frozen=True)
class RenderedPage:
    """A page: its HTML as published, its sections with their markers, and what was found."""

    html: str
    sections: list[Section]
    findings: list[Finding]

    def list_blocks(self) -> Iterator[list[Any]]:
        """Give each block: its section's id, its kind, its markers ("-": a block without one)."""
        for section in self.sections:
            if section.stay is not None:
                yield [section.section_id, "heading", section.stay.id]
            for block in section.blocks:
                stays = " ".join(stay.id if stay else "-" for stay in block.stays)
                yield [section.section_id, block.kind, stays]

    def list_findings(self) -> list[str]:
        """Give the findings in short."""
        return sorted(f"{found.path}:{found.line} {found.code}" for found in self.findings)


_RULES = Rules()


class _Page(Treeprocessor):
    """What MkDocs puts into the Markdown of a whole page."""


def render(
    text: str,
    rules: Rules = _RULES,
    *,
    extensions: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
    folder: Path | str = "",
) -> RenderedPage:
    """Render a page; ``extensions`` (with their options) are added to the usual ones."""
    marks = BuildingMarks()
    extension = MarkstayExtension(marks)
    extension.rules = rules
    names: list[str | Extension] = [*EXTENSIONS, *extensions, extension]
    md = Markdown(extensions=names, extension_configs={k: dict(v) for k, v in extensions.items()})
    md.treeprocessors.register(_Page(md), "mkdocs_extract_title", -1)
    html = md.convert(text)
    conversion = extension.conversion
    assert conversion is not None
    html, stays = bind_page(html, marks, conversion, FURNITURE, rules)
    source = Source("page.md", "", text, (folder,), lambda path: path.name)
    read = read_source_stays(source, stays, rules, secret=False)
    ids = {heading.written.section_id or "" for heading in conversion.headings}
    html = marks.strip(html)
    sections = extract(html, ids - {""}, FURNITURE)
    if stays is not None:
        assert attach(sections, stays.content.sections) == []
    return RenderedPage(html, sections, read.findings)


def render_plain(text: str) -> str:
    """Render a page whose markers are left alone, and whose blocks are not followed."""
    marks = BuildingMarks()
    extension = MarkstayExtension(marks)
    extension.rules = Rules(stays="off")
    return marks.strip(Markdown(extensions=[*EXTENSIONS, extension]).convert(text))
