"""What markers of blocks cost in a build.

The same site is built with and without markers, in turns, with the same options of the plugin; the
difference is compared with a build without plugins. The site has section ids, as `stamp`
writes them, and the markers are those of `stamp --stays`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

from build import OURS
from measure import MARKSTAY, measure, show
from sites import copy_docs, find, find_config, stamp, write_config

BOUND = 0.10


def main() -> None:
    """Read the arguments, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("docs", type=Path, help="the folder of Markdown files")
    parser.add_argument("--config", type=Path, help="base configuration (its plugins are not used)")
    parser.add_argument("--theme", default="", help="another theme than that of the configuration")
    parser.add_argument("--anchors", action="store_true", help="with the option stay_anchors")
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    base = arguments.config or find_config(arguments.docs)
    with tempfile.TemporaryDirectory() as name:
        folders = {kind: Path(name) / kind for kind in ("without", "with")}
        for folder in folders.values():
            copy_docs(arguments.docs, folder)
            config = write_config(folder, base, [OURS], theme=arguments.theme)
            stamp(config)
            levels = {"findings": dict.fromkeys(find(config), "info")}
            options: dict[str, Any] = {**levels, "stay_anchors": arguments.anchors}
            write_config(folder, base, [{OURS: options}], theme=arguments.theme)
        write_config(folders["without"], base, [], theme=arguments.theme, name="plain.yml")
        stamped = [MARKSTAY, "stamp", "--stays", "--write"]
        measure(stamped, folders["with"], may_find=True)
        pages = folders["with"].rglob("*.md")
        count = sum(page.read_text(encoding="utf-8").count("<!-- stay:") for page in pages)
        build = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--config-file"]
        runs = [
            {
                "plain": measure([*build, "plain.yml"], folders["without"]).cpu,
                "without": measure([*build, "mkdocs.yml"], folders["without"]).cpu,
                "with": measure([*build, "mkdocs.yml"], folders["with"]).cpu,
            }
            for _ in range(arguments.runs)
        ]
    print(f"{arguments.docs}, {count} markers")
    for kind in ("plain", "without", "with"):
        show(f"{kind}: CPU", [run[kind] for run in runs], unit=" s", digits=2)
    ratios = [(run["with"] - run["without"]) / run["plain"] for run in runs]
    show(f"markers / plain build, bound {BOUND}", ratios)


if __name__ == "__main__":
    main()
