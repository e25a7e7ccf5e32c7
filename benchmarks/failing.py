"""How long a site without section ids takes to fail, against a plain build of it.

Runs the command line of MkDocs, and takes the CPU time of the whole process.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path
from statistics import median
from subprocess import PIPE, Popen
from sys import executable

from build import OURS, SEARCH, environment
from sites import copy_docs, find_config, write_config
from stamp import count

BOUND = 1.5


def timed_build(config: Path) -> tuple[float, float, int, str]:
    """Build a site; give CPU seconds, seconds, the exit code and what was logged."""
    command = [executable, "-m", "mkdocs", "build", "--quiet", "--config-file", config.name]
    started = time.perf_counter()
    with Popen(
        command, cwd=config.parent, env=environment(), stdout=PIPE, stderr=PIPE, encoding="utf-8"
    ) as process:
        assert process.stderr is not None
        output = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return (
        usage.ru_utime + usage.ru_stime,
        time.perf_counter() - started,
        process.returncode,
        output,
    )


def main() -> None:
    """Read the arguments, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("docs", type=Path, help="the folder of Markdown files, without ids")
    parser.add_argument("--config", type=Path, help="base configuration (its plugins are not used)")
    parser.add_argument("--theme", default="", help="another theme than that of the configuration")
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    base = arguments.config or find_config(arguments.docs)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        copy_docs(arguments.docs, folder)
        for title, plugins in (("without plugins", []), ("with search", [SEARCH])):
            theme = arguments.theme
            plain = write_config(folder, base, plugins, theme=theme, name="plain.yml")
            failing = write_config(folder, base, [*plugins, OURS], theme=theme, name="failing.yml")
            pairs = [(timed_build(plain), timed_build(failing)) for _ in range(arguments.runs)]
            ratios = sorted(with_[0] / without[0] for without, with_ in pairs)
            walls = sorted(with_[1] / without[1] for without, with_ in pairs)
            _, _, code, output = pairs[-1][1]
            print(
                f"{title}: plain {median(without[0] for without, _ in pairs):.2f} s CPU"
                f" (exit code {pairs[-1][0][2]}),"
                f" failing {median(with_[0] for _, with_ in pairs):.2f} s CPU (exit code {code},"
                f" {count(output).total()} findings)"
            )
            print(
                f"  failing / plain: CPU {median(ratios):.3f}"
                f" (from {ratios[0]:.3f} to {ratios[-1]:.3f}),"
                f" elapsed {median(walls):.3f} (bound {BOUND})",
                flush=True,
            )


if __name__ == "__main__":
    main()
