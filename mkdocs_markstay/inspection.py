"""A run of a site that publishes nothing: what it is to render, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mkdocs_markstay.progress import SILENT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from os import PathLike
    from pathlib import Path

    from mkdocs_markstay.checks import Rules
    from mkdocs_markstay.findings import Finding
    from mkdocs_markstay.headings import Heading
    from mkdocs_markstay.page_report import PageReport
    from mkdocs_markstay.progress import Progress


class InspectionError(Exception):
    """The site cannot be read; the message is for a person."""


@dataclass(frozen=True)
class SiteSettings:
    """What a run needs to know of a site's configuration.

    ``folder`` is that of the configuration file, ``docs`` the docs folder; ``levels``
    are those of finding codes that are not the default. ``configured`` is False if
    the configuration does not name this package yet; ``adds_attributes``: with it, attribute
    lists (`{.class}`) are read that are text without it. ``site`` is the folder of the
    published site if the generator looks for it, whatever it is asked for. ``site_url`` is
    the address of the site, "" if it has none; ``roots`` are the folders in which files that
    pages include are looked for, besides that of the page.
    """

    folder: Path
    docs: Path
    rules: Rules
    levels: Mapping[str, str]
    default_language: str
    strict: bool
    configured: bool
    adds_attributes: bool
    site: Path | None = None
    site_url: str = ""
    roots: tuple[str | PathLike[str], ...] = ()


@dataclass(frozen=True)
class RenderedPage:
    """A page as it was rendered, before it is put into a template.

    There are no ``headings`` of a page that the plugin's options or the page itself exclude;
    ``anchors`` are their ids as the page is published today. ``file`` is its source, None if
    it has none. ``left_out``: no build publishes it. ``html`` is its HTML, after all plugins.
    """

    report: PageReport
    headings: tuple[Heading, ...]
    anchors: tuple[str, ...]
    file: Path | None
    left_out: bool
    html: str


@dataclass
class Inspection:
    """One run.

    Pages are rendered if ``wants`` says so of their key (`PageReport.key`) and their path
    in the file system; for others the report that is ``known`` is taken. Pages that the
    site leaves out are rendered if ``wants_left_out`` says so of their path. ``plain``:
    attribute lists are not read unless the site itself does that. ``keep``: keep
    each page as it was rendered. ``begin_page`` is called with the key and the path of
    each page before it is rendered, and with None after the last. ``every_stay``: each block
    must have a marker, and no page shows anything of markers, whatever the options say.
    ``progress`` is told of each page that was rendered, as of a part of ``step``.

    What comes of it: ``reports`` of all pages, in the site's order, ``findings`` that
    are not judged yet, ``rendered`` if they were kept. ``unprobed`` are known pages that have
    to be rendered as well to learn which ids are the theme's; without them, the findings
    are not complete.
    """

    wants: Callable[[str, str], bool] = lambda _key, _path: True
    wants_left_out: Callable[[str], bool] = lambda _path: False
    known: Mapping[str, PageReport] = field(default_factory=dict)
    plain: bool = False
    keep: bool = False
    begin_page: Callable[[str | None, str | None], None] = lambda _key, _path: None
    every_stay: bool = False
    step: str = "Rendering pages"
    progress: Progress = SILENT

    settings: SiteSettings | None = None
    reports: list[PageReport] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    rendered: list[RenderedPage] = field(default_factory=list)
    unprobed: set[str] = field(default_factory=set)
