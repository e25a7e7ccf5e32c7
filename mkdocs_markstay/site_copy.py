"""A site rendered with other contents of its files, in a copy of it."""

# Paths are strings here: the copy is walked with os.path, which is several times faster.
# ruff: noqa: PTH109, PTH120

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from mkdocs_markstay.inspection import Inspection, InspectionError
from mkdocs_markstay.mirror import mirrored

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from contextlib import ExitStack
    from pathlib import Path

    from mkdocs_markstay.inspection import SiteSettings
    from mkdocs_markstay.mirror import Mirror


@dataclass
class SiteCopy:
    """A copy of a site, which ``run`` has rendered as it is; made once it is needed.

    ``folders`` are those, outside the docs folder, whose files may get other contents; real
    paths. The copy is gone once ``stack`` is closed.
    """

    config_file: str
    inspect: Callable[..., None]
    run: Inspection
    folders: Collection[str]
    stack: ExitStack
    changed: set[str] = field(default_factory=set)

    def render(self, contents: Mapping[str, bytes], keys: Collection[str] | None) -> Inspection:
        """Render the copy with other contents of files (by real path); only some pages of it.

        Raises InspectionError.
        """
        self.mirror.restore(self.changed - set(contents))
        self.mirror.write(contents)
        self.changed = set(contents)
        left_out = {
            self.mirror.path(page.file)
            for page in self.run.rendered
            if page.left_out and page.file is not None
        }
        trial = Inspection(keep=True, wants_left_out=left_out.__contains__)
        trial.step = "Rendering pages with the edits"
        trial.every_stay = self.run.every_stay
        if keys is not None:
            trial.wants = lambda key, _path: key in keys
        docs = self.mirror.path(settings_of(self.run).docs)
        with self.mirror.entered():
            inspect_site_of(self.inspect, self.mirror.path(self.config_file), trial, docs_dir=docs)
        return trial

    @cached_property
    def mirror(self) -> Mirror:
        """The copy."""
        settings = settings_of(self.run)
        docs = os.fspath(settings.docs)
        of_site = [os.path.dirname(self.config_file), docs]
        of_site += [*map(os.path.realpath, of_site), find_project(settings.folder)]
        try:
            # What stands beside a site is often a part of it.
            root = os.path.dirname(os.path.commonpath([*of_site, os.getcwd()]))
        except ValueError:
            raise InspectionError("run stamp on the drive of the site") from None
        # The generator would find what is published there, and add to it.
        site = settings.site
        without = [] if site is None else [os.path.realpath(site)]
        copy = mirrored(root, os.path.realpath(docs), self.folders, without)
        return self.stack.enter_context(copy)


def inspect_site_of(
    inspect: Callable[..., None], config_file: str, run: Inspection, **overrides: str
) -> SiteSettings:
    """Render a site. Raises InspectionError."""
    inspect(config_file, run, **overrides)
    if run.settings is None:
        raise InspectionError("MkDocs stopped before it had read the site")
    return run.settings


def settings_of(run: Inspection) -> SiteSettings:
    """Give the settings of a run that is over."""
    assert run.settings is not None, "the run is over"
    return run.settings


def included_folders(run: Inspection) -> set[str]:
    """Find the folders of the files that pages include with a heading."""
    paths = {h.place.path for page in run.rendered for h in page.headings if h.place.via}
    return {os.path.dirname(os.path.realpath(path)) for path in paths}


def find_project(folder: Path) -> str:
    """Find the folder under version control that a folder is in, else the folder itself."""
    folder = folder.resolve()
    found = (each for each in (folder, *folder.parents) if (each / ".git").exists())
    return os.fspath(next(found, folder))
