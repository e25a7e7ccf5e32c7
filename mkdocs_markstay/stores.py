"""Vector stores by what is written on a command line: `chroma:index`, `pgvector:postgresql://…`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from mkdocs_markstay.sync import sync
from mkdocs_markstay.sync_errors import SyncError, hide_password
from mkdocs_markstay.target_tables import name_table
from mkdocs_markstay.targets import Target

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    from mkdocs_markstay.manifest import Manifest
    from mkdocs_markstay.sync import Counts, Embedder

_RECEIPTS = "markstay.sqlite"
KINDS = {
    "chroma": ("target_chroma", "ChromaTarget", "FOLDER or http://HOST:PORT"),
    "qdrant": ("target_qdrant", "QdrantTarget", "FOLDER or http://HOST:PORT"),
    "lancedb": ("target_lancedb", "LanceTarget", "FOLDER"),
    "sqlite-vec": ("target_sqlite_vec", "SqliteVecTarget", "FILE"),
    "pgvector": ("target_pgvector", "PgvectorTarget", "postgresql://USER@HOST/DATABASE"),
}
"""The module and the class of each kind of store, and where such a store can be."""


class StoreTarget(Target, Protocol):
    """A target that says what is in it, and can be closed."""

    def list_ids(self, publication: str) -> Iterable[str]:
        """Give the ids of all records of a publication."""

    def close(self) -> None:
        """Close what was opened."""


@dataclass(frozen=True)
class Store:
    """An open store. ``receipts`` is where its receipts are kept, unless somebody says otherwise.

    It is a file or the URL of a database, as `mkdocs_markstay.sync.sync` takes it.
    """

    target: StoreTarget
    receipts: str
    namespace: str = ""

    def sync(
        self, manifest: Manifest | str | os.PathLike[str], embedder: Embedder, **options: Any
    ) -> Counts:
        """Sync into this store and namespace; ``options`` are those of `sync.sync`."""
        return sync(
            manifest, self.target, embedder, self.receipts, namespace=self.namespace, **options
        )

    def close(self) -> None:
        """Close what was opened."""
        self.target.close()


def open_store(spec: str, namespace: str = "") -> Store:
    """Open a store by its kind and place, as in `chroma:index`.

    Raises SyncError with what to write, to install or to repair.
    """
    kind, _, place = spec.partition(":")
    name_table(namespace)
    if kind not in KINDS:
        raise SyncError(f"{spec!r} is no store. Write one of: {_spell(KINDS)}")
    module, name, _ = KINDS[kind]
    # What stands there may hold a password.
    if not place or (kind == "pgvector" and not re.match("postgres(ql)?://", place)):
        raise SyncError(f"the target does not say where the store is. Write {_spell([kind])}")
    if "://" in place and kind == "sqlite-vec":
        raise SyncError(f"the target is no file. Write {_spell([kind])}")
    try:
        opened: Any = getattr(import_module(f"mkdocs_markstay.{module}"), name)
    except ImportError as error:
        raise SyncError(
            f"{kind} needs more packages ({error}). Run: pip install 'mkdocs-markstay[{kind}]'"
        ) from error
    try:
        target: StoreTarget = opened.open(place, namespace)
    except SyncError:
        raise
    except Exception as error:
        # Each library has errors of its own.
        raise SyncError(f"{hide_password(spec)} cannot be opened: {error}") from error
    receipts = place_receipts(kind, place)
    if "://" not in receipts:
        # Not every library makes its folder before something is written.
        Path(receipts).parent.mkdir(parents=True, exist_ok=True)
    return Store(target, receipts, namespace)


def _spell(kinds: Iterable[str]) -> str:
    return ", ".join(f"{kind}:{KINDS[kind][2]}" for kind in kinds)


def place_receipts(kind: str, place: str) -> str:
    """Give the file, or the URL of the database, for the receipts of a store."""
    if kind == "pgvector":
        return place
    if kind == "sqlite-vec":
        return f"{place}.receipts"
    if "://" not in place:
        return str(Path(place) / _RECEIPTS)
    # There is no folder to put them into, and no password belongs into a name.
    url = urlsplit(place)
    where = f"{url.netloc.rpartition('@')[2]}{url.path.rstrip('/')}"
    return f"markstay-{kind}-{re.sub('[^A-Za-z0-9.-]+', '_', where)}.sqlite"
