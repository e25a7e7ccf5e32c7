"""The command line."""

from __future__ import annotations

import click


@click.group()
def main() -> None:
    """Work with section ids and passage manifests."""
