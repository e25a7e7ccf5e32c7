"""Keeping standard output for what a command prints itself."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager, redirect_stdout
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def nothing_on_stdout() -> Iterator[None]:
    """Lead what plugins print, and programs that they start, to where errors are written."""
    stdout = sys.stdout
    if stdout is None or sys.stderr is None:  # closed
        yield
        return
    stdout.flush()
    saved = os.dup(1)
    os.dup2(2, 1)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        stdout.flush()  # some plugins keep it from when they were imported
        os.dup2(saved, 1)
        os.close(saved)
