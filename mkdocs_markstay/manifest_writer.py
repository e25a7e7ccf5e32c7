"""How the passage manifest is written.

The records of a page go to a temporary file at once, so a site of any size needs
little memory. The fields are described in ``docs/manifest.md``.
"""

from __future__ import annotations

import json
import os
import tempfile
from contextlib import suppress
from hashlib import sha256
from typing import IO, TYPE_CHECKING
from urllib.parse import unquote

from mkdocs_markstay import __version__
from mkdocs_markstay.manifest_shapes import (
    JSON_NAME,
    JSONL_NAME,
    NAMES,
    PARQUET_NAME,
    SCHEMA,
    ManifestError,
)
from mkdocs_markstay.records import (
    PageText,
    Policy,
    Publication,
    Record,
    identity_line,
    to_json,
)
from mkdocs_markstay.whole_file import write_file
from mkdocs_markstay.whole_manifest import read_manifest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

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
        header = self._header(policy, complete=complete, preview=preview)
        if "json" in formats:
            write_file(folder / JSON_NAME, self._json(header))
        if "jsonl" in formats:
            write_file(folder / JSONL_NAME, self._read("lines"))
        if "parquet" in formats:
            from mkdocs_markstay.manifest_parquet import write_parquet  # noqa: PLC0415 (a choice)

            rows = (
                json.loads(line) for lines in self._read("lines") for line in lines.splitlines()
            )
            header |= {key: list(values) for key, values in self._followed()}
            write_parquet(folder / PARQUET_NAME, header, rows)

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
        for key, rows in self._followed():
            text = ",\n".join(map(to_json, rows))
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

    def _followed(self) -> Iterator[tuple[str, Iterator[Record]]]:
        """Give what became of old referents."""
        for key, rows in (("redirects", self.redirects), ("retired", self.retired)):
            yield key, (row for row in rows if not self._hides(row))

    def _hides(self, row: Record) -> bool:
        referents = (row[key] for key in ("from", "to", "referent") if key in row)
        return any(referent.partition("#")[0] in self._hidden for referent in referents)

    def _read(self, part: str) -> Iterator[bytes]:
        """Give one part of the records of every page, in the order of page ids and languages."""
        number = PageText._fields.index(part)
        for _, places in sorted(self._index.values()):
            self._spool.seek(places[number])
            yield self._spool.read(places[number + 1] - places[number])


def check_formats(formats: Iterable[str]) -> str:
    """Say what is missing to write these formats, if anything is."""
    if "parquet" in formats:
        try:
            import mkdocs_markstay.manifest_parquet  # noqa: F401, PLC0415 (a choice)
        except ManifestError as error:
            return str(error)
    return ""


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
