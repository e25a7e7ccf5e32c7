"""The plain vector stores, by their real libraries: what a sync leaves in them, whatever happens."""

from __future__ import annotations

import gc
import os
import socket
import sqlite3
import subprocess
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import sync_cases
from store_cases import Opener, require
from sync_cases import (
    CHANGES,
    NAMES,
    SITE,
    Model,
    check_held,
    embed,
    read_passages,
    run_change,
    write_manifest,
)

from mkdocs_markstay.stores import Store, open_store, place_receipts
from mkdocs_markstay.sync import Counts, Differences, check, sync
from mkdocs_markstay.sync_errors import SyncError
from mkdocs_markstay.targets import METADATA, Item, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mkdocs_markstay.targets import Target

OTHER = next(change["site"] for change in CHANGES if change["name"] == "insert a text early")
THIRD = next(change["site"] for change in CHANGES if change["name"] == "rename a page")


@pytest.mark.parametrize("change", CHANGES, ids=NAMES)
def test_what_moves_when(change: dict[str, Any], opener: Opener, ram: Path) -> None:
    run_change(ram, change, opener.open().target, opener.hold)
    assert all(set(record.metadata) == set(METADATA) for record in opener.hold().values())


def test_receipts_are_where_the_store_is(opener: Opener, tmp_path: Path) -> None:
    """And all is still there when the store is opened once more."""
    path = write_manifest(tmp_path, SITE)
    for expected in (Counts(added=11, reused=3, embedded=8), Counts(skipped=11)):
        store = opener.open()
        assert sync(path, store.target, Model().embedder(), store.receipts) == expected
        check_held(opener.hold(), path)
        assert check(store.target, ["p"], store.receipts) == Differences([], [], [], True)


def test_namespaces_keep_apart(opener: Opener, tmp_path: Path) -> None:
    sites = {"": SITE, "v2.0": OTHER, "a-tenant_3": THIRD}
    for namespace, site in sites.items():
        store = opener.open(namespace)
        path = write_manifest(tmp_path / namespace, site)
        counts = sync(path, store.target, Model().embedder(), store.receipts, namespace=namespace)
        assert counts.deleted == 0
    for namespace in sites:
        opener.open(namespace)
        table = f"passages-{namespace}" if namespace else "passages"
        check_held(opener.hold(table), tmp_path / namespace / "passages.json")


def test_publications_share_a_table(opener: Opener, tmp_path: Path) -> None:
    store = opener.open()
    for name in ("it's", "p"):
        path = write_manifest(tmp_path, SITE, f"{name}.json", publication=name)
        sync(path, store.target, Model().embedder(), store.receipts)
    for name in ("it's", "p"):
        ids = list(store.target.list_ids(name))
        assert len(ids) == 11
        assert set(ids) == set(read_passages(tmp_path / f"{name}.json"))
    assert list(store.target.list_ids("other")) == []


def test_nothing_is_there_before_the_first_sync(opener: Opener) -> None:
    target = opener.open("new").target
    assert list(target.list_ids("p")) == []
    target.delete(["00000000-0000-8000-8000-000000000000"])
    target.delete([])
    target.upsert([])
    assert list(target.list_ids("p")) == []


def test_what_a_store_lost_is_found_and_rebuilt(opener: Opener, tmp_path: Path) -> None:
    store, path = opener.open(), write_manifest(tmp_path, SITE)
    embedder = Model().embedder()
    sync(path, store.target, embedder, store.receipts)
    lost = sorted(opener.hold())[:3]
    store.target.delete(lost)
    ghost = make_items(1)[0]
    store.target.upsert([ghost])
    found = check(store.target, ["p"], store.receipts)
    assert found == Differences(lost, [ghost.chunk_id], [], True)
    counts = sync(path, store.target, embedder, store.receipts, rebuild=True)
    assert (counts.embedded, counts.deleted) == (0, 1)
    check_held(opener.hold(), path)
    for is_dropped in (False, True):
        if is_dropped:
            opener.drop()
        else:
            store.target.delete(list(opener.hold()))
        with pytest.raises(SyncError, match="rebuild it"):
            sync(path, store.target, embedder, store.receipts)
        sync(path, store.target, embedder, store.receipts, rebuild=True)
        check_held(opener.hold(), path)


def test_vectors_of_another_size(opener: Opener, tmp_path: Path) -> None:
    """They are refused, and both ways out that the error names are ways out."""
    store, path = opener.open(), write_manifest(tmp_path, SITE)
    sync(path, store.target, Model().embedder(), store.receipts)
    longer = Model("longer").embedder()
    longer = type(longer)("longer", lambda texts: [[*embed(each), 1.0] for each in texts])
    with pytest.raises(
        SyncError, match=r"passages holds .* gives 9\. Give another --namespace, or"
    ):
        sync(path, store.target, longer, store.receipts)
    check_held(opener.hold(), path)
    store = opener.open("longer")
    sync(path, store.target, longer, store.receipts, namespace="longer")
    store = opener.open()
    opener.drop()
    sync(path, store.target, longer, store.receipts, rebuild=True)
    for held in (opener.hold(), opener.hold("passages-longer")):
        assert held.keys() == read_passages(path).keys()
        assert {len(record.vector or ()) for record in held.values()} == {9}
    # Also if they come together.
    mixed = [make_items(1)[0], make_items(1)[0]._replace(vector=[1.0])]
    with pytest.raises(SyncError, match="holds vectors of"):
        opener.open("mixed").target.upsert(mixed)


def make_items(count: int) -> list[Item]:
    """Make records that differ from those of the site."""
    metadata: dict[str, Value] = dict.fromkeys(METADATA, "x")
    metadata |= {"position": 1, "level": 2, "generated": False, "publication": "p"}
    metadata |= {"path": ["x", "y"], "kinds": ["x"]}
    ids = [f"00000000-0000-8000-8000-{number:012x}" for number in range(count)]
    return [Item(each, embed(each), f"'{each}'", metadata | {"chunk_id": each}) for each in ids]


def test_records_are_written_as_a_whole(opener: Opener) -> None:
    target = opener.open().target
    (item,) = make_items(1)
    target.upsert([item._replace(metadata={**item.metadata, "old": "x"})])
    target.delete(["00000000-0000-8000-8000-00000000ffff"])
    text = "text\n'\"\\ %s {x} \U0001f600"
    other = item._replace(text=text, vector=embed(text), metadata={**item.metadata, "title": "y"})
    # Twice at once: the last one counts.
    target.upsert([item, other]) if opener.kind != "chroma" else target.upsert([other])
    (held,) = opener.hold().values()
    # A table keeps its column.
    metadata = {key: value for key, value in held.metadata.items() if value is not None}
    assert (held.text, metadata, held.vector) == (text, other.metadata, other.vector)


def test_more_than_a_store_takes_at_once(opener: Opener) -> None:
    target = opener.open().target
    # Chroma takes 5,461, and a local Qdrant is slow.
    items = make_items(5500 if opener.kind == "chroma" else 1100)
    target.upsert(items)
    ids = [item.chunk_id for item in items]
    assert sorted(target.list_ids("p")) == ids
    target.delete(ids[1:])
    assert list(target.list_ids("p")) == ids[:1]


class Died(BaseException):
    """As if the power were gone."""


class Dying:
    """A target that dies before or after one of its calls, which are small ones."""

    def __init__(self, target: Target, point: int) -> None:
        self.target = target
        self.point = point

    def tick(self) -> None:
        if self.point == 0:
            raise Died
        self.point -= 1

    def upsert(self, items: Sequence[Item]) -> None:
        self.run(self.target.upsert, items)

    def delete(self, chunk_ids: Sequence[str]) -> None:
        self.run(self.target.delete, chunk_ids)

    def run(self, call: Callable[[Any], None], values: Sequence[Any]) -> None:
        for start in range(0, len(values), 2):
            self.tick()
            call(values[start : start + 2])
            self.tick()


@pytest.mark.parametrize("last", [OTHER, THIRD], ids=["same", "third"])
def test_a_sync_that_died_is_finished_by_the_next(
    opener: Opener, last: dict[str, Any], ram: Path, tmp_path: Path
) -> None:
    old, new = write_manifest(tmp_path / "old", SITE), write_manifest(tmp_path / "new", OTHER)
    third = write_manifest(tmp_path / "third", last)
    model = Model()
    died = 0
    for point in range(100):
        namespace = f"n{point}"
        store = opener.open(namespace)

        def run(path: Path, target: Target, names: str = namespace) -> Counts:
            return sync(
                path,
                target,
                model.embedder(),
                ram / "receipts.sqlite",
                namespace=names,
                max_delete=1,
            )

        run(old, store.target)
        try:
            run(new, Dying(store.target, point))
        except Died:
            died += 1
        else:
            break
        counts = run(third, store.target)
        check_held(opener.hold(f"passages-{namespace}"), third)
        found = check(store.target, ["p"], ram / "receipts.sqlite", namespace=namespace)
        assert found == Differences([], [], [], True)
        assert run(third, store.target) == Counts(skipped=len(read_passages(third)))
        assert counts.embedded == 0
    # Three calls write five records, two delete four of them.
    assert died == 10


KILLED = """\
import os, sys
from mkdocs_markstay.stores import Store, open_store, place_receipts
from mkdocs_markstay.sync import sync
from sync_cases import Model

spec, path = sys.argv[1:]
store = open_store(spec)

class Target:
    def __getattr__(self, name):
        return getattr(store.target, name)

    def upsert(self, items):
        store.target.upsert(items[:3])
        os._exit(9)

sync(path, Target(), Model().embedder(), store.receipts)
"""


def test_a_process_that_was_killed(opener: Opener, tmp_path: Path) -> None:
    """Between two writes: what it left open or locked hinders nobody."""
    path = write_manifest(tmp_path, SITE)
    command = [sys.executable, "-c", KILLED, opener.spec, str(path)]
    folder = Path(sync_cases.__file__).parent
    environ = {
        **os.environ,
        "PYTHONPATH": f"{folder}{os.pathsep}{os.environ.get('PYTHONPATH', '')}",
    }
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (9, "")
    store = opener.open()
    assert len(opener.hold()) == 3
    counts = sync(path, store.target, Model().embedder(), store.receipts)
    assert counts == Counts(added=11, reused=11)
    check_held(opener.hold(), path)


def test_a_connection_without_autocommit(postgres: str) -> None:
    """What is written is committed, and the extension is created if it is missing."""
    import psycopg

    from mkdocs_markstay.target_pgvector import PgvectorTarget

    with psycopg.connect(postgres) as connection, psycopg.connect(postgres) as other:
        connection.execute("drop extension vector")
        connection.commit()
        target = PgvectorTarget(connection, 'my "big" table')
        list(target.list_ids("p"))
        items = make_items(3)
        target.upsert(items)
        assert next(iter(target.list_ids("p"))) == items[0].chunk_id
        target.delete([items[0].chunk_id])
        assert connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
        ids = list(PgvectorTarget(other, target.table).list_ids("p"))
        assert ids == [item.chunk_id for item in items[1:]]


def test_workers_make_a_table_at_once(postgres: str) -> None:
    from mkdocs_markstay.target_pgvector import PgvectorTarget

    items = make_items(40)
    targets = [PgvectorTarget.open(postgres) for _ in range(8)]
    with ThreadPoolExecutor(8) as pool:
        parts = [items[number::8] for number in range(8)]
        list(pool.map(lambda target, part: target.upsert(part), targets, parts))
    assert list(targets[0].list_ids("p")) == [item.chunk_id for item in items]
    for target in targets:
        target.close()


def test_sqlite_vec_in_the_sqlite3_of_python(tmp_path: Path) -> None:
    require("sqlite-vec")
    import sqlite_vec

    from mkdocs_markstay.target_sqlite_vec import SqliteVecTarget

    with closing(sqlite3.connect(tmp_path / "index.sqlite")) as connection:
        if not hasattr(connection, "enable_load_extension"):
            pytest.skip("the sqlite3 of this Python loads no extension")
        connection.enable_load_extension(True)
        sqlite_vec.load(connection)
        target = SqliteVecTarget(connection)
        reader = Opener("sqlite-vec:", Store(target, ""))
        run_change(tmp_path, CHANGES[3], target, reader.hold)
        assert not connection.in_transaction


@pytest.fixture
def chroma_server(ram: Path) -> Iterator[str]:
    """The URL of a Chroma of its own process."""
    command = Path(sys.executable).with_name("chroma")
    require("chroma")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    arguments = ["run", "--path", str(ram), "--port", str(port), "--host", "127.0.0.1"]
    with subprocess.Popen([command, *arguments], stdout=subprocess.DEVNULL) as server:
        for _ in range(300):
            with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
        server.terminate()


def test_a_server_of_chroma(
    chroma_server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    opener = Opener(f"chroma:{chroma_server}")
    try:
        store = opener.open()
        port = chroma_server.rpartition(":")[2]
        assert store.receipts == f"markstay-chroma-127.0.0.1_{port}.sqlite"
        run_change(tmp_path, CHANGES[3], store.target, opener.hold)
        items = [item._replace(vector=[1.0]) for item in make_items(1)]
        with pytest.raises(SyncError, match=r"gives 1\. Give another --namespace"):
            store.target.upsert(items)
    finally:
        opener.close()
        with warnings.catch_warnings():
            # The client leaves its connections to the garbage collector.
            warnings.simplefilter("ignore", ResourceWarning)
            del store
            gc.collect()


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("", r"'' is no store\. Write one of: chroma:FOLDER or http"),
        ("faiss:index", r"'faiss:index' is no store\. Write one of: chroma:"),
        ("chroma", r"does not say where the store is\. Write chroma:FOLDER or http://HOST:PORT"),
        ("lancedb:", r"Write lancedb:FOLDER"),
        ("pgvector:index", r"Write pgvector:postgresql://USER@HOST/DATABASE"),
        ("sqlite-vec:http://docs.example.org", r"is no file\. Write sqlite-vec:FILE"),
        (
            "pgvector:postgresql://me:secret@/x?host=nowhere",
            r"me:…@/x\?host=nowhere cannot be opened",
        ),
    ],
)
def test_wrong_store(spec: str, message: str) -> None:
    if "nowhere" in spec:
        require("pgvector")
    with pytest.raises(SyncError, match=message):
        open_store(spec)


@pytest.mark.parametrize(
    "namespace", ["V2", "-a", "a-", "a..b", "a b", "a/b", 'a"b', "ä", "a" * 41, "v2\n"]
)
def test_wrong_namespace(namespace: str) -> None:
    with pytest.raises(SyncError, match="is no namespace: write"):
        open_store("lancedb:index", namespace)


@pytest.mark.parametrize("kind", ["chroma", "qdrant", "lancedb", "sqlite-vec"])
def test_a_place_that_is_none(kind: str, tmp_path: Path) -> None:
    require(kind)
    (tmp_path / "file").write_text("no store" * 500)
    place = "file" if kind == "sqlite-vec" else "file/index"
    with pytest.raises(SyncError, match=f"{place} cannot be opened: "):
        open_store(f"{kind}:{tmp_path / place}")


@pytest.mark.parametrize(
    ("spec", "receipts"),
    [
        ("qdrant:http://me:secret@localhost:6333/", "markstay-qdrant-localhost_6333.sqlite"),
        ("qdrant:https://docs.example.org/a/b", "markstay-qdrant-docs.example.org_a_b.sqlite"),
        ("lancedb:s3://bucket/index", "markstay-lancedb-bucket_index.sqlite"),
        ("chroma:index", str(Path("index", "markstay.sqlite"))),
        ("sqlite-vec:index.db", "index.db.receipts"),
        ("pgvector:postgresql://me:secret@host/db", "postgresql://me:secret@host/db"),
    ],
)
def test_where_receipts_are(spec: str, receipts: str) -> None:
    assert place_receipts(*spec.split(":", 1)) == receipts


def test_missing_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mkdocs_markstay.target_qdrant", None)
    with pytest.raises(SyncError, match=r"Run: pip install 'mkdocs-markstay\[qdrant\]'"):
        open_store("qdrant:index")
