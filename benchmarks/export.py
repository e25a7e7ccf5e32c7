"""What a data set of many passages costs: exporting a manifest, and comparing two in DuckDB.

Writes two `passages.parquet` of a synthetic corpus into a folder, the same ones every time; of
the second, about one in a hundred passages is edited, added, removed or has another title. The
second is exported by the command, and the two compared by the query of `docs/scale.md`. Each
step is a process of its own, whose CPU time (user and system) and peak memory are measured.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import tempfile
from contextlib import ExitStack, closing
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from diff import measure
from generate import words
from measure import MARKSTAY

from mkdocs_markstay.identity import ChunkIds
from mkdocs_markstay.manifest import Passage
from mkdocs_markstay.manifest_shapes import SCHEMA
from mkdocs_markstay.records import Policy

if TYPE_CHECKING:
    from collections.abc import Iterator

_SCALE = Path(__file__).parents[1] / "docs" / "scale.md"
_PUBLICATION = "synthetic"
_SECTIONS = 5
_PASSAGES = 2
_SEED = 1


def write_manifests(folder: Path, passages: int, changed: float) -> None:
    """Write `old/passages.parquet` and `new.parquet`, a page at a time."""
    from mkdocs_markstay.manifest_parquet import ParquetWriter  # noqa: PLC0415

    chance = random.Random(_SEED)  # noqa: S311 (not for secrets)
    source = words(chance, 100_000)
    header = {
        "schema": SCHEMA,
        "generator": {"name": "benchmark", "version": "1"},
        "publication": _PUBLICATION,
        "default_lang": "en",
        "version": None,
        "site_url": "https://docs.example.org/",
        "complete": True,
        "preview": False,
        "policy": Policy((), granularity="block").to_record(),
        "redirects": [],
        "retired": [],
    }
    with ExitStack() as stack:
        files = [
            stack.enter_context((folder / name).open("wb"))
            for name in ("old/passages.parquet", "new.parquet")
        ]
        writers = [stack.enter_context(ParquetWriter(file)) for file in files]
        digests = [sha256(), sha256()]
        for number in range(passages // (_SECTIONS * _PASSAGES)):
            for index in range(_SECTIONS):
                texts = [_take(chance, source) for _ in range(_PASSAGES)]
                old = new = list(_make_rows(number, index, f"Section {index}", texts))
                if chance.random() < changed * _PASSAGES:
                    title, others = _change(chance, f"Section {index}", texts)
                    new = list(_make_rows(number, index, title, others))
                for writer, digest, rows in zip(writers, digests, (old, new), strict=True):
                    for row in rows:
                        writer.add(row)
                        digest.update(f"{row.chunk_id} {row.record_digest}\n".encode())
        for writer, digest in zip(writers, digests, strict=True):
            writer.finish({**header, "digest": f"sha256:{digest.hexdigest()}"})


def _take(chance: random.Random, source: str) -> str:
    # Texts are taken from one long one: what they say makes no difference.
    start = int(chance.random() * (len(source) - 1_000))
    return source[start : start + 200 + int(chance.random() * 400)]


def _change(chance: random.Random, title: str, texts: list[str]) -> tuple[str, list[str]]:
    """Edit a text, add or remove one, or rename the section: seven, one, one and one in ten."""
    others = list(texts)
    what, place = chance.randrange(10), chance.randrange(len(texts))
    if what == 0:
        del others[place]
    elif what == 1:
        others.insert(place, f"A text that is new, number {chance.randrange(10**9)}.")
    elif what == 2:
        title = f"{title}, renamed"
    else:
        others[place] += f" This was edited, with the number {chance.randrange(10**9)}."
    return title, others


def _make_rows(number: int, index: int, title: str, texts: list[str]) -> Iterator[Passage]:
    page_id = f"part/page-{number:08}"
    section_id = f"section-{index}"
    referent = f"{page_id}#{section_id}"
    page_url = f"https://docs.example.org/{page_id}/"
    chunk_ids = ChunkIds(_PUBLICATION, "", referent)
    # One digest a section, with the position behind it, is as good here as one a passage.
    shared = sha256(f"{referent}\n{title}".encode())
    for position, text in enumerate(texts):
        digest = sha256(text.encode()).hexdigest()
        record = shared.copy()
        record.update(b"%d" % position)
        yield Passage(
            chunk_ids.make(position, digest),
            referent,
            position,
            text,
            f"sha256:{digest}",
            f"sha256:{record.hexdigest()}",
            ("paragraph",),
            title,
            (f"Page {number}", title),
            2,
            f"{page_url}#{section_id}",
            section_id,
            False,
            page_id,
            f"Page {number}",
            page_url,
            "en",
            f"{page_id}.md",
            3 + 9 * index,
            _PUBLICATION,
            "",
            ({"stay": "", "digest": f"sha256:{digest}", "body_hash": "", "referent": ""},),
            "",
        )


def compare(folder: Path, limit: str) -> None:
    """Compare the two data sets in DuckDB, and print the numbers of changes."""
    import duckdb  # noqa: PLC0415

    found = re.search(r"^```sql\n(.*?)^```$", _SCALE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert found is not None
    query = found[1].replace("'old/", f"'{folder}/old/").replace("'new/", f"'{folder}/new/")
    with closing(duckdb.connect()) as connection:
        connection.execute(f"set memory_limit = '{limit}'")
        connection.execute(f"set temp_directory = '{folder}/spill'")
        connection.execute("set preserve_insertion_order = false")
        counts = connection.sql(query).aggregate(
            "change, count(*), count(distinct text_digest) filter (embed)", "change"
        )
        for row in counts.order("change").fetchall():
            print(*row)


def main() -> None:
    """Read the arguments, and take the steps."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--passages", type=int, default=1_000_000)
    parser.add_argument("--changed", type=float, default=0.01, help="the share of passages")
    parser.add_argument("--shards", type=int, default=16)
    parser.add_argument("--limit", default="2GB", help="the memory that DuckDB may use")
    parser.add_argument("--folder", type=Path, help="where to write; a temporary one by default")
    parser.add_argument("--step", choices=("write", "compare"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.step == "write":
        write_manifests(arguments.folder, arguments.passages, arguments.changed)
    elif arguments.step == "compare":
        compare(arguments.folder, arguments.limit)
    else:
        with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
            _run(Path(name), arguments)


def _run(folder: Path, arguments: argparse.Namespace) -> None:
    (folder / "old").mkdir()
    own = [sys.executable, str(Path(__file__)), "--folder", str(folder), "--limit", arguments.limit]
    given = ["--passages", str(arguments.passages), "--changed", str(arguments.changed)]
    steps: dict[str, list[str | Path]] = {"write": [*own, *given, "--step", "write"]}
    options = ["-o", folder / "new", "--shards", str(arguments.shards)]
    steps["export"] = [MARKSTAY, "export", folder / "new.parquet", *options]
    steps["compare"] = [*own, "--step", "compare"]
    for title, command in steps.items():
        cost = measure(command, folder)
        print(
            f"{title}: CPU {cost.cpu:.0f} s, elapsed {cost.seconds:.0f} s, memory"
            f" {cost.memory:.0f} MB",
            flush=True,
        )
        print(cost.output, end="", flush=True)
    sizes = [path.stat().st_size for path in (folder / "new").iterdir()]
    print(f"{sum(sizes) / 1e6:.0f} MB in {len(sizes) - 1} parts")


if __name__ == "__main__":
    main()
