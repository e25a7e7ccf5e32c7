"""The baseline: findings that a site had when it began, which fail nothing.

One line for each, a JSON array of the file (relative to the folder of the
configuration), the code and the heading's title. No line numbers, so that an edit above
moves nothing; sorted, so that version control can merge two branches.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from mkdocs_markstay.findings import Finding
from mkdocs_markstay.whole_file import write_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

NAME = "markstay.baseline"
"""The file, beside the configuration of the site."""

_RATCHETED = ("error", "warning")


class Debt(NamedTuple):
    """A finding as the baseline has it."""

    path: str
    code: str
    heading: str


class Baseline:
    """The debts of a site. ``findings`` are what is wrong with the file itself."""

    def __init__(self, folder: Path, debts: Iterable[Debt] = ()) -> None:
        self.folder = folder
        self.debts = Counter(debts)
        self.findings: list[Finding] = []
        # Those that no finding has been judged by yet.
        self._unused = Counter(self.debts)

    @classmethod
    def read(cls, folder: Path) -> Baseline:
        """Read the baseline of the site whose configuration is in ``folder``.

        Without the file there are no debts.
        """
        baseline = cls(folder)
        shown = baseline.shown
        try:
            text = (folder / NAME).read_text(encoding="utf-8-sig")
        except FileNotFoundError:
            return baseline
        except (OSError, ValueError) as error:
            baseline.findings.append(_bad(shown, 1, f"cannot be read: {error}"))
            return baseline
        for number, line in enumerate(text.split("\n"), 1):
            if line.strip():
                debt = _read_line(line)
                if debt is None:
                    baseline.findings.append(_bad(shown, number, "has a line that is no record"))
                else:
                    baseline.debts[debt] += 1
        baseline._unused = Counter(baseline.debts)
        return baseline

    @property
    def shown(self) -> str:
        """The path of the file, as a person in the current folder would write it."""
        return os.path.relpath(self.folder / NAME).replace(os.sep, "/")

    def judge(self, findings: Iterable[Finding]) -> list[Finding]:
        """Lower the findings that are debts to `info`; each line of the file lowers one."""
        judged = []
        for found in findings:
            if found.level in _RATCHETED and (debt := self.debt_of(found)) and self._unused[debt]:
                self._unused[debt] -= 1
                judged.append(replace(found, level="info", debt=True))
            else:
                judged.append(found)
        return judged

    def summarize(self, *, complete: bool = True) -> str:
        """Say how many debts are left, and paid if ``complete``: all findings were judged."""
        if not self.debts:
            return ""
        paid = self._unused.total()
        left = self.debts.total() - paid
        text = f"{left} old finding{'' if left == 1 else 's'} left in {NAME}"
        if complete and paid:
            text += f", {paid} repaired (run: mkdocs-markstay baseline --prune)"
        return text

    def debt_of(self, found: Finding) -> Debt | None:
        """Say how the baseline names a finding, None if it cannot have it."""
        if found.code == "bad-baseline":
            return None
        path = os.path.relpath(found.path, self.folder).replace(os.sep, "/")
        return Debt(path, found.code, found.heading)

    def take(self, findings: Sequence[Finding], *, prune: bool = False) -> None:
        """Make the findings the debts; ``prune``: only forget those that are not found."""
        found = Counter(
            debt
            for finding in findings
            if (finding.level in _RATCHETED or finding.debt) and (debt := self.debt_of(finding))
        )
        self.debts = self.debts & found if prune else found
        self._unused = Counter(self.debts)

    def write(self) -> None:
        """Write the file; without debts there is none. Raises OSError."""
        path = self.folder / NAME
        if not self.debts:
            path.unlink(missing_ok=True)
            return
        debts = sorted(self.debts.elements())
        write_file(path, (f"{json.dumps(debt, ensure_ascii=False)}\n".encode() for debt in debts))


def _read_line(line: str) -> Debt | None:
    try:
        values = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if isinstance(values, list) and len(values) == len(Debt._fields):
        return Debt(*values) if all(isinstance(value, str) for value in values) else None
    return None


def _bad(shown: str, line: int, what: str) -> Finding:
    message = f"{NAME} {what}. Remove the line, or run: mkdocs-markstay baseline"
    return Finding(shown, line, "bad-baseline", message)
