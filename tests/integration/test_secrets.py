"""What a page will encrypt stands in no file that a command leaves behind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import neighbours
from site_builder import Site, run_markstay, run_mkdocs, write_site
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


def test_old_addresses_of_an_encrypted_page_stand_nowhere(tmp_path: Path) -> None:
    require({"needs": ["mkdocs-encryptcontent-plugin"]})
    plan = "---\npassword: abc\n---\n# Plan\n\n## Launch <#launch>\n\nSoon.\n\n## Cost <#cost>\n"
    files = {"docs/index.md": "# Home\n\n## Open <#open>\n\nText.\n", "docs/plan.md": plan}
    write_site(tmp_path, Site(files, config={"plugins": ["encryptcontent", "markstay"]}))
    assert run_markstay(tmp_path, "lock").code == 0
    text = (tmp_path / "markstay.lock").read_text("utf-8")
    assert "Launch" not in text
    for command in (
        ("rename", "docs/plan.md", "launch", "lift-off"),
        ("rename", "docs/index.md", "open", "opened"),
    ):
        assert run_markstay(tmp_path, *command).code == 0
    (tmp_path / "docs/plan.md").write_text(
        plan.replace("<#launch>", "<#lift-off>").replace("\n## Cost <#cost>\n", ""), "utf-8"
    )
    ran = run_markstay(tmp_path, "retire", "plan#cost", "--reason", "It is free.")
    assert ran.code == 0
    built = run_mkdocs(tmp_path)
    assert built.passed, built.log
    assert built.manifest is not None
    assert [row["from"] for row in built.manifest["redirects"]] == ["index#open"]
    assert built.manifest["retired"] == []
    page = built.html("plan/index.html")
    assert "markstay-" not in page.replace("data-markstay-", "")
    assert 'id="open"' in built.html()
    for form in ("passages.json", "passages.jsonl"):
        assert b"plan#" not in (tmp_path / "site" / form).read_bytes()
