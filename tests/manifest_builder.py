"""Builds manifests for tests from a short form, without a site.

A site is `{page: {section: [texts]}}`. A page is `id`, `id=Title` or `id=Title@lang`, a
section `id` or `id=Title`; the section "" is the page itself. Each text is one passage.
At its end, ` ^x` is a marker of its block, and ` ^x#` one with an anchor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mkdocs_markstay.manifest_writer import ManifestWriter
from mkdocs_markstay.passages import Sizes
from mkdocs_markstay.records import Page, Policy, Publication, write_page
from mkdocs_markstay.sections import Block, Section, Stay

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mkdocs_markstay.records import Record

Site = dict[str, dict[str, list[str]]]
SITE_URL = "https://docs.example.org/"


def build(
    site: Mapping[str, Mapping[str, Sequence[str]]],
    *,
    publication: str = "p",
    version: str | None = None,
    site_url: str | None = SITE_URL,
    granularity: str = "block",
    furniture: Sequence[str] = (),
    max_chars: int = 2000,
    complete: bool = True,
    redirects: Sequence[Record] = (),
    retired: Sequence[Record] = (),
    former_urls: Mapping[str, Sequence[str]] | None = None,
) -> tuple[bytes, bytes]:
    """Give `passages.json` and `passages.jsonl`; ``former_urls`` are those of pages, by id."""
    shared = Publication(publication, "en", version, site_url)
    policy = Policy(tuple(furniture), Sizes(max_chars=max_chars), granularity)
    writer = ManifestWriter(shared)
    try:
        for name, texts in site.items():
            rest, _, lang = name.partition("@")
            page_id, _, title = rest.partition("=")
            lang = lang or "en"
            url = f"{page_id}/" if lang == "en" else f"{lang}/{page_id}/"
            sections = [Section("", 0, "", ())]
            lines = {}
            for number, (section, blocks) in enumerate(texts.items()):
                section_id, _, heading = section.partition("=")
                if section_id:
                    heading = heading or section_id.title()
                    sections.append(Section(section_id, 2, heading, (heading,)))
                    lines[section_id] = 3 + 4 * number
                sections[-1].blocks += map(_make_block, blocks)
            former = (former_urls or {}).get(page_id, ())
            title = title or page_id.title()
            source = f"{page_id}.md"
            page = Page(page_id, title, url, lang, source, lines=lines, former_urls=former)
            writer.add(url, page_id, lang, write_page(page, sections, shared, policy))
        writer.redirects, writer.retired = list(redirects), list(retired)
        header = writer._header(policy, complete=complete, preview=False)
        return b"".join(writer._json(header)), b"".join(writer._read("lines"))
    finally:
        writer.close()


def _make_block(written: str) -> Block:
    text, mark, stay = written.partition(" ^")
    stays = (Stay(stay.rstrip("#"), "sha256:" + 64 * "0", stay.endswith("#")),) if mark else ()
    return Block("paragraph", text, stays=stays)
