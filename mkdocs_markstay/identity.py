"""The identity of passages, version 1: referents, digests and chunk ids.

The rules are in ``docs/identity.md``; ``tests/identity/`` pins them for other
languages. Nothing here depends on a model, a clock, a random number or a tool version.
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING, Any
from uuid import UUID

if TYPE_CHECKING:
    from collections.abc import Mapping

IDENTITY_VERSION = 1

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


def make_chunk_id(
    publication: str, language: str, referent: str, position: int, text_digest: str
) -> str:
    """Make the id of one passage, a UUID of version 8.

    ``language`` is empty for the site's default language; ``position`` counts the
    passages of one referent from 0; ``text_digest`` is what `digest_text` returns.
    """
    lines = (
        _PREFIX,
        publication,
        language,
        referent,
        str(position),
        text_digest.removeprefix("sha256:"),
    )
    raw = bytearray(sha256("\n".join(lines).encode()).digest()[:16])
    raw[6] = raw[6] & 0x0F | 0x80  # version 8
    raw[8] = raw[8] & 0x3F | 0x80  # the variant of RFC 9562
    return str(UUID(bytes=bytes(raw)))


# What a record says of itself, and what may change without anybody's copy going stale.
_NOT_METADATA = frozenset(("chunk_id", "text", "text_digest", "record_digest", "blocks", "line"))


def digest_record(record: Mapping[str, Any]) -> str:
    """Digest what else a consumer may have stored with a passage's vector.

    ``record`` is the passage's line in ``passages.jsonl``; its ids, text, digests,
    blocks and line number do not count.
    """
    return digest_values({key: record[key] for key in record if key not in _NOT_METADATA})
