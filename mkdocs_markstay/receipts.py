"""Receipts: what a target holds of each page, as far as a sync has seen to it.

There is one row for each page. What is about to be written or deleted is noted as `pending`
before anything is done, so that a sync that dies leaves nothing behind that the next one does
not know of.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import (
    Column,
    Integer,
    MetaData,
    SmallInteger,
    String,
    Table,
    Text,
    bindparam,
    delete,
    func,
    insert,
    select,
)

from mkdocs_markstay.partitions import partition_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from mkdocs_markstay.database import Database

_AT_ONCE = 200


class PageKey(NamedTuple):
    """What a page is known by, in one namespace."""

    publication: str
    lang: str
    page_id: str


@dataclass
class Receipt:
    """What a target holds of a page.

    ``held`` maps the chunk ids that are there to their record digests. Of the ids in
    ``pending`` it is not known whether they are there, nor with which values. ``state`` is the
    digest of all that the held records were made from, as `sync` defines it.
    """

    key: PageKey
    held: dict[str, str] = field(default_factory=dict)
    pending: set[str] = field(default_factory=set)
    state: str = ""
    policy: str = ""
    embedding: str = ""

    @property
    def ids(self) -> set[str]:
        """All ids that are in the target, or may be there."""
        return self.pending.union(self.held)

    def distrust(self) -> None:
        """Note that nothing is known to be there any more."""
        self.held, self.pending, self.state = {}, self.ids, ""


class State(NamedTuple):
    """What of a receipt tells whether its page is up to date.

    ``held`` counts the ids that are in the target, or may be there.
    """

    state: str
    held: int


_METADATA = MetaData()
_TABLE = Table(
    "markstay_receipts",
    _METADATA,
    Column("namespace", String, primary_key=True),
    Column("publication", String, primary_key=True),
    Column("lang", String, primary_key=True),
    Column("page_id", String, primary_key=True),
    Column("partition", SmallInteger, nullable=False),
    Column("state", String, nullable=False),
    Column("count", Integer, nullable=False),
    Column("policy", String, nullable=False),
    Column("embedding", String, nullable=False),
    # A line for each chunk id: with its record digest, or alone.
    Column("held", Text, nullable=False),
    Column("pending", Text, nullable=False),
)
_ROW = _TABLE.c
_DELETE = delete(_TABLE).where(
    *(_ROW[name] == bindparam(f"at_{name}") for name in ("namespace", *PageKey._fields))
)


class Receipts:
    """The receipts of one namespace: of one target, or one part of it."""

    def __init__(self, database: Database, namespace: str) -> None:
        self.database = database
        self.namespace = namespace
        database.create(_METADATA)

    def read_states(self, scope: Mapping[str, Collection[int]]) -> dict[PageKey, State]:
        """Give the states of all pages in some partitions of some publications.

        The state of a page with something pending is empty.
        """
        found = {}
        columns = (_ROW.publication, _ROW.lang, _ROW.page_id, _ROW.partition)
        query = select(*columns, _ROW.state, _ROW.count, _ROW.pending != "").where(
            _ROW.namespace == self.namespace, _ROW.publication.in_(list(scope))
        )
        with self.database.reading() as connection:
            for publication, lang, page_id, partition, state, count, pending in connection.execute(
                query
            ):
                if partition in scope[publication]:
                    key = PageKey(publication, lang, page_id)
                    found[key] = State("" if pending else state, count)
        return found

    def count_held(self) -> dict[str, int]:
        """Give how many records are held of each publication in this namespace."""
        query = (
            select(_ROW.publication, func.sum(_ROW.count))
            .where(_ROW.namespace == self.namespace)
            .group_by(_ROW.publication)
        )
        with self.database.reading() as connection:
            return {name: int(count) for name, count in connection.execute(query)}

    def read(self, keys: Sequence[PageKey]) -> dict[PageKey, Receipt]:
        """Read receipts; there is none of a page that nothing was ever written of."""
        found = {}
        # By language and publication, of which there are few.
        groups: dict[tuple[str, str], list[str]] = defaultdict(list)
        for key in keys:
            groups[key.publication, key.lang].append(key.page_id)
        with self.database.reading() as connection:
            for (publication, lang), page_ids in groups.items():
                for start in range(0, len(page_ids), _AT_ONCE):
                    query = select(
                        _ROW.page_id,
                        _ROW.state,
                        _ROW.policy,
                        _ROW.embedding,
                        _ROW.held,
                        _ROW.pending,
                    ).where(
                        _ROW.namespace == self.namespace,
                        _ROW.publication == publication,
                        _ROW.lang == lang,
                        _ROW.page_id.in_(page_ids[start : start + _AT_ONCE]),
                    )
                    for page_id, state, policy, embedding, held, pending in connection.execute(
                        query
                    ):
                        key = PageKey(publication, lang, page_id)
                        pairs = dict(line.split(" ") for line in held.splitlines())
                        found[key] = Receipt(
                            key, pairs, set(pending.splitlines()), state, policy, embedding
                        )
        return found

    def write(self, receipts: Iterable[Receipt]) -> None:
        """Write receipts, all or none; those that say nothing any more are removed."""
        written = list(receipts)
        keys = [
            {
                "at_namespace": self.namespace,
                **{f"at_{k}": v for k, v in each.key._asdict().items()},
            }
            for each in written
        ]
        rows = [self._row(each) for each in written if each.held or each.pending]
        with self.database.writing() as connection:
            if keys:
                connection.execute(_DELETE, keys)
            if rows:
                connection.execute(insert(_TABLE), rows)

    def _row(self, receipt: Receipt) -> dict[str, str | int]:
        publication, lang, page_id = receipt.key
        return {
            "namespace": self.namespace,
            **receipt.key._asdict(),
            "partition": partition_of(publication, page_id, lang),
            "state": receipt.state,
            "count": len(receipt.ids),
            "policy": receipt.policy,
            "embedding": receipt.embedding,
            "held": "\n".join(f"{chunk_id} {digest}" for chunk_id, digest in receipt.held.items()),
            "pending": "\n".join(sorted(receipt.pending)),
        }

    def iter_all(self, scope: Mapping[str, Collection[int]]) -> Iterator[Receipt]:
        """Give all receipts in some partitions of some publications."""
        keys = list(self.read_states(scope))
        for start in range(0, len(keys), _AT_ONCE):
            yield from self.read(keys[start : start + _AT_ONCE]).values()
