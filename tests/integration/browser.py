"""A real browser for tests, and a small server with the sites that it opens."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser

START = "/start.html"
"""A page outside of all sites, from which a reader comes."""

_START = b"<!DOCTYPE html><title>Start</title><a id=go href=''>Go</a>"
_NAMES = ("chromium", "chromium-browser", "google-chrome")
_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # Pages are shown without anything from elsewhere.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]


@contextmanager
def start_browser() -> Iterator[Browser]:
    """Start the Chromium of this computer. Skips a test, or fails it where all must be there."""
    program = next(filter(None, map(shutil.which, _NAMES)), None)
    try:
        from playwright.sync_api import sync_playwright  # noqa: PLC0415 (need not be installed)
    except ImportError:
        sync_playwright = None
    if program is None or sync_playwright is None:
        missing = "playwright" if program else "Chromium"
        if os.environ.get("MARKSTAY_ALL_NEIGHBOURS"):
            pytest.fail(f"not installed: {missing}")
        pytest.skip(f"not installed: {missing}")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=_ARGUMENTS)
        yield browser
        browser.close()


class Server:
    """Serves folders of this computer below paths, each with headers of its own."""

    def __init__(self) -> None:
        self.folders: dict[str, Path] = {}
        self.headers: dict[str, dict[str, str]] = {}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, self))
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def mount(self, path: str, folder: Path, headers: dict[str, str] | None = None) -> str:
        """Serve a folder below a path such as `/docs/`, and give its URL."""
        self.folders[path], self.headers[path] = folder, headers or {}
        return self.url + path

    def close(self) -> None:
        """Stop."""
        self._server.shutdown()
        self._server.server_close()


class _Handler(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, server: Server, *arguments: Any) -> None:
        self.sites = server
        super().__init__(*arguments)

    def do_GET(self) -> None:
        if self.path.startswith(START):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(_START)))
            self.end_headers()
            self.wfile.write(_START)
        else:
            super().do_GET()

    def mounted(self) -> str | None:
        # The longest path: a site may be below another one.
        paths = [path for path in self.sites.folders if self.path.startswith(path)]
        return max(paths, key=len, default=None)

    def translate_path(self, path: str) -> str:
        mounted = self.mounted()
        if mounted is None:
            return os.devnull + "/none"
        self.directory = str(self.sites.folders[mounted])
        return super().translate_path("/" + path.removeprefix(mounted))

    def end_headers(self) -> None:
        for name, value in self.sites.headers.get(self.mounted() or "", {}).items():
            self.send_header(name, value)
        self.send_header("Cache-Control", "no-cache")
        super().end_headers()

    def log_message(self, *_arguments: Any) -> None:
        """Say nothing."""
