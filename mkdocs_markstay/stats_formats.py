"""The figures of a manifest, written for people and for other programs."""

from __future__ import annotations

import json
from base64 import b64encode
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

from mkdocs_markstay.findings import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mkdocs_markstay.stats import Bucket, PassageSize, Repeated, Stats

FORMATS = ("text", "json", "html")
"""How statistics can be written."""

_SCHEMA = 1
_TOOL = "mkdocs-markstay"
_NARROWEST, _WIDEST = 60, 100
_LONGEST_BAR = 40
# Eighths of a character.
_EIGHTHS = " \u258f\u258e\u258d\u258c\u258b\u258a\u2589"
_FULL = "\u2588"
_ASCII = str.maketrans({"\u2013": "-", "\u2026": "...", "\u00d7": "x"})


def write_stats(
    stats: Stats, style: str, version: str, *, width: int = 80, ascii_only: bool = False
) -> str:
    """Write statistics in one of `FORMATS`.

    ``width``, in characters, and ``ascii_only`` are for `text`; ``version`` is that of this
    package. The form of `json` is described in ``docs/stats.md``.
    """
    if style == "json":
        return _write_json(stats, version)
    if style == "html":
        return "".join(_write_html(stats, version))
    return _write_text(stats, max(_NARROWEST, min(width, _WIDEST)), ascii_only=ascii_only)


# -- what the formats for people say alike


class _Figure(NamedTuple):
    """A number, what it is, and what is to be known of it."""

    name: str
    value: str
    note: str = ""


class _Row(NamedTuple):
    """One of several figures that are compared: a bar as long as ``number``."""

    name: str
    number: int
    note: str


class _Entry(NamedTuple):
    """A line of a list: a figure, the places that it is of, and how their text begins."""

    figure: str
    places: Sequence[str]
    excerpt: str = ""


class _Part(NamedTuple):
    """A part of a report: rows with bars, or entries, below a title and a sentence."""

    title: str
    sentence: str
    rows: Sequence[_Row] = ()
    entries: Sequence[_Entry] = ()


def _figures(stats: Stats) -> Iterator[_Figure]:
    yield _Figure(
        "pages", f"{stats.pages:,}", _note(stats.bare_pages, stats.pages, "without prose")
    )
    bare = _note(stats.bare_sections, stats.sections, "without prose")
    unlisted = "with prose; others are not listed"
    yield _Figure("sections", f"{stats.sections:,}", bare if stats.listed else unlisted)
    yield _Figure("passages", f"{stats.passages:,}")
    if stats.sizes is not None:
        yield _Figure("characters", f"{stats.sizes.total:,}")
    yield _Figure(
        "generated ids", f"{stats.generated:,}", _of(stats.generated, stats.sections, "sections")
    )
    yield _Figure(
        "blocks with a stay", f"{stats.marked:,}", _of(stats.marked, stats.blocks, "blocks")
    )
    yield _Figure(
        "repeated passages", f"{stats.repeats:,}", _of(stats.repeats, stats.passages, "passages")
    )
    debts = stats.debts
    if debts is None:
        return
    if debts.left is None:
        yield _Figure("old findings", f"{debts.recorded:,}", "in markstay.baseline")
    else:
        others = f"{debts.left:,} left, {debts.new:,} new"
        yield _Figure("findings paid", f"{debts.paid:,}", f"of {debts.recorded:,}; {others}")


def _note(number: int, total: int, what: str) -> str:
    return f"{number:,} {what}, {_share(number, total)}" if number else ""


def _of(number: int, total: int, what: str) -> str:
    return f"{_share(number, total)} of {what}" if number else ""


def _parts(stats: Stats) -> Iterator[_Part]:
    """Give what is more than one number."""
    sizes, total = stats.sizes, stats.passages
    if sizes is not None:
        yield _Part(
            "Characters per passage",
            f"Half of the passages have {sizes.median:,} or fewer, nine of ten {sizes.p90:,} or"
            f" fewer. The mean is {sizes.mean:,}.",
            [
                _Row(_name(each), each.passages, _share(each.passages, total))
                for each in stats.histogram
            ],
        )
        kinds = [_Row(kind, number, _share(number, total)) for kind, number in stats.kinds.items()]
        yield _Part("Kinds", "Passages that have a block of the kind.", kinds)
    if len(stats.languages) > 1:
        rows = [
            _Row(lang, each.passages, _count(each.pages, "page"))
            for lang, each in stats.languages.items()
        ]
        yield _Part("Languages", "Passages, and the pages that they are of.", rows)
    for title, found in (("Longest", stats.longest), ("Shortest", stats.shortest)):
        if found:
            entries = [_tell_size(each, stats) for each in found]
            yield _Part(f"{title} passages", "In characters.", entries=entries)
    if stats.repeated:
        yield _Part(
            "Repeated texts",
            f"{_count(stats.repeats, 'passage')} of {total:,} only say again what another one says."
            f" {_name_most(stats.repeated, stats.repeated_texts, 'text')}",
            entries=[_tell_repeated(each) for each in stats.repeated],
        )
    if stats.barest:
        yield _Part(
            "Sections without prose",
            f"{stats.bare_sections:,} of {_count(stats.sections, 'section')} without a passage of"
            " their own. Of the sections of these pages:",
            entries=[
                _Entry(
                    f"{page.without:,}/{page.sections:,}",
                    [_with_lang(page.page_id, page.lang, stats)],
                )
                for page in stats.barest
            ],
        )


def _tell_size(size: PassageSize, stats: Stats) -> _Entry:
    place = f"{_with_lang(size.referent, size.lang, stats)} [{size.position}]"
    return _Entry(f"{size.characters:,}", [place], size.excerpt)


def _tell_repeated(text: Repeated) -> _Entry:
    more = text.times - len(text.referents)
    places = [*text.referents, f"and {more:,} more"] if more > 0 else text.referents
    return _Entry(f"{text.times:,}\u00d7", places, text.excerpt)


def _name_most(shown: Sequence[object], total: int, name: str) -> str:
    if len(shown) == total:
        return f"{_count(total, name)}:"
    return f"The {len(shown)} most frequent of {_count(total, name)}:"


def _name(bucket: Bucket) -> str:
    return f"{bucket.low:,}+" if bucket.high is None else f"{bucket.low:,}\u2013{bucket.high:,}"


def _count(number: int, name: str) -> str:
    return f"{number:,} {name}{'' if number == 1 else 's'}"


def _share(number: int, total: int) -> str:
    """Give a share in percent; one that is not zero is not shown as if it were."""
    if not number or not total:
        return "0 %"
    percent = 100 * number / total
    if percent < 0.1:
        return "< 0.1 %"
    return f"{percent:.1f} %" if percent < 10 else f"{percent:.0f} %"


def _with_lang(referent: str, lang: str, stats: Stats) -> str:
    return f"{referent} ({lang})" if len(stats.languages) > 1 else referent


# -- text


def _write_text(stats: Stats, width: int, *, ascii_only: bool) -> str:
    lines = [f"{stats.manifest}: {', '.join(stats.publications)}".removesuffix(": "), ""]
    figures = list(_figures(stats))
    names = max(len(figure.name) for figure in figures)
    values = max(len(figure.value) for figure in figures)
    for name, value, note in figures:
        lines.append(f"  {name:<{names}}  {value:>{values}}  {note}")
    for part in _parts(stats):
        lines += ["", part.title, *_wrap(part.sentence, width - 2)]
        lines += _bars(part.rows, width, ascii_only=ascii_only)
        lines += _list(part.entries)
    if ascii_only:
        lines = [line.translate(_ASCII) for line in lines]
    # What the manifest is called is not cut.
    first, *others = map(printable, lines)
    end = "..." if ascii_only else "\u2026"
    lines = [first, *(_cut(line.rstrip(), width, end) for line in others)]
    return "".join(f"{line}\n" for line in lines)


def _wrap(text: str, width: int) -> list[str]:
    from textwrap import wrap  # noqa: PLC0415 (only text needs it)

    return [f"  {line}" for line in wrap(text, width)]


def _bars(rows: Sequence[_Row], width: int, *, ascii_only: bool) -> Iterator[str]:
    if not rows:
        return
    names = max(len(row.name) for row in rows)
    numbers = max(len(f"{row.number:,}") for row in rows)
    notes = max(len(row.note) for row in rows)
    room = min(_LONGEST_BAR, width - names - numbers - notes - 8)
    most = max(row.number for row in rows)
    for name, number, note in rows:
        bar = _bar(number, most, room, ascii_only=ascii_only)
        yield f"  {name:>{names}}  {number:>{numbers},}  {note:>{notes}}  {bar}"


def _bar(number: int, most: int, room: int, *, ascii_only: bool) -> str:
    """Draw a bar; what is not zero is seen."""
    if ascii_only:
        return "#" * max(bool(number), round(number * room / (most or 1)))
    full, rest = divmod(max(bool(number), round(8 * number * room / (most or 1))), 8)
    return (_FULL * full + _EIGHTHS[rest]).rstrip()


def _list(entries: Sequence[_Entry]) -> Iterator[str]:
    figures = max((len(entry.figure) for entry in entries), default=0)
    for figure, places, excerpt in entries:
        yield f"  {figure:>{figures}}  {', '.join(places)}"
        if excerpt:
            yield f"  {'':{figures}}  {excerpt}"


def _cut(line: str, width: int, end: str) -> str:
    return line if len(line) <= width else line[: width - len(end)] + end


# -- JSON


def _write_json(stats: Stats, version: str) -> str:
    sizes, debts = stats.sizes, stats.debts
    listed: Callable[[Any], Any] = lambda value: value if stats.listed else None  # noqa: E731
    data = {
        "schema": _SCHEMA,
        "generator": {"name": _TOOL, "version": version},
        "manifest": stats.manifest,
        "publications": list(stats.publications),
        "listed": stats.listed,
        "pages": {"count": stats.pages, "without_prose": listed(stats.bare_pages)},
        "sections": {
            "count": stats.sections,
            "generated": stats.generated,
            "without_prose": listed(stats.bare_sections),
            "pages": listed([page._asdict() for page in stats.barest]),
        },
        "passages": {"count": stats.passages, "stable": stats.stable},
        "blocks": {"count": stats.blocks, "marked": stats.marked},
        "characters": None if sizes is None else sizes._asdict(),
        "histogram": [bucket._asdict() for bucket in stats.histogram],
        "longest": [each._asdict() for each in stats.longest],
        "shortest": [each._asdict() for each in stats.shortest],
        "duplicates": {
            "texts": stats.repeated_texts,
            "repeats": stats.repeats,
            "largest": [each._asdict() for each in stats.repeated],
        },
        "languages": {lang: each._asdict() for lang, each in stats.languages.items()},
        "kinds": dict(stats.kinds),
        "findings": None if debts is None else {**debts._asdict(), "paid": debts.paid},
    }
    return json.dumps(data, ensure_ascii=False, indent=2) + "\n"


# -- HTML


def _write_html(stats: Stats, version: str) -> Iterator[str]:
    style = files(__package__).joinpath("assets/stats.css").read_text(encoding="utf-8")
    # The one style is allowed by its digest, and nothing else is.
    digest = b64encode(sha256(style.encode()).digest()).decode()
    title = ", ".join(stats.publications) or stats.manifest
    yield (
        "<!DOCTYPE html>\n"
        '<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\';'
        f" style-src 'sha256-{digest}'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{_html(title)}: statistics</title>\n<style>{style}</style>\n</head>\n<body>\n"
        f"<header>\n<h1>{_html(title)}</h1>\n"
        f"<p>Statistics of <code>{_html(stats.manifest)}</code></p>\n</header>\n<main>\n"
    )
    yield '<dl class="figures">\n'
    for name, value, note in _figures(stats):
        shown = f'<dd class="note">{_html(note)}</dd>' if note else ""
        yield f"<div><dt>{_html(name)}</dt><dd>{_html(value)}</dd>{shown}</div>\n"
    yield "</dl>\n"
    for number, part in enumerate(_parts(stats)):
        yield f'<section aria-labelledby="part-{number}">\n<h2 id="part-{number}">'
        yield f"{_html(part.title)}</h2>\n<p>{_html(part.sentence)}</p>\n"
        yield from _html_rows(part)
        yield from _html_entries(part)
        yield "</section>\n"
    yield f"</main>\n<footer><p>{_TOOL} {_html(version)}</p></footer>\n</body>\n</html>\n"


def _html_rows(part: _Part) -> Iterator[str]:
    if not part.rows:
        return
    most = max(row.number for row in part.rows) or 1
    yield '<table class="bars">\n<tbody>\n'
    for name, number, note in part.rows:
        width = f"{100 * number / most:.2f}".rstrip("0").rstrip(".")
        yield (
            f'<tr><th scope="row">{_html(name)}</th><td class="number">{number:,}</td>'
            f'<td class="number note">{_html(note)}</td><td class="bar">'
            f'<svg aria-hidden="true" width="100%" height="14"><rect width="{width}%" height="14"'
            ' rx="2"/></svg></td></tr>\n'
        )
    yield "</tbody>\n</table>\n"


def _html_entries(part: _Part) -> Iterator[str]:
    if not part.entries:
        return
    yield '<ul class="entries">\n'
    for figure, places, excerpt in part.entries:
        shown = "".join(f"<code>{_html(place)}</code>" for place in places)
        text = f'<span class="excerpt">{_html(excerpt)}</span>' if excerpt else ""
        yield (
            f'<li><span class="figure">{_html(figure)}</span><span class="what">{shown}{text}'
            "</span></li>\n"
        )
    yield "</ul>\n"


def _html(text: str) -> str:
    return escape(printable(text))
