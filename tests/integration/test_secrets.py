"""What a page will encrypt stands in no file that a command leaves behind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import neighbours
from site_builder import run_markstay
from test_neighbours import CASES, require

if TYPE_CHECKING:
    from pathlib import Path


def test_neither_cache_nor_baseline_repeats_an_encrypted_page(tmp_path: Path) -> None:
    case = neighbours.read_case(CASES["encryptcontent"])
    require(case)
    neighbours.build_broken(tmp_path, case)
    checked = run_markstay(tmp_path, "check")
    assert checked.code == 1
    assert "docs/one.md:8" in checked.out
    assert run_markstay(tmp_path, "baseline").code == 0
    left = {
        path: path.read_bytes()
        for path in (tmp_path / "markstay.baseline", *(tmp_path / ".cache").rglob("*.json"))
    }
    assert len(left) > 1
    said = [checked.out.encode(), checked.err.encode(), *left.values()]
    for secret in case["absent"]:
        assert not [text for text in said if secret.lower().encode() in text.lower()], secret


def test_a_page_with_an_encrypted_part_is_told_as_such(tmp_path: Path) -> None:
    case = neighbours.read_case(CASES["encryptcontent"])
    require(case)
    plugins = case["config"]["plugins"]
    plugins[-1] = "markstay"  # which then tells what it leaves out
    built = neighbours.build(tmp_path, case)
    assert built.passed
    told = {found.path: found.message for found in built.findings}
    assert "a part of it, is encrypted" in told["docs/part.md"]
    assert set(told) == {"docs/one.md", "docs/members.md", "docs/part.md"}
