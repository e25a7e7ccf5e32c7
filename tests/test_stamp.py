"""Ids written into the headings of whole sites. Small sites, and what comes of them, are in `stamp/`.

A case is a site and what `mkdocs-markstay stamp` makes of it. Its fields:

- ``id``, ``note``: its name, and the behaviour that it holds in one sentence.
- ``files``: path -> text, written byte for byte. ``links``: path of a symbolic link -> target.
- ``extensions``, ``plugins``, ``config``: as in ``mkdocs.yml``, text that starts with
  ``!!python/`` being a YAML tag. ``markstay``: options of the
  plugin; without this field it is not in the configuration yet. ``site``: the folder of ``mkdocs.yml``.
- ``args``, ``paths``: of the command. ``cwd``: the folder that it runs in.
- ``lines``: `path:line` -> the line as it is written. Every other byte of the site stays.
- ``told``: the findings: `path:line code`, or a list of that and of parts of the message.
- ``exit``: the exit code, if not 0; if it is 2, ``error`` is a part of what is said.
- ``anchors``: what the anchors of a page (its file in the site) become, if they change.

What is promised of every site is checked of every case: see `check`.
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from click.testing import CliRunner
from site_builder import Built, Site, build_site, write_site

from mkdocs_markstay.cli import main
from mkdocs_markstay.findings import CODES

if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDER = Path(__file__).parent / "stamp"
CASES = [
    case for path in sorted(FOLDER.glob("*.yml")) for case in yaml.safe_load(path.read_bytes())
]
FIELDS = {"id", "note", "files", "links", "extensions", "plugins", "config", "markstay", "site"}
FIELDS |= {"args", "paths", "cwd", "lines", "told", "exit", "error", "anchors"}
WARNINGS = {"findings": dict.fromkeys(CODES, "warning")}
_FINDING = re.compile(r"(?P<place>\S.*?:\d+): (?P<level>\w+)\[(?P<code>[\w-]+)\] (?P<message>.*)")
_ANCHOR = re.compile(r'<h[1-6]\b[^>]*?\sid="([^"]*)"', re.IGNORECASE)
_YAML_TAG = re.compile(r"'(!!python/[^']*)'")
_ID = re.compile(r"<#|\{:? ?#")

Case = dict[str, Any]
Files = dict[str, bytes]


# -- running the command


@dataclass(frozen=True)
class Run:
    """What came of a run of the command."""

    code: int
    out: str
    err: str

    @cached_property
    def findings(self) -> list[tuple[str, str]]:
        """The findings: place and code, and the message."""
        lines = (self.out + self.err).splitlines()
        found = [match for line in lines if (match := _FINDING.fullmatch(line))]
        return [(f"{match['place']} {match['code']}", match["message"]) for match in found]

    def places(self, *leaving: str) -> list[str]:
        """The findings in short, without those of some codes."""
        return [place for place, _ in self.findings if not place.endswith(leaving or "\0")]


def stamp(folder: Path, *args: str) -> Run:
    """Run `mkdocs-markstay stamp` in this process, in a folder."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        result = CliRunner().invoke(main, ["stamp", *args])
    finally:
        os.chdir(before)
    if not isinstance(result.exception, (SystemExit, type(None))):
        raise result.exception
    return Run(int(result.exit_code), result.stdout_bytes.decode(), result.stderr)


# -- sites


def write(folder: Path, case: Case, *plugins: Mapping[str, Any]) -> None:
    """Write the site of a case, with some plugins more."""
    for name, text in case["files"].items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    for name, target in case.get("links", {}).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target)
    config = {**case.get("config", {}), "plugins": [*case.get("plugins", ()), *plugins]}
    site = Site({}, tuple(case.get("extensions", ())), config=config)
    path = write_site(folder / case.get("site", "."), site)
    path.write_text(_YAML_TAG.sub(r"\1", path.read_text(encoding="utf-8")), encoding="utf-8")


def read(folder: Path) -> Files:
    """Read all files below a folder; of a symbolic link its target."""
    paths = sorted(Path(base, name) for base, _, names in os.walk(folder) for name in names)
    return {
        path.relative_to(folder).as_posix(): bytes(path.readlink())
        if path.is_symlink()
        else path.read_bytes()
        for path in paths
    }


def restore(folder: Path, files: Files) -> None:
    for name, content in files.items():
        if not (folder / name).is_symlink():
            (folder / name).write_bytes(content)


def build(folder: Path, case: Case, files: Files, *plugins: Mapping[str, Any]) -> Built:
    """Build the site of a case with other contents of its files."""
    plain = {name: text for name, text in files.items() if name not in case.get("links", {})}
    write(folder, {**case, "files": plain}, *plugins)
    built = build_site(folder / case.get("site", "."), strict=False)
    assert built.passed, built.log
    return built


def anchors(built: Built) -> dict[str, list[str]]:
    return {name: _ANCHOR.findall(html) for name, html in built.pages().items()}


def replaced(files: Files, lines: Mapping[str, str]) -> Files:
    """Give the files with some lines replaced."""
    changed = dict(files)
    for place, line in lines.items():
        name, _, number = place.rpartition(":")
        parts = re.split(rb"(?<=\n)|(?<=\r)(?!\n)", changed[name])
        old = parts[int(number) - 1]
        mark = old[: old.startswith(b"\xef\xbb\xbf") * 3]
        parts[int(number) - 1] = mark + line.encode() + old[len(old.rstrip(b"\r\n")) :]
        changed[name] = b"".join(parts)
    return changed


# -- what must be true of every case


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_case(case: Case, tmp_path: Path) -> None:
    assert not set(case) - FIELDS
    check(case, tmp_path)


def check(case: Case, tmp_path: Path) -> None:
    folder = tmp_path / "site"
    options = case.get("markstay")
    write(folder, case, *([] if options is None else [{"markstay": options}]))
    cwd = folder / case.get("cwd", ".")
    args = [*case.get("args", "").split(), *case.get("paths", ())]
    old = read(folder)
    new = replaced(old, case.get("lines", {}))

    # Without --write nothing is written, and what is printed is what would be.
    shown = stamp(cwd, *args)
    assert read(folder) == old
    check_told(case, shown)
    if shown.code == 2:
        assert not shown.out
        assert case["error"] in shown.err
        assert shown.err.startswith("mkdocs-markstay: ")
        return
    if "/../" not in shown.out:  # git leaves alone what is above the current folder
        git(cwd, shown.out)
        assert read(folder) == new
        restore(folder, old)

    written = stamp(cwd, *args, "--write")
    assert read(folder) == new
    check_told(case, written)
    again = stamp(cwd, *args, "--write")
    assert read(folder) == new
    assert "0 ids in 0 files written" in again.err
    assert again.places() == written.places("positional-id")

    check_anchors(case, tmp_path, old, new, written)


def check_told(case: Case, run: Run) -> None:
    told = [[each] if isinstance(each, str) else each for each in case.get("told", ())]
    assert run.places() == [place for place, *_ in told]
    for (_, message), (_, *parts) in zip(run.findings, told, strict=True):
        for part in parts:
            assert part in message
    assert run.code == case.get("exit", 0)


def check_anchors(case: Case, tmp_path: Path, old: Files, new: Files, run: Run) -> None:
    """Stamping moves no anchor, and what is left without an id was told."""
    plugin = {"markstay": {**(case.get("markstay") or {}), **WARNINGS}}
    # Ids that are there already can only be read by the plugin.
    plain = "markstay" not in case and not any(map(_ID.search, map(bytes.decode, old.values())))
    before = build(tmp_path / "before", case, old, *([] if plain else [plugin]))
    after = build(tmp_path / "after", case, new, plugin)
    assert anchors(after) == {**anchors(before), **case.get("anchors", {})}
    if "cwd" not in case and "paths" not in case:
        left = {place.split(" ")[0] for place in run.places() if place.endswith("not-stamped")}
        files = {place.split(":")[0] for place in run.places() if place.endswith("not-written")}
        missing = {place.split(" ")[0] for place in after.places if place.endswith("missing-id")}
        assert {place for place in missing if place.split(":")[0] not in files} == left


def git(folder: Path, diff: str) -> None:
    """Apply a diff, as `git apply` does."""
    if diff:
        command = ["git", "apply", "-"]
        subprocess.run(command, cwd=folder, input=diff.encode(), check=True)
