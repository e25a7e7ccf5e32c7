"""The parts of a manifest that was exported, as ``dataset.json`` describes them.

See ``docs/scale.md``.
"""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from mkdocs_markstay.manifest_parquet import is_dataset
from mkdocs_markstay.manifest_shapes import ManifestError
from mkdocs_markstay.partitions import DATASET_NAME, DATASET_SCHEMA

_READ_AT_ONCE = 1 << 20


class Part(NamedTuple):
    """A part as ``dataset.json`` describes it; ``sha256`` is in hexadecimal, ``size`` in bytes."""

    file: str
    records: int
    sha256: str
    size: int


def list_parts(folder: Path) -> list[Path]:
    """Give the files of a data set. Raises ManifestError if one is missing or another one."""
    parts = read_parts(folder)
    for part in parts:
        path = folder / part.file
        try:
            size = path.stat().st_size
            digest = digest_file(path) if size == part.size else ""
        except OSError as error:
            raise ManifestError(f"{path} cannot be read: {error.strerror}") from None
        if size != part.size:
            raise ManifestError(
                f"{path} has {size} bytes, not {part.size}: it is cut off, or of another data set"
            )
        if digest != part.sha256:
            raise ManifestError(f"{path} is damaged, or of another data set")
    names = {part.file for part in parts}
    for path in sorted(folder.glob("*.parquet")):
        if path.name not in names:
            raise ManifestError(f"{path} is no part of the data set, but an engine would read it")
    return [folder / part.file for part in parts]


def read_parts(folder: Path) -> list[Part]:
    """Read what is said of the parts. Raises ManifestError."""
    path = folder / DATASET_NAME
    try:
        facts = json.loads(path.read_bytes())
        if not isinstance(facts, dict) or not is_dataset(facts, str(path)):
            raise ManifestError(f"{path} describes no data set of the schema {DATASET_SCHEMA}")
        parts = [Part(**part) for part in facts["parts"]]
        for part, types in ((part, (str, int, str, int)) for part in parts):
            if tuple(map(type, part)) != types or Path(part.file).name != part.file:
                raise ValueError(part.file)  # noqa: TRY301
    except OSError as error:
        raise ManifestError(f"{path} cannot be read: {error.strerror}") from None
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise ManifestError(f"{path} is damaged: {error!r}") from None
    if not parts:
        raise ManifestError(f"{path} is damaged: there are no parts")
    return parts


def digest_file(path: Path) -> str:
    """Give the SHA-256 of a file, in hexadecimal."""
    total = sha256()
    with path.open("rb") as file:
        while some := file.read(_READ_AT_ONCE):
            total.update(some)
    return total.hexdigest()
