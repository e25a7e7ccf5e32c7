"""Which id each heading of a site gets, and in which line of which file it is written."""

from __future__ import annotations

import os
import re
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from mkdocs_markstay.checks import find_ids, find_missing
from mkdocs_markstay.edits import write_id
from mkdocs_markstay.findings import Finding
from mkdocs_markstay.sectionids import check_id, propose_id, show

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from mkdocs_markstay.checks import Rules
    from mkdocs_markstay.headings import Heading, Place
    from mkdocs_markstay.inspection import RenderedPage

SYNTAXES = ("angle", "brace")
"""The two spellings: `<#id>` and `{#id}`."""

_ID_AT_END = re.compile(rb"^#{1,6}[ \t][^\r\n]*(<#[^\s<>]+>|\{:?[ \t]*#[^{}\r\n]+\})", re.MULTILINE)
_NUMBERED = re.compile(r"(?P<base>.*?)(?P<sign>[_-]?)(?P<number>\d+)")

_SHARED = (
    "it is published in several places, with different anchors: {}."
    " Choose one by hand; links to the others break"
)
_REPEATED = (
    "a page includes it more than once, with the anchors {}, and one id cannot stand there twice."
    " Include it once"
)


class Choice(NamedTuple):
    """What becomes of one heading: the id that it gets, or the reason why it gets none."""

    section_id: str = ""
    reason: str = ""


class Edit(NamedTuple):
    """A line of a file that gets an id.

    ``file`` is the real path, ``line`` counts from 0; ``place`` is what a person can open.
    """

    file: str
    line: int
    old: str
    new: str
    section_id: str
    place: Place
    heading: str


@dataclass
class Plan:
    """What is to be written.

    ``edits`` are by file and line. ``pages`` maps the key of each page to its headings (by
    their index) that get an id, if the edit at that file and line is still there.
    ``unplaced`` tells of headings that have no edit of their own, by page and index;
    ``refused`` of edits that are not to be, by file, line and id. Both say why.
    """

    edits: dict[tuple[str, int], Edit] = field(default_factory=dict)
    pages: dict[str, dict[int, tuple[str, int]]] = field(default_factory=dict)
    unplaced: dict[tuple[str, int], Finding] = field(default_factory=dict)
    refused: dict[tuple[str, int, str], Finding] = field(default_factory=dict)

    @property
    def left(self) -> list[Finding]:
        """The findings about edits that were refused."""
        return list(self.refused.values())

    def edits_of(self, key: str) -> dict[int, Edit]:
        """Give the edits of a page's headings, by their index."""
        places = self.pages.get(key, {})
        return {index: self.edits[at] for index, at in places.items() if at in self.edits}

    def has(self, edit: Edit) -> bool:
        """Say whether an edit is still in the plan."""
        return (edit.file, edit.line) in self.edits

    def drop(self, edit: Edit) -> None:
        """Take an edit out of the plan."""
        del self.edits[edit.file, edit.line]

    def refuse(self, edit: Edit, reason: str) -> None:
        """Take an edit out of the plan, if it is still there, and tell why."""
        if self.has(edit):
            self.drop(edit)
            left = _left(edit.place, edit.heading, reason)
            self.refused[edit.file, edit.line, edit.section_id] = left


# -- which id


def keep_anchors(page: RenderedPage, rules: Rules) -> dict[int, Choice]:
    """Choose for each heading that must have an id the anchor that it has today.

    So do headings that need none, if they would lose it with the plugin.
    """
    choices = {}
    taken = {*page.anchors, *(heading.published_id for heading in page.headings)}
    missing = {id(heading) for heading in find_missing(page.headings, rules)}
    for index, (heading, anchor) in enumerate(zip(page.headings, page.anchors, strict=True)):
        kept = heading.explicit or heading.published_id == anchor
        if id(heading) not in missing and kept:
            continue
        if anchor and check_id(anchor) is not None:
            better = propose_id(heading.title, taken)
            reason = (
                f"today's anchor {show(anchor)} can be no section id."
                f" Choose one by hand, for example: <#{better}>"
            )
            choices[index] = Choice(reason=reason)
        else:
            choices[index] = Choice(anchor or _propose(heading, taken))
    return choices


def choose_anew(page: RenderedPage, rules: Rules) -> dict[int, Choice]:
    """Propose for each heading that must have an id one that is made from its title."""
    missing = find_missing(page.headings, rules)
    # Other elements have ids, too, maybe the same.
    free = Counter(heading.published_id for heading in missing)
    taken = set(Counter(find_ids(page.html)) - free)
    needy = set(map(id, missing))
    return {
        index: Choice(_propose(heading, taken))
        for index, heading in enumerate(page.headings)
        if id(heading) in needy
    }


def _propose(heading: Heading, taken: set[str]) -> str:
    proposed = propose_id(heading.title, taken)
    taken.add(proposed)
    return proposed


# -- where


def plan_stamps(
    pages: Iterable[RenderedPage],
    choose: Callable[[RenderedPage], Mapping[int, Choice]],
    wants: Callable[[str], bool],
    syntax: str,
    refused: Mapping[tuple[str, int, str], Finding],
) -> Plan:
    """Plan the edits that give the headings of the pages the ids that are chosen for them.

    ``wants`` says which files are to be changed; ``refused`` are edits not to be tried again.
    """
    plan = Plan()
    is_wanted, real_path = cache(wants), cache(os.path.realpath)
    # For each line, the ids that it would get, and the pages with a heading from there.
    ids: dict[tuple[str, int], dict[str, None]] = {}
    sources: dict[tuple[str, int], list[str]] = {}
    for page in pages:
        for index, choice in choose(page).items():
            heading = page.headings[index]
            if not is_wanted(heading.place.path):
                continue
            file = real_path(heading.place.path)
            edit = choice.reason or _make_edit(page, heading, file, choice.section_id, syntax)
            if isinstance(edit, str):
                left = _left(heading.place, heading.told, edit)
                plan.unplaced[page.report.key, index] = left
                continue
            at = edit.file, edit.line
            if (*at, edit.section_id) in refused:
                plan.unplaced[page.report.key, index] = refused[(*at, edit.section_id)]
                continue
            plan.edits.setdefault(at, edit)
            plan.pages.setdefault(page.report.key, {})[index] = at
            ids.setdefault(at, {})[edit.section_id] = None
            sources.setdefault(at, []).append(page.report.key)
    for at, different in ids.items():
        if len(different) > 1:
            names = ", ".join(map(show, different))
            repeated = len(set(sources[at])) < len(sources[at])
            edit, reason = plan.edits[at], (_REPEATED if repeated else _SHARED).format(names)
            for section_id in different:
                plan.refused[(*at, section_id)] = _left(edit.place, edit.heading, reason)
            plan.drop(edit)
    return plan


def _make_edit(
    page: RenderedPage, heading: Heading, file: str, section_id: str, syntax: str
) -> Edit | str:
    """Make the edit of one heading, or give the reason why there is none."""
    found, place = heading.found, heading.place
    told_id = "section-id" if heading.secret else section_id
    if page.file is None and place.via is None:
        return "the page is made by a plugin, not by a file"
    if heading.number is None or (found is not None and found.sign.startswith("<")):
        return f'it is written as HTML. Write: <h{heading.level} id="{told_id}">'
    if found is None or heading.written is None:
        return (
            "it stands in no line of the file as it is published: this line brings it in, or a"
            " macro, a loop or an extension makes it. Write the id where the text comes from"
        )
    new = write_id(found, heading.written, section_id, syntax)
    if new is None:
        return (
            f"an id at the end of this line might not be read as one. Write by hand: <#{told_id}>"
        )
    return Edit(file, place.line - 1, found.source, new, section_id, place, heading.told)


def find_syntax(docs: Path) -> str:
    """Find the spelling that most ids in the files of a folder have; without any, angle."""
    counts: Counter[str] = Counter()
    for path in docs.rglob("*.md"):
        with suppress(OSError):
            ends = _ID_AT_END.findall(path.read_bytes())
            counts.update("angle" if end.startswith(b"<") else "brace" for end in ends)
    return "brace" if counts["brace"] > counts["angle"] else "angle"


def find_positional(page: RenderedPage, edits: Mapping[int, Edit]) -> list[Finding]:
    """Find anchors of today that say where a heading stands among others, not what it is about."""
    anchors = {heading.published_id for heading in page.headings}
    found = []
    for index, edit in edits.items():
        match = _NUMBERED.fullmatch(edit.section_id)
        if match is None or edit.section_id != page.headings[index].published_id:
            continue
        counted = match["sign"] == "_" and (not match["base"] or match["base"] in anchors)
        # A slug may have lost the points of a number that the title has.
        letters = "".join(filter(str.isalnum, edit.heading))
        if counted or match["number"] not in letters:
            message = (
                f"id {show(edit.section_id)} of heading {show(edit.heading)} was made by counting."
                " It is kept, because it is published; a new section could have a better one"
            )
            via = str(edit.place.via or "")
            found.append(
                Finding(
                    edit.place.path,
                    edit.place.line,
                    "positional-id",
                    message,
                    "info",
                    via,
                    edit.heading,
                )
            )
    return found


def _left(place: Place, heading: str, reason: str) -> Finding:
    message = f"heading {show(heading)} gets no id: {reason}"
    via = str(place.via or "")
    return Finding(place.path, place.line, "not-stamped", message, "warning", via, heading)
