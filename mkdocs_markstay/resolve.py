"""Where a citation leads today: a referent or a URL, looked up in a manifest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from mkdocs_markstay.manifest import Manifest


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


class Resolver:
    """Looks citations up in one manifest."""

    def __init__(self, manifest: Manifest) -> None:
        header = manifest.header
        self._site = header["site_url"] or ""
        self._redirects = {row["from"]: row["to"] for row in header.get("redirects", ())}
        self._retired = {row["referent"]: row["reason"] for row in header.get("retired", ())}
        self._live: dict[str, tuple[str, str]] = {}
        self._pages: dict[str, str] = {}
        for records in manifest.pages:
            page = records.page
            self._add(page["page_id"], page)
            for url in (page["url"], *page.get("former_urls", ())):
                self._pages.setdefault(_normalize(url), page["page_id"])
            for section in records.sections:
                self._add(section["referent"], section)
        rows = [(row["from"], row["url"]) for row in header.get("redirects", ())]
        rows += [(row["referent"], row["url"]) for row in header.get("retired", ())]
        for referent, url in rows:
            page_id = referent.partition("#")[0]
            self._pages.setdefault(_normalize(url.partition("#")[0]), page_id)

    def _add(self, referent: str, row: dict[str, Any]) -> None:
        self._live.setdefault(referent, (row["title"], row["url"]))

    def resolve(self, cited: str) -> Resolved:
        """Find where a citation leads today."""
        referent = self._read(cited)
        if referent is None:
            return Resolved(cited, "unknown", reason="it is no address of this site")
        found = self._follow(referent)
        page_id, _, section_id = referent.partition("#")
        if found is None and section_id:
            # A page that moved took sections along that were never registered.
            page = self._follow(page_id)
            if page is not None and page in self._live and page != page_id:
                found = self._follow(f"{page.partition('#')[0]}#{section_id}")
        if found is None:
            return self._miss(cited, page_id, section_id)
        if found in self._retired:
            return Resolved(cited, "retired", reason=self._retired[found])
        title, url = self._live[found]
        state = "live" if found == referent else "moved"
        return Resolved(cited, state, found, title, self._base + url)

    def _miss(self, cited: str, page_id: str, section_id: str) -> Resolved:
        if section_id and self._follow(page_id) is not None:
            reason = f"the page {page_id} has, and had, no section {section_id}"
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

    def _read(self, cited: str) -> str | None:
        """Read a citation as a referent, None if it is the URL of nothing in this site."""
        if "://" not in cited and not cited.startswith("/"):
            return cited
        try:
            parts, base = urlsplit(cited), urlsplit(self._site)
        except ValueError:  # brackets that are no IPv6 address
            return None
        path = parts.path
        if parts.netloc and (parts.netloc.lower() != base.netloc.lower()):
            return None
        start = base.path.rstrip("/") + "/"
        if not path.startswith(start) and path + "/" != start:
            return None
        page_id = self._pages.get(_normalize(path[len(start) :]))
        if page_id is None:
            return None
        fragment = unquote(parts.fragment)
        return f"{page_id}#{fragment}" if fragment else page_id


def _normalize(url: str) -> str:
    """Give the same text for all spellings of a page's URL."""
    return unquote(url).removesuffix("index.html").rstrip("/")
