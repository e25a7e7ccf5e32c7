"""A site that mike deploys: a manifest for each version, and the same one by an alias."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import pytest
import yaml
from neighbours import ROOT
from site_builder import run_markstay

PROGRAMS = Path(sys.executable).parent
PAGE = ROOT / "docs" / "neighbours" / "mike.md"
FIRST = {"docs/index.md": "# Pump <#pump>\n\nIt lifts water.\n\n## Oil <#oil>\n\nA spoonful.\n"}
SECOND = {"docs/index.md": FIRST["docs/index.md"].replace("A spoonful", "Two spoonfuls")}
BROKEN = {"docs/index.md": FIRST["docs/index.md"].replace(" <#oil>", "")}
TEXTS = {
    "1.0": {"index#pump": "It lifts water.", "index#oil": "A spoonful."},
    "2.0": {"index#pump": "It lifts water.", "index#oil": "Two spoonfuls."},
}


class Repository:
    """A git repository with a site in it, from which mike deploys to the branch gh-pages."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environ = {
            **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            **{f"GIT_{who}_NAME": "Ada" for who in ("AUTHOR", "COMMITTER")},
            **{f"GIT_{who}_EMAIL": "ada@example.org" for who in ("AUTHOR", "COMMITTER")},
            "NO_MKDOCS_2_WARNING": "1",
            # mike starts `mkdocs` or `properdocs` by name.
            "PATH": f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}",
        }
        (folder / "docs").mkdir()
        block = re.search(
            r"^```yaml[^\n]*\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL
        )
        assert block is not None
        assert "markstay" in yaml.safe_load(block[1])["plugins"]
        (folder / "mkdocs.yml").write_text(block[1], encoding="utf-8")
        (folder / ".gitignore").write_text("site/\n", encoding="utf-8")
        self.run("git", "init", "-q", "-b", "main")

    def run(self, *command: str, code: int = 0) -> str:
        """Run a command in the repository, and give what it writes."""
        done = subprocess.run(
            command, cwd=self.folder, env=self.environ, capture_output=True, text=True, check=False
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    def deploy(self, files: dict[str, str], *arguments: str, code: int = 0) -> str:
        """Commit files, and have mike deploy the site."""
        for name, text in files.items():
            (self.folder / name).write_text(text, encoding="utf-8")
        self.run("git", "add", "-A")
        self.run("git", "commit", "-q", "--allow-empty", "-m", "Site")
        return self.run(str(PROGRAMS / "mike"), "deploy", *arguments, code=code)

    def published(self) -> list[str]:
        """List the files of the branch gh-pages."""
        return self.run("git", "ls-tree", "-r", "--name-only", "gh-pages").split()

    def checkout(self, folder: Path) -> None:
        """Put what is published into a folder, links as links."""
        self.run("git", "worktree", "add", "-q", str(folder), "gh-pages")


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    try:
        distribution("mike")
    except PackageNotFoundError:
        if os.environ.get("MARKSTAY_ALL_NEIGHBOURS"):
            pytest.fail("not installed: mike")
        pytest.skip("not installed: mike")
    folder = tmp_path / "repository"
    folder.mkdir()
    return Repository(folder)


def _manifest(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "passages.json").read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("alias_type", ["symlink", "copy"])
def test_each_version_has_its_manifest_and_an_alias_shows_the_same(
    repository: Repository, tmp_path: Path, alias_type: str
) -> None:
    repository.deploy(FIRST, "1.0")
    repository.deploy(SECOND, "--alias-type", alias_type, "2.0", "latest")
    site = tmp_path / "published"
    repository.checkout(site)
    chunk_ids = {}
    for version, texts in TEXTS.items():
        manifest = _manifest(site / version)
        assert manifest["version"] == version
        assert manifest["site_url"] == f"https://docs.example.org/pump/{version}"
        assert {each["referent"]: each["text"] for each in manifest["passages"]} == texts
        chunk_ids[version] = {each["referent"]: each["chunk_id"] for each in manifest["passages"]}
        lines = (site / version / "passages.jsonl").read_text(encoding="utf-8").splitlines()
        assert {json.loads(line)["version"] for line in lines} == {version}
        assert run_markstay(site, "verify", version).code == 0
    assert chunk_ids["1.0"]["index#pump"] == chunk_ids["2.0"]["index#pump"]
    assert chunk_ids["1.0"]["index#oil"] != chunk_ids["2.0"]["index#oil"]
    for name in ("passages.json", "passages.jsonl"):
        assert (site / "latest" / name).read_bytes() == (site / "2.0" / name).read_bytes()
    assert run_markstay(site, "verify", "latest").code == 0


def test_alias_that_redirects_has_no_manifest_of_its_own(repository: Repository) -> None:
    repository.deploy(FIRST, "--alias-type", "redirect", "1.0", "latest")
    published = repository.published()
    assert "1.0/passages.json" in published
    assert [name for name in published if name.startswith("latest/passages")] == []


def test_site_with_findings_is_not_deployed(repository: Repository) -> None:
    repository.deploy(FIRST, "1.0")
    before = repository.run("git", "rev-parse", "gh-pages")
    said = repository.deploy(BROKEN, "2.0", code=1)
    assert "docs/index.md:5: error[missing-id]" in said
    assert "Traceback" not in said
    assert repository.run("git", "rev-parse", "gh-pages") == before
