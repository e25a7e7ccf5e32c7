"""A table of LanceDB, as the target of a sync."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import lancedb
import pyarrow as pa

from mkdocs_markstay.sync_errors import SyncError
from mkdocs_markstay.target_tables import TABLE, batches, check_sizes, name_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from typing_extensions import Self

    from mkdocs_markstay.targets import Item

_AT_ONCE = 1000
_TYPES = {int: pa.int64(), bool: pa.bool_(), str: pa.string(), list: pa.list_(pa.string())}


class LanceTarget:
    """A table, which the first sync makes: a column for each key of the metadata."""

    def __init__(self, connection: Any, table: str = TABLE) -> None:
        self.connection = connection
        self.table = table

    @classmethod
    def open(cls, place: str, namespace: str = "") -> Self:
        """Open a folder, which may be new."""
        name = name_table(namespace)
        return cls(lancedb.connect(place), name)

    def close(self) -> None:
        """Nothing is kept open."""

    def upsert(self, items: Sequence[Item]) -> None:
        """Write records as a whole."""
        if not items:
            return
        table = self._find()
        held = None if table is None else table.schema.field("vector").type.list_size
        size = check_sizes(self.table, held, items)
        if table is None:
            table = self.connection.create_table(self.table, schema=_make_schema(items[0], size))
        lacking = items[0].metadata.keys() - set(table.schema.names)
        if lacking:
            raise SyncError(
                f"{self.table} has no column {', '.join(sorted(lacking))}. Delete it from the store"
                " and rebuild it"
            )
        for some in batches(items, _AT_ONCE):
            # The last one of an id counts: LanceDB would write all.
            rows = {
                item.chunk_id: {"vector": item.vector, "text": item.text, **item.metadata}
                for item in some
            }
            data = pa.Table.from_pylist(list(rows.values()), schema=table.schema)
            merge = table.merge_insert("chunk_id")
            merge.when_matched_update_all().when_not_matched_insert_all().execute(data)

    def delete(self, chunk_ids: Sequence[str]) -> None:
        """Delete records."""
        table = self._find()
        if table is not None:
            for some in batches(chunk_ids, _AT_ONCE):
                table.delete(f"chunk_id in ({', '.join(map(_quote, some))})")

    def list_ids(self, publication: str) -> Iterator[str]:
        """Give the ids of all records of a publication."""
        table = self._find()
        if table is not None:
            query = table.search().where(f"publication = {_quote(publication)}")
            for batch in query.select(["chunk_id"]).to_batches(_AT_ONCE):
                yield from batch.column("chunk_id").to_pylist()

    def _find(self) -> Any:
        # Opened each time: what is open does not see what others write.
        try:
            return self.connection.open_table(self.table)
        except (FileNotFoundError, ValueError) as error:
            if "not found" not in str(error):
                raise
            return None


def _make_schema(item: Item, size: int) -> Any:
    fields = {"chunk_id": pa.string(), "vector": pa.list_(pa.float32(), size), "text": pa.string()}
    fields |= {key: _TYPES[type(value)] for key, value in item.metadata.items()}
    return pa.schema([pa.field(name, kind) for name, kind in fields.items()])


def _quote(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
