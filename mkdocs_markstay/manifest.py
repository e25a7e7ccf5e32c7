"""The passage manifest: how it is written and read.

The records of a page go to a temporary file at once, so a site of any size needs
little memory. The fields are described in ``docs/manifest.md``.
"""

from __future__ import annotations

import json
import os
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from operator import itemgetter
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import unquote

from mkdocs_markstay import __version__
from mkdocs_markstay.records import (
    PageText,
    Policy,
    Publication,
    Record,
    flatten,
    identity_line,
    to_json,
)
from mkdocs_markstay.whole_file import write_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

JSON_NAME = "passages.json"
JSONL_NAME = "passages.jsonl"
NAMES = {"json": JSON_NAME, "jsonl": JSONL_NAME}
SCHEMA = "https://mkdocs-markstay/schema/passages-1.json"


class ManifestError(Exception):
    """A manifest that cannot be read. The message is for people."""


# -- writing


_PART_OF = {"pages": "page", "sections": "sections", "passages": "passages"}


class ManifestWriter:
    """Collects the records of pages and writes the manifest.

    ``redirects`` and ``retired`` say what became of old referents.

    Only an index is kept in memory. Pages are told apart by URL; a page that is
    added again replaces its older records.
    """

    def __init__(self, publication: Publication) -> None:
        self.publication = publication
        self._spool: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (closed by `close`)
        # url -> (sort key, where each part of the records begins, and the end)
        self._index: dict[str, tuple[tuple[str, str], tuple[int, ...]]] = {}
        self._urls: dict[tuple[str, str], str] = {}
        self.redirects: list[Record] = []
        self.retired: list[Record] = []
        self._hidden: set[str] = set()

    def close(self) -> None:
        """Give the temporary file back."""
        self._spool.close()

    def add(self, url: str, page_id: str, language: str, text: PageText) -> None:
        """Keep the records of a page."""
        parts = [part.encode("utf-8", "replace") for part in text]
        self._spool.seek(0, os.SEEK_END)
        places = [self._spool.tell()]
        for part in parts:
            places.append(places[-1] + len(part))
        self._spool.write(b"".join(parts))
        # A page that has moved since the build before is one page, not two.
        older = self._urls.setdefault((page_id, language), url)
        if older != url:
            self._index.pop(older, None)
            self._urls[page_id, language] = url
        self._index[url] = ((page_id, language), tuple(places))

    def discard(self, url: str) -> None:
        """Forget a page, if it is there."""
        self._index.pop(url, None)

    def hide(self, page_id: str) -> None:
        """Say nothing of a page, nor of its old addresses: readers cannot read it."""
        self._hidden.add(page_id)

    def load_previous(self, folder: Path, policy: Policy) -> tuple[str, list[Record]]:
        """Keep the records of the build before, or say why that is not possible.

        Returns what is wrong, and the pages that are kept. An empty folder is no
        problem: then every page will be built.
        """
        if not any(folder.rglob("*.html")):
            return "", []
        try:
            manifest = read_manifest(folder / JSON_NAME)
        except ManifestError as error:
            return str(error), []
        if manifest.policy != policy or manifest.publication != self.publication:
            return f"{JSON_NAME} was made with other options", []
        if not manifest.header["complete"]:
            return f"{JSON_NAME} was not complete either", []
        for records in manifest.pages:
            page = records.page
            self.add(page["url"], page["page_id"], page["lang"], records.to_text())
        return "", [records.page for records in manifest.pages]

    def summary(self) -> str:
        """Say how many records of each kind there are."""
        counts = []
        for part, name in (("page", "page"), ("sections", "section"), ("passages", "passage")):
            total = sum(text.count(b"\n") + 1 for text in self._read(part) if text)
            counts.append(f"{total} {name}{'' if total == 1 else 's'}")
        return ", ".join(counts)

    def write(
        self,
        folder: Path,
        formats: Sequence[str],
        policy: Policy,
        *,
        complete: bool,
        preview: bool,
        site: Path | None = None,
    ) -> None:
        """Write the manifest into ``folder``, each file at once: whole, or not at all.

        Pages whose file is gone from the folder ``site``, by default the same, are left out.
        """
        site = site or folder
        for url in [url for url in self._index if not page_file(site, url).is_file()]:
            del self._index[url]
        for kind, name in NAMES.items():
            if kind not in formats:
                (folder / name).unlink(missing_ok=True)
        if "json" in formats:
            header = self._header(policy, complete=complete, preview=preview)
            write_file(folder / JSON_NAME, self._json(header))
        if "jsonl" in formats:
            write_file(folder / JSONL_NAME, self._read("lines"))

    def _header(self, policy: Policy, *, complete: bool, preview: bool) -> Record:
        return {
            "schema": SCHEMA,
            "generator": {"name": "mkdocs-markstay", "version": __version__},
            "publication": self.publication.name,
            "default_lang": self.publication.default_language,
            "version": self.publication.version,
            "site_url": self.publication.site_url,
            "complete": complete,
            "preview": preview,
            "policy": policy.to_record(),
            "digest": _digest_parts(self._read("identity")),
        }

    def _json(self, header: Record) -> Iterator[bytes]:
        lines = [f'"{key}":{to_json(value)}' for key, value in header.items()]
        yield ("{\n" + ",\n".join(lines)).encode("utf-8", "replace")
        for key, rows in (("redirects", self.redirects), ("retired", self.retired)):
            text = ",\n".join(to_json(row) for row in rows if not self._hides(row))
            text = f"\n{text}\n" if text else ""
            yield f',\n"{key}":[{text}]'.encode("utf-8", "replace")
        for part in ("pages", "sections", "passages"):
            yield f',\n"{part}":['.encode()
            separator = b"\n"
            for records in self._read(_PART_OF[part]):
                if records:
                    yield separator
                    yield records
                    separator = b",\n"
            yield b"\n]" if separator != b"\n" else b"]"
        yield b"\n}\n"

    def _hides(self, row: Record) -> bool:
        referents = (row[key] for key in ("from", "to", "referent") if key in row)
        return any(referent.partition("#")[0] in self._hidden for referent in referents)

    def _read(self, part: str) -> Iterator[bytes]:
        """Give one part of the records of every page, in the order of page ids and languages."""
        number = PageText._fields.index(part)
        for _, places in sorted(self._index.values()):
            self._spool.seek(places[number])
            yield self._spool.read(places[number + 1] - places[number])


def remove_manifest(folder: Path) -> None:
    """Remove the manifest's files from a folder."""
    for name in NAMES.values():
        with suppress(OSError):
            (folder / name).unlink()


def page_file(folder: Path, url: str) -> Path:
    """Name the file of a page, given its URL relative to the site."""
    path = unquote(url)
    return folder / (f"{path}index.html" if not path or path.endswith("/") else path)


def digest_passages(lines: Iterable[Record]) -> str:
    """Digest all passages of a site: equal means that nothing changed."""
    return _digest_parts(identity_line(line).encode() for line in lines)


def _digest_parts(parts: Iterable[bytes]) -> str:
    total = sha256()
    for part in parts:
        total.update(part)
    return "sha256:" + total.hexdigest()


# -- reading


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
class Manifest:
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


def read_manifest(path: Path) -> Manifest:
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


def _read_data(data: Any, name: str) -> Manifest:
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
    header = {key: data[key] for key in data if key not in _PART_OF}
    return Manifest(header, list(pages.values()))


_SHAPES: dict[str, dict[str, type | tuple[type, ...]]] = {
    "header": {
        "publication": str,
        "default_lang": str,
        "version": (str, type(None)),
        "site_url": (str, type(None)),
        "complete": bool,
        "preview": bool,
        "digest": str,
    },
    "policy": {
        "granularity": str,
        "min_chars": int,
        "target_chars": int,
        "max_chars": int,
        "furniture": list,
        "digest": str,
    },
    "pages": {
        **dict.fromkeys(("page_id", "title", "url", "lang", "source"), str),
        "generated": bool,
        "furniture": list,
    },
    "sections": {
        **dict.fromkeys(("referent", "page_id", "section_id", "lang", "title", "url"), str),
        "path": list,
        "level": int,
        "source": str,
        "line": int,
        "generated": bool,
    },
    "passages": {
        **dict.fromkeys(("chunk_id", "referent", "lang", "text", "text_digest"), str),
        "record_digest": str,
        "position": int,
        "kinds": list,
        "blocks": list,
    },
    "redirects": dict.fromkeys(("from", "to", "url"), str),
    "retired": dict.fromkeys(("referent", "reason", "url"), str),
}
_SHAPES["lines"] = {
    **_SHAPES["passages"],
    **dict.fromkeys(("title", "url", "section_id", "page_id", "page_title", "page_url"), str),
    **dict.fromkeys(("source", "publication", "version"), str),
    "path": list,
    "level": int,
    "line": int,
    "generated": bool,
}


# What a record may have.
_OPTIONAL: dict[str, dict[str, type | tuple[type, ...]]] = {
    "pages": {"content": str, "ids": str, "former_urls": list, "stay": str, "body_hash": str},
    "sections": {"stay": str, "body_hash": str},
    "passages": {"stay_key": str},
    "lines": {"stay_key": str},
}
# Lists that manifests have not always had.
_LATER = ("redirects", "retired")


def _check_shape(data: Mapping[str, Any]) -> None:
    check_header(data)
    for part in _PART_OF:
        for row in data[part]:
            check_row(part, row)


def check_header(data: Mapping[str, Any]) -> None:
    """Raise KeyError, TypeError or ValueError if a fact of the site is missing or wrong."""
    check_row("header", data)
    check_row("policy", data["policy"])
    for part in _LATER:
        for row in data.get(part, ()):
            check_row(part, row)


_KINDS = {part: tuple(shape.values()) for part, shape in _SHAPES.items()}
_LISTS = {
    part: [key for key, kind in shape.items() if kind is list and key != "blocks"]
    for part, shape in _SHAPES.items()
}
_VALUES = {part: itemgetter(*shape) for part, shape in _SHAPES.items()}


def check_row(part: str, row: Any, *, escaped: bool = True) -> None:
    """Raise an error that names the first value of a wrong type; lists hold texts.

    ``part`` is `pages`, `sections`, `passages` or, for a line of ``passages.jsonl``, `lines`.
    ``escaped``: there may be characters in it that are not allowed.
    """
    # Nearly all rows are right, and that is told six times as fast.
    if not escaped and _is_plain(part, row):
        return
    optional = {key: kind for key, kind in _OPTIONAL.get(part, {}).items() if key in row}
    for key, kind in (_SHAPES[part] | optional).items():
        value = row[key]
        items = value if isinstance(value, list) and key != "blocks" else ()
        texts = [value] if isinstance(value, str) else items
        if not isinstance(value, kind) or not all(isinstance(item, str) for item in items):
            raise TypeError(f"{key} of {part}")
        for text in texts if part not in _LATER else ():  # whose texts are in no HTML
            text.encode()  # no lone surrogates
            if "\0" in text:
                raise ValueError(f"{key} of {part}")


def _is_plain(part: str, row: Any) -> bool:
    """Tell that each value of a row has the one type that it must have, if that is so."""
    try:
        values = _VALUES[part](row)
    except (KeyError, TypeError):
        return False
    if tuple(map(type, values)) != _KINDS[part]:
        return False
    more = len(row) - len(values)
    if more and not (more == 1 and type(row.get("stay_key")) is str):
        return False
    lists = [row[key] for key in _LISTS[part]]
    return all(type(item) is str for value in lists for item in value)


def _publication(header: Mapping[str, Any]) -> Publication:
    return Publication(
        header["publication"], header["default_lang"], header["version"], header["site_url"]
    )
