"""What a command costs: its whole process, Python's start and imports included."""

from __future__ import annotations

import os
import sysconfig
import time
from pathlib import Path
from statistics import median
from subprocess import PIPE, STDOUT, Popen
from typing import TYPE_CHECKING, NamedTuple

from build import environment

if TYPE_CHECKING:
    from collections.abc import Sequence

MARKSTAY = str(Path(sysconfig.get_path("scripts")) / "mkdocs-markstay")
"""The command as users start it: `python -m` takes a little longer."""


class Cost(NamedTuple):
    """CPU seconds, elapsed seconds, exit code, and all that was printed."""

    cpu: float
    seconds: float
    code: int
    output: str


def measure(
    command: Sequence[str | Path], folder: Path, *, may_find: bool = False, **variables: str
) -> Cost:
    """Run a command in a folder, with these environment variables, and say what it cost.

    It must succeed; if it ``may_find`` something, it may also exit with 1.
    """
    started = time.perf_counter()
    with Popen(
        command,
        cwd=folder,
        env={**environment(), **variables},
        stdout=PIPE,
        stderr=STDOUT,
        encoding="utf-8",
        errors="replace",
    ) as process:
        assert process.stdout is not None
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    elapsed = time.perf_counter() - started
    code = process.returncode
    if code not in (0, int(may_find)) or "Traceback (most recent call last)" in output:
        raise SystemExit(f"{command} ended with exit code {code}:\n{output}")
    return Cost(usage.ru_utime + usage.ru_stime, elapsed, code, output)


def show(title: str, values: Sequence[float], *, unit: str = "", digits: int = 3) -> None:
    """Print a median with the lowest and the highest."""
    middle, lowest, highest = (
        f"{value:.{digits}f}{unit}" for value in (median(values), min(values), max(values))
    )
    print(f"  {title}: {middle} (from {lowest} to {highest})", flush=True)
