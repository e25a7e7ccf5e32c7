"""Engines that read Parquet, and several workers on one PostgreSQL: what `docs/scale.md` says."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from manifest_builder import build
from site_builder import run_markstay

from mkdocs_markstay.database import Database
from mkdocs_markstay.export import export_manifest
from mkdocs_markstay.manifest import Manifest
from mkdocs_markstay.receipts import Receipts
from mkdocs_markstay.sync import Embedder, check, sync

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from mkdocs_markstay.manifest import Passage
    from mkdocs_markstay.targets import Item

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")
if not os.environ.get("MARKSTAY_ALL_CONSUMERS"):
    for _name in ("pyarrow", "sqlalchemy"):
        pytest.importorskip(_name)


def library(name: str) -> Any:
    """Import a library; if not all have to be there, skip the test without it."""
    if os.environ.get("MARKSTAY_ALL_CONSUMERS"):
        return __import__(name)
    return pytest.importorskip(name)


def shown(language: str) -> str:
    (block,) = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return str(block)


def make_sites(seed: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Make a site, and the same one after some edits of all kinds."""
    chance = random.Random(seed)  # noqa: S311 (no secret)
    old: dict[str, Any] = {
        f"p{number:03}": {
            section: [
                f"Text {chance.randrange(600)} of it." for _ in range(1 + chance.randrange(4))
            ]
            for section in ("", "a=A", "b=B")
        }
        for number in range(80)
    }
    new: dict[str, Any] = {
        page: {section: list(texts) for section, texts in sections.items()}
        for page, sections in old.items()
    }
    for number in range(30):
        page = chance.choice(sorted(new))
        sections = new[page]
        section = chance.choice(sorted(sections))
        texts = sections[section]
        match number % 8:
            case 0:
                texts[-1:] = [f"{text} Edited {number}." for text in texts[-1:]]
            case 1:
                texts.insert(0, f"New {number}.")
            case 2:
                texts[:0] = texts[-1:]
            case 3:
                del texts[:1]
            case 4:
                texts.reverse()
            case 5:
                sections[f"{section or 'c'}=Renamed {number}"] = sections.pop(section)
            case 6:
                del new[page]
            case _:
                new[f"q{number}"] = {"": [f"Quite new {number}."], "m": texts}
    return old, new


def write(folder: Path, name: str, site: dict[str, Any], parts: int = 4) -> Path:
    """Write the manifest of a site, and its data set."""
    (folder / f"{name}.json").write_bytes(build(site)[0])
    with Manifest.open(folder / f"{name}.json") as manifest:
        export_manifest(manifest, folder / name, parts)
    return folder / name


def passages(path: Path) -> dict[str, Passage]:
    with Manifest.open(path) as manifest:
        return {passage.chunk_id: passage for passage in manifest.iter_passages()}


# -- engines


def expected_changes(folder: Path) -> set[tuple[str, str, str, bool]]:
    """Give what `mkdocs-markstay diff` says."""
    ran = run_markstay(folder, "diff", "old.json", "new.json", "--format", "json")
    assert ran.code == 0, ran.err
    texts = {passage.text_digest for passage in passages(folder / "old.json").values()}
    found = set()
    for change in json.loads(ran.out)["changes"]:
        if change["what"] != "passage":
            continue
        old, new = change["old"], change["new"]
        if old and new and old["chunk_id"] == new["chunk_id"]:
            found.add(("metadata", new["chunk_id"], new["text_digest"], False))
            continue
        if old:
            found.add(("gone", old["chunk_id"], old["text_digest"], False))
        if new:
            embed = new["text_digest"] not in texts
            found.add(("new", new["chunk_id"], new["text_digest"], embed))
    return found


@pytest.mark.parametrize("seed", range(4))
def test_duckdb_tells_what_diff_does(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    duckdb = library("duckdb")
    for name, site in zip(("old", "new"), make_sites(seed), strict=True):
        write(tmp_path, name, site)
    monkeypatch.chdir(tmp_path)
    with duckdb.connect() as connection:
        rows = connection.execute(shown("sql")).fetchall()
    assert len(rows) == len(set(rows))
    expected = expected_changes(tmp_path)
    assert set(rows) == expected
    assert {(row[0], row[3]) for row in expected} == {
        ("new", True),
        ("new", False),
        ("gone", False),
        ("metadata", False),
    }


def test_polars_reads_the_same(tmp_path: Path) -> None:
    polars = library("polars")
    folder = write(tmp_path, "new", make_sites(1)[1])
    frame = polars.scan_parquet(folder / "*.parquet").collect()
    rows = {row["chunk_id"]: row for row in frame.to_dicts()}
    expected = {
        chunk_id: {**passage._asdict(), "kinds": list(passage.kinds), "path": list(passage.path), "blocks": list(passage.blocks)}
        for chunk_id, passage in passages(folder).items()
    }  # fmt: skip
    assert rows == expected


READING = """\
import sys
import ray

ray.init(num_cpus=2)
found = ray.data.read_parquet(sys.argv[1], include_paths=False)
for row in found.map(lambda row: {"id": row["chunk_id"], "words": len(row["text"].split())}).take_all():
    print("row", row["id"], row["words"])
"""


def test_ray_data_reads_the_same(tmp_path: Path) -> None:
    library("ray")
    folder = write(tmp_path, "new", make_sites(1)[1])
    (tmp_path / "reading.py").write_text(READING, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "reading.py", folder],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    rows = [line.split()[1:] for line in done.stdout.splitlines() if line.startswith("row ")]
    expected = {key: len(each.text.split()) for key, each in passages(folder).items()}
    assert {key: int(words) for key, words in rows} == expected
    assert len(rows) == len(expected)


# -- workers


def held(url: str, table: str = "passages", key: str = "chunk_id") -> dict[str, tuple[str, str]]:
    psycopg = library("psycopg")
    with psycopg.connect(url) as connection:
        query = f"select {key}::text, text, metadata->>'record_digest' from {table}"  # noqa: S608
        return {row[0]: (row[1], row[2]) for row in connection.execute(query)}


def wanted(path: Path) -> dict[str, tuple[str, str]]:
    return {key: (each.text, each.record_digest) for key, each in passages(path).items()}


def test_the_program_of_the_page(tmp_path: Path, postgres: str) -> None:
    """By two workers of Ray: a site, and what became of it."""
    library("ray")
    (tmp_path / "program.py").write_text(shown("python"), encoding="utf-8")
    before: set[str] = set()
    for site in make_sites(2):
        folder = write(tmp_path, "data", site)
        done = subprocess.run(
            [sys.executable, "program.py"],
            cwd=tmp_path,
            env={**os.environ, "DATABASE_URL": postgres},
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        assert done.returncode == 0, done.stderr
        expected = wanted(folder)
        assert held(postgres) == expected
        counts = re.findall(r"^part-\S+ (\d+) added (\d+) deleted$", done.stdout, re.MULTILINE)
        assert len(counts) == 4
        assert sum(int(added) for added, _ in counts) == len(expected.keys() - before)
        assert sum(int(deleted) for _, deleted in counts) == len(before - expected.keys())
        before = set(expected)


class Table:
    """A target as a person would write one; it may kill its process at one of its calls."""

    def __init__(self, connection: Any, dies_at: int = 0) -> None:
        self.connection = connection
        self.dies_at = dies_at
        self.calls = 0

    def upsert(self, items: Sequence[Item]) -> None:
        from psycopg.types.json import Jsonb

        with self.connection.cursor() as cursor:
            for item in items:
                self._count()
                cursor.execute(
                    "insert into held values (%s, %s, %s) on conflict (id) do update"
                    " set text = excluded.text, metadata = excluded.metadata",
                    (item.chunk_id, item.text, Jsonb(item.metadata)),
                )

    def delete(self, chunk_ids: Sequence[str]) -> None:
        for chunk_id in chunk_ids:
            self._count()
            self.connection.execute("delete from held where id = %s", [chunk_id])

    def list_ids(self, publication: str) -> Iterable[str]:
        query = "select id::text from held where metadata->>'publication' = %s"
        return [row[0] for row in self.connection.execute(query, [publication])]

    def find_ids(self, chunk_ids: Sequence[str]) -> Collection[str]:
        query = "select id::text from held where id = any(%s::uuid[])"
        return [row[0] for row in self.connection.execute(query, [chunk_ids])]

    def _count(self) -> None:
        self.calls += 1
        if self.calls == self.dies_at:
            os.kill(os.getpid(), signal.SIGKILL)


def embed(texts: list[str]) -> list[list[float]]:
    return [[float(len(text)), 1.0] for text in texts]


def work(url: str, path: Path, dies_at: int = 0) -> None:
    """Sync one part in a process of its own."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection, Manifest.open(path) as part:
        sync(part, Table(connection, dies_at), Embedder("m", embed), url, max_delete=1)


def run_workers(url: str, jobs: Sequence[tuple[Path, int]]) -> list[int | None]:
    """Run all at once, and give how each ended."""
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=work, args=(url, path, at)) for path, at in jobs]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(120)
    return [worker.exitcode for worker in workers]


@pytest.fixture
def table(postgres: str) -> str:
    psycopg = library("psycopg")
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("create table held (id uuid primary key, text text, metadata jsonb)")
    return postgres


def receipts_hold(url: str) -> dict[str, str]:
    database = Database.open(url)
    try:
        everything = Receipts(database, "").iter_all({"p": range(256)})
        found: dict[str, str] = {}
        for receipt in everything:
            assert not receipt.pending
            assert not found.keys() & receipt.held.keys()
            found |= receipt.held
        return found
    finally:
        database.close()


def test_several_workers_lose_nothing(tmp_path: Path, table: str) -> None:
    """Each part by two workers at once, all with new tables: the second finds nothing to do."""
    old, new = make_sites(3)
    for site, parts in ((old, 2), (new, 3)):
        folder = write(tmp_path, "data", site, parts)
        jobs = [(path, 0) for path in sorted(folder.glob("*.parquet"))]
        assert set(run_workers(table, [*jobs, *jobs])) == {0}
        assert held(table, "held", "id") == wanted(folder)
        assert receipts_hold(table) == {key: digest for key, (_, digest) in wanted(folder).items()}


def test_workers_that_are_killed(tmp_path: Path, table: str) -> None:
    """Wherever they die, whoever comes next finishes their work: no ghost, nothing lost."""
    psycopg = library("psycopg")
    old, new = make_sites(4)
    for site, dies_at in ((old, (40, 1)), (new, (3, 25))):
        folder = write(tmp_path, "data", site, 2)
        jobs = list(zip(sorted(folder.glob("*.parquet")), dies_at, strict=True))
        assert set(run_workers(table, jobs)) == {-signal.SIGKILL}
        # Nobody waits for one that is dead.
        started = time.monotonic()
        assert set(run_workers(table, [(path, 0) for path, _ in jobs])) == {0}
        assert time.monotonic() - started < 50
        assert held(table, "held", "id") == wanted(folder)
        with psycopg.connect(table, autocommit=True) as connection:
            found = check(Table(connection), ["p"], table)
        assert found == ([], [], [], True)
        assert receipts_hold(table) == {key: digest for key, (_, digest) in wanted(folder).items()}
