"""`mkdocs-markstay export`, and `passages.parquet` where a manifest is written."""

from __future__ import annotations

import json
import os
import sys
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from manifest_builder import build
from site_builder import Site, build_site, run_markstay

from mkdocs_markstay.export import export_manifest
from mkdocs_markstay.manifest import Manifest, ManifestError
from mkdocs_markstay.manifest_parquet import COLUMNS
from mkdocs_markstay.partitions import partition_of
from mkdocs_markstay.verify import verify_site

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SITE = {
    f"p{number:02}": {"": ["Lead."], "a=A": [f"Text {number}.", "Same."]} for number in range(40)
}


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "passages.json").write_bytes(build(SITE)[0])
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


# -- what is written


def test_the_command(site: Path) -> None:
    ran = run_markstay(site, "export", "site", "-o", "out/data", "--shards", "3")
    assert (ran.code, ran.out, ran.err) == (
        0,
        "120 passages written to out/data, in 3 parts\n",
        "",
    )
    names = [f"part-{number:05}-of-00003.parquet" for number in range(3)]
    assert list(contents(site / "out" / "data")) == ["dataset.json", *names]
    assert os.listdir(site / "out") == ["data"]  # noqa: PTH208 (names)
    described = json.loads((site / "out" / "data" / "dataset.json").read_bytes())
    whole = json.loads((site / "site" / "passages.json").read_bytes())
    assert list(described) == ["schema", "generator", "sites", "parts"]
    assert described["sites"] == [
        {key: whole[key] for key in whole if key not in ("pages", "sections", "passages")}
    ]
    for part, name in zip(described["parts"], names, strict=True):
        data = (site / "out" / "data" / name).read_bytes()
        assert part == {
            "file": name,
            "records": pq.read_metadata(site / "out" / "data" / name).num_rows,
            "sha256": sha256(data).hexdigest(),
            "size": len(data),
        }


def test_pages_are_where_they_belong(site: Path) -> None:
    with Manifest.open(site / "site") as manifest:
        export_manifest(manifest, site / "data", 7)
        order = [(page.page_id, page.lang) for page in manifest.pages]
    count = 0
    for number, path in enumerate(sorted((site / "data").glob("*.parquet"))):
        file = pq.ParquetFile(path)
        assert file.schema_arrow.equals(COLUMNS)
        rows = file.read().to_pylist()
        pages = list(dict.fromkeys((row["page_id"], row["lang"]) for row in rows))
        assert pages == [
            page for page in order if partition_of("p", page[0], page[1]) % 7 == number
        ]
        count += len(rows)
    assert count == 120


def test_the_same_again(site: Path) -> None:
    with Manifest.open(site / "site") as manifest:
        for name in ("one", "two", "two"):
            export_manifest(manifest, site / name, 4)
    assert contents(site / "one") == contents(site / "two")
    # Divided anew, it is as if it had been divided so at once.
    with Manifest.open(site / "one") as manifest:
        export_manifest(manifest, site / "three", 9)
        export_manifest(manifest, site / "two", 9)
    with Manifest.open(site / "three") as manifest:
        export_manifest(manifest, site / "three", 4)
    assert contents(site / "three") == contents(site / "one")
    assert len(contents(site / "two")) == 10


def test_several_sites(site: Path) -> None:
    (site / "other.json").write_bytes(build(SITE, publication="q")[0])
    ran = run_markstay(site, "export", "site", "other.json", "-o", "data", "--shards", "2")
    assert ran.out == "240 passages written to data, in 2 parts\n"
    with Manifest.open(site / "data") as manifest:
        assert list(manifest.headers) == ["p", "q"]
    with Manifest.open(*sorted((site / "data").glob("*.parquet"))[:1]) as part:
        assert {header.dataset for header in part.headers.values()} == {
            header.digest for header in manifest.headers.values()
        }


# -- what is refused


def rewrite(path: Path, change: Callable[[Any], Any]) -> None:
    data = json.loads(path.read_bytes())
    change(data)
    path.write_text(json.dumps(data))


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


BROKEN: list[tuple[str, Callable[[Path], Any], str]] = [
    (
        "a part less",
        lambda data: (data / "part-00001-of-00003.parquet").unlink(),
        "part-00001-of-00003.parquet cannot be read: No such file",
    ),
    (
        "a part more",
        lambda data: (data / "old.parquet").write_bytes(b"x"),
        "old.parquet is no part of the data set",
    ),
    (
        "cut off",
        lambda data: os.truncate(data / "part-00001-of-00003.parquet", 100),
        "has 100 bytes, not",
    ),
    (
        "other bytes",
        lambda data: flip(data / "part-00001-of-00003.parquet"),
        "is damaged, or of another data set",
    ),
    ("no description", lambda data: (data / "dataset.json").unlink(), "and no dataset.json in"),
    ("an empty one", lambda data: (data / "dataset.json").write_text(""), "is damaged"),
    ("a cut one", lambda data: os.truncate(data / "dataset.json", 300), "is damaged"),
    ("a foreign one", lambda data: (data / "dataset.json").write_text("[]"), "no data set of"),
    (
        "a newer one",
        lambda data: rewrite(
            data / "dataset.json",
            lambda d: d.update(schema="https://mkdocs-markstay/schema/dataset-2.json"),
        ),
        "has the schema https://mkdocs-markstay/schema/dataset-2.json. This version reads",
    ),
    (
        "without parts",
        lambda data: rewrite(data / "dataset.json", lambda d: d.update(parts=[])),
        "there are no parts",
    ),
    (
        "a path",
        lambda data: rewrite(data / "dataset.json", lambda d: d["parts"][0].update(file="../x")),
        "is damaged: ValueError",
    ),
    (
        "a field more",
        lambda data: rewrite(data / "dataset.json", lambda d: d["parts"][0].update(x=1)),
        "is damaged: TypeError",
    ),
]


@pytest.mark.parametrize(
    ("change", "reason"), [row[1:] for row in BROKEN], ids=[row[0] for row in BROKEN]
)
def test_a_data_set_that_is_not_whole(
    site: Path, change: Callable[[Path], Any], reason: str
) -> None:
    with Manifest.open(site / "site") as manifest:
        export_manifest(manifest, site / "data", 3)
    change(site / "data")
    with pytest.raises(ManifestError, match=reason):
        Manifest.open(site / "data")


def test_what_cannot_be_exported(site: Path) -> None:
    (site / "lines").mkdir()
    (site / "lines" / "passages.jsonl").write_bytes(build(SITE)[1])
    run_markstay(site, "export", "site", "-o", "data", "--shards", "2")
    for arguments, reason in (
        (("lines",), "nothing tells what the site p is"),
        (("data/part-00000-of-00002.parquet",), "a part of p alone cannot be exported"),
        (("nowhere",), "there is no file or folder nowhere"),
        (("site", "site"), "are both of the publication p"),
    ):
        ran = run_markstay(site, "export", *arguments, "-o", "out")
        assert (ran.code, ran.out) == (2, "")
        assert reason in ran.err
        assert not (site / "out").exists()
    for number in ("0", "257", "x"):
        assert run_markstay(site, "export", "site", "-o", "out", "--shards", number).code == 2
    parts = sorted((site / "data").glob("*.parquet"))
    with Manifest.open(*parts) as manifest:
        export_manifest(manifest, site / "again", 2)
    assert contents(site / "again") == contents(site / "data")


def test_a_folder_with_anything_else(site: Path) -> None:
    (site / "file").write_text("x")
    (site / "full").mkdir()
    (site / "full" / "notes.txt").write_text("x")
    (site / "foreign").mkdir()
    (site / "foreign" / "dataset.json").write_text("{}")
    (site / "empty").mkdir()
    for name, reason in (
        ("file", "is no folder"),
        ("full", "holds notes.txt, which is of no data set"),
        ("foreign", "describes no data set"),
    ):
        ran = run_markstay(site, "export", "site", "-o", name)
        assert (ran.code, reason in ran.err) == (2, True), ran.err
    assert run_markstay(site, "export", "site", "-o", "empty").code == 0
    (site / "empty" / "notes.txt").write_text("x")
    ran = run_markstay(site, "export", "site", "-o", "empty")
    assert "holds notes.txt" in ran.err
    assert sorted(os.listdir(site)) == ["empty", "file", "foreign", "full", "site"]  # noqa: PTH208


def test_whole_or_not_at_all(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Manifest.open(site / "site") as manifest:
        export_manifest(manifest, site / "data", 2)
        before = contents(site / "data")
        moved: list[Any] = []

        def fail(count: int) -> None:
            moved.append(count)
            if len(moved) == 30:
                raise OSError(28, "No space left on device")

        with pytest.raises(OSError, match="No space"):
            export_manifest(manifest, site / "data", 3, fail)
        assert contents(site / "data") == before
        rename = type(site).rename

        def rename_once(path: Path, target: Path) -> Path:
            if target == site / "data" and path.name != "old":
                raise OSError(5, "Input/output error")
            return rename(path, target)

        monkeypatch.setattr(type(site), "rename", rename_once)
        with pytest.raises(OSError, match="Input"):
            export_manifest(manifest, site / "data", 3)
    assert contents(site / "data") == before
    assert sorted(os.listdir(site)) == ["data", "site"]  # noqa: PTH208


# -- passages.parquet


FILES = {"docs/index.md": "# Home <#home>\n\nLead.\n\n## Facts <#facts>\n\n- a\n- b\n"}
ALL = {"formats": ["json", "jsonl", "parquet"]}


def test_a_build_writes_it(tmp_path: Path) -> None:
    built = build_site(tmp_path, Site(FILES, plugin={**ALL, "verify": True}))
    assert built.passed, built.log
    folder = tmp_path / "site"
    with Manifest.open(folder / "passages.parquet") as one, Manifest.open(folder) as other:
        assert one.headers == other.headers
        assert list(one.iter_passages()) == list(other.iter_passages())
    first = (folder / "passages.parquet").read_bytes()
    build_site(tmp_path, Site(FILES, plugin=ALL))
    assert (folder / "passages.parquet").read_bytes() == first
    assert (folder / "passages.parquet").stat().st_mode & 0o777 == 0o644
    build_site(tmp_path, Site(FILES, plugin={"formats": ["parquet"]}))
    assert {path.name for path in folder.glob("passages*")} == {"passages.parquet"}
    build_site(tmp_path, Site(FILES))
    assert not (folder / "passages.parquet").exists()


def test_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.delitem(sys.modules, "mkdocs_markstay.manifest_parquet", raising=False)
    built = build_site(tmp_path, Site(FILES, plugin=ALL))
    assert not built.passed
    assert "pip install 'mkdocs-markstay[parquet]'" in "\n".join(built.log)
    assert not (tmp_path / "site").exists()


def test_verify_reads_it(tmp_path: Path) -> None:
    build_site(tmp_path / "a", Site(FILES, plugin=ALL))
    other = {name: text.replace("Lead.", "Lead on.") for name, text in FILES.items()}
    build_site(tmp_path / "b", Site(other, plugin=ALL))
    site, path = tmp_path / "a" / "site", tmp_path / "a" / "site" / "passages.parquet"
    assert verify_site(site) == []
    data = path.read_bytes()
    for wrong, message in (
        (
            (tmp_path / "b" / "site" / "passages.parquet").read_bytes(),
            "what it says of the site is not what passages.json does",
        ),
        (data[:-9], "is no Parquet file, or damaged or cut off"),
        (b"", "is no Parquet file, or damaged or cut off"),
    ):
        path.write_bytes(wrong)
        (found,) = verify_site(site)
        assert (found.code, found.path) == ("bad-manifest", path.as_posix())
        assert message in found.message


def test_another_file_of_this_name_is_left(tmp_path: Path) -> None:
    page = "<!doctype html><html><body><main><h1 id=a>A</h1><p>x</p></main></body></html>"
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").write_text(page)
    command = ("manifest", "site", "--publication", "p", "-f", "mkdocs.yml")
    (tmp_path / "mkdocs.yml").write_text(
        "site_name: S\nplugins: [{markstay: {formats: [json, parquet]}}]\n"
    )
    path = tmp_path / "site" / "passages.parquet"
    for content in (b"", b"PAR1", b"PAR1 and more, PAR1", b"x" * 40):
        path.write_bytes(content)
        ran = run_markstay(tmp_path, *command)
        assert (ran.code, path.read_bytes()) == (1, content)
        assert "passages.parquet:1: error[not-written]" in ran.out + ran.err
    path.unlink()
    for _ in range(2):
        ran = run_markstay(tmp_path, *command)
        assert (ran.code, "not-written" in ran.out) == (0, False), ran
        assert Manifest.open(path).count == 1


def test_a_page_of_its_name_is_told(tmp_path: Path) -> None:
    built = build_site(tmp_path, Site({**FILES, "docs/passages.parquet": "x"}))
    assert not built.passed
    assert "the manifest is published as passages.parquet. Rename the file" in "\n".join(built.log)
