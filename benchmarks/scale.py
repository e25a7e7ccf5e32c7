"""What markstay costs as a site grows: its CPU time a page, and peak memory over a plain build.

Each build runs in a fresh process: without plugins, and with markstay alone.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from build import OURS, run
from generate import write_site
from sites import HERE, write_config

MEMORY, GROWTH = 40, 1.2


def measure(pages: int, runs: int, *, nav: bool) -> tuple[float, float, float]:
    """Build a site; give the seconds a page, those without the site's own, and the MB over plain.

    `on_env` runs once a site, so it makes a page of a small site look dear.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_site(pages, folder)
        base = HERE / "generated.yml"
        more: dict[str, Any] = {"nav": None} if nav else {}
        plain = write_config(folder, base, [], name="plain.yml", **more)
        ours = write_config(folder, base, [OURS], name="ours.yml", **more)
        before = run(plain)
        results = [run(ours) for _ in range(runs)]
    spent = [_ours(result["spent"]) / pages for result in results]
    per_page = median(spent)
    rest = median(result["cpu"] - _ours(result["spent"]) for result in results) / pages
    memory = median(result["memory"] for result in results)
    more_memory = memory - before["memory"]
    print(
        f"{pages:6} pages: markstay {per_page * 1000:.2f} ms a page"
        f" (from {min(spent) * 1000:.2f} to {max(spent) * 1000:.2f}),"
        f" rest of the build {rest * 1000:.1f} ms a page,"
        f" peak {memory:.0f} MB, plain {before['memory']:.0f} MB: {more_memory:+.1f} MB",
        flush=True,
    )
    once = median(result["spent"][f"{OURS} on_env"] for result in results) / pages
    return per_page, per_page - once, more_memory


def _ours(spent: dict[str, float]) -> float:
    return sum(seconds for label, seconds in spent.items() if label.startswith(f"{OURS} "))


def main() -> None:
    """Read the arguments, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, nargs="+", default=[100, 1000, 5000])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--nav", action="store_true", help="all pages in the navigation")
    arguments = parser.parse_args()
    measured = {
        pages: measure(pages, arguments.runs, nav=arguments.nav) for pages in arguments.pages
    }
    fewest, most = min(measured), max(measured)
    for column, title in enumerate(("all handlers", "without on_env")):
        growth = measured[most][column] / measured[fewest][column]
        print(f"time a page at {most} / at {fewest}, {title}: {growth:.3f} (bound {GROWTH})")
    print(f"memory over plain at {most}: {measured[most][2]:+.1f} MB (bound {MEMORY})")


if __name__ == "__main__":
    main()
