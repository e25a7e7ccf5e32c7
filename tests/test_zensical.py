"""Sites that Zensical builds: enforced by the extension in a build, and by our commands."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
import time
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from site_builder import Ran, run_markstay

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

pytestmark = pytest.mark.skipif(
    find_spec("zensical") is None,
    reason="Zensical is not installed (it needs Python 3.11): pip install -e '.[test,integration]'",
)

GOOD = "# {0} <#top>\n\n## Part of {0} {{#part}}\n\nWords.\n"
BAD = "---\ntitle: {0}\n---\n\n# {0}\n\n## One\n\nWords.\n\n### Two <#no end>\n"
SECONDS = 60


def write_files(folder: Path, files: Mapping[str, str | bytes]) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def write_site(
    folder: Path,
    files: Mapping[str, str | bytes],
    extensions: tuple[str | dict[str, Any], ...] = ("mkdocs_markstay",),
    **config: Any,
) -> None:
    """Write a site that Zensical builds by an `mkdocs.yml`; ``files`` are named from there."""
    values = {"site_name": "Test", "markdown_extensions": list(extensions), **config}
    write_files(folder, {**files, "mkdocs.yml": yaml.safe_dump(values)})


def run_zensical(folder: Path, *arguments: str) -> Ran:
    """Build a site with Zensical. The ``out`` is what we make it write: it goes to errors."""
    done = subprocess.run(
        [sys.executable, "-m", "zensical", "build", *arguments],
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        timeout=SECONDS,
        check=False,
    )
    # Zensical's own verdict is on the links.
    return Ran(done.returncode, done.stderr.replace("No issues found\n", ""), done.stdout)


def check(folder: Path, *arguments: str) -> Ran:
    return run_markstay(folder, "check", *arguments)


def count_rendered(ran: Ran) -> int:
    match = re.search(r", (\d+) rendered now\)", ran.err)
    assert match is not None, ran.err
    return int(match[1])


# -- a build


TOML = """\
[project]
site_name = "Test"

[project.markdown_extensions.mkdocs_markstay]
levels = [2]
"""
YAML = """\
site_name: Test
markdown_extensions:
  - mkdocs_markstay:
      levels: [2]
"""


@pytest.mark.parametrize(("name", "config"), [("zensical.toml", TOML), ("mkdocs.yml", YAML)])
def test_the_extension_alone_enforces(tmp_path: Path, name: str, config: str) -> None:
    write_files(
        tmp_path,
        {
            name: config,
            "docs/index.md": BAD.format("Home"),
            "docs/a/b.md": BAD.format("B"),
            "docs/good.md": GOOD.format("Good"),
        },
    )
    built = run_zensical(tmp_path)
    *lines, last = built.out.splitlines()
    assert built.code == 1
    assert [f"{found.path}:{found.line} {found.code}" for found in built.findings] == [
        "docs/a/b.md:7 missing-id",
        "docs/a/b.md:11 malformed-id",
        "docs/index.md:7 missing-id",
        "docs/index.md:11 malformed-id",
    ]
    assert last == "markstay: 4 errors (malformed-id 2, missing-id 2) in 2 files"
    assert len(lines) == 4
    assert "Traceback" not in built.err
    # Without a build the same is told.
    told = check(tmp_path)
    assert (told.code, told.out.splitlines()) == (1, lines)
    assert (
        told.err == "4 errors (malformed-id 2, missing-id 2) in 2 files (3 pages, 3 rendered now)\n"
    )


def find_leaks(site: Path) -> list[tuple[str, str]]:
    files = [path for path in site.rglob("*") if path.suffix in (".html", ".json", ".xml")]
    assert len(files) > 3
    return [
        (path.name, leak)
        for path in files
        for leak in ("<#", "&lt;#", "{#", "data-markstay")
        if leak in path.read_text(encoding="utf-8")
    ]


def test_ids_are_taken_out_everywhere(tmp_path: Path) -> None:
    pages = {
        "docs/index.md": "# Home <#home>\n\n## Set & `code` {#two}\n\nWords.\n\n[A](a.md#below)\n",
        "docs/a.md": "Set {#set}\n===\n\nBelow <#below>\n-----\n\n!!! note\n    ## In {#in .x}\n",
    }
    write_site(tmp_path, pages, ("mkdocs_markstay", "admonition"))
    built = run_zensical(tmp_path, "--strict")
    assert (built.code, built.out) == (0, "")
    assert find_leaks(tmp_path / "site") == []
    html = (tmp_path / "site" / "a" / "index.html").read_text(encoding="utf-8")
    assert "<title>Set - Test</title>" in html
    assert '<h1 id="set">Set</h1>' in html
    assert '<h2 class="x" id="in">In</h2>' in html
    assert 'href="#below"' in html
    search = json.loads((tmp_path / "site" / "search.json").read_text(encoding="utf-8"))
    titles = {item["location"]: item["title"] for item in search["items"]}
    assert titles["a/#below"] == "Below"
    assert titles["#two"] == "Set &amp; <code>code</code>"


def test_titles_that_macros_make_have_no_ids(tmp_path: Path) -> None:
    """Zensical makes the title of a page from its raw heading, if there is a macro in it."""
    page = "# Part {{ 1 + 1 }} <#part>\n\n## Five {{ 2 + 3 }} <#five>\n"
    write_site(
        tmp_path,
        {"docs/index.md": GOOD.format("Home").replace("{#part}", "<#part>"), "docs/a.md": page},
        plugins=["macros"],
    )
    assert run_zensical(tmp_path).code == 0
    assert find_leaks(tmp_path / "site") == []
    html = (tmp_path / "site" / "a" / "index.html").read_text(encoding="utf-8")
    assert "<title>Part 2 - Test</title>" in html
    assert '<h2 id="five">Five 5</h2>' in html


def test_a_wrong_option_is_no_fault_of_the_program(tmp_path: Path) -> None:
    write_site(tmp_path, {"docs/index.md": "# A\n"}, ({"mkdocs_markstay": {"levels": [7]}},))
    message = "mkdocs_markstay: option 'levels': Heading levels are 1 to 6, not 7\n"
    built = run_zensical(tmp_path)
    assert (built.code, built.out) == (1, message)
    told = check(tmp_path)
    assert (told.code, told.err) == (2, f"mkdocs-markstay: {message}")


def test_a_fault_of_another_extension_is_shown_as_ever(tmp_path: Path) -> None:
    broken = "def makeExtension():\n    raise ValueError('of another')\n"
    write_site(tmp_path, {"docs/index.md": "# A\n\n## B\n", "broken.py": broken}, ("broken",))
    built = run_zensical(tmp_path)
    assert built.code == 1
    assert "Traceback" in built.out
    assert "ValueError: of another" in built.out


def test_warnings_fail_if_the_configuration_is_strict(tmp_path: Path) -> None:
    lower = {"mkdocs_markstay": {"findings": {"missing-id": "warning"}}}
    write_site(tmp_path, {"docs/index.md": "# A\n\n## B\n"}, (lower,))
    assert (run_zensical(tmp_path).code, check(tmp_path).code) == (0, 0)
    # No extension learns of the option of the command; ours is asked instead.
    assert (
        run_zensical(tmp_path, "--strict", "--clean").code,
        check(tmp_path, "--strict").code,
    ) == (0, 1)
    write_site(tmp_path, {}, (lower,), strict=True)
    built = run_zensical(tmp_path)
    assert (built.code, built.places) == (1, ["docs/index.md:3 warning missing-id"])
    assert check(tmp_path).code == 1


# -- the cache of Zensical


def test_a_page_that_failed_is_not_in_the_cache(tmp_path: Path) -> None:
    write_site(tmp_path, {"docs/index.md": BAD.format("A"), "docs/good.md": GOOD.format("B")})
    first = run_zensical(tmp_path)
    again = run_zensical(tmp_path)
    assert first.findings
    assert (again.code, again.out) == (first.code, first.out)
    # Other options, and pages that were good are rendered again.
    extension = {"mkdocs_markstay": {"id_pattern": "top"}}
    write_site(tmp_path, {"docs/index.md": GOOD.format("A")}, (extension,))
    assert run_zensical(tmp_path).places == [
        "docs/good.md:3 error id-pattern",
        "docs/index.md:3 error id-pattern",
    ]


def serve(folder: Path, until: str) -> str:
    """Serve a site until a line with that text is written, and return all that is written."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        address = f"localhost:{free.getsockname()[1]}"
    log = folder / "serve.log"
    with log.open("w", encoding="utf-8") as file:
        server = subprocess.Popen(
            [sys.executable, "-m", "zensical", "serve", "-a", address],
            cwd=folder,
            stdout=file,
            stderr=subprocess.STDOUT,
        )
    try:
        end = time.monotonic() + SECONDS
        while until not in log.read_text(encoding="utf-8") and time.monotonic() < end:
            assert server.poll() is None, log.read_text(encoding="utf-8")
            time.sleep(0.05)
        assert server.poll() is None
    finally:
        server.terminate()
        server.wait(SECONDS)
    return log.read_text(encoding="utf-8")


def test_what_a_preview_has_told_is_left_to_check(tmp_path: Path) -> None:
    """A preview must go on, and Zensical keeps its pages for the next build."""
    write_site(tmp_path, {"docs/index.md": "# A\n\n## B\n"})
    log = serve(tmp_path, "Before you publish")
    assert "docs/index.md:3: warning[missing-id] heading 'B' has no section id." in log
    assert "Before you publish, run: mkdocs-markstay check\n" in log
    # This is what is not possible; should Zensical change, the documentation has to.
    assert run_zensical(tmp_path).code == 0
    assert check(tmp_path).places == ["docs/index.md:3 error missing-id"]
    assert run_zensical(tmp_path, "--clean").places == ["docs/index.md:3 error missing-id"]


def test_a_baseline_that_is_watched_is_heeded(tmp_path: Path) -> None:
    write_site(tmp_path, {"docs/index.md": "# A\n\n## B\n"}, watch=["markstay.baseline"])
    assert (
        run_markstay(tmp_path, "baseline").out == "markstay.baseline: 1 old finding (before: 0)\n"
    )
    assert (run_zensical(tmp_path).code, check(tmp_path).code) == (0, 0)
    (tmp_path / "markstay.baseline").unlink()
    assert (run_zensical(tmp_path).code, check(tmp_path).code) == (1, 1)


# -- what a build finds, and a check


def test_a_check_tells_what_a_build_tells(tmp_path: Path) -> None:
    """The same pages, front matter, inherited metadata, files that are included."""
    two = "# {0}\n\n## {0}\n"
    files = {
        name: two.format(name.replace("/", "-"))
        for name in (
            "docs/index.md",
            "docs/a/README.md",
            "docs/a/sp ace é.md",
            "docs/out/x.md",
            "docs/out/kept.md",
            "docs/draft.md",
            "docs/glob-x.md",
            "docs/regex.md",
            "docs/not/regex.md",
            "docs/.hidden/x.md",
            "docs/.shown.md",
            "docs/templates/x.md",
            "docs/a/templates/x.md",
            "docs/x.markdown",
            "docs/ours.md",
            "docs/self/x.md",
            "docs/self/y.md",
            "other/linked.md",
        )
    }
    for name, draft in (("later", "true"), ("post", "false")):
        post = f"---\ndate: 2024-01-01\ndraft: {draft}\n---\n# {name}\n\n## {name}\n"
        files |= {f"docs/news/posts/{name}.md": post, "docs/news/index.md": "# News\n"}
    files |= {
        "docs/self/.meta.yml": "markstay: false\n",
        "docs/self/y.md": "---\nmarkstay: true\n---\n# Y\n\n## Y\n",
        "docs/crlf.md": "\ufeff---\r\npage_id: a b\r\n...\r\n\r\n\r\n# C\r\n\r\n## C\r\n",
        "docs/rule.md": "\n---\na: 1\n---\n\n## Rule\n",
        "docs/snippet.md": '---\na: 1\n---\n## X <#x>\n\n--8<-- "inc/s.md"\n',
        "docs/include.md": '## X <#x>\n\n{% include-markdown "../inc/s.md" %}\n\n### Last\n',
        "docs/empty.md": "",
        "docs/lost.md": "<div hidden markdown>\n\n## Gone <#gone>\n\n</div>\n",
        "docs/raw.md": "<h2>Raw</h2>\n\n## Same <#same>\n\n<p id='same'>\n",
        "inc/s.md": "Words.\n\n## Included\n",
        "mkdocs.yml": """\
site_name: Test
exclude_docs: |
  /out/
  !/out/kept.md
  !.shown.md
draft_docs: draft.md
plugins:
  - exclude:
      glob: "glob-*"
      regex: ["regex"]
  - meta
  - include-markdown
  - blog:
      blog_dir: news
markdown_extensions:
  - mkdocs_markstay:
      exclude: [ours.md]
  - md_in_html
  - pymdownx.snippets:
      base_path: [!ENV [NOT_SET, "."]]
  - pymdownx.emoji:
      emoji_index: !!python/name:material.extensions.emoji.twemoji
""",
    }
    write_files(tmp_path, files)
    (tmp_path / "docs" / "link.md").symlink_to("../other/linked.md")
    (tmp_path / "docs" / "link").symlink_to("../other")
    built = run_zensical(tmp_path)
    told = check(tmp_path)
    assert built.code == told.code == 1
    # A build tells for each page what is wrong in a file that several include.
    assert set(built.places) == set(told.places)
    assert set(told.out.splitlines()) <= set(built.out.splitlines())
    assert {found.path for found in told.findings} == {
        "docs/index.md",
        "docs/a/README.md",
        "docs/a/sp ace é.md",
        "docs/out/kept.md",
        "docs/not/regex.md",
        "docs/.shown.md",
        "docs/a/templates/x.md",
        "docs/self/y.md",
        "docs/link.md",
        "docs/lost.md",
        "docs/news/posts/post.md",
        "docs/crlf.md",
        "docs/rule.md",
        "docs/include.md",
        "docs/raw.md",
        "inc/s.md",
    }
    assert "docs/crlf.md:2 error page-id" in told.places
    assert "docs/crlf.md:8 error missing-id" in told.places
    assert "docs/include.md:5 error missing-id" in told.places
    assert [ran.places.count("inc/s.md:3 error missing-id") for ran in (built, told)] == [2, 1]


def test_headings_that_a_tool_makes_are_not_enforced(tmp_path: Path) -> None:
    module = 'def f():\n    """Do it.\n\n    ## Inner\n\n    ## Own <#own>\n    """\n'
    page = "# A\n\n::: pkg_zensical\n\n## B\n"
    plugin = {"mkdocstrings": {"handlers": {"python": {"paths": ["."]}}}}
    write_site(tmp_path, {"docs/index.md": page, "pkg_zensical.py": module}, plugins=[plugin])
    assert run_zensical(tmp_path).places == ["docs/index.md:5 error missing-id"]
    assert check(tmp_path).places == ["docs/index.md:5 error missing-id"]
    write_files(tmp_path, {"docs/index.md": f"{page[:-1]} <#b>\n"})
    assert run_zensical(tmp_path).code == 0
    html = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert '<h4 id="pkg_zensical.f--own">Own</h4>' in html
    assert "data-markstay" not in html


def test_a_check_tells_what_concerns_several_pages(tmp_path: Path) -> None:
    """A build cannot: it does not render pages that it has kept."""
    files: dict[str, str | bytes] = {
        "docs/index.md": "# A\n",
        "docs/a.md": "---\npage_id: same\n---\n# A\n",
        "docs/b.md": "---\nx: y\npage_id: same\n---\n# B\n",
        "docs/c/index.md": "# C\n",
        "docs/c/README.md": "# C\n",
        "docs/latin.md": b"# Caf\xe9\n",
        "docs/yaml.md": "---\na: 1\nb: [\n---\n# A\n",
        "docs/list.md": "---\n- a\n---\n# A\n",
        "docs/none.md": "---\n---\n# A\n",
    }
    write_site(tmp_path, files)
    assert check(tmp_path).places == [
        "docs/b.md:3 error duplicate-page-id",
        "docs/c/index.md:1 error same-url",
        "docs/latin.md:1 error not-utf-8",
        "docs/list.md:1 error page-options",
        "docs/none.md:1 error page-options",
        "docs/yaml.md:4 error page-options",
    ]


def test_a_page_that_macros_replaced_is_told(tmp_path: Path) -> None:
    files = {
        "docs/a.md": "---\nx: y\n---\n# A\n\n## B {#b}\n",
        "docs/b.md": "",
        "docs/index.md": "# A\n",
    }
    write_site(tmp_path, files, plugins=["macros"])
    assert run_zensical(tmp_path).places == ["docs/a.md:6 error page-error"]
    assert check(tmp_path).places == ["docs/a.md:6 error page-error"]


def test_what_stops_a_build_stops_a_check(tmp_path: Path) -> None:
    snippets = {"pymdownx.snippets": {"check_paths": True}}
    page = {"docs/index.md": '# A\n\n--8<-- "no.md"\n'}
    write_site(tmp_path, page, ("mkdocs_markstay", snippets))
    ran = check(tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("mkdocs-markstay: docs/index.md: SnippetMissingError: ")
    write_site(tmp_path, page, docs_dir="no")
    assert "mkdocs-markstay: Docs directory does not exist: " in check(tmp_path).err
    write_site(tmp_path, page, ("no.extension",), plugins=[])
    write_files(tmp_path, {"zensical.toml": "[project]\nsite_name = 1\n["})
    ran = check(tmp_path, "-f", "zensical.toml")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("mkdocs-markstay: TOMLDecodeError: ")


# -- our commands


def test_only_what_changed_is_rendered_again(tmp_path: Path) -> None:
    pages = {f"docs/{name}.md": GOOD.format(name) for name in ("index", "a", "b")}
    pages |= {"docs/s.md": '# S\n\n--8<-- "inc.md"\n', "inc.md": "Words.\n"}
    write_site(tmp_path, pages, ("mkdocs_markstay", "pymdownx.snippets"))
    assert [count_rendered(check(tmp_path)) for _ in range(2)] == [4, 0]
    write_files(tmp_path, {"docs/a.md": "# A\n\n## A\n"})
    changed = check(tmp_path)
    assert (count_rendered(changed), changed.places) == (1, ["docs/a.md:3 error missing-id"])
    write_files(tmp_path, {"inc.md": "## Inc\n"})
    changed = check(tmp_path)
    assert count_rendered(changed) == 1
    assert changed.places == ["docs/a.md:3 error missing-id", "inc.md:1 error missing-id"]
    write_files(tmp_path, {"docs/new.md": "# N\n\n## N\n"})
    assert (count_rendered(changed := check(tmp_path)), len(changed.places)) == (1, 3)
    (tmp_path / "docs" / "new.md").unlink()
    assert (count_rendered(changed := check(tmp_path)), len(changed.places)) == (0, 2)
    write_site(tmp_path, {}, ({"mkdocs_markstay": {"levels": []}}, "pymdownx.snippets"))
    assert (count_rendered(changed := check(tmp_path)), changed.code) == (4, 0)


def test_ids_are_stamped(tmp_path: Path) -> None:
    page = "# A\n\n## Same\n\nWords.\n\n## Same\n\n<h2>Raw</h2>\n"
    write_files(tmp_path, {"zensical.toml": TOML, "docs/a/index.md": page})
    assert run_zensical(tmp_path).code == 1  # the folder of the site is there now
    ran = run_markstay(tmp_path, "stamp", "--write")
    assert [f"{found.path}:{found.line} {found.code}" for found in ran.findings] == [
        "docs/a/index.md:7 positional-id",
        "docs/a/index.md:9 not-stamped",
    ]
    stamped = page.replace("Same\n", "Same <#same>\n", 1).replace("Same\n", "Same <#same_1>\n", 1)
    assert (tmp_path / "docs" / "a" / "index.md").read_text() == stamped
    assert check(tmp_path).places == ["docs/a/index.md:9 error missing-id"]


def test_translations_are_compared(tmp_path: Path) -> None:
    files = {"docs/index.md": GOOD.format("A"), "fr/index.md": "# A <#top>\n"}
    write_site(tmp_path, files)
    ran = run_markstay(tmp_path, "parity", "--original", "docs", "--translation", "fr")
    assert ran.places == ["fr/index.md:1 warning parity-missing"]


def test_without_mkdocs(tmp_path: Path) -> None:
    """Zensical reads `mkdocs.yml`, too; the plugin in it is for MkDocs."""
    write_site(tmp_path, {"docs/index.md": BAD.format("A")}, plugins=["markstay"])
    code = (
        "import sys; sys.modules['mkdocs'] = sys.modules['properdocs'] = None\n"
        "from mkdocs_markstay.cli import main; main(['check'])"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 1
    assert Ran(1, done.stdout, "").places == [
        "docs/index.md:7 error missing-id",
        "docs/index.md:11 error malformed-id",
    ]
    assert "configuration" not in done.stderr


@pytest.mark.parametrize(("name", "config"), [("zensical.toml", TOML), ("mkdocs.yml", YAML)])
def test_what_was_published_is_missed(tmp_path: Path, name: str, config: str) -> None:
    home = "# Home\n\nSee [tips](b.md#tips).\n"
    b = "# B\n\n## Tips <#tips>\n\nTip.\n"
    write_files(tmp_path, {name: config, "docs/index.md": home, "docs/b.md": b})
    assert run_markstay(tmp_path, "lock").code == 0
    assert check(tmp_path).code == 0
    moved = f"{home}\n## Hints <#hints>\n\nTip.\n"
    write_files(tmp_path, {"docs/index.md": moved, "docs/b.md": "# B\n"})
    ran = check(tmp_path)
    assert ran.places == ["docs/b.md:1 error lost-referent"]
    assert "docs/index.md:5 (same text)" in ran.findings[0].message
    assert check(tmp_path).findings == ran.findings
    arguments = ["move", "b#tips", "index#hints", "--fix-links"]
    assert run_markstay(tmp_path, *arguments).code == 0
    assert "[tips](index.md#hints)" in (tmp_path / "docs/index.md").read_text(encoding="utf-8")
    assert check(tmp_path).code == 0
    assert run_markstay(tmp_path, "lock", "--check").code == 0


def test_markers_of_blocks(tmp_path: Path) -> None:
    """What is said of markers, and where they are written, is the same as of a MkDocs site."""
    text = "# T <#top>\n\nOne.\n\n- a\n"
    extension = {"mkdocs_markstay": {"stays": "required"}}
    write_site(tmp_path, {"docs/index.md": text}, (extension,))
    wanted = ["docs/index.md:3 error stay-missing", "docs/index.md:5 error stay-missing"]
    assert run_markstay(tmp_path, "check", "--stays").places == wanted
    ran = run_markstay(tmp_path, "stamp", "--stays", "--write")
    assert (ran.code, ran.places) == (0, [])
    stamped = (tmp_path / "docs" / "index.md").read_text(encoding="utf-8")
    marker = r"\n<!-- stay:\w{8} hash=sha256:[0-9a-f]{12} -->"
    assert re.sub(marker, "", stamped) == text
    assert len(re.findall(marker, stamped)) == 2
    assert run_markstay(tmp_path, "check", "--stays").places == []
    ran = run_zensical(tmp_path)
    assert ran.code == 0, ran.err
    assert "stay:" not in (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
