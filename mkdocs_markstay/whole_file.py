"""Writing a file as a whole: whoever reads it meanwhile finds the old one or the new one.

Of a symbolic link the target is written. Pipes and devices are written to, not replaced.
"""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from os import PathLike
    from typing import IO


def write_file(path: str | PathLike[str], parts: Iterable[bytes]) -> None:
    """Write a file, readable for all, from parts of its content. Raises OSError."""
    with replace_file(path) as file:
        for part in parts:
            file.write(part)


@contextmanager
def replace_file(path: str | PathLike[str]) -> Iterator[IO[bytes]]:
    """Give a file to write to, which then, if nothing was raised, is the one at ``path``."""
    from tempfile import mkstemp  # noqa: PLC0415 (slow to import, and rarely needed)

    target = os.path.realpath(path)
    # A folder cannot be replaced either, and that fails.
    if os.path.exists(path) and not os.path.isfile(path):  # noqa: PTH110, PTH113
        with open(path, "wb") as file:  # noqa: PTH123
            yield file
        return
    folder, name = os.path.split(target)
    handle, temporary = mkstemp(dir=folder, prefix=f".{name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        os.chmod(temporary, 0o644)  # noqa: PTH101 (mkstemp makes it private)
        os.replace(temporary, target)  # noqa: PTH105
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)  # noqa: PTH108
        raise
