"""A comparison of two manifests as a comment on a pull request, never too long for GitHub."""

from __future__ import annotations

import re
from collections import Counter
from html import escape
from typing import TYPE_CHECKING

from mkdocs_markstay.diff import KINDS
from mkdocs_markstay.diff_entries import (
    CAUSES,
    Entries,
    Words,
    count_causes,
    count_passages,
    is_link,
    left_out,
    shorten,
)
from mkdocs_markstay.diff_words import ADDED, REMOVED, SAME, compare_words
from mkdocs_markstay.findings import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mkdocs_markstay.diff import Comparison, Place
    from mkdocs_markstay.diff_entries import Entry, Report
    from mkdocs_markstay.diff_texts import Texts

# GitHub refuses comments of more than 65,536 characters. Bytes in UTF-8 are never fewer,
# however characters are counted. The rest is for what ends a comment.
_ROOM = 64_000
# Of these, what concerns all may take so many.
_HEAD = 32_000
_SHOWN = 200
# A pull request has other comments, too.
_SUBJECT = "Passages and citations"
_URL = 300
# Bytes of what is written of a name and of a value.
_NAME = 360
_VALUE = 320
# Of an edited text: what is seen around a change, of one change, and in all, in characters.
_AROUND = 40
_CHANGED = 160
_EDIT = 480
_PLAIN = frozenset(" -/")
_TAGS = {SAME: ("", ""), REMOVED: ("<del>", "</del>"), ADDED: ("<ins>", "</ins>")}


def write_markdown(report: Report) -> Iterator[str]:
    """Write a report in parts, all together less than 65,536 bytes; see ``docs/diff.md``."""
    comparison = report.comparison
    entries = Entries(comparison.changes).entries
    order = list(CAUSES)
    entries.sort(key=lambda entry: order.index(entry.cause))
    edited = [each.change for each in entries[:_SHOWN] if each.change.kind == "edited"]
    words = _Words(report, report.read(edited) if edited else ())
    room = _ROOM
    for part in _head(report, words):
        room -= len(part.encode("utf-8", "replace"))
        yield part
    if not entries:
        return
    cause, shown = "", 0
    for entry in entries[:_SHOWN]:
        part = ""
        if entry.cause != cause:
            part = _end(cause) + _start(entry, entries)
        subject, detail = words.entry(entry)
        part += f"- {subject} {detail}".rstrip() + "\n"
        room -= len(part.encode("utf-8", "replace"))
        if room < 0:
            break
        cause = entry.cause
        shown += 1
        yield part
    yield _end(cause)
    yield from _tell_left(entries[shown:])


def _head(report: Report, words: Words) -> Iterator[str]:
    comparison = report.comparison
    if report.failures:
        yield f"**Found of `--fail-on`: {', '.join(report.failures)}**\n\n"
    counts = count_causes(comparison.changes)
    if counts:
        yield f"{_SUBJECT}: {', '.join(_say(*each) for each in counts.items())}.\n\n"
    lines, room = list(words.head(report)), _HEAD
    for number, line in enumerate(lines):
        room -= len(line.encode("utf-8", "replace"))
        if room < 0:
            yield from (f"{more}\n\n" for more in left_out(len(lines) - number, "line"))
            break
        yield f"{line}\n\n"
    if not comparison.changes:
        yield f"{_SUBJECT}: no changes ({count_passages(comparison)}).\n"
        return
    yield f"| | {' | '.join(KINDS)} |\n|---|{'---:|' * len(KINDS)}\n"
    yield from _write_counts(comparison)
    yield f"\n{count_passages(comparison)}.\n"


def _say(cause: str, number: int) -> str:
    if cause == "broken":
        return f"**{number:,} broken address{'' if number == 1 else 'es'}**"
    return f"{number:,} {cause}"


def _write_counts(comparison: Comparison) -> Iterator[str]:
    for what, kinds in comparison.count().items():
        # Most sites have no anchors of blocks.
        if what != "block" or any(kinds.values()):
            counts = " | ".join(f"{kinds[kind]:,}" if kinds[kind] else "" for kind in KINDS)
            yield f"| {what}s | {counts} |\n"


def _start(entry: Entry, entries: Sequence[Entry]) -> str:
    # What matters most is open, as is what is first.
    is_open = " open" if entry.cause == "broken" or entry is entries[0] else ""
    number = sum(1 for each in entries if each.cause == entry.cause)
    title = CAUSES[entry.cause]
    return f"\n<details{is_open}><summary><b>{title}</b> ({number:,})</summary>\n\n"


def _end(cause: str) -> str:
    return "\n</details>\n" if cause else ""


def _tell_left(entries: Sequence[Entry]) -> Iterator[str]:
    if not entries:
        return
    counts = Counter(entry.cause for entry in entries)
    said = ", ".join(_say(cause, counts[cause]) for cause in CAUSES if counts[cause])
    yield f"\nLines left out here: {said}. `--format html` shows more.\n"


class _Words(Words):
    """Writes links to pages, and the words that changed."""

    def __init__(self, report: Report, texts: Sequence[Texts]) -> None:
        super().__init__(
            report,
            lambda text: _code(text, _NAME),
            lambda text: _code(shorten(text), _VALUE),
            "→",
        )
        self._texts = texts

    def subject(self, place: Place) -> str:
        """Name a page or section, and link to it."""
        name = self.name(place.referent)
        url = place.url
        if len(url) > _URL or not is_link(url):
            return name
        # In a tag, Markdown finds nothing.
        return f'<a href="{escape(url)}">{name}</a>'

    def edit(self, old: Place, new: Place) -> str:
        """Show the words that changed, with some around them."""
        if not self._texts:
            return super().edit(old, new)
        first, second = (
            texts.find(place) for texts, place in zip(self._texts, (old, new), strict=True)
        )
        return _show_edit(first, second)


def _show_edit(old: str, new: str) -> str:
    pieces = compare_words(old, new)
    shown, room, before = "", _EDIT, SAME
    for number, (sign, whole) in enumerate(pieces):
        text = re.sub(r"\s+", " ", whole)
        if sign == SAME:
            text = _shorten_middle(
                text, _AROUND * (number > 0), _AROUND * (number < len(pieces) - 1)
            )
        else:
            text = _shorten_middle(text, _CHANGED // 2, _CHANGED // 2)
        if room < 0:
            shown += "…"
            break
        room -= len(text)
        start, end = _TAGS[sign]
        gap = " " if (before, sign) == (REMOVED, ADDED) else ""
        shown += gap + start + _escape(text) + end
        before = sign
    return f"<code>{shown}</code>"


def _shorten_middle(text: str, before: int, after: int) -> str:
    """Keep so many characters of the beginning and of the end, or some less for whole words."""
    if len(text) <= before + after + 1:
        return text
    first, last = text[:before], text[len(text) - after :]
    # Where there are words.
    first = first[: first.rfind(" ") + 1] or first
    last = last[last.find(" ", 0, len(last) - 1) :] if " " in last[:-1] else last
    return f"{first}…{last}"


def _code(text: str, room: int) -> str:
    """Write a text so that neither Markdown nor GitHub finds anything in it.

    ``room`` is how many bytes of it are written at most.
    """
    escaped = _escape_all(text)
    shown = ""
    for number, char in enumerate(escaped):
        room -= len(char.encode())
        if room < 0 and number < len(escaped) - 1:
            shown += "…"
            break
        shown += char
    return f"<code>{shown}</code>"


def _escape(text: str) -> str:
    return "".join(_escape_all(text))


def _escape_all(text: str) -> list[str]:
    return [
        char if char.isalnum() or char in _PLAIN or not char.isascii() else f"&#{ord(char)};"
        for char in printable(text)
    ]
