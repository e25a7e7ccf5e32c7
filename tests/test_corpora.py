"""Whole documentation sites, where they are at hand: `MARKSTAY_CORPORA` names their folder."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from site_builder import Built, Site, build_site, write_site

from mkdocs_markstay.verify import verify_site

CORPORA = Path(
    os.environ.get("MARKSTAY_CORPORA") or Path(__file__).parents[2] / "shared" / "corpora"
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


def test_argo_cd(tmp_path: Path) -> None:
    """A site without ids: every finding is in its line, and every repair repairs."""
    copy(tmp_path, "argo-cd/docs")
    # Two files that MkDocs publishes at the same address.
    (tmp_path / "docs" / "proposals" / "manifest-hydrator" / "README.md").unlink()
    failed = build_site(tmp_path)
    assert failed.verdict == 1
    assert len(failed.findings) > 3000
    assert {found.code for found in failed.findings} == {"missing-id"}
    for found in failed.findings:
        repair = re.search(r"Write: (?P<title>.*) (?P<id><#.*>)$", found.message)
        assert repair is not None, found
        path = tmp_path / found.path
        lines = path.read_bytes().decode().split("\n")
        line = lines[found.line - 1].rstrip()
        assert line.rstrip(" #").endswith(repair["title"].strip(" #")), found
        lines[found.line - 1] = f"{line} {repair['id']}"
        path.write_bytes("\n".join(lines).encode())
    built = build_site(tmp_path)
    assert built.passed, built.places[:5]
    assert built.manifest is not None
    assert len(built.manifest["sections"]) == len(failed.findings)
    assert verify_site(tmp_path / "site") == []
