"""Render the Markdown of one MkDocs site in this process, and stop before the first template.

What a site's own rendering costs: the configuration is read, its plugins run, every page
is rendered, and nothing is written. `check.py` compares the command `check` with it.
"""

from __future__ import annotations

import logging
import sys
import tempfile
from contextlib import suppress
from typing import Any, NoReturn

from mkdocs.commands.build import build
from mkdocs.config import load_config
from mkdocs.plugins import BasePlugin, event_priority


class _RenderedError(BaseException):
    """All pages are rendered. No error, so that no plugin takes it for one."""


class _Stop(BasePlugin):
    @event_priority(10_000)
    def on_env(self, env: Any, **_: Any) -> NoReturn:
        """Stop here: this is the first event after the last page."""
        del env
        raise _RenderedError


def main() -> None:
    """Read the argument, the configuration file; render."""
    logging.getLogger("mkdocs").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory() as site_dir:
        config = load_config(sys.argv[1], site_dir=site_dir)
        config.plugins["stop"] = _Stop()
        config.plugins.on_startup(command="build", dirty=False)
        with suppress(_RenderedError):
            build(config)
        config.plugins.on_shutdown()


if __name__ == "__main__":
    main()
