"""What Python code reads while it runs: which files it opens, which folders it lists.

A `Recording` notes both from the interpreter's audit events, and from failing calls of
`os.stat` what was looked for and is not there. It cannot know what other programs and
native code read, nor what is there and was only asked for.
"""

# It runs for every file that is opened, and os.path is several times faster:
# ruff: noqa: PTH100, PTH109, PTH117, PTH118, PTH119, PTH120, PTH123, PTH208

from __future__ import annotations

import os
import stat
import sys
from contextlib import contextmanager, suppress
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# The modules that list the docs folder and open the pages' sources: of MkDocs, and ours.
_PAGE_FINDERS = {"mkdocs.structure.files", "mkdocs_markstay.zensical_site"}
# Modules and packages that open a file each time they need it. What others open while a
# page is rendered they may keep in memory (templates, modules, parsed source code), and
# use for later pages without another look.
_READ_AFRESH = {
    "mkdocs.structure.files",
    "markdown_include",
    "mkdocs_include_markdown_plugin",
    "mkdocs_markstay",
    "pymdownx.snippets",
}
_IMPORT = {"importlib", "_frozen_importlib", "_frozen_importlib_external"}
# Names in a folder that say nothing: they come and go with every tool.
_NOISE = {"__pycache__", ".cache"}
# What is installed is known by its version; the state of a repository is no text.
_INSTALLED = ("site-packages", "dist-packages")
_NOT_FILES = ("/proc/", "/dev/", "/sys/")
_REPOSITORY = f"{os.sep}.git{os.sep}"


@contextmanager
def recording() -> Iterator[Recording]:
    """Note what is read in this block, by the whole process; one block at a time.

    The results are complete once the block is left. Modules that were imported before
    are not noted, so MkDocs is to be imported inside.
    """
    if _under_way:
        raise RuntimeError("a recording is under way already")
    _add_hook()
    record = Recording()
    _under_way.append(record)
    for name, look in _LOOKS.items():
        setattr(os, name, look)
    try:
        yield record
    finally:
        for name, original in _ORIGINALS.items():
            setattr(os, name, original)
        _under_way.clear()
        record.end()


class Reads:
    """Files and folders that were read: path -> digest.

    Paths are absolute. The digests are what `digest_file` and `digest_folder` gave just
    before the first reading, so what is changed meanwhile does not pass for what was read.
    """

    def __init__(self) -> None:
        self.files: dict[str, str | None] = {}
        self.folders: dict[str, str | None] = {}


class PageReads(Reads):
    """What was read for one page alone. ``source`` is its own file, None if it has none."""

    def __init__(self, source: str | None) -> None:
        super().__init__()
        self.source = source


class Recording:
    """What was read from the begin of a `recording` to its end.

    ``site`` is what every page may rest on: all that was read outside pages (its paths
    are ``outside``), and what was read for a page by code that may keep it in memory for
    other pages.
    ``docs`` are the folders (path -> digest) that MkDocs listed to find the pages.
    ``pages`` has what was read for each page alone, by the key given to `begin_page`.

    Left out are the Python installation, this package, ``.git``, and temporary files and
    folders that were made meanwhile.
    """

    def __init__(self) -> None:
        self.site = Reads()
        self.outside: set[str] = set()
        self.docs: dict[str, str | None] = {}
        self.pages: dict[str, PageReads] = {}
        self._page: PageReads | None = None
        self._left_out: tuple[str, ...] = (*_NOT_FILES, *_installation())
        self._written: set[str] = set()

    def begin_page(self, key: str | None, source: str | None = None) -> None:
        """Say that from now on the page ``key`` is rendered; None: no page.

        ``source`` is the path of the page's own file. Without one, or if that is a
        temporary file, the page counts as made by a plugin.
        """
        if key is None:
            self._page = None
            return
        path = _absolute(source) if source else None
        if path is not None and self._leaves_out(path):
            path = None
        self._page = self.pages.setdefault(key, PageReads(path))

    def end(self) -> None:
        """Complete the results: what the run itself wrote is as it is when the run is over."""
        for reads in (self.site, *self.pages.values()):
            for path in self._written.intersection(reads.files):
                if reads.files[path] is None:  # looked for, then written, and never read
                    del reads.files[path]
                else:
                    reads.files[path] = digest_file(path)

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Take one of `_EVENTS`."""
        path = arguments[0]
        if isinstance(path, int):  # a descriptor; what it is of was opened before
            return
        path = _absolute("." if path is None else path)
        if event == "os.rename":
            self._written.add(_absolute(arguments[1]))
        elif event.startswith("tempfile."):
            self._left_out = (*self._left_out, path + os.sep)
        elif self._leaves_out(path):
            return
        elif event == "open":
            self._hear_open(path, *arguments[1:])
        elif event == _MISSING:
            self._note_file(path)
        else:
            self._note_folder(path)

    def _hear_open(self, path: str, mode: str | None, flags: int) -> None:
        if flags & (os.O_WRONLY | os.O_RDWR):
            self._written.add(path)
        if flags & (os.O_WRONLY | os.O_TRUNC):
            return
        if path.endswith(".pyc"):
            path = _source_of(path)
            if self._leaves_out(path):
                return
        # os.open, which gives no mode, may be about a path below a folder that it knows
        # by a descriptor, as when folders are removed.
        if mode is not None or digest_file(path):
            self._note_file(path)

    def _leaves_out(self, path: str) -> bool:
        path += os.sep
        return path.startswith(self._left_out) or _REPOSITORY in path

    def _note_file(self, path: str) -> None:
        page = self._page
        if page is not None and (path == page.source or _reads_afresh(_find_reader())):
            _note(page.files, path, digest_file)
        else:
            self._note_outside(path)
            _note(self.site.files, path, digest_file)

    def _note_folder(self, path: str) -> None:
        reader, page = _find_reader(), self._page
        if reader in _PAGE_FINDERS:
            _note(self.docs, path, digest_folder)
        elif page is not None and _reads_afresh(reader):
            _note(page.folders, path, digest_folder)
        else:
            self._note_outside(path)
            _note(self.site.folders, path, digest_folder)

    def _note_outside(self, path: str) -> None:
        if self._page is None:
            self.outside.add(path)


def _note(noted: dict[str, str | None], path: str, digest: Callable[[str], str | None]) -> None:
    # What was missing may have been made meanwhile.
    if noted.get(path) is None:
        noted[path] = ""  # the reading that comes now is heard, too
        noted[path] = digest(path)


def digest_file(path: str) -> str | None:
    """Digest a file: the SHA-256 of its bytes, in hex.

    None if nothing is there, the empty text if what is there is no file that can be read.
    """
    try:
        # Opening a pipe or a device could wait for ever.
        if not stat.S_ISREG(_ORIGINALS["stat"](path).st_mode):
            return ""
        with open(path, "rb", buffering=0) as file:
            return sha256(file.read()).hexdigest()
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    except OSError:
        return ""


def digest_folder(path: str) -> str | None:
    """Digest the names in a folder: SHA-256, in hex. None if no folder can be listed there."""
    try:
        names = sorted(set(os.listdir(path)) - _NOISE)
    except (OSError, ValueError):
        return None
    return sha256(os.fsencode("\0".join(names))).hexdigest()


def _absolute(path: Any) -> str:
    # Not normalized: behind a symbolic link `..` is not the folder that it seems to be.
    path = os.fsdecode(path)
    return path if os.path.isabs(path) else os.path.join(os.getcwd(), path)


def _installation() -> list[str]:
    """Name the folders of Python, of installed packages and of this package."""
    installed = [path for path in sys.path if os.path.basename(path) in _INSTALLED]
    own = os.path.dirname(os.path.abspath(__file__))
    return [os.path.join(path, "") for path in (os.path.dirname(os.__file__), own, *installed)]


def _source_of(path: str) -> str:
    """Name the module of which a compiled file was made: itself, if it is all that there is."""
    folder, name = os.path.split(path)
    # Not importlib's function for it: that one knows no dots in names, and hooks may have them.
    module, tag, _ = name.rpartition(f".{sys.implementation.cache_tag}.")
    if not tag:
        return path
    prefix = sys.pycache_prefix
    if prefix and folder.startswith(prefix):
        return os.path.join(folder.removeprefix(prefix), f"{module}.py")
    return os.path.join(os.path.dirname(folder), f"{module}.py")


def _find_reader() -> str:
    """Name the module that reads right now: the innermost one that is not of Python itself."""
    frame = sys._getframe(1)  # noqa: SLF001 (there is no other way that is quick)
    while frame is not None:
        name = str(frame.f_globals.get("__name__"))
        root = name.partition(".")[0]
        if root in _IMPORT:
            return "importlib"
        if root not in sys.stdlib_module_names and name != __name__:
            return name
        frame = frame.f_back  # type: ignore[assignment]
    return ""


def _reads_afresh(module: str) -> bool:
    return module in _READ_AFRESH or module.partition(".")[0] in _READ_AFRESH


# -- the ways in: a hook, which cannot be removed again, and two functions of `os`


# Told by ourselves: a path was looked for and is not there.
_MISSING = "missing"
_EVENTS = {
    _MISSING,
    "open",
    "os.listdir",
    "os.rename",
    "os.scandir",
    "tempfile.mkdtemp",
    "tempfile.mkstemp",
}
_under_way: list[Recording] = []


@cache
def _add_hook() -> None:
    sys.addaudithook(_hear)


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    if event in _EVENTS and _under_way:
        with suppress(OSError):  # there is no current folder any more
            _under_way[0].hear(event, arguments)


def _watch(original: Callable[..., os.stat_result]) -> Callable[..., os.stat_result]:
    """Make a function of `os` tell of paths that are not there: no event does."""

    def look(path: Any, *arguments: Any, **options: Any) -> os.stat_result:
        try:
            return original(path, *arguments, **options)
        except (FileNotFoundError, NotADirectoryError):
            if options.get("dir_fd") is None:
                _hear(_MISSING, (path,))
            raise

    # Some code asks what the function can do before it calls it.
    for able in (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks):
        if original in able:
            able.add(look)
    return look


_ORIGINALS: dict[str, Callable[..., os.stat_result]] = {"stat": os.stat, "lstat": os.lstat}
_LOOKS = {name: _watch(original) for name, original in _ORIGINALS.items()}
