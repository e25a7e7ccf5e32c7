"""A copy of a project made of symbolic links, in which some files have another content."""

# Folders are walked as strings: os.path is several times faster.
# ruff: noqa: PTH103, PTH109, PTH112, PTH114, PTH118, PTH119, PTH120, PTH208, PTH211

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


class Mirror:
    """What is in the folder ``root``, in the folder ``top``.

    What is in ``docs``, and on the way to it and to ``folders``, is a folder of the copy, so
    that what is written as `../x` stays in the copy; everything else is a link to the
    original. Links of the originals lead to their targets in the copy, so whoever reads a
    file by another name reads the copy's, too. ``docs`` and ``folders`` are real paths.
    """

    def __init__(self, top: str, root: str, docs: str, folders: Iterable[str]) -> None:
        self._top = top
        self._root = root
        self._docs = docs
        self._ways = {
            way
            for folder in (self._docs, *folders)
            for way in (folder, *map(os.fspath, Path(folder).parents))
        }
        self._fill(self._root)

    def path(self, original: str | Path) -> str:
        """Give the place of an original in the copy."""
        return os.path.join(self._top, os.path.relpath(original, self._root))

    def write(self, contents: Mapping[str, bytes]) -> None:
        """Give files a content of their own, named by the real paths of their originals."""
        for original, content in contents.items():
            path = Path(self.path(original))
            path.unlink()
            path.write_bytes(content)
            shutil.copystat(original, path)  # a page may show when its file was changed

    def restore(self, originals: Iterable[str]) -> None:
        """Give such files the content of their originals again."""
        for original in originals:
            Path(self.path(original)).unlink()
            _link(original, self.path(original))

    def _fill(self, original: str) -> None:
        os.makedirs(self.path(original), exist_ok=True)
        for name in self._list(original):
            path = os.path.join(original, name)
            if os.path.islink(path):
                real = os.path.realpath(path)
                inside = real.startswith(os.path.join(self._root, ""))
                _link(self.path(real) if inside else real, self.path(path))
            elif path in self._ways or (self._is_of_docs(path) and os.path.isdir(path)):
                self._fill(path)
            else:
                _link(path, self.path(path))

    def _list(self, folder: str) -> list[str]:
        try:
            return os.listdir(folder)
        except OSError:  # who may not list a folder may still enter those in it
            return [os.path.basename(way) for way in self._ways if os.path.dirname(way) == folder]

    def _is_of_docs(self, path: str) -> bool:
        # The copy may be in there itself.
        return path.startswith(self._docs + os.sep) and path != self._top


@contextmanager
def mirrored(root: str, docs: str, folders: Iterable[str]) -> Iterator[Mirror]:
    """Make a copy for a while, and make its folder for the current folder the current one."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory(prefix="markstay-") as folder:
        mirror = Mirror(os.path.realpath(folder), root, docs, (before, *folders))
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
