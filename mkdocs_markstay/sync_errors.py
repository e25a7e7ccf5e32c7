"""What a sync cannot do, in words for people."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class SyncError(Exception):
    """A sync that could not begin or go on. The message is for people."""


def hide_password(text: str) -> str:
    """Leave the password out of a URL, also one that stands behind its question mark."""
    text = re.sub(r"(://[^/?@:]*):[^/?]*@", r"\1:…@", text)
    return re.sub(r"([?&]password=)[^&\s]*", r"\1…", text)


@contextmanager
def told(what: str) -> Iterator[None]:
    """Turn any failure of foreign code into one that says what to do."""
    try:
        yield
    except SyncError:
        raise
    except (Exception, SystemExit) as error:
        # A model or store that ends the program would end it as if all was done.
        shown = f"{type(error).__name__}: {error}"
        raise SyncError(f"{what}: {shown}. What was done is kept: run the sync again") from error
