"""What a sync writes to: two methods that any vector store can have."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from mkdocs_markstay.manifest import Passage

METADATA = (
    "chunk_id",
    "referent",
    "position",
    "title",
    "path",
    "level",
    "kinds",
    "url",
    "section_id",
    "generated",
    "page_id",
    "page_title",
    "page_url",
    "lang",
    "source",
    "publication",
    "version",
    "text_digest",
    "record_digest",
)
"""What is kept beside a vector: all that a `record_digest` is over, the ids and the digests.

Each has one type and is always there. `path` and `kinds` are lists that are never empty.
"""

Value = str | int | bool | list[str]


class Item(NamedTuple):
    """A passage with its vector, as it is written to a target. ``metadata`` has all `METADATA`."""

    chunk_id: str
    vector: list[float]
    text: str
    metadata: dict[str, Value]


class Target(Protocol):
    """A vector store. Its records are known by their chunk ids."""

    def upsert(self, items: Sequence[Item]) -> None:
        """Write records as a whole, new ones and ones that are there."""

    def delete(self, chunk_ids: Sequence[str]) -> None:
        """Delete records. An id that is not there is no error."""


@runtime_checkable
class Listing(Protocol):
    """A target that can say what is in it, so that it can be checked."""

    def list_ids(self, publication: str) -> Iterable[str]:
        """Give the ids of all records of a publication."""


@runtime_checkable
class Lookup(Protocol):
    """A target that can say at least whether something is in it."""

    def find_ids(self, chunk_ids: Sequence[str]) -> Collection[str]:
        """Give those of the ids that are there."""


def make_metadata(passage: Passage) -> dict[str, Value]:
    """Give what is kept beside the vector of a passage."""
    found: dict[str, Value] = {}
    for name in METADATA:
        value = getattr(passage, name)
        found[name] = list(value) if isinstance(value, tuple) else value
    return found
