"""`manifest`: the manifest of any published site, from its HTML alone.

``tests/any_site`` has pages and small sites in the shape that other generators give them.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from importlib.resources import files as package_files
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
import yaml
from site_builder import Ran, Site, build_site, run_markstay, working_in

from mkdocs_markstay.charset import decode_html
from mkdocs_markstay.furniture import FURNITURE
from mkdocs_markstay.html_page import HtmlPage
from mkdocs_markstay.marks import BEGIN, END
from mkdocs_markstay.sources import Sources
from mkdocs_markstay.unmarked import FURNITURE_ELSEWHERE
from mkdocs_markstay.unmarked_soup import UnmarkedPage
from mkdocs_markstay.verify import verify_site

if TYPE_CHECKING:
    from collections.abc import Mapping

HERE = Path(__file__).with_name("any_site")
PAGES: list[dict[str, Any]] = yaml.safe_load((HERE / "pages.yml").read_bytes())
SITES = sorted(path.stem for path in HERE.glob("*.yml") if path.stem != "pages")
EVERY = (*FURNITURE, *FURNITURE_ELSEWHERE)
SCHEMA = json.loads(
    (package_files("mkdocs_markstay") / "passages-1.schema.json").read_text(encoding="utf-8")
)


def write(folder: Path, files: Mapping[str, str | bytes]) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def page(main: str, head: str = "") -> str:
    return (
        f'<!DOCTYPE html><html lang="en"><head>{head}</head><body><main>{main}</main></body></html>'
    )


def run(folder: Path, *arguments: str) -> Ran:
    return run_markstay(folder, "manifest", "site", "--publication", "guide", *arguments)


def read(folder: Path) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((folder / "site" / "passages.json").read_bytes())
    return data


def make(folder: Path, files: Mapping[str, str | bytes], *arguments: str) -> dict[str, Any]:
    """Write a site, make its manifest and read that; it must agree with the site."""
    write(folder, files)
    ran = run(folder, *arguments)
    assert ran.code == 0, ran
    assert verify_site(folder / "site") == []
    return read(folder)


def sections(data: dict[str, Any]) -> dict[str, bool]:
    return {row["referent"]: row["generated"] for row in data["sections"]}


# -- pages


@pytest.mark.parametrize("case", [pytest.param(case, id=case["name"]) for case in PAGES])
def test_a_page_is_read_by_both_parsers(case: dict[str, Any]) -> None:
    html = f"<!DOCTYPE html><html><body>{case['html']}</body></html>"
    prose = HtmlPage(html).find_content(case.get("selector", ""), EVERY)
    if case["content"] is None:
        assert prose is None
        return
    assert prose is not None
    assert prose.selector == case["content"]
    assert [list(heading.anchors) for heading in prose.headings] == case["anchors"]
    opens = case.get("opens", [anchors[0] for anchors in case["anchors"] if anchors])
    _, found = prose.read(opens)
    texts = {each.section_id: "\n\n".join(block.text for block in each.blocks) for each in found}
    assert texts == case["text"]
    titles = {each.section_id: each.title for each in found}
    assert {name: titles[name] for name in case.get("titles", {})} == case.get("titles", {})
    checked = UnmarkedPage(html)
    assert checked.extract(prose.selector, opens, EVERY) == found
    assert [checked.count_anchors(anchor) for anchor in opens] == [1] * len(opens)


_INLINE = (
    *(
        "word",
        "Two words",
        "#",
        "\u00b6",
        "",
        " ",
        "<code>c</code>",
        '<a href="/x/">to</a>',
        "<!-- c -->",
    ),
    *(
        '<a href="#@">\u00b6</a>',
        '<a href="#@">link</a>',
        '<a href="#@"><i></i></a>',
        '<a id="@"></a>',
    ),
    *(
        '<a name="@"></a>',
        '<span id="@"></span>',
        '<span id="@">t</span>',
        '<a href="#@" id="@">#</a>',
    ),
)
_HEADINGS = (
    "<h1>%</h1>",
    "<h2>%</h2>",
    '<h2 id="@">%</h2>',
    '<h3 id="@">%</h3>',
    "<div><h2>%</h2></div>",
)
_BLOCKS = (
    *_HEADINGS,
    *(
        "<p>%</p>",
        '<a id="@"></a>',
        '<span id="@"></span>',
        '<p><a name="@"></a></p>',
        "\n",
        "text",
    ),
)
_OUTER = (
    *('<section id="@">%</section>', "<section>%</section>", '<div class="section" id="@">%</div>'),
    *(
        "<article>%</article>",
        '<div role="tabpanel" hidden>%</div>',
        '<div role="navigation">%</div>',
    ),
    *('<div class="footnotes">%</div>', "<div>%</div>", "<blockquote>%</blockquote>"),
)


def random_html(random: Random, depth: int = 0) -> str:
    """Make some blocks, with headings and their anchors in all places, ids at random."""
    parts = []
    for _ in range(random.randrange(1, 6)):
        outer = depth < 4 and random.random() < 0.4
        form = random.choice(_OUTER if outer else _BLOCKS)
        inner = random_html(random, depth + 1) if outer else "".join(random.choices(_INLINE, k=2))
        parts.append(re.sub("@", lambda _: f"x{random.randrange(40)}", form.replace("%", inner)))
    return "".join(parts)


@pytest.mark.parametrize("seed", range(3))
def test_both_parsers_agree(seed: int) -> None:
    random = Random(seed)  # noqa: S311 (nothing is secret)
    read = 0
    for _ in range(60):
        html = f"<!DOCTYPE html><html><body><p id='x1'></p><main>{random_html(random)}</main></body></html>"
        prose = HtmlPage(html).find_content("", EVERY)
        assert prose is not None
        opens = {each.anchors[0] for each in prose.headings if each.anchors} - prose.repeated
        _, found = prose.read(opens)
        checked = UnmarkedPage(html)
        assert checked.extract(prose.selector, opens, EVERY) == found, html
        assert {checked.count_anchors(anchor) for anchor in opens} <= {1}, html
        read += len(found) - 1
    assert read > 50


def test_the_second_parser_says_that_there_is_no_such_element() -> None:
    assert UnmarkedPage("<main>x</main>").extract("article", (), ()) is None
    assert UnmarkedPage("<main>x</main>").extract("][", (), ()) is None


def test_the_list_of_furniture_is_complete() -> None:
    text = (HERE.parents[1] / "docs" / "any-site.md").read_text("utf-8")
    listed = re.search(r"^```text\n(.*?)\n```", text, re.MULTILINE | re.DOTALL)
    assert listed is not None
    assert tuple(listed[1].split("\n")) == FURNITURE_ELSEWHERE


# -- sites


@pytest.mark.parametrize("name", SITES)
def test_a_site_of_another_generator(name: str, tmp_path: Path) -> None:
    site = yaml.safe_load((HERE / f"{name}.yml").read_bytes())
    write(tmp_path, site["files"])
    ran = run(tmp_path, *site["arguments"])
    assert ran.code == 0, ran
    found = {(each.path, each.code): each.message for each in ran.findings}
    left_out = {path: why for (path, code), why in found.items() if code == "left-out"}
    assert left_out == {f"site/{path}": why for path, why in site["left_out"].items()}
    assert [code for _, code in found if code != "left-out"] == site.get("others", [])
    data = read(tmp_path)
    jsonschema.validate(data, SCHEMA)
    pages = {
        f"{row['page_id']} {row['lang']}": [
            *(row[key] for key in ("title", "url", "source", "content", "ids") if key in row)
        ]
        for row in data["pages"]
    }
    assert pages == site["pages"]
    rows = {
        f"{row['referent']} {row['lang']}": [row["title"], row["line"], row["generated"]]
        for row in data["sections"]
    }
    assert rows == site["sections"]
    texts: dict[str, str] = {}
    for row in data["passages"]:
        if row["lang"] == "en":
            texts[row["referent"]] = f"{texts.get(row['referent'], '')}\n\n{row['text']}".strip()
    assert {name: texts.get(name) for name in site["passages"]} == site["passages"]
    assert verify_site(tmp_path / "site") == []


def test_a_page_that_was_tampered_with(tmp_path: Path) -> None:
    files = {"site/index.html": page('<h1>T</h1><section id="a"><h2>A</h2><p>one</p></section>')}
    assert sections(make(tmp_path, files)) == {"index#a": True}
    for old, new, codes in (
        ("one", "two", ["passage-changed"]),
        ('id="a"', 'id="b"', ["anchor-missing", "passage-changed", "passage-changed"]),
        ("<h1>", '<a name="a"></a><i id="a"></i><h1>', ["anchor-repeated"]),
        ("main>", "div>", ["page-changed"]),
    ):
        text = files["site/index.html"].replace(old, new)
        write(tmp_path, {"site/index.html": text})
        assert [each.code for each in verify_site(tmp_path / "site")] == codes, new


# -- sites that the plugin built

MIXED = Site(
    {
        "docs/index.md": "---\ntitle: Front\n---\n# Home <#home>\n\nLead.\n\n## Facts {#facts}\n\nx\n\n#### A slug\n\ny\n\n#### Deep <#depth>\n\nz\n",
        "docs/guide/install.md": "---\npage_id: setup\n---\n# Install\n\n## Steps <#steps>\n\n1\n\n<h2 id='raw'>Raw</h2>\n\n2\n\n--8<-- \"more.md\"\n",
        "docs/guide/README.md": "---\nmarkstay: {furniture: ['.x']}\n---\n# Guide\n\nAll.\n\n<p class='x'>Not this.</p>\n",
        "docs/draft/a.md": "# A\n\n## B <#b>\n\nDRAFTED\n",
        "docs/off.md": "---\nmarkstay: false\n---\n# Off\n\n## B <#b>\n\nSWITCHEDOFF\n",
        "inc/more.md": "## More <#more>\n\n3\n",
    },
    ("attr_list", "toc", {"pymdownx.snippets": {"base_path": ["inc"]}}),
    {
        "exclude": ["draft/"],
        "levels": [2, 3],
        "version": "2.0",
        "granularity": "block",
        "passages": {"max_chars": 500, "target_chars": 400},
        "findings": {"left-out": "ignore"},
    },
    {
        "site_name": "Two & more",
        "site_url": "https://docs.example.org/x/",
        "theme": {"name": None, "custom_dir": "theme", "language": "de"},
        "nav": [{"Start": "index.md"}, {"G": ["guide/README.md", "guide/install.md"]}],
    },
)


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mixed")
    theme = '<html lang="{{ config.theme.language }}"><body><main>{{ page.content }}</main></body></html>'
    write(folder, {"theme/main.html": theme})
    built = build_site(folder, MIXED)
    assert built.passed, built.log
    assert "DRAFTED" in built.html("draft/a/index.html")
    (folder / "site").rename(folder / "built")
    return folder


@pytest.fixture
def built(mixed: Path, tmp_path: Path) -> Path:
    """A copy of a published site and its sources, without a manifest."""
    shutil.copytree(mixed, tmp_path, dirs_exist_ok=True)
    skip = shutil.ignore_patterns("passages.*")
    shutil.copytree(mixed / "built", tmp_path / "site", ignore=skip)
    return tmp_path


def test_the_same_manifest_as_the_plugins(built: Path) -> None:
    ran = run_markstay(built, "manifest", "site", "--config", "mkdocs.yml")
    assert (ran.code, ran.out) == (0, "")
    for name in ("passages.json", "passages.jsonl"):
        assert (built / "site" / name).read_bytes() == (built / "built" / name).read_bytes()


def test_the_same_passages_without_marks(built: Path) -> None:
    """As another generator publishes the same sources."""
    for path in (built / "site").rglob("*.html"):
        html = path.read_text("utf-8")
        path.write_text(html.replace(BEGIN, "").replace(END, ""), "utf-8")
    assert run_markstay(built, "manifest", "site", "--config", "mkdocs.yml").code == 0
    data, plugins = read(built), json.loads((built / "built" / "passages.json").read_bytes())
    for part in ("digest", "sections", "passages"):
        assert data[part] == plugins[part], part
    assert {row["content"] for row in data["pages"]} == {"main"}
    assert verify_site(built / "site") == []


def test_marks_without_sources(built: Path) -> None:
    """The build enforced ids, at the levels that the configuration names."""
    shutil.rmtree(built / "docs")
    ran = run_markstay(built, "manifest", "site", "-f", "mkdocs.yml")
    assert ran.code == 0, ran
    assert sections(read(built)) == {
        "guide/install#more": False,
        "guide/install#raw": False,
        "guide/install#steps": False,
        "index#depth": True,
        "index#facts": False,
    }
    assert "unknown" not in ran.err


def test_ids_of_tools_are_not_the_authors(tmp_path: Path) -> None:
    html = (
        '<h1>API</h1><h2 id="mine">Mine</h2><div class="mkdocstrings"><h2 class="doc-heading" id="pkg">'
        'pkg</h2><h3 id="pkg--notes">Notes</h3></div><div class="jp-Notebook"><h2 id="Part">Part</h2></div>'
    )
    marked = {"site/index.html": f"<html><body>{BEGIN}{html}{END}</body></html>"}
    expected = {"index#mine": False, "index#pkg": True, "index#Part": True}
    assert sections(make(tmp_path / "1", marked)) == expected
    source = {"docs/index.md": "# API\n\n## Mine <#mine>\n\n::: pkg\n"}
    assert sections(make(tmp_path / "2", {**marked, **source}, "--sources", "docs")) == expected


def test_an_id_behind_a_fence_in_a_fence(tmp_path: Path) -> None:
    """A fence that is indented as code ends none, for any renderer of Markdown."""
    fences = "```yaml\na: |\n    ```sh\n    b\n    ```\n```\n"
    files = {
        "site/index.html": page('<h1>A</h1><p>x</p><h2 id="oil-can">Oil can</h2><p>y</p>'),
        "docs/index.md": f"# A\n\n{fences}\n## Oil can <#oil-can>\n\n```sh\nc\n```\n",
    }
    expected = {"index#oil-can": False}
    assert sections(make(tmp_path, files, "--sources", "docs")) == expected


def test_ids_that_a_loop_fills_in(tmp_path: Path) -> None:
    html = '<h1>A</h1><h2 id="carp">Carp</h2><p>x</p><h2 id="old-tench">Tench</h2><h2 id="end-x">End x</h2><p>y</p>'
    loop = "{% for f in fish %}\n## {{ f }} <#{{ f|lower }}>\n{% endfor %}\n"
    files = {
        "site/index.html": page(html),
        "docs/index.md": f"# A\n\n{loop}\n## *End* [x](y)\n",
    }
    data = make(tmp_path, files, "--sources", "docs")
    found = {row["referent"]: (row["generated"], row["line"]) for row in data["sections"]}
    assert found == {"index#carp": (False, 4), "index#old-tench": (False, 4)}


@pytest.mark.parametrize("language", ["en", "fr"])
def test_translations(language: str, tmp_path: Path) -> None:
    """Whatever the language of the command is, the pages of the home page's language have it."""
    files = {
        "site/index.html": page("<h1>A</h1><p>x</p>").replace('"en"', '"en-GB"'),
        "site/pt-br/index.html": page("<h1>B</h1>").replace('"en"', '"pt_BR"'),
        "site/pt-br/a.html": page("<h1>C</h1><p>y</p>").replace(' lang="en"', ""),
        "docs/index.md": "# A\n",
        "docs/index.pt_br.md": "# B\n",
    }
    data = make(tmp_path, files, "--language", language, "--sources", "docs")
    assert data["default_lang"] == language
    assert {(row["page_id"], row["lang"], row["source"]) for row in data["pages"]} == {
        ("index", language, "index.md"),
        ("index", "pt_BR", "index.pt_br.md"),
        ("pt-br/a", language, "pt-br/a.html"),
    }


def test_marks_do_not_hide_that_there_are_versions(tmp_path: Path) -> None:
    marked = f"<html><body>{BEGIN}<h1>A</h1><p>x</p>{END}</body></html>"
    files = {
        "site/index.html": marked,
        "site/same.html": marked,
        "site/1.0/index.html": marked,
        "site/versions.json": '[{"version": "1.0", "title": "1.0", "aliases": []}]',
    }
    # Nor do two pages with the same text hide each other: the build wants both.
    assert [row["url"] for row in make(tmp_path, files)["pages"]] == ["", "same.html"]


# -- who wrote an id

TITLED = '<h1 id="t">T</h1><h2 id="a-title">A title</h2><h2 id="other">A title</h2><h2 id="Über-2">Über</h2>'


@pytest.mark.parametrize(
    ("source", "arguments", "expected"),
    [
        (None, (), {"index#a-title": True, "index#other": True, "index#Über-2": True}),
        (None, ("--assume-explicit",), {"index#a-title": False, "index#other": False, "index#Über-2": False}),
        ("# T\n", (), {"index#other": True}),
        ("# T <#t>\n\n## A title <#a-title>\n", (), {"index#t": False, "index#a-title": False, "index#other": True}),
        ("# T\n", ("--assume-explicit",), {"index#a-title": False, "index#other": False, "index#Über-2": False}),
        ("Text <#a-title> here\n\n```\n## A title <#a-title>\n```\n", (), {"index#other": True}),
    ],
)  # fmt: skip
def test_who_wrote_an_id(
    source: str | None, arguments: tuple[str, ...], expected: dict[str, bool], tmp_path: Path
) -> None:
    files = {"site/index.html": page(TITLED)}
    if source is not None:
        files["docs/index.md"] = source
        arguments = (*arguments, "--sources", "docs")
    data = make(tmp_path, files, *arguments)
    assert sections(data) == expected
    unknown = source is None and not arguments
    assert data["pages"][0].get("ids", "known") == ("unknown" if unknown else "known")
    assert ("nothing tells" in run(tmp_path, *arguments).err) == unknown


@pytest.mark.parametrize(
    "written",
    [
        "## T <#x-1>",
        "> ## T {#x-1 .cls}",
        "T {: #x-1 }\n---",
        '<h2 class="c" id="x-1">T</h2>',
        "<a name='x-1'></a>\n\n## T",
        "(x-1)=\n## T",
        ".. _X 1:\n\nT\n---",
        ".. _`x_1`:\n\nT\n---",
        "{#x-1}\n## T",
        "## T {/* #x-1 */}",
    ],
)
def test_how_ids_are_written(written: str, tmp_path: Path) -> None:
    write(tmp_path, {"a.md": f"---\ntitle: T\n---\n\n{written}\n"})
    source = Sources(tmp_path, (), ()).find("a", "en")
    assert source is not None
    assert source.written["x-1"] == 5


@pytest.mark.parametrize(
    ("name", "page_id", "language"),
    [
        ("guide/install.md", "guide/install", "en"),
        ("guide/install.rst", "guide/install", "en"),
        ("guide/install/index.md", "guide/install", "en"),
        ("guide/install/README.md", "guide/install", "en"),
        ("guide/install/_index.md", "guide/install", "en"),
        ("guide/Install.md", "guide/install", "en"),
        ("02-guide/01_install.mdx", "guide/install", "en"),
        ("guide/install.fr.md", "guide/install", "fr"),
        ("guide/install.pt-BR.md", "guide/install", "pt-BR"),
        ("fr/guide/install.md", "guide/install", "fr"),
        ("fr/index.md", "index", "fr"),
        ("install.md", "docs/install", "en"),
    ],
)
def test_the_source_of_a_page(name: str, page_id: str, language: str, tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    write(folder, {name: "# T\n", "other.md": "# O\n", ".hidden/x.md": "# H\n", "x.css": ""})
    source = Sources(folder, (), ()).find(page_id, language)
    assert source is not None
    assert source.source == name
    assert Sources(folder, (), ()).find("guide/x", language) is None


def test_a_page_whose_source_is_not_clear(tmp_path: Path) -> None:
    write(tmp_path / "docs", {"1-a.md": "# A\n", "2-a.md": "# A\n", "b.md": "# B\n"})
    assert Sources(tmp_path / "docs", (), ()).find("a", "en") is None
    # The page `b` has that source.
    assert Sources(tmp_path / "docs", (), {"b", "docs/b"}).find("docs/b", "en") is None


def test_ids_that_a_generator_does_not_know(tmp_path: Path) -> None:
    files = {
        "site/index.html": page('<h1>T</h1><h2 id="a-x">A &lt;#x&gt;</h2>'),
        "docs/index.md": "# T\n\n## A <#x>\n",
    }
    write(tmp_path, files)
    assert run(tmp_path, "--sources", "docs").places == ["docs/index.md:3 warning lost-id"]
    assert run(tmp_path).places == ["site/index.html:1 warning leaked-id"]


# -- which pages there are


def test_pages_that_are_left_out(tmp_path: Path) -> None:
    refresh = '<meta http-equiv="refresh" content="0; url=x/">'
    files = {
        "site/index.html": page("<h1>A</h1>"),
        "site/reload.html": page("<h1>B</h1>", '<meta http-equiv="Refresh" content="300">'),
        "site/script.html": page("<h1>C</h1>", f"<noscript>{refresh}</noscript>"),
        "site/to.html": page("<h1>D</h1>", refresh),
        "site/only.html": f"<!DOCTYPE html><html><head><noscript>{refresh}</noscript></head></html>",
        "site/search/index.html": page("<h1>E</h1><p>About our search.</p>"),
        "site/x/search.html": page("<h1>F</h1><form role=search><input type=search></form>"),
        "site/fr/404/index.html": page("<h1>G</h1>"),
        "site/print/index.html": page('<div id="print-site-page"><h1>H</h1></div>'),
        "site/1.0/index.html": page("<h1>I</h1>"),
        "site/latest/a.html": page("<h1>J</h1>"),
        "site/versions.json": '[{"version": "1.0", "title": "1.0", "aliases": ["latest"]}, {"version": "0"}]',
        "site/a/b.html": page("<h1>K</h1>"),
        "site/.doctrees/x.html": page("<h1>L</h1>"),
        "site/off.html": page("<h1>M</h1>"),
        "site/gone.html": page("<h1>N</h1>"),
        "docs/off.md": "---\nmarkstay: false\n---\n# M\n",
        "docs/gone.md": "# N\n",
        "docs/more.md": "# O\n",
    }
    excludes = [each for name in ("a/", "gone.md") for each in ("--exclude", name)]
    data = make(tmp_path, files, "--sources", "docs", *excludes)
    assert [row["title"] for row in data["pages"]] == ["A", "B", "C", "E"]
    found = {each.path: each.message for each in run(tmp_path, "--sources", "docs").findings}
    assert found["site/off.html"] == "its source says: markstay: false"
    assert found["site/1.0/index.html"] == "it belongs to a version of its own"
    assert found["site/only.html"] == "it leads on to another page"
    assert len(found) == 8


def test_patterns_for_sources_hold_without_sources(tmp_path: Path) -> None:
    files = {
        "site/index.html": page("<h1>A</h1>"),
        "site/draft/x/index.html": page("<h1>B</h1>"),
        "site/y/index.html": page("<h1>C</h1>"),
        "site/z/index.html": page("<h1>D</h1>"),
    }
    patterns = ["draft/*.md", "y.md", "z/index.md"]
    data = make(tmp_path, files, *(each for name in patterns for each in ("--exclude", name)))
    assert [row["title"] for row in data["pages"]] == ["A"]


def test_a_site_that_asks_to_be_in_no_index(tmp_path: Path) -> None:
    noindex = '<meta name="ROBOTS" content="NOINDEX, nofollow">'
    files = {
        "site/index.html": page("<h1>A</h1>", noindex),
        "site/b.html": page("<h1>B</h1>", noindex),
    }
    assert len(make(tmp_path, files)["pages"]) == 2
    files["site/c.html"] = page("<h1>C</h1>")
    assert [row["title"] for row in make(tmp_path, files)["pages"]] == ["C"]


def test_many_pages_are_told_by_reason(tmp_path: Path) -> None:
    files = {f"site/_x/{number}.html": page("<h1>X</h1>") for number in range(21)}
    write(tmp_path, {**files, "site/index.html": page("<h1>A</h1>"), "site/404.html": page("")})
    assert [(each.path, each.message) for each in run(tmp_path).findings] == [
        ("site/404.html", "it is shown where there is no page"),
        (
            "site",
            "21 pages, the first of them site/_x/0.html: it is in a folder of the generator's own",
        ),
    ]
    document = json.loads(run(tmp_path, "--format", "json").out)
    assert document["summary"]["info"] == 22


def test_titles(tmp_path: Path) -> None:
    files = {
        "site/a.html": page('<h2 id="x">X</h2><p>x</p>', "<title>Home \u2014 Guide</title>"),
        "site/b.html": page("<h1>\n B <code>c</code><br>d</h1>", "<title>Other</title>"),
        "site/c.html": page("<p>x</p>"),
        "site/d.html": page("<svg><title>no</title></svg>"),
        "mkdocs.yml": "site_name: Guide\n",
    }
    data = make(tmp_path, files, "-f", "mkdocs.yml")
    assert [row["title"] for row in data["pages"]] == ["Home", "B c d", "c", "d"]
    assert data["sections"][0]["path"] == ["Home", "X"]


def test_what_cannot_be_read(tmp_path: Path) -> None:
    write(tmp_path, {"site/index.html": page("<h1>A</h1><p>x</p>"), "zensical.toml": "[project]\n"})
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").symlink_to("gone.md")
    ran = run(tmp_path, "--sources", "docs")
    assert (ran.code, ran.err) == (
        2,
        "mkdocs-markstay: docs/index.md cannot be read: No such file or directory\n",
    )
    ran = run(tmp_path, "-f", "zensical.toml")
    assert (ran.code, "reads no zensical.toml" in ran.err) == (2, True)
    os.mkfifo(tmp_path / "site" / "pipe.html")
    assert run(tmp_path).code == 0


# -- what is not shown


@pytest.mark.parametrize(
    "hidden",
    [
        "<main hidden>{}</main>",
        "<div hidden><main>{}</main></div>",
        "<noscript><main>{}</main></noscript>",
        '<div style="display:none"><main>{}</main></div>',
        '<div aria-hidden="true"><main>{}</main></div>',
        "<template><main>{}</main></template>",
    ],
)
def test_what_is_not_shown_is_no_main_content(hidden: str, tmp_path: Path) -> None:
    hidden = hidden.format('<h1>A</h1><h2 id="a">A</h2><p>SECRET</p>')
    files = {
        "site/index.html": page("<h1>B</h1><p>shown</p>").replace("<main>", f"{hidden}<main>"),
        "site/c.html": page(f"<article hidden>{hidden}</article><h1>C</h1><p>shown too</p>"),
    }
    data = make(tmp_path, files)
    assert [row["text"] for row in data["passages"]] == ["shown too", "shown"]
    assert data["sections"] == []


@pytest.mark.parametrize("around", ["<script>var t = '{}'</script>", "<!-- {} -->"])
def test_marks_that_are_not_in_the_page_are_none(around: str, tmp_path: Path) -> None:
    files = {
        "site/index.html": page("<h1>A</h1><p>x</p>" + around.format(f"{BEGIN}y{END}")),
        "site/b.html": page("<h1>B</h1><p>z</p>"),
    }
    assert [row["text"] for row in make(tmp_path, files)["passages"]] == ["z", "x"]


def test_robots_are_told_by_elements(tmp_path: Path) -> None:
    tag = '<meta content="noindex" data-x="a>b" name="robots">'
    files: dict[str, str | bytes] = {
        "site/index.html": page("<h1>A</h1><p>x</p>", f"<!-- {tag} -->"),
        "site/b.html": page("<h1>B</h1><p>y</p>", f"<script>'{tag}'</script>"),
        "site/c.html": page("<h1>C</h1><p>z</p>", tag),
        "site/d.html": page("<h1>D</h1><p>w</p>", tag).encode("utf-16"),
    }
    assert [row["text"] for row in make(tmp_path, files)["passages"]] == ["y", "x"]


@pytest.mark.parametrize("name", ["b.html", "a.html"])
def test_a_damaged_page_of_a_site_with_marks(name: str, tmp_path: Path) -> None:
    content = {"b.html": "<!doctype html><html><head><title>B</ti", "a.html": ""}[name]
    marked = f"<html><body>{BEGIN}<h1>A</h1><p>x</p>{END}</body></html>"
    write(tmp_path, {"site/index.html": marked, f"site/{name}": content})
    ran = run(tmp_path)
    assert (ran.code, ran.places) == (1, [f"site/{name}:1 error cut-off"])


# -- bad input


@pytest.mark.parametrize(
    ("name", "content", "place"),
    [
        ("a.html", page("<h1>é</h1>").encode("latin-1"), "site/a.html:1 error not-utf-8"),
        ("a.html", page("<h1>A</h1><p>x").split("</p>")[0].split("</main")[0], "site/a.html:1 error cut-off"),
        ("a.html", page("<h1>A</h1>") + '<p class="x', "site/a.html:1 error cut-off"),
        ("a.html", f"<html><body><main>{BEGIN}<h1>A</h1><p>x", "site/a.html:1 error cut-off"),
        ("a.html", '<!DOCTYPE html><body><div role="main"><h1>A</h1><p>half of', "site/a.html:1 error cut-off"),
        ("a.html", "<!doctype html><html><head><title>B</title></he", "site/a.html:1 error cut-off"),
        ("a.html", "<html><main><h1>A</h1><p>x</p><!-- c <p>y</p></main>", "site/a.html:1 error cut-off"),
        ("a.html", "", "site/a.html:1 warning no-content"),
        ("a.html", b"\x89PNG\r\n\x1a\n\0\xff", "site/a.html:1 warning no-content"),
        ("a.html", "just text", "site/a.html:1 warning no-content"),
        ("b#c.html", page("<h1>A</h1>"), "site/b#c.html:1 error page-id"),
        ("index/index.html", page("<h1>A</h1>"), "site/index/index.html:1 error duplicate-page-id"),
        ("passages.json", '{"passages": []}', "site/passages.json:1 error not-written"),
        ("passages.jsonl", '{"id": 1}\n', "site/passages.jsonl:1 error not-written"),
        ("passages.json/a", "", "site/passages.json:1 error not-written"),
    ],
)  # fmt: skip
def test_bad_input(name: str, content: str | bytes, place: str, tmp_path: Path) -> None:
    write(tmp_path, {"site/index.html": page("<h1>Home</h1>"), f"site/{name}": content})
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    ran = run(tmp_path)
    assert place in ran.places, ran
    fails = " error " in place
    assert ran.code == fails
    after = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert (before == after) == fails


def test_an_older_manifest_is_replaced(tmp_path: Path) -> None:
    files = {"site/index.html": page("<h1>A</h1><p>x</p>")}
    first = make(tmp_path, files)
    again = make(tmp_path, {"site/index.html": page("<h1>A</h1><p>y</p>")})
    assert first["digest"] != again["digest"]
    lines = (tmp_path / "site" / "passages.jsonl").read_bytes()
    assert run(tmp_path).code == 0
    assert (tmp_path / "site" / "passages.jsonl").read_bytes() == lines
    assert sorted(path.name for path in (tmp_path / "site").iterdir()) == [
        "index.html",
        "passages.json",
        "passages.jsonl",
    ]


def test_another_folder(tmp_path: Path) -> None:
    write(tmp_path, {"site/index.html": page("<h1>A</h1>"), "out/x": ""})
    assert run(tmp_path, "-o", "out").code == 0
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "passages.json",
        "passages.jsonl",
        "x",
    }
    assert {path.name for path in (tmp_path / "site").iterdir()} == {"index.html"}


@pytest.mark.parametrize("raw", ["iso-8859-1", "windows-1252", "utf-8", "utf-16", "shift_jis"])
def test_charsets(raw: str, tmp_path: Path) -> None:
    word = "日本" if raw == "shift_jis" else "Ünï"
    text = page(f'<h1>T</h1><p id="{word}">{word}</p>', f'<meta charset="{raw}">')
    data = make(tmp_path, {"site/index.html": text.encode(raw)})
    assert data["passages"][0]["text"] == word


def test_where_a_charset_is_declared() -> None:
    latin = "<meta http-equiv='Content-Type' content='text/html; charset=latin1'>é".encode(
        "latin-1"
    )
    assert decode_html(latin)[0].endswith("é")
    assert decode_html("<!-- <meta charset=latin1> -->é".encode())[0].endswith("é")
    assert decode_html("<meta charset=utf-16>é".encode())[0].endswith("é")
    assert decode_html("<meta charset=nonsense>é".encode())[0].endswith("é")
    assert decode_html(b"<p>\xe9") == ("<p>\ufffd", "byte 0xe9 is not UTF-8")


def test_an_ambiguous_anchor_opens_nothing(tmp_path: Path) -> None:
    html = (
        '<h1>T</h1><h2 id="a">A</h2><p>1</p><p id="a">2</p><section id="b"><h2 id="c">B</h2><i id="c"></i>'
        "</section>"
    )
    data = make(tmp_path, {"site/index.html": page(html)})
    assert sections(data) == {"index#b": True}
    assert run(tmp_path).places == ["site/index.html:1 warning ambiguous-anchor"]


def test_a_page_that_is_mis_nested(tmp_path: Path) -> None:
    html = '<h1>T</h1><p>a<b>b<p>c</b>d<div><h2 id="q">Q</h2><table><tr><td>x<h2 id="r">R</table>y'
    data = make(tmp_path, {"site/index.html": page(html)})
    assert sections(data) == {"index#q": True, "index#r": True}


def test_large_pages_take_time_in_proportion() -> None:
    part = '<section id="s{0}"><span id="t{0}"></span><h2>S<a href="#s{0}">¶</a></h2><p>Words.</p></section>'
    heads = '<div><h2 id="h{0}"><a id="i{0}"></a><a href="#h{0}">#</a></h2></div><article><p>x</p></article>'

    def measure(form: str, count: int) -> float:
        html = page("".join(form.format(number) for number in range(count)))
        best = float("inf")
        for _ in range(3):
            start = time.process_time()
            prose = HtmlPage(html).find_content("", EVERY)
            assert prose is not None
            prose.read([anchor for heading in prose.headings for anchor in heading.anchors[:1]])
            best = min(best, time.process_time() - start)
        return best

    for form in (part, heads, '<a id="a{0}"></a>', "<h2>" + "x<a href='#q'>#</a>" * 9 + "</h2>"):
        small = measure(form, 1500)
        assert measure(form, 6000) < 12 * small + 0.05, form


def test_large_sources_take_time_in_proportion(tmp_path: Path) -> None:
    def measure(form: str, count: int) -> float:
        write(tmp_path, {"a.md": "---\nx: y\n---\n" + form * count})
        best = float("inf")
        for _ in range(3):
            start = time.process_time()
            Sources(tmp_path, (), ()).find("a", "en")
            best = min(best, time.process_time() - start)
        return best

    for form in ("## A <#a>\n\n", "{#", "{#a", "{#a b ", "(", "id=", ".. _", "\n---\n", "{/* "):
        small = measure(form, 4000)
        assert measure(form, 16000) < 12 * small + 0.05, form


# -- options


def test_options_of_a_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SITE_ADDRESS", "https://docs.example.org/")
    files = {
        "base.yml": "site_name: Base\nplugins:\n  markstay: {granularity: section, furniture: [.x]}\nextra: !!python/name:x.y ''\n",
        "conf/mkdocs.yml": (
            "INHERIT: ../base.yml\nsite_url: !ENV [NOWHERE, SITE_ADDRESS, '']\nuse_directory_urls: false\n"
            "plugins:\n  markstay: {formats: [json], language: de, default_language: en, version: !ENV [NONE, '3']}\n"
        ),
        "site/index.html": page('<p class="x">no</p><p>yes</p>'),
        "site/a/index.html": page("<p>a</p>"),
    }
    write(tmp_path, files)
    ran = run_markstay(tmp_path, "manifest", "site", "-f", "conf/mkdocs.yml")
    assert ran.code == 0, ran
    data = read(tmp_path)
    assert (data["publication"], data["site_url"]) == ("base", "https://docs.example.org/")
    assert (data["default_lang"], data["version"]) == ("en", "3")
    assert data["policy"]["granularity"] == "section"
    assert data["policy"]["furniture"] == [*EVERY, ".x"]
    assert [row["url"] for row in data["pages"]] == ["a/index.html", "index.html"]
    assert {row["lang"] for row in data["pages"]} == {"de"}
    assert not (tmp_path / "site" / "passages.jsonl").exists()


@pytest.mark.parametrize(
    ("config", "arguments", "reason"),
    [
        (None, (), "the publication has no name"),
        ("{}", (), "the publication has no name"),
        ("a: [", (), "mkdocs.yml is not YAML"),
        ("- a", (), "mkdocs.yml is not a mapping of options"),
        ("INHERIT: mkdocs.yml", (), "mkdocs.yml inherits from itself"),
        ("INHERIT: nowhere.yml", (), "nowhere.yml cannot be read"),
        ("site_name: 7", (), "site_name in mkdocs.yml is not a text"),
        ("site_name: x\nplugins: [markstay: {granularity: word}]", (), "granularity is one of"),
        ("site_name: x\nplugins: [markstay: {formats: [xml]}]", (), "formats are json, jsonl, parquet"),
        ("site_name: x\nplugins: [markstay: {levels: [true]}]", (), "is not a list, each entry a number"),
        ("site_name: x\nplugins: [markstay: 7]", (), "markstay in mkdocs.yml is not a mapping"),
        ("site_name: x\nplugins: [markstay: {passages: {max_chars: 9}}]", (), "max_chars at least 100"),
        ("site_name: x\nplugins: [markstay: {passages: {max_chars: true}}]", (), "is not a number"),
        ("site_name: x\nplugins: [markstay: {findings: {x: error}}]", (), "There is no finding code 'x'"),
        ("site_name: x\nplugins: [markstay: {levels: [7]}]", (), "Heading levels are 1 to 6, not 7"),
        ("site_name: x\nplugins: [markstay: {findings: {cut-off: bad}}]", (), "'bad' is none of the levels"),
        ("site_name: x\nplugins: [markstay: {furniture: ['[']}]", (), "'[' is not a CSS selector"),
        ('site_name: x\nplugins: [markstay: {version: "a\\nb"}]', (), "version must be one line"),
        ("site_name: x", ("--content", "p:("), "'p:(' is not a CSS selector"),
        ("site_name: x", ("--exclude", "!"), "Not a pattern"),
        ("site_name: x", ("--exclude", "*.html"), "there is no page of prose in site"),
    ],
)  # fmt: skip
def test_options_that_cannot_be(
    config: str | None, arguments: tuple[str, ...], reason: str, tmp_path: Path
) -> None:
    write(tmp_path, {"site/index.html": page("<h1>A</h1>")})
    if config is not None:
        write(tmp_path, {"mkdocs.yml": config})
        arguments = ("-f", "mkdocs.yml", *arguments)
    ran = run_markstay(tmp_path, "manifest", "site", *arguments)
    assert ran.code == 2, ran
    assert reason in ran.err
    assert [path.name for path in (tmp_path / "site").iterdir()] == ["index.html"]


def test_a_folder_without_pages(tmp_path: Path) -> None:
    write(tmp_path, {"site/x.txt": ""})
    ran = run(tmp_path)
    assert (ran.code, ran.err) == (2, "mkdocs-markstay: there is no HTML file in site\n")


def test_a_page_that_cannot_be_read(tmp_path: Path) -> None:
    write(tmp_path, {"site/index.html": page("<h1>A</h1>")})
    (tmp_path / "site" / "b.html").symlink_to("nowhere")
    ran = run(tmp_path)
    assert ran.code == 2
    assert re.fullmatch(r"mkdocs-markstay: site/b.html cannot be read: .+\n", ran.err)


def test_it_needs_no_mkdocs(tmp_path: Path) -> None:
    write(tmp_path, {"site/index.html": page("<h1>A</h1>"), "mkdocs.yml": "site_name: A\n"})
    code = (
        "import sys; sys.modules['mkdocs'] = sys.modules['markdown'] = None\n"
        "from mkdocs_markstay.cli import main; main(['manifest', 'site', '-f', 'mkdocs.yml'])"
    )
    with working_in(tmp_path):
        command = [sys.executable, "-W", "error", "-c", code]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "site: 1 page, 0 sections, 0 passages\n"
