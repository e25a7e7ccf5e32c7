"""A cache of embeddings: the vector of a text that was embedded once is never asked for again.

A vector is known by the name of its model and the digest of what was embedded.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

from sqlalchemy import Column, LargeBinary, MetaData, String, Table, insert, select

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from mkdocs_markstay.database import Database

_AT_ONCE = 500

_METADATA = MetaData()
_TABLE = Table(
    "markstay_vectors",
    _METADATA,
    Column("model", String, primary_key=True),
    Column("digest", LargeBinary, primary_key=True),
    Column("vector", LargeBinary, nullable=False),
)
_ROW = _TABLE.c


class VectorCache:
    """The vectors of one model: numbers of 32 bits, as nearly all stores keep them.

    Digests are SHA-256, 32 bytes.
    """

    def __init__(self, database: Database, model: str) -> None:
        self._database = database
        self._model = model
        database.create(_METADATA)

    def find(self, digests: Iterable[bytes]) -> set[bytes]:
        """Say which of these are known."""
        query = select(_ROW.digest).where(_ROW.model == self._model)
        found: set[bytes] = set()
        with self._database.reading() as connection:
            for some in _batches(digests):
                found.update(connection.execute(query.where(_ROW.digest.in_(some))).scalars())
        return {bytes(each) for each in found}

    def read(self, digests: Iterable[bytes]) -> dict[bytes, list[float]]:
        """Give the vectors of those that are known."""
        query = select(_ROW.digest, _ROW.vector).where(_ROW.model == self._model)
        found = {}
        with self._database.reading() as connection:
            for some in _batches(digests):
                for digest, vector in connection.execute(query.where(_ROW.digest.in_(some))):
                    found[bytes(digest)] = array("f", bytes(vector)).tolist()
        return found

    def size(self) -> int | None:
        """Tell how many numbers the vectors have, None if there is no vector yet."""
        query = select(_ROW.vector).where(_ROW.model == self._model).limit(1)
        with self._database.reading() as connection:
            vector = connection.execute(query).scalar()
        return None if vector is None else len(vector) // 4

    def write(self, vectors: Mapping[bytes, Sequence[float]]) -> None:
        """Keep vectors. Those that are known stay as they are: two writers may have asked."""
        with self._database.writing() as connection:
            new = {**vectors}
            for some in _batches(vectors):
                query = select(_ROW.digest).where(_ROW.model == self._model, _ROW.digest.in_(some))
                for digest in connection.execute(query).scalars():
                    del new[bytes(digest)]
            rows = [
                {"model": self._model, "digest": key, "vector": array("f", value).tobytes()}
                # In one order: else two writers could wait for each other for ever.
                for key, value in sorted(new.items())
            ]
            if rows:
                statement = insert(_TABLE)
                if self._database.engine.dialect.name == "postgresql":
                    from sqlalchemy.dialects.postgresql import insert as insert_into  # noqa: PLC0415

                    statement = insert_into(_TABLE).on_conflict_do_nothing()
                connection.execute(statement, rows)


def _batches(digests: Iterable[bytes]) -> Iterator[list[bytes]]:
    waiting = list(digests)
    for start in range(0, len(waiting), _AT_ONCE):
        yield waiting[start : start + _AT_ONCE]
