"""Where something that was published may be now: the nearest candidates, the best first."""

from __future__ import annotations

from collections import Counter, defaultdict
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, NamedTuple

from mkdocs_markstay.published_places import list_homes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from mkdocs_markstay.published_places import PublishedPlace
    from mkdocs_markstay.register import Entry

_SIMILAR = 0.7
_MOST = 3
TOO_MANY = 20
"""What so many places have in common, or more, tells nothing of any of them."""

# How many pairs of a lost and a new section of one page are compared letter by letter.
_PAIRS = 10_000


class Candidate(NamedTuple):
    """A published place that may be what is missed, and why: words that follow its name."""

    place: PublishedPlace
    why: str


class Nearest:
    """Finds candidates among the published places.

    ``known`` are the referents of the register that are published: these are themselves
    and nothing else, unless they have the same text. ``digests`` are the digests of the
    published sections' texts, by referent; ``lost`` the entries that are missed; ``followed``
    blocks that are elsewhere now, old referents to new: they tell where their page may be.
    """

    def __init__(
        self,
        places: Mapping[str, PublishedPlace],
        known: Iterable[str],
        digests: Mapping[str, str],
        lost: Iterable[Entry],
        followed: Mapping[str, str],
    ) -> None:
        self._known = known = set(known)
        self._places = places
        self._by_text: dict[str, list[PublishedPlace]] = defaultdict(list)
        self._new_in: dict[str, list[PublishedPlace]] = defaultdict(list)
        self._by_id: dict[str, list[PublishedPlace]] = defaultdict(list)
        self._by_title: dict[str, list[PublishedPlace]] = defaultdict(list)
        self._new_pages: dict[str, PublishedPlace] = {}
        self._homes = list_homes(places)
        for referent, place in places.items():
            if place.stay:
                continue
            digest = digests.get(referent)
            if digest:
                self._by_text[digest].append(place)
            if referent in known:
                continue
            if not place.section_id:
                self._new_pages[referent] = place
                continue
            self._new_in[place.report.page_id].append(place)
            self._by_id[place.section_id].append(place)
            self._by_title[_fold(place.title)].append(place)
        self._lost_of: dict[str, list[Entry]] = defaultdict(list)
        for entry in lost:
            if entry.section_id and not entry.of_block:
                self._lost_of[entry.page_id].append(entry)
        # Of each page, the pages that its blocks went to.
        self._went_to: dict[str, Counter[str]] = defaultdict(Counter)
        for old, new in followed.items():
            page_id, new_page_id = (each.partition("#")[0] for each in (old, new))
            if page_id != new_page_id:
                self._went_to[page_id][new_page_id] += 1

    def find(self, entry: Entry) -> list[Candidate]:
        """Find what a lost entry may be now: few, the best first, each place once."""
        found: dict[str, Candidate] = {}
        for candidate in self._find(entry):
            found.setdefault(candidate.place.referent, candidate)
            if len(found) == _MOST:
                break
        return list(found.values())

    def _find(self, entry: Entry) -> Iterator[Candidate]:
        if not entry.section_id:
            yield from self._find_pages(entry)
            return
        if entry.of_block:
            same = _few(self._homes.get(entry.section_id, ()))
            same.sort(key=lambda place: place.referent in self._known)
            yield from (Candidate(place, "same marker") for place in same)
            return
        title = _fold(entry.title)
        same_text = _few(self._by_text.get(entry.digest, ()))
        # What was published before is itself: at best, a text that was merged into it.
        for place in sorted(
            same_text,
            key=lambda place: (
                place.referent in self._known,
                place.section_id != entry.section_id,
                _fold(place.title) != title,
            ),
        ):
            yield Candidate(place, "same text")
        here = self._new_in.get(entry.page_id, ())
        same_id = _few(self._by_id.get(entry.section_id, ()))
        yield from (Candidate(p, "same id and title") for p in same_id if _fold(p.title) == title)
        if title:
            yield from (Candidate(p, "same title") for p in here if _fold(p.title) == title)
            same_title = _few(self._by_title.get(title, ()))
            yield from (Candidate(place, "same title") for place in same_title)
        yield from (Candidate(place, "same id") for place in same_id)
        few = len(here) * len(self._lost_of[entry.page_id]) <= _PAIRS
        close = [(_likeness(entry, place), place) for place in (here if few else ())]
        close = [pair for pair in close if pair[0] >= _SIMILAR]
        for _, place in sorted(close, key=lambda pair: (-pair[0], pair[1].referent)):
            yield Candidate(place, "similar")

    def _find_pages(self, entry: Entry) -> Iterator[Candidate]:
        """Find where a page may be: where its sections are, by title, by name."""
        shared: Counter[str] = Counter()
        for section in self._lost_of.get(entry.page_id, ()):
            same = _few(self._by_text.get(section.digest, ()))
            same += _few(self._by_id.get(section.section_id, ()))
            new = [place for place in same if place.referent not in self._known]
            shared.update({place.report.page_id for place in new})
        for page_id, count in sorted(
            shared.items(), key=lambda pair: (-pair[1], pair[0] in self._known, pair[0])
        ):
            many = "one of its sections" if count == 1 else f"{count} of its sections"
            yield Candidate(self._places[page_id], many)
        blocks = self._went_to.get(entry.page_id, Counter()).items()
        for page_id, count in sorted(blocks, key=lambda pair: (-pair[1], pair[0])):
            many = "one of its blocks" if count == 1 else f"{count} of its blocks"
            yield Candidate(self._places[page_id], many)
        title, name = _fold(entry.title), entry.page_id.rpartition("/")[2]
        pages = self._new_pages.values()
        paths = set(entry.paths)
        yield from (Candidate(p, "same address") for p in pages if p.site_path in paths)
        yield from (Candidate(p, "same title") for p in pages if title and _fold(p.title) == title)
        yield from (
            Candidate(p, "same name") for p in pages if p.referent.rpartition("/")[2] == name
        )


def _few(places: Iterable[PublishedPlace]) -> list[PublishedPlace]:
    found = list(places)
    return found if len(found) < TOO_MANY else []


def _fold(title: str) -> str:
    return " ".join(title.casefold().split())


def _likeness(entry: Entry, place: PublishedPlace) -> float:
    pairs = ((entry.section_id, place.section_id), (_fold(entry.title), _fold(place.title)))
    return max(SequenceMatcher(None, *pair).ratio() for pair in pairs if all(pair))
