"""Passages in LlamaIndex: as nodes, in a vector store kept in step, in an ingestion pipeline."""

from __future__ import annotations

import json
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from llama_index.core.ingestion import DocstoreStrategy, IngestionPipeline
from llama_index.core.schema import (
    Document,
    NodeRelationship,
    ObjectType,
    RelatedNodeInfo,
    TextNode,
    TransformComponent,
)
from llama_index.core.vector_stores import SimpleVectorStore
from llama_index.core.vector_stores.types import BasePydanticVectorStore

from mkdocs_markstay.manifest import opened
from mkdocs_markstay.sync import MAX_DELETE, Counts, Embedder, SyncError, refuse
from mkdocs_markstay.sync import sync as sync_target
from mkdocs_markstay.targets import METADATA, make_metadata

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.schema import BaseNode
    from llama_index.core.storage.docstore import BaseDocumentStore

    from mkdocs_markstay.database import Database
    from mkdocs_markstay.manifest import Manifest
    from mkdocs_markstay.targets import Item, Target, Value

__all__ = ["PassageNodes", "PassagePipeline", "documents", "load", "pipeline", "sync"]

Flat = str | int | bool

# A key of a document's metadata, so that its hash is another one with another model.
_MODEL = "embedding_model"
# The names that models have who were given none.
_NAMELESS = ("", "unknown")
_AT_ONCE = 1000
_BATCH = 64


def load(manifest: Manifest | str | os.PathLike[str], *, flat: bool = False) -> list[TextNode]:
    """Give each passage as a node: its chunk id is the id of the node.

    Only the text is embedded and shown to a language model. A node knows its page (SOURCE),
    its section (PARENT) and its neighbours on the page (PREVIOUS, NEXT). ``flat`` writes lists
    in metadata as JSON, as stores need it that keep no lists. Raises ManifestError.
    """
    with opened(manifest) as found:
        nodes: list[TextNode] = []
        for page in found.pages:
            page_nodes = [
                _make_node(each.chunk_id, each.text, make_metadata(each), flat=flat)
                for each in found.read(page)
            ]
            for before, after in pairwise(page_nodes):
                before.relationships[NodeRelationship.NEXT] = _relate(after.id_, ObjectType.TEXT)
                after.relationships[NodeRelationship.PREVIOUS] = _relate(
                    before.id_, ObjectType.TEXT
                )
            nodes += page_nodes
        return nodes


def sync(
    manifest: Manifest | str | os.PathLike[str],
    vector_store: BasePydanticVectorStore,
    embed_model: BaseEmbedding,
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
    """Make a vector store hold exactly the passages of a manifest; see `sync.sync`.

    ``model`` is the name by which vectors are known later, by default the one that the model
    says. The nodes are those of `load` without their neighbours: a node that stays would
    otherwise name one that is gone.
    """
    embedder = Embedder(
        _name(embed_model) if model is None else model,
        embed_model.get_text_embedding_batch,
        content,
        # The model divides them again. What is made is kept after each batch.
        max(_BATCH, embed_model.embed_batch_size),
    )
    return sync_target(
        manifest,
        make_target(vector_store),
        embedder,
        receipts,
        namespace=namespace,
        dry_run=dry_run,
        rebuild=rebuild,
        forget=forget,
        force=force,
        max_delete=max_delete,
    )


def _name(embed_model: BaseEmbedding) -> str:
    name = embed_model.model_name or ""
    if name in _NAMELESS:
        raise SyncError(
            "the embedding model has no name. Vectors are kept by it: set its model_name"
        )
    return str(name)


# -- nodes


def _make_node(
    chunk_id: str, text: str, metadata: Mapping[str, Value], *, flat: bool, **fields: Any
) -> TextNode:
    section, page = metadata["referent"], metadata["page_id"]
    return TextNode(
        id_=chunk_id,
        text=text,
        metadata=_flatten(metadata) if flat else dict(metadata),
        excluded_embed_metadata_keys=list(METADATA),
        excluded_llm_metadata_keys=list(METADATA),
        relationships={
            NodeRelationship.SOURCE: _relate(_qualify(metadata, page), ObjectType.DOCUMENT),
            NodeRelationship.PARENT: _relate(_qualify(metadata, section)),
        },
        **fields,
    )


def _qualify(metadata: Mapping[str, Value], referent: Value) -> str:
    """Name a page or a section: other sites and translations may have the same referent."""
    return f"{metadata['publication']}:{metadata['lang']}:{referent}"


def _relate(node_id: str, kind: ObjectType | None = None) -> RelatedNodeInfo:
    return RelatedNodeInfo(node_id=node_id, node_type=kind)


def _flatten(metadata: Mapping[str, Value]) -> dict[str, Flat]:
    return {
        key: json.dumps(value, ensure_ascii=False) if isinstance(value, list) else value
        for key, value in metadata.items()
    }


def _is_flat(store: BasePydanticVectorStore) -> bool:
    return bool(getattr(store, "flat_metadata", False))


# -- vector stores as targets


def make_target(store: BasePydanticVectorStore) -> Target:
    """Make a vector store a target. Raises SyncError for one that cannot delete by id."""
    if type(store).delete_nodes is BasePydanticVectorStore.delete_nodes:
        raise SyncError(f"{type(store).__name__} cannot delete by the ids of nodes (delete_nodes)")
    if isinstance(store, SimpleVectorStore):
        return _SimpleTarget(store)
    kind = _KINDS.get(type(store).__name__)
    if kind is None:
        can_read = type(store).get_nodes is not BasePydanticVectorStore.get_nodes
        kind = _ReadableTarget if can_read else _Target
    return kind(store)


class _Target:
    """A store of which nothing is known, but how to write to it and to delete from it."""

    overwrites = False
    """Whether it replaces what is there. Others ignore a known id, or have it twice then."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self._flat = _is_flat(store)

    def upsert(self, items: Sequence[Item]) -> None:
        if not self.overwrites:
            self.delete([item.chunk_id for item in items])
        self._store.add(
            [
                _make_node(i.chunk_id, i.text, i.metadata, flat=self._flat, embedding=i.vector)
                for i in items
            ]
        )

    def delete(self, chunk_ids: Sequence[str]) -> None:
        self._store.delete_nodes(list(chunk_ids))


class _ReadableTarget(_Target):
    def find_ids(self, chunk_ids: Sequence[str]) -> Collection[str]:
        # Without ids, some stores give all that they have.
        return (
            [each.node_id for each in self._store.get_nodes(list(chunk_ids))] if chunk_ids else []
        )


class _SimpleTarget(_Target):
    overwrites = True

    def list_ids(self, publication: str) -> list[str]:
        found = self._store.data.metadata_dict
        return [key for key, each in found.items() if each["publication"] == publication]

    def find_ids(self, chunk_ids: Sequence[str]) -> Collection[str]:
        found = self._store.data.embedding_dict
        return [each for each in chunk_ids if each in found]


class _ChromaTarget(_ReadableTarget):
    def list_ids(self, publication: str) -> Iterator[str]:
        collection, start, ids = self._store.client, 0, [""]
        while ids:
            ids = collection.get(
                where={"publication": publication}, include=[], limit=_AT_ONCE, offset=start
            )["ids"]
            yield from ids
            start += len(ids)


class _QdrantTarget(_Target):
    overwrites = True

    def _is_there(self) -> bool:
        # The store makes its collection when something is written first.
        return bool(self._store.client.collection_exists(self._store.collection_name))

    def delete(self, chunk_ids: Sequence[str]) -> None:
        if self._is_there():
            super().delete(chunk_ids)

    def find_ids(self, chunk_ids: Sequence[str]) -> Collection[str]:
        if not self._is_there():
            return []
        found = self._store.client.retrieve(
            self._store.collection_name, list(chunk_ids), with_payload=False
        )
        return [str(point.id) for point in found]

    def list_ids(self, publication: str) -> Iterator[str]:
        # get_nodes would end after 9,999 nodes, and read them as a whole.
        from qdrant_client import models  # noqa: PLC0415 (not every user has it)

        condition = models.FieldCondition(
            key="publication", match=models.MatchValue(value=publication)
        )
        place, more = None, self._is_there()
        while more:
            points, place = self._store.client.scroll(
                self._store.collection_name,
                models.Filter(must=[condition]),
                limit=_AT_ONCE,
                offset=place,
                with_payload=False,
            )
            yield from (str(point.id) for point in points)
            more = place is not None


_KINDS: dict[str, type[_Target]] = {
    "ChromaVectorStore": _ChromaTarget,
    "QdrantVectorStore": _QdrantTarget,
}


# -- the ingestion pipeline


def documents(manifest: Manifest | str | os.PathLike[str]) -> list[Document]:
    """Give each passage as a document, for `pipeline`.

    Raises ManifestError, and SyncError for a manifest by which nothing may be deleted: an
    empty one, one of a preview, one that is not complete.
    """
    with opened(manifest) as found:
        refuse(found)
        return [
            Document(
                id_=passage.chunk_id,
                text=passage.text,
                metadata=make_metadata(passage),
                excluded_embed_metadata_keys=list(METADATA),
                excluded_llm_metadata_keys=list(METADATA),
            )
            for passage in found.iter_passages()
        ]


class PassageNodes(TransformComponent):
    """Makes a node of each document, in the way in which a pipeline finds it again.

    The source of a node is its own id: by it the pipeline deletes. ``flat`` is as in `load`.
    """

    flat: bool = False

    def __call__(self, nodes: Sequence[BaseNode], **_: Any) -> list[TextNode]:
        """Give the nodes, one for each document."""
        made = []
        for each in nodes:
            metadata = {key: each.metadata[key] for key in METADATA}
            node = _make_node(each.node_id, each.get_content(), metadata, flat=self.flat)
            node.relationships[NodeRelationship.SOURCE] = _relate(node.id_, ObjectType.DOCUMENT)
            made.append(node)
        return made


class PassagePipeline(IngestionPipeline):
    """A pipeline for `documents` that does not delete by accident. Made by `pipeline`."""

    def run(
        self,
        *,
        documents: Sequence[Document],
        force: bool = False,
        max_delete: float = MAX_DELETE,
        **options: Any,
    ) -> Sequence[BaseNode]:
        """Bring the stores up to date, and give the nodes that were written.

        More than ``max_delete`` of what the document store knows is deleted with ``force``
        only: SyncError is raised before anything is touched.
        """
        new = self._prepare(documents, 1.0 if force else max_delete)
        with self._forgetting(new):
            written: Sequence[BaseNode] = super().run(documents=documents, **options)
        return written

    async def arun(
        self,
        *,
        documents: Sequence[Document],
        force: bool = False,
        max_delete: float = MAX_DELETE,
        **options: Any,
    ) -> Sequence[BaseNode]:
        """Do the same as `run`."""
        new = self._prepare(documents, 1.0 if force else max_delete)
        with self._forgetting(new):
            written: Sequence[BaseNode] = await super().arun(documents=documents, **options)
        return written

    def _prepare(self, documents: Sequence[Document], max_delete: float) -> list[str]:
        """Refuse what may not be done, and give the ids of what will be written."""
        if not documents:
            raise SyncError("there are no documents: nothing is done by that")
        held = {key: digest for digest, key in self.docstore.get_all_document_hashes().items()}
        gone = held.keys() - {each.id_ for each in documents}
        if len(gone) > len(held) * max_delete:
            raise SyncError(
                f"{len(gone)} of {len(held)} records would be deleted, more than"
                f" {max_delete:.0%}. Look at the manifest, and force it if that is right"
            )
        name = _name(self.transformations[-1])
        for each in documents:
            each.metadata[_MODEL] = name
        return [each.id_ for each in documents if held.get(each.id_) != each.hash]

    @contextmanager
    def _forgetting(self, new: Sequence[str]) -> Iterator[None]:
        """Forget what is new if a run fails: some releases note it before it is embedded."""
        try:
            yield
        except BaseException:
            for each in new:
                self.docstore.delete_document(each, raise_error=False)
            raise


def pipeline(
    embed_model: BaseEmbedding,
    vector_store: BasePydanticVectorStore,
    docstore: BaseDocumentStore,
) -> PassagePipeline:
    """Make a pipeline that embeds no passage again which it knows.

    It needs the same ``docstore`` every time. Set ``embed_model.embeddings_cache``, one for
    each model, so that a text in another place is not embedded again.
    """
    _name(embed_model)
    return PassagePipeline(
        transformations=[PassageNodes(flat=_is_flat(vector_store)), embed_model],
        vector_store=vector_store,
        docstore=docstore,
        docstore_strategy=DocstoreStrategy.UPSERTS_AND_DELETE,
        # It is kept by the digest of all texts together: one edit, and all are embedded again.
        disable_cache=True,
    )
