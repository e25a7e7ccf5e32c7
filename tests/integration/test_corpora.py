"""Whole documentation sites, where they are at hand: `MARKSTAY_CORPORA` names their folder."""

from __future__ import annotations

import os
import re
import shutil
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from site_builder import Built, Site, build_site, run_markstay, write_site

from mkdocs_markstay.cli import main
from mkdocs_markstay.inspection import Inspection
from mkdocs_markstay.originals import Originals
from mkdocs_markstay.plugin import inspect_site
from mkdocs_markstay.sectionids import read_heading
from mkdocs_markstay.stamp_site import StampOptions, stamp_site
from mkdocs_markstay.translations import compare_trees, read_texts
from mkdocs_markstay.verify import verify_site

if TYPE_CHECKING:
    from click.testing import Result

    from mkdocs_markstay.outlines import OutlineHeading

CORPORA = Path(
    os.environ.get("MARKSTAY_CORPORA") or Path(__file__).parents[3] / "shared" / "corpora"
)
pytestmark = pytest.mark.skipif(not CORPORA.is_dir(), reason="no corpora are at hand")

EXTENSIONS: tuple[str | dict[str, Any], ...] = (
    "attr_list",
    "admonition",
    "md_in_html",
    "tables",
    {"toc": {"permalink": True}},
    "pymdownx.details",
    "pymdownx.superfences",
    {"pymdownx.tabbed": {"alternate_style": True}},
    "pymdownx.blocks.details",
    {
        "pymdownx.blocks.admonition": {
            "types": ["note", "tip", "info", "warning", "danger", "check"]
        }
    },
    {"pymdownx.blocks.tab": {"alternate_style": True}},
)
LEFT_OUT = ["release-notes.md", "reference/", "fastapi-people.md"]
WITHOUT_IDS = [
    "docs/contributing.md:5 missing-id",
    "docs/external-links.md:22 missing-id",
    "docs/management.md:5 missing-id",
    "docs/management.md:11 missing-id",
    "docs/translations.md:5 missing-id",
    "docs/translations.md:15 missing-id",
]


def copy(tmp_path: Path, name: str, **plugin: Any) -> None:
    site = Site({}, EXTENSIONS, plugin, {"theme": "mkdocs", "site_name": name})
    write_site(tmp_path, site)
    shutil.copytree(CORPORA / name, tmp_path / "docs", dirs_exist_ok=True)


def written_ids(docs: Path, built: Built) -> set[tuple[str, str]]:
    """Collect `## Title { #id }` from the sources of the pages in the manifest."""
    assert built.manifest is not None
    found = set()
    for page in built.manifest["pages"]:
        text = (docs / page["source"]).read_text(encoding="utf-8")
        for match in re.finditer(r"^#{1,6} .*\{ ?#([^ }]+) ?\}\s*$", text, re.MULTILINE):
            found.add((page["source"], match[1]))
    return found


def test_check_of_fastapi(tmp_path: Path) -> None:
    """What a build finds; and of a commit that touches three pages, three are rendered."""
    copy(tmp_path, "fastapi/docs/en/docs", exclude=LEFT_OUT)
    built, ran = build_site(tmp_path), run_markstay(tmp_path, "check")
    assert (ran.code, ran.findings) == (1, built.findings)
    pages = sorted((tmp_path / "docs" / "tutorial").glob("*.md"))[:3]
    for page in pages:
        page.chmod(0o644)
        with page.open("a", encoding="utf-8") as file:
            file.write("\n## No id\n")
    ran = run_markstay(tmp_path, "check")
    assert " pages, 3 rendered now)" in ran.err
    new = {found.path for found in ran.findings} - {found.path for found in built.findings}
    assert new == {page.relative_to(tmp_path).as_posix() for page in pages}
    assert run_markstay(tmp_path, "check", "--no-cache").findings == ran.findings


def test_fastapi(tmp_path: Path) -> None:
    copy(tmp_path, "fastapi/docs/en/docs", exclude=LEFT_OUT)
    assert build_site(tmp_path).places == WITHOUT_IDS
    files = sorted({place.split(":")[0].removeprefix("docs/") for place in WITHOUT_IDS})
    copy(tmp_path, "fastapi/docs/en/docs", exclude=LEFT_OUT + files)
    built = build_site(tmp_path)
    assert built.passed, built.log
    assert built.manifest is not None
    explicit = {
        (section["source"], section["section_id"])
        for section in built.manifest["sections"]
        if not section["generated"]
    }
    assert explicit == written_ids(tmp_path / "docs", built)
    assert len(explicit) > 1000
    for section in built.manifest["sections"]:
        lines = (tmp_path / "docs" / section["source"]).read_text(encoding="utf-8").split("\n")
        assert section["section_id"] in lines[section["line"] - 1]
    # The second extractor reads the same text in every section.
    assert verify_site(tmp_path / "site") == []


def read_pages(docs: Path) -> dict[str, list[str]]:
    return {
        path.relative_to(docs).as_posix(): path.read_bytes().decode().split("\n")
        for path in sorted(docs.rglob("*.md"))
    }


def make_writable(docs: Path) -> None:
    for path in (docs, *docs.rglob("*")):
        path.chmod(path.stat().st_mode | stat.S_IWUSR)


def stamp(*args: str) -> Result:
    return CliRunner().invoke(main, ["stamp", *args])


def anchors(built: Built) -> dict[str, list[str]]:
    """Collect the ids of all headings of all pages, in order."""
    heading = re.compile(r'<h[1-6]\b[^>]*? id="([^"]*)"')
    return {path: heading.findall(html) for path, html in built.pages().items()}


def without_marks(built: Built) -> dict[str, str]:
    """Take what the plugin adds out of the pages (marks, a link), and the theme's time."""
    added = re.compile(
        r"<span data-markstay-\w+ hidden></span>|<link rel=.alternate. [^>]*json[^>]*>"
        r"|Build Date UTC : .*"
    )
    return {path: added.sub("", html) for path, html in built.pages().items()}


def test_argo_cd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A site without ids: each heading gets the anchor that it has, and nothing else changes."""
    monkeypatch.chdir(tmp_path)
    copy(tmp_path, "argo-cd/docs")
    make_writable(tmp_path / "docs")
    # Two files that MkDocs publishes at the same address.
    (tmp_path / "docs" / "proposals" / "manifest-hydrator" / "README.md").unlink()
    plain = build_site(tmp_path, plugins=[])
    assert plain.passed, plain.log
    pages = anchors(plain), without_marks(plain)
    before = read_pages(tmp_path / "docs")

    run = Inspection()
    inspect_site("mkdocs.yml", run)
    assert {found.code for found in run.findings} == {"missing-id"}
    result = stamp("--write")
    assert result.exit_code == 0, result.output
    after = read_pages(tmp_path / "docs")
    changed = {
        (f"docs/{path}", number): (old, new)
        for path, lines in before.items()
        for number, (old, new) in enumerate(zip(lines, after[path], strict=True), 1)
        if old != new
    }
    assert len(changed) > 3000
    assert changed.keys() == {(found.path, found.line) for found in run.findings}
    for old, new in changed.values():
        assert re.sub(r" <#[^<>]+>(?=[ #\r]*$)", "", new) == old
    for found in run.findings:  # each said what to write
        new = " ".join(changed[found.path, found.line][1].split())
        assert f"Write: {new}, or run: " in " ".join(found.message.split()), found

    assert stamp().stdout == ""
    built = build_site(tmp_path)
    assert built.passed, built.places[:5]
    assert (anchors(built), without_marks(built)) == pages
    assert built.manifest is not None
    assert len(built.manifest["sections"]) == len(changed)
    assert verify_site(tmp_path / "site") == []


def test_release_notes_of_fastapi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hundreds of headings with the same few titles: each gets the anchor that it has."""
    monkeypatch.chdir(tmp_path)
    copy(tmp_path, "fastapi/docs/en/docs")
    make_writable(tmp_path / "docs")
    notes = "docs/release-notes.md"
    run = Inspection(keep=True, wants=lambda _, path: path.endswith("/release-notes.md"))
    inspect_site("mkdocs.yml", run)
    (page,) = run.rendered
    assert stamp(notes, "--write").exit_code == 0
    lines = Path(notes).read_text(encoding="utf-8").split("\n")
    stamped = [heading for heading in page.headings if heading.level > 1]
    assert len(stamped) > 900
    for heading in stamped:
        # The site writes its other ids in braces.
        assert lines[heading.line - 1].endswith(f" {{#{heading.published_id}}}")
    html = page.html
    run = Inspection(keep=True, wants=run.wants)
    inspect_site("mkdocs.yml", run)
    assert run.findings == []
    assert run.rendered[0].html == html


def inspect_tree(folder: Path, docs: Path, **options: Any) -> Inspection:
    run = Inspection(keep=True, **options)
    inspect_site(str(folder / "mkdocs.yml"), run, docs_dir=str(docs))
    return run


def replace_line(heading: OutlineHeading, old: str, new: str) -> None:
    path = Path(heading.path)
    lines = path.read_text(encoding="utf-8").split("\n")
    assert lines[heading.line - 1].count(old) == 1
    lines[heading.line - 1] = lines[heading.line - 1].replace(old, new)
    path.write_text("\n".join(lines), encoding="utf-8")


def read_ids(headings: list[OutlineHeading]) -> list[str | None]:
    """Read the ids that stand in the lines of headings now."""
    texts = read_texts(headings)
    lines = [texts[heading.path].split("\n")[heading.line - 1] for heading in headings]
    return [read_heading(line).section_id for line in lines]


def test_translations_of_fastapi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Translations have the ids of their originals, and get them back once they are gone."""
    monkeypatch.chdir(tmp_path)
    trees = CORPORA / "fastapi" / "docs"
    copy(tmp_path, "fastapi/docs/ja/docs", exclude=LEFT_OUT)
    docs = tmp_path / "docs"
    make_writable(docs)
    english = inspect_tree(tmp_path, trees / "en" / "docs")
    japanese = inspect_tree(tmp_path, docs)
    for run in (inspect_tree(tmp_path, trees / "de" / "docs"), japanese):
        count, differences = compare_trees(english.reports, run.reports, "", "en")
        assert differences == ([], [])
        assert count > 100

    headings = [each for page in japanese.reports for each in page.outline if each.section_id]
    assert len(headings) > 1000
    for heading in headings:
        replace_line(heading, f" {{ #{heading.section_id} }}", "")
    originals = Originals(
        trees / "en" / "docs", lambda _, run: run.rendered.extend(english.rendered)
    )
    options = StampOptions((), "brace", originals.choose)
    stamps = stamp_site(tmp_path / "mkdocs.yml", options, inspect_site)
    stamps.write()
    wrong, missing = [], set()
    for heading, section_id in zip(headings, read_ids(headings), strict=True):
        if section_id is None:
            missing.add((heading.path, heading.line))
        elif section_id != heading.section_id:
            wrong.append((heading, section_id))
    assert wrong == []
    assert len(missing) <= 0.02 * len(headings)
    # The rest is listed; these alone may lack an id in the original, too.
    left = {(each.path, each.line) for each in stamps.findings if each.code == "not-stamped"}
    assert missing <= left

    # One id that differs is found, at its line.
    heading = next(each for each in headings if (each.path, each.line) not in missing)
    replace_line(heading, f"{{#{heading.section_id}}}", "{#changed}")
    wanted = str(tmp_path / heading.path)
    run = inspect_tree(tmp_path, docs, wants=lambda _, path: path == wanted)
    _, differences = compare_trees(english.reports, run.reports, "", "en")
    (found,) = [each for each in differences.others if each.code == "parity-extra"]
    assert (found.path, found.line) == (heading.path, heading.line)
    assert f"{{#{heading.section_id}}}" in found.message
