"""Writing markers of blocks into the files of a site: plan, prove, replace.

The markers, their hashes and their places are markstay's. Which blocks need one is what the
option `stays: required` finds; that a marker does no harm is proven as for section ids.
"""

# Paths are strings here, as in stamp_site.
# ruff: noqa: PTH100, PTH120

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections import defaultdict
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import markstay

from mkdocs_markstay.edits import is_inside
from mkdocs_markstay.findings import Finding, judge
from mkdocs_markstay.headings import Place
from mkdocs_markstay.inspection import Inspection
from mkdocs_markstay.page_source import decode, split_front_matter
from mkdocs_markstay.page_stays import IN_NO_FILE
from mkdocs_markstay.site_copy import SiteCopy, find_project, settings_of
from mkdocs_markstay.stamp_plan import Edit, Plan
from mkdocs_markstay.stamp_proof import Comparison, Kind, compare, prove
from mkdocs_markstay.stamp_site import (
    EXCLUDED,
    Selection,
    Stamps,
    TrialCopy,
    check_missed,
    inspect_selection,
    list_files,
    read_file,
    tell_unwritten,
)
from mkdocs_markstay.stays import read_markers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from mkdocs_markstay.inspection import RenderedPage, SiteSettings

MINT, REFRESH, REPAIR = "mint", "refresh", "repair"
"""What is done: markers for blocks without one; new hashes for blocks that were edited; new ids
for copies."""

NOT_OF_SITE = "is no page of this site, and no page includes a block of it"

_ABOUT = {MINT: "stay-missing", REFRESH: "stay-drift", REPAIR: "stay-duplicate"}
_ANY_ID = re.compile(r"\bstay:([A-Za-z0-9_-]+)")
_LINE_END = re.compile(r"(\r\n|\n|\r)")

_MALFORMED = "what stands there like a marker is none. Correct or remove it"
_NO_BLOCK = (
    "its line is not the one that was rendered, or markstay reads a marker there. Look at it"
)
_TWICE = (
    "the marker stay:{0} is in the file twice, so whose hash is meant cannot be told. First run:"
    " {1}"
)
_REPEATED = "it is more than once in a page. Include the file once"
_ONE_FILE = (
    "the marker is once in the file, and a page includes that more than once. Include it once,"
    " or write the blocks out"
)


@dataclass(frozen=True)
class StayOptions(Selection):
    """What is asked of `stamp_stays`: one of MINT, REFRESH, REPAIR. ``new_id`` makes an id."""

    action: str = MINT
    new_id: Callable[[], str] = markstay.mint_id


def stamp_stays(
    config_file: str | os.PathLike[str], options: StayOptions, inspect: Callable[..., None]
) -> Stamps:
    """Find what is to be written of markers, and prove that it does no harm.

    ``inspect`` renders the site of a configuration file and takes an `Inspection` and
    MkDocs' settings. Writes nothing. Raises InspectionError.
    """
    path = os.path.abspath(config_file)  # links stay
    run = Inspection(keep=True, every_stay=True)
    settings = inspect_selection(path, options, inspect, run)
    missed = _find_missed(options.paths, run)
    check_missed(options.paths, missed, NOT_OF_SITE)
    planner = _Planner(run, options, settings)
    plan = planner.plan_all()
    folders = {os.path.dirname(edit.file) for edit in plan.edits.values()}
    with ExitStack() as stack:
        site_copy = SiteCopy(path, inspect, run, folders, stack)
        copy = _TrialCopy(site_copy, planner.raw)
        pages = {page.report.key: page for page in run.rendered}
        prove(plan, pages, partial(copy.render, ()), _MARKERS if options.action == MINT else _PARTS)
    errors = [f for f in run.findings if f.code == "page-error" and options.wants(f.path)]
    findings = judge([*planner.findings, *plan.left, *errors], settings.levels)
    return Stamps(list_files(plan.edits.values(), planner.raw), findings, settings, missed)


def _find_missed(paths: tuple[Path, ...], run: Inspection) -> dict[Path, str]:
    """Find files among the paths that are of no page, each with the reason."""
    excluded: set[str] = set()
    seen: set[str] = set()
    for page in run.rendered:
        if page.file is not None:
            (excluded if page.report.excluded else seen).add(os.path.realpath(page.file))
        included = {place.path for place in page.report.stays.values()}
        included |= {found.path for found in page.report.findings if found.via}
        seen.update(map(os.path.realpath, included))
    real = {path: os.path.realpath(path) for path in paths if path.is_file()}
    return {
        path: EXCLUDED if file in excluded else NOT_OF_SITE
        for path, file in real.items()
        if file not in seen
    }


# -- the plan


class _StayPlan(Plan):
    """A plan of edits of markers; ``heading`` of an edit says what is not done without it."""

    def refuse(self, edit: Edit, reason: str) -> None:
        """Take an edit out of the plan, if it is still there, and tell why."""
        if self.has(edit):
            self.drop(edit)
            left = _tell_left(edit.place, edit.heading, reason)
            self.refused[edit.file, edit.line, edit.section_id] = left


def _tell_left(place: Place, what: str, reason: str) -> Finding:
    message, via = f"{what}: {reason}", str(place.via or "")
    return Finding(place.path, place.line, "not-stamped", message, "warning", via)


_NOT_MINTED = "this block gets no marker"
_NOT_CHANGED = "this marker is left as it is"


@dataclass(frozen=True)
class _Text:
    """The Markdown of a file: ``offset`` lines stand before it; its lines with their ends."""

    body: str
    offset: int
    lines: Sequence[str]

    def end_of(self, line: int) -> str:
        """Give the end of a line (from 0), or what it would be."""
        ends = self.lines[2 * line + 1 :: 2] or self.lines[1::2]
        return ends[0] if ends else "\n"

    def line(self, number: int) -> str:
        """Give the text of a line (from 0)."""
        return self.lines[2 * number]


def _read_text(raw: bytes, first: int) -> _Text:
    """Read a file in which blocks begin at the line ``first`` (from 1) and after it."""
    text, _ = decode(raw, "")
    front_matter, _, body = split_front_matter(text)
    if first <= front_matter.count("\n"):  # the site does not take it for that
        front_matter, body = "", text
    return _Text(body, front_matter.count("\n"), _LINE_END.split(raw.decode("utf-8-sig")))


class _Planner:
    """Plans the edits of all files. ``raw`` are their contents by real path."""

    def __init__(self, run: Inspection, options: StayOptions, settings: SiteSettings) -> None:
        self.run = run
        self.options = options
        self.settings = settings
        self.raw: dict[str, bytes] = {}
        self.findings: list[Finding] = []
        self.segmentation = settings.rules.stay_blocks
        self.new_id = _unlike_all(options.new_id, run)

    def plan_all(self) -> _StayPlan:
        """Plan the edits of the files in which something is found that they are for."""
        plan = _StayPlan()
        of_file: dict[str, dict[int, Finding]] = defaultdict(dict)
        shown_on: dict[str, dict[str, None]] = defaultdict(dict)
        for page in self.run.rendered:
            for found in page.report.findings:
                if found.code != _ABOUT[self.options.action] or not self.options.wants(found.path):
                    continue
                if found.message.endswith(IN_NO_FILE):
                    place = _place_of(found)
                    self.findings.append(_tell_left(place, "a block gets no marker", IN_NO_FILE))
                    continue
                file = os.path.realpath(found.path)
                of_file[file].setdefault(found.line, found)
                shown_on[file][page.report.key] = None
        for file, wanted in sorted(of_file.items()):
            edits = list(self.plan_file(file, wanted))
            for edit in edits:
                plan.edits[edit.file, edit.line] = edit
            for key in shown_on[file]:
                places = plan.pages.setdefault(key, {})
                ways = [(edit.file, edit.line) for edit in edits]
                places.update(enumerate(ways, len(places)))
        return plan

    def plan_file(self, file: str, wanted: Mapping[int, Finding]) -> Iterator[Edit]:
        """Plan the edits of a file; ``wanted`` are findings by their lines (from 1)."""
        found = wanted[min(wanted)]
        folder = self.settings.docs
        if found.via:
            folder = Path(find_project(self.settings.folder))
        if is_inside(Path(file), folder):
            problem = read_file(file, self.raw)
        else:
            problem = f"is outside the folder {folder.name}. Write the markers where it belongs"
        if problem:
            self.findings.append(tell_unwritten(found.path, problem))
            return
        text = _read_text(self.raw[file], min(wanted))
        plan = {MINT: self.mint, REFRESH: self.refresh, REPAIR: self.repair}[self.options.action]
        yield from plan(file, text, wanted)

    def mint(self, file: str, text: _Text, wanted: Mapping[int, Finding]) -> Iterator[Edit]:
        """Plan the markers of blocks that have none, by the first lines of the blocks."""
        read = read_markers(text.body, self.segmentation)
        malformed = [p.line for p in read.problems if p.code == "stay-malformed"]
        inserted = dict(self.mint_all(text.body))
        firsts = [block.first for block in read.blocks] + [text.body.count("\n") + 2]
        for number, block in enumerate(read.blocks):
            found = wanted.get(block.first + text.offset)
            if found is None or block.markers:
                continue
            lines = range(block.first, firsts[number + 1])
            line = next((n for n in lines if n in inserted), None)
            # A fence that is indented is none to markstay, and its lines are blocks.
            inside = line is not None and (
                {block.first - 1, block.first} <= read.code or {line, line + 1} <= read.code
            )
            if any(n in lines for n in malformed):
                self.leave(found, _MALFORMED)
            elif line is not None and not inside:
                stay_id, marker = inserted[line]
                at = line + text.offset - 1
                old = text.line(at)
                new = f"{old}{text.end_of(at)}{marker}"
                yield Edit(file, at, old, new, stay_id, _place_of(found), _NOT_MINTED)
            else:
                self.leave(found, _NO_BLOCK)
        unmarked = {block.first + text.offset for block in read.blocks if not block.markers}
        for line in sorted(set(wanted) - unmarked):
            self.leave(wanted[line], _NO_BLOCK)

    def mint_all(self, body: str) -> Iterator[tuple[int, tuple[str, str]]]:
        """Have all blocks of a text marked; give the lines (from 1) with ids and markers.

        Which of the markers are wanted is for others to say.
        """
        # The empty line keeps what looks like front matter from being taken for it.
        made = markstay.stamp(f"\n{body}", new_id=self.new_id, mode=self.segmentation)
        lines = made.text.split("\n")
        minted = sorted((each["line"], each["id"]) for each in made.minted)
        for before, (line, stay_id) in enumerate(minted):
            yield line - 1, (stay_id, lines[line + before])

    def refresh(self, file: str, text: _Text, wanted: Mapping[int, Finding]) -> Iterator[Edit]:
        """Plan new hashes for the markers of blocks that were edited."""
        problems = read_markers(text.body, self.segmentation).problems
        twice = next((each for each in problems if each.code == "stay-duplicate"), None)
        if twice is not None:
            found = wanted[min(wanted)]
            command = f"{self.settings.rules.stamp} --stays --repair {found.path} --write"
            self.leave(found, _TWICE.format(twice.id, command))
            return
        made = markstay.restamp(f"\n{text.body}", mode=self.segmentation, child_blocks=True)
        yield from self.compare(file, text, made.text, wanted)

    def repair(self, file: str, text: _Text, wanted: Mapping[int, Finding]) -> Iterator[Edit]:
        """Plan new ids for all but the first of the markers with the same id."""
        made = markstay.repair_duplicates(
            f"\n{text.body}", new_id=self.new_id, mode=self.segmentation, child_blocks=True
        )
        if not made.renamed:
            self.leave(wanted[min(wanted)], _ONE_FILE)
        yield from self.compare(file, text, made.text, wanted)

    def compare(
        self, file: str, text: _Text, changed: str, wanted: Mapping[int, Finding]
    ) -> Iterator[Edit]:
        """Give the lines of a text that were changed, an empty line being put before it."""
        found = wanted[min(wanted)]
        old, new = text.body.split("\n"), changed.split("\n")[1:]
        for number, (before, after) in enumerate(zip(old, new, strict=True)):
            if before != after:
                line = number + text.offset
                place = _place_of(replace(wanted.get(line + 1, found), line=line + 1))
                yield Edit(file, line, before, after, str(line), place, _NOT_CHANGED)

    def leave(self, found: Finding, reason: str) -> None:
        """Tell that a block or a marker is left alone."""
        what = _NOT_MINTED if self.options.action == MINT else _NOT_CHANGED
        self.findings.append(_tell_left(_place_of(found), what, reason))


def _place_of(found: Finding) -> Place:
    via = None
    if found.via:
        path, _, line = found.via.rpartition(":")
        via = Place(path, int(line))
    return Place(found.path, found.line, via)


def _unlike_all(new_id: Callable[[], str], run: Inspection) -> Callable[[], str]:
    """Make a source of ids that are unlike all ids of a site, and unlike each other."""
    files = set(settings_of(run).docs.rglob("*.md"))
    for page in run.rendered:
        files.update(Path(place.path) for place in page.report.stays.values())
    used: set[str] = set()
    for file in files:
        with suppress(OSError):
            used.update(_ANY_ID.findall(file.read_bytes().decode("utf-8", "replace")))

    def make() -> str:
        stay_id = next(made for made in iter(new_id, None) if made not in used)
        used.add(stay_id)
        return stay_id

    return make


# -- the proof


def _compare_minted(
    before: RenderedPage, after: RenderedPage, edits: Mapping[int, Edit], *, whole: bool = True
) -> Comparison:
    """Compare a page before and after it has more markers: all of them must be bound."""
    wrong = [n for n, edit in edits.items() if edit.section_id not in after.report.stays]
    return Comparison(tuple(wrong), compare(before, after, {}, whole=whole).same)


def _compare_changed(
    before: RenderedPage, after: RenderedPage, edits: Mapping[int, Edit], *, whole: bool = True
) -> Comparison:
    """Compare a page before and after a change in its markers."""
    del edits
    return compare(before, after, {}, whole=whole)


_MARKERS = Kind(
    _compare_minted,
    not_read="a marker below it would be bound to nothing on a page that shows it. Write it by"
    " hand where the block comes from",
    renders_otherwise="with the marker, {} would be rendered differently. Write it by hand and look"
    " at the page",
    fails="with the marker, the build fails: {1.path}:{1.line}: {1.code}: {1.message}",
    moves="the page is another one each time that it is rendered, or in a copy of the site. Write"
    " it by hand",
    not_found_out="with markers on its blocks, {} would be rendered differently. Write them one by"
    " one and look at the page",
    of_two={},
)
_PARTS = _MARKERS._replace(compare=_compare_changed)


class _TrialCopy(TrialCopy):
    """A copy of a site in which files may have more lines."""

    def place(self, findings: Sequence[Finding], edits: Sequence[Edit]) -> Sequence[Finding]:
        """Give the findings with the lines that they have without the edits.

        What is said of a new marker is said of its block; which blocks have none is no news.
        """
        lines: dict[str, list[Edit]] = defaultdict(list)
        for edit in sorted(edits, key=lambda edit: edit.line):
            if _LINE_END.search(edit.new):
                lines[edit.file].append(edit)
        return [
            _move_up(found, lines.get(os.path.realpath(found.path), ()))
            for found in findings
            if found.code != "stay-missing"
        ]


def _move_up(found: Finding, edits: Sequence[Edit]) -> Finding:
    """Move a finding to where its line stood before lines were added."""
    added = [edit.line + 2 + n for n, edit in enumerate(edits)]  # the new lines, from 1
    before = bisect_right(added, found.line)
    if before and added[before - 1] == found.line:
        # Its words are about a marker that is not to be.
        message = _REPEATED if found.code == "stay-duplicate" else found.message
        return replace(found, line=edits[before - 1].place.line, message=message)
    return replace(found, line=found.line - before)
