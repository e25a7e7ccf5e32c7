"""The sources of a site as `history.py` edits them, and its ledger of what became of what.

Nothing here asks the product: pages are read and written as Markdown, their addresses are
made by the rules of MkDocs, and every edit says itself what it moved and what it took away.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_HEADING = re.compile(r"(#{1,6})\s+(.*?)\s*<#([^<>\s]+)>\s*")
_ID = re.compile(r"<#([^<>\s]+)>\s*$")
_FENCE = re.compile(r"([ >]*)(?:[-*] +)?(`{3,}|~{3,})([^`]*)")
_INCLUDE = re.compile(r"\{!\s*docs/(.+?)\s*!\}")
_PAGE_ID = re.compile(r"^page_id: *(\S+)$", re.MULTILINE)


@dataclass
class Section:
    """A section of a page: its heading line, and the lines below it."""

    level: int
    title: str
    section_id: str
    body: list[str]

    def write(self) -> list[str]:
        """Give all of its lines."""
        return [f"{'#' * self.level} {self.title} <#{self.section_id}>", *self.body]


@dataclass
class Page:
    """A page: its path in the docs folder, the lines before its first section, its sections.

    ``ids`` maps each section id in it to its file and line (from 1), what it includes counted.
    ``plain``: every section begins with a heading line of level 2 to 6 of its own file.
    """

    path: str
    head: list[str]
    sections: list[Section]
    ids: dict[str, tuple[str, int]] = field(default_factory=dict)
    plain: bool = True

    @property
    def page_id(self) -> str:
        """Its page id: what its front matter says, else its path."""
        written = _PAGE_ID.search("\n".join(self.head)) if self.head[:1] == ["---"] else None
        return written[1] if written else make_page_id(self.path)

    @property
    def url(self) -> str:
        """Its URL, relative to the site."""
        url = make_page_id(self.path)
        return "" if url == "index" else f"{url}/"

    def referent(self, section: Section) -> str:
        """Name one of its sections."""
        return f"{self.page_id}#{section.section_id}"

    def span(self, number: int) -> int:
        """Give the end of the section with a number and of those below it."""
        level = self.sections[number].level
        end = number + 1
        while end < len(self.sections) and self.sections[end].level > level:
            end += 1
        return end

    def write(self, docs: Path) -> None:
        """Write it into the docs folder."""
        lines = self.head + [line for section in self.sections for line in section.write()]
        path = docs / self.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(lines).rstrip("\n") + "\n", encoding="utf-8")


class Place(NamedTuple):
    """Where a referent is: the URL of its page, its file in the docs folder, and its line."""

    url: str
    path: str
    line: int


def make_page_id(path: str) -> str:
    """Give the page id of a path in the docs folder."""
    stem = path.removesuffix(".md")
    folder, _, name = stem.rpartition("/")
    return (folder or "index") if name in ("index", "README") else stem


def read_page(docs: Path, path: str) -> Page:
    """Read a page of the docs folder, with what it includes."""
    page = Page(path, [], [])
    lines = (docs / path).read_text(encoding="utf-8").split("\n")
    current, fence = page.head, ("", "")
    for number, line in enumerate(lines, 1):
        marks = _FENCE.match(line)
        if marks and not fence[1]:
            fence = (marks[1], marks[2])
        elif marks and not marks[3].strip() and (marks[1], marks[2][: len(fence[1])]) == fence:
            fence = ("", "")
        written = None if fence[1] else _ID.search(line)
        heading = _HEADING.fullmatch(line) if written else None
        included = _INCLUDE.search(line)
        if included and (docs / included[1]).is_file():
            page.ids.update(read_page(docs, included[1]).ids)
        page.plain = page.plain and not included
        if written:
            page.ids[written[1]] = (path, number)
            page.plain = page.plain and heading is not None and len(heading[1]) > 1
        if heading:
            section = Section(len(heading[1]), heading[2], heading[3], [])
            page.sections.append(section)
            current = section.body
        else:
            current.append(line)
    return page


def read_pages(docs: Path) -> dict[str, Page]:
    """Read all pages of the docs folder, by path."""
    paths = sorted(path.relative_to(docs).as_posix() for path in docs.rglob("*.md"))
    return {path: read_page(docs, path) for path in paths}


def list_places(pages: Mapping[str, Page]) -> dict[str, Place]:
    """List the referents of the sources, each with its place."""
    places = {}
    for page in pages.values():
        places[page.page_id] = Place(page.url, page.path, 1)
        for section_id, (path, line) in page.ids.items():
            places[f"{page.page_id}#{section_id}"] = Place(page.url, path, line)
    return places


@dataclass
class Change:
    """What a commit does to referents: those that move, and those that go, with the reason.

    ``said`` are those that the register has learnt already.
    """

    what: str
    moved: dict[str, str] = field(default_factory=dict)
    retired: dict[str, str] = field(default_factory=dict)
    said: dict[str, str] = field(default_factory=dict)


@dataclass
class Ledger:
    """What became of every referent that was ever published.

    ``now`` maps each to today's referent, ``reasons`` each that is gone to the reason.
    ``places`` are those of the last commit; ``addresses`` those of the first.
    """

    now: dict[str, str]
    places: dict[str, Place]
    addresses: dict[str, Place]
    reasons: dict[str, str] = field(default_factory=dict)

    def record(self, change: Change, places: dict[str, Place]) -> None:
        """Take a commit down, after which ``places`` are published."""
        for referent, end in list(self.now.items()):
            if end in change.retired:
                self.reasons[referent] = change.retired[end]
                del self.now[referent]
            else:
                self.now[referent] = change.moved.get(end, end)
        self.now.update({each: each for each in places})
        self.places = places
        lost = {end for end in self.now.values() if end not in places}
        if lost:
            raise SystemExit(f"the ledger is wrong: {change.what} leaves {sorted(lost)}")


def begin_ledger(places: dict[str, Place]) -> Ledger:
    """Begin the ledger with the first commit."""
    return Ledger({each: each for each in places}, places, places)
