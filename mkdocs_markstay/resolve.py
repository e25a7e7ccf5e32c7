"""Where a citation leads today: a referent or a URL, looked up in a manifest."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote, unquote, urlsplit

from mkdocs_markstay.chunk_ids import is_chunk_id
from mkdocs_markstay.identity import STAY_PREFIX
from mkdocs_markstay.manifest_shapes import JSON_NAME, ManifestError
from mkdocs_markstay.records import FRAGMENT
from mkdocs_markstay.whole_manifest import read_manifest

if TYPE_CHECKING:
    import os

    from mkdocs_markstay.records import Record
    from mkdocs_markstay.whole_manifest import PageRecords, WholeManifest


@dataclass(frozen=True)
class Resolved:
    """What a citation leads to.

    ``state`` is "live", "moved", "retired" or "unknown". ``referent``, ``title`` and ``url``
    are those of today's place, "" if there is none; ``reason`` says why, where that is so.
    """

    cited: str
    state: str
    referent: str = ""
    title: str = ""
    url: str = ""
    reason: str = ""


class _Place(NamedTuple):
    referent: str
    title: str
    url: str


class Resolver:
    """Looks citations up in one manifest."""

    def __init__(self, manifest: WholeManifest) -> None:
        header = manifest.header
        self._site = header["site_url"] or ""
        self._redirects = {row["from"]: row["to"] for row in header.get("redirects", ())}
        self._retired = {row["referent"]: row["reason"] for row in header.get("retired", ())}
        # By referent: today's place. Of a marked block without an anchor it is its section.
        self._live: dict[str, _Place] = {}
        # The pages that are, or were, at a URL: today's first.
        self._pages: dict[str, list[str]] = defaultdict(list)
        for records in manifest.pages:
            page = records.page
            self._add(page["page_id"], page)
            for url in (page["url"], *page.get("former_urls", ())):
                self._pages[_normalize(url)].append(page["page_id"])
            for section in records.sections:
                self._add(section["referent"], section)
            self._add_blocks(records)
        rows = [(row["from"], row["url"]) for row in header.get("redirects", ())]
        rows += [(row["referent"], row["url"]) for row in header.get("retired", ())]
        for referent, url in rows:
            page_id = referent.partition("#")[0]
            if not url:
                continue  # it is not known: the register has no line of the page
            self._pages[_normalize(url.partition("#")[0])].append(page_id)

    def _add(self, referent: str, row: Record) -> None:
        self._live.setdefault(referent, _Place(referent, row["title"], row["url"]))

    def _add_blocks(self, records: PageRecords) -> None:
        """Add the marked blocks of a page."""
        page_id, page_url = records.page["page_id"], records.page["url"]
        for passage in records.passages:
            section = self._live[passage["referent"]]
            for block in passage["blocks"]:
                referent: str = block.get("referent", "")
                if referent:
                    url = f"{page_url}#{quote(referent.partition('#')[2], safe=FRAGMENT)}"
                    if referent not in self._live or self._live[referent].referent != referent:
                        self._live[referent] = _Place(referent, section.title, url)
                elif block["stay"]:
                    self._live.setdefault(f"{page_id}#{STAY_PREFIX}{block['stay']}", section)
        for row in (records.page, *records.sections):
            if row.get("stay"):  # the marker of a heading
                owner = str(row.get("referent", page_id))
                self._live.setdefault(f"{page_id}#{STAY_PREFIX}{row['stay']}", self._live[owner])

    def resolve(self, cited: str) -> Resolved:
        """Find where a citation leads today."""
        referents = self._read(cited)
        if not referents:
            return Resolved(cited, "unknown", reason="it is no address of this site")
        for referent in referents:
            found = self._find(referent)
            if found in self._retired:
                return Resolved(cited, "retired", reason=self._retired[found])
            if found is not None:
                place = self._live[found]
                state = "live" if found == referent else "moved"
                return Resolved(cited, state, place.referent, place.title, self._base + place.url)
        page_id, _, section_id = referents[0].partition("#")
        return self._miss(cited, page_id, section_id)

    def _find(self, referent: str) -> str | None:
        """Find what a referent is today: a live or retired one."""
        found = self._follow(referent)
        page_id, _, section_id = referent.partition("#")
        if found is None and section_id:
            # A page that moved took sections along that were never registered.
            page = self._follow(page_id)
            if page is not None and page in self._live and page != page_id:
                found = self._follow(f"{page.partition('#')[0]}#{section_id}")
        return found

    def _miss(self, cited: str, page_id: str, section_id: str) -> Resolved:
        if section_id and self._follow(page_id) is not None:
            reason = f"the page {page_id} has, and had, no section {section_id}"
        elif is_chunk_id(page_id):
            reason = "it is a chunk id, which goes with its text. To cite, keep the referent"
        else:
            reason = "there is, and was, no such page"
        return Resolved(cited, "unknown", reason=reason)

    @property
    def _base(self) -> str:
        return self._site.rstrip("/") + "/" if self._site else ""

    def _follow(self, referent: str) -> str | None:
        """Follow a referent to one that is live or retired."""
        seen: set[str] = set()
        while referent not in seen:
            if referent in self._live or referent in self._retired:
                return referent
            seen.add(referent)
            referent = self._redirects.get(referent, referent)
        return None

    def _read(self, cited: str) -> list[str]:
        """Read a citation as referents, the likeliest first; none if it is no URL of this site."""
        if "://" in cited or cited.startswith("/"):
            return self._read_url(cited)
        # A URL may be relative to the site, too: it has a slash before what follows.
        path, mark, fragment = cited.partition("#")
        return [cited, *(self._at(path, unquote(fragment)) if path.endswith("/") or mark else ())]

    def _read_url(self, url: str) -> list[str]:
        try:
            parts, base = urlsplit(url), urlsplit(self._site)
        except ValueError:  # brackets that are no IPv6 address
            return []
        if parts.netloc and parts.netloc.lower() != base.netloc.lower():
            return []
        start = base.path.rstrip("/") + "/"
        if not parts.path.startswith(start) and parts.path + "/" != start:
            return []
        return self._at(parts.path[len(start) :], unquote(parts.fragment))

    def _at(self, path: str, fragment: str) -> list[str]:
        """Name what is, or was, at a path of the site."""
        page_ids = self._pages.get(_normalize(path), ())
        return [f"{page_id}#{fragment}" if fragment else page_id for page_id in page_ids]


def resolve(manifest: str | os.PathLike[str], cited: str) -> Resolved:
    """Find where a citation leads today: a referent or a URL that somebody kept.

    ``manifest`` is ``passages.json`` or its folder. Raises ManifestError if it cannot be read.
    To look up many citations, make one `Resolver`.
    """
    path = Path(manifest)
    if path.name.endswith(".jsonl"):
        raise ManifestError(f"{path.name} does not say where old addresses lead. Give {JSON_NAME}")
    return Resolver(read_manifest(path / JSON_NAME if path.is_dir() else path)).resolve(cited)


def _normalize(url: str) -> str:
    """Give the same text for all spellings of a page's URL."""
    return unquote(url).removesuffix("index.html").rstrip("/")
