"""Proving that a published site and its manifest agree.

Reads the published files with the second extractor and computes every id and
digest again. Needs no generator, only the folder.
"""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from html.parser import HTMLParser
from itertools import groupby
from typing import TYPE_CHECKING
from urllib.parse import unquote

from mkdocs_markstay.charset import decode_html
from mkdocs_markstay.extract_soup import count_anchors, extract, find_region
from mkdocs_markstay.findings import Finding
from mkdocs_markstay.identity import (
    StayPiece,
    digest_record,
    digest_text,
    digest_values,
    make_chunk_id,
    make_stay_key,
)
from mkdocs_markstay.manifest_shapes import JSON_NAME, JSONL_NAME, PARQUET_NAME, ManifestError
from mkdocs_markstay.manifest_writer import digest_passages, page_file
from mkdocs_markstay.passages import split_passages
from mkdocs_markstay.progress import SILENT
from mkdocs_markstay.sectionids import show
from mkdocs_markstay.unmarked_soup import UnmarkedPage
from mkdocs_markstay.whole_manifest import read_jsonl, read_manifest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from mkdocs_markstay.progress import Progress
    from mkdocs_markstay.records import Record
    from mkdocs_markstay.sections import Section
    from mkdocs_markstay.whole_manifest import PageRecords, WholeManifest


def verify_site(folder: Path, progress: Progress = SILENT) -> list[Finding]:
    """Compare the published site in ``folder`` with the manifest in it.

    ``progress`` is told of each page that was read.
    """
    return list(_verify(folder, progress))


def _verify(folder: Path, progress: Progress) -> Iterator[Finding]:
    path = folder / JSON_NAME
    progress.begin("Reading the manifest")
    try:
        manifest = read_manifest(path)
    except ManifestError as error:
        yield _finding(path, "bad-manifest", f"{error}. Build the site again")
        return
    yield from _check_header(path, manifest)
    for name in (JSONL_NAME, PARQUET_NAME):
        yield from _check_lines(folder / name, manifest)
    progress.begin("Verifying pages", len(manifest.pages))
    for records in manifest.pages:
        yield from _check_records(path, records, manifest)
        yield from _check_page(folder, records, manifest)
        progress.advance()


def _check_header(path: Path, manifest: WholeManifest) -> Iterator[Finding]:
    policy = manifest.header["policy"]
    stated = {key: policy[key] for key in policy if key != "digest"}
    if policy.get("digest") != digest_values(stated):
        yield _finding(path, "digest-wrong", "policy.digest is not that of the policy")
    lines = [line for records in manifest.pages for line in records.lines]
    if manifest.header.get("digest") != digest_passages(lines):
        yield _finding(path, "digest-wrong", "digest is not that of the passages")
    for kind, names in (
        (
            "referent and language",
            Counter((line["referent"], line["lang"], line["position"]) for line in lines),
        ),
        ("chunk id", Counter(line["chunk_id"] for line in lines)),
    ):
        for name, count in names.items():
            if count > 1:
                yield _finding(path, "digest-wrong", f"{kind} {name} occurs {count} times")


def _check_lines(path: Path, manifest: WholeManifest) -> Iterator[Finding]:
    """Compare the lines, where there are any, with the records."""
    if not path.exists():
        return
    expected = [line for records in manifest.pages for line in records.lines]
    try:
        lines = read_jsonl(path) if path.name == JSONL_NAME else _read_parquet(path, manifest)
    except ManifestError as error:
        yield _finding(path, "bad-manifest", f"{error}. Build the site again")
        return
    if len(lines) != len(expected):
        message = f"{len(lines)} records, but {len(expected)} in {JSON_NAME}"
        yield _finding(path, "bad-manifest", f"{message}. Build the site again")
    for number, (line, record) in enumerate(zip(lines, expected, strict=False), 1):
        if line != record:
            message = f"the record is not the one in {JSON_NAME}. Build the site again"
            yield Finding(_show(path), number, "bad-manifest", message)


def _read_parquet(path: Path, manifest: WholeManifest) -> list[Record]:
    """Read the rows; raise ManifestError if they cannot be read, or are of another site."""
    from mkdocs_markstay.manifest_parquet import ParquetSource  # noqa: PLC0415 (a choice)

    with closing(ParquetSource(path)) as source:
        if [header.facts for header in source.headers] != [manifest.header]:
            raise ManifestError(f"what it says of the site is not what {JSON_NAME} does")
        return [row for _, row in source.scan()]


def _check_records(path: Path, records: PageRecords, manifest: WholeManifest) -> Iterator[Finding]:
    publication = manifest.publication
    pieces: Counter[str] = Counter()
    for passage, line in zip(records.passages, records.lines, strict=True):
        name = f"passage {passage['position']} of {show(passage['referent'])}"
        if passage["text_digest"] != digest_text(passage["text"]):
            yield _finding(path, "digest-wrong", f"text_digest of {name} is not that of its text")
        if passage["record_digest"] != digest_record(line):
            yield _finding(
                path, "digest-wrong", f"record_digest of {name} is not that of its record"
            )
        language = "" if passage["lang"] == publication.default_language else passage["lang"]
        chunk_id = make_chunk_id(
            publication.name,
            language,
            passage["referent"],
            passage["position"],
            passage["text_digest"],
        )
        if passage["chunk_id"] != chunk_id:
            yield _finding(path, "digest-wrong", f"chunk_id of {name} is not {chunk_id}")
        if passage.get("stay_key", "") != _find_stay_key(passage["blocks"], pieces):
            yield _finding(path, "digest-wrong", f"stay_key of {name} is not that of its blocks")


def _find_stay_key(blocks: Sequence[Record], pieces: Counter[str]) -> str:
    """Make the key of a passage; ``pieces`` counts the blocks of the page by their markers."""
    members = []
    for block in blocks:
        if block["stay"] is not None:
            members.append(
                StayPiece(block["stay"], block.get("body_hash", ""), pieces[block["stay"]])
            )
            pieces[block["stay"]] += 1
    return make_stay_key(members) if len(members) == len(blocks) else ""


def _check_page(folder: Path, records: PageRecords, manifest: WholeManifest) -> Iterator[Finding]:
    path = page_file(folder, records.page["url"])
    if not path.resolve().is_relative_to(folder.resolve()):
        yield _finding(path, "page-missing", "the manifest names a page outside of the site")
        return
    content = records.page.get("content", "")
    try:
        raw = path.read_bytes()
        # What the plugin marked is UTF-8, other pages are what they say.
        html, problem = decode_html(raw) if content else (raw.decode("utf-8"), "")
    except OSError:
        message = "the manifest lists this page, but it is not there. Build the site again"
        yield _finding(path, "page-missing", message)
        return
    except UnicodeDecodeError:
        html, problem = "", "the page is not UTF-8"
    if problem:
        yield _finding(path, "page-changed", problem)
        return
    unmarked = UnmarkedPage(html) if content else None
    yield from _check_anchors(path, records, html, unmarked)
    opens = {record["section_id"] for record in records.sections}
    furniture = (*manifest.policy.furniture, *records.page["furniture"])
    if unmarked is not None:
        sections = unmarked.extract(content, opens, furniture)
        gone = f"the element {show(content)} around the page's prose is gone"
    else:
        region = find_region(html)
        sections = None if region is None else extract(region, opens, furniture)
        gone = "the marks around the page's prose are gone"
    if sections is None:
        yield _finding(path, "page-changed", gone)
        return
    yield from _check_sections(path, records, sections, manifest)


def _check_anchors(
    path: Path, records: PageRecords, html: str, unmarked: UnmarkedPage | None
) -> Iterator[Finding]:
    anchors = Counter() if unmarked else _count_anchors(html)
    for passage in records.passages:
        for block in passage["blocks"]:
            anchor = block.get("referent", "").partition("#")[2]
            if anchor and anchors[anchor] != 1 and count_anchors(html, anchor) != 1:
                code = "anchor-repeated" if anchors[anchor] else "anchor-missing"
                times = anchors[anchor]
                message = f"anchor {show(anchor)} stands {times} times in the page, not once"
                yield _finding(path, code, message)
    for record in records.sections:
        section_id, count = record["section_id"], anchors[record["section_id"]]
        if unmarked is not None:
            count = unmarked.count_anchors(section_id)
        elif count > 1:  # what looks like HTML in a text area or a title is none
            count = count_anchors(html, section_id)
        if count != 1:
            code = "anchor-repeated" if count else "anchor-missing"
            message = f"anchor {show(section_id)} stands {count} times in the page, not once"
            yield _finding(path, code, message)
        expected = f"{records.page['url']}#"
        if not record["url"].startswith(expected) or (
            unquote(record["url"][len(expected) :]) != section_id
        ):
            yield _finding(path, "section-changed", f"the URL of {show(section_id)} is not its own")


def _check_sections(
    path: Path, records: PageRecords, sections: list[Section], manifest: WholeManifest
) -> Iterator[Finding]:
    policy = manifest.policy
    titles = {record["section_id"]: record["title"] for record in records.sections}
    order = [section.section_id for section in sections[1:]]
    if set(order) == set(titles) and order != list(titles):
        yield _finding(path, "section-changed", "the sections stand in another order")
    published: dict[str, list[str]] = {section_id: [] for section_id in ("", *titles)}
    digests: dict[str, list[list[str]]] = {section_id: [] for section_id in published}
    for section in sections:
        section_id = section.section_id
        if section_id and titles.get(section_id) != section.title:
            message = (
                f"the title of section {show(section_id)} is {show(section.title)},"
                f" not {show(str(titles.get(section_id)))}"
            )
            yield _finding(path, "section-changed", message)
        passages = split_passages(section.blocks, policy.sizes, policy.granularity)
        published[section_id] = [passage.text for passage in passages]
        digests[section_id] = [
            _join_same(digest_text(block.text) for block in passage.blocks) for passage in passages
        ]
    ids = {record["referent"]: record["section_id"] for record in records.sections}
    listed: dict[str, list[str]] = {section_id: [] for section_id in published}
    blocks: dict[str, list[list[str]]] = {section_id: [] for section_id in published}
    for position, passage in _in_order(records):
        section_id = ids.get(passage["referent"], "")
        if passage["position"] != position:
            message = f"passages of {show(passage['referent'])} are not numbered from 0"
            yield _finding(path, "passage-changed", message)
        listed[section_id].append(passage["text"])
        blocks[section_id].append(_join_same(block["digest"] for block in passage["blocks"]))
    for section_id, texts in published.items():
        name = f"section {show(section_id)}" if section_id else "the page itself"
        if texts == listed[section_id] and digests[section_id] != blocks[section_id]:
            yield _finding(path, "digest-wrong", f"the digests of blocks in {name} are not theirs")
        elif texts != listed[section_id]:
            yield _finding(
                path, "passage-changed", f"{_difference(texts, listed[section_id])} in {name}"
            )


def _join_same(digests: Iterable[str]) -> list[str]:
    """Give each digest once: of several blocks of the source it is listed as often."""
    return [digest for digest, _ in groupby(digests)]


def _in_order(records: PageRecords) -> Iterator[tuple[int, Record]]:
    """Give each passage with the position that it must have."""
    counts: Counter[str] = Counter()
    for passage in records.passages:
        yield counts[passage["referent"]], passage
        counts[passage["referent"]] += 1


def _difference(published: list[str], listed: list[str]) -> str:
    for number, (text, other) in enumerate(zip(published, listed, strict=False)):
        if text != other:
            at = next(
                (n for n, pair in enumerate(zip(text, other, strict=False)) if len(set(pair)) > 1),
                min(len(text), len(other)),
            )
            start = max(0, at - 10)
            return (
                f"passage {number} reads {show(text[start : at + 30])} in the page,"
                f" {show(other[start : at + 30])} in the manifest"
            )
    return f"{len(published)} passages are in the page, {len(listed)} in the manifest"


class _Anchors(HTMLParser):
    """Counts the ids of a page's elements."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.ids: Counter[str] = Counter()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del tag
        for key, value in attrs:
            if key == "id":
                self.ids[value or ""] += 1
                break


def _count_anchors(html: str) -> Counter[str]:
    parser = _Anchors()
    parser.feed(html)
    parser.close()
    return parser.ids


def _finding(path: Path, code: str, message: str) -> Finding:
    return Finding(_show(path), 1, code, message)


def _show(path: Path) -> str:
    return path.as_posix()
