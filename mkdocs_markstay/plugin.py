"""The MkDocs plugin: hooks, configuration, log lines. What it decides is decided elsewhere."""

from __future__ import annotations

import logging
import os
import re
import tempfile
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mkdocs.commands.build import build, get_context
from mkdocs.config import base, load_config
from mkdocs.config import config_options as c
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import MkDocsException, PluginError
from mkdocs.plugins import BasePlugin, CombinedEvent, event_priority
from mkdocs.structure.files import File, InclusionLevel
from mkdocs.utils import CountHandler, get_relative_url
from mkdocs.utils.yaml import get_yaml_loader, yaml_load
from slugify import slugify

from mkdocs_markstay.bare_markdown import leave_out_ids, leave_out_markers
from mkdocs_markstay.baseline import Baseline
from mkdocs_markstay.checks import STAYS, Rules, check_theme, find_ids
from mkdocs_markstay.cite import SCRIPT, STYLE, CitedSite, complete_page, write_script, write_style
from mkdocs_markstay.extension import MarkstayExtension
from mkdocs_markstay.extract_lexbor import check_selector, find_region
from mkdocs_markstay.findings import (
    LEVELS,
    PERMANENCE_CODES,
    Finding,
    judge,
    lower_errors,
    name_command,
    name_path,
    summarize,
    without_many_debts,
)
from mkdocs_markstay.furniture import FURNITURE
from mkdocs_markstay.inspection import Inspection, InspectionError, RenderedPage, SiteSettings
from mkdocs_markstay.manifest_shapes import JSON_NAME, NAMES
from mkdocs_markstay.manifest_writer import ManifestWriter, check_formats, remove_manifest
from mkdocs_markstay.marks import BEGIN, END, BuildingMarks
from mkdocs_markstay.page_context import clean_title, read_title
from mkdocs_markstay.page_reading import RenderedMarkdown, read_page
from mkdocs_markstay.page_report import PageReport, SiteIndex, page_key
from mkdocs_markstay.page_source import Source, decode, find_roots, read_page_options
from mkdocs_markstay.page_stays import bind_page
from mkdocs_markstay.parity import join_missing
from mkdocs_markstay.passages import GRANULARITIES, Sizes, check_sizes
from mkdocs_markstay.permanence import Permanence
from mkdocs_markstay.published import check_published, read_published
from mkdocs_markstay.quiet import nothing_on_stdout
from mkdocs_markstay.records import Page, Policy, Publication
from mkdocs_markstay.register import NAME as REGISTER
from mkdocs_markstay.register import find_register
from mkdocs_markstay.rule_options import (
    OptionError,
    Patterns,
    read_levels,
    read_pattern,
    read_patterns,
    read_rule_options,
    read_segmentation,
    read_severities,
)
from mkdocs_markstay.sectionids import read_heading
from mkdocs_markstay.site_kind import is_extension
from mkdocs_markstay.stays import SEGMENTATIONS
from mkdocs_markstay.translations import compare_languages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jinja2 import Environment, Template
    from mkdocs.livereload import LiveReloadServer
    from mkdocs.structure.files import Files
    from mkdocs.structure.nav import Navigation
    from mkdocs.structure.pages import Page as MkDocsPage
    from mkdocs.utils.templates import TemplateContext

    from mkdocs_markstay.conversion import Conversion
    from mkdocs_markstay.headings import Heading
    from mkdocs_markstay.inspector import Inspector
    from mkdocs_markstay.page_source import PageOptions
    from mkdocs_markstay.page_stays import ReadContent, RenderedStays

# `mkdocs`, or `properdocs`, whose modules are imported by the same names in its processes.
_GENERATOR = build.__module__.partition(".")[0]

# Below the generator's, so that --strict and --quiet mean what they mean there; without
# the prefix of a plugin's logger, so that an editor can follow `path:line`.
log = logging.getLogger(f"{_GENERATOR}.plugins.markstay")

# Before and after all other plugins, whatever they ask for.
FIRST, LAST = 10_000, -10_000

# How many findings are told one by one without a summary first.
_MANY = 20
# How many pages of each template are rendered to learn the theme's ids.
_PAGES_PROBED = 2
# How many pages are kept until they are read together.
_PAGES_AT_ONCE = 32
# Without comparison in builds, the command `parity` warns.
_PARITY_LEVELS = {"warn": "warning", "error": "error", "off": "warning"}
_PARITY_CODES = ("parity-missing", "parity-extra", "parity-order")


class _Name(c.Type[str]):
    """A name that is part of ids: one line of visible text."""

    def __init__(self) -> None:
        super().__init__(str)

    def run_validation(self, value: object) -> str:
        name: str = super().run_validation(value)
        if not name.strip() or not name.isprintable():
            raise base.ValidationError("Expected one line of text that is not empty")
        return name


@contextmanager
def _option_errors() -> Iterator[None]:
    try:
        yield
    except OptionError as error:
        raise base.ValidationError(str(error)) from None


class _Globs(c.ListOfItems[str]):
    """A list of patterns as in `.gitignore`."""

    def run_validation(self, value: object) -> list[str]:
        patterns = super().run_validation(value)
        with _option_errors():
            read_patterns(patterns)
        return patterns


class _LevelSet(c.ListOfItems[int]):
    """A list of heading levels."""

    def run_validation(self, value: object) -> list[int]:
        levels = super().run_validation(value)
        with _option_errors():
            read_levels(levels)
        return levels


class _Pattern(c.OptionallyRequired[str]):
    """A regular expression."""

    def run_validation(self, value: object) -> str:
        with _option_errors():
            return read_pattern(value).pattern


class _Selectors(c.ListOfItems[str]):
    """A list of CSS selectors."""

    def run_validation(self, value: object) -> list[str]:
        selectors = super().run_validation(value)
        for selector in selectors:
            problem = check_selector(selector)
            if problem:
                raise base.ValidationError(problem)
        return selectors


class _Severities(c.DictOfItems[str]):
    """A mapping of finding codes to levels."""

    def run_validation(self, value: object) -> dict[str, str]:
        levels = super().run_validation(value)
        with _option_errors():
            return read_severities(levels)


class _Switch(c.Choice[str]):
    """One of some words, `off` being one. YAML reads it as false if it is not in quotes."""

    def run_validation(self, value: object) -> str:
        return super().run_validation("off" if value is False else value)


class _Segmentation(c.Choice[str]):
    """What a block of the source is."""

    def run_validation(self, value: object) -> str:
        with _option_errors():
            return read_segmentation(super().run_validation(value))


class SizesConfig(base.Config):  # type: ignore[no-untyped-call]
    """The option ``passages``: how long passages are, in characters."""

    min_chars = c.Type(int, default=Sizes.min_chars)
    """No passage of a longer section is shorter."""

    target_chars = c.Type(int, default=Sizes.target_chars)
    """The usual length. A section that is not longer is one passage."""

    max_chars = c.Type(int, default=Sizes.max_chars)
    """No passage is longer."""


class MarkstayConfig(base.Config):  # type: ignore[no-untyped-call]
    """The plugin's options."""

    publication = c.Optional(_Name())
    """Names the corpus in every chunk id. Default: the slug of `site_name`."""

    language = c.Optional(_Name())
    """The language of the site. Default: the theme's language or locale, else `en`."""

    default_language = c.Optional(_Name())
    """The language whose chunk ids have none in them. Default: the site's."""

    version = c.Optional(_Name())
    """The documented version. Default: what mike sets, else none."""

    levels = _LevelSet(c.Type(int), default=[2, 3, 4, 5, 6])
    """Heading levels at which an id is required; an h1 after the first always needs one."""

    id_pattern = c.Optional(_Pattern())
    """A regular expression that every section id must match as a whole."""

    exclude = _Globs(c.Type(str), default=[])
    """Pages that are neither enforced nor in the manifest: patterns as in `.gitignore`."""

    enforce_generated = c.Type(bool, default=False)
    """Require ids in pages and headings that no author wrote, too."""

    findings = _Severities(c.Choice(LEVELS), default={})
    """The level of each finding code: `error`, `warning`, `info` or `ignore`."""

    parity = _Switch(tuple(_PARITY_LEVELS), default="warn")
    """What it is if a translation has other section ids than its original."""

    permanence = _Switch(("off", "warn", "error"), default="error")
    """What it is if something is not published any more that is in `markstay.lock`."""

    stays = _Switch(STAYS, default="optional")
    """Whether blocks may have markers of markstay, must have them, or these are left alone."""

    stay_blocks = _Segmentation(SEGMENTATIONS, default=SEGMENTATIONS[0])
    """What a block of the source is: text between empty lines, or a node of CommonMark."""

    stay_anchors = c.Type(bool, default=False)
    """Give each marked block an anchor, `stay-` and the id of its marker."""

    keep_markers = c.Type(bool, default=False)
    """Leave the markers in the published pages, as comments in their blocks."""

    furniture = _Selectors(c.Type(str), default=[])
    """CSS selectors of further elements whose text is no passage text."""

    passages = c.SubConfig(SizesConfig)
    """How long passages are."""

    granularity = c.Choice(GRANULARITIES, default="group")
    """`group`: blocks up to the wanted size; `block`: each alone; `section`: all of a section."""

    formats = c.ListOfItems(c.Choice(tuple(NAMES)), default=["json", "jsonl"])
    """The files to write: `json`, `jsonl`, `parquet`."""

    cite = c.Type(bool, default=False)
    """Put a button beside each section that copies its address, and offers other ways to cite."""

    verify = c.Type(bool, default=False)
    """Read the finished site again with the second extractor and compare."""

    inspector = c.Type(bool, default=True)
    """Let `mkdocs serve` show the passages on its pages. A build knows nothing of it."""

    baseline_manifest = c.Optional(_Name())
    """The manifest that the inspector compares with. Default: the one that a build wrote."""


class _Unread(NamedTuple):
    """A page that was rendered and has not been read yet."""

    page: MkDocsPage
    rendered: RenderedMarkdown


@dataclass
class _Build:
    """What one build gathers, with the builds of other languages in it."""

    writer: ManifestWriter
    policy: Policy
    rules: Rules
    exclude: Patterns
    baseline: Baseline
    cited: CitedSite
    index: SiteIndex = field(default_factory=SiteIndex)
    theme_ids: frozenset[str] = frozenset()
    unread: list[_Unread] = field(default_factory=list)
    reports: list[PageReport] = field(default_factory=list)
    left_out: set[str] = field(default_factory=set)
    # What an inspection needs of the pages that were rendered, by key.
    inspected: dict[str, tuple[MkDocsPage, list[Heading]]] = field(default_factory=dict)
    published: list[tuple[str, Page, PageReport, ReadContent | None]] = field(default_factory=list)
    # What was read of pages with markers, by their file of the site.
    contents: dict[str, ReadContent] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    # What was told of them, as `judge` remembers it.
    told: set[tuple[str, ...]] = field(default_factory=set)
    # The pages that are to be published, by their file of the site.
    pages: dict[str, PageReport] = field(default_factory=dict)
    # Pages that a language shows in another one, for lack of a translation, or as drafts.
    lent: list[PageReport] = field(default_factory=list)
    # The pages in the default language, by page id.
    originals: dict[str, PageReport] = field(default_factory=dict)
    permanence: Permanence | None = None
    # How many languages are to be built after the one that is being built.
    languages_left: int = 0
    written: list[str] = field(default_factory=list)
    complete: bool = True
    # How many builds are under way: those of other languages run inside the first.
    depth: int = 0


class MarkstayPlugin(BasePlugin[MarkstayConfig]):  # type: ignore[no-untyped-call]
    """Enforces section ids and writes the passage manifest."""

    def __init__(self) -> None:
        self.command = "build"
        self.dirty = False
        self.extension = MarkstayExtension()
        self.marks = self.extension.marks = BuildingMarks()
        self.build: _Build | None = None
        self.mkdocs_config: MkDocsConfig | None = None
        # What is to be read where nothing is to be published.
        self.inspection: Inspection | None = None
        self.configured = True
        # What `mkdocs serve` shows of the passages on its pages.
        self.inspector: Inspector | None = None
        self.docs = Path()
        self.nav: Navigation | None = None
        # Of the page that is being read: its file, and its Markdown before other plugins.
        self.page: MkDocsPage | None = None
        self.path = ""
        self.text = ""
        self.body = ""
        # Its content, while there is more in it: marks, and what old addresses lead to.
        self.content: str | None = None
        self.completed = ""
        # Its Markdown after other plugins, while it is without ids.
        self.markdown: str | None = None

    # -- the build

    def on_startup(self, *, command: str, dirty: bool) -> None:
        """Note what MkDocs was asked for. With this hook one object serves all rebuilds."""
        self.command, self.dirty = command, dirty
        self._end()

    def on_shutdown(self) -> None:
        """Give back what an interrupted build leaves."""
        self._end()

    @event_priority(FIRST)
    def _on_config_first(self, config: MkDocsConfig) -> MkDocsConfig:
        """Keep the site's own docs folder: plugins may show MkDocs another one, made of copies."""
        if self.build is None or not self.build.depth:
            self.docs = Path(config.docs_dir)
        return config

    @event_priority(-100)  # after plugins that set up Markdown
    def _on_config_last(self, config: MkDocsConfig) -> MkDocsConfig:
        """Add the Markdown extension and begin a build, unless one is under way."""
        self.mkdocs_config = config
        others = [e for e in config.markdown_extensions if not isinstance(e, MarkstayExtension)]
        config.markdown_extensions = [*others, self.extension]  # type: ignore[list-item]
        for plugin in config.plugins.values():
            _clean_slugs(plugin)
        if self.config.cite:
            _add_script(config)
        if self.build is None or not self.build.depth:
            self.build = self._begin(config)
        return config

    on_config = CombinedEvent(_on_config_first, _on_config_last)

    @event_priority(FIRST)
    def on_pre_build(self, *, config: MkDocsConfig) -> None:
        """Take over the records of pages that a --dirty build will not read again."""
        build = self._build
        if self.dirty and not build.depth:
            problem, kept = build.writer.load_previous(Path(config.site_dir), build.policy)
            build.complete = not problem
            if problem:
                log.warning("The manifest has only the pages that are built now: %s", problem)
            for page in kept:
                path = os.path.join(config.docs_dir, page["source"])
                gone = not page["generated"] and not os.path.exists(path)
                if gone or build.exclude.match_file(page["source"]):
                    build.writer.discard(page["url"])
                else:
                    build.index.page_ids[page["page_id"], page["lang"]] = name_path(path)

    @event_priority(LAST)
    def on_files(self, files: Files, *, config: MkDocsConfig) -> Files:
        """Find files that would be published where the manifest is."""
        if self.inspection is not None:
            for file in files:
                excluded = file.inclusion.is_excluded()  # type: ignore[no-untyped-call]
                if excluded and self.inspection.wants_left_out(file.abs_src_path or ""):
                    file.inclusion = InclusionLevel.NOT_IN_NAV
                    self._build.left_out.add(file.src_uri)
        for name in NAMES.values():
            taken = files.get_file_from_path(name)
            if taken is not None and taken.dest_uri == name:
                path = self._path_of(taken, config)
                message = f"the manifest is published as {name}. Rename the file"
                self._build.findings.append(Finding(path, 1, "same-url", message))
        if self.config.cite:
            files.append(File.generated(config, SCRIPT, content=write_script(self._build.cited)))
            files.append(File.generated(config, STYLE, content=write_style()))
        return files

    @event_priority(LAST)
    def on_nav(self, nav: Navigation, *, config: MkDocsConfig, files: Files) -> Navigation:
        """Keep the navigation: templates need it. An inspection need not render known pages."""
        del config
        self.nav = nav
        if self.inspection is not None:
            total = 0
            for file in files.documentation_pages():
                key = page_key(file.src_uri, file.dest_uri)
                wanted = self.inspection.wants(key, file.abs_src_path or "")
                # What MkDocs asks before it renders a page of a --dirty build.
                file.is_modified = partial(bool, wanted)  # type: ignore[method-assign]
                total += wanted
            self.inspection.progress.begin(self.inspection.step, total)
        return nav

    @event_priority(FIRST)
    def on_env(self, env: Environment, *, config: MkDocsConfig, files: Files) -> Environment:
        """Report what was found in all pages, before anything is written."""
        build = self._build
        self._read_sources(config)
        if self.inspection is not None:
            # What is read from here on is of no page: no report rests on it, only the verdict.
            self.inspection.begin_page("", None)
            self._read_contents(self.inspection)
            self._take_known(self.inspection, files)
        self._join_pages()
        if self.config.permanence != "off":
            self._check_permanence(config, files)
        build.theme_ids = self._probe_theme(env, config, files)
        for state in build.pages.values():
            build.findings += check_theme(state.path, state.anchors, build.theme_ids)
        if self.inspection is not None:
            self._hand_over(self.inspection, config)
            raise _InspectedError
        self._report(config)
        build.depth += 1
        return env

    @event_priority(FIRST)
    def _on_post_build_first(self, *, config: MkDocsConfig) -> None:
        """Report what was found in the published pages."""
        self._read_published()
        self._report(config)

    @event_priority(LAST + 1)
    def _on_post_build_pages(self, *, config: MkDocsConfig) -> None:
        """Publish pages in the place of old ones, where no other plugin has put any."""
        build, site = self._build, Path(config.site_dir)
        kept = build.permanence
        if kept is None or build.depth > 1 or self.dirty:
            return  # not the last language
        build.findings += kept.find_written(site)
        self._report(config)
        try:
            build.written += map(os.fspath, kept.write_pages(site, config.site_url or ""))
        except OSError as error:
            self._withdraw(config)
            raise PluginError(f"markstay: an old address cannot be kept: {error}") from None

    @event_priority(LAST)
    def _on_post_build_last(self, *, config: MkDocsConfig) -> None:
        """Write the manifest, and verify the site if that is wanted."""
        build = self._build
        folder = Path(config.site_dir)
        kept = build.permanence
        build.depth -= 1
        if build.depth:
            return  # not the last language
        if kept is not None:
            build.writer.redirects, build.writer.retired = kept.old.redirects, kept.old.retired
        if config.strict and _warnings_counted():
            # MkDocs is about to fail this build. What is there is of an older one.
            remove_manifest(folder)
            return
        try:
            build.writer.write(
                folder,
                self.config.formats,
                build.policy,
                complete=build.complete,
                preview=self.command == "serve",
            )
        except OSError as error:
            raise PluginError(f"markstay: the manifest cannot be written: {error}") from None
        log.info("Passage manifest: %s", build.writer.summary())
        if kept is not None and kept.wanted and (new := kept.count_new()) and build.complete:
            log.info("%s has to be updated (%d). Run: %s", REGISTER, new, kept.register.command)
        if debts := build.baseline.summarize(complete=not self.dirty):
            log.info("markstay: %s", debts)
        if self.config.verify:
            from mkdocs_markstay.verify import verify_site  # noqa: PLC0415 (slow to import)

            build.findings += verify_site(Path(name_path(folder)))
            self._report(config)
        if self.inspector is not None:
            self.inspector.finish(folder, dirty=self.dirty)
        self._end()

    on_post_build = CombinedEvent(_on_post_build_first, _on_post_build_pages, _on_post_build_last)

    def on_build_error(self, *, error: Exception) -> None:
        """Say what was found until another plugin failed."""
        build = self.build
        if build is not None:
            if not isinstance(error, _FindingsError):
                assert self.mkdocs_config is not None
                self._read_sources(self.mkdocs_config)
                self._join_pages()
                findings = judge(build.findings, self._levels(), build.told)
                self._log(build.baseline.judge(findings))
            if self.inspector is not None:
                self.inspector.fail()
            self._end()

    def on_serve(
        self, server: LiveReloadServer, *, config: MkDocsConfig, builder: Callable[..., Any]
    ) -> LiveReloadServer:
        """Build again when the register changes, and put the inspector before the pages."""
        del builder
        if self.inspector is not None:
            from mkdocs_markstay.inspector_server import inspect_app  # noqa: PLC0415 (serve only)

            app: Any = server.get_app()
            server.set_app(inspect_app(app, self.inspector, server.mount_path))
        register = find_register(_config_file_of(config))
        if register.is_file():
            server.watch(os.fspath(register))
        return server

    # -- a page's Markdown

    @event_priority(FIRST)
    def _on_pre_page_first(
        self, page: MkDocsPage, *, config: MkDocsConfig, files: Files
    ) -> MkDocsPage:
        """Read the file of a page; one that is not UTF-8 as far as possible."""
        del files
        if self.inspection is not None:
            self._begin_page(self.inspection, page)
        self._read_file(page, config)
        return page

    @event_priority(LAST)
    def _on_pre_page_last(
        self, page: MkDocsPage, *, config: MkDocsConfig, files: Files
    ) -> MkDocsPage:
        """Name the file that a page was copied from, which a plugin may tell only now."""
        del files
        if page.file.abs_src_path:
            self.path = self._path_of(page.file, config)
        return page

    on_pre_page = CombinedEvent(_on_pre_page_first, _on_pre_page_last)

    @event_priority(FIRST)
    def _on_page_markdown_first(
        self, /, markdown: str, *, page: MkDocsPage, config: MkDocsConfig, **_: Any
    ) -> str:
        """Keep what the author wrote."""
        if self.page is not page:  # a plugin's own kind of page, a blog post, reads itself
            self._read_file(page, config)
        self.body = markdown
        return markdown

    @event_priority(LAST)
    def _on_page_markdown_last(self, /, markdown: str, **_: Any) -> str:
        """Forget conversions that came before the page's own."""
        self.extension.conversion = None
        return markdown

    on_page_markdown = CombinedEvent(_on_page_markdown_first, _on_page_markdown_last)

    @event_priority(FIRST)
    def _on_page_content_first(
        self, /, html: str, *, page: MkDocsPage, config: MkDocsConfig, files: Files
    ) -> str:
        """Take the marks out of a page's content, and note the page for reading."""
        del files
        build = self._build
        conversion, self.extension.conversion = self.extension.conversion, None
        clean_title(page)
        source = self._source(page, config)
        stays = None
        if (
            conversion is not None
            and conversion.stays is not None
            and not build.exclude.match_file(page.file.src_uri)
        ):
            html, stays = self._bind(page, html, conversion, read_page_options(page.meta, source))
        content = self.marks.strip(html)
        page.content = content  # feeds are made from this, not from what is returned
        rendered = RenderedMarkdown(
            source,
            page.meta,
            html,
            content,
            page.markdown or "",
            self.marks,
            conversion,
            # What mkdocs-encryptcontent-plugin keeps of a page that it will encrypt.
            secret=hasattr(page, "encryptcontent"),
            made_from=self._made_from(page.file, config),
            stays=stays,
        )
        build.unread.append(_Unread(page, rendered))
        if len(build.unread) >= _PAGES_AT_ONCE:
            self._read_sources(config)
        if "rss" in config.plugins and conversion is not None:
            # It renders the Markdown again, without extensions.
            self.markdown = page.markdown
            page.markdown = leave_out_ids(rendered.markdown, conversion)
            if build.rules.stays != "off":
                page.markdown = leave_out_markers(page.markdown)
        return content

    @event_priority(LAST)
    def _on_page_content_last(self, /, html: str, *, page: MkDocsPage, **_: Any) -> str:
        """Give a page its Markdown back: excerpts of a blog are made from it."""
        if self.markdown is not None:
            page.markdown, self.markdown = self.markdown, None
        if self.inspection is not None:
            self.inspection.progress.advance()
        return html

    on_page_content = CombinedEvent(_on_page_content_first, _on_page_content_last)

    def _bind(
        self, page: MkDocsPage, html: str, conversion: Conversion, options: PageOptions
    ) -> tuple[str, RenderedStays | None]:
        """Bind the markers of a page's blocks, unless the page leaves itself out."""
        build = self._build
        if not options.included:
            return html, None
        furniture = (*build.policy.furniture, *options.furniture)
        html, stays = bind_page(html, self.marks, conversion, furniture, build.rules)
        if stays is not None:
            build.contents[page.file.dest_uri] = stays.content
            if page.present_anchor_ids is not None:  # links to them are no mistakes
                page.present_anchor_ids |= stays.anchors
        return html, stays

    # -- a page's HTML

    @event_priority(LAST)
    def on_page_context(
        self, context: TemplateContext, *, page: MkDocsPage, config: MkDocsConfig, nav: Navigation
    ) -> TemplateContext:
        """Put the marks around the page's prose."""
        del config, nav
        build = self._build
        content, before = page.content or "", ""
        self.content = page.content
        if build.permanence is not None:
            content, before = build.permanence.complete(page.file.dest_uri, content)
        if page.file.dest_uri in build.pages:
            content = f"{BEGIN}{content}{END}"
        page.content = self.completed = before + content
        return context

    @event_priority(FIRST)
    def _on_post_page_first(self, output: str, *, page: MkDocsPage, config: MkDocsConfig) -> str:
        """Link the manifest from the page's head, before a minifier takes the head away."""
        del config
        if page.content == self.completed:
            page.content = self.content
        if "json" not in self.config.formats:
            return output
        head = output.find("</head>")
        if head < 0:
            return output
        href = get_relative_url(JSON_NAME, page.url)
        link = f'<link rel="alternate" type="application/json" href="{href}" title="passages">'
        return f"{output[:head]}{link}{output[head:]}"

    @event_priority(LAST)
    def _on_post_page_last(self, output: str, *, page: MkDocsPage, config: MkDocsConfig) -> str:
        """Read the text of the published page."""
        build = self._build
        output = self.marks.strip(output)
        build.written.append(page.file.abs_dest_path)
        state = build.pages.pop(page.file.dest_uri, None)
        read = None
        if state is None:
            build.writer.discard(page.url)
        else:
            read = self._facts(page, state), state, build.contents.pop(page.file.dest_uri, None)
            build.published.append((output, *read))
            if self.config.cite:  # once all others have read the page
                output = complete_page(output, page.url, state, build.cited)
        if self.inspector is not None:
            self._show(self.inspector, page, config, read)
        if len(build.published) >= _PAGES_AT_ONCE:
            self._read_published()
        return output

    on_post_page = CombinedEvent(_on_post_page_first, _on_post_page_last)

    def _show(
        self,
        inspector: Inspector,
        page: MkDocsPage,
        config: MkDocsConfig,
        read: tuple[Page, PageReport, ReadContent | None] | None,
    ) -> None:
        """Note for the inspector what a page was read by, or why it was not."""
        from mkdocs_markstay.inspector import SeenPage  # noqa: PLC0415 (serve only)

        file, why = page.file, "other"
        if read is None:
            if file.inclusion.is_excluded():  # type: ignore[no-untyped-call]
                why = "draft"
            elif self._build.exclude.match_file(file.src_uri):
                why = "excluded"
            elif page.meta.get("markstay") is False:
                why = "front-matter"
            elif any(report.target == file.dest_uri for report in self._build.lent):
                why = "lent"
        path = read[1].path if read else self._path_of(file, config)
        inspector.note_page(file.dest_uri, SeenPage(path, read, why))

    # -- the work behind the hooks

    @property
    def _build(self) -> _Build:
        assert self.build is not None, "MkDocs calls on_config first"
        return self.build

    def _end(self) -> None:
        if self.build is not None:
            self.build.writer.close()
            self.build = None

    def _begin(self, config: MkDocsConfig) -> _Build:
        self._end()
        options = self.config
        if options.verify and "json" not in options.formats:
            raise PluginError("markstay: verify needs 'json' among the formats")
        if problem := check_formats(options.formats):
            raise PluginError(f"markstay: {problem}")
        chosen = options.passages
        sizes = Sizes(chosen.min_chars, chosen.target_chars, chosen.max_chars)
        if problem := check_sizes(sizes):
            raise PluginError(f"markstay: {problem}")
        publication = Publication(
            options.publication or slugify(config.site_name) or "site",
            self._default_language(config),
            options.version or os.environ.get("MIKE_DOCS_VERSION") or None,
            config.site_url or None,
        )
        policy = Policy((*FURNITURE, *options.furniture), sizes, options.granularity)
        pattern = re.compile(options.id_pattern) if options.id_pattern else None
        rules = Rules(
            frozenset(options.levels),
            pattern,
            options.enforce_generated,
            name_command("stamp", _config_file_of(config)),
            options.stays,
            options.stay_blocks,
            options.stay_anchors,
            options.keep_markers,
        )
        if self.inspection is not None and self.inspection.every_stay:
            rules = rules.with_every_stay()
        self.extension.rules = rules
        exclude = read_patterns(options.exclude)
        baseline = Baseline(_config_file_of(config))
        if self.inspection is None:
            baseline.read()
        cited = CitedSite(
            config.site_name,
            publication.version or "",
            _read_written(config, "site_url") if self.command == "serve" else config.site_url or "",
            policy.furniture,
            config.use_directory_urls,
            options.stay_anchors,
        )
        build = _Build(ManifestWriter(publication), policy, rules, exclude, baseline, cited)
        build.findings += baseline.findings
        if self.command == "serve" and self.inspection is None:
            self._begin_inspector(config, build)
        return build

    def _begin_inspector(self, config: MkDocsConfig, build: _Build) -> None:
        """Let the inspector, which is there from the first build to the last, see another one."""
        from mkdocs_markstay.inspector import Inspector, Setup  # noqa: PLC0415 (serve only)
        from mkdocs_markstay.inspector_changes import place_baseline  # noqa: PLC0415

        if self.inspector is None:
            self.inspector = Inspector(partial(log.warning, "The inspector compares nothing: %s"))
        self.inspector.enabled = self.config.inspector
        home = Path(_config_file_of(config)).absolute().parent
        site_dir = _read_written(config, "site_dir") or "site"  # that of builds
        place = place_baseline(self.config.baseline_manifest, home, site_dir)
        self.inspector.begin(Setup(build.writer.publication, build.policy, place))

    def _language(self, config: MkDocsConfig) -> str:
        theme: Any = config.theme
        language = self.config.language or theme.get("language") or theme.get("locale") or "en"
        return str(language)

    def _default_language(self, config: MkDocsConfig) -> str:
        # mkdocs-static-i18n: the language whose pages are at the root
        translated = getattr(config.plugins.get("i18n"), "default_language", None)
        return self.config.default_language or translated or self._language(config)

    def _path_of(self, file: File, config: MkDocsConfig) -> str:
        made = file.generated_by is not None
        path = os.path.join(config.docs_dir, file.src_uri) if made else file.abs_src_path
        if path and os.path.exists(path) and not (made and self._made_from(file, config) == 1):
            return name_path(path)
        return file.src_uri

    def _made_from(self, file: File, config: MkDocsConfig) -> int | None:
        """Give the line from which on a plugin wrote a page, 1 if all of it, None if none."""
        if file.generated_by is None:
            return None
        try:
            written = Path(config.docs_dir, file.src_uri).read_bytes()
            added = bool(written) and file.content_bytes.startswith(written)
        except OSError:
            return 1
        return len(written.splitlines()) + 1 if added else 1

    def _source(self, page: MkDocsPage, config: MkDocsConfig) -> Source:
        front_matter, body = "", self.body
        if self.text.endswith(body):
            front_matter = self.text[: len(self.text) - len(body)]
        elif self.text:
            # MkDocs made lines of other characters, too (form feeds): these are the file's.
            body = self.text
        own = os.path.dirname(page.file.abs_src_path) if page.file.abs_src_path else ""
        home = os.path.dirname(config.config_file_path or "")
        roots = find_roots((own, config.docs_dir, home), config.mdx_configs)
        return Source(self.path or page.file.src_uri, front_matter, body, roots, name_path)

    def _probe_theme(self, env: Environment, config: MkDocsConfig, files: Files) -> frozenset[str]:
        """Learn which of the pages' ids the theme has, too, before anything is written.

        Where an id stands in a template, a page or two of each template are rendered
        without content. An id that a theme makes in another way is found in the page.
        """
        build = self._build
        mine = {section_id for state in build.pages.values() for section_id in state.anchors}
        if mine.isdisjoint(_ids_in_templates(config.theme.dirs)):
            return frozenset()
        probed: dict[str, int] = {}
        ids: set[str] = set()
        for file in files.documentation_pages():
            page = file.page
            if page is None or file.dest_uri not in build.pages:
                continue
            template = build.pages[file.dest_uri].template
            if probed.get(template, 0) == _PAGES_PROBED:
                continue
            probed[template] = probed.get(template, 0) + 1
            if page.content is not None:
                ids |= self._render_ids(env.get_template, template, page, config, files)
            elif self.inspection is not None:  # a page that is known
                self.inspection.unprobed.add(page_key(file.src_uri, file.dest_uri))
        return frozenset(ids)

    def _render_ids(
        self,
        get_template: Callable[[str], Template],
        name: str,
        page: MkDocsPage,
        config: MkDocsConfig,
        files: Files,
    ) -> set[str]:
        content, page.content, page.active = page.content, BEGIN + END, True
        try:
            assert self.nav is not None
            html = get_template(name).render(get_context(self.nav, files, config, page))
        except Exception as error:  # noqa: BLE001 (a theme may need what is not there yet)
            log.debug("The ids of template %s are checked later: %s", name, error)
            return set()
        finally:
            page.content, page.active = content, False
        region = find_region(html)
        return set() if region is None else set(find_ids(html))

    def _read_file(self, page: MkDocsPage, config: MkDocsConfig) -> None:
        self.page, self.path, self.text = page, "", ""
        try:
            raw = page.file.content_bytes
        except OSError:  # MkDocs says it better
            return
        self.path = self._path_of(page.file, config)
        self.text, findings = decode(raw, self.path)
        if findings:
            self._build.findings += findings
            # MkDocs would stop here; this way all that is wrong is told at once.
            page.file.content_string = self.text

    def _read_sources(self, config: MkDocsConfig) -> None:
        """Read the headings of the pages that were noted, and check them.

        Many pages at once: what is read page after page finds its code in the cache.
        """
        unread, self._build.unread = self._build.unread, []
        for each in unread:
            if self.inspection is not None:
                self._begin_page(self.inspection, each.page)
            self._read_source(each, config)

    def _read_source(self, unread: _Unread, config: MkDocsConfig) -> None:
        build, page = self._build, unread.page
        file = page.file
        language = getattr(file, "locale_alternate_of", None) or self._language(config)
        report = PageReport(
            file.src_uri,
            file.dest_uri,
            unread.rendered.source.path,
            language,
            template=str(page.meta.get("template", "main.html")),
            generated=unread.rendered.made_from == 1,
        )
        if self.inspection is not None:
            build.inspected[report.key] = page, []
        if build.exclude.match_file(file.src_uri):
            build.reports.append(report)
            return
        # Else it is shown for lack of a translation: the page itself is elsewhere.
        translated = getattr(file, "locale", language) == language
        draft: bool = file.inclusion.is_excluded()  # type: ignore[no-untyped-call]
        rules = build.rules
        if not Path(os.path.abspath(report.path)).is_relative_to(self.docs):
            rules = replace(rules, stamp="")  # which changes no file of another site
        report, headings = read_page(
            report,
            unread.rendered,
            rules,
            page_source=getattr(file, "norm_src_uri", None) or "",
            publishable=translated and not draft,  # only `serve` shows drafts
        )
        build.reports.append(report)
        if self.inspection is not None:
            build.inspected[report.key] = page, headings or []

    def _join_pages(self) -> None:
        """Check what must be unique among the pages that were read."""
        build = self._build
        reports, build.reports = build.reports, []
        build.lent = [report for report in reports if report.page_id and not report.published]
        for report in reports:
            build.findings += report.findings
            if report.published:
                placed, findings = build.index.add(report)
                build.findings += findings
                if placed:
                    build.pages[report.target] = report
                    build.findings += report.shown
        if self.config.parity != "off":
            self._check_parity()

    def _check_parity(self) -> None:
        """Compare the translations with the pages in the default language, which come first."""
        build = self._build
        language = build.writer.publication.default_language
        _, found = compare_languages(
            build.pages.values(), language, build.originals, build.rules.stamp
        )
        build.findings = join_missing(build.findings, found)

    def _check_permanence(self, config: MkDocsConfig, files: Files) -> None:
        """Compare what is published with the register, once all languages are read."""
        build = self._build
        language = build.writer.publication.default_language
        if build.permanence is None:
            build.permanence = Permanence(
                _config_file_of(config), language, directory_urls=config.use_directory_urls
            )
            build.languages_left = _count_other_languages(config)
        else:
            build.languages_left -= 1
        kept = build.permanence
        contents = {
            file.dest_uri: file.page.content
            for file in files.documentation_pages()
            if file.page is not None
        }
        occupied = _published_files(files)
        lent = [report for report in build.lent if report.target in occupied]
        build.findings += kept.add_language(build.pages.values(), lent, contents, occupied)
        if not build.depth:
            build.findings += kept.check_redirects(*_find_redirects(config))
        # A --dirty build reads some of the pages.
        if not build.languages_left and (self.inspection is not None or not self.dirty):
            unread = {target for target, content in contents.items() if content is None}
            build.findings = kept.check(build.findings)
            if self.inspection is not None and kept.compared_texts:
                # Which section is the nearest is told by the texts of all pages.
                keys = (r.key for r in build.pages.values() if r.target in unread)
                self.inspection.unprobed.update(keys)

    def _begin_page(self, inspection: Inspection, page: MkDocsPage) -> None:
        inspection.begin_page(
            page_key(page.file.src_uri, page.file.dest_uri), page.file.abs_src_path
        )

    def _read_contents(self, inspection: Inspection) -> None:
        """Read the contents of the pages that were rendered, as other plugins have left them."""
        build = self._build
        for number, report in enumerate(build.reports):
            page, headings = build.inspected[report.key]
            html = f"{BEGIN}{page.content}{END}"
            if report.published:
                shown = check_published(html, read_title(page), report, build.policy)
                build.reports[number] = replace(report, shown=tuple(shown))
            if inspection.keep:
                # MkDocs has no path of a file that is not UTF-8 and was read all the same.
                made = report.generated or not os.path.exists(report.path)
                file = None if made else Path(os.path.abspath(report.path))
                left_out = report.source in build.left_out
                anchors = tuple(heading.published_id for heading in headings)
                inspection.rendered.append(
                    RenderedPage(report, tuple(headings), anchors, file, left_out, html)
                )

    def _take_known(self, inspection: Inspection, files: Files) -> None:
        """Put the reports of pages that were not rendered again among the others, in order."""
        build = self._build
        read = {report.key: report for report in build.reports}
        keys = [page_key(file.src_uri, file.dest_uri) for file in files.documentation_pages()]
        ordered = [read.pop(key, None) or inspection.known.get(key) for key in keys]
        build.reports = [*filter(None, ordered), *read.values()]
        inspection.reports += build.reports

    def _hand_over(self, inspection: Inspection, config: MkDocsConfig) -> None:
        """Give an inspection what was found in one language of the site."""
        build = self._build
        inspection.begin_page(None, None)
        home = Path(_config_file_of(config)).absolute().parent
        inspection.settings = SiteSettings(
            home,
            self.docs,
            build.rules,
            self._levels(),
            build.writer.publication.default_language,
            config.strict,
            self.configured,
            self.extension.added_attr_list,
            site_url=config.site_url or "",
            roots=find_roots((config.docs_dir, home), config.mdx_configs),
        )
        inspection.findings += build.findings
        # The next language begins with what this one leaves to be compared with.
        build.findings.clear()
        build.inspected.clear()
        build.pages.clear()
        build.depth += 1

    def _read_published(self) -> None:
        """Read the published pages that were noted: findings, and records for the manifest."""
        build = self._build
        unread, build.published = build.published, []
        for html, page, state, known in unread:
            text, findings = read_published(
                html, page, state, build.writer.publication, build.policy, known
            )
            build.findings += findings
            if text is None:
                build.writer.discard(page.url)
                build.writer.hide(page.page_id)
            else:
                build.writer.add(page.url, state.page_id, state.language, text)

    def _facts(self, page: MkDocsPage, state: PageReport) -> Page:
        """Give what the manifest says of a page."""
        title = read_title(page).encode("utf-8", "replace").decode()
        kept = self._build.permanence
        original = state.language == self._build.writer.publication.default_language
        return Page(
            state.page_id,
            " ".join(title.split()),
            page.url,
            state.language,
            page.file.src_uri,
            state.generated,
            state.furniture,
            state.lines,
            aliases=kept.old.aliases_of(state.page_id) if kept else {},
            former_urls=kept.old.former_urls_of(state.page_id) if kept and original else (),
        )

    def _levels(self) -> dict[str, str]:
        levels = dict.fromkeys(_PARITY_CODES, _PARITY_LEVELS[self.config.parity])
        levels |= self._build.rules.levels_of_stays
        if self.config.permanence == "warn":
            levels |= dict.fromkeys(PERMANENCE_CODES, "warning")
        return {**levels, **self.config.findings}

    def _report(self, config: MkDocsConfig) -> None:
        """Log the findings so far, and fail the build if they are errors."""
        build = self._build
        levels = self._levels()
        if self.command == "serve":
            levels = lower_errors(levels)
        findings = build.baseline.judge(judge(build.findings, levels, build.told))
        build.findings.clear()
        if self.inspector is not None:
            self.inspector.note_findings(findings)
        self._log(findings)
        failing = {"error", "warning"} if config.strict else {"error"}
        if self.command == "serve" or not any(found.level in failing for found in findings):
            return
        self._withdraw(config)
        debts = build.baseline.summarize(complete=False)
        raise _FindingsError(f"markstay: {summarize(findings)}{debts and f'; {debts}'}")

    def _withdraw(self, config: MkDocsConfig) -> None:
        """Take back what a failing build has published.

        What an earlier build published, and this one (--dirty) has not touched, stays.
        """
        if self._build.written:
            remove_manifest(Path(config.site_dir))
            for path in self._build.written:
                Path(path).unlink(missing_ok=True)

    def _log(self, findings: list[Finding]) -> None:
        findings = without_many_debts(findings)
        if len(findings) > _MANY:
            level = max(_LOG_LEVELS[found.level] for found in findings)
            log.log(level, "markstay: %s", summarize(findings))
        for found in findings:
            log.log(_LOG_LEVELS[found.level], "%s", found)


class _InspectedError(BaseException):
    """All is read that an inspection asks for. No error, so that no plugin takes it for one."""


class _FindingsError(PluginError):
    """The build fails for findings that have been logged."""


_LOG_LEVELS = {"error": logging.ERROR, "warning": logging.WARNING, "info": logging.INFO}


def _config_file_of(config: MkDocsConfig) -> str:
    return config.config_file_path or "mkdocs.yml"


def _read_written(config: MkDocsConfig, key: str) -> str:
    """Read a setting that a preview has changed as the configuration has it; "" if it has not."""
    with suppress(OSError), open(_config_file_of(config), "rb") as file:
        values = yaml_load(file, get_yaml_loader(config=config))
        return str(values.get(key) or "")
    return ""


def _clean_slugs(plugin: BasePlugin[Any]) -> None:
    """Keep ids out of the addresses of blog posts, which Material makes from raw headings."""
    options: Any = getattr(plugin, "config", None) or {}
    slugify_title = options.get("post_slugify")
    if slugify_title is None or hasattr(slugify_title, "of_markstay"):
        return

    def slugify_clean(title: str, separator: str) -> str:
        read = read_heading(title)
        slug: str = slugify_title(title if read.section_id is None else read.title, separator)
        return slug

    slugify_clean.of_markstay = True  # type: ignore[attr-defined]
    options["post_slugify"] = slugify_clean


def _add_script(config: MkDocsConfig) -> None:
    """Let all pages load the script and the style of `cite`. The site's own styles come later."""
    if STYLE not in config.extra_css:
        config.extra_css.insert(0, STYLE)
        script = c.ExtraScriptValue(SCRIPT)
        script.defer = True
        config.extra_javascript.append(script)


def _ids_in_templates(folders: list[str]) -> set[str]:
    ids: set[str] = set()
    for folder in folders:
        for path in Path(folder).rglob("*.html"):
            ids.update(find_ids(path.read_text(encoding="utf-8", errors="replace")))
    return ids


def _count_other_languages(config: MkDocsConfig) -> int:
    """Count the languages that mkdocs-static-i18n builds after the one that is being built."""
    translations: Any = config.plugins.get("i18n")
    current = getattr(translations, "current_language", None)
    return sum(each != current for each in getattr(translations, "build_languages", ()))


def _published_files(files: Files) -> set[str]:
    excluded = {f.dest_uri for f in files if f.inclusion.is_excluded()}  # type: ignore[no-untyped-call]
    return {file.dest_uri for file in files} - excluded


def _find_redirects(config: MkDocsConfig) -> tuple[dict[str, int], str]:
    """Find the sources that mkdocs-redirects is given, and the lines that give them."""
    path = name_path(_config_file_of(config))
    options: Any = getattr(config.plugins.get("redirects"), "config", None) or {}
    sources = [str(source) for source in options.get("redirect_maps") or ()]
    lines: list[str] = []
    if sources:
        with suppress(OSError):
            lines = Path(path).read_text(encoding="utf-8", errors="replace").split("\n")
    keys = {line.partition(": ")[0].strip(" '\""): n for n, line in enumerate(lines, 1)}
    return {source: keys.get(source, 1) for source in sources}, path


def _warnings_counted() -> bool:
    """Whether MkDocs has counted a warning that fails a strict build."""
    handlers = logging.getLogger(_GENERATOR).handlers
    return any(isinstance(handler, CountHandler) and handler.get_counts() for handler in handlers)


def inspect_site(config_file: str | None, inspection: Inspection, **overrides: Any) -> None:
    """Render the pages of a site as `mkdocs build` does, and publish nothing.

    ``config_file`` is None for the one in the current folder; ``overrides`` are settings
    as MkDocs' `load_config` takes them. Raises InspectionError if MkDocs or a plugin
    cannot go on.
    """
    for name in {"mkdocs", _GENERATOR}:  # other plugins log below `mkdocs`, whoever builds
        logging.getLogger(name).setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory(prefix="markstay-") as site_dir, nothing_on_stdout():
        try:
            # MkDocs keeps plugins for all builds of one server; these may be shut down.
            MkDocsConfig.plugins.plugin_cache.clear()  # type: ignore[attr-defined]
            config = load_config(config_file, site_dir=site_dir, **overrides)
            plugin = _find_plugin(config, inspection)
            config.plugins.on_startup(command="build", dirty=False)
            try:
                _inspect_languages(config)
            finally:
                plugin.inspection = None
                config.plugins.on_shutdown()
        except (MkDocsException, OptionError) as error:
            raise InspectionError(str(error)) from None
        except SystemExit as error:
            raise InspectionError(f"a plugin ended the program: {error.code or 0}") from None
        except Exception as error:  # another plugin's, or an extension's
            raise InspectionError(f"{type(error).__name__}: {error}".rstrip(": ")) from error


def _inspect_languages(config: MkDocsConfig) -> None:
    _inspect(config)
    # mkdocs-static-i18n builds its other languages once the first is finished.
    translations: Any = config.plugins.get("i18n")
    first = getattr(translations, "current_language", None)
    for language in getattr(translations, "build_languages", ()):
        if language != first:
            translations.current_language, translations.building = language, True
            _inspect(config)


def _inspect(config: MkDocsConfig) -> None:
    with suppress(_InspectedError):
        build(config, dirty=True)  # with this MkDocs asks which pages are to be rendered


def _find_plugin(config: MkDocsConfig, inspection: Inspection) -> MarkstayPlugin:
    """Find the plugin, or add it where the site does not have it. Raises OptionError."""
    found = [p for p in config.plugins.values() if isinstance(p, MarkstayPlugin)]
    extensions: list[str] = config.markdown_extensions
    listed = [name for name in extensions if is_extension(name)]
    if not found:
        plugin = MarkstayPlugin()
        # Without the plugin the extension enforces, by options of the same names.
        options = config.mdx_configs.get(listed[0], {}) if listed else {}
        read_rule_options(options)
        options = {name: value for name, value in options.items() if value is not None}
        plugin.load_config(options, config_file_path=config.config_file_path)
        config.plugins["markstay"] = plugin
    else:
        plugin = found[0]
    plugin.inspection, plugin.configured = inspection, bool(found or listed)
    plugin.extension.adds_attr_list = not inspection.plain
    return plugin
