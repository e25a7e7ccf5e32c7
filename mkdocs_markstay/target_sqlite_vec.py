"""A table of sqlite-vec, as the target of a sync."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw
import sqlite_vec

from mkdocs_markstay.target_tables import TABLE, check_sizes, name_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from typing_extensions import Self

    from mkdocs_markstay.targets import Item

_WAIT = 60_000


class SqliteVecTarget:
    """A virtual table, which the first sync makes: metadata are the JSON text of an object.

    The connection is one of APSW or of Python's `sqlite3`, with sqlite-vec loaded.
    """

    def __init__(self, connection: Any, table: str = TABLE) -> None:
        self.connection = connection
        self.table = table
        self._quoted = '"' + table.replace('"', '""') + '"'

    @classmethod
    def open(cls, place: str, namespace: str = "") -> Self:
        """Open a file, which may be new."""
        name = name_table(namespace)
        Path(place).parent.mkdir(parents=True, exist_ok=True)
        # The sqlite3 of many a Python cannot load extensions.
        connection = apsw.Connection(place)
        connection.set_busy_timeout(_WAIT)
        connection.enable_load_extension(True)
        sqlite_vec.load(connection)
        connection.enable_load_extension(False)
        connection.execute("select count(*) from sqlite_master")  # is it a database?
        return cls(connection, name)

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()

    def upsert(self, items: Sequence[Item]) -> None:
        """Write records as a whole."""
        if not items:
            return
        held = self._size()
        size = check_sizes(self.table, held, items)
        rows = {
            item.chunk_id: (
                item.chunk_id,
                item.metadata["publication"],
                sqlite_vec.serialize_float32(item.vector),
                item.text,
                json.dumps(item.metadata, ensure_ascii=False),
            )
            for item in items
        }
        with self.connection:
            if held is None:
                self.connection.execute(
                    f"create virtual table {self._quoted} using vec0(chunk_id text primary key,"
                    f" publication text partition key, embedding float[{size}]"
                    " distance_metric=cosine, +text text, +metadata text)"
                )
            # It knows no upsert.
            self._delete(list(rows))
            self.connection.executemany(
                f"insert into {self._quoted} (chunk_id, publication, embedding, text, metadata)"  # noqa: S608
                " values (?, ?, ?, ?, ?)",
                list(rows.values()),
            )

    def delete(self, chunk_ids: Sequence[str]) -> None:
        """Delete records."""
        if self._size() is not None:
            with self.connection:
                self._delete(chunk_ids)

    def _delete(self, chunk_ids: Sequence[str]) -> None:
        self.connection.executemany(
            f"delete from {self._quoted} where chunk_id = ?",  # noqa: S608
            [(chunk_id,) for chunk_id in chunk_ids],
        )

    def list_ids(self, publication: str) -> Iterator[str]:
        """Give the ids of all records of a publication."""
        if self._size() is not None:
            query = f"select chunk_id from {self._quoted} where publication = ?"  # noqa: S608
            for (chunk_id,) in self.connection.execute(query, (publication,)):
                yield chunk_id

    def _size(self) -> int | None:
        query = "select sql from sqlite_master where type = 'table' and name = ?"
        for (sql,) in self.connection.execute(query, (self.table,)):
            return int(sql.partition("float[")[2].partition("]")[0])
        return None
