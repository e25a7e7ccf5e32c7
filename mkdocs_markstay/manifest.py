"""The passage manifest: its records, and how they are written and read.

Records are made page by page and written to a temporary file at once, so a site of
any size needs little memory. The fields are described in ``docs/manifest.md``.
"""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import quote, unquote, urljoin

from mkdocs_markstay import __version__
from mkdocs_markstay.identity import (
    IDENTITY_VERSION,
    digest_record,
    digest_text,
    digest_values,
    make_chunk_id,
    make_referent,
)
from mkdocs_markstay.passages import Sizes, split_passages
from mkdocs_markstay.sections import TEXT_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from mkdocs_markstay.sections import Section

JSON_NAME = "passages.json"
JSONL_NAME = "passages.jsonl"
NAMES = {"json": JSON_NAME, "jsonl": JSONL_NAME}
SCHEMA = "https://mkdocs-markstay/schema/passages-1.json"

Record = dict[str, Any]


class ManifestError(Exception):
    """A manifest that cannot be read. The message is for people."""


@dataclass(frozen=True)
class Policy:
    """The logic by which passages are made: when it moves, every text may have moved."""

    furniture: tuple[str, ...]
    sizes: Sizes = Sizes()
    granularity: str = "group"

    def to_record(self) -> Record:
        """Give the policy as the manifest states it."""
        values: Record = {
            "identity": IDENTITY_VERSION,
            "text": TEXT_VERSION,
            "granularity": self.granularity,
            "min_chars": self.sizes.min_chars,
            "target_chars": self.sizes.target_chars,
            "max_chars": self.sizes.max_chars,
            "furniture": list(self.furniture),
        }
        return {**values, "digest": digest_values(values)}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Policy:
        """Read the policy of a manifest."""
        sizes = Sizes(record["min_chars"], record["target_chars"], record["max_chars"])
        return cls(tuple(record["furniture"]), sizes, record["granularity"])


@dataclass(frozen=True)
class Publication:
    """What all records of a site share.

    ``default_language`` is the language whose passages have chunk ids without a language.
    """

    name: str
    default_language: str
    version: str | None = None
    site_url: str | None = None


@dataclass(frozen=True)
class Page:
    """A published page. ``url`` is relative to the site, ``source`` to the docs folder.

    ``lines`` gives the line of each section id that somebody wrote; other sections
    are generated. ``furniture`` holds selectors for this page alone.
    """

    page_id: str
    title: str
    url: str
    language: str
    source: str
    generated: bool = False
    furniture: tuple[str, ...] = ()
    lines: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class PageRecords:
    """The records of one page, in the order of the document.

    ``lines`` are the passages once more, each self-contained: see `flatten`.
    """

    page: Record
    sections: list[Record]
    passages: list[Record]
    lines: list[Record]


def make_records(
    page: Page, sections: Sequence[Section], publication: Publication, policy: Policy
) -> PageRecords:
    """Make the records of one page from its sections, the page itself first."""
    language = "" if page.language == publication.default_language else page.language
    page_record: Record = {
        "page_id": page.page_id,
        "title": page.title,
        "url": page.url,
        "lang": page.language,
        "source": page.source,
        "generated": page.generated,
        "furniture": list(page.furniture),
    }
    records = PageRecords(page_record, [], [], [])
    for section in sections:
        referent = make_referent(page.page_id, section.section_id)
        if section.section_id:
            records.sections.append(_section_record(page, section, sections, referent))
        passages = split_passages(section.blocks, policy.sizes, policy.granularity)
        for position, passage in enumerate(passages):
            text = passage.text
            text_digest = digest_text(text)
            record: Record = {
                "chunk_id": make_chunk_id(
                    publication.name, language, referent, position, text_digest
                ),
                "referent": referent,
                "lang": page.language,
                "position": position,
                "kinds": passage.kinds,
                "text": text,
                "text_digest": text_digest,
                "record_digest": "",
                "blocks": [
                    {"stay": None, "digest": digest_text(block.text)} for block in passage.blocks
                ],
            }
            above = records.sections[-1] if section.section_id else None
            flat = flatten(record, above, page_record, publication)
            record["record_digest"] = flat["record_digest"]
            records.passages.append(record)
            records.lines.append(flat)
    return records


def _section_record(
    page: Page, section: Section, sections: Sequence[Section], referent: str
) -> Record:
    path = list(section.path)
    # Under no h1 of its own, a section stands under the page's title.
    top = next((s for s in sections if s.path == section.path[:1]), None)
    if top is None or top.level != 1:
        path.insert(0, page.title)
    return {
        "referent": referent,
        "page_id": page.page_id,
        "section_id": section.section_id,
        "lang": page.language,
        "title": section.title,
        "path": path,
        "level": section.level,
        "url": page.url + "#" + quote(section.section_id, safe=_FRAGMENT),
        "source": page.source,
        "line": page.lines.get(section.section_id, 1),
        "aliases": [],
        "generated": page.generated or section.section_id not in page.lines,
    }


def flatten(
    passage: Record, section: Record | None, page: Record, publication: Publication
) -> Record:
    """Make the self-contained record of a passage, a line of ``passages.jsonl``.

    Every key is always there and has one type; no list is ever empty.
    """
    url = (section or page)["url"]
    page_url = page["url"]
    if publication.site_url:
        base = publication.site_url.rstrip("/") + "/"
        url, page_url = urljoin(base, url), urljoin(base, page_url)
    flat: Record = {
        "chunk_id": passage["chunk_id"],
        "referent": passage["referent"],
        "position": passage["position"],
        "text": passage["text"],
        "text_digest": passage["text_digest"],
        "record_digest": "",
        "kinds": passage["kinds"],
        "title": section["title"] if section else page["title"],
        "path": section["path"] if section else [page["title"]],
        "level": section["level"] if section else 0,
        "url": url,
        "section_id": section["section_id"] if section else "",
        "generated": section["generated"] if section else page["generated"],
        "page_id": page["page_id"],
        "page_title": page["title"],
        "page_url": page_url,
        "lang": page["lang"],
        "source": page["source"],
        "line": section["line"] if section else 1,
        "publication": publication.name,
        "version": publication.version or "",
        "blocks": [
            {"stay": block["stay"] or "", "digest": block["digest"]} for block in passage["blocks"]
        ],
    }
    flat["record_digest"] = digest_record(flat)
    return flat


# -- writing


def to_json(record: Any) -> str:
    """Write a value as the manifest does: compact, in its own key order, not escaped."""
    return json.dumps(record, ensure_ascii=False, separators=(",", ":"))


# What may stand as it is in a URL behind the #.
_FRAGMENT = "!$&'()*+,;=:@/?~"
_PARTS = ("pages", "sections", "passages", "lines", "identity")


class ManifestWriter:
    """Collects the records of pages and writes the manifest.

    Only an index is kept in memory. Pages are told apart by URL; a page that is
    added again replaces its older records.
    """

    def __init__(self, publication: Publication) -> None:
        self.publication = publication
        self._spool: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (closed by `close`)
        # url -> (sort key, where each part of the records begins, and the end)
        self._index: dict[str, tuple[tuple[str, str], tuple[int, ...]]] = {}

    def close(self) -> None:
        """Give the temporary file back."""
        self._spool.close()

    def add(self, records: PageRecords) -> None:
        """Keep the records of a page."""
        page, flat = records.page, records.lines
        parts = (
            to_json(page),
            ",\n".join(map(to_json, records.sections)),
            ",\n".join(map(to_json, records.passages)),
            "".join(to_json(record) + "\n" for record in flat),
            "".join(map(_identity_line, flat)),
        )
        self._spool.seek(0, os.SEEK_END)
        places = [self._spool.tell()]
        for part in parts:
            places.append(places[-1] + self._spool.write(part.encode("utf-8", "replace")))
        self._index[page["url"]] = ((page["page_id"], page["lang"]), tuple(places))

    def load_previous(self, folder: Path, policy: Policy) -> str:
        """Keep the records of the build before, or say why that is not possible.

        An empty folder is no problem: then every page will be built.
        """
        if not any(folder.rglob("*.html")):
            return ""
        try:
            manifest = read_manifest(folder / JSON_NAME)
        except ManifestError as error:
            return str(error)
        if manifest.policy != policy or manifest.publication != self.publication:
            return f"{JSON_NAME} was made with other options"
        if not manifest.header["complete"]:
            return f"{JSON_NAME} was not complete either"
        for records in manifest.pages:
            self.add(records)
        return ""

    def write(
        self, folder: Path, formats: Sequence[str], policy: Policy, *, complete: bool, preview: bool
    ) -> None:
        """Write the manifest into ``folder``, each file at once: whole, or not at all.

        Pages whose file is gone from the folder are left out.
        """
        for url in [url for url in self._index if not page_file(folder, url).is_file()]:
            del self._index[url]
        if "json" in formats:
            header = self._header(policy, complete=complete, preview=preview)
            _write_file(folder / JSON_NAME, self._json(header))
        if "jsonl" in formats:
            _write_file(folder / JSONL_NAME, self._read("lines"))

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
        yield ("{\n" + ",\n".join(lines)).encode()
        for part in _PARTS[:3]:
            yield f',\n"{part}":['.encode()
            separator = b"\n"
            for records in self._read(part):
                if records:
                    yield separator
                    yield records
                    separator = b",\n"
            yield b"\n]" if separator != b"\n" else b"]"
        yield b"\n}\n"

    def _read(self, part: str) -> Iterator[bytes]:
        """Give one part of the records of every page, in the order of page ids and languages."""
        number = _PARTS.index(part)
        for _, places in sorted(self._index.values()):
            self._spool.seek(places[number])
            yield self._spool.read(places[number + 1] - places[number])


def page_file(folder: Path, url: str) -> Path:
    """Name the file of a page, given its URL relative to the site."""
    path = unquote(url)
    return folder / (f"{path}index.html" if not path or path.endswith("/") else path)


def digest_passages(lines: Iterable[Record]) -> str:
    """Digest all passages of a site: equal means that nothing changed."""
    return _digest_parts(_identity_line(line).encode() for line in lines)


def _identity_line(line: Record) -> str:
    return f"{line['chunk_id']} {line['record_digest']}\n"


def _digest_parts(parts: Iterable[bytes]) -> str:
    total = sha256()
    for part in parts:
        total.update(part)
    return "sha256:" + total.hexdigest()


def _write_file(path: Path, parts: Iterator[bytes]) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            for part in parts:
                file.write(part)
        os.chmod(name, 0o644)  # noqa: PTH101 (mkstemp makes it private; a site is public)
        os.replace(name, path)  # noqa: PTH105
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


# -- reading


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
    except (OSError, ValueError) as error:
        raise ManifestError(f"{path.name} cannot be read: {error}") from None
    return _read_data(data, path.name)


def read_jsonl(path: Path) -> list[Record]:
    """Read the lines of ``passages.jsonl``; raise `ManifestError` if they are damaged."""
    try:
        text = path.read_bytes().decode("utf-8")
        return [json.loads(line) for line in text.split("\n") if line]
    except (OSError, ValueError) as error:
        raise ManifestError(f"{path.name} cannot be read: {error}") from None


def _read_data(data: Any, name: str) -> Manifest:
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise ManifestError(f"{name} is no manifest of the schema {SCHEMA}")
    try:
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
    except (KeyError, TypeError, AttributeError) as error:
        raise ManifestError(f"{name} is damaged: {error!r} in its records") from None
    header = {key: data[key] for key in data if key not in _PARTS}
    return Manifest(header, list(pages.values()))


def _publication(header: Mapping[str, Any]) -> Publication:
    return Publication(
        header["publication"], header["default_lang"], header["version"], header["site_url"]
    )
