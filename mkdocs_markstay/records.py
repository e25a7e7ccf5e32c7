"""The records of one page: what the manifest says of it, its sections and its passages.

A passage is written twice: short, beside its section, and as a self-contained line.
Both are put together as text here, because most of a line is the same for all
passages of a section. `flatten` says the same of a record that was read.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from hashlib import sha256
from json.encoder import encode_basestring
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from mkdocs_markstay.identity import (
    IDENTITY_VERSION,
    ChunkIds,
    digest_record,
    digest_values,
    make_referent,
)
from mkdocs_markstay.passages import Sizes, split_passages
from mkdocs_markstay.sections import TEXT_VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mkdocs_markstay.passages import Passage
    from mkdocs_markstay.sections import Section

Record = dict[str, Any]

# What may stand as it is in a URL behind the #.
_FRAGMENT = "!$&'()*+,;=:@/?~"

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
    page_record = {
        "page_id": page.page_id,
        "title": page.title,
        "url": page.url,
        "lang": page.language,
        "source": page.source,
        "generated": page.generated,
        "furniture": list(page.furniture),
    }
    first_of: dict[tuple[str, ...], Section] = {}
    for section in sections:
        first_of.setdefault(section.path, section)
    section_texts: list[str] = []
    texts: list[tuple[str, str, str]] = []
    for section in sections:
        record = None
        referent = make_referent(page.page_id, section.section_id)
        if section.section_id:
            # Under no h1 of its own, a section stands under the page's title.
            top = first_of.get(section.path[:1])
            above = () if top is not None and top.level == 1 else (page.title,)
            record = _section_record(page, section, [*above, *section.path], referent)
            section_texts.append(to_json(record))
        passages = split_passages(section.blocks, policy.sizes, policy.granularity)
        if passages:
            chunk_ids = ChunkIds(publication.name, language, referent)
            shared = _shared(record, page_record, publication)
            writer = _PassageWriter(referent, page.language, shared, chunk_ids)
            texts += [writer.write(number, passage) for number, passage in enumerate(passages)]
    return PageText(
        to_json(page_record),
        ",\n".join(section_texts),
        ",\n".join([text[0] for text in texts]),
        "".join([text[1] for text in texts]),
        "".join([text[2] for text in texts]),
    )


def _section_record(page: Page, section: Section, path: list[str], referent: str) -> Record:
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


def _shared(section: Record | None, page: Record, publication: Publication) -> Record:
    """Say what the lines of all passages of a section say."""
    base = publication.site_url.rstrip("/") + "/" if publication.site_url else ""
    return {
        "title": section["title"] if section else page["title"],
        "path": section["path"] if section else [page["title"]],
        "level": section["level"] if section else 0,
        "url": base + (section or page)["url"],
        "section_id": section["section_id"] if section else "",
        "generated": section["generated"] if section else page["generated"],
        "page_id": page["page_id"],
        "page_title": page["title"],
        "page_url": base + page["url"],
        "lang": page["lang"],
        "source": page["source"],
        "line": section["line"] if section else 1,
        "publication": publication.name,
        "version": publication.version or "",
    }


def flatten(
    passage: Record, section: Record | None, page: Record, publication: Publication
) -> Record:
    """Make the self-contained record of a passage that was read, a line of ``passages.jsonl``.

    Every key is always there and has one type; no list is ever empty.
    """
    flat: Record = {
        "chunk_id": passage["chunk_id"],
        "referent": passage["referent"],
        "position": passage["position"],
        "text": passage["text"],
        "text_digest": passage["text_digest"],
        "record_digest": "",
        "kinds": passage["kinds"],
        **_shared(section, page, publication),
        "blocks": [
            {"stay": block["stay"] or "", "digest": block["digest"]} for block in passage["blocks"]
        ],
    }
    flat["record_digest"] = digest_record(flat)
    return flat


class _PassageWriter:
    """Writes the passages of one section. What they share is turned into text once."""

    def __init__(self, referent: str, language: str, shared: Record, chunk_ids: ChunkIds) -> None:
        self.chunk_ids = chunk_ids
        self.referent = encode_basestring(referent)
        self.language = encode_basestring(language)
        self.shared = to_json(shared)[1:-1]
        # The values that `digest_record` digests, split where a passage's own ones stand.
        values = {**shared, "referent": referent}
        del values["line"]
        parts: tuple[list[str], ...] = ([], [], [])
        for key in sorted(values):
            place = 0 if key < "kinds" else 1 if key < "position" else 2
            parts[place].append(f"{encode_basestring(key)}:{to_json(values[key])}")
        before, between, after = (",".join(part) for part in parts)
        self.before, self.between = f'{{{before},"kinds":', f',{between},"position":'
        self.after = f",{after}}}"

    def write(self, position: int, passage: Passage) -> tuple[str, str, str]:
        """Write one passage: its record, its line, and its part of the site's identity."""
        text = passage.text
        digests = [sha256(block.text.encode()).hexdigest() for block in passage.blocks]
        digest = digests[0] if len(digests) == 1 else sha256(text.encode()).hexdigest()
        chunk_id = self.chunk_ids.make(position, digest)
        kinds = to_json(passage.kinds)
        values = f"{self.before}{kinds}{self.between}{position}{self.after}"
        record_digest = f"sha256:{sha256(values.encode()).hexdigest()}"
        escaped = encode_basestring(text)
        start = f'{{"chunk_id":"{chunk_id}","referent":{self.referent}'
        digested = f'"text_digest":"sha256:{digest}","record_digest":"{record_digest}"'
        ends = [f'"digest":"sha256:{block}"}}' for block in digests]
        blocks = ",".join(['{"stay":null,' + end for end in ends])
        line_blocks = ",".join(['{"stay":"",' + end for end in ends])
        record = (
            f'{start},"lang":{self.language},"position":{position},"kinds":{kinds},'
            f'"text":{escaped},{digested},"blocks":[{blocks}]}}'
        )
        line = (
            f'{start},"position":{position},"text":{escaped},{digested},"kinds":{kinds},'
            f'{self.shared},"blocks":[{line_blocks}]}}\n'
        )
        return record, line, f"{chunk_id} {record_digest}\n"


def identity_line(line: Record) -> str:
    """Give a passage's part of what the digest of the whole site is taken over."""
    return f"{line['chunk_id']} {line['record_digest']}\n"
