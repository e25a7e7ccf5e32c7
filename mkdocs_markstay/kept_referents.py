"""The referents that a site publishes, compared with the register of all that it ever published."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from mkdocs_markstay.findings import Finding
from mkdocs_markstay.nearest import Nearest
from mkdocs_markstay.register import LIVE, MOVED, NAME
from mkdocs_markstay.sectionids import show

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mkdocs_markstay.nearest import Candidate
    from mkdocs_markstay.published_places import PublishedPlace
    from mkdocs_markstay.register import Entry, Register


def check_referents(
    register: Register, places: Mapping[str, PublishedPlace], digests: Mapping[str, str]
) -> list[Finding]:
    """Find what the register says to be published and is not, and the reverse.

    ``places`` is what is published, by referent; ``digests`` are those of the published
    sections' texts, as far as they are known, by referent.
    """
    entries = register.entries
    lost = [e for e in entries.values() if e.state == LIVE and e.referent not in places]
    findings = list(_check_again(register, places))
    if lost:
        known = {e.referent for e in entries.values() if e.state == LIVE} & places.keys()
        nearest = Nearest(places, known, digests, lost)
        pages = {entry.referent for entry in lost if not entry.section_id}
        findings += (_tell_lost(register, entry, nearest, pages, places) for entry in lost)
    return findings


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
        other = "give the heading another id" if entry.section_id else "name the page otherwise"
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


def _tell_lost(
    register: Register,
    entry: Entry,
    nearest: Nearest,
    lost_pages: set[str],
    places: Mapping[str, PublishedPlace],
) -> Finding:
    title = f" ({show(entry.title)})" if entry.title else ""
    what = f"{show(entry.referent)}{title} was published and is not any more"
    page = places.get(entry.page_id)
    with_page = bool(entry.section_id) and entry.page_id in lost_pages
    if with_page:
        what += f", nor is its page: see line {register.lines[entry.page_id]}"
    elif entry.section_id and page is not None:
        what += f"; its page is {page.path}"
    candidates = nearest.find(entry)
    steps = ["Put it back"]
    if candidates:
        steps.append(_name_move(register, entry, candidates))
    elif not with_page:
        move = f"{register.name('move')} {shlex.quote(entry.referent)} NEW-REFERENT"
        steps.append(f"If it is elsewhere now, run: {move}")
    retire = f"{register.name('retire')} {shlex.quote(entry.referent)} --reason '...'"
    steps.append(f"If it is gone for good, run: {retire}")
    line = register.lines[entry.referent]
    message = f"{what}. {'. '.join(steps)}"
    return Finding(register.shown, line, "lost-referent", message, heading=entry.title)


def _name_move(register: Register, entry: Entry, candidates: Sequence[Candidate]) -> str:
    first, *others = candidates
    place = first.place
    along = "" if entry.section_id else ", with its sections"
    text = (
        f"If it is now {place.path}:{place.line} ({first.why}){along}, run:"
        f" {register.name('move')} {shlex.quote(entry.referent)} {shlex.quote(place.referent)}"
    )
    if others:
        more = ", ".join(f"{each.place.referent} ({each.why})" for each in others)
        text += f" (or {more})"
    return text
