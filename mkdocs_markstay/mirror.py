"""A copy of a project made of symbolic links, in which some files have another content."""

# Folders are walked as strings: os.path is several times faster.
# ruff: noqa: PTH103, PTH109, PTH112, PTH118, PTH211

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping


class Mirror:
    """A project in a temporary folder.

    Folders that are on the way to one of ``within`` or ``files``, or in one of ``within``,
    are folders of the copy, so that what is written as `../x` stays in the copy;
    everything else is a link to the original.
    """

    def __init__(
        self, top: Path, root: Path, within: Collection[str], files: Collection[str]
    ) -> None:
        self.top = top
        self.root = root
        self._within = tuple(within)
        self._real = {
            os.fspath(folder) for path in (*within, *files) for folder in Path(path).parents
        }
        self._fill(os.fspath(root), os.fspath(top))

    def has(self, original: str) -> bool:
        """Say whether an original has a place in the copy."""
        return Path(original).is_relative_to(self.root)

    def path(self, original: str | Path) -> Path:
        """Give the place of an original in the copy."""
        return self.top / Path(original).relative_to(self.root)

    def write(self, contents: Mapping[str, bytes]) -> None:
        """Give files of the copy, named by their originals, a content of their own."""
        for original, content in contents.items():
            path = self.path(original)
            path.unlink(missing_ok=True)
            path.write_bytes(content)

    def restore(self, originals: Collection[str]) -> None:
        """Give files of the copy the content of their originals again."""
        for original in originals:
            path = self.path(original)
            path.unlink(missing_ok=True)
            _link(original, os.fspath(path))

    def _fill(self, original: str, copy: str) -> None:
        os.makedirs(copy, exist_ok=True)
        with os.scandir(original) as entries:
            for entry in entries:
                target = os.path.join(copy, entry.name)
                inner = entry.is_dir(follow_symlinks=False)
                if inner and (entry.path in self._real or self._is_within(entry.path)):
                    self._fill(entry.path, target)
                else:
                    _link(entry.path, target)

    def _is_within(self, folder: str) -> bool:
        return any(folder == outer or folder.startswith(outer + os.sep) for outer in self._within)


@contextmanager
def mirrored(root: Path, within: Collection[str], files: Collection[str]) -> Iterator[Mirror]:
    """Make a copy for a while, and make its folder for the current folder the current one."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory(prefix="markstay-") as folder:
        mirror = Mirror(Path(os.path.realpath(folder)), root, within, files)
        os.chdir(mirror.path(before))
        try:
            yield mirror
        finally:
            os.chdir(before)


def _link(original: str, link: str) -> None:
    try:
        os.symlink(original, link, target_is_directory=os.path.isdir(original))
    except OSError:  # a system that allows none
        if os.path.isdir(original):
            shutil.copytree(original, link, symlinks=True)
        else:
            shutil.copyfile(original, link)
