"""What people read of a comparison: one entry for what belongs together, and the words for it."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mkdocs_markstay.diff import KINDS
from mkdocs_markstay.diff_texts import Texts
from mkdocs_markstay.findings import printable
from mkdocs_markstay.progress import SILENT
from mkdocs_markstay.stay_pairs import StayKey

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from mkdocs_markstay.citations import Citations
    from mkdocs_markstay.diff import Change, Comparison, Field, Key, Place
    from mkdocs_markstay.progress import Progress

CAUSES = {
    "broken": "Broken addresses",
    "edited": "Edited",
    "moved": "Moved",
    "repositioned": "Repositioned",
    "metadata": "Metadata",
    "removed": "Removed",
    "added": "Added",
    "retired": "Retired",
}
"""What changes are put together by, the worst first, and what that is called."""

_BROKEN = "removed-referent"
_LINK = re.compile(r"https?://[^\s/\"'<>`\\]+(?:/[^\s\"'<>`\\]*)?", re.IGNORECASE)
_FIELD = re.compile(r"[a-z_]+(?:\.[a-z_]+)?")
_FACTS_SHOWN = 20
_CITATIONS_SHOWN = 20
_STAYS_SHOWN = 3
_VALUE = 80


@dataclass(frozen=True)
class Report:
    """What is to be written: a comparison, and what the command was asked for.

    ``failures`` are those that were found of those asked for. ``affected`` are the
    citations that changes touch; without ``citations`` there are none. ``read`` gives the
    texts of changes in OLD and in NEW, for formats that show more than excerpts, and
    ``progress`` is told how far those are.
    """

    comparison: Comparison
    failures: Sequence[str] = ()
    citations: Citations | None = None
    affected: Sequence[str] = ()
    read: Callable[[Sequence[Change]], tuple[Texts, Texts]] = lambda _: (Texts(), Texts())
    progress: Progress = SILENT


def find_cause(change: Change) -> str:
    """Give the one of `CAUSES` that a change is told under."""
    return "broken" if _BROKEN in change.failures else change.kind


def count_causes(changes: Iterable[Change]) -> dict[str, int]:
    """Count changes by cause, without those that there are none of."""
    counts = Counter(map(find_cause, changes))
    return {cause: counts[cause] for cause in CAUSES if counts[cause]}


def is_link(url: str) -> bool:
    """Tell whether a URL leads to a page, and does nothing else."""
    return url.isprintable() and bool(_LINK.fullmatch(url))


@dataclass
class Entry:
    """One line of the detail: a change, and how many others it stands for."""

    change: Change
    passages: int = 0
    sections: int = 0
    blocks: int = 0
    failures: set[str] = field(default_factory=set)

    @property
    def cause(self) -> str:
        """The one of `CAUSES` that it is told under."""
        return "broken" if _BROKEN in self.failures else self.change.kind

    def add(self, change: Change) -> None:
        """Note that it stands for a change."""
        self.failures.update(change.failures)
        if change is not self.change:
            self.passages += change.what == "passage"
            self.sections += change.what == "section"
            self.blocks += change.what == "block"


class Entries:
    """Puts changes together that say the same of one page or section."""

    def __init__(self, changes: Sequence[Change]) -> None:
        self.entries: list[Entry] = []
        # Pages and sections that only OLD has, and those that only NEW has.
        self._gone: dict[Key, Entry] = {}
        self._fresh: dict[Key, Entry] = {}
        self._others: dict[tuple[str, Key], Entry] = {}
        for change in changes:
            entry = self._find(change)
            if entry is None:
                entry = Entry(change)
                self.entries.append(entry)
                self._remember(change, entry)
            entry.add(change)
        self.entries.sort(key=lambda entry: KINDS.index(entry.change.kind))

    def _find(self, change: Change) -> Entry | None:
        """Find the entry that a change adds nothing to but its number."""
        if change.kind == "removed" and change.old is not None:
            entry = _find_owner(self._gone, change)
            # What moved or was retired speaks for itself, and passages may have gone with it.
            part = change.what in ("passage", "block")
            with_it = ("removed", "retired") if part else ("removed",)
            return entry if entry is not None and entry.change.kind in with_it else None
        if change.kind == "added" and change.new is not None:
            entry = _find_owner(self._fresh, change)
            return entry if entry is not None and entry.change.kind == "added" else None
        if change.kind == "moved" and change.old is not None:
            entry = _find_owner(self._gone, change)
            return entry if entry is not None and _goes_along(change, entry.change) else None
        if change.what == "passage":
            return self._others.get((change.kind, change.place.key))
        return None

    def _remember(self, change: Change, entry: Entry) -> None:
        if change.kind in ("repositioned", "metadata"):
            self._others[change.kind, change.place.key] = entry
        if change.what in ("passage", "block"):
            return
        if change.kind in ("removed", "retired", "moved") and change.old is not None:
            self._gone[change.old.key] = entry
        if (change.kind == "added" or change.opened) and change.new is not None:
            self._fresh[change.new.key] = entry


def _find_owner(known: dict[Key, Entry], change: Change) -> Entry | None:
    """Find the page or section that something is a part of."""
    place = change.old or change.new
    assert place is not None
    page = (place.referent.partition("#")[0], place.lang)
    return known.get((change.marks.within or place.referent, place.lang)) or known.get(page)


def _goes_along(change: Change, owner: Change) -> bool:
    """Tell whether something moved only because its page or section did."""
    if owner.kind != "moved" or not (owner.old and owner.new and change.new):
        return False
    if change.followed and not owner.followed:
        return False
    assert change.old is not None
    rest = change.old.referent.removeprefix(owner.old.referent)
    return change.new.referent == owner.new.referent + rest


class Words:
    """Says what changed. ``name`` writes names, ``quote`` texts, so that nothing in them acts."""

    def __init__(
        self, report: Report, name: Callable[[str], str], quote: Callable[[str], str], arrow: str
    ) -> None:
        self.comparison = report.comparison
        # Languages need not be named if there is one, or for what is in the default one.
        found = {change.place.lang for change in self.comparison.changes}
        self._unnamed = found if len(found) == 1 else {self.comparison.default_lang}
        self.name = name
        self.quote = quote
        self.arrow = arrow

    def head(self, report: Report) -> Iterator[str]:
        """Say what concerns all: the citations, the whole site, what could not be told."""
        if report.citations is not None:
            total = len(report.citations.texts)
            yield f"affects {len(report.affected)} of your {count(total, 'citation')}"
            for text in report.affected[:_CITATIONS_SHOWN]:
                yield f"affected: {self.name(text)}"
            yield from left_out(len(report.affected) - _CITATIONS_SHOWN, "affected citation")
            for text in report.citations.unknown[:_CITATIONS_SHOWN]:
                yield f"neither in OLD nor in NEW: {self.name(text)}"
            left = len(report.citations.unknown) - _CITATIONS_SHOWN
            yield from left_out(left, "unknown citation")
        if self.comparison.facts:
            shown = self.comparison.facts[:_FACTS_SHOWN]
            more = left_out(len(self.comparison.facts) - _FACTS_SHOWN, "value")
            facts = "; ".join((*map(self.field, shown), *more))
            if self.comparison.moving:
                yield f"everything may have moved, and only texts are compared: {facts}"
            else:
                yield f"of all records: {facts}"
        if self.comparison.gone:
            number = len(self.comparison.gone)
            are = "is" if number == 1 else "are"
            yield f"{count(number, 'marked block')} {are} gone"
        for note in self.comparison.notes:
            yield f"note: {self.name(note)}"

    def entry(self, entry: Entry) -> tuple[str, str]:
        """Name the subject of an entry, and say the rest of it."""
        change = entry.change
        place = change.place
        subject = self.subject(place)
        if place.lang not in self._unnamed:
            subject += f" ({self.name(place.lang)})"
        alone = change.what == "passage" and not entry.passages
        if alone:
            subject += f" [{place.position}]"
        parts = [self._tell(change, alone=alone), self._count(entry), self._gone(change)]
        parts = [part for part in parts if part]
        said = ", ".join(parts)
        if change.reason:
            said = f"{said}: {self.name(change.reason)}" if said else self.name(change.reason)
        return subject, said

    def subject(self, place: Place) -> str:
        """Name a page or section."""
        return self.name(place.referent)

    def edit(self, old: Place, new: Place) -> str:
        """Say how a text was edited."""
        return f"{self.quote(old.excerpt)} {self.arrow} {self.quote(new.excerpt)}"

    def _gone(self, change: Change) -> str:
        """Name the marked blocks of a passage that are gone."""
        old = change.old
        if old is None or change.what != "passage":
            return ""
        page_id = old.referent.partition("#")[0]
        gone = [
            s for s in change.marks.old if StayKey(page_id, old.lang, s) in self.comparison.gone
        ]
        left = f" and {len(gone) - _STAYS_SHOWN:,} more" if len(gone) > _STAYS_SHOWN else ""
        names = ", ".join(self.name(f"stay:{stay}") for stay in gone[:_STAYS_SHOWN])
        return f"gone: {names}{left}" if gone else ""

    def field(self, changed: Field) -> str:
        """Say which value is another one."""
        old, new = (self.quote(show_value(value)) for value in (changed.old, changed.new))
        # Of a policy, a manifest may have any names.
        name = changed.name if _FIELD.fullmatch(changed.name) else self.name(changed.name)
        return f"{name} {old} {self.arrow} {new}"

    def _tell(self, change: Change, *, alone: bool) -> str:
        old, new = change.old, change.new
        if old is None or new is None:
            text = change.place.excerpt or change.place.title
            return self.quote(text) if text else ""
        if change.kind == "edited":
            moved = f"from {self.name(old.referent)}: " if old.key != new.key else ""
            return moved + self.edit(old, new)
        if change.kind == "moved":
            position = f" [{new.position}]" if change.what == "passage" else ""
            url = f": {self.name(new.url)}" if new.url else ""
            redirect = f" (redirect{url})" if change.followed else ""
            return f"{self.arrow} {self.name(new.referent)}{position}{redirect}"
        if change.kind == "repositioned":
            return f"from {old.position} to {new.position}" if alone else ""
        if change.what == "passage":
            return ", ".join(each.name for each in change.fields) or "other metadata"
        return "; ".join(map(self.field, change.fields))

    def _count(self, entry: Entry) -> str:
        """Count what the entry stands for, itself included if it is of a passage."""
        own = entry.change.what == "passage"
        passages = entry.passages + own if entry.passages else 0
        counts = [
            (entry.sections, "section"),
            (entry.blocks, "anchor"),
            (passages, "passage"),
        ]
        return " and ".join(count(number, name) for number, name in counts if number)


def show_value(value: Any) -> str:
    """Write a value of a record."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return " > ".join(value)
    return json.dumps(value, ensure_ascii=False)


def count(number: int, name: str) -> str:
    """Give a number and what it counts."""
    return f"{number:,} {name}{'' if number == 1 else 's'}"


def left_out(number: int, name: str) -> Iterator[str]:
    """Say how many are not told, if any."""
    if number > 0:
        yield f"and {count(number, name)} more"


def shorten(text: str) -> str:
    """Put a text on one line, without what a terminal would act on."""
    text = " ".join(text[: 4 * _VALUE].split())
    return printable(text if len(text) <= _VALUE else text[: _VALUE - 1] + "…")


def summarize(comparison: Comparison) -> Iterator[str]:
    """Count the changes of each kind, a line for pages, sections and passages."""
    for what, kinds in comparison.count().items():
        counts = ", ".join(f"{number:,} {kind}" for kind, number in kinds.items() if number)
        if counts:
            yield f"{what}s: {counts}"


def count_passages(comparison: Comparison) -> str:
    """Count the passages of both."""
    old, new = comparison.passages
    return f"{count(old, 'passage')} in OLD, {new:,} in NEW"
