"""How long a site without section ids takes to fail, against a plain build of it.

Runs the command line of MkDocs, and takes the CPU time of the whole process.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from statistics import median
from sys import executable

from build import OURS, SEARCH
from measure import Cost, measure
from sites import copy_docs, find_config, write_config

BOUND = 1.5


def build(config: Path) -> Cost:
    """Build a site."""
    command = [executable, "-m", "mkdocs", "build", "--quiet", "--config-file", config.name]
    return measure(command, config.parent, may_find=True)


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
            pairs = [(build(plain), build(failing)) for _ in range(arguments.runs)]
            ratios = sorted(with_.cpu / without.cpu for without, with_ in pairs)
            walls = sorted(with_.seconds / without.seconds for without, with_ in pairs)
            before, after = pairs[-1]
            print(
                f"{title}: plain {median(without.cpu for without, _ in pairs):.2f} s CPU"
                f" (exit code {before.code}),"
                f" failing {median(with_.cpu for _, with_ in pairs):.2f} s CPU"
                f" (exit code {after.code}, {after.output.count(': error[')} findings)"
            )
            print(
                f"  failing / plain: CPU {median(ratios):.3f}"
                f" (from {ratios[0]:.3f} to {ratios[-1]:.3f}),"
                f" elapsed {median(walls):.3f} (bound {BOUND})",
                flush=True,
            )


if __name__ == "__main__":
    main()
