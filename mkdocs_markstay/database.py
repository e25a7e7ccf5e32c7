"""The database of a sync: an SQLite file, or PostgreSQL by its URL, and who may write to it."""

from __future__ import annotations

import random
import sqlite3
import time
from contextlib import ExitStack, closing, contextmanager
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import SQLAlchemyError

from mkdocs_markstay.sync_errors import SyncError, hide_password

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Collection, Iterator

    from sqlalchemy import MetaData
    from sqlalchemy.engine import URL, Connection, Engine

_PAUSE = 0.2


class Database:
    """Where receipts and vectors are kept. ``wait`` is how long to wait for others, in seconds."""

    def __init__(self, engine: Engine, wait: float) -> None:
        self.engine = engine
        self.wait = wait

    @classmethod
    def open(cls, place: str | os.PathLike[str], *, wait: float = 60.0) -> Database:
        """Open a file, which may be new, or the URL of a database.

        Raises SyncError if that cannot be done.
        """
        shown = hide_password(str(place))
        try:
            url = make_url(place) if isinstance(place, str) and "://" in place else None
            if url is None:
                path = Path(place)
                if not path.parent.is_dir():
                    raise SyncError(f"there is no folder {path.parent} for the receipts {path}")
                url = make_url("sqlite://").set(database=str(path))
            if url.drivername in ("postgresql", "postgres"):
                url = url.set(drivername="postgresql+psycopg")
            if url.get_backend_name() not in ("sqlite", "postgresql"):
                raise SyncError(f"{shown} is neither a file nor the URL of PostgreSQL")
            return cls(_create(url, wait), wait)
        except (SQLAlchemyError, OSError, ImportError, ValueError) as error:
            raise SyncError(f"{shown} cannot be opened: {error}") from error

    def create(self, tables: MetaData) -> None:
        """Make tables that are not there yet."""
        with self.writing() as connection:
            if connection.dialect.name == "postgresql":
                # Two that make the same table at once would fail.
                key = _lock_key("", -1)
                connection.execute(text("select pg_advisory_xact_lock(:key)"), {"key": key})
            tables.create_all(connection)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Give a connection to read with."""
        with self._errors(), self.engine.connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Give a connection to write with: all that is written, or nothing."""
        with self._errors(), self.engine.begin() as connection:
            yield connection

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except SQLAlchemyError as error:
            shown = hide_password(self.engine.url.render_as_string(hide_password=False))
            raise SyncError(f"the receipts in {shown} cannot be used: {error}") from error

    def close(self) -> None:
        """Give its connections back."""
        self.engine.dispose()

    @contextmanager
    def locked(self, namespace: str, partitions: Collection[int]) -> Iterator[Callable[[], None]]:
        """Keep other writers away from some partitions of a namespace.

        An SQLite file has one writer at a time. Raises SyncError if another one has not ended
        after ``wait`` seconds. A writer that dies keeps nobody waiting. What is given raises
        SyncError if the connection that keeps them away is gone, and they may come by now.
        """
        url = self.engine.url
        if url.get_backend_name() == "postgresql":
            with self._lock_rows(namespace, partitions) as check:
                yield check
        elif url.database in (None, "", ":memory:"):
            yield lambda: None
        else:
            with _lock_file(f"{url.database}-lock", self.wait):
                yield lambda: None

    @contextmanager
    def _lock_rows(
        self, namespace: str, partitions: Collection[int]
    ) -> Iterator[Callable[[], None]]:
        keys = [_lock_key(namespace, each) for each in sorted(partitions)]
        # All of them or none, so that two never wait for each other.
        take = text(
            "select bool_and(pg_try_advisory_lock(key)) from unnest(cast(:keys as bigint[])) key"
        )
        end = time.monotonic() + self.wait
        with self.reading() as connection:
            while not connection.execute(take, {"keys": keys}).scalar():
                connection.execute(text("select pg_advisory_unlock_all()"))
                if time.monotonic() >= end:
                    raise SyncError(_BUSY)
                time.sleep(_PAUSE * (0.5 + random.random()))  # noqa: S311 (no secret)
            connection.commit()

            def check() -> None:
                with self._errors():
                    connection.execute(text("select 1"))
                    connection.commit()

            try:
                yield check
            finally:
                # Who is gone holds nothing any more.
                if not connection.invalidated:
                    connection.rollback()
                    connection.execute(text("select pg_advisory_unlock_all()"))


_BUSY = "another sync is writing here. Wait until it has ended, and run this one again"


def _create(url: URL, wait: float) -> Engine:
    if url.get_backend_name() == "sqlite":
        return create_engine(url, connect_args={"timeout": wait})
    # While a model is at work for long, a server may have closed what is not used.
    return create_engine(url, pool_pre_ping=True)


def _lock_key(namespace: str, partition: int) -> int:
    digest = sha256(f"markstay:sync:{partition}:{namespace}".encode()).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


@contextmanager
def _lock_file(path: str, wait: float) -> Iterator[None]:
    """Hold a file that nothing else is in; the system gives it free if this program dies."""
    with ExitStack() as stack:
        try:
            connection = sqlite3.connect(path, timeout=wait, isolation_level=None)
            stack.enter_context(closing(connection))
            connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.Error as error:
            raise SyncError(_BUSY if "locked" in str(error) else f"{path}: {error}") from None
        yield
