"""The sources of a published site: which file a page was made from, and which ids stand in it.

Nothing is rendered. That there is a heading with an id, the published page says; the
source only tells whether somebody wrote that id.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from mkdocs_markstay.findings import name_path
from mkdocs_markstay.headings import fill_in
from mkdocs_markstay.identity import page_id_from_source
from mkdocs_markstay.includes import IncludedFiles, find_directives
from mkdocs_markstay.locate import find_candidates
from mkdocs_markstay.page_source import PageOptions, Source, decode, read_page_options
from mkdocs_markstay.sectionids import read_heading

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from mkdocs_markstay.findings import Finding
    from mkdocs_markstay.locate import Candidate

_SUFFIXES = frozenset((".md", ".markdown", ".mkd", ".mdx", ".rst", ".ipynb"))
_FRONT_MATTER = re.compile(r"---[ \t]*\n(.*?\n)?(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
# `name.fr.md`, as mkdocs-static-i18n and Hugo call the translation of `name.md`.
_LANGUAGE = re.compile(r"(.+)\.([A-Za-z]{2,3}(?:[-_][A-Za-z]+)?)")
# As Hugo calls the source of an index page.
_INDEX = re.compile(r"(^|/)_index\Z")
_NUMBER = re.compile(r"(^|/)\d+\s*[-_.]+\s*")
# Ids that are written elsewhere than at the end of a heading.
_WRITTEN = (
    re.compile(r"""\b(?:id|name)\s*=\s*["']([^"'\s]+)["']"""),  # HTML
    re.compile(r"^[ \t>]*\(([^()\s]+)\)=[ \t]*$", re.MULTILINE),  # MyST
    re.compile(r"^[ \t]*\.\. _`?([^:`\n]+)`?:[ \t]*$", re.MULTILINE),  # reStructuredText
    # A line of attributes. What was read as an id is not tried again with an end of it less.
    re.compile(r"^[ \t>]*\{:?[^{}#\n]*#(?=([\w.:-]+))\1[^{}\n]*\}[ \t]*$", re.MULTILINE),
    re.compile(r"\{/\*\s*#([\w.:-]+)\s*\*/\}"),  # MDX
)
_FILLED_IN = re.compile(r"<#[^<>]*\{\{[^<>]*>\Z")
# Addresses of links, attributes, HTML.
_NOT_IN_TITLE = re.compile(r"\]\([^()]*\)|\{[^{}]*\}|<[^<>]*>")
# What Sphinx makes of the name of a label.
_NOT_IN_LABEL = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True)
class PageSource:
    """The file that a page was made from.

    ``source`` is its path in the folder of sources, ``path`` is what a person can open.
    ``headings`` maps ids at the end of headings to their lines (from 1), ``written`` all ids
    that stand in the file or in one that it includes. ``templates`` are headings with ids that
    macros fill in: what can come of each, and its line; ``plain`` are the letters of other
    headings. ``title`` is that of the front matter.
    """

    source: str
    path: str
    title: str
    options: PageOptions
    findings: Sequence[Finding] = ()
    headings: Mapping[str, int] = field(default_factory=dict)
    written: Mapping[str, int] = field(default_factory=dict)
    templates: Sequence[tuple[re.Pattern[str], int]] = ()
    plain: frozenset[str] = frozenset()

    def find_line(self, section_id: str, title: str) -> int | None:
        """Find where somebody wrote the id of a published heading; None if nowhere."""
        known = section_id in self.written or not self.templates
        if known or _letters(title) in self.plain:
            return self.written.get(section_id)
        text = f"{title} <#{section_id}>"
        return next((line for made, line in self.templates if made.fullmatch(text)), None)


class Sources:
    """The folder of sources of a site.

    ``roots`` are further folders in which included files are looked for, ``pages`` the page
    ids that the paths of the published pages give. What cannot be read raises OSError.
    """

    def __init__(self, folder: Path, roots: Sequence[Path], pages: Collection[str]) -> None:
        self.folder = folder
        self._roots = roots
        self._pages = pages
        # By page id and language; the second for generators that change names.
        self._files: dict[tuple[str, str], str] = {}
        self._alike: dict[tuple[str, str], set[str]] = {}
        for source in _list_sources(folder):
            stem, dot, suffix = source.rpartition(".")
            names = [(stem, "")]
            if match := _LANGUAGE.fullmatch(stem):
                names.append((match[1], match[2].lower()))
            for name, language in names:
                page_id = page_id_from_source(_INDEX.sub(r"\1index", name) + dot + suffix)
                self._files.setdefault((page_id, language), source)
                self._alike.setdefault((_simplify(page_id), language), set()).add(source)

    def find(self, page_id: str, language: str) -> PageSource | None:
        """Find and read the source of a page, given the page id that its path gives."""
        source = self._find(page_id, language)
        if source is None and page_id.startswith(prefix := f"{self.folder.name}/"):
            # Docusaurus publishes the folder `docs` under its name.
            inner = page_id.removeprefix(prefix)
            source = None if inner in self._pages else self._find(inner, language)
        return None if source is None else self._read(source)

    def _find(self, page_id: str, language: str) -> str | None:
        folder = language if page_id == "index" else f"{language}/{page_id}"
        keys = ((page_id, language.lower()), (folder, ""), (page_id, ""))
        found = next((self._files[key] for key in keys if key in self._files), None)
        if found is not None:
            return found
        every = (self._alike.get((_simplify(name), suffix), ()) for name, suffix in keys)
        return next((next(iter(alike)) for alike in every if len(alike) == 1), None)

    def _read(self, source: str) -> PageSource:
        file = self.folder / source
        path = name_path(file)
        text, findings = decode(file.read_bytes(), path)
        match = _FRONT_MATTER.match(text)
        front_matter = match[0] if match else ""
        body = text[len(front_matter) :]
        roots = (file.parent, self.folder, *self._roots)
        whole = Source(path, front_matter, body, roots, name_path)
        meta = _read_meta(match[1] or "") if match else {}
        options = read_page_options(meta, whole)
        title = meta.get("title")
        headings, written = _find_ids(whole)
        templates, plain = _find_templates(whole)
        return PageSource(
            source,
            path,
            " ".join(title.split()) if isinstance(title, str) else "",
            options,
            (*findings, *options.findings),
            headings,
            written,
            templates,
            plain,
        )


def _list_sources(folder: Path) -> Iterator[str]:
    def refuse(error: OSError) -> None:
        raise error

    for here, folders, names in os.walk(folder, onerror=refuse):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if os.path.splitext(name)[1] in _SUFFIXES:  # noqa: PTH122
                yield Path(here, name).relative_to(folder).as_posix()


def _simplify(page_id: str) -> str:
    """Let a page be found whose generator changes case, spaces and numbers of file names."""
    return _NUMBER.sub(r"\1", page_id.casefold()).replace(" ", "-")


def _read_meta(text: str) -> Mapping[str, Any]:
    try:
        meta = yaml.safe_load(text)
    except yaml.YAMLError:  # no front matter to generators either
        return {}
    return meta if isinstance(meta, dict) else {}


def _find_ids(source: Source) -> tuple[dict[str, int], dict[str, int]]:
    """Find the ids at the end of headings, and all ids, with their lines."""
    headings: dict[str, int] = {}
    for candidate in find_candidates(source.body):
        if section_id := _heading_id(candidate):
            headings.setdefault(section_id, candidate.line + 1 + source.offset)
    written = dict(headings)
    included = IncludedFiles(source.roots)
    for directive in find_directives(source.body.split("\n")):
        for candidate in included.find_headings(directive):
            if section_id := _heading_id(candidate):
                written.setdefault(section_id, directive.line + 1 + source.offset)
    line, place = 1 + source.offset, 0
    hits = (match for pattern in _WRITTEN for match in pattern.finditer(source.body))
    for match in sorted(hits, key=lambda match: match.start(1)):
        line += source.body.count("\n", place, match.start(1))
        place = match.start(1)
        label = _NOT_IN_LABEL.sub("-", match[1].lower()).strip("-")
        for section_id in (match[1], label):
            if section_id:
                written.setdefault(section_id, line)
    return headings, written


def _find_templates(
    source: Source,
) -> tuple[list[tuple[re.Pattern[str], int]], frozenset[str]]:
    """Find headings at whose end an id is filled in, and the letters of all others."""
    if "<#" not in source.body or "{{" not in source.body:
        return [], frozenset()
    templates, plain = [], set()
    for candidate in find_candidates(source.body):
        if candidate.doubt > 1:
            continue
        made = fill_in(candidate.text) if _FILLED_IN.search(candidate.text) else None
        if made is None:
            plain.add(_letters(read_heading(candidate.text).title))
        else:
            templates.append((made, candidate.line + 1 + source.offset))
    return templates, frozenset(plain)


def _letters(title: str) -> str:
    """Reduce a title, as written or as published, to what both have."""
    return "".join(filter(str.isalnum, _NOT_IN_TITLE.sub("", title))).casefold()


def _heading_id(candidate: Candidate) -> str:
    if candidate.doubt > 1:
        return ""
    if candidate.sign.startswith("<"):
        match = _WRITTEN[0].search(candidate.source)
        return match[1] if match else ""
    return read_heading(candidate.text).section_id or ""
