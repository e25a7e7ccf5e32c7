"""Passages in Haystack: as documents, and in a document store that is kept in step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from haystack import Document
from haystack.components.writers import DocumentWriter
from haystack.document_stores.types import DuplicatePolicy

from mkdocs_markstay.manifest import opened
from mkdocs_markstay.sync import MAX_DELETE, Counts, Embedder, SyncError
from mkdocs_markstay.sync import sync as sync_target
from mkdocs_markstay.targets import make_metadata

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence

    from haystack.document_stores.types import DocumentStore

    from mkdocs_markstay.database import Database
    from mkdocs_markstay.manifest import Manifest
    from mkdocs_markstay.targets import Item, Target

__all__ = ["load", "sync", "writer"]


def load(manifest: Manifest | str | os.PathLike[str]) -> list[Document]:
    """Give each passage as a document: its chunk id is the id. Raises ManifestError."""
    with opened(manifest) as found:
        return [
            Document(id=each.chunk_id, content=each.text, meta=make_metadata(each))
            for each in found.iter_passages()
        ]


def writer(document_store: DocumentStore) -> DocumentWriter:
    """Make a component that replaces documents whose ids are known."""
    return DocumentWriter(document_store, policy=DuplicatePolicy.OVERWRITE)


def sync(
    manifest: Manifest | str | os.PathLike[str],
    document_store: DocumentStore,
    embedder: Any,
    receipts: Database | str | os.PathLike[str],
    *,
    model: str | None = None,
    namespace: str = "",
    content: str = "text",
    dry_run: bool = False,
    rebuild: bool = False,
    forget: Iterable[str] = (),
    force: bool = False,
    max_delete: float = MAX_DELETE,
) -> Counts:
    """Make a document store hold exactly the passages of a manifest; see `sync.sync`.

    ``embedder`` is a component that embeds documents. ``model`` is the name by which vectors
    are known later, by default the one that the component says.
    """
    return sync_target(
        manifest,
        make_target(document_store),
        Embedder(_name(embedder) if model is None else model, _Embed(embedder), content),
        receipts,
        namespace=namespace,
        dry_run=dry_run,
        rebuild=rebuild,
        forget=forget,
        force=force,
        max_delete=max_delete,
    )


def _name(embedder: Any) -> str:
    name = getattr(embedder, "model", None)
    if not name or not isinstance(name, str):
        raise SyncError("the embedding model has no name. Vectors are kept by it: give model=")
    return name


def make_target(document_store: DocumentStore) -> Target:
    """Make a document store a target."""
    return _Target(document_store)


class _Embed:
    """Asks a component for the vectors of texts."""

    def __init__(self, embedder: Any) -> None:
        self._embedder = embedder
        self._is_warm = False

    def __call__(self, texts: list[str]) -> list[list[float]]:
        if not self._is_warm:
            # Not every component has to load its model.
            getattr(self._embedder, "warm_up", lambda: None)()
            self._is_warm = True
        asked = [Document(content=text) for text in texts]
        given = self._embedder.run(documents=asked)["documents"]
        found = {each.id: each.embedding for each in given}
        # Some components only log what went wrong.
        missing = sum(found.get(each.id) is None for each in asked)
        if missing:
            raise SyncError(
                f"the component gave no vectors for {missing} of {len(texts)} texts. What was done"
                " is kept: run the sync again"
            )
        return [found[each.id] for each in asked]


class _Target:
    """A document store. Its filters know ids by the metadata alone, all of them alike."""

    def __init__(self, store: Any) -> None:
        self._store = store

    def upsert(self, items: Sequence[Item]) -> None:
        self._store.write_documents(
            [
                Document(
                    id=item.chunk_id, content=item.text, meta=item.metadata, embedding=item.vector
                )
                for item in items
            ],
            policy=DuplicatePolicy.OVERWRITE,
        )

    def delete(self, chunk_ids: Sequence[str]) -> None:
        self._store.delete_documents(list(chunk_ids))

    def list_ids(self, publication: str) -> list[str]:
        return self._read("publication", "==", publication)

    def find_ids(self, chunk_ids: Sequence[str]) -> list[str]:
        get = getattr(self._store, "get_documents_by_id", None)
        if get is not None:
            # Qdrant's: by a filter, it would look at every document.
            return [each.id for each in get(list(chunk_ids))]
        return self._read("chunk_id", "in", list(chunk_ids))

    def _read(self, name: str, operator: str, value: str | list[str]) -> list[str]:
        condition = {"field": f"meta.{name}", "operator": operator, "value": value}
        return [each.id for each in self._store.filter_documents(condition)]
