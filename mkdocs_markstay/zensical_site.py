"""A site that Zensical builds, inspected: its pages are rendered alike, and nothing is published.

Zensical finds pages and reads their front matter in its native part, and renders their
Markdown in Python. The second is used as it is, by the site's own configuration, of which
Zensical alone knows the defaults. The first is done here.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml
from zensical.config import ConfigurationError, parse_config
from zensical.markdown.render import render

from mkdocs_markstay.conversion import Conversion
from mkdocs_markstay.extension import MarkstayExtension
from mkdocs_markstay.findings import Finding, name_command, name_path
from mkdocs_markstay.furniture import FURNITURE
from mkdocs_markstay.inspection import InspectionError, RenderedPage, SiteSettings
from mkdocs_markstay.marks import BEGIN, END, BuildingMarks
from mkdocs_markstay.page_reading import RenderedMarkdown, read_page
from mkdocs_markstay.page_report import PageReport, SiteIndex, page_key
from mkdocs_markstay.page_source import Source, decode, find_roots, split_front_matter
from mkdocs_markstay.page_stays import bind_page
from mkdocs_markstay.permanence import Permanence
from mkdocs_markstay.published import check_published
from mkdocs_markstay.quiet import nothing_on_stdout
from mkdocs_markstay.records import Policy
from mkdocs_markstay.rule_options import OptionError, read_patterns, read_rule_options
from mkdocs_markstay.site_kind import is_extension

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mkdocs_markstay.headings import Heading
    from mkdocs_markstay.inspection import Inspection
    from mkdocs_markstay.rule_options import Patterns

# What MkDocs and Zensical leave out if they are not told otherwise.
_LEFT_OUT = (".*", "/templates/")
_INDEX = ("index", "README")
_POLICY = Policy(FURNITURE)


def inspect_site(
    config_file: str, inspection: Inspection, *, strict: bool = False, docs_dir: str | None = None
) -> None:
    """Render the pages of a site as `zensical build` does, and publish nothing.

    ``strict`` adds to what the configuration says, ``docs_dir`` replaces its docs folder.
    Raises InspectionError if Zensical or an extension cannot go on.
    """
    with nothing_on_stdout():
        try:
            config = parse_config(os.path.abspath(config_file))  # noqa: PTH100 (links stay)
            if docs_dir is not None:
                config["docs_dir"] = docs_dir
            _inspect(_Site(config_file, config), inspection, strict or config["strict"])
        except (InspectionError, OptionError) as error:
            raise InspectionError(str(error)) from None
        except ConfigurationError as error:
            raise InspectionError(error.message) from None
        except SystemExit as error:
            raise InspectionError(f"an extension ended the program: {error.code}") from None
        except Exception as error:  # Zensical's, or an extension's
            raise InspectionError(f"{type(error).__name__}: {error}".rstrip(": ")) from error


class _File(NamedTuple):
    """A page's file: its path in the docs folder, and that of its page in the site."""

    source: str
    target: str
    left_out: bool

    @property
    def key(self) -> str:
        return page_key(self.source, self.target)

    @property
    def folder(self) -> Path:
        return Path(self.source).parent


class _Site:
    """A site's configuration, as Zensical has completed it, and what is made of it."""

    def __init__(self, config_file: str, config: dict[str, Any]) -> None:
        self.config_file = config_file
        self.config = config
        # The contents of the pages that were rendered, by key.
        self.contents: dict[str, str] = {}
        self.folder = Path(config["root_dir"])
        self.docs = self.folder / config["docs_dir"]
        self.language: str = config["theme"]["language"]
        self.marks = BuildingMarks()
        self.extension = MarkstayExtension(self.marks)
        # In the place of the one that the site names, if it names one.
        names = config["markdown_extensions"]
        own = [name for name in names if is_extension(name)]
        config["markdown_extensions"] = [*(n for n in names if n not in own), self.extension]
        self.configured = bool(own)
        values: Mapping[str, Any] = config["mdx_configs"][own[0]] if own else {}
        self.options = read_rule_options(values)
        self.rules = self.options.make_rules(name_command("stamp", config_file))

    def find_files(self) -> list[_File]:
        """Find the files of pages, in order; those that the site leaves out are marked."""
        excluded = self._patterns("exclude_docs", _LEFT_OUT)
        drafts = self._patterns("draft_docs")
        plugin = self._plugin("exclude")
        globs, regexes = (plugin["glob"], plugin["regex"]) if plugin["enabled"] else ([], [])

        def is_left_out(source: str) -> bool:
            return (
                excluded.match_file(source)
                or drafts.match_file(source)
                or any(fnmatchcase(source, glob) for glob in globs)
                or any(re.match(regex, source) for regex in regexes)
            )

        sources = sorted(_find_sources(self.docs))
        return [_File(each, self._target(each), is_left_out(each)) for each in sources]

    def find_metadata(self, files: list[_File]) -> dict[Path, dict[str, Any]]:
        """Find what the pages in each folder have from metadata files, theirs and those above."""
        options = self._plugin("meta")
        found: dict[Path, dict[str, Any]] = {}

        def find(folder: Path) -> dict[str, Any]:
            if folder not in found:
                above = find(folder.parent) if folder != folder.parent else {}
                own = _read_metadata(self.docs / folder / options["meta_file"])
                found[folder] = {**above, **own}
            return found[folder]

        for file in files:
            if options["enabled"]:
                find(file.folder)
        return found

    def url(self, file: _File) -> str:
        """Give the address of a page, relative to the root of the site."""
        directory = self.config["use_directory_urls"]
        return file.target.removesuffix("index.html") if directory else file.target

    def is_draft(self, source: str, meta: Mapping[str, Any]) -> bool:
        """Whether a page is a post of a blog that is not to be published yet."""
        for blog in self._plugin("blogs"):
            options = blog["config"]
            folder = str(options.get("blog_dir", "blog"))
            posts = str(options.get("post_dir", "{blog}/posts")).replace("{blog}", folder)
            if PurePosixPath(source).is_relative_to(PurePosixPath(posts)):
                return bool(meta.get("draft")) and not options.get("draft")
        return False

    def _plugin(self, name: str) -> Any:
        return self.config["plugins"][name]["config"]

    def _patterns(self, setting: str, first: tuple[str, ...] = ()) -> Patterns:
        return read_patterns([*first, *(self.config[setting] or "").splitlines()])

    def _target(self, source: str) -> str:
        folder, slash, name = source.removesuffix(".md").rpartition("/")
        if name in _INDEX:
            return f"{folder}{slash}index.html"
        ending = "/index.html" if self.config["use_directory_urls"] else ".html"
        return f"{folder}{slash}{name}{ending}"


def _find_sources(docs: Path) -> Iterator[str]:
    """Find the Markdown files in the docs folder, `/`-separated and relative to it."""
    for folder, _, names in os.walk(docs):  # as Zensical, into no linked folder
        for name in names:
            path = Path(folder, name)
            if name.endswith(".md") and path.is_file():
                yield path.relative_to(docs).as_posix()


def _inspect(site: _Site, inspection: Inspection, strict: bool) -> None:
    files = site.find_files()
    metadata = site.find_metadata(files)
    index = SiteIndex()
    site.extension.adds_attr_list = not inspection.plain
    if inspection.every_stay:
        site.rules = site.rules.with_every_stay()
    site.extension.rules = site.rules
    paths = {file: os.fspath(site.docs / file.source) for file in files}
    files = [file for file in files if not file.left_out or inspection.wants_left_out(paths[file])]
    wanted = {file for file in files if inspection.wants(file.key, paths[file])}
    inspection.progress.begin(inspection.step, len(wanted))
    for file in files:
        if file in wanted:
            inspection.begin_page(file.key, paths[file])
            report = _read_page(site, file, metadata.get(file.folder, {}), inspection)
            inspection.progress.advance()
        elif file.key in inspection.known:
            report = inspection.known[file.key]
        else:
            continue
        inspection.reports.append(report)
        inspection.findings += report.findings
        if report.published:
            placed, findings = index.add(report)
            inspection.findings += [*findings, *(report.shown if placed else ())]
    # What is read from here on is of no page.
    inspection.begin_page("", None)
    inspection.findings = _check_permanence(site, inspection)
    inspection.begin_page(None, None)
    inspection.settings = SiteSettings(
        site.folder,
        site.docs,
        site.rules,
        site.options.findings,
        site.language,
        strict,
        site.configured,
        site.extension.added_attr_list,
        # Zensical wants it in the folder of the configuration, with all links followed.
        Path(os.path.normpath(site.folder / site.config["site_dir"])),
        site.config.get("site_url") or "",
        find_roots((site.docs, site.folder), site.config["mdx_configs"]),
    )


def _check_permanence(site: _Site, inspection: Inspection) -> list[Finding]:
    kept = Permanence(
        site.config_file, site.language, directory_urls=site.config["use_directory_urls"]
    )
    reports = [report for report in inspection.reports if report.published]
    targets = {report.target for report in inspection.reports}
    contents: dict[str, str | None] = {
        report.target: site.contents.get(report.key) for report in reports
    }
    inspection.findings += kept.add_language(reports, (), contents, targets)
    findings = kept.check(inspection.findings)
    if kept.compared_texts:
        # Which section is the nearest is told by the texts of all pages.
        inspection.unprobed.update(r.key for r in reports if r.key not in site.contents)
    return findings


def _read_page(
    site: _Site, file: _File, inherited: Mapping[str, Any], inspection: Inspection
) -> PageReport:
    path = site.docs / file.source
    shown = name_path(path)
    text, findings = decode(path.read_bytes(), shown)
    front_matter, written, body = split_front_matter(text)
    folders = (path.parent, site.docs, site.folder)
    roots = find_roots(folders, site.config["mdx_configs"])
    source = Source(shown, front_matter, body, roots, name_path)
    own, problems = _read_front_matter(written, source) if front_matter else ({}, [])
    findings += problems
    meta = {**inherited, **own}
    report = PageReport(
        file.source,
        file.target,
        shown,
        site.language,
        template=str(meta.get("template", "main.html")),
        findings=tuple(findings),
    )
    if findings or site.is_draft(file.source, meta):
        return report
    site.extension.conversion = None
    try:
        result = render(body, file.source, site.url(file), json.dumps(meta, default=str))
    except Exception as error:
        raise InspectionError(f"{shown}: {type(error).__name__}: {error}".rstrip(": ")) from error
    # Without text there is nothing to convert.
    conversion = site.extension.conversion or Conversion()
    excluded = site.options.exclude.match_file(file.source)
    html, stays = result["content"], None
    if not excluded:
        html, stays = bind_page(html, site.marks, conversion, FURNITURE, site.rules)
    content = site.marks.strip(html)
    markdown = "\n".join(conversion.text)
    rendered = RenderedMarkdown(
        source, meta, html, content, markdown, site.marks, conversion, stays=stays
    )
    headings: list[Heading] | None = None
    if not excluded:
        report, headings = read_page(report, rendered, site.rules)
    site.contents[file.key] = content
    marked = f"{BEGIN}{content}{END}"
    if report.published:
        title = str(result["title"] or "")
        report = replace(report, shown=tuple(check_published(marked, title, report, _POLICY)))
    if inspection.keep:
        anchors = tuple(heading.published_id for heading in headings or ())
        inspection.rendered.append(
            RenderedPage(report, tuple(headings or ()), anchors, path, file.left_out, marked)
        )
    return report


def _read_front_matter(text: str, source: Source) -> tuple[dict[str, Any], list[Finding]]:
    """Read the front matter of a page. Zensical builds no site with one that it cannot read."""
    line, problem = 1, "it is no mapping of keys to values"
    try:
        values = yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        values, problem = None, str(error.problem)
        line = error.problem_mark.line + 2 if error.problem_mark else 1
    except yaml.YAMLError as error:
        values, problem = None, str(error).partition("\n")[0]
    if isinstance(values, dict):
        return values, []
    message = f"the front matter cannot be read: {problem}. Correct it"
    return {}, [Finding(source.path, line, "page-options", message)]


def _read_metadata(path: Path) -> dict[str, Any]:
    """Read the metadata of the pages in a folder, if there are any."""
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (yaml.YAMLError, ValueError) as error:
        raise InspectionError(f"{name_path(path)}: {error}") from None
    return values if isinstance(values, dict) else {}
