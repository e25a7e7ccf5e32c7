"""Findings on the pages of a sub-project: their repair is one that can be made."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import neighbours
from test_neighbours import CASES, require

if TYPE_CHECKING:
    from pathlib import Path


def test_stamp_is_proposed_for_the_files_that_it_changes(tmp_path: Path) -> None:
    case = neighbours.read_case(CASES["monorepo"])
    require(case)
    for page in ("docs/index.md", "pump/docs/index.md"):
        case["files"][page] = case["files"][page].replace(" <#safety>", "")
    built = neighbours.build(tmp_path, case)
    said = {found.path: found.message for found in built.findings}
    assert "stamp docs/index.md --write" in said["docs/index.md"]
    assert said["pump/docs/index.md"].endswith("Write: ## Safety <#safety>")
    # In another process: what monorepo leaves behind there is not ours to clear.
    command = [sys.executable, "-m", "mkdocs_markstay", "stamp", "docs/index.md", "--write"]
    subprocess.run(command, cwd=tmp_path, check=True)
    assert "## Safety <#safety>" in (tmp_path / "docs" / "index.md").read_text("utf-8")
