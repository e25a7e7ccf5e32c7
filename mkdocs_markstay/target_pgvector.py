"""A table of PostgreSQL with pgvector, as the target of a sync."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg import sql
from psycopg.types.json import Jsonb

from mkdocs_markstay.sync_errors import SyncError
from mkdocs_markstay.target_tables import TABLE, check_sizes, name_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from typing_extensions import Self

    from mkdocs_markstay.targets import Item

_PAGE = 1000


class PgvectorTarget:
    """A table, which the first sync makes: chunk_id uuid, embedding vector, text, metadata jsonb.

    What is written is committed at once.
    """

    def __init__(self, connection: Any, table: str = TABLE) -> None:
        self.connection = connection
        self.table = table

    @classmethod
    def open(cls, place: str, namespace: str = "") -> Self:
        """Open a database by its URL."""
        name = name_table(namespace)
        return cls(psycopg.connect(place, autocommit=True), name)

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()

    def upsert(self, items: Sequence[Item]) -> None:
        """Write records as a whole."""
        if not items:
            return
        query = self._sql(
            "insert into {table} (chunk_id, embedding, text, metadata)"
            " values (%s, %s::vector, %s, %s) on conflict (chunk_id) do update set"
            " embedding = excluded.embedding, text = excluded.text, metadata = excluded.metadata"
        )
        rows = [
            (item.chunk_id, str(item.vector), item.text, Jsonb(item.metadata)) for item in items
        ]
        with self._committed():
            held = self._size()
            size = check_sizes(self.table, held, items)
            if held is None:
                self._create(size)
            with self.connection.cursor() as cursor:
                cursor.executemany(query, rows)

    def delete(self, chunk_ids: Sequence[str]) -> None:
        """Delete records."""
        with self._committed():
            if self._size() is not None:
                query = self._sql("delete from {table} where chunk_id = any(%s::uuid[])")
                self.connection.execute(query, (list(chunk_ids),))

    def list_ids(self, publication: str) -> Iterator[str]:
        """Give the ids of all records of a publication."""
        query = self._sql(
            "select chunk_id::text from {table} where metadata->>'publication' = %s"
            " and chunk_id > %s order by chunk_id limit %s"
        )
        last = "00000000-0000-0000-0000-000000000000"
        found = [(last,)]
        while found:
            with self._committed():
                exists = self._size() is not None
                values = (publication, last, _PAGE)
                found = self.connection.execute(query, values).fetchall() if exists else []
            for (last,) in found:
                yield last

    def _size(self) -> int | None:
        row = self.connection.execute(
            "select atttypmod from pg_attribute"
            " where attrelid = to_regclass(%s) and attname = 'embedding'",
            (sql.Identifier(self.table).as_string(self.connection),),
        ).fetchone()
        return None if row is None else int(row[0])

    def _create(self, size: int) -> None:
        # Several workers may come here at once.
        self.connection.execute("select pg_advisory_xact_lock(hashtext(%s))", (self.table,))
        row = self.connection.execute("select to_regtype('vector')").fetchone()
        if row == (None,):
            try:
                self.connection.execute("create extension vector")
            except psycopg.Error as error:
                raise SyncError(
                    "the database has no pgvector. Let somebody who may run: create extension"
                    f" vector ({error})"
                ) from error
        self.connection.execute(
            self._sql(
                "create table if not exists {table} (chunk_id uuid primary key,"
                " embedding vector({size}) not null, text text not null, metadata jsonb not null)",
                size=sql.Literal(size),
            )
        )
        self.connection.execute(
            self._sql(
                "create index if not exists {index} on {table}"
                " ((metadata->>'publication'), chunk_id)",
                index=sql.Identifier(f"{self.table}-publication"),
            )
        )

    def _sql(self, query: str, **parts: Any) -> Any:
        return sql.SQL(query).format(table=sql.Identifier(self.table), **parts)

    @contextmanager
    def _committed(self) -> Iterator[None]:
        """Do all or nothing, in a connection with or without autocommit."""
        with self.connection.transaction():
            yield
        self.connection.commit()
