"""The tutorial shows what happens if one does what it says, from the first line to the last.

What needs a vector store is in `tests/consumers/test_tutorial_store.py`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tutorial_runner import NEEDS_STORE, PAGE, needs_no_store, play

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_each_command_prints_what_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    steps = play(needs_no_store)
    for step in steps:
        assert step.printed == step.shown, step.command
    # Nothing that is shown was left out, and the site holds what the page promises.
    shown = re.findall(r"^\$ (.*)$", PAGE.read_text("utf-8"), re.MULTILINE)
    assert [step.command for step in steps] == [
        command for command in shown if not command.startswith(NEEDS_STORE)
    ]
    old = (tmp_path / "site" / "install" / "index.html").read_text("utf-8")
    assert 'href="../care/#batteries"' in old
