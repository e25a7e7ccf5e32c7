"""Reading manifests, in each of their forms: the same passages from all, or an error."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from manifest_builder import build

from mkdocs_markstay.chunk_ids import ChunkIdSet, is_alike, is_chunk_id
from mkdocs_markstay.export import export_manifest
from mkdocs_markstay.manifest import Manifest, ManifestError, Passage
from mkdocs_markstay.manifest_parquet import ParquetWriter, write_parquet
from mkdocs_markstay.partitions import PARTITIONS, divide

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mkdocs_markstay.records import Record

SITE = {
    "guide=The guide": {
        "": ["Read this first."],
        "install=Install": ["Get the box. ^a#", "Ünï, 日本 and 🦉.", "Get the box."],
    },
    "guide=Die Anleitung@de": {"": ["Lies das zuerst."]},
    "notes": {"x": ['"Quoted" \\ \t <b>&amp;</b>\u2028']},
}
FORMS = ("passages.json", "passages.jsonl", "passages.parquet", "pretty.json", "data", "data-1")
PARTS = ("pages", "sections", "passages")


def write(folder: Path, site: Any = SITE, **options: Any) -> Path:
    """Write a manifest in all of its forms."""
    folder.mkdir(parents=True, exist_ok=True)
    as_json, lines = build(site, **options)
    (folder / "passages.json").write_bytes(as_json)
    (folder / "passages.jsonl").write_bytes(lines)
    data = json.loads(as_json)
    (folder / "pretty.json").write_text(json.dumps(data, indent=2, ensure_ascii=True), "utf-8")
    header = {key: data[key] for key in data if key not in PARTS}
    rows = [json.loads(line) for line in lines.split(b"\n") if line]
    write_parquet(folder / "passages.parquet", header, rows)
    with Manifest.open(folder / "passages.json") as manifest:
        export_manifest(manifest, folder / "data", 5)
        export_manifest(manifest, folder / "data-1", 1)
    return folder


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("made") / "site")


def read(*paths: Path) -> list[Passage]:
    with Manifest.open(*paths) as manifest:
        passages = list(manifest.iter_passages())
        assert len(passages) == manifest.count
        return passages


def error_of(*paths: Path) -> str:
    with pytest.raises(ManifestError) as caught:
        Manifest.open(*paths)
    return str(caught.value)


# -- what is read


@pytest.mark.parametrize("form", FORMS)
def test_all_forms_hold_the_same(made: Path, form: str) -> None:
    lines = (made / "passages.jsonl").read_bytes().split(b"\n")
    expected = [Passage.from_record(json.loads(line)) for line in lines if line]
    found = read(made / form)
    if form == "data":
        found.sort(key=expected.index)
    assert found == expected
    for one, other in zip(found, expected, strict=True):
        assert list(map(type, one)) == list(map(type, other))
    with Manifest.open(made / form) as manifest, Manifest.open(made / "passages.json") as whole:
        header, known = manifest.headers["p"], whole.headers["p"]
        assert header._replace(dataset="", facts=None) == known._replace(facts=None)
        facts = {
            key: json.loads((made / "passages.json").read_bytes())[key]
            for key in header.facts or ()
        }
        assert header.facts == facts
        assert sorted(page[:5] for page in manifest.pages) == sorted(
            page[:5] for page in whole.pages
        )


def test_pages_can_be_read_in_any_order(made: Path) -> None:
    for form in FORMS:
        with Manifest.open(made / form) as manifest:
            pages = manifest.pages[::-1] + manifest.pages
            counts = [(page.passages, len(manifest.read(page))) for page in pages]
            assert all(stated == found for stated, found in counts)


def test_the_best_file_of_a_folder_is_read(made: Path, tmp_path: Path) -> None:
    for names in (["passages.json", "passages.parquet"], ["passages.parquet"]):
        folder = tmp_path / names[0]
        folder.mkdir()
        for name in names:
            (folder / name).write_bytes((made / name).read_bytes())
        assert read(folder) == read(made)


def test_what_a_site_is_stands_beside_its_lines(made: Path, tmp_path: Path) -> None:
    with Manifest.open(made / "passages.jsonl") as manifest:
        assert manifest.headers["p"].complete is True
    (tmp_path / "passages.jsonl").write_bytes((made / "passages.jsonl").read_bytes())
    with Manifest.open(tmp_path / "passages.jsonl") as manifest:
        assert manifest.headers["p"].complete is None
        assert manifest.headers["p"].facts is None


def test_several_sites(made: Path, tmp_path: Path) -> None:
    other = write(tmp_path, {"guide": {"": ["Other."]}}, publication="q")
    for form in FORMS:
        with Manifest.open(made / form, other / form) as manifest:
            assert list(manifest.headers) == ["p", "q"]
            assert {page.publication for page in manifest.pages} == {"p", "q"}
            assert manifest.count == 7


def test_a_site_without_passages(tmp_path: Path) -> None:
    write(tmp_path, {"guide": {}})
    for form in FORMS:
        with Manifest.open(tmp_path / form) as manifest:
            assert (manifest.count, list(manifest.headers)) == (0, ["p"])


@pytest.mark.parametrize("parts", [1, 2, 3, 256])
def test_parts(made: Path, tmp_path: Path, parts: int) -> None:
    with Manifest.open(made / "passages.json") as manifest:
        export_manifest(manifest, tmp_path / "data", parts)
        digest = manifest.headers["p"].digest
    files = sorted((tmp_path / "data").glob("*.parquet"))
    found: list[Passage] = []
    for number, file in enumerate(files):
        with Manifest.open(file) as part:
            header = part.headers["p"]
            assert (header.partitions, header.dataset) == (divide(number, parts), digest)
            assert (header.complete, header.preview, bool(header.policy)) == (True, False, True)
            assert part.headers["p"].digest.startswith("sha256:")
            found += part.iter_passages()
    assert sorted(found) == sorted(read(made))
    with Manifest.open(*files) as whole:
        assert whole.headers["p"].partitions == PARTITIONS
        assert whole.headers["p"].digest == digest
    if parts > 2:
        with Manifest.open(*files[1:]) as some:
            assert some.headers["p"].partitions == PARTITIONS - divide(0, parts)
            assert some.headers["p"].digest == ""


TEXTS = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0\r\n"), min_size=1, max_size=9
).map(lambda text: f"{text}." if " ^" in text or not text.strip() else text)
SITES = st.dictionaries(
    st.sampled_from(["a", "b", "b/c", "ü", "b@de"]),
    st.dictionaries(st.sampled_from(["", "x", "y=Ÿ"]), st.lists(TEXTS, max_size=3), max_size=3),
    max_size=4,
)


@settings(
    max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(site=SITES, parts=st.sampled_from([1, 2, 7]))
def test_round_trip(site: Any, parts: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = write(tmp_path_factory.mktemp("site"), site)
    expected = read(folder / "passages.json")
    assert read(folder / "passages.jsonl") == read(folder / "passages.parquet") == expected
    with Manifest.open(folder / "data") as manifest:
        export_manifest(manifest, folder / "again", parts)
    assert sorted(read(folder / "again")) == sorted(expected)


def test_a_passage_of_ten_megabytes(tmp_path: Path) -> None:
    text = "Long. " * (10_000_000 // 6) + "\U0001f989"
    site = {"a": {"": ["First."], "x": [text]}, "b": {"": ["Last."]}}
    write(tmp_path, site, max_chars=20_000_000)
    for form in ("passages.json", "passages.jsonl", "passages.parquet", "data-1"):
        assert [passage.text for passage in read(tmp_path / form)] == ["First.", text, "Last."]


def test_groups_of_rows(tmp_path: Path) -> None:
    site = {f"p{number:03}": {"": [f"Text {number}."] * (1 + number % 7)} for number in range(600)}
    as_json, lines = build(site)
    data, rows = json.loads(as_json), [json.loads(line) for line in lines.split(b"\n") if line]
    passages = [Passage.from_record(row) for row in rows]
    path = tmp_path / "passages.parquet"
    with path.open("wb") as file, ParquetWriter(file, 1000) as writer:
        for passage in passages:
            writer.add(passage)
        writer.finish({key: data[key] for key in data if key not in PARTS})
    metadata = pq.read_metadata(path)
    sizes = [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]
    assert sizes == [768, 768, 768, len(rows) - 3 * 768]
    assert read(path) == passages
    with Manifest.open(path) as manifest:
        pages = list(manifest.pages)
        random.Random(1).shuffle(pages)  # noqa: S311 (no secret)
        for page in pages[:60]:
            assert [each.page_id for each in manifest.read(page)] == [page.page_id] * page.passages


# -- what is refused


def alter(path: Path, change: Callable[[list[Record]], Any], name: str = "passages.jsonl") -> Path:
    """Change the records of ``passages.jsonl``, alone in a folder of its own."""
    rows = [json.loads(line) for line in path.read_bytes().split(b"\n") if line]
    change(rows)
    target = path.parent.parent / f"altered-{os.urandom(4).hex()}" / name
    target.parent.mkdir()
    target.write_bytes(b"".join(json.dumps(row).encode() + b"\n" for row in rows))
    return target


def test_what_is_not_there(tmp_path: Path) -> None:
    assert "there is no file or folder" in error_of(tmp_path / "passages.json")
    assert "there is no file or folder" in error_of(tmp_path / "passages.parquet")
    assert "there is no passages.json and no dataset.json" in error_of(tmp_path)
    assert error_of() == "there is no manifest to read"


@pytest.mark.parametrize("name", ["passages.json", "passages.parquet"])
def test_an_empty_file(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"")
    assert name in error_of(tmp_path / name)


@pytest.mark.parametrize("name", ["passages.json", "passages.jsonl", "passages.parquet"])
def test_a_file_that_is_cut_off(made: Path, tmp_path: Path, name: str) -> None:
    data = (made / name).read_bytes()
    if name == "passages.jsonl":
        # By itself, of lines alone, nobody can know how many there were; see the test below.
        (tmp_path / "passages.json").write_bytes((made / "passages.json").read_bytes())
    path = tmp_path / name
    ends = [place for place, byte in enumerate(data) if byte == ord("\n")]
    places = {*range(0, len(data), 97), *ends, *(place + 1 for place in ends), len(data) - 2}
    for place in sorted(places):
        if data[place:].strip():  # a missing line end alone is no loss
            path.write_bytes(data[:place])
            assert str(path) in error_of(path)


def test_lines_that_are_cut_off_with_nothing_beside(made: Path, tmp_path: Path) -> None:
    lines = (made / "passages.jsonl").read_bytes()
    path = tmp_path / "passages.jsonl"
    path.write_bytes(lines[:-20])
    assert "is it cut off?" in error_of(path)


@pytest.mark.parametrize("place", [0.2, 0.4, 0.6, 0.8])
def test_a_parquet_file_that_is_damaged(made: Path, tmp_path: Path, place: float) -> None:
    data = bytearray((made / "passages.parquet").read_bytes())
    data[int(len(data) * place)] ^= 0x10
    path = tmp_path / "passages.parquet"
    path.write_bytes(data)
    try:
        found = read(path)
    except ManifestError as error:
        assert str(path) in str(error)  # noqa: PT017 (either is right)
    else:
        # What was hit tells nothing that is read, statistics for one.
        assert found == read(made)


def other_files(folder: Path) -> dict[str, tuple[Path, str]]:
    """Give files that are no manifests, and why not."""
    table = pa.table({"id": ["1"], "text": ["x"]})
    pq.write_table(table, folder / "foreign.parquet")
    known = table.replace_schema_metadata({"markstay": '{"schema": "other"}'})
    pq.write_table(known, folder / "other.parquet")
    (folder / "text.parquet").write_text("chunk_id,text\n")
    (folder / "foreign.json").write_text('{"passages": []}')
    (folder / "foreign.jsonl").write_text('{"id": 1}\n')
    (folder / "text.json").write_text("chunk_id,text\n")
    return {
        "foreign.parquet": (folder / "foreign.parquet", "is no manifest of the schema"),
        "other.parquet": (folder / "other.parquet", "is no manifest of the schema"),
        "text.parquet": (folder / "text.parquet", "is no Parquet file"),
        "foreign.json": (folder / "foreign.json", "is no manifest of the schema"),
        "foreign.jsonl": (folder / "foreign.jsonl", "is no manifest of the schema"),
        "text.json": (folder / "text.json", "damaged, or no manifest"),
    }


def test_foreign_files(tmp_path: Path) -> None:
    for path, reason in other_files(tmp_path).values():
        message = error_of(path)
        assert message.startswith(str(path))
        assert reason in message


def rewrite(made: Path, target: Path, change: Callable[[Any, dict[str, Any]], Any]) -> Path:
    """Write the table of a Parquet file again, otherwise: ``change`` gives the table."""
    table = pq.read_table(made / "passages.parquet")
    facts = json.loads(pq.read_metadata(made / "passages.parquet").metadata[b"markstay"])
    table = change(table, facts)
    pq.write_table(table.replace_schema_metadata({"markstay": json.dumps(facts)}), target)
    return target


def put(table: Any, name: str, values: list[Any] | pa.Array) -> Any:
    """Give a table another column, of the type and name that it had."""
    number = table.schema.get_field_index(name)
    field = table.schema.field(number)
    array = values if isinstance(values, pa.Array) else pa.array(values, field.type)
    return table.set_column(number, field, array)


def no_utf8(count: int) -> pa.Array:
    """Give texts that hold a lone surrogate, as no text in Parquet may."""
    buffers = pa.array([b"\xed\xa0\x80"] * count, pa.binary()).buffers()
    return pa.Array.from_buffers(pa.string(), count, buffers)


NEWER = "https://mkdocs-markstay/schema/{}-2.json"
PARQUET: list[tuple[str, Callable[[Any, dict[str, Any]], Any], str]] = [
    (
        "a newer schema",
        lambda table, facts: facts.update(schema=NEWER.format("passages")) or table,
        "has the schema https://mkdocs-markstay/schema/passages-2.json. This version reads",
    ),
    (
        "a newer data set",
        lambda table, facts: facts.update(schema=NEWER.format("dataset")) or table,
        "has the schema https://mkdocs-markstay/schema/dataset-2.json. This version reads",
    ),
    ("a wrong fact", lambda table, facts: facts.update(complete=1) or table, "in its header"),
    ("no facts", lambda table, facts: facts.pop("policy") and table, "in its header"),
    ("a column less", lambda table, _: table.drop_columns(["line"]), "other columns"),
    (
        "another type",
        lambda table, _: table.set_column(2, "position", table["position"].cast(pa.string())),
        "other columns",
    ),
    (
        "nulls",
        lambda table, _: table.set_column(7, "title", pa.array([None] * len(table), pa.string())),
        "other columns",
    ),
    ("a row less", lambda table, _: table.slice(0, len(table) - 1), "is damaged: its passages"),
    ("a row twice", lambda table, _: pa.concat_tables([table, table.slice(5)]), "is damaged: its"),
    (
        "another order",
        lambda table, _: pa.concat_tables([table.slice(5), table.slice(0, 5)]),
        ": record 2: the page guide is not in the order of a manifest",
    ),
    ("another text", lambda table, _: put(table, "text", ["x"] * 6), ": record 1: the text of"),
    (
        "NUL",
        lambda table, _: put(table, "title", ["x", "a\0", *"xxxx"]),
        ": record 2: this is no record of a manifest: title of lines",
    ),
    (
        "NUL in a list",
        lambda table, _: put(table, "path", [["x"]] * 5 + [["x", "a\0"]]),
        ": record 6: this is no record of a manifest: path of lines",
    ),
    ("no UTF-8", lambda table, _: put(table, "title", no_utf8(6)), "Invalid UTF8"),
]


@pytest.mark.parametrize(
    ("change", "reason"), [row[1:] for row in PARQUET], ids=[row[0] for row in PARQUET]
)
def test_parquet_files_that_something_else_wrote(
    made: Path, tmp_path: Path, change: Callable[[Any, dict[str, Any]], Any], reason: str
) -> None:
    path = rewrite(made, tmp_path / "passages.parquet", change)
    message = error_of(path)
    assert message.startswith(str(path))
    assert reason in message


def test_a_file_written_again_by_something_else(made: Path, tmp_path: Path) -> None:
    path = rewrite(made, tmp_path / "passages.parquet", lambda table, _: table)
    assert read(path) == read(made)


LINES: list[tuple[str, Callable[[list[Record]], Any], str]] = [
    ("NUL", lambda rows: rows[1].update(title="a\0"), ":2: .*title of lines"),
    ("a lone surrogate", lambda rows: rows[1].update(text="a\ud800"), ":2: .*surrogates"),
    ("another text", lambda rows: rows[2].update(text="x"), ":3: the text of"),
    ("no chunk id", lambda rows: rows[2].update(chunk_id="x"), ":3: 'x' is no chunk id"),
    (
        "a UUID in another form",
        lambda rows: rows[2].update(chunk_id=rows[2]["chunk_id"].upper()),
        ":3: '.*' is no chunk id",
    ),
    ("an id twice", lambda rows: rows[3].update(chunk_id=rows[0]["chunk_id"]), ":4: .*twice"),
    ("a field less", lambda rows: rows[2].pop("line"), ":3: .*there is no 'line'"),
    ("another order", lambda rows: rows.reverse(), ":2: the page .* is not in the order"),
    (
        "a publication that comes again",
        lambda rows: rows[2].update(publication="q"),
        ":4: the page .* is not in the order",
    ),
]


@pytest.mark.parametrize(
    ("change", "reason"), [row[1:] for row in LINES], ids=[row[0] for row in LINES]
)
def test_lines_that_are_wrong(
    made: Path, tmp_path: Path, change: Callable[[list[Record]], Any], reason: str
) -> None:
    source = tmp_path / "x" / "passages.jsonl"
    source.parent.mkdir()
    source.write_bytes((made / "passages.jsonl").read_bytes())
    path = alter(source, change)
    with pytest.raises(ManifestError, match=reason):
        Manifest.open(path)


@pytest.mark.parametrize("form", ["passages.json", "pretty.json", "passages.jsonl"])
@pytest.mark.parametrize(
    "block", [1, None, "a", [], {}, {"stay": 1}, {"digest": "x"}, {"stay": 1, "digest": "x"}]
)
def test_blocks_that_are_none(block: Any, form: str, tmp_path: Path) -> None:
    as_json, lines = build({"a": {"x": ["One."]}})
    data = json.loads(lines if form.endswith("l") else as_json)
    (data if form.endswith("l") else data["passages"][0])["blocks"] = [block]
    path = tmp_path / form
    path.write_text(json.dumps(data, indent=2 if form == "pretty.json" else None))
    with pytest.raises(ManifestError, match="blocks of"):
        Manifest.open(path)


@pytest.mark.parametrize("digest", ["", "a b", "a\nb", "sha256:ABC"])
def test_a_record_digest_that_is_none(digest: str, tmp_path: Path) -> None:
    row = json.loads(build({"a": {"x": ["One."]}})[1])
    path = tmp_path / "passages.jsonl"
    path.write_text(json.dumps({**row, "record_digest": digest}))
    with pytest.raises(ManifestError, match=r"the record_digest of .* is none"):
        Manifest.open(path)


def test_more_files_than_can_be_open(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    paths = [tmp_path / str(number) / "passages.json" for number in range(60)]
    for number, path in enumerate(paths):
        path.parent.mkdir()
        path.write_bytes(build({"a": {"": ["A."]}}, publication=f"p{number}")[0])
    most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (100, most[1]))
    try:
        with pytest.raises(ManifestError, match="cannot be read: Too many open files"):
            Manifest.open(*paths)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, most)


def test_a_wrong_digest(made: Path, tmp_path: Path) -> None:
    data = json.loads((made / "passages.json").read_bytes())
    data["digest"] = "sha256:" + 64 * "0"
    (tmp_path / "passages.json").write_text(json.dumps(data))
    assert "passages.json is damaged: its passages are not those" in error_of(tmp_path)


def test_two_manifests_of_one_publication(made: Path, tmp_path: Path) -> None:
    other = write(tmp_path, {"z": {"": ["Z."]}})
    for form in FORMS:
        assert "are both of the publication p." in error_of(made / form, other / form)
    # Parts are of one site only if they are of the same data set.
    parts = [sorted((folder / "data").glob("*.parquet")) for folder in (made, other)]
    assert "are both of the publication p." in error_of(parts[0][0], parts[1][1])
    assert "are the same part" in error_of(parts[0][0], parts[0][0])
    assert "are the same part" in error_of(parts[0][0], made / "data-1")


def test_an_id_that_stands_in_two_files(made: Path, tmp_path: Path) -> None:
    source = tmp_path / "x" / "passages.jsonl"
    source.parent.mkdir()
    source.write_bytes((made / "passages.jsonl").read_bytes())
    path = alter(source, lambda rows: [row.update(publication="q") for row in rows])
    message = error_of(made / "passages.json", path)
    assert message.startswith(f"{path}:1: the chunk id ")
    assert message.endswith(" stands twice")


def test_a_part_with_pages_of_another(made: Path, tmp_path: Path) -> None:
    one, *others = sorted((made / "data").glob("*.parquet"))
    table = pa.concat_tables(map(pq.read_table, others))
    assert len(table)
    metadata = {b"markstay": pq.read_metadata(one).metadata[b"markstay"]}
    pq.write_table(table.replace_schema_metadata(metadata), tmp_path / "x.parquet")
    assert "is of another part" in error_of(tmp_path / "x.parquet")


# -- ids


def test_ids_that_are_alike() -> None:
    chance = random.Random(7)  # noqa: S311 (no secret)
    ids = [
        f"{text[:8]}-{text[8:12]}-8{text[13:16]}-8{text[17:20]}-{text[20:]}"
        for text in (f"{chance.getrandbits(128):032x}" for _ in range(1000))
    ]
    seen = ChunkIdSet()
    for chunk_id in ids:
        assert is_chunk_id(chunk_id)
        seen.add(chunk_id)
    assert seen.find_alike() == set()
    seen.add(ids[7])
    assert [each for each in ids if is_alike(each, seen.find_alike())] == [ids[7]]


@pytest.mark.parametrize(
    "text",
    ["", "x", 32 * "a", f"{{{'0' * 8}-0000-8000-8000-{'0' * 12}}}", f"{'0' * 8}-0000-8000-8000-{'0' * 12}\n",
     f"{'A' * 8}-0000-8000-8000-{'0' * 12}", f"{'٠' * 8}-0000-8000-8000-{'0' * 12}"],
)  # fmt: skip
def test_what_is_no_id(text: str) -> None:
    assert not is_chunk_id(text)


def test_ids_that_only_look_alike(made: Path, tmp_path: Path) -> None:
    """Equal in the part that is kept, they are still two."""
    source = tmp_path / "x" / "passages.jsonl"
    source.parent.mkdir()
    source.write_bytes((made / "passages.jsonl").read_bytes())

    def change(rows: list[Record]) -> None:
        first = rows[0]["chunk_id"]
        other = "8000-8fff" if first[14:23] != "8000-8fff" else "8001-8fff"
        rows[3]["chunk_id"] = f"{first[:14]}{other}{first[23:]}"

    assert len(read(alter(source, change))) == 6


# -- without PyArrow

WITHOUT = """
import sys
sys.modules["pyarrow"] = None
from mkdocs_markstay.manifest import Manifest, ManifestError
try:
    Manifest.open(sys.argv[1])
except ManifestError as error:
    print(error)
"""


@pytest.mark.parametrize("form", ["passages.parquet", "data"])
def test_without_pyarrow(made: Path, form: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", WITHOUT, str(made / form)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip().endswith("pip install 'mkdocs-markstay[parquet]'")
