"""The documentation says all there is to say, builds with the plugin, and its examples are true."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mkdocs_markstay.findings import CODES, LEVELS
from mkdocs_markstay.furniture import FURNITURE
from mkdocs_markstay.identity import digest_text, make_chunk_id
from mkdocs_markstay.passages import Sizes, split_passages
from mkdocs_markstay.plugin import MarkstayConfig, SizesConfig
from mkdocs_markstay.records import Page, Policy, Publication, write_page
from mkdocs_markstay.sections import Block, Section
from mkdocs_markstay.whole_manifest import read_manifest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PAGES = sorted((ROOT / "docs").rglob("*.md"))
PROSE = [README, ROOT / "CHANGELOG.md", *PAGES]
SCHEMA = json.loads(
    files("mkdocs_markstay").joinpath("passages-1.schema.json").read_text(encoding="utf-8")
)

BUILD_EXAMPLE = """\
python3 -m venv .venv && .venv/bin/pip install -q '.[example]' && \\
  NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs build -q -f example_site/mkdocs.yml && \\
  head -n 1 example_site/site/passages.jsonl
"""
RUN_TESTS = """\
python3 -m venv .venv && .venv/bin/pip install -q -e '.[test]' && .venv/bin/python -m pytest -n 2
"""


def read(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def headings(name: str) -> dict[str, str]:
    """Map the ids of a page's headings to their titles."""
    return {
        match[2]: match[1]
        for match in re.finditer(r"^##+ (.+) <#(\S+)>$", read(name), re.MULTILINE)
    }


def options() -> list[str]:
    names = [name for name, _ in MarkstayConfig._schema]
    return [*names, *(f"passages.{name}" for name, _ in SizesConfig._schema)]


def part(text: str, section_id: str) -> str:
    """Cut a section, with those under it, out of a page's source."""
    match = re.search(rf"^(#+) .*<#{re.escape(section_id)}>$", text, re.MULTILINE)
    assert match is not None, section_id
    end = re.compile(rf"^#{{1,{len(match[1])}}} ", re.MULTILINE).search(text, match.end())
    return text[match.end() : end.start() if end else len(text)]


def rows(text: str) -> list[str]:
    """List the names in the first column of tables."""
    return re.findall(r"^\| `([a-z_]+)` \|", text, re.MULTILINE)


# -- everything is documented


@pytest.mark.parametrize("option", options())
def test_option_has_a_heading(option: str) -> None:
    assert headings("options.md").get(option.replace(".", "-")) == option


@pytest.mark.parametrize("option", options())
def test_option_states_its_default(option: str) -> None:
    name = option.removeprefix("passages.")
    config = MarkstayConfig if name == option else SizesConfig
    default = dict(config._schema)[name].default
    shown = {True: "true", False: "false"}.get(default) if isinstance(default, bool) else default
    stated = part(read("options.md"), option.replace(".", "-")).strip().split("\n\n")[0]
    assert stated.startswith("*")
    assert stated.endswith("*")
    if isinstance(shown, (str, int)) or default == [2, 3, 4, 5, 6]:
        assert f"default `{shown}`" in stated
    elif option not in ("passages", "findings"):
        assert "default" in stated


def test_there_is_no_heading_for_what_is_no_option() -> None:
    text = read("options.md")
    written = set(headings("options.md")) - set(re.findall(r"<#(\S+)>", part(text, "front-matter")))
    assert written == {*(option.replace(".", "-") for option in options()), "front-matter"}


def test_every_finding_code_has_its_heading() -> None:
    assert headings("findings.md") == {code: code for code in CODES}


@pytest.mark.parametrize("code", CODES)
def test_finding_states_its_level_an_example_and_a_repair(code: str) -> None:
    text = part(read("findings.md"), code)
    assert text.strip().split("\n", 1)[0].strip("*").split(",")[0] == CODES[code]
    assert f": {CODES[code]}[{code}] " in text
    assert "Repair: " in text


@pytest.mark.parametrize("page", PROSE, ids=lambda page: page.name)
def test_examples_of_findings_name_codes_and_levels(page: Path) -> None:
    # What commands print is compared with what they really print; a baseline changes levels.
    text = re.sub(
        r"^```console\n.*?^```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL
    )
    for level, code in re.findall(r":\d+: ([a-z]+)\[([a-z0-9-]+)\] ", text):
        assert level in LEVELS
        assert CODES[code] == level


def schema_objects() -> Iterator[tuple[str, list[str]]]:
    properties = SCHEMA["properties"]
    yield "json", list(properties)
    yield "generator", list(properties["generator"]["properties"])
    yield "policy", list(properties["policy"]["properties"])
    for name in ("pages", "sections", "passages"):
        yield name, list(properties[name]["items"]["properties"])
    blocks = properties["passages"]["items"]["properties"]["blocks"]
    yield "blocks", list(blocks["items"]["properties"])


@pytest.mark.parametrize(("section_id", "fields"), list(schema_objects()))
def test_manifest_fields_have_rows(section_id: str, fields: list[str]) -> None:
    text = re.split(r"^###? ", part(read("manifest.md"), section_id), flags=re.MULTILINE)[0]
    assert rows(text) == fields


def test_fields_of_lines_have_rows() -> None:
    sections = [Section("", 0, "", (), [Block("paragraph", "Text.")])]
    page = Page("index", "Title", "", "en", "index.md")
    made = write_page(page, sections, Publication("p", "en"), Policy(()))
    assert rows(part(read("manifest.md"), "jsonl")) == list(json.loads(made.lines))


def test_list_of_furniture_is_complete() -> None:
    listed = re.search(
        r"^```text\n(.*?)\n```", part(read("text.md"), "furniture"), re.MULTILINE | re.DOTALL
    )
    assert listed is not None
    assert tuple(listed[1].split("\n")) == FURNITURE


def own_headings(page: Path) -> list[str]:
    """List the lines of a page that are headings, those in code left out."""
    fenced = re.compile(r"^(`{3,}).*?^\1$", re.MULTILINE | re.DOTALL)
    return re.findall(r"^##+ .*$", fenced.sub("", page.read_text("utf-8")), re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_headings_have_ids(page: Path) -> None:
    for line in own_headings(page):
        assert re.search(r" (<#[\w-]+>|\{#[\w-]+\})$", line), line


def test_headings_use_both_spellings() -> None:
    ends = {line[-1] for page in PAGES for line in own_headings(page)}
    assert ends == {">", "}"}


def test_map_of_the_code_names_every_module() -> None:
    text = part(read("contributing.md"), "map")
    named = set(re.findall(r"`([a-z_]+\.py)`", text))
    modules = {path.name for path in (ROOT / "mkdocs_markstay").glob("*.py")}
    assert named <= modules
    # Those without a subject of their own to change.
    assert modules - named == {"__init__.py", "__main__.py", "marks.py", "sections.py"}
    for path in re.findall(r"`(tests/[\w./-]+)`", text):
        assert (ROOT / path).is_file(), path


# -- examples are true


def test_worked_example_of_a_chunk_id() -> None:
    examples = re.findall(
        r"^```text\n(.*?)\n```",
        part(read("identity.md"), "worked-example"),
        re.MULTILINE | re.DOTALL,
    )
    text, digest, lines, raw, chunk_id, french = examples
    assert digest == digest_text(text)
    assert sha256(lines.encode()).hexdigest()[:32] == raw
    _, publication, language, referent, position, _ = lines.split("\n")
    assert make_chunk_id(publication, language, referent, int(position), digest) == chunk_id
    assert make_chunk_id(publication, "fr", referent, int(position), digest) == french


def test_example_of_grouping() -> None:
    text = part(read("identity.md"), "grouping-example")
    numbers = re.search(r"`min` (\d+), `target` (\d+) and `max` (\d+)", text)
    assert numbers is not None
    table = re.findall(r"^\| `(.+)` \| (\d+) \| (\d+) \| `(\w+)` \|", text, re.MULTILINE)
    end = -2
    for block, length, stated, digest in table:
        end += 2 + len(block)
        assert (len(block), end) == (int(length), int(stated))
        assert sha256(block.encode()).hexdigest().startswith(digest)
    blocks = [Block("paragraph", row[0]) for row in table]
    passages = split_passages(blocks, Sizes(*map(int, numbers.groups())), "group")
    lengths = [str(len(passage.text)) for passage in passages]
    assert f"of {', '.join(lengths[:-1])}\nand {lengths[-1]} characters" in text


# -- the README


def test_readme_is_short() -> None:
    assert len(README.read_text("utf-8").splitlines()) <= 170


@pytest.mark.parametrize("command", [BUILD_EXAMPLE, RUN_TESTS], ids=["example", "tests"])
def test_readme_has_the_command(command: str) -> None:
    assert f"\n```sh\n{command}```\n" in README.read_text("utf-8")


def test_readme_links_lead_somewhere() -> None:
    links = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", README.read_text("utf-8"))
    assert links
    for link in links:
        assert (ROOT / link).is_file(), link


@pytest.mark.parametrize("page", PROSE, ids=lambda page: page.name)
def test_prose_names_no_machine(page: Path) -> None:
    text = page.read_text("utf-8")
    assert not re.search(r"(?<![\w.>])/(?:home|root|tmp|usr|var|opt|work|Users)/|[A-Z]:\\", text)
    assert not re.search(r"\b(?:pypi|pythonhosted|npmjs|unpkg|jsdelivr)\b", text, re.IGNORECASE)
    hosts = set(re.findall(r"https?://([\w.-]+)", text))
    assert hosts <= {"docs.example.org", "guide.example.org", "markstay.org"}


# -- the site


def test_docs_build_strict(tmp_path: Path) -> None:
    """A broken link, a missing id or a site that is not its manifest fails the build."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", str(tmp_path / "site")]
    result = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    manifest = read_manifest(tmp_path / "site" / "passages.json")
    built = {records.page["source"] for records in manifest.pages}
    assert built == {page.relative_to(ROOT / "docs").as_posix() for page in PAGES}
    changelog = (tmp_path / "site" / "changelog" / "index.html").read_text("utf-8")
    assert '<h2 id="v0-1-0">' in changelog
