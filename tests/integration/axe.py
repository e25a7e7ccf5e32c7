"""What axe-core, from npm, finds wrong for readers with screen readers or keyboards."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Page

_SCRIPT = Path(sys.prefix, "node_modules", "axe-core", "axe.min.js")
_GRAVE = ("serious", "critical")
_RUN = """async within => {
  const found = await axe.run(within.length ? {include: within} : document);
  return found.violations.map(({id, impact, nodes}) =>
    [id, impact, nodes.map(node => node.html)]);
}"""


def find_faults(page: Page, *within: str) -> list[Any]:
    """Give the serious faults of a page: rule, impact, elements.

    ``within`` are CSS selectors of what is looked at, all of the page without. Skips a test,
    or fails it where all must be there, if axe-core is not installed.
    """
    if not _SCRIPT.is_file():
        if os.environ.get("MARKSTAY_ALL_NEIGHBOURS"):
            pytest.fail("not installed: axe-core")
        pytest.skip("not installed: axe-core")
    # Not by an element, which a page's Content-Security-Policy may forbid.
    page.evaluate(_SCRIPT.read_text(encoding="utf-8") + "; 0")
    found = page.evaluate(_RUN, [[each] for each in within])
    return [fault for fault in found if fault[1] in _GRAVE]
