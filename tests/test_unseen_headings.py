"""Headings that readers do not see are enforced, and what they say is not repeated."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from site_builder import Site, build_site, run_markstay, write_site

if TYPE_CHECKING:
    from pathlib import Path

HIDDEN = {
    "by-itself": ("## TOLDNOWHERE{} {{ hidden }}", 3),
    "in-a-container": ('<div hidden markdown="1">\n\n## TOLDNOWHERE{}\n\n</div>', 5),
    "by-its-style": ('<div style="display:none" markdown="1">\n\n## TOLDNOWHERE{}\n\n</div>', 5),
}


def make_site(text: str) -> Site:
    page = f"# A\n\n{text}\n\n## Shown\n"
    return Site({"docs/index.md": page}, extensions=("attr_list", "md_in_html"))


@pytest.mark.parametrize(("text", "line"), HIDDEN.values(), ids=HIDDEN)
def test_its_text_is_in_no_message_and_in_no_file(tmp_path: Path, text: str, line: int) -> None:
    write_site(tmp_path, make_site(text.format("")))
    checked = run_markstay(tmp_path, "check")
    found = [told.split(" ", 2) for told in checked.out.splitlines()]
    hidden, shown = found
    assert hidden[0] == f"docs/index.md:{line}:"
    assert "heading that readers do not see has no section id" in hidden[-1]
    assert "--write" in hidden[-1]
    assert "heading 'Shown' has no section id" in shown[-1]
    assert run_markstay(tmp_path, "baseline").code == 0
    left = [tmp_path / "markstay.baseline", *(tmp_path / ".cache").rglob("*.json")]
    assert len(left) > 1
    said = [checked.out, checked.err, *(path.read_text("utf-8") for path in left)]
    assert not [each for each in said if "toldnowhere" in each.lower()]


@pytest.mark.parametrize(("text", "line"), HIDDEN.values(), ids=HIDDEN)
def test_a_build_repeats_it_neither(tmp_path: Path, text: str, line: int) -> None:
    built = build_site(tmp_path, make_site(text.format(" <#a b>")))
    assert built.places == [
        f"docs/index.md:{line} malformed-id",
        f"docs/index.md:{5 + len(text.splitlines()) - 1} missing-id",
    ]
    assert not [each for each in built.log if "TOLDNOWHERE" in each or "a b" in each]
