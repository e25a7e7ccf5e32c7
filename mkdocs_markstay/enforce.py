"""Enforcing section ids where no plugin does: page by page, as the extension sees them.

An extension sees one page at a time, and only those that the generator has not kept from an
earlier build. So what concerns several pages is not checked here.
"""

from __future__ import annotations

import logging
import sys
from functools import cache, cached_property, lru_cache, partial
from typing import TYPE_CHECKING, Any

from mkdocs_markstay.baseline import NAME as BASELINE
from mkdocs_markstay.baseline import Baseline
from mkdocs_markstay.findings import judge, lower_errors, name_command, summarize
from mkdocs_markstay.furniture import FURNITURE
from mkdocs_markstay.marks import BEGIN, END
from mkdocs_markstay.page_reading import RenderedMarkdown, read_page
from mkdocs_markstay.page_report import PageReport
from mkdocs_markstay.page_source import read_page_options
from mkdocs_markstay.page_stays import bind_page
from mkdocs_markstay.published import check_published
from mkdocs_markstay.records import Policy
from mkdocs_markstay.rule_options import OptionError, read_rule_options

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from types import TracebackType

    from mkdocs_markstay.checks import Rules
    from mkdocs_markstay.conversion import Conversion
    from mkdocs_markstay.findings import Finding
    from mkdocs_markstay.marks import BuildingMarks
    from mkdocs_markstay.page_context import PageContext
    from mkdocs_markstay.rule_options import RuleOptions

# The plugin's, which MkDocs shows, and whose warnings it counts. Without MkDocs nobody
# listens to it, and Python writes its warnings and errors as they are, to standard error.
log = logging.getLogger("mkdocs.plugins.markstay")

_LOG_LEVELS = {"error": logging.ERROR, "warning": logging.WARNING, "info": logging.INFO}
_POLICY = Policy(FURNITURE)


class FindingsError(Exception):
    """A page fails a build, for findings that have been logged."""


class Enforcer:
    """Checks pages by the options of the extension, given by their names."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._values = options

    @cached_property
    def options(self) -> RuleOptions:
        """The options, read when a page needs them: where the plugin checks, none does.

        MkDocs shows the whole stack for what an extension raises when it is made.
        """
        try:
            return read_rule_options(self._values)
        except OptionError as error:
            _say_briefly(str(error))
            raise

    def check(
        self, page: PageContext, html: str, marks: BuildingMarks, conversion: Conversion
    ) -> str:
        """Check a page by its HTML, ``marks`` still in it, and log what is found.

        Returns the HTML as it is to be published. Raises FindingsError if what is found
        fails a build, and OptionError.
        """
        if self.options.exclude.match_file(page.source):
            return marks.strip(html)
        rules = self.options.make_rules(name_command("stamp", str(page.config_file)))
        source = page.read_source()
        options = read_page_options(page.meta, source)
        stays = None
        if options.included:
            furniture = (*FURNITURE, *options.furniture)
            html, stays = bind_page(html, marks, conversion, furniture, rules)
        content = marks.strip(html)
        levels = {**rules.levels_of_stays, **self.options.findings}
        serving = _is_preview()
        if serving:
            levels = lower_errors(levels)
        markdown = "\n".join(conversion.text)
        rendered = RenderedMarkdown(
            source, page.meta, html, content, markdown, marks, conversion, stays=stays
        )
        findings = judge(_find(page, rendered, rules), levels)
        if not findings:
            return content
        baseline = _find_baseline(page.config_file)
        findings = baseline.judge(judge([*findings, *baseline.findings], levels))
        for found in findings:
            log.log(_LOG_LEVELS[found.level], "%s", found)
        told = {found.level for found in findings}
        if serving:
            if page.kept and "warning" in told:
                _warn_of_kept_pages(name_command("check", str(page.config_file)))
            return content
        _told.update(dict.fromkeys(findings))
        failing = {"error", "warning"} if page.strict else {"error"}
        if failing & told:
            message = f"markstay: {summarize(findings)}"
            _say_briefly(message)
            raise FindingsError(message)
        return content


def _find(page: PageContext, rendered: RenderedMarkdown, rules: Rules) -> list[Finding]:
    path = rendered.source.path
    report = PageReport(page.source, "", path, "", generated=page.file is None)
    report, _ = read_page(report, rendered, rules)
    shown = []
    if report.published:
        shown = check_published(f"{BEGIN}{rendered.content}{END}", "", report, _POLICY)
    return [*report.findings, *shown]


def _is_preview() -> bool:
    """Whether this program serves a preview, which an error would end.

    Generators do not tell an extension. Their programs have the command as first argument.
    """
    return next((word for word in sys.argv[1:] if not word.startswith("-")), "") == "serve"


def _find_baseline(config_file: Path) -> Baseline:
    """Give the baseline of a site, for one page: it has no part in the debts of others."""
    try:
        status = config_file.with_name(BASELINE).stat()
        version = (status.st_mtime_ns, status.st_size)
    except OSError:
        version = None
    baseline = _read_baseline(config_file, version)
    baseline.begin()
    return baseline


@lru_cache(maxsize=1)
def _read_baseline(config_file: Path, version: tuple[int, int] | None) -> Baseline:
    del version  # only to read the file again once it is another one
    baseline = Baseline(str(config_file))
    baseline.read()
    return baseline


@cache
def _warn_of_kept_pages(check: str) -> None:
    """Warn, once, that the pages of a preview are not enforced by a build that follows."""
    log.warning(
        "markstay: a build takes these pages from the cache as they are. Before you publish,"
        " run: %s",
        check,
    )


# -- how a failure is shown

# What was found, once each, in all pages so far, and the messages of the errors for it.
_told: dict[Finding, None] = {}
_messages: set[str] = set()


def _say_briefly(message: str) -> None:
    """Make sure that an error with this message ends the program without a traceback.

    Generators take an error of an extension for a fault of the program. Zensical raises
    another one in its place, whose text has the message in it.
    """
    if not _messages:
        sys.excepthook = partial(_show, sys.excepthook)
    _messages.add(message)


def _show(
    otherwise: Callable[..., object],
    kind: type[BaseException],
    error: BaseException,
    trace: TracebackType | None,
) -> None:
    text = str(error)
    message = next((message for message in _messages if message in text), None)
    if message is None:
        otherwise(kind, error, trace)
        return
    # Other pages may have failed, too.
    sys.stderr.write(f"markstay: {summarize(_told)}\n" if _told else f"{message}\n")
