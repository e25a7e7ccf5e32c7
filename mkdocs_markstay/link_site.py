"""Links of a site to addresses that changed: found in the rendered pages, then in the files.

What links there are, and where they lead, is read from the HTML. Each destination in
a file that could be one of them gets a mark of its own, and the site is rendered with these:
where a mark turns up, the destination is a link, and this one. Nothing is guessed.
"""

# ruff: noqa: PTH100

from __future__ import annotations

import os
import posixpath
import re
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from selectolax.lexbor import LexborHTMLParser

from mkdocs_markstay.edits import is_inside
from mkdocs_markstay.findings import name_path
from mkdocs_markstay.includes import find_directives, find_files
from mkdocs_markstay.inspection import Inspection
from mkdocs_markstay.link_addresses import HOMES, DocsAddress, DocsAddresses, Seat, find_new
from mkdocs_markstay.links import Change, find_destinations, rewrite
from mkdocs_markstay.site_copy import SiteCopy, find_project, inspect_site_of, settings_of
from mkdocs_markstay.stamp_site import read_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from selectolax.lexbor import LexborNode

    from mkdocs_markstay.inspection import RenderedPage, SiteSettings
    from mkdocs_markstay.links import Destination

_MARK = "markstay-link-"
_MARKED = re.compile(rf"#{_MARK}(\d+)-")

_GONE = "nothing takes the place of {}. Take the link out, or let it lead elsewhere"
_NOT_FOUND = "the link does not stand in a file as it is: a macro, a plugin or code makes it"
_IS_TEXT = "it is shown as text, too, or in more than a link"
_ELSEWHERE = "in {} it leads to another address, which has not changed"
_NO_STYLE = "how its address is put together is not clear"
_MOVES = "the page that it stands in is to move itself. Move its file, and try again"
_TWO_WAYS = "the file is shown in several pages, which would need different destinations"
_OTHERWISE = "with the new destination, {} would be rendered differently in more than the link"


@dataclass(frozen=True)
class Link:
    """A link to an address that changed, and what is to be written.

    ``path`` and ``line`` (from 1) are what a person can open; ``change`` counts lines from 0.
    """

    path: str
    line: int
    old: DocsAddress
    new: DocsAddress
    change: Change


@dataclass(frozen=True)
class LeftLink:
    """A link to an address that changed, which is for a person to change.

    ``line`` is 1 if it is not known where in the file, or in what it includes, the link is made.
    """

    path: str
    line: int
    old: DocsAddress
    new: DocsAddress | None
    reason: str

    def __str__(self) -> str:
        """Say what is to be done."""
        if self.new is None:
            return f"a link leads to {self.old}: {self.reason}"
        return f"a link leads to {self.old}: {self.reason}. Let it lead to {self.new}"


@dataclass(frozen=True)
class LinkedFile:
    """A file with links that are to be rewritten: its content before and after."""

    path: str
    old: bytes
    new: bytes
    links: tuple[Link, ...]


@dataclass
class SiteLinks:
    """The links of a site to addresses that changed: in files to rewrite, and left alone."""

    files: list[LinkedFile]
    left: list[LeftLink]


class _Shown(NamedTuple):
    """A link in HTML."""

    node: LexborNode
    attribute: str
    href: str


@dataclass
class _Page:
    """A page as it is rendered before anything is changed.

    ``wanted`` maps positions among its links to the old addresses, ``found`` are those of
    them whose destination was found in a file. ``restless``: it is another one each time
    that it is rendered, or in a copy of the site.
    """

    page: RenderedPage
    seat: Seat
    html: str
    wanted: dict[int, DocsAddress]
    found: set[int] = field(default_factory=set)
    restless: bool = False


@dataclass
class _Candidate:
    """A destination in a file that could be that of a link, and the links that it is.

    ``shown`` are keys of pages and positions among their links; ``is_text``: it is shown in
    other ways, too.
    """

    file: str
    destination: Destination
    is_text: bool = False
    shown: list[tuple[str, int]] = field(default_factory=list)


def find_site_links(
    config_file: str | os.PathLike[str],
    changed: Mapping[DocsAddress, DocsAddress | None],
    inspect: Callable[..., None],
) -> SiteLinks:
    """Find the links of a site to addresses that changed, and prove what is to be written.

    ``changed`` maps old addresses to new ones, None for what is gone; a page and its sections
    are addresses of their own. Pages that moved may have done so already or not. ``inspect``
    renders the site of a configuration file and takes an `Inspection` and MkDocs' settings.
    Writes nothing. Raises InspectionError.
    """
    path = os.path.abspath(config_file)
    run = Inspection(keep=True)
    settings = inspect_site_of(inspect, path, run)
    addresses = make_addresses(run, changed)
    pages = _read_pages(run.rendered, changed, addresses)
    if not any(page.wanted for page in pages.values()):
        return SiteLinks([], [])
    raw: dict[str, bytes] = {}
    refused = _read_files(pages.values(), settings, raw)
    with ExitStack() as stack:
        folders = {os.path.dirname(file) for file in raw}  # noqa: PTH120
        copy = SiteCopy(path, inspect, run, folders, stack)

        def render(contents: Mapping[str, bytes]) -> dict[str, RenderedPage]:
            return {page.report.key: page for page in copy.render(contents, None).rendered}

        return _Search(pages, changed, addresses, raw, render, refused).run()


def make_addresses(
    run: Inspection, changed: Mapping[DocsAddress, DocsAddress | None]
) -> DocsAddresses:
    """Give the addresses of a site that was rendered, and of pages that are gone or to come."""
    pages = [(page.report.source, page.report.target) for page in run.rendered]
    named = (each for pair in changed.items() for each in pair if each is not None)
    others = dict.fromkeys(address.source for address in named)
    return DocsAddresses(pages, others, settings_of(run).site_url)


def find_left(
    pages: Iterable[RenderedPage],
    changed: Mapping[DocsAddress, DocsAddress | None],
    addresses: DocsAddresses,
) -> list[LeftLink]:
    """Find the links that still lead to old addresses in pages, however they are made."""
    return [
        left
        for page in _read_pages(pages, changed, addresses).values()
        for left in _leave(page, changed, {})
    ]


# -- rendered pages


def _read_pages(
    pages: Iterable[RenderedPage],
    changed: Mapping[DocsAddress, DocsAddress | None],
    addresses: DocsAddresses,
) -> dict[str, _Page]:
    read = {}
    for page in pages:
        seat = Seat(page.report.source, page.report.target)
        wanted = {}
        for number, shown in enumerate(_read_links(LexborHTMLParser(page.html))):
            old = addresses.read(shown.href, seat)
            if old is None or find_new(changed, old) == old:
                continue
            # What leads to the page itself goes with it.
            if not shown.href.startswith("#") or find_new(changed, old) != _move(changed, old):
                wanted[number] = old
        read[page.report.key] = _Page(page, seat, page.html, wanted)
    return read


def _move(
    changed: Mapping[DocsAddress, DocsAddress | None], old: DocsAddress
) -> DocsAddress | None:
    """Give the address that has the same id, in the page that a page becomes."""
    page = find_new(changed, DocsAddress(old.source))
    return None if page is None or page.fragment else DocsAddress(page.source, old.fragment)


def _read_links(tree: LexborHTMLParser) -> list[_Shown]:
    """Collect all links and images of a page, in order."""
    return [
        _Shown(node, name, value)
        for node in tree.css("[href], [src]")
        for name, value in node.attributes.items()
        if name in ("href", "src") and value is not None
    ]


def _is_own_text(shown: _Shown) -> bool:
    """Whether a link shows its own address."""
    return shown.node.text() == shown.href


def _follows(shown: _Shown) -> bool:
    """Whether a link is made of a heading: the mark behind it, a table of contents."""
    node: LexborNode | None = shown.node
    while node is not None:
        attributes = node.attributes
        if "toc" in (attributes.get("class") or "").split():
            return True
        if attributes.get("id") and shown.href == f"#{attributes['id']}":
            return True
        node = node.parent
    return False


def _leave(
    page: _Page, changed: Mapping[DocsAddress, DocsAddress | None], reasons: Mapping[str, str]
) -> Iterator[LeftLink]:
    """Tell of the links of a page that were found in no file, each address once."""
    numbers = [number for number in page.wanted if number not in page.found]
    if not numbers:
        return
    report = page.page.report
    shown = _read_links(LexborHTMLParser(page.html))
    reason = reasons.get(report.path, _NOT_FOUND)
    for old in dict.fromkeys(page.wanted[n] for n in numbers if not _follows(shown[n])):
        new = find_new(changed, old)
        yield LeftLink(report.path, 1, old, new, _GONE.format(old) if new is None else reason)


# -- files


def _read_files(
    pages: Iterable[_Page], settings: SiteSettings, raw: dict[str, bytes]
) -> dict[str, str]:
    """Read the files of pages that have such links into ``raw``, and those they include.

    Returns the paths of pages whose files may not be changed, each with the reason.
    """
    refused = {}
    project = Path(find_project(settings.folder))
    for each in pages:
        if not each.wanted or each.page.file is None:
            continue
        roots = (each.page.file.parent, *settings.roots)
        waiting, seen = [each.page.file], set()
        while waiting:
            file = waiting.pop()
            real = os.path.realpath(file)
            if real in seen:
                continue
            seen.add(real)
            own = file == each.page.file
            if real not in raw and is_inside(file, settings.docs if own else project):
                problem = read_file(real, raw)
            else:
                problem = "" if real in raw else "is outside the folder of the site"
            if problem:
                refused[each.page.report.path] = f"the file {name_path(file)} {problem}"
                continue
            for directive in find_directives(_decode(raw[real]).split("\n")):
                waiting += find_files(directive, roots)
    return refused


def _decode(raw: bytes) -> str:
    return raw.decode("utf-8-sig")


def _could_lead(destination: Destination, old: Iterable[DocsAddress]) -> bool:
    """Whether a destination could be that of a link to one of some addresses."""
    fragment = destination.fragment
    for address in old:
        if address.fragment != fragment:
            continue
        if fragment:
            return True
        words = address.source.rsplit(".", 1)[0].split("/")[-2:]
        last = posixpath.basename(destination.path.rstrip("/"))
        if destination.path and last.rsplit(".", 1)[0] in ("", ".", "..", *words, *HOMES):
            return True
    return False


@dataclass
class _Search:
    """The search for the links in the files, and what came of it."""

    pages: Mapping[str, _Page]
    changed: Mapping[DocsAddress, DocsAddress | None]
    addresses: DocsAddresses
    raw: Mapping[str, bytes]
    render: Callable[[Mapping[str, bytes]], Mapping[str, RenderedPage]]
    refused: Mapping[str, str]
    left: list[LeftLink] = field(default_factory=list)

    def run(self) -> SiteLinks:
        """Find the links and prove what is to be written."""
        links = self._judge(self._find())
        # Each time there are fewer.
        while links and (harmed := self._prove(links)):
            links = self._refuse(links, harmed)
        self._tell_of_others(links)
        of_file: dict[str, list[Link]] = {}
        for link, candidate in links:
            of_file.setdefault(candidate.file, []).append(link)
        files = [
            LinkedFile(name_path(file), self.raw[file], self._rewrite(file, each), tuple(each))
            for file, each in of_file.items()
        ]
        files.sort(key=lambda file: file.path)
        self.left.sort(key=lambda left: (left.path, left.line, str(left.old)))
        return SiteLinks(files, self.left)

    def _rewrite(self, file: str, links: Iterable[Link]) -> bytes:
        return rewrite(self.raw[file], (link.change for link in links))

    def _find(self) -> list[_Candidate]:
        """Find the destinations that are links, by a mark in each that could be one."""
        old = {address for page in self.pages.values() for address in page.wanted.values()}
        candidates: list[_Candidate] = []
        contents: dict[str, bytes] = {}
        for file, raw in self.raw.items():
            changes = []
            for each in find_destinations(_decode(raw)):
                if _could_lead(each, old):
                    marked = each.with_fragment(f"{_MARK}{len(candidates)}-")
                    changes.append(Change(each.line, each.column, each.text, marked))
                    candidates.append(_Candidate(file, each))
            if changes:
                contents[file] = rewrite(raw, changes)
        if contents:
            for key, page in self.render(contents).items():
                if _MARK in page.html and key in self.pages:
                    self._find_marks(key, page.html, candidates)
        return [candidate for candidate in candidates if candidate.shown]

    def _find_marks(self, key: str, html: str, candidates: Sequence[_Candidate]) -> None:
        """Find out which candidates are links of a page, and which are text of it."""
        # Of a page that is rendered with other links, those are told of that were not found.
        before = _read_links(LexborHTMLParser(self.pages[key].html))
        after = _read_links(LexborHTMLParser(html))
        others = Counter(_MARKED.findall(html))
        if len(before) == len(after):
            for number, (one, other) in enumerate(zip(before, after, strict=True)):
                mark = _MARKED.search(other.href)
                if mark and one.href.split("#")[0] == other.href.split("#")[0]:
                    candidates[int(mark[1])].shown.append((key, number))
                    others[mark[1]] -= 2 if _is_own_text(other) else 1
        for mark in +others:
            candidates[int(mark)].is_text = True

    def _judge(self, candidates: Iterable[_Candidate]) -> list[tuple[Link, _Candidate]]:
        """Say what is to be written in the place of each destination, if that is certain."""
        links = []
        for candidate in candidates:
            wanted = [pair for pair in candidate.shown if pair[1] in self.pages[pair[0]].wanted]
            if not wanted:
                continue
            for key, number in wanted:
                self.pages[key].found.add(number)
            page = self.pages[wanted[0][0]]
            old = page.wanted[wanted[0][1]]
            new = find_new(self.changed, old)
            spelled = {self._respell(candidate, *pair) for pair in wanted}
            if new is None:
                self._leave(candidate, old, None, _GONE.format(old))
            elif len(wanted) < len(candidate.shown):
                other = next(pair for pair in candidate.shown if pair not in wanted)
                reason = _ELSEWHERE.format(self.pages[other[0]].page.report.path)
                self._leave(candidate, old, new, reason)
            elif candidate.is_text:
                self._leave(candidate, old, new, _IS_TEXT)
            elif None in spelled and self._is_to_move(page):
                self._leave(candidate, old, new, _MOVES)
            elif None in spelled or len(spelled) > 1:
                self._leave(candidate, old, new, _NO_STYLE if None in spelled else _TWO_WAYS)
            else:
                links.append((self._link(candidate, old, new, str(spelled.pop())), candidate))
        return links

    def _link(self, candidate: _Candidate, old: DocsAddress, new: DocsAddress, text: str) -> Link:
        place = candidate.destination
        change = Change(place.line, place.column, place.text, text)
        return Link(name_path(candidate.file), place.line + 1, old, new, change)

    def _leave(
        self, candidate: _Candidate, old: DocsAddress, new: DocsAddress | None, reason: str
    ) -> None:
        line = candidate.destination.line + 1
        self.left.append(LeftLink(name_path(candidate.file), line, old, new, reason))

    def _respell(self, candidate: _Candidate, key: str, number: int) -> str | None:
        page = self.pages[key]
        old = page.wanted[number]
        new = find_new(self.changed, old)
        if new is None:
            return None
        place = candidate.destination
        if self._is_to_move(page) and new.source != old.source and not place.is_absolute:
            # Where it will be relative to is not known to the renderer yet.
            own = not place.written_path and self._is_own(page, new)
            return place.with_fragment(new.fragment) if own else None
        for seat in (page.seat, *self._seats(candidate.file)):
            spelled = self.addresses.respell(place, seat, old, new)
            if spelled is not None:
                return spelled
        return None

    def _is_to_move(self, page: _Page) -> bool:
        new = find_new(self.changed, DocsAddress(page.seat.source))
        return new is not None and new.source != page.seat.source

    def _is_own(self, page: _Page, new: DocsAddress) -> bool:
        """Whether an address is in the page that this page becomes."""
        moved = find_new(self.changed, DocsAddress(page.seat.source))
        return moved == DocsAddress(new.source)

    def _seats(self, file: str) -> Iterator[Seat]:
        """Give the places of a file as a page: some plugins make its links lead from there."""
        for page in self.pages.values():
            if page.page.file is not None and os.path.realpath(page.page.file) == file:
                yield page.seat

    def _prove(self, links: Sequence[tuple[Link, _Candidate]]) -> dict[str, str]:
        """Render the site with the new destinations, and find pages of which more changed."""
        of_file: dict[str, list[Link]] = {}
        numbers: dict[str, set[int]] = {}
        for link, candidate in links:
            of_file.setdefault(candidate.file, []).append(link)
            for key, number in candidate.shown:
                numbers.setdefault(key, set()).add(number)
        after = self.render({file: self._rewrite(file, each) for file, each in of_file.items()})
        harmed = self._compare(after, numbers, self.pages)
        if harmed:
            # Some pages are others each time that they are rendered, or in a copy.
            for key, page in self.render({}).items():
                if key in harmed and page.html != self.pages[key].html:
                    self.pages[key].restless = True
            harmed = self._compare(after, numbers, harmed)
        return harmed

    def _compare(
        self,
        after: Mapping[str, RenderedPage],
        numbers: Mapping[str, set[int]],
        keys: Iterable[str],
    ) -> dict[str, str]:
        return {
            key: _OTHERWISE.format(self.pages[key].page.report.path)
            for key in keys
            if key not in after or not self._is_same(key, after[key].html, numbers.get(key, set()))
        }

    def _is_same(self, key: str, html: str, numbers: set[int]) -> bool:
        """Whether a page is what it was but for some links, and these lead to the new addresses.

        Of a page that never stays what it is only the links are compared.
        """
        page = self.pages[key]
        if not numbers:
            return page.html == html or page.restless
        trees = LexborHTMLParser(page.html), LexborHTMLParser(html)
        before, after = map(_read_links, trees)
        if len(before) != len(after):
            return False
        for number in numbers:
            one, other = before[number], after[number]
            new = find_new(self.changed, page.wanted[number])
            if new is not None and self._is_own(page, new):
                new = DocsAddress(page.seat.source, new.fragment)
            if self.addresses.read(other.href, page.seat) != new:
                return False
            for shown in (one, other):
                if _is_own_text(shown):
                    shown.node.inner_html = ""
                shown.node.attrs[shown.attribute] = ""
        if page.restless:
            before, after = map(_read_links, trees)
            return [shown.href for shown in before] == [shown.href for shown in after]
        return trees[0].html == trees[1].html

    def _refuse(
        self, links: Sequence[tuple[Link, _Candidate]], harmed: Mapping[str, str]
    ) -> list[tuple[Link, _Candidate]]:
        """Leave the links alone that are shown in pages that came to harm."""
        kept = []
        for link, candidate in links:
            key = next((key for key, _ in candidate.shown if key in harmed), None)
            if key is None:
                kept.append((link, candidate))
            else:
                self._leave(candidate, link.old, link.new, harmed[key])
        if len(kept) == len(links):  # what does the harm is not shown where it is done
            reason = next(iter(harmed.values()))
            for link, candidate in kept:
                self._leave(candidate, link.old, link.new, reason)
            return []
        return kept

    def _tell_of_others(self, links: Iterable[tuple[Link, _Candidate]]) -> None:
        located = Counter(link.old for link, _ in links)
        for page in self.pages.values():
            for left in _leave(page, self.changed, self.refused):
                # A page that a plugin makes of others gets its links from them.
                if page.page.file is not None or left.old not in located:
                    self.left.append(left)
