"""Reading what is committed: git is only asked, and nothing is changed."""

from __future__ import annotations

import os
import subprocess
from typing import IO, TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


class GitError(Exception):
    """Git could not answer. The message is what it said."""


def run_git(folder: Path, *command: str, target: IO[bytes] | None = None) -> str:
    """Run git in a folder and give what it prints; or write that into ``target``.

    Raises GitError.
    """
    printed = _run(folder, command, target)
    return printed.decode("utf-8", "surrogateescape").strip()


def _run(folder: Path, command: Sequence[str], target: IO[bytes] | None = None) -> bytes:
    try:
        done = subprocess.run(  # noqa: S603 (no shell; the caller sees to options)
            ["git", *command],  # noqa: S607 (whichever git the user has)
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=target or subprocess.PIPE,
            stderr=subprocess.PIPE,
            check=False,
        )
    except OSError as error:
        raise GitError(f"git: {error.strerror}") from None
    if done.returncode:
        raise GitError(done.stderr.decode("utf-8", "replace").strip().split("\n")[0])
    return done.stdout or b""


def read_committed(folder: Path, revision: str, name: str) -> str | None:
    """Read a file of a folder as it is in a revision, None if it is not there.

    Raises GitError.
    """
    _check_revision(revision)
    if not run_git(folder, "ls-tree", "--name-only", revision, "--", f"./{name}"):
        return None
    return run_git(folder, "cat-file", "blob", f"{revision}:./{name}")


class Change(NamedTuple):
    """A file that differs: how, as git says it (A, C, D, M, R, ...), its old and its new name."""

    status: str
    old: str
    new: str


def list_changes(folder: Path, revision: str) -> list[Change]:
    """List the files of a folder that are others than in a revision, by names in the folder.

    Files that are not committed are compared, too, but for those that git ignores. Raises
    GitError.
    """
    _check_revision(revision)
    # What is wrong with a revision is said shorter here.
    _run(folder, ["ls-tree", revision, "--", "."])
    options = ["--relative", "--name-status", "-z", "--find-renames"]
    printed = _run(folder, ["diff", *options, revision, "--", "."])
    changes = list(_read_changes(iter(printed.split(b"\0"))))
    known = {change.new for change in changes}
    others = _run(folder, ["ls-files", "--others", "--exclude-standard", "-z", "--", "."])
    names = map(os.fsdecode, filter(None, others.split(b"\0")))
    return changes + [Change("A", name, name) for name in names if name not in known]


def _read_changes(fields: Iterator[bytes]) -> Iterator[Change]:
    for status in fields:
        if not status:
            return
        kind, old = os.fsdecode(status[:1]), os.fsdecode(next(fields))
        yield Change(kind, old, os.fsdecode(next(fields)) if kind in "RC" else old)


def read_blob(folder: Path, revision: str, name: str) -> bytes:
    """Read a file of a folder as it is in a revision, byte by byte. Raises GitError."""
    _check_revision(revision)
    return _run(folder, ["cat-file", "blob", f"{revision}:./{name}"])


def _check_revision(revision: str) -> None:
    if not revision or revision.startswith("-"):
        raise GitError(f"{revision!r} is no revision")
