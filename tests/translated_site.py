"""Small sites in several languages for tests, and the commands run on them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from click.testing import CliRunner
from site_builder import Site, write_site

from mkdocs_markstay.cli import main

if TYPE_CHECKING:
    from collections.abc import Mapping

LANGUAGES: list[dict[str, Any]] = [
    {"locale": "en", "default": True, "name": "English"},
    {"locale": "de", "name": "Deutsch"},
    {"locale": "fr", "name": "Français"},
]
STRUCTURES = ("suffix", "folder")


@dataclass(frozen=True)
class Ran:
    """What came of a command: its exit code, standard output, standard error."""

    code: int
    out: str
    err: str


def run(folder: Path, *arguments: str) -> Ran:
    """Run `mkdocs-markstay` in ``folder``, in this process."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        result = CliRunner().invoke(main, arguments)
    finally:
        os.chdir(before)
    if not isinstance(result.exception, (SystemExit, type(None))):
        raise result.exception
    return Ran(result.exit_code, result.stdout_bytes.decode(), result.stderr)


def page_path(name: str, language: str, structure: str) -> str:
    """Name the file of a page for mkdocs-static-i18n, relative to the folder of the site."""
    if structure == "folder":
        return f"docs/{language}/{name}.md"
    return f"docs/{name}.md" if language == "en" else f"docs/{name}.{language}.md"


def translated(pages: Mapping[str, Mapping[str, str]], structure: str, **plugin: Any) -> Site:
    """Give the site with these pages: language -> name -> text."""
    files = {
        page_path(name, language, structure): text
        for language, texts in pages.items()
        for name, text in texts.items()
    }
    languages = [language for language in LANGUAGES if language["locale"] in pages]
    plugins = [
        {"i18n": {"docs_structure": structure, "languages": languages}},
        {"markstay": plugin},
    ]
    return Site(files, ("attr_list", "pymdownx.snippets"), config={"plugins": plugins})


def write_tree(folder: Path, pages: Mapping[str, str], **config: Any) -> Path:
    """Write a site of its own with these pages, and return the path of its configuration."""
    files = {f"docs/{name}.md": text for name, text in pages.items()}
    return write_site(folder, Site(files, config=config))
