"""Sites with other plugins, as ``cases/*.yml`` tell them, and proof that their checks can fail."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import neighbours
import pytest
from site_builder import run_markstay

if TYPE_CHECKING:
    from pathlib import Path

    from neighbours import Case
    from site_builder import Built

CASES = neighbours.read_cases()
BROKEN = [name for name, text in CASES.items() if "\nbroken:" in text]


def require(case: Case) -> None:
    """Skip a test whose neighbour is not there, or fail where all must be."""
    missing = neighbours.missing_packages(case)
    if missing and os.environ.get("MARKSTAY_ALL_NEIGHBOURS"):
        pytest.fail(f"not installed: {', '.join(missing)}")
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")


@pytest.fixture(scope="module")
def built(name: str, tmp_path_factory: pytest.TempPathFactory) -> Built:
    case = neighbours.read_case(CASES[name])
    require(case)
    return neighbours.build(tmp_path_factory.mktemp(name), case)


@pytest.mark.parametrize("name", list(CASES), scope="module")
def test_site_gets_what_it_must(built: Built, name: str) -> None:
    case = neighbours.read_case(CASES[name])
    log = "\n".join(built.log)
    assert built.passed, log
    assert not built.findings, log
    assert neighbours.records(built) == case["records"]
    verified = run_markstay(built.folder, "verify", "site")
    assert verified.code == 0, verified.out + verified.err
    files = neighbours.published(built)
    assert not neighbours.leaks(files)
    assert not neighbours.secrets(case, files, built.log)


@pytest.mark.parametrize("name", list(CASES), scope="module")
def test_neighbour_does_what_it_does_without_us(built: Built, name: str, tmp_path: Path) -> None:
    case = neighbours.read_case(CASES[name])
    without = neighbours.build_without(tmp_path, case)
    assert without.passed, "\n".join(without.log)
    found = neighbours.differences(case, neighbours.published(built), neighbours.published(without))
    allowed = neighbours.allowed_to_differ(case)
    assert [file for file in found if not neighbours.matches(file, allowed)] == []
    assert [item for item in allowed if not neighbours.matching(found, item)] == []


@pytest.mark.parametrize("name", BROKEN)
def test_broken_site_fails_with_its_findings(name: str, tmp_path: Path) -> None:
    case = neighbours.read_case(CASES[name])
    require(case)
    broken = neighbours.build_broken(tmp_path, case)
    assert broken.verdict == 1, "\n".join(broken.log)
    assert sorted(broken.places) == sorted(case["broken"]["findings"])
    assert not neighbours.secrets(case, neighbours.published(broken), broken.log)


# -- the checks can fail


def test_leak_is_found_in_every_spelling() -> None:
    files = {
        "index.html": b"<h2>A &lt;#a&gt;</h2>",
        "search/search_index.json": b'{"title": "A \\u003c#a>"}',
        "feed.xml": b"<title>A {#a}</title>",
        "llms.txt": b"## A <#a>",
        "page.html": b'<h2 data-markstay-0123-n="0">A</h2>',
        "ok.html": b'<span data-markstay-begin hidden></span><a href="#a">A</a><p>C# &lt; #1</p>',
        "main.js": b"`{#a`",
    }
    assert [found.split(":")[0] for found in neighbours.leaks(files)] == list(files)[:5]


def test_secret_is_found_where_it_is_not_shown() -> None:
    case = {"absent": ["word"], "shown": ["secret/*.html"]}
    files = {"secret/index.html": b"a word", "search/search_index.json": b"a word"}
    assert neighbours.secrets(case, files, ["read a word"]) == [
        "search/search_index.json: word",
        "the log: word",
    ]


def test_differences_are_found_and_our_own_marks_are_none() -> None:
    ours = {
        "index.html": b'<link rel="alternate" href="passages.json" title="passages"></head>'
        b'<span data-markstay-begin hidden></span><h2 id="a">A</h2>'
        b"<span data-markstay-end hidden></span>",
        "passages.json": b"{}",
        "one.txt": b"",
        "feed.xml": b"<title>A</title>",
    }
    others = {
        "index.html": b'  </head><h2 id="a">A</h2>',
        "two.txt": b"",
        "feed.xml": b"<title>B</title>",
    }
    assert neighbours.differences({}, ours, others) == ["feed.xml", "one.txt", "two.txt"]


@pytest.mark.parametrize(("without", "found"), [("none", []), ("braces", ["a.html", "i.json"])])
def test_ids_of_headings_are_compared_where_both_have_them(without: str, found: list[str]) -> None:
    ours = {
        "a.html": b'<h2 class="c" id="a">A</h2><a href="x/#a">A</a>',
        "i.json": b'{"location":"x/#a"}',
    }
    others = {
        "a.html": b'<h2 class="c" id="title">A</h2><a href="x/#title">A</a>',
        "i.json": b'{"location":"x/#title"}',
    }
    assert neighbours.differences({"without": without}, ours, others) == found


def test_case_names_only_what_there_is() -> None:
    with pytest.raises(AssertionError, match="wihtout"):
        neighbours.read_case("{what: It holds., config: {plugins: [markstay]}, wihtout: none}")
    with pytest.raises(AssertionError, match="search"):
        neighbours.read_case("{what: It holds., config: {plugins: [search]}}")


def test_missing_packages_are_named() -> None:
    assert neighbours.missing_packages({"needs": ["mkdocs", "no-such-neighbour"]}) == [
        "no-such-neighbour"
    ]
