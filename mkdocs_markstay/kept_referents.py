"""The referents that a site publishes, compared with the register of all that it ever published."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from mkdocs_markstay.findings import Finding
from mkdocs_markstay.nearest import Nearest
from mkdocs_markstay.parity import propose_line
from mkdocs_markstay.register import LIVE, MOVED, NAME
from mkdocs_markstay.sectionids import show

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from mkdocs_markstay.nearest import Candidate
    from mkdocs_markstay.outlines import OutlineHeading
    from mkdocs_markstay.published_places import PublishedPlace
    from mkdocs_markstay.register import Entry, Register


def check_referents(
    register: Register, places: Mapping[str, PublishedPlace], digests: Mapping[str, str]
) -> list[Finding]:
    """Find what the register says to be published and is not, and the reverse.

    ``places`` is what is published, by referent; ``digests`` are those of the published
    sections' texts, as far as they are known, by referent.
    """
    lost = _find_lost(register, places)
    findings = list(_check_again(register, places))
    if lost:
        entries = register.entries.values()
        known = {e.referent for e in entries if e.state == LIVE} & places.keys()
        nearest = Nearest(places, known, digests, lost)
        findings += _Lost(register, places, nearest, known).tell(lost)
    return findings


def check_erased(register: Register, places: Mapping[str, PublishedPlace]) -> list[Finding]:
    """Find headings that have lost the id that the register has: what to write there.

    The findings are such that `parity.join_missing` puts them in the place of others.
    """
    findings = []
    for entry in _find_lost(register, places):
        heading = _find_erased(entry, places)
        if heading is not None:
            message = (
                f"heading {show(heading.title)} has no section id, and"
                f" {show(entry.referent)} with this title is missing. If it is the same:"
                f" {propose_line(heading, entry.section_id)}"
            )
            path, line = heading.path, heading.line
            findings.append(Finding(path, line, "missing-id", message, heading=heading.title))
    return findings


def _find_lost(register: Register, places: Mapping[str, PublishedPlace]) -> list[Entry]:
    entries = register.entries.values()
    return [e for e in entries if e.state == LIVE and e.referent not in places]


def _find_erased(entry: Entry, places: Mapping[str, PublishedPlace]) -> OutlineHeading | None:
    """Find the one heading of an entry's page that has its title, and no id."""
    page = places.get(entry.page_id)
    if page is None or not entry.section_id or not entry.title:
        return None
    same = [h for h in page.report.outline if h.title == entry.title]
    return same[0] if len(same) == 1 and not same[0].section_id else None


def check_new(register: Register, places: Mapping[str, PublishedPlace]) -> list[Finding]:
    """Find what a current register would have, and this one has not."""
    findings: list[Finding] = []
    if not register.exists:
        message = f"there is no {NAME} yet. Run: {register.command}"
        return [Finding(register.shown, 1, "unregistered", message)]
    for referent, place in places.items():
        entry = register.entries.get(referent)
        if entry is None:
            message = f"{show(referent)} is not in {NAME}. Run: {register.command}"
            findings.append(
                Finding(place.path, place.line, "unregistered", message, heading=place.title)
            )
        elif not place.section_id and entry.state == LIVE and place.site_path != entry.paths[0]:
            message = (
                f"{show(referent)} was at {show(entry.paths[0])} and is now at"
                f" {show(place.site_path)}. Run: {register.command}"
            )
            line = register.lines[referent]
            findings.append(Finding(register.shown, line, "unregistered", message))
    if not register.tidy and not register.findings:
        message = f"the lines are not in order. Run: {register.command}"
        findings.append(Finding(register.shown, 1, "unregistered", message))
    return findings


def check_forgotten(register: Register, before: Register, revision: str) -> list[Finding]:
    """Find what an older state of the register has, and this one has not."""
    return [
        Finding(
            register.shown,
            1,
            "forgotten-referent",
            f"the line of {show(referent)} was there in {revision} and is not any more, so its old"
            f" address is lost. Put it back: {entry.to_line()}",
            heading=entry.title,
        )
        for referent, entry in before.entries.items()
        if referent not in register.entries
    ]


def _check_again(register: Register, places: Mapping[str, PublishedPlace]) -> Iterator[Finding]:
    for referent, entry in register.entries.items():
        place = places.get(referent)
        if entry.state == LIVE or place is None:
            continue
        line = register.lines[referent]
        became = f"moved to {show(entry.detail)}" if entry.state == MOVED else "retired"
        other = "give the heading another id" if entry.section_id else "rename the file"
        message = (
            f"{show(referent)} is published, and {register.shown}:{line} says that it was"
            f" {became}. If it is another text, {other}; if it is the same again,"
            f" run: {_name_return(register, entry, places)}"
        )
        yield Finding(place.path, place.line, "published-again", message, heading=place.title)


def _name_return(
    register: Register,
    entry: Entry,
    places: Mapping[str, PublishedPlace],
) -> str:
    """Give the command that makes a referent live again."""
    end = register.follow(entry.referent)
    if end is not None and end.state == LIVE and end.referent not in places:
        # It went back, and with it what it was moved to.
        moves = f"{shlex.quote(end.referent)} {shlex.quote(entry.referent)}"
        return f"{register.name('move')} {moves}"
    page = register.entries.get(entry.page_id)
    whole = page is not None and page.state != LIVE and page.referent in places
    back = entry.page_id if whole else entry.referent
    return f"{register.name('restore')} {shlex.quote(back)}"


class _Lost:
    """Tells what is published no more, with the ways to repair it."""

    def __init__(
        self,
        register: Register,
        places: Mapping[str, PublishedPlace],
        nearest: Nearest,
        known: Collection[str],
    ) -> None:
        self.register, self.places, self.nearest, self.known = register, places, nearest, known

    def tell(self, lost: Sequence[Entry]) -> Iterator[Finding]:
        found = {entry.referent: self.nearest.find(entry) for entry in lost}
        for entry in lost:
            line = self.register.lines[entry.referent]
            page = self.places.get(entry.page_id)
            # The page is what its author has changed; the register says what was there.
            title = f"{show(entry.title)}, " if entry.title else ""
            what = f"{show(entry.referent)} ({title}{self.register.shown}:{line}) was published"
            path, line = (self.register.shown, line) if page is None else (page.path, 1)
            whole = found.get(entry.page_id) if entry.section_id else None
            if whole is not None:
                steps = self._name_with_page(entry, found[entry.referent], whole)
            else:
                steps = self._name_steps(entry, found[entry.referent])
            message = f"{what} and is not any more{steps}"
            yield Finding(path, line, "lost-referent", message, heading=entry.title)

    def _name_with_page(
        self, entry: Entry, candidates: Sequence[Candidate], whole: Sequence[Candidate]
    ) -> str:
        """Say what to do about a section whose page is lost as well."""
        line = self.register.lines[entry.page_id]
        says = f", nor is its page: see {self.register.shown}:{line}"
        page_id = whole[0].place.report.page_id if whole else ""
        along = f"{page_id}#{entry.section_id}"
        if along in self.places and along not in self.known:
            return f"{says}. Its command takes this along"
        return says + self._name_steps(entry, candidates, with_page=True)

    def _name_steps(
        self, entry: Entry, candidates: Sequence[Candidate], *, with_page: bool = False
    ) -> str:
        steps = ["Put it back"]
        quoted = shlex.quote(entry.referent)
        heading = _find_erased(entry, self.places)
        if heading is not None:
            steps = [f"Its heading at {heading.place} has no id: write it there again"]
        elif candidates:
            steps.append(self._name_move(entry, candidates))
        elif not with_page:
            move = f"{self.register.name('move')} {quoted} NEW-REFERENT"
            steps.append(f"If it is elsewhere now, run: {move}")
        retire = f"{self.register.name('retire')} {quoted} --reason '...'"
        return ". ".join(["", *steps, f"If it is gone for good, run: {retire}"])

    def _name_move(self, entry: Entry, candidates: Sequence[Candidate]) -> str:
        first, *others = candidates
        place = first.place
        along = "" if entry.section_id else ", with its sections"
        text = (
            f"If it is now {place.path}:{place.line} ({first.why}){along}, run:"
            f" {self.register.name('move')} {shlex.quote(entry.referent)}"
            f" {shlex.quote(place.referent)}"
        )
        if others:
            more = ", ".join(f"{each.place.referent} ({each.why})" for each in others)
            text += f" (or {more})"
        return text
