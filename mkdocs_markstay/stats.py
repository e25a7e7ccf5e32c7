"""What a manifest holds, in figures: how much of what, how long, and what stands more than once.

Passages are looked at one after the other. Kept of each are twelve bytes, by which texts are
found that stand more than once, and of all together how many there are of each length.
"""

from __future__ import annotations

from array import array
from bisect import insort
from collections import Counter
from dataclasses import dataclass, field
from itertools import count, pairwise
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

from mkdocs_markstay.manifest import Manifest
from mkdocs_markstay.progress import SILENT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mkdocs_markstay.manifest import PagePlace, Passage
    from mkdocs_markstay.progress import Progress

# So many are named one by one.
SHOWN = 5
WORST = 10
_REFERENTS = 5
_EXCERPT = 80
_BUCKETS = 10
_STEPS = (1, 2, 2.5, 5)


class Bucket(NamedTuple):
    """Passages of so many characters: from ``low`` to ``high``, None if there is no end."""

    low: int
    high: int | None
    passages: int


class Sizes(NamedTuple):
    """How long passages are, in characters. A quantile is the length of a passage."""

    total: int
    mean: float
    shortest: int
    p10: int
    median: int
    p90: int
    p99: int
    longest: int


class PassageSize(NamedTuple):
    """A passage, where it stands, how long it is, and how its text begins."""

    referent: str
    lang: str
    position: int
    characters: int
    excerpt: str


class Repeated(NamedTuple):
    """A text that stands so many times; ``referents`` are the first of its places, by name."""

    times: int
    characters: int
    excerpt: str
    referents: tuple[str, ...]


class BarePage(NamedTuple):
    """A page of so many sections, of which so many have no prose."""

    page_id: str
    lang: str
    sections: int
    without: int


class Language(NamedTuple):
    """What there is in one language."""

    pages: int
    passages: int
    characters: int


class Debts(NamedTuple):
    """Findings of a baseline: how many it has, and which are left; None if nobody looked.

    ``new`` are findings that fail, or warn, and are not in it.
    """

    recorded: int
    left: int | None = None
    new: int | None = None

    @property
    def paid(self) -> int | None:
        """Those that are not found any more."""
        return None if self.left is None else self.recorded - self.left


@dataclass
class Stats:
    """The figures of a manifest.

    ``pages`` and ``sections`` are all of them if ``listed``, as ``passages.json`` lists them;
    else those that have passages. ``generated`` are sections whose ids nobody wrote. ``repeats``
    are passages whose text stood before. ``blocks`` that have a marker are ``marked``;
    ``stable`` are passages all of whose blocks have one. ``kinds`` counts the passages that
    have a block of a kind.
    """

    manifest: str
    publications: Sequence[str]
    listed: bool = False
    pages: int = 0
    sections: int = 0
    passages: int = 0
    bare_pages: int = 0
    bare_sections: int = 0
    generated: int = 0
    sizes: Sizes | None = None
    histogram: Sequence[Bucket] = ()
    longest: Sequence[PassageSize] = ()
    shortest: Sequence[PassageSize] = ()
    repeated_texts: int = 0
    repeats: int = 0
    repeated: Sequence[Repeated] = ()
    barest: Sequence[BarePage] = ()
    languages: Mapping[str, Language] = field(default_factory=dict)
    kinds: Mapping[str, int] = field(default_factory=dict)
    blocks: int = 0
    marked: int = 0
    stable: int = 0
    debts: Debts | None = None


def read_stats(path: str, progress: Progress = SILENT) -> Stats:
    """Count what a manifest holds: a file, a folder, or one of a commit (``git:REV:PATH``).

    Raises ManifestError.
    """
    with Manifest.open(path, progress=progress) as manifest:
        progress.begin("Counting passages", manifest.count)
        counts = _Counts()
        for number, page in enumerate(manifest.pages):
            counts.add_page(number, page, manifest.read(page))
            progress.advance(page.passages)
        stats = Stats(path, sorted(manifest.headers))
        counts.give(stats)
        if manifest.listed:
            _count_sections(stats, manifest, counts)
        _find_repeated(stats, manifest, counts)
        return stats


def make_buckets(lengths: Mapping[int, int]) -> list[Bucket]:
    """Divide lengths, each with its number of passages, into about ten of a round width.

    The last has no end where a few passages are far longer than all others.
    """
    total = sum(lengths.values())
    if not total:
        return []
    last = _quantile(lengths, total, 0.99)
    longest = max(lengths)
    wanted = (last if longest > 2 * last else longest) + 1
    width = _round_up(wanted / _BUCKETS)
    number = ceil(wanted / width)
    counts = Counter[int]()
    for length, passages in lengths.items():
        counts[min(length // width, number)] += passages
    buckets = [Bucket(n * width, (n + 1) * width - 1, counts[n]) for n in range(number)]
    return [*buckets, Bucket(number * width, None, counts[number])] if counts[number] else buckets


def _round_up(number: float) -> int:
    """Give the next number whose first digits are round."""
    widths = (int(step * power) for power in map((10).__pow__, count()) for step in _STEPS)
    return next(width for width in widths if width >= number)


def _quantile(lengths: Mapping[int, int], total: int, share: float) -> int:
    """Give the length that so large a share of all does not exceed."""
    seen = 0
    for length in sorted(lengths):
        seen += lengths[length]
        if seen >= share * total:
            return length
    return 0


class _Counts:
    """What is counted while passages go by."""

    def __init__(self) -> None:
        self.lengths = Counter[int]()
        self.kinds = Counter[str]()
        self.pages = Counter[str]()
        self.passages = Counter[str]()
        self.characters = Counter[str]()
        # How many sections of a page have passages.
        self.with_prose: Counter[tuple[str, str]] = Counter()
        self.generated = 0
        self.blocks = self.marked = self.stable = 0
        self.longest = _Extremes(1)
        self.shortest = _Extremes(-1)
        # Of each text the first eight bytes of its digest, and the number of its page.
        self.heads = array("Q")
        self.owners = array("I")

    def add_page(self, number: int, page: PagePlace, passages: Iterable[Passage]) -> None:
        """Count the passages of a page."""
        lang, characters = page.lang, 0
        seen: set[str] = set()
        for passage in passages:
            length = len(passage.text)
            characters += length
            self.lengths[length] += 1
            self.kinds.update(passage.kinds)
            if passage.section_id and passage.section_id not in seen:
                seen.add(passage.section_id)
                self.generated += passage.generated
            self.blocks += len(passage.blocks)
            self.marked += sum(bool(block["stay"]) for block in passage.blocks)
            self.stable += bool(passage.stay_key)
            self.longest.add(length, passage)
            self.shortest.add(length, passage)
            self.heads.append(_head(passage))
            self.owners.append(number)
        self.with_prose[page.page_id, lang] += len(seen)
        self.pages[lang] += 1
        self.passages[lang] += page.passages
        self.characters[lang] += characters

    def give(self, stats: Stats) -> None:
        """Write down what was counted."""
        total = self.lengths.total()
        stats.pages, stats.sections = self.pages.total(), self.with_prose.total()
        stats.passages, stats.generated = total, self.generated
        stats.blocks, stats.marked, stats.stable = self.blocks, self.marked, self.stable
        stats.histogram = make_buckets(self.lengths)
        stats.longest, stats.shortest = self.longest.give(), self.shortest.give()
        stats.kinds = dict(sorted(self.kinds.items(), key=lambda each: (-each[1], each[0])))
        stats.languages = {
            lang: Language(self.pages[lang], self.passages[lang], self.characters[lang])
            for lang in sorted(self.pages)
        }
        if total:
            characters = sum(length * number for length, number in self.lengths.items())
            quantiles = [_quantile(self.lengths, total, p) for p in (0.1, 0.5, 0.9, 0.99)]
            lengths = (min(self.lengths), *quantiles, max(self.lengths))
            stats.sizes = Sizes(characters, round(characters / total, 1), *lengths)


def _head(passage: Passage) -> int:
    return int(passage.text_digest[7:23], 16)


class _Extremes:
    """The longest passages that went by, or the shortest if ``sign`` is -1.

    Of equal ones those are taken whose names come first, in whatever order they go by.
    """

    def __init__(self, sign: int) -> None:
        self._sign = sign
        self._found: list[tuple[int, PassageSize]] = []

    def add(self, length: int, passage: Passage) -> None:
        found, key = self._found, -self._sign * length
        if len(found) == SHOWN and key > found[-1][0]:
            return
        excerpt = make_excerpt(passage.text)
        size = PassageSize(passage.referent, passage.lang, passage.position, length, excerpt)
        insort(found, (key, size))
        del found[SHOWN:]

    def give(self) -> list[PassageSize]:
        return [size for _, size in self._found]


def make_excerpt(text: str) -> str:
    """Give the beginning of a text in one line."""
    line = " ".join(text[: 4 * _EXCERPT].split())
    return line if len(line) <= _EXCERPT else line[: _EXCERPT - 1].rstrip() + "\u2026"


# -- sections without prose


def _count_sections(stats: Stats, manifest: Manifest, counts: _Counts) -> None:
    """Count what ``passages.json`` lists. Of other files nothing tells what has no passage."""
    generated = 0
    of_page: Counter[tuple[str, str]] = Counter()
    for row in manifest.iter_listed("pages"):
        of_page[row["page_id"], row["lang"]] = 0
    for row in manifest.iter_listed("sections"):
        of_page[row["page_id"], row["lang"]] += 1
        generated += row["generated"]
    pages = [
        BarePage(page_id, lang, sections, sections - counts.with_prose[page_id, lang])
        for (page_id, lang), sections in of_page.items()
    ]
    stats.listed = True
    stats.pages, stats.sections, stats.generated = len(pages), of_page.total(), generated
    stats.bare_pages = sum((page.page_id, page.lang) not in counts.with_prose for page in pages)
    stats.bare_sections = sum(page.without for page in pages)
    bare = [page for page in pages if page.without]
    bare.sort(key=lambda page: (-page.without, page.sections, page.page_id, page.lang))
    stats.barest = bare[:WORST]


# -- texts that stand more than once


def _find_repeated(stats: Stats, manifest: Manifest, counts: _Counts) -> None:
    """Find equal texts: pages that may have one are read again, and few of all are."""
    alike = {one for one, other in pairwise(sorted(counts.heads)) if one == other}
    owners = zip(counts.heads, counts.owners, strict=True)
    numbers = dict.fromkeys(number for head, number in owners if head in alike)
    found: dict[str, _Group] = {}
    for number in numbers:
        for passage in manifest.read(manifest.pages[number]):
            if _head(passage) in alike:
                group = found.setdefault(passage.text_digest, _Group(passage))
                group.add(passage)
    groups = [group for group in found.values() if group.times > 1]
    stats.repeated_texts = len(groups)
    stats.repeats = sum(group.times - 1 for group in groups)
    groups.sort(key=lambda group: (-group.times, -group.characters, group.referents[0]))
    stats.repeated = [
        Repeated(each.times, each.characters, each.excerpt, tuple(each.referents))
        for each in groups[:WORST]
    ]


class _Group:
    """Passages of one text."""

    def __init__(self, passage: Passage) -> None:
        self.times = 0
        self.characters = len(passage.text)
        self.excerpt = make_excerpt(passage.text)
        self.referents: list[str] = []

    def add(self, passage: Passage) -> None:
        self.times += 1
        if passage.referent not in self.referents:
            insort(self.referents, passage.referent)
            del self.referents[_REFERENTS:]
