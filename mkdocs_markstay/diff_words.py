"""Which words of a text changed."""

from __future__ import annotations

import re
from collections import Counter
from difflib import SequenceMatcher
from itertools import groupby, takewhile
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

SAME = "="
REMOVED = "-"
ADDED = "+"

# Numbers, words and single signs, each with the white space behind it. Chinese, Japanese, Thai,
# Lao, Khmer and Burmese have no spaces between words, so each of their characters counts. Marks
# that `\w` does not know, as in Hindi, stay with their words.
_SINGLE = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
)
_SIGNS = r"!-/:-@\[-^`{-~\u00a1-\u00bf\u2010-\u2027\u2030-\u205e\u3000-\u303f\uff01-\uff0f"
_TOKEN = re.compile(rf"(?:\d+(?:[.,]\d+)+|[{_SINGLE}]|[{_SIGNS}]|[^\s{_SINGLE}{_SIGNS}]+)\s*|\s+")
_SENTENCE = re.compile(r"(?<=[.!?:;\n])(?=\s)|(?<=[\u3002\uff01\uff1f\n])")
# Comparing takes time that grows with the square of what differs: longer texts are compared
# sentence by sentence first, and a sentence that is longer is another one as a whole.
_LONGEST = 4_000
# If so many pairs of tokens are equal, those that are in very many of them are not looked for:
# each pair is looked at again for each stretch that is found.
_MANY = 40_000
_OFTEN = 400
# What is the same between two changes and no longer is of no help to a reader.
_SHORTEST = 2


class Piece(NamedTuple):
    """A stretch of two texts: in both (`SAME`), in the old (`REMOVED`) or the new (`ADDED`)."""

    sign: str
    text: str


def compare_words(old: str, new: str) -> list[Piece]:
    """Compare two texts word by word.

    The pieces that are not `ADDED` make the old text, those that are not `REMOVED` the new one.
    Between two that are `SAME` there is one that is removed, one that is added, or both.
    """
    return list(_join(_compare(_TOKEN.findall(old), _TOKEN.findall(new))))


def _compare(old: Sequence[str], new: Sequence[str]) -> Iterator[Piece]:
    # Most edits are in one place, so most of a text need not be looked at twice.
    start = _count_equal(old, new)
    end = _count_equal(old[start:][::-1], new[start:][::-1])
    before, after = old[start : len(old) - end], new[start : len(new) - end]
    yield Piece(SAME, "".join(old[:start]))
    if len(before) + len(after) <= _LONGEST:
        yield from _match(before, after)
    else:
        yield from _compare_sentences("".join(before), "".join(after))
    yield Piece(SAME, "".join(old[len(old) - end :]))


def _count_equal(old: Sequence[str], new: Sequence[str]) -> int:
    """Say how many tokens are the same, from the first on."""
    equal = takewhile(lambda both: both[0] == both[1], zip(old, new, strict=False))
    return sum(1 for _ in equal)


def _match(old: Sequence[str], new: Sequence[str]) -> Iterator[Piece]:
    keys = [token.rstrip() for token in old], [token.rstrip() for token in new]
    often = _find_often(*keys)
    matcher = SequenceMatcher(often.__contains__ if often else None, *keys, autojunk=False)
    for name, start, end, other_start, other_end in matcher.get_opcodes():
        before, after = old[start:end], new[other_start:other_end]
        if name == "equal":
            for token, other in zip(before, after, strict=True):
                yield from _split_end(token, other)
        else:
            yield from _split_end("".join(before), "".join(after))


def _find_often(old: Sequence[str], new: Sequence[str]) -> set[str]:
    """Give the tokens that are not looked for."""
    counts = Counter(new)
    pairs = {token: number * counts[token] for token, number in Counter(old).items()}
    if sum(pairs.values()) <= _MANY:
        return set()
    return {token for token, number in pairs.items() if number > _OFTEN}


def _split_end(old: str, new: str) -> Iterator[Piece]:
    """Compare two stretches: as wholes, but for the white space behind them."""
    first, second = old.rstrip(), new.rstrip()
    if first == second:
        yield Piece(SAME, first)
    else:
        yield from (Piece(REMOVED, first), Piece(ADDED, second))
    ends = old[len(first) :], new[len(second) :]
    if ends[0] == ends[1]:
        yield Piece(SAME, ends[0])
    else:
        yield from (Piece(REMOVED, ends[0]), Piece(ADDED, ends[1]))


def _compare_sentences(old: str, new: str) -> Iterator[Piece]:
    sentences = _SENTENCE.split(old), _SENTENCE.split(new)
    if sum(map(len, sentences)) > _LONGEST:
        yield from (Piece(REMOVED, old), Piece(ADDED, new))
        return
    for sign, pieces in groupby(_join(_match(*sentences)), lambda piece: piece.sign == SAME):
        texts = {piece.sign: piece.text for piece in pieces}
        if sign:
            yield Piece(SAME, texts[SAME])
            continue
        first, second = (_TOKEN.findall(texts.get(each, "")) for each in (REMOVED, ADDED))
        if len(first) + len(second) <= _LONGEST:
            yield from _match(first, second)
        else:
            yield from (Piece(REMOVED, "".join(first)), Piece(ADDED, "".join(second)))


def _join(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Put together what stands together, and what only a sign or a space holds apart."""
    removed = added = between = ""
    for sign, text in pieces:
        if sign == SAME:
            between += text
            continue
        if not text:
            continue
        if (removed or added) and len(between) <= _SHORTEST and not between.isalnum():
            removed += between
            added += between
        elif between:
            yield from _show(removed, added)
            yield Piece(SAME, between)
            removed = added = ""
        between = ""
        removed += text if sign == REMOVED else ""
        added += text if sign == ADDED else ""
    yield from _show(removed, added)
    if between:
        yield Piece(SAME, between)


def _show(removed: str, added: str) -> Iterator[Piece]:
    if removed:
        yield Piece(REMOVED, removed)
    if added:
        yield Piece(ADDED, added)
