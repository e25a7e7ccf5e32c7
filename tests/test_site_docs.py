"""The documentation as a site: every page is in its place, can be reached, and is spelled right."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from posixpath import dirname, normpath
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from spelling import find_misspelled, list_words, own_words

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = {path.relative_to(DOCS).as_posix(): path for path in sorted(DOCS.rglob("*.md"))}
PROSE = {**PAGES, "README.md": ROOT / "README.md", "CHANGELOG.md": ROOT / "CHANGELOG.md"}


class _Loader(yaml.SafeLoader):
    """Reads a configuration of MkDocs, whose tags are of no matter here."""


_Loader.add_multi_constructor("!", lambda _, __, node: node.value)
_CONFIG: dict[str, Any] = yaml.load((ROOT / "mkdocs.yml").read_bytes(), _Loader)  # noqa: S506


# -- where pages are


def list_pages(nav: list[Any]) -> Iterator[str]:
    """List the pages of a navigation, in their order."""
    for entry in nav:
        value = next(iter(entry.values())) if isinstance(entry, dict) else entry
        if isinstance(value, list):
            yield from list_pages(value)
        else:
            yield value


def test_every_page_is_in_the_navigation_once() -> None:
    assert sorted(list_pages(_CONFIG["nav"])) == sorted(PAGES)


def test_navigation_is_grouped() -> None:
    groups = [next(iter(entry)) for entry in _CONFIG["nav"]]
    assert groups[:5] == ["Overview", "Tutorial", "How-to", "Reference", "Explanation"]


def list_links(name: str) -> set[str]:
    """List the pages that a page links to. That a link leads somewhere is found by the build."""
    text = PAGES[name].read_text("utf-8")
    links = re.findall(r"\]\(([^)#\s:]+\.md)(?:#[^)]*)?\)", text)
    return {normpath(f"{dirname(name)}/{link}".lstrip("/")) for link in links} & set(PAGES)


def test_every_page_can_be_reached_by_links() -> None:
    # Its own navigation is not what a reader of a page follows.
    reached, new = set[str](), {"index.md"}
    while new:
        reached |= new
        new = set().union(*map(list_links, new)) - reached
    assert set(PAGES) - reached == {"changelog.md", "contributing.md"} - reached


def test_nothing_is_left_unwatched() -> None:
    validation = _CONFIG["validation"]
    levels = [*validation["nav"].values(), *validation["links"].values(), validation["anchors"]]
    assert set(levels) == {"warn"}


# -- the Python API

API = sorted((DOCS / "api").glob("*.md"))
_NAMED = re.compile(r"^::: mkdocs_markstay\.([\w.]+)$((?:\n    .*)*)", re.MULTILINE)


def read_api() -> Iterator[tuple[str, str]]:
    """Read which names of which modules the pages of the API have; "" is for all of them."""
    for page in API:
        for target, options in _NAMED.findall(page.read_text("utf-8")):
            module, _, name = target.partition(".")
            members = re.search(r"members: \[(.*)\]", options)
            for each in members[1].split(", ") if members else [name]:
                yield module, each


def test_public_modules_have_their_names() -> None:
    for module, name in read_api():
        source = (ROOT / "mkdocs_markstay" / f"{module}.py").read_text("utf-8")
        pattern = rf"^(?:class |def )?{name}\b|^from .* import .*\b{name}\b|^    {name},?$"
        assert re.search(pattern, source, re.MULTILINE), f"{module}.{name}"


def test_public_modules_are_those_that_are_listed() -> None:
    listed = re.findall(r"\| \[`(\w+)`\]", (DOCS / "api" / "index.md").read_text("utf-8"))
    documented = {module for module, _ in read_api()}
    assert set(listed) == documented - {"findings", "manifest_files"}


# -- spelling


@pytest.mark.parametrize("name", PROSE)
def test_spelling(name: str) -> None:
    assert find_misspelled(PROSE[name].read_text("utf-8")) == []


def test_spelling_of_the_api() -> None:
    for module in sorted({module for module, _ in read_api()}):
        tree = ast.parse((ROOT / "mkdocs_markstay" / f"{module}.py").read_text("utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
                assert find_misspelled(ast.get_docstring(node) or "") == [], (module, node)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("A refernce holds.", ["refernce"]),
        ("## The manifset <#manifset>", ["manifset"]),
        ("The licence, not the license; grey, not gray.", ["license", "gray"]),
        ("It is organized, and has a size.", ["organized"]),
        ("MkDocs’s pages, `mispeled`, [a link](mispeled.md), <b>mispeled</b>", ["mispeled"]),
        ("```python\nmispeled = 1\n```\nand --mispeled or docs/mispeled.md", []),
        ("---\ntitle: mispeled\n---\n::: pkg.mispeled\n    options: mispeled\n", []),
    ],
)
def test_what_is_misspelled_is_found(text: str, found: list[str]) -> None:
    assert [word for _, word in find_misspelled(text)] == found


def test_lines_of_words_are_told() -> None:
    assert list_words("One\n\n```\ncode\n```\n\ntwo's") == [(1, "One"), (7, "two's")]


def test_own_words_are_sorted_and_lower_case() -> None:
    words = own_words()
    assert words == sorted(set(map(str.lower, words)))
