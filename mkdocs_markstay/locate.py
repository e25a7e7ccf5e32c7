"""Finding the line of a heading in its source.

What is a heading is decided by the renderer. This module only looks for the lines
where the rendered headings stand: it collects the lines that could be headings and
aligns them, in order, with the headings that there are. It never decides that
something is a heading.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from html import unescape
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

# What may stand before a heading in a line: quotes, list items, definitions, footnotes.
_PREFIX = re.compile(r"[ \t>]*(?:(?:[-*+:]|[0-9]{1,9}[.)]|\[\^[^\]\s]{1,99}\]:)[ \t]+[ \t>]*)*")
_UNDERLINE = re.compile(r"[ \t>]*(?:=+|-+)[ \t]*")
_SIGNS = frozenset("-*+:>[0123456789")
# Characters that Python-Markdown takes out of every text.
_REMOVED = {2: None, 3: None}
_TAG_BEGIN = re.compile(r"<h([1-6])\b", re.IGNORECASE)
_RAW = re.compile(r"""<h[1-6]\b(?:[^<>"']|"[^"]*"|'[^']*')*>""", re.IGNORECASE)
_LINES_OF_RAW = 5
_TAG = re.compile(r"<[^<>]*>")
_FENCE = re.compile(r"(`{3,}|~{3,})")
# Elements whose lines are text, whatever they look like, unless they ask for Markdown.
_RAW_BLOCK = re.compile(
    r"<(!--|(?:pre|script|style|div|section|article|aside|header|footer|main|nav|table|ul|ol|dl|p"
    r"|details|figure|form|fieldset|blockquote|center|iframe|video|textarea)"
    r"(?![\w-])(?![^>]*\bmarkdown\b))"
)
# The doubt that a line is a heading if it looks like code.
_CODE = 2
# Above this many pairs an alignment is not computed but approximated.
_PAIRS = 400_000


class Candidate(NamedTuple):
    """A line that could be a heading.

    ``line`` counts from 0, ``source`` is its text. ``sign`` is what makes it a heading:
    hashes, a tag such as `<h2`, or nothing for a heading that is underlined; before it
    stands ``prefix``. ``doubt`` is 0 for lines that are headings in every dialect, 1 in
    some, 2 for lines that look like code.
    """

    line: int
    text: str
    level: int
    doubt: int
    source: str
    prefix: str
    sign: str = ""


def find_candidates(text: str) -> list[Candidate]:
    """Collect all lines of a Markdown text that could be headings, in order."""
    lines = text.split("\n")
    masked = _mask(lines) if "```" in text or "~~~" in text or "<" in text else set()
    found: list[Candidate] = []
    for number, line in enumerate(lines):
        candidate = None
        if "#" in line:
            candidate = _hashes(number, line)
        if candidate is None and "<" in line:
            candidate = _tag(number, lines)
        if candidate is None and line and number and not line.strip("=-> \t"):
            candidate = _underlined(number - 1, lines)
            if found and found[-1].line == number - 1:
                candidate = None
        if candidate is not None:
            masks = candidate.line in masked
            found.append(candidate._replace(doubt=_CODE) if masks else candidate)
    return found


def _hashes(number: int, line: str) -> Candidate | None:
    prefix = _PREFIX.match(line)
    start = prefix.end() if prefix else 0
    if not line.startswith("#", start):
        return None
    title = line[start:].lstrip("#")
    level = min(len(line) - start - len(title), 6)
    # Some extensions want a space behind the hashes.
    tight = 1 if title and title[0] not in " \t" else 0
    return Candidate(number, heading_key(title), level, tight, line, line[:start], "#" * level)


def _tag(number: int, lines: list[str]) -> Candidate | None:
    line = lines[number]
    begin = _TAG_BEGIN.search(line)
    if begin is None:
        return None
    # A tag, and the heading behind it, may go on in the lines below: its first words are enough.
    below = "\n".join(lines[number : number + _LINES_OF_RAW])
    tag = _RAW.match(below, begin.start())
    if tag is None:
        return None
    inner = below[tag.end() :]
    end = inner.lower().find("</h")
    inner = inner[:end] if end >= 0 else inner.split("\n", 1)[0]
    key = heading_key(unescape(_TAG.sub("", inner)))
    start = begin.start()
    code = line.startswith(("    ", "\t")) or "`" in line[:start]
    doubt = _CODE if code else 0
    return Candidate(number, key, int(begin[1]), doubt, line, line[:start], begin[0])


def _underlined(number: int, lines: list[str]) -> Candidate | None:
    line, underline = lines[number], lines[number + 1]
    prefix = _PREFIX.match(line)
    start = prefix.end() if prefix else 0
    title = line[start:]
    if not title.strip() or not _UNDERLINE.fullmatch(underline):
        return None
    # In the middle of a paragraph it is none, but what stands above may be a heading.
    above = lines[number - 1].strip(" \t>") if number else ""
    ended = above.startswith(("#", "```", "~~~", "</", "-->")) or not above.strip("=-*_ ")
    inside = 0 if ended else 1
    level = 1 if "=" in underline else 2
    return Candidate(number, heading_key(title), level, inside, line, line[:start])


def heading_key(text: str) -> str:
    """Reduce a heading's source to what it is compared by: its text without any signs."""
    text = text.strip().strip("#").strip()
    if text[:1] in _SIGNS and (prefix := _PREFIX.match(text)):
        text = text[prefix.end() :]
    if "\x02" in text or "\x03" in text:
        text = text.translate(_REMOVED)
    return " ".join(text.split())


def align(
    keys: Sequence[str], candidates: Sequence[Candidate], levels: Sequence[int] | None = None
) -> list[Candidate | None]:
    """Align headings, given by `heading_key`, with candidate lines, both in order.

    Gives the line of each heading, None where there is none. As many headings as
    possible are found; where there is a choice, on lines that are in no doubt, then on
    lines of the same of the ``levels``, if they are given.
    """
    levels = levels or [0] * len(keys)
    result: list[Candidate | None] = [None] * len(keys)
    last = -1
    for number, choices in sorted(_match(keys, candidates, levels).items()):
        # The earliest of the best alignments: no two headings on one line.
        index = next((choice for choice in choices if choice > last), None)
        if index is not None:
            result[number] = candidates[index]
            last = index
    return result


def _match(
    keys: Sequence[str], candidates: Sequence[Candidate], levels: Sequence[int]
) -> dict[int, list[int]]:
    """Map headings to the candidates that they have in any best alignment."""
    plain = [index for index, candidate in enumerate(candidates) if not candidate.doubt]
    if [candidates[index].text for index in plain] == list(keys):
        return {number: [index] for number, index in enumerate(plain)}
    found: dict[int, list[int]] = {}
    # Headings whose text occurs once on both sides split the task into small ones.
    previous = (-1, -1)
    for anchor in [*_anchors(keys, candidates), (len(keys), len(candidates))]:
        numbers = range(previous[0] + 1, anchor[0])
        indexes = range(previous[1] + 1, anchor[1])
        if numbers and indexes:
            found |= _best(keys, candidates, levels, numbers, indexes)
        if anchor[0] < len(keys):
            found[anchor[0]] = [anchor[1]]
        previous = anchor
    return found


def _anchors(keys: Sequence[str], candidates: Sequence[Candidate]) -> list[tuple[int, int]]:
    where: dict[str, list[int]] = {}
    for index, candidate in enumerate(candidates):
        where.setdefault(candidate.text, []).append(index)
    counts: dict[str, int] = {}
    for key in keys:
        counts[key] = counts.get(key, 0) + 1
    pairs = [
        (number, where[key][0])
        for number, key in enumerate(keys)
        if counts[key] == 1 and len(where.get(key, ())) == 1
    ]
    # The longest increasing run of them: headings keep their order.
    tails: list[int] = []
    tail_pairs: list[int] = []
    before: list[int] = []
    for position, (_, index) in enumerate(pairs):
        slot = bisect_left(tails, index)
        before.append(tail_pairs[slot - 1] if slot else -1)
        tails[slot : slot + 1] = [index]
        tail_pairs[slot : slot + 1] = [position]
    chain = []
    position = tail_pairs[-1] if tail_pairs else -1
    while position >= 0:
        chain.append(pairs[position])
        position = before[position]
    return chain[::-1]


def _best(
    keys: Sequence[str],
    candidates: Sequence[Candidate],
    levels: Sequence[int],
    numbers: range,
    indexes: range,
) -> dict[int, list[int]]:
    """Find the alignments of greatest weight of a part of the headings and candidates."""
    if len(numbers) * len(indexes) > _PAIRS:
        return _next_that_fits(keys, candidates, numbers, indexes)
    # A heading that is found weighs more than all lines without doubt, and one of these
    # more than all levels that are the same.
    sure = len(numbers) + 1
    one = _CODE * sure * sure
    weights = [
        {
            column: one
            + (_CODE - candidates[index].doubt) * sure
            + (1 if candidates[index].level == levels[number] else 0)
            for column, index in enumerate(indexes)
            if candidates[index].text == keys[number]
        }
        for number in numbers
    ]
    rows, columns = len(numbers), len(indexes)
    before = _sums(weights, columns)
    mirrored = [{columns - 1 - column: row[column] for column in row} for row in weights[::-1]]
    after = _sums(mirrored, columns)
    total = before[rows][columns]
    found: dict[int, list[int]] = {}
    for row in range(rows):
        choices = [
            indexes[column]
            for column, weight in weights[row].items()
            if before[row][column] + weight + after[rows - 1 - row][columns - 1 - column] == total
        ]
        if choices:
            found[numbers[row]] = choices
    return found


def _sums(weights: list[dict[int, int]], columns: int) -> list[list[int]]:
    """Compute the greatest weight of an alignment of the first rows and columns, for all counts."""
    sums = [[0] * (columns + 1)]
    for row in weights:
        above = sums[-1]
        current = [0]
        for column in range(columns):
            best = max(above[column + 1], current[column])
            current.append(max(best, above[column] + row.get(column, 0)))
        sums.append(current)
    return sums


def _next_that_fits(
    keys: Sequence[str], candidates: Sequence[Candidate], numbers: range, indexes: range
) -> dict[int, list[int]]:
    """Take for each heading the next line that fits."""
    found: dict[int, list[int]] = {}
    where: dict[str, list[int]] = {}
    for index in indexes:
        where.setdefault(candidates[index].text, []).append(index)
    last = indexes[0] - 1
    for number in numbers:
        places = where.get(keys[number], [])
        slot = bisect_left(places, last + 1)
        if slot < len(places):
            found[number] = [places[slot]]
            last = places[slot]
    return found


def find_code_lines(lines: list[str]) -> set[int]:
    """Find the lines (from 0) that look like fenced code, wherever the fence stands."""
    return _mask(lines, fences_only=True)


def _mask(lines: list[str], *, fences_only: bool = False) -> set[int]:
    """Find the lines that look like code, comments or raw HTML text."""
    masked: set[int] = set()
    # Ends that were looked for in vain: no later block of that sort ends either.
    hopeless: set[tuple[str, int]] = set()
    number = 0
    while number < len(lines):
        line = lines[number]
        fence = "```" in line or "~~~" in line
        end = _opening(line) if fence or ("<" in line and not fences_only) else ""
        if fences_only and end[:1] not in ("`", "~"):
            end = ""
        last = None
        column = _column(line, line.find(end)) if end[:1] in ("`", "~") else 0
        if end and (end, column) not in hopeless:
            last = _find_end(lines, number, end, column)
            if last is None:
                hopeless.add((end, column))
        if last is None:
            number += 1
            continue
        masked.update(range(number, last + 1))
        number = last + 1
    return masked


def _opening(line: str) -> str:
    """Return what ends the fence or raw block that ``line`` begins, "" if it begins none."""
    if "<" not in line or "```" in line or "~~~" in line:
        prefix = _PREFIX.match(line)
        fence = _FENCE.match(line, prefix.end() if prefix else 0)
        if fence:
            return fence[1]
    if "<" in line:
        block = _RAW_BLOCK.match(line.lstrip(" \t>").lower())
        if block:
            return "-->" if block[1] == "!--" else f"</{block[1]}"
    return ""


def _column(line: str, place: int) -> int:
    return len(line[:place].expandtabs(4))


def _find_end(lines: list[str], number: int, end: str, column: int) -> int | None:
    if end[0] in "`~":
        for last in range(number + 1, len(lines)):
            text = lines[last].strip(" \t>")
            ends = text.startswith(end) and not text.strip(end[0])
            # Indented as code, it is a line of the code.
            if ends and _column(lines[last], lines[last].find(end)) < column + 4:
                return last
        return None
    return next((n for n in range(number, len(lines)) if end in lines[n].lower()), None)
