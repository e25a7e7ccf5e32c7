"""Whether a chunk id stands twice, of ten million and more: kept are eight bytes of each."""

from __future__ import annotations

import re
from array import array
from itertools import pairwise

_FORM = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def is_chunk_id(text: str) -> bool:
    """Tell whether a text is an id as this package writes it: a UUID in lower case."""
    return _FORM.fullmatch(text) is not None


class ChunkIdSet:
    """Ids that were seen. Which of them may be equal is told at the end."""

    def __init__(self) -> None:
        # Each is sorted on its own, so that this needs little memory, too.
        self._parts = [array("Q") for _ in range(256)]

    def add(self, chunk_id: str) -> None:
        """Note an id."""
        part = _part(chunk_id)
        self._parts[part & 0xFF].append(part)

    def find_alike(self) -> set[int]:
        """Give the parts of ids that were seen more than once: nearly always none."""
        alike: set[int] = set()
        for parts in self._parts:
            if len(set(parts)) != len(parts):
                alike.update(one for one, other in pairwise(sorted(parts)) if one == other)
        return alike


def is_alike(chunk_id: str, alike: set[int]) -> bool:
    """Tell whether an id has one of these parts."""
    return _part(chunk_id) in alike


def _part(chunk_id: str) -> int:
    # The end, of which no bit is fixed, and four digits more to make eight bytes.
    return int(chunk_id[:4] + chunk_id[24:], 16)
