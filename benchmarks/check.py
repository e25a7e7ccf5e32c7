"""What `mkdocs-markstay check` costs: against the site's own rendering, and against rumdl.

Copies DOCS and measures it as it is and once its headings have ids. Each run measures, in turn:

- the rendering of all pages without markstay, and a first check, which keeps a cache;
- a check with nothing changed, and `rumdl check` of the same files, which keeps one, too;
- a check after a change in three pages.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path
from statistics import median

from build import OURS
from measure import MARKSTAY, Cost, measure, show
from sites import HERE, copy_docs, find_config, stamp, write_config

COLD, WARM = 1.1, 2.0
"""The bounds: of a first check to the rendering, of a check with nothing changed to rumdl."""

_CHANGED = 3
_SHORT = 5
"""How often a run measures what takes a moment."""

Costs = dict[str, list[Cost]]


def measure_run(folder: Path, *, rendering_first: bool, rumdl: str) -> Costs:
    """Measure everything once, the short ones several times."""
    cache = folder / "cache"
    check = [MARKSTAY, "check", "--config-file", "ours.yml"]
    render = [sys.executable, HERE / "render.py", "plain.yml"]
    costs: Costs = {}

    def take(name: str, command: list[str | Path]) -> None:
        # rumdl finds something in most files of others.
        cost = measure(command, folder, may_find=name != "render", MARKSTAY_CACHE_DIR=str(cache))
        costs.setdefault(name, []).append(cost)

    shutil.rmtree(cache, ignore_errors=True)
    if rendering_first:
        take("render", render)
    take("cold", [*check])
    if not rendering_first:
        take("render", render)
    for _ in range(_SHORT):
        take("warm", [*check])
        take("rumdl", [rumdl, "check", "docs"])
        take("rumdl without a cache", [rumdl, "check", "--no-cache", "docs"])
        take("python", [sys.executable, "-c", ""])
    pages = sorted((folder / "docs").rglob("*.md"))
    changed = [pages[len(pages) * number // (_CHANGED + 1)] for number in range(1, _CHANGED + 1)]
    before = [page.read_bytes() for page in changed]
    for page, content in zip(changed, before, strict=True):
        page.write_bytes(content + b"\n\nOne more paragraph.\n")
    take("changed", [*check])
    for page, content in zip(changed, before, strict=True):
        page.write_bytes(content)
    return costs


def report(runs: list[Costs]) -> None:
    """Print the medians, and the ratios within each run."""
    for name in runs[0]:
        costs = [cost for run in runs for cost in run[name]]
        seconds = median(cost.seconds for cost in costs)
        show(f"{name}: CPU", [cost.cpu * 1000 for cost in costs], unit=" ms", digits=0)
        print(f"    elapsed {seconds * 1000:.0f} ms, exit code {costs[0].code}")
    for name in ("cold", "warm", "changed"):
        print(f"  {name}: {runs[-1][name][0].output.splitlines()[-1]}")
    for name, other, bound in (
        ("cold", "render", f", bound {COLD}"),
        ("warm", "rumdl", f", bound {WARM}"),
        ("warm", "rumdl without a cache", ""),
        ("changed", "render", ""),
    ):
        ratios = [_cpu(run[name]) / _cpu(run[other]) for run in runs]
        show(f"{name} / {other}{bound}", ratios)


def _cpu(costs: list[Cost]) -> float:
    return median(cost.cpu for cost in costs)


def main() -> None:
    """Read the arguments, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("docs", type=Path, help="the folder of Markdown files")
    parser.add_argument("--config", type=Path, help="base configuration (its plugins are not used)")
    parser.add_argument("--theme", default="", help="another theme than that of the configuration")
    parser.add_argument("--rumdl", default="rumdl", help="the command to compare with")
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    base = arguments.config or find_config(arguments.docs)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        copy_docs(arguments.docs, folder)
        write_config(folder, base, [], theme=arguments.theme, name="plain.yml")
        ours = write_config(folder, base, [OURS], theme=arguments.theme, name="ours.yml")
        for title in ("as it is", "with ids"):
            if title == "with ids":
                stamp(ours)
            print(f"{arguments.docs}, {title}")
            report(
                [
                    measure_run(folder, rendering_first=number % 2 == 0, rumdl=arguments.rumdl)
                    for number in range(arguments.runs)
                ]
            )


if __name__ == "__main__":
    main()
