"""Manifests to read, record by record: ``passages.json``, ``passages.jsonl`` and Parquet.

A manifest is checked as a whole when it is opened, so nobody gets a part of a damaged one. Kept
in memory are the places of its pages, and for that check parts of chunk ids, not the texts.
"""

from __future__ import annotations

import os
import re
from contextlib import ExitStack, closing, contextmanager
from hashlib import sha256
from pathlib import Path
from sys import intern
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from mkdocs_markstay.chunk_ids import ChunkIdSet, is_alike, is_chunk_id
from mkdocs_markstay.manifest_files import LINES, open_manifest
from mkdocs_markstay.manifest_shapes import JSON_NAME, JSONL_NAME, PARQUET_NAME, ManifestError
from mkdocs_markstay.manifest_stream import PageRows, Rows
from mkdocs_markstay.manifest_values import Header, PagePlace, Passage
from mkdocs_markstay.partitions import DATASET_NAME, PARTITIONS, partition_of
from mkdocs_markstay.progress import SILENT
from mkdocs_markstay.records import Publication, Record, flatten

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from types import TracebackType
    from typing import IO

    from typing_extensions import Self

    from mkdocs_markstay.manifest_files import ManifestFile
    from mkdocs_markstay.progress import Progress

__all__ = ["Manifest", "ManifestError", "PagePlace", "Passage", "opened"]


class Source(Protocol):
    """A file of passages. A place is whatever tells it where a passage stands."""

    @property
    def name(self) -> str:
        """What a person knows it by."""

    @property
    def headers(self) -> Sequence[Header]:
        """What is known of its sites."""

    @property
    def size(self) -> int:
        """How long the file is, in bytes."""

    @property
    def end(self) -> int:
        """What the first number of a place is at most."""

    def scan(self) -> Iterator[tuple[tuple[int, int], Record]]:
        """Give all passages in their order, checked, as records of ``passages.jsonl``."""

    def read(self, page: PagePlace) -> Iterable[Record]:
        """Give the passages of a page, as `scan` did."""

    @property
    def listed(self) -> bool:
        """Whether it lists pages and sections, those without passages, too."""

    def iter_listed(self, part: str) -> Iterator[Record]:
        """Give the records of its `pages` or `sections`, if it lists them."""

    def name_place(self, place: tuple[int, int]) -> str:
        """Name a place for people."""

    def close(self) -> None:
        """Give the file back."""


class Manifest:
    """One or several manifests: of several sites, or parts of one that was exported.

    ``headers`` has what is known of each publication, by its name; ``pages`` are the pages
    with passages, in their order; ``count`` is the number of all passages. ``listed``: pages
    and sections without passages are known, too.
    """

    def __init__(self, sources: Sequence[Source], progress: Progress = SILENT) -> None:
        self._sources = sources
        self._stack = ExitStack()
        self.headers: dict[str, Header] = {}
        self.pages: list[PagePlace] = []
        self.count = 0
        self.listed = all(source.listed for source in sources)
        self._check(progress)

    @classmethod
    def open(cls, *paths: str | os.PathLike[str], progress: Progress = SILENT) -> Manifest:
        """Open manifests by their files or folders, and check them as a whole.

        A folder is that of a site or of an exported data set. Raises ManifestError with the
        file, and the line if there is one, for what is missing, damaged, cut off, foreign or
        of a newer schema, for chunk ids that stand twice, and for two manifests of one site.
        ``progress`` is told how much of the check is done.
        """
        with ExitStack() as stack:
            sources = [source for path in paths for source in _open(Path(path), stack)]
            if not sources:
                raise ManifestError("there is no manifest to read")
            found = cls(sources, progress)
            found._stack = stack.pop_all()
            return found

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give files back."""
        self._stack.close()

    def iter_passages(self) -> Iterator[Passage]:
        """Give all passages, in the order of pages and documents."""
        for page in self.pages:
            yield from self.read(page)

    def iter_listed(self, part: str) -> Iterator[Record]:
        """Give the records of all `pages` or `sections` that ``passages.json`` lists."""
        for source in self._sources:
            yield from source.iter_listed(part)

    def read(self, page: PagePlace) -> list[Passage]:
        """Read the passages of a page; the order of `pages` is the fastest one to ask in."""
        return [Passage.from_record(row) for row in self._sources[page.source].read(page)]

    def _check(self, progress: Progress) -> None:
        owners: dict[str, str] = {}
        chunk_ids = ChunkIdSet()
        size = sum(source.size for source in self._sources)
        progress.begin("Checking the manifest", size, in_bytes=True)
        for number, source in enumerate(self._sources):
            for header in source.headers:
                self._add_header(header, source.name, owners)
            checked = _check_source(number, source, chunk_ids, progress)
            for name in checked.digests:
                if all(name != header.publication for header in source.headers):
                    self._add_header(Header(name), source.name, owners)
            self.pages += checked.pages
            self.count += checked.total
            expected = {each.publication: each.digest for each in source.headers if each.digest}
            if expected and expected != {**dict.fromkeys(expected, _EMPTY), **checked.digests}:
                raise ManifestError(
                    f"{source.name} is damaged: its passages are not those that its digest is"
                    " over. Build the site again"
                )
        if alike := chunk_ids.find_alike():
            _check_alike(self._sources, alike)

    def _add_header(self, header: Header, name: str, owners: dict[str, str]) -> None:
        """Add what a file says of a site. Only parts of one data set may share a site."""
        other = self.headers.get(header.publication)
        if other is not None:
            if not header.dataset or header.dataset != other.dataset:
                raise ManifestError(
                    f"{name} and {owners[header.publication]} are both of the publication"
                    f" {header.publication}. Versions of a site belong into namespaces of"
                    " their own"
                )
            if header.partitions & other.partitions:
                raise ManifestError(f"{name} and {owners[header.publication]} are the same part")
            partitions = header.partitions | other.partitions
            digest = header.dataset if partitions == PARTITIONS else ""
            header = other._replace(digest=digest, partitions=partitions)
        owners.setdefault(header.publication, name)
        self.headers[header.publication] = header


@contextmanager
def opened(manifest: Manifest | str | os.PathLike[str]) -> Iterator[Manifest]:
    """Open a manifest for a while; one that is open already stays so."""
    if isinstance(manifest, Manifest):
        yield manifest
    else:
        with Manifest.open(manifest) as found:
            yield found


class _Checked(NamedTuple):
    pages: list[PagePlace]
    total: int
    digests: dict[str, str]


_EMPTY = f"sha256:{sha256().hexdigest()}"
_DIGEST = re.compile("sha256:[0-9a-f]{64}")


def _check_source(
    number: int, source: Source, chunk_ids: ChunkIdSet, progress: Progress
) -> _Checked:
    """Read all passages of a file once, and note where each page begins."""
    pages: list[PagePlace] = []
    totals: dict[str, Any] = {}
    total = page_total = sha256()
    count, first = 0, 0
    key: tuple[str, str, str] = ("", "", "")
    place = start = (0, 0)
    partitions = {
        header.publication: header.partitions
        for header in source.headers
        if header.partitions is not PARTITIONS
    }

    def end_page() -> None:
        if count > first:
            publication, page_id, lang = key
            digest = page_total.hexdigest()
            pages.append(
                PagePlace(publication, lang, page_id, digest, count - first, number, start)
            )

    for place, row in source.scan():
        found = (row["publication"], row["page_id"], row["lang"])
        if found != key:
            end_page()
            # The few publications and languages are kept once, not for each page.
            found = (intern(found[0]), found[1], intern(found[2]))
            if found[0] not in totals:
                total = totals[found[0]] = sha256()
            elif found < key or found[0] != key[0]:
                raise ManifestError(
                    f"{source.name_place(place)}: the page {found[1]} is not in the order of a"
                    " manifest"
                )
            if partitions and partition_of(*found) not in partitions.get(found[0], ()):
                raise ManifestError(
                    f"{source.name_place(place)}: the page {found[1]} is of another part"
                )
            progress.advance((place[0] - start[0]) * source.size // source.end)
            key, start, first, page_total = found, place, count, sha256()
        _check_ids(row, source, place, chunk_ids)
        line = f"{row['chunk_id']} {row['record_digest']}\n".encode()
        page_total.update(line)
        total.update(line)
        count += 1
    end_page()
    return _Checked(
        pages, count, {name: f"sha256:{each.hexdigest()}" for name, each in totals.items()}
    )


def _check_ids(row: Record, source: Source, place: tuple[int, int], ids: ChunkIdSet) -> None:
    chunk_id, digest = row["chunk_id"], sha256(row["text"].encode()).hexdigest()
    if row["text_digest"] != f"sha256:{digest}":
        # Vectors are kept by it: of a wrong one nobody would ever hear again.
        raise ManifestError(
            f"{source.name_place(place)}: the text of {chunk_id} is not the one of its text_digest"
        )
    if not is_chunk_id(chunk_id):
        raise ManifestError(f"{source.name_place(place)}: {chunk_id!r} is no chunk id")
    if _DIGEST.fullmatch(row["record_digest"]) is None:
        raise ManifestError(f"{source.name_place(place)}: the record_digest of {chunk_id} is none")
    ids.add(chunk_id)


def _check_alike(sources: Sequence[Source], alike: set[int]) -> None:
    """Raise ManifestError for the first chunk id that stands twice; ``alike`` are parts of it."""
    seen: set[str] = set()
    for source in sources:
        for place, row in source.scan():
            chunk_id = row["chunk_id"]
            if chunk_id in seen:
                raise ManifestError(
                    f"{source.name_place(place)}: the chunk id {chunk_id} stands twice"
                )
            if is_alike(chunk_id, alike):
                seen.add(chunk_id)


def _open(path: Path, stack: ExitStack) -> Iterator[Source]:
    """Find the files of a manifest."""
    if path.is_dir():
        if (path / DATASET_NAME).is_file():
            from mkdocs_markstay.dataset import list_parts  # noqa: PLC0415 (needs PyArrow)

            for part in list_parts(path):
                yield from _open(part, stack)
            return
        names = [each for each in (JSON_NAME, JSONL_NAME, PARQUET_NAME) if (path / each).is_file()]
        if not names:
            raise ManifestError(
                f"there is no {JSON_NAME} and no {DATASET_NAME} in {path}. Was the site built?"
            )
        path /= names[0]
    if path.suffix == ".parquet":
        from mkdocs_markstay.manifest_parquet import ParquetSource  # noqa: PLC0415

        yield stack.enter_context(closing(ParquetSource(path)))
    else:
        yield stack.enter_context(closing(_LineSource(path)))


class _LineSource:
    """A manifest as text, a record to a line."""

    def __init__(self, path: Path) -> None:
        self._stack = ExitStack()
        try:
            made = TemporaryDirectory(ignore_cleanup_errors=True)
            folder = Path(self._stack.enter_context(made))
            self._manifest = open_manifest(str(path), "", folder)
            self.name = self._manifest.name
            self._part = LINES if self._manifest.header is None else "passages"
            self._file: IO[bytes] = self._stack.enter_context(self._manifest.path.open("rb"))
            self.size = self.end = os.fstat(self._file.fileno()).st_size
            self._rows = self._stack.enter_context(closing(Rows(self._manifest, self._part)))
            self._owners: _Owners | None = None
            if self._part != LINES:
                self._owners = _Owners(self._manifest, self._stack)
            self.headers = self._read_header(path)
            self.listed = self._owners is not None
        except OSError as error:
            self._stack.close()
            raise ManifestError(f"{path} cannot be read: {error.strerror}") from None
        except BaseException:
            self._stack.close()
            raise

    def _read_header(self, path: Path) -> list[Header]:
        header = self._manifest.header
        if header is None:
            # What a line does not tell stands in the file beside it.
            other = path.parent / JSON_NAME
            if path.name != JSONL_NAME or not other.is_file():
                return []
            with TemporaryDirectory() as folder:
                header = open_manifest(str(other), "", Path(folder)).header
            assert header is not None
        return [Header.from_facts(header)]

    def close(self) -> None:
        self._stack.close()

    def name_place(self, place: tuple[int, int]) -> str:
        return self._manifest.place(self._part, place[1])

    def scan(self) -> Iterator[tuple[tuple[int, int], Record]]:
        for place, row in self._lines(self._manifest.parts[self._part].offset, 0):
            yield place, self._complete(row, place)

    def read(self, page: PagePlace) -> Iterator[Record]:
        rows = self._lines(*page.place)
        for _, (place, row) in zip(range(page.passages), rows, strict=False):
            yield self._complete(row, place)

    def iter_listed(self, part: str) -> Iterator[Record]:
        if self.listed:
            with closing(Rows(self._manifest, part)) as rows:
                while (line := rows.advance()) is not None:
                    yield rows.parse(line, rows.number - 1)

    def _lines(self, offset: int, number: int) -> Iterator[tuple[tuple[int, int], Record]]:
        self._file.seek(offset)
        ends = self._part != LINES
        for line in self._file:
            if ends and not line.startswith(b"{"):
                return
            text = line.rstrip(b",\r\n") if ends else line
            if text.strip():
                yield (offset, number), self._rows.parse(text, number)
            offset += len(line)
            number += 1

    def _complete(self, row: Record, place: tuple[int, int]) -> Record:
        if self._owners is None:
            return row
        page = (row["referent"].partition("#")[0], row["lang"])
        if not self._owners.reaches(page):
            self._owners.rewind()
        line = self._owners.complete(page, row)
        if line is None:
            raise ManifestError(
                f"{self.name_place(place)}: {row['chunk_id']} is a passage of {row['referent']},"
                " which is not listed"
            )
        return line


class _Owners:
    """The pages and sections of a manifest, beside its passages."""

    def __init__(self, manifest: ManifestFile, stack: ExitStack) -> None:
        header = manifest.header
        assert header is not None
        names = ("publication", "default_lang", "version", "site_url")
        self._publication = Publication(*(header[name] for name in names))
        self._rows = [
            stack.enter_context(closing(Rows(manifest, part))) for part in ("pages", "sections")
        ]
        self.rewind()

    def rewind(self) -> None:
        """Begin again with the first page."""
        for rows in self._rows:
            rows.rewind()
        self._pages, self._sections = map(PageRows, self._rows)
        self._at: tuple[str, str] = ("", "")
        self._page: Record | None = None
        self._own: Mapping[str, Record] = {}

    def reaches(self, page: tuple[str, str]) -> bool:
        """Tell whether a page has not been passed yet."""
        return page >= self._at

    def complete(self, page: tuple[str, str], row: Record) -> Record | None:
        """Make a self-contained record of a passage, None if its page or section is missing."""
        if page != self._at:
            key = (page[0].encode(), page[1].encode())
            self._page = self._pages.read(key).get(page[0])
            self._own = self._sections.read(key)
            self._at = page
        section = self._own.get(row["referent"])
        if self._page is None or (section is None and "#" in row["referent"]):
            return None
        line = flatten(row, section, self._page, self._publication)
        line["record_digest"] = row["record_digest"]
        return line
