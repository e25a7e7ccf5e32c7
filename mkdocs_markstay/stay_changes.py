"""What became of the markers of a docs folder since a revision: dropped, doubled, relocated.

Which version of which file a file is compared with, and what counts as what, is markstay's.
Here the versions are read, and it is found out in which line a person has to look.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from markstay import CommitEntry, check_entries

from mkdocs_markstay.findings import Finding, name_path
from mkdocs_markstay.git_command import list_changes, read_blob
from mkdocs_markstay.page_source import decode, split_front_matter
from mkdocs_markstay.stays import read_markers

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from pathlib import Path

    from mkdocs_markstay.git_command import Change
    from mkdocs_markstay.stays import Marker, SourceBlock

_FOR_GOOD = (
    " If {} gone for good, retire its anchor, or set findings: {{{{stay-dropped: warning}}}}"
)
_DROPPED = (
    "the marker stay:{id} was in {where} at {revision} (line {line}) and is gone. Put it back below"
    " its block: {raw}." + _FOR_GOOD.format("the block is")
)
_DELETED = (
    "this file was deleted, and no other one has its markers of {revision}: {ids}. Put them back"
    " below their blocks." + _FOR_GOOD.format("a block is")
)
_RELOCATED = (
    "the marker stay:{id} is on the block that had stay:{other} at {revision}. Put each marker back"
    " below its own block"
)
_DUPLICATE = "the marker stay:{id} is there {count} times, and was there once at {revision}"
_COPY = ". If this is a copy, run: {stamp} --stays --repair {path} --write"
_MANY_DROPPED = (
    "{count} markers were in {where} at {revision} and are gone: {ids}, ... Put them back below"
    " their blocks." + _FOR_GOOD.format("a block is")
)
_LISTED, _MANY = 6, 10

_DROP_CODES = ("DROPPED_ID", "DROPPED_CHILD_ID", "CHILD_DROPPED")
_SUFFIXES = (".md", ".markdown")


def find_changes(
    docs: Path, revision: str, segmentation: str, stamp: str, retired: Collection[str] = ()
) -> list[Finding]:
    """Find the markers that were dropped, doubled or relocated since a revision.

    ``docs`` is a folder in a working tree of git, whose Markdown files are compared with what
    they were; ``segmentation`` is one of `stays.SEGMENTATIONS`, ``stamp`` the command that
    stamps the site, "" if none can. ``retired`` are the ids of markers that may be gone.
    Raises GitError.
    """
    versions = (_read_versions(docs, revision, each) for each in list_changes(docs, revision))
    entries = [entry for entry in versions if entry is not None]

    def show(name: str) -> str:
        return name_path(docs / name)

    return compare_versions(entries, revision, segmentation, stamp, show, retired)


def _read_versions(docs: Path, revision: str, change: Change) -> CommitEntry | None:
    """Read both versions of a file, None if neither is Markdown."""
    status, old, new = change
    before = after = None
    if status not in "AC" and old.endswith(_SUFFIXES):
        before, _ = decode(read_blob(docs, revision, old), "")
    if status != "D" and new.endswith(_SUFFIXES):
        try:
            after, _ = decode((docs / new).read_bytes(), "")
        except OSError:  # it cannot be read, or is a folder or a broken link by now
            after = ""
    if after is None:
        return None if before is None else CommitEntry("D", old, old, before, None)
    if before is None:
        return CommitEntry("A", new, new, None, after)
    return CommitEntry(status, old, new, before, after)


def compare_versions(
    entries: Sequence[CommitEntry],
    revision: str,
    segmentation: str,
    stamp: str,
    show: Callable[[str], str],
    retired: Collection[str] = (),
) -> list[Finding]:
    """Find what became of the markers of files, given in both versions, with line feeds only.

    ``show`` names a file so that a person can open it; ``retired`` are ids that may be gone.
    """
    short = [shorten(entry, segmentation) for entry in entries]
    checked = check_entries(short, mode=segmentation, child_blocks=True)
    before = {entry.src: entry.before or "" for entry in entries}
    after = {entry.dst: entry.after for entry in entries if entry.after is not None}
    # A report names its file, and what that is compared with if that is another one.
    pairs = {}
    for name, origin in checked.pairings:
        pairs[name] = pairs[f"{name} (baseline {origin})"] = (name, origin)
    findings: list[Finding] = []
    for label, reported in checked.reports:
        name, origin = pairs[label]
        if origin is not None:
            comparison = _Comparison(
                _Version(before[origin], segmentation),
                _Version(after[name], segmentation),
                show(name),
                "this file" if origin == name else show(origin),
                revision,
                stamp,
            )
            codes = ((each.code, each.id or "") for each in reported)
            findings += comparison.tell(
                (code, stay_id)
                for code, stay_id in codes
                if code not in _DROP_CODES or stay_id not in retired
            )
    claimed = {origin for _, origin in checked.pairings}
    deleted = [e for e in entries if e.after is None and e.src not in claimed]
    if deleted:
        findings += _tell_deleted(deleted, after.values(), revision, segmentation, show, retired)
    return findings


def shorten(entry: CommitEntry, segmentation: str) -> CommitEntry:
    """Leave out of both versions of a file what is the same in them and tells nothing.

    The time that markstay takes grows with the square of the number of markers.
    """
    if entry.before is None or entry.after is None:
        return entry
    old, new = _Version(entry.before, segmentation), _Version(entry.after, segmentation)
    counts = [Counter(map(_sign, version.blocks)) for version in (old, new)]
    same = {sign for sign, count in counts[0].items() if count == 1 == counts[1][sign]}
    changed = [b for version in (old, new) for b in version.blocks if _sign(b) not in same]
    hashes = {block.body_hash for block in changed}
    ids = {marker.id for block in changed for marker in _markers_of(block)}

    def is_needed(block: SourceBlock) -> bool:
        return (
            _sign(block) not in same
            or block.body_hash in hashes
            or any(marker.id in ids for marker in _markers_of(block))
        )

    return replace(entry, before=old.shorten(is_needed), after=new.shorten(is_needed))


def _markers_of(block: SourceBlock) -> tuple[Marker, ...]:
    return (*block.markers, *(child.marker for child in block.children))


def _sign(block: SourceBlock) -> tuple[str, ...]:
    return (block.body_hash, *(marker.raw for marker in _markers_of(block)))


def _tell_deleted(
    deleted: Iterable[CommitEntry],
    after: Iterable[str],
    revision: str,
    segmentation: str,
    show: Callable[[str], str],
    retired: Collection[str],
) -> Iterator[Finding]:
    """Tell the markers of files that are gone, as far as none of the others has them now."""
    present = {stay_id for text in after for stay_id in _Version(text, segmentation).markers}
    present.update(retired)
    for entry in deleted:
        markers = _Version(entry.before or "", segmentation).markers
        ids = [stay_id for stay_id in markers if stay_id not in present]
        if ids:
            shown = ", ".join(ids[:_LISTED]) + (", ..." if len(ids) > _LISTED else "")
            message = _DELETED.format(revision=revision, ids=shown)
            yield Finding(show(entry.src), 1, "stay-dropped", message)


class _Version:
    """The blocks of a file, and its markers by their ids; lines count from 1."""

    def __init__(self, text: str, segmentation: str) -> None:
        front_matter, _, body = split_front_matter(text)
        text = "\n" * front_matter.count("\n") + body
        self.lines = text.split("\n")
        read = read_markers(text, segmentation)
        self.blocks = read.blocks
        self.markers: dict[str, list[Marker]] = defaultdict(list)
        self.block_of: dict[str, SourceBlock] = {}
        for marker in read.markers():
            self.markers[marker.id].append(marker)
        for block in self.blocks:
            for marker in _markers_of(block):
                self.block_of.setdefault(marker.id, block)

    def shorten(self, is_needed: Callable[[SourceBlock], bool]) -> str:
        """Give the text with a point in the place of each block that is not needed.

        What may begin or end code is needed always.
        """
        firsts = [block.first - 1 for block in self.blocks] + [len(self.lines)]
        parts = self.lines[: firsts[0]]
        for block, (first, end) in zip(self.blocks, pairwise(firsts), strict=True):
            lines = self.lines[first:end]
            fenced = any("```" in line or "~~~" in line for line in lines)
            parts += lines if fenced or is_needed(block) else ["", ".", ""]
        return "\n".join(parts)

    def id_on(self, body_hash: str) -> str:
        """Give the id on the first block with that hash, "" if there is none."""
        on = (b.markers[0].id for b in self.blocks if b.body_hash == body_hash and b.markers)
        return next(on, "")


class _Comparison(NamedTuple):
    """A file in two versions: its path, that of the old one, and the revision of that."""

    old: _Version
    new: _Version
    path: str
    where: str
    revision: str
    stamp: str

    def tell(self, codes: Iterable[tuple[str, str]]) -> Iterator[Finding]:
        """Say in words, and with a line, what markstay found: its codes, each with an id.

        What only markstay takes for a marker, because readers see it, is none.
        """
        old, new, revision = self.old, self.new, self.revision
        codes = list(codes)
        dropped = [
            stay_id
            for code, stay_id in codes
            if code in _DROP_CODES and stay_id in old.markers and stay_id not in new.markers
        ]
        if len(dropped) > _MANY:
            codes = [(code, stay_id) for code, stay_id in codes if code not in _DROP_CODES]
            shown = ", ".join(dropped[:_LISTED])
            message = _MANY_DROPPED.format(
                count=len(dropped), where=self.where, revision=revision, ids=shown
            )
            yield Finding(self.path, 1, "stay-dropped", message)
        for code, stay_id in codes:
            now = new.markers.get(stay_id, [])
            if code in _DROP_CODES and stay_id in old.markers and not now:
                gone = old.markers[stay_id][0]
                message = _DROPPED.format(
                    id=stay_id, where=self.where, revision=revision, line=gone.line, raw=gone.raw
                )
                yield Finding(self.path, self.find_place(stay_id), "stay-dropped", message)
            elif code == "RELOCATED_ID" and stay_id in new.block_of:
                other = old.id_on(new.block_of[stay_id].body_hash)
                message = _RELOCATED.format(id=stay_id, other=other, revision=revision)
                yield Finding(self.path, now[0].line, "stay-relocated", message)
            elif code == "DUPLICATED_ID" and len(now) > 1 and len(old.markers[stay_id]) == 1:
                message = _DUPLICATE.format(id=stay_id, count=len(now), revision=revision)
                if self.stamp:
                    message += _COPY.format(stamp=self.stamp, path=self.path)
                yield Finding(self.path, now[1].line, "stay-duplicate", message)

    def find_place(self, stay_id: str) -> int:
        """Find the line where the block of a marker is or was, as near as can be told."""
        block = self.old.block_of.get(stay_id)
        if block is None:
            return 1
        same = [each for each in self.new.blocks if each.body_hash == block.body_hash]
        if same:
            return next((each.last for each in same if not each.markers), same[0].last)
        # Else behind the nearest block above that is still there.
        there = {each.body_hash: each.last for each in reversed(self.new.blocks)}
        for above in reversed(self.old.blocks[: self.old.blocks.index(block)]):
            for marker in above.markers:
                if marker.id in self.new.block_of:
                    return self.new.block_of[marker.id].last
            if above.body_hash in there:
                return there[above.body_hash]
        return 1
