"""Where links of a site lead: their destinations read as addresses, and addresses spelled."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote, unquote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mkdocs_markstay.links import Destination

HOMES = ("index", "README")
"""Names of sources that are published as the page of their folder."""

# Of ASCII, what needs no escape in a path, in Markdown nor in HTML.
_SAFE = "/-._~!$+,;=:@"
_SAFE_FRAGMENT = "-._~:"
_UNSAFE = re.compile(r"[\x00-\x20\"'<>()\[\]{}\\^|`&%#?*]")


@dataclass(frozen=True)
class DocsAddress:
    """A place of a site: a page, named by its path in the docs folder, and a section id or ""."""

    source: str
    fragment: str = ""

    def __str__(self) -> str:
        """Give the address as people write it."""
        return f"{self.source}#{self.fragment}" if self.fragment else self.source


class Seat(NamedTuple):
    """Where a link stands: the page's paths in the docs folder and in the site."""

    source: str
    target: str


class DocsAddresses:
    """The addresses of a site.

    ``pages`` are its pages, ``others`` the paths of pages that are gone or not there yet.
    """

    def __init__(
        self, pages: Iterable[tuple[str, str]], others: Iterable[str], site_url: str
    ) -> None:
        self._targets: dict[str, str] = {}
        self._sources: dict[str, str] = {}
        for source, target in pages:
            # Of a page in several languages, the first is that of the default language.
            self._targets.setdefault(source, target)
            self._sources.setdefault(target, source)
        folders = [
            posixpath.basename(target) == "index.html"
            for source, target in self._targets.items()
            if _stem(source) not in HOMES
        ]
        self._folders = any(folders) or not folders
        for source in others:
            if source not in self._targets:
                target = self._target_of(source)
                self._targets[source] = target
                self._sources.setdefault(target, source)
        url = urlsplit(site_url)
        self._host = url.netloc.lower()
        self._root = url.path.rstrip("/") + "/"

    def read(self, destination: str, seat: Seat) -> DocsAddress | None:
        """Read a destination, without escapes but for percent signs; None if it leads to no page.

        A path to a source is one from the page's source, or from the docs folder if it
        begins with a slash. Everything else is an address, relative to that of the page.
        """
        try:
            url = urlsplit(destination)
        except ValueError:  # no address at all
            return None
        path = unquote(url.path)
        source: str | None
        if url.scheme or url.netloc:
            # Many sites are linked to by http still.
            own = url.scheme in ("", "http", "https") and url.netloc.lower() == self._host
            source = self._find_absolute(path or "/") if own else None
        elif not path:
            source = seat.source
        else:
            source = self._find_source(path, seat) or (
                self._find_absolute(path)
                if path.startswith("/")
                else self._find(posixpath.join(posixpath.dirname(seat.target), path))
            )
        return None if source is None else DocsAddress(source, unquote(url.fragment))

    def _find_source(self, path: str, seat: Seat) -> str | None:
        """Find the page whose source has a path."""
        folder = "" if path.startswith("/") else posixpath.dirname(seat.source)
        source = posixpath.normpath(posixpath.join(folder, path.lstrip("/")))
        return source if source in self._targets else None

    def _find_absolute(self, path: str) -> str | None:
        """Find the page at a path of the host."""
        if not f"{path}/".startswith(self._root):
            return None
        return self._find(path[len(self._root) :])

    def _find(self, path: str) -> str | None:
        """Find the page at a path in the site."""
        normal = posixpath.normpath(path)
        normal = "" if normal == "." else normal
        # A server leads from a folder without a slash to the one with it.
        names = [posixpath.join(normal, "index.html")]
        if not path.endswith(("/", "/.", "/..")):
            names.insert(0, normal)
        return next((self._sources[name] for name in names if name in self._sources), None)

    def _target_of(self, source: str) -> str:
        """Give the path in the site of a page that is not there, as MkDocs makes it."""
        name = posixpath.splitext(source)[0]
        if _stem(source) in HOMES:
            return posixpath.join(posixpath.dirname(name), "index.html")
        return f"{name}/index.html" if self._folders else f"{name}.html"

    # -- spelling

    def respell(
        self, written: Destination, seat: Seat, old: DocsAddress, new: DocsAddress
    ) -> str | None:
        """Write the address ``new`` in the style in which ``old`` is written at a place.

        None if what is written does not tell in which style.
        """
        fragment = _quote_as(new.fragment, written.written_fragment, _SAFE_FRAGMENT)
        if new.source == old.source and (written.written_path or new.fragment):
            return written.with_fragment(fragment)
        if self.read(written.meant, seat) != old:
            return None
        path = _quote_as(self._spell_path(written, seat, new), written.written_path, _SAFE)
        spelled = path + written.query + (f"#{fragment}" if fragment else "")
        again = self.read(written._replace(text=spelled).meant, seat)
        return spelled if again == new else None

    def _spell_path(self, written: Destination, seat: Seat, new: DocsAddress) -> str:
        """Spell the path of a destination; without escapes."""
        path = written.path
        folder = posixpath.dirname(seat.source)
        if path.startswith("//") or "://" in path:
            begin, _, rest = path.partition("//")
            host = rest.split("/", 1)[0]
            return f"{begin}//{host}{self._root}{self._url(new.source, path)}"
        if self._find_source(path, seat) if path else written.syntax != "html":
            if written.is_absolute:
                return f"/{new.source}"
            relative = posixpath.relpath(new.source, folder or ".")
            dotted = path.startswith("./") and not relative.startswith("../")
            return f"./{relative}" if dotted else relative
        if written.is_absolute:
            return self._root + self._url(new.source, path)
        return self._relative_url(new.source, seat, path)

    def _relative_url(self, source: str, seat: Seat, like: str) -> str:
        target = self._url(source, like)
        folder = posixpath.dirname(seat.target)
        relative = posixpath.relpath(target or ".", folder or ".")
        if target.endswith("/") or not target:
            relative += "/"
        # `./` is the page itself.
        dotted = like.startswith("./") and like != "./" and not relative.startswith(".")
        return f"./{relative}" if dotted else relative

    def _url(self, source: str, like: str) -> str:
        """Give the address of a page in the site, with or without what may be left out."""
        target = self._targets[source]
        if posixpath.basename(target) != "index.html" or like.endswith("index.html"):
            return target
        folder = target.removesuffix("index.html")
        if like and not like.endswith("/") and posixpath.basename(like) not in (".", ".."):
            return folder.rstrip("/")
        return folder


def find_new(
    changed: Mapping[DocsAddress, DocsAddress | None], old: DocsAddress
) -> DocsAddress | None:
    """Say what an address has become: itself if it has not changed, None if it is gone.

    What is not listed of a page that moved or is gone went with the page.
    """
    if old in changed:
        return changed[old]
    page = DocsAddress(old.source)
    if page not in changed:
        return old
    new = changed[page]
    if new is None or new.fragment:
        return new
    return DocsAddress(new.source, old.fragment)


def _stem(source: str) -> str:
    return posixpath.splitext(posixpath.basename(source))[0]


def _quote_as(text: str, like: str, safe: str) -> str:
    """Write percent signs for what needs them; also for letters, if ``like`` has some."""
    if "%" in like:
        return quote(text, safe=safe)
    return _UNSAFE.sub(lambda match: quote(match[0], safe=""), text)
