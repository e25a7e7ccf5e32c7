"""Passages as Parquet: the fields of ``passages.jsonl`` as columns of fixed types.

What is known of the whole site stands in the file, too, under the key `markstay`. Importing
this raises ManifestError where PyArrow is not installed.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from contextlib import suppress
from itertools import accumulate, islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from mkdocs_markstay.manifest_files import LINES, check_facts
from mkdocs_markstay.manifest_shapes import PARTS, SCHEMA, ManifestError, check_row
from mkdocs_markstay.manifest_values import Header, Passage
from mkdocs_markstay.partitions import DATASET_SCHEMA, PARTITIONS, divide
from mkdocs_markstay.records import to_json
from mkdocs_markstay.whole_file import replace_file

try:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq
except ImportError:
    raise ManifestError(
        "Parquet needs PyArrow, which is not installed: pip install 'mkdocs-markstay[parquet]'"
    ) from None

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path
    from types import TracebackType
    from typing import IO

    from typing_extensions import Self

    from mkdocs_markstay.manifest_values import PagePlace
    from mkdocs_markstay.records import Record

GROUP = 10_000
"""How many rows are in a row group."""

_KEY = b"markstay"
_FAMILY = DATASET_SCHEMA.rpartition("-")[0] + "-"
# Bytes of a row: above that, groups have fewer of them.
_ROW_BYTES = 2048
# So many rows, or characters of their texts, are held as Python's objects.
_AT_ONCE = 256
_CHARACTERS = 1 << 20


def _list(item: Any) -> Any:
    return pa.list_(pa.field("element", item, nullable=False))


_BLOCK = pa.struct(
    [
        pa.field(name, pa.string(), nullable=False)
        for name in ("stay", "digest", "body_hash", "referent")
    ]
)
_TYPES = {
    **dict.fromkeys(Passage._fields, pa.string()),
    **dict.fromkeys(("position", "level", "line"), pa.int32()),
    **dict.fromkeys(("kinds", "path"), _list(pa.string())),
    "generated": pa.bool_(),
    "blocks": _list(_BLOCK),
}
COLUMNS = pa.schema([pa.field(name, kind, nullable=False) for name, kind in _TYPES.items()])
"""All columns, in the order of the fields."""

# Nearly all values of these occur once.
_UNIQUE = {"chunk_id", "text", "text_digest", "record_digest", "blocks", "stay_key"}
_values = itemgetter(*Passage._fields)
_TEXT = Passage._fields.index("text")


def write_parquet(path: Path, header: Record, rows: Iterable[Record]) -> None:
    """Write records of ``passages.jsonl`` into a file, as a whole. Raises OSError.

    ``header`` is ``passages.json`` without the lists of pages, sections and passages.
    """
    with replace_file(path) as file, ParquetWriter(file) as writer:
        for row in rows:
            writer.add(_values(row))
        writer.finish(header)


class ParquetWriter:
    """Writes rows as they come, and holds one group of them, of ``group`` rows at most."""

    def __init__(self, file: IO[bytes], group: int = GROUP) -> None:
        self._writer = pq.ParquetWriter(
            file,
            COLUMNS,
            compression="zstd",
            use_dictionary=[_leaf(field) for field in COLUMNS if field.name not in _UNIQUE],
            write_page_checksum=True,
        )
        self._group = group
        self._rows: list[Sequence[Any]] = []
        self._characters = 0
        self._batches: list[Any] = []
        self._held = 0
        self._bytes = 0
        self.count = 0

    def add(self, row: Sequence[Any]) -> None:
        """Write a row: the values of a `Passage`."""
        self._rows.append(row)
        self._characters += len(row[_TEXT])
        self.count += 1
        if len(self._rows) == _AT_ONCE or self._characters > _CHARACTERS:
            self._pack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # Of what is not finished, the end is tried to be written all the same.
        with suppress(OSError, ValueError):
            self._writer.close()

    def finish(self, facts: Record) -> None:
        """Write what is left, and facts of the whole."""
        self._pack()
        self._write_group()
        self._writer.add_key_value_metadata({_KEY.decode(): to_json(facts)})
        self._writer.close()

    def _pack(self) -> None:
        """Put rows into columns, which need a quarter of the memory."""
        if not self._rows:
            return
        columns = zip(*self._rows, strict=True)
        arrays = [
            pa.array(values, kind) for values, kind in zip(columns, _TYPES.values(), strict=True)
        ]
        batch = pa.RecordBatch.from_arrays(arrays, schema=COLUMNS)
        self._rows, self._characters = [], 0
        self._batches.append(batch)
        self._held += batch.num_rows
        self._bytes += batch.nbytes
        if self._held + _AT_ONCE > self._group or self._bytes > self._group * _ROW_BYTES:
            self._write_group()

    def _write_group(self) -> None:
        if self._batches:
            self._writer.write_table(pa.Table.from_batches(self._batches), self._held)
        self._batches, self._held, self._bytes = [], 0, 0


def _leaf(field: Any) -> str:
    """Name the column of a field as Parquet does."""
    return f"{field.name}.list.element" if pa.types.is_list(field.type) else str(field.name)


class ParquetSource:
    """A file of passages, or of one part of them."""

    listed = False

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        # The group that was read last, and rows of it.
        self._table: Any = None
        self._group, self._escaped = -1, False
        self._first = 0
        self._rows: list[Record] = []
        try:
            self._file = pq.ParquetFile(path, page_checksum_verification=True)
            self.size = path.stat().st_size
        except (OSError, ValueError) as error:
            raise ManifestError(_damaged(path, error)) from None
        try:
            self.headers = self._read_headers()
        except BaseException:
            self.close()
            raise
        groups = range(self._file.metadata.num_row_groups)
        sizes = [self._file.metadata.row_group(number).num_rows for number in groups]
        self._starts = list(accumulate(sizes, initial=0))[:-1]
        self.end = sum(sizes)

    def close(self) -> None:
        """Give the file back."""
        self._forget()
        self._file.close()

    def _forget(self) -> None:
        # Of many parts that are open, most are not being read.
        self._group, self._table, self._rows = -1, None, []

    def iter_listed(self, _part: str) -> Iterator[Record]:
        """Give nothing: only pages and sections with passages are known."""
        return iter(())

    def name_place(self, place: tuple[int, int]) -> str:
        """Name a place: the number of its record."""
        return f"{self.name}: record {place[0] + 1}"

    def scan(self) -> Iterator[tuple[tuple[int, int], Record]]:
        """Give all passages in their order, checked."""
        total = self._file.metadata.num_rows
        for number, row in enumerate(self._iter_rows(0, total)):
            yield (number, 0), row
        self._forget()

    def read(self, page: PagePlace) -> Iterator[Record]:
        """Give the passages of a page."""
        return self._iter_rows(page.place[0], page.passages)

    def _iter_rows(self, start: int, count: int) -> Iterator[Record]:
        end = start + count
        while start < end:
            # Read by page or all at once, rows are made of the same columns at a time.
            if not 0 <= start - self._first < len(self._rows):
                self._make_rows(start)
            some = self._rows[start - self._first : end - self._first]
            yield from some
            start += len(some)

    def _read_group(self, number: int) -> None:
        if self._group != number:
            self._group, self._table = -1, None
            try:
                self._table = self._file.read_row_group(number)
                self._table.validate(full=True)
            except (OSError, ValueError) as error:
                raise ManifestError(_damaged(self.name, error)) from None
            self._group, self._escaped = number, any(map(_has_nul, self._table.columns))

    def _make_rows(self, start: int) -> None:
        """Make records of some rows, by columns: that is several times as fast."""
        number = bisect_right(self._starts, start) - 1
        self._read_group(number)
        at = (start - self._starts[number]) // _AT_ONCE * _AT_ONCE
        columns = [column.to_pylist() for column in self._table.slice(at, _AT_ONCE).columns]
        self._first = self._starts[number] + at
        self._rows = [
            dict(zip(Passage._fields, values, strict=True)) for values in zip(*columns, strict=True)
        ]
        if not self._escaped:
            return  # the types of columns are known, so there is nothing that could be wrong
        number = self._first
        try:
            for number, row in enumerate(self._rows, self._first):  # noqa: B007 (told below)
                check_row(LINES, row)
        except ValueError as error:
            place = self.name_place((number, 0))
            raise ManifestError(f"{place}: this is no record of a manifest: {error}") from None

    def _read_headers(self) -> list[Header]:
        text = (self._file.metadata.metadata or {}).get(_KEY)
        try:
            data = json.loads(text) if text else None
        except (ValueError, RecursionError):
            data = None
        if not isinstance(data, dict):
            raise ManifestError(f"{self.name} is no manifest of the schema {SCHEMA}")
        headers = _read_part(data, self.name)
        if headers is None:
            headers = [_read_site(data, self.name)]
        if not self._file.schema_arrow.equals(COLUMNS):
            raise ManifestError(f"{self.name} has other columns than a manifest")
        return headers


def is_dataset(facts: Record, name: str) -> bool:
    """Tell whether facts are those of a data set. Raises ManifestError for a newer one."""
    schema = facts.get("schema")
    if schema != DATASET_SCHEMA and str(schema).startswith(_FAMILY):
        raise ManifestError(f"{name} has the schema {schema}. This version reads {DATASET_SCHEMA}")
    return schema == DATASET_SCHEMA


def part_facts(sites: Sequence[Record], number: int, parts: int, digests: dict[str, str]) -> Record:
    """Give the facts of a part; ``digests`` are those of its passages of each site."""
    facts = {"schema": DATASET_SCHEMA, "part": number, "parts": parts}
    return {**facts, "digests": digests, "sites": list(sites)}


def _read_part(facts: Record, name: str) -> list[Header] | None:
    """Read the facts of a part; None if they are not such."""
    if not is_dataset(facts, name):
        return None
    try:
        number, parts = facts["part"], facts["parts"]
        if not 0 <= number < parts <= len(PARTITIONS):
            raise ValueError(f"part {number} of {parts}")  # noqa: TRY301
        partitions = divide(number, parts)
        headers = []
        for site in facts["sites"]:
            header = _read_site(site, name)
            digest = facts["digests"][header.publication]
            headers.append(
                header._replace(digest=digest, partitions=partitions, dataset=header.digest)
            )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ManifestError(f"{name} is damaged: {error!r} in its header") from None
    return headers


def _read_site(facts: Any, name: str) -> Header:
    check_facts({**facts, **dict.fromkeys(PARTS)}, name)
    return Header.from_facts(facts)


def _damaged(name: object, error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return f"there is no file or folder {name}"
    reason = next(islice(str(error).splitlines(), 1), type(error).__name__)
    return f"{name} is no Parquet file, or damaged or cut off: {reason}"


def _has_nul(column: Any) -> bool:
    """Tell whether there is a character in a column of texts that is not allowed."""
    if pa.types.is_list(column.type):
        return _has_nul(pc.list_flatten(column))
    return pa.types.is_string(column.type) and bool(
        pc.any(pc.match_substring(column, "\0")).as_py()
    )
