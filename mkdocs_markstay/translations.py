"""The translations of a site: which page is the original of which, and what they share."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs_markstay.checks import find_missing
from mkdocs_markstay.inspection import Inspection, InspectionError
from mkdocs_markstay.outlines import carry_ids, check_parity
from mkdocs_markstay.page_source import decode
from mkdocs_markstay.stamp_plan import Choice

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from mkdocs_markstay.findings import Finding
    from mkdocs_markstay.inspection import RenderedPage, SiteSettings
    from mkdocs_markstay.outlines import OutlineHeading
    from mkdocs_markstay.page_report import PageReport


def compare_languages(reports: Iterable[PageReport], original: str) -> tuple[int, list[Finding]]:
    """Compare the pages of a site with those in the language ``original``.

    Returns how many translated pages there are, and the findings.
    """
    published = [report for report in reports if report.published]
    outlines = {r.page_id: r.outline for r in published if r.language == original}
    return _compare([r for r in published if r.language != original], outlines)


def compare_trees(
    originals: Iterable[PageReport], translations: Iterable[PageReport]
) -> tuple[int, list[Finding]]:
    """Compare the pages of one docs folder with those of another that have the same paths."""
    outlines = {r.source: r.outline for r in originals if r.published}
    found = [r for r in translations if r.published and r.source in outlines]
    return _compare(found, {r.page_id: outlines[r.source] for r in found})


def _compare(
    translations: Iterable[PageReport], outlines: Mapping[str, tuple[OutlineHeading, ...]]
) -> tuple[int, list[Finding]]:
    findings: list[Finding] = []
    count = 0
    for report in translations:
        if report.page_id in outlines:
            count += 1
            findings += check_parity(outlines[report.page_id], report.outline, report.path)
    return count, findings


class Originals:
    """The originals of the pages of a translation, from a file or folder ``original``.

    They are pages of the same site, or of another docs folder that ``inspect`` reads with
    the same configuration. Gives `stamp_site` the ids that are carried over.
    """

    def __init__(self, original: Path, inspect: Callable[[Path, Inspection], None]) -> None:
        self.original = os.path.realpath(original)
        self._inspect = inspect
        self._outlines: dict[str, tuple[OutlineHeading, ...]] | None = None

    def choose(self, page: RenderedPage, run: Inspection) -> dict[int, Choice]:
        """Choose for the headings of a page that have no id those of its original."""
        settings = run.settings
        assert settings is not None, "the run is over"
        if self._outlines is None:
            self._outlines = self._read(run.rendered, settings)
        if self._is_original(page, settings):
            return {}
        missing = {id(heading) for heading in find_missing(page.headings, settings.rules)}
        key = page.report.page_id
        if Path(self.original).is_file():
            key = next(iter(self._outlines), "")
        outline = self._outlines.get(key)
        numbers = [index for index, heading in enumerate(page.headings) if heading.authored]
        if outline is None:
            reason = "the page has no original"
            return {n: Choice(reason=reason) for n in numbers if id(page.headings[n]) in missing}
        texts = _read_texts([*outline, *page.report.outline])
        carried = iter(carry_ids(outline, page.report.outline, texts))
        choices = {}
        for index, heading in zip(numbers, page.report.outline, strict=True):
            if heading.section_id:
                continue
            each = next(carried)
            if each.section_id or id(page.headings[index]) in missing:
                choices[index] = Choice(each.section_id, each.reason)
        return choices

    def _read(
        self, pages: Iterable[RenderedPage], settings: SiteSettings
    ) -> dict[str, tuple[OutlineHeading, ...]]:
        found = {
            page.report.page_id: page.report.outline
            for page in pages
            if self._is_original(page, settings)
        }
        if found:
            return found
        path = Path(self.original)
        run = Inspection(keep=True)
        if path.is_file():
            run.wants = lambda _key, source: os.path.realpath(source) == self.original
        self._inspect(path if path.is_dir() else path.parent, run)
        found = {
            page.report.page_id: page.report.outline
            for page in run.rendered
            if page.report.language == settings.default_language
        }
        if not found:
            raise InspectionError(f"{path} has no pages")
        return found

    def _is_original(self, page: RenderedPage, settings: SiteSettings) -> bool:
        if page.file is None or page.report.language != settings.default_language:
            return False
        file = os.path.realpath(page.file)
        return file == self.original or file.startswith(self.original + os.sep)


def _read_texts(outline: Iterable[OutlineHeading]) -> dict[str, str]:
    """Read the files of headings, as far as they are there."""
    texts = {}
    for path in {heading.path for heading in outline}:
        with suppress(OSError):
            texts[path] = decode(Path(path).read_bytes(), path)[0]
    return texts
