"""Writing section ids into the files of a site: plan, prove, replace."""

# Paths are strings here: the copy is walked with os.path, which is several times faster.
# ruff: noqa: PTH100, PTH109, PTH120

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
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
from mkdocs_markstay.mirror import mirrored
from mkdocs_markstay.stamp_plan import find_positional, find_syntax, plan_stamps
from mkdocs_markstay.stamp_proof import Rendering, prove

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from mkdocs_markstay.inspection import RenderedPage, SiteSettings
    from mkdocs_markstay.stamp_plan import Choice, Edit, Plan

NOT_OF_SITE = "is no page of this site, and no page includes it with a heading"
EXCLUDED = "is left out by the option exclude, or by `markstay: false` in the page"


@dataclass(frozen=True)
class StampedFile:
    """A file that gets ids: its content before and after, and how many.

    ``path`` is what a person can open; it leads through no symbolic link.
    """

    path: str
    old: bytes
    new: bytes
    ids: int


@dataclass
class Stamps:
    """What `stamp_site` found to write.

    ``findings`` tell what is left alone, what cannot be written, and hints; judged and
    sorted. ``missed`` are files that were to be stamped and have no heading that the site
    asks an id of, each with the reason, in words that follow the path.
    """

    files: list[StampedFile]
    findings: list[Finding]
    settings: SiteSettings
    missed: dict[Path, str]

    @property
    def ids(self) -> int:
        """Count the headings that get one."""
        return sum(file.ids for file in self.files)

    def write(self) -> None:
        """Replace the files, each at once. One that cannot be written becomes a finding."""
        problems = {file.path: problem for file in self.files if (problem := _replace(file))}
        self.files = [file for file in self.files if file.path not in problems]
        findings = (_not_written(path, problem) for path, problem in problems.items())
        self.findings = judge([*self.findings, *findings], self.settings.levels)


@dataclass(frozen=True)
class StampOptions:
    """What is asked of `stamp_site`.

    ``paths`` are the files and folders to stamp, all if there are none; ``syntax`` is
    "auto", "angle" or "brace"; ``choose`` says what the headings of a page get.
    """

    paths: tuple[Path, ...]
    syntax: str
    choose: Callable[[RenderedPage, Inspection], Mapping[int, Choice]]

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
    if options.paths:
        run.wants_left_out = options.wants
    settings = _inspect(inspect, path, run)
    missed = _find_missed(options.paths, run)
    if set(missed) == set(options.paths) and set(missed.values()) == {NOT_OF_SITE}:
        raise InspectionError(f"{options.paths[0]} {NOT_OF_SITE}")
    plan = _plan(path, options, inspect, run)
    raw, problems = _read_files(plan, settings)
    if plan.edits:
        _prove(plan, run, raw, path, inspect)
    contents = _stamp_files(plan, plan.edits.values(), raw)
    for page in run.rendered:
        problems += find_positional(page, plan.edits_of(page.report.key))
    # What macros replaced by an error text could not be read.
    errors = (found for found in run.findings if found.code == "page-error")
    problems += [found for found in errors if options.wants(found.path)]
    counts = Counter(edit.file for edit in plan.edits.values())
    files = [
        StampedFile(name_path(file), raw[file], content, counts[file])
        for file, content in contents.items()
    ]
    return Stamps(
        sorted(files, key=lambda file: file.path),
        judge([*problems, *plan.unplaced.values(), *plan.left], settings.levels),
        settings,
        missed,
    )


# -- the plan


def _inspect(
    inspect: Callable[..., None], config_file: str, run: Inspection, **overrides: str
) -> SiteSettings:
    inspect(config_file, run, **overrides)
    if run.settings is None:
        raise InspectionError("MkDocs stopped before it had read the site")
    return run.settings


def _plan(
    config_file: str, options: StampOptions, inspect: Callable[..., None], run: Inspection
) -> Plan:
    settings = run.settings
    assert settings is not None, "the run is over"
    if settings.adds_attributes and not settings.configured:
        # What is published has text where the plugin reads attributes.
        plain = Inspection(keep=True, plain=True, wants_left_out=run.wants_left_out)
        _inspect(inspect, config_file, plain)
        anchors = {page.report.key: page.anchors for page in plain.rendered}
        for number, page in enumerate(run.rendered):
            today = anchors.get(page.report.key, ())
            if len(today) == len(page.anchors):
                run.rendered[number] = replace(page, anchors=today)
    return plan_stamps(
        run.rendered,
        lambda page: options.choose(page, run),
        options.wants,
        find_syntax(settings.docs) if options.syntax == "auto" else options.syntax,
    )


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


def _read_files(plan: Plan, settings: SiteSettings) -> tuple[dict[str, bytes], list[Finding]]:
    """Read the files of a plan; those that may not be changed leave it, each with a finding."""
    raw: dict[str, bytes] = {}
    findings = []
    project = _find_project(settings.folder)
    of_file: dict[str, list[Edit]] = {}
    for edit in plan.edits.values():
        of_file.setdefault(edit.file, []).append(edit)
    for file, edits in of_file.items():
        place = edits[0].place
        folder = settings.docs if place.via is None else Path(project)
        if is_inside(Path(file), folder):
            problem = _read(file, raw)
        else:
            problem = f"is outside the folder {folder.name}. Write the ids where it belongs"
        if problem:
            findings.append(_not_written(place.path, problem))
            for edit in edits:
                plan.drop(edit)
    return raw, findings


def _read(file: str, raw: dict[str, bytes]) -> str:
    """Read a file that is to be changed; return the reason if it cannot be."""
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


def _not_written(path: str, reason: str) -> Finding:
    return Finding(path, 1, "not-written", f"the file {reason}")


def _find_project(folder: Path) -> str:
    """Find the folder under version control that a folder is in, else the folder itself."""
    folder = folder.resolve()
    found = (each for each in (folder, *folder.parents) if (each / ".git").exists())
    return os.fspath(next(found, folder))


def _stamp_files(plan: Plan, edits: Iterable[Edit], raw: Mapping[str, bytes]) -> dict[str, bytes]:
    """Give the files their new contents; an edit whose line is another one leaves the plan."""
    of_file: dict[str, dict[int, Edit]] = {}
    for edit in edits:
        of_file.setdefault(edit.file, {})[edit.line] = edit
    return {
        file: content
        for file, lines in of_file.items()
        if (content := _stamp_file(plan, lines, raw[file])) is not None
    }


def _stamp_file(plan: Plan, lines: dict[int, Edit], raw: bytes) -> bytes | None:
    while lines:
        try:
            return stamp_text(raw, {line: (edit.old, edit.new) for line, edit in lines.items()})
        except LineChangedError as error:  # noqa: PERF203 (there are few)
            reason = "its line is not the one that was rendered. Try again"
            plan.refuse(lines.pop(error.line), reason)
    return None


# -- the proof


def _prove(
    plan: Plan,
    run: Inspection,
    raw: Mapping[str, bytes],
    config_file: str,
    inspect: Callable[..., None],
) -> None:
    """Render the site with the edits in a copy, and take out of the plan what does harm."""
    settings = run.settings
    assert settings is not None, "the run is over"
    docs = os.path.realpath(settings.docs)
    of_site = [os.path.dirname(config_file), os.fspath(settings.docs)]
    of_site += [*map(os.path.realpath, of_site), _find_project(settings.folder), os.getcwd()]
    try:
        # What stands beside a site is often a part of it.
        root = os.path.dirname(os.path.commonpath(of_site))
    except ValueError:
        raise InspectionError("run stamp on the drive of the site") from None
    before = {page.report.key: page for page in run.rendered}
    known = set(map(_where, _failing(run)))
    left_out = [page.file for page in run.rendered if page.left_out and page.file is not None]
    changed: set[str] = set()
    with mirrored(root, docs, {*map(os.path.dirname, raw)}) as mirror:
        copies = set(map(mirror.path, left_out))

        def render(edits: Collection[Edit], keys: Collection[str] | None) -> Rendering:
            contents = _stamp_files(plan, edits, raw)
            mirror.restore(changed - set(contents))
            mirror.write(contents)
            changed.update(contents)
            trial = Inspection(keep=True, wants_left_out=copies.__contains__)
            if keys is not None:
                trial.wants = lambda key, _path: key in keys
            copy = mirror.path(config_file)
            _inspect(inspect, copy, trial, docs_dir=mirror.path(settings.docs))
            return Rendering(
                {page.report.key: page for page in trial.rendered},
                [
                    each
                    for each in _failing(trial)
                    if (each.path, each.line, each.code) not in known
                ],
            )

        prove(plan, before, render)


def _where(found: Finding) -> tuple[str, int, str]:
    return found.path, found.line, found.code


def _failing(run: Inspection) -> list[Finding]:
    """Give the findings that fail a build."""
    settings = run.settings
    assert settings is not None, "the run is over"
    levels = {"error", "warning"} if settings.strict else {"error"}
    return [found for found in judge(run.findings, settings.levels) if found.level in levels]
