"""The identity of passages, against vectors that another tool computed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from mkdocs_markstay.identity import (
    IDENTITY_VERSION,
    digest_record,
    digest_text,
    digest_values,
    make_chunk_id,
    make_referent,
    page_id_from_source,
)

VECTORS: dict[str, Any] = json.loads(
    (Path(__file__).parent / "identity" / "vectors.json").read_text(encoding="utf-8")
)


def test_the_vectors_are_of_this_version() -> None:
    assert VECTORS["identity"] == IDENTITY_VERSION == 1


@pytest.mark.parametrize("vector", VECTORS["chunk_ids"], ids=lambda vector: vector["chunk_id"])
def test_chunk_id(vector: dict[str, Any]) -> None:
    assert digest_text(vector["text"]) == vector["text_digest"]
    made = make_chunk_id(
        vector["publication"],
        vector["language"],
        vector["referent"],
        vector["position"],
        vector["text_digest"],
    )
    assert made == vector["chunk_id"]
    assert UUID(made).version == 8
    assert UUID(made).variant == "specified in RFC 4122"


@pytest.mark.parametrize(("source", "page_id"), VECTORS["page_ids"])
def test_page_id(source: str, page_id: str) -> None:
    assert page_id_from_source(source) == page_id


@pytest.mark.parametrize(("page_id", "section_id", "referent"), VECTORS["referents"])
def test_referent(page_id: str, section_id: str, referent: str) -> None:
    assert make_referent(page_id, section_id) == referent


def test_every_part_counts() -> None:
    digest = digest_text("text")
    same = ("field-guide", "", "guide#a", 0, digest)
    others = [
        ("other", "", "guide#a", 0, digest),
        ("field-guide", "de", "guide#a", 0, digest),
        ("field-guide", "", "guide#b", 0, digest),
        ("field-guide", "", "guide#a", 1, digest),
        ("field-guide", "", "guide#a", 0, digest_text("text.")),
    ]
    assert len({make_chunk_id(*parts) for parts in (same, *others)}) == len(others) + 1


def test_values_are_digested_in_one_order() -> None:
    assert digest_values({"b": 1, "a": ["é"]}) == digest_values({"a": ["é"], "b": 1})
    # sha256 of {"a":["é"],"b":1}
    assert digest_values({"b": 1, "a": ["é"]}) == digest_text('{"a":["é"],"b":1}')


def test_a_record_is_digested_without_its_text() -> None:
    record = {"title": "A", "url": "a/#b", "text": "x", "line": 3, "blocks": [], "chunk_id": "1"}
    digest = digest_record(record)
    assert digest == digest_record({**record, "text": "y", "line": 4, "chunk_id": "2"})
    assert digest == digest_text('{"title":"A","url":"a/#b"}')
    assert digest != digest_record({**record, "title": "B"})
