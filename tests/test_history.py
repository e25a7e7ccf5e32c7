"""A short history of edits, made by the benchmark: what is lost is told, and nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
pytestmark = pytest.mark.skipif(not BENCHMARKS.is_dir(), reason="the benchmarks are not at hand")

KINDS = "rename_page,merge_branches,move_section,move_back,delete_page"


def run(script: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, BENCHMARKS / script, *arguments]
    return subprocess.run(command, check=False, capture_output=True, encoding="utf-8")


def test_history(tmp_path: Path) -> None:
    assert run("generate.py", "8", tmp_path).returncode == 0
    ran = run("history.py", tmp_path / "docs", "--kinds", KINDS, "--json")
    assert ran.stdout, ran.stderr
    result = json.loads(ran.stdout)
    for name in ("missed", "false", "wrong_register", "wrong_addresses"):
        assert result[name] == [], name
    # What the edits of this seed are; so it cannot pass by having nothing to tell.
    figures = ("commits", "addresses", "lost_findings", "merged_doubles")
    assert [result[name] for name in figures] == [5, 46, 18, 1]
    assert result["with_register"] == {
        "same address": 32,
        "leads to the new place": 7,
        "says why it is gone": 7,
    }
    today = ("same address", "leads nowhere", "leads to another text")
    assert [result["without"].get(name, 0) for name in today] == [32, 14, 0]
