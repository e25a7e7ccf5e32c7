"""Passages in Haystack: what moves when, in three document stores."""

from __future__ import annotations

import os
import re
import runpy
import uuid
from dataclasses import replace
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
    read_passages,
    run_change,
    write_manifest,
)

from mkdocs_markstay.sync import Counts, SyncError, check
from mkdocs_markstay.targets import METADATA

if not os.environ.get("MARKSTAY_ALL_CONSUMERS"):
    pytest.importorskip("haystack")
    pytest.importorskip("haystack_integrations.document_stores.chroma")
    pytest.importorskip("haystack_integrations.document_stores.qdrant")

from haystack import Document, component
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack.document_stores.types import DuplicatePolicy
from haystack_integrations.document_stores.chroma import ChromaDocumentStore
from haystack_integrations.document_stores.qdrant import QdrantDocumentStore

from mkdocs_markstay.haystack import load, make_target, sync, writer

if TYPE_CHECKING:
    from collections.abc import Callable

    from mkdocs_markstay.sync import Embedder

PAGE = Path(__file__).parents[2] / "docs" / "haystack.md"


@component
class Embedding:
    """The model of the cases, as a component of Haystack."""

    def __init__(self, embedder: Embedder) -> None:
        self.model = embedder.model
        self._embedder = embedder
        self.warmed = 0

    def warm_up(self) -> None:
        self.warmed += 1

    @component.output_types(documents=list[Document])
    def run(self, documents: list[Document]) -> dict[str, list[Document]]:
        vectors = self._embedder.embed([str(each.content) for each in documents])
        return {
            "documents": [
                replace(each, embedding=list(vector))
                for each, vector in zip(documents, vectors, strict=True)
            ]
        }


class Store(NamedTuple):
    """A document store, and what it holds."""

    store: Any
    exact: bool = True

    def hold(self) -> dict[str, Held]:
        found = self.store.filter_documents()
        assert len(found) == self.store.count_documents()
        return {
            each.id: Held(each.content, each.meta, each.embedding if self.exact else None)
            for each in found
        }

    def sync(
        self, manifest: Path, _: Any, embedder: Embedder, receipts: Path, **options: Any
    ) -> Counts:
        """Sync as the engine does, by the adapter."""
        return sync(manifest, self.store, Embedding(embedder), receipts, **options)


def make_chroma() -> Store:
    return Store(ChromaDocumentStore(f"c{uuid.uuid4().hex}"))


def make_qdrant() -> Store:
    # Vectors as they were written: for cosines they are changed.
    return Store(
        QdrantDocumentStore(
            ":memory:", embedding_dim=SIZE, similarity="dot_product", progress_bar=False
        )
    )


STORES: dict[str, Callable[[], Store]] = {
    "memory": lambda: Store(InMemoryDocumentStore()),
    "chroma": make_chroma,
    "qdrant": make_qdrant,
}


@pytest.fixture(params=list(STORES))
def store(request: pytest.FixtureRequest) -> Store:
    return STORES[request.param]()


# -- a sync


@pytest.mark.parametrize("change", CHANGES, ids=NAMES)
def test_what_moves_when(change: dict[str, Any], store: Store, tmp_path: Path) -> None:
    run_change(tmp_path, change, store.store, store.hold, store.sync)


def test_a_damaged_store_is_checked_and_rebuilt(store: Store, tmp_path: Path) -> None:
    path, receipts, model = write_manifest(tmp_path, SITE), tmp_path / "receipts.sqlite", Model()
    sync(path, store.store, Embedding(model.embedder()), receipts)
    lost, ghost = next(iter(read_passages(path))), str(uuid.uuid4())
    (found,) = [each for each in load(path) if each.id == lost]
    store.store.delete_documents([lost])
    store.store.write_documents([replace(found, id=ghost, embedding=[0.5] * SIZE)])
    assert check(make_target(store.store), ["p"], receipts) == ([lost], [ghost], [], True)
    asked = len(model.texts)
    counts = sync(path, store.store, Embedding(model.embedder()), receipts, rebuild=True)
    assert counts == Counts(rewritten=11, deleted=1)
    assert len(model.texts) == asked
    check_held(store.hold(), path)
    assert check(make_target(store.store), ["p"], receipts) == ([], [], [], True)


def test_an_emptied_store_is_refused(store: Store, tmp_path: Path) -> None:
    path, receipts, model = write_manifest(tmp_path, SITE), tmp_path / "receipts.sqlite", Model()
    sync(path, store.store, Embedding(model.embedder()), receipts)
    store.store.delete_documents(list(read_passages(path)))
    with pytest.raises(SyncError, match="by its receipts it should"):
        sync(path, store.store, Embedding(model.embedder()), receipts)


def test_other_receipts_are_refused(store: Store, tmp_path: Path) -> None:
    path, model = write_manifest(tmp_path, SITE), Model()
    sync(path, store.store, Embedding(model.embedder()), tmp_path / "receipts.sqlite")
    with pytest.raises(SyncError, match="there is no receipt of them"):
        sync(path, store.store, Embedding(model.embedder()), tmp_path / "others.sqlite")


def test_other_sites_in_a_store_are_left_alone(store: Store, tmp_path: Path) -> None:
    receipts, model = tmp_path / "receipts.sqlite", Model()
    one = write_manifest(tmp_path / "one", SITE)
    two = write_manifest(tmp_path / "two", SITE, publication="q")
    for path in (one, two):
        assert sync(path, store.store, Embedding(model.embedder()), receipts).added == 11
    assert len(model.texts) == 8
    assert set(store.hold()) == {*read_passages(one), *read_passages(two)}


def test_a_sync_goes_on_where_a_store_failed(store: Store, tmp_path: Path) -> None:
    """Titles are rewritten under the same ids: nothing is doubled, nothing stays old."""
    receipts, model = tmp_path / "receipts.sqlite", Model()
    old = write_manifest(tmp_path / "old", SITE)
    (change,) = [each for each in CHANGES if each["name"] == "change the title of a page"]
    new = write_manifest(tmp_path / "new", change["site"], **change.get("options", {}))
    sync(old, store.store, Embedding(model.embedder()), receipts)
    write = store.store.write_documents

    def fail(found: list[Document], **options: Any) -> int:
        write(found[:3], **options)
        raise OSError("the disk is full")

    store.store.write_documents = fail
    with pytest.raises(
        SyncError, match=r"failed to write: OSError: the disk is full. What was done is kept"
    ):
        sync(new, store.store, Embedding(model.embedder()), receipts)
    store.store.write_documents = write
    sync(new, store.store, Embedding(model.embedder()), receipts)
    check_held(store.hold(), new)
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
    built = build_site(folder, Site(files, config={"site_url": "https://docs.example.org/"}))
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
    sync(after, InMemoryDocumentStore(), Embedding(rebuilt.embedder()), tmp_path / "new.sqlite")
    assert len(rebuilt.texts) == 7


# -- the component


def test_a_component_is_warmed_up_once_and_only_if_needed(tmp_path: Path) -> None:
    path, store = write_manifest(tmp_path, SITE), InMemoryDocumentStore()
    first, second = Embedding(Model().embedder()), Embedding(Model().embedder())
    sync(path, store, first, tmp_path / "r.sqlite")
    sync(path, store, second, tmp_path / "r.sqlite")
    assert (first.warmed, second.warmed) == (1, 0)


class Bare:
    """A component that says no name, needs no warming up and turns documents round."""

    def __init__(self, model: Model, failing: int = 0) -> None:
        self._model = model
        self._failing = failing

    def run(self, documents: list[Document]) -> dict[str, list[Document]]:
        vectors = self._model.embed([str(each.content) for each in documents])
        vectors[: self._failing] = [None] * self._failing  # type: ignore[list-item]
        found = [replace(d, embedding=v) for d, v in zip(documents, vectors, strict=True)]
        return {"documents": found[::-1]}


def test_a_model_without_a_name_is_refused(tmp_path: Path) -> None:
    path, store, model = write_manifest(tmp_path, SITE), Store(InMemoryDocumentStore()), Model()
    with pytest.raises(SyncError, match="has no name"):
        sync(path, store.store, Bare(model), tmp_path / "r.sqlite")
    sync(path, store.store, Bare(model), tmp_path / "r.sqlite", model="model")
    check_held(store.hold(), path)


def test_a_component_that_gives_no_vector(tmp_path: Path) -> None:
    """Some log that a request failed, and go on."""
    path, store = write_manifest(tmp_path, SITE), Store(InMemoryDocumentStore())
    with pytest.raises(SyncError, match="gave no vectors for 1 of 8 texts"):
        sync(path, store.store, Bare(Model(), 1), tmp_path / "r.sqlite", model="m")
    assert store.hold() == {}


# -- documents


def test_documents(store: Store, tmp_path: Path) -> None:
    path = write_manifest(tmp_path, {"a=A": {"": ["One."], "x=X": ["Two.", "One."]}})
    found, passages = load(path), read_passages(path)
    assert [(each.id, each.content) for each in found] == [
        (key, each.text) for key, each in passages.items()
    ]
    assert all(tuple(each.meta) == METADATA for each in found)
    embedded = Embedding(Model().embedder()).run(found)["documents"]
    made = writer(store.store)
    for _ in range(2):
        assert made.run(documents=embedded) == {"documents_written": 3}
        check_held(store.hold(), path)


# -- what the library does with our ids: held, so that a release that changes it fails by name


def test_contract_of_ids() -> None:
    given = Document(id="given", content="Text.", meta={"a": 1})
    assert given.id == "given"
    assert replace(given, embedding=[1.0]).id == "given"
    assert replace(given, meta={"a": 2}).id == "given"
    # Without one, it is made of all that a document has.
    assert Document(content="Text.").id == Document(content="Text.").id
    assert Document(content="Text.").id != Document(content="Text.", meta={"a": 1}).id
    assert Document(content="Text.").id != Document(content="Text.", embedding=[1.0]).id


def test_contract_of_overwriting(store: Store) -> None:
    """There is one document still. Chroma keeps what is no more said of it: say all, always."""
    key = str(uuid.uuid4())
    meta = {"a": 1, "b": "x", "path": ["A", "B"]}
    old = Document(id=key, content="Old.", meta=meta, embedding=[0.5] * SIZE)
    meta = {"a": 2, "path": ["B"]}
    new = Document(id=key, content="New.", meta=meta, embedding=[0.75] * SIZE)
    for each in (old, new):
        store.store.write_documents([each], policy=DuplicatePolicy.OVERWRITE)
    held = store.hold()
    assert held.keys() == {key}
    kept = {"b": "x"} if isinstance(store.store, ChromaDocumentStore) else {}
    assert (held[key].text, held[key].metadata) == ("New.", {"a": 2, "path": ["B"], **kept})
    assert list(held[key].vector or ()) == [0.75] * SIZE
    with pytest.raises(DuplicateDocumentError):
        store.store.write_documents([old], policy=DuplicatePolicy.FAIL)


def test_contract_of_deleting_and_filtering(store: Store) -> None:
    """An id that is not there is no error; lists of strings are kept, and looked into."""
    keys = [str(uuid.uuid4()) for _ in range(3)]
    store.store.write_documents(
        [
            Document(
                id=k, content="T.", meta={"chunk_id": k, "path": ["A", "B"]}, embedding=[0.5] * SIZE
            )
            for k in keys
        ]
    )
    store.store.delete_documents([keys[0], str(uuid.uuid4())])
    condition = {"field": "meta.chunk_id", "operator": "in", "value": keys[:2]}
    (found,) = store.store.filter_documents(condition)
    assert (found.id, found.meta["path"]) == (keys[1], ["A", "B"])


# -- the page


def test_program_of_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = PAGE.read_text("utf-8")
    (program,) = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    write_manifest(tmp_path / "site", SITE)
    (tmp_path / "program.py").write_text(program, "utf-8")
    with working_in(tmp_path):
        runpy.run_path("program.py")
        first = capsys.readouterr().out
        runpy.run_path("program.py")
        second = capsys.readouterr().out
    assert "Counts(added=11, reused=3, rewritten=0, skipped=0, deleted=0, embedded=8)" in first
    assert "skipped=11" in second
