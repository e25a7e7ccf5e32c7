"""What `mkdocs-markstay stamp` costs, against a plain build of the same site.

Each run measures, in turn, with a fresh copy of DOCS: a build without plugins, the diff of
all ids, writing them, and a second stamping that finds nothing to do.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from build import OURS
from measure import MARKSTAY, Cost, measure, show
from sites import copy_docs, find_config, write_config

BOUND = 2.5


def measure_run(folder: Path) -> dict[str, Cost]:
    """Measure everything once; the site has its ids then."""
    stamp = [MARKSTAY, "stamp", "--config-file", "ours.yml"]
    build = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--config-file", "plain.yml"]
    return {
        "build": measure(build, folder),
        "diff": measure(stamp, folder, may_find=True),
        "write": measure([*stamp, "--write"], folder, may_find=True),
        "again": measure([*stamp, "--write"], folder, may_find=True),
    }


def main() -> None:
    """Read the arguments, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("docs", type=Path, help="the folder of Markdown files")
    parser.add_argument("--config", type=Path, help="base configuration (its plugins are not used)")
    parser.add_argument("--theme", default="", help="another theme than that of the configuration")
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    base = arguments.config or find_config(arguments.docs)
    runs = []
    for _ in range(arguments.runs):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            copy_docs(arguments.docs, folder)
            write_config(folder, base, [], theme=arguments.theme, name="plain.yml")
            write_config(folder, base, [OURS], theme=arguments.theme, name="ours.yml")
            runs.append(measure_run(folder))
    print(arguments.docs)
    for name in runs[0]:
        show(f"{name}: CPU", [run[name].cpu for run in runs], unit=" s", digits=2)
        show(f"{name}: elapsed", [run[name].seconds for run in runs], unit=" s", digits=2)
        last = runs[-1][name].output.splitlines()[-1:]
        print(f"    exit code {runs[-1][name].code} {' '.join(last)}")
    for name in ("diff", "write", "again"):
        ratios = [run[name].cpu / run["build"].cpu for run in runs]
        show(f"{name} / build, bound {BOUND}", ratios)


if __name__ == "__main__":
    main()
