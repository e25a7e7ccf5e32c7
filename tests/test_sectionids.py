"""Section ids in headings: every spelling, every mistake. The cases are in `ids/`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from mkdocs_markstay.sectionids import (
    MAX_LENGTH,
    check_id,
    propose_id,
    read_heading,
    same_id_key,
    show,
)

FOLDER = Path(__file__).parent / "ids"


def cases(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = yaml.safe_load((FOLDER / name).read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("case", cases("spellings.yml"), ids=lambda case: case["raw"])
def test_spelling(case: dict[str, Any]) -> None:
    read = read_heading(case["raw"])
    assert read.problem is None
    assert (read.section_id, read.text) == (case["id"], case["text"])


@pytest.mark.parametrize("case", cases("no-id.yml"), ids=lambda case: case["raw"])
def test_no_id(case: dict[str, Any]) -> None:
    read = read_heading(case["raw"])
    assert (read.section_id, read.problem) == (None, None)
    assert read.text == case.get("text", case["raw"])


@pytest.mark.parametrize("case", cases("problems.yml"), ids=lambda case: case["raw"])
def test_problem(case: dict[str, Any]) -> None:
    read = read_heading(case["raw"])
    assert read.section_id is None
    assert read.problem is not None
    assert read.problem.code == case["problem"]
    assert case["says"] in read.problem.message
    assert (read.wanted, read.text) == (case["wanted"], case["text"])


def test_length() -> None:
    assert check_id("a" * MAX_LENGTH) is None
    problem = check_id("a" * 10_000)
    assert problem is not None
    assert problem.message.startswith("has an id of 10000 characters ('aaa")
    assert len(problem.message) < 150


@pytest.mark.parametrize(
    ("title", "taken", "proposed"),
    [
        ("Install from source", [], "install-from-source"),
        ("Install from source", ["install-from-source"], "install-from-source-2"),
        ("安裝步驟", [], "an-zhuang-bu-zou"),
        ("???", [], "section"),
        ("", ["section", "section-2"], "section-3"),
        ("word " * 40, [], "word-word-word-word-word-word-word-word-word-word-word-word"),
    ],
)
def test_proposal(title: str, taken: list[str], proposed: str) -> None:
    assert propose_id(title, taken) == proposed
    assert check_id(proposed) is None


def test_ids_that_people_take_for_the_same() -> None:
    assert same_id_key("Setup") == same_id_key("setup")
    assert same_id_key("stra\u00dfe") == same_id_key("STRASSE")
    assert same_id_key("caf\u00e9") == same_id_key("cafe\u0301")
    assert same_id_key("setup") != same_id_key("set-up")


def test_what_is_shown_is_one_short_line() -> None:
    assert show("a\nb\x00\u202e") == "'a\\nb\\x00\\u202e'"
    assert len(show("x" * 500)) == 62
