"""What is read of a manifest: its passages, where its pages are, what is known of its sites."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from mkdocs_markstay.partitions import PARTITIONS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mkdocs_markstay.records import Record


class Passage(NamedTuple):
    """A passage with all that is known of it: the fields are those of ``passages.jsonl``.

    See ``docs/manifest.md``. ``blocks`` have the keys `stay`, `digest`, `body_hash`, `referent`.
    """

    chunk_id: str
    referent: str
    position: int
    text: str
    text_digest: str
    record_digest: str
    kinds: tuple[str, ...]
    title: str
    path: tuple[str, ...]
    level: int
    url: str
    section_id: str
    generated: bool
    page_id: str
    page_title: str
    page_url: str
    lang: str
    source: str
    line: int
    publication: str
    version: str
    blocks: tuple[Mapping[str, str], ...]
    stay_key: str

    @classmethod
    def from_record(cls, row: Mapping[str, Any]) -> Passage:
        """Read a record of ``passages.jsonl``."""
        values = list(_values(row))
        for number in _LISTS:
            values[number] = tuple(values[number])
        return cls._make(values)


_values = itemgetter(*Passage._fields)
_LISTS = [Passage._fields.index(name) for name in ("kinds", "path", "blocks")]


class PagePlace(NamedTuple):
    """A page that has passages. ``digest`` is over their chunk ids and record digests.

    ``passages`` is their number. The rest is for `Manifest.read`.
    """

    publication: str
    lang: str
    page_id: str
    digest: str
    passages: int
    source: int
    place: tuple[int, int]


class Header(NamedTuple):
    """What is known of a site. Of ``passages.jsonl`` alone only the publication is.

    ``complete`` and ``preview`` are None if nothing tells. ``policy`` is its digest, ``digest``
    that of all passages. ``partitions`` are those of the site that are in the file, and
    ``dataset``, of a part, is the digest of the whole. ``facts`` are all that ``passages.json``
    says of the site, None if nothing does.
    """

    publication: str
    policy: str = ""
    digest: str = ""
    complete: bool | None = None
    preview: bool | None = None
    partitions: frozenset[int] = PARTITIONS
    dataset: str = ""
    facts: Record | None = None

    @classmethod
    def from_facts(cls, facts: Record) -> Header:
        """Read what ``passages.json`` says of its site."""
        return cls(
            facts["publication"],
            facts["policy"]["digest"],
            facts["digest"],
            facts["complete"],
            facts["preview"],
            facts=facts,
        )
