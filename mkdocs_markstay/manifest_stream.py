"""The records of two manifests, read side by side: only pages that differ are looked at.

Pages stand in the order of page id and language in both, so one walk through the two is
enough. Equal lines are skipped as they are; what is kept at a time are lines of one page.
"""

from __future__ import annotations

import json
import re
from contextlib import closing
from io import BufferedReader, FileIO
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

from mkdocs_markstay.manifest_files import LINES
from mkdocs_markstay.manifest_shapes import ManifestError, check_row
from mkdocs_markstay.progress import SILENT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path
    from typing import IO

    from typing_extensions import Buffer

    from mkdocs_markstay.manifest_files import ManifestFile
    from mkdocs_markstay.progress import Progress
    from mkdocs_markstay.records import Record

# How a record begins, with its referent. In JSON no quotation mark behind another sign than a
# backslash is part of a text, so neither pattern finds anything but keys of the record itself.
_STARTS = {
    "pages": re.compile(rb'\{"page_id":"([^"\\]*)"'),
    "sections": re.compile(rb'\{"referent":"([^"\\]*)"'),
    "passages": re.compile(rb'\{"chunk_id":"[^"\\]*","referent":"([^"\\]*)"'),
}
_STARTS[LINES] = _STARTS["passages"]
_LANGUAGE = re.compile(rb',"lang":"([^"\\]*)"')
_URL = re.compile(rb',"url":"([^"\\]*)"')
_decode = json.JSONDecoder().decode
_READ_AT_ONCE = 1 << 18

Page = tuple[bytes, bytes]
"""A page: its id and language, in UTF-8. Their order is that of the texts."""


class Line(NamedTuple):
    """A record as it stands there: its number, from 0, and its referent, in UTF-8."""

    number: int
    referent: bytes
    text: bytes


class Group(NamedTuple):
    """What is different of one page: records that the other side has not exactly so.

    ``shared`` are referents of which both have equal records, as far as they stand here.
    """

    page: Page
    old: list[Line]
    new: list[Line]
    shared: set[bytes]


class Rows:
    """The rows of one part of a manifest, as lines, in their order.

    ``number`` counts the lines that were read; ``progress`` is told of the bytes.
    """

    def __init__(self, manifest: ManifestFile, part: str, progress: Progress = SILENT) -> None:
        self.manifest = manifest
        self.part = part
        self._start = _STARTS[part]
        self._file = _open(manifest.path, progress)
        self.rewind()

    def close(self) -> None:
        """Give the file back."""
        self._file.close()

    def rewind(self) -> None:
        """Begin again, in the same file, though another one may have its name by now."""
        self.number = 0
        self._file.seek(self.manifest.parts[self.part].offset)
        # A file gives its lines faster than anything in between could.
        self.lines: Iterator[bytes] = self._file if self.part == LINES else _rows(self._file)

    def advance(self) -> bytes | None:
        """Give the next row, None at the end."""
        for line in self.lines:
            self.number += 1
            if line.strip():
                return line
        return None

    def identify(self, line: bytes, number: int) -> tuple[Page, bytes]:
        """Give the page and the referent of a row, in UTF-8; ``number`` counts from 0."""
        start, language = self._start.match(line), _LANGUAGE.search(line)
        if start and language:
            referent = start[1]
            return (referent.partition(b"#")[0], language[1]), referent
        row = self.parse(line, number)
        referent = row["page_id" if self.part == "pages" else "referent"].encode()
        return (referent.partition(b"#")[0], row["lang"].encode()), referent

    def read(self, lines: Iterable[Line]) -> list[Record]:
        """Read rows that were given as lines."""
        return [self.parse(line.text, line.number) for line in lines]

    def parse(self, line: bytes, number: int) -> Record:
        """Read a row; raise ManifestError if it is damaged."""
        try:
            row: Record = _decode(line.decode())
            # Only by an escape can a text have a character that none can have.
            check_row(self.part, row, escaped=b"\\u" in line)
        except KeyError as error:
            reason = f"there is no {error}"
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            reason = str(error)
        else:
            return row
        place = self.manifest.place(self.part, number)
        raise ManifestError(f"{place}: this is no record of a manifest: {reason}")


def _open(path: Path, progress: Progress) -> IO[bytes]:
    if progress is SILENT:
        return path.open("rb", buffering=_READ_AT_ONCE)
    return BufferedReader(_CountedFile(path, progress), _READ_AT_ONCE)


class _CountedFile(FileIO):
    """A file that tells how much of it is read: in large pieces, so that lines cost nothing."""

    def __init__(self, path: Path, progress: Progress) -> None:
        super().__init__(path)
        self._progress = progress

    def readinto(self, buffer: Buffer) -> int | None:
        count = super().readinto(buffer)
        self._progress.advance(count or 0)
        return count


def _rows(file: IO[bytes]) -> Iterator[bytes]:
    for line in file:
        if not line.startswith(b"{"):
            return
        yield line.rstrip(b",\r\n")


def differences(old: Rows, new: Rows) -> Iterator[Group]:
    """Walk through a part of two manifests and give what is different, page by page.

    A page is given once, or several times if all that was given before is no longer of
    interest: each record is given once at most, and all that differ of a section together.
    Raises ManifestError for a damaged record, and if pages are in another order.
    """
    first, second = _Cursor(old), _Cursor(new)
    while True:
        line, other, last, equal = None, None, None, 0
        # Nearly all lines are equal, so this is where the time goes.
        for line, other in zip_longest(old.lines, new.lines):
            if line != other:
                break
            last = line
            equal += 1
        else:
            line = other = None
        for cursor, found in ((first, line), (second, other)):
            cursor.skip(last, equal)
            cursor.take(found)
        while first.line != second.line:
            group = _read_page(first, second)
            if group.old or group.new:
                yield group
        if first.line is None:
            return


class _Cursor:
    """Where one of two manifests is read: at ``line``, which has not been compared yet.

    ``before`` is the page and the referent of the line before.
    """

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.line: bytes | None = None
        self.page: Page = (b"", b"")
        self.referent = b""
        self.before: tuple[Page, bytes] = (self.page, b"")

    def skip(self, last: bytes | None, count: int) -> None:
        """Note that ``count`` lines behind this one were read, the last of them ``last``."""
        self.rows.number += count
        if last is not None and last.strip():
            self._identify(last, self.rows.number - 1)

    def take(self, line: bytes | None) -> None:
        """Go on with a line that was read."""
        if line is None:
            self.advance()
            return
        self.rows.number += 1
        if line.strip():
            self._go_to(line)
        else:
            self.advance()

    def advance(self) -> None:
        """Go on with the next line."""
        self._go_to(self.rows.advance())

    def _go_to(self, line: bytes | None) -> None:
        self.before = (self.page, self.referent)
        self.line = line
        if line is not None:
            self._identify(line, self.rows.number - 1)

    def _identify(self, line: bytes, number: int) -> None:
        page, self.referent = self.rows.identify(line, number)
        if page < self.page:
            place = self.rows.manifest.place(self.rows.part, number)
            shown = page[0].decode("utf-8", "backslashreplace")
            raise ManifestError(f"{place}: the page {shown} is not in the order of a manifest")
        self.page = page


def _read_page(first: _Cursor, second: _Cursor) -> Group:
    """Read the lines of the page that comes next until the two agree, to its end at most."""
    page = min(cursor.page for cursor in (first, second) if cursor.line is not None)
    shared = {each.before[1] for each in (first, second) if each.before[0] == page}
    # Lines that the other side has not had yet.
    old: dict[bytes, Line] = {}
    new: dict[bytes, Line] = {}
    more = True
    while more:
        more = False
        for cursor, own, others in ((first, old, new), (second, new, old)):
            line = cursor.line
            if line is None or cursor.page != page:
                continue
            if line in others:
                del others[line]
                shared.add(cursor.referent)
            else:
                own[line] = Line(cursor.rows.number - 1, cursor.referent, line)
            cursor.advance()
            more = True
        more = more and bool(old or new)
    return Group(page, list(old.values()), list(new.values()), shared)


class PageRows:
    """Gives the rows of single pages, which must be asked for in their order."""

    def __init__(self, rows: Rows) -> None:
        self._cursor = _Cursor(rows)
        self._cursor.advance()
        self._page: Page | None = None
        self._found: dict[str, Record] = {}

    def read(self, page: Page) -> dict[str, Record]:
        """Map the referents of a page to their rows."""
        if page == self._page:
            return self._found
        cursor = self._cursor
        while cursor.line is not None and cursor.page < page:
            cursor.advance()
        self._page, self._found = page, {}
        while cursor.line is not None and cursor.page == page:
            row = cursor.rows.parse(cursor.line, cursor.rows.number - 1)
            self._found[cursor.referent.decode()] = row
            cursor.advance()
        return self._found


class Address(NamedTuple):
    """Where a page or section is: ``url`` as it stands there, ``former`` where it was."""

    referent: str
    lang: str
    url: str
    former: Sequence[str] = ()


def addresses(manifest: ManifestFile) -> Iterator[Address]:
    """Give the addresses of all pages and then of all sections, as far as they are known.

    Of a manifest in lines, pages and sections stand as they come.
    """
    for part in (LINES,) if manifest.header is None else ("pages", "sections"):
        with closing(Rows(manifest, part)) as rows:
            yield from _addresses(rows)


def _addresses(rows: Rows) -> Iterator[Address]:
    before: tuple[Page, bytes] | None = None
    while (line := rows.advance()) is not None:
        found = page, referent = rows.identify(line, rows.number - 1)
        if found == before:
            continue
        lang = page[1].decode()
        match = _URL.search(line)
        if match and b'"former_urls"' not in line:
            url, former = match[1].decode(), ()
        else:
            row = rows.parse(line, rows.number - 1)
            url, former = row["url"], row.get("former_urls", ())
        if rows.part == LINES and (before is None or before[0] != page):
            yield Address(page[0].decode(), lang, url.partition("#")[0])
        yield Address(referent.decode(), lang, url, former)
        before = found
