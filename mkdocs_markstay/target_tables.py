"""What tables of vectors have in common, whatever the store is: names, sizes, batches."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeVar

from mkdocs_markstay.sync_errors import SyncError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mkdocs_markstay.targets import Item

T = TypeVar("T")

TABLE = "passages"
# In some stores names are names of files, or capital letters make no difference.
_NAMESPACE = re.compile(r"(?!.*\.\.)[a-z0-9](?:[a-z0-9._-]{0,38}[a-z0-9])?", re.ASCII)


def name_table(namespace: str) -> str:
    """Give the name that a table, or collection, has in every store. Raises SyncError."""
    if not namespace:
        return TABLE
    if not _NAMESPACE.fullmatch(namespace):
        raise SyncError(
            f"{namespace!r} is no namespace: write at most 40 of a-z, 0-9, '-', '_' and '.', with a"
            " letter or digit at both ends and no '..', as in v2.1"
        )
    return f"{TABLE}-{namespace}"


def tell_sizes(table: str, held: object, given: object) -> SyncError:
    """Give the error for vectors of another size than those that a table holds."""
    return SyncError(
        f"{table} holds vectors of {held} numbers, and the model gives {given}. Give another"
        f" --namespace, or delete {table} from the store and rebuild it"
    )


def check_sizes(table: str, held: int | None, items: Sequence[Item]) -> int:
    """Give the size of the vectors of items.

    Raises SyncError if there are several, or if it is not the one that the table holds.
    """
    size = held or len(items[0].vector)
    for item in items:
        if len(item.vector) != size:
            raise tell_sizes(table, size, len(item.vector))
    return size


def batches(values: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Divide values into batches of at most this size."""
    for start in range(0, len(values), size):
        yield values[start : start + size]
