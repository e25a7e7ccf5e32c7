"""The section ids of a translated page, compared with those of its original."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from mkdocs_markstay.carried_ids import carry_ids
from mkdocs_markstay.edits import replace_id
from mkdocs_markstay.findings import Finding
from mkdocs_markstay.matching import match_outlines
from mkdocs_markstay.outlines import OutlineHeading, longest_run, positions_of_ids
from mkdocs_markstay.sectionids import read_heading, show

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

# A heading as HTML, in whatever containers.
_TAG_IN_LINE = re.compile(r"(?:[\s>*+-]|\d+[.)])*<h[1-6]\b", re.IGNORECASE)
_LONG_LINE = 300


class Differences(NamedTuple):
    """How the ids of a translated page differ from those of its original.

    ``unnamed`` tell of headings without id whose originals have one, ``others`` of the rest.
    """

    unnamed: list[Finding]
    others: list[Finding]


def check_parity(
    original: Sequence[OutlineHeading],
    translation: Sequence[OutlineHeading],
    path: str,
    read_texts: Callable[[Iterable[OutlineHeading]], Mapping[str, str]],
    stamp: str = "",
) -> Differences:
    """Find the section ids that a translated page has not in common with its original.

    ``path`` is the translated page; ``read_texts`` gives the texts of the files of headings,
    as `match_outlines` takes them. ``stamp`` is the command that carries ids over to the
    page, "" if there is none. A heading whose id was changed is one finding, at that
    heading; so is a run of headings that was moved. Headings that have no id in both are
    none of this, and repeated ids count once.
    """
    first, second = positions_of_ids(original), positions_of_ids(translation)
    if list(first) == list(second):
        return Differences([], [])
    texts = read_texts([*original, *translation])
    return _Parity(original, translation, path, texts, stamp).check(first, second)


def join_missing(page_findings: Iterable[Finding], differences: Differences) -> list[Finding]:
    """Join what was found in a translated page with what the comparison found.

    A heading without id is one finding: `missing-id` if it must have one, and the id to
    write is that of its original.
    """
    unnamed: dict[tuple[str, int, str], list[Finding]] = {}
    for found in differences.unnamed:
        unnamed.setdefault((found.path, found.line, found.heading), []).append(found)
    joined = []
    for found in page_findings:
        same = unnamed.get((found.path, found.line, found.heading))
        if found.code == "missing-id" and same:
            joined.append(replace(found, message=same.pop(0).message))
        else:
            joined.append(found)
    return [*joined, *differences.others, *(each for left in unnamed.values() for each in left)]


class _Parity:
    """The comparison of the ids of two outlines, which are not the same."""

    def __init__(
        self,
        original: Sequence[OutlineHeading],
        translation: Sequence[OutlineHeading],
        path: str,
        texts: Mapping[str, str],
        stamp: str,
    ) -> None:
        self.original = original
        self.translation = translation
        self.path = path
        self.texts = texts
        self.stamp = stamp

    def check(self, first: dict[str, int], second: dict[str, int]) -> Differences:
        """Compare; ``first`` and ``second`` are the `positions_of_ids` of the ids."""
        common = [(first[each], second[each]) for each in first if each in second]
        others = list(self._check_order(common, longest_run(common)))
        # The headings of the translation that are those of the original, or stand where they stood.
        here = dict(common)
        found = match_outlines(self.original, self.translation, self.texts).found
        replaced = {
            index: number
            for number, index in enumerate(found)
            if index is not None
            and self.original[index].section_id not in second
            and self.translation[number].section_id not in first
        }
        here |= replaced
        instead = {number: self.original[index] for index, number in replaced.items()}
        for section_id, number in second.items():
            if section_id not in first:
                others.append(self._extra(self.translation[number], instead.get(number)))
        unnamed = {}
        place = OutlineHeading(1, "", "", self.path, 1)
        for index, heading in enumerate(self.original):
            if index in here:
                place = self.translation[here[index]]
            if first.get(heading.section_id) != index or heading.section_id in second:
                continue
            if index not in replaced:
                others.append(self._missing(heading, place))
            elif not place.section_id:
                unnamed[replaced[index]] = heading
        return Differences(self._tell_unnamed(unnamed), others)

    def _check_order(
        self, common: list[tuple[int, int]], in_place: list[tuple[int, int]]
    ) -> Iterator[Finding]:
        """Tell each run of headings that stand together in both, but in another place, once."""
        moved = set(common) - set(in_place)
        rank = {number: index for index, (_, number) in enumerate(common)}
        runs: list[list[int]] = []
        previous = -1
        for number in sorted(rank):
            if common[rank[number]] in moved:
                # What follows a heading that is in place, in both, is in place, too.
                if runs and rank[previous] + 1 == rank[number]:
                    runs[-1].append(number)
                else:
                    runs.append([number])
            previous = number
        for run in runs:
            heading, index = self.translation[run[0]], rank[run[0]]
            more = len(run) - 1
            what = f"heading {show(heading.title)} with the id {show(heading.section_id)}"
            if more:
                what += f" and the {f'{more} headings' if more > 1 else 'heading'} after it"
            before = self.original[common[index - 1][0]] if index else None
            stand = "stand" if more else "stands"
            where = f"after {show(before.section_id)}" if before else "before all others"
            there = self.original[common[index][0]]
            message = (
                f"{what} {stand} in another place than in the original ({there.place})."
                f" Move {'them' if more else 'it'} {where}"
            )
            yield _finding(heading, "parity-order", message, heading.title)

    def _extra(self, heading: OutlineHeading, other: OutlineHeading | None) -> Finding:
        section_id = show(heading.section_id)
        message = f"heading {show(heading.title)} has the id {section_id}, which the original lacks"
        if other is None:
            message += ". Remove the heading, or add it to the original"
        elif not other.section_id:
            message += f"; {other.name} stands there, without an id. Give it this one"
        else:
            message += (
                f"; {other.name} stands there, with the id {show(other.section_id)}."
                f" If it is its translation: {propose_line(heading, other.section_id)}"
            )
        return _finding(heading, "parity-extra", message, heading.title)

    def _tell_unnamed(self, unnamed: Mapping[int, OutlineHeading]) -> list[Finding]:
        """Tell of headings of the translation without id, whose originals have one."""
        carried: dict[int, str] = {}
        if unnamed and self.stamp:
            without = [n for n, heading in enumerate(self.translation) if not heading.section_id]
            ids = carry_ids(self.original, self.translation, self.texts)
            carried = {n: each.section_id for n, each in zip(without, ids, strict=True)}
        findings = []
        for number, other in unnamed.items():
            heading = self.translation[number]
            message = (
                f"heading {show(heading.title)} has no section id; in the original {other.name}"
                f" stands there, with the id {show(other.section_id)}. If it is its translation:"
                f" {propose_line(heading, other.section_id)}"
            )
            if carried.get(number) == other.section_id and _can_be_stamped(heading):
                message += f", or run: {self.stamp}"
            findings.append(_finding(heading, "parity-missing", message, heading.title))
        return findings

    def _missing(self, heading: OutlineHeading, before: OutlineHeading) -> Finding:
        """Tell of a heading of the original that has none, which belongs after ``before``."""
        where = f"after {show(before.title)}" if before.title else "at the beginning"
        message = (
            f"the id {show(heading.section_id)} of the original's heading {heading.name} is"
            f" missing {where}. Translate that section, or write the id at the heading that is"
            f" its translation: <#{heading.section_id}>"
        )
        if before.via:
            # It belongs behind what the page includes.
            path, _, line = before.via.rpartition(":")
            before = before._replace(path=path, line=int(line), via="")
        return _finding(before, "parity-missing", message, heading.title)


def _finding(place: OutlineHeading, code: str, message: str, title: str) -> Finding:
    return Finding(place.path, place.line, code, message, via=place.via, heading=title)


def _can_be_stamped(heading: OutlineHeading) -> bool:
    """Whether an id can be written into the page at the heading, as far as can be told."""
    return bool(heading.source) and not heading.via and not _TAG_IN_LINE.match(heading.source)


def propose_line(heading: OutlineHeading, section_id: str) -> str:
    """Say what to write: the whole line as it must be, if it can be known, else a plain heading."""
    source = heading.source.replace("\t", "    ").rstrip()
    tag = _TAG_IN_LINE.match(source)
    line = ""
    if source and heading.section_id:
        line = replace_id(source, heading.section_id, section_id)
    elif source and not tag:
        line = f"{source} <#{section_id}>"
    if not line or not (tag or read_heading(line).section_id == section_id):
        sign = "#" * heading.level
        line = f"{sign} {heading.title} <#{section_id}>" if heading.title else f"<#{section_id}>"
        line = f'<h{heading.level} id="{section_id}">' if tag else line
    return f"Write: {line if len(line) < _LONG_LINE else f'<#{section_id}>'}"
