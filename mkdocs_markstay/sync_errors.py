"""What a sync cannot do."""

from __future__ import annotations


class SyncError(Exception):
    """A sync that could not begin or go on. The message is for people."""
