"""Addresses in a site: files, URLs, and what an old one became."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from mkdocs_markstay.register import LIVE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mkdocs_markstay.register import Entry, Register

# What may stand as it is in a URL behind the #.
_FRAGMENT = "!$&'()*+,;=:@/?~"


class Address(NamedTuple):
    """An address of the site: the file of a page, and a section id, "" for the page."""

    target: str
    fragment: str = ""


class Addresses:
    """Turns paths of pages into files and URLs of a site.

    ``directory_urls``: pages are published as folders. ``prefix`` is that of the language's
    pages, such as `de/`.
    """

    def __init__(self, *, directory_urls: bool, prefix: str = "") -> None:
        self._directory_urls = directory_urls
        self._prefix = prefix

    def file_of(self, site_path: str) -> str:
        """Name the file of the page at a path."""
        path = self._prefix + site_path
        if not self._directory_urls or path.rpartition("/")[2] == "index":
            return f"{path}.html"
        return f"{path}/index.html"

    def url_of(self, address: Address) -> str:
        """Give the URL of an address, relative to the site."""
        target = address.target
        folder, _, name = target.rpartition("/")
        if self._directory_urls and name == "index.html":
            target = f"{folder}/" if folder else ""
        fragment = f"#{quote(address.fragment, safe=_FRAGMENT)}" if address.fragment else ""
        return quote(target) + fragment

    def link(self, source: str, to: Address) -> str:
        """Give the URL of an address as it is written in the file ``source``."""
        url, mark, fragment = self.url_of(to).partition("#")
        relative = posixpath.relpath("/" + url, "/" + posixpath.dirname(quote(source)))
        if not url or url.endswith("/"):
            relative += "/"
        return relative + mark + fragment


class OldAddresses:
    """What the manifest says of old addresses: see ``docs/manifest.md``.

    ``redirects`` and ``retired`` are its records of old referents.
    """

    def __init__(self, register: Register, *, directory_urls: bool) -> None:
        self.redirects: list[dict[str, str]] = []
        self.retired: list[dict[str, str]] = []
        self._former: dict[str, list[str]] = {}
        self._aliases: dict[str, dict[str, list[str]]] = {}
        self._register = register
        self._addresses = Addresses(directory_urls=directory_urls)
        if register.exists and register.readable:
            for _, entry in sorted(register.entries.items()):
                self._add(entry)

    def aliases_of(self, page_id: str) -> Mapping[str, Sequence[str]]:
        """Give the old referents that lead to the sections of a page, by section id."""
        return self._aliases.get(page_id, {})

    def former_urls_of(self, page_id: str) -> Sequence[str]:
        """Give the URLs at which a page was, in the default language."""
        return self._former.get(page_id, ())

    def _add(self, entry: Entry) -> None:
        register, referent = self._register, entry.referent
        page = register.entries.get(entry.page_id)
        urls = [
            self._addresses.url_of(Address(self._addresses.file_of(path), entry.section_id))
            for path in (page.paths if page is not None else ())
        ]
        end = register.follow(referent)
        if entry.state == LIVE:
            if urls[1:] and not entry.section_id:
                self._former[referent] = urls[1:]
        elif end is not None and end.state == LIVE:
            url = urls[0] if urls else ""
            self.redirects.append({"from": referent, "to": end.referent, "url": url})
            if end.section_id:
                of_page = self._aliases.setdefault(end.page_id, {})
                of_page.setdefault(end.section_id, []).append(referent)
        elif end is not None:
            url = urls[0] if urls else ""
            reason = end.detail.encode("utf-8", "replace").decode()
            self.retired.append({"referent": referent, "reason": reason, "url": url})
