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
