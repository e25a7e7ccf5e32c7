"""What `mkdocs-markstay diff` costs, against GNU diff on the same two files in the same run.

Writes two `passages.jsonl` of a synthetic corpus into a temporary folder, the same ones every
time. Of the second, a share of the passages is edited, added or removed. Each run measures both
commands in turn: CPU time (user and system) and peak memory.
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
import time
from pathlib import Path
from subprocess import STDOUT, Popen
from typing import NamedTuple

from build import environment
from generate import words
from measure import MARKSTAY, show

from mkdocs_markstay.records import Page, Policy, Publication, write_page
from mkdocs_markstay.sections import Block, Section

_SECTIONS = 5
_PASSAGES = 2
_SEED = 1
_POLICY = Policy((), granularity="block")
_PUBLICATION = Publication("synthetic", "en", None, "https://docs.example.org/")


class Cost(NamedTuple):
    """CPU seconds, elapsed seconds, peak memory in MB, and the first lines that were printed."""

    cpu: float
    seconds: float
    memory: float
    output: str


def write_manifests(folder: Path, passages: int, changed: float) -> tuple[Path, Path]:
    """Write OLD and NEW; ``changed`` is the share of passages that are not the same in both."""
    chance = random.Random(_SEED)  # noqa: S311 (not for secrets)
    old, new = folder / "old.jsonl", folder / "new.jsonl"
    # Texts are taken from one long one: what they say makes no difference.
    source = words(chance, 100_000)
    with old.open("w", encoding="utf-8") as first, new.open("w", encoding="utf-8") as second:
        for number in range(passages // (_SECTIONS * _PASSAGES)):
            before, after = _make_page(chance, number, source, changed)
            first.write(before)
            second.write(after)
    return old, new


def _make_page(chance: random.Random, number: int, source: str, changed: float) -> tuple[str, str]:
    title = f"Page {number}"
    page = Page(f"part/page-{number:07}", title, f"part/page-{number:07}/", "en", f"p{number}.md")
    before, after = [], []
    differ = False
    for index in range(_SECTIONS):
        texts = []
        for _ in range(_PASSAGES):
            start = chance.randrange(len(source) - 1_000)
            texts.append(source[start : start + chance.randrange(200, 600)])
        others = list(texts)
        for place in reversed(range(_PASSAGES)):
            if chance.random() < changed:
                differ = True
                _change(chance, others, place)
        name = f"section-{index}"
        for made, each in ((before, texts), (after, others)):
            blocks = [Block("paragraph", text) for text in each]
            made.append(Section(name, 2, f"Section {index}", (f"Section {index}",), blocks))
    old = write_page(page, before, _PUBLICATION, _POLICY).lines
    return old, write_page(page, after, _PUBLICATION, _POLICY).lines if differ else old


def _change(chance: random.Random, texts: list[str], place: int) -> None:
    """Edit a text, add one or remove one: eight, one and one of ten times."""
    what = chance.randrange(10)
    if what == 0:
        del texts[place]
    elif what == 1:
        texts.insert(place, f"A text that is new, number {chance.randrange(10**9)}.")
    else:
        texts[place] += f" This was edited, with the number {chance.randrange(10**9)}."


def measure(command: list[str | Path], folder: Path) -> Cost:
    """Run a command, whose output is thrown away but for its beginning."""
    started = time.perf_counter()
    with (folder / "output").open("wb") as output:
        process = Popen(command, stdout=output, stderr=STDOUT, env=environment())
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    with (folder / "output").open("rb") as output:
        shown = output.read(2_000).decode("utf-8", "replace")
    if process.returncode not in (0, 1) or shown.startswith("Traceback"):
        raise SystemExit(f"{command} ended with exit code {process.returncode}:\n{shown}")
    cpu = usage.ru_utime + usage.ru_stime
    return Cost(cpu, time.perf_counter() - started, usage.ru_maxrss / 1024, shown)


def main() -> None:
    """Read the arguments, write the manifests, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--passages", type=int, default=1_000_000)
    parser.add_argument("--changed", type=float, default=0.01, help="the share of passages")
    parser.add_argument("--format", default="text", help="how our diff is written")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--gnu", default="diff", help="GNU diff")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        old, new = write_manifests(folder, arguments.passages, arguments.changed)
        sizes = " and ".join(f"{path.stat().st_size / 1e6:.0f} MB" for path in (old, new))
        print(f"{arguments.passages} passages, {arguments.changed:.0%} changed: {sizes}")
        costs: dict[str, list[Cost]] = {}
        commands: dict[str, list[str | Path]] = {
            "markstay": [MARKSTAY, "diff", old, new, "--format", arguments.format],
            "GNU diff": [arguments.gnu, old, new],
        }
        for _ in range(arguments.runs):
            for title, command in commands.items():
                costs.setdefault(title, []).append(measure(command, folder))
    for title, found in costs.items():
        show(f"{title}: CPU", [cost.cpu for cost in found], unit=" s", digits=2)
        show(f"{title}: elapsed", [cost.seconds for cost in found], unit=" s", digits=2)
        show(f"{title}: memory", [cost.memory for cost in found], unit=" MB", digits=0)
    ours, theirs = costs.values()
    ratios = [first.cpu / second.cpu for first, second in zip(ours, theirs, strict=True)]
    show("markstay / GNU diff, bound 1", ratios, digits=2)
    print("\n".join(ours[-1].output.split("\n")[:12]))


if __name__ == "__main__":
    main()
