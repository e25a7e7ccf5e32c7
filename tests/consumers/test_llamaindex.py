"""Passages in LlamaIndex: what moves when, in three vector stores, by a sync and by a pipeline."""

from __future__ import annotations

import asyncio
import json
import os
import re
import runpy
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from site_builder import Site, build_site, working_in
from sync_cases import (
    CHANGES,
    NAMES,
    SITE,
    SIZE,
    Held,
    Model,
    check_held,
    expected_counts,
    read_passages,
    run_change,
    write_manifest,
)

from mkdocs_markstay.manifest import Manifest
from mkdocs_markstay.sync import Counts, Embedder, SyncError, check
from mkdocs_markstay.targets import METADATA

if not os.environ.get("MARKSTAY_ALL_CONSUMERS"):
    pytest.importorskip("llama_index.core")
    pytest.importorskip("llama_index.vector_stores.chroma")
    pytest.importorskip("llama_index.vector_stores.qdrant")

import chromadb
from llama_index.core import Document, MockEmbedding, VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.ingestion import DocstoreStrategy, IngestionPipeline
from llama_index.core.schema import (
    MetadataMode,
    NodeRelationship,
    RelatedNodeInfo,
    TextNode,
)
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.core.storage.kvstore import SimpleKVStore
from llama_index.core.vector_stores import SimpleVectorStore
from llama_index.core.vector_stores.types import BasePydanticVectorStore
from llama_index.vector_stores.chroma import ChromaVectorStore
from llama_index.vector_stores.qdrant import QdrantVectorStore
from qdrant_client import QdrantClient, models

from mkdocs_markstay import llamaindex
from mkdocs_markstay.llamaindex import (
    PassageNodes,
    documents,
    load,
    make_target,
    pipeline,
    sync,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# Said of the store in memory alone.
pytestmark = pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant")

PAGE = Path(__file__).parents[2] / "docs" / "llamaindex.md"


class Embedding(BaseEmbedding):
    """The model of the cases, as one of LlamaIndex."""

    _embedder: Any = PrivateAttr()

    def __init__(self, embedder: Embedder, **options: Any) -> None:
        super().__init__(model_name=embedder.model, embed_batch_size=4, **options)
        self._embedder = embedder

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return list(self._embedder.embed(texts))

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)


class Store(NamedTuple):
    """A vector store, what it holds, and how it writes lists."""

    store: Any
    hold: Callable[[], dict[str, Held]]
    lists: Callable[[Any], Any] = list

    def sync(
        self, manifest: Path, _: Any, embedder: Embedder, receipts: Path, **options: Any
    ) -> Counts:
        """Sync as the engine does, by the adapter."""
        return sync(manifest, self.store, Embedding(embedder), receipts, **options)


def make_simple() -> Store:
    store = SimpleVectorStore()

    def hold() -> dict[str, Held]:
        vectors, found = store.data.embedding_dict, store.data.metadata_dict
        assert vectors.keys() == found.keys()
        # It keeps no texts.
        return {key: Held(None, found[key], vectors[key]) for key in vectors}

    return Store(store, hold)


def write_list(value: list[str]) -> str:
    return json.dumps(value, ensure_ascii=False)


def make_chroma() -> Store:
    collection = chromadb.EphemeralClient().create_collection(f"c{uuid.uuid4().hex}")
    store = ChromaVectorStore(chroma_collection=collection)

    def hold() -> dict[str, Held]:
        found = collection.get(include=["embeddings", "documents", "metadatas"])
        rows = zip(
            found["ids"], found["documents"], found["metadatas"], found["embeddings"], strict=True
        )
        held = {key: Held(text, values, list(vector)) for key, text, values, vector in rows}
        check_read(store, held)
        return held

    return Store(store, hold, write_list)


def make_qdrant() -> Store:
    client = QdrantClient(":memory:")
    # Vectors as they were written: for cosines they are changed.
    config = models.VectorParams(size=SIZE, distance=models.Distance.DOT)
    store = QdrantVectorStore("passages", client=client, dense_config=config)

    def hold() -> dict[str, Held]:
        if not client.collection_exists("passages"):
            return {}
        points, _ = client.scroll("passages", limit=1000, with_vectors=True)
        nodes = {node.node_id: node for node in store.get_nodes()}
        held = {}
        for point in points:
            assert isinstance(point.vector, list)
            held[point.id] = Held(nodes[point.id].text, point.payload, point.vector)
        check_read(store, held)
        return held

    return Store(store, hold)


def check_read(store: Any, held: dict[str, Held]) -> None:
    """What LlamaIndex reads is what filters see."""
    nodes = store.get_nodes(list(held)) if held else []
    assert {node.node_id for node in nodes} == held.keys()
    for node in nodes:
        record = held[node.node_id]
        assert node.text == record.text
        assert node.metadata == {key: record.metadata[key] for key in METADATA}
        # No neighbours: an edit would leave one that is gone.
        assert set(node.relationships) == {NodeRelationship.SOURCE, NodeRelationship.PARENT}


STORES = {"simple": make_simple, "chroma": make_chroma, "qdrant": make_qdrant}


@pytest.fixture(params=list(STORES))
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    made = STORES[request.param]()
    yield made
    if request.param == "qdrant":
        made.store.client.close()


# -- a sync


@pytest.mark.parametrize("change", CHANGES, ids=NAMES)
def test_what_moves_when(change: dict[str, Any], store: Store, tmp_path: Path) -> None:
    run_change(tmp_path, change, store.store, store.hold, store.sync, lists=store.lists)


def test_a_damaged_store_is_checked_and_rebuilt(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # So that a list has several parts.
    monkeypatch.setattr(llamaindex, "_AT_ONCE", 4)
    path, receipts, model = write_manifest(tmp_path, SITE), tmp_path / "receipts.sqlite", Model()
    sync(path, store.store, Embedding(model.embedder()), receipts)
    lost, ghost = next(iter(read_passages(path))), str(uuid.uuid4())
    (node,) = [each for each in load(path, flat=True) if each.node_id == lost]
    store.store.delete_nodes([lost])
    store.store.add([node.model_copy(update={"id_": ghost, "embedding": [0.5] * SIZE})])
    assert check(make_target(store.store), ["p"], receipts) == ([lost], [ghost], [], True)
    asked = len(model.texts)
    counts = sync(path, store.store, Embedding(model.embedder()), receipts, rebuild=True)
    assert counts == Counts(rewritten=11, deleted=1)
    assert len(model.texts) == asked
    check_held(store.hold(), path, lists=store.lists)
    assert check(make_target(store.store), ["p"], receipts) == ([], [], [], True)


def test_an_emptied_store_is_refused(store: Store, tmp_path: Path) -> None:
    path, receipts, model = write_manifest(tmp_path, SITE), tmp_path / "receipts.sqlite", Model()
    sync(path, store.store, Embedding(model.embedder()), receipts)
    store.store.delete_nodes(list(read_passages(path)))
    with pytest.raises(SyncError, match="by its receipts it should"):
        sync(path, store.store, Embedding(model.embedder()), receipts)


def test_other_receipts_are_refused(store: Store, tmp_path: Path) -> None:
    path, model = write_manifest(tmp_path, SITE), Model()
    sync(path, store.store, Embedding(model.embedder()), tmp_path / "receipts.sqlite")
    with pytest.raises(SyncError, match="there is no receipt of them"):
        sync(path, store.store, Embedding(model.embedder()), tmp_path / "others.sqlite")


def test_a_sync_goes_on_where_a_store_failed(store: Store, tmp_path: Path) -> None:
    """Titles are rewritten under the same ids: nothing is doubled, nothing stays old."""
    receipts, model = tmp_path / "receipts.sqlite", Model()
    old = write_manifest(tmp_path / "old", SITE)
    (change,) = [each for each in CHANGES if each["name"] == "change the title of a page"]
    new = write_manifest(tmp_path / "new", change["site"], **change.get("options", {}))
    sync(old, store.store, Embedding(model.embedder()), receipts)

    class Failing(type(store.store)):  # type: ignore[misc]
        def add(self, nodes: Any, **options: Any) -> list[str]:
            super().add(nodes[:3], **options)
            raise OSError("the disk is full")

    kind, store.store.__class__ = type(store.store), Failing
    # A store that is known is known by its name.
    Failing.__name__ = kind.__name__
    with pytest.raises(
        SyncError, match=r"failed to write: OSError: the disk is full. What was done is kept"
    ):
        sync(new, store.store, Embedding(model.embedder()), receipts)
    store.store.__class__ = kind
    sync(new, store.store, Embedding(model.embedder()), receipts)
    check_held(store.hold(), new, lists=store.lists)
    assert len(model.texts) == 8


def test_all_copies_of_a_text_are_kept(store: Store, tmp_path: Path) -> None:
    path, model = (
        write_manifest(tmp_path, {"a": {"x": ["Same."] * 2}, "b": {"": ["Same."]}}),
        Model(),
    )
    counts = sync(path, store.store, Embedding(model.embedder()), tmp_path / "r.sqlite")
    assert counts == Counts(added=3, reused=2, embedded=1)
    assert len(store.hold()) == 3
    assert model.texts == ["Same."]


def test_titles_can_be_embedded(store: Store, tmp_path: Path) -> None:
    path, model = write_manifest(tmp_path, {"a=Guide": {"x=Use": ["Text."]}}), Model()
    sync(path, store.store, Embedding(model.embedder()), tmp_path / "r.sqlite", content="path")
    assert model.texts == ["Guide > Use\n\nText."]


PAGES = {
    "rag-intro": "Retrieval.",
    "ragas": "Measures.",
    "vector-db": "Vectors.",
    "embedding": "Models.",
    "rerank": "Order.",
    "chunking": "Parts.",
}
NEXT_PAGES = {
    "rag-intro": "Retrieval.",
    "ragas": "Measures, and faithfulness.",
    "vector-db": "Vectors.",
    "rerank": "Order.",
    "chunking": "Parts, in their context.",
    "advanced-rag": "More.",
    "conv-rag": "Talks.",
}


def build_pages(folder: Path, pages: dict[str, str]) -> Path:
    files = {f"docs/{name}.md": f"# {name}\n\n{text}\n" for name, text in pages.items()}
    plugin = {"site_name": "Test", "site_url": "https://docs.example.org/"}
    built = build_site(folder, Site(files, config=plugin))
    assert built.passed, built.log
    return folder / "site"


def test_incremental_experiment(store: Store, tmp_path: Path) -> None:
    """Six pages; then three stay, two are modified, one is deleted, two are added."""
    before = build_pages(tmp_path / "before", PAGES)
    after = build_pages(tmp_path / "after", NEXT_PAGES)
    receipts, first, second, rebuilt = tmp_path / "receipts.sqlite", Model(), Model(), Model()
    assert sync(before, store.store, Embedding(first.embedder()), receipts) == Counts(
        added=6, embedded=6
    )
    # Three of six is more than may go unasked.
    with pytest.raises(SyncError, match="3 of 6 records would be deleted"):
        sync(after, store.store, Embedding(second.embedder()), receipts)
    counts = sync(after, store.store, Embedding(second.embedder()), receipts, force=True)
    assert counts == Counts(added=4, skipped=3, deleted=3, embedded=4)
    assert len(second.texts) == 4
    assert set(store.hold()) == set(read_passages(after))
    sync(after, make_simple().store, Embedding(rebuilt.embedder()), tmp_path / "new.sqlite")
    assert len(rebuilt.texts) == 7


# -- what is refused


def test_a_model_without_a_name_is_refused(tmp_path: Path) -> None:
    path = write_manifest(tmp_path, SITE)
    nameless = MockEmbedding(embed_dim=SIZE)
    with pytest.raises(SyncError, match="has no name"):
        sync(path, SimpleVectorStore(), nameless, tmp_path / "r.sqlite")
    with pytest.raises(SyncError, match="has no name"):
        pipeline(nameless, SimpleVectorStore(), SimpleDocumentStore())
    assert sync(path, SimpleVectorStore(), nameless, tmp_path / "r.sqlite", model="m").added == 11


class Plain(BasePydanticVectorStore):
    """A store that does what every store has to."""

    stores_text: bool = False
    _nodes: list[Any] = PrivateAttr(default_factory=list)

    @property
    def client(self) -> Any:
        return None

    def add(self, nodes: Any, **_: Any) -> list[str]:
        self._nodes += nodes
        return [node.node_id for node in nodes]

    def delete(self, ref_doc_id: str, **_: Any) -> None:
        raise NotImplementedError

    def query(self, query: Any, **_: Any) -> Any:
        raise NotImplementedError


class Doubling(Plain):
    """One that has a node twice if it is added twice, and can be read."""

    def delete_nodes(self, node_ids: Any = None, *_: Any, **__: Any) -> None:
        self._nodes = [node for node in self._nodes if node.node_id not in node_ids]

    def get_nodes(self, node_ids: Any = None, *_: Any, **__: Any) -> Any:
        return [node for node in self._nodes if node.node_id in node_ids]


def test_a_store_that_cannot_delete_is_refused(tmp_path: Path) -> None:
    path, store = write_manifest(tmp_path, SITE), Plain()
    with pytest.raises(SyncError, match="Plain cannot delete by the ids of nodes"):
        sync(path, store, Embedding(Model().embedder()), tmp_path / "r.sqlite")
    assert store._nodes == []


@pytest.mark.parametrize("change", CHANGES, ids=NAMES)
def test_any_other_store(change: dict[str, Any], tmp_path: Path) -> None:
    made = Doubling()

    def hold() -> dict[str, Held]:
        assert len({node.node_id for node in made._nodes}) == len(made._nodes)
        return {n.node_id: Held(n.text, n.metadata, n.embedding) for n in made._nodes}

    run_change(tmp_path, change, made, hold, Store(made, hold).sync)
    target = make_target(made)
    assert target.find_ids([]) == []  # type: ignore[attr-defined]
    with Manifest.open(tmp_path / "new") as manifest:
        found = check(target, manifest.headers, tmp_path / "receipts.sqlite")
    assert found == ([], [], [], False)


# -- nodes


def test_nodes(tmp_path: Path) -> None:
    site = {"a=A": {"": ["One."], "x=X": ["Two.", "Three."]}, "b=B@de": {"": ["Vier."]}}
    path = write_manifest(tmp_path, site)
    nodes, passages = load(path), read_passages(path)
    assert [node.node_id for node in nodes] == list(passages)
    assert [node.text for node in nodes] == ["One.", "Two.", "Three.", "Vier."]
    kinds = (
        NodeRelationship.SOURCE,
        NodeRelationship.PARENT,
        NodeRelationship.PREVIOUS,
        NodeRelationship.NEXT,
    )
    one, two, three, _ = passages
    related = [
        [node.relationships[k].node_id if k in node.relationships else None for k in kinds]
        for node in nodes
    ]
    assert related == [
        ["p:en:a", "p:en:a", None, two],
        ["p:en:a", "p:en:a#x", one, three],
        ["p:en:a", "p:en:a#x", two, None],
        ["p:de:b", "p:de:b", None, None],
    ]
    assert all(tuple(node.metadata) == METADATA for node in nodes)
    assert nodes[1].metadata["path"] == ["A", "X"]
    assert load(path, flat=True)[1].metadata["path"] == '["A", "X"]'
    for node in nodes:
        for mode in (MetadataMode.EMBED, MetadataMode.LLM):
            assert node.get_content(mode) == node.text


def test_nodes_can_be_indexed(tmp_path: Path) -> None:
    """As in every first program with LlamaIndex; a store without lists needs them flat."""
    path = write_manifest(tmp_path, SITE)
    index = VectorStoreIndex(load(path), embed_model=Embedding(Model().embedder()))
    assert set(index.docstore.docs) == set(read_passages(path))
    chroma = make_chroma()
    model = Embedding(Model().embedder())
    with pytest.raises(ValueError, match="must be one of"):
        chroma.store.add([node.model_copy(update={"embedding": [1.0]}) for node in load(path)])
    chroma.store.add(model(load(path, flat=True)))
    assert set(chroma.store.client.get()["ids"]) == set(read_passages(path))


# So the first release of the store that is supported asks a newer client.
@pytest.mark.filterwarnings("ignore:`search` method is deprecated:DeprecationWarning")
def test_what_was_synced_is_found(store: Store, tmp_path: Path) -> None:
    path, model = write_manifest(tmp_path, SITE), Embedding(Model().embedder())
    sync(path, store.store, model, tmp_path / "r.sqlite")
    if not store.store.stores_text:
        return
    index = VectorStoreIndex.from_vector_store(store.store, embed_model=model)
    (found,) = index.as_retriever(similarity_top_k=1).retrieve("Because.")
    assert found.node.text == "Because."
    assert found.node.metadata["referent"] == "faq#why"
    assert found.node.ref_doc_id == "p:en:faq"


# -- the pipeline


@pytest.mark.parametrize("change", CHANGES, ids=NAMES)
def test_what_moves_when_in_a_pipeline(
    change: dict[str, Any], store: Store, tmp_path: Path
) -> None:
    old = write_manifest(tmp_path / "old", SITE)
    new = write_manifest(tmp_path / "new", change["site"], **change.get("options", {}))
    first, second = Model(), Model(change.get("model", "model"))
    docstore, caches = SimpleDocumentStore(), {"model": SimpleKVStore(), "another": SimpleKVStore()}

    def run(model: Model, path: Path) -> set[str]:
        embedding = Embedding(model.embedder(), embeddings_cache=caches[model.name])
        made = pipeline(embedding, store.store, docstore)
        return {node.node_id for node in made.run(documents=documents(path), max_delete=1)}

    before, after = read_passages(old), read_passages(new)
    assert run(first, old) == before.keys()
    assert len(set(first.texts)) == 8
    check_held(store.hold(), old, lists=store.lists)
    # Written are new ids and those with another record: nothing that stays.
    written = {
        key
        for key, passage in after.items()
        if first.name != second.name
        or key not in before
        or passage.record_digest != before[key].record_digest
    }
    assert run(second, new) == written
    counts = expected_counts(change)
    assert len(written) == counts.added + counts.rewritten
    check_held(store.hold(), new, second.name, lists=store.lists)
    assert {key: each.get_content() for key, each in docstore.docs.items()} == {
        key: passage.text for key, passage in after.items()
    }
    if first.name == second.name:
        assert len(second.texts) == counts.embedded
    else:
        # Copies of a text in one batch are asked for one by one.
        assert len(set(second.texts)) == counts.embedded <= len(second.texts) <= len(after)
    asked = len(second.texts)
    assert run(second, new) == set()
    assert len(second.texts) == asked


def test_a_pipeline_without_a_cache_embeds_only_what_is_written(tmp_path: Path) -> None:
    (change,) = [each for each in CHANGES if each["name"] == "insert a text early"]
    old = write_manifest(tmp_path / "old", SITE)
    new = write_manifest(tmp_path / "new", change["site"], **change.get("options", {}))
    model, store, docstore = Model(), SimpleVectorStore(), SimpleDocumentStore()
    made = pipeline(Embedding(model.embedder()), store, docstore)
    made.run(documents=documents(old))
    assert len(model.texts) == 11
    made.run(documents=documents(new), force=True)
    assert len(model.texts) == 11 + 5


@pytest.mark.parametrize("options", [{"complete": False}, {"site": {}}])
def test_documents_that_may_delete_nothing(options: dict[str, Any], tmp_path: Path) -> None:
    path = write_manifest(tmp_path, options.pop("site", SITE), **options)
    with pytest.raises(SyncError, match=r"not complete|no passages"):
        documents(path)


def test_a_pipeline_refuses_to_delete_much(tmp_path: Path) -> None:
    path, model = write_manifest(tmp_path, SITE), Model()
    store, docstore = SimpleVectorStore(), SimpleDocumentStore()
    made = pipeline(Embedding(model.embedder()), store, docstore)
    made.run(documents=documents(path))
    with pytest.raises(SyncError, match="there are no documents"):
        made.run(documents=[])
    with pytest.raises(SyncError, match=r"8 of 11 records would be deleted, more than 30%"):
        made.run(documents=documents(path)[8:])
    with pytest.raises(SyncError, match=r"4 of 11 records would be deleted"):
        asyncio.run(made.arun(documents=documents(path)[4:]))
    assert len(store.data.embedding_dict) == len(docstore.docs) == 11
    made.run(documents=documents(path)[8:], force=True)
    assert (
        set(store.data.embedding_dict) == set(docstore.docs) == set(list(read_passages(path))[8:])
    )
    asyncio.run(made.arun(documents=documents(path)))
    assert set(store.data.embedding_dict) == set(docstore.docs) == set(read_passages(path))


def test_limits_of_a_pipeline(tmp_path: Path) -> None:
    """What the page says: it notices no loss, a new record waits for the end, and it owns its stores."""
    one = write_manifest(tmp_path / "one", {"a": {"": ["One."]}, "b": {"": ["Two."]}})
    model, store, docstore = Model(), SimpleVectorStore(), SimpleDocumentStore()
    made = pipeline(Embedding(model.embedder()), store, docstore)
    made.run(documents=documents(one))
    lost = dict(store.data.embedding_dict)
    store.clear()
    assert made.run(documents=documents(one)) == []
    assert store.data.embedding_dict == {}
    store, docstore = SimpleVectorStore(), SimpleDocumentStore()
    pipeline(Embedding(model.embedder()), store, docstore).run(documents=documents(one))
    edited = write_manifest(tmp_path / "edited", {"a=Other": {"": ["One."]}, "b": {"": ["Two."]}})

    def fail(_: list[str]) -> list[list[float]]:
        raise OSError("the model is away")

    failing = Embedding(Embedder("model", fail))
    with pytest.raises(OSError, match="the model is away"):
        pipeline(failing, store, docstore).run(documents=documents(edited))
    assert len(store.data.embedding_dict) == len(lost) - 1
    pipeline(Embedding(model.embedder()), store, docstore).run(documents=documents(edited))
    assert store.data.embedding_dict.keys() == lost.keys() == read_passages(edited).keys()
    other = write_manifest(tmp_path / "other", {"a": {"": ["One."]}}, publication="q")
    made = pipeline(Embedding(model.embedder()), store, docstore)
    with pytest.raises(SyncError, match="2 of 2 records"):
        made.run(documents=documents(other))
    with Manifest.open(edited, other) as both:
        assert len(made.run(documents=documents(both))) == 1
    assert len(store.data.embedding_dict) == 3


def test_incremental_experiment_in_a_pipeline(tmp_path: Path) -> None:
    before = build_pages(tmp_path / "before", PAGES)
    after = build_pages(tmp_path / "after", NEXT_PAGES)
    model, store, docstore = Model(), SimpleVectorStore(), SimpleDocumentStore()
    made = pipeline(Embedding(model.embedder()), store, docstore)
    made.run(documents=documents(before))
    assert len(model.texts) == 6
    assert len(made.run(documents=documents(after), force=True)) == 4
    assert len(model.texts) == 6 + 4
    assert set(store.data.embedding_dict) == set(read_passages(after))


# -- what the library does with our ids: held, so that a release that changes it fails by name


def run_contract(
    store: Any, docstore: Any, model: Model, found: list[Any], **options: Any
) -> set[str]:
    made = IngestionPipeline(
        transformations=[PassageNodes(), Embedding(model.embedder())],
        vector_store=store,
        docstore=docstore,
        docstore_strategy=DocstoreStrategy.UPSERTS_AND_DELETE,
        disable_cache=True,
        **options,
    )
    return {node.node_id for node in made.run(documents=found)}


def make_document(name: str, text: str, **metadata: Any) -> Document:
    values = {**dict.fromkeys(METADATA, ""), "chunk_id": name, **metadata}
    return Document(id_=name, text=text, metadata=values)


def test_contract_of_upserts_and_delete() -> None:
    """The ids of documents are those in both stores; what has the same hash is left alone."""
    store, docstore, model = SimpleVectorStore(), SimpleDocumentStore(), Model()
    one, two, three = (make_document(name, "Text.") for name in "abc")
    assert run_contract(store, docstore, model, [one, two]) == {"a", "b"}
    assert set(store.data.embedding_dict) == set(docstore.docs) == {"a", "b"}
    assert run_contract(store, docstore, model, [one, two]) == set()
    two = make_document("b", "Text.", title="Another")
    assert run_contract(store, docstore, model, [one, two, three]) == {"b", "c"}
    assert run_contract(store, docstore, model, [one, three]) == set()
    assert set(store.data.embedding_dict) == set(docstore.docs) == {"a", "c"}
    assert set(docstore.get_all_document_hashes().values()) == {"a", "c"}


def test_contract_of_deleting() -> None:
    """By ids of nodes, or all nodes of a source; an id that is not there is no error."""
    for make in STORES.values():
        store = make().store
        nodes = [
            TextNode(
                id_=str(uuid.UUID(int=number)),
                text="Text.",
                embedding=[0.5] * SIZE,
                relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id="page")},
            )
            for number in range(3)
        ]
        store.add(nodes)
        store.delete_nodes([nodes[0].node_id, str(uuid.uuid4())])
        assert count(store) == 2
        store.delete("page")
        assert count(store) == 0


def count(store: Any) -> int:
    if isinstance(store, SimpleVectorStore):
        return len(store.data.embedding_dict)
    return (
        len(store.client.get()["ids"])
        if isinstance(store, ChromaVectorStore)
        else store.client.count("passages").count
    )


def test_contract_of_adding_a_known_id() -> None:
    """Chroma keeps what it has; the others write. What is not known to write is deleted first."""
    for make, expected in ((make_simple, 0.75), (make_chroma, 0.5), (make_qdrant, 0.75)):
        store = make()
        node_id = str(uuid.uuid4())
        for number in (0.5, 0.75):
            metadata = {**dict.fromkeys(METADATA, "")}
            relations = {
                kind: RelatedNodeInfo(node_id="page")
                for kind in (NodeRelationship.SOURCE, NodeRelationship.PARENT)
            }
            store.store.add(
                [
                    TextNode(
                        id_=node_id,
                        text="Text.",
                        metadata=metadata,
                        relationships=relations,
                        embedding=[number] * SIZE,
                    )
                ]
            )
        assert list(store.hold()[node_id].vector or ()) == [expected] * SIZE


def test_contract_of_the_cache_of_embeddings() -> None:
    """It knows texts, and no models: each model needs its own."""
    first, second, cache = Model(), Model("another"), SimpleKVStore()
    vectors = [
        Embedding(model.embedder(), embeddings_cache=cache).get_text_embedding_batch(["Text."])
        for model in (first, second)
    ]
    assert vectors[0] == vectors[1]
    assert second.texts == []


# -- the page


def programs() -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("number", range(2))
def test_program_of_the_page(
    number: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_manifest(tmp_path / "site", SITE)
    program = tmp_path / "program.py"
    program.write_text(programs()[number], "utf-8")
    with working_in(tmp_path):
        runpy.run_path(str(program))
        first = capsys.readouterr().out
        runpy.run_path(str(program))
        second = capsys.readouterr().out
    expected = (
        ("Counts(added=11, reused=3, rewritten=0, skipped=0, deleted=0, embedded=8)", "skipped=11"),
        ("11 nodes written", "0 nodes written"),
    )[number]
    assert expected[0] in first
    assert expected[1] in second
    assert len(programs()) == 2
