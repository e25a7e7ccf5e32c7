"""A collection of Chroma, as the target of a sync."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import chromadb
from chromadb.errors import ChromaError, NotFoundError

from mkdocs_markstay.target_tables import TABLE, batches, check_sizes, name_table, tell_sizes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from typing_extensions import Self

    from mkdocs_markstay.targets import Item

_PAGE = 5000


class ChromaTarget:
    """A collection, which the first sync makes: ids are chunk ids, documents are the texts."""

    def __init__(self, client: Any, collection: str = TABLE) -> None:
        self.client = client
        self.collection = collection

    @classmethod
    def open(cls, place: str, namespace: str = "") -> Self:
        """Open a folder, which may be new, or a server by its URL."""
        name = name_table(namespace)
        if "://" not in place:
            return cls(chromadb.PersistentClient(place), name)
        url = urlsplit(place)
        ssl = url.scheme == "https"
        port = url.port or (443 if ssl else 8000)
        return cls(chromadb.HttpClient(host=url.hostname or "", port=port, ssl=ssl), name)

    def close(self) -> None:
        """Close the client."""
        self.client.close()

    def upsert(self, items: Sequence[Item]) -> None:
        """Write records as a whole."""
        if not items:
            return
        check_sizes(self.collection, None, items)
        # The vectors are ours: without None, Chroma would fetch a model of its own.
        collection = self.client.get_or_create_collection(
            self.collection,
            embedding_function=None,
            configuration={"hnsw": {"space": "cosine"}},
        )
        for some in batches(items, self.client.get_max_batch_size()):
            ids = [item.chunk_id for item in some]
            # Chroma merges metadata, and None removes a key.
            known = collection.get(ids=ids, include=["metadatas"])
            old = dict(zip(known["ids"], known["metadatas"], strict=True))
            with self._told_size(len(some[0].vector)):
                collection.upsert(
                    ids=ids,
                    embeddings=[item.vector for item in some],
                    documents=[item.text for item in some],
                    metadatas=[
                        {**dict.fromkeys(old.get(item.chunk_id) or ()), **item.metadata}
                        for item in some
                    ],
                )

    def delete(self, chunk_ids: Sequence[str]) -> None:
        """Delete records."""
        collection = self._find()
        if collection is not None:
            for some in batches(chunk_ids, self.client.get_max_batch_size()):
                collection.delete(ids=list(some))

    def list_ids(self, publication: str) -> Iterator[str]:
        """Give the ids of all records of a publication."""
        collection = self._find()
        found = [""]
        offset = 0
        while collection is not None and found:
            found = collection.get(
                where={"publication": publication}, limit=_PAGE, offset=offset, include=[]
            )["ids"]
            yield from found
            offset += len(found)

    def _find(self) -> Any:
        try:
            return self.client.get_collection(self.collection, embedding_function=None)
        except NotFoundError:
            return None

    @contextmanager
    def _told_size(self, size: int) -> Iterator[None]:
        """Say what to do about vectors of another size, which only an error tells."""
        try:
            yield
        except ChromaError as error:
            if "dimension" not in str(error):
                raise
            raise tell_sizes(self.collection, "another number of", size) from error
