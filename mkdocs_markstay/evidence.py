"""What shows that a heading of a translation and one of the original are the same, or not."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from mkdocs_markstay.outlines import positions_of_ids
from mkdocs_markstay.sectionids import show

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mkdocs_markstay.kept_marks import Body, Side

# How much of what two texts keep must be the same, and how many things of it.
_FIT, _FIT_COUNT = 0.5, 2
# Two texts that keep this many things each, and share less than this part, are not the same.
_MANY, _MISFIT = 3, 0.2
# What an equal number of blocks adds to a fit, and by how much another text must fit better.
_BLOCKS, _BETTER = 0.25, 0.2
# A text that fits by this much, and better than all others by that, is the same wherever it is.
_SURE, _SURE_COUNT, _SURE_MARGIN = 0.6, 3, 0.3


class Evidence:
    """What speaks for and against pairs of a heading of the original and one of the translation."""

    def __init__(self, original: Side, translation: Side) -> None:
        self.original = original
        self.translation = translation
        # For each heading of the translation, how many things its text shares with those
        # of the original's headings.
        self.shared = _count_shared(original.bodies, translation.bodies)
        of_translation: list[list[tuple[float, int]]] = [[] for _ in translation.outline]
        of_original: list[list[tuple[float, int]]] = [[] for _ in original.outline]
        for number, counts in enumerate(self.shared):
            for index, count in counts.items():
                if count >= _FIT_COUNT:
                    score = self._score(index, number)
                    of_translation[number].append((score, index))
                    of_original[index].append((score, number))
        # The two that fit best are enough to know the best one other than a given one.
        self.best_of_translation = [sorted(each, reverse=True)[:2] for each in of_translation]
        self.best_of_original = [sorted(each, reverse=True)[:2] for each in of_original]

    def conflict(self, index: int, number: int) -> str:
        """Say what shows that the two headings are not the same, "" if nothing does."""
        first, second = self.original.marks[index], self.translation.marks[number]
        for what, ours, theirs in (
            ("numbers", first.numbers, second.numbers),
            ("emoji", first.emoji, second.emoji),
            ("link targets", first.targets, second.targets),
        ):
            same = ours == theirs if what == "numbers" else ours & theirs
            if ours and theirs and not same:
                return f"the {what} in their titles differ"
        missing = self.original.names(index) - second.words
        missing |= self.translation.names(number) - first.words
        if missing:
            return f"only one of their titles has {show(min(missing))}"
        if first.acronyms - second.words and second.acronyms - first.words:
            return "the acronyms in their titles differ"
        return self._body_conflict(index, number)

    def _body_conflict(self, index: int, number: int) -> str:
        first, second = self.original.bodies[index], self.translation.bodies[number]
        if first is None or second is None:
            return ""
        fit = self._fit(index, number)
        if min(len(first.kept), len(second.kept)) >= _MANY and fit < _MISFIT:
            return "the texts below them have little in common"
        score = self._score(index, number) + _BETTER
        for best, own, side in (
            (self.best_of_translation[number], index, self.original),
            (self.best_of_original[index], number, self.translation),
        ):
            for other_score, other in best:
                if other != own and other_score > score:
                    return f"the text below fits that of {side.outline[other].name} better"
        return ""

    def is_alike(self, index: int, number: int) -> bool:
        """Whether the titles or the texts keep something in common."""
        ours, theirs = self.original.outline[index], self.translation.outline[number]
        if ours.title == theirs.title:
            return True
        if self.translation.telling(number) & self.original.marks[index].all:
            return True
        count = self.shared[number][index]
        return count >= _FIT_COUNT and self._fit(index, number) >= _FIT

    def supports(self, index: int, number: int) -> bool:
        """Whether something shows that the two are the same."""
        first, second = self.original.bodies[index], self.translation.bodies[number]
        if first is not None and second is not None and first.blocks == second.blocks:
            return True
        return self.is_alike(index, number)

    def find_same(self) -> dict[int, int]:
        """Find headings that are the same wherever they stand: translation -> original."""
        same = self._find_ids()
        for find in (self._find_untranslated, self._find_titles, self._find_texts):
            taken = set(same.values())
            found = {number: index for number, index in find().items() if index not in taken}
            same = {**found, **same}
        return same

    def _find_ids(self) -> dict[int, int]:
        first, second = (
            positions_of_ids(self.original.outline),
            positions_of_ids(self.translation.outline),
        )
        return {second[each]: first[each] for each in second if each in first}

    def _find_untranslated(self) -> dict[int, int]:
        """Find titles that are the same in both, and once in each."""
        ours = _once(heading.title for heading in self.original.outline)
        theirs = _once(heading.title for heading in self.translation.outline)
        return {
            theirs[title]: ours[title]
            for title in theirs
            if title in ours and not self.conflict(ours[title], theirs[title])
        }

    def _find_titles(self) -> dict[int, int]:
        """Find titles whose names, numbers, ... no other title has."""
        where: dict[str, set[int]] = {}
        for index, marks in enumerate(self.original.marks):
            for mark in marks.all:
                where.setdefault(mark, set()).add(index)
        claims: Counter[int] = Counter()
        only: dict[int, int] = {}
        for number in range(len(self.translation.outline)):
            telling = self.translation.telling(number)
            if not telling:
                continue
            choices = set.intersection(*(where.get(mark, set()) for mark in telling))
            choices = {index for index in choices if not self.conflict(index, number)}
            claims.update(choices)
            if len(choices) == 1:
                only[number] = choices.pop()
        return {number: index for number, index in only.items() if claims[index] == 1}

    def _find_texts(self) -> dict[int, int]:
        """Find texts that fit one text and no other."""
        found = {}
        for number, best in enumerate(self.best_of_translation):
            if not best:
                continue
            score, index = best[0]
            rivals = [other for other, _ in best[1:]]
            rivals += [other for other, each in self.best_of_original[index] if each != number]
            if (
                self._fit(index, number) >= _SURE
                and self.shared[number][index] >= _SURE_COUNT
                and all(rival < score - _SURE_MARGIN for rival in rivals)
                and not self.conflict(index, number)
            ):
                found[number] = index
        return found

    def _fit(self, index: int, number: int) -> float:
        """How much of what two texts keep is the same, from 0 to 1."""
        count = self.shared[number][index]
        first, second = self.original.bodies[index], self.translation.bodies[number]
        if not count or first is None or second is None:
            return 0.0
        return count / (len(first.kept) + len(second.kept) - count)

    def _score(self, index: int, number: int) -> float:
        first, second = self.original.bodies[index], self.translation.bodies[number]
        same = first is not None and second is not None and first.blocks == second.blocks
        return self._fit(index, number) + (_BLOCKS if same else 0)


def _once(titles: Iterable[str]) -> dict[str, int]:
    """Map the titles that stand once to their numbers."""
    numbers: dict[str, list[int]] = {}
    for number, title in enumerate(titles):
        numbers.setdefault(title, []).append(number)
    return {title: each[0] for title, each in numbers.items() if len(each) == 1}


def _count_shared(
    original: Sequence[Body | None], translation: Sequence[Body | None]
) -> list[Counter[int]]:
    where: dict[str, list[int]] = {}
    for index, body in enumerate(original):
        for mark in body.kept if body else ():
            where.setdefault(mark, []).append(index)
    shared = []
    for body in translation:
        counts: Counter[int] = Counter()
        for mark in body.kept if body else ():
            counts.update(where.get(mark, ()))
        shared.append(counts)
    return shared
