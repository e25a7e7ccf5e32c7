"""The workflows that the documentation shows are whole, and the commands in them are there."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from mkdocs_markstay.cli import main

PAGE = Path(__file__).parents[1] / "docs" / "ci.md"
WORKFLOWS = {
    title: yaml.safe_load(content)
    for title, content in re.findall(
        r'^```yaml title="([^"\n]*)"\n(.*?)^```$', PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
}
STEPS = ["check", "lock", "build", "verify", "diff", "sync"]
"""What a change goes through, from the first check to the store."""


def list_scripts(title: str) -> list[str]:
    """List the shell scripts of a workflow, in their order."""
    workflow: dict[str, Any] = WORKFLOWS[title]
    if title.startswith(".github"):
        steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
        return [step["run"] for step in steps if "run" in step]
    jobs = [job for job in workflow.values() if isinstance(job, dict) and "script" in job]
    return [line for job in jobs for line in job["script"]]


def list_commands(title: str) -> list[list[str]]:
    """List the commands of the scripts, as their words."""
    lines = [line for script in list_scripts(title) for line in script.splitlines()]
    return [shlex.split(line.partition(" > ")[0]) for line in lines]


def test_both_are_shown() -> None:
    assert list(WORKFLOWS) == [".github/workflows/docs.yml", ".gitlab-ci.yml"]


@pytest.mark.parametrize("title", WORKFLOWS)
def test_a_shell_can_read_them(title: str) -> None:
    for script in list_scripts(title):
        subprocess.run(["bash", "-n", "-c", script], check=True)  # noqa: S607


@pytest.mark.parametrize("title", WORKFLOWS)
def test_nothing_is_left_out(title: str) -> None:
    words = [
        words[1] for words in list_commands(title) if words[0] in ("mkdocs", "mkdocs-markstay")
    ]
    assert words == STEPS


@pytest.mark.parametrize("title", WORKFLOWS)
def test_commands_take_their_options(title: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # The files and folders that they name are not there.
    monkeypatch.setattr(click.Path, "convert", lambda _, value, *__: value)
    for program, *words in list_commands(title):
        if program == "mkdocs-markstay":
            # As the group does it: a command keeps the names of the option for help of its first context.
            group = main.make_context(program, list(words))
            main.commands[words[0]].make_context(words[0], words[1:], parent=group)


def test_jobs_wait_for_jobs_that_are_there() -> None:
    github = WORKFLOWS[".github/workflows/docs.yml"]["jobs"]
    gitlab = WORKFLOWS[".gitlab-ci.yml"]
    for jobs in (github, {name: job for name, job in gitlab.items() if isinstance(job, dict)}):
        for job in jobs.values():
            needs = job.get("needs", [])
            assert {needs} if isinstance(needs, str) else set(needs) <= set(jobs)
    assert {job["stage"] for job in gitlab.values() if "stage" in job} == set(gitlab["stages"])


def test_actions_have_a_version() -> None:
    used = re.findall(r"uses: (\S+)", PAGE.read_text("utf-8"))
    assert used
    assert all(re.fullmatch(r"[\w./-]+@v\d+", name) for name in used)
