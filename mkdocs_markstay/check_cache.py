"""What a check of a site found, kept for the next one, and what of it still holds.

`load` says what still holds, `Known.save` keeps what was found now. What holds is told by
what was read the last time (see `read_files`), by digest and never by time: a checkout
changes the times of files, and of two edits the second may have the time of the first.

- If the environment differs, or anything that every page may rest on (the configuration,
  hooks, templates, data that a plugin keeps in memory), nothing holds. Pages that are also
  read outside their own rendering, such as blog posts or navigation files, are among that.
- If a file differs that was read for some pages alone (their source, or a file that they
  include), the reports of those pages fall.
- If the folders in which MkDocs finds the pages differ, the reports of pages without a file
  of their own fall: the plugin that makes them may have asked which pages there are. And if
  a plugin turns out to read a new file there (metadata of a folder, a blog post), all other
  reports are outdated, too: see `Known.is_outdated`.
- Whatever differs, the verdict falls.

It cannot be known what programs that plugins start, the network and the clock tell, nor what
a plugin carries in memory from one page to the next. Pages like that must have no report.
"""

# Most of a check that finds nothing changed is this module, and os.path is much faster:
# ruff: noqa: PTH100, PTH103, PTH109, PTH110, PTH118, PTH119, PTH120, PTH123, PTH208

from __future__ import annotations

import json
import os
import re
import sys
from contextlib import suppress
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from mkdocs_markstay import __version__
from mkdocs_markstay.read_files import digest_file, digest_folder
from mkdocs_markstay.whole_file import write_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from mkdocs_markstay.read_files import Reads, Recording

    # Digests by path, as `Reads` has them.
    Digests = dict[str, str | None]

FORMAT = 1
"""Number of the format of the cache file. Files of other formats are not read."""

FOLDER = os.path.join(".cache", "mkdocs-markstay")
"""Where caches are beside the configuration, unless MARKSTAY_CACHE_DIR names a folder.

It needs no home folder, which a build server may not have, it goes when the checkout
goes, and Material's plugins have theirs beside it.
"""

# Environment variables on which a page may depend, whatever the configuration says.
_VARIABLES = {"LANG", "LC_ALL", "LC_CTYPE", "MIKE_DOCS_VERSION", "PYTHONUTF8"}
# Variables that a configuration names: on one line, in brackets, as a list below.
_TAGGED = re.compile(r"!ENV\b(?:\s*\[[^\]]*\]|(?:[ \t]*\n\s*-[^\n]*)+|[^\n]*)")
# What may be the name of a variable in a hook that asks for variables.
_QUOTED = re.compile(r"[\"']([A-Z][A-Z0-9_]*)[\"']")
# How a file fails that is not what `Known.save` wrote.
_DAMAGE = (OSError, ValueError, RecursionError, TypeError, KeyError, AttributeError)
_PACKAGES = (".dist-info", ".egg-info", ".egg-link", ".pth")


class Known:
    """What still holds of the last check.

    ``verdict`` is the value that was saved, None if anything has changed since then.
    """

    def __init__(self, config_file: str, options: Mapping[str, Any]) -> None:
        self.verdict: Any = None
        self._folder = os.path.dirname(os.path.abspath(config_file))
        self._cache = _cache_file(config_file, self._folder)
        # Taken now: plugins may change all of this while they run.
        self._environ = dict(os.environ)
        self._environment = _describe_environment(options)
        # As stored: what every page rests on, the pages whose reports hold, all reports.
        self._site: dict[str, Digests] = {}
        self._pages: dict[str, dict[str, Any]] = {}
        self._reports = b"{}"
        self._same_docs = True

    def read(self) -> None:
        """Find what still holds. A file that is not one of ours, or damaged, holds nothing."""
        with suppress(*_DAMAGE), open(self._cache, "rb") as file:
            stored = json.loads(file.readline())
            self._reports = file.read()
            self._compare(stored)

    @cached_property
    def reports(self) -> dict[str, Any]:
        """The values that were saved for pages, by key, as far as they hold."""
        # Read when they are asked for: a check that finds nothing changed asks for none.
        reports: dict[str, Any] = {}
        with suppress(*_DAMAGE):
            stored = json.loads(self._reports)
            reports = {key: stored[key] for key in self._pages if key in stored}
        return reports

    def is_outdated(self, record: Recording) -> bool:
        """Say whether the pages that were not rendered again do not hold after all.

        To be asked when the others are rendered, before the recording ends. If so, all
        pages must be rendered, within the same recording.
        """
        if self._same_docs or not self.reports:
            return False
        before = self._site["files"].keys() | self._site["folders"].keys()
        now = record.site.files | record.site.folders
        return any(now[path] and self._shorten(path) not in before for path in record.outside)

    def save(self, record: Recording, reports: Mapping[str, Any], verdict: Any) -> bool:
        """Keep the result of a check; False if that cannot be written.

        ``reports`` has a JSON value for each page, by key: those that `reports` had and
        that were not rendered again, and those that were rendered in ``record``. A page
        of the record without a report is rendered again by each check that finds
        anything changed. A page whose content depends on other pages must have none.
        ``verdict`` is a JSON value; None is no verdict.
        """
        pages = {
            key: {"generated": page.source is None, **self._store(page)}
            for key, page in record.pages.items()
        }
        site = self._store(record.site)
        kept = reports.keys() & self._pages.keys() - pages.keys()
        pages.update((key, self._pages[key]) for key in kept)
        if kept:
            # These pages rest on what was read when they were rendered.
            site = {part: site[part] | self._site[part] for part in site}
        variables = sorted(_VARIABLES | _find_variables(map(self._full, site["files"])))
        data = {
            "format": FORMAT,
            "fingerprint": self._fingerprint(variables),
            "variables": variables,
            "site": site,
            "docs": self._shorten_all(record.docs),
            "pages": pages,
            "verdict": verdict,
        }
        try:
            _write(self._cache, data, dict(reports))
        except OSError:
            return False
        return True

    def _compare(self, stored: Any) -> None:
        if stored["format"] != FORMAT:
            return
        if stored["fingerprint"] != self._fingerprint(stored["variables"]):
            return
        digests: dict[tuple[str, Callable[[str], str | None]], str | None] = {}

        def unchanged(paths: Digests, digest: Callable[[str], str | None]) -> bool:
            for path, was in paths.items():
                if (path, digest) not in digests:
                    digests[path, digest] = digest(self._full(path))
                if digests[path, digest] != was:
                    return False
            return True

        def holds(reads: dict[str, Digests]) -> bool:
            return unchanged(reads["files"], digest_file) and unchanged(
                reads["folders"], digest_folder
            )

        if not holds(stored["site"]):
            return
        self._same_docs = same_docs = unchanged(stored["docs"], digest_folder)
        pages = {key: page for key, page in stored["pages"].items() if holds(page)}
        verdict = stored["verdict"]
        self._pages = {
            key: page for key, page in pages.items() if same_docs or not page["generated"]
        }
        self._site = stored["site"]
        if same_docs and len(pages) == len(stored["pages"]):
            self.verdict = verdict

    def _fingerprint(self, variables: Iterable[str]) -> str:
        values = [self._environ.get(name) for name in variables]
        return sha256((self._environment + json.dumps(values)).encode()).hexdigest()

    def _store(self, reads: Reads) -> dict[str, Digests]:
        return {
            "files": self._shorten_all(reads.files),
            "folders": self._shorten_all(reads.folders),
        }

    def _shorten_all(self, paths: Digests) -> Digests:
        cache = os.path.dirname(self._cache)
        return {
            self._shorten(path): digest
            for path, digest in paths.items()
            if not (path + os.sep).startswith(cache + os.sep)
        }

    def _shorten(self, path: str) -> str:
        return path.removeprefix(self._folder + os.sep)

    def _full(self, path: str) -> str:
        return os.path.join(self._folder, path)


def load(config_file: str, options: Mapping[str, Any]) -> Known:
    """Find what still holds of the last check of a site.

    ``config_file`` is the path of its ``mkdocs.yml``; ``options`` are those of the command
    that can change the verdict, as JSON values. Never fails for what is in the cache.
    """
    known = Known(config_file, options)
    known.read()
    return known


def _cache_file(config_file: str, folder: str) -> str:
    """Name the cache file of a site: one for each configuration file."""
    # Not the real path of the file: two sites can share one by symbolic links.
    path = os.path.join(os.path.realpath(folder), os.path.basename(config_file))
    name = sha256(os.fsencode(path)).hexdigest()[:32]
    caches = os.environ.get("MARKSTAY_CACHE_DIR") or os.path.join(folder, FOLDER)
    return os.path.join(os.path.abspath(caches), f"{name}.json")


def _describe_environment(options: Mapping[str, Any]) -> str:
    """Describe what the verdict depends on besides files and variables, as JSON."""
    own = os.path.dirname(os.path.abspath(__file__))
    modules = [os.path.join(own, name) for name in sorted(os.listdir(own)) if name.endswith(".py")]
    return json.dumps(
        [
            [__version__, [digest_file(path) for path in modules]],
            [sys.implementation.name, sys.version, sys.platform],
            [[path, _installed(path)] for path in map(str, sys.path)],
            os.getcwd(),  # findings name files as they are seen from here
            options,
        ],
        sort_keys=True,
    )


def _installed(folder: str) -> list[str | None]:
    """Name what is installed in a folder of modules; versions are parts of the names."""
    try:
        names = sorted(name for name in os.listdir(folder or ".") if name.endswith(_PACKAGES))
    except OSError:
        return []
    # What was not installed from an index may change without its version.
    unsteady = [n for n in names if os.path.exists(os.path.join(folder, n, "direct_url.json"))]
    return [*names, *(digest_file(os.path.join(folder, name, "RECORD")) for name in unsteady)]


def _find_variables(paths: Iterable[str]) -> set[str]:
    """Find what may be names of environment variables in configuration files and hooks."""
    names: set[str] = set()
    for path in paths:
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                text = file.read()
        except OSError:
            continue
        if "!ENV" in text:
            names.update(re.findall(r"\w+", " ".join(_TAGGED.findall(text))))
        if "environ" in text or "getenv" in text:
            names.update(_QUOTED.findall(text))
    return names


def _write(path: str, *values: Any) -> None:
    """Write JSON values into the cache file, each on a line."""
    folder = os.path.dirname(path)
    os.makedirs(folder, exist_ok=True)
    if folder.endswith(FOLDER):
        with suppress(FileExistsError), open(os.path.join(folder, ".gitignore"), "x") as file:
            file.write("*\n")
    lines = (json.dumps(value, separators=(",", ":")) + "\n" for value in values)
    write_file(path, (line.encode() for line in lines))
