"""Proof that writing ids changes nothing but ids: pages rendered before and after, compared.

What does not hold is taken out of the plan, heading by heading.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from mkdocs_markstay.findings import Finding
    from mkdocs_markstay.inspection import RenderedPage
    from mkdocs_markstay.stamp_plan import Edit, Plan

_HEADING_TAG = re.compile(r"<(h[1-6])\b([^>]*)>", re.IGNORECASE)
_HEADING = re.compile(r"<(h[1-6])\b.*?</\1\s*>", re.IGNORECASE | re.DOTALL)
_ATTRIBUTE = re.compile(r"""([^\s"'=]+)(?:="([^"]*)")?""")
_LINK = re.compile(r'href="#([^"]*)"')

# How often the whole site is rendered at most, and some of its pages to find what does harm.
_ROUNDS = 20
_TRIALS = 40

# How often a page must be another one without any edit: to be compared in its headings only,
# and to be given up.
_RESTLESS, _GIVEN_UP = 2, 3


class Rendering(NamedTuple):
    """The pages of a site with some edits, by `PageReport.key`, and what fails its build.

    Findings that the site has without the edits are not among the ``failing``.
    """

    pages: Mapping[str, RenderedPage]
    failing: Sequence[Finding]


class Comparison(NamedTuple):
    """``wrong`` are the headings (by index) whose id is not as written; ``same``: all else is."""

    wrong: tuple[int, ...]
    same: bool


def compare(
    before: RenderedPage, after: RenderedPage, edits: Mapping[int, Edit], *, whole: bool = True
) -> Comparison:
    """Compare a page before and after the edits of its headings (by index).

    With ``whole`` being False, only the headings are compared.
    """
    if len(before.headings) != len(after.headings):
        return Comparison((), same=False)
    wrong = []
    renamed = {}
    same = True
    for index, (old, new) in enumerate(zip(before.headings, after.headings, strict=True)):
        edit = edits.get(index)
        if edit is None:
            same = same and old.published_id == new.published_id
            continue
        renamed[old.published_id] = edit.section_id
        if not new.explicit or new.published_id != edit.section_id:
            wrong.append(index)
    if same and not wrong:
        old_html, new_html = before.html, after.html
        if not whole:
            old_html, new_html = map(_headings_only, (old_html, new_html))
        same = _normalize(old_html, renamed) == _normalize(new_html, {})
    return Comparison(tuple(wrong), same)


class Kind(NamedTuple):
    """What is written into the files: how pages with it are compared, and why it is refused.

    The reasons are templates for the path of a page and a finding. ``of_two`` are the codes of
    findings about two edits, with their reasons: which of the two it is, is another question.
    """

    compare: Callable[..., Comparison]
    not_read: str
    renders_otherwise: str
    fails: str
    moves: str
    not_found_out: str
    of_two: Mapping[str, str]


_FAILS = "with the id, the build fails: {1.path}:{1.line}: {1.code}: {1.message}"

IDS = Kind(
    compare,
    not_read="the id is not read as this heading's if it stands in this line (the same text is in"
    " several places, or another file brings it in). Write it by hand where the heading comes from",
    renders_otherwise="with the id, {} would be rendered differently in more than the id."
    " Write it by hand and look at the page",
    fails=_FAILS,
    moves="the headings of the page are others each time that it is rendered, or in a copy of the"
    " site. Write it by hand",
    not_found_out="with ids in its headings, {} would be rendered differently in more than the ids."
    " Write them one by one and look at the page",
    of_two={
        "duplicate-id": "with the id, two headings of {} would have the same one: a macro, a loop"
        " or an inclusion shows its line there",
        "case-clash": _FAILS,
    },
)
"""Ids in headings."""


def _headings_only(html: str) -> str:
    return "\n".join(match[0] for match in _HEADING.finditer(html))


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


def prove(
    plan: Plan,
    before: Mapping[str, RenderedPage],
    render: Callable[[Collection[Edit], Collection[str] | None], Rendering],
    kind: Kind = IDS,
) -> Mapping[str, RenderedPage]:
    """Render the site with the edits of the plan, and refuse those that do harm.

    ``before`` are all pages of the site without the edits; ``render`` renders them with
    some edits, or only those pages whose keys it is given. Once, if nothing is wrong.
    Returns the pages with the edits that are left.
    """
    proof = _Proof(plan, dict(before), render, kind)
    for _ in range(_ROUNDS):
        if not plan.edits:
            return before
        if proof.holds():
            return proof.pages
    for edit in list(plan.edits.values()):
        plan.refuse(edit, kind.not_found_out.format("the site"))
    return before


@dataclass
class _Search:
    """The search for the edits that do harm to some pages.

    ``good`` do none, ``groups`` have to be tried; the first one is being tried.
    """

    keys: Collection[str]
    groups: list[list[Edit]]
    good: list[Edit] = field(default_factory=list)


@dataclass
class _Proof:
    """The proof of a plan.

    ``base`` is what each page is compared with, ``pages`` are the pages with all edits.
    ``moved`` counts how often a page was found to be another one without any edit.
    """

    plan: Plan
    base: dict[str, RenderedPage]
    render: Callable[[Collection[Edit], Collection[str] | None], Rendering]
    kind: Kind
    moved: Counter[str] = field(default_factory=Counter)
    pages: Mapping[str, RenderedPage] = field(default_factory=dict)

    def holds(self) -> bool:
        """Render the site once and say whether all is well; if not, refuse or learn something."""
        count = len(self.plan.edits)
        edits = list(self.plan.edits.values())
        rendering = self.render(edits, None)
        harmed = self._judge_all(rendering, edits, self.base)
        if len(self.plan.edits) < count:
            return False
        if harmed and not self._find_restless(harmed):
            self._search(harmed)
        self.pages = rendering.pages
        return not harmed

    def _judge_all(
        self, rendering: Rendering, edits: Collection[Edit], keys: Collection[str]
    ) -> dict[str, str]:
        """Judge pages that are rendered with some edits; refuse edits that are wrong in themselves.

        Returns the pages, by key, that are changed in another way, each with the reason.
        """
        at = {(edit.place.path, edit.place.line): edit for edit in edits}
        failing: dict[str, str] = {}
        for found in rendering.failing:
            page = found.via.rpartition(":")[0] or found.path
            edit = at.get((found.path, found.line))
            if found.code in self.kind.of_two:
                failing.setdefault(page, self.kind.of_two[found.code].format(page, found))
            elif edit is not None:
                self.plan.refuse(edit, self.kind.fails.format(page, found))
            else:
                failing.setdefault(page, self.kind.fails.format(page, found))
        tried = set(edits)
        reasons = {key: self._judge(key, rendering.pages.get(key), tried, failing) for key in keys}
        return {key: reason for key, reason in reasons.items() if reason}

    def _judge(
        self,
        key: str,
        after: RenderedPage | None,
        tried: Collection[Edit],
        failing: Mapping[str, str],
    ) -> str:
        """Say what harm is done to a page, "" if there is none."""
        before, moved = self.base[key], self.moved[key]
        if moved == _GIVEN_UP:
            return ""
        path = before.report.path
        harm = failing.get(path, "")
        edits = {i: edit for i, edit in self.plan.edits_of(key).items() if edit in tried}
        result = Comparison((), same=False)
        if after is not None:
            result = self.kind.compare(before, after, edits, whole=moved < _RESTLESS)
        for index in result.wrong:
            self.plan.refuse(edits[index], self.kind.not_read)
        if not result.wrong and not result.same:
            return harm or self.kind.renders_otherwise.format(path)
        return harm

    def _find_restless(self, harmed: Collection[str]) -> bool:
        """Find pages that are other ones without any edit, and say whether there are any.

        Such a page may only depend on where it is rendered, so it is compared with what it
        is now; then in its headings only. If these differ, nothing can be proven of it.
        """
        # Most do not need the rest of the site to be what they are.
        some = self.render([], harmed).pages
        if all(self._is_same(key, some.get(key)) for key in harmed):
            return False
        control = self.render([], None).pages
        restless = False
        for key in harmed:
            now = control.get(key)
            if self._is_same(key, now):
                continue
            restless = True
            if now is not None and self.kind.compare(self.base[key], now, {}, whole=False).same:
                self.base[key] = now
                self.moved[key] += 1
                continue
            self.moved[key] = _GIVEN_UP
            for edit in self.plan.edits_of(key).values():
                self.plan.refuse(edit, self.kind.moves)
        return restless

    def _is_same(self, key: str, now: RenderedPage | None) -> bool:
        """Say whether a page without any edit is what it was."""
        whole = self.moved[key] < _RESTLESS
        return now is not None and self.kind.compare(self.base[key], now, {}, whole=whole).same

    def _search(self, harmed: Collection[str]) -> None:
        """Find the edits that harm pages, and refuse them."""
        count = len(self.plan.edits)
        own = {key: list(self.plan.edits_of(key).values()) for key in harmed}
        self._run([_Search([key], _halve(edits)) for key, edits in own.items() if edits])
        if len(self.plan.edits) == count:  # then it is the edits of other files
            self._run([_Search(harmed, _halve(list(self.plan.edits.values())))])

    def _run(self, searches: list[_Search]) -> None:
        """Search for all at the same time, rendering only the pages in question."""
        for _ in range(_TRIALS):
            searches = [search for search in searches if search.groups]
            if not searches:
                return
            tried = {edit: None for search in searches for edit in search.good + search.groups[0]}
            trial = list(filter(self.plan.has, tried))
            keys = {key for search in searches for key in search.keys}
            harmed = self._judge_all(self.render(trial, keys), trial, keys)
            for search in searches:
                group = search.groups.pop(0)
                reason = next((harmed[key] for key in search.keys if key in harmed), "")
                if not reason:
                    search.good += group
                elif len(group) > 1:
                    search.groups[:0] = _halve(group)
                else:
                    self.plan.refuse(group[0], reason)
        for search in searches:
            path = self.base[next(iter(search.keys))].report.path
            for edit in chain.from_iterable(search.groups):
                self.plan.refuse(edit, self.kind.not_found_out.format(path))


def _halve(edits: list[Edit]) -> list[list[Edit]]:
    middle = len(edits) // 2
    return [edits[:middle], edits[middle:]] if middle else [edits]
