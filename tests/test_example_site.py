"""The example site builds strict, shows everything, and has the manifest it had.

``example_site.digest`` holds the top-level ``digest`` of its manifest. To renew it after
a wanted change, read the passages of a new build, and if you would want to be answered from
them, write the digest into the file::

    mkdocs build --strict -f example_site/mkdocs.yml
    python -c "import json; print(json.load(open('example_site/site/passages.json'))['digest'])" \
        > tests/example_site.digest

If no page of the example site was changed, a new digest means that ids or texts have moved for
everybody. That needs a new version of the identity or the text rules.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from mkdocs_markstay.cli import main
from mkdocs_markstay.marks import BEGIN, END
from mkdocs_markstay.sections import KINDS
from mkdocs_markstay.verify import verify_site
from mkdocs_markstay.whole_manifest import read_manifest

if TYPE_CHECKING:
    from mkdocs_markstay.whole_manifest import WholeManifest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "example_site"
DIGEST = Path(__file__).with_name("example_site.digest")

_CODE = re.compile(r"<(code|script|style)\b.*?</\1>", re.DOTALL)
# With what the mark before the prose says for readers who cite.
_MARKS = re.compile(f"{BEGIN}|{END}".replace(" hidden", '(?:="[^"]*")? hidden'))
_ID_MARK = re.compile(r"<#|\{:? ?#|\{ ?\.|data-markstay-(?!begin|end)")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("example") / "site"
    result = subprocess.run(
        [
            sys.executable,
            "-m",
            "mkdocs",
            "build",
            "--strict",
            "-f",
            str(SOURCE / "mkdocs.yml"),
            "-d",
            str(folder),
        ],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return folder


@pytest.fixture(scope="module")
def manifest(site: Path) -> WholeManifest:
    return read_manifest(site / "passages.json")


@pytest.fixture(scope="module")
def source() -> str:
    return "\n".join(path.read_text("utf-8") for path in sorted(SOURCE.glob("docs/**/*.md")))


def test_site_and_manifest_agree(site: Path) -> None:
    assert verify_site(site) == []


@pytest.mark.parametrize("marks", [True, False])
def test_html_alone_gives_the_same_manifest(site: Path, tmp_path: Path, marks: bool) -> None:
    """Without marks, as another generator would publish the same sources."""
    for path in site.rglob("*.html"):
        html = path.read_text("utf-8")
        copy = tmp_path / path.relative_to(site)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(html if marks else _MARKS.sub("", html), "utf-8")
    config = str(SOURCE / "mkdocs.yml")
    done = CliRunner().invoke(main, ["manifest", str(tmp_path), "--config", config])
    assert done.exit_code == 0, done.output
    lines = (tmp_path / "passages.jsonl").read_bytes()
    assert lines == (site / "passages.jsonl").read_bytes()
    ours, plugins = ((folder / "passages.json").read_bytes() for folder in (tmp_path, site))
    begin = b'\n"sections":['  # and behind them, the passages
    assert ours[ours.index(begin) :] == plugins[plugins.index(begin) :]
    assert (ours == plugins) == marks
    assert verify_site(tmp_path) == []


def test_digest_is_the_known_one(manifest: WholeManifest) -> None:
    assert manifest.header["digest"] == DIGEST.read_text("utf-8").strip()


def test_every_kind_of_block_occurs(manifest: WholeManifest) -> None:
    found = {kind for records in manifest.pages for line in records.lines for kind in line["kinds"]}
    assert found == set(KINDS)


@pytest.mark.parametrize(
    "pattern",
    [
        pytest.param(r"^## .+ <#[\w-]+>$", id="angle"),
        pytest.param(r"^## .+ \{#[\w-]+\}$", id="braces"),
        pytest.param(r"^## .+ \{: #[\w-]+ \}$", id="attribute list"),
        pytest.param(r"^\S.+ <#[\w-]+>\n-+$", id="underlined"),
        pytest.param(r'^<h2 id="[\w-]+">', id="raw HTML"),
        pytest.param(r'^=== ".+"\n\n    ### .+ <#[\w-]+>$', id="in a tab"),
        pytest.param(r"^page_id: ", id="page id"),
        pytest.param(r"^  furniture: ", id="furniture in front matter"),
        pytest.param(r"\{ \.furniture \}", id="furniture class"),
        pytest.param(r"^--8<-- ", id="snippet"),
    ],
)
def test_source_shows(pattern: str, source: str) -> None:
    assert re.search(pattern, source, re.MULTILINE)


def test_every_written_id_is_a_section(manifest: WholeManifest, source: str) -> None:
    written = re.findall(
        r"^(?:    )?\S.* (?:<#([\w-]+)>|\{:? ?#([\w-]+) ?\})$", source, re.MULTILINE
    )
    ids = {angle or brace for angle, brace in written}
    assert len(ids) > 25
    recorded = {row["section_id"] for records in manifest.pages for row in records.sections}
    assert recorded == {*ids, "humidity"}  # the one in raw HTML


def test_no_id_mark_is_visible(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 10
    for page in pages:
        html = _CODE.sub("", page.read_text("utf-8"))
        assert not _ID_MARK.search(unescape(html)), page.name


def test_titles_are_clean(site: Path, manifest: WholeManifest) -> None:
    for records in manifest.pages:
        html = (site / records.page["url"] / "index.html").read_text("utf-8")
        title = re.search(r"<title>(.*?)</title>", html)
        assert title is not None
        assert re.fullmatch(r"[\w ]+(?: - Back garden weather)?", title[1])


def test_furniture_is_in_the_page_and_in_no_passage(site: Path, manifest: WholeManifest) -> None:
    texts = "\n".join(line["text"] for records in manifest.pages for line in records.lines)
    for page, furniture in (
        ("siting", "Page last walked through in October."),
        ("siting", "Drawing: the guide's own."),
        ("instruments/wind", "Table compared with the scale in March."),
    ):
        html = (site / page / "index.html").read_text("utf-8")
        assert furniture in unescape(html)
        assert furniture not in texts


def test_page_without_sections_is_one_passage(manifest: WholeManifest) -> None:
    (about,) = (records for records in manifest.pages if records.page["page_id"] == "about")
    assert about.sections == []
    assert [line["referent"] for line in about.lines] == ["about"]


def test_moved_page_keeps_its_address(manifest: WholeManifest) -> None:
    (rain,) = (records for records in manifest.pages if records.page["url"] == "instruments/rain/")
    assert rain.page["page_id"] == "instruments/rain-gauge"
    assert rain.sections[0]["referent"] == "instruments/rain-gauge#millimetre"


def test_readme_shows_one_of_its_passages(manifest: WholeManifest) -> None:
    match = re.search(r"```json\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    assert match is not None
    shown = json.loads(match[1])
    (real,) = (
        passage
        for records in manifest.pages
        for passage in records.passages
        if passage["chunk_id"] == shown["chunk_id"]
    )
    assert shown == _shorten(real)


def _shorten(value: Any) -> Any:
    """Shorten digests as the README does."""
    if isinstance(value, dict):
        return {key: _shorten(value[key]) for key in value}
    if isinstance(value, list):
        return [_shorten(item) for item in value]
    return value[:15] + "…" if isinstance(value, str) and value.startswith("sha256:") else value


@pytest.mark.parametrize("config", ["mkdocs.yml", "example_site/mkdocs.yml"])
def test_the_register_is_current(config: str) -> None:
    """Ours, too: run `mkdocs-markstay lock` after a section was added to the docs."""
    ran = CliRunner().invoke(main, ["lock", "--check", "-f", str(ROOT / config)])
    assert ran.exit_code == 0, ran.output


def test_its_statistics_are_those_of_the_docs(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(site.parent)
    shown = CliRunner().invoke(main, ["stats", site.name], env={"COLUMNS": "80"}).stdout
    text = (ROOT / "docs" / "stats.md").read_text("utf-8")
    assert f"```text\n{shown[: shown.index('Kinds')].rstrip()}\n```\n" in text


def test_old_addresses_land(site: Path, manifest: WholeManifest) -> None:
    assert [(row["from"], row["to"]) for row in manifest.header["redirects"]] == [
        ("gauges", "instruments"),
        ("gauges#rain", "instruments/rain-gauge"),
        ("siting#ladders", "siting#height-safety"),
    ]
    assert [row["referent"] for row in manifest.header["retired"]] == ["paper-forms"]
    old = {path: (site / path / "index.html").read_text("utf-8") for path in OLD_PAGES}
    assert {path: words in old[path] for path, words in OLD_PAGES.items()} == dict.fromkeys(
        OLD_PAGES, True
    )
    assert '<span id="ladders"' in (site / "siting/index.html").read_text("utf-8")


OLD_PAGES = {
    "gauges": 'href="../instruments/"',
    "instruments/rain-gauge": 'href="../rain/"',
    "paper-forms": "The log book took their place.",
}
