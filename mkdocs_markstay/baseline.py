"""The baseline: findings that a site had when it began, which fail nothing.

One line for each, a JSON array of the file (relative to the folder of the
configuration), the code and the heading's title. No line numbers, so that an edit above
moves nothing; sorted, so that version control can merge two branches.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from mkdocs_markstay.findings import PERMANENCE_CODES, Finding, name_command, name_path
from mkdocs_markstay.whole_file import write_file

if TYPE_CHECKING:
    from collections.abc import Iterable

NAME = "markstay.baseline"
"""The file, beside the configuration of the site."""

_RATCHETED = ("error", "warning")
_NO_DEBTS = ("bad-baseline", *PERMANENCE_CODES)


class Debt(NamedTuple):
    """A finding as the baseline has it."""

    path: str
    code: str
    heading: str


class Baseline:
    """The debts of the site with a configuration file: none before they are read.

    ``findings`` are what is wrong with the baseline itself.
    """

    def __init__(self, config_file: str) -> None:
        self.folder = Path(config_file).absolute().parent
        self.path = self.folder / NAME
        self.debts: Counter[Debt] = Counter()
        self.findings: list[Finding] = []
        self._prune = name_command("baseline", config_file) + " --prune"
        # Those that no finding has been judged by yet.
        self._unused: Counter[Debt] = Counter()

    @property
    def shown(self) -> str:
        """The path of the file, as a person in the current folder would write it."""
        return name_path(self.path)

    def read(self) -> None:
        """Read the file, if there is one."""
        try:
            text = self.path.read_bytes().decode("utf-8-sig", "surrogateescape")
        except FileNotFoundError:
            return
        except OSError as error:
            message = f"{NAME} cannot be read: {error.strerror}. Make it readable, or remove it"
            self.findings.append(Finding(self.shown, 1, "bad-baseline", message))
            return
        for number, line in enumerate(text.split("\n"), 1):
            if not line.strip():
                continue
            debt = _read_line(line)
            if debt is not None:
                self.debts[debt] += 1
                continue
            message = f"this line is no record. Remove it, or run: {self._prune}"
            self.findings.append(Finding(self.shown, number, "bad-baseline", message))
        self.begin()

    def begin(self) -> None:
        """Forget what was judged: each line of the file lowers another finding."""
        self._unused = Counter(self.debts)

    def judge(self, findings: Iterable[Finding]) -> list[Finding]:
        """Lower the findings that are debts to `info`; each line of the file lowers one."""
        if not self.debts:
            return list(findings)
        judged = []
        for found in findings:
            debt = self._debt_of(found)
            if self._unused[debt]:
                self._unused[debt] -= 1
                judged.append(replace(found, level="info", debt=True))
            else:
                judged.append(found)
        return judged

    def summarize(self, *, complete: bool = True) -> str:
        """Say how many debts are left, and paid if ``complete``: all findings were judged."""
        if not self.debts:
            return ""
        total, paid = self.debts.total(), self._unused.total()
        if not complete:
            return f"{_count(total)} in {NAME}"
        text = f"{_count(total - paid)} left in {NAME}"
        return f"{text}, {paid} repaired (run: {self._prune})" if paid else text

    def take(self, findings: Iterable[Finding], *, prune: bool = False) -> None:
        """Make judged findings the debts; ``prune``: only forget those that are not found."""
        found = Counter(
            self._debt_of(finding)
            for finding in findings
            if (finding.level in _RATCHETED or finding.debt) and finding.code not in _NO_DEBTS
        )
        self.debts = self.debts & found if prune else found
        self.begin()

    def write(self) -> None:
        """Write the file; without debts there is none. Raises OSError."""
        if self.debts:
            write_file(self.path, map(_write_line, sorted(self.debts.elements())))
        else:
            self.path.unlink(missing_ok=True)

    def _debt_of(self, found: Finding) -> Debt:
        # A page that a plugin made has no file; its path is the same from every folder.
        path = name_path(found.path, self.folder) if Path(found.path).exists() else found.path
        return Debt(path, found.code, found.heading)


def _count(number: int) -> str:
    return f"{number} old finding{'' if number == 1 else 's'}"


def _write_line(debt: Debt) -> bytes:
    try:
        return f"{json.dumps(debt, ensure_ascii=False)}\n".encode()
    except UnicodeEncodeError:  # the name of a file need not be Unicode
        return f"{json.dumps(debt)}\n".encode()


def _read_line(line: str) -> Debt | None:
    try:
        values = json.loads(line.encode())
    except (ValueError, RecursionError):
        return None
    if isinstance(values, list) and len(values) == len(Debt._fields):
        return Debt(*values) if all(isinstance(value, str) for value in values) else None
    return None
