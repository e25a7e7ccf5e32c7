"""What all tests share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(autouse=True, scope="session")
def _outside_of_ci() -> Iterator[None]:
    """Let commands print the same everywhere: in CI, those that take long say how far they are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("CI", raising=False)
        yield


@pytest.fixture
def tmp_path(tmp_path: Path) -> Path:
    """Give each test a folder that has no others beside it.

    A stamping renders a copy of a site, with all that stands beside it: the folders of
    thousands of other tests would be a part of each.
    """
    folder = tmp_path / tmp_path.name
    folder.mkdir()
    return folder
