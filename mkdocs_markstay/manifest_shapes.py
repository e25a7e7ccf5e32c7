"""What a manifest is called, and which values its records must have."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

JSON_NAME = "passages.json"
JSONL_NAME = "passages.jsonl"
PARQUET_NAME = "passages.parquet"
NAMES = {"json": JSON_NAME, "jsonl": JSONL_NAME, "parquet": PARQUET_NAME}
SCHEMA = "https://mkdocs-markstay/schema/passages-1.json"

PARTS = ("pages", "sections", "passages")
"""The lists of ``passages.json``."""


class ManifestError(Exception):
    """A manifest that cannot be read. The message is for people."""


_SHAPES: dict[str, dict[str, type | tuple[type, ...]]] = {
    "header": {
        "publication": str,
        "default_lang": str,
        "version": (str, type(None)),
        "site_url": (str, type(None)),
        "complete": bool,
        "preview": bool,
        "digest": str,
    },
    "policy": {
        "granularity": str,
        "min_chars": int,
        "target_chars": int,
        "max_chars": int,
        "furniture": list,
        "digest": str,
    },
    "pages": {
        **dict.fromkeys(("page_id", "title", "url", "lang", "source"), str),
        "generated": bool,
        "furniture": list,
    },
    "sections": {
        **dict.fromkeys(("referent", "page_id", "section_id", "lang", "title", "url"), str),
        "path": list,
        "level": int,
        "source": str,
        "line": int,
        "generated": bool,
    },
    "passages": {
        **dict.fromkeys(("chunk_id", "referent", "lang", "text", "text_digest"), str),
        "record_digest": str,
        "position": int,
        "kinds": list,
        "blocks": list,
    },
    "redirects": dict.fromkeys(("from", "to", "url"), str),
    "retired": dict.fromkeys(("referent", "reason", "url"), str),
}
_SHAPES["lines"] = {
    **_SHAPES["passages"],
    **dict.fromkeys(("title", "url", "section_id", "page_id", "page_title", "page_url"), str),
    **dict.fromkeys(("source", "publication", "version"), str),
    "path": list,
    "level": int,
    "line": int,
    "generated": bool,
}


# What a record may have.
_OPTIONAL: dict[str, dict[str, type | tuple[type, ...]]] = {
    "pages": {"content": str, "ids": str, "former_urls": list, "stay": str, "body_hash": str},
    "sections": {"stay": str, "body_hash": str},
    "passages": {"stay_key": str},
    "lines": {"stay_key": str},
}
# Lists that manifests have not always had.
_LATER = ("redirects", "retired")


def check_header(data: Mapping[str, Any]) -> None:
    """Raise KeyError, TypeError or ValueError if a fact of the site is missing or wrong."""
    check_row("header", data)
    check_row("policy", data["policy"])
    for part in _LATER:
        for row in data.get(part, ()):
            check_row(part, row)


_KINDS = {part: tuple(shape.values()) for part, shape in _SHAPES.items()}
_LISTS = {
    part: [key for key, kind in shape.items() if kind is list and key != "blocks"]
    for part, shape in _SHAPES.items()
}
_VALUES = {part: itemgetter(*shape) for part, shape in _SHAPES.items()}


def check_row(part: str, row: Any, *, escaped: bool = True) -> None:
    """Raise an error that names the first value of a wrong type; lists hold texts.

    ``part`` is `pages`, `sections`, `passages` or, for a line of ``passages.jsonl``, `lines`.
    ``escaped``: there may be characters in it that are not allowed.
    """
    # Nearly all rows are right, and that is told six times as fast.
    if not escaped and _is_plain(part, row):
        return
    optional = {key: kind for key, kind in _OPTIONAL.get(part, {}).items() if key in row}
    for key, kind in (_SHAPES[part] | optional).items():
        value = row[key]
        items = value if isinstance(value, list) and key != "blocks" else ()
        texts = [value] if isinstance(value, str) else items
        if not isinstance(value, kind) or not all(isinstance(item, str) for item in items):
            raise TypeError(f"{key} of {part}")
        if key == "blocks" and not all(map(_is_block, row[key])):
            raise TypeError(f"{key} of {part}")
        for text in texts if part not in _LATER else ():  # whose texts are in no HTML
            text.encode()  # no lone surrogates
            if "\0" in text:
                raise ValueError(f"{key} of {part}")


def _is_plain(part: str, row: Any) -> bool:
    """Tell that each value of a row has the one type that it must have, if that is so."""
    try:
        values = _VALUES[part](row)
    except (KeyError, TypeError):
        return False
    if tuple(map(type, values)) != _KINDS[part]:
        return False
    more = len(row) - len(values)
    if more and not (more == 1 and type(row.get("stay_key")) is str):
        return False
    lists = [row[key] for key in _LISTS[part]]
    if not all(type(item) is str for value in lists for item in value):
        return False
    return "blocks" not in row or all(map(_is_block, row["blocks"]))


def _is_block(block: Any) -> bool:
    """Tell whether something is a block of a passage."""
    if type(block) is not dict or type(block.get("digest")) is not str or "stay" not in block:
        return False
    return all(type(block.get(key) or "") is str for key in ("stay", "body_hash", "referent"))
