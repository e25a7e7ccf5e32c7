"""Where old addresses land: anchors and notes in pages, and pages in the place of old ones.

Everything that an old address leads to is a referent of this site, as its register says.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mkdocs_markstay.findings import Finding
from mkdocs_markstay.heading_html import read_title
from mkdocs_markstay.identity import STAY_PREFIX
from mkdocs_markstay.register import LIVE, MOVED, RETIRED
from mkdocs_markstay.sectionids import show
from mkdocs_markstay.site_addresses import Address

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mkdocs_markstay.page_report import PageReport
    from mkdocs_markstay.published_places import PublishedPlace
    from mkdocs_markstay.register import Entry, Register
    from mkdocs_markstay.site_addresses import Addresses


@dataclass(frozen=True)
class Note:
    """What is said at an old address: ``text``, and where it leads to, if anywhere.

    ``of_block``: a block was there, not a section; ``title`` is then that of its new page.
    """

    fragment: str
    title: str
    to: Address | None
    text: str = ""
    of_block: bool = False


@dataclass
class OldPage:
    """A page that stands in the place of one that is gone."""

    title: str
    to: Address | None
    text: str = ""
    notes: list[Note] = field(default_factory=list)


@dataclass
class Landings:
    """Where old addresses of a site land.

    ``anchors`` are, for each file of a page, further ids of its sections (section id, and
    the old one); ``notes`` what is said in a page that is still there, ``pages`` are to be
    published, by their files.
    """

    anchors: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    notes: dict[str, list[Note]] = field(default_factory=dict)
    pages: dict[str, OldPage] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    def add(self, other: Landings) -> None:
        """Add those of another language."""
        self.anchors |= other.anchors
        self.notes |= other.notes
        self.pages |= other.pages


def plan_landings(
    register: Register,
    places: Mapping[str, PublishedPlace],
    addresses: Addresses,
    contents: Mapping[str, str | None],
    occupied: Iterable[str],
) -> Landings:
    """Find where each old address lands.

    ``places`` are the published referents of one language; ``contents`` are those of all
    pages, by file, as far as they are known, ``occupied`` the files of the site that exist
    without us. What leads nowhere has its own finding elsewhere.
    """
    return _Planner(register, places, addresses, contents, occupied).plan()


class _Planner:
    def __init__(
        self,
        register: Register,
        places: Mapping[str, PublishedPlace],
        addresses: Addresses,
        contents: Mapping[str, str | None],
        occupied: Iterable[str],
    ) -> None:
        self.register, self.places, self.addresses = register, places, addresses
        self.contents = contents
        self.ends = register.follow_all()
        self.occupied = set(occupied)
        self.page_of: dict[str, Entry] = {}
        self.page_at = {p.report.target: p for p in places.values() if not p.section_id}
        self.landings = Landings()

    def plan(self) -> Landings:
        entries = [entry for _, entry in sorted(self.register.entries.items())]
        for entry in entries:
            if not entry.section_id:
                self.plan_page(entry)
        for entry in entries:
            if entry.section_id and entry.state != LIVE:
                self.plan_section(entry)
        return self.landings

    def plan_page(self, entry: Entry) -> None:
        end = self.ends[entry.referent]
        if end is None or (entry.state != LIVE and entry.referent in self.places):
            return
        to = self.find(end)
        if end.state == LIVE and to is None:
            return  # not published in this language, or lost
        for path in entry.paths:
            target = self.addresses.file_of(path)
            if to is not None and (
                target == to.target or path == self.places[end.page_id].site_path
            ):
                continue
            if target in self.contents and target not in self.page_at:
                continue  # a page that is left out, or made: its address goes on working
            if target in self.page_at or target in self.occupied:
                self.tell_taken(entry, target)
            else:
                text = end.detail if end.state == RETIRED else ""
                title = self.title_of(end) if end.state == LIVE else entry.title
                self.add_page(entry, path, OldPage(title, to, text))

    def add_page(self, entry: Entry, path: str, page: OldPage) -> None:
        target = self.addresses.file_of(path)
        there = self.landings.pages.setdefault(target, page)
        first = self.page_of.setdefault(target, entry)
        if (there.to, there.text) == (page.to, page.text):
            return
        message = (
            f"{show(entry.referent)} and {show(first.referent)}"
            f" ({self.register.shown}:{self.register.lines[first.referent]}) were both published"
            f" at {show(path)}, and lead elsewhere now. Remove the path from one of the lines"
        )
        line = self.register.lines[entry.referent]
        self.landings.findings.append(Finding(self.register.shown, line, "address-taken", message))

    def plan_section(self, entry: Entry) -> None:
        end = self.ends[entry.referent]
        if end is None or entry.referent in self.places:
            return
        to = self.find(end)
        if end.state == LIVE and to is None:
            return
        for target in self.files_of(entry.page_id):
            if to is not None and to.target == target:
                if to.fragment != entry.section_id:
                    old = (to.fragment, entry.section_id)
                    anchors = self.landings.anchors.setdefault(target, [])
                    anchors += [old] if old not in anchors else []
                continue
            title = self.title_of(end) if end.state == LIVE else entry.title
            text = end.detail if end.state == RETIRED else ""
            note = Note(entry.section_id, title, to, text, self.is_block(entry, end))
            if target in self.landings.pages:
                page = self.landings.pages[target]
                # The page takes every section id along, unless it leads to a section itself.
                along = None if page.to is None else page.to._replace(fragment=entry.section_id)
                if page.to is None or page.to.fragment or to != along:
                    _add_note(page.notes, note)
            elif target in self.page_at:
                _add_note(self.landings.notes.setdefault(target, []), note)

    def files_of(self, page_id: str) -> list[str]:
        """List the files at which sections of a page were: as it is, and as it was."""
        page = self.places.get(page_id)
        files = [page.report.target] if page is not None else []
        entry = self.register.entries.get(page_id)
        if entry is not None:
            files += map(self.addresses.file_of, entry.paths)
        return list(dict.fromkeys(files))

    def find(self, end: Entry) -> Address | None:
        """Find the address of a live referent."""
        place = self.places.get(end.referent) if end.state == LIVE else None
        return None if place is None else Address(place.report.target, place.section_id)

    def title_of(self, end: Entry) -> str:
        place = self.places[end.referent]
        if place.stay:  # a block has no title, so it is its page that is named
            place = self.places[place.report.page_id]
        content = self.contents.get(place.report.target)
        # Of what readers do not see there is no title.
        shown = read_title(content, place.section_id) if content and place.title else ""
        return shown or place.title or end.title

    def is_block(self, entry: Entry, end: Entry) -> bool:
        """Whether an old address was that of a block, as far as it can be told."""
        if end.state == LIVE:
            return bool(self.places[end.referent].stay)
        # The line of what is gone says no more than its referent.
        return entry.section_id.startswith(STAY_PREFIX) and not entry.title

    def tell_taken(self, entry: Entry, target: str) -> None:
        became = f"was moved to {show(entry.detail)}"
        became = {MOVED: became, RETIRED: "was retired"}.get(entry.state, "was there before")
        line = self.register.lines[entry.referent]
        there = self.page_at.get(target)
        if there is None:
            message = (
                f"{show(target)} is another file of the site, at an old address of"
                f" {show(entry.referent)}, which {became}. Rename the file"
            )
            finding = Finding(self.register.shown, line, "address-taken", message)
        else:
            message = (
                f"this page is published at an old address of {show(entry.referent)}, which"
                f" {became} ({self.register.shown}:{line}). Rename the file"
            )
            finding = Finding(there.path, 1, "address-taken", message)
        if finding not in self.landings.findings:
            self.landings.findings.append(finding)


def _add_note(notes: list[Note], note: Note) -> None:
    """Add a note, unless another referent, as of a page with another id, had that address."""
    if all(each.fragment != note.fragment for each in notes):
        notes.append(note)


def check_anchors(
    landings: Landings, target: str, path: str, lines: Mapping[str, int], ids: Iterable[str]
) -> list[Finding]:
    """Find old ids that something else in their page has, and take them out of the plan.

    ``path`` is the page, ``lines`` its sections, ``ids`` are all in its content.
    """
    taken = set(ids)
    anchors = landings.anchors.get(target, [])
    notes = landings.notes.get(target, [])
    findings = []
    for old in sorted({old for _, old in anchors} | {note.fragment for note in notes}):
        if old in taken:
            message = (
                f"{show(old)} is the id of something in this page, and the register keeps it for a"
                " section that had it once. Change the id of the other element"
            )
            findings.append(Finding(path, lines.get(old, 1), "alias-taken", message))
    landings.anchors[target] = [pair for pair in anchors if pair[1] not in taken]
    landings.notes[target] = [note for note in notes if note.fragment not in taken]
    return findings


def find_prefix(reports: Iterable[PageReport], originals: Mapping[str, str]) -> str | None:
    """Find the folder of the site in which the pages of a language are, such as `de/`.

    ``originals`` are the files of the pages in the default language, by page id. None if
    the pages are not in one folder as the originals are in the site.
    """
    prefixes: Counter[str] = Counter()
    for report in reports:
        original = originals.get(report.page_id)
        if original is not None and report.target.endswith(original):
            prefixes[report.target.removesuffix(original)] += 1
    return prefixes.most_common(1)[0][0] if prefixes else None


def check_redirects(
    landings: Landings, addresses: Addresses, redirected: Mapping[str, int], path: str
) -> list[Finding]:
    """Find old addresses that mkdocs-redirects leads somewhere, too.

    ``redirected`` are the sources that it names, with their lines in the file ``path``.
    """
    findings = []
    for source, line in redirected.items():
        page, _, fragment = source.partition("#")
        stem = page.rpartition(".")[0] or page
        folder, slash, name = stem.rpartition("/")
        target = addresses.file_of(folder + slash + ("index" if name == "README" else name))
        notes = [*landings.notes.get(target, ())]
        if target in landings.pages:
            notes += landings.pages[target].notes
        here = any(note.fragment == fragment for note in notes)
        if here or (not fragment and target in landings.pages):
            message = (
                f"mkdocs-redirects and the register both say where {show(source)} leads. Remove"
                " it here, or its line there"
            )
            findings.append(Finding(path, line, "redirected-twice", message))
    return findings
