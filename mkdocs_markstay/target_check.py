"""Whether a target holds what its receipts say."""

from __future__ import annotations

from contextlib import ExitStack
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from mkdocs_markstay.database import Database
from mkdocs_markstay.partitions import PARTITIONS
from mkdocs_markstay.receipts import Receipts
from mkdocs_markstay.sync_errors import SyncError, told
from mkdocs_markstay.targets import Listing, Lookup, Target

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

_AT_ONCE = 500


class Differences(NamedTuple):
    """What a target does not hold, though its receipts say so, and what it should not hold.

    Of ``pending`` ids nothing is known: a sync has begun with them and has not ended.
    ``listed`` is false if the target cannot say which ids it has: ``ghosts`` are unknown then.
    """

    missing: list[str]
    ghosts: list[str]
    pending: list[str]
    listed: bool


def check(
    target: Target,
    publications: Iterable[str],
    receipts: Database | str | os.PathLike[str],
    *,
    namespace: str = "",
) -> Differences:
    """Compare what a target holds of some publications with its receipts.

    Whether the receipts are those of today's manifest is another question, which the plan of a
    sync answers. Raises SyncError if there is no receipt of one of them.
    """
    if isinstance(publications, str):
        raise SyncError(f"publications are a list of names: write [{publications!r}]")
    with ExitStack() as stack:
        if not isinstance(receipts, Database):
            receipts = Database.open(receipts)
            stack.callback(receipts.close)
        store = Receipts(receipts, namespace)
        found = Differences([], [], [], isinstance(target, Listing))
        for publication in dict.fromkeys(publications):
            with receipts.locked(namespace, PARTITIONS):
                _check_publication(target, publication, store, found)
        return found


def _check_publication(
    target: Target, publication: str, store: Receipts, found: Differences
) -> None:
    receipts = list(store.iter_all({publication: PARTITIONS}))
    if not receipts:
        raise SyncError(
            f"there are no receipts of {publication} in namespace {store.namespace!r}. Nothing was"
            " synced to here, or other receipts are meant"
        )
    held = {chunk_id for receipt in receipts for chunk_id in receipt.held}
    pending = {chunk_id for receipt in receipts for chunk_id in receipt.pending}
    if isinstance(target, Listing):
        there = set(list_ids(target, publication))
        found.ghosts.extend(sorted(there - held - pending))
    elif isinstance(target, Lookup):
        there = find_ids(target, sorted(held))
    else:
        raise SyncError("this target has no way to say what it holds")
    found.missing.extend(sorted(held - there))
    found.pending.extend(sorted(pending))


def list_ids(target: Listing, publication: str, most: int | None = None) -> list[str]:
    """Give the ids of a publication, or some of them. Raises SyncError if the target fails."""
    with told(_SILENT):
        return list(islice(target.list_ids(publication), most))


def find_ids(target: Lookup, chunk_ids: list[str]) -> set[str]:
    """Give those of the ids that a target has. Raises SyncError if it fails."""
    there: set[str] = set()
    for start in range(0, len(chunk_ids), _AT_ONCE):
        with told(_SILENT):
            there.update(target.find_ids(chunk_ids[start : start + _AT_ONCE]))
    return there


_SILENT = "the target failed to say what it holds"
