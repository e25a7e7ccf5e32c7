"""What has changed between two manifests: pages, sections and passages.

The terms are defined in ``docs/diff.md``. A passage is known by its referent and language;
inside of these, texts are matched first, then positions.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from sys import intern
from typing import TYPE_CHECKING, Any, NamedTuple

from mkdocs_markstay.identity import STAY_PREFIX
from mkdocs_markstay.manifest_files import LINES, ManifestFile
from mkdocs_markstay.manifest_shapes import ManifestError
from mkdocs_markstay.manifest_stream import PageRows, Rows, differences
from mkdocs_markstay.progress import SILENT
from mkdocs_markstay.records import Publication, Record, flatten
from mkdocs_markstay.stay_pairs import (
    Blocks,
    find_edited,
    has_stays,
    list_blocks,
    list_stays,
    may_pair,
    pair,
    pair_across,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from mkdocs_markstay.manifest_stream import Group, Line, Page
    from mkdocs_markstay.progress import Progress
    from mkdocs_markstay.stay_pairs import BlockPlace, StayKey

WHATS = ("page", "section", "block", "passage")
"""What a change is of."""
KINDS = (
    "removed",
    "retired",
    "moved",
    "edited",
    "added",
    "repositioned",
    "metadata",
)
"""What a change is, the worst first."""
FAILURES: dict[str, str] = {
    "removed-referent": "a page, section or block is gone, and nothing says where it went",
    "moved-referent": "a page, section or block is gone, and it or a redirect is elsewhere",
    "retired-referent": "a page, section or block is gone, and NEW says why",
    "added-referent": "a page or section is new",
    "removed": "a text is gone",
    "added": "a text is new",
    "edited": "a text is another one",
    "moved": "a text is under another page or section",
    "repositioned": "a text is in another place of its section",
    "metadata": "a title, path, address or the like is another one",
    "policy": "the policy or the publication is another one",
}
"""What `--fail-on` can name."""

_EXCERPT = 60
_BEFORE = 30
# Facts that all records share, and of which one change is told, not one for each record.
_TOLD_ONCE = ("publication", "default_lang", "version", "site_url")
_MOVING = ("publication", "default_lang")
_PAGE_FIELDS = ("title", "url", "source", "generated", "furniture", "content", "ids")
_SECTION_FIELDS = ("title", "path", "level", "url", "source", "generated")
_PASSAGE_FIELDS = (
    "kinds",
    "title",
    "path",
    "level",
    "url",
    "generated",
    "page_title",
    "page_url",
    "source",
    "publication",
    "version",
)

Key = tuple[str, str]
"""What a page or section is known by: its referent and its language."""


class Place(NamedTuple):
    """Where something stands in one of the manifests.

    ``url`` is absolute if the manifest knows the address of the site. ``line`` is that of the
    section's heading in ``source``. Only a passage has what follows.
    """

    referent: str
    lang: str
    title: str = ""
    url: str = ""
    source: str = ""
    line: int = 1
    position: int = -1
    chunk_id: str = ""
    text_digest: str = ""
    excerpt: str = ""

    @property
    def key(self) -> Key:
        """What its page or section is known by."""
        return self.referent, self.lang


class Field(NamedTuple):
    """A value that is another one: its ``name``, and what it was and is."""

    name: str
    old: Any
    new: Any


class Marks(NamedTuple):
    """What a change says of markers.

    ``old`` and ``new`` are the ids of the markers of a passage's blocks, ``edited`` those of
    blocks that are in both and have another text. ``within`` is the section or page in which
    a block was.
    """

    old: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    edited: tuple[str, ...] = ()
    within: str = ""


_UNMARKED = Marks()


class Change(NamedTuple):
    """One change: ``kind`` is one of `KINDS`, ``what`` one of `WHATS`.

    ``fields`` are for `metadata`. ``followed``: a redirect of NEW leads from here to there.
    ``opened``: the page or section to which this one has moved is new. ``reason``: why it was
    retired.
    """

    kind: str
    what: str
    old: Place | None
    new: Place | None
    fields: tuple[Field, ...] = ()
    followed: bool = False
    opened: bool = False
    reason: str = ""
    marks: Marks = _UNMARKED

    @property
    def place(self) -> Place:
        """Where it is to be looked for: in NEW, if it is there."""
        place = self.old if self.new is None or self.kind == "moved" else self.new
        assert place is not None
        return place

    @property
    def touched_blocks(self) -> set[tuple[str, str]]:
        """The addresses, each with its language, of the blocks that a change of a passage is of."""
        old, new, edited, _ = self.marks
        stays = {*edited, *(set(old) ^ set(new))} if self.kind == "edited" else {*old, *new}
        pages = {
            (place.referent.partition("#")[0], place.lang)
            for place in (self.old, self.new)
            if place is not None and stays
        }
        return {(f"{page_id}#{STAY_PREFIX}{s}", lang) for page_id, lang in pages for s in stays}

    @property
    def failures(self) -> tuple[str, ...]:
        """Those of `FAILURES` that it is."""
        if self.what == "passage" or self.kind in ("edited", "metadata"):
            if self.marks is _UNMARKED or self.kind != "edited":
                return (self.kind,)
            assert self.old is not None
            return ("edited",) if self.old.key == self.place.key else ("edited", "moved")
        if self.kind != "moved":
            return (f"{self.kind}-referent",)
        found = ["moved-referent"]
        if not self.followed:
            found.append("removed-referent")
        if self.opened:
            found.append("added-referent")
        return tuple(found)


@dataclass(frozen=True)
class Comparison:
    """What has changed between two manifests.

    ``facts`` are values of the whole site; ``moving`` tells that one of them may have moved
    everything, so that only texts were compared. ``notes`` say what could not be told.
    ``passages`` counts those of both. ``default_lang`` is the language that need not be named.
    ``gone`` are the marked blocks that are gone.
    """

    old: str
    new: str
    facts: tuple[Field, ...]
    moving: bool
    notes: tuple[str, ...]
    passages: tuple[int, int]
    default_lang: str
    changes: Sequence[Change] = field(default_factory=tuple)
    gone: frozenset[StayKey] = frozenset()

    def count(self) -> dict[str, dict[str, int]]:
        """Count the changes: what, and then the kind."""
        counts = Counter((change.what, change.kind) for change in self.changes)
        return {what: {kind: counts[what, kind] for kind in KINDS} for what in WHATS}

    def failures(self) -> set[str]:
        """Name those of `FAILURES` that there are."""
        found = {name for change in self.changes for name in change.failures}
        if self.moving:
            found.add("policy")
        elif self.facts:
            found.add("metadata")
        return found


def compare(old: ManifestFile, new: ManifestFile, progress: Progress = SILENT) -> Comparison:
    """Compare two manifests. Raises ManifestError for what cannot be read.

    ``progress`` is told how much of the two files was read.
    """
    with ExitStack() as stack:
        sides = (_Side(each, stack, progress) for each in (old, new))
        return _Diff(*sides).run(progress)


class _Side:
    """One of the two manifests."""

    def __init__(self, manifest: ManifestFile, stack: ExitStack, progress: Progress) -> None:
        self.manifest = manifest
        self._progress = progress
        self.header = manifest.header
        self._stack = stack
        self.part = LINES if self.header is None else "passages"
        self.base = ""
        if self.header is not None:
            site_url = self.header["site_url"]
            self.base = site_url.rstrip("/") + "/" if site_url else ""
            self._publication = Publication(
                self.header["publication"],
                self.header["default_lang"],
                self.header["version"],
                site_url,
            )
            self._pages, self._sections = (
                PageRows(self._open("pages", SILENT)),
                PageRows(self._open("sections", SILENT)),
            )

    def rows(self, part: str) -> Rows:
        return self._open(part, self._progress)

    def _open(self, part: str, progress: Progress) -> Rows:
        return self._stack.enter_context(closing(Rows(self.manifest, part, progress)))

    def first(self) -> Record | None:
        """Give the first passage."""
        with closing(Rows(self.manifest, self.part)) as rows:
            line = rows.advance()
            return None if line is None else rows.parse(line, rows.number - 1)

    def complete(self, page: Page, passages: list[Record]) -> list[Record]:
        """Give passages as lines of ``passages.jsonl``, whichever file they are from."""
        if self.header is None or not passages:
            return passages
        pages, sections = self._pages.read(page), self._sections.read(page)
        lines = []
        for passage in passages:
            referent = passage["referent"]
            page_id, sign, _ = referent.partition("#")
            if page_id not in pages or (sign and referent not in sections):
                raise ManifestError(
                    f"{self.manifest.name} is damaged: {passage['chunk_id']} is a passage of"
                    f" {referent}, which it does not list"
                )
            line = flatten(passage, sections.get(referent), pages[page_id], self._publication)
            line["record_digest"] = passage["record_digest"]
            lines.append(line)
        return lines


class _Diff:
    """The comparison of two manifests."""

    def __init__(self, old: _Side, new: _Side) -> None:
        self.old = old
        self.new = new
        # Only then are sections without a text known, and addresses without that of the site.
        self.listed = old.header is not None and new.header is not None
        self.facts, self.default_lang = self._compare_facts()
        self.moving = any(fact.name not in ("version", "site_url") for fact in self.facts)
        self.told = {fact.name for fact in self.facts}
        self.changes: list[Change] = []
        # Passages, and pages and sections, that only one of the two has.
        self.removed: list[Place] = []
        self.added: list[Place] = []
        self.gone: dict[Key, Place] = {}
        self.fresh: dict[Key, Place] = {}
        # The blocks of pages and sections that only one of the two has, if everything moved.
        # Where texts went, in NEW.
        self._known: dict[Key, Place] = {}
        self.blocks: tuple[dict[Key, tuple[str, ...]], dict[Key, tuple[str, ...]]] = ({}, {})
        # Marked blocks, what is left of sections with such in both, and passages that were
        # paired by them and are in another section now.
        self.marked = Blocks()
        self.left: list[_Left] = []
        self.paired: list[tuple[Place, Place]] = []
        # The markers of passages with such that only one of the two has, by `id`.
        self.stays_of: dict[int, tuple[str, ...]] = {}

    def run(self, progress: Progress) -> Comparison:
        size = sum(side.manifest.path.stat().st_size for side in (self.old, self.new))
        progress.begin("Comparing", size, in_bytes=True)
        if self.listed:
            self._compare_rows("pages", _PAGE_FIELDS)
            self._compare_rows("sections", _SECTION_FIELDS)
        passages = self._compare_passages()
        progress.begin("Looking for what moved")
        gone = self._resolve_blocks()
        self._resolve_left()
        self._resolve_referents(self._match_blocks() if self.moving else self._resolve_passages())
        self.changes.sort(key=_order)
        return Comparison(
            self.old.manifest.name,
            self.new.manifest.name,
            tuple(self.facts),
            self.moving,
            tuple(self._notes()),
            passages,
            self.default_lang,
            self.changes,
            gone,
        )

    # -- the whole site

    def _compare_facts(self) -> tuple[list[Field], str]:
        old, new = self.old.header, self.new.header
        if old is not None and new is not None:
            facts = [
                Field(f"policy.{key}", old["policy"].get(key), new["policy"].get(key))
                for key in dict.fromkeys((*old["policy"], *new["policy"]))
                if key != "digest"
            ]
            facts = [fact for fact in facts if fact.old != fact.new]
            if not facts:
                # Equal in all that this version knows of.
                facts.append(
                    Field("policy.digest", old["policy"]["digest"], new["policy"]["digest"])
                )
            facts += [Field(name, old[name], new[name]) for name in _TOLD_ONCE]
            return [fact for fact in facts if fact.old != fact.new], new["default_lang"]
        first, second = old or self.old.first(), new or self.new.first()
        default_lang = (new or old or second or {}).get("default_lang", "")
        if first is None or second is None:
            return [], default_lang
        names = ("publication", "version")
        facts = [Field(name, first[name] or "", second[name] or "") for name in names]
        return [fact for fact in facts if fact.old != fact.new], default_lang

    def _notes(self) -> Iterator[str]:
        if not self.listed:
            yield (
                "passages.jsonl has no list of pages and sections: those without a text are not"
                " seen, and no policy, redirects or retired sections"
            )
        for side in (self.old, self.new):
            if side.header is not None and not side.header["complete"]:
                yield f"{side.manifest.name} is not complete: it lacks pages that the site has"
            if side.header is not None and side.header["preview"]:
                yield f"{side.manifest.name} was written by a preview"

    # -- pages and sections

    def _compare_rows(self, part: str, names: tuple[str, ...]) -> None:
        id_name = "page_id" if part == "pages" else "referent"
        first_rows, second_rows = self.old.rows(part), self.new.rows(part)
        for group in differences(first_rows, second_rows):
            old = {row[id_name]: row for row in first_rows.read(group.old)}
            new = {row[id_name]: row for row in second_rows.read(group.new)}
            for referent in dict.fromkeys((*old, *new)):
                first, second = old.get(referent), new.get(referent)
                before = _place_row(first, referent, self.old.base) if first else None
                after = _place_row(second, referent, self.new.base) if second else None
                fields = _differing(first, second, names) if first and second else ()
                self._note(before, after, fields)

    def _derive_page(self, group: Group, old: list[Record], new: list[Record]) -> None:
        """Compare a page as far as passages tell of it; ``old`` and ``new`` are one at most."""
        if (old and new) or not group.shared:
            before, after = _place_first(old, _place_page), _place_first(new, _place_page)
            fields: tuple[Field, ...] = ()
            if old and new:
                fields = _differing(_page_row(old[0]), _page_row(new[0]), _PAGE_FIELDS)
            self._note(before, after, fields)

    def _derive_section(self, old: list[Record], new: list[Record], *, shared: bool) -> None:
        """Compare a section as far as its passages tell of it."""
        if (old and new) or not shared:
            before, after = _place_first(old, _place_section), _place_first(new, _place_section)
            fields = _differing(old[0], new[0], _SECTION_FIELDS) if old and new else ()
            self._note(before, after, fields)

    def _note(self, old: Place | None, new: Place | None, fields: tuple[Field, ...]) -> None:
        """Note a page or section that only one of the two has, or that has other values."""
        if old is None and new is not None:
            self.fresh[new.key] = new
        elif new is None and old is not None:
            self.gone[old.key] = old
        elif fields and new is not None:
            self.changes.append(Change("metadata", _what(new.referent), old, new, fields))

    def _resolve_referents(self, elsewhere: Mapping[Key, Key]) -> None:
        """Tell what became of pages and sections; ``elsewhere`` is where their texts went."""
        redirects, retired = _list_old(self.new.header)
        for (referent, lang), place in self.gone.items():
            what = _what(referent)
            target = elsewhere.get((referent, lang))
            redirect = redirects.get(referent)
            if redirect is not None:
                target = (redirect["to"], lang)
            if redirect is None and referent in retired:
                # What is said goes before what is seen: its text may be elsewhere all the same.
                reason = retired[referent]["reason"]
                self.changes.append(Change("retired", what, place, None, reason=reason))
            elif target is not None:
                opened = self.fresh.pop(target, None)
                if opened is not None:
                    self._known[target] = opened
                after = opened or self._known.get(target) or Place(*target)
                self.changes.append(
                    Change(
                        "moved",
                        what,
                        place,
                        after,
                        followed=redirect is not None,
                        opened=opened is not None,
                    )
                )
            else:
                self.changes.append(Change("removed", what, place, None))
        self._resolve_old(redirects, retired)
        for (referent, _), place in self.fresh.items():
            self.changes.append(Change("added", _what(referent), None, place))

    def _resolve_old(self, redirects: Mapping[str, Record], retired: Mapping[str, Record]) -> None:
        """Tell of addresses that were old in OLD already, and that NEW has forgotten."""
        if not self.listed or self.old.header is None:
            return
        lang = self.default_lang
        back = {each.referent for found in self.marked.fresh.values() for each in found.values()}
        rows, gone = _list_old(self.old.header)
        led = set(rows)
        rows |= gone
        for referent, row in rows.items():
            url = self.old.base + row["url"]
            place = Place(referent, lang, url=url)
            if (referent, lang) in self.fresh or referent in redirects or referent in back:
                continue
            if referent not in retired:
                self.changes.append(Change("removed", _what(referent), place, None))
            elif referent in led:
                reason = retired[referent]["reason"]
                self.changes.append(Change("retired", _what(referent), place, None, reason=reason))

    # -- passages

    def _compare_passages(self) -> tuple[int, int]:
        old, new = self.old.rows(self.old.part), self.new.rows(self.new.part)
        for group in differences(old, new):
            if not self.listed:
                first, second = old.read(group.old[:1]), new.read(group.new[:1])
                self._derive_page(
                    group,
                    self.old.complete(group.page, first),
                    self.new.complete(group.page, second),
                )
            self._compare_page(group, old, new)
        return old.number, new.number

    def _compare_page(self, group: Group, old: Rows, new: Rows) -> None:
        # In the order of the two documents, not in that of the sections that they share.
        removed: list[tuple[int, Place]] = []
        added: list[tuple[int, Place]] = []
        marked: _MarkedPage | None = None
        # Of a page that has very many passages, one section at a time is parsed.
        for referent, (first, second) in _by_section(group).items():
            before = self.old.complete(group.page, old.read(first))
            after = self.new.complete(group.page, new.read(second))
            if not self.listed and b"#" in referent:
                self._derive_section(before, after, shared=referent in group.shared)
            if has_stays(before) or has_stays(after):
                marked = marked or _MarkedPage()
                marked.add(before, after)
                if not self.moving:
                    marked.left.append(self._match_marked(before, after))
                    continue
            if self.moving:
                self._compare_blocks(before, after)
            else:
                left = self._match(before, after)
                for rows, lines, found in ((before, first, removed), (after, second, added)):
                    found += [
                        (line.number, _place_passage(row))
                        for row, line in zip(rows, lines, strict=True)
                        if id(row) in left
                    ]
        self.removed += [place for _, place in sorted(removed)]
        self.added += [place for _, place in sorted(added)]
        if marked is not None:
            self._compare_marked(marked)

    # -- passages with markers

    def _compare_marked(self, page: _MarkedPage) -> None:
        """Compare what is left of the sections of a page that have markers."""
        self.marked.compare(page.old, page.new)
        self._tell_pairs(page.left, pair)
        for left in page.left:
            # A marker that only one of the two has here may be in another page.
            if any(map(list_stays, (*left.old, *left.new))):
                self.left.append(left)
            else:
                self._match_left(left)

    def _match_marked(self, old: list[Record], new: list[Record]) -> _Left:
        """Compare the passages of one section by their markers; give those that are left."""
        left = _Left(old, new)
        self._tell_pairs([left], pair)
        at = {(row["text_digest"], row["position"]): row for row in left.new}
        pairs = []
        for row in left.old:
            other = at.get((row["text_digest"], row["position"]))
            if other is not None and may_pair(row, other):
                self._compare_metadata("metadata", row, other)
                pairs.append((row, other))
        _remove([left], pairs)
        return left

    def _tell_pairs(
        self,
        sections: Sequence[_Left],
        find: Callable[[Sequence[Record], Sequence[Record]], list[tuple[Record, Record]]],
    ) -> None:
        """Pair what is left of sections by markers, and tell what became of each passage."""
        old = [row for left in sections for row in left.old]
        new = [row for left in sections for row in left.new]
        pairs = find(old, new)
        for row, other in pairs:
            here = (row["referent"], row["lang"]) == (other["referent"], other["lang"])
            if row["text_digest"] != other["text_digest"]:
                self._tell_edited(row, other)
            elif not here:
                places = _place_passage(row), _place_passage(other)
                marks = _mark(row, other)
                self.changes.append(Change("moved", "passage", *places, marks=marks))
            else:
                same = row["position"] == other["position"]
                self._compare_metadata("metadata" if same else "repositioned", row, other)
            if not here:
                self.paired.append((_place_passage(row), _place_passage(other)))
        _remove(sections, pairs)

    def _tell_edited(self, old: Record, new: Record) -> None:
        start = _differ_at(old["text"], new["text"])
        before, after = _place_passage(old, start), _place_passage(new, start)
        self.changes.append(Change("edited", "passage", before, after, marks=_mark(old, new)))

    def _match_left(self, left: _Left) -> None:
        """Compare what is left of a section once all markers have told what they can."""
        texts: dict[tuple[str, bool], deque[Record]] = defaultdict(deque)
        for row in left.new:
            texts[row["text_digest"], bool(list_stays(row))].append(row)
        pairs = []
        for row in left.old:
            kinds = (False,) if list_stays(row) else (False, True)
            same = next((s for k in kinds if (s := texts.get((row["text_digest"], k)))), None)
            if same:
                pairs.append((row, same.popleft()))
                self._compare_metadata("repositioned", *pairs[-1])
        _remove([left], pairs)
        # In order, but for two that have other markers.
        waiting: tuple[deque[int], deque[int]] = (deque(), deque())
        for number, row in enumerate(left.new):
            waiting[bool(list_stays(row))].append(number)
        pairs = []
        for row in left.old:
            able = [each for each in waiting[: 1 if list_stays(row) else 2] if each]
            if able:
                pairs.append((row, left.new[min(able, key=lambda each: each[0]).popleft()]))
                self._tell_edited(*pairs[-1])
        _remove([left], pairs)
        for rows, found in ((left.old, self.removed), (left.new, self.added)):
            for row in rows:
                place = _place_passage(row)
                found.append(place)
                if stays := list_stays(row):
                    self.stays_of[id(place)] = stays

    def _resolve_left(self) -> None:
        """Compare what is left of sections with markers of which other pages may tell."""
        self._tell_pairs(self.left, pair_across)
        for left in self.left:
            self._match_left(left)
        self.left.clear()

    def _resolve_blocks(self) -> frozenset[StayKey]:
        """Tell what became of the anchors of blocks; give the blocks that are gone."""
        if self.marked.gone:
            self.marked.keep_published(self.new.rows(self.new.part))
        redirects, retired = _list_old(self.new.header)
        for key, place in (*self.marked.gone.items(), *self.marked.unanchored.items()):
            if not place.referent:
                continue
            change = Change("removed", "block", _place_block(place, key), None)
            elsewhere = self.marked.find_elsewhere(key)
            row = redirects.get(place.referent)
            if row is not None:
                known = elsewhere is not None and elsewhere.referent == row["to"]
                new = Place(row["to"], key.lang)
                if known and elsewhere is not None:
                    new = _place_block(elsewhere, key)
                change = change._replace(kind="moved", new=new, followed=True)
            elif place.referent in retired:
                reason = retired[place.referent]["reason"]
                change = change._replace(kind="retired", reason=reason)
            elif elsewhere is not None and elsewhere.referent:
                change = change._replace(kind="moved", new=_place_block(elsewhere, key))
            self.changes.append(change._replace(marks=Marks(within=place.section)))
        gone = self.marked.gone
        return frozenset(key for key in gone if self.marked.find_elsewhere(key) is None)

    # -- passages without

    def _match(self, old: list[Record], new: list[Record]) -> set[int]:
        """Compare the passages of one section that are not the same in both.

        Gives the `id` of those that only one of the two has.
        """
        at = {(row["text_digest"], row["position"]): row for row in new}
        left_old: list[Record] = []
        taken: set[int] = set()
        for row in old:
            other = at.pop((row["text_digest"], row["position"]), None)
            if other is None:
                left_old.append(row)
            else:
                taken.add(id(other))
                self._compare_metadata("metadata", row, other)
        texts: dict[str, deque[Record]] = defaultdict(deque)
        for row in new:
            if id(row) not in taken:
                texts[row["text_digest"]].append(row)
        edited = []
        for row in left_old:
            if texts[row["text_digest"]]:
                other = texts[row["text_digest"]].popleft()
                taken.add(id(other))
                self._compare_metadata("repositioned", row, other)
            else:
                edited.append(row)
        left_new = [row for row in new if id(row) not in taken]
        for row, other in zip(edited, left_new, strict=False):
            start = _differ_at(row["text"], other["text"])
            before, after = _place_passage(row, start), _place_passage(other, start)
            self.changes.append(Change("edited", "passage", before, after))
        return {id(row) for row in edited[len(left_new) :] + left_new[len(edited) :]}

    def _compare_metadata(self, kind: str, old: Record, new: Record) -> None:
        if old["record_digest"] == new["record_digest"]:
            return
        names = [name for name in _PASSAGE_FIELDS if name not in self.told]
        fields = _differing(self._compared(old, self.old), self._compared(new, self.new), names)
        # What all records share is told once.
        if kind == "metadata" and not fields and self.told:
            return
        places = _place_passage(old), _place_passage(new)
        self.changes.append(Change(kind, "passage", *places, fields, marks=_mark(old, new)))

    def _compared(self, row: Record, side: _Side) -> Record:
        """Give a passage without the address of the site, if that is known of both."""
        if not self.listed:
            return row
        urls = {name: row[name].removeprefix(side.base) for name in ("url", "page_url")}
        return {**row, **urls}

    def _resolve_passages(self) -> dict[Key, Key]:
        """Find the texts that moved; give pages and sections of which all texts went to one."""
        waiting: dict[str, deque[Place]] = defaultdict(deque)
        # Of these, one that has markers itself is none.
        marked: dict[str, deque[Place]] = defaultdict(deque)
        for place in self.added:
            (marked if id(place) in self.stays_of else waiting)[place.text_digest].append(place)
        targets: dict[Key, set[Key | None]] = defaultdict(set)
        for place in self.removed:
            same = waiting.get(place.text_digest)
            if not same and marked and id(place) not in self.stays_of:
                same = marked.get(place.text_digest)
            target = same.popleft() if same else None
            kind = "removed" if target is None else "moved"
            marks = self._marks_of(place, target)
            self.changes.append(Change(kind, "passage", place, target, marks=marks))
            self._note_target(place, target, targets)
        for place, target in self.paired:
            self._note_target(place, target, targets)
        for same in (*waiting.values(), *marked.values()):
            self.changes += [
                Change("added", "passage", None, place, marks=self._marks_of(None, place))
                for place in same
            ]
        # A page has all the texts of its sections.
        return {
            key: target
            for key, found in targets.items()
            if len(found) == 1
            for target in found
            if target is not None
        }

    def _marks_of(self, old: Place | None, new: Place | None) -> Marks:
        first, second = (self.stays_of.get(id(place), ()) for place in (old, new))
        return Marks(first, second) if first or second else _UNMARKED

    def _note_target(
        self, place: Place, target: Place | None, targets: dict[Key, set[Key | None]]
    ) -> None:
        """Note where a passage of a page and a section went."""
        for find in (_section_of, _page_of) if "#" in place.referent else (_page_of,):
            found = target and find(target)
            if found:
                self._known.setdefault(found.key, found)
            targets[find(place).key].add(found and found.key)

    # -- passages, when everything moved

    def _compare_blocks(self, old: list[Record], new: list[Record]) -> None:
        """Compare the texts of one section, however they are cut into passages."""
        first, second = _blocks(old), _blocks(new)
        if first == second:
            return
        row = (old or new)[0]
        key = (row["referent"], row["lang"])
        if key in self.gone or key in self.fresh:
            page = (row["page_id"], row["lang"])
            for blocks, found in zip(self.blocks, (first, second), strict=True):
                for each in {key, page}:
                    blocks[each] = (*blocks.get(each, ()), *found)
            return
        texts = ["\n\n".join(row["text"] for row in rows) for rows in (old, new)]
        start = _differ_at(*texts)
        before, after = (
            _section_of(_place_passage((rows or [row])[0]))._replace(excerpt=_cut(text, start))
            for rows, text in zip((old, new), texts, strict=True)
        )
        self.changes.append(Change("edited", _what(row["referent"]), before, after))

    def _match_blocks(self) -> dict[Key, Key]:
        """Find the pages and sections that are there under another name, with the same text."""
        waiting: dict[tuple[bool, tuple[str, ...]], deque[Key]] = defaultdict(deque)
        for key in self.fresh:
            waiting["#" in key[0], self.blocks[1].get(key, ())].append(key)
        found = {}
        for key in self.gone:
            blocks = self.blocks[0].get(key, ())
            same = waiting.get(("#" in key[0], blocks))
            if blocks and same:
                found[key] = same.popleft()
        return found


@dataclass
class _Left:
    """The passages of a section that have not been paired yet."""

    old: list[Record]
    new: list[Record]


@dataclass
class _MarkedPage:
    """The sections of a page that have markers: their blocks, and what is left of them."""

    old: dict[StayKey, BlockPlace] = field(default_factory=dict)
    new: dict[StayKey, BlockPlace] = field(default_factory=dict)
    left: list[_Left] = field(default_factory=list)

    def add(self, old: Iterable[Record], new: Iterable[Record]) -> None:
        """Add the blocks of a section."""
        for found, rows in ((self.old, old), (self.new, new)):
            for row in rows:
                found.update(list_blocks(row))


def _remove(sections: Iterable[_Left], pairs: Sequence[tuple[Record, Record]]) -> None:
    """Take those that were paired out of what is left."""
    paired = {id(row) for both in pairs for row in both}
    for left in sections if paired else ():
        left.old = [row for row in left.old if id(row) not in paired]
        left.new = [row for row in left.new if id(row) not in paired]


def _list_old(header: Record | None) -> tuple[dict[str, Record], dict[str, Record]]:
    """Give the redirects and what is retired, by referent."""
    header = header or {}
    redirects = {row["from"]: row for row in header.get("redirects", ())}
    return redirects, {row["referent"]: row for row in header.get("retired", ())}


def _by_section(group: Group) -> dict[bytes, tuple[list[Line], list[Line]]]:
    sections: dict[bytes, tuple[list[Line], list[Line]]] = {}
    for side, lines in enumerate((group.old, group.new)):
        for line in lines:
            sections.setdefault(line.referent, ([], []))[side].append(line)
    return sections


def _blocks(passages: Iterable[Record]) -> tuple[str, ...]:
    return tuple(block["digest"] for row in passages for block in row["blocks"])


def _what(referent: str) -> str:
    return "section" if "#" in referent else "page"


def _differing(old: Record, new: Record, names: Iterable[str]) -> tuple[Field, ...]:
    fields = [Field(name, old.get(name), new.get(name)) for name in names]
    return tuple(each for each in fields if each.old != each.new)


def _differ_at(old: str, new: str) -> int:
    """Say from where on to show two texts, so that their first difference is seen."""
    low, high = 0, min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        if old[:middle] == new[:middle]:
            low = middle
        else:
            high = middle - 1
    start = max(0, low - _BEFORE)
    # From a whole word on, if there is one.
    return old.find(" ", start, low) + 1 or start if start else 0


def _cut(text: str, start: int = 0) -> str:
    """Cut an excerpt out of a text."""
    end = start + _EXCERPT
    return "…" * (start > 0) + text[start:end] + "…" * (end < len(text))


# -- places


def _place_first(passages: Sequence[Record], place: Callable[[Record], Place]) -> Place | None:
    return place(passages[0]) if passages else None


def _place_section(row: Record) -> Place:
    """Place the section of a passage."""
    return _place_row(row, row["referent"], "")


def _place_row(row: Record, referent: str, base: str) -> Place:
    """Place a page or section: its row, or a passage of it."""
    return Place(
        referent, row["lang"], row["title"], base + row["url"], row["source"], row.get("line", 1)
    )


def _place_page(row: Record) -> Place:
    """Place the page of a passage."""
    return Place(row["page_id"], row["lang"], row["page_title"], row["page_url"], row["source"])


def _page_row(row: Record) -> Record:
    return {"title": row["page_title"], "url": row["page_url"], "source": row["source"]}


def _place_passage(row: Record, start: int = 0) -> Place:
    # Most of it is the same for many passages: there may be a million of them.
    return Place(
        intern(row["referent"]),
        intern(row["lang"]),
        intern(row["title"]),
        intern(row["url"]),
        intern(row["source"]),
        row["line"],
        row["position"],
        row["chunk_id"],
        row["text_digest"],
        _cut(row["text"], start),
    )


def _mark(old: Record, new: Record) -> Marks:
    """Say what there is to say of the markers of two passages."""
    first, second = list_stays(old), list_stays(new)
    if not first and not second:
        return _UNMARKED
    return Marks(first, second, find_edited(old, new))


def _place_block(place: BlockPlace, key: StayKey) -> Place:
    referent = place.referent or place.section
    return Place(referent, key.lang, place.title, place.url, place.source, place.line)


def _section_of(place: Place) -> Place:
    """Give the page or section that a passage is of."""
    return Place(*place[:6])


def _page_of(place: Place) -> Place:
    """Give the page that a passage is of, without a title, which its section does not know."""
    url = place.url.partition("#")[0]
    return Place(place.referent.partition("#")[0], place.lang, "", url, place.source)


def _order(change: Change) -> tuple[int, str, str, int, int]:
    place = change.place
    kind = KINDS.index(change.kind)
    return WHATS.index(change.what), place.referent, place.lang, place.position, kind
