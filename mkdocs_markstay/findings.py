"""Findings: what is wrong, where, and how it is repaired."""

from __future__ import annotations

import os
import shlex
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

LEVELS = ("error", "warning", "info", "ignore")
"""What a finding can count as. `ignore` is only for options: such findings are not made."""

CODES: dict[str, str] = {
    # ids in headings
    "missing-id": "error",
    "empty-id": "error",
    "malformed-id": "error",
    "misplaced-id": "error",
    "two-ids": "error",
    "mangled-id": "error",
    "id-pattern": "error",
    "duplicate-id": "error",
    "id-taken": "error",
    "case-clash": "error",
    # pages
    "page-id": "error",
    "duplicate-page-id": "error",
    "same-url": "error",
    "page-options": "error",
    "not-utf-8": "error",
    "page-error": "error",
    "bad-baseline": "error",
    # translations
    "parity-missing": "warning",
    "parity-extra": "warning",
    "parity-order": "warning",
    # what was published, against the register
    "lost-referent": "error",
    "forgotten-referent": "error",
    "published-again": "error",
    "dead-end": "error",
    "alias-taken": "error",
    "address-taken": "error",
    "redirected-twice": "error",
    "unregistered": "error",
    "bad-register": "error",
    "register-conflict": "error",
    "register-duplicate": "warning",
    # markers of blocks
    "stay-missing": "error",
    "stay-uncovered": "error",
    "stay-duplicate": "error",
    "stay-several": "error",
    "stay-orphan": "error",
    "stay-malformed": "error",
    "stay-dropped": "error",
    "stay-relocated": "error",
    "stay-shared": "warning",
    "stay-drift": "warning",
    "stay-unbound": "warning",
    "stay-in-code": "warning",
    # what `stamp` could not or would not write
    "not-stamped": "warning",
    "not-written": "error",
    "positional-id": "info",
    # published pages
    "lost-id": "warning",
    "leaked-id": "warning",
    "not-published": "info",
    # pages of a site that is read as it is published
    "left-out": "info",
    "no-content": "warning",
    "ambiguous-anchor": "warning",
    "cut-off": "error",
    # a published site against its manifest
    "bad-manifest": "error",
    "page-missing": "error",
    "page-changed": "error",
    "anchor-missing": "error",
    "anchor-repeated": "error",
    "section-changed": "error",
    "passage-changed": "error",
    "digest-wrong": "error",
}
"""Every finding code and its default level. Codes are promises: see ``docs/findings.md``."""

PERMANENCE_CODES = (
    "lost-referent",
    "forgotten-referent",
    "published-again",
    "dead-end",
    "alias-taken",
    "address-taken",
    "redirected-twice",
    "unregistered",
    "bad-register",
    "register-conflict",
    "register-duplicate",
)
"""The codes that the option `permanence` is about. No baseline takes them."""

CONFIG_FILES = (
    "properdocs.yml",
    "properdocs.yaml",
    "mkdocs.yml",
    "mkdocs.yaml",
    "zensical.toml",
)
"""What a command takes for the configuration of a site, if it is not told: the first there is."""

_DEBTS_TOLD = 20


@dataclass(frozen=True)
class Finding:
    """One problem. ``path`` is what a person can open, ``line`` counts from 1.

    ``via`` names the line that pulls in the text, if ``path`` is an included file;
    ``heading`` is the title of the heading that it is about, if it is about one.
    ``debt``: the site's baseline has it, so it fails nothing.
    """

    path: str
    line: int
    code: str
    message: str
    level: str = "error"
    via: str = ""
    heading: str = ""
    debt: bool = False

    def __str__(self) -> str:
        """Give the finding as one line, without control characters."""
        inserted = f" (inserted by {self.via})" if self.via else ""
        place = f"{self.path}:{self.line}"
        return printable(f"{place}: {self.level}[{self.code}] {self.message}{inserted}")


def printable(text: str) -> str:
    """Escape what a terminal or an editor would not show as it is written."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape", "replace").decode()
        for char in text
    )


def name_path(path: str | os.PathLike[str], folder: str | os.PathLike[str] = "") -> str:
    """Name a file as a person in ``folder`` would, in the current one if there is none."""
    text, here = os.fspath(path), os.path.abspath(folder)  # noqa: PTH100 (links stay)
    if text.startswith(here + os.sep):
        text = os.path.normpath(text[len(here) + 1 :])
    else:
        with suppress(ValueError):  # another drive
            text = os.path.relpath(text, here)
    return text.replace(os.sep, "/")


def name_command(name: str, config_file: str) -> str:
    """Give a command of this package as it has to be typed for a site."""
    shown = name_path(config_file)
    found = next(filter(os.path.exists, CONFIG_FILES), None)
    option = "" if shown == found else f" -f {shlex.quote(shown)}"
    return f"mkdocs-markstay {name}{option}"


def judge(
    findings: Iterable[Finding],
    levels: Mapping[str, str],
    told: set[tuple[str, ...]] | None = None,
) -> list[Finding]:
    """Give each finding its level, drop what is ignored, and sort: each finding once.

    What is wrong in a file that several pages include is one finding. ``told`` is what
    earlier calls have given already; what this one gives is added.
    """
    judged: list[Finding] = []
    told = set() if told is None else told
    for found in sorted(findings, key=lambda found: (found.via, *_order(found))):
        level = levels.get(found.code, CODES[found.code])
        place = (found.path, str(found.line), found.code)
        if level == "ignore" or (place if found.via else (*place, found.message)) in told:
            continue
        told.update((place, (*place, found.message)))
        judged.append(replace(found, level=level))
    return sorted(judged, key=_order)


def lower_errors(levels: Mapping[str, str]) -> dict[str, str]:
    """Make errors warnings, for a preview; ``levels`` are those that are not the default."""
    judged = {**CODES, **levels}
    return {code: "warning" if level == "error" else level for code, level in judged.items()}


def without_many_debts(findings: Sequence[Finding]) -> list[Finding]:
    """Leave out the debts if there are too many to be read; they are counted elsewhere."""
    if sum(found.debt for found in findings) <= _DEBTS_TOLD:
        return list(findings)
    return [found for found in findings if not found.debt]


def _order(found: Finding) -> tuple[str, int, str, str]:
    return found.path, found.line, found.code, found.message


def summarize(findings: Iterable[Finding]) -> str:
    """Count findings by level and by code, in one line; debts are counted elsewhere."""
    counts: dict[str, dict[str, int]] = {}
    files = set()
    for found in findings:
        if found.debt:
            continue
        files.add(found.path)
        codes = counts.setdefault(found.level, {})
        codes[found.code] = codes.get(found.code, 0) + 1
    parts = []
    for level in LEVELS:
        codes = counts.get(level, {})
        if codes:
            total = sum(codes.values())
            each = ", ".join(f"{code} {codes[code]}" for code in sorted(codes))
            parts.append(f"{total} {level}{'' if total == 1 else 's'} ({each})")
    where = f"in {len(files)} file{'' if len(files) == 1 else 's'}"
    return f"{'; '.join(parts)} {where}" if parts else "no findings"
