"""Proof that writing ids changes nothing but ids: pages rendered before and after, compared.

What does not hold is taken out of the plan, heading by heading.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from mkdocs_markstay.sectionids import read_heading

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from mkdocs_markstay.findings import Finding
    from mkdocs_markstay.inspection import RenderedPage
    from mkdocs_markstay.stamp_plan import Edit, Plan

_HEADING_TAG = re.compile(r"<(h[1-6])\b([^>]*)>", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"""([^\s"'=]+)(?:="([^"]*)")?""")
_LINK = re.compile(r'href="#([^"]*)"')

_RENDERINGS = 60

_NOT_READ = (
    "the id is not read as this heading's if it stands in this line (the same text is in"
    " several places, or another file brings it in). Write it by hand where the heading comes from"
)
_RENDERS_OTHERWISE = (
    "with the id, the page would be rendered differently in more than the id."
    " Write it by hand and look at the page"
)
_TWICE = "the page is rendered differently each time. Write it by hand"


class Rendering(NamedTuple):
    """The pages after an edit, by `PageReport.key`, and the findings that fail a build."""

    pages: Mapping[str, RenderedPage]
    failing: Sequence[Finding]


Render = "Callable[[Iterable[Edit], Collection[str]], Rendering]"
"""Renders, of the site with these edits, at least these pages."""


class Comparison(NamedTuple):
    """``wrong`` are the headings (by index) whose id is not as written; ``same``: all else is."""

    wrong: tuple[int, ...]
    same: bool


def compare(
    before: RenderedPage, after: RenderedPage, edits: Mapping[int, Edit], *, html: bool = True
) -> Comparison:
    """Compare a page before and after the edits of its headings (by index).

    With ``html`` being False, only the headings are compared.
    """
    if len(before.headings) != len(after.headings):
        return Comparison((), same=False)
    wrong = []
    same = True
    for index, (old, new) in enumerate(zip(before.headings, after.headings, strict=True)):
        edit = edits.get(index)
        section_id = edit.section_id if edit else old.published_id
        # A page that is left out may have a heading of an included file that gets an id.
        explicit = new.explicit if edit or old.explicit else True
        # Without an id, other attributes pass for text of the title.
        title = read_heading(f"{old.title} <#{section_id}>").title if edit else old.title
        if explicit and (old.level, title, section_id) == (
            new.level,
            new.title,
            new.published_id,
        ):
            continue
        if edit:
            wrong.append(index)
        else:
            same = False
    if html and same and not wrong:
        renamed = {before.headings[i].published_id: edit.section_id for i, edit in edits.items()}
        same = _normalize(before.html, renamed) == _normalize(after.html, {})
    return Comparison(tuple(wrong), same)


def _normalize(html: str, renamed: Mapping[str, str]) -> str:
    """Give ids their new names, and the attributes of headings one order."""

    def rename_tag(match: re.Match[str]) -> str:
        attributes = dict(_ATTRIBUTE.findall(match[2]))
        if "id" in attributes:
            attributes["id"] = renamed.get(attributes["id"], attributes["id"])
        return f"<{match[1]} {sorted(attributes.items())}>"

    def rename_link(match: re.Match[str]) -> str:
        return f'href="#{renamed.get(match[1], match[1])}"'

    if any(old != new for old, new in renamed.items()):
        html = _LINK.sub(rename_link, html)
    return _HEADING_TAG.sub(rename_tag, html)


@dataclass
class _Search:
    """The search for the edits of one page that change more than ids.

    ``good`` are proven, ``groups`` have to be tried; the first one is being tried.
    """

    good: list[Edit] = field(default_factory=list)
    groups: list[list[Edit]] = field(default_factory=list)

    def held_back(self) -> list[Edit]:
        return [edit for group in self.groups[1:] for edit in group]


def prove(
    plan: Plan,
    before: Mapping[str, RenderedPage],
    render: Callable[[Iterable[Edit], Collection[str]], Rendering],
) -> None:
    """Render the site with the edits of the plan, and refuse those that do harm.

    Renders once if nothing is wrong, else a few times, at most `_RENDERINGS` times.
    """
    unstable: set[str] = set()
    searches: dict[str, _Search] = {}
    for _ in range(_RENDERINGS):
        held = {id(edit) for search in searches.values() for edit in search.held_back()}
        trial = [edit for edit in plan.edits.values() if id(edit) not in held]
        if not plan.edits:
            return
        included = any(edit.place.via for edit in plan.edits.values())
        # While some are searched, the others need no look. In the end all are rendered.
        keys = dict.fromkeys(searches or (before if included else plan.pages))
        rendering = render(trial, keys)
        count = len(plan.edits)
        _refuse_findings(plan, trial, rendering.failing)
        unclear = _refuse_wrong(plan, {key: before[key] for key in keys}, rendering, held, unstable)
        _refuse_included(plan, unclear)
        if len(plan.edits) < count:
            searches.clear()
        elif not unclear and not searches:
            return
        else:
            _search(plan, searches, unclear, unstable)
    for edit in list(plan.edits.values()):  # what is not proven is not written
        plan.refuse(edit, _RENDERS_OTHERWISE)


def _refuse_findings(plan: Plan, trial: Sequence[Edit], failing: Sequence[Finding]) -> None:
    at = {(edit.place.path, edit.place.line): edit for edit in trial}
    for found in failing:
        edit = at.get((found.path, found.line))
        if edit is not None:
            plan.refuse(edit, f"with the id, the build fails: {found.code}: {found.message}")


def _refuse_wrong(
    plan: Plan,
    before: Mapping[str, RenderedPage],
    rendering: Rendering,
    held: set[int],
    unstable: set[str],
) -> set[str]:
    """Refuse edits whose id is not read; return the pages that differ in another way."""
    unclear = set()
    for key in before:
        edits = plan.pages.get(key, {})
        tried = {index: edit for index, edit in edits.items() if id(edit) not in held}
        after = rendering.pages.get(key)
        if after is None:
            unclear.add(key)
            continue
        result = compare(before[key], after, tried, html=key not in unstable)
        for index in result.wrong:
            plan.refuse(tried[index], _NOT_READ)
        if not result.wrong and not result.same:
            unclear.add(key)
    return unclear


def _refuse_included(plan: Plan, unclear: set[str]) -> None:
    """Refuse edits of included files for which a page may differ: it is not worth a search."""
    if any(not plan.pages.get(key) for key in unclear):
        edits = list(plan.edits.values())
    else:
        edits = [edit for key in unclear for edit in plan.pages[key].values()]
    for edit in edits:
        if edit.place.via:
            plan.refuse(edit, _RENDERS_OTHERWISE)


def _search(
    plan: Plan, searches: dict[str, _Search], unclear: set[str], unstable: set[str]
) -> None:
    """Judge the group of each page that was tried, and choose the next one."""
    searched = set(searches)
    for key, search in list(searches.items()):
        group = search.groups.pop(0)
        if key not in unclear:
            search.good += group
        elif not group and key not in unstable:
            unstable.add(key)
        elif not group:
            for edit in list(plan.pages[key].values()):
                plan.refuse(edit, _TWICE)
            search.groups.clear()
        elif len(group) == 1:
            plan.refuse(group[0], _RENDERS_OTHERWISE)
        else:
            middle = len(group) // 2
            search.groups[:0] = [group[:middle], group[middle:]]
        if not search.groups:
            del searches[key]
    for key in unclear - searched:
        if edits := list(plan.pages.get(key, {}).values()):
            # First none of them: a page may differ from itself.
            searches[key] = _Search([], [[], edits])
