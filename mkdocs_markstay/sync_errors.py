"""What a sync cannot do."""

from __future__ import annotations

import re


class SyncError(Exception):
    """A sync that could not begin or go on. The message is for people."""


def hide_password(text: str) -> str:
    """Leave the password out of a URL, also one that stands behind its question mark."""
    text = re.sub(r"(://[^/?@:]*):[^/?]*@", r"\1:…@", text)
    return re.sub(r"([?&]password=)[^&\s]*", r"\1…", text)
