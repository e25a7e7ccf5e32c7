"""The lines that findings name: cases worked out by hand, and documents made at random.

For a random document the truth is found by building it twice. In one copy every title is
unique, so that the published heading tells its line; in the other there are only a few
different titles, and that copy's findings must name the same lines.
"""

from __future__ import annotations

import re
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from markdown import Markdown
from site_builder import Site, build_site

from mkdocs_markstay.findings import CODES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

WARNINGS = {"findings": dict.fromkeys(CODES, "warning")}

MODULES = {"include-markdown": "mkdocs_include_markdown_plugin", "macros": "mkdocs_macros"}

_COMMON = ("tables", "attr_list", "md_in_html", "admonition", "def_list")
EXTENSIONS: dict[str, tuple[str | dict[str, Any], ...]] = {
    "stock": _COMMON,
    "pymdownx": (
        *_COMMON,
        "pymdownx.superfences",
        "pymdownx.details",
        {"pymdownx.tabbed": {"alternate_style": True}},
        "pymdownx.blocks.admonition",
    ),
    "sane": (*_COMMON, "pymdownx.superfences", "pymdownx.saneheaders"),
}

# Bugs that are known and not repaired yet: names of cases and of sets of extensions.
OPEN: set[str] = set()


def _mark_open(name: str) -> list[pytest.MarkDecorator]:
    return [pytest.mark.xfail(reason="a bug that is known")] if name in OPEN else []


def _cases() -> list[Any]:
    return [
        pytest.param(case, marks=_mark_open(case["name"]), id=f"{path.stem}: {case['name']}")
        for path in sorted(Path(__file__).with_name("lines").glob("*.yml"))
        for case in yaml.safe_load(path.read_text(encoding="utf-8"))
    ]


@pytest.mark.parametrize("case", _cases())
def test_findings_name_their_lines(case: dict[str, Any], tmp_path: Path) -> None:
    for plugin in case.get("plugins", ()):
        pytest.importorskip(MODULES[plugin])
    plugins = [*case.get("plugins", ()), "markstay"]
    extensions = tuple(case.get("extensions", ()))
    built = build_site(tmp_path, Site(case["files"], extensions, config={"plugins": plugins}))
    assert built.places == case["expect"]
    assert built.verdict == 1


def test_case_names_differ() -> None:
    names = [case.id for case in _cases()]
    assert len(names) == len(set(names))


# -- documents at random

_TITLE = re.compile(r"@(\d+)@")


class _Writer:
    """Writes a Markdown document at random; `@7@` stands for the title of line seven."""

    def __init__(self, random: Random, name: str) -> None:
        self.random = random
        self.pymdownx = name == "pymdownx"
        self.fenced_anywhere = name != "stock"
        self.count = 0

    def title(self) -> str:
        self.count += 1
        end = self.random.choice(["", "", "", "", " `x`", f" <#id{self.count}>"])
        return f"@{self.count}@{end}"

    def heading(self) -> list[str]:
        if self.random.random() < 0.75:
            end = self.random.choice(["", "", "", " ##", " #"])
            return ["#" * self.random.choice([2, 2, 3, 4]) + " " + self.title() + end]
        return [self.title(), self.random.choice(["---", "===", "-", "----------"])]

    def decoy(self, depth: int) -> list[str]:
        inner = [line for _ in range(self.random.randint(1, 3)) for line in self.heading()]
        fence = self.random.choice(["```", "~~~", "````"])
        info = self.random.choice(["", " py"])
        choices = [
            ["    " + line for line in inner],
            [f"\\## {self.title()}"],
            [f"text ## {self.title()}"],
            ["text", self.title(), "---"],
            ["| a | b |", "|---|---|", f"| ## {self.title()} | c |"],
        ]
        if depth == 0 or self.fenced_anywhere:
            choices += [
                [fence + info, *inner, fence],
                [fence + info, *inner, "", "text", fence],
                ["````", "```", *inner, "```", "````"],
            ]
        if depth == 0:  # Markdown knows these blocks in the first column alone
            choices += [
                [f"<!-- {inner[0]}", *inner[1:], "-->"],
                ["<pre>", *inner, "</pre>"],
                ["<div>", *inner, "</div>"],
            ]
        return self.random.choice(choices)

    def container(self, depth: int) -> list[str]:
        inner = self.blocks(depth + 1, self.random.randint(1, 3))
        indented = ["    " + line if line else "" for line in inner]
        choices = [
            ["> " + line if line else ">" for line in inner],
            ["- item", "", *indented],
            ["1.  item", "", *indented, "", "2.  item"],
            ["!!! note", "    text", "", *indented],
            ["<div markdown>", "", *inner, "", "</div>"],
            ["Term", "", ":   text", "", *indented],
        ]
        if self.pymdownx:
            choices += [
                ["??? note", "", *indented],
                ['=== "One"', "", *indented, "", '=== "Two"', "", "    text"],
                ["/" * (9 - depth) + " note", *inner, "/" * (9 - depth)],
            ]
        return self.random.choice(choices)

    def blocks(self, depth: int, count: int) -> list[str]:
        lines: list[str] = []
        for _ in range(count):
            kind = self.random.random()
            if kind < 0.5:
                lines += self.heading()
            elif kind < 0.7:
                lines += self.decoy(depth)
            elif kind < 0.85 and depth < 3:
                lines += self.container(depth)
            else:
                lines += ["text text"]
            lines.append("")
        return lines


def _fill(lines: list[str], title: Callable[[str], str]) -> str:
    return "\n".join(_TITLE.sub(lambda match: title(match[1]), line) for line in lines)


def _true_lines(lines: list[str], extensions: tuple[str | dict[str, Any], ...]) -> list[int]:
    """Tell which lines became headings that lack an id, from a copy with unique titles."""
    text = _fill(lines, "Q{}Q".format)
    names = [next(iter(e)) if isinstance(e, dict) else e for e in extensions]
    options = {name: value for e in extensions if isinstance(e, dict) for name, value in e.items()}
    fences = [] if "pymdownx.superfences" in names else ["fenced_code"]
    html = Markdown(extensions=[*fences, *names], extension_configs=options).convert(text)
    html = re.sub(r"(?s)<!--.*?-->|<pre.*?</pre>", "", html)
    titles = re.findall(r"<h[1-6][^>]*>(?!.*&lt;#id)[^<]*(Q\d+Q)", html)
    marks = re.compile(r"Q\d+Q")
    lines_of = {
        mark: n for n, line in enumerate(text.split("\n"), 1) for mark in marks.findall(line)
    }
    return sorted(lines_of[title] for title in titles)


def _documents(name: str, count: int) -> Iterator[list[str]]:
    for seed in range(count):
        random = Random(f"{name} {seed}")  # noqa: S311 (no secret)
        writer = _Writer(random, name)
        yield ["# Page", "", *writer.blocks(0, random.randint(3, 10))]


def _wrong(name: str, count: int, titles: tuple[str, ...], folder: Path) -> tuple[int, list[str]]:
    """Build documents with few titles; return the number of headings, and wrong documents."""
    documents = list(_documents(name, count))
    random = Random(name)  # noqa: S311 (no secret)
    files = {
        f"docs/{number:04}.md": _fill(document, lambda _: random.choice(titles))
        for number, document in enumerate(documents)
    }
    built = build_site(folder, Site(dict(files), EXTENSIONS[name], WARNINGS))
    assert built.verdict == 0, built.error
    total, wrong = 0, []
    for (path, text), document in zip(files.items(), documents, strict=True):
        truth = _true_lines(document, EXTENSIONS[name])
        told = [f.line for f in built.findings if f.path == path and f.code == "missing-id"]
        total += len(truth)
        if told != truth:
            wrong.append(f"{text}\n-- told {told}, true {truth}\n")
    return total, wrong


@pytest.mark.parametrize("titles", [("Use",), ("Use", "Setup", "Notes")], ids=len)
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=_mark_open(name)) for name in EXTENSIONS]
)
def test_repeated_titles_are_told_apart(name: str, titles: tuple[str, ...], tmp_path: Path) -> None:
    total, wrong = _wrong(name, 100, titles, tmp_path)
    assert total > 200
    assert not wrong, f"{len(wrong)} documents, such as\n" + min(wrong, key=len)
