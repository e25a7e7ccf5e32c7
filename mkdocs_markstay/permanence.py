"""What a build does for the permanence of its addresses, with the register of the site.

It gathers what each language publishes, finds what is missing, and gives old addresses
their places: in pages, in pages of their own, and in the manifest.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from mkdocs_markstay.findings import Finding
from mkdocs_markstay.heading_html import list_ids
from mkdocs_markstay.kept_blocks import find_followed
from mkdocs_markstay.kept_referents import check_erased, check_new, check_referents
from mkdocs_markstay.landing import (
    Landings,
    check_anchors,
    check_redirects,
    find_prefix,
    plan_landings,
)
from mkdocs_markstay.landing_html import (
    GENERATOR,
    insert_anchors,
    write_notes,
    write_page,
)
from mkdocs_markstay.marks import BEGIN, END
from mkdocs_markstay.parity import Differences, join_missing
from mkdocs_markstay.published import digest_sections, is_encrypted
from mkdocs_markstay.published_places import list_places
from mkdocs_markstay.register import LIVE, read_register
from mkdocs_markstay.register_edits import follow
from mkdocs_markstay.sectionids import show
from mkdocs_markstay.site_addresses import Addresses, OldAddresses
from mkdocs_markstay.whole_file import write_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from mkdocs_markstay.landing import OldPage
    from mkdocs_markstay.page_report import PageReport
    from mkdocs_markstay.published_places import PublishedPlace


class Permanence:
    """What a site keeps, of all its languages.

    ``language`` is the default one. ``old`` are its old addresses. ``compared_texts``: what
    was found rests on the texts of all pages.
    """

    def __init__(self, config_file: str, language: str, *, directory_urls: bool) -> None:
        self.register = read_register(config_file)
        # The same, where blocks have moved as their markers tell.
        self._now = self.register
        self._followed: Mapping[str, str] = {}
        self.compared_texts = False
        self._language = language
        self._directory_urls = directory_urls
        self._reports: list[PageReport] = []
        self._places: Mapping[str, PublishedPlace] = {}
        self._digests: dict[str, str] = {}
        self._targets: dict[str, str] = {}
        self._landings = Landings()
        self._addresses = Addresses(directory_urls=directory_urls)
        self.old = OldAddresses(self.register, directory_urls=directory_urls)

    @property
    def wanted(self) -> bool:
        """Whether there is a register that can be understood."""
        return self.register.exists and self.register.readable

    def add_language(
        self,
        reports: Iterable[PageReport],
        lent: Iterable[PageReport],
        contents: Mapping[str, str | None],
        occupied: Iterable[str],
    ) -> list[Finding]:
        """Take the published pages of one language, and plan where its old addresses land.

        The default language comes first. ``lent`` are pages that it shows in another one.
        ``contents`` are the contents of pages by their files, None of what was not rendered;
        ``occupied`` are the files of the site that exist without us.
        """
        findings = [] if self._reports else [*self.register.findings]
        reports = list(reports)
        self._reports += reports
        if not self.wanted:
            return findings
        self._places = list_places(self._reports, self._language)
        self._follow()
        here = [report for report in reports if not report.generated]
        if any(report.language == self._language for report in here):
            self._targets.update((report.page_id, report.target) for report in here)
        shown = [*here, *(replace(each, published=True) for each in lent if not each.generated)]
        planned = self._plan(shown, contents, occupied)
        findings += planned.findings
        for report in shown:
            if report.target not in planned.anchors and report.target not in planned.notes:
                continue
            content = contents.get(report.target)
            ids = {*report.lines, *report.slugs, *(list_ids(content) if content else ())}
            findings += check_anchors(planned, report.target, report.path, report.lines, ids)
        self._landings.add(planned)
        if self._find_lost():
            self._digest(here, contents)
        return findings

    def _follow(self) -> None:
        """Let the register say of blocks that have moved what `lock` will write."""
        self._followed = find_followed(self.register, self._places)
        if not self._followed:
            self._now = self.register
            return
        self._now = self.register.copy()
        follow(self._now, self._followed, self._places)
        self.old = OldAddresses(self._now, directory_urls=self._directory_urls)

    def _plan(
        self,
        reports: list[PageReport],
        contents: Mapping[str, str | None],
        occupied: Iterable[str],
    ) -> Landings:
        prefix = find_prefix(reports, self._targets)
        if prefix is None:
            return Landings()
        addresses = Addresses(directory_urls=self._directory_urls, prefix=prefix)
        places = list_places(reports, reports[0].language)
        return plan_landings(self._now, places, addresses, contents, occupied)

    def _find_lost(self) -> bool:
        entries = self._now.entries.values()
        return any(e.state == LIVE and e.referent not in self._places for e in entries)

    def _digest(self, reports: Iterable[PageReport], contents: Mapping[str, str | None]) -> None:
        for report in reports:
            content = contents.get(report.target)
            if content is not None:
                digests = digest_sections(f"{BEGIN}{content}{END}", report)
                for section_id, digest in digests.items():
                    self._digests.setdefault(f"{report.page_id}#{section_id}", digest)

    def check_redirects(self, redirected: Mapping[str, int], path: str) -> list[Finding]:
        """Find old addresses that mkdocs-redirects leads somewhere, too: see `landing`."""
        return check_redirects(self._landings, self._addresses, redirected, path)

    def check(self, findings: Sequence[Finding]) -> list[Finding]:
        """Compare what all languages publish with the register.

        Takes what was found before, and gives all that is found now.
        """
        if not self.wanted:
            return list(findings)
        self.compared_texts = self._find_lost()
        lost = check_referents(self._now, self._places, self._digests, self._followed)
        # What to write into a heading that has lost its id is told once.
        missing = {(f.path, f.line) for f in findings if f.code == "missing-id"}
        erased = check_erased(self._now, self._places)
        erased = [each for each in erased if (each.path, each.line) in missing]
        return join_missing(findings, Differences(erased, lost))

    def count_new(self) -> int:
        """Count what the register lacks; there is nothing to lack before there is one."""
        if not self.wanted:
            return 0
        return len(check_new(self.register, self._places, self._followed))

    # -- what is published

    def complete(self, target: str, content: str) -> tuple[str, str]:
        """Put the anchors of old ids into the content of the page with this file.

        Returns the content, and what stands before it and is no text of the page.
        """
        anchors = self._landings.anchors.get(target, ())
        notes = self._landings.notes.get(target, ())
        content, before = insert_anchors(content, anchors)
        if is_encrypted(content):
            return content, ""  # what it hides may not stand beside it
        return content, before + write_notes(notes, target, self._addresses)

    def write_pages(self, site: Path, site_url: str) -> Iterator[Path]:
        """Write the pages in the place of old ones, and name each. Raises OSError.

        A file that somebody else has written stays as it is: `find_written` tells it.
        """
        for target, page in self._landings.pages.items():
            path = site / target
            if _find_obstacle(site, target) or _is_new_page(site, target, page):
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            html = write_page(page, target, self._addresses, site_url)
            write_file(path, [html.encode("utf-8", "replace")])
            yield path

    def find_written(self, site: Path) -> list[Finding]:
        """Find files that another plugin has written at the place of old pages."""
        message = "another plugin publishes {} at the address of an old page. Remove it there"
        found = (
            _find_obstacle(site, target)
            for target, page in self._landings.pages.items()
            if not _is_new_page(site, target, page)
        )
        return [
            Finding(self.register.shown, 1, "address-taken", message.format(show(path)))
            for path in found
            if path
        ]


def _find_obstacle(site: Path, target: str) -> str:
    """Find a file that is not ours where a file of the site, or a folder for it, has to be."""
    path = site / target
    if os.path.lexists(path):
        ours = path.is_file() and GENERATOR.encode() in path.read_bytes()[:1000]
        return "" if ours else target
    folders = [each for each in PurePosixPath(target).parents if os.path.lexists(site / each)]
    return "" if not folders or (site / folders[0]).is_dir() else str(folders[0])


def _is_new_page(site: Path, target: str, page: OldPage) -> bool:
    """Whether an old page is the file of the new one, as where case makes no difference."""
    try:
        return page.to is not None and (site / target).samefile(site / page.to.target)
    except OSError:  # it is not there
        return False
