"""The documentation shows what the commands really print."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from click.testing import CliRunner
from site_builder import Site, build_site, write_site

from mkdocs_markstay.cli import main
from mkdocs_markstay.findings import CODES, judge
from mkdocs_markstay.verify import verify_site

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
EXAMPLES = Path(__file__).parent / "docs"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
SITES: list[dict[str, Any]] = yaml.safe_load((EXAMPLES / "findings.yml").read_bytes())
HIDDEN: dict[str, dict[str, str]] = yaml.safe_load((EXAMPLES / "hidden.yml").read_bytes())
"""Files that a page's commands need and that the page does not show."""

_BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
_FINDING = re.compile(r"^(?:[A-Z]+ +-  )?(\S+:\d+: [a-z]+\[([a-z0-9-]+)\] .*)$", re.MULTILINE)


def blocks(text: str, language: str) -> list[str]:
    """List the code blocks in a language."""
    return [block[3] for block in _BLOCK.finditer(text) if block[1] == language]


def hide_blocks(text: str) -> str:
    """Blank the code blocks, so that only headings of the page itself are found."""
    return _BLOCK.sub(lambda block: " " * len(block[0]), text)


def section(page: str, section_id: str) -> str:
    """Cut a section, with those under it, out of a page's source."""
    text = (ROOT / "docs" / page).read_text("utf-8")
    prose = hide_blocks(text)
    match = re.search(rf"^(#+) .*<#{re.escape(section_id)}>$", prose, re.MULTILINE)
    assert match is not None, section_id
    end = re.compile(rf"^#{{1,{len(match[1])}}} ", re.MULTILINE).search(prose, match.end())
    return text[match.end() : end.start() if end else len(text)]


# -- commands


def run(command: str) -> str:
    """Run a command as a terminal of 80 columns shows it."""
    name, *arguments = shlex.split(command)
    if name == "mkdocs-markstay":
        done = CliRunner().invoke(main, arguments, prog_name=name, terminal_width=78)
        if not isinstance(done.exception, (SystemExit, type(None))):
            raise done.exception
        return done.output
    if name == "cat":
        return Path(*arguments).read_text("utf-8")
    if name == "rm":
        Path(*arguments).unlink()
        return ""
    assert name == "mkdocs", command
    process = subprocess.run(
        [sys.executable, "-m", name, *arguments],
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    return process.stdout


def run_page(text: str, files: dict[str, str], folder: Path) -> Iterator[tuple[str, str, str]]:
    """Run the commands of a page: each with what is shown, and what it printed.

    Every section of level 2 that has commands begins anew, with ``files`` and those that
    sections without commands have shown before it.
    """
    files = dict(files)
    ends = [match.start() for match in re.finditer(r"^## ", hide_blocks(text), re.MULTILINE)]
    for start, end in pairwise([0, *ends, len(text)]):
        found = _BLOCK.findall(text[start:end])
        if all(language != "console" for language, _, _ in found):
            files.update({title: content for _, title, content in found if title})
            continue
        here = folder / str(start)
        here.mkdir()
        os.chdir(here)
        for name, content in files.items():
            write(name, content)
        for language, title, content in found:
            if title:
                write(title, content)
            elif language == "console":
                for command, shown in _COMMAND.findall(content):
                    yield command, shown, run(command)


def write(name: str, content: str) -> None:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, "utf-8")


# The tutorial is one run in one folder: `test_tutorial.py`.
WITH_COMMANDS = [
    page
    for page in PAGES
    if page.name != "tutorial.md" and blocks(page.read_text("utf-8"), "console")
]


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=lambda page: page.name)
def test_commands_print_what_is_shown(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = page.read_text("utf-8")
    assert sum(len(_COMMAND.findall(block)) for block in blocks(text, "console")) == text.count(
        "\n$ "
    )
    for command, shown, printed in run_page(text, dict(HIDDEN.get(page.name, {})), tmp_path):
        assert printed == shown, command


def test_hidden_files_are_of_pages_with_commands() -> None:
    assert set(HIDDEN) <= {page.name for page in WITH_COMMANDS}


@pytest.mark.parametrize("name", ["", *main.commands])
def test_help_of_commands_is_shown(name: str) -> None:
    text = section("cli.md", name or "mkdocs-markstay")
    assert blocks(text, "text")[0] == run(f"mkdocs-markstay {name} --help")


@pytest.mark.parametrize("name", main.commands)
def test_options_of_commands_are_described(name: str) -> None:
    described = re.findall(r"^\| `(-[^`]*|[A-Z]+)` \|", section("cli.md", name), re.MULTILINE)
    parameters = [
        parameter.opts[-1]
        if parameter.opts[-1].startswith("-")
        else parameter.name.rstrip("s").upper()
        for parameter in main.commands[name].params
        if parameter.name is not None
    ]
    assert sorted(described) == sorted(parameters)


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md"], ids=lambda page: page.name)
def test_commands_that_are_named_are_there(page: Path) -> None:
    named = re.findall(
        r"(?<!install )mkdocs-markstay ([a-z]+)\b((?:(?!mkdocs-markstay)[^`\n#>|])*)",
        page.read_text("utf-8"),
    )
    for name, rest in named:
        options = {option for each in main.commands[name].params for option in each.opts}
        assert set(re.findall(r"(?<= )--?[a-z-]+", rest)) <= options | {"-h", "--help"}, rest


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_yaml_can_be_read(page: Path) -> None:
    for block in blocks(page.read_text("utf-8"), "yaml"):
        assert list(yaml.safe_load_all(block)), block


def test_hooks_are_described() -> None:
    hooks = {hook["id"] for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_bytes())}
    text = section("ci.md", "pre-commit")
    (config, *_) = blocks(text, "yaml")
    (repository,) = yaml.safe_load(config)["repos"]
    assert {hook["id"] for hook in repository["hooks"]} == hooks
    for hook in hooks:
        assert f"`{hook}` runs `" in text


# -- findings


def find(site: dict[str, Any], folder: Path) -> str:
    """Find what is wrong with a site of ``findings.yml``: the lines that are printed."""
    extensions = tuple(site.get("extensions", ()))
    made = Site(site["files"], extensions, site.get("plugin", {}), site.get("config", {}))
    if "committed" in site:
        for name, content in site["committed"].items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(content, "utf-8")
        who = ["-c", "user.name=A", "-c", "user.email=a@docs.example.org"]
        for command in (["init"], ["add", "-A"], [*who, "commit", "-m", "x"]):
            subprocess.run(["git", *command], cwd=folder, check=True, capture_output=True)  # noqa: S607
    if "run" in site:
        write_site(folder, made)
        for name in site.get("read_only", ()):
            (folder / name).chmod(0o444)
        os.chdir(folder)
        return CliRunner().invoke(main, site["run"]).output
    built = build_site(folder, made)
    os.chdir(folder)
    for name, *change in site.get("published", ()):
        path = Path("site") / name
        if change:
            text = path.read_text("utf-8")
            assert change[0] in text, site["note"]
            path.write_text(text.replace(*change), "utf-8")
        else:
            path.unlink()
    verified = judge(verify_site(Path("site")), {}) if built.passed else ()
    return "\n".join([*built.log, *map(str, verified)])


def test_findings_are_told_as_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    told: set[str] = set()
    for number, site in enumerate(SITES):
        folder = tmp_path / str(number)
        folder.mkdir()
        lines = [match[0] for match in _FINDING.findall(find(site, folder))]
        assert lines, site["note"]
        told.update(lines)
    shown = {
        match[0]: match[1]
        for page in PAGES
        for block in blocks(page.read_text("utf-8"), "text")
        for match in _FINDING.findall(block)
    }
    assert sorted(set(shown) - told) == []
    assert set(shown.values()) == set(CODES)


# -- formats of findings


def format_site(style: str, tmp_path: Path) -> str:
    os.chdir(tmp_path)
    for name, content in HIDDEN["cli.md"].items():
        write(name, content)
    return CliRunner().invoke(main, ["check", "--format", style]).stdout


def test_example_of_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (shown,) = blocks(section("cli.md", "format-json"), "json")
    document = json.loads(shown)
    assert document == json.loads(format_site("json", tmp_path))
    # As JSON objects are compared without it: the order of the keys.
    assert json.dumps(document) == json.dumps(json.loads(format_site("json", tmp_path)))


def test_example_of_sarif(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (shown,) = blocks(section("cli.md", "format-sarif"), "json")
    (result,) = json.loads(format_site("sarif", tmp_path))["runs"][0]["results"]
    part = json.loads(shown)
    assert part == {key: result[key] for key in part}
