"""The referents that a site publishes and that an author wrote, each with its place.

These are pages, sections with their ids, and blocks with the anchors of their markers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mkdocs_markstay.identity import STAY_PREFIX, make_referent

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mkdocs_markstay.page_report import PageReport

_INDEX_NAMES = ("index", "README")


@dataclass(frozen=True)
class PublishedPlace:
    """Where a referent is published.

    ``title`` is that of its heading as it is written, or the page's; ``path`` and ``line``
    (from 1) are what a person can open; ``site_path`` is the path of the page in the site, as
    `find_site_path` gives it. ``report`` is the page. ``stay`` is the id of a block's marker,
    "" for a page or section, whatever its id looks like.
    """

    referent: str
    title: str
    path: str
    line: int
    site_path: str
    report: PageReport
    stay: str = ""

    @property
    def section_id(self) -> str:
        """The section id, or the anchor of the block, "" for the page itself."""
        return self.referent.partition("#")[2]


def find_site_path(source: str, target: str) -> str:
    """Give the path of a page in the site, the same for all of the styles of its address.

    ``source`` is its path in the docs folder, ``target`` its file in the site. With
    and without `use_directory_urls`, `a.md` is at `a`, and `a/index.md` at `a/index`.
    """
    path = target.removesuffix(".html")
    stem = source.rpartition("/")[2].partition(".")[0]
    if path.endswith("/index") and stem not in _INDEX_NAMES:
        return path.removesuffix("/index")
    return path


def list_places(reports: Iterable[PageReport], language: str) -> dict[str, PublishedPlace]:
    """List what is published, by referent, in the order of the site.

    ``language`` is the default one: the pages in it go before others with the same page id.
    """
    pages: dict[str, PageReport] = {}
    for report in reports:
        # A page that cannot be named has a finding of its own.
        named = "#" not in report.page_id and report.page_id.isprintable()
        if report.published and not report.generated and named:
            first = pages.setdefault(report.page_id, report)
            if first.language != language and report.language == language:
                pages[report.page_id] = report
    places: dict[str, PublishedPlace] = {}
    for report in pages.values():
        places.update(_list_page(report))
    return places


def _list_page(report: PageReport) -> Mapping[str, PublishedPlace]:
    site_path = find_site_path(report.source, report.target)
    places = {}
    for section_id, line in {"": 1, **report.lines}.items():
        referent = make_referent(report.page_id, section_id)
        title = "" if section_id else report.title
        places[referent] = PublishedPlace(referent, title, report.path, line, site_path, report)
    for heading in report.outline:
        place = places.get(make_referent(report.page_id, heading.section_id))
        if heading.section_id and place is not None and not place.title:
            places[place.referent] = PublishedPlace(
                place.referent, heading.title, heading.path, heading.line, site_path, report
            )
    for stay_id, stay in report.stays.items():
        referent = make_referent(report.page_id, STAY_PREFIX + stay_id)
        if stay.anchored and referent not in places:
            places[referent] = PublishedPlace(
                referent, "", stay.path, stay.line, site_path, report, stay_id
            )
    return places


def list_homes(places: Mapping[str, PublishedPlace]) -> dict[str, list[PublishedPlace]]:
    """List the places of marked blocks by their anchors."""
    homes: dict[str, list[PublishedPlace]] = {}
    for place in places.values():
        if place.stay:
            homes.setdefault(place.section_id, []).append(place)
    return homes
