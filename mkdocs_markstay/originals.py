"""The originals of a site's translated pages, for the ids that are carried over from them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs_markstay.carried_ids import carry_ids
from mkdocs_markstay.checks import find_missing
from mkdocs_markstay.findings import name_path
from mkdocs_markstay.inspection import Inspection, InspectionError
from mkdocs_markstay.stamp_plan import Choice
from mkdocs_markstay.translations import read_texts

if TYPE_CHECKING:
    from collections.abc import Callable

    from mkdocs_markstay.inspection import RenderedPage
    from mkdocs_markstay.outlines import OutlineHeading
    from mkdocs_markstay.page_report import PageReport


class Originals:
    """The originals of the pages of a translation, from a file or folder ``original``.

    They are pages of the same site, or of another docs folder that ``inspect`` reads with
    the same configuration. A file is the original of every page that is asked for. Gives
    `stamp_site` the ids that are carried over.
    """

    def __init__(self, original: Path, inspect: Callable[[Path, Inspection], None]) -> None:
        self.original = os.path.realpath(original)
        self._inspect = inspect
        # By what names an original and its translation alike.
        self._key: Callable[[PageReport], str] = lambda report: report.page_id
        self._outlines: dict[str, tuple[OutlineHeading, ...]] | None = None

    def choose(self, page: RenderedPage, run: Inspection) -> dict[int, Choice]:
        """Choose for the headings of a page that have no id those of its original."""
        if self._outlines is None:
            self._outlines = self._read(run)
        # What is not published is shown for lack of a translation.
        if self._is_original(page, run) or not page.report.published:
            return {}
        assert run.settings is not None
        missing = {id(heading) for heading in find_missing(page.headings, run.settings.rules)}
        outline = self._outlines.get(self._key(page.report))
        numbers = [index for index, heading in enumerate(page.headings) if heading.authored]
        if outline is None:
            reason = "the page has no original"
            return {n: Choice(reason=reason) for n in numbers if id(page.headings[n]) in missing}
        carried = iter(
            carry_ids(outline, page.report.outline, read_texts([*outline, *page.report.outline]))
        )
        choices = {}
        for index, heading in zip(numbers, page.report.outline, strict=True):
            if heading.section_id:
                continue
            each = next(carried)
            if each.section_id or id(page.headings[index]) in missing:
                choices[index] = Choice(each.section_id, each.reason)
        return choices

    def _read(self, run: Inspection) -> dict[str, tuple[OutlineHeading, ...]]:
        path = Path(self.original)
        pages = [page for page in run.rendered if self._is_original(page, run)]
        if not pages:
            other = Inspection(keep=True, step="Rendering the originals")
            if path.is_file():
                other.wants = lambda _key, source: os.path.realpath(source) == self.original
            self._inspect(path if path.is_dir() else path.parent, other)
            self._key = lambda report: report.source
            pages = other.rendered
        if path.is_file():
            self._key = lambda _report: ""
        found = {self._key(page.report): page.report.outline for page in pages}
        if not found:
            what = "is no page" if path.is_file() else "has no pages"
            raise InspectionError(f"{name_path(path)} {what}")
        return found

    def _is_original(self, page: RenderedPage, run: Inspection) -> bool:
        if page.file is None:
            return False
        file = os.path.realpath(page.file)
        if file == self.original:
            return True
        assert run.settings is not None, "the run is over"
        in_folder = file.startswith(self.original + os.sep)
        return in_folder and page.report.language == run.settings.default_language
