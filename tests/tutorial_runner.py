"""Runs the tutorial as a reader does: its files and commands, in order, in one folder.

``python tests/tutorial_runner.py`` writes what the commands print into the page.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from click.testing import CliRunner
from packaging.requirements import Requirement

from mkdocs_markstay.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable

PAGE = Path(__file__).parents[1] / "docs" / "tutorial.md"
NEEDS_STORE = ("mkdocs-markstay sync", "python ask.py")
"""How the commands begin that need the packages of the vector store."""

_BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
_SECONDS = re.compile(r"\bin \d+\.\d s\b")


class Step(NamedTuple):
    """A command, with what the page shows and what it printed."""

    command: str
    shown: str
    printed: str


def run(command: str) -> str:
    """Run a command; give what it prints on a terminal of 80 columns."""
    name, *arguments = shlex.split(command)
    if name == "mkdocs-markstay":
        done = CliRunner().invoke(main, arguments, prog_name=name, terminal_width=78)
        if not isinstance(done.exception, (SystemExit, type(None))):
            raise done.exception
        # A module of the reader's stays imported here, which it does not in a terminal.
        sys.modules.pop("my_model", None)
        return _SECONDS.sub("in 0.0 s", done.output)
    if name == "pip":
        assert arguments[0] == "install"
        _check_installable(arguments[1:])
        return ""
    if name == "cat":
        return Path(*arguments).read_text("utf-8")
    if name == "cp":
        shutil.copyfile(*arguments)
        return ""
    assert name in ("mkdocs", "python"), command
    process = subprocess.run(
        [sys.executable, *(["-m", name] if name == "mkdocs" else []), *arguments],
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    return process.stdout


def _check_installable(requirements: list[str]) -> None:
    """Nothing is installed by a test: see that there are such packages and extras."""
    project = (PAGE.parents[1] / "pyproject.toml").read_text("utf-8")
    for requirement in map(Requirement, requirements):
        assert version(requirement.name)
        for extra in requirement.extras:
            assert re.search(rf"^{re.escape(extra)} = \[", project, re.MULTILINE), requirement


def play(keep: Callable[[str], bool] = lambda _: True) -> list[Step]:
    """Write the files and run the commands of the page in the current folder.

    A command that ``keep`` refuses is left out.
    """
    steps = []
    for language, title, content in _BLOCK.findall(PAGE.read_text("utf-8")):
        if title:
            path = Path(title)
            path.parent.mkdir(exist_ok=True)
            path.write_text(content, "utf-8")
        elif language == "console":
            steps += [
                Step(command, shown, run(command))
                for command, shown in _COMMAND.findall(content)
                if keep(command)
            ]
    return steps


def needs_no_store(command: str) -> bool:
    """Tell whether a command can be run without the packages of the vector store."""
    return not command.startswith(NEEDS_STORE)


def write() -> None:
    """Write what the commands print into the page."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        steps = iter(play())
        os.chdir(PAGE.parent)

    def fill(block: re.Match[str]) -> str:
        if block[1] != "console":
            return block[0]
        commands = _COMMAND.findall(block[3])
        filled = "".join(
            f"$ {step.command}\n{step.printed}" for _, step in zip(commands, steps, strict=False)
        )
        return f"```console\n{filled}```"

    PAGE.write_text(_BLOCK.sub(fill, PAGE.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    write()
