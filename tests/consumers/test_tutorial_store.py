"""The whole tutorial, with its vector store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from store_cases import require
from tutorial_runner import play

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_each_command_prints_what_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require("sqlite-vec")
    monkeypatch.chdir(tmp_path)
    for step in play():
        assert step.printed == step.shown, step.command
