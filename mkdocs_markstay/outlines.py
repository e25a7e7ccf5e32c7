"""Outlines of pages: a translation compared with its original.

Headings with the same id are the same. An id is carried over to a heading that has
none only if the outlines agree around it and nothing speaks against it: a wrong id
misdirects every citation, a missing one costs a minute. What speaks is what
translators keep: names in code, numbers, acronyms, emoji, link targets, in a title
and in the text below it, and the number of blocks of that text.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from html import unescape
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from mkdocs_markstay.findings import Finding
from mkdocs_markstay.sectionids import read_heading, same_id_key, show

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_LATIN = "0-9A-Za-z_\u00c0-\u024f\u1e00-\u1eff"
_WORD = re.compile(rf"[{_LATIN}]+(?:\.[{_LATIN}]+)*")
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)*")
_ACRONYM = re.compile(r"[A-Z]{2,}s?")
# Words that are spelled like names in code: FastAPI, utf8, response_model, node.js.
_NAME = re.compile(r"[a-z][A-Z]|[A-Za-z][0-9]|[^_]_+[^_]|\w\w\.\w\w")
_BACKTICKS = re.compile(r"(`+)")
_TAG = re.compile(r"<[^<>]*>")
_TARGET = re.compile(r"\]\(<?([^()\s<>]+)")
_ID_IN_LINE = r"(?<=#){0}(?![\w.:-])|(?<=\bid=[\"']){0}(?=[\"'])|(?<=\bid=){0}(?=[\s>}}])"

# Of all letters in the titles of a page, the part that shows that its script is not Latin.
_FOREIGN = 0.1
# What stands below more headings than this tells none of them from the others.
_COMMON = 50
# How much of what two texts keep must be the same, and how many things of it.
_FIT, _FIT_COUNT = 0.5, 2
# Two texts that keep this many things each, and share less than this part, are not the same.
_MANY, _MISFIT = 3, 0.2
# What an equal number of blocks adds to a fit, and by how much another text must fit better.
_BLOCKS, _BETTER = 0.25, 0.2
# A text that fits by this much, and better than all others by that, is the same wherever it is.
_SURE, _SURE_COUNT, _SURE_MARGIN = 0.6, 3, 0.3
_LONG_LINE = 300


class OutlineHeading(NamedTuple):
    """A heading of a page's outline.

    ``level`` is 1 to 6, ``title`` the text as written, without the id, ``section_id``
    the author's id, "" if there is none. ``path`` and ``line`` (from 1) are the place
    to open, ``source`` is the line that stands there, "" if it is not known.
    """

    level: int
    title: str
    section_id: str
    path: str
    line: int
    source: str = ""


class Carried(NamedTuple):
    """What became of a heading without id: the id of its original, else the reason for none."""

    heading: OutlineHeading
    section_id: str
    reason: str = ""


def check_parity(
    original: Sequence[OutlineHeading], translation: Sequence[OutlineHeading], path: str
) -> list[Finding]:
    """Find the section ids that a translated page has not in common with its original.

    ``path`` is the translated page. A heading whose id was changed is one finding, at
    that heading; so is a run of headings that was moved. Headings that have no id in
    both are none of this, and repeated ids count once.
    """
    first, second = _positions(original), _positions(translation)
    if list(first) == list(second):
        return []
    return list(_Parity(original, translation, path).check(first, second))


def carry_ids(
    original: Sequence[OutlineHeading],
    translation: Sequence[OutlineHeading],
    texts: Mapping[str, str],
) -> list[Carried]:
    r"""Find the ids of the original for the headings of a translation that have none, in order.

    ``texts`` are the texts of the files in which the headings stand, by ``path``, with
    lines that end in `\n`. What stands below a heading says far more than its title:
    where the text is not known, only a title that has something in common with the
    original's gets an id. No id is given twice, and none that the translation has.
    """
    matcher = _match(original, translation, texts)
    counts = Counter(heading.section_id for heading in original)
    taken = {same_id_key(each.section_id): each for each in translation if each.section_id}
    carried = []
    for number, heading in enumerate(translation):
        if heading.section_id:
            continue
        index = matcher.found[number]
        if index is None:
            carried.append(Carried(heading, "", matcher.reasons[number]))
            continue
        section_id = original[index].section_id
        user = taken.get(same_id_key(section_id))
        if not section_id:
            reason = f"its original {_name(original[index])} has no id; give it one there first"
        elif counts[section_id] > 1:
            reason = f"the id {show(section_id)} stands twice in the original; correct that first"
        elif user is not None:
            reason = f"the id {show(section_id)} of its original is already at {_place(user)}"
        elif not matcher.is_supported(index, number):
            reason = (
                f"nothing shows that it is {_name(original[index])}; if it is,"
                f" write <#{section_id}>"
            )
        else:
            reason = ""
            taken[same_id_key(section_id)] = heading
        carried.append(Carried(heading, "" if reason else section_id, reason))
    return carried


def _positions(outline: Sequence[OutlineHeading]) -> dict[str, int]:
    """Map the ids of an outline, in order, to the first headings that have them."""
    positions: dict[str, int] = {}
    for number, heading in enumerate(outline):
        if heading.section_id:
            positions.setdefault(heading.section_id, number)
    return positions


def _place(heading: OutlineHeading) -> str:
    return f"{heading.path}:{heading.line}"


def _name(heading: OutlineHeading) -> str:
    return f"{show(heading.title)} ({_place(heading)})"


def _longest_run(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Choose as many pairs as possible, sorted by their first, so that the second rise, too."""
    ends: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for number, (_, second) in enumerate(pairs):
        slot = bisect_left(ends, second)
        before.append(last[slot - 1] if slot else -1)
        ends[slot : slot + 1] = [second]
        last[slot : slot + 1] = [number]
    run = []
    number = last[-1] if last else -1
    while number >= 0:
        run.append(pairs[number])
        number = before[number]
    return run[::-1]


# -- parity


class _Parity:
    """The comparison of the ids of two outlines, which are not the same."""

    def __init__(
        self,
        original: Sequence[OutlineHeading],
        translation: Sequence[OutlineHeading],
        path: str,
    ) -> None:
        self.original = original
        self.translation = translation
        self.path = path

    def check(self, first: dict[str, int], second: dict[str, int]) -> Iterator[Finding]:
        """Compare; ``first`` and ``second`` are the `_positions` of the ids."""
        common = [(first[each], second[each]) for each in first if each in second]
        in_place = _longest_run(common)
        yield from self._check_order(common, in_place)
        # The headings of the translation that are those of the original, or stand where they stood.
        here = dict(common)
        found = _match(self.original, self.translation, {}).found
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
                yield self._extra(self.translation[number], instead.get(number))
        line = OutlineHeading(1, "", "", self.path, 1)
        for index, heading in enumerate(self.original):
            if index in here:
                line = self.translation[here[index]]
            if first.get(heading.section_id) != index or heading.section_id in second:
                continue
            if index not in replaced:
                yield self._missing(heading, line)
            elif not line.section_id:
                yield self._without_id(heading, line)

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
                if runs and runs[-1][-1] == previous and rank[previous] + 1 == rank[number]:
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
                f"{what} {stand} in another place than in the original ({_place(there)})."
                f" Move {'them' if more else 'it'} {where}"
            )
            yield _finding(heading, "parity-order", message, heading.title)

    def _extra(self, heading: OutlineHeading, other: OutlineHeading | None) -> Finding:
        section_id = show(heading.section_id)
        message = f"heading {show(heading.title)} has the id {section_id}, which the original lacks"
        if other is None:
            message += ". Remove the heading, or add it to the original"
        elif not other.section_id:
            message += f"; {_name(other)} stands there, without an id. Give it this one"
        else:
            message += (
                f"; {_name(other)} stands there, with the id {show(other.section_id)}."
                f" If it is its translation: {_repair(heading, other.section_id)}"
            )
        return _finding(heading, "parity-extra", message, heading.title)

    def _without_id(self, heading: OutlineHeading, line: OutlineHeading) -> Finding:
        message = (
            f"heading {show(line.title)} has no id; in the original {_name(heading)} stands there,"
            f" with the id {show(heading.section_id)}. If it is its translation:"
            f" {_repair(line, heading.section_id)}"
        )
        return _finding(line, "parity-missing", message, heading.title)

    def _missing(self, heading: OutlineHeading, line: OutlineHeading) -> Finding:
        where = f"after {show(line.title)}" if line.title else "at the beginning"
        message = (
            f"the id {show(heading.section_id)} of the original's heading {_name(heading)} is"
            f" missing {where}. Translate that section, or write the id at the heading that is"
            f" its translation: <#{heading.section_id}>"
        )
        return _finding(line, "parity-missing", message, heading.title)


def _finding(place: OutlineHeading, code: str, message: str, title: str) -> Finding:
    return Finding(place.path, place.line, code, message, heading=title)


def _repair(heading: OutlineHeading, section_id: str) -> str:
    """Say what to write: the whole line as it must be, if it can be known, else a plain heading."""
    source = heading.source.replace("\t", "    ").rstrip()
    tag = source.lstrip(" >").startswith("<")
    line = ""
    if source and heading.section_id:
        ids = list(re.finditer(_ID_IN_LINE.format(re.escape(heading.section_id)), source))
        if ids:
            line = source[: ids[-1].start()] + section_id + source[ids[-1].end() :]
    elif source and not tag:
        line = f"{source} <#{section_id}>"
    if not line or not (tag or read_heading(line).section_id == section_id):
        sign = "#" * heading.level
        line = f'<h{heading.level} id="{section_id}">' if tag else f"{sign} {heading.title}"
        line += "" if tag else f" <#{section_id}>"
    return f"Write: {line if len(line) < _LONG_LINE else f'<#{section_id}>'}"


# -- what translators keep


class _Marks(NamedTuple):
    """What of a title a translation keeps.

    ``words`` are all words in Latin letters, and all numbers; ``names`` are those that
    are spelled like names in code, or stand in it.
    """

    words: frozenset[str]
    names: frozenset[str]
    acronyms: frozenset[str]
    latin: frozenset[str]
    numbers: frozenset[str]
    emoji: frozenset[str]
    targets: frozenset[str]

    @property
    def all(self) -> frozenset[str]:
        return self.words | self.emoji | self.targets


class _Body(NamedTuple):
    """What of the text below a heading a translation keeps."""

    kept: frozenset[str]
    blocks: int


def _stem(word: str) -> str:
    """Let a word be the same in the plural, and between underscores of emphasis."""
    word = word.strip("_").casefold()
    stem = word.rstrip("es")
    return stem if len(stem) > 1 else word.rstrip("s")


def _stems(words: Iterable[str]) -> frozenset[str]:
    return frozenset(stem for word in words if len(stem := _stem(word)) > 1)


def _is_name(word: str) -> bool:
    return _NAME.search(word.strip("_")) is not None


def _read_marks(title: str) -> _Marks:
    plain, code = _split_code(unicodedata.normalize("NFKC", title))
    targets = frozenset(_TARGET.findall(plain))
    plain = unescape(_TAG.sub(" ", _TARGET.sub("]", plain)))
    in_code = _WORD.findall(code)
    words = _WORD.findall(plain) + in_code
    numbers = frozenset(word for word in words if _NUMBER.fullmatch(word))
    latin = _stems(word for word in words if word not in numbers)
    names = latin & (_stems(filter(_is_name, words)) | _stems(in_code))
    # In a title in capitals they are words.
    shouted = not any(char.islower() for char in plain)
    acronyms = () if shouted else (word for word in words if _ACRONYM.fullmatch(word))
    return _Marks(
        latin | numbers,
        names,
        _stems(acronyms) - names,
        latin,
        numbers,
        frozenset(char for char in plain if unicodedata.category(char) == "So"),
        targets,
    )


def _read_body(lines: Sequence[str]) -> _Body:
    lines = [line.strip() for line in lines]
    blocks = sum(1 for above, line in pairwise(["", *lines]) if line and not above)
    plain, code = _split_code(unicodedata.normalize("NFKC", "\n".join(lines)))
    kept = _stems(filter(_is_name, _WORD.findall(plain))) | _stems(_WORD.findall(code))
    kept |= frozenset(_TARGET.findall(plain))
    return _Body(kept, blocks)


def _split_code(text: str) -> tuple[str, str]:
    """Split a text into what stands outside and what inside of code spans."""
    plain: list[str] = []
    code: list[str] = []
    for line in text.split("\n"):
        parts = _BACKTICKS.split(line)
        closing: dict[str, list[int]] = {}
        for index in range(len(parts) - 2, 0, -2):
            closing.setdefault(parts[index], []).append(index)
        index = 0
        while index < len(parts):
            if index % 2 == 0:
                plain.append(parts[index])
                index += 1
                continue
            ends = closing[parts[index]]
            while ends and ends[-1] <= index:
                ends.pop()
            if ends:
                code.append("".join(parts[index + 1 : ends[-1]]))
                index = ends[-1]
            index += 1
    return " ".join(plain), " ".join(code)


class _Side:
    """One of two outlines that are compared, with what its headings keep in a translation.

    ``foreign``: its script is not Latin, so its words in Latin letters are names.
    """

    def __init__(self, outline: Sequence[OutlineHeading], texts: Mapping[str, str]) -> None:
        self.outline = outline
        self.marks = [_read_marks(heading.title) for heading in outline]
        self.bodies = _without_common(_read_bodies(outline, texts))
        letters = [char for heading in outline for char in heading.title if char.isalpha()]
        foreign = sum(not _WORD.match(char) for char in letters)
        self.foreign = foreign > _FOREIGN * len(letters)

    def names(self, number: int) -> frozenset[str]:
        """Give the words of a title that the other one must have, too."""
        marks = self.marks[number]
        return marks.names | marks.latin if self.foreign else marks.names

    def telling(self, number: int) -> frozenset[str]:
        """Give what of a title can tell it from others."""
        marks = self.marks[number]
        numbers = frozenset(each for each in marks.numbers if len(each) > 1)
        return self.names(number) | marks.acronyms | numbers | marks.emoji | marks.targets


def _read_bodies(outline: Sequence[OutlineHeading], texts: Mapping[str, str]) -> list[_Body | None]:
    """Read the text below each heading, as far as it is known."""
    lines = {path: text.split("\n") for path, text in texts.items()}
    begins: dict[str, list[int]] = {}
    for heading in outline:
        begins.setdefault(heading.path, []).append(heading.line)
    for each in begins.values():
        each.sort()
    bodies: list[_Body | None] = []
    for heading in outline:
        if heading.path not in lines:
            bodies.append(None)
            continue
        others = begins[heading.path]
        following = bisect_left(others, heading.line + 1)
        end = others[following] - 1 if following < len(others) else None
        below = lines[heading.path][heading.line : end]
        if below and not below[0].strip("=- \t>"):
            del below[0]
        bodies.append(_read_body(below))
    return bodies


class _Evidence:
    """What speaks for and against pairs of a heading of the original and one of the translation."""

    def __init__(self, original: _Side, translation: _Side) -> None:
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
                    return f"the text below fits that of {_name(side.outline[other])} better"
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
        same |= self._find_untranslated(same)
        same |= self._find_titles(same)
        return same | self._find_texts(same)

    def _find_ids(self) -> dict[int, int]:
        first, second = _positions(self.original.outline), _positions(self.translation.outline)
        return {second[each]: first[each] for each in second if each in first}

    def _find_untranslated(self, same: Mapping[int, int]) -> dict[int, int]:
        """Find titles without id that are the same in both, and once in each."""
        ours = _once(heading.title for heading in self.original.outline)
        theirs = _once(heading.title for heading in self.translation.outline)
        return self._free(
            {
                theirs[title]: ours[title]
                for title in theirs
                if title in ours
                and not self.translation.outline[theirs[title]].section_id
                and not self.conflict(ours[title], theirs[title])
            },
            same,
        )

    def _find_titles(self, same: Mapping[int, int]) -> dict[int, int]:
        """Find titles without id whose names, numbers, ... no other title has."""
        where: dict[str, set[int]] = {}
        for index, marks in enumerate(self.original.marks):
            for mark in marks.all:
                where.setdefault(mark, set()).add(index)
        claims: Counter[int] = Counter()
        only: dict[int, int] = {}
        for number, heading in enumerate(self.translation.outline):
            telling = self.translation.telling(number)
            if heading.section_id or not telling:
                continue
            choices = set.intersection(*(where.get(mark, set()) for mark in telling))
            choices = {index for index in choices if not self.conflict(index, number)}
            claims.update(choices)
            if len(choices) == 1:
                only[number] = choices.pop()
        return self._free(
            {number: index for number, index in only.items() if claims[index] == 1}, same
        )

    def _find_texts(self, same: Mapping[int, int]) -> dict[int, int]:
        """Find texts, below headings without id, that fit one text and no other."""
        found = {}
        for number, best in enumerate(self.best_of_translation):
            if not best or self.translation.outline[number].section_id:
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
        return self._free(found, same)

    def _free(self, found: Mapping[int, int], same: Mapping[int, int]) -> dict[int, int]:
        taken = set(same.values())
        return {
            number: index
            for number, index in found.items()
            if number not in same
            and index not in taken
            and self.translation.outline[number].level == self.original.outline[index].level
        }

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
    """Map the titles that stand once, in whatever case, to their numbers."""
    numbers: dict[str, list[int]] = {}
    for number, title in enumerate(titles):
        if any(map(str.isalpha, title)):
            numbers.setdefault(title.casefold(), []).append(number)
    return {title: each[0] for title, each in numbers.items() if len(each) == 1}


def _count_shared(
    original: Sequence[_Body | None], translation: Sequence[_Body | None]
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


def _without_common(bodies: Sequence[_Body | None]) -> list[_Body | None]:
    """Leave out what stands below so many headings that it tells none from the others."""
    counts = Counter(mark for body in bodies if body for mark in body.kept)
    common = {mark for mark, count in counts.items() if count > _COMMON}
    if not common:
        return list(bodies)
    return [body and body._replace(kept=body.kept - common) for body in bodies]


# -- which heading is which


def _match(
    original: Sequence[OutlineHeading],
    translation: Sequence[OutlineHeading],
    texts: Mapping[str, str],
) -> _Matcher:
    matcher = _Matcher(_Side(original, texts), _Side(translation, texts))
    matcher.match_pages()
    return matcher


class _Matcher:
    """Matches the headings of two pages, from the top down.

    Headings are matched with those below the same heading only. Between two that are
    the same for certain, those of one level are matched one to one if there are as many
    in both, nothing speaks against any of the pairs, and what stands below differs for
    one of them at most: where a heading was added and another one taken away, the
    headings between them would all get the id of a neighbour.
    """

    def __init__(self, original: _Side, translation: _Side) -> None:
        self.original = original.outline
        self.translation = translation.outline
        self.evidence = _Evidence(original, translation)
        self.same = self.evidence.find_same()
        self.same_back = {index: number for number, index in self.same.items()}
        self.found: list[int | None] = [None] * len(self.translation)
        self.reasons = [""] * len(self.translation)
        # Whether both pages begin with their only h1.
        self.titled = _has_title(self.original) and _has_title(self.translation)

    def match_pages(self) -> None:
        """Match all headings. The only h1 of a page is its title, not one of its sections."""
        if self.titled:
            conflict = self._conflict(0, 0)
            if conflict:
                self._refuse(
                    [range(1)], f"its original is {_name(self.original[0])}, but {conflict}"
                )
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
        for next_column, next_row in _longest_run(known):
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
                    f" {_name(self.original[one.start])}, but {conflict}; write the id by hand",
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
        text = _name(heading)
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
