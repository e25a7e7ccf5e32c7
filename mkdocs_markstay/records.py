"""The records of one page: what the manifest says of it, its sections and its passages.

A passage is written twice: short, beside its section, and as a self-contained line.
Both are put together as text here, because most of a line is the same for all
passages of a section. `flatten` says the same of a record that was read.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from json.encoder import encode_basestring as quoted
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from mkdocs_markstay.identity import (
    IDENTITY_VERSION,
    STAY_PREFIX,
    ChunkIds,
    StayPiece,
    digest_record,
    digest_values,
    make_referent,
    make_stay_key,
)
from mkdocs_markstay.passages import Sizes, split_passages
from mkdocs_markstay.sections import TEXT_VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mkdocs_markstay.passages import Passage
    from mkdocs_markstay.sections import Section, Stay

Record = dict[str, Any]

FRAGMENT = "!$&'()*+,;=:@/?~"
"""What may stand as it is in a URL behind the #."""

_BOOLEANS = ("false", "true")
_FORMER = ',"former_urls":'
_UNKNOWN = ',"ids":"unknown"'

to_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
"""Write a value as the manifest does: compact, in its own key order, not escaped."""


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
    are generated. ``furniture`` holds selectors for this page alone. ``content`` is the
    selector of the element that holds the prose of a page without marks; ``unknown``:
    nothing tells which of the ids in such a page somebody wrote. ``aliases`` are the old
    referents that lead to each of its sections, by section id, ``former_urls`` the URLs at
    which it was.
    """

    page_id: str
    title: str
    url: str
    language: str
    source: str
    generated: bool = False
    furniture: tuple[str, ...] = ()
    lines: Mapping[str, int] = field(default_factory=dict)
    content: str = ""
    unknown: bool = False
    aliases: Mapping[str, Sequence[str]] = field(default_factory=dict)
    former_urls: Sequence[str] = ()


class PageText(NamedTuple):
    """The records of one page as they are written, each part in the order of the document.

    ``sections`` and ``passages`` are JSON objects with a comma and a line end
    between them, ``lines`` are the passages as lines of ``passages.jsonl``, and
    ``identity`` is what the digest of the whole site is taken over.
    """

    page: str
    sections: str
    passages: str
    lines: str
    identity: str


def write_page(
    page: Page, sections: Sequence[Section], publication: Publication, policy: Policy
) -> PageText:
    """Write the records of one page from its sections, the page itself first."""
    language = "" if page.language == publication.default_language else page.language
    writer = _Writer(page, publication)
    first_of: dict[tuple[str, ...], Section] = {}
    for section in sections:
        first_of.setdefault(section.path, section)
    section_texts: list[str] = []
    texts: list[tuple[str, str, str]] = []
    for section in sections:
        # Under no h1 of its own, a section stands under the page's title.
        top = first_of.get(section.path[:1])
        above = () if section.section_id and top is not None and top.level == 1 else (page.title,)
        referent = make_referent(page.page_id, section.section_id)
        writer.enter(section, (*above, *section.path), referent)
        if section.section_id:
            section_texts.append(writer.write_section())
        passages = split_passages(section.blocks, policy.sizes, policy.granularity)
        if passages:
            chunk_ids = ChunkIds(publication.name, language, referent)
            for position, passage in enumerate(passages):
                texts.append(writer.write_passage(position, passage, chunk_ids))
    return PageText(
        writer.write_page(sections[0].stay if sections else None),
        ",\n".join(section_texts),
        ",\n".join([text[0] for text in texts]),
        "".join([text[1] for text in texts]),
        "".join([text[2] for text in texts]),
    )


def flatten(
    passage: Record, section: Record | None, page: Record, publication: Publication
) -> Record:
    """Make the self-contained record of a passage that was read, a line of ``passages.jsonl``.

    Every key is always there and has one type; no list is ever empty.
    """
    base = _base(publication)
    owner = section or page
    flat: Record = {
        "chunk_id": passage["chunk_id"],
        "referent": passage["referent"],
        "position": passage["position"],
        "text": passage["text"],
        "text_digest": passage["text_digest"],
        "record_digest": "",
        "kinds": passage["kinds"],
        "title": owner["title"],
        "path": section["path"] if section else [page["title"]],
        "level": section["level"] if section else 0,
        "url": base + owner["url"],
        "section_id": section["section_id"] if section else "",
        "generated": owner["generated"],
        "page_id": page["page_id"],
        "page_title": page["title"],
        "page_url": base + page["url"],
        "lang": page["lang"],
        "source": page["source"],
        "line": section["line"] if section else 1,
        "publication": publication.name,
        "version": publication.version or "",
        "blocks": [
            {
                "stay": block["stay"] or "",
                "digest": block["digest"],
                "body_hash": block.get("body_hash", ""),
                "referent": block.get("referent", ""),
            }
            for block in passage["blocks"]
        ],
        "stay_key": passage.get("stay_key", ""),
    }
    flat["record_digest"] = digest_record(flat)
    return flat


def _base(publication: Publication) -> str:
    return publication.site_url.rstrip("/") + "/" if publication.site_url else ""


def _write_stay(stay: Stay | None) -> str:
    """Write the marker of a heading."""
    return f',"stay":{quoted(stay.id)},"body_hash":"{stay.body_hash}"' if stay else ""


class _Writer:
    """Writes the records of one page as JSON text.

    Every value is turned into text once, for all records that it occurs in. What
    is written is held to `flatten` and to the schema by `verify` and the tests.
    """

    def __init__(self, page: Page, publication: Publication) -> None:
        self.page = page
        self.page_id, self.page_title = quoted(page.page_id), quoted(page.title)
        self.language, self.source = quoted(page.language), quoted(page.source)
        self.base = _base(publication)
        self.page_url = quoted(self.base + page.url)
        self.publication, self.version = quoted(publication.name), quoted(publication.version or "")
        # By the id of a marker: how many records of its block there are so far.
        self.pieces: Counter[str] = Counter()

    def write_page(self, stay: Stay | None) -> str:
        content = f',"content":{quoted(self.page.content)}' if self.page.content else ""
        former = list(self.page.former_urls)
        return (
            f'{{"page_id":{self.page_id},"title":{self.page_title},"url":{quoted(self.page.url)},'
            f'"lang":{self.language},"source":{self.source},'
            f'"generated":{_BOOLEANS[self.page.generated]},'
            f'"furniture":{to_json(list(self.page.furniture))}{content}'
            f"{_UNKNOWN if self.page.unknown else ''}"
            f"{_FORMER + to_json(former) if former else ''}{_write_stay(stay)}}}"
        )

    def enter(self, section: Section, path: tuple[str, ...], referent: str) -> None:
        """Go on with the records of ``section``."""
        page, section_id = self.page, section.section_id
        self.referent, self.section_id = quoted(referent), quoted(section_id)
        self.title = quoted(section.title) if section_id else self.page_title
        self.path = f"[{','.join([quoted(title) for title in path])}]"
        self.level = section.level
        url = f"{page.url}#{quote(section_id, safe=FRAGMENT)}" if section_id else page.url
        self.relative_url, self.url = quoted(url), quoted(self.base + url)
        written = not section_id or section_id in page.lines
        self.generated = _BOOLEANS[page.generated or not written]
        self.line = page.lines.get(section_id, 1)
        self.aliases = to_json(list(page.aliases.get(section_id, ())))
        self.stay = _write_stay(section.stay)
        # Around `kinds` and `position`: the values of `digest_record`, sorted by their keys.
        self.before = f'{{"generated":{self.generated},"kinds":'
        self.between = (
            f',"lang":{self.language},"level":{self.level},"page_id":{self.page_id},'
            f'"page_title":{self.page_title},"page_url":{self.page_url},"path":{self.path},'
            f'"position":'
        )
        self.after = (
            f',"publication":{self.publication},"referent":{self.referent},'
            f'"section_id":{self.section_id},"source":{self.source},"title":{self.title},'
            f'"url":{self.url},"version":{self.version}}}'
        )
        self.shared = (
            f'"title":{self.title},"path":{self.path},"level":{self.level},"url":{self.url},'
            f'"section_id":{self.section_id},"generated":{self.generated},'
            f'"page_id":{self.page_id},"page_title":{self.page_title},'
            f'"page_url":{self.page_url},"lang":{self.language},"source":{self.source},'
            f'"line":{self.line},"publication":{self.publication},"version":{self.version}'
        )

    def write_section(self) -> str:
        return (
            f'{{"referent":{self.referent},"page_id":{self.page_id},'
            f'"section_id":{self.section_id},"lang":{self.language},"title":{self.title},'
            f'"path":{self.path},"level":{self.level},"url":{self.relative_url},'
            f'"source":{self.source},"line":{self.line},"aliases":{self.aliases},'
            f'"generated":{self.generated}{self.stay}}}'
        )

    def write_passage(
        self, position: int, passage: Passage, chunk_ids: ChunkIds
    ) -> tuple[str, str, str]:
        """Write one passage: its record, its line, and its part of the site's identity."""
        text = passage.text
        digests = [sha256(block.text.encode()).hexdigest() for block in passage.blocks]
        digest = digests[0] if len(digests) == 1 else sha256(text.encode()).hexdigest()
        chunk_id = chunk_ids.make(position, digest)
        kinds = _kinds(passage.kinds)
        values = f"{self.before}{kinds}{self.between}{position}{self.after}"
        record_digest = f"sha256:{sha256(values.encode()).hexdigest()}"
        escaped = quoted(text)
        start = f'{{"chunk_id":"{chunk_id}","referent":{self.referent}'
        digested = f'"text_digest":"sha256:{digest}","record_digest":"{record_digest}"'
        blocks, line_blocks, stay_key = self.write_blocks(passage, digests)
        key = f',"stay_key":"{stay_key}"' if stay_key else ""
        record = (
            f'{start},"lang":{self.language},"position":{position},"kinds":{kinds},'
            f'"text":{escaped},{digested},"blocks":[{blocks}]{key}}}'
        )
        line = (
            f'{start},"position":{position},"text":{escaped},{digested},"kinds":{kinds},'
            f'{self.shared},"blocks":[{line_blocks}],"stay_key":"{stay_key}"}}\n'
        )
        return record, line, f"{chunk_id} {record_digest}\n"

    def write_blocks(self, passage: Passage, digests: Sequence[str]) -> tuple[str, str, str]:
        """Write the blocks of a passage, short and for its line, and give its `stay_key`."""
        written, lines = [], []
        members: list[StayPiece] | None = []
        for block, digest in zip(passage.blocks, digests, strict=True):
            end = f'"digest":"sha256:{digest}"'
            for stay in block.stays or (None,):
                if stay is None:
                    written.append(f'{{"stay":null,{end}}}')
                    lines.append(f'{{"stay":"",{end},"body_hash":"","referent":""}}')
                    members = None
                    continue
                referent = ""
                if stay.anchored:
                    referent = make_referent(self.page.page_id, STAY_PREFIX + stay.id)
                rest = f'{{"stay":{quoted(stay.id)},{end},"body_hash":"{stay.body_hash}"'
                written.append(
                    f'{rest},"referent":{quoted(referent)}}}' if referent else f"{rest}}}"
                )
                lines.append(f'{rest},"referent":{quoted(referent)}}}')
                piece = self.pieces[stay.id]
                self.pieces[stay.id] += 1
                if members is not None:
                    members.append(StayPiece(stay.id, stay.body_hash, piece))
        key = make_stay_key(members) if members else ""
        return ",".join(written), ",".join(lines), key


@lru_cache(maxsize=1024)
def _kinds(kinds: tuple[str, ...]) -> str:
    return to_json(list(kinds))


def identity_line(line: Record) -> str:
    """Give a passage's part of what the digest of the whole site is taken over."""
    return f"{line['chunk_id']} {line['record_digest']}\n"
