"""A comparison of two manifests, written for people and for other programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mkdocs_markstay.diff_entries import (
    Entries,
    Report,
    Words,
    count_passages,
    left_out,
    shorten,
    summarize,
)
from mkdocs_markstay.findings import printable
from mkdocs_markstay.formats import write_command

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mkdocs_markstay.diff import Change, Field, Place

FORMATS = ("text", "json", "markdown", "github", "html")
"""How a comparison can be written."""

_SCHEMA = 1
_TOOL = "mkdocs-markstay"
# So many entries are told one by one, the worst first. GitHub shows ten annotations of each level.
_SHOWN = {"text": 500, "github": 50}


def write_report(report: Report, style: str, version: str, docs: str = "docs") -> Iterator[str]:
    """Write a report in one of `FORMATS`, in parts that end with a line each.

    ``version`` is that of this package; ``docs`` is the folder of the sources, for `github`.
    The form of `json` is described in ``docs/diff.md``.
    """
    if style == "json":
        yield from _write_json(report, version)
    elif style == "markdown":
        from mkdocs_markstay.diff_markdown import write_markdown  # noqa: PLC0415 (rarely needed)

        yield from write_markdown(report)
    elif style == "html":
        from mkdocs_markstay.diff_html import write_html  # noqa: PLC0415 (rarely needed)

        yield from write_html(report, version)
    elif style == "github":
        yield from _write_github(report, docs)
    else:
        yield from _write_text(report)


# -- text


def _write_text(report: Report) -> Iterator[str]:
    comparison = report.comparison
    words = Words(report, printable, lambda text: f"'{shorten(text)}'", "->")
    for line in words.head(report):
        yield f"{line}\n"
    if not comparison.changes:
        yield f"no changes ({count_passages(comparison)})\n"
        return
    for line in summarize(comparison):
        yield f"{line}\n"
    yield f"({count_passages(comparison)})\n"
    entries = Entries(comparison.changes).entries
    for entry in entries[: _SHOWN["text"]]:
        subject, detail = words.entry(entry)
        yield f"{entry.change.kind:<12} {subject}  {detail}".rstrip() + "\n"
    for line in left_out(len(entries) - _SHOWN["text"], "line"):
        yield f"{line} (--format json has all)\n"


# -- GitHub


def _write_github(report: Report, docs: str) -> Iterator[str]:
    comparison = report.comparison
    words = Words(report, printable, lambda text: f"'{shorten(text)}'", "->")
    head = [*words.head(report), *summarize(comparison)]
    if not comparison.changes:
        head.append(f"no changes ({count_passages(comparison)})")
    entries = Entries(comparison.changes).entries
    head += left_out(len(entries) - _SHOWN["github"], "annotation")
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
