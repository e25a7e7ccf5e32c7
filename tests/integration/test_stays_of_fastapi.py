"""Markers below all blocks of a real site."""

from __future__ import annotations

import os
import re
import shutil
import stat
from pathlib import Path

import pytest
import yaml
from site_builder import Site, build_site, run_markstay, write_site
from test_stay_stamping import ids_of, pages

from mkdocs_markstay.verify import verify_site

CORPORA = Path(
    os.environ.get("MARKSTAY_CORPORA") or Path(__file__).parents[3] / "shared" / "corpora"
)


@pytest.mark.skipif(not CORPORA.is_dir(), reason="no corpora are at hand")
def test_fastapi(tmp_path: Path) -> None:
    """Thousands of markers, each bound, and no page is another one."""
    extensions = yaml.unsafe_load(
        (Path(__file__).parents[2] / "benchmarks" / "fastapi.yml").read_bytes()
    )["markdown_extensions"]
    codes = ("malformed-id", "duplicate-id", "id-taken", "case-clash", "empty-id", "same-url")
    plugin = {"levels": [], "findings": dict.fromkeys(codes, "ignore")}
    shutil.copytree(CORPORA / "fastapi/docs/en/docs", tmp_path / "docs")
    for path in (tmp_path / "docs", *(tmp_path / "docs").rglob("*")):
        path.chmod(path.stat().st_mode | stat.S_IWUSR)
    write_site(tmp_path, Site({}, (), plugin))
    config = yaml.safe_load((tmp_path / "mkdocs.yml").read_bytes())
    config["markdown_extensions"] = extensions
    (tmp_path / "mkdocs.yml").write_text(yaml.dump(config, sort_keys=False), encoding="utf-8")
    before = pages(build_site(tmp_path))

    ran = run_markstay(tmp_path, "stamp", "--stays", "--write")
    written = set()
    for path in tmp_path.glob("docs/**/*.md"):
        written.update(re.findall(rb"^<!-- stay:(\w{8}) hash=", path.read_bytes(), re.MULTILINE))
    assert len(written) > 5000
    assert ran.err.startswith(f"{len(written)} markers in ")
    assert (ran.findings, ran.code) == ([], 0)
    assert "0 markers in 0 files to write" in run_markstay(tmp_path, "stamp", "--stays").err

    built = build_site(tmp_path)
    assert pages(built) == before
    bound = {each.encode() for each in ids_of(built)}
    assert len(written & bound) >= 0.97 * len(written)
    assert verify_site(tmp_path / "site") == []
