"""What markstay costs in one build, against the rest of the build and against `search`.

Copies DOCS, writes section ids where they are missing, builds the copy several times
(each in a fresh process), and prints CPU times by handler and the two ratios.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from statistics import median

from build import ATTR_LIST, OURS, SEARCH, run
from sites import copy_docs, find, find_config, stamp, write_config

OF_BUILD, OF_SEARCH = 0.08, 0.5


def main() -> None:
    """Read the arguments, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("docs", type=Path, help="the folder of Markdown files")
    parser.add_argument("--config", type=Path, help="base configuration (its plugins are not used)")
    parser.add_argument("--theme", default="mkdocs", choices=("mkdocs", "material"))
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--profile", type=Path, help="profile one more build, into this file")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        copy_docs(arguments.docs, folder)
        base = arguments.config or find_config(arguments.docs)
        config = write_config(folder, base, ["search", "markstay"], theme=arguments.theme)
        stamp(config)
        left = find(config)
        # What stamping cannot repair must not stop the build.
        levels = {"findings": dict.fromkeys(left, "info")}
        config = write_config(folder, base, ["search", {"markstay": levels}], theme=arguments.theme)
        results = [run(config) for _ in range(arguments.runs)]
        if arguments.profile:
            run(config, profile=arguments.profile.resolve())
    labels = sorted({label for result in results for label in result["spent"]})
    print(f"{arguments.docs}, theme {arguments.theme}, {results[0]['pages']} pages")
    print(f"findings left after stamping: {dict(left) or 'none'}")
    for label in labels:
        values = [result["spent"].get(label, 0.0) for result in results]
        print(f"  {median(values) * 1000:9.1f} ms  {label}")
    rows = []
    for result in results:
        totals = dict.fromkeys((OURS, SEARCH, ATTR_LIST), 0.0)
        for label, seconds in result["spent"].items():
            totals[label.split()[0]] += seconds
        rest = result["cpu"] - totals[OURS]
        rows.append((totals[OURS], totals[SEARCH], totals[ATTR_LIST], rest))
    ours, search, added, rest = (median(column) for column in zip(*rows, strict=True))
    print(f"markstay {ours:.3f} s, search {search:.3f} s, rest of the build {rest:.3f} s")
    print(f"attr_list, where only markstay asks for it: {added:.3f} s (in the rest)")
    for title, column, bound in (("rest of the build", 3, OF_BUILD), ("search", 1, OF_SEARCH)):
        ratios = sorted(row[0] / row[column] for row in rows)
        print(
            f"markstay / {title}: {median(ratios):.4f}"
            f" (from {ratios[0]:.4f} to {ratios[-1]:.4f}; bound {bound})"
        )


if __name__ == "__main__":
    main()
