"""What the markers of a page are bound to: the cases in ``stays/binding.yml``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from stay_builder import render

from mkdocs_markstay.checks import Rules

FOLDER = Path(__file__).parent / "stays"
CASES: list[dict[str, Any]] = yaml.safe_load((FOLDER / "binding.yml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["name"]))
def test_markers_are_bound(case: dict[str, Any]) -> None:
    rules = Rules(
        stays=case.get("stays", "optional"), stay_blocks=case.get("stay_blocks", "blank-line")
    )
    page = render(case["text"], rules, extensions=case.get("extensions", {}))
    assert list(page.list_blocks()) == case["blocks"]
    assert page.list_findings() == case.get("findings", [])
    for part in case.get("html", []):
        assert part in page.html
