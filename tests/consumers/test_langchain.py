"""LangChain: its vector stores kept in step by `sync`, and by its own `index()` with our help."""

from __future__ import annotations

import asyncio
import inspect
import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from conftest import ALL
from site_builder import Site, build_site
from sync_cases import (
    CHANGES,
    NAMES,
    SITE,
    Held,
    Model,
    check_held,
    embed,
    expected_counts,
    place,
    read_passages,
    write_manifest,
)

from mkdocs_markstay.manifest import Manifest
from mkdocs_markstay.sync import Counts, SyncError, check
from mkdocs_markstay.targets import METADATA

if not os.environ.get(ALL):
    for package in ("core", "classic", "chroma", "qdrant", "postgres"):
        pytest.importorskip(f"langchain_{package}")

import chromadb
import psycopg
from langchain_chroma import Chroma
from langchain_classic.embeddings import CacheBackedEmbeddings
from langchain_classic.indexes import SQLRecordManager
from langchain_classic.storage import LocalFileStore
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.indexing import InMemoryRecordManager, aindex, index
from langchain_core.stores import InMemoryByteStore
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore
from langchain_postgres import PGEngine, PGVector, PGVectorStore
from langchain_qdrant import QdrantVectorStore
from qdrant_client import QdrantClient, models
from sqlalchemy import create_engine

from mkdocs_markstay.langchain import (
    PassageEmbeddings,
    PassageLoader,
    cached,
    index_arguments,
    load,
    make_target,
    read_key,
    refresh,
    sync,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

PAGE = Path(__file__).parents[2] / "docs" / "langchain.md"
SIZE = len(embed(""))


class FakeEmbeddings(Embeddings):
    """A model that keeps what it was given."""

    def __init__(self, name: str = "model") -> None:
        self.model = Model(name)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self.model.embed(texts)

    def embed_query(self, text: str) -> list[float]:
        return embed(text, self.model.name)


# -- stores


class Store(NamedTuple):
    """A place that vectors are kept in: LangChain's door to it, and our own."""

    open: Callable[[Embeddings], VectorStore]
    hold: Callable[[], dict[str, Held]]


def in_memory(_: pytest.FixtureRequest) -> Iterator[Store]:
    kept: dict[str, dict[str, Any]] = {}

    def open_store(embeddings: Embeddings) -> VectorStore:
        store = InMemoryVectorStore(embeddings)
        store.store = kept
        return store

    yield Store(
        open_store,
        lambda: {k: Held(v["text"], v["metadata"], v["vector"]) for k, v in kept.items()},
    )


def in_chroma(request: pytest.FixtureRequest) -> Iterator[Store]:
    client = chromadb.PersistentClient(request.getfixturevalue("tmp_path") / "chroma")
    client.create_collection("docs")

    def hold() -> dict[str, Held]:
        found = client.get_collection("docs").get(include=["documents", "metadatas", "embeddings"])
        return {
            chunk_id: Held(text, metadata, vector.tolist())
            for chunk_id, text, metadata, vector in zip(
                found["ids"],
                found["documents"],
                found["metadatas"],
                found["embeddings"],
                strict=True,
            )
        }

    yield Store(lambda embeddings: Chroma("docs", embeddings, client=client), hold)


def in_qdrant(_: pytest.FixtureRequest) -> Iterator[Store]:
    client = QdrantClient(":memory:")
    # Cosine would change the vectors, and they are to be compared.
    client.create_collection(
        "docs", vectors_config=models.VectorParams(size=SIZE, distance=models.Distance.DOT)
    )

    def hold() -> dict[str, Held]:
        points, _ = client.scroll("docs", limit=1000, with_vectors=True)
        return {
            point.id: Held(point.payload["page_content"], point.payload["metadata"], point.vector)
            for point in points
        }

    yield Store(
        lambda embeddings: QdrantVectorStore(
            client, "docs", embeddings, distance=models.Distance.DOT
        ),
        hold,
    )
    client.close()


def with_driver(url: str) -> str:
    return url.replace("postgresql://", "postgresql+psycopg://")


def select(url: str, query: str) -> dict[str, Held]:
    with psycopg.connect(url) as connection:
        return {
            str(key): Held(text, metadata, [float(each) for each in vector[1:-1].split(",")])
            for key, text, metadata, vector in connection.execute(query)
        }


def in_pgvector(request: pytest.FixtureRequest) -> Iterator[Store]:
    url = request.getfixturevalue("postgres")
    engine = create_engine(with_driver(url))
    yield Store(
        lambda embeddings: PGVector(embeddings, connection=engine, collection_name="docs"),
        lambda: select(
            url, "select id, document, cmetadata, embedding::text from langchain_pg_embedding"
        ),
    )
    engine.dispose()


def in_pgvectorstore(request: pytest.FixtureRequest) -> Iterator[Store]:
    url = request.getfixturevalue("postgres")
    engine = PGEngine.from_connection_string(with_driver(url))
    engine.init_vectorstore_table("docs", SIZE)
    yield Store(
        lambda embeddings: PGVectorStore.create_sync(engine, embeddings, "docs"),
        lambda: select(
            url, "select langchain_id, content, langchain_metadata, embedding::text from docs"
        ),
    )
    engine._run_as_sync(engine.close())


STORES = {
    "InMemory": in_memory,
    "Chroma": in_chroma,
    "Qdrant": in_qdrant,
    "PGVector": in_pgvector,
    "PGVectorStore": in_pgvectorstore,
}


@pytest.fixture(params=list(STORES))
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    yield from STORES[request.param](request)


@dataclass
class Synced:
    """A store that `sync` keeps in step."""

    store: Store
    receipts: Path

    def run(self, manifest: Path, model: Model, **options: Any) -> Counts:
        fake = FakeEmbeddings()
        fake.model = model
        embeddings = PassageEmbeddings(fake, model.name, batch_size=3)
        opened = self.store.open(embeddings)
        model.texts.clear()  # Qdrant asks for the vector of a text to see how long it is
        return sync(manifest, opened, embeddings, self.receipts, **options)


@dataclass
class Indexed:
    """A store that `index()` writes to, with `refresh`."""

    store: Store
    records: SQLRecordManager
    byte_store: Any = field(default_factory=InMemoryByteStore)

    def run(self, manifest: Path, model: Model, **options: Any) -> Counts:
        fake = FakeEmbeddings()
        fake.model = model
        opened = self.store.open(cached(fake, model.name, self.byte_store))
        model.texts.clear()
        done = index(
            **index_arguments(manifest, batch_size=5),
            record_manager=self.records,
            vector_store=opened,
            **options,
        )
        rewritten = refresh(manifest, self.records, opened)
        assert refresh(manifest, self.records, opened) == 0
        return Counts(
            added=done["num_added"],
            rewritten=done["num_updated"] + rewritten,
            skipped=done["num_skipped"] - rewritten,
            deleted=done["num_deleted"],
            embedded=len(model.texts),
        )


def open_records(url: str) -> SQLRecordManager:
    records = SQLRecordManager("docs", db_url=url)
    records.create_schema()
    return records


# -- what moves when


@pytest.mark.parametrize("change", CHANGES, ids=NAMES)
def test_sync_of_every_change(change: dict[str, Any], store: Store, tmp_path: Path) -> None:
    synced = Synced(store, tmp_path / "receipts.sqlite")
    old = write_manifest(tmp_path / "old", SITE)
    new = write_manifest(tmp_path / "new", change["site"], **change.get("options", {}))
    first, second = Model(), Model(change.get("model", "model"))
    assert synced.run(old, first) == Counts(added=11, reused=3, embedded=8)
    assert len(first.texts) == len(set(first.texts)) == 8
    check_held(store.hold(), old)
    expected = expected_counts(change)
    assert synced.run(new, second, dry_run=True) == expected
    check_held(store.hold(), old)
    assert synced.run(new, second, force=True) == expected
    assert len(second.texts) == expected.embedded
    check_held(store.hold(), new, second.name)
    check_sets(change, old, new)
    assert synced.run(new, second) == Counts(skipped=len(read_passages(new)))


@pytest.fixture
def indexed(store: Store, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Indexed]:
    on_postgres = "PG" in request.node.name
    url = f"sqlite:///{tmp_path}/records.sqlite"
    records = open_records(with_driver(request.getfixturevalue("postgres")) if on_postgres else url)
    yield Indexed(store, records)
    records.engine.dispose()


# index() writes to both kinds of PostgreSQL stores by the same method; one is enough here.
@pytest.mark.parametrize("store", [name for name in STORES if name != "PGVector"], indirect=True)
@pytest.mark.parametrize("change", CHANGES, ids=NAMES)
def test_index_with_every_change(change: dict[str, Any], indexed: Indexed, tmp_path: Path) -> None:
    hold = indexed.store.hold
    old = write_manifest(tmp_path / "old", SITE)
    new = write_manifest(tmp_path / "new", change["site"], **change.get("options", {}))
    first, second = Model(), Model(change.get("model", "model"))
    assert indexed.run(old, first) == Counts(added=11, embedded=8)
    check_held(hold(), old)
    # index() does not see that the model is another one: it has to be told.
    changed = indexed.run(new, second, force_update=second.name != first.name)
    # What is reused is not told by index().
    assert changed == expected_counts(change)._replace(reused=0)
    check_held(hold(), new, second.name)
    assert set(indexed.records.list_keys()) == set(read_passages(new))
    check_sets(change, old, new)
    assert indexed.run(new, second) == Counts(skipped=len(read_passages(new)))


def check_sets(change: Mapping[str, Any], old: Path, new: Path) -> None:
    before, after = read_passages(old), read_passages(new)
    assert {place(after[key]) for key in after.keys() - before.keys()} == set(change.get("new", ()))
    assert {place(before[key]) for key in before.keys() - after.keys()} == set(
        change.get("gone", ())
    )


# -- documents


def test_load(tmp_path: Path) -> None:
    path = write_manifest(tmp_path, SITE)
    passages = read_passages(path)
    documents = load(path)
    assert [document.id for document in documents] == list(passages)
    for document in documents:
        passage = passages[document.metadata["chunk_id"]]
        assert document.page_content == passage.text
        assert set(document.metadata) == set(METADATA)
        assert document.metadata["path"] == list(passage.path)
    with Manifest.open(path) as manifest:
        assert load(manifest) == documents == list(PassageLoader(manifest).lazy_load())


# -- vectors


def test_embeddings_of_a_store() -> None:
    fake = FakeEmbeddings()
    embeddings = PassageEmbeddings(fake, "model")
    given = {"a": [1.0], "b": [2.0]}
    with embeddings.giving(given):
        assert embeddings.embed_documents(["b", "a", "b"]) == [[2.0], [1.0], [2.0]]
        assert asyncio.run(embeddings.aembed_documents(["a"])) == [[1.0]]
        assert fake.model.texts == []
        assert embeddings.embed_documents(["a", "c", "c"]) == [[1.0], embed("c"), embed("c")]
        assert fake.model.texts == ["c"]
        assert embeddings.embed_query("a") == embed("a")
    assert embeddings.embed_documents(["a"]) == [embed("a")]
    assert asyncio.run(embeddings.aembed_documents(["a", "b"])) == [embed("a"), embed("b")]
    assert asyncio.run(embeddings.aembed_query("a")) == embed("a")


def test_titles_are_embedded_too(store: Store, tmp_path: Path) -> None:
    # "Careful!" stands under three titles, with a vector for each of them.
    path = write_manifest(tmp_path, SITE)
    model = Model()
    synced = Synced(store, tmp_path / "receipts.sqlite")
    assert synced.run(path, model, content="path") == Counts(added=11, reused=1, embedded=10)
    held = store.hold()
    for chunk_id, passage in read_passages(path).items():
        vector = embed(f"{' > '.join(passage.path)}\n\n{passage.text}")
        assert list(held[chunk_id].vector or ()) == vector
        assert held[chunk_id].text == passage.text


def test_a_search_finds_a_passage(store: Store, tmp_path: Path) -> None:
    path = write_manifest(tmp_path, SITE)
    embeddings = PassageEmbeddings(FakeEmbeddings(), "model")
    opened = store.open(embeddings)
    sync(path, opened, embeddings, tmp_path / "receipts.sqlite")
    found = opened.similarity_search("Open it.", k=1)[0]
    assert found.page_content == "Open it."
    assert found.metadata["url"] == "https://docs.example.org/guide/#install"


def test_a_store_with_other_embeddings_is_refused(tmp_path: Path) -> None:
    path, receipts = write_manifest(tmp_path, SITE), tmp_path / "receipts.sqlite"
    embeddings = PassageEmbeddings(FakeEmbeddings(), "model")
    with pytest.raises(SyncError, match="made with other embeddings"):
        sync(path, InMemoryVectorStore(FakeEmbeddings()), embeddings, receipts)
    # One that does not say what it was made with is found out when it writes.
    quiet = StrictStore(FakeEmbeddings())
    with pytest.raises(SyncError, match="has not asked these embeddings"):
        sync(path, quiet, embeddings, receipts)
    assert sync(path, StrictStore(embeddings), embeddings, receipts).added == 11


# -- stores that are not known


class StrictStore(VectorStore):
    """A store that takes no id twice, and misses those that it is to delete, like FAISS."""

    def __init__(self, embeddings: Embeddings) -> None:
        self.inner = InMemoryVectorStore(embeddings)

    def add_documents(self, documents: list[Document], **kwargs: Any) -> list[str]:
        if self.inner.store.keys() & set(kwargs["ids"]):
            raise ValueError("there already")
        return list(self.inner.add_documents(documents, **kwargs))

    def delete(self, ids: list[str] | None = None, **_: Any) -> bool:
        if set(ids or ()) - self.inner.store.keys():
            raise ValueError("not there")
        self.inner.delete(ids)
        return True

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        return list(self.inner.get_by_ids(ids))

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        raise NotImplementedError

    from_texts = None


class MuteStore(StrictStore):
    """A store that keeps what it has, and says nothing of it."""

    get_by_ids = VectorStore.get_by_ids

    def add_documents(self, documents: list[Document], **kwargs: Any) -> list[str]:
        new = [
            (d, i)
            for d, i in zip(documents, kwargs["ids"], strict=True)
            if i not in self.inner.store
        ]
        self.inner.add_documents(*map(list, zip(*new, strict=True)))
        return [i for _, i in new]

    def delete(self, ids: list[str] | None = None, **_: Any) -> bool:
        self.inner.delete(ids)
        return True


@pytest.mark.parametrize("kind", [StrictStore, MuteStore])
@pytest.mark.parametrize("change", CHANGES, ids=NAMES)
def test_stores_that_do_not_replace(
    change: dict[str, Any], kind: type[StrictStore], tmp_path: Path
) -> None:
    kept: dict[str, Any] = {}

    def open_store(embeddings: Embeddings) -> VectorStore:
        opened = kind(embeddings)
        opened.inner.store = kept
        return opened

    synced = Synced(Store(open_store, dict), tmp_path / "receipts.sqlite")
    old = write_manifest(tmp_path / "old", SITE)
    new = write_manifest(tmp_path / "new", change["site"], **change.get("options", {}))
    synced.run(old, Model())
    name = change.get("model", "model")
    assert synced.run(new, Model(name), force=True) == expected_counts(change)
    held = {k: Held(v["text"], v["metadata"], v["vector"]) for k, v in kept.items()}
    check_held(held, new, name)


def test_known_stores_are_not_without_a_record_while_it_is_rewritten(
    store: Store, tmp_path: Path
) -> None:
    embeddings = PassageEmbeddings(FakeEmbeddings(), "model")
    receipts = tmp_path / "receipts.sqlite"
    sync(write_manifest(tmp_path, SITE), store.open(embeddings), embeddings, receipts)
    renamed = write_manifest(tmp_path, CHANGES[2]["site"])
    opened = store.open(embeddings)
    # None of them is deleted.
    object.__setattr__(opened, "delete", None)
    assert sync(renamed, opened, embeddings, receipts).rewritten == 5
    check_held(store.hold(), renamed)


def test_a_store_that_does_not_delete_is_an_error(tmp_path: Path) -> None:
    class Lazy(InMemoryVectorStore):
        def delete(self, *_: Any, **__: Any) -> bool:
            return False

    embeddings = PassageEmbeddings(FakeEmbeddings(), "model")
    lazy, receipts = Lazy(embeddings), tmp_path / "receipts.sqlite"
    sync(write_manifest(tmp_path, SITE), lazy, embeddings, receipts)
    with pytest.raises(SyncError, match="did not delete"):
        sync(write_manifest(tmp_path, CHANGES[1]["site"]), lazy, embeddings, receipts)


def test_collections_of_one_pgvector_take_nothing_from_each_other(
    postgres: str, tmp_path: Path
) -> None:
    engine = create_engine(with_driver(postgres))
    embeddings = PassageEmbeddings(FakeEmbeddings(), "model")
    path, receipts = write_manifest(tmp_path, SITE), tmp_path / "receipts.sqlite"
    one, two = (
        PGVector(embeddings, connection=engine, collection_name=name) for name in ("one", "two")
    )
    sync(path, one, embeddings, receipts, namespace="one")
    with pytest.raises(SyncError, match="another collection of this PGVector"):
        sync(path, two, embeddings, receipts, namespace="two")
    # What the second left pending is not deleted from the first.
    other = write_manifest(tmp_path, {"x": {"": ["Else."]}})
    assert sync(other, two, embeddings, receipts, namespace="two", force=True).added == 1
    assert len(one.get_by_ids(list(read_passages(write_manifest(tmp_path, SITE))))) == 11
    engine.dispose()


# -- what goes wrong


def test_a_failed_sync_is_finished(store: Store, tmp_path: Path) -> None:
    old = write_manifest(tmp_path / "old", SITE)
    new = write_manifest(tmp_path / "new", CHANGES[3]["site"])
    embeddings = PassageEmbeddings(FakeEmbeddings(), "model")
    receipts = tmp_path / "receipts.sqlite"
    sync(old, store.open(embeddings), embeddings, receipts)
    for method in ("add_documents", "delete"):
        for done in (False, True):
            opened = store.open(embeddings)
            wanted = getattr(opened, method)

            def fail(*args: Any, wanted: Any = wanted, done: bool = done, **kwargs: Any) -> None:
                if done:
                    wanted(*args, **kwargs)
                raise OSError("gone")

            object.__setattr__(opened, method, fail)
            with pytest.raises(SyncError, match="gone"):
                sync(new, opened, embeddings, receipts, force=True)
    sync(new, store.open(embeddings), embeddings, receipts, force=True)
    check_held(store.hold(), new)


def test_what_a_store_lost_is_found_and_repaired(store: Store, tmp_path: Path) -> None:
    path, receipts = write_manifest(tmp_path, SITE), tmp_path / "receipts.sqlite"
    embeddings = PassageEmbeddings(FakeEmbeddings(), "model")
    opened = store.open(embeddings)
    sync(path, opened, embeddings, receipts)
    lost = sorted(read_passages(path))[:4]
    opened.delete(lost)
    assert check(make_target(opened, embeddings), ["p"], receipts) == (lost, [], [], False)
    sync(path, opened, embeddings, receipts, rebuild=True)
    check_held(store.hold(), path)
    opened.delete(list(read_passages(path)))
    with pytest.raises(SyncError, match="holds nothing"):
        sync(path, opened, embeddings, receipts)


def test_refresh_repairs_what_a_store_lost(indexed: Indexed, tmp_path: Path) -> None:
    path = write_manifest(tmp_path, SITE)
    indexed.run(path, Model())
    opened = indexed.store.open(cached(FakeEmbeddings(), "model", indexed.byte_store))
    opened.delete(list(read_passages(path))[3:])
    assert indexed.run(path, Model()) == Counts(rewritten=8, skipped=3)
    check_held(indexed.store.hold(), path)


def test_refresh_writes_nothing_that_is_not_known(tmp_path: Path) -> None:
    path, opened = write_manifest(tmp_path, SITE), InMemoryVectorStore(FakeEmbeddings())
    assert refresh(path, InMemoryRecordManager("docs"), opened) == 0
    assert opened.store == {}
    with pytest.raises(SyncError, match="cannot be asked"):
        refresh(path, InMemoryRecordManager("docs"), MuteStore(FakeEmbeddings()))


def write_bad(folder: Path, kind: str) -> Path:
    """Write a manifest by which nothing may be deleted."""
    if kind == "empty":
        return write_manifest(folder, {})
    if kind == "incomplete":
        return write_manifest(folder, SITE, complete=False)
    if kind == "lines alone":
        return write_manifest(folder, SITE, "passages.jsonl")
    path = write_manifest(folder, SITE)
    raw = path.read_bytes()
    assert b'"preview":false' in raw
    path.write_bytes(raw.replace(b'"preview":false', b'"preview":true'))
    return path


BAD = {
    "empty": "no passages",
    "incomplete": "is not complete",
    "lines alone": "nothing tells whether",
    "preview": "written by a preview",
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_manifests_delete_nothing(kind: str, tmp_path: Path) -> None:
    good, bad = write_manifest(tmp_path / "good", SITE), write_bad(tmp_path / "bad", kind)
    embeddings = PassageEmbeddings(FakeEmbeddings(), "model")
    opened, records = InMemoryVectorStore(embeddings), InMemoryRecordManager("docs")
    sync(good, opened, embeddings, tmp_path / "receipts.sqlite")
    with pytest.raises(SyncError, match=BAD[kind]):
        sync(bad, opened, embeddings, tmp_path / "receipts.sqlite", force=True)
    with pytest.raises(SyncError, match=BAD[kind]):
        index_arguments(bad)
    with pytest.raises(SyncError, match=BAD[kind]):
        refresh(bad, records, opened)
    # And if it becomes a bad one only after the arguments were made.
    arguments = index_arguments(good)
    index(**arguments, record_manager=records, vector_store=opened)
    arguments["docs_source"].manifest = bad
    with pytest.raises(SyncError, match=BAD[kind]):
        index(**arguments, record_manager=records, vector_store=opened)
    assert set(opened.store) == set(records.list_keys()) == set(read_passages(good))


def test_a_part_of_a_site_is_refused_by_index(tmp_path: Path) -> None:
    with Manifest.open(write_manifest(tmp_path, SITE)) as manifest:
        header = manifest.headers["p"]
        manifest.headers["p"] = header._replace(partitions=frozenset({1, 2}))
        with pytest.raises(SyncError, match="a part of p"):
            index_arguments(manifest)


def test_a_model_without_a_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SyncError, match="has no name"):
        cached(FakeEmbeddings(), "", InMemoryByteStore())
    nameless = PassageEmbeddings(FakeEmbeddings(), "")
    with pytest.raises(SyncError, match="has no name"):
        sync(
            write_manifest(tmp_path, SITE), InMemoryVectorStore(nameless), nameless, tmp_path / "r"
        )


# -- index() with our arguments


def test_arguments_can_be_used_again(tmp_path: Path) -> None:
    # A generator would be empty at the second time, and index() would delete everything.
    arguments = index_arguments(write_manifest(tmp_path, SITE))
    records, opened = InMemoryRecordManager("docs"), InMemoryVectorStore(FakeEmbeddings())
    for added, skipped in ((11, 0), (0, 11)):
        done = index(**arguments, record_manager=records, vector_store=opened)
        assert (done["num_added"], done["num_skipped"], done["num_deleted"]) == (added, skipped, 0)


def test_index_without_waiting(tmp_path: Path) -> None:
    arguments = index_arguments(write_manifest(tmp_path, SITE))
    records = InMemoryRecordManager("docs")
    opened = InMemoryVectorStore(cached(FakeEmbeddings(), "model", InMemoryByteStore()))
    done = asyncio.run(aindex(**arguments, record_manager=records, vector_store=opened))
    assert done["num_added"] == len(opened.store) == 11


def test_a_page_longer_than_a_batch_is_embedded_once(tmp_path: Path) -> None:
    path = write_manifest(tmp_path, {"long": {"": [f"Text {n}." for n in range(25)]}})
    fake, records = FakeEmbeddings(), InMemoryRecordManager("docs")
    opened = InMemoryVectorStore(fake)
    for _ in range(3):
        arguments = index_arguments(path, batch_size=10)
        index(**arguments, record_manager=records, vector_store=opened)
    assert len(fake.model.texts) == 25


def test_the_cache_is_kept_by_model_and_text(tmp_path: Path) -> None:
    byte_store = LocalFileStore(tmp_path)
    fake, another = FakeEmbeddings(), FakeEmbeddings("name:of/another model")
    one = cached(fake, "model", byte_store)
    assert one.embed_documents(["a", "b", "a"]) == [embed("a"), embed("b"), embed("a")]
    assert asyncio.run(one.aembed_documents(["c", "a", "c"])) == [
        embed("c"),
        embed("a"),
        embed("c"),
    ]
    assert fake.model.texts == ["a", "b", "c"]
    assert one.embed_query("a") == embed("a")
    assert asyncio.run(one.aembed_query("a")) == embed("a")
    two = cached(another, another.model.name, byte_store)
    assert two.embed_documents(["a"]) == [embed("a", another.model.name)]
    digest = sha256(b"a").hexdigest()
    assert sum(key.endswith(f"/sha256-{digest}") for key in byte_store.yield_keys()) == 2


# -- what is promised, beside a content hash


def hash_text(document: Document) -> str:
    return sha256(document.page_content.encode()).hexdigest()


@pytest.mark.parametrize("change", CHANGES, ids=NAMES)
def test_model_calls_are_those_of_a_content_hash(change: dict[str, Any], tmp_path: Path) -> None:
    old = write_manifest(tmp_path / "old", SITE)
    new = write_manifest(tmp_path / "new", change["site"], **change.get("options", {}))
    name = change.get("model", "model")
    records, opened = InMemoryRecordManager("docs"), InMemoryVectorStore(FakeEmbeddings())
    calls = []
    for path, model in ((old, "model"), (new, name)):
        opened.embedding = fake = FakeEmbeddings(model)
        index(
            load(path),
            records,
            opened,
            cleanup="full",
            key_encoder=hash_text,
            force_update=model != "model",
        )
        calls.append(len(fake.model.texts))
    assert calls == [8, expected_counts(change).embedded]


def test_equal_blocks_stay_apart(tmp_path: Path) -> None:
    # Two of three blocks are equal.
    path = write_manifest(tmp_path, {"terms": {"": ["Terms apply.", "Read them.", "Terms apply."]}})
    plain = [Document(each.page_content, metadata={"source": "terms.md"}) for each in load(path)]
    records, opened = InMemoryRecordManager("docs"), InMemoryVectorStore(FakeEmbeddings())
    index(plain, records, opened, cleanup="full", source_id_key="source", key_encoder="sha256")
    assert len(opened.store) == 2
    index(**index_arguments(path), record_manager=records, vector_store=opened)
    assert len(opened.store) == 3
    embeddings = PassageEmbeddings(FakeEmbeddings(), "model")
    opened = InMemoryVectorStore(embeddings)
    sync(path, opened, embeddings, tmp_path / "receipts.sqlite")
    assert len(opened.store) == 3


def test_a_referent_stays_while_its_text_changes(tmp_path: Path) -> None:
    synced = Synced(next(in_memory(None)), tmp_path / "receipts.sqlite")  # type: ignore[arg-type]
    found = []
    for change in CHANGES[:2]:
        synced.run(
            write_manifest(tmp_path, change["site"], **change.get("options", {})),
            Model(),
            force=True,
        )
        held = [record.metadata for record in synced.store.hold().values()]
        found.append(next(m for m in held if m["section_id"] == "install" and m["position"] == 1))
    before, after = found
    assert before["referent"] == after["referent"] == "guide#install"
    assert before["text_digest"] != after["text_digest"]
    assert before["chunk_id"] != after["chunk_id"]


# -- an experiment of six pages: three stay, two change, one goes, two come

FIRST = {
    "rag-intro": "Retrieval brings passages to a model.",
    "ragas": "Ragas measures answers.",
    "vector-db": "A vector database finds neighbours.",
    "embedding": "An embedding is a vector of a text.",
    "rerank": "Reranking sorts what was found.",
    "chunking": "Chunking divides a text.",
}
SECOND = {
    "rag-intro": FIRST["rag-intro"],
    "ragas": "Ragas measures answers, and how faithful they are.",
    "vector-db": FIRST["vector-db"],
    "rerank": FIRST["rerank"],
    "chunking": "Chunking divides a text, and can keep what stands around it.",
    "advanced-rag": "Queries can be written anew.",
    "conv-rag": "A talk has a history.",
}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Build the site in its two states, and give the folders."""
    sites = []
    for texts in (FIRST, SECOND):
        folder = tmp_path_factory.mktemp("site")
        files = {f"docs/{name}.md": f"# {name}\n\n{text}\n" for name, text in texts.items()}
        config = {"site_url": "https://docs.example.org/"}
        assert build_site(folder, Site(files, config=config)).passed
        sites.append(folder / "site")
    return sites


def test_the_experiment_with_sync(built: list[Path], store: Store, tmp_path: Path) -> None:
    synced = Synced(store, tmp_path / "receipts.sqlite")
    model = Model()
    assert synced.run(built[0], model) == Counts(added=6, embedded=6)
    # Half of what is there goes.
    with pytest.raises(SyncError, match="3 of 6 records would be deleted"):
        synced.run(built[1], model)
    expected = Counts(added=4, skipped=3, deleted=3, embedded=4)
    assert synced.run(built[1], model, max_delete=0.5) == expected
    assert len(model.texts) == 4
    check_held(store.hold(), built[1])
    anew = Synced(next(in_memory(None)), tmp_path / "anew.sqlite")  # type: ignore[arg-type]
    assert anew.run(built[1], model) == Counts(added=7, embedded=7)


def test_the_experiment_with_index(built: list[Path], indexed: Indexed) -> None:
    model = Model()
    assert indexed.run(built[0], model) == Counts(added=6, embedded=6)
    expected = Counts(added=4, skipped=3, deleted=3, embedded=4)
    assert indexed.run(built[1], model) == expected
    check_held(indexed.store.hold(), built[1])
    anew = Indexed(next(in_memory(None)), open_records("sqlite://"))  # type: ignore[arg-type]
    assert anew.run(built[1], model) == Counts(added=7, embedded=7)


# -- what LangChain does, which all this rests upon


def some(*texts: str, title: str = "old") -> list[Document]:
    return [
        Document(text, id="not used", metadata={"chunk_id": f"id-{text}", "title": title})
        for text in texts
    ]


def put(documents: list[Document], records: Any, opened: VectorStore, **options: Any) -> list[int]:
    done = index(documents, records, opened, **{"key_encoder": read_key, **options})
    return [done[f"num_{name}"] for name in ("added", "updated", "skipped", "deleted")]


@pytest.fixture
def memory() -> tuple[InMemoryRecordManager, InMemoryVectorStore]:
    return InMemoryRecordManager("docs"), InMemoryVectorStore(FakeEmbeddings())


Memory = tuple[InMemoryRecordManager, InMemoryVectorStore]


def test_pinned_signature_of_index() -> None:
    found = {n: p.default for n, p in inspect.signature(index).parameters.items()}
    required = inspect.Parameter.empty
    assert found == {
        "docs_source": required,
        "record_manager": required,
        "vector_store": required,
        "batch_size": 100,
        "cleanup": None,
        "source_id_key": None,
        "cleanup_batch_size": 1_000,
        "force_update": False,
        "key_encoder": "sha1",
        "upsert_kwargs": None,
    }


def test_pinned_index_takes_the_key_as_id(memory: Memory) -> None:
    records, opened = memory
    assert put(some("a", "b"), records, opened) == [2, 0, 0, 0]
    assert sorted(records.list_keys()) == sorted(opened.store) == ["id-a", "id-b"]


def test_pinned_index_skips_known_keys_with_other_metadata(memory: Memory) -> None:
    records, opened = memory
    put(some("a"), records, opened)
    assert put(some("a", title="new"), records, opened) == [0, 0, 1, 0]
    assert opened.store["id-a"]["metadata"]["title"] == "old"
    assert put(some("a", title="new"), records, opened, force_update=True) == [0, 1, 0, 0]
    assert opened.store["id-a"]["metadata"]["title"] == "new"


def test_pinned_index_deletes_by_key(memory: Memory) -> None:
    records, opened = memory
    put(some("a", "b", "c"), records, opened)
    assert put(some("b"), records, opened) == [0, 0, 1, 0]
    assert put(some("b"), records, opened, cleanup="full") == [0, 0, 1, 2]
    assert list(records.list_keys()) == list(opened.store) == ["id-b"]


def test_pinned_index_of_nothing_deletes_everything(memory: Memory) -> None:
    put(some("a", "b"), *memory)
    assert put([], *memory, cleanup="full") == [0, 0, 0, 2]


def test_pinned_index_does_not_see_a_lost_store(memory: Memory) -> None:
    records, opened = memory
    put(some("a", "b"), records, opened)
    opened.store.clear()
    assert put(some("a", "b"), records, opened, cleanup="full") == [0, 0, 2, 0]
    assert opened.store == {}


def test_pinned_incremental_cleanup_leaves_ghosts_and_embeds_again(memory: Memory) -> None:
    records, opened = memory
    options: dict[str, Any] = {"cleanup": "incremental", "source_id_key": "title"}
    put(some("a", "b", "c"), records, opened, **options)
    # A page longer than a batch: all but the first batch is deleted and embedded again.
    assert put(some("a", "b", "c"), records, opened, batch_size=1, **options) == [2, 0, 1, 2]
    # A page that is gone stays.
    put(some("d", title="another"), records, opened, **options)
    assert sorted(opened.store) == ["id-a", "id-b", "id-c", "id-d"]


def test_pinned_the_cache_asks_for_equal_texts_again() -> None:
    fake = FakeEmbeddings()
    plain = CacheBackedEmbeddings.from_bytes_store(fake, InMemoryByteStore(), key_encoder="sha256")
    plain.embed_documents(["a", "a", "a"])
    assert fake.model.texts == ["a", "a", "a"]


def test_pinned_records_are_replaced_as_wholes(store: Store) -> None:
    # But Chroma keeps metadata that are not written again; ours always have the same keys.
    opened = store.open(FakeEmbeddings())
    ids = ["00000000-0000-8000-8000-000000000001"]
    opened.add_documents([Document("old", metadata={"a": 1, "b": [1]})], ids=ids)
    opened.add_documents([Document("new", metadata={"b": [2, 3]})], ids=ids)
    text, metadata, vector = store.hold()[ids[0]]
    assert (text, list(vector or ())) == ("new", embed("new"))
    kept = {"a": 1} if isinstance(opened, Chroma) else {}
    assert metadata == {"b": [2, 3], **kept}
    # What is not there can be deleted.
    assert opened.delete(ids=["00000000-0000-8000-8000-000000000002", *ids]) in (None, True)
    assert store.hold() == {}


def test_pinned_pgvector_has_one_record_for_all_collections(postgres: str) -> None:
    engine = create_engine(with_driver(postgres))
    one, two = (
        PGVector(FakeEmbeddings(), connection=engine, collection_name=name)
        for name in ("one", "two")
    )
    one.add_documents([Document("one")], ids=["1"])
    two.add_documents([Document("two")], ids=["1"])
    assert [each.page_content for each in one.get_by_ids(["1"])] == ["two"]
    assert two.get_by_ids(["1"]) == []
    engine.dispose()


# -- the documentation

BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def written(language: str) -> list[str]:
    return [block[2] for block in BLOCK.finditer(PAGE.read_text("utf-8")) if block[1] == language]


@pytest.mark.parametrize("number", range(2), ids=["sync", "index"])
def test_the_programs_of_the_page(number: int, tmp_path: Path) -> None:
    path = tmp_path / "site" / "passages.json"
    # What they print first, and after an edit of one text.
    for change, printed in zip(CHANGES, written("text")[2 * number :][:2], strict=False):
        write_manifest(path.parent, change["site"], **change.get("options", {}))
        done = subprocess.run(
            [sys.executable, "-c", written("python")[number]],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(PAGE.parents[1])},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        assert done.stdout == printed
    client = chromadb.PersistentClient(tmp_path / "index")
    assert set(client.get_collection("docs").get()["ids"]) == set(read_passages(path))


def test_every_option_of_sync_stands_on_the_page() -> None:
    options = [
        (name, parameter.default)
        for name, parameter in inspect.signature(sync).parameters.items()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    ]
    rows = re.findall(r"^\| `(\w+)` \| `(.*?)` \|", PAGE.read_text("utf-8"), re.MULTILINE)
    assert sorted(rows) == sorted((name, repr(value).replace("'", '"')) for name, value in options)
