"""What planning a sync costs: a manifest against the receipts of what a target holds.

Writes two manifests of a synthetic corpus into a temporary folder, the same ones every time; of
the second, a share of the passages is edited. The first is synced into a target that keeps
nothing, by a model that costs nothing. Then the second is opened and planned in a process of its
own, whose time and peak memory are printed.
"""

from __future__ import annotations

import argparse
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from generate import words

from mkdocs_markstay.database import Database
from mkdocs_markstay.manifest import Manifest
from mkdocs_markstay.manifest_writer import ManifestWriter
from mkdocs_markstay.records import Page, Policy, Publication, write_page
from mkdocs_markstay.sections import Block, Section
from mkdocs_markstay.sync import Embedder, Sync

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mkdocs_markstay.targets import Item

_SECTIONS = 6
_PASSAGES = 5
_CHARS = 300
_POLICY = Policy((), granularity="block")
_PUBLICATION = Publication("synthetic", "en", None, "https://docs.example.org/")


class Nowhere:
    """A target that keeps nothing."""

    def upsert(self, items: Sequence[Item]) -> None:
        """Drop the records."""

    def delete(self, chunk_ids: Sequence[str]) -> None:
        """Do nothing."""


EMBEDDER = Embedder("none", lambda texts: [[0.5, 0.25]] * len(texts), batch_size=1000)


def write_manifest(path: Path, passages: int, changed: float) -> None:
    """Write a manifest; ``changed`` is the share of passages that only this one has."""
    chance = random.Random(1)  # noqa: S311 (not for secrets)
    source = words(chance, 100_000)
    writer = ManifestWriter(_PUBLICATION)
    for number in range(passages // (_SECTIONS * _PASSAGES)):
        page_id = f"part/page-{number:07}"
        sections = [Section("", 0, "", ())]
        for part in range(_SECTIONS):
            section = Section(f"s{part}", 2, f"Section {part}", (f"Section {part}",))
            for _ in range(_PASSAGES):
                start = chance.randrange(len(source) - _CHARS)
                edit = " Edited." if chance.random() < changed else ""
                section.blocks.append(Block("paragraph", source[start : start + _CHARS] + edit))
            sections.append(section)
        lines = {f"s{part}": part for part in range(_SECTIONS)}
        page = Page(page_id, f"Page {number}", f"{page_id}/", "en", f"{page_id}.md", lines=lines)
        writer.add(page.url, page_id, "en", write_page(page, sections, _PUBLICATION, _POLICY))
    header = writer._header(_POLICY, complete=True, preview=False)  # noqa: SLF001
    with path.open("wb") as file:
        file.writelines(writer._json(header))  # noqa: SLF001
    writer.close()


def plan(path: Path, receipts: Path) -> str:
    """Open a manifest and plan its sync; say what that took."""
    start = time.perf_counter()
    with Manifest.open(path) as manifest:
        opened = time.perf_counter()
        with Sync(manifest, Nowhere(), EMBEDDER, Database.open(receipts)) as run:
            counts = run.plan.counts
    end = time.perf_counter()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return (
        f"opened in {opened - start:.1f} s, planned in {end - opened:.1f} s, {memory:.0f} MB:"
        f" {counts}"
    )


def main() -> None:
    """Measure each number of passages."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--passages", type=int, nargs="+", default=[100_000, 300_000, 1_000_000])
    parser.add_argument("--changed", type=float, default=0.01)
    parser.add_argument("--plan", nargs=2, type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.plan:
        print(plan(*options.plan))
        return
    for passages in options.passages:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            old, new, receipts = (folder / each for each in ("old.json", "new.json", "r.sqlite"))
            write_manifest(old, passages, 0.0)
            write_manifest(new, passages, options.changed)
            start = time.perf_counter()
            with (
                Manifest.open(old) as manifest,
                Sync(manifest, Nowhere(), EMBEDDER, Database.open(receipts)) as run,
            ):
                run.execute()
            print(f"{passages:,} passages, first sync: {time.perf_counter() - start:.1f} s")
            for what, path in (("no change", old), (f"{options.changed:.0%} changed", new)):
                done = subprocess.run(
                    [sys.executable, __file__, "--plan", path, receipts],
                    check=True,
                    capture_output=True,
                    text=True,
                )
                print(f"  {what}: {done.stdout.strip()}")


if __name__ == "__main__":
    main()
