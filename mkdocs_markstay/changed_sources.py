"""Old addresses as the sources name them, and what the register says that they are now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mkdocs_markstay.link_addresses import DocsAddress
from mkdocs_markstay.register import LIVE, MOVED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from mkdocs_markstay.page_report import PageReport
    from mkdocs_markstay.register import Entry, Register


def list_changed(
    register: Register, referents: Iterable[str], reports: Iterable[PageReport]
) -> dict[DocsAddress, DocsAddress | None]:
    """Map the sources' names of old referents to those of what they are now, None if gone.

    To ``referents`` come all that lead where they lead. ``reports`` are the pages of the
    site, in all languages: each language's page has its own new page, as far as there is one.
    """
    pages: dict[tuple[str, str], PageReport] = {}
    for report in reports:
        if report.published:
            pages.setdefault((report.page_id, report.language), report)
    languages = dict.fromkeys(language for _, language in pages)
    taken = {report.source: report.page_id for report in pages.values()}
    changed: dict[DocsAddress, DocsAddress | None] = {}
    for entry in _with_older(register, referents):
        end = register.follow(entry.referent)
        if end is None:
            continue
        for language in languages:
            new = _find(pages, end, language) if end.state == LIVE else None
            for source in _sources(register, pages, entry, language):
                old = DocsAddress(source, entry.section_id)
                other = taken.get(source, entry.page_id) != entry.page_id
                if not other and new != old and (new is not None or end.state != LIVE):
                    changed.setdefault(old, new)
    return changed


def _with_older(register: Register, referents: Iterable[str]) -> Iterator[Entry]:
    wanted = list(dict.fromkeys(referents))
    yield from (register.entries[referent] for referent in wanted)
    ends = {end.referent for each in wanted if (end := register.follow(each)) is not None}
    for referent, entry in register.entries.items():
        if entry.state == MOVED and referent not in wanted:
            end = register.follow(referent)
            if end is not None and end.referent in ends:
                yield entry


def _find(
    pages: Mapping[tuple[str, str], PageReport], end: Entry, language: str
) -> DocsAddress | None:
    report = pages.get((end.page_id, language))
    return None if report is None else DocsAddress(report.source, end.section_id)


def _sources(
    register: Register, pages: Mapping[tuple[str, str], PageReport], entry: Entry, language: str
) -> list[str]:
    """Name the sources that an entry's page has and may have had."""
    report = pages.get((entry.page_id, language))
    sources = [] if report is None else [report.source]
    page = register.entries.get(entry.page_id)
    # Today's path is that of the source, whatever it is called.
    paths = () if page is None else page.paths[1:] if report is not None else page.paths
    for path in paths:
        sources.append(f"{path}.md")
        if path.rpartition("/")[2] == "index":
            sources.append(f"{path.removesuffix('index')}README.md")
    return sources
