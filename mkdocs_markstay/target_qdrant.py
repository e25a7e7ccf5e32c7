"""A collection of Qdrant, as the target of a sync."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qdrant_client import QdrantClient, models

from mkdocs_markstay.target_tables import TABLE, batches, check_sizes, name_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from typing_extensions import Self

    from mkdocs_markstay.targets import Item

# A server takes 32 MB at once: vectors of 3072 numbers, written as JSON, and long texts.
_AT_ONCE = 100
_PAGE = 1000


class QdrantTarget:
    """A collection, which the first sync makes: ids are chunk ids, `text` is in the payload."""

    def __init__(self, client: Any, collection: str = TABLE) -> None:
        self.client = client
        self.collection = collection

    @classmethod
    def open(cls, place: str, namespace: str = "") -> Self:
        """Open a folder, which may be new, or a server by its URL."""
        name = name_table(namespace)
        where = {"url": place} if "://" in place else {"path": place}
        return cls(QdrantClient(**where), name)

    def close(self) -> None:
        """Close the client, so that others may open the folder."""
        self.client.close()

    def upsert(self, items: Sequence[Item]) -> None:
        """Write records as a whole."""
        if not items:
            return
        held = self._size()
        size = check_sizes(self.collection, held, items)
        if held is None:
            self.client.create_collection(
                self.collection,
                vectors_config=models.VectorParams(size=size, distance=models.Distance.COSINE),
            )
        for some in batches(items, _AT_ONCE):
            points = [
                models.PointStruct(
                    id=item.chunk_id,
                    vector=item.vector,
                    payload={"text": item.text, **item.metadata},
                )
                for item in some
            ]
            self.client.upsert(self.collection, points=points, wait=True)

    def delete(self, chunk_ids: Sequence[str]) -> None:
        """Delete records."""
        if self.client.collection_exists(self.collection):
            for some in batches(chunk_ids, _PAGE):
                points = models.PointIdsList(points=list(some))
                self.client.delete(self.collection, points_selector=points, wait=True)

    def list_ids(self, publication: str) -> Iterator[str]:
        """Give the ids of all records of a publication."""
        if not self.client.collection_exists(self.collection):
            return
        match = models.FieldCondition(key="publication", match=models.MatchValue(value=publication))
        offset = None
        while True:
            records, offset = self.client.scroll(
                self.collection,
                scroll_filter=models.Filter(must=[match]),
                limit=_PAGE,
                offset=offset,
                with_payload=False,
                with_vectors=False,
            )
            yield from (str(record.id) for record in records)
            if offset is None:
                return

    def _size(self) -> int | None:
        if not self.client.collection_exists(self.collection):
            return None
        size: int = self.client.get_collection(self.collection).config.params.vectors.size
        return size
