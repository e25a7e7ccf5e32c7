"""A comparison of two manifests as one HTML file, for people: nothing is fetched, nothing acts.

What concerns all is written as HTML. The changes are data, of which the report's own script
makes elements when they are looked at, because a browser takes seconds to lay out thousands.
Texts of manifests never become HTML, a script or a style there.
"""

from __future__ import annotations

import json
import unicodedata
from base64 import b64encode
from collections import Counter
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from mkdocs_markstay.diff import KINDS, WHATS
from mkdocs_markstay.diff_entries import (
    CAUSES,
    count,
    count_causes,
    count_passages,
    find_cause,
    is_link,
    left_out,
    show_value,
)
from mkdocs_markstay.diff_words import SAME, compare_words
from mkdocs_markstay.stay_pairs import StayKey

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mkdocs_markstay.diff import Change, Comparison, Key, Place
    from mkdocs_markstay.diff_entries import Report
    from mkdocs_markstay.diff_texts import Texts
    from mkdocs_markstay.progress import Progress

# No browser shows more in a reasonable time.
_MOST = 50_000
_MOST_CHARS = 100_000_000
_LONGEST = 200_000
# Without a script, and of lists that concern all.
_PLAIN = 100
_LISTED = 200
# Between the titles that lead to a section.
_WITHIN = " \u203a "
# What is not seen, or changes what is seen. Joiners are letters in Persian and Hindi, and in
# pictures of people.
_UNSEEN = frozenset(("Cc", "Cf", "Cs", "Co", "Zl", "Zp"))
_SEEN = frozenset("\n\t\u200c\u200d")
_ABOUT = {
    "broken": "Nothing leads on from these addresses. Links and citations of them are dead.",
    "edited": "The text is another one.",
    "moved": "The same text, or a redirect to it, is elsewhere.",
    "repositioned": "The same text has another position in its section.",
    "metadata": "The text is the same; its title, path, address or the like is not.",
    "removed": "The text is gone.",
    "added": "Not in OLD.",
    "retired": "Gone, and NEW says why.",
}


def write_html(report: Report, version: str) -> Iterator[str]:
    """Write a report in parts; ``version`` is that of this package. See ``docs/diff.md``."""
    changes = sorted(report.comparison.changes, key=_order)[:_MOST]
    with report.progress as shown:
        shown.begin("Reading the texts")
        data = _Data(report, changes).make(shown)
    style, script = (_read(name) for name in ("report.css", "report.js"))
    # Not even what somebody could smuggle into this file is let do anything.
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}';"
        " base-uri 'none'; form-action 'none'"
    )
    title = f"What changed: {report.comparison.old} to {report.comparison.new}"
    yield (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{_text(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
    )
    yield from _write_head(report, data)
    if changes:
        left = left_out(len(report.comparison.changes) - len(changes), "change")
        for line in left:
            yield f'<p class="left">{line}: this report has the worst. --format json has all.</p>\n'
        yield _write_filters(data)
        yield '<main id="changes"></main>\n<noscript>\n'
        yield from _write_plain(data)
        yield "</noscript>\n"
    yield f"<footer>Written by mkdocs-markstay {_text(version)}.</footer>\n"
    yield f'<script type="application/json" id="data">{_dump(data)}</script>\n'
    yield f"<script>{script}</script>\n</body>\n</html>\n"


def _read(name: str) -> str:
    path = files("mkdocs_markstay").joinpath("assets", name)
    return "\n" + path.read_text(encoding="utf-8").replace("\r\n", "\n")


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def _order(change: Change) -> tuple[int, str, str, int, int]:
    """Put changes by cause, and then by place: a section's together."""
    place = change.place
    cause = list(CAUSES).index(find_cause(change))
    return cause, place.referent, place.lang, WHATS.index(change.what), place.position


# -- texts


def show_unseen(text: str) -> str:
    """Make visible what is not seen or turns the direction of a text, as its number."""
    if text.isprintable():
        return text
    return "".join(
        f"\u2039U+{ord(char):04X}\u203a"
        if char not in _SEEN and unicodedata.category(char) in _UNSEEN
        else char
        for char in text
    )


def _text(text: str) -> str:
    return escape(show_unseen(text))


def _dump(data: Any) -> str:
    """Write data so that nothing in it ends or begins an element."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text


# -- data


class _Data:
    """Makes the data of a report: see ``docs/diff.md``."""

    def __init__(self, report: Report, changes: Sequence[Change]) -> None:
        self.comparison = report.comparison
        self.changes = changes
        self.texts = report.read(changes)
        self.room = _MOST_CHARS
        self.pages: dict[Key, int] = {}
        self.sections: dict[tuple[Any, ...], int] = {}
        self.ids: Counter[str] = Counter()

    def make(self, progress: Progress) -> dict[str, Any]:
        progress.begin("Comparing texts", len(self.changes))
        rows = []
        for change in self.changes:
            rows.append(self._make_change(change))
            progress.advance()
        listed = {row["cause"] for row in rows}
        counts = count_causes(self.comparison.changes)
        names = ("page", "referent", "title", "url")
        return {
            "causes": [
                {"id": cause, "title": CAUSES[cause], "about": _ABOUT[cause], "count": number}
                for cause, number in counts.items()
                if cause in listed
            ],
            "pages": [
                {
                    "id": show_unseen(page_id),
                    "lang": show_unseen(lang),
                    "title": self._find_title(page_id, lang),
                }
                for page_id, lang in self.pages
            ],
            "sections": [dict(zip(names, each, strict=True)) for each in self.sections],
            "changes": rows,
        }

    def _find_title(self, page_id: str, lang: str) -> str:
        titles = (texts.titles.get((page_id, lang), "") for texts in reversed(self.texts))
        return show_unseen(next(filter(None, titles), ""))

    def _make_change(self, change: Change) -> dict[str, Any]:
        row: dict[str, Any] = {
            "id": self._make_id(change),
            "cause": find_cause(change),
            "kind": change.kind,
            "what": change.what,
            "old": self._make_place(change.old, self.texts[0]),
            "new": self._make_place(change.new, self.texts[1]),
        }
        texts = [
            texts.find(place) if place is not None else ""
            for texts, place in zip(self.texts, (change.old, change.new), strict=True)
        ]
        if change.kind == "edited":
            # What changed may stand far behind what is shown of a whole text.
            pieces = compare_words(*map(show_unseen, texts))
            row["pieces"] = [[sign, self._cut(text)] for sign, text in pieces]
        elif change.what == "passage":
            row["pieces"] = [[SAME, show_unseen(self._cut(texts[1] or texts[0]))]]
        if change.fields:
            row["fields"] = [
                [show_unseen(self._cut(text)) for text in (name, show_value(old), show_value(new))]
                for name, old, new in change.fields
            ]
        if change.reason:
            row["reason"] = show_unseen(self._cut(change.reason))
        for name in ("followed", "opened"):
            if getattr(change, name):
                row[name] = True
        if gone := self._find_gone(change):
            row["gone"] = gone
        return row

    def _make_place(self, place: Place | None, texts: Texts) -> list[int] | None:
        """Give the number of the section, and the position of a passage in it, -1 for none."""
        if place is None:
            return None
        page = place.referent.partition("#")[0], place.lang
        number = self.pages.setdefault(page, len(self.pages))
        path = texts.paths.get(place.key) or [place.title]
        if path[0] == texts.titles.get(page):
            path = path[1:]
        title = _WITHIN.join(path) if "#" in place.referent else ""
        url = place.url if is_link(place.url) else ""
        key = number, show_unseen(place.referent), show_unseen(title), url
        return [self.sections.setdefault(key, len(self.sections)), place.position]

    def _make_id(self, change: Change) -> str:
        """Name a change, so that the same one has the same name in another report."""
        places = [
            f"{place.referent}\n{place.lang}\n{place.position}" if place else ""
            for place in (change.old, change.new)
        ]
        text = "\n\n".join((change.kind, change.what, *places))
        name = "c" + sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:10]
        self.ids[name] += 1
        return f"{name}-{self.ids[name]}" if self.ids[name] > 1 else name

    def _cut(self, text: str) -> str:
        """Give a text, without its middle if there is no room for all of it."""
        half = max(min(self.room, _LONGEST), 200) // 2
        shown = text if len(text) <= 2 * half else f"{text[:half]}…{text[-half:]}"
        self.room -= len(shown)
        return shown

    def _find_gone(self, change: Change) -> list[str]:
        old = change.old
        if old is None or change.what != "passage":
            return []
        page_id = old.referent.partition("#")[0]
        gone = self.comparison.gone
        return [show_unseen(s) for s in change.marks.old if StayKey(page_id, old.lang, s) in gone]


# -- HTML


def _write_head(report: Report, data: dict[str, Any]) -> Iterator[str]:
    comparison = report.comparison
    yield (
        '<header>\n<h1>What changed</h1>\n<p class="names">'
        f"<bdi><code>{_text(comparison.old)}</code></bdi> <span>to</span> "
        f"<bdi><code>{_text(comparison.new)}</code></bdi></p>\n"
    )
    if report.failures:
        names = ", ".join(report.failures)
        yield f'<p class="fails">Found of <code>--fail-on</code>: {names}</p>\n'
    counts = count_causes(comparison.changes)
    if not counts:
        yield f'<p class="none">No changes ({count_passages(comparison)}).</p>\n'
    else:
        listed = {cause["id"] for cause in data["causes"]}
        yield from _write_summary(comparison, counts, listed)
    yield from _write_all(report)
    yield "</header>\n"


def _write_summary(
    comparison: Comparison, counts: dict[str, int], listed: set[str]
) -> Iterator[str]:
    pages = {(c.place.referent.partition("#")[0], c.place.lang) for c in comparison.changes}
    total = count(len(comparison.changes), "change")
    yield (
        f"<p><strong>{total}</strong> in {count(len(pages), 'page')}."
        f" {count_passages(comparison)}.</p>\n"
    )
    # The numbers and names beside the bars say the same.
    yield '<ul class="chart" aria-label="Changes by cause">\n'
    # One change of each is no reason for long bars.
    most = max(10, *counts.values())
    for cause, number in counts.items():
        width = max(0.5, round(100 * number / most, 2))
        title = CAUSES[cause]
        name = f'<a href="#{cause}">{title}</a>' if cause in listed else f"<span>{title}</span>"
        yield (
            f'<li class="{cause}">{name} <b>{number:,}</b>'
            ' <svg aria-hidden="true" width="100%" height="12" focusable="false">'
            f'<rect width="{width}%" height="12" rx="3"/></svg></li>\n'
        )
    yield "</ul>\n"
    rows = {
        what: kinds
        for what, kinds in comparison.count().items()
        if what != "block" or any(kinds.values())
    }
    yield (
        '<details class="figures"><summary>All figures</summary>\n'
        '<div class="wide" tabindex="0" role="region" aria-label="All figures"><table>\n'
    )
    names = "".join(f'<th scope="col">{kind}</th>' for kind in KINDS)
    yield f"<thead><tr><td></td>{names}</tr></thead>\n<tbody>\n"
    for what, kinds in rows.items():
        cells = "".join(f"<td>{kinds[kind]:,}</td>" for kind in KINDS)
        yield f'<tr><th scope="row">{what}s</th>{cells}</tr>\n'
    yield "</tbody></table></div></details>\n"


def _write_all(report: Report) -> Iterator[str]:
    """Write what concerns all: other facts, citations, what could not be told."""
    comparison, citations = report.comparison, report.citations
    if comparison.moving:
        yield (
            '<p class="note">Everything may have moved, so that only the texts of pages and'
            " sections are compared.</p>\n"
        )
    if comparison.facts:
        yield '<table class="facts"><caption>Of the whole site</caption>\n'
        yield '<thead><tr><th scope="col">Value</th><th scope="col">Old</th>'
        yield '<th scope="col">New</th></tr></thead>\n<tbody>\n'
        for name, old, new in comparison.facts[:_LISTED]:
            cells = f"<td><del>{_cell(old)}</del></td><td><ins>{_cell(new)}</ins></td>"
            yield f'<tr><th scope="row">{_cell(name)}</th>{cells}</tr>\n'
        yield "</tbody></table>\n"
        yield from _tell_left(len(comparison.facts), "value")
    if comparison.gone:
        are = "is" if len(comparison.gone) == 1 else "are"
        yield f'<p class="note">{count(len(comparison.gone), "marked block")} {are} gone.</p>\n'
    for note in comparison.notes:
        yield f'<p class="note">{_text(note)}.</p>\n'
    if citations is not None:
        total = count(len(citations.texts), "citation")
        yield f"<p><strong>Affects {len(report.affected):,} of your {total}.</strong></p>\n"
        yield from _write_list("Affected", report.affected)
        yield from _write_list("Neither in OLD nor in NEW", citations.unknown)


def _cell(value: Any) -> str:
    text = show_value(value)
    return _text(text if len(text) <= 2_000 else text[:2_000] + "…")


def _write_list(title: str, texts: Sequence[str]) -> Iterator[str]:
    if texts:
        is_open = " open" if len(texts) <= 10 else ""
        yield f"<details{is_open}><summary>{title} ({len(texts):,})</summary>\n<ul>\n"
        for text in texts[:_LISTED]:
            yield f"<li><bdi><code>{_cell(text)}</code></bdi></li>\n"
        yield "</ul>\n"
        yield from _tell_left(len(texts), "citation")
        yield "</details>\n"


def _tell_left(number: int, name: str) -> Iterator[str]:
    for line in left_out(number - _LISTED, name):
        yield f"<p>{line}</p>\n"


def _write_filters(data: dict[str, Any]) -> str:
    """Write the filters, which the script fills and shows."""
    causes = "".join(
        f'<label class="{each["id"]}"><input type="checkbox" checked value="{each["id"]}">'
        f"<span>{each['title']}</span></label>\n"
        for each in data["causes"]
    )
    return (
        '<form id="filters" role="search" aria-label="Filters" hidden>\n'
        f"<fieldset><legend>Show</legend>\n{causes}</fieldset>\n"
        '<label class="page">Page <select><option value="">All pages</option></select></label>\n'
        '<label class="words">Search <input type="search" autocomplete="off" spellcheck="false">'
        "</label>\n"
        '<p role="status" aria-live="polite"></p>\n'
        '<button type="reset" hidden>Show all</button>\n</form>\n'
    )


def _write_plain(data: dict[str, Any]) -> Iterator[str]:
    """Write the first changes for browsers that run no script."""
    sections, pages = data["sections"], data["pages"]
    changes = data["changes"]
    shown = changes[:_PLAIN]
    yield '<main class="plain">\n'
    if len(changes) > len(shown):
        yield (
            f"<p>These are the first {len(shown)} changes. With JavaScript, which this file has"
            " in itself, all are shown.</p>\n"
        )
    cause = ""
    for change in shown:
        if change["cause"] != cause:
            cause = change["cause"]
            yield f"<h2>{CAUSES[cause]}</h2>\n"
        place = change["old"] if change["cause"] == "broken" else change["new"] or change["old"]
        section = sections[place[0]]
        page = pages[section["page"]]
        name = _WITHIN.join(filter(None, (page["title"] or page["id"], section["title"])))
        title = f"<bdi>{escape(name)}</bdi>"
        if section["url"]:
            title = f'<a href="{escape(section["url"])}">{title}</a>'
        referent = f"<code>{escape(section['referent'])}</code>"
        yield f'<article class="change">\n<h3>{title}</h3>\n<p>{referent}'
        yield f" {change['what']} {change['kind']}"
        if change["old"] and change["new"] and change["old"] != change["new"]:
            first, second = (
                escape(sections[number]["referent"]) + (f" [{position}]" if position >= 0 else "")
                for number, position in (change["old"], change["new"])
            )
            yield f", from <code>{first}</code> to <code>{second}</code>"
        if reason := change.get("reason"):
            yield f": {escape(reason)}"
        yield "</p>\n"
        tags = {"=": "span", "-": "del", "+": "ins"}
        if pieces := change.get("pieces"):
            marked = (f"<{tags[s]}>{escape(text)}</{tags[s]}>" for s, text in pieces)
            yield f'<p class="text" dir="auto">{"".join(marked)}</p>\n'
        for name, old, new in change.get("fields", ()):
            yield (f"<p>{escape(name)}: <del>{escape(old)}</del> <ins>{escape(new)}</ins></p>\n")
        yield "</article>\n"
    yield "</main>\n"
