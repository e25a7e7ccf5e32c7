"""`verify`: every way in which a site and its manifest can differ is found."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from site_builder import Site, build_site

from mkdocs_markstay.cli import main
from mkdocs_markstay.verify import verify_site

if TYPE_CHECKING:
    from collections.abc import Callable

FILES = {
    "docs/index.md": "# Home <#home>\n\nLead words.\n\n## Facts <#facts>\n\n- one fact\n- two facts\n",
    "docs/guide.md": "# Guide\n\nBefore.\n\n## Part <#part>\n\nPart words.\n\n## Ünd <#ünd>\n\nMore.\n",
}


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("published")
    built = build_site(folder, Site(FILES, config={"site_url": "https://docs.example.org/"}))
    assert built.passed, built.log
    return folder / "site"


@pytest.fixture
def site(published: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(published, tmp_path / "site"))


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def change(site: Path, alter: Callable[[dict[str, Any]], object]) -> None:
    path = site / "passages.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    alter(data)
    path.write_text(json.dumps(data, ensure_ascii=False), encoding="utf-8")


def test_a_site_as_built_is_proven(site: Path) -> None:
    assert verify_site(site) == []


PAGE_TAMPERINGS = [
    ("index.html", "Lead words", "Read words", ["passage-changed"]),
    ("index.html", "<li>two facts</li>", "", ["passage-changed"]),
    ("index.html", "<p>Lead words.</p>", "<p>Lead words.</p><p>New.</p>", ["passage-changed"]),
    (
        "index.html",
        'id="facts"',
        'id="fact"',
        ["anchor-missing", "passage-changed", "passage-changed"],
    ),
    ("index.html", '<ul class="toc">', '<i id="facts"></i><ul class="toc">', ["anchor-repeated"]),
    ("index.html", ">Facts</h2>", ">Fakts</h2>", ["section-changed"]),
    ("index.html", "data-markstay-end", "data-gone", ["page-changed"]),
    ("guide/index.html", "<p>Before.</p>", "", ["passage-changed"]),
]


@pytest.mark.parametrize(("page", "old", "new", "codes"), PAGE_TAMPERINGS)
def test_a_page_that_was_tampered_with(
    site: Path, page: str, old: str, new: str, codes: list[str]
) -> None:
    edit(site / page, old, new)
    findings = verify_site(site)
    assert [found.code for found in findings] == codes
    assert {found.path for found in findings} == {(site / page).as_posix()}


def test_sections_that_changed_places(site: Path) -> None:
    path = site / "guide" / "index.html"
    text = path.read_text(encoding="utf-8")
    start, middle, end = (
        text.index(mark) for mark in ('<h2 id="part"', '<h2 id="ünd"', "<span data-markstay-end")
    )
    path.write_text(
        text[:start] + text[middle:end] + text[start:middle] + text[end:], encoding="utf-8"
    )
    assert [found.code for found in verify_site(site)] == ["section-changed"]


def test_pages_that_are_gone_or_no_text(site: Path) -> None:
    (site / "guide" / "index.html").unlink()
    (site / "index.html").write_bytes(b"\xff\xfe")
    assert [found.code for found in verify_site(site)] == ["page-missing", "page-changed"]


def set_passage(key: str, value: Any) -> Callable[[dict[str, Any]], object]:
    return lambda data: data["passages"][1].update({key: value})


MANIFEST_TAMPERINGS: list[tuple[str, Callable[[dict[str, Any]], object], set[str]]] = [
    (
        "text",
        set_passage("text", "Other words."),
        {"digest-wrong", "passage-changed", "bad-manifest"},
    ),
    (
        "text_digest",
        set_passage("text_digest", "sha256:" + "0" * 64),
        {"digest-wrong", "bad-manifest"},
    ),
    ("record_digest", set_passage("record_digest", "sha256:" + "0" * 64), {"digest-wrong"}),
    ("chunk_id", set_passage("chunk_id", "0" * 8), {"digest-wrong", "bad-manifest"}),
    ("position", set_passage("position", 7), {"digest-wrong", "passage-changed", "bad-manifest"}),
    ("kinds", set_passage("kinds", ["table"]), {"digest-wrong", "bad-manifest"}),
    (
        "title",
        lambda d: d["sections"][0].update(title="X"),
        {"digest-wrong", "section-changed", "bad-manifest"},
    ),
    (
        "section url",
        lambda d: d["sections"][0].update(url="guide/#x"),
        {"digest-wrong", "section-changed", "bad-manifest"},
    ),
    (
        "a passage less",
        lambda d: d["passages"].pop(),
        {"digest-wrong", "passage-changed", "bad-manifest"},
    ),
    (
        "a passage twice",
        lambda d: d["passages"].append(d["passages"][-1]),
        {"digest-wrong", "passage-changed", "bad-manifest"},
    ),
    ("digest", lambda d: d.update(digest="sha256:" + "0" * 64), {"digest-wrong"}),
    ("policy", lambda d: d["policy"].update(min_chars=0), {"digest-wrong"}),
    ("publication", lambda d: d.update(publication="x"), {"digest-wrong", "bad-manifest"}),
    ("default_lang", lambda d: d.update(default_lang="fr"), {"digest-wrong"}),
    (
        "site_url",
        lambda d: d.update(site_url="https://evil.example.org/"),
        {"digest-wrong", "bad-manifest"},
    ),
    (
        "a page elsewhere",
        lambda d: d["pages"][0].update(url="../../x/"),
        {"digest-wrong", "page-missing", "bad-manifest"},
    ),
    ("a page less", lambda d: d["pages"].pop(), {"bad-manifest"}),
    ("schema", lambda d: d.update(schema="x"), {"bad-manifest"}),
]


@pytest.mark.parametrize(
    ("alter", "codes"),
    [row[1:] for row in MANIFEST_TAMPERINGS],
    ids=[row[0] for row in MANIFEST_TAMPERINGS],
)
def test_a_manifest_that_was_tampered_with(
    site: Path, alter: Callable[[dict[str, Any]], object], codes: set[str]
) -> None:
    change(site, alter)
    assert {finding.code for finding in verify_site(site)} == codes


def test_lines_that_were_tampered_with(site: Path) -> None:
    path = site / "passages.jsonl"
    edit(path, "Lead words", "Read words")
    findings = verify_site(site)
    assert [(found.code, found.line) for found in findings] == [("bad-manifest", 4)]
    path.write_text("{\n")
    assert [found.code for found in verify_site(site)] == ["bad-manifest"]
    path.unlink()
    assert verify_site(site) == []


def test_the_command(site: Path) -> None:
    runner = CliRunner()
    assert runner.invoke(main, ["verify", str(site)]).exit_code == 0
    edit(site / "index.html", "Lead words", "Read words")
    failed = runner.invoke(main, ["verify", str(site)])
    assert failed.exit_code == 1
    assert "error[passage-changed] passage 0 reads 'Read words.' in the page" in failed.output
    assert "1 error (passage-changed 1) in 1 file" in failed.output
    assert runner.invoke(main, ["verify", str(site / "nowhere")]).exit_code == 2
    assert runner.invoke(main, ["verify", str(site / "guide")]).exit_code == 1
    assert "mkdocs-markstay" in runner.invoke(main, ["--version"]).output


def test_it_needs_no_mkdocs(site: Path) -> None:
    code = (
        "import sys; sys.modules['mkdocs'] = sys.modules['markdown'] = sys.modules['selectolax'] = None\n"
        f"from mkdocs_markstay.cli import main; main(['verify', {str(site)!r}])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_build_that_verifies_itself(tmp_path: Path) -> None:
    hook = """
from pathlib import Path
from mkdocs.plugins import event_priority
@event_priority(-9000)
def on_post_build(config):
    page = Path(config.site_dir, 'index.html')
    page.write_text(page.read_text().replace('Lead', 'Read'))
"""
    site = Site({**FILES, "hook.py": hook}, plugin={"verify": True}, config={"hooks": ["hook.py"]})
    built = build_site(tmp_path, site)
    assert built.places == ["site/index.html:1 passage-changed"]
    assert built.verdict == 1
    assert built.manifest is None
    assert build_site(tmp_path, Site(FILES, plugin={"verify": True})).passed
