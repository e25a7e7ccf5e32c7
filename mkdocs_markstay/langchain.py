"""Passages for LangChain: documents, vector stores in step with a manifest, and `index()`.

`sync` keeps any vector store in step. For those who stay with LangChain's own `index()`,
`index_arguments`, `cached` and `refresh` make it do the same. See ``docs/langchain.md``.
"""

from __future__ import annotations

from collections import defaultdict
from contextlib import contextmanager
from hashlib import sha256
from itertools import islice
from threading import Lock
from typing import TYPE_CHECKING, Any

from langchain_core.document_loaders import BaseLoader
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore

from mkdocs_markstay.manifest import opened
from mkdocs_markstay.partitions import PARTITIONS
from mkdocs_markstay.sync import MAX_DELETE, Counts, Embedder, SyncError, refuse
from mkdocs_markstay.sync import sync as sync_target
from mkdocs_markstay.targets import make_metadata

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from langchain_classic.embeddings import CacheBackedEmbeddings
    from langchain_core.indexing import RecordManager
    from langchain_core.stores import ByteStore

    from mkdocs_markstay.database import Database
    from mkdocs_markstay.manifest import Manifest, Passage
    from mkdocs_markstay.targets import Item, Target

__all__ = [
    "Counts",
    "PassageEmbeddings",
    "PassageLoader",
    "SyncError",
    "cached",
    "index_arguments",
    "load",
    "make_target",
    "read_key",
    "refresh",
    "sync",
]

_BATCH = 500

_PGVECTOR = "langchain_postgres.PGVector"

# Stores that put a record in the place of one with the same id. Of others that is not known:
# some keep the old record, some keep both, some fail.
_REPLACING = frozenset(
    {
        "langchain_chroma.Chroma",
        "langchain_core.InMemoryVectorStore",
        _PGVECTOR,
        "langchain_postgres.PGVectorStore",
        "langchain_qdrant.QdrantVectorStore",
    }
)


# -- documents


class PassageLoader(BaseLoader):
    """The passages of a manifest as documents, read one page at a time.

    ``manifest`` is a path, or a `Manifest` that stays open. With ``whole``, a manifest by which
    nothing may be deleted is refused with SyncError before the first document.
    """

    def __init__(self, manifest: Manifest | str | os.PathLike[str], *, whole: bool = False) -> None:
        self.manifest = manifest
        self.whole = whole

    def lazy_load(self) -> Iterator[Document]:
        """Give the documents in the order of the manifest."""
        with opened(self.manifest) as manifest:
            if self.whole:
                _refuse_parts(manifest)
            yield from map(_make_document, manifest.iter_passages())


def load(manifest: Manifest | str | os.PathLike[str]) -> list[Document]:
    """Give a document for each passage: its text, its metadata, and its chunk id as the id.

    Raises ManifestError for a manifest that cannot be read.
    """
    return list(PassageLoader(manifest).lazy_load())


def _make_document(passage: Passage) -> Document:
    return Document(id=passage.chunk_id, page_content=passage.text, metadata=make_metadata(passage))


# -- any vector store, by the engine


class PassageEmbeddings(Embeddings):
    """A model for one vector store, which takes the vectors of passages from a sync.

    LangChain's stores embed what they are given. While `sync` writes, they get the vectors that
    it has, so each text is embedded once for ever. All else, such as queries, goes to
    ``embeddings``. ``model`` is the name by which vectors are known later: it has to change
    with all that changes them. ``batch_size`` is how many texts a sync gives at a time.
    """

    def __init__(self, embeddings: Embeddings, model: str, batch_size: int = 64) -> None:
        self.embeddings = embeddings
        self.model = model
        self.batch_size = batch_size
        self._vectors: Mapping[str, list[float]] = {}
        self._asked: set[str] = set()
        self._lock = Lock()

    @contextmanager
    def giving(self, vectors: Mapping[str, list[float]]) -> Iterator[None]:
        """Give these vectors for these texts for a while, and see that all were asked for."""
        with self._lock:
            self._asked, self._vectors = set(), vectors
            try:
                yield
            finally:
                self._vectors = {}
            if vectors.keys() - self._asked:
                raise SyncError(
                    "the vector store has not asked these embeddings for its vectors. Make it"
                    " with the same PassageEmbeddings"
                )

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Give the vectors of texts: from a sync that is writing, or else from the model."""
        known, rest = self._divide(texts)
        return _fill(texts, known, rest, self.embeddings.embed_documents(rest) if rest else [])

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """Do the same, without waiting."""
        known, rest = self._divide(texts)
        made = await self.embeddings.aembed_documents(rest) if rest else []
        return _fill(texts, known, rest, made)

    def embed_query(self, text: str) -> list[float]:
        """Give the vector of a query, from the model."""
        return list(self.embeddings.embed_query(text))

    async def aembed_query(self, text: str) -> list[float]:
        """Do the same, without waiting."""
        return list(await self.embeddings.aembed_query(text))

    def _divide(self, texts: list[str]) -> tuple[dict[str, list[float]], list[str]]:
        vectors = self._vectors
        known = {text: vectors[text] for text in texts if text in vectors}
        self._asked |= known.keys()
        return known, list(dict.fromkeys(text for text in texts if text not in known))


def _fill(
    texts: list[str],
    known: Mapping[str, list[float]],
    rest: list[str],
    made: Iterable[list[float]],
) -> list[list[float]]:
    vectors = {**known, **dict(zip(rest, made, strict=True))}
    return [vectors[text] for text in texts]


def sync(
    manifest: Manifest | str | os.PathLike[str],
    vector_store: VectorStore,
    embeddings: PassageEmbeddings,
    receipts: Database | str | os.PathLike[str],
    *,
    namespace: str = "",
    content: str = "text",
    dry_run: bool = False,
    rebuild: bool = False,
    forget: Iterable[str] = (),
    force: bool = False,
    max_delete: float = MAX_DELETE,
) -> Counts:
    """Make a vector store hold exactly the passages of a manifest, and count what that took.

    ``vector_store`` was made with ``embeddings``. What is embedded is told by ``content``:
    `text`, or `path`, which is the titles that lead to the text, and the text. All else is as
    in `mkdocs_markstay.sync.sync`.
    """
    embedder = Embedder(
        embeddings.model, embeddings.embeddings.embed_documents, content, embeddings.batch_size
    )
    return sync_target(
        manifest,
        make_target(vector_store, embeddings),
        embedder,
        receipts,
        namespace=namespace,
        dry_run=dry_run,
        rebuild=rebuild,
        forget=forget,
        force=force,
        max_delete=max_delete,
    )


def make_target(vector_store: VectorStore, embeddings: PassageEmbeddings) -> Target:
    """Give what the engine writes to, for `mkdocs_markstay.sync.check` and the like.

    Raises SyncError if the store was not made with ``embeddings``.
    """
    # Some stores do not say what they were made with.
    if vector_store.embeddings is not None and vector_store.embeddings is not embeddings:
        raise SyncError(
            "the vector store was made with other embeddings. Make it with the same"
            " PassageEmbeddings"
        )
    kind = _AskedTarget if _can_be_asked(vector_store) else _StoreTarget
    return kind(vector_store, embeddings)


class _StoreTarget:
    """A vector store as a target of the engine."""

    def __init__(self, store: VectorStore, embeddings: PassageEmbeddings) -> None:
        self._store = store
        self._embeddings = embeddings

    def upsert(self, items: Sequence[Item]) -> None:
        for part in _divide_by_vector(items):
            vectors = {item.text: item.vector for item in part}
            documents = [
                Document(id=item.chunk_id, page_content=item.text, metadata=item.metadata)
                for item in part
            ]
            with self._embeddings.giving(vectors):
                _write(self._store, documents)

    def delete(self, chunk_ids: Sequence[str]) -> None:
        _delete(self._store, chunk_ids)


class _AskedTarget(_StoreTarget):
    """A vector store that can say what is in it."""

    def find_ids(self, chunk_ids: Sequence[str]) -> set[str]:
        return set(_read(self._store, chunk_ids))


def _divide_by_vector(items: Iterable[Item]) -> Iterable[list[Item]]:
    """Divide items so that those of one text in one part have one vector.

    A store asks for the vector of a text, and with titles embedded one text has several.
    """
    parts: dict[int, list[Item]] = defaultdict(list)
    seen: dict[str, list[list[float]]] = defaultdict(list)
    for item in items:
        vectors = seen[item.text]
        if item.vector not in vectors:
            vectors.append(item.vector)
        parts[vectors.index(item.vector)].append(item)
    return parts.values()


# -- what stores differ in


def _can_be_asked(store: VectorStore) -> bool:
    return type(store).get_by_ids is not VectorStore.get_by_ids


def _is_one_of(store: VectorStore, names: Collection[str]) -> bool:
    classes = type(store).__mro__
    return any(f"{cls.__module__.partition('.')[0]}.{cls.__name__}" in names for cls in classes)


def _read(store: VectorStore, chunk_ids: Sequence[str]) -> dict[str, Document]:
    """Give those of the documents that are there, by their chunk ids."""
    found = store.get_by_ids(list(chunk_ids))
    # Some stores give documents without ids.
    return {document.metadata.get("chunk_id", document.id): document for document in found}


def _write(store: VectorStore, documents: list[Document]) -> None:
    ids = [document.metadata["chunk_id"] for document in documents]
    if _is_one_of(store, [_PGVECTOR]):
        _refuse_shared(store, ids)
    if not _is_one_of(store, _REPLACING):
        _delete(store, ids)
    store.add_documents(documents, ids=ids)


def _delete(store: VectorStore, chunk_ids: Sequence[str]) -> None:
    """Delete records; those that are not there are left out where that may be an error."""
    ids = list(chunk_ids)
    if not _is_one_of(store, _REPLACING) and _can_be_asked(store):
        there = _read(store, ids)
        ids = [chunk_id for chunk_id in ids if chunk_id in there]
    options = {"collection_only": True} if _is_one_of(store, [_PGVECTOR]) else {}
    if ids and store.delete(ids=ids, **options) is False:
        raise SyncError("the vector store did not delete what it was told to")


def _refuse_shared(store: Any, ids: list[str]) -> None:
    """Refuse to take records away from another collection of a PGVector.

    It has one record of an id for all its collections, so those that hold other versions of a
    site would lose theirs, and nothing would tell.
    """
    row = store.EmbeddingStore
    with store.session_maker() as session:
        own = store.get_collection(session).uuid
        query = session.query(row.id).filter(row.id.in_(ids), row.collection_id != own)
        if query.first() is not None:
            raise SyncError(
                "another collection of this PGVector holds the same passages, and it can hold"
                " them only once. Use PGVectorStore, with a table for each version and model"
            )


# -- LangChain's own index()


def index_arguments(
    manifest: Manifest | str | os.PathLike[str], *, batch_size: int = _BATCH
) -> dict[str, Any]:
    """Give the arguments of `langchain_core.indexing.index` for a manifest.

    Missing are ``record_manager`` and ``vector_store``. A manifest that is empty, of a preview,
    or not of whole sites is refused with SyncError, here and when it is read: `index` would
    delete what is not in it.
    """
    loader = PassageLoader(manifest, whole=True)
    with opened(manifest) as found:
        _refuse_parts(found)
    return {
        "docs_source": loader,
        "key_encoder": read_key,
        # All other modes leave ghosts, and "incremental" embeds long pages again for ever.
        "cleanup": "full",
        "source_id_key": _name_page,
        "batch_size": batch_size,
    }


def read_key(document: Document) -> str:
    """Give the chunk id of a document, as the ``key_encoder`` of `index`."""
    return str(document.metadata["chunk_id"])


def _name_page(document: Document) -> str:
    return " ".join(document.metadata[name] for name in ("publication", "lang", "page_id"))


def cached(embeddings: Embeddings, model: str, byte_store: ByteStore) -> CacheBackedEmbeddings:
    """Give a model with a cache, for a vector store that `index` writes to.

    Vectors are known by ``model`` and the SHA-256 of the text, so a text is embedded once,
    wherever it moves. Needs langchain-classic.
    """
    from langchain_classic.embeddings import CacheBackedEmbeddings  # noqa: PLC0415

    if not model:
        raise SyncError("the embedding model has no name. Vectors are kept by it: give one")
    # A file store takes few characters in its keys.
    prefix = sha256(model.encode()).hexdigest()[:16]
    return CacheBackedEmbeddings.from_bytes_store(
        _AskedOnce(embeddings),
        byte_store,
        key_encoder=lambda text: f"{prefix}/sha256-{sha256(text.encode()).hexdigest()}",
    )


class _AskedOnce(Embeddings):
    """A model that is given each text of a call once, which the cache does not see to."""

    def __init__(self, embeddings: Embeddings) -> None:
        self._embeddings = embeddings

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        rest = list(dict.fromkeys(texts))
        return _fill(texts, {}, rest, self._embeddings.embed_documents(rest))

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        rest = list(dict.fromkeys(texts))
        return _fill(texts, {}, rest, await self._embeddings.aembed_documents(rest))

    def embed_query(self, text: str) -> list[float]:
        return list(self._embeddings.embed_query(text))

    async def aembed_query(self, text: str) -> list[float]:
        return list(await self._embeddings.aembed_query(text))


def refresh(
    manifest: Manifest | str | os.PathLike[str],
    record_manager: RecordManager,
    vector_store: VectorStore,
) -> int:
    """Rewrite the records that `index` skips though they are not as they should be.

    These are records with other metadata than the manifest's, and those that the vector store
    has lost. Gives their number. Nothing is written that ``record_manager`` does not know of.
    Raises SyncError if the store cannot be asked for records, or for a manifest that is
    refused.
    """
    if not _can_be_asked(vector_store):
        name = type(vector_store).__name__
        raise SyncError(f"a {name} cannot be asked for records by their ids")
    rewritten = 0
    with opened(manifest) as found:
        refuse(found)
        passages = found.iter_passages()
        while batch := list(islice(passages, _BATCH)):
            ids = [passage.chunk_id for passage in batch]
            known = record_manager.exists(ids)
            there = _read(vector_store, ids)
            stale = [
                _make_document(passage)
                for passage, is_known in zip(batch, known, strict=True)
                if is_known and _is_stale(there.get(passage.chunk_id), passage)
            ]
            if stale:
                _write(vector_store, stale)
            rewritten += len(stale)
    return rewritten


def _is_stale(document: Document | None, passage: Passage) -> bool:
    return document is None or document.metadata.get("record_digest") != passage.record_digest


def _refuse_parts(manifest: Manifest) -> None:
    """Refuse manifests by which `index` would delete what it should not."""
    refuse(manifest)
    for name, header in manifest.headers.items():
        if header.partitions != PARTITIONS:
            raise SyncError(
                f"this is a part of {name}, and all else would be deleted. Open all parts"
            )
