"""Receipts on PostgreSQL: several workers begin at once, and one writes at a time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from hashlib import sha256
from threading import Barrier
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import text
from sync_cases import SITE, MemoryTarget, Model, check_held, hold_memory, write_manifest

from mkdocs_markstay.database import Database
from mkdocs_markstay.receipts import Receipts
from mkdocs_markstay.sync import Counts, SyncError, sync
from mkdocs_markstay.vectors import VectorCache

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mkdocs_markstay.targets import Item


def test_many_make_the_tables_at_once(postgres: str) -> None:
    barrier = Barrier(8)

    def begin(_: int) -> None:
        database = Database.open(postgres)
        barrier.wait()
        Receipts(database, "")
        VectorCache(database, "model")
        database.close()

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(begin, range(8))) == [None] * 8


def test_many_keep_the_same_vectors_at_once(postgres: str) -> None:
    barrier = Barrier(4)
    keys = [sha256(bytes([number])).digest() for number in range(256)]

    def write(turn: int) -> None:
        database = Database.open(postgres)
        vectors = VectorCache(database, "model")
        for _ in range(5):
            barrier.wait()
            order = keys if turn % 2 else keys[::-1]
            vectors.write({key: [1.0] for key in order})
            barrier.wait()
            if not turn:
                with database.writing() as connection:
                    connection.execute(text("delete from markstay_vectors"))
        database.close()

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(write, range(4))) == [None] * 4


def test_one_writes_at_a_time(postgres: str, tmp_path: Path) -> None:
    path = write_manifest(tmp_path, SITE)
    target = MemoryTarget()
    other = Database.open(postgres, wait=0.3)
    with other.locked("v1", [5]):
        # Another namespace, another partition: nobody waits.
        with closing(Database.open(postgres, wait=0.0)) as third, third.locked("v1", [6]):
            pass
        assert sync(path, target, Model().embedder(), postgres).added == 11
        with pytest.raises(SyncError, match="another sync is writing here"):
            sync(path, target, Model().embedder(), other, namespace="v1")
    other.close()
    assert sync(path, target, Model().embedder(), postgres) == Counts(skipped=11)
    check_held(hold_memory(target), path)


def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    path, url = write_manifest(tmp_path, SITE), "postgresql://me:secret@localhost:1/none"
    with pytest.raises(SyncError, match=r"the receipts in .* cannot be used") as caught:
        sync(path, MemoryTarget(), Model().embedder(), url)
    assert "me:…@localhost" in str(caught.value)
    assert "secret" not in str(caught.value)


class Cut(MemoryTarget):
    """A store that lets go of all locks with its first write, as a server that is restarted."""

    url = ""

    def upsert(self, items: Sequence[Item]) -> None:
        import psycopg

        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(
                "select pg_terminate_backend(pid) from pg_locks join pg_database on oid = database"
                " where locktype = 'advisory' and datname = current_database()"
            )
        super().upsert(items)


def test_who_has_lost_the_lock_writes_nothing_more(postgres: str, tmp_path: Path) -> None:
    pages = {f"p{each}": {"": [f"{each} {number}." for number in range(500)]} for each in (1, 2)}
    path, target = write_manifest(tmp_path, pages), Cut()
    target.url = postgres
    with pytest.raises(SyncError, match="cannot be used"):
        sync(path, target, Model().embedder(batch_size=500), postgres)
    assert len(target.items) == 500
    last = MemoryTarget(target.items)
    sync(path, last, Model().embedder(), postgres)
    check_held(hold_memory(last), path)
