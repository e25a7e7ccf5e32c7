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
    from collections.abc import Collection, Iterable, Iterator, Mapping


class Mirror:
    """What is in the folder ``root``, in the folder ``top``.

    What is in ``docs``, and on the way to it and to ``folders``, is a folder of the copy, so
    that what is written as `../x` stays in the copy; everything else is a link to the
    original, ``without`` these. Links of the originals lead to their targets in the copy, so
    whoever reads a file by another name reads the copy's, too. All are real paths.
    """

    def __init__(
        self,
        top: str,
        root: str,
        docs: str,
        folders: Iterable[str],
        without: Collection[str] = (),
    ) -> None:
        self._top = top
        self._root = root
        self._docs = docs
        self._without = without
        self._ways = {
            way
            for folder in (self._docs, *folders)
            for way in (folder, *map(os.fspath, Path(folder).parents))
        }
        self._folders: set[str] = set()
        self._fill(self._root)

    def path(self, original: str | Path) -> str:
        """Give the place of an original in the copy."""
        return os.path.join(self._top, os.path.relpath(original, self._root))

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Make the copy of the current folder the current one for a while."""
        before = os.getcwd()
        os.chdir(self.path(before))
        try:
            yield
        finally:
            os.chdir(before)

    def write(self, contents: Mapping[str, bytes]) -> None:
        """Give files a content of their own, named by the real paths of their originals.

        One in a folder that is not of the copy stays as it is.
        """
        for original, content in contents.items():
            if os.path.dirname(original) not in self._folders:
                continue
            path = Path(self.path(original))
            path.unlink()
            path.write_bytes(content)
            shutil.copystat(original, path)  # a page may show when its file was changed

    def restore(self, originals: Iterable[str]) -> None:
        """Give such files the content of their originals again."""
        for original in originals:
            if os.path.dirname(original) in self._folders:
                Path(self.path(original)).unlink()
                _link(original, self.path(original))

    def _fill(self, original: str) -> None:
        os.makedirs(self.path(original), exist_ok=True)
        self._folders.add(original)
        docs = os.path.join(self._docs, "")
        for name in self._list(original):
            path = os.path.join(original, name)
            if path in self._without:
                continue
            if os.path.islink(path):
                real = os.path.realpath(path)
                inside = real.startswith(os.path.join(self._root, ""))
                _link(self.path(real) if inside else real, self.path(path))
            elif path in self._ways or (path.startswith(docs) and os.path.isdir(path)):
                self._fill(path)
            else:
                _link(path, self.path(path))

    def _list(self, folder: str) -> list[str]:
        try:
            return os.listdir(folder)
        except OSError:  # who may not list a folder may still enter those in it
            return [os.path.basename(way) for way in self._ways if os.path.dirname(way) == folder]


@contextmanager
def mirrored(
    root: str, docs: str, folders: Iterable[str], without: Collection[str] = ()
) -> Iterator[Mirror]:
    """Make a copy for a while."""
    with tempfile.TemporaryDirectory(prefix="markstay-") as folder:
        top = os.path.realpath(folder)
        yield Mirror(top, root, docs, (os.getcwd(), *folders), without)


def _link(original: str, link: str) -> None:
    try:
        os.symlink(original, link, target_is_directory=os.path.isdir(original))
    except OSError:  # a system that allows none
        if os.path.isdir(original):
            shutil.copytree(original, link, symlinks=True)
        else:
            shutil.copyfile(original, link)
