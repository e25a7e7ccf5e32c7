"""The documentation of a sync says what the code does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from sync_cases import CHANGES, expected_counts

from mkdocs_markstay.sync import MAX_DELETE, Counts
from mkdocs_markstay.targets import METADATA

DOCS = Path(__file__).parents[1] / "docs"


def read(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def make_table() -> str:
    rows = []
    for change in CHANGES:
        counts = expected_counts(change)
        numbers = (counts.added, counts.reused, counts.rewritten, counts.deleted, counts.embedded)
        rows.append(f"| {change['name']} | {' | '.join(map(str, numbers))} |")
    return "\n".join(rows)


def test_the_table_of_changes_is_that_of_the_tests() -> None:
    text = read("what-moves.md")
    table = text.partition("|---|---|---|---|---|---|\n")[2].partition("\n\n")[0]
    assert table == make_table()


@pytest.mark.parametrize("name", Counts._fields)
def test_each_count_is_described(name: str) -> None:
    assert f"| `{name}` |" in read("sync.md")


def test_all_metadata_are_named() -> None:
    paragraph = read("sync.md").partition("<#metadata>")[2].partition("stale.")[0]
    assert re.findall(r"`([a-z_]+)`", paragraph.partition(", as\n")[0]) == list(METADATA)


def test_the_share_that_may_be_deleted() -> None:
    assert MAX_DELETE == 0.3
    assert "0.3 is 30 %" in read("sync.md")
    assert "more than 30 %" in read("sync.md")
