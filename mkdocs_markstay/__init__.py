"""Section ids, passages and their identity for documentation sites."""

__version__ = "0.1.0"
