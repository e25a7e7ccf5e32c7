"""Reading what is committed: git is only asked, and nothing is changed."""

from __future__ import annotations

import subprocess
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


class GitError(Exception):
    """Git could not answer. The message is what it said."""


def run_git(folder: Path, *command: str, target: IO[bytes] | None = None) -> str:
    """Run git in a folder and give what it prints; or write that into ``target``.

    Raises GitError.
    """
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
    return (done.stdout or b"").decode("utf-8", "surrogateescape").strip()


def read_committed(folder: Path, revision: str, name: str) -> str | None:
    """Read a file of a folder as it is in a revision, None if it is not there.

    Raises GitError.
    """
    if not revision or revision.startswith("-"):
        raise GitError(f"{revision!r} is no revision")
    if not run_git(folder, "ls-tree", "--name-only", revision, "--", f"./{name}"):
        return None
    return run_git(folder, "cat-file", "blob", f"{revision}:./{name}")
