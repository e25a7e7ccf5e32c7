"""Which page a Markdown instance converts, as the generator has told it.

Generators leave word of the page in processors that they register under names of their own.
Those are looked up by name: nothing of a generator is imported.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mkdocs_markstay.findings import name_path
from mkdocs_markstay.page_source import Source, decode, find_roots, split_front_matter
from mkdocs_markstay.sectionids import read_heading

if TYPE_CHECKING:
    from collections.abc import Mapping

# Of MkDocs and ProperDocs, on the Markdown of a whole page: docstrings and excerpts are
# converted without it. What knows the page's file is on those, too.
_PAGE_PROCESSORS = ("mkdocs_extract_title", "properdocs_extract_title")
_FILE_PROCESSOR = "relpath"
# Of Zensical, also on the Markdown of docstrings in a page.
_CONTEXT_PROCESSOR = "rendering_context"

# In the order in which Zensical looks for its configuration.
_ZENSICAL_CONFIGS = ("zensical.toml", "mkdocs.yml", "mkdocs.yaml")


@dataclass(frozen=True)
class PageContext:
    """The page that is converted.

    ``page`` is the generator's own object; ``source`` is the page's path in the docs folder,
    ``file`` the file, None if no author wrote it. ``extensions`` maps Markdown extensions to
    their options. ``strict``: a page with warnings fails, too. ``kept``: the generator does
    not render the page again before it changes.
    """

    page: Any
    source: str
    file: Path | None
    meta: Mapping[str, Any]
    config_file: Path
    docs: Path
    extensions: Mapping[str, Any]
    strict: bool
    kept: bool

    def read_source(self) -> Source:
        """Read the file of the page. Raises OSError."""
        if self.file is None:
            return Source(self.source, "", "", (), name_path)
        path = name_path(self.file)
        # What the generator cannot decode it does not render.
        text, _ = decode(self.file.read_bytes(), path)
        front_matter, _, body = split_front_matter(text)
        folders = (self.file.parent, self.docs, self.config_file.parent)
        return Source(path, front_matter, body, find_roots(folders, self.extensions), name_path)


def find_page(md: Any) -> object | None:
    """Find the page that a Markdown instance converts, None if no generator has told of one.

    The result is the same object for the same page, and another one for another page.
    """
    if _CONTEXT_PROCESSOR in md.preprocessors:
        page: object = md.preprocessors[_CONTEXT_PROCESSOR].page
        return page
    names = (name for name in _PAGE_PROCESSORS if name in md.treeprocessors)
    return next((md.treeprocessors[name] for name in names), None)


def describe_page(md: Any) -> PageContext:
    """Say which page a Markdown instance converts, if `find_page` finds one."""
    if _CONTEXT_PROCESSOR in md.preprocessors:
        return _from_zensical(md.preprocessors[_CONTEXT_PROCESSOR])
    return _from_mkdocs(md.treeprocessors[_FILE_PROCESSOR])


def _from_zensical(processor: Any) -> PageContext:
    page, config = processor.page, processor.config
    folder = Path(config["root_dir"])
    docs = folder / config["docs_dir"]
    file = docs / page.path
    names = [name for name in _ZENSICAL_CONFIGS if (folder / name).exists()]
    return PageContext(
        page,
        page.path,
        file if file.is_file() else None,  # else it made the page itself
        page.meta,
        folder / [*names, _ZENSICAL_CONFIGS[0]][0],
        docs,
        config["mdx_configs"],
        strict=config["strict"],
        kept=True,
    )


def _from_mkdocs(processor: Any) -> PageContext:
    file, config = processor.file, processor.config
    written = file.generated_by is None and file.abs_src_path is not None
    return PageContext(
        file.page,
        file.src_uri,
        Path(file.abs_src_path) if written else None,
        file.page.meta,
        Path(config.config_file_path or "mkdocs.yml"),
        Path(config.docs_dir),
        config.mdx_configs,
        strict=False,  # MkDocs counts warnings, and fails for them when it has built all pages
        kept=False,
    )


def clean_title(page: Any) -> None:
    """Take the id out of a title that was set from the raw heading, by macros for example.

    ``page`` is the generator's own object.
    """
    # Both generators have a property that makes a title where none was set.
    set_title = vars(page).get("title") or vars(page).get("_title")
    if isinstance(set_title, str):
        read = read_heading(set_title)
        if read.section_id is not None:
            page.title = read.title


def read_title(page: Any) -> str:
    """Give the title of a page as text. Generators keep one that they took from a heading as HTML.

    ``page`` is the generator's own object.
    """
    title = str(page.title or "")
    if title == vars(page).get("_title_from_render"):
        title = unescape(title)
    return title
