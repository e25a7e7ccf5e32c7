"""What is known of a page once its Markdown is rendered, and what must be true of all pages.

A report holds plain values only, so that it can be kept from one run to the next.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from mkdocs_markstay.findings import Finding
from mkdocs_markstay.identity import STAY_PREFIX
from mkdocs_markstay.outlines import OutlineHeading
from mkdocs_markstay.page_source import check_page_id_unused, check_url_unused

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mkdocs_markstay.headings import Heading


class StayPlace(NamedTuple):
    """Where a marker stands, and whether its block has an anchor in the page."""

    path: str
    line: int
    anchored: bool


@dataclass(frozen=True)
class PageReport:
    """A page whose Markdown was rendered.

    ``source`` and ``target`` are its paths in the docs folder and in the site, ``path``
    is what a person can open; ``published`` is False for a page that is not part of
    the manifest (left out, a draft, shown for lack of a translation), which has ``findings``
    all the same. ``title`` is what its author calls it, "" if that is not known or not for all
    to read. ``lines`` maps the section ids that the author wrote to their lines,
    ``slugs`` are the anchors that were made from the text of headings; ``outline`` has
    all headings of the author's. ``page_id_line`` is where the page id stands. ``shown``
    are further findings that only a page has that gets its place in the site: what is wrong
    in its HTML, as far as that is known without a template. ``stays`` are the markers
    that are bound to something on the page, by their ids.
    """

    source: str
    target: str
    path: str
    language: str
    template: str = "main.html"
    generated: bool = False
    published: bool = False
    page_id: str = ""
    page_id_line: int = 1
    title: str = ""
    furniture: tuple[str, ...] = ()
    lines: Mapping[str, int] = field(default_factory=dict)
    slugs: frozenset[str] = frozenset()
    outline: tuple[OutlineHeading, ...] = ()
    findings: tuple[Finding, ...] = ()
    shown: tuple[Finding, ...] = ()
    stays: Mapping[str, StayPlace] = field(default_factory=dict)

    @property
    def anchors(self) -> dict[str, int]:
        """The anchors that an author wrote, with their lines: section ids, and those of blocks."""
        blocks = {
            f"{STAY_PREFIX}{stay_id}": place.line
            for stay_id, place in self.stays.items()
            if place.anchored
        }
        return {**self.lines, **blocks}

    @property
    def key(self) -> str:
        """Name the page among all pages of the site, in all languages."""
        return page_key(self.source, self.target)

    @property
    def excluded(self) -> bool:
        """Whether the plugin's options or the page itself exclude it: nothing of it was read."""
        return not self.page_id and not self.findings

    def to_json(self) -> dict[str, Any]:
        """Give the report as a JSON value."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        values["slugs"] = sorted(self.slugs)
        values["findings"] = [asdict(found) for found in self.findings]
        values["shown"] = [asdict(found) for found in self.shown]
        return values

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> PageReport:
        """Take what `to_json` gave. Anything else raises KeyError, TypeError or ValueError."""
        return cls(
            **{
                **values,
                "furniture": tuple(values["furniture"]),
                "slugs": frozenset(values["slugs"]),
                "outline": tuple(OutlineHeading(*each) for each in values["outline"]),
                "findings": tuple(Finding(**each) for each in values["findings"]),
                "shown": tuple(Finding(**each) for each in values["shown"]),
                "stays": {key: StayPlace(*each) for key, each in values["stays"].items()},
            }
        )


def page_key(source: str, target: str) -> str:
    """Name a page among all pages of a site, in all languages."""
    return f"{source}|{target}"


@dataclass
class SiteIndex:
    """What must be unique among the pages of a site: page ids, files of the site, markers."""

    page_ids: dict[tuple[str, str], str] = field(default_factory=dict)
    targets: dict[str, str] = field(default_factory=dict)
    stays: dict[tuple[str, str], StayPlace] = field(default_factory=dict)

    def add(self, report: PageReport) -> tuple[bool, list[Finding]]:
        """Add a published page: whether its place in the site is free, and what is wrong."""
        seen = self.targets.setdefault(report.target, report.path)
        if seen != report.path:
            return False, check_url_unused(report.path, report.target, seen)
        first = self.page_ids.setdefault((report.page_id, report.language), report.path)
        line = report.page_id_line
        findings = check_page_id_unused(report.path, line, report.page_id, first)
        return True, [*findings, *self.check_stays(report)]

    def check_stays(self, report: PageReport) -> Iterator[Finding]:
        """Find markers that were copied from another page; translations may have the same."""
        for stay_id, place in report.stays.items():
            first = self.stays.setdefault((stay_id, report.language), place)
            if first.path != place.path:
                message = (
                    f"the marker stay:{stay_id} is also in {first.path}:{first.line}, so neither"
                    " can be followed if it moves. Remove the one of the copy, and stamp the page"
                )
                yield Finding(place.path, place.line, "stay-shared", message)


def make_outline(headings: Sequence[Heading]) -> tuple[OutlineHeading, ...]:
    """Give the outline of a page: the headings that an author wrote."""
    return tuple(
        OutlineHeading(
            heading.level,
            heading.told,
            heading.published_id if heading.explicit else "",
            heading.place.path,
            heading.place.line,
            heading.found.source if heading.found is not None and not heading.secret else "",
            str(heading.place.via or ""),
        )
        for heading in headings
        if heading.authored
    )
