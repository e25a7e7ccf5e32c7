"""Binding the blocks of a page's source to the blocks that are published.

The rules are in ``docs/stays.md``. What became of a block is known by the elements that its
lines went to. Only for blocks that have no line to be followed (code, raw HTML), the
place between their neighbours says it, and only if there is one way to read it.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from mkdocs_markstay.sections import Block, Stay
from mkdocs_markstay.stay_tokens import FRAME, FRAME_END, NOTHING, TITLED

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from mkdocs_markstay.extract_marked import ReadPage
    from mkdocs_markstay.sections import Section
    from mkdocs_markstay.stay_tokens import Provenance
    from mkdocs_markstay.stays import Marker, SourceBlock


# The blocks of the source before and behind others, None where there is none.
Neighbours = tuple[int | None, int | None]


class Unbound(NamedTuple):
    """A marker of a page that belongs to nothing that is published, and why."""

    marker: Marker
    reason: str


@dataclass
class Binding:
    """The markers of a page, and what they are bound to.

    ``stays`` are those of the published blocks, by their places in the document, as in
    `Block.stays`; ``headings`` those of headings, by section id, "" for the page. ``places`` maps
    the numbers of marked elements to the markers that are theirs, whose anchors belong there;
    ``anchored`` are the ids of those that have one. ``missing`` are the numbers of the source's
    blocks that have become text, can have a marker and have none; ``uncovered`` are published
    blocks of no block of the source, each with the line (from 1) that is the nearest.
    """

    stays: dict[int, tuple[Stay | None, ...]] = field(default_factory=dict)
    headings: dict[str, Stay] = field(default_factory=dict)
    places: dict[int, list[Marker]] = field(default_factory=dict)
    unbound: list[Unbound] = field(default_factory=list)
    missing: list[int] = field(default_factory=list)
    uncovered: list[tuple[int, int]] = field(default_factory=list)
    anchored: frozenset[str] = frozenset()


SPANS = "it stands on parts of more than one section"
NOTHING_SHOWN = "nothing of its block is in the published page"
AMBIGUOUS = "which of the published blocks is its own cannot be told"
TWO_MARKERS = "its block has more than one marker"
REPEATED = "it is there more than once"
_HTML = re.compile(r"^[ \t>]*</?[A-Za-z]", re.MULTILINE)
_WORDS = re.compile(r"\w+")
# Kinds of published blocks that have no others in them.
_HOLD_NOTHING = ("paragraph", "code", "table", "math")
# What lines begin with that are no text, if the site has the extension for it.
_FRAME_MARKS = ("!!!", "???", "===", "///")


def bind(made: Provenance, page: ReadPage) -> Binding:
    """Bind the blocks of a source to those of the page that it became."""
    return _Binder(made, page).bind()


class _Binder:
    def __init__(self, made: Provenance, page: ReadPage) -> None:
        self.made = made
        self.page = page
        self.sources = made.text.blocks
        # By the number of a block of the source: the published blocks, in order.
        self.became: dict[int, list[int]] = {}
        self.titled: dict[int, Section] = {}
        self.spans: set[int] = set()
        # The published blocks with parts of those, and their numbers.
        self.touched: dict[int, int] = {}
        self.parts: dict[int, int] = {}
        self.carriers: dict[int, int] = {}
        self.reasons: dict[int, str] = {}
        # How many of the tokens of a block came through.
        self.counts: Counter[int] = Counter()
        self.free: list[int] = []
        self.sharing: dict[int, list[int]] = defaultdict(list)

    def bind(self) -> Binding:
        self.follow_elements()
        self.fill_gaps()
        self.note_sharing()
        return self.put_together()

    # -- what the lines of a block went to

    def follow_elements(self) -> None:
        went: dict[int, list[int]] = defaultdict(list)
        titled: dict[int, list[Section]] = defaultdict(list)
        for element, numbers in sorted(self.made.carried.items()):
            for number in numbers:
                if element in self.page.headings:
                    self.counts[number] += 1
                    titled[number].append(self.page.headings[element])
                    self.carriers.setdefault(number, element)
                elif len(self.page.within.get(element, ())) == 1:
                    self.counts[number] += 1
                    went[number] += self.page.within[element]
                    self.carriers.setdefault(number, element)
        blocks = self.page.blocks
        for number in {*went, *titled}:
            places = went[number]
            if number >= len(self.sources):
                if places:
                    self.parts[number] = places[0]
                continue
            sections = {id(blocks[place][0]) for place in places}
            sections |= {id(section) for section in titled[number]}
            if len(sections) > 1:
                self.spans.add(number)
                self.touched.update(dict.fromkeys(places, number))
            elif not places:
                self.titled[number] = titled[number][0]
            else:
                self.became[number] = list(range(min(places), max(places) + 1))

    # -- what has no lines of its own

    def fill_gaps(self) -> None:
        blocks = self.page.blocks
        taken = {place for places in self.became.values() for place in places}
        starts: dict[int, int] = {}
        for place, (section, _) in enumerate(blocks):
            starts.setdefault(id(section), place)
        self.free = [
            place
            for place, (_, block) in enumerate(blocks)
            if place not in taken and not block.lead and block.kind != "footnote"
        ]
        waiting: list[int] = []
        before = -1.0
        previous: int | None = None
        for number in range(len(self.sources)):
            span = self.find_span(number, starts)
            if span is None:
                # Notes, and headings without text below them, are known, too.
                known = (self.became, self.titled, self.spans)
                if not any(number in each for each in known) and self.made.roles[number] != NOTHING:
                    waiting.append(number)
                continue
            self.fill(waiting, before, span[0], (previous, number))
            waiting, before, previous = [], span[1], number
        self.fill(waiting, before, float(len(blocks)), (previous, None))
        self.join_frames()

    def find_span(self, number: int, starts: Mapping[int, int]) -> tuple[float, float] | None:
        """Give between which published blocks a block is: before the first, after the last."""
        places = self.became.get(number)
        if places:
            if self.page.blocks[places[0]][1].kind == "footnote":
                return None
            return float(places[0]), float(places[-1])
        section = self.titled.get(number)
        if section is None or id(section) not in starts:
            return None
        edge = starts[id(section)] - 0.5
        return edge, edge

    def fill(self, waiting: list[int], before: float, after: float, around: Neighbours) -> None:
        """Bind blocks that stand between two others, if there is one way to do it."""
        for number, place in self.find_shown_frames(waiting, before, after):
            self.became[number] = [place]
            begin = waiting.index(number)
            self.fill_between(waiting[:begin], before, float(place), (around[0], number))
            waiting, before = waiting[begin + 1 :], float(place)
            around = (number, around[1])
        self.fill_between(waiting, before, after, around)

    def fill_between(
        self, waiting: list[int], before: float, after: float, around: Neighbours
    ) -> None:
        """Bind blocks between two others, where no line that begins something is text."""
        frames = [n for n in waiting if self.made.roles[n] in (FRAME, TITLED, FRAME_END)]
        rest = [n for n in waiting if n not in frames]
        if not rest:
            self.add_code(self.find_free(before, after), around)
            return
        if before == after:  # all of it is in one published block
            for number in rest:
                self.became[number] = [int(before)]
            return
        gap = self.find_free(before, after)
        units = self.join_fences(rest)
        if len(units) != len(gap) and before >= 0 and before == int(before):
            units = self.take_indented(units, int(before), len(gap))
        if len(units) == len(gap):
            fitting = [
                (unit, [p]) for unit, p in zip(units, gap, strict=True) if self.fits(unit, p)
            ]
        elif len(units) == 1 and len({id(self.page.blocks[place][0]) for place in gap}) == 1:
            fitting = [(units[0], gap)] if any(self.fits(units[0], place) for place in gap) else []
        else:
            fitting = []
        for unit, places in fitting:
            self.became.update((number, places) for number in unit)
        reason = AMBIGUOUS if gap else NOTHING_SHOWN
        self.reasons.update((n, reason) for unit in units for n in unit if n not in self.became)

    def fits(self, unit: Sequence[int], place: int) -> bool:
        """Whether a published block can be that of blocks of the source, by the words in both."""
        words = set(_WORDS.findall("\n".join(self.made.content(number) for number in unit)))
        return not words or not words.isdisjoint(_WORDS.findall(self.page.blocks[place][1].text))

    def find_shown_frames(
        self, waiting: Sequence[int], before: float, after: float
    ) -> list[tuple[int, int]]:
        """Find lines that begin or end nothing here, and so are published as text."""
        marks = {n: self.made.content(n).lstrip(" \t>")[:3] for n in waiting}
        frames = [n for n in waiting if marks[n] in _FRAME_MARKS]
        if not frames:
            return []
        texts = (
            (place, self.page.blocks[place][1].text) for place in self.find_free(before, after)
        )
        places = [place for place, text in texts if text.startswith(_FRAME_MARKS)]
        pairs = self.pair_frames(frames, places, marks)
        # From both ends it is the same if there is one way to pair them.
        return pairs if pairs == self.pair_frames(frames[::-1], places[::-1], marks)[::-1] else []

    def pair_frames(
        self, frames: Sequence[int], places: Sequence[int], marks: Mapping[int, str]
    ) -> list[tuple[int, int]]:
        """Give each place the first line that begins as its text does."""
        rest = iter(frames)
        pairs = []
        for place in places:
            text = self.page.blocks[place][1].text
            number = next((number for number in rest if text.startswith(marks[number])), None)
            if number is not None:
                pairs.append((number, place))
        return pairs

    def find_free(self, before: float, after: float) -> list[int]:
        """Find the published blocks between two others that are nobody's yet."""
        return self.free[bisect_right(self.free, before) : bisect_left(self.free, after)]

    def take_indented(self, units: list[list[int]], place: int, count: int) -> list[list[int]]:
        """Bind what is indented to the block before it, if ``count`` others are left then."""
        if self.page.blocks[place][1].kind in _HOLD_NOTHING:
            return units
        inner = [unit for unit in units if self.made.content(unit[0])[:1] in (" ", "\t")]
        inner = [unit for unit in inner if self.fits(unit, place)]
        if count and len(units) - len(inner) != count:
            return units
        self.became.update((number, [place]) for unit in inner for number in unit)
        return [unit for unit in units if unit not in inner]

    def add_code(self, gap: Sequence[int], around: Neighbours) -> None:
        """Give blocks with code or HTML in them what was published beside what is known of them.

        That is in their section, and the other neighbour could not be it.
        """
        before, behind = around
        owners = []
        # What was followed to its end has nothing behind it.
        if before is not None and not self.was_followed(before, self.sources[before].last):
            owners.append(before)
        if behind is not None and not self.was_followed(behind, self.sources[behind].first):
            owners.append(behind)
        owners = list(filter(self.has_code, owners))
        for place in gap:
            section = self.page.blocks[place][0]
            own = [number for number in owners if self.find_section(number) is section]
            if len(own) == 1:
                self.became[own[0]] = sorted([*self.became.get(own[0], []), place])
                self.titled.pop(own[0], None)

    def was_followed(self, number: int, line: int) -> bool:
        """Whether it is known what a line of a block became."""
        lines = self.made.followed[number]
        return line in lines and self.counts[number] == len(lines)

    def find_section(self, number: int) -> Section | None:
        places = self.became.get(number)
        return self.page.blocks[places[0]][0] if places else self.titled.get(number)

    def has_code(self, number: int) -> bool:
        block = self.sources[number]
        lines = range(block.first, block.last + 1)
        code = self.made.text.code
        return not code.isdisjoint(lines) or _HTML.search(self.made.content(number)) is not None

    def join_fences(self, numbers: Sequence[int]) -> list[list[int]]:
        """Join the blocks of the source that are parts of one fence, with empty lines in it."""
        code = self.made.text.code
        units: list[list[int]] = []
        last = 0
        for number in numbers:
            block = self.sources[number]
            if units and all(line in code for line in range(last, block.first + 1)):
                units[-1].append(number)
            else:
                units.append([number])
            last = block.last
        return units

    def join_frames(self) -> None:
        """Bind what begins something to what comes next, and what ends it to what was before."""
        roles = self.made.roles
        previous: list[int] = []
        for number, role in enumerate(roles):
            if role == FRAME_END and number not in self.became and previous:
                self.became[number] = previous[-1:]
            previous = self.became.get(number, previous)
        following: list[int] = []
        for number in range(len(roles) - 1, -1, -1):
            if roles[number] in (FRAME, TITLED) and number not in self.became and following:
                self.became[number] = following[:1]
            following = self.became.get(number, following)

    # -- the result

    def put_together(self) -> Binding:
        binding = Binding()
        ids = Counter([each.id for each in self.made.text.markers()])
        repeated = {name for name, count in ids.items() if count > 1}
        entries: dict[int, list[tuple[int, Stay | None]]] = defaultdict(list)
        for number, block in enumerate(self.sources):
            marker = self.choose(number, repeated, binding)
            stay = Stay(marker.id, block.body_hash) if marker is not None else None
            frame = self.made.roles[number] in (FRAME, FRAME_END)
            places = self.became.get(number, [])
            section = self.titled.get(number)
            if section is not None and section.section_id in binding.headings:
                self.reasons[number] = AMBIGUOUS  # there is one block to a heading
            elif marker is not None and not places and section is not None:
                binding.headings[section.section_id] = Stay(marker.id, block.body_hash)
                self.put(binding, self.carriers[number], marker)
                continue
            for place in places:
                if stay is not None or not frame:
                    entries[place].append((number, stay))
            if marker is not None and places:
                self.put(binding, self.find_element(number, places[0]), marker)
            elif places and not block.markers and not frame and not self.is_part_of_code(block):
                binding.missing.append(number)
            if marker is not None and not places:
                binding.unbound.append(Unbound(marker, self.why(number)))
        self.bind_parts(binding, entries, repeated)
        binding.stays = self.list_stays(entries)
        binding.uncovered = self.find_uncovered(entries)
        return binding

    def find_uncovered(self, bound: Collection[int]) -> list[tuple[int, int]]:
        """Find published blocks that are of no block of the source, though an author wrote them.

        Each with the line of the source (from 1) that is the nearest.
        """
        found = []
        line = 1
        numbers = {place: number for number, places in self.became.items() for place in places}
        for place, (_, block) in enumerate(self.page.blocks):
            if place in numbers:
                line = self.sources[numbers[place]].last
            elif not (block.lead or place in bound or place in self.page.generated):
                number = self.touched.get(place)
                found.append((place, line if number is None else self.sources[number].first))
        return found

    def is_part_of_code(self, block: SourceBlock) -> bool:
        """Whether a block is a part of a fence with empty lines, where no marker can stand."""
        code = self.made.text.code
        return {block.first - 1, block.first} <= code or {block.last, block.last + 1} <= code

    def choose(self, number: int, repeated: set[str], binding: Binding) -> Marker | None:
        """Give the marker of a block of the source, if it has one and that is the only one."""
        markers = self.sources[number].markers
        if not markers:
            return None
        if len(markers) == 1 and markers[0].id not in repeated:
            return markers[0]
        reason = TWO_MARKERS if len({marker.id for marker in markers}) > 1 else REPEATED
        binding.unbound += [Unbound(marker, reason) for marker in markers]
        return None

    def why(self, number: int) -> str:
        if number in self.spans:
            return SPANS
        return self.reasons.get(number, NOTHING_SHOWN)

    def note_sharing(self) -> None:
        """Note with each published block the blocks of the source that it is made of."""
        for number, places in sorted(self.became.items()):
            for place in places:
                self.sharing[place].append(number)

    def find_element(self, number: int, place: int) -> int | None:
        """Find the element for an anchor: all of a published block, or what a part of it is."""
        if self.sharing[place] != [number] and number in self.carriers:
            return self.carriers[number]
        return self.page.elements.get(place, self.carriers.get(number))

    def put(self, binding: Binding, element: int | None, marker: Marker) -> None:
        if element is not None:
            binding.places.setdefault(element, []).append(marker)

    def bind_parts(
        self,
        binding: Binding,
        entries: dict[int, list[tuple[int, Stay | None]]],
        repeated: set[str],
    ) -> None:
        """Bind the markers of items and rows: they come after that of the block itself."""
        hashes = {
            child.marker: child.body_hash for block in self.sources for child in block.children
        }
        for offset, marker in enumerate(self.made.parts):
            number = len(self.sources) + offset
            if not hashes[marker]:  # which is told where the source is read
                continue
            if marker.id in repeated:
                binding.unbound.append(Unbound(marker, REPEATED))
            elif number not in self.parts:
                binding.unbound.append(Unbound(marker, NOTHING_SHOWN))
            else:
                place = self.parts[number]
                entries[place].append((number, Stay(marker.id, hashes[marker])))
                self.put(binding, self.carriers[number], marker)

    def list_stays(
        self, entries: Mapping[int, list[tuple[int, Stay | None]]]
    ) -> dict[int, tuple[Stay | None, ...]]:
        """Give the markers of each published block; what belongs to the next one has its own."""
        stays: dict[int, tuple[Stay | None, ...]] = {}
        for place in range(len(self.page.blocks) - 1, -1, -1):
            if place in entries:
                own = _shorten([stay for _, stay in entries[place]])
            elif self.page.blocks[place][1].lead:
                own = stays.get(place + 1, ())
            else:
                continue
            if own:
                stays[place] = own
        return stays


def _shorten(stays: Sequence[Stay | None]) -> tuple[Stay | None, ...]:
    """Leave out all but the first of blocks without markers that follow each other."""
    if None not in stays:
        return tuple(stays)
    kept = [each for n, each in enumerate(stays) if each or not n or stays[n - 1]]
    return tuple(kept) if any(kept) else ()


def give(binding: Binding, page: ReadPage) -> None:
    """Give the blocks and headings of a page their markers."""
    anchored = binding.anchored

    def finish(stay: Stay | None) -> Stay | None:
        return stay._replace(anchored=True) if stay and stay.id in anchored else stay

    stays = binding.stays
    if anchored:
        stays = {place: tuple(map(finish, each)) for place, each in stays.items()}
    by_block = {id(page.blocks[place][1]): each for place, each in stays.items()}
    for section in page.sections:
        section.stay = finish(binding.headings.get(section.section_id))
        section.blocks[:] = [
            Block(block.kind, block.text, block.lead, by_block[id(block)])
            if id(block) in by_block
            else block
            for block in section.blocks
        ]


def correct(sections: Iterable[Section], hashes: Mapping[str, str]) -> None:
    """Give markers the hashes of the files that they stand in."""

    def finish(stay: Stay | None) -> Stay | None:
        return stay and stay._replace(body_hash=hashes.get(stay.id, stay.body_hash))

    for section in sections:
        section.stay = finish(section.stay)
        section.blocks[:] = [
            block._replace(stays=tuple(map(finish, block.stays))) for block in section.blocks
        ]


def attach(sections: Sequence[Section], known: Sequence[Section]) -> list[str]:
    """Give the blocks of a published page the markers that they had when it was rendered.

    Returns the ids that found no place. Another plugin may have changed blocks since: these
    are known by their place among the others if their number is still the same.
    """
    headings = {section.section_id: section.stay for section in known if section.stay}
    for section in sections:
        section.stay = headings.pop(section.section_id, None)
    lost = [stay.id for stay in headings.values()]
    places = [(section, number) for section in sections for number in range(len(section.blocks))]
    now = [section.blocks[number] for section, number in places]
    then = [block for section in known for block in section.blocks]
    for old, new in _pair(then, now):
        stays = then[old].stays
        if new is None:
            lost += [stay.id for stay in stays if stay]
        elif stays:
            section, number = places[new]
            section.blocks[number] = section.blocks[number]._replace(stays=stays)
    return lost


def _pair(then: Sequence[Block], now: Sequence[Block]) -> Iterator[tuple[int, int | None]]:
    """Pair the blocks of then with those of now, None where that cannot be told."""
    from difflib import SequenceMatcher  # noqa: PLC0415 (for the few pages that were changed)

    old, new = ([(block.kind, block.text) for block in blocks] for blocks in (then, now))
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        kinds = [each.kind for each in then[i1:i2]], [each.kind for each in now[j1:j2]]
        if tag == "equal" or kinds[0] == kinds[1]:
            yield from zip(range(i1, i2), range(j1, j2), strict=True)
        else:
            yield from ((number, None) for number in range(i1, i2))
