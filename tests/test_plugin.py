"""The plugin in real builds: failing well, modes, options."""

from __future__ import annotations

import logging
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from typing import TYPE_CHECKING, Any

import pytest
from mkdocs.commands.build import build
from mkdocs.config import load_config
from site_builder import Site, build_site, run_mkdocs, write_site

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

GOOD = {
    "docs/index.md": "# Home <#home>\n\nWords.\n",
    "docs/b.md": "# B\n\n## Part {#part}\n\nMore.\n",
}
BAD = {
    "docs/index.md": "---\ntitle: Home\n---\n# Home <#home>\n\n## Missing\n\n## Again <#home>\n",
    "docs/b.md": "# B\n\n## Missing too\n\n## Glued{#glued}\n",
    "docs/a/c.md": "# C\n\nWords.\n\n## Empty <#>\n",
}
BAD_PLACES = [
    "docs/a/c.md:5 empty-id",
    "docs/b.md:3 missing-id",
    "docs/b.md:5 misplaced-id",
    "docs/index.md:6 missing-id",
    "docs/index.md:8 duplicate-id",
]


# -- failing well


@pytest.mark.parametrize("arguments", [[], ["--strict"], ["--quiet"], ["-q", "-s"], ["--dirty"]])
def test_every_finding_is_told_once_and_nothing_is_published(
    tmp_path: Path, arguments: list[str]
) -> None:
    write_site(tmp_path, Site(BAD))
    built = run_mkdocs(tmp_path, *arguments)
    assert built.verdict == 1
    assert built.places == BAD_PLACES
    assert built.pages() == {}
    assert built.manifest is None
    assert not [line for line in built.log if "Traceback" in line]


def test_repairs_can_be_pasted(tmp_path: Path) -> None:
    built = build_site(tmp_path, Site(BAD))
    lines = {path: text.split("\n") for path, text in BAD.items()}
    for found in built.findings:
        repair = re.search(
            r"Write: (.*?)(, or run: mkdocs-markstay stamp (\S+) --write)?$", found.message
        )
        assert repair is not None, found
        # Only an id that is missing can be written by the command, into the same file.
        assert repair[3] == (found.path if found.code == "missing-id" else None)
        lines[found.path][found.line - 1] = repair[1]
    repaired = build_site(tmp_path, Site({path: "\n".join(text) for path, text in lines.items()}))
    assert repaired.passed, repaired.log
    assert repaired.manifest is not None
    ids = [section["section_id"] for section in repaired.manifest["sections"]]
    assert ids == ["empty", "missing-too", "glued", "home", "missing", "again"]


def test_the_command_is_named_only_where_it_writes(tmp_path: Path) -> None:
    text = "# A\n\n## Using C#\n\n## Fine\n\n<h2>Raw</h2>\n"
    built = build_site(tmp_path, Site({"docs/index.md": text}))
    named = {found.line: "run: mkdocs-markstay stamp" in found.message for found in built.findings}
    assert named == {3: False, 5: True, 7: False}


def test_many_findings_have_a_summary_first(tmp_path: Path) -> None:
    text = "# Home\n\n" + "".join(f"## Part {n}\n\n" for n in range(300))
    built = build_site(tmp_path, Site({"docs/index.md": text}))
    first = next(line for line in built.log if "missing-id" in line)
    assert first == "markstay: 300 errors (missing-id 300) in 1 file"
    assert len(built.findings) == 300


def test_a_failed_build_does_not_leak_into_the_next(tmp_path: Path) -> None:
    assert build_site(tmp_path, Site(BAD)).places == BAD_PLACES
    good = build_site(tmp_path, Site({**GOOD, "docs/a/c.md": "# C\n"}))
    assert good.passed
    assert not good.findings
    assert good.manifest == build_site(tmp_path).manifest


def test_a_warning_publishes_unless_strict(tmp_path: Path) -> None:
    site = Site(
        BAD,
        plugin={
            "findings": dict.fromkeys(
                ("missing-id", "duplicate-id", "misplaced-id", "empty-id"), "warning"
            )
        },
    )
    built = build_site(tmp_path, site)
    assert built.passed
    assert built.places == BAD_PLACES
    assert {found.level for found in built.findings} == {"warning"}
    assert built.manifest is not None
    for arguments in (["--strict"], ["--strict", "--quiet"]):
        strict = run_mkdocs(tmp_path, *arguments)
        assert strict.verdict == 1
        assert strict.manifest is None
        assert strict.pages() == {}


def test_findings_can_be_ignored(tmp_path: Path) -> None:
    site = Site({"docs/index.md": "# A\n\n## B\n"}, plugin={"findings": {"missing-id": "ignore"}})
    built = build_site(tmp_path, site)
    assert built.passed
    assert not built.findings


def test_a_strict_build_that_fails_elsewhere_has_no_manifest(tmp_path: Path) -> None:
    write_site(tmp_path, Site({"docs/index.md": "# A <#a>\n\n[b](nowhere.md)\n"}))
    assert run_mkdocs(tmp_path, "--strict").manifest is None
    assert run_mkdocs(tmp_path).manifest is not None


def test_an_id_of_the_theme_is_taken(tmp_path: Path) -> None:
    site = Site(
        {"docs/index.md": "# A\n\n## Search {#mkdocs_search_modal}\n"},
        config={"theme": "mkdocs", "plugins": ["search", "markstay"]},
    )
    built = build_site(tmp_path, site)
    assert built.places == ["docs/index.md:3 id-taken"]
    assert "element of the theme" in built.findings[0].message
    assert built.pages() == {}


def test_an_id_that_one_template_takes_late_is_found(tmp_path: Path) -> None:
    """An id that only some page's template has is seen when that page is published."""
    template = "<html><body>{{ page.content }}{% if page.url == 'z/' %}<p id='late'>{% endif %}"
    files = {f"docs/{name}.md": f"# {name}\n\n## X <#late>\n" for name in "abcz"}
    site = Site(
        {**files, "theme/main.html": template},
        config={"theme": {"name": None, "custom_dir": "theme2"}},
    )
    write_site(tmp_path, Site({**site.files, "theme2/main.html": template}, config=site.config))
    built = build_site(tmp_path)
    assert built.places == ["docs/z.md:3 id-taken"]
    assert built.verdict == 1
    assert built.pages() == {}
    assert built.manifest is None


def test_a_file_that_is_not_utf8(tmp_path: Path) -> None:
    latin = "# A\n\ncaf\xe9\n\n## Late\n".encode("latin-1")
    files: dict[str, str | bytes] = {**BAD, "docs/latin.md": latin}
    built = build_site(tmp_path, Site(files))
    assert [place for place in built.places if "latin" in place] == [
        "docs/latin.md:3 not-utf-8",
        "docs/latin.md:5 missing-id",
    ]
    assert built.verdict == 1


def test_findings_survive_the_failure_of_another_plugin(tmp_path: Path) -> None:
    hook = "def on_page_content(html, page, **_):\n    assert page.file.name != 'z', 'other'\n"
    files = {"docs/a.md": "# A\n\n## B\n", "docs/z.md": "# Z\n", "hook.py": hook}
    built = build_site(tmp_path, Site(files, config={"hooks": ["hook.py"]}))
    assert built.places == ["docs/a.md:3 missing-id"]
    assert isinstance(built.error, AssertionError)


def test_gh_deploy_publishes_nothing(tmp_path: Path) -> None:
    git = shutil.which("git")
    if git is None:
        pytest.skip("git is not installed")
    write_site(tmp_path, Site(BAD))
    environ = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "NO_MKDOCS_2_WARNING": "1"}
    for arguments in (["init", "-q"], ["remote", "add", "origin", "."]):
        subprocess.run([git, *arguments], cwd=tmp_path, env=environ, check=True)
    command = [sys.executable, "-m", "mkdocs", "gh-deploy", "--no-history"]
    done = subprocess.run(
        command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "docs/b.md:3: error[missing-id]" in done.stderr
    branches = subprocess.run(
        [git, "branch", "-a"], cwd=tmp_path, env=environ, capture_output=True, text=True, check=True
    )
    assert "gh-pages" not in branches.stdout


# -- serve


def wait_for(check: Callable[[], bool], what: str, seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < end, f"not in time: {what}"
        time.sleep(0.1)


def test_serve_warns_goes_on_and_recovers(tmp_path: Path) -> None:
    write_site(tmp_path, Site({"docs/index.md": "# A <#a>\n\n## Missing\n\nFirst words.\n"}))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = tmp_path / "log.txt"

    def get(path: str) -> str:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/{path}", timeout=5) as answer:
                body: str = answer.read().decode()
                return body
        except OSError:
            return ""

    with log.open("w") as output:
        server = subprocess.Popen(
            [sys.executable, "-m", "mkdocs", "serve", "-a", f"127.0.0.1:{port}"],
            cwd=tmp_path,
            env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            wait_for(lambda: "First words." in get(""), "the page with a finding")
            told = log.read_text()
            assert "WARNING -  docs/index.md:3: warning[missing-id]" in told
            assert '"preview":true' in get("passages.json")
            time.sleep(1)  # the watcher tells files apart by time
            (tmp_path / "docs/index.md").write_text("# A <#a>\n\n## Now <#now>\n\nSecond words.\n")
            wait_for(lambda: "Second words." in get(""), "the repaired page")
            assert "index#now" in get("passages.json")
            assert log.read_text().count("warning[") == 1
        finally:
            server.terminate()
            server.wait(10)


def test_a_draft_is_served_but_in_no_manifest(tmp_path: Path) -> None:
    files = {"docs/index.md": "# A <#a>\n\nShown.\n", "docs/d.md": "# D\n\n## No id\n\nDraft.\n"}
    write_site(tmp_path, Site(files, config={"draft_docs": "d.md"}))
    config = load_config(str(tmp_path / "mkdocs.yml"))
    config.plugins.on_startup(command="serve", dirty=False)
    build(config, serve_url="http://127.0.0.1:8000/")
    config.plugins.on_shutdown()
    manifest = (tmp_path / "site" / "passages.json").read_text()
    assert "Shown." in manifest
    assert "d.md" not in manifest
    assert "Draft." in (tmp_path / "site" / "d" / "index.html").read_text()


# -- options


def test_levels(tmp_path: Path) -> None:
    files = {"docs/index.md": "# A\n\n## B <#b>\n\n### C\n\nc words\n\n#### D\n"}
    assert build_site(tmp_path, Site(files)).places == [
        "docs/index.md:5 missing-id",
        "docs/index.md:9 missing-id",
    ]
    built = build_site(tmp_path, Site(files, plugin={"levels": [2]}))
    assert built.passed
    assert built.manifest is not None
    assert [s["section_id"] for s in built.manifest["sections"]] == ["b"]
    # A heading that needs no id is a line of text in its section.
    assert [p["text"] for p in built.manifest["passages"]] == ["C\n\nc words\n\nD"]
    assert build_site(tmp_path, Site(files, plugin={"levels": [1, 2]})).places == [
        "docs/index.md:1 missing-id"
    ]


def test_id_pattern(tmp_path: Path) -> None:
    files = {"docs/index.md": "# A\n\n## B <#b_c>\n\n## D <#d-e>\n"}
    built = build_site(tmp_path, Site(files, plugin={"id_pattern": "[a-z-]+"}))
    assert built.places == ["docs/index.md:3 id-pattern"]


@pytest.mark.parametrize(
    ("parity", "level"), [("off", ""), ("warn", "warning"), ("error", "error")]
)
def test_parity(tmp_path: Path, parity: str, level: str) -> None:
    languages = [
        {"locale": "en", "default": True, "name": "English"},
        {"locale": "de", "name": "Deutsch"},
    ]
    files = {"docs/index.md": "# A\n\n## B <#b>\n", "docs/index.de.md": "# A\n\n## B <#c>\n"}
    plugins = [
        {"i18n": {"docs_structure": "suffix", "languages": languages}},
        {"markstay": {"parity": "?"}},
    ]
    config = write_site(tmp_path, Site(files, config={"plugins": plugins}))
    # Without quotes, as people write it: YAML reads `off` as false.
    config.write_text(config.read_text().replace("'?'", parity))
    built = build_site(tmp_path)
    assert [f.level for f in built.findings] == ([level] if level else [])
    assert built.places == (["docs/index.de.md:3 parity-extra"] if level else [])
    assert built.passed is (level != "error"), built.log


def test_exclude_and_front_matter(tmp_path: Path) -> None:
    files = {
        "docs/index.md": "# A <#a>\n\nShown.\n",
        "docs/old/x.md": "# X\n\n## No id <#gone>\n\n## No\n",
        "docs/news.md": "# News\n\n## No\n",
        "docs/own.md": "---\nmarkstay: false\n---\n# Own\n\n## No <#id>\n\n## No\n",
    }
    built = build_site(tmp_path, Site(files, plugin={"exclude": ["old/", "news.md"]}))
    assert built.passed, built.log
    assert built.manifest is not None
    assert [page["source"] for page in built.manifest["pages"]] == ["index.md"]
    # Their ids are ids all the same.
    assert "&lt;#" not in built.html("old/x/index.html")
    assert 'id="gone"' in built.html("old/x/index.html")
    assert "data-markstay" not in built.html("old/x/index.html")


@pytest.mark.parametrize(
    ("front_matter", "place"),
    [
        ("page_id: a b", "docs/index.md:2 page-id"),
        ("title: T\npage_id: 12", "docs/index.md:3 page-id"),
        ("page_id: ../x", "docs/index.md:2 page-id"),
        ('page_id: "a#b"', "docs/index.md:2 page-id"),
        ("page_id: other", "docs/other.md:1 duplicate-page-id"),
        ("markstay: maybe", "docs/index.md:2 page-options"),
        ("markstay:\n  furniture: .x", "docs/index.md:2 page-options"),
        ("markstay:\n  furniture: ['p[']", "docs/index.md:2 page-options"),
        ("markstay:\n  hidden: true", "docs/index.md:2 page-options"),
    ],
)
def test_front_matter_that_is_wrong(tmp_path: Path, front_matter: str, place: str) -> None:
    files = {"docs/index.md": f"---\n{front_matter}\n---\n# A\n", "docs/other.md": "# B\n"}
    assert build_site(tmp_path, Site(files)).places == [place]


def test_page_id_of_the_page(tmp_path: Path) -> None:
    files = {
        "docs/guide/install.md": "---\npage_id: setup/first\n---\n# A\n\n## B <#b>\n\nWords.\n",
        "docs/index.md": "# Home\n\nLead.\n",
    }
    built = build_site(tmp_path, Site(files))
    assert built.manifest is not None
    assert [page["page_id"] for page in built.manifest["pages"]] == ["index", "setup/first"]
    assert built.manifest["sections"][0]["referent"] == "setup/first#b"
    assert built.manifest["sections"][0]["url"] == "guide/install/#b"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"levels": [0]}, "Heading levels are 1 to 6, not 0"),
        ({"levels": ["two"]}, "levels"),
        ({"id_pattern": "("}, "Not a regular expression"),
        ({"findings": {"missing": "error"}}, "There is no finding code 'missing'"),
        ({"findings": {"missing-id": "fatal"}}, "'fatal'"),
        ({"furniture": ["p["]}, "'p[' is not a CSS selector"),
        ({"granularity": "word"}, "granularity"),
        ({"formats": ["xml"]}, "formats"),
        ({"passages": {"min_chars": 500, "target_chars": 100}}, "min_chars <= target_chars"),
        ({"verify": True, "formats": ["jsonl"]}, "verify needs 'json'"),
        ({"exclude": "old/"}, "exclude"),
        ({"exclude": ["!"]}, "exclude"),
        ({"publication": "a\nb"}, "publication"),
        ({"language": " "}, "language"),
    ],
)
def test_options_that_are_wrong(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    write_site(tmp_path, Site(GOOD, plugin=options))
    built = run_mkdocs(tmp_path)
    assert built.verdict == 1
    assert message in "\n".join(built.log)


def test_furniture_of_site_and_page(tmp_path: Path) -> None:
    text = "---\nmarkstay:\n  furniture: [.own]\n---\n# A <#a>\n\nKept.\n\n"
    blocks = '<p class="own">one</p>\n\n<p class="all">two</p>\n\n<p hidden>three</p>\n'
    files = {"docs/index.md": text + blocks, "docs/b.md": "# B <#b>\n\nKept.\n\n" + blocks}
    built = build_site(tmp_path, Site(files, plugin={"furniture": [".all"], "verify": True}))
    assert built.passed, built.log
    assert built.manifest is not None
    texts = {p["referent"]: p["text"] for p in built.manifest["passages"]}
    assert texts == {"b#b": "Kept.\n\none", "index#a": "Kept."}


def test_generated_pages_are_enforced_when_asked(tmp_path: Path) -> None:
    hook = """
from mkdocs.structure.files import File
def on_files(files, config):
    files.append(File.generated(config, 'made.md', content='# Made\\n\\n## Part\\n'))
"""
    files = {"docs/index.md": "# A\n", "hook.py": hook}
    site = Site(files, config={"hooks": ["hook.py"]})
    built = build_site(tmp_path, site)
    assert built.passed, built.log
    assert built.manifest is not None
    assert [page["generated"] for page in built.manifest["pages"]] == [False, True]
    asked = build_site(
        tmp_path, Site(files, config=site.config, plugin={"enforce_generated": True})
    )
    assert asked.places == ["made.md:3 missing-id"]


def test_attr_list_stays_as_the_site_has_it(tmp_path: Path) -> None:
    text = "# A\n\n## B {#b .x data-y='z'}\n\nText\n{: .note }\n"
    built = build_site(tmp_path, Site({"docs/index.md": text}, ({"attr_list": {}},)))
    assert '<h2 class="x" data-y="z" id="b">B</h2>' in built.html()
    assert '<p class="note">Text</p>' in built.html()


def test_the_extension_may_be_listed_too(tmp_path: Path) -> None:
    """As sites do that are also built by a generator without plugins."""
    built = build_site(tmp_path, Site(BAD, ("mkdocs_markstay", "attr_list")))
    assert built.places == BAD_PLACES
    assert build_site(tmp_path / "good", Site(GOOD, ("mkdocs_markstay",))).passed


def test_a_failed_dirty_build_leaves_the_published_site(tmp_path: Path) -> None:
    write_site(tmp_path, Site(GOOD))
    before = run_mkdocs(tmp_path)
    page = tmp_path / "docs" / "b.md"
    page.write_text("# B\n\n## No id\n")
    os.utime(page, (time.time() + 10, time.time() + 10))
    after = run_mkdocs(tmp_path, "--dirty")
    assert after.places == ["docs/b.md:3 missing-id"]
    assert after.pages() == before.pages()
    assert after.manifest is not None


def test_lines_of_a_file_with_other_line_ends(tmp_path: Path) -> None:
    """MkDocs takes form feeds and Unicode line separators for line ends; editors do not."""
    text = "\n\n# A\n\none\x0ctwo\u2028three\x85four\n\n## B\n\nWords.\n"
    assert build_site(tmp_path, Site({"docs/index.md": text})).places == [
        "docs/index.md:7 missing-id"
    ]


def test_an_id_on_the_line_below(tmp_path: Path) -> None:
    built = build_site(tmp_path, Site({"docs/index.md": "# A\n\n## B\n{: #c }\n\ntext\n"}))
    assert built.places == ["docs/index.md:3 misplaced-id"]
    assert built.findings[0].message.endswith("Write: ## B <#c>, and delete the line below")


@pytest.mark.parametrize("plugins", [["blog", "markstay"], ["markstay", "blog"]])
def test_the_address_of_a_blog_post_has_no_id(tmp_path: Path, plugins: list[str]) -> None:
    post = "---\ndate: 2026-01-02\n---\n\n# {}\n\nLead.\n"
    files = {
        "docs/index.md": "# Home\n",
        "docs/blog/index.md": "# Blog\n",
        "docs/blog/posts/one.md": post.format("Post one <#first>"),
        "docs/blog/posts/two.md": post.format("Post two {#second}"),
    }
    site = Site(files, config={"theme": "material", "plugins": plugins})
    built = build_site(tmp_path, site)
    assert built.manifest is not None, built.log
    urls = [page["url"] for page in built.manifest["pages"] if "posts/" in page["source"]]
    assert urls == ["blog/2026/01/02/post-one/", "blog/2026/01/02/post-two/"]


def test_a_title_that_another_plugin_set_shows_no_id(tmp_path: Path) -> None:
    hook = "def on_page_markdown(markdown, page, **_):\n    page.title = 'Raw title <#raw>'\n"
    files = {"docs/index.md": "# Raw title <#raw>\n", "hook.py": hook}
    built = build_site(tmp_path, Site(files, config={"hooks": ["hook.py"]}))
    assert "<title>Raw title</title>" in built.html()


def test_an_id_that_another_plugin_takes_away(tmp_path: Path) -> None:
    hook = "def on_post_page(output, **_):\n    return output.replace('id=\"b\"', '')\n"
    files = {"docs/index.md": "# A\n\n## B <#b>\n\nWords.\n", "hook.py": hook}
    built = build_site(tmp_path, Site(files, config={"hooks": ["hook.py"]}))
    assert built.places == ["docs/index.md:3 lost-id"]
    assert built.findings[0].level == "warning"
    assert built.manifest is not None
    assert built.manifest["sections"] == []
    assert built.manifest["passages"][0]["referent"] == "index"


def test_a_page_without_its_content_is_not_in_the_manifest(tmp_path: Path) -> None:
    files = {
        "docs/index.md": "---\ntemplate: bare.html\n---\n# A\n\n## B <#b>\n\nSecret.\n",
        "docs/b.md": "# B\n\nShown.\n",
        "theme/bare.html": "<html><body>nothing",
    }
    built = build_site(tmp_path, Site(files))
    assert built.passed
    assert built.places == ["docs/index.md:1 not-published"]
    assert built.manifest is not None
    assert [page["source"] for page in built.manifest["pages"]] == ["b.md"]
    assert b"Secret" not in (built.manifest_bytes or b"")


def test_loggers_are_those_of_mkdocs() -> None:
    from mkdocs_markstay import plugin  # noqa: PLC0415

    assert plugin.log is logging.getLogger("mkdocs.plugins.markstay")


def test_a_file_that_is_included_twice(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "docs/index.md": '# A\n\n--8<-- "inc/p.md"\n\nText.\n\n--8<-- "inc/p.md"\n',
        "inc/p.md": "## Part <#part>\n",
    }
    snippets = {"pymdownx.snippets": {"base_path": [str(tmp_path)]}}
    built = build_site(tmp_path, Site(files, extensions=(snippets,)))
    assert built.places == ["docs/index.md:7 duplicate-id"]
    assert built.findings[0].message.endswith(". Include the file once in a page")
