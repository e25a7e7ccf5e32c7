"""`mkdocs-markstay check`: what a build finds, kept from one time to the next, told in any format.

That it finds the same as a build is also checked of each of the ``cases/``: see `case_runner`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft4Validator
from site_builder import (
    THEME,
    Ran,
    Site,
    build_site,
    careless_plugins,
    run_markstay,
    run_mkdocs,
    write_site,
)

from mkdocs_markstay.baseline import NAME

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

COMMAND = [sys.executable, "-m", "mkdocs_markstay", "check"]
GOOD = {"docs/index.md": "# Home\n", "docs/b.md": "# B\n\n## Part {#part}\n"}
BAD = {
    "docs/index.md": "---\ntitle: Home\n---\n# Home\n\n## Missing\n",
    "docs/b.md": "# B\n\n## Missing too\n\n## Glued{#glued}\n",
    "docs/sub/c.md": "# C\n\n## Empty <#>\n",
}
BAD_PLACES = [
    "docs/b.md:3 error missing-id",
    "docs/b.md:5 error misplaced-id",
    "docs/index.md:6 error missing-id",
    "docs/sub/c.md:3 error empty-id",
]


def needs(module: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(find_spec(module) is None, reason=f"needs {module}")


@pytest.fixture(autouse=True)
def _no_other_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MARKSTAY_CACHE_DIR", raising=False)


@pytest.fixture
def _careless_plugins() -> Iterator[None]:
    with careless_plugins():
        yield


def check(folder: Path, *arguments: str) -> Ran:
    return run_markstay(folder, "check", *arguments)


def run(folder: Path, *arguments: str, **variables: str) -> Ran:
    """Run the command in another process."""
    done = subprocess.run(
        [*COMMAND, *arguments],
        cwd=folder,
        # As a user has it: what is written waits in a buffer.
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONUNBUFFERED": "", **variables},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def write(folder: Path, files: Mapping[str, str | None]) -> None:
    """Write files of a site; None removes one."""
    for name, text in files.items():
        path = folder / name
        if text is None:
            path.unlink()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())


def all_files(folder: Path) -> dict[str, bytes]:
    """Read all files of a project but those that a check may write."""
    own = (".cache/mkdocs-markstay/", "__pycache__/")
    return {
        name: path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not (name := path.relative_to(folder).as_posix()).startswith(own)
    }


# -- what a build finds


def test_the_findings_are_those_of_the_build(tmp_path: Path) -> None:
    """The cases hold this in detail; here is what they all have in common."""
    write_site(tmp_path, Site(BAD))
    ran = check(tmp_path)
    assert (ran.code, ran.places) == (1, BAD_PLACES)
    assert ran.err == (
        "4 errors (empty-id 1, misplaced-id 1, missing-id 2) in 3 files (3 pages, 3 rendered now)\n"
    )
    built = build_site(tmp_path)
    assert (built.verdict, built.findings) == (1, ran.findings)
    assert built.findings[2].message.endswith("or run: mkdocs-markstay stamp docs/index.md --write")


def test_a_site_without_findings(tmp_path: Path) -> None:
    write_site(tmp_path, Site(GOOD))
    ran = check(tmp_path)
    assert (ran.code, ran.out) == (0, "")
    assert ran.err == "no findings (2 pages, 2 rendered now)\n"


@pytest.mark.parametrize(
    ("config", "arguments", "code"),
    [({}, [], 0), ({}, ["--strict"], 1), ({"strict": True}, [], 1)],
)
def test_warnings_fail_where_they_fail_a_build(
    tmp_path: Path, config: dict[str, Any], arguments: list[str], code: int
) -> None:
    levels = {"findings": {"missing-id": "warning"}}
    write_site(tmp_path, Site({"docs/index.md": "# A\n\n## B\n"}, plugin=levels, config=config))
    for _ in range(2):
        ran = check(tmp_path, *arguments)
        assert (ran.code, ran.places) == (code, ["docs/index.md:3 warning missing-id"])
    assert run_mkdocs(tmp_path, *arguments).verdict == code
    # Without the option, what was kept of the check with it does not count, nor the reverse.
    other = [] if arguments else ["--strict"]
    assert check(tmp_path, *other).code == (0 if arguments else 1)


def test_much_information_fails_no_strict_build(tmp_path: Path) -> None:
    """Nor is the summary of many findings a warning that MkDocs counts."""
    text = "# Home\n\n" + "".join(f"## Part {n}\n\n" for n in range(30))
    write_site(tmp_path, Site({"docs/index.md": text}, plugin={"findings": {"missing-id": "info"}}))
    built, ran = run_mkdocs(tmp_path, "--strict"), check(tmp_path, "--strict")
    assert built.passed, built.log
    assert "markstay: 30 infos (missing-id 30) in 1 file" in built.log
    assert (ran.code, ran.findings) == (0, built.findings)


WRITTEN_LATER = {
    "another plugin takes an id away": (
        "# A\n\n## B <#b>\n",
        {"hook.py": "def on_post_page(output, **_):\n    return output.replace('id=\"b\"', '')\n"},
        "docs/index.md:3 lost-id",
    ),
    "a template leaves the content out": (
        "---\ntemplate: bare.html\n---\n# A\n\n## B <#b>\n",
        {"theme/bare.html": "<html><body>nothing"},
        "docs/index.md:1 not-published",
    ),
    "a template changes the content": (
        "---\ntemplate: other.html\n---\n# A\n\n## B <#b>\n",
        {"theme/other.html": "<html><body>{{ page.content|replace('id=', 'data-id=') }}"},
        "docs/index.md:6 lost-id",
    ),
    "a template makes an id of several parts": (
        "---\ntemplate: other.html\n---\n# A\n\n## B <#toc-b>\n",
        {"theme/other.html": "<html><body>{{ page.content }}<i id='toc-{{ 'b' }}'></i>"},
        "docs/index.md:6 id-taken",
    ),
    "another plugin brings the id in": (
        "# A\n\n## B <#b>\n",
        {"hook.py": "def on_post_page(output, **_):\n    return output + '<i id=\"b\"></i>'\n"},
        "docs/index.md:3 id-taken",
    ),
    "a title is changed for the template": (
        "# A\n",
        {"hook.py": "def on_page_context(context, page, **_):\n    page.title = 'A {#a}'\n"},
        "docs/index.md:1 leaked-id",
    ),
}


@pytest.mark.parametrize("name", WRITTEN_LATER)
def test_what_only_a_build_can_see(tmp_path: Path, name: str) -> None:
    """`docs/cli.md` names these; everything else is found without templates."""
    text, files, place = WRITTEN_LATER[name]
    hooks = {"hooks": ["hook.py"]} if "hook.py" in files else {}
    write_site(tmp_path, Site({"docs/index.md": text, **files}, config=hooks))
    built = build_site(tmp_path)
    assert built.places == [place], built.log
    assert check(tmp_path).out == ""


SEEN_EARLY = {
    "an id that the theme has": (
        "---\ntemplate: other.html\n---\n# A\n\n## B <#b>\n",
        {"theme/other.html": "<html><body id='b'>{{ page.content }}"},
        "docs/index.md:6 id-taken",
    ),
    "an id in what is hidden": (
        "# A\n\n<div hidden markdown>\n\n## B <#b>\n\n</div>\n",
        {},
        "docs/index.md:5 lost-id",
    ),
    "an id that another plugin takes away": (
        "# A\n\n## B <#b>\n",
        {"hook.py": "def on_page_content(html, **_):\n    return html.replace('id=\"b\"', '')\n"},
        "docs/index.md:3 lost-id",
    ),
    "an id that is shown": (
        "# A\n",
        {"hook.py": "def on_page_content(html, page, **_):\n    page.title = 'A {#a}'\n"},
        "docs/index.md:1 leaked-id",
    ),
    "an encrypted page": (
        "# A\n",
        {
            "hook.py": "def on_page_content(html, **_):\n    return '<div id=\"mkdocs-encrypted-content\"></div>'\n"
        },
        "docs/index.md:1 not-published",
    ),
}


@pytest.mark.parametrize("name", SEEN_EARLY)
def test_what_a_build_finds_in_published_pages(tmp_path: Path, name: str) -> None:
    """Also if another page was changed, and this one is not rendered again."""
    text, files, place = SEEN_EARLY[name]
    config = {"hooks": ["hook.py"]} if "hook.py" in files else {}
    files = {"docs/index.md": text, "docs/b.md": "# B\n", "docs/c.md": "# C\n", **files}
    site = Site(files, ("md_in_html",), {"findings": {"missing-id": "ignore"}}, config)
    built = build_site(tmp_path, site)
    told = [found for found in built.findings if found.place == place]
    assert len(told) == 1, built.log
    found = [each for each in check(tmp_path).findings if each.path == "docs/index.md"]
    assert found == told
    write(tmp_path, {"docs/c.md": "# C\n\nMore.\n"})
    ran = check(tmp_path)
    assert [each for each in ran.findings if each.path == "docs/index.md"] == told
    assert ran.out == check(tmp_path, "--no-cache").out


@needs("mkdocs_static_i18n")
def test_all_languages_are_read(tmp_path: Path) -> None:
    """A build stops after the first language in which something is wrong."""
    languages = [
        {"locale": "en", "default": True, "name": "English"},
        {"locale": "de", "name": "Deutsch"},
        {"locale": "fr", "name": "Français"},
    ]
    plugins = [
        {"i18n": {"docs_structure": "suffix", "languages": languages}},
        {"markstay": {"parity": "error"}},
    ]
    files = {
        "docs/index.md": "# Home\n\n## A\n\n## B <#b>\n",
        "docs/index.de.md": "# Start\n\n## A <#a>\n\n## B\n",
        "docs/index.fr.md": "# Accueil\n\n## A <#a>\n\n## B <#b>\n\n## C\n",
        "docs/only.md": "# Only\n\n## D\n",
    }
    write_site(tmp_path, Site(files, config={"plugins": plugins}))
    ran, built = check(tmp_path), build_site(tmp_path)
    assert {found.path for found in ran.findings} == set(files)
    assert {found.path for found in built.findings} == {"docs/index.md", "docs/only.md"}
    assert {*built.findings} < {*ran.findings}
    # Once a language is right, the build comes to the next.
    write(
        tmp_path, {"docs/index.md": "# Home\n\n## A <#a>\n\n## B <#b>\n", "docs/only.md": "# O\n"}
    )
    built = build_site(tmp_path)
    assert {found.path for found in built.findings} == {"docs/index.de.md"}
    assert {*built.findings} < {*check(tmp_path).findings}
    write(tmp_path, {"docs/index.de.md": "# Start\n\n## A <#a>\n\n## B <#b>\n"})
    ran, built = check(tmp_path), build_site(tmp_path)
    assert built.findings == ran.findings
    assert [found.place for found in built.findings] == ["docs/index.fr.md:7 missing-id"]


@needs("material")
@pytest.mark.parametrize("arguments", [[], ["--no-cache"]])
def test_one_process_can_check_a_blog_twice(tmp_path: Path, arguments: list[str]) -> None:
    """Plugins that were shut down are not used again."""
    files = {"docs/index.md": "# Home\n", "docs/blog/index.md": "# Blog\n"}
    write_site(tmp_path, Site(files, config={"theme": "material", "plugins": ["blog", "markstay"]}))
    with careless_plugins():
        for wrong in (0, 1, 0):
            write(tmp_path, {"docs/index.md": "# Home\n\n## Part\n" if wrong else "# Home\n"})
            ran = check(tmp_path, *arguments)
            assert ran.code == wrong, ran.err


# -- a site that is not ready


def test_a_site_without_the_plugin(tmp_path: Path) -> None:
    write_site(tmp_path, Site(BAD, config={"plugins": []}))
    for rendered in (3, 0):
        ran = check(tmp_path)
        assert (ran.code, ran.places) == (1, BAD_PLACES)
        summary, note = ran.err.splitlines()
        assert f"(3 pages, {rendered} rendered now)" in summary
        assert note == "the configuration of the site does not name markstay yet"


def test_a_folder_without_a_configuration(tmp_path: Path) -> None:
    ran = check(tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (
        "mkdocs-markstay: there is no mkdocs.yml in this folder, and no zensical.toml. Name it: -f path/to/mkdocs.yml\n"
    )
    (tmp_path / "mkdocs.yml").mkdir()
    ran = check(tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert "mkdocs.yml" in ran.err
    for arguments in (["-f", "no.yml"], ["-f", "."], ["no.md"], ["--format", "xml"]):
        ran = check(tmp_path, *arguments)
        assert (ran.code, ran.out) == (2, "")
        assert "Error: Invalid value" in ran.err


def test_the_other_name_of_the_configuration(tmp_path: Path) -> None:
    write_site(tmp_path, Site(BAD)).rename(tmp_path / "mkdocs.yaml")
    assert check(tmp_path).places == BAD_PLACES


HOOK = "def on_page_markdown(markdown, **_):\n    {}\n    return markdown\n"
CANNOT_RUN: dict[str, tuple[dict[str, str], str]] = {
    "no YAML": ({"mkdocs.yml": "site_name: [\n"}, "parsing"),
    "no settings": ({"mkdocs.yml": ""}, "site_name"),
    "a plugin that is not installed": (
        {"mkdocs.yml": "site_name: T\nplugins: [nosuch]\n"},
        'The "nosuch" plugin is not installed',
    ),
    "an extension that is not installed": (
        {"mkdocs.yml": "site_name: T\nmarkdown_extensions: [nosuch]\n"},
        "nosuch",
    ),
    "an option that is none": (
        {"mkdocs.yml": "site_name: T\nplugins: [{markstay: {findings: {nosuch: error}}}]\n"},
        "There is no finding code 'nosuch'",
    ),
    "options that do not agree": (
        {"mkdocs.yml": "site_name: T\nplugins: [{markstay: {verify: true, formats: [jsonl]}}]\n"},
        "verify needs 'json'",
    ),
    "no docs folder": ({"mkdocs.yml": "site_name: T\ndocs_dir: nowhere\n"}, "nowhere"),
    "a base that is missing": ({"mkdocs.yml": "INHERIT: nowhere.yml\n"}, "nowhere.yml"),
    "a hook that is no Python": ({"hook.py": "def on_page_markdown(:\n"}, "SyntaxError"),
    "a hook that cannot be imported": ({"hook.py": "import nosuch\n"}, "'nosuch'"),
    "a hook that raises": ({"hook.py": HOOK.format("raise KeyError('boom')")}, "KeyError: 'boom'"),
    "an error without a message": ({"hook.py": HOOK.format("raise ValueError")}, "ValueError\n"),
    "a plugin that refuses": (
        {
            "hook.py": "from mkdocs.exceptions import PluginError\n"
            + HOOK.format("raise PluginError('please do this')")
        },
        "please do this",
    ),
    "sys.exit": ({"hook.py": HOOK.format("raise SystemExit")}, "a plugin ended the program: 0"),
    "sys.exit(0)": ({"hook.py": HOOK.format("raise SystemExit(0)")}, "ended the program: 0"),
    "sys.exit(text)": ({"hook.py": HOOK.format("raise SystemExit('no X')")}, "no X"),
    "at the start": ({"hook.py": "def on_startup(**_):\n    raise ValueError('boom')\n"}, "boom"),
    "at the configuration": (
        {"hook.py": "def on_config(*_, **__):\n    raise OSError('boom')\n"},
        "boom",
    ),
    "at the end": ({"hook.py": "def on_shutdown():\n    raise ValueError('boom')\n"}, "boom"),
}


@pytest.mark.parametrize("name", CANNOT_RUN)
@pytest.mark.parametrize("cached", [True, False])
def test_what_stops_a_check(
    tmp_path: Path, name: str, cached: bool, caplog: pytest.LogCaptureFixture
) -> None:
    files, message = CANNOT_RUN[name]
    write_site(tmp_path, Site({**BAD, "hook.py": ""}, config={"hooks": ["hook.py"]}))
    if cached:
        assert check(tmp_path).code == 1
    write(tmp_path, files)
    before = all_files(tmp_path)
    for _ in range(2):
        ran = check(tmp_path)
        assert (ran.code, ran.out) == (2, "")
        # MkDocs logs the reason of some failures; the last line is ours.
        told = caplog.text + ran.err
        assert message in told
        assert ran.err.startswith("mkdocs-markstay: ")
        assert "Traceback" not in told
    assert all_files(tmp_path) == before


def test_what_comes_after_the_pages_is_not_reached(tmp_path: Path) -> None:
    hooks = ("on_env", "on_post_template", "on_page_context", "on_post_page", "on_post_build")
    hook = "".join(f"def {name}(*_, **__):\n    raise ValueError('{name}')\n\n" for name in hooks)
    write_site(tmp_path, Site({**BAD, "hook.py": hook}, config={"hooks": ["hook.py"]}))
    assert check(tmp_path).places == BAD_PLACES


def test_nothing_is_written_but_the_cache(tmp_path: Path) -> None:
    write_site(tmp_path, Site({**BAD, "site/index.html": "an older build"}))
    before = all_files(tmp_path)
    for arguments in ([], [], ["--no-cache"], ["--format", "sarif"]):
        check(tmp_path, *arguments)
        assert all_files(tmp_path) == before
    names = sorted(path.name for path in (tmp_path / ".cache" / "mkdocs-markstay").iterdir())
    assert names[0] == ".gitignore"
    assert len(names) == 2
    assert {path.name for path in (tmp_path / ".cache").iterdir()} == {"mkdocs-markstay"}


def test_without_a_cache_nothing_at_all_is_written(tmp_path: Path) -> None:
    write_site(tmp_path, Site(BAD))
    assert check(tmp_path, "--no-cache").places == BAD_PLACES
    assert not (tmp_path / ".cache").exists()


# -- paths


@pytest.mark.parametrize(
    ("paths", "places"),
    [
        (["docs/b.md"], BAD_PLACES[:2]),
        (["docs/sub", "docs/index.md"], BAD_PLACES[2:]),
        (["./docs/../docs/sub/c.md"], BAD_PLACES[3:]),
        (["docs"], BAD_PLACES),
        (["."], BAD_PLACES),
        (["mkdocs.yml"], []),
        (["docs/good.md"], []),
        (["docs/picture.png"], []),
        (["link.md"], BAD_PLACES[:2]),
        (["docs/b"], []),  # a folder whose name begins the name of a file
    ],
)
def test_findings_in_paths(tmp_path: Path, paths: list[str], places: list[str]) -> None:
    write_site(
        tmp_path, Site({**BAD, "docs/good.md": "# G\n", "docs/picture.png": "", "docs/b/x": ""})
    )
    (tmp_path / "link.md").symlink_to("docs/b.md")
    for _ in range(2):
        ran = check(tmp_path, *paths)
        assert ran.places == places
        assert ran.code == (1 if places else 0)
    # What is wrong elsewhere is not counted either.
    assert ran.err.startswith(f"{len(places)} error" if places else "no findings")
    assert "(4 pages, 0 rendered now)" in ran.err


def test_an_included_file_is_told_with_the_pages_that_include_it(tmp_path: Path) -> None:
    files = {
        "docs/a.md": '# A\n\n--8<-- "part.md"\n',
        "docs/b.md": '# B\n\n--8<-- "part.md"\n',
        "docs/c.md": "# C\n\n## Own\n",
        "part.md": "## Part\n",
    }
    write_site(tmp_path, Site(files, ("pymdownx.snippets",)))
    part = ["part.md:1 error missing-id"]
    assert check(tmp_path).places == ["docs/c.md:3 error missing-id", *part]
    assert check(tmp_path, "part.md").places == part
    assert check(tmp_path, "docs/a.md").places == part
    assert check(tmp_path, "docs/c.md").places == ["docs/c.md:3 error missing-id"]


def test_paths_from_another_folder(tmp_path: Path) -> None:
    write_site(tmp_path / "sub", Site(BAD))
    ran = check(tmp_path, "-f", "sub/mkdocs.yml", "sub/docs/sub")
    assert ran.places == ["sub/docs/sub/c.md:3 error empty-id"]
    ran = check(tmp_path / "sub" / "docs", "-f", "../mkdocs.yml", "sub", "b.md")
    assert ran.places == [
        "b.md:3 error missing-id",
        "b.md:5 error misplaced-id",
        "sub/c.md:3 error empty-id",
    ]
    assert "run: mkdocs-markstay stamp -f ../mkdocs.yml b.md --write" in ran.out


# -- formats

SARIF = Draft4Validator(
    json.loads(Path(__file__).with_name("sarif-schema-2.1.0.json").read_text("utf-8"))
)
NOISE = """\
import os, sys
print("imported")
kept = sys.stdout
os.write(1, b"bytes\\n")

def on_page_markdown(markdown, **_):
    print("printed")
    kept.write("kept")
    kept.flush()
    sys.__stdout__.write("buffered")
    os.system("echo a program")
    return markdown
"""
TEXT = re.compile(r"(\S+:\d+: (error|warning|info)\[[a-z-]+\] .*\n)*")
GITHUB = re.compile(r"(::(error|warning|notice) file=[^,\n]+,line=\d+(,[^,\n]+)*::.*\n)*")


@pytest.mark.parametrize("style", ["text", "json", "github", "sarif"])
@pytest.mark.parametrize("cached", [True, False])
def test_nothing_else_is_on_standard_output(tmp_path: Path, style: str, cached: bool) -> None:
    write_site(tmp_path, Site({**BAD, "hook.py": NOISE}, config={"hooks": ["hook.py"]}))
    if cached:
        run(tmp_path)
    ran = run(tmp_path, "--format", style)
    assert ran.code == 1
    if style == "text":
        assert TEXT.fullmatch(ran.out)
        assert ran.places == BAD_PLACES
    elif style == "github":
        assert GITHUB.fullmatch(ran.out)
        assert ran.out.count("\n") == 4
    elif style == "json":
        found = json.loads(ran.out)["findings"]
        assert [f"{f['path']}:{f['line']} {f['level']} {f['code']}" for f in found] == BAD_PLACES
    else:
        log = json.loads(ran.out)
        SARIF.validate(log)
        assert len(log["runs"][0]["results"]) == 4
    for word in ("imported", "bytes", "printed", "kept", "buffered", "a program"):
        assert word not in ran.out
        assert (word in ran.err) is not cached, word


@pytest.mark.parametrize("style", ["text", "json", "github", "sarif"])
def test_a_site_without_findings_in_all_formats(tmp_path: Path, style: str) -> None:
    write_site(tmp_path, Site(GOOD))
    ran = check(tmp_path, "--format", style)
    assert ran.code == 0
    if style in ("text", "github"):
        assert ran.out == ""
    elif style == "json":
        assert json.loads(ran.out)["findings"] == []
    else:
        SARIF.validate(json.loads(ran.out))
        assert json.loads(ran.out)["runs"][0]["results"] == []


def test_the_same_bytes_whatever_the_terminal(tmp_path: Path) -> None:
    write_site(tmp_path, Site({"docs/index.md": "# Ä\n\n## Ünïcode 概要\n"}))
    plain = run(tmp_path)
    assert "Ünïcode 概要" in plain.out
    for variables in ({"NO_COLOR": "1"}, {"FORCE_COLOR": "1"}, {"TERM": "xterm-256color"}):
        assert run(tmp_path, **variables).out == plain.out
    for style in ("json", "github", "sarif"):
        ran = run(tmp_path, "--format", style, PYTHONIOENCODING="ascii:backslashreplace")
        assert ran.out == run(tmp_path, "--format", style).out


@pytest.mark.parametrize("style", ["text", "sarif"])
def test_a_reader_that_goes_away(tmp_path: Path, style: str) -> None:
    text = "# A\n\n" + "".join(f"## Heading {n}\n\n" for n in range(3000))
    write_site(tmp_path, Site({"docs/index.md": text}))
    process = subprocess.Popen(
        [*COMMAND, "--format", style],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    told = process.stderr.read().decode()
    process.stderr.close()
    assert process.wait() == 1
    assert "Traceback" not in told
    assert "Exception" not in told


@pytest.mark.parametrize("closed", [(1,), (2,), (1, 2)])
def test_closed_streams(tmp_path: Path, closed: tuple[int, ...]) -> None:
    write_site(tmp_path, Site(BAD))
    done = subprocess.run(
        ["/bin/sh", "-c", f'"$@" {" ".join(f"{n}>&-" for n in closed)}', "sh", *COMMAND],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stdout.count("\n") == (0 if 1 in closed else 4)
    assert done.stderr.count("\n") == (0 if 2 in closed else 1)


def test_a_site_without_pages(tmp_path: Path) -> None:
    write_site(tmp_path, Site({"docs/picture.png": ""}))
    for _ in range(2):
        ran = check(tmp_path)
        assert (ran.code, ran.out) == (0, "")
        assert ran.err == "no findings (0 pages, 0 rendered now)\n"


# -- the cache


class Cached(NamedTuple):
    """A check: its output, the findings in short, and how many of how many pages were rendered."""

    code: int
    out: str
    places: list[str]
    pages: int
    rendered: int


def check_both(folder: Path) -> Cached:
    """Check with the cache, and without it: the verdict must be the same."""
    cached, fresh = check(folder), check(folder, "--no-cache")
    assert (cached.code, cached.out) == (fresh.code, fresh.out)
    counts = r" \((\d+) pages?, (\d+) rendered now\)\n"
    (summary, pages, rendered, _), known = re.split(counts, fresh.err), re.split(counts, cached.err)
    assert known[:2] == [summary, pages]
    assert pages == rendered
    return Cached(cached.code, cached.out, cached.places, int(pages), int(known[2]))


def test_with_nothing_changed_nothing_is_rendered(tmp_path: Path) -> None:
    write_site(tmp_path, Site(BAD))
    first, second = run(tmp_path), run(tmp_path)
    assert (second.code, second.out) == (first.code, first.out)
    assert second.err == first.err.replace("3 rendered", "0 rendered")
    # Times do not count.
    for path in (tmp_path / "docs").rglob("*.md"):
        os.utime(path, (1, 1))
    assert run(tmp_path).err == second.err


def test_with_nothing_changed_mkdocs_is_not_even_imported(tmp_path: Path) -> None:
    write_site(tmp_path, Site(BAD))
    heavy = {"mkdocs", "markdown", "yaml", "jinja2", "selectolax", "bs4", "slugify", "logging"}
    code = (
        "import sys\n"
        "from mkdocs_markstay.cli import main\n"
        "try:\n    main(['check'])\n"
        "except SystemExit as end:\n    assert end.code == 1\n"
        f"print(*sorted({heavy} & set(sys.modules)))"
    )
    for imported, rendered in ((True, 3), (False, 0)):
        done = subprocess.run(
            [sys.executable, "-W", "error::ImportWarning", "-c", code],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        assert f"(3 pages, {rendered} rendered now)" in done.stderr
        assert bool(done.stdout.splitlines()[-1]) is imported


def test_three_changed_pages_are_three_renderings(tmp_path: Path) -> None:
    files = {f"docs/{n:02}.md": f"# Page {n}\n\n## Part\n" for n in range(40)}
    write_site(tmp_path, Site(files))
    assert check_both(tmp_path)[3:] == (40, 40)
    write(tmp_path, {f"docs/{n:02}.md": f"# Page {n}\n\n## Part <#part>\n" for n in (3, 17, 39)})
    after = check_both(tmp_path)
    assert after[3:] == (40, 3)
    assert len(after.places) == 37
    # Back again, the same three.
    write(tmp_path, files)
    assert check_both(tmp_path)[3:] == (40, 3)
    assert check_both(tmp_path)[3:] == (40, 0)


SNIPPETS = {"pymdownx.snippets": {"base_path": ["first", "second"]}}
CHANGING = {
    "docs/index.md": "# Home\n\n## Part <#part>\n",
    "docs/a.md": '# A\n\n--8<-- "part.md"\n',
    "docs/b.md": "# B\n\n## Missing\n",
    "docs/c.md": "---\ntemplate: other.html\n---\n# C\n\n## Part <#part>\n",
    "second/part.md": "## Included <#included>\n",
    "hook.py": "def on_page_markdown(markdown, **_):\n    return markdown\n",
    "theme/other.html": THEME,
    "pages.txt": "",
}
CHANGES: dict[str, tuple[dict[str, str | None], int, list[str]]] = {
    # what changes, how many pages are rendered, what is new
    "a page": ({"docs/b.md": "# B\n\n## Found\n"}, 1, []),
    "a page that is repaired": ({"docs/b.md": "# B\n\n## Missing <#b>\n"}, 1, []),
    "a new page": ({"docs/d.md": "# D\n\n## New\n"}, 1, ["docs/d.md:3 error missing-id"]),
    "a page that is gone": ({"docs/b.md": None}, 0, []),
    "a page of another name": (
        {"docs/b.md": None, "docs/sub/b.md": CHANGING["docs/b.md"]},
        1,
        ["docs/sub/b.md:3 error missing-id"],
    ),
    "an included file": (
        {"second/part.md": "## Included\n"},
        1,
        ["second/part.md:1 error missing-id"],
    ),
    "an included file that another one hides": (
        {"first/part.md": "\n## Hiding\n"},
        1,
        ["first/part.md:2 error missing-id"],
    ),
    "an included file that is gone": ({"second/part.md": None}, 1, []),
    "the configuration": ({"mkdocs.yml": "{config}\nextra: {x: 1}\n"}, 4, []),
    "a hook": (
        {"hook.py": "def on_page_markdown(*_, **__):\n    return '# T\\n\\n## Hook\\n'\n"},
        4,
        [
            f"docs/{place} error missing-id"
            for place in ("a.md:3", "b.md:1", "c.md:4", "index.md:1")
        ],
    ),
    "a template": (
        {"theme/other.html": THEME.replace("<main>", "<main><p id='part'>")},
        3,  # two of each template
        ["docs/c.md:6 error id-taken", "docs/index.md:3 error id-taken"],
    ),
    "a new template": ({"theme/partial.html": "<p>"}, 4, []),
    "a picture": ({"docs/picture.png": "x"}, 0, []),
    "the baseline": (
        {NAME: '["docs/b.md", "missing-id", "Missing"]\n'},
        0,
        ["docs/b.md:3 info missing-id"],
    ),
    "a damaged baseline": ({NAME: "x\n"}, 0, [f"{NAME}:1 error bad-baseline"]),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_seen_and_no_more_than_needed_is_rendered(tmp_path: Path, name: str) -> None:
    changes, rendered, new = CHANGES[name]
    config = write_site(tmp_path, Site(CHANGING, (SNIPPETS,), config={"hooks": ["hook.py"]}))
    text = config.read_text()
    before = check_both(tmp_path)
    assert (before.pages, before.rendered) == (4, 4)
    assert check_both(tmp_path).rendered == 0
    write(tmp_path, {k: v and v.replace("{config}", text) for k, v in changes.items()})
    after = check_both(tmp_path)
    assert after.rendered == rendered
    assert sorted({*after.places} - {*before.places}) == new
    # Undone, the verdict is what it was.
    write(tmp_path, dict.fromkeys(changes.keys() - CHANGING.keys() - {"mkdocs.yml"}))
    write(tmp_path, {**CHANGING, "mkdocs.yml": text})
    assert check_both(tmp_path).out == before.out


def test_a_variable_of_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = write_site(tmp_path, Site(CHANGING, (SNIPPETS,), {"exclude": ["c.md"]}))
    config.write_text(config.read_text().replace("- c.md", "- !ENV [LEFT_OUT, c.md]"))
    assert check_both(tmp_path).places == ["docs/b.md:3 error missing-id"]
    assert check_both(tmp_path).rendered == 0
    monkeypatch.setenv("LEFT_OUT", "b.md")
    assert check_both(tmp_path)[2:] == ([], 4, 4)
    monkeypatch.delenv("LEFT_OUT")
    assert check_both(tmp_path).places == ["docs/b.md:3 error missing-id"]


def test_ids_of_templates_that_only_known_pages_use(tmp_path: Path) -> None:
    """These are rendered with what has changed, so that their ids are learnt again."""
    other = THEME.replace("<main>", "<main><p id='part'>")
    files = {f"docs/{n}.md": f"# Page {n}\n" for n in range(9)}
    files["docs/index.md"] = "# Home\n\n## Part <#part>\n"
    for n in (6, 7, 8):
        files[f"docs/{n}.md"] = f"---\ntemplate: other.html\n---\n# Page {n}\n"
    write_site(tmp_path, Site({**files, "theme/other.html": other}))
    places = ["docs/index.md:3 error id-taken"]
    assert check_both(tmp_path).places == places
    write(tmp_path, {"docs/5.md": "# Changed\n"})
    after = check_both(tmp_path)
    # The first two pages of each template, and the one that has changed.
    assert (after.places, after.rendered) == (places, 5)
    write(tmp_path, {"docs/9.md": "# New\n\n## Part <#part>\n", "docs/5.md": None})
    assert check_both(tmp_path).places == ["docs/9.md:3 error id-taken", *places]


def test_a_file_that_a_plugin_finds_among_the_pages(tmp_path: Path) -> None:
    """It may change pages that it was not there for, though nothing that they rest on has changed."""
    hook = """
from pathlib import Path
added = []

def on_files(files, **_):
    added[:] = [Path(f.abs_src_path).read_text() for f in files if f.src_uri.endswith(".add")]

def on_page_markdown(markdown, **_):
    return "\\n\\n".join([markdown, *added])
"""
    files = {"docs/index.md": "# Home\n", "docs/b.md": "# B\n", "hook.py": hook}
    write_site(tmp_path, Site(files, config={"hooks": ["hook.py"]}))
    assert check_both(tmp_path).places == []
    write(tmp_path, {"docs/x.add": "## Added\n"})
    after = check_both(tmp_path)
    assert (len(after.places), after.rendered) == (2, 2)
    write(tmp_path, {"docs/x.add": None})
    assert check_both(tmp_path).places == []


def test_generated_pages_are_rendered_with_whatever_has_changed(tmp_path: Path) -> None:
    """Of what they are made cannot be known, if another program makes it."""
    hook = """
import os
from mkdocs.structure.files import File

def on_files(files, config):
    with os.popen("cat data") as made:
        files.append(File.generated(config, "made.md", content=made.read()))
"""
    files = {"docs/index.md": "# Home\n", "docs/b.md": "# B\n", "hook.py": hook, "data": "## A\n"}
    plugin = {"enforce_generated": True}
    write_site(tmp_path, Site(files, plugin=plugin, config={"hooks": ["hook.py"]}))
    assert check_both(tmp_path).places == ["made.md:1 error missing-id"]
    write(tmp_path, {"data": "# Made\n\n## A\n", "docs/b.md": "# Changed\n"})
    after = check_both(tmp_path)
    assert (after.places, after.rendered) == (["made.md:3 error missing-id"], 2)
    assert "mkdocs-markstay stamp" not in after.out  # there is no such file


@needs("mkdocs_include_markdown_plugin")
@pytest.mark.usefixtures("_careless_plugins")
def test_a_page_that_includes_another(tmp_path: Path) -> None:
    files = {
        "docs/index.md": '# Home\n\n{% include-markdown "part.md" %}\n',
        "docs/all.md": '# All\n\n{% include "../parts/*.md" %}\n',
        "docs/part.md": "## Part <#part>\n",
        "docs/other.md": "# Other\n",
        "parts/one.md": "## One <#one>\n",
    }
    plugins = {"plugins": ["include-markdown", "markstay"]}
    write_site(tmp_path, Site(files, config=plugins))
    assert check_both(tmp_path)[2:] == ([], 4, 4)
    write(tmp_path, {"docs/part.md": "## Part\n"})
    after = check_both(tmp_path)
    assert (after.places, after.rendered) == (["docs/part.md:1 error missing-id"], 2)
    write(tmp_path, {"parts/two.md": "## Two\n"})
    assert check_both(tmp_path).places[:1] == ["docs/all.md:3 error missing-id"]


@needs("mkdocs_gen_files")
@pytest.mark.usefixtures("_careless_plugins")
def test_generated_pages_know_the_other_pages(tmp_path: Path) -> None:
    script = """
import mkdocs_gen_files
names = [file.src_uri for file in mkdocs_gen_files.files if file.src_uri.endswith(".md")]
with mkdocs_gen_files.open("made.md", "w") as file:
    for name in names:
        print(f"## {name}\\n", file=file)
with mkdocs_gen_files.open("b.md", "a") as file:
    print(f"\\n## Appended to {len(names)} pages\\n", file=file)
"""
    files = {"docs/index.md": "# Home\n", "docs/b.md": "# B\n", "gen.py": script}
    plugins = [{"gen-files": {"scripts": ["gen.py"]}}, {"markstay": {"enforce_generated": True}}]
    write_site(tmp_path, Site(files, config={"plugins": plugins}))
    assert "Appended to 2 pages" in check_both(tmp_path).out
    write(tmp_path, {"docs/index.md": "# Home\n\nWords.\n"})
    assert check_both(tmp_path).pages == 3
    write(tmp_path, {"docs/c.md": "# C\n"})
    after = check_both(tmp_path)
    assert "Appended to 3 pages" in after.out
    assert "heading 'c.md' has no section id" in after.out
    write(tmp_path, {"gen.py": script.replace("Appended", "Put"), "docs/c.md": None})
    assert "Put to 2 pages" in check_both(tmp_path).out


@needs("material")
@pytest.mark.usefixtures("_careless_plugins")
def test_a_blog(tmp_path: Path) -> None:
    def post(day: int, text: str) -> str:
        return f"---\ndate: 2026-01-0{day}\ncategories: [C{day}]\n---\n\n# Post {day}\n\n{text}\n"

    files = {
        "docs/index.md": "# Home\n",
        "docs/blog/index.md": "# Blog\n",
        "docs/blog/posts/one.md": post(1, "Lead.\n\n<!-- more -->\n\n## Rest"),
        "docs/tags.md": "# Tags\n\n<!-- material/tags -->\n",
    }
    config = {"theme": "material", "plugins": ["search", "tags", "blog", "markstay"]}
    write_site(tmp_path, Site(files, config=config))
    found = ["docs/blog/posts/one.md:12 error missing-id"]
    assert check_both(tmp_path).places == found
    write(tmp_path, {"docs/index.md": "# Home\n\nWords.\n"})
    assert check_both(tmp_path).places == found
    write(tmp_path, {"docs/blog/posts/two.md": post(2, "## Lead\n\n<!-- more -->")})
    found += ["docs/blog/posts/two.md:8 error missing-id"]
    assert check_both(tmp_path).places == found
    write(tmp_path, {"docs/blog/posts/one.md": post(3, "Lead."), "docs/index.md": "# H\n"})
    assert check_both(tmp_path).places == found[1:]
    write(tmp_path, {"docs/blog/posts/two.md": None})
    assert check_both(tmp_path).places == []


# Texts of a page, an included file, the hook, and so on; one of each is drawn for each edit.
PAGES = [
    "# T\n",
    "# T\n\n## A\n",
    "# T\n\n## A <#a>\n\n## A\n",
    "# T\n\n## A <#a>\n\n## B <#a>\n",
    "# T\n\n## Of the theme <#main>\n",
    "---\npage_id: p\n---\n# T\n\n## A{#a}\n",
    "---\ntemplate: other.html\n---\n# T\n\n## A <#a>\n",
    "---\nmarkstay: false\n---\n## A\n",
    '# T\n\n--8<-- "part.md"\n',
    '# T\n\n--8<-- "docs/a.md"\n',
    "# T\n\n<div hidden markdown>\n\n## H <#h>\n\n</div>\n",
]
EDITS: dict[str, list[str | None]] = {
    "docs/a.md": ["# T\n\n## In A\n", "# T\n\n## In A <#in-a>\n", None],
    "docs/index.md": [*PAGES],
    "docs/b.md": [*PAGES, None],
    "docs/sub/index.md": [*PAGES, None],
    "docs/sub/c.md": [*PAGES, None],
    "part.md": ["## P\n", "## P <#p>\n", None],
    "hook.py": ["", HOOK.format("markdown += '\\n\\n## Hook\\n'")],
    "theme/other.html": [
        THEME,
        THEME.replace("<ul", "<ul id='main'", 1),
        THEME.replace("<ul", "<ul id='a'"),
    ],
    "options.yml": [
        "",
        "plugins: {markstay: {levels: [3]}}\n",
        "plugins: {markstay: {exclude: [b.md]}}\n",
    ],
    NAME: ['["docs/b.md", "missing-id", "A"]\n', "=====\n", None],
}


@settings(max_examples=20, deadline=None, derandomize=True, database=None)
@given(data=st.data())
def test_whatever_changes_the_verdict_is_that_of_a_check_without_cache(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        config = {"hooks": ["hook.py"], "plugins": {"markstay": {}}, "INHERIT": "options.yml"}
        extensions = ("md_in_html", {"pymdownx.snippets": {"base_path": ["."]}})
        site = {name: text for name, (text, *_) in EDITS.items() if text is not None}
        write_site(folder, Site(site, extensions, config=config))
        check_both(folder)
        for _ in range(data.draw(st.integers(1, 5))):
            edits = data.draw(st.lists(st.sampled_from(sorted(EDITS)), max_size=2))
            for path in edits:
                text = data.draw(st.sampled_from(EDITS[path]))
                if text is not None or (folder / path).exists():
                    write(folder, {path: text})
            check_both(folder)


# -- the file of the cache


def cache_files(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.suffix == ".json"]


def test_the_cache_can_be_deleted_or_damaged(tmp_path: Path) -> None:
    write_site(tmp_path, Site(BAD))
    first = check_both(tmp_path)
    folder = tmp_path / ".cache" / "mkdocs-markstay"
    (path,) = cache_files(folder)
    whole = path.read_bytes()
    for content in (
        b"",
        b"{",
        b"null",
        b"\xff",
        whole[: len(whole) // 2],
        whole.replace(b"[", b"{"),
    ):
        path.write_bytes(content)
        assert check_both(tmp_path) == first
        assert check_both(tmp_path).rendered == 0
    shutil.rmtree(folder)
    assert check_both(tmp_path) == first


@settings(max_examples=40, deadline=None, derandomize=True, database=None)
@given(data=st.data())
def test_no_damage_that_is_still_json_is_a_traceback(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """A verdict or a report of another shape counts as none."""
    folder = tmp_path_factory.getbasetemp() / "damaged"
    if not folder.exists():
        write_site(folder, Site(BAD))
    first = check(folder)
    (path,) = cache_files(folder / ".cache" / "mkdocs-markstay")
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    place: Any = data.draw(st.sampled_from([(0, "verdict"), (1, "b.md|b/index.html")]))
    wrong: Any = data.draw(
        st.sampled_from(
            [None, 1, "x", [], {}, [1], [[1], 2], {"findings": [{}]}, [[{}], {}, 0, 0, 0, 0]]
        )
    )
    lines[place[0]][place[1]] = wrong
    path.write_text("\n".join(map(json.dumps, lines)))
    if data.draw(st.booleans()):
        write(
            folder, {"docs/index.md": f"{BAD['docs/index.md']}\n{data.draw(st.integers(0, 9))}\n"}
        )
    ran = check(folder)
    assert (ran.code, ran.out) == (first.code, first.out)


def test_the_cache_is_where_it_is_wanted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MARKSTAY_CACHE_DIR", "../caches")
    site, caches = tmp_path / "site", tmp_path / "caches"
    write_site(site, Site(BAD))
    assert check_both(site).rendered == 3
    assert check_both(site).rendered == 0
    assert len(cache_files(caches)) == 1
    assert not (site / ".cache").exists()
    # Another site in the same folder.
    write_site(tmp_path / "two", Site(GOOD))
    assert check_both(tmp_path / "two").places == []
    assert check_both(site).rendered == 0
    assert len(cache_files(caches)) == 2


@pytest.mark.parametrize("place", ["a file", "below a file"])
def test_a_cache_that_cannot_be_written(
    tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_site(tmp_path, Site({**BAD, "file": ""}))
    monkeypatch.setenv("MARKSTAY_CACHE_DIR", "file" if place == "a file" else "file/deep")
    for _ in range(2):
        ran = check(tmp_path)
        assert (ran.code, ran.places) == (1, BAD_PLACES)
        assert ran.err.count("\n") == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only to the administrator")
def test_a_project_that_cannot_be_written(tmp_path: Path) -> None:
    write_site(tmp_path, Site(BAD))
    tmp_path.chmod(0o555)
    try:
        ran = check(tmp_path)
    finally:
        tmp_path.chmod(0o755)
    assert (ran.code, ran.places) == (1, BAD_PLACES)


def test_two_at_once(tmp_path: Path) -> None:
    """Each gives a verdict on files that were there, and the last one is kept whole."""
    files = {f"docs/{n}.md": f"# Page {n}\n\n## Part\n" for n in range(20)}
    write_site(tmp_path, Site(files))
    rounds = [[run_in_background(tmp_path) for _ in range(2)]]
    write(tmp_path, {"docs/3.md": "# Page 3\n\n## Part <#part>\n"})
    rounds += [[run_in_background(tmp_path) for _ in range(2)]]
    for processes in rounds:
        for process in processes:
            out, err = process.communicate()
            assert process.returncode == 1, err
            assert out.count("\n") in (19, 20)
            assert "Traceback" not in err
    assert check_both(tmp_path).places == [
        f"docs/{n}.md:3 error missing-id" for n in sorted(range(20), key=str) if n != 3
    ]
    assert check_both(tmp_path).rendered == 0
    assert len(list((tmp_path / ".cache" / "mkdocs-markstay").iterdir())) == 2


def run_in_background(folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        COMMAND, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@needs("material")
def test_warnings_that_are_errors(tmp_path: Path) -> None:
    """As with `python -W error`; Material has a warning of its own, which it can be told to omit."""
    files = {"docs/index.md": "# Home\n\n## Part\n"}
    write_site(
        tmp_path, Site(files, config={"theme": "material", "plugins": ["search", "markstay"]})
    )
    for rendered in (1, 0):
        ran = run(tmp_path, PYTHONWARNINGS="error", PYTHONDEVMODE="1")
        assert (ran.code, ran.places) == (1, ["docs/index.md:3 error missing-id"]), ran.err
        assert ran.err == f"1 error (missing-id 1) in 1 file (1 page, {rendered} rendered now)\n"
