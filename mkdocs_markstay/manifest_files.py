"""Where a manifest to compare comes from: a file, a folder, or a commit of a git repository.

What was found is a file whose records stand one to a line, so that it can be read record by
record. Other JSON, pipes and committed files are written into a folder for temporary files first.
"""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from mkdocs_markstay.git_command import GitError, run_git
from mkdocs_markstay.manifest_shapes import (
    JSON_NAME,
    JSONL_NAME,
    PARTS,
    SCHEMA,
    ManifestError,
    check_header,
    check_row,
)
from mkdocs_markstay.records import Record, to_json

if TYPE_CHECKING:
    from collections.abc import Mapping


LINES = "lines"
"""The one list of ``passages.jsonl``: its lines."""

_PARQUET = b"PAR1"  # with which such a file begins
_GIT = "git:"
_KEY = re.compile(rb'"([A-Za-z_]+)":')
_FAMILY = SCHEMA.rpartition("-")[0] + "-"
# The first record or line of a file that is longer is not looked at by itself.
_LONGEST = 1 << 24
# So much of the end of a file is read to find its last line, and then twice as much each time.
_SHORTEST = 1 << 13
_FOLLOWED = {
    "redirects": {"from": (str,), "to": (str,), "url": (str,)},
    "retired": {"referent": (str,), "reason": (str,)},
}


class PartPlace(NamedTuple):
    """Where the rows of a list begin: the offset in bytes, and the number of the line."""

    offset: int
    line: int


@dataclass(frozen=True)
class ManifestFile:
    """A manifest whose records stand one to a line.

    ``name`` is for people. ``header`` holds all of ``passages.json`` that is not pages,
    sections and passages, None for ``passages.jsonl``. ``rewritten``: ``path`` is not what a
    person has, so that numbers of its lines say nothing.
    """

    name: str
    path: Path
    header: Record | None = None
    parts: Mapping[str, PartPlace] = field(default_factory=dict)
    rewritten: bool = False

    def place(self, part: str, number: int) -> str:
        """Name the place of a row of a part for people; ``number`` counts from 0."""
        if self.rewritten:
            return f"{self.name}: record {number + 1} of {part}"
        return f"{self.name}:{self.parts[part].line + number}"


def open_manifest(
    argument: str, other: str, folder: Path, home: Path | None = None
) -> ManifestFile:
    """Find the manifest that an argument names; ``other`` is the argument beside it.

    ``folder`` is for temporary files, ``home`` the folder of whose repository a commit is.
    Raises ManifestError, whose message names the argument.
    """
    if argument.startswith(_GIT):
        path, name = folder / "manifest", argument
        _read_commit(argument, other, path, home or Path())
    else:
        path, name = _find(argument, folder)
    try:
        return _open(path, name, folder)
    except OSError as error:
        raise ManifestError(f"{name} cannot be read: {error.strerror}") from None


def _find(argument: str, folder: Path) -> tuple[Path, str]:
    """Give the file and its name for people."""
    path = Path(argument)
    if path.is_dir():
        for name in (JSON_NAME, JSONL_NAME):
            if (path / name).is_file():
                return path / name, (path / name).as_posix()
        raise ManifestError(f"there is no {JSON_NAME} and no {JSONL_NAME} in {argument}")
    if not path.exists():
        raise ManifestError(f"there is no file or folder {argument}")
    if path.is_file():
        return path, argument
    copy = folder / "manifest"
    try:  # a pipe can be read only once
        with path.open("rb") as source, copy.open("wb") as target:
            shutil.copyfileobj(source, target)
    except OSError as error:
        raise ManifestError(f"{argument} cannot be read: {error.strerror}") from None
    return copy, argument


# -- git


def _read_commit(argument: str, other: str, target: Path, folder: Path) -> None:
    """Write a committed manifest into a file."""
    revision, _, path = argument.removeprefix(_GIT).partition(":")
    if not path:
        folder, path = _path_of_other(argument, other)
    if not revision or revision.startswith("-"):
        raise ManifestError(f"{argument} names no revision: {_GIT}REV, or {_GIT}REV:PATH")
    spec = f"{revision}:{path}"
    if _run_git(folder, argument, "cat-file", "-t", spec) == "tree":
        tree = spec.rstrip("/")
        listed = _run_git(folder, argument, "ls-tree", "--full-tree", "--name-only", tree)
        names = listed.split("\n")
        spec = f"{tree}/{JSON_NAME if JSON_NAME in names else JSONL_NAME}"
    with target.open("wb") as file:
        _run_git(folder, argument, "cat-file", "blob", spec, target=file)


def _path_of_other(argument: str, other: str) -> tuple[Path, str]:
    """Give the folder to run git in and the path there, as the other argument has it."""
    if other.startswith(_GIT):
        path = other.removeprefix(_GIT).partition(":")[2]
        if path:
            return Path(), path
    elif Path(other).is_dir():
        names = [name for name in (JSON_NAME, JSONL_NAME) if (Path(other) / name).is_file()]
        return Path(other), f"./{(names or [JSON_NAME])[0]}"
    elif Path(other).is_file():
        return Path(other).parent, f"./{Path(other).name}"
    raise ManifestError(
        f"{argument} names no file, and nothing else does. Write {argument}:path/to/{JSON_NAME}"
    )


def _run_git(folder: Path, argument: str, *command: str, target: IO[bytes] | None = None) -> str:
    try:
        return run_git(folder, *command, target=target)
    except GitError as error:
        raise ManifestError(f"{argument} cannot be read: {error}") from None


# -- what is in a file


def _open(path: Path, name: str, folder: Path) -> ManifestFile:
    with path.open("rb") as file:
        first = file.readline(_LONGEST)
        while first and not first.strip():
            first = file.readline(_LONGEST)
    if not first and not name.endswith(".jsonl"):
        raise ManifestError(f"{name} is empty")
    if first.startswith(_PARQUET):
        raise ManifestError(
            f"{name} is a Parquet file. Name the {JSON_NAME} or {JSONL_NAME} of that build"
        )
    row = _load(first)
    if not first or (isinstance(row, dict) and "chunk_id" in row):
        _check_ends(path, name, row)
        return ManifestFile(name, path, None, {LINES: PartPlace(0, 1)})
    if first.strip() == b"{":
        found = _index(path)
        if found is not None:
            header, parts = found
            check_facts({**dict.fromkeys(parts), **header}, name)
            return ManifestFile(name, path, _without_parts(header), parts)
    return _rewrite(path, name, folder / "rewritten")


def _check_ends(path: Path, name: str, first: Any) -> None:
    """Look at the first and the last line: equal lines in between are not looked at at all."""
    if first is None:
        return
    try:
        check_row(LINES, first)
    except (KeyError, TypeError, ValueError) as error:
        raise ManifestError(f"{name}:1: this is no record of a manifest: {error!r}") from None
    with path.open("rb") as file:
        start, last = file.seek(0, 2), b""
        length = _SHORTEST
        while start and b"\n" not in last:
            start = max(0, file.seek(0, 2) - length)
            file.seek(start)
            last = file.read().rstrip()
            length *= 2
    if _load(last.rpartition(b"\n")[2]) is None:
        raise ManifestError(f"{name}: the last line is no record of a manifest: is it cut off?")


def _load(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _index(path: Path) -> tuple[Record, dict[str, PartPlace]] | None:
    """Find where the lists begin, and read all else; None if the file has another form."""
    with path.open("rb") as file:
        scan = _Scan(file)
        try:
            return scan.read_all()
        except _OtherFormError:
            return None


class _OtherFormError(Exception):
    """A file that is not what this package writes, though it may be the same JSON."""


class _Scan:
    """Reads ``passages.json``, a key or record to a line, and counts lines and bytes."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self.offset = 0
        self.number = 0

    def read_all(self) -> tuple[Record, dict[str, PartPlace]]:
        """Give the header, and where the lists of pages, sections and passages begin."""
        header: Record = {}
        parts: dict[str, PartPlace] = {}
        more = self._read() == b"{\n"
        if not more:
            raise _OtherFormError
        while more:
            line = self._read()
            match = _KEY.match(line)
            if match is None:
                raise _OtherFormError
            key, value = match[1].decode(), line[match.end() :].strip()
            place = PartPlace(self.offset, self.number + 1)
            if value == b"[":
                rows, value = self._read_rows(keep=key not in PARTS)
            else:
                rows = _load(value.removesuffix(b","))
            if key not in PARTS:
                header[key] = rows
            elif rows == []:
                # Of an empty list in one line, nothing is read from here on.
                parts[key] = place
            else:
                raise _OtherFormError
            more = value.endswith(b",")
        if self._read().strip() != b"}" or self.file.read().strip():
            raise _OtherFormError
        return header, parts

    def _read(self) -> bytes:
        line = self.file.readline()
        self.offset += len(line)
        self.number += 1
        return line

    def _read_rows(self, *, keep: bool) -> tuple[list[Any], bytes]:
        """Read the rows of a list, and the line that ends it."""
        kept: list[Any] = []
        offset, number, more = self.offset, self.number, True
        line = b""
        for line in self.file:
            offset += len(line)
            number += 1
            if not line.startswith(b"{"):
                break
            if not more or not line.endswith((b"},\n", b"}\n")):
                raise _OtherFormError
            more = line.endswith(b",\n")
            if keep:
                kept.append(_load(line.rstrip().removesuffix(b",")))
        self.offset, self.number = offset, number
        if more or line.strip() not in (b"]", b"],"):
            raise _OtherFormError
        return kept, line.strip()


def _rewrite(path: Path, name: str, target: Path) -> ManifestFile:
    """Write a manifest of any form anew, a record to a line."""
    try:
        data = json.loads(path.read_bytes())
    except json.JSONDecodeError as error:
        raise ManifestError(f"{name}:{error.lineno}: damaged, or no manifest: {error}") from None
    except (ValueError, RecursionError) as error:
        raise ManifestError(f"{name} is damaged, or no manifest: {error}") from None
    check_facts(data, name)
    parts: dict[str, PartPlace] = {}
    with target.open("wb") as file:
        for part in PARTS:
            parts[part] = PartPlace(file.tell(), 1)
            for row in data[part] or ():
                # A lone surrogate cannot be encoded; reading the row tells of it.
                file.write(f"{to_json(row)}\n".encode("utf-8", "surrogatepass"))
            file.write(b"]\n")
    return ManifestFile(name, target, _without_parts(data), parts, rewritten=True)


def _without_parts(data: Record) -> Record:
    return {key: data[key] for key in data if key not in PARTS}


def check_facts(data: Any, name: str) -> None:
    """Raise ManifestError if what a file says of its site is not what this package writes."""
    schema = data.get("schema") if isinstance(data, dict) else None
    if schema != SCHEMA:
        if isinstance(schema, str) and schema.startswith(_FAMILY):
            raise ManifestError(f"{name} has the schema {schema}. This version reads {SCHEMA}")
        raise ManifestError(f"{name} is no manifest of the schema {SCHEMA}")
    try:
        check_header(data)
        for key, shape in _FOLLOWED.items():
            for row in data.get(key, ()):
                _check_types(row, shape)
        _check_types(data, dict.fromkeys(PARTS, (list, type(None))))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ManifestError(f"{name} is damaged: {error!r} in its header") from None


def _check_types(row: Record, shape: Mapping[str, tuple[type, ...]]) -> None:
    for key, kinds in shape.items():
        if not isinstance(row[key], kinds):
            raise TypeError(key)
