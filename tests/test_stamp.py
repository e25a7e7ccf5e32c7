"""Ids written into the headings of whole sites. Small sites, and what comes of them, are in `stamp/`.

A case is a site and what `mkdocs-markstay stamp` makes of it. Its fields:

- ``id``, ``note``: its name, and the behaviour that it holds in one sentence.
- ``files``: path -> text, written byte for byte. ``links``: path of a symbolic link -> target.
- ``extensions``, ``plugins``, ``config``: as in ``mkdocs.yml``. ``markstay``: options of the
  plugin, which is not in the configuration without this field.
- ``args``: of the command. ``cwd``: the folder that it runs in.
- ``lines``: `path:line` -> the line as it is written. Every other byte of the site stays.
- ``told``: the findings, each as `path:line code` and, after ` ... `, a part of its message.
- ``exit``: the exit code, if not 0. ``error``: a part of what is said instead, if it is 2.

What is promised of every site is checked of every case: see `Case.check`.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from click.testing import CliRunner
from site_builder import Site, build_site, write_site

from mkdocs_markstay.cli import main
from mkdocs_markstay.findings import CODES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from click.testing import Result

FOLDER = Path(__file__).parent / "stamp"
CASES = {path.stem: yaml.safe_load(path.read_bytes()) for path in sorted(FOLDER.glob("*.yml"))}
WARNINGS = {"findings": dict.fromkeys(CODES, "warning")}
_FINDING = re.compile(r"(?P<place>.+?:\d+): (?P<level>\w+)\[(?P<code>[\w-]+)\] (?P<message>.*)")
_HEADING_ID = re.compile(r'<h[1-6]\b[^>]*?\sid="([^"]*)"', re.IGNORECASE)
_TOKEN = re.compile(r" ?<#[^<>]*>| ?\{#[^{}]*\}|#\S+ ")


# -- running it


@dataclass(frozen=True)
class Stamped:
    """What came of a run: its exit code, its output, and the findings in it."""

    code: int
    out: str
    err: str
    findings: list[str]

    @property
    def diff(self) -> str:
        return self.out


def stamp(folder: Path, *args: str, cwd: str = ".") -> Stamped:
    """Run the command in this process."""
    before = Path.cwd()
    os.chdir(folder / cwd)
    try:
        result: Result = CliRunner().invoke(main, ["stamp", *args])
    finally:
        os.chdir(before)
    if not isinstance(result.exception, (SystemExit, type(None))):
        raise result.exception
    output = result.stdout_bytes.decode() + result.stderr
    found = [match for line in output.splitlines() if (match := _FINDING.fullmatch(line))]
    findings = [f"{m['place']} {m['code']} ... {m['message']}" for m in found]
    return Stamped(result.exit_code, result.stdout_bytes.decode(), result.stderr, findings)


def read_files(folder: Path) -> dict[str, bytes]:
    """Read all files of a site, but not what was built."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.relative_to(folder).parts[0] not in ("site", "theme")
    }
