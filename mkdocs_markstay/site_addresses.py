"""Addresses in a site: files, URLs, and what an old one became."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from mkdocs_markstay.register import LIVE

if TYPE_CHECKING:
    from mkdocs_markstay.register import Register

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


class Followed(NamedTuple):
    """What the manifest says of old addresses: see ``docs/manifest.md``."""

    redirects: list[dict[str, str]]
    retired: list[dict[str, str]]
    former_urls: dict[str, list[str]]


def follow_all(register: Register, addresses: Addresses) -> Followed:
    """Say of each old referent where it leads now, and of each page at which URLs it was."""
    followed = Followed([], [], {})
    for referent, entry in sorted(register.entries.items()):
        page = register.entries.get(entry.page_id)
        urls = [
            addresses.url_of(Address(addresses.file_of(path), entry.section_id))
            for path in (page.paths if page is not None else ())
        ]
        end = register.follow(referent)
        if entry.state == LIVE and urls[1:] and not entry.section_id:
            followed.former_urls[referent] = urls[1:]
        elif entry.state != LIVE and end is not None:
            url = urls[0] if urls else ""
            if end.state == LIVE:
                followed.redirects.append({"from": referent, "to": end.referent, "url": url})
            else:
                retired = {"referent": referent, "reason": end.detail, "url": url}
                followed.retired.append(retired)
    return followed
