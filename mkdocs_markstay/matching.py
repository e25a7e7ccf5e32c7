"""Which heading of a translation is which one of its original.

Headings with the same id are the same. Others are matched only if the outlines agree
around them and nothing speaks against it.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from mkdocs_markstay.evidence import Evidence
from mkdocs_markstay.kept_marks import Side
from mkdocs_markstay.outlines import longest_run
from mkdocs_markstay.sectionids import show

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mkdocs_markstay.outlines import OutlineHeading


def match_outlines(
    original: Sequence[OutlineHeading],
    translation: Sequence[OutlineHeading],
    texts: Mapping[str, str],
) -> Matcher:
    r"""Match the headings of two pages: see `Matcher.found`.

    ``texts`` are the texts of the files in which the headings stand, by ``path``, with
    lines that end in `\n`. Where they are known, they say far more than the titles.
    """
    matcher = Matcher(Side(original, texts), Side(translation, texts))
    matcher.match_pages()
    return matcher


class Matcher:
    """Matches the headings of two pages, from the top down.

    Headings are matched with those below the same heading only. Between two that are
    the same for certain, those of one level are matched one to one if there are as many
    in both, nothing speaks against any of the pairs, and what stands below differs for
    one of them at most: where a heading was added and another one taken away, the
    headings between them would all get the id of a neighbour.

    ``found`` has for each heading of the translation the number of the one of the
    original, or None, and ``reasons`` why there is none.
    """

    def __init__(self, original: Side, translation: Side) -> None:
        self.original = original.outline
        self.translation = translation.outline
        self.evidence = Evidence(original, translation)
        self.same = self.evidence.find_same()
        self.same_back = {index: number for number, index in self.same.items()}
        self.found: list[int | None] = [None] * len(self.translation)
        self.reasons = [""] * len(self.translation)
        # Whether both pages begin with their only h1.
        self.titled = _has_title(self.original) and _has_title(self.translation)

    def match_pages(self) -> None:
        """Match all headings, once. The only h1 of a page is its title, not one of its sections."""
        if self.titled:
            conflict = self._conflict(0, 0)
            if conflict:
                self._refuse([range(1)], f"its original is {self.original[0].name}, but {conflict}")
            else:
                self.found[0] = 0
        elif _has_title(self.translation):
            self._refuse([range(1)], "the original has no heading that is its title")
        self._match(
            range(_has_title(self.original), len(self.original)),
            range(_has_title(self.translation), len(self.translation)),
        )

    def is_supported(self, index: int, number: int) -> bool:
        """Whether something shows that a pair is the same, not only the order of headings."""
        if self.titled and index == number == 0:
            return True
        return self.evidence.supports(index, number)

    def _match(self, ours: range, theirs: range) -> None:
        """Match headings that stand below the same heading, at whatever levels."""
        if not theirs:
            return
        if self._is_clean(ours, theirs):
            for index, number in zip(ours, theirs, strict=True):
                self.found[number] = index
            return
        levels = {self.original[index].level for index in ours}
        level = min(levels | {self.translation[number].level for number in theirs})
        our_sections = _split_sections(self.original, ours, level)
        their_sections = _split_sections(self.translation, theirs, level)
        # What stands before the first of them belongs to the heading above.
        self._match(our_sections.pop(0), their_sections.pop(0))
        columns = {section.start: column for column, section in enumerate(our_sections)}
        known = sorted(
            (columns[self.same[section.start]], row)
            for row, section in enumerate(their_sections)
            if self.same.get(section.start) in columns
        )
        column = row = 0
        for next_column, next_row in longest_run(known):
            self._match_between(
                our_sections[column:next_column], their_sections[row:next_row], level
            )
            self._match_section(our_sections[next_column], their_sections[next_row])
            column, row = next_column + 1, next_row + 1
        self._match_between(our_sections[column:], their_sections[row:], level)

    def _match_between(self, ours: Sequence[range], theirs: Sequence[range], level: int) -> None:
        """Match sections of one level between two that are the same for certain."""
        if len(ours) != len(theirs):
            self._refuse(
                theirs,
                f"the original has {_count(len(ours), level)} here, and this page"
                f" {len(theirs)}; write the id by hand",
            )
            return
        pairs = list(zip(ours, theirs, strict=True))
        for one, other in pairs:
            conflict = self._conflict(one.start, other.start)
            if conflict:
                self._refuse(
                    theirs,
                    f"where {self._name_here(other.start)} stands, the original has"
                    f" {self.original[one.start].name}, but {conflict}; write the id by hand",
                )
                return
        differing = [pair for pair in pairs if not self._is_clean(pair[0][1:], pair[1][1:])]
        if len(differing) > 1:
            self._refuse(
                theirs,
                f"{len(differing)} sections around it have other headings below them than in the"
                f" original, the first one {self._name_here(differing[0][1].start)}; write the id"
                " by hand",
            )
            return
        for one, other in pairs:
            if (one, other) in differing and not self._is_same_section(one, other):
                self._refuse(
                    [other],
                    "the headings here are not those of the original's"
                    f" {self._proposal(one.start)}",
                )
            else:
                self._match_section(one, other)

    def _match_section(self, one: range, other: range) -> None:
        self.found[other.start] = one.start
        self._match(one[1:], other[1:])

    def _is_same_section(self, one: range, other: range) -> bool:
        """Whether something in two sections is the same, whose headings differ."""
        return self.evidence.is_alike(one.start, other.start) or any(
            self.same.get(number) in one for number in other
        )

    def _is_clean(self, ours: range, theirs: range) -> bool:
        """Whether all headings have the same levels, and nothing speaks against any pair."""
        return len(ours) == len(theirs) and all(
            self.original[index].level == self.translation[number].level
            and not self._conflict(index, number)
            for index, number in zip(ours, theirs, strict=True)
        )

    def _conflict(self, index: int, number: int) -> str:
        known = self.same.get(number), self.same_back.get(index)
        if known == (index, number):
            return ""
        if known != (None, None):
            return "one of them stands elsewhere in the other page"
        return self.evidence.conflict(index, number)

    def _refuse(self, sections: Iterable[range], reason: str) -> None:
        for section in sections:
            for number in section:
                self.found[number] = None
                self.reasons[number] = reason

    def _name_here(self, number: int) -> str:
        heading = self.translation[number]
        return f"{show(heading.title)} (line {heading.line})"

    def _proposal(self, index: int) -> str:
        heading = self.original[index]
        text = heading.name
        if heading.section_id:
            text += f"; if they are the same, write <#{heading.section_id}>"
        return text


def _split_sections(outline: Sequence[OutlineHeading], part: range, level: int) -> list[range]:
    """Split a part of an outline at the headings of a level; what is before the first is first."""
    starts = [number for number in part if outline[number].level == level]
    return [range(*each) for each in pairwise([part.start, *starts, part.stop])]


def _has_title(outline: Sequence[OutlineHeading]) -> bool:
    return [number for number, heading in enumerate(outline) if heading.level == 1] == [0]


def _count(count: int, level: int) -> str:
    return f"{count or 'no'} heading{'' if count == 1 else 's'} of level {level}"
