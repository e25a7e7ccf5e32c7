"""The translations of a site: which page is the original of which, and how their ids differ."""

from __future__ import annotations

import shlex
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs_markstay.page_source import decode
from mkdocs_markstay.parity import Differences, check_parity

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mkdocs_markstay.outlines import OutlineHeading
    from mkdocs_markstay.page_report import PageReport


def compare_languages(
    reports: Iterable[PageReport], language: str, originals: dict[str, PageReport], stamp: str
) -> tuple[int, Differences]:
    """Compare the pages of a site with those in the language ``language``.

    ``originals`` are pages in that language that are known already, by page id; those
    among ``reports`` are added. ``stamp`` is the command that writes ids into the files of
    the site. Returns how many translated pages there are, and what differs.
    """
    published = [report for report in reports if report.published]
    originals.update((each.page_id, each) for each in published if each.language == language)
    return _compare(
        (original, report, "" if original.generated else _name_stamp(stamp, report, original.path))
        for report in published
        if report.language != language and (original := originals.get(report.page_id))
    )


def compare_trees(
    originals: Iterable[PageReport], translations: Iterable[PageReport], stamp: str, folder: str
) -> tuple[int, Differences]:
    """Compare the pages of the docs folder ``folder`` with those of another with the same paths.

    ``stamp`` is the command that writes ids into the files of the translations, "" if there
    is none. Returns what `compare_languages` does.
    """
    by_source = {report.source: report for report in originals if report.published}
    return _compare(
        (original, report, _name_stamp(stamp, report, folder))
        for report in translations
        if report.published and (original := by_source.get(report.source))
    )


def _name_stamp(stamp: str, report: PageReport, source: str) -> str:
    """Give the command that carries ids over to a page, "" if there is none."""
    if not stamp or report.generated:
        return ""
    return f"{stamp} {shlex.quote(report.path)} --from {shlex.quote(source)} --write"


def _compare(pairs: Iterable[tuple[PageReport, PageReport, str]]) -> tuple[int, Differences]:
    count, all_found = 0, Differences([], [])
    for original, report, stamp in pairs:
        count += 1
        found = check_parity(original.outline, report.outline, report.path, read_texts, stamp)
        for each, more in zip(all_found, found, strict=True):
            each.extend(more)
    return count, all_found


def read_texts(outline: Iterable[OutlineHeading]) -> dict[str, str]:
    """Read the files of headings, as far as they are there."""
    texts = {}
    for path in {heading.path for heading in outline}:
        with suppress(OSError):
            texts[path] = decode(Path(path).read_bytes(), path)[0]
    return texts
