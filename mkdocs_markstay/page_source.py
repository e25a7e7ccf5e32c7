"""A page's source file: its text, and what it says of itself in its front matter."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mkdocs_markstay.extract_lexbor import check_selector
from mkdocs_markstay.findings import Finding
from mkdocs_markstay.sectionids import show

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from os import PathLike
    from pathlib import Path

_PAGE_ID = re.compile(r"[^\s#/]+(?:/[^\s#/]+)*")
_MACROS_ERROR = re.compile(r"# _Macro (?:Syntax|Rendering) Error_")
# As mkdocs-macros writes it, and as Zensical does.
_MACROS_LINE = re.compile(r"^_Line (\d+)(?: in Markdown file:|_:)", re.MULTILINE)
_FRONT_MATTER = re.compile(r"---[ \t]*\n(?P<yaml>(?:.*?\n)??)(?:---|\.\.\.)[ \t]*\n+", re.DOTALL)


@dataclass(frozen=True)
class Source:
    """The file of a page.

    ``path`` is what a person can open; ``front_matter`` and ``body`` are the two
    parts of its text; ``roots`` are the folders in which included files are looked
    for; ``show`` names a file so that a person can open it.
    """

    path: str
    front_matter: str
    body: str
    roots: tuple[str | PathLike[str], ...]
    show: Callable[[Path], str]

    @property
    def offset(self) -> int:
        """How many lines stand before the body."""
        return self.front_matter.count("\n")

    def find_key(self, key: str) -> int:
        """Find the line (from 1) of a key of the front matter, 1 if there is none."""
        pattern = re.compile(rf"""["']?{re.escape(key)}["']?\s*:""", re.IGNORECASE)
        lines = self.front_matter.split("\n")
        return next((n for n, line in enumerate(lines, 1) if pattern.match(line)), 1)


@dataclass
class PageOptions:
    """The front matter, read.

    ``page_id`` is empty if the page has none of its own, ``included`` is False for
    `markstay: false`, ``furniture`` are selectors for this page.
    """

    page_id: str = ""
    included: bool = True
    furniture: tuple[str, ...] = ()
    findings: list[Finding] = field(default_factory=list)


def read_page_options(meta: Mapping[str, Any], source: Source) -> PageOptions:
    """Read the front matter of a page."""
    options = PageOptions()
    if "page_id" in meta:
        message = _check_page_id(meta["page_id"])
        if message:
            line = source.find_key("page_id")
            options.findings.append(Finding(source.path, line, "page-id", message))
        else:
            options.page_id = meta["page_id"]
    value = meta.get("markstay")
    message = ""
    if isinstance(value, bool):
        options.included = value
    elif isinstance(value, dict) and set(value) == {"furniture"}:
        message = _check_furniture(value["furniture"])
        options.furniture = () if message else tuple(value["furniture"])
    elif value is not None:
        message = (
            f"markstay {show(str(value))} is neither true or false nor a mapping with the key"
            " furniture. Write: markstay: false"
        )
    if message:
        line = source.find_key("markstay")
        options.findings.append(Finding(source.path, line, "page-options", message))
    return options


def check_url_unused(path: str, target: str, first: str) -> list[Finding]:
    """Find a page that is published where another one is, the one at the path ``first``."""
    if first == path:
        return []
    message = (
        f"this page and {first} are both published as {target}. Rename one of them, or exclude it"
        " with exclude_docs"
    )
    return [Finding(path, 1, "same-url", message)]


def check_derived_page_id(source: Source, page_id: str) -> list[Finding]:
    """Find a page whose path makes a page id that none can be."""
    if "#" not in page_id and page_id.isprintable():
        return []
    proposed = "-".join(re.findall(r"[\w/.-]+", page_id)) or "page"
    message = (
        f"the path makes the page id {show(page_id)}, which cannot be one. Write in the front"
        f" matter (between two lines --- at the top of the file): page_id: {proposed}"
    )
    return [Finding(source.path, 1, "page-id", message)]


def check_page_id_unused(path: str, line: int, page_id: str, first: str) -> list[Finding]:
    """Find a page whose id (in that line) is that of another page, the one at ``first``."""
    if first == path:
        return []
    message = (
        f"page id {show(page_id)} is already that of {first}. Write in the front matter (between"
        f" two lines --- at the top of the file): page_id: {page_id}-2"
    )
    return [Finding(path, line, "duplicate-page-id", message)]


def check_replaced(source: Source, markdown: str) -> list[Finding]:
    """Find a page that a neighbour replaced by an error text.

    ``markdown`` is the page's text after all plugins. mkdocs-macros does that and
    lets the build go on.
    """
    if not _MACROS_ERROR.match(markdown) or _MACROS_ERROR.match(source.body):
        return []
    match = _MACROS_LINE.search(markdown)
    line = source.offset + (int(match[1]) if match else 1)
    message = "the macros plugin replaced the page by an error text"
    if "{#" in source.body:
        message += "; it reads '{#' as a comment. Write section ids as <#id>"
    else:
        message += ". Correct the macro"
    return [Finding(source.path, line, "page-error", message)]


def find_roots(
    folders: Iterable[str | PathLike[str]], extensions: Mapping[str, Any]
) -> tuple[str | PathLike[str], ...]:
    """Find where included files are looked for: in these folders, and where Snippets does.

    ``extensions`` maps Markdown extensions to their options.
    """
    bases = extensions.get("pymdownx.snippets", {}).get("base_path", [])
    bases = bases if isinstance(bases, (list, tuple)) else [bases]
    return (*folders, "", *bases)


def split_front_matter(text: str) -> tuple[str, str, str]:
    """Split a page's text: its front matter, the YAML in that, and its Markdown.

    What is between the front matter and the first line that is not empty belongs to the
    front matter. Without one, the first two are empty.
    """
    match = _FRONT_MATTER.match(text)
    if match is None:
        return "", "", text
    return match[0], match["yaml"], text[match.end() :]


def decode(raw: bytes, path: str) -> tuple[str, list[Finding]]:
    """Decode a file as far as it is UTF-8, and say where it is not."""
    findings = []
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        text = raw.decode("utf-8-sig", "replace")
        line = raw.count(b"\n", 0, error.start) + 1
        message = f"byte 0x{raw[error.start]:02x} is not UTF-8. Save the file as UTF-8"
        findings.append(Finding(path, line, "not-utf-8", message))
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text, findings


def _check_page_id(value: object) -> str:
    if (
        isinstance(value, str)
        and value.isprintable()
        and _PAGE_ID.fullmatch(value)
        and not {".", ".."}.intersection(value.split("/"))
    ):
        return ""
    return (
        f"page_id {show(str(value))} is no page id: text without white space and '#', its parts"
        " separated by single '/'. Write: page_id: guide/install"
    )


def _check_furniture(value: object) -> str:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        return 'markstay.furniture is no list of CSS selectors. Write: furniture: [".note"]'
    problems = filter(None, map(check_selector, value))
    problem = next(problems, "")
    return f"in markstay.furniture, {problem}. Correct or remove it" if problem else ""
