"""Builds small MkDocs sites for tests: in this process (fast), or with the command.

Write the files of a site with `write_site`, build it with `build_site` or `run_mkdocs`,
and look at the `Built` that comes back; `run_markstay` runs a command of our own.
"""

from __future__ import annotations

import gc
import json
import logging
import os
import re
import subprocess
import sys
import warnings
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import yaml
from click.testing import CliRunner
from mkdocs import utils
from mkdocs.commands.build import build
from mkdocs.config import load_config
from mkdocs.config.config_options import Hooks
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import MkDocsException

from mkdocs_markstay.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

THEME = """\
<!DOCTYPE html>
<html><head><title>{{ page.title|e }}</title></head>
<body><main>{{ page.content }}</main>
<ul class="toc">{% for item in page.toc recursive %}<li><a href="{{ item.url|e }}">\
{{ item.title }}</a>{% if item.children %}<ul>{{ loop(item.children) }}</ul>{% endif %}</li>{% endfor %}
</ul>
</body></html>
"""
"""The template of the fast theme: a page's title, content and contents list, no more."""

_FINDING = re.compile(
    r"(?P<path>.*?):(?P<line>\d+): (?P<level>error|warning|info)\[(?P<code>[a-z0-9-]+)\] "
    r"(?P<message>.*)",
    re.DOTALL,
)


@dataclass(frozen=True)
class FindingLine:
    """One finding, as its log line tells it."""

    path: str
    line: int
    level: str
    code: str
    message: str

    @property
    def place(self) -> str:
        """The finding in short: `docs/index.md:3 missing-id`."""
        return f"{self.path}:{self.line} {self.code}"


@dataclass(frozen=True)
class Built:
    """What became of a build.

    ``verdict`` is what the command's exit code tells: 0 published, 1 failed for
    findings (or for anything else that a user can repair), 2 crashed. ``error`` is the
    exception that ended an in-process build. ``log`` holds all log lines, without levels;
    for a build by command, its output.
    """

    folder: Path
    verdict: int
    findings: list[FindingLine]
    log: list[str]
    error: BaseException | None = None

    @property
    def passed(self) -> bool:
        """Whether the site was published."""
        return self.verdict == 0

    @property
    def places(self) -> list[str]:
        """All findings in short: `docs/index.md:3 missing-id`."""
        return [found.place for found in self.findings]

    @property
    def manifest_bytes(self) -> bytes | None:
        """The manifest as written, None if there is none."""
        path = self.folder / "site" / "passages.json"
        return path.read_bytes() if path.is_file() else None

    @property
    def manifest(self) -> dict[str, Any] | None:
        """The manifest, None if there is none."""
        raw = self.manifest_bytes
        return None if raw is None else json.loads(raw)

    def html(self, path: str = "index.html") -> str:
        """Read a published file."""
        return (self.folder / "site" / path).read_text(encoding="utf-8")

    def pages(self) -> dict[str, str]:
        """Read all published pages: path in the site -> HTML."""
        site = self.folder / "site"
        return {
            path.relative_to(site).as_posix(): path.read_text(encoding="utf-8")
            for path in sorted(site.rglob("*.html"))
        }


@dataclass(frozen=True)
class Site:
    """The files of a site and its configuration.

    ``files`` are named relative to the folder that holds ``mkdocs.yml``
    (``docs/index.md``); text is written as UTF-8 and its line ends stay as they are.
    ``plugin`` are options of the plugin, ``config`` is merged into ``mkdocs.yml``. Without
    a ``theme`` in it, a template that only holds the page is used.
    """

    files: Mapping[str, str | bytes]
    extensions: tuple[str | dict[str, Any], ...] = ()
    plugin: Mapping[str, Any] = field(default_factory=dict)
    config: Mapping[str, Any] = field(default_factory=dict)


def write_site(folder: Path, site: Site) -> Path:
    """Write ``site`` into ``folder`` and return the path of its ``mkdocs.yml``."""
    values: dict[str, Any] = {
        "site_name": "Test",
        "theme": {"name": None, "custom_dir": "theme"},
        "plugins": [{"markstay": dict(site.plugin)}],
        "markdown_extensions": list(site.extensions),
        **site.config,
    }
    files: dict[str, str | bytes] = dict(site.files)
    if values["theme"] == {"name": None, "custom_dir": "theme"}:
        files["theme/main.html"] = THEME
    (folder / "docs").mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    config = folder / "mkdocs.yml"
    config.write_text(yaml.safe_dump(values, sort_keys=False), encoding="utf-8")
    return config


def build_site(
    folder: Path,
    site: Site | None = None,
    adapt: Callable[[MkDocsConfig], None] | None = None,
    command: Literal["build", "serve"] = "build",
    **overrides: Any,
) -> Built:
    """Build the site in ``folder`` in this process; ``site`` is written there first.

    ``overrides`` are settings as `load_config` takes them (``strict=True``); ``adapt``
    may change the configuration once it is loaded; ``command`` is what plugins are told
    that MkDocs was asked for: `build` or `serve`. Every exception comes back in the
    result; only those that no user can cause are crashes.
    """
    if site is not None:
        write_site(folder, site)
    error: BaseException | None = None
    # mkdocs-static-i18n replaces it, and does not put it back if the build fails.
    clean_directory = utils.clean_directory
    with working_in(folder), _capturing() as log:
        try:
            config = load_config("mkdocs.yml", **overrides)
            if adapt is not None:
                adapt(config)
            config.plugins.on_startup(command=command, dirty=False)
            try:
                build(config)
            finally:
                config.plugins.on_shutdown()
                _close(config.plugins.get("markstay"))
        except BaseException as caught:  # also SystemExit
            if isinstance(caught, KeyboardInterrupt):
                raise
            error = caught
        finally:
            utils.clean_directory = clean_directory
    # Abort, which mkdocs raises for expected failures, is a SystemExit.
    expected = error is None or isinstance(error, (SystemExit, MkDocsException))
    verdict = 0 if error is None else 1 if expected else 2
    return Built(folder, verdict, _findings(log), log, error)


def run_mkdocs(folder: Path, *arguments: str, environ: Mapping[str, str] | None = None) -> Built:
    """Build the site in ``folder`` with the command `mkdocs build`, in another process."""
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", *arguments],
        cwd=folder,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1", **(environ or {})},
        capture_output=True,
        encoding="utf-8",
        errors="backslashreplace",
        check=False,
    )
    log = [re.sub(r"^[A-Z]+ +-  ", "", line) for line in (done.stdout + done.stderr).split("\n")]
    crashed = any(line.startswith("Traceback ") for line in log)
    return Built(folder, 2 if crashed else min(done.returncode, 1), _findings(log), log)


@dataclass(frozen=True)
class Ran:
    """What a command gave: its exit code, what it wrote, and the findings in that."""

    code: int
    out: str
    err: str

    @property
    def findings(self) -> list[FindingLine]:
        """The findings on standard output, written as text."""
        return _findings(self.out.splitlines())

    @property
    def places(self) -> list[str]:
        """All findings in short, with their levels: `docs/index.md:3 error missing-id`."""
        return [f"{f.path}:{f.line} {f.level} {f.code}" for f in self.findings]


def run_markstay(folder: Path, *arguments: str) -> Ran:
    """Run the command `mkdocs-markstay` in this process, in ``folder``."""
    Hooks._load_hook.cache_clear()  # MkDocs loads each hook once for a process
    with working_in(folder):
        result = CliRunner().invoke(main, arguments)
    if not isinstance(result.exception, (SystemExit, type(None))):
        raise result.exception
    return Ran(result.exit_code, result.stdout_bytes.decode(), result.stderr)


def _close(plugin: Any) -> None:
    """Close what the plugin leaves to the end of the process, so that nothing warns of it."""
    if plugin is not None and plugin.build is not None:
        plugin.build.writer.close()


def _findings(log: list[str]) -> list[FindingLine]:
    found = []
    for line in log:
        match = _FINDING.fullmatch(line)
        if match:
            number = int(match["line"])
            found.append(
                FindingLine(match["path"], number, match["level"], match["code"], match["message"])
            )
    return found


@contextmanager
def working_in(folder: Path) -> Iterator[None]:
    """Make a folder the current one for a while."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


@contextmanager
def careless_plugins() -> Iterator[None]:
    """Ignore warnings; also of what plugins leave open if a build does not come to its end."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
        # MkDocs remembers the configuration that it has read last, and its plugins.
        MkDocsConfig().validate()
        vars(MkDocsConfig.plugins).update(plugins=None, plugin_cache={})
        gc.collect()


class _Lines(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


@contextmanager
def _capturing() -> Iterator[list[str]]:
    """Collect what MkDocs and its plugins log, and keep it off the terminal."""
    logger, handler = logging.getLogger("mkdocs"), _Lines()
    level, propagate = logger.level, logger.propagate
    logger.setLevel(logging.INFO)
    logger.propagate = False
    logger.addHandler(handler)
    try:
        yield handler.lines
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        logger.propagate = propagate
