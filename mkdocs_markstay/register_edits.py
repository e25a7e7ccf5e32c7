"""Changes of the register: what is new is added, what moved or went is said to have.

Every function changes the entries of a register that was read without contradictions, and
raises RefusedError, the register being as it was, if what it is asked to say is not true.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mkdocs_markstay.nearest import TOO_MANY
from mkdocs_markstay.published_places import list_homes
from mkdocs_markstay.register import BLOCK, LIVE, MOVED, NAME, RETIRED, Entry
from mkdocs_markstay.sectionids import show

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mkdocs_markstay.published_places import PublishedPlace
    from mkdocs_markstay.register import Register


class RefusedError(Exception):
    """The register is not changed. The message is for a person, and says what to do."""


@dataclass
class Changes:
    """What was changed: the referents that were added, changed, and left as they are."""

    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)


def settle(register: Register, places: Mapping[str, PublishedPlace]) -> int:
    """Leave one of two lines that merging has left; count the others.

    A page keeps all of its old paths. What is published, and said to be gone by one of its
    lines, keeps both: somebody has to decide.
    """
    left = []
    for number, double in register.doubles:
        entry = register.entries[double.referent]
        if entry.state != double.state and double.referent in places:
            left.append((number, double))
        else:
            paths = tuple(dict.fromkeys((*entry.paths, *double.paths)))
            register.entries[double.referent] = entry._replace(paths=paths)
    count = len(register.doubles) - len(left)
    register.doubles = left
    return count


def update(
    register: Register, places: Mapping[str, PublishedPlace], digests: Mapping[str, str]
) -> Changes:
    """Add what is published and not in the register; note new titles and paths of pages.

    ``digests`` are those of the sections' texts, by referent. What is published no more
    stays as it is.
    """
    changes = Changes()
    for referent, place in places.items():
        before = register.entries.get(referent)
        after = _make_live(before, place, digests.get(referent, ""))
        if before is None:
            changes.added.append(referent)
        elif before.state != LIVE:
            continue  # the register says that it went: somebody has to decide
        elif (
            before.title == after.title
            and before.paths == after.paths
            and before.of_block == after.of_block
        ):
            continue
        else:
            changes.changed.append(referent)
        register.entries[referent] = after
    return changes


def follow(
    register: Register, followed: Mapping[str, str], places: Mapping[str, PublishedPlace]
) -> Changes:
    """Say of blocks that they are where their markers are; ``followed`` maps old to new."""
    changes = Changes()
    for old, new in followed.items():
        if old == new:
            register.entries[old] = _make_live(register.entries[old], places[new], "")
            changes.changed.append(old)
        else:
            register.lines.setdefault(new, register.lines.get(old, 1))
            _move(register, register.entries[old], new, places, {}, changes)
    return changes


def move(
    register: Register,
    old: str,
    new: str,
    places: Mapping[str, PublishedPlace],
    digests: Mapping[str, str],
) -> Changes:
    """Say that what was published as ``old`` is now ``new``.

    With a page go those of its sections that are new sections of the new page, by the same
    ids; others are left.
    """
    if old == new:
        raise RefusedError(f"{show(old)} cannot move to itself")
    entry = _find_gone(register, old, places, "Move it in the sources first")
    if new not in places:
        raise RefusedError(f"{show(new)} is not published by this site, so nothing can lead there")
    check_target(register, old, new)
    changes = Changes()
    _move(register, entry, new, places, digests, changes)
    if not entry.section_id:
        page_id = new.partition("#")[0]
        for section in register.sections_of(old):
            target = f"{page_id}#{section.section_id}"
            if section.state != LIVE or section.referent in places:
                continue
            if target in places and _came_along(register, section, target, digests):
                _move(register, section, target, places, digests, changes)
            else:
                changes.left.append(section.referent)
    return changes


def retire(
    register: Register,
    referent: str,
    reason: str,
    places: Mapping[str, PublishedPlace],
    digests: Mapping[str, str],
) -> Changes:
    """Say that something is gone for good, and why; with a page go the sections it had still.

    Sections of a page whose text is published elsewhere are left, and so are blocks whose
    markers are: they seem to have moved.
    """
    reason = _read_reason(reason)
    retired = [_find_gone(register, referent, places, "Take it out of the sources first")]
    changes = Changes()
    counts = Counter(digests.values())
    homes = list_homes(places)
    for section in () if retired[0].section_id else register.sections_of(referent):
        if section.state == LIVE and section.referent not in places:
            copied = section.of_block and section.section_id in homes
            if copied or (section.digest and 0 < counts[section.digest] < TOO_MANY):
                changes.left.append(section.referent)
            else:
                retired.append(section)
    for each in retired:
        register.entries[each.referent] = each._replace(state=RETIRED, detail=reason, digest="")
        changes.changed.append(each.referent)
    return changes


def retire_blocks(
    register: Register, page_id: str, reason: str, places: Mapping[str, PublishedPlace]
) -> Changes:
    """Say that all blocks that are gone, of a page or ("") of the site, are gone for good."""
    reason = _read_reason(reason)
    gone = find_gone_blocks(register, places)
    if page_id:
        gone = [entry for entry in gone if entry.page_id == page_id]
    if not gone:
        of_page = f" of {show(page_id)}" if page_id else ""
        raise RefusedError(f"no anchor of a block{of_page} is missing")
    for entry in gone:
        register.entries[entry.referent] = entry._replace(state=RETIRED, detail=reason, digest="")
    return Changes(changed=[entry.referent for entry in gone])


def find_gone_blocks(register: Register, places: Mapping[str, PublishedPlace]) -> list[Entry]:
    """Find the anchors of blocks that the register says to be published and that are not."""
    entries = register.entries.values()
    return [e for e in entries if e.state == LIVE and e.of_block and e.referent not in places]


def _read_reason(reason: str) -> str:
    reason = " ".join(reason.split())
    if not reason:
        raise RefusedError("a reason is what readers of the old address will see. Write one")
    return reason


def restore(
    register: Register,
    referent: str,
    places: Mapping[str, PublishedPlace],
    digests: Mapping[str, str],
) -> Changes:
    """Say that something is back that had moved or was retired; with a page come its sections."""
    if referent not in register.entries:
        raise RefusedError(f"{show(referent)} is not in {NAME}, so it was never gone")
    if referent not in places:
        raise RefusedError(f"{show(referent)} is not published. Put it back in the sources first")
    changes = Changes()
    entries = [register.entries[referent]]
    if not entries[0].section_id:
        entries += register.sections_of(referent)
    for entry in entries:
        place = places.get(entry.referent)
        if entry.state != LIVE and place is not None:
            digest = digests.get(entry.referent, "")
            register.entries[entry.referent] = _make_live(entry, place, digest)
            changes.changed.append(entry.referent)
    if not changes.changed:
        raise RefusedError(f"{show(referent)} is live already")
    return changes


def rename(
    register: Register,
    pages: Iterable[str],
    old: str,
    new: str,
    places: Mapping[str, PublishedPlace],
    digests: Mapping[str, str],
) -> Changes:
    """Say that the section id ``old`` of these pages is ``new`` now, as ``places`` has it.

    `check_target` says before whether that can be.
    """
    changes = Changes()
    for page_id in pages:
        entry = register.entries.get(f"{page_id}#{old}")
        target = f"{page_id}#{new}"
        if entry is None:
            entry = Entry(f"{page_id}#{old}", LIVE, places[target].title)
        # The text is what it was.
        same = {target: digests.get(entry.referent, "")}
        _move(register, entry, target, places, same, changes)
    return changes


def check_target(register: Register, old: str, new: str) -> None:
    """Raise RefusedError if ``new`` is itself an old address, of something else than ``old``."""
    if not is_free(register, old, new):
        entry = register.entries[new]
        became = f"moved to {show(entry.detail)}" if entry.state == MOVED else "was retired"
        raise RefusedError(
            f"{show(new)} is an old address: it {became}, as {NAME} says. Choose another id"
        )


def _came_along(
    register: Register, section: Entry, target: str, digests: Mapping[str, str]
) -> bool:
    """Whether a section of a page that moved is the one with its id in the new page."""
    there = register.entries.get(target)
    if there is None or there.state != LIVE:
        return is_free(register, section.referent, target)
    # The new page had a section with this id before.
    if section.of_block and there.of_block:
        return True
    return bool(section.digest) and section.digest == digests.get(target)


def is_free(register: Register, old: str, new: str) -> bool:
    """Whether ``new`` is not itself an old address, of something else than ``old``."""
    entry = register.entries.get(new)
    if entry is None or entry.state == LIVE:
        return True
    end = register.follow(new)  # renamed back
    return end is not None and end.referent == old


def _find_gone(
    register: Register, referent: str, places: Mapping[str, PublishedPlace], repair: str
) -> Entry:
    entry = register.entries.get(referent)
    place = places.get(referent)
    if place is not None:
        raise RefusedError(
            f"{show(referent)} is still published, by {place.path}:{place.line}. {repair}"
        )
    if entry is None:
        raise RefusedError(
            f"{show(referent)} is not in {NAME}, so it has no old address to keep. Referents are"
            " written as there: guide/install#setup"
        )
    return entry


def _move(
    register: Register,
    entry: Entry,
    new: str,
    places: Mapping[str, PublishedPlace],
    digests: Mapping[str, str],
    changes: Changes,
) -> None:
    target = register.entries.get(new)
    if target is None or target.state != LIVE:
        register.entries[new] = _make_live(target, places[new], digests.get(new, ""))
        changes.added.append(new)
    moved = entry._replace(state=MOVED, detail=new, digest="")
    register.entries[entry.referent] = moved
    changes.changed.append(entry.referent)


def _make_live(before: Entry | None, place: PublishedPlace, digest: str) -> Entry:
    if place.section_id:
        digest = BLOCK if place.stay else digest
        return Entry(place.referent, LIVE, place.title, digest=digest)
    paths = dict.fromkeys((place.site_path, *(before.paths if before is not None else ())))
    return Entry(place.referent, LIVE, place.title, paths=tuple(paths))
