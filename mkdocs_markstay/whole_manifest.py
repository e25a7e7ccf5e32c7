"""A manifest as a whole, in memory: for what needs all of its records at once."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mkdocs_markstay.manifest_shapes import PARTS, SCHEMA, ManifestError, check_header, check_row
from mkdocs_markstay.records import (
    PageText,
    Policy,
    Publication,
    Record,
    flatten,
    identity_line,
    to_json,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@dataclass(frozen=True)
class PageRecords:
    """The records of one page that were read, in the order of the document.

    ``lines`` are the passages once more, each self-contained: see `flatten`.
    """

    page: Record
    sections: list[Record]
    passages: list[Record]
    lines: list[Record]

    def to_text(self) -> PageText:
        """Write the records again."""
        return PageText(
            to_json(self.page),
            ",\n".join(map(to_json, self.sections)),
            ",\n".join(map(to_json, self.passages)),
            "".join(to_json(line) + "\n" for line in self.lines),
            "".join(map(identity_line, self.lines)),
        )


@dataclass(frozen=True)
class WholeManifest:
    """A manifest that was read."""

    header: Record
    pages: list[PageRecords]

    @property
    def publication(self) -> Publication:
        """What its records share."""
        return _publication(self.header)

    @property
    def policy(self) -> Policy:
        """The logic by which its passages were made."""
        return Policy.from_record(self.header["policy"])


def read_manifest(path: Path) -> WholeManifest:
    """Read ``passages.json``; raise `ManifestError` if it is not there or not one of ours."""
    try:
        data = json.loads(path.read_bytes().decode("utf-8"))
    except FileNotFoundError:
        raise ManifestError(f"there is no {path.name}") from None
    except (OSError, ValueError, RecursionError) as error:
        raise ManifestError(f"{path.name} cannot be read: {error}") from None
    return _read_data(data, path.name)


def read_jsonl(path: Path) -> list[Record]:
    """Read the lines of ``passages.jsonl``; raise `ManifestError` if they are damaged."""
    try:
        text = path.read_bytes().decode("utf-8")
        return [json.loads(line) for line in text.split("\n") if line]
    except (OSError, ValueError, RecursionError) as error:
        raise ManifestError(f"{path.name} cannot be read: {error}") from None


def _read_data(data: Any, name: str) -> WholeManifest:
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise ManifestError(f"{name} is no manifest of the schema {SCHEMA}")
    try:
        _check_shape(data)
        publication = _publication(data)
        Policy.from_record(data["policy"])
        pages = {
            (row["page_id"], row["lang"]): PageRecords(row, [], [], []) for row in data["pages"]
        }
        owners: dict[tuple[str, str], tuple[PageRecords, Record | None]] = {
            (page_id, lang): (pages[page_id, lang], None) for page_id, lang in pages
        }
        for row in data["sections"]:
            records = pages[row["page_id"], row["lang"]]
            records.sections.append(row)
            owners[row["referent"], row["lang"]] = (records, row)
        for row in data["passages"]:
            records, section = owners[row["referent"], row["lang"]]
            records.passages.append(row)
            records.lines.append(flatten(row, section, records.page, publication))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ManifestError(f"{name} is damaged: {error!r} in its records") from None
    header = {key: data[key] for key in data if key not in PARTS}
    return WholeManifest(header, list(pages.values()))


def _publication(header: Mapping[str, Any]) -> Publication:
    return Publication(
        header["publication"], header["default_lang"], header["version"], header["site_url"]
    )


def _check_shape(data: Mapping[str, Any]) -> None:
    check_header(data)
    for part in PARTS:
        for row in data[part]:
            check_row(part, row)
