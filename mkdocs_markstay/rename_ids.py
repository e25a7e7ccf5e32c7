"""Giving a section another id in the sources: found in all languages, changed, and proven."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from mkdocs_markstay.edits import (
    LineChangedError,
    NotReplacedError,
    replace_file,
    replace_id,
    stamp_text,
)
from mkdocs_markstay.findings import PERMANENCE_CODES, judge
from mkdocs_markstay.identity import STAY_PREFIX
from mkdocs_markstay.inspection import Inspection
from mkdocs_markstay.published_places import list_places
from mkdocs_markstay.register_edits import RefusedError
from mkdocs_markstay.sectionids import check_id, show

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from mkdocs_markstay.headings import Heading
    from mkdocs_markstay.inspection import RenderedPage
    from mkdocs_markstay.page_report import PageReport
    from mkdocs_markstay.published_places import PublishedPlace

T = TypeVar("T")


@dataclass
class Renaming:
    """An id that is to be changed.

    ``page_ids`` are the pages that have it, in any language; ``lines`` map each file and line
    (from 0) to its text before and after.
    """

    run: Inspection
    page_ids: list[str]
    keys: set[str]
    old: str
    new: str
    lines: dict[str, dict[int, tuple[str, str]]]

    @property
    def changed(self) -> list[tuple[str, int]]:
        """The places that change, each a file and its line (from 1)."""
        return [(path, line + 1) for path, edits in sorted(self.lines.items()) for line in edits]

    def write(
        self,
        inspect: Callable[[Inspection], None],
        record: Callable[[Mapping[str, PublishedPlace]], T],
    ) -> T:
        """Change the files, render their pages, and give what ``record`` makes of the places.

        ``inspect`` renders the site. If the pages are not what was wanted, or anything else
        fails, the files get their old content. Raises RefusedError.
        """
        contents = {path: Path(path).read_bytes() for path in self.lines}
        written: dict[str, bytes] = {}
        try:
            for path, raw in contents.items():
                changed = stamp_text(raw, self.lines[path])
                replace_file(Path(path), raw, changed)
                written[path] = changed
            return record(self._prove(inspect))
        except BaseException as error:
            _restore(written, contents)
            if isinstance(error, LineChangedError):
                raise RefusedError(f"{error}. Try again") from None
            if isinstance(error, NotReplacedError):
                raise RefusedError(str(error)) from None
            raise

    def _prove(self, inspect: Callable[[Inspection], None]) -> Mapping[str, PublishedPlace]:
        trial = Inspection(wants=lambda key, _path: key in self.keys, known=self._known())
        trial.step = "Rendering pages with the id"
        inspect(trial)
        assert trial.settings is not None
        before = {(f.path, f.line, f.code) for f in judge(self.run.findings, {})}
        found = judge(trial.findings, trial.settings.levels)
        new = [
            each
            for each in found
            if each.level == "error"
            and (each.path, each.line, each.code) not in before
            and each.code not in PERMANENCE_CODES  # the register is written afterwards
        ]
        if new:
            raise RefusedError(f"with the id {show(self.new)} the build would fail: {new[0]}")
        reports = [report for report in trial.reports if report.key in self.keys]
        if any(self.old in report.lines or self.new not in report.lines for report in reports):
            raise RefusedError(f"the heading does not take the id {show(self.new)}")
        return list_places(trial.reports, trial.settings.default_language)

    def _known(self) -> dict[str, PageReport]:
        return {r.key: r for r in self.run.reports if r.key not in self.keys}


def _restore(written: Mapping[str, bytes], contents: Mapping[str, bytes]) -> None:
    """Give files their old contents. Raises RefusedError, once all others have theirs."""
    left = []
    for path, changed in written.items():
        try:
            replace_file(Path(path), changed, contents[path])
        except NotReplacedError as error:  # noqa: PERF203 (the others shall have theirs)
            left.append(str(error))
    if left:
        raise RefusedError(f"not all files got their old content: {'; '.join(left)}")


def plan_renaming(run: Inspection, page: Path, old: str, new: str, move: str) -> Renaming:
    """Find the headings that have the id ``old`` in a file, and in the file's translations.

    ``run`` has all pages of the site, ``move`` is the command for its moves. Raises
    RefusedError if there is none, or one that cannot be changed.
    """
    assert run.settings is not None
    problem = check_id(new)
    if problem is not None:
        raise RefusedError(f"{show(new)} is no section id: it {problem.message}")
    pattern = run.settings.rules.id_pattern
    if pattern is not None and not pattern.fullmatch(new):
        raise RefusedError(f"{show(new)} does not match id_pattern {pattern.pattern}")
    if old == new:
        raise RefusedError(f"{show(old)} is that id already")
    real = os.path.realpath(page)
    here = [
        (rendered, heading)
        for rendered, heading in _find(run, old)
        if real in (os.path.realpath(heading.place.path), os.path.realpath(rendered.report.path))
    ]
    if not here:
        _check_block(run, real, old)
        raise RefusedError(f"no heading in {page} has the id {show(old)}")
    # The same line may be included elsewhere, and the page may have translations.
    places = {(heading.place.path, heading.place.line) for _, heading in here}
    page_ids = {rendered.report.page_id for rendered, _ in here}
    page_ids |= {
        rendered.report.page_id
        for rendered, heading in _find(run, old)
        if (heading.place.path, heading.place.line) in places
    }
    lines: dict[str, dict[int, tuple[str, str]]] = {}
    keys = set()
    for rendered, heading in _find(run, old):
        report = rendered.report
        if report.page_id not in page_ids:
            continue
        if new in report.lines:
            line = report.lines[new]
            raise RefusedError(f"{report.path}:{line} has the id {show(new)} already")
        source = "" if heading.found is None or heading.filled_in else heading.found.source
        changed = replace_id(source, old, new)
        if not changed:
            raise RefusedError(
                f"the line at {heading.place} cannot be changed safely. Write the id {show(new)}"
                f" there yourself, then run: {move} {shlex.quote(f'{report.page_id}#{old}')}"
                f" {shlex.quote(f'{report.page_id}#{new}')}"
            )
        lines.setdefault(heading.place.path, {})[heading.place.line - 1] = (source, changed)
        keys.add(report.key)
    return Renaming(run, sorted(page_ids), keys, old, new, lines)


def _check_block(run: Inspection, page: str, anchor: str) -> None:
    """Raise RefusedError if an id is the anchor of a marked block in a file."""
    stay_id = anchor.removeprefix(STAY_PREFIX)
    if not anchor.startswith(STAY_PREFIX):
        return
    for report in run.reports:
        stay = report.stays.get(stay_id)
        if stay is not None and page in map(os.path.realpath, (stay.path, report.path)):
            raise RefusedError(
                f"{show(anchor)} is the anchor of the marker stay:{stay_id} at"
                f" {stay.path}:{stay.line}. The id of a marker is what lasts: it is not renamed"
            )


def _find(run: Inspection, section_id: str) -> Iterator[tuple[RenderedPage, Heading]]:
    """Find the headings with an id that somebody wrote."""
    for page in run.rendered:
        for heading in page.headings:
            if heading.published_id == section_id and heading.explicit and heading.authored:
                yield page, heading
