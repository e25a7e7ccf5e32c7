"""The register of all referents that were ever published: `markstay.lock`.

One line for each, a JSON array of texts: referent, state, last known title, and what the
state needs. Sorted by referent, without counters and times, so that version control can
merge what two branches add.

    # markstay register, version 1
    ["guide/install", "live", "Install", "guide/install"]
    ["guide/install#old", "moved", "Setup", "guide/install#setup"]
    ["guide/install#setup", "live", "Setup", "3f9a1c2b4d5e"]
    ["guide/install#stay-8f24", "live", "", "block"]
    ["guide/old", "retired", "Old page", "The feature was removed in 3.0.", "guide/old"]

A live section ends with the digest of its text when the line was written, "" if it had
none; the anchor of a marked block, which is a referent, too, with "block". A page ends with
its paths in the site, without `.html`: today's, then former ones.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from mkdocs_markstay.findings import Finding, name_command, name_path
from mkdocs_markstay.sectionids import show
from mkdocs_markstay.whole_file import write_file

if TYPE_CHECKING:
    from collections.abc import Iterator

NAME = "markstay.lock"
"""The file, beside the configuration of the site."""

VERSION = 1
"""The version of its form."""

LIVE, MOVED, RETIRED = "live", "moved", "retired"

BLOCK = "block"
"""What stands in the place of the digest where a live referent is the anchor of a block."""

_HEADER = f"# markstay register, version {VERSION}"
_HEADERS = re.compile(r"# markstay register, version ([1-9][0-9]{0,8})")
_CONFLICT = re.compile(r"(?:<{7}|>{7}|\|{7}|={7})(?: .*)?")
_DIGEST = re.compile(r"(?:[0-9a-f]{12})?")
# What leads out of a folder; elsewhere these are characters like others.
_UNSAFE = "\\:" if os.name == "nt" else ""


class Entry(NamedTuple):
    """One line of the register.

    ``detail`` is "" for what is live, the referent that it was moved to, or the reason for
    which it was retired. ``digest`` is a live section's, `BLOCK` for the anchor of a block,
    which has no title; ``paths`` are a page's.
    """

    referent: str
    state: str
    title: str
    detail: str = ""
    digest: str = ""
    paths: tuple[str, ...] = ()

    @property
    def page_id(self) -> str:
        """The page of the referent."""
        return self.referent.partition("#")[0]

    @property
    def section_id(self) -> str:
        """The section id of the referent, or the anchor of its block, "" if it is a page's."""
        return self.referent.partition("#")[2]

    @property
    def of_block(self) -> bool:
        """Whether a live referent is the anchor of a marked block."""
        return self.digest == BLOCK

    def to_line(self) -> str:
        """Give the line, without its end."""
        values = [self.referent, self.state, self.title]
        if self.state != LIVE:
            values.append(self.detail)
        elif self.section_id:
            values.append(self.digest)
        values += self.paths
        line = json.dumps(values, ensure_ascii=False)
        # The name of a file need not be Unicode.
        return line if _is_unicode(line) else json.dumps(values)


def _is_unicode(text: str) -> bool:
    return text.encode("utf-8", "replace").decode() == text


class _LineError(ValueError):
    """A line that is no entry: the message says why."""


def _read_line(line: str) -> Entry:
    try:
        values = json.loads(line)
    except (ValueError, RecursionError):
        raise _LineError('it is not of the form ["referent", "live", "title", ...]') from None
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise _LineError("it is no list of texts")
    if len(values) < 3:
        raise _LineError("it needs a referent, a state and a title")
    referent, state, title, *rest = values
    page_id, mark, section_id = referent.partition("#")
    if not page_id.strip() or (mark and not section_id) or "#" in section_id:
        raise _LineError(f"{show(referent)} is no referent (page, or page#section-id)")
    if state not in (LIVE, MOVED, RETIRED):
        raise _LineError(f"the state {show(state)} is none of {LIVE}, {MOVED} and {RETIRED}")
    detail = digest = ""
    if state != LIVE:
        detail = rest.pop(0) if rest else ""
        if not detail.strip():
            missing = "the referent that it was moved to" if state == MOVED else "the reason"
            raise _LineError(f"{missing} is missing")
    elif section_id:
        digest = rest.pop(0) if rest else ""
        if digest != BLOCK and not _DIGEST.fullmatch(digest):
            raise _LineError(f"{show(digest)} is no digest of 12 hex digits")
    _check_paths(rest, of_page=not section_id)
    return Entry(referent, state, title, detail, digest, tuple(rest))


def _check_paths(paths: list[str], *, of_page: bool) -> None:
    if of_page and not paths:
        raise _LineError("the path of the page in the site is missing")
    if not of_page and paths:
        raise _LineError("it has more texts than the line of a section can have")
    for path in paths:
        if not is_site_path(path):
            raise _LineError(f"{show(path)} is no path of a page in the site")


def is_site_path(path: str) -> bool:
    """Whether a text is the path of a page inside the site."""
    try:
        os.fsencode(path)
    except UnicodeEncodeError:  # no file has such a name
        return False
    parts = path.split("/")
    return not {"", ".", ".."}.intersection(parts) and not set(path) & {"\0", *_UNSAFE}


@dataclass
class Register:
    """The register of a site: its entries by referent, and the line of each (from 1).

    ``shown`` is its path as a person in the current folder would write it, ``command`` the
    command that updates it. ``findings`` are what is wrong with the file. ``exists`` is False
    before the first one is written; ``readable`` if it can be understood at all; ``tidy`` if
    it is written as `to_text` writes it. ``doubles`` are further entries of referents that
    have one, with their lines.
    """

    shown: str
    command: str = "mkdocs-markstay lock"
    exists: bool = False
    readable: bool = True
    tidy: bool = True
    entries: dict[str, Entry] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    doubles: list[tuple[int, Entry]] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    def follow(self, referent: str) -> Entry | None:
        """Find what became of a referent: a live or retired entry.

        None if its moves lead in a circle, or to a referent that is not there.
        """
        seen = set()
        entry = self.entries.get(referent)
        while entry is not None and entry.state == MOVED:
            if entry.referent in seen:
                return None
            seen.add(entry.referent)
            entry = self.entries.get(entry.detail)
        return entry

    def follow_all(self) -> dict[str, Entry | None]:
        """Find what became of every referent, as `follow` does, in linear time."""
        ends: dict[str, Entry | None] = {}
        for referent in self.entries:
            trail: dict[str, None] = {}
            entry = self.entries.get(referent)
            while entry is not None and entry.referent not in trail and entry.referent not in ends:
                trail[entry.referent] = None
                if entry.state != MOVED:
                    ends[entry.referent] = entry
                else:
                    entry = self.entries.get(entry.detail)
            end = None if entry is None else ends.get(entry.referent)
            ends.update(dict.fromkeys(trail, end))
        return ends

    def sections_of(self, page_id: str) -> list[Entry]:
        """List the entries of a page's sections, sorted."""
        return sorted(e for e in self.entries.values() if e.page_id == page_id and e.section_id)

    def copy(self) -> Register:
        """Give a register whose entries can be changed without those of this one."""
        return replace(self, entries={**self.entries}, lines={**self.lines})

    def to_text(self) -> str:
        """Write the register: sorted, each referent once."""
        lines = (entry.to_line() for _, entry in sorted(self.entries.items()))
        return "\n".join([_HEADER, *lines, ""])

    def name(self, command: str) -> str:
        """Give another command of the register, as it has to be typed for this site."""
        return self.command.replace(" lock", f" {command}", 1)


def read_register(config_file: str) -> Register:
    """Read the register of the site with a configuration file; an empty one if there is none."""
    path = find_register(config_file)
    shown, command = name_path(path), name_command("lock", config_file)
    try:
        raw = path.read_bytes()
    except OSError as error:
        if isinstance(error, FileNotFoundError) and not path.is_symlink():
            return Register(shown, command)
        register = Register(shown, command, exists=True, readable=False)
        message = f"{NAME} cannot be read: {error.strerror}. Make it readable"
        register.findings.append(Finding(shown, 1, "bad-register", message))
        return register
    return parse_register(raw, shown, command)


def find_register(config_file: str) -> Path:
    """Name the register of the site with a configuration file."""
    return Path(config_file).absolute().parent / NAME


def write_register(config_file: str, register: Register) -> None:
    """Write the register of a site, whole or not at all. Raises OSError.

    Of a symbolic link the target is written.
    """
    path = os.path.realpath(find_register(config_file))
    write_file(path, [register.to_text().encode()])


def parse_register(raw: bytes, shown: str, command: str = "mkdocs-markstay lock") -> Register:
    """Read the content of a register; what is wrong becomes findings with lines."""
    register = Register(shown, command, exists=True)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        _tell(register, line, f"{NAME} is not UTF-8. Save it as UTF-8")
        register.readable = False
        return register
    lines = [row.strip() for row in text.split("\n")]
    if not _read_header(register, lines):
        return register
    previous = ""
    for number, row in enumerate(lines, 1):
        if not row or _HEADERS.fullmatch(row):
            continue
        if _CONFLICT.fullmatch(row):
            message = (
                "a conflict of version control stands here. Keep the lines of both sides that are"
                f" true, remove this one, and run: {command}"
            )
            _tell(register, number, message)
            continue
        try:
            entry = _read_line(row)
        except _LineError as error:
            _tell(register, number, f"this line is no entry: {error}. Correct it, or remove it")
            continue
        register.tidy = register.tidy and previous < entry.referent
        previous = entry.referent
        _take(register, number, entry)
    unread = bool(register.findings)
    register.tidy = register.tidy and not unread
    register.findings += _check_doubles(register)
    if not unread:  # what is missed may stand in a line that cannot be read
        register.findings += _check_moves(register)
    return register


def _read_header(register: Register, lines: list[str]) -> bool:
    """Read the first line: whether the rest can be read."""
    # A merge may have moved it, or have left two.
    headers = {
        number: found for number, row in enumerate(lines, 1) if (found := _HEADERS.fullmatch(row))
    }
    register.tidy = [*headers] == [1]
    newer = [
        (int(found[1]), number) for number, found in headers.items() if int(found[1]) > VERSION
    ]
    if newer:
        version, number = max(newer)
        register.readable = False
        message = (
            f"{NAME} is of version {version}, and this is made for version {VERSION}."
            " Install a newer mkdocs-markstay"
        )
        _tell(register, number, message)
    elif not headers:
        message = f"the first line does not name the version. Write it there: {_HEADER}"
        _tell(register, 1, message)
    return register.readable


def _tell(register: Register, line: int, message: str) -> None:
    register.findings.append(Finding(register.shown, line, "bad-register", message))


def _take(register: Register, number: int, entry: Entry) -> None:
    """Take an entry; of two of a referent, the one that says what became of it."""
    first = register.entries.get(entry.referent)
    if first is not None and (first.state != LIVE or entry.state == LIVE):
        register.doubles.append((number, entry))
        return
    if first is not None:
        register.doubles.append((register.lines[entry.referent], first))
    register.entries[entry.referent] = entry
    register.lines[entry.referent] = number


def is_contradiction(first: Entry, second: Entry) -> bool:
    """Whether two entries of one referent cannot both be true, so that a person must choose."""
    both_settled = LIVE not in (first.state, second.state)
    return both_settled and (first.state, first.detail) != (second.state, second.detail)


def _check_doubles(register: Register) -> Iterator[Finding]:
    for number, entry in register.doubles:
        kept = register.lines[entry.referent]
        earlier, later = sorted((kept, number))
        what = f"{show(entry.referent)} stands here and on line {earlier}"
        if is_contradiction(register.entries[entry.referent], entry):
            says = {kept: register.entries[entry.referent], number: entry}
            message = (
                f"{what}: that one says {_describe(says[earlier])}, this one"
                f" {_describe(says[later])}. Remove the line that is wrong"
            )
            yield Finding(register.shown, later, "register-conflict", message)
        else:
            message = f"{what}, as merging can leave it. Run: {register.command}"
            yield Finding(register.shown, later, "register-duplicate", message)


def _describe(entry: Entry) -> str:
    if entry.state == MOVED:
        return f"moved to {show(entry.detail)}"
    return f"retired, {show(entry.detail)}" if entry.state == RETIRED else LIVE


def _check_moves(register: Register) -> Iterator[Finding]:
    ends = register.follow_all()
    for entry in register.entries.values():
        if entry.state == MOVED and ends[entry.referent] is None:
            quoted = shlex.quote(entry.referent)
            message = (
                f"{show(entry.referent)} was moved to {show(entry.detail)}, which leads"
                f" {_why_nowhere(register, entry)}. Run: {register.name('move')} {quoted}"
                f" NEW-REFERENT; or, if it is gone for good: {register.name('retire')} {quoted}"
                " --reason '...'"
            )
            yield Finding(register.shown, register.lines[entry.referent], "dead-end", message)


def _why_nowhere(register: Register, entry: Entry) -> str:
    seen = {entry.referent}
    while entry.state == MOVED:
        if entry.detail in seen:
            return "back to itself" if entry.detail in register.entries else "nowhere"
        seen.add(entry.detail)
        following = register.entries.get(entry.detail)
        if following is None:
            return f"nowhere: {show(entry.detail)} is not in the register"
        entry = following
    return "nowhere"
