"""The full texts and the paths of what has changed, read from the manifests once more.

A comparison keeps excerpts only, so that many changes need little memory. Only formats that
show whole texts read the manifests twice, and then they keep what is asked for.
"""

from __future__ import annotations

import re
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mkdocs_markstay.manifest_files import LINES
from mkdocs_markstay.manifest_stream import Rows

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator

    from mkdocs_markstay.diff import Change, Key, Place
    from mkdocs_markstay.manifest_files import ManifestFile
    from mkdocs_markstay.records import Record

_CHUNK_ID = re.compile(rb'\{"chunk_id":"([^"\\]*)"')


@dataclass
class Texts:
    """What one manifest says of the places of changes, as far as it was asked for.

    ``passages`` maps referent, language and position to a text; ``sections`` has the texts of
    whole pages and sections. ``paths`` are the titles that lead to a section, ``titles`` those
    of pages.
    """

    passages: dict[tuple[str, str, int], str] = field(default_factory=dict)
    sections: dict[Key, str] = field(default_factory=dict)
    paths: dict[Key, list[str]] = field(default_factory=dict)
    titles: dict[Key, str] = field(default_factory=dict)

    def find(self, place: Place) -> str:
        """Give the text of a place, its excerpt if it was not asked for."""
        if place.position < 0:
            return self.sections.get(place.key, place.excerpt)
        return self.passages.get((*place.key, place.position), place.excerpt)


def read_texts(
    changes: Iterable[Change], old: ManifestFile, new: ManifestFile, *, paths: bool = True
) -> tuple[Texts, Texts]:
    """Read the texts of what changed from both manifests, with or without the paths.

    Raises ManifestError for what cannot be read.
    """
    found = list(changes)
    before = [change.old for change in found if change.old is not None]
    after = [change.new for change in found if change.new is not None]
    edited = {
        id(place) for each in found if each.kind == "edited" for place in (each.old, each.new)
    }
    first = _read(old, before, edited, paths=paths)
    return first, _read(new, after, edited, paths=paths)


def _read(
    manifest: ManifestFile, places: list[Place], edited: Container[int], *, paths: bool
) -> Texts:
    texts = Texts()
    chunk_ids = {_encode(place.chunk_id) for place in places if place.chunk_id}
    # An edited page or section is told as a whole if everything may have moved.
    whole = {place.key for place in places if place.position < 0 and id(place) in edited}
    part = LINES if manifest.header is None else "passages"
    joined: dict[Key, list[str]] = {key: [] for key in whole}
    for row in _read_passages(manifest, part, chunk_ids, _encode_keys(whole)):
        key = row["referent"], row["lang"]
        texts.passages[(*key, row["position"])] = row["text"]
        if key in joined:
            joined[key].append(row["text"])
        if part == LINES and paths:
            texts.paths[key] = row["path"]
            texts.titles[key[0].partition("#")[0], key[1]] = row["page_title"]
    texts.sections = {key: "\n\n".join(found) for key, found in joined.items()}
    if part != LINES and paths:
        wanted = {place.key for place in places}
        for row in _read_rows(manifest, "sections", _encode_keys(wanted)):
            texts.paths[row["referent"], row["lang"]] = row["path"]
        wanted = {(referent.partition("#")[0], lang) for referent, lang in wanted}
        for row in _read_rows(manifest, "pages", _encode_keys(wanted)):
            texts.titles[row["page_id"], row["lang"]] = row["title"]
    return texts


def _encode(text: str) -> bytes:
    # An old address that only a redirect tells of may be half of a character.
    return text.encode("utf-8", "surrogatepass")


def _encode_keys(keys: Iterable[Key]) -> set[tuple[bytes, bytes]]:
    return {(_encode(referent), _encode(lang)) for referent, lang in keys}


def _read_passages(
    manifest: ManifestFile, part: str, chunk_ids: set[bytes], whole: set[tuple[bytes, bytes]]
) -> Iterator[Record]:
    """Give the passages with these ids, and those of these pages and sections."""
    left = len(chunk_ids)
    with closing(Rows(manifest, part)) as rows:
        while (left > 0 or whole) and (line := rows.advance()) is not None:
            number = rows.number - 1
            match = _CHUNK_ID.match(line)
            known = match is None or match[1] in chunk_ids
            if not known and whole:
                (_, lang), referent = rows.identify(line, number)
                known = (referent, lang) in whole
            if known:
                row = rows.parse(line, number)
                left -= row["chunk_id"].encode() in chunk_ids
                yield row


def _read_rows(
    manifest: ManifestFile, part: str, wanted: Container[tuple[bytes, bytes]]
) -> Iterator[Record]:
    """Give the pages or the sections with these referents and languages."""
    with closing(Rows(manifest, part)) as rows:
        while (line := rows.advance()) is not None:
            number = rows.number - 1
            (_, lang), referent = rows.identify(line, number)
            if (referent, lang) in wanted:
                yield rows.parse(line, number)
