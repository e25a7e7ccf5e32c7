"""What all tests share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def tmp_path(tmp_path: Path) -> Path:
    """Give each test a folder that has no others beside it.

    A stamping renders a copy of a site, with all that stands beside it: the folders of
    thousands of other tests would be a part of each.
    """
    folder = tmp_path / tmp_path.name
    folder.mkdir()
    return folder
