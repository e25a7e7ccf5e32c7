"""Both extractors against the cases in ``tests/text``, worked out by hand from ``docs/text.md``."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest
import yaml

from mkdocs_markstay.furniture import FURNITURE
from mkdocs_markstay.sections import Block, Section

EXTRACTORS = ("extract_soup", "extract_lexbor")
BEGIN = "<span data-markstay-begin hidden></span>"
END = "<span data-markstay-end hidden></span>"
DEPTH = 600


def _load(extractor: str) -> Any:
    return importlib.import_module(f"mkdocs_markstay.{extractor}")


def _cases() -> list[Any]:
    return [
        pytest.param(case, id=f"{path.stem}: {case['name']}")
        for path in sorted(Path(__file__).with_name("text").glob("*.yml"))
        for case in yaml.safe_load(path.read_text(encoding="utf-8"))
    ]


def _section(data: dict[str, Any]) -> Section:
    blocks = [Block(*block) for block in data["blocks"]]
    return Section(data["id"], data["level"], data["title"], tuple(data["path"]), blocks)


@pytest.mark.parametrize("extractor", EXTRACTORS)
@pytest.mark.parametrize("case", _cases())
def test_sections(case: dict[str, Any], extractor: str) -> None:
    furniture = (*FURNITURE, *case.get("furniture", []))
    found = _load(extractor).extract(case["html"], set(case["opens"]), furniture)
    assert found == [_section(data) for data in case["expect"]]


def test_case_names_differ() -> None:
    names = [case.id for case in _cases()]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("extractor", EXTRACTORS)
@pytest.mark.parametrize(
    ("page", "region"),
    [
        pytest.param(f"<main>x{BEGIN}\n<p>a</p>\n{END}y</main>", "\n<p>a</p>\n", id="plain"),
        pytest.param(f"{BEGIN}{END}", "", id="empty"),
        pytest.param(f"<p>a</p>{END}", None, id="no begin"),
        pytest.param(f"{BEGIN}<p>a</p>", None, id="no end"),
        pytest.param("<p>a</p>", None, id="no marks"),
        pytest.param("", None, id="nothing"),
        pytest.param(f"{END}a{BEGIN}", None, id="wrong order"),
        pytest.param(f"{END}a{BEGIN}b{END}c", "b", id="an end before the begin"),
        pytest.param(
            f"{BEGIN}a{BEGIN}b{END}c{END}d", f"a{BEGIN}b{END}c", id="first begin, last end"
        ),
        pytest.param(
            "<span hidden data-markstay-begin></span>a<span hidden data-markstay-end></span>",
            "a",
            id="other order",
        ),
        pytest.param(
            '<span data-markstay-begin="" hidden=""></span>a<span data-markstay-end=\'\' hidden>'
            "</span>",
            "a",
            id="quoted values",
        ),
        pytest.param(
            '<span class=x title="a > b" data-markstay-begin= hidden></span>a'
            "<span title='>' data-markstay-end class=y></span>",
            "a",
            id="added attributes",
        ),
        pytest.param(
            "<span\n data-markstay-begin\n hidden\n></span>a<span data-markstay-end\thidden></span>",
            "a",
            id="white space",
        ),
        pytest.param(
            "<SPAN DATA-MARKSTAY-BEGIN HIDDEN></SPAN>a<SPAN DATA-MARKSTAY-END></SPAN>",
            "a",
            id="upper case",
        ),
        pytest.param(
            f"{BEGIN}<code>&lt;span data-markstay-end hidden&gt;&lt;/span&gt;</code>{END}"
            "<code>&lt;span data-markstay-end hidden&gt;</code>",
            "<code>&lt;span data-markstay-end hidden&gt;&lt;/span&gt;</code>",
            id="escaped in code",
        ),
        pytest.param(
            f"<div data-markstay-begin></div><span class=data-markstay-begin></span>"
            f'<span title="data-markstay-begin"></span><span data-markstay-beginning></span>'
            f"<span x-data-markstay-begin></span><spanner data-markstay-begin></spanner>{BEGIN}a{END}"
            '<span title=" data-markstay-end "></span>',
            "a",
            id="near misses",
        ),
        pytest.param(
            f"{BEGIN}<p title='x>a <span>b{END}<span title=\"", "<p title='x>a <span>b", id="broken"
        ),
    ],
)
def test_find_region(page: str, region: str | None, extractor: str) -> None:
    assert _load(extractor).find_region(page) == region


@pytest.mark.parametrize("extractor", EXTRACTORS)
@pytest.mark.parametrize("name", ["div", "b", "span", "blockquote", "details"])
def test_deep_nesting(name: str, extractor: str) -> None:
    (page,) = _load(extractor).extract(f"<{name}>" * DEPTH + "x", (), FURNITURE)
    assert [block.text.lstrip("> ") for block in page.blocks] == ["x"]


@pytest.mark.parametrize("extractor", EXTRACTORS)
@pytest.mark.parametrize(
    "start", ["<ul><li>", "<table><tr><td>", "<dl><dd>", "<div class=tabbed-set>", "<math>", "<h2>"]
)
def test_deep_nesting_does_not_fail(start: str, extractor: str) -> None:
    assert _load(extractor).extract(start * 600 + "x", ("a",), FURNITURE)


@pytest.mark.parametrize("extractor", EXTRACTORS)
@pytest.mark.parametrize(
    "html",
    ["<", "<!", "</", "<p", "&#", "&#x110000;&#xD800;\x00\x0c", "<![CDATA[x]]>", "<a <b <c", "]]>"],
)
def test_garbage_does_not_fail(html: str, extractor: str) -> None:
    assert _load(extractor).extract(html, (), FURNITURE)


@pytest.mark.parametrize("extractor", EXTRACTORS)
def test_first_section_is_the_page(extractor: str) -> None:
    first, second = _load(extractor).extract("<h2 id=a>A</h2>", frozenset({"a"}), iter(FURNITURE))
    assert first == Section("", 0, "", (), [])
    assert second == Section("a", 2, "A", ("A",), [])
