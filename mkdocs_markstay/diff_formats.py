"""A comparison of two manifests, written for people and for other programs."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mkdocs_markstay.diff import KINDS
from mkdocs_markstay.findings import printable
from mkdocs_markstay.formats import write_command
from mkdocs_markstay.stay_pairs import StayKey

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mkdocs_markstay.citations import Citations
    from mkdocs_markstay.diff import Change, Comparison, Field, Key, Place

FORMATS = ("text", "json", "markdown", "github")
"""How a comparison can be written."""

_SCHEMA = 1
_TOOL = "mkdocs-markstay"
# So many entries are told one by one, the worst first. GitHub refuses comments of more than
# 65,536 characters, and shows ten annotations of each level.
_SHOWN = {"text": 500, "markdown": 200, "github": 50}
_COMMENT = 55_000
_CITATIONS_SHOWN = 20
_STAYS_SHOWN = 3
_VALUE = 80
_PLAIN = frozenset(" -/")


@dataclass(frozen=True)
class Report:
    """What is to be written: a comparison, and what the command was asked for.

    ``failures`` are those that were found of those asked for. ``affected`` are the
    citations that changes touch; without ``citations`` there are none.
    """

    comparison: Comparison
    failures: Sequence[str] = ()
    citations: Citations | None = None
    affected: Sequence[str] = ()


def write_report(report: Report, style: str, version: str, docs: str = "docs") -> Iterator[str]:
    """Write a report in one of `FORMATS`, in parts that end with a line each.

    ``version`` is that of this package; ``docs`` is the folder of the sources, for `github`.
    The form of `json` is described in ``docs/diff.md``.
    """
    if style == "json":
        yield from _write_json(report, version)
    elif style == "markdown":
        yield from _write_markdown(report)
    elif style == "github":
        yield from _write_github(report, docs)
    else:
        yield from _write_text(report)


# -- what people read: one entry for what belongs together


@dataclass
class _Entry:
    """One line of the detail: a change, and how many others it stands for."""

    change: Change
    passages: int = 0
    sections: int = 0
    blocks: int = 0
    failures: set[str] = field(default_factory=set)

    def add(self, change: Change) -> None:
        self.failures.update(change.failures)
        if change is not self.change:
            self.passages += change.what == "passage"
            self.sections += change.what == "section"
            self.blocks += change.what == "block"


class _Entries:
    """Puts changes together that say the same of one page or section."""

    def __init__(self, changes: Sequence[Change]) -> None:
        self.entries: list[_Entry] = []
        # Pages and sections that only OLD has, and those that only NEW has.
        self._gone: dict[Key, _Entry] = {}
        self._fresh: dict[Key, _Entry] = {}
        self._others: dict[tuple[str, Key], _Entry] = {}
        for change in changes:
            entry = self._find(change)
            if entry is None:
                entry = _Entry(change)
                self.entries.append(entry)
                self._remember(change, entry)
            entry.add(change)
        self.entries.sort(key=lambda entry: KINDS.index(entry.change.kind))

    def _find(self, change: Change) -> _Entry | None:
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

    def _remember(self, change: Change, entry: _Entry) -> None:
        if change.kind in ("repositioned", "metadata"):
            self._others[change.kind, change.place.key] = entry
        if change.what in ("passage", "block"):
            return
        if change.kind in ("removed", "retired", "moved") and change.old is not None:
            self._gone[change.old.key] = entry
        if (change.kind == "added" or change.opened) and change.new is not None:
            self._fresh[change.new.key] = entry


def _find_owner(known: dict[Key, _Entry], change: Change) -> _Entry | None:
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


class _Words:
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
            yield f"affects {len(report.affected)} of your {_count(total, 'citation')}"
            for text in report.affected[:_CITATIONS_SHOWN]:
                yield f"affected: {self.name(text)}"
            yield from _left_out(len(report.affected) - _CITATIONS_SHOWN, "affected citation")
            for text in report.citations.unknown[:_CITATIONS_SHOWN]:
                yield f"neither in OLD nor in NEW: {self.name(text)}"
            left = len(report.citations.unknown) - _CITATIONS_SHOWN
            yield from _left_out(left, "unknown citation")
        if self.comparison.facts:
            facts = "; ".join(map(self.field, self.comparison.facts))
            if self.comparison.moving:
                yield f"everything may have moved, and only texts are compared: {facts}"
            else:
                yield f"of all records: {facts}"
        if self.comparison.gone:
            number = len(self.comparison.gone)
            are = "is" if number == 1 else "are"
            yield f"{_count(number, 'marked block')} {are} gone"
        for note in self.comparison.notes:
            yield f"note: {self.name(note)}"

    def entry(self, entry: _Entry) -> tuple[str, str]:
        """Name the subject of an entry, and say the rest of it."""
        change = entry.change
        place = change.place
        subject = self.name(place.referent)
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
        old, new = (self.quote(_show_value(value)) for value in (changed.old, changed.new))
        return f"{changed.name} {old} {self.arrow} {new}"

    def _tell(self, change: Change, *, alone: bool) -> str:
        old, new = change.old, change.new
        if old is None or new is None:
            text = change.place.excerpt or change.place.title
            return self.quote(text) if text else ""
        if change.kind == "edited":
            moved = f"from {self.name(old.referent)}: " if old.key != new.key else ""
            return f"{moved}{self.quote(old.excerpt)} {self.arrow} {self.quote(new.excerpt)}"
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

    def _count(self, entry: _Entry) -> str:
        """Count what the entry stands for, itself included if it is of a passage."""
        own = entry.change.what == "passage"
        passages = entry.passages + own if entry.passages else 0
        counts = [
            (entry.sections, "section"),
            (entry.blocks, "anchor"),
            (passages, "passage"),
        ]
        return " and ".join(_count(number, name) for number, name in counts if number)


def _show_value(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return " > ".join(value)
    return json.dumps(value, ensure_ascii=False)


def _count(number: int, name: str) -> str:
    return f"{number:,} {name}{'' if number == 1 else 's'}"


def _left_out(number: int, name: str) -> Iterator[str]:
    if number > 0:
        yield f"and {_count(number, name)} more"


def _shorten(text: str) -> str:
    """Put a text on one line, without what a terminal would act on."""
    text = " ".join(text[: 4 * _VALUE].split())
    return printable(text if len(text) <= _VALUE else text[: _VALUE - 1] + "…")


def _summarize(comparison: Comparison) -> Iterator[str]:
    """Count the changes of each kind, a line for pages, sections and passages."""
    for what, kinds in comparison.count().items():
        counts = ", ".join(f"{number:,} {kind}" for kind, number in kinds.items() if number)
        if counts:
            yield f"{what}s: {counts}"


def _totals(comparison: Comparison) -> str:
    old, new = comparison.passages
    return f"{_count(old, 'passage')} in OLD, {new:,} in NEW"


# -- text


def _write_text(report: Report) -> Iterator[str]:
    comparison = report.comparison
    words = _Words(report, printable, lambda text: f"'{_shorten(text)}'", "->")
    for line in words.head(report):
        yield f"{line}\n"
    if not comparison.changes:
        yield f"no changes ({_totals(comparison)})\n"
        return
    for line in _summarize(comparison):
        yield f"{line}\n"
    yield f"({_totals(comparison)})\n"
    entries = _Entries(comparison.changes).entries
    for entry in entries[: _SHOWN["text"]]:
        subject, detail = words.entry(entry)
        yield f"{entry.change.kind:<12} {subject}  {detail}".rstrip() + "\n"
    for line in _left_out(len(entries) - _SHOWN["text"], "line"):
        yield f"{line} (--format json has all)\n"


# -- Markdown


def _escape(text: str) -> str:
    """Write a text so that neither Markdown nor GitHub finds anything in it."""
    escaped = "".join(
        char if char.isalnum() or char in _PLAIN or not char.isascii() else f"&#{ord(char)};"
        for char in printable(text)
    )
    return f"<code>{escaped}</code>"


def _write_counts(comparison: Comparison) -> Iterator[str]:
    for what, kinds in comparison.count().items():
        # Most sites have no anchors of blocks.
        if what != "block" or any(kinds.values()):
            counts = " | ".join(f"{kinds[kind]:,}" if kinds[kind] else "" for kind in KINDS)
            yield f"| {what}s | {counts} |\n"


def _write_markdown(report: Report) -> Iterator[str]:
    comparison = report.comparison
    words = _Words(report, _escape, lambda text: _escape(_shorten(text)), "→")
    for line in words.head(report):
        yield f"{line}\n\n"
    if not comparison.changes:
        yield f"No changes ({_totals(comparison)}).\n"
        return
    yield f"| | {' | '.join(KINDS)} |\n|---|{'---:|' * len(KINDS)}\n"
    yield from _write_counts(comparison)
    yield f"\n{_totals(comparison)}.\n"
    entries = _Entries(comparison.changes).entries
    kind, room, shown = "", _COMMENT, 0
    for entry in entries[: _SHOWN["markdown"]]:
        subject, detail = words.entry(entry)
        line = f"- {subject} {detail}".rstrip() + "\n"
        room -= len(line)
        if room < 0:
            break
        if entry.change.kind != kind:
            if kind:
                yield "\n</details>\n"
            kind = entry.change.kind
            yield f"\n<details><summary>{kind}</summary>\n\n"
        yield line
        shown += 1
    if kind:
        yield "\n</details>\n"
    for line in _left_out(len(entries) - shown, "line"):
        yield f"\n{line}.\n"


# -- GitHub


def _write_github(report: Report, docs: str) -> Iterator[str]:
    comparison = report.comparison
    words = _Words(report, printable, lambda text: f"'{_shorten(text)}'", "->")
    head = [*words.head(report), *_summarize(comparison)]
    if not comparison.changes:
        head.append(f"no changes ({_totals(comparison)})")
    entries = _Entries(comparison.changes).entries
    head += _left_out(len(entries) - _SHOWN["github"], "annotation")
    worst = "error" if report.failures else "info"
    yield write_command(worst, {"title": _TOOL}, "\n".join(head)) + "\n"
    for entry in entries[: _SHOWN["github"]]:
        subject, detail = words.entry(entry)
        level = "info"
        if entry.failures.intersection(report.failures):
            level = "error"
        elif "removed-referent" in entry.failures:
            level = "warning"
        # What moved has no file where it was.
        place = entry.change.new or entry.change.place
        properties = {"title": entry.change.kind}
        if place.source:
            file = f"{docs.rstrip('/')}/{place.source}" if docs not in ("", ".") else place.source
            properties = {"file": file, "line": str(place.line), **properties}
        message = f"{entry.change.kind}: {subject} {detail}".rstrip()
        yield write_command(level, properties, message) + "\n"


# -- JSON


def _write_json(report: Report, version: str) -> Iterator[str]:
    comparison, citations = report.comparison, report.citations
    head: dict[str, Any] = {
        "schema": _SCHEMA,
        "generator": {"name": _TOOL, "version": version},
        "old": {"name": comparison.old, "passages": comparison.passages[0]},
        "new": {"name": comparison.new, "passages": comparison.passages[1]},
        "moving": comparison.moving,
        "facts": _make_fields(comparison.facts),
        "notes": list(comparison.notes),
        "citations": citations
        and {
            "total": len(citations.texts),
            "affected": list(report.affected),
            "unknown": list(citations.unknown),
        },
        "gone_stays": [each._asdict() for each in sorted(comparison.gone)],
        "summary": comparison.count(),
        "failures": list(report.failures),
    }
    lines = [f"  {json.dumps(key)}: {_dump(value)}" for key, value in head.items()]
    yield "{\n" + ",\n".join(lines) + ',\n  "changes": ['
    separator = "\n"
    for change in comparison.changes:
        yield f"{separator}    {_dump(_make_record(change))}"
        separator = ",\n"
    yield "\n  ]\n}\n" if comparison.changes else "]\n}\n"


def _dump(value: Any) -> str:
    # Names of files may have bytes that are no text.
    text = json.dumps(value, ensure_ascii=False)
    return text.encode("utf-8", "backslashreplace").decode()


def _make_record(change: Change) -> dict[str, Any]:
    return {
        "kind": change.kind,
        "what": change.what,
        "old": _make_place(change.old, change.what, change.marks.old),
        "new": _make_place(change.new, change.what, change.marks.new),
        "fields": _make_fields(change.fields),
        "redirected": change.followed,
        "opened": change.opened,
        "reason": change.reason,
        "edited_stays": list(change.marks.edited),
    }


def _make_fields(fields: Sequence[Field]) -> dict[str, dict[str, Any]]:
    return {each.name: {"old": each.old, "new": each.new} for each in fields}


def _make_place(place: Place | None, what: str, stays: tuple[str, ...]) -> dict[str, Any] | None:
    if place is None:
        return None
    record = place._asdict()
    if what != "passage":
        for key in ("position", "chunk_id", "text_digest"):
            del record[key]
    else:
        record["stays"] = list(stays)
    return record
