"""Text that is pulled into a page: by snippets, include plugins, macros, generators."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs_markstay.locate import find_candidates

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from os import PathLike

    from mkdocs_markstay.locate import Candidate

# Lines that a neighbour replaces by other text.
_DIRECTIVE = re.compile(r"-8<-|\{%|\{\{|\{!|\{\*|^[ \t>]*:::|<!--[ \t]*material/")
# Those whose headings a tool makes: nobody can write an id into them.
_GENERATOR = re.compile(r"^[ \t>]*:::|<!--[ \t]*material/")
_NAMES = re.compile(r"\"([^\"]+)\"|'([^']+)'|\{[!*][ \t]*([^\s!*}]+)")
_BLOCK = re.compile(r"[ \t>]*-{1,}8<-{1,}[ \t]*")
_LINES_OF_TAG = 20
_FILES_READ = 20


@dataclass(frozen=True)
class Directive:
    """A line (counted from 0) that pulls text in, and the file names that it gives."""

    line: int
    text: str
    names: tuple[str, ...]

    @property
    def generates(self) -> bool:
        """Whether what it pulls in was made by a tool, not written by an author."""
        return _GENERATOR.search(self.text) is not None


@dataclass(frozen=True)
class IncludedLine:
    """A heading's line in an included file."""

    file: Path
    candidate: Candidate


def find_directives(lines: Sequence[str]) -> list[Directive]:
    """Find all directives of a text."""
    found = []
    inside = False
    for number, line in enumerate(lines):
        if _BLOCK.fullmatch(line):
            inside = not inside
        elif inside and line.strip():
            found.append(Directive(number, line, (line.strip(),)))
        elif _DIRECTIVE.search(line):
            text = line
            # A template tag may go on in the lines below.
            if "{%" in line and "%}" not in line:
                text = "\n".join(lines[number : number + _LINES_OF_TAG]).split("%}", 1)[0]
            names = tuple(next(filter(None, groups)) for groups in _NAMES.findall(text))
            found.append(Directive(number, text, names))
    return found


class IncludedFiles:
    """The files that the directives of one page name, read at most once."""

    def __init__(self, roots: Sequence[str | PathLike[str]]) -> None:
        self._roots = roots
        self._lines: dict[Path, dict[str, list[Candidate]]] = {}

    def find(self, directive: Directive, key: str, after: int) -> IncludedLine | None:
        """Look for a heading (given by its `heading_key`) in the files that a directive names.

        The first one behind the line ``after``, or None.
        """
        for file in find_files(directive, self._roots):
            for candidate in self._headings(file).get(key, []):
                if candidate.line > after:
                    return IncludedLine(file, candidate)
        return None

    def find_headings(self, directive: Directive) -> Iterator[Candidate]:
        """Give the lines that could be headings in the files that a directive names."""
        for file in find_files(directive, self._roots):
            for candidates in self._headings(file).values():
                yield from candidates

    def _headings(self, file: Path) -> dict[str, list[Candidate]]:
        if file not in self._lines:
            found: dict[str, list[Candidate]] = {}
            try:
                text = file.read_text(encoding="utf-8-sig")
            except (OSError, ValueError):
                text = ""
            for candidate in find_candidates(text):
                if candidate.doubt < 2:
                    found.setdefault(candidate.text, []).append(candidate)
            self._lines[file] = found
        return self._lines[file]


def find_files(directive: Directive, roots: Sequence[str | PathLike[str]]) -> list[Path]:
    """Find the files that a directive names, in the folders ``roots``."""
    # Snippets may name a part of a file: `file.md:3:9` or `file.md:part`.
    names = (spelled for name in directive.names for spelled in (name, name.split(":", 1)[0]))
    folders = [Path(root) for root in roots]
    files = (folder / name for name in dict.fromkeys(names) if name for folder in folders)
    return list(islice(filter(_is_file, files), _FILES_READ))


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # no file name at all
        return False
