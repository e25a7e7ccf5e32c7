"""What a sync does to a target, and what is left when it dies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from sync_cases import CHANGES, NAMES, MemoryTarget, hold_memory, run_change

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any


@pytest.mark.parametrize("change", CHANGES, ids=NAMES)
def test_what_moves_when(change: dict[str, Any], tmp_path: Path) -> None:
    target = MemoryTarget()
    run_change(tmp_path, change, target, lambda: hold_memory(target))
