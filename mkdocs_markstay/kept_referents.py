"""The referents that a site publishes, compared with the register of all that it ever published."""

from __future__ import annotations

import shlex
from collections import defaultdict
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


_SHOWN = 3
_MANY = 10
"""Of more blocks of a page than these, one finding tells."""


def check_referents(
    register: Register,
    places: Mapping[str, PublishedPlace],
    digests: Mapping[str, str],
    followed: Mapping[str, str],
) -> list[Finding]:
    """Find what the register says to be published and is not, and the reverse.

    ``places`` is what is published, by referent; ``digests`` are those of the published
    sections' texts, as far as they are known, by referent. In the register, blocks that have
    moved have done so already: ``followed`` are these (see `kept_blocks`).
    """
    lost = _find_lost(register, places)
    findings = list(_check_again(register, places))
    if lost:
        entries = register.entries.values()
        known = {e.referent for e in entries if e.state == LIVE} & places.keys()
        nearest = Nearest(places, known, digests, lost, followed)
        teller = _Lost(register, places, nearest, known)
        findings += teller.tell([entry for entry in lost if not entry.of_block])
        findings += teller.tell_blocks([entry for entry in lost if entry.of_block])
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


def check_new(
    register: Register, places: Mapping[str, PublishedPlace], followed: Mapping[str, str]
) -> list[Finding]:
    """Find what a current register would have, and this one has not.

    ``followed`` are the blocks that have moved, and that the register has elsewhere still.
    """
    findings: list[Finding] = []
    if not register.exists:
        message = f"there is no {NAME} yet. Run: {register.command}"
        return [Finding(register.shown, 1, "unregistered", message)]
    findings += _check_new_blocks(register, places, followed)
    for referent, place in places.items():
        entry = register.entries.get(referent)
        if place.stay:
            continue
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


def _check_new_blocks(
    register: Register, places: Mapping[str, PublishedPlace], followed: Mapping[str, str]
) -> Iterator[Finding]:
    went: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for old, new in followed.items():
        went[places[new].report.page_id].append((old, new))
    for each in went.values():
        many = len(each) > _MANY
        for old, new in each[:1] if many else each:
            is_now = f"is {show(new)} now" if new != old else "is published again"
            rest = f", and so are {len(each) - 1} others on this page" if many else ""
            message = f"{show(old)} {is_now}, by its marker{rest}. Run: {register.command}"
            yield Finding(places[new].path, places[new].line, "unregistered", message)
    moved = set(followed.values())
    pages: dict[str, list[PublishedPlace]] = defaultdict(list)
    for referent, place in places.items():
        if place.stay and referent not in register.entries and referent not in moved:
            pages[place.report.page_id].append(place)
    for blocks in pages.values():
        many = len(blocks) > _MANY
        for place in blocks[:1] if many else blocks:
            others = f" and the anchors of {len(blocks) - 1} other blocks of this page are"
            are = others if many else " is"
            message = f"{show(place.referent)}{are} not in {NAME}. Run: {register.command}"
            yield Finding(place.path, place.line, "unregistered", message)


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
        named = "marker" if place.stay else "heading"
        other = f"give the {named} another id" if entry.section_id else "rename the file"
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

    def tell_blocks(self, lost: Sequence[Entry]) -> Iterator[Finding]:
        """Tell of the anchors of blocks, of many at once: their markers are in the sources."""
        if self._has_no_anchors(len(lost)):
            yield self._tell_all(lost)
            return
        pages: dict[str, list[Entry]] = defaultdict(list)
        for entry in lost:
            pages[entry.page_id].append(entry)
        for page_id, entries in pages.items():
            page = self.register.entries.get(page_id)
            without_page = page is not None and page.state == LIVE and page_id not in self.places
            if without_page or len(entries) > _MANY:
                yield self._tell_many(page_id, entries, without_page=without_page)
                continue
            for entry in entries:
                steps = self._name_steps(entry, self.nearest.find(entry))
                what = f"{show(entry.referent)}, the anchor of a block ({self._line_of(entry)}),"
                yield self._make_block_finding(
                    entry, f"{what} was published and is not any more{steps}"
                )

    def _has_no_anchors(self, lost: int) -> bool:
        """Whether the site has none at all, because they are switched off or their markers are."""
        if not lost or any(place.stay for place in self.places.values()):
            return False
        pages = [place for place in self.places.values() if not place.section_id]
        return lost > _MANY or any(place.report.stays for place in pages)

    def _tell_all(self, lost: Sequence[Entry]) -> Finding:
        first = lost[0]
        message = (
            f"{len(lost):,} anchors of blocks ({show(first.referent)} is the first) were published,"
            " and this site has no anchors of blocks any more. Set stay_anchors: true, and let"
            " pages keep their markers. If they are gone for good, run:"
            f" {self.register.name('retire')} --stays --reason '...'"
        )
        return Finding(
            self.register.shown, self.register.lines[first.referent], "lost-referent", message
        )

    def _tell_many(self, page_id: str, entries: Sequence[Entry], *, without_page: bool) -> Finding:
        first = entries[0]
        names = ", ".join(show(entry.referent) for entry in entries[:_SHOWN])
        more = f" and {len(entries) - _SHOWN} more" if len(entries) > _SHOWN else ""
        what = f"the anchors of blocks {names}{more} ({self._line_of(first)}) were published"
        retire = f"{self.register.name('retire')} {shlex.quote(page_id)} --stays --reason '...'"
        if without_page:
            page = f"{self.register.shown}:{self.register.lines[page_id]}"
            message = (
                f"{what} and are not any more, nor is their page: see {page}. Its command takes"
                " along those that are where it is now"
            )
        else:
            message = (
                f"{what} and are not any more. Put their markers back. If they are gone for good,"
                f" run: {retire}"
            )
        return self._make_block_finding(first, message)

    def _make_block_finding(self, entry: Entry, message: str) -> Finding:
        page = self.places.get(entry.page_id)
        if page is not None:
            return Finding(page.path, 1, "lost-referent", message)
        line = self.register.lines[entry.referent]
        return Finding(self.register.shown, line, "lost-referent", message)

    def _line_of(self, entry: Entry) -> str:
        return f"{self.register.shown}:{self.register.lines[entry.referent]}"

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
        steps = ["Put its marker back" if entry.of_block else "Put it back"]
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
