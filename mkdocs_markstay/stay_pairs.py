"""Passages of two manifests paired by the markers of their blocks, and the blocks that went.

The id of a marker is of one page. In another page, a block with the same id is the same if
one page alone has lost it, and one page alone has got it.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict, deque
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from mkdocs_markstay.manifest_files import LINES
from mkdocs_markstay.manifest_stream import Address, Rows
from mkdocs_markstay.records import FRAGMENT

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Sequence

    from mkdocs_markstay.manifest_files import ManifestFile
    from mkdocs_markstay.manifest_stream import Page
    from mkdocs_markstay.records import Record

    Marked = tuple[Record, tuple[str, ...]]
    Pair = tuple[Record, Record]


_MARKED = re.compile(rb'"stay":\s*"[^"]')


class StayKey(NamedTuple):
    """What a marked block is known by."""

    page_id: str
    lang: str
    stay: str


class BlockPlace(NamedTuple):
    """Where a marked block stands: ``referent`` is that of its anchor, "" if it has none.

    ``section`` is the referent of what it stands in, ``title`` the title of that, ``line``
    the line of its heading.
    """

    referent: str
    section: str
    title: str
    url: str
    source: str
    line: int


def _blocks_of(row: Record) -> Iterator[tuple[str, str, str]]:
    """Give the marker, the digest and the referent of each marked block of a passage."""
    for block in row["blocks"]:
        # What blocks are has not been looked at when a row was read.
        if isinstance(block, dict) and block.get("stay"):
            yield str(block["stay"]), str(block.get("digest")), str(block.get("referent") or "")


def is_marked(line: bytes) -> bool:
    """Whether a passage, as it stands in a manifest, has a block with a marker."""
    # Within a text of JSON there is no quotation mark without a backslash. The blocks stand
    # near the end.
    return _MARKED.search(line, max(line.rfind(b'"blocks":'), 0)) is not None


def has_stays(rows: Iterable[Record]) -> bool:
    """Whether one of the blocks of passages has a marker."""
    for row in rows:
        for block in row["blocks"]:
            if isinstance(block, dict) and block.get("stay"):
                return True
    return False


def list_stays(row: Record) -> tuple[str, ...]:
    """List the ids of the markers of a passage's blocks, each once."""
    return tuple(dict.fromkeys([stay for stay, _, _ in _blocks_of(row)]))


def find_edited(old: Record, new: Record) -> tuple[str, ...]:
    """Find the markers that two passages share and whose blocks have not the same text."""
    first, second = _digests(old), _digests(new)
    return tuple(stay for stay in first if stay in second and first[stay] != second[stay])


def _digests(row: Record) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for stay, digest, _ in _blocks_of(row):
        found.setdefault(stay, []).append(digest)
    return found


def may_pair(old: Record, new: Record) -> bool:
    """Whether two passages that share no marker may be the same: one of them has none."""
    return not (list_stays(old) and list_stays(new))


def pair(
    old: Sequence[Record],
    new: Sequence[Record],
    known: Container[tuple[str, str]] | None = None,
) -> list[Pair]:
    """Pair passages that share markers: equal ones first, then those that share the most.

    ``known`` are the markers that tell, each with its language; None: all.
    """
    first, second = _list_marked(old, known), _list_marked(new, known)
    if not first or not second:
        return []
    pairs: list[Pair] = []
    for name in (_name_place, _name_text):
        first, second = _pair_equal(first, second, name, pairs)
    return pairs + _pair_most(first, second)


def _list_marked(rows: Iterable[Record], known: Container[tuple[str, str]] | None) -> list[Marked]:
    marked = []
    for row in rows:
        stays = list_stays(row)
        if known is not None:
            stays = tuple(stay for stay in stays if (row["lang"], stay) in known)
        if stays:
            marked.append((row, stays))
    return marked


def _name_place(row: Record, stays: tuple[str, ...]) -> Hashable:
    return row["referent"], row["lang"], stays, row["text_digest"], row["position"]


def _name_text(row: Record, stays: tuple[str, ...]) -> Hashable:
    return row["lang"], stays, row["text_digest"]


def _pair_equal(
    old: list[Marked],
    new: list[Marked],
    name: Callable[[Record, tuple[str, ...]], Hashable],
    pairs: list[Pair],
) -> tuple[list[Marked], list[Marked]]:
    """Pair those of the same name, the first with the first; give what is left."""
    waiting: dict[Hashable, deque[Record]] = defaultdict(deque)
    for row, stays in new:
        waiting[name(row, stays)].append(row)
    left, taken = [], set()
    for row, stays in old:
        same = waiting.get(name(row, stays))
        if same:
            taken.add(id(same[0]))
            pairs.append((row, same.popleft()))
        else:
            left.append((row, stays))
    return left, [each for each in new if id(each[0]) not in taken]


def _pair_most(old: list[Marked], new: list[Marked]) -> list[Pair]:
    holders: dict[tuple[str, str], tuple[list[int], list[int]]] = {}
    for side, rows in enumerate((old, new)):
        for number, (row, stays) in enumerate(rows):
            for stay in stays:
                holders.setdefault((row["lang"], stay), ([], []))[side].append(number)
    # Of a block that is cut into several passages, the first goes with the first.
    shared = Counter(both for lists in holders.values() for both in zip(*lists, strict=False))
    first_done, second_done = set(), set()
    pairs = []
    for both in sorted(shared, key=lambda both: (-shared[both], both)):
        first, second = both
        if first not in first_done and second not in second_done:
            first_done.add(first)
            second_done.add(second)
            pairs.append(both)
    return [(old[first][0], new[second][0]) for first, second in sorted(pairs)]


def pair_across(old: Sequence[Record], new: Sequence[Record]) -> list[Pair]:
    """Pair passages of different pages."""
    first, second = _find_homes(old), _find_homes(new)
    shared = first.keys() & second.keys()
    known = {key for key in shared if len(first[key]) == 1 and len(second[key]) == 1}
    return pair(old, new, known) if known else []


def _find_homes(rows: Iterable[Record]) -> dict[tuple[str, str], set[str]]:
    """Map markers, with their language, to the pages that have them."""
    homes: dict[tuple[str, str], set[str]] = defaultdict(set)
    for row in rows:
        for stay in list_stays(row):
            homes[row["lang"], stay].add(row["page_id"])
    return homes


def list_blocks(row: Record) -> Iterator[tuple[StayKey, BlockPlace]]:
    """Give the marked blocks of a passage, a line of ``passages.jsonl``."""
    for stay, _, referent in _blocks_of(row):
        url = row["url"]
        if referent:
            url = _make_url(row["page_url"], referent)
        yield (
            StayKey(row["page_id"], row["lang"], stay),
            BlockPlace(referent, row["referent"], row["title"], url, row["source"], row["line"]),
        )


@dataclass
class Blocks:
    """The marked blocks that are not the same in two manifests, page by page.

    ``gone`` are those that only OLD has in their page, ``unanchored`` those that have lost
    their anchor alone; ``fresh`` those that only NEW has, by language and marker, and then
    by page.
    """

    gone: dict[StayKey, BlockPlace] = field(default_factory=dict)
    unanchored: dict[StayKey, BlockPlace] = field(default_factory=dict)
    fresh: dict[tuple[str, str], dict[str, BlockPlace]] = field(default_factory=dict)

    def compare(self, old: dict[StayKey, BlockPlace], new: dict[StayKey, BlockPlace]) -> None:
        """Take the blocks of all passages of a page that are not the same in both."""
        for key, place in old.items():
            if key not in new:
                self.gone[key] = place
            elif place.referent and not new[key].referent:
                self.unanchored[key] = place
        for key, place in new.items():
            if key not in old:
                self.fresh.setdefault((key.lang, key.stay), {})[key.page_id] = place

    def keep_published(self, rows: Rows) -> None:
        """Forget the blocks of which only a part is gone; ``rows`` are all passages of NEW."""
        pages: set[Page] = {(key.page_id.encode(), key.lang.encode()) for key in self.gone}
        while pages and (line := rows.advance()) is not None:
            if not is_marked(line):
                continue
            page, _ = rows.identify(line, rows.number - 1)
            if page in pages:
                names = page[0].decode(), page[1].decode()
                for stay in list_stays(rows.parse(line, rows.number - 1)):
                    self.gone.pop(StayKey(*names, stay), None)

    def find_elsewhere(self, key: StayKey) -> BlockPlace | None:
        """Find the block with the marker of one that is gone, if one other page has it now."""
        found = self.fresh.get((key.lang, key.stay), {})
        elsewhere = [place for page_id, place in found.items() if page_id != key.page_id]
        return elsewhere[0] if len(elsewhere) == 1 else None


def block_addresses(manifest: ManifestFile) -> Iterator[Address]:
    """Give the addresses of the anchors of marked blocks."""
    urls: dict[Page, str] = {}
    if manifest.header is not None:
        with closing(Rows(manifest, "pages")) as rows:
            while (line := rows.advance()) is not None:
                page, _ = rows.identify(line, rows.number - 1)
                urls[page] = rows.parse(line, rows.number - 1)["url"]
    with closing(Rows(manifest, LINES if manifest.header is None else "passages")) as rows:
        while (line := rows.advance()) is not None:
            if is_marked(line):
                page, _ = rows.identify(line, rows.number - 1)
                row = rows.parse(line, rows.number - 1)
                page_url = urls[page] if page in urls else row.get("page_url", "")
                for _, _, referent in _blocks_of(row):
                    if referent:
                        url = _make_url(page_url, referent)
                        yield Address(referent, page[1].decode(), url)


def _make_url(page_url: str, referent: str) -> str:
    return f"{page_url}#{quote(referent.partition('#')[2], safe=FRAGMENT)}"
