"""One site with all neighbours that can live together, built by MkDocs and by ProperDocs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import neighbours
import pytest
from site_builder import run_markstay
from test_neighbours import require

if TYPE_CHECKING:
    from site_builder import Built

CASE = Path(__file__).with_name("kitchen_sink.yml").read_text("utf-8")
SECRET = "KEPTSECRET"  # noqa: S105 (what the encrypted page says)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    case = neighbours.read_case(CASE)
    require(case)
    return neighbours.build(tmp_path_factory.mktemp("kitchen_sink"), case)


def test_manifest_is_what_a_reader_can_read(built: Built) -> None:
    assert built.passed, "\n".join(built.log)
    assert built.places == ["docs/secret.md:1 not-published"]
    manifest = built.manifest
    assert manifest is not None
    found = {passage["referent"]: passage["text"] for passage in manifest["passages"]}
    assert len(found) == len(manifest["passages"])
    assert found == neighbours.read_case(CASE)["records"]
    verified = run_markstay(built.folder, "verify", "site")
    assert verified.code == 0, verified.err


def test_nothing_leaks(built: Built) -> None:
    files = neighbours.published(built)
    assert not neighbours.leaks(files)
    # The page for print repeats what another plugin encrypts, with or without us.
    shown = [name for name, content in files.items() if SECRET.encode() in content]
    assert shown == ["print_page/index.html"]
    assert SECRET not in "\n".join(built.log)


@pytest.mark.parametrize("program", ["mkdocs", "properdocs"])
@pytest.mark.parametrize("strict", [(), ("--strict",)], ids=["plain", "strict"])
def test_every_build_has_the_same_manifest(
    built: Built, program: str, strict: tuple[str, ...], tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", program, "build", *strict, "-d", tmp_path],
        cwd=built.folder,
        env={**os.environ, **neighbours.ENVIRON},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "passages.json").read_bytes() == built.manifest_bytes


def test_cite_changes_pages_and_nothing_that_others_make_of_them(
    built: Built, tmp_path: Path
) -> None:
    case = neighbours.read_case(CASE)
    for plugin in case["config"]["plugins"]:
        if "markstay" in plugin:
            plugin["markstay"]["cite"] = True
    cited = neighbours.build(tmp_path, case)
    assert cited.passed, "\n".join(cited.log)
    assert cited.places == built.places
    assert cited.manifest_bytes == built.manifest_bytes
    verified = run_markstay(tmp_path, "verify", "site")
    assert verified.code == 0, verified.err
    files, before = neighbours.published(cited), neighbours.published(built)
    ours = {"assets/markstay/cite.css", "assets/markstay/cite.js"}
    assert files.keys() - ours == before.keys()
    # Search, feeds, texts for language models: all that is no page is the same.
    changed = [name for name in before if files[name] != before[name]]
    assert [name for name in changed if not name.endswith(".html")] == []
    for name in ("secret/index.html", "print_page/index.html"):
        assert b'data-markstay-begin="' not in files[name]
    assert b'data-markstay-begin="guide ^"' in files["guide/index.html"]
