"""What the inspector knows of a site that is served, from one build to the next, and shows of it.

A build only notes what its pages were read by. What is shown of a page is read when somebody
looks at it, from the same HTML by the same rules as the manifest: a build takes no longer.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from importlib.resources import files
from threading import Condition, Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from mkdocs_markstay.inspector_bounds import find_bounds
from mkdocs_markstay.inspector_changes import SiteChanges, compare_site
from mkdocs_markstay.published import read_shown
from mkdocs_markstay.records import write_page

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from mkdocs_markstay.findings import Finding
    from mkdocs_markstay.inspector_bounds import Bounds
    from mkdocs_markstay.inspector_changes import BaselinePlace, PageKey
    from mkdocs_markstay.page_report import PageReport
    from mkdocs_markstay.page_stays import ReadContent
    from mkdocs_markstay.records import Page, Policy, Publication

FOLDER = "assets/markstay/inspector/"
"""Where in a served site the files of the inspector are."""

_FILES = {
    "inspector.js": "text/javascript",
    "inspector-ranges.js": "text/javascript",
    "inspector-panel.js": "text/javascript",
    "inspector.css": "text/css",
    "inspector-panel.css": "text/css",
}
# Other findings of the site that are listed.
_LISTED = 200
# So long, in seconds, is waited for a build that is under way.
_PATIENCE = 120
NO_PASSAGES = {
    "draft": "It is a draft: only this preview shows it, and a build leaves it out.",
    "excluded": "The option exclude leaves it out.",
    "front-matter": "Its front matter says so: markstay: false.",
    "lent": "It is shown for lack of a translation: its passages are those of the original.",
    "other": "Another plugin has replaced it, or another page has its place. See the findings.",
    "unread": "Its text is not in the published HTML (it is encrypted, or its template leaves it"
    " out).",
    "unknown": "It is no page of the documentation.",
}
"""Why a page has no passages, for people."""


class SeenPage(NamedTuple):
    """What the last build noted of a page that is shown.

    ``path`` is its file as findings name it. Without ``read`` it has no passages, and
    ``why`` is one of `NO_PASSAGES`.
    """

    path: str
    read: tuple[Page, PageReport, ReadContent | None] | None
    why: str = ""


class Setup(NamedTuple):
    """What all pages of a build share."""

    publication: Publication
    policy: Policy
    baseline: BaselinePlace


@dataclass
class _Gathered:
    """What one build notes: pages by their files in the site, and findings.

    ``readings`` are those of its pages that somebody has looked at: a request that has begun
    before the next build ends keeps nothing for the pages of that.
    """

    setup: Setup | None = None
    pages: dict[str, SeenPage] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    readings: dict[str, _Reading] = field(default_factory=dict)


class _Reading(NamedTuple):
    """What was read of a page's HTML: its records, markers of headings, bounds."""

    html: str
    records: list[dict[str, Any]]
    stays: dict[str, str]
    bounds: Bounds | None
    span: tuple[int, int]


class Inspector:
    """One for all builds of a server. Builds run in one thread, requests in others."""

    def __init__(self, warn: Callable[[str], None]) -> None:
        self.enabled = True
        self.builds = 0
        self._warn = warn
        self._warned: set[str] = set()
        self._site: Path | None = None
        self._seen = _Gathered()
        self._next = _Gathered()
        self._building = False
        self._ended = Condition()
        self._comparing = Lock()
        self._changes: tuple[int, SiteChanges] | None = None

    # -- what a build tells

    def begin(self, setup: Setup) -> None:
        """Begin a build."""
        self._next = _Gathered(setup)
        with self._ended:
            self._building = True

    def note_page(self, target: str, page: SeenPage) -> None:
        """Note a page by its file in the site."""
        self._next.pages[target] = page

    def note_findings(self, findings: Iterable[Finding]) -> None:
        """Note findings that are shown."""
        self._next.findings += findings

    def finish(self, site: Path, *, dirty: bool) -> None:
        """End a build that has published; one that is ``dirty`` has read only some pages."""
        before, after = self._seen, self._next
        if dirty:
            read = {page.path for page in after.pages.values()}
            kept = [f for f in before.findings if f.path not in read and f not in after.findings]
            after.pages = {**before.pages, **after.pages}
            after.findings += kept
        with self._ended:
            self._seen, self._next, self._site = after, _Gathered(), site
            self.builds += 1
            self._building = False
            self._ended.notify_all()

    def fail(self) -> None:
        """End a build that has not published: what is known is of an older one."""
        with self._ended:
            self._building = False
            self._ended.notify_all()

    # -- what is shown

    def mark(self, target: str, html: str) -> str:
        """Give the elements of a page their numbers, where it has passages."""
        reading = self._read(self._seen, target, html)
        if reading is None or reading.bounds is None:
            return html
        start, end = reading.span
        return f"{html[:start]}{reading.bounds.region}{html[end:]}"

    def describe_page(self, target: str) -> dict[str, Any]:
        """Say what there is on a page: passages, furniture, findings."""
        self._wait()
        build, known = self.builds, self._seen
        seen = known.pages.get(target)
        reading = None
        if seen is not None and seen.read is not None and self._site is not None:
            html = (self._site / target).read_bytes().decode("utf-8", "replace")
            reading = self._read(known, target, html)
        why = "" if reading else seen.why if seen else "unknown"
        if seen is not None and seen.read is not None and reading is None:
            why = "unread"
        page = seen.read[0] if seen and seen.read else None
        bounds = reading.bounds if reading else None
        return {
            "build": build,
            "target": target,
            "path": seen.path if seen else "",
            "page_id": page.page_id if page else "",
            "title": page.title if page else "",
            "lang": page.language if page else "",
            "why": NO_PASSAGES.get(why, ""),
            "located": bounds is not None,
            "furniture": len(bounds.furniture) if bounds else 0,
            "stays": reading.stays if reading else {},
            "passages": _describe_passages(reading) if reading else [],
            **_describe_findings(known.findings, seen),
        }

    def describe_changes(self, target: str) -> dict[str, Any]:
        """Say what is different from the last published manifest, on a page and elsewhere."""
        self._wait()
        seen = self._seen
        pages = [page.read[0] for page in seen.pages.values() if page.read]
        urls: dict[PageKey, str] = {(page.page_id, page.language): page.url for page in pages}
        own = seen.pages.get(target)
        key = (own.read[0].page_id, own.read[0].language) if own and own.read else None
        return {"build": self.builds, **self._compare().to_record(key, urls)}

    def _wait(self) -> None:
        with self._ended:
            self._ended.wait_for(lambda: not self._building, timeout=_PATIENCE)

    def _compare(self) -> SiteChanges:
        """Compare once after each build, when somebody asks."""
        with self._comparing:
            build, setup, site = self.builds, self._seen.setup, self._site
            if self._changes is not None and self._changes[0] == build:
                return self._changes[1]
            assert setup is not None
            assert site is not None
            found = compare_site(setup.baseline, site)
            self._changes = build, found
            if found.problem and not found.missing and found.problem not in self._warned:
                self._warned.add(found.problem)
                self._warn(found.problem)
            return found

    def _read(self, known: _Gathered, target: str, html: str) -> _Reading | None:
        seen, setup = known.pages.get(target), known.setup
        if seen is None or seen.read is None or setup is None:
            return None
        page, report, content = seen.read
        shown = read_shown(html, report, setup.policy, content)
        if shown is None:
            return None
        before = known.readings.get(target)
        if before is not None and before.html == shown.region:
            return before._replace(span=shown.span)
        lines = write_page(page, shown.sections, setup.publication, setup.policy).lines
        records = [json.loads(line) for line in lines.splitlines()]
        bounds = find_bounds(
            shown.region, shown.opens, shown.furniture, shown.sections, setup.policy
        )
        # The markers of headings.
        stays = {each.section_id: each.stay.id for each in shown.sections if each.stay}
        reading = _Reading(shown.region, records, stays, bounds, shown.span)
        known.readings[target] = reading
        return reading


def _describe_findings(findings: Iterable[Finding], seen: SeenPage | None) -> dict[str, Any]:
    own: list[Finding] = []
    others: list[Finding] = []
    for found in findings:
        via = found.via.rpartition(":")[0]
        own_path = seen is not None and seen.path in (found.path, via)
        (own if own_path else others).append(found)
    return {
        "findings": [_describe_finding(found) for found in own],
        "others": [_describe_finding(found) for found in others[:_LISTED]],
        "other_count": len(others),
    }


def _describe_finding(found: Finding) -> dict[str, Any]:
    return {
        "code": found.code,
        "level": found.level,
        "path": found.path,
        "line": found.line,
        "message": found.message,
        "via": found.via,
        "debt": found.debt,
    }


def _describe_passages(reading: _Reading) -> list[dict[str, Any]]:
    passages = []
    # A line of the manifest tells which text a passage has more than once, if it is so.
    texts = Counter(record["text_digest"] for record in reading.records)
    for number, record in enumerate(reading.records):
        pieces = reading.bounds.passages[number] if reading.bounds else []
        passages.append(
            {
                "chunk_id": record["chunk_id"],
                "referent": record["referent"],
                "position": record["position"],
                "kinds": record["kinds"],
                "chars": len(record["text"]),
                "text": record["text"],
                "text_digest": record["text_digest"],
                "record_digest": record["record_digest"],
                "section_id": record["section_id"],
                "title": record["title"],
                "path": record["path"],
                "level": record["level"],
                "line": record["line"],
                "generated": record["generated"],
                "stays": [block["stay"] for block in record["blocks"] if block["stay"]],
                "twins": texts[record["text_digest"]] - 1,
                "pieces": [
                    {"at": piece.element, "part": piece.part, "of": piece.parts}
                    | ({"begin": piece.begin} if piece.begin else {})
                    | ({"stays": list(piece.stays)} if piece.stays else {})
                    for piece in pieces
                ],
            }
        )
    return passages


def read_file(name: str) -> tuple[str, bytes] | None:
    """Give the type and the content of a file of the inspector."""
    kind = _FILES.get(name)
    if kind is None:
        return None
    return kind, files("mkdocs_markstay").joinpath("assets", name).read_bytes()
