"""The plain vector stores that the tests write to, and how to read back all that is in one."""

from __future__ import annotations

import json
import os
from array import array
from dataclasses import dataclass, field
from math import isclose, sqrt
from typing import TYPE_CHECKING, Any

import pytest
from sync_cases import Held, embed

from mkdocs_markstay.stores import Store, open_store

if TYPE_CHECKING:
    from collections.abc import Iterator

LIBRARIES = {
    "chroma": "chromadb",
    "qdrant": "qdrant_client",
    "lancedb": "lancedb",
    "sqlite-vec": "apsw",
    "pgvector": "psycopg",
}
"""The stores, and what each needs."""


@dataclass
class Opener:
    """Opens one store, one time after another; a local one is open once at a time."""

    spec: str
    now: Store | None = field(default=None)

    @property
    def kind(self) -> str:
        return self.spec.partition(":")[0]

    def open(self, namespace: str = "") -> Store:
        self.close()
        self.now = open_store(self.spec, namespace)
        return self.now

    def close(self) -> None:
        if self.now is not None:
            self.now.close()
            self.now = None

    def hold(self, table: str = "passages") -> dict[str, Held]:
        """Read back every record of a table, by the means of its library alone."""
        assert self.now is not None
        rows = list(READERS[self.kind](self.now.target, table))
        held = {chunk_id: Held(text, metadata, vector) for chunk_id, text, metadata, vector in rows}
        assert len(held) == len(rows)
        return held

    def drop(self, table: str = "passages") -> None:
        """Delete a table, as the documentation says."""
        assert self.now is not None
        target: Any = self.now.target
        match self.kind:
            case "chroma" | "qdrant":
                target.client.delete_collection(table)
            case "lancedb":
                target.connection.drop_table(table)
            case _:
                target.connection.execute(f'drop table "{table}"')


Row = tuple[str, str, dict[str, Any], list[float]]


def read_chroma(target: Any, table: str) -> Iterator[Row]:
    collection = target.client.get_collection(table, embedding_function=None)
    found = collection.get(include=["documents", "metadatas", "embeddings"])
    for row in zip(
        found["ids"], found["documents"], found["metadatas"], found["embeddings"], strict=True
    ):
        yield (*row[:3], restore(row[3].tolist(), row[1]))


def read_qdrant(target: Any, table: str) -> Iterator[Row]:
    count = target.client.count(table).count
    records, _ = target.client.scroll(table, limit=count + 1, with_vectors=True)
    for record in records:
        text = record.payload.pop("text")
        yield record.id, text, record.payload, restore(record.vector, text, unit=True)


def restore(vector: list[float], text: str, unit: bool = False) -> list[float]:
    """Give the vector of a text that a store has rounded, or brought to the length of 1."""
    for model in ("model", "another"):
        whole = embed(text, model)
        length = sqrt(sum(number * number for number in whole)) if unit else 1.0
        scaled = [number / length for number in whole]
        if len(scaled) == len(vector) and all(map(_is_close, vector, scaled)):
            return whole
    return vector


def _is_close(one: float, other: float) -> bool:
    return isclose(one, other, abs_tol=1e-6)


def read_lancedb(target: Any, table: str) -> Iterator[Row]:
    for row in target.connection.open_table(table).to_arrow().to_pylist():
        yield row["chunk_id"], row.pop("text"), row, row.pop("vector")


def read_sqlite_vec(target: Any, table: str) -> Iterator[Row]:
    query = f'select chunk_id, text, metadata, embedding from "{table}"'  # noqa: S608
    for chunk_id, text, metadata, vector in target.connection.execute(query):
        yield chunk_id, text, json.loads(metadata), array("f", vector).tolist()


def read_pgvector(target: Any, table: str) -> Iterator[Row]:
    query = f'select chunk_id::text, text, metadata, embedding::text from "{table}"'  # noqa: S608
    for chunk_id, text, metadata, vector in target.connection.execute(query):
        yield chunk_id, text, metadata, json.loads(vector)


READERS = {
    "chroma": read_chroma,
    "qdrant": read_qdrant,
    "lancedb": read_lancedb,
    "sqlite-vec": read_sqlite_vec,
    "pgvector": read_pgvector,
}


def require(kind: str) -> None:
    """Skip a test if the library of a store is missing, but not where all are to be there."""
    if not os.environ.get("MARKSTAY_ALL_CONSUMERS"):
        pytest.importorskip(LIBRARIES[kind])
