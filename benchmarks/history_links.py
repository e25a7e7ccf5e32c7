"""Where an address of a built site leads a reader: followed through the published HTML alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote, urldefrag, urljoin

if TYPE_CHECKING:
    from pathlib import Path

_BASE = "https://docs.example.org/"
_MOST = 5


class End(NamedTuple):
    """Where an address leads: a page and the id of a heading in it, or a reason; or nowhere."""

    url: str = ""
    fragment: str = ""
    reason: str = ""
    found: bool = True


NOWHERE = End(found=False)


@dataclass
class _Mark:
    """An element with an id: of a heading (its own id), or a note with a link or a reason."""

    heading: str | None = None
    href: str = ""
    text: str = ""


@dataclass
class ReadPage:
    """What is in a published page: its ids, its headings in order, and where it leads itself."""

    marks: dict[str, _Mark] = field(default_factory=dict)
    headings: list[tuple[int, str]] = field(default_factory=list)
    moved: bool = False
    href: str = ""
    text: str = ""


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.page = ReadPage()
        self._heading: str | None = None
        self._note: _Mark | None = None
        self._depth = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        name, classes = values.get("id") or "", (values.get("class") or "").split()
        if len(tag) == 2 and tag[0] == "h" and tag[1].isdigit():
            self._heading = name
            self.page.headings.append((int(tag[1]), name))
        if "markstay-page" in classes:
            self.page.moved = True
        if "markstay-page-to" in classes:
            self.page.href = values.get("href") or ""
        if "markstay-to" in classes and self._note is not None:
            self._note.href = values.get("href") or ""
        if tag == "div" and self._note is not None:
            self._depth += 1
        if name:
            mark = _Mark(self._heading)
            if "markstay-note" in classes:
                self._note, self._depth = mark, 1
            elif "markstay-alias" in classes and self._heading is None:
                mark.heading = ""  # at the beginning of the page
            self.page.marks.setdefault(name, mark)

    def handle_endtag(self, tag: str) -> None:
        if len(tag) == 2 and tag[0] == "h" and tag[1].isdigit():
            self._heading = None
        if tag == "div" and self._note is not None:
            self._depth -= 1
            if not self._depth:
                self._note = None

    def handle_data(self, data: str) -> None:
        if self._note is not None:
            self._note.text += data
        self.page.text += data


class BuiltSite:
    """The pages of a built site, each read once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._pages: dict[str, ReadPage | None] = {}

    def read(self, url: str) -> ReadPage | None:
        """Read the page with a URL relative to the site; None if there is none."""
        if url not in self._pages:
            path = self._folder / unquote(url) / "index.html"
            self._pages[url] = None
            if path.is_file():
                reader = _Reader()
                reader.feed(path.read_text(encoding="utf-8"))
                self._pages[url] = reader.page
        return self._pages[url]

    def follow(self, url: str, fragment: str, steps: int = 0) -> End:
        """Follow an address as a reader with a browser does, to a page that stands."""
        page = self.read(url)
        if page is None or steps > _MOST:
            return NOWHERE
        mark = page.marks.get(fragment)
        if fragment and mark is not None and (mark.href or mark.text):
            return self._go(url, mark.href, "", steps) if mark.href else End(reason=mark.text)
        if page.moved:
            return self._go(url, page.href, fragment, steps) if page.href else End(reason=page.text)
        if not fragment:
            return End(url)
        return NOWHERE if mark is None or mark.heading is None else End(url, mark.heading)

    def _go(self, url: str, href: str, fragment: str, steps: int) -> End:
        target, new = urldefrag(urljoin(_BASE + url, href))
        if not target.startswith(_BASE):
            return NOWHERE
        return self.follow(target.removeprefix(_BASE), unquote(new) or fragment, steps + 1)
