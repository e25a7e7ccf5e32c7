"""Into how many parts a site can be divided: each page is in one partition for good.

Parts of a data set, and workers that share a receipt store, are made of whole partitions. A page
stays in its own when others come and go.
"""

from __future__ import annotations

from hashlib import sha256

PARTITIONS = frozenset(range(256))
"""All of them."""
DATASET_NAME = "dataset.json"
"""What describes the parts of an exported manifest, beside them."""
DATASET_SCHEMA = "https://mkdocs-markstay/schema/dataset-1.json"


def partition_of(publication: str, page_id: str, lang: str) -> int:
    """Give the partition of a page, from 0 to 255: the first byte of a digest of its names."""
    return sha256(f"{publication}\n{page_id}\n{lang}".encode()).digest()[0]


def divide(number: int, parts: int) -> frozenset[int]:
    """Give the partitions of part ``number``, from 0, of ``parts`` of them, 256 at most."""
    return frozenset(range(number, len(PARTITIONS), parts))
