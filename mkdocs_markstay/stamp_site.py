"""Writing section ids into the files of a site: plan, prove, replace."""

# Paths are strings here: the copy is walked with os.path, which is several times faster.
# ruff: noqa: PTH100

from __future__ import annotations

import os
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs_markstay.edits import (
    LineChangedError,
    NotReplacedError,
    check_writable,
    is_inside,
    replace_file,
    stamp_text,
)
from mkdocs_markstay.findings import Finding, judge, name_path
from mkdocs_markstay.inspection import Inspection, InspectionError
from mkdocs_markstay.site_copy import (
    SiteCopy,
    find_project,
    included_folders,
    inspect_site_of,
    settings_of,
)
from mkdocs_markstay.stamp_plan import find_positional, find_syntax, plan_stamps
from mkdocs_markstay.stamp_proof import Rendering, prove

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from mkdocs_markstay.inspection import RenderedPage, SiteSettings
    from mkdocs_markstay.stamp_plan import Choice, Edit, Plan

NOT_OF_SITE = "is no page of this site, and no page includes it with a heading"
EXCLUDED = "is left out by the option exclude, or by `markstay: false` in the page"


@dataclass(frozen=True)
class StampedFile:
    """A file that gets ids or markers: its content before and after, and how many.

    ``path`` is what a person can open; it leads through no symbolic link.
    """

    path: str
    old: bytes
    new: bytes
    ids: int


@dataclass
class Stamps:
    """What is to be written into the files of a site.

    ``findings`` tell what is left alone, what cannot be written, and hints; judged and
    sorted. ``missed`` are files that were to be stamped and have nothing that the site
    asks an id or a marker of, each with the reason, in words that follow the path.
    """

    files: list[StampedFile]
    findings: list[Finding]
    settings: SiteSettings
    missed: dict[Path, str]

    @property
    def ids(self) -> int:
        """Count the headings that get one, or the blocks."""
        return sum(file.ids for file in self.files)

    def write(self) -> None:
        """Replace the files, each at once. One that cannot be written becomes a finding."""
        problems = {file.path: problem for file in self.files if (problem := _replace(file))}
        self.files = [file for file in self.files if file.path not in problems]
        findings = (tell_unwritten(path, problem) for path, problem in problems.items())
        self.findings = judge([*self.findings, *findings], self.settings.levels)


@dataclass(frozen=True)
class Selection:
    """The files and folders to stamp, all if there are none."""

    paths: tuple[Path, ...]

    def wants(self, path: str) -> bool:
        """Say whether a file is to be stamped."""
        if not self.paths:
            return True
        real = Path(os.path.realpath(path))
        return any(os.fspath(each) in self._wanted for each in (real, *real.parents))

    # A commit hook may name every file of a site: each is resolved once, not for each page.
    @cached_property
    def _wanted(self) -> frozenset[str]:
        return frozenset(map(os.path.realpath, self.paths))


@dataclass(frozen=True)
class StampOptions(Selection):
    """What is asked of `stamp_site`.

    ``syntax`` is "auto", "angle" or "brace"; ``choose`` says what the headings of a page get.
    """

    syntax: str
    choose: Callable[[RenderedPage, Inspection], Mapping[int, Choice]]


def stamp_site(
    config_file: str | os.PathLike[str], options: StampOptions, inspect: Callable[..., None]
) -> Stamps:
    """Find what is to be written into the files of a site, and prove that it does no harm.

    ``inspect`` renders the site of a configuration file and takes an `Inspection` and
    MkDocs' settings. Writes nothing. Raises InspectionError.
    """
    path = os.path.abspath(config_file)  # links stay
    # Any page may show the text of any file: all of them are rendered.
    run = Inspection(keep=True)
    settings = inspect_selection(path, options, inspect, run)
    missed = _find_missed(options.paths, run)
    check_missed(options.paths, missed, NOT_OF_SITE)
    _find_todays_anchors(path, inspect, run)
    edits, problems, raw = _find_edits(path, options, inspect, run)
    # What macros replaced by an error text could not be read.
    errors = (found for found in run.findings if found.code == "page-error")
    problems += [found for found in errors if options.wants(found.path)]
    return Stamps(list_files(edits, raw), judge(problems, settings.levels), settings, missed)


def inspect_selection(
    path: str, selection: Selection, inspect: Callable[..., None], run: Inspection
) -> SiteSettings:
    """Render a site, and pages that it leaves out if they are asked for. Raises InspectionError."""
    if selection.paths:
        run.wants_left_out = selection.wants
    return inspect_site_of(inspect, path, run)


def check_missed(paths: Sequence[Path], missed: Mapping[Path, str], reason: str) -> None:
    """Raise InspectionError if all that was asked for is missing from the site, for one reason."""
    if set(missed) == set(paths) and set(missed.values()) == {reason}:
        raise InspectionError(f"{paths[0]} {reason}")


# -- the plan


def _find_todays_anchors(config_file: str, inspect: Callable[..., None], run: Inspection) -> None:
    """Learn which anchors are published, where the plugin makes others."""
    settings = settings_of(run)
    if settings.configured or not settings.adds_attributes:
        return
    # What is published has text where the plugin reads attributes.
    plain = Inspection(keep=True, plain=True, wants_left_out=run.wants_left_out)
    plain.step = "Rendering pages as they are published"
    inspect_site_of(inspect, config_file, plain)
    anchors = {page.report.key: page.anchors for page in plain.rendered}
    for number, page in enumerate(run.rendered):
        today = anchors.get(page.report.key, ())
        if len(today) == len(page.anchors):
            run.rendered[number] = replace(page, anchors=today)


def _find_edits(
    config_file: str, options: StampOptions, inspect: Callable[..., None], run: Inspection
) -> tuple[list[Edit], list[Finding], dict[str, bytes]]:
    """Find the edits that do no harm; what is to be told; and the contents of the files.

    Once some headings have their ids, it may be certain where others stand: there are as many
    passes as there is something to find, so that there is nothing for another run.
    """
    settings = settings_of(run)
    syntax = find_syntax(settings.docs) if options.syntax == "auto" else options.syntax
    pages = {page.report.key: page for page in run.rendered}
    edits: list[Edit] = []
    findings: list[Finding] = []
    raw: dict[str, bytes] = {}
    refused: dict[tuple[str, int, str], Finding] = {}
    with ExitStack() as stack:
        site_copy = SiteCopy(config_file, inspect, run, included_folders(run), stack)
        copy = TrialCopy(site_copy, raw)
        while True:
            plan = plan_stamps(
                pages.values(),
                lambda page: options.choose(page, run),
                options.wants,
                syntax,
                refused,
            )
            findings += _read_files(plan, settings, raw)
            after = prove(plan, pages, partial(copy.render, tuple(edits)))
            for key, page in pages.items():
                findings += find_positional(page, plan.edits_of(key))
            refused |= plan.refused
            if not plan.edits:
                return edits, [*findings, *plan.unplaced.values(), *plan.left], raw
            edits += plan.edits.values()
            pages = {key: _advance(page, after.get(key, page)) for key, page in pages.items()}


def _advance(before: RenderedPage, after: RenderedPage) -> RenderedPage:
    """Give a page after a pass; its file is not in the copy."""
    anchors = before.anchors if len(before.anchors) == len(after.anchors) else after.anchors
    return replace(after, file=before.file, anchors=anchors)


def _find_missed(paths: tuple[Path, ...], run: Inspection) -> dict[Path, str]:
    """Find files among the paths that the site asks no id of, each with the reason."""
    excluded: set[str] = set()
    seen: set[str] = set()
    for page in run.rendered:
        if page.file is not None:
            (excluded if page.report.excluded else seen).add(os.path.realpath(page.file))
        included = {heading.place.path for heading in page.headings if heading.place.via}
        seen.update(map(os.path.realpath, included))
    real = {path: os.path.realpath(path) for path in paths if path.is_file()}
    return {
        path: EXCLUDED if file in excluded else NOT_OF_SITE
        for path, file in real.items()
        if file not in seen
    }


# -- files


def _read_files(plan: Plan, settings: SiteSettings, raw: dict[str, bytes]) -> list[Finding]:
    """Read the files of a plan into ``raw``; those that may not be changed leave the plan.

    So do edits whose line is not the one that was rendered. Returns the findings.
    """
    findings = []
    project = Path(find_project(settings.folder))
    of_file: dict[str, list[Edit]] = {}
    for edit in plan.edits.values():
        of_file.setdefault(edit.file, []).append(edit)
    for file, edits in of_file.items():
        place = edits[0].place
        folder = settings.docs if place.via is None else project
        if is_inside(Path(file), folder):
            problem = read_file(file, raw)
        else:
            problem = f"is outside the folder {folder.name}. Write the ids where it belongs"
        if problem:
            findings.append(tell_unwritten(place.path, problem))
            for edit in edits:
                plan.drop(edit)
        else:
            _refuse_changed(plan, edits, raw[file])
    return findings


def _refuse_changed(plan: Plan, edits: Iterable[Edit], raw: bytes) -> None:
    lines = {edit.line: edit for edit in edits}
    while lines:
        try:
            stamp_text(raw, _changes(lines.values()))
        except LineChangedError as error:  # noqa: PERF203 (there are few)
            reason = "its line is not the one that was rendered. Try again"
            plan.refuse(lines.pop(error.line), reason)
        else:
            return


def _changes(edits: Iterable[Edit]) -> dict[int, tuple[str, str]]:
    return {edit.line: (edit.old, edit.new) for edit in edits}


def read_file(file: str, raw: dict[str, bytes]) -> str:
    """Read a file that is to be changed; return the reason if it cannot be."""
    if file in raw:
        return ""
    try:
        check_writable(Path(file))
        content = Path(file).read_bytes()
        content.decode()
    except NotReplacedError as error:
        return error.reason
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        return f"is not UTF-8 (line {line}). Save it as UTF-8"
    except OSError as error:
        return f"cannot be read: {error.strerror or error}"
    raw[file] = content
    return ""


def _replace(file: StampedFile) -> str:
    try:
        replace_file(Path(file.path), file.old, file.new)
    except NotReplacedError as error:
        return error.reason
    return ""


def tell_unwritten(path: str, reason: str) -> Finding:
    """Tell that a file cannot be changed; the reason is in words that follow "the file"."""
    return Finding(path, 1, "not-written", f"the file {reason}")


def list_files(edits: Collection[Edit], raw: Mapping[str, bytes]) -> list[StampedFile]:
    """List the files that edits change, with their contents before and after."""
    counts = Counter(edit.file for edit in edits)
    files = [
        StampedFile(name_path(file), raw[file], content, counts[file])
        for file, content in _stamp_files(edits, raw).items()
    ]
    return sorted(files, key=lambda file: file.path)


def _stamp_files(edits: Iterable[Edit], raw: Mapping[str, bytes]) -> dict[str, bytes]:
    """Give the files their new contents."""
    of_file: dict[str, list[Edit]] = {}
    for edit in edits:
        of_file.setdefault(edit.file, []).append(edit)
    return {file: stamp_text(raw[file], _changes(each)) for file, each in of_file.items()}


# -- the proof


@dataclass
class TrialCopy:
    """A copy of a site, which ``run`` has rendered as it is."""

    copy: SiteCopy
    raw: Mapping[str, bytes]

    def render(
        self, before: Sequence[Edit], edits: Collection[Edit], keys: Collection[str] | None
    ) -> Rendering:
        """Render the copy with edits, those of ``before`` among them; only some pages of it."""
        every = [*before, *edits]
        trial = self.copy.render(_stamp_files(every, self.raw), keys)
        pages = {page.report.key: page for page in trial.rendered}
        failing = self.place(_failing(trial), every)
        return Rendering(pages, [each for each in failing if _where(each) not in self.known])

    def place(self, findings: Sequence[Finding], edits: Sequence[Edit]) -> Sequence[Finding]:
        """Give the findings of a trial with the lines that they would have without the edits."""
        del edits
        return findings

    @cached_property
    def known(self) -> set[tuple[str, int, str]]:
        """The findings that fail the build of the site as it is."""
        return set(map(_where, _failing(self.copy.run)))


def _where(found: Finding) -> tuple[str, int, str]:
    return found.path, found.line, found.code


def _failing(run: Inspection) -> list[Finding]:
    """Give the findings that fail a build."""
    settings = settings_of(run)
    levels = {"error", "warning"} if settings.strict else {"error"}
    return [found for found in judge(run.findings, settings.levels) if found.level in levels]
