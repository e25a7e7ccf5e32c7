"""The identity of passages, version 1: referents, digests and chunk ids.

The rules are in ``docs/identity.md``; ``tests/identity/`` pins them for other
languages. Nothing here depends on a model, a clock, a random number or a tool version.
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

IDENTITY_VERSION = 1

STAY_PREFIX = "stay-"
"""What the anchor of a marked block begins with; its marker's id follows."""

_STAY_KEY_PREFIX = "markstay:stay-key:1"
_PREFIX = f"markstay:chunk:{IDENTITY_VERSION}"
_INDEX_NAMES = ("index", "README")


def page_id_from_source(source: str) -> str:
    """Derive a page id from the source path (`/`-separated, relative to the docs folder)."""
    folder, slash, name = source.rpartition("/")
    stem, dot, _ = name.rpartition(".")
    name = stem if dot and stem else name
    if name in _INDEX_NAMES:
        return folder if slash else "index"
    return folder + slash + name


def make_referent(page_id: str, section_id: str) -> str:
    """Name a section (or, with an empty section id, the page) for citations."""
    return f"{page_id}#{section_id}" if section_id else page_id


def digest_text(text: str) -> str:
    """Digest the exact text: `sha256:` and 64 hex digits."""
    return "sha256:" + sha256(text.encode()).hexdigest()


def digest_values(values: Any) -> str:
    """Digest plain values (JSON's): over their JSON with sorted keys and no white space."""
    text = json.dumps(values, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return digest_text(text)


class ChunkIds:
    """Makes the ids of the passages of one referent, UUIDs of version 8.

    ``language`` is empty for the site's default language.
    """

    def __init__(self, publication: str, language: str, referent: str) -> None:
        self._start = sha256(f"{_PREFIX}\n{publication}\n{language}\n{referent}\n".encode())

    def make(self, position: int, digest: str) -> str:
        """Make the id of a passage.

        ``position`` counts the passages of the referent from 0, ``digest`` is the
        64 hex digits of its text's digest.
        """
        hashed = self._start.copy()
        hashed.update(f"{position}\n{digest}".encode())
        text = hashed.hexdigest()
        # The version of the UUID is 8, its variant that of RFC 9562.
        variant = "89ab"[int(text[16], 16) & 3]
        return f"{text[:8]}-{text[8:12]}-8{text[13:16]}-{variant}{text[17:20]}-{text[20:32]}"


def make_chunk_id(
    publication: str, language: str, referent: str, position: int, text_digest: str
) -> str:
    """Make the id of one passage; ``text_digest`` is what `digest_text` returns."""
    digest = text_digest.removeprefix("sha256:")
    return ChunkIds(publication, language, referent).make(position, digest)


class StayPiece(NamedTuple):
    """A block of a passage by its marker.

    ``body_hash`` is markstay's, as `sha256:` and 64 hex digits; ``piece`` counts from 0 the
    published blocks of the page that are made of the same block of the source.
    """

    id: str
    body_hash: str
    piece: int = 0


def make_stay_key(members: Iterable[StayPiece]) -> str:
    """Make the key of a passage by the markers of all its blocks, in order, and their hashes."""
    lines = [_STAY_KEY_PREFIX]
    for stay_id, body_hash, piece in members:
        lines.append(f"{stay_id} {body_hash} {piece}" if piece else f"{stay_id} {body_hash}")
    return digest_text("\n".join(lines))


# What a record says of itself, and what may change without anybody's copy going stale.
_NOT_METADATA = frozenset(
    ("chunk_id", "text", "text_digest", "record_digest", "blocks", "line", "stay_key")
)


def digest_record(record: Mapping[str, Any]) -> str:
    """Digest what else a consumer may have stored with a passage's vector.

    ``record`` is the passage's line in ``passages.jsonl``; its ids, text, digests,
    blocks and line number do not count.
    """
    return digest_values({key: record[key] for key in record if key not in _NOT_METADATA})
