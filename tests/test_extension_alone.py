"""The Markdown extension without the plugin: it takes ids, and enforces them in pages."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest
from markdown import Markdown
from site_builder import Site, build_site, run_markstay, run_mkdocs, write_site

from mkdocs_markstay import site_kind
from mkdocs_markstay.enforce import FindingsError

if TYPE_CHECKING:
    from pathlib import Path

NO_PLUGINS: dict[str, Any] = {"plugins": []}
BAD = {
    "docs/index.md": "---\ntitle: Home\n---\n\n# Home <#home>\n\n## Two\n\n### Three\n\n## Four {#home}\n",
    "docs/more.md": "# More\n\n## Five\n",
}


@pytest.fixture(autouse=True)
def _only_mkdocs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sites without the plugin may be Zensical's, if that is installed."""
    monkeypatch.setattr(site_kind, "is_zensical", lambda _config_file: False)


def alone(files: dict[str, str], **options: Any) -> Site:
    return Site(dict(files), ({"mkdocs_markstay": options}, "toc"), config=NO_PLUGINS)


# -- without a generator


@pytest.mark.parametrize("options", [{}, {"levels": [1]}, {"no": "option"}])
def test_plain_markdown_is_never_enforced(options: dict[str, Any]) -> None:
    md = Markdown(extensions=["mkdocs_markstay"], extension_configs={"mkdocs_markstay": options})
    text = "## One <#one>\n\n## Two {#two .x}\n\n## Three\n\nText\n"
    assert md.convert(text) == (
        '<h2 id="one">One</h2>\n<h2 class="x" id="two">Two</h2>\n<h2>Three</h2>\n<p>Text</p>'
    )


def test_markers_are_left_out_of_plain_markdown() -> None:
    text = "- one\n<!-- stay:a1 -->\n\n- two\n<!-- stay:a2 -->\n"
    html = Markdown(extensions=["mkdocs_markstay"]).convert(text)
    assert html == Markdown().convert("- one\n\n- two\n")


# -- MkDocs


def test_all_findings_of_a_page_are_told_by_its_build(tmp_path: Path) -> None:
    write_site(tmp_path, alone(BAD))
    built = run_mkdocs(tmp_path)
    assert (built.verdict, built.pages()) == (1, {})
    assert built.places == [
        "docs/index.md:7 missing-id",
        "docs/index.md:9 missing-id",
        "docs/index.md:11 duplicate-id",
    ]
    assert [line for line in built.log if line][-1] == (
        "markstay: 3 errors (duplicate-id 1, missing-id 2) in 1 file"
    )


def test_a_good_site_shows_no_trace_of_it(tmp_path: Path) -> None:
    text = "# Home <#home>\n\n## Two {#two}\n\nWords.\n"
    html = build_site(tmp_path, alone({"docs/index.md": text})).html()
    assert '<main><h1 id="home">Home</h1>\n<h2 id="two">Two</h2>\n<p>Words.</p></main>' in html
    assert '<a href="#two">Two</a>' in html
    assert "markstay" not in html


@pytest.mark.parametrize(
    ("options", "places"),
    [
        ({"levels": [3]}, ["docs/index.md:3 missing-id"]),
        ({"levels": []}, []),
        ({"levels": None}, ["docs/index.md:1 missing-id", "docs/index.md:3 missing-id"]),
        ({"levels": [], "id_pattern": "[a-z]"}, ["docs/index.md:5 id-pattern"]),
        ({"exclude": ["ind*.md"]}, []),
        ({"findings": {"missing-id": "ignore"}}, []),
    ],
)
def test_options(tmp_path: Path, options: dict[str, Any], places: list[str]) -> None:
    site = alone({"docs/index.md": "## One\n\n### Two\n\n## Three <#three>\n"}, **options)
    built = build_site(tmp_path, site)
    assert built.places == places
    assert isinstance(built.error, FindingsError if places else type(None))
    # What is said before a build is the same.
    ran = run_markstay(tmp_path, "check", "--no-cache")
    assert [f"{found.path}:{found.line} {found.code}" for found in ran.findings] == places
    assert "name markstay yet" not in ran.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"level": [2]},
            "the extension has no option 'level'. It has: levels, id_pattern, exclude,",
        ),
        ({"levels": 2}, "option 'levels': Expected a list of numbers, not 2"),
        ({"levels": [True]}, "option 'levels': Expected a list of numbers, not [True]"),
        ({"levels": [7]}, "option 'levels': Heading levels are 1 to 6, not 7"),
        ({"id_pattern": "("}, "option 'id_pattern': Not a regular expression: "),
        ({"id_pattern": 1}, "option 'id_pattern': Expected a regular expression as text"),
        ({"exclude": "x"}, "option 'exclude': Expected a list of patterns, not 'x'"),
        ({"exclude": ["!"]}, "option 'exclude': Not a pattern as in .gitignore: "),
        ({"enforce_generated": 1}, "option 'enforce_generated': Expected true or false, not 1"),
        ({"findings": ["x"]}, "option 'findings': Expected finding codes with their levels, "),
        ({"findings": {"x": "error"}}, "option 'findings': There is no finding code 'x'"),
        (
            {"findings": {"missing-id": False}},
            "option 'findings': False is none of the levels error, warning, info, ignore",
        ),
    ],
)
def test_wrong_options_are_told(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    built = build_site(tmp_path, alone({"docs/index.md": "# A\n"}, **options))
    assert str(built.error).startswith(f"mkdocs_markstay: {message}")
    ran = run_markstay(tmp_path, "check", "--no-cache")
    assert ran.code == 2
    assert ran.err.startswith(f"mkdocs-markstay: mkdocs_markstay: {message}")


def test_a_wrong_option_is_no_fault_of_the_program(tmp_path: Path) -> None:
    write_site(tmp_path, alone({"docs/index.md": "# A\n"}, levels=[7]))
    built = run_mkdocs(tmp_path)
    assert built.verdict == 1
    message = "mkdocs_markstay: option 'levels': Heading levels are 1 to 6, not 7"
    assert [line for line in built.log if line][-1] == message


def test_the_plugin_goes_first(tmp_path: Path) -> None:
    """With both, the options of the plugin hold, and it tells of all pages."""
    site = Site(
        dict(BAD),
        ({"mkdocs_markstay": {"levels": [3], "findings": {"duplicate-id": "ignore"}}},),
        plugin={"levels": [2]},
    )
    assert build_site(tmp_path, site).places == [
        "docs/index.md:7 missing-id",
        "docs/index.md:11 duplicate-id",
        "docs/more.md:3 missing-id",
    ]


def test_warnings_of_all_pages_are_told_and_fail_a_strict_build(tmp_path: Path) -> None:
    write_site(tmp_path, alone(BAD, findings={"missing-id": "warning", "duplicate-id": "ignore"}))
    places = ["docs/index.md:7", "docs/index.md:9", "docs/more.md:3"]
    for arguments, verdict in (([], 0), (["--strict"], 1)):
        built = run_mkdocs(tmp_path, *arguments)
        assert (built.verdict, built.places) == (verdict, [f"{p} missing-id" for p in places])


def test_a_preview_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["mkdocs", "--quiet", "serve"])
    built = build_site(tmp_path, alone(BAD), command="serve")
    assert built.passed
    assert {found.level for found in built.findings} == {"warning"}
    assert len(built.findings) == 4


def test_old_findings_do_not_fail(tmp_path: Path) -> None:
    write_site(tmp_path, alone({**BAD, "docs/z.md": "# Z\n\n## Five\n"}))
    assert run_markstay(tmp_path, "baseline").code == 0
    assert build_site(tmp_path).passed
    # Each line of the baseline lowers one finding.
    (tmp_path / "docs" / "z.md").write_text("# Z\n\n## Five\n\n## Five\n")
    assert build_site(tmp_path).places[-1] == "docs/z.md:5 missing-id"
    (tmp_path / "markstay.baseline").write_text("nothing\n")
    assert "markstay.baseline:1 bad-baseline" in build_site(tmp_path).places


def test_headings_that_a_tool_makes_are_not_enforced(tmp_path: Path) -> None:
    module = 'def f():\n    """Do it.\n\n    ## Inner\n\n    ## Own <#own>\n    """\n'
    files = {"docs/index.md": "# A\n\n::: pkg_alone\n\n## B\n", "pkg_alone.py": module}
    handlers = {"python": {"paths": [str(tmp_path)]}}
    built = build_site(
        tmp_path,
        Site(
            files,
            ("mkdocs_markstay",),
            config={"plugins": [{"mkdocstrings": {"handlers": handlers}}]},
        ),
    )
    assert built.places == ["docs/index.md:5 missing-id"]


NESTED = """\
from markdown import Extension, Markdown, preprocessors

class Run(preprocessors.Preprocessor):
    def run(self, lines):
        md = Markdown(extensions=["mkdocs_markstay", "toc"])
        return [md.convert(line[4:]) if line.startswith("run ") else line for line in lines]

class Nested(Extension):
    def extendMarkdown(self, md):
        md.preprocessors.register(Run(md), "run", 21)

def makeExtension():
    return Nested()
"""


def test_markdown_in_a_page_is_no_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What another extension converts needs no ids; its anchors are known for slugs."""
    monkeypatch.syspath_prepend(tmp_path)
    text = "# A\n\nrun ## Part\n\nrun ## Own <#own>\n\n## Part <#part>\n\n## B\n"
    site = Site(
        {"docs/index.md": text, "nested_alone.py": NESTED},
        ("nested_alone", "mkdocs_markstay", "toc"),
        config=NO_PLUGINS,
    )
    built = build_site(tmp_path, site)
    assert built.places == ["docs/index.md:7 id-taken", "docs/index.md:9 missing-id"]


def test_included_files_are_named(tmp_path: Path) -> None:
    files = {
        "docs/index.md": '---\nx: y\n---\n# A\n\n--8<-- "part.md"\n',
        "part.md": "Words.\n\n## Part\n",
    }
    snippets = {"pymdownx.snippets": {"base_path": [str(tmp_path)]}}
    site = Site(files, ("mkdocs_markstay", snippets), config=NO_PLUGINS)
    (found,) = build_site(tmp_path, site).findings
    assert (found.path, found.line) == ("part.md", 3)
    assert found.message.endswith("(inserted by docs/index.md:6)")


def test_a_page_says_of_itself_what_holds(tmp_path: Path) -> None:
    files = {
        "docs/index.md": "---\nmarkstay: false\n---\n# A\n\n## B\n",
        "docs/b.md": "---\npage_id: not one\n---\n# B\n",
    }
    assert build_site(tmp_path, alone(files)).places == ["docs/b.md:2 page-id"]


def test_markers_are_taken_out_and_enforced(tmp_path: Path) -> None:
    pages = {
        "docs/index.md": "# Home <#home>\n\nOne.\n<!-- stay:a1 -->\n\nTwo.\n<!-- stay:a2 -->\n",
        "docs/more.md": "# More\n\nThree.\n",
    }
    built = build_site(tmp_path / "a", alone(pages, stay_anchors=True))
    assert built.passed
    assert '<p id="stay-a1">One.</p>\n<p id="stay-a2">Two.</p>' in built.html()
    write_site(tmp_path / "b", alone(pages, stays="required"))
    failed = run_mkdocs(tmp_path / "b")
    assert (failed.verdict, failed.places) == (1, ["docs/more.md:3 stay-missing"])
