"""From the blocks of a section to passages.

Blocks are grouped by content-defined boundaries: where a passage ends depends on
the digests of the blocks near it alone, so an edit moves no boundary that is
further away than the window. The rules are in ``docs/identity.md``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from mkdocs_markstay.sections import Block

if TYPE_CHECKING:
    from collections.abc import Sequence

GRANULARITIES = ("group", "block", "section")

# Where text may be cut, coarsest first. Each match belongs to the piece before it.
_ITEM = re.compile(r"\n(?=(?:-|[0-9]+\.) )")
_PARAGRAPH = re.compile(r"\n\n")
_LINE = re.compile(r"\n")
_SENTENCE = re.compile(r"(?<=[.!?]) |(?<=[\u3002\uff01\uff1f])(?=.)")
_WORD = re.compile(" ")
_CUTS = {
    "code": (_LINE,),
    "table": (_LINE,),
    "list": (_ITEM, _LINE, _SENTENCE, _WORD),
}
_PROSE_CUTS = (_PARAGRAPH, _LINE, _SENTENCE, _WORD)
_HEADER_RULE = re.compile(r"^\|(?: --- \|)+\n", re.MULTILINE)


@dataclass(frozen=True)
class Sizes:
    """How long passages are, in characters.

    ``min_chars``: no boundary is nearer to the start or end of a section.
    ``target_chars``: the usual length; a section that is not longer is one passage.
    ``max_chars``: no passage is longer.
    """

    min_chars: int = 300
    target_chars: int = 1200
    max_chars: int = 2400


_SMALLEST_MAXIMUM = 100


def check_sizes(sizes: Sizes) -> str:
    """Say what is wrong with sizes; nothing if they can be used."""
    ordered = 0 <= sizes.min_chars <= sizes.target_chars <= sizes.max_chars
    if ordered and sizes.max_chars >= _SMALLEST_MAXIMUM:
        return ""
    return (
        "passages must be 0 <= min_chars <= target_chars <= max_chars,"
        f" and max_chars at least {_SMALLEST_MAXIMUM}"
    )


class Passage(NamedTuple):
    """Consecutive blocks of one section."""

    blocks: tuple[Block, ...]

    @property
    def text(self) -> str:
        """The exact text: that of the blocks, joined by a blank line."""
        return "\n\n".join([block.text for block in self.blocks])

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of the blocks, each once, in order of appearance."""
        return tuple(dict.fromkeys([block.kind for block in self.blocks]))


def split_passages(blocks: Sequence[Block], sizes: Sizes, granularity: str) -> list[Passage]:
    """Divide the blocks of one section into passages; footnotes and prose never mix."""
    if granularity == "group" and _short(blocks, sizes):
        return [Passage(tuple(blocks))] if blocks else []
    notes = [block for block in blocks if block.kind == "footnote"]
    prose = [block for block in blocks if block.kind != "footnote"]
    return [
        Passage(tuple(group))
        for part in (prose, notes)
        if part
        for group in _divide(part, sizes, granularity)
    ]


def _short(blocks: Sequence[Block], sizes: Sizes) -> bool:
    """Whether blocks are one passage: what most sections are, told quickly."""
    length = -2
    for block in blocks:
        length += len(block.text) + 2
        if length > sizes.target_chars or block.kind == "footnote":
            return False
    return True


def split_block(block: Block, sizes: Sizes) -> list[Block]:
    """Split a block that alone exceeds the maximum; any other block comes back as it is.

    A part of a table repeats the header, a part of a listing is fenced again.
    """
    text = block.text
    if len(text) <= sizes.max_chars:
        return [block]
    before = after = ""
    if block.kind == "code":
        before, after = text[: text.index("\n") + 1], text[text.rindex("\n") :]
    elif block.kind == "table":
        rule = _HEADER_RULE.search(text)
        before = text[: rule.end()] if rule else ""
    # A header that leaves no room for rows is not repeated for each of them.
    if len(before) + len(after) > sizes.max_chars // 2:
        before = after = ""
    room = Sizes(sizes.min_chars, sizes.target_chars, sizes.max_chars - len(before) - len(after))
    inner = text[len(before) : len(text) - len(after)]
    parts = [
        Block(block.kind, before + part + after, stays=block.stays)
        for part in _split(inner, _CUTS.get(block.kind, _PROSE_CUTS), room)
    ]
    parts[-1] = parts[-1]._replace(lead=block.lead)
    return parts


def _divide(blocks: list[Block], sizes: Sizes, granularity: str) -> list[list[Block]]:
    if granularity == "section":
        return [blocks]
    parts = [part for block in blocks for part in split_block(block, sizes)]
    if granularity == "block":
        return [[part] for part in parts]
    texts = [part.text for part in parts]
    # A tab label, or a sentence that announces what follows, is not left behind.
    held = [part.lead or part.text.endswith((":", "\uff1a")) for part in parts]
    ends = _group(texts, held, 2, sizes)
    return [parts[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def _split(text: str, cuts: tuple[re.Pattern[str], ...], sizes: Sizes) -> list[str]:
    """Split text at the coarsest places that do, into parts of at most the maximum."""
    if len(text) <= sizes.max_chars:
        return [text] if text else []
    if not cuts:
        step = sizes.max_chars
        return [text[start : start + step] for start in range(0, len(text), step)]
    places = [0, *(match.end() for match in cuts[0].finditer(text)), len(text)]
    pieces = [text[start:end] for start, end in pairwise(places)]
    ends = _group(pieces, [False] * len(pieces), 0, sizes)
    parts: list[str] = []
    for start, end in zip([0, *ends], ends, strict=False):
        part = text[places[start] : places[end]].strip("\n")
        if cuts[0] in (_SENTENCE, _WORD):
            part = part.strip(" ")
        parts += _split(part, cuts[1:], sizes)
    return parts


def _group(texts: list[str], held: list[bool], joint: int, sizes: Sizes) -> list[int]:
    """Group texts that stand one after the other; return where each group ends.

    ``held``: behind these texts no group ends, if it can be helped. ``joint`` is
    the length of what joins two texts.
    """
    ends: list[int] = []
    total = -joint
    for text in texts:
        total += joint + len(text)
        ends.append(total)
    if total <= sizes.target_chars:
        return [len(texts)]
    digests = [sha256(text.encode()).digest() for text in texts]
    places = [
        number
        for number in range(len(texts) - 1)
        if not held[number]
        and ends[number] >= sizes.min_chars
        and total - ends[number] >= sizes.min_chars
    ]
    cuts = _lowest_in_window(places, ends, digests, max(sizes.target_chars // 2, sizes.min_chars))
    groups: list[int] = []
    start = 0
    for end in [*(cut + 1 for cut in cuts), len(texts)]:
        groups += _halve(start, end, ends, digests, held, sizes)
        start = end
    return groups


def _lowest_in_window(
    places: list[int], ends: list[int], digests: list[bytes], window: int
) -> list[int]:
    """Keep the places whose digest is lower than all others within ``window`` on both sides."""
    kept = set(places)
    for order in (places, places[::-1]):
        # The stack holds the places whose digest nothing after them has undercut.
        stack: list[int] = []
        for place in order:
            while stack and digests[stack[-1]] > digests[place]:
                stack.pop()
            if stack and abs(ends[place] - ends[stack[-1]]) <= window:
                kept.discard(place)
            stack.append(place)
    return sorted(kept)


def _halve(
    start: int, end: int, ends: list[int], digests: list[bytes], held: list[bool], sizes: Sizes
) -> list[int]:
    """Cut a group that is longer than the maximum where the digest is lowest, again and again.

    Returns where the resulting groups end.
    """
    done: list[int] = []
    rest = [(start, end)]
    while rest:
        start, end = rest.pop()
        first = ends[start - 1] if start else 0
        length = ends[end - 1] - first
        if end - start < 2 or length <= sizes.max_chars:
            done.append(end)
            continue
        margin = min(sizes.min_chars, length // 4)
        every = range(start, end - 1)
        free = [place for place in every if not held[place]]
        inner = [
            place
            for place in free
            if ends[place] - first >= margin and ends[end - 1] - ends[place] >= margin
        ]
        middle = first + length // 2
        cut = min(
            inner or free or every,
            key=lambda place: (digests[place], abs(ends[place] - middle), place),
        )
        rest += [(cut + 1, end), (start, cut + 1)]
    return done
