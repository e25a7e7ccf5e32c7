"""Writing section ids into the files of a site: plan, prove, replace."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
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
from mkdocs_markstay.findings import Finding, judge
from mkdocs_markstay.inspection import Inspection, InspectionError
from mkdocs_markstay.mirror import mirrored
from mkdocs_markstay.stamp_plan import find_positional, find_syntax, plan_stamps
from mkdocs_markstay.stamp_proof import Rendering, prove

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from mkdocs_markstay.inspection import RenderedPage, SiteSettings
    from mkdocs_markstay.mirror import Mirror
    from mkdocs_markstay.stamp_plan import Choice, Edit, Plan

    Inspect = Callable[[str, Inspection], None]

NOT_OF_SITE = "is no page of this site, and no page includes it with a heading"


@dataclass(frozen=True)
class StampedFile:
    """A file that gets ids: its content before and after. ``path`` is what a person can open."""

    path: str
    old: bytes
    new: bytes


@dataclass
class Stamps:
    """What `stamp_site` found to write.

    ``ids`` counts the headings that get one. ``findings`` tell what is left alone, what
    cannot be written, and hints; judged and sorted. ``missed`` are files that were to be
    stamped, and that no page is made of.
    """

    files: list[StampedFile]
    ids: int
    findings: list[Finding]
    settings: SiteSettings
    missed: list[Path]

    def write(self) -> None:
        """Replace the files, each at once. What cannot be written is one more finding."""
        for file in self.files:
            problem = _replace(file)
            if problem:
                self.findings.append(_not_written(file.path, problem))


@dataclass(frozen=True)
class StampOptions:
    """What is asked of `stamp_site`.

    ``paths`` are the files and folders to stamp, all if there are none; ``syntax`` is
    "auto", "angle" or "brace"; ``choose`` says what the headings of a page get, and may
    look at the pages in ``sources``, too.
    """

    paths: tuple[Path, ...]
    syntax: str
    choose: Callable[[RenderedPage, Inspection], Mapping[int, Choice]]
    sources: tuple[Path, ...] = ()

    def wants(self, path: str) -> bool:
        """Say whether a file is to be stamped."""
        return not self.paths or _is_within(path, self._wanted)

    def needs(self, path: str) -> bool:
        """Say whether a page has to be rendered."""
        return self.wants(path) or _is_within(path, self._sources)

    # A commit hook may name every file of a site: each is resolved once, not for each page.
    @cached_property
    def _wanted(self) -> frozenset[str]:
        return frozenset(map(os.path.realpath, self.paths))

    @cached_property
    def _sources(self) -> frozenset[str]:
        return frozenset(map(os.path.realpath, self.sources))


def _is_within(path: str, wanted: frozenset[str]) -> bool:
    """Whether a file, all symbolic links followed, is one of these or in one of these folders."""
    real = Path(os.path.realpath(path))
    return any(os.fspath(each) in wanted for each in (real, *real.parents))


def stamp_site(config_file: Path, options: StampOptions, inspect: Inspect) -> Stamps:
    """Find what is to be written into the files of a site, and prove that it does no harm.

    ``inspect`` renders the site of a configuration file. Writes nothing. Raises
    InspectionError.
    """
    config_file = Path(os.path.abspath(config_file))  # noqa: PTH100 (links stay)
    run, settings, plan = _plan(config_file, options, inspect)
    findings = [found for found in plan.left if options.wants(found.path)]
    plan.left.clear()
    raw, problems = _read_files(plan, settings)
    if plan.edits:
        _prove(plan, run, raw, config_file, inspect)
    contents = _stamp_files(plan, plan.edits.values(), raw)
    for page in run.rendered:
        findings += find_positional(page, plan.pages.get(page.report.key, {}))
    shown = {edit.file: edit.place.path for edit in plan.edits.values()}
    files = [StampedFile(shown[file], raw[file], contents[file]) for file in contents]
    return Stamps(
        sorted(files, key=lambda file: file.path),
        len(plan.edits),
        judge([*findings, *problems, *plan.left], settings.levels),
        settings,
        _find_missed(options.paths, run),
    )


# -- the plan


def _plan(
    config_file: Path, options: StampOptions, inspect: Inspect
) -> tuple[Inspection, SiteSettings, Plan]:
    """Render the site, or the pages that are asked for, and plan the edits."""
    run = Inspection(keep=True)
    if options.paths:
        run.wants = lambda _key, path: options.needs(path)
        run.wants_left_out = options.wants
    settings, plan = _render(config_file, options, inspect, run)
    shared = any(edit.place.via for edit in plan.edits.values())
    if options.paths and (shared or _find_missed(options.paths, run)):
        # Of an included file all pages that include it must be seen.
        run = Inspection(keep=True, wants_left_out=options.wants)
        settings, plan = _render(config_file, options, inspect, run)
        missed = _find_missed(options.paths, run)
        if len(missed) == len(options.paths):
            raise InspectionError(f"{missed[0]} {NOT_OF_SITE}")
    for edit in list(plan.edits.values()):
        if not options.wants(edit.file):
            plan.drop(edit)
    return run, settings, plan


def _render(
    config_file: Path, options: StampOptions, inspect: Inspect, run: Inspection
) -> tuple[SiteSettings, Plan]:
    inspect(os.fspath(config_file), run)
    settings = run.settings
    assert settings is not None, "an inspection that ends has them"
    syntax = find_syntax(settings.docs) if options.syntax == "auto" else options.syntax
    return settings, plan_stamps(run.rendered, lambda page: options.choose(page, run), syntax)


def _find_missed(paths: tuple[Path, ...], run: Inspection) -> list[Path]:
    """Find files among the paths that no page was made from and no heading came from."""
    seen = {os.path.realpath(page.file) for page in run.rendered if page.file is not None}
    seen |= {
        os.path.realpath(heading.place.path)
        for page in run.rendered
        for heading in page.headings
        if heading.place.via
    }
    return [path for path in paths if path.is_file() and os.path.realpath(path) not in seen]


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
        folder = settings.docs if place.via is None else project
        if is_inside(Path(place.path), folder):
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


def _find_project(folder: Path) -> Path:
    """Find the folder under version control that a folder is in, else the folder itself."""
    return next((each for each in (folder, *folder.parents) if (each / ".git").exists()), folder)


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
        except LineChangedError as error:
            reason = "its line is not the one that was rendered. Try again"
            plan.refuse(lines.pop(error.line), reason)
    return None


# -- the proof


def _prove(
    plan: Plan, run: Inspection, raw: Mapping[str, bytes], config_file: Path, inspect: Inspect
) -> None:
    """Render the site with the edits in a copy, and take out of the plan what does harm."""
    settings = run.settings
    assert settings is not None
    docs = os.fspath(settings.docs)
    names = {name for file in raw for name in plan.names[file]}
    project = _find_project(settings.folder)
    try:
        root = Path(os.path.commonpath([config_file.parent, project, docs, Path.cwd()]))
    except ValueError:
        raise InspectionError("run stamp on the drive of the site") from None
    with mirrored(root, (docs,), (os.fspath(config_file), *names)) as mirror:
        render = _Renderer(plan, raw, config_file, settings, inspect, mirror)
        prove(plan, {page.report.key: page for page in run.rendered}, render)


@dataclass
class _Renderer:
    """Renders the site with some edits, in a copy of it."""

    plan: Plan
    raw: Mapping[str, bytes]
    config_file: Path
    settings: SiteSettings
    inspect: Inspect
    mirror: Mirror
    changed: set[str] = field(default_factory=set)

    def __call__(self, edits: Iterable[Edit], keys: Collection[str]) -> Rendering:
        contents = {
            name: content
            for file, content in _stamp_files(self.plan, edits, self.raw).items()
            for name in self.plan.names[file]
            if self.mirror.has(name)
        }
        self.mirror.restore(self.changed - set(contents))
        self.mirror.write(contents)
        self.changed = set(contents)
        copies = {os.fspath(self.mirror.path(name)) for name in contents}
        run = Inspection(
            keep=True,
            wants=lambda key, _path: key in keys,
            wants_left_out=copies.__contains__,
        )
        self.inspect(os.fspath(self.mirror.path(self.config_file)), run)
        failing = {"error", "warning"} if self.settings.strict else {"error"}
        findings = judge(run.findings, self.settings.levels)
        return Rendering(
            {page.report.key: page for page in run.rendered},
            [found for found in findings if found.level in failing],
        )
