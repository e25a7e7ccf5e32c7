"""What must be true of the headings of one page. Every function returns findings."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from dataclasses import dataclass, replace
from html import unescape
from typing import TYPE_CHECKING

from selectolax.lexbor import LexborHTMLParser

from mkdocs_markstay.edits import write_id
from mkdocs_markstay.findings import Finding
from mkdocs_markstay.sectionids import check_id, propose_id, same_id_key, show

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from mkdocs_markstay.headings import Heading, Place
    from mkdocs_markstay.sectionids import Problem

_ID_ATTRIBUTE = re.compile(r"""\s+id\s*=\s*(?:"[^"]*"|'[^']*'|[^\s>]+)""", re.IGNORECASE)
# Begins with a literal, which makes the search ten times faster.
_ANY_ID = re.compile(r"""id=(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""")
_BEFORE_ATTRIBUTE = frozenset(" \t\n\r\f/\"'")

_LONG_TITLE = 300

# What readers do not see is not repeated.
_UNSEEN_MISSING = (
    "a heading that readers do not see has no section id."
    " Write one at the end of its line: <#section-id>"
)
_UNSEEN_WRONG = (
    "a heading that readers do not see has an id that cannot stay. Write another one, such as"
    " <#section-id>"
)


STAYS = ("optional", "required", "off")
"""Whether the blocks of pages have markers."""


@dataclass(frozen=True)
class Rules:
    """What is enforced: heading levels, a narrower pattern for ids, generated headings.

    ``stamp`` is the command that writes ids into the files of the site, "" if none can.
    ``stays`` says whether blocks may or must have markers, or these are left alone (one of
    `STAYS`), ``stay_blocks`` what a block is (one of `stays.SEGMENTATIONS`), ``stay_anchors``
    whether each marked block gets an anchor, ``keep_markers`` whether markers are published.
    """

    levels: frozenset[int] = frozenset((2, 3, 4, 5, 6))
    id_pattern: re.Pattern[str] | None = None
    generated: bool = False
    stamp: str = "mkdocs-markstay stamp"
    stays: str = "optional"
    stay_blocks: str = "blank-line"
    stay_anchors: bool = False
    keep_markers: bool = False

    @property
    def levels_of_stays(self) -> dict[str, str]:
        """The levels of findings that are others than usual: what must have a marker is strict."""
        return {"stay-drift": "error"} if self.stays == "required" else {}

    def with_every_stay(self) -> Rules:
        """Give the rules by which each block must have a marker, and pages show nothing of it."""
        return replace(self, stays="required", stay_anchors=False, keep_markers=False)


def check_headings(headings: Sequence[Heading], rules: Rules) -> list[Finding]:
    """Check the ids of a page's headings, in document order."""
    return list(_check(headings, rules))


def check_taken(headings: Sequence[Heading], content: str) -> list[Finding]:
    """Find explicit ids that another element in the page's content has too."""
    explicit = {heading.published_id: heading for heading in reversed(headings) if _own(heading)}
    if not explicit:
        return []
    mine = Counter(heading.published_id for heading in headings)
    counts = Counter(find_ids(content))
    doubtful = [section_id for section_id in explicit if counts[section_id] > mine[section_id]]
    if not doubtful:
        return []
    # Text in code looks like attributes to the count; the parser knows better.
    tree = LexborHTMLParser(f"<!DOCTYPE html><body>{content}")
    counts = Counter(node.attributes.get("id") or "" for node in tree.css("[id]"))
    return [
        _taken(explicit[section_id], "another element of the page")
        for section_id in doubtful
        if counts[section_id] > mine[section_id]
    ]


def check_theme(path: str, lines: Mapping[str, int], theirs: Collection[str]) -> list[Finding]:
    """Find section ids (with their lines) that the theme uses outside the content."""
    return [
        Finding(
            path,
            line,
            "id-taken",
            f"id {show(section_id)} is also the id of an element of the theme."
            f" Choose another one, for example: <#{propose_id(f'{section_id} section', lines)}>",
        )
        for section_id, line in lines.items()
        if section_id in theirs
    ]


def find_ids(html: str) -> list[str]:
    """Find what looks like id attributes; in the text of code, too."""
    return [
        unescape(match[match.lastindex or 1])
        for match in _ANY_ID.finditer(html)
        if html[match.start() - 1 : match.start()] in _BEFORE_ATTRIBUTE
    ]


def find_missing(headings: Sequence[Heading], rules: Rules) -> list[Heading]:
    """Find the headings that must have an id and have none, not even a wrong one."""
    found = []
    seen_h1 = False
    for heading in headings:
        enforced = heading.level in rules.levels or (heading.level == 1 and seen_h1)
        seen_h1 = seen_h1 or heading.level == 1
        enforced = enforced and (heading.authored or rules.generated)
        if enforced and not heading.explicit and _problem(heading) is None:
            found.append(heading)
    return found


def can_be_stamped(heading: Heading, section_id: str) -> bool:
    """Whether `stamp` can write an id into the heading's line, as far as the line can tell."""
    found, written = heading.found, heading.written
    if heading.number is None or found is None or written is None:
        return False
    return write_id(found, written, section_id, "angle") is not None


def _problem(heading: Heading) -> Problem | None:
    problem = heading.written.problem if heading.written else None
    if problem is None and heading.explicit:
        problem = check_id(heading.published_id)
    return problem


def _own(heading: Heading) -> bool:
    return heading.explicit and heading.authored and bool(heading.published_id)


def _taken(heading: Heading, whose: str) -> Finding:
    section_id = heading.published_id
    repair = _repair(heading, propose_id(f"{section_id} section", ()))
    return _finding(
        heading,
        "id-taken",
        f"id {show(section_id)} of heading {_name(heading)} is also the id of {whose}. {repair}",
    )


def _check(headings: Sequence[Heading], rules: Rules) -> Iterator[Finding]:
    taken = {heading.published_id for heading in headings}
    slugs = {heading.published_id for heading in headings if not heading.explicit}
    first_of: dict[str, Heading] = {}
    first_like: dict[str, Heading] = {}
    missing = {id(heading) for heading in find_missing(headings, rules)}
    for heading in headings:
        if not (heading.authored or rules.generated):
            continue
        problem = _problem(heading)
        section_id = heading.published_id
        if problem is not None:
            wanted = heading.written.wanted if heading.written else section_id
            repair = _repair(heading, _better(wanted, heading, taken))
            message = f"heading {_name(heading)} {problem.message}. {repair}"
            yield _finding(heading, problem.code, message)
            continue
        if not heading.explicit:
            if id(heading) in missing:
                better = _better(section_id, heading, taken)
                repair, command = _repair(heading, better), ""
                if rules.stamp and better == section_id and can_be_stamped(heading, better):
                    path = shlex.quote(heading.place.path)
                    command = f", or run: {rules.stamp} {path} --write"
                message = f"heading {_name(heading)} has no section id. {repair}"
                yield _finding(heading, "missing-id", message, command=command)
            continue
        if section_id in slugs:
            yield _taken(heading, "a heading without an id, whose text makes it")
        yield from _check_unique(heading, first_of, first_like, taken)
        if rules.id_pattern is not None and not rules.id_pattern.fullmatch(section_id):
            yield _finding(
                heading,
                "id-pattern",
                f"id {show(section_id)} of heading {_name(heading)} does not match the pattern"
                f" {show(rules.id_pattern.pattern)} of the option id_pattern. Change the id",
            )


def _check_unique(
    heading: Heading, first_of: dict[str, Heading], first_like: dict[str, Heading], taken: set[str]
) -> Iterator[Finding]:
    section_id = heading.published_id
    first = first_of.setdefault(section_id, heading)
    if first is not heading:
        repair = _repair(heading, propose_id(heading.title, taken))
        # A file that is included twice: the second inclusion is the later place.
        place = heading.place
        if place.via and (place.path, place.line) == (first.place.path, first.place.line):
            place, repair = place.via, "Include the file once in a page"
        yield _finding(
            heading,
            "duplicate-id",
            f"id {show(section_id)} of heading {_name(heading)} is already used"
            f" at {first.place}. {repair}",
            place,
        )
        return
    like = first_like.setdefault(same_id_key(section_id), heading)
    if like is not heading:
        repair = _repair(heading, propose_id(heading.title, {*taken, like.published_id.lower()}))
        yield _finding(
            heading,
            "case-clash",
            f"id {show(section_id)} of heading {_name(heading)} differs only in case from"
            f" {show(like.published_id)} at {like.place}. {repair}",
        )


def _better(wanted: str, heading: Heading, taken: Collection[str]) -> str:
    """Propose an id: the one that was meant, else the anchor of today, else a new one."""
    if wanted.strip("_") and check_id(wanted) is None:
        return wanted
    today = "" if heading.explicit else heading.published_id
    free = set(taken) - {today}
    if wanted and not (meant := propose_id(wanted, free)).startswith("section"):
        return meant
    if today.strip("_") and check_id(today) is None:
        return today
    return propose_id(heading.title, free)


def _repair(heading: Heading, section_id: str) -> str:
    """Say what to write: the whole line as it must be, ready to be pasted over it."""
    if heading.filled_in:
        return (
            f"A macro fills in its line. Write <#{section_id}> at the end of that, or in a loop an"
            " id that is filled in, too"
        )
    found, written = heading.found, heading.written
    if heading.number is None or (found is not None and found.sign.startswith("<")):
        return f"Write: {_repair_tag(heading, section_id)}"
    source = found.source.replace("\t", "    ").rstrip() if found is not None else ""
    if source.isprintable() and source and not heading.explicit and written and not written.problem:
        return f"Write: {source} <#{section_id}>"
    title = heading.title
    if len(title) > _LONG_TITLE:
        title = title[:_LONG_TITLE] + "\u2026"
    sign = "#" * heading.level + " "
    if found is not None:
        prefix = found.prefix.replace("\t", "    ")
        sign = prefix + (f"{found.sign} " if found.sign else "")
    attributes = written.attributes if written else ""
    parts = [title, f"<#{section_id}>", attributes]
    line = sign + " ".join(part for part in parts if part)
    below = written is not None and written.problem is not None and written.problem.below
    return f"Write: {line}" + (", and delete the line below" if below else "")


def _repair_tag(heading: Heading, section_id: str) -> str:
    found = heading.found
    if found is None or not found.sign:
        return f'<h{heading.level} id="{section_id}">'
    rest = _ID_ATTRIBUTE.sub("", found.source[len(found.prefix) + len(found.sign) :], count=1)
    return f'{found.prefix}{found.sign} id="{section_id}"{rest.rstrip()}'


def _name(heading: Heading) -> str:
    return show(heading.title)


def _finding(
    heading: Heading, code: str, message: str, place: Place | None = None, command: str = ""
) -> Finding:
    place, via = place or heading.place, str((place or heading.place).via or "")
    if heading.secret:
        message = _UNSEEN_MISSING if code == "missing-id" else _UNSEEN_WRONG
    message += command
    return Finding(place.path, place.line, code, message, via=via, heading=heading.told)
