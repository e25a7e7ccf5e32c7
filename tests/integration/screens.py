"""Makes the pictures of the documentation from the real thing.

    python tests/integration/screens.py

writes `docs/assets/screens/*.png` anew. Each has in it, as metadata, the words that it shows,
so that a test can tell when these are other ones today (`test_screens.py`).
"""

from __future__ import annotations

import fcntl
import os
import re
import struct
import subprocess
import sys
import tempfile
import termios
import zlib
from contextlib import closing, suppress
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from browser import Server, start_browser
from test_inspected_pages import copy_example, serve

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "example_site"
FOLDER = ROOT / "docs" / "assets" / "screens"

_KEY = b"Description"
_WIDTH = 100
_COLOURS = {"31": "#ff7b72", "32": "#7ee787", "33": "#e3b341", "34": "#79c0ff", "1": "#f0f6fc"}
_TERMINAL = """<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>Terminal</title><style>
body {{ margin: 0; display: inline-block; background: #0d1117; color: #c9d1d9; }}
pre {{ margin: 0; padding: 20px 24px; width: 100ch; white-space: pre-wrap; overflow-wrap: anywhere; font: 14px/1.5 "DejaVu Sans Mono", monospace; }}
pre b {{ color: #f0f6fc; }}
</style><pre>{}</pre></html>"""


class Screen(NamedTuple):
    """A picture as PNG, and the words in it."""

    png: bytes
    words: str


def tidy(text: str) -> str:
    """Put one space where there is white space."""
    return " ".join(text.split())


# -- findings in a terminal

_PAGE = """\
# Install

## Requirements

You need Python 3.10 or later.

## From a package <#package>

Run the installer.

## From source <#package>

Clone the repository.
"""


def show_findings(browser: Browser) -> Screen:
    """Show what a build says of a page without ids."""
    with tempfile.TemporaryDirectory() as home:
        site = Path(home)
        (site / "docs" / "guide").mkdir(parents=True)
        (site / "mkdocs.yml").write_text(
            "site_name: Handbook\nplugins: [search, markstay]\n", encoding="utf-8"
        )
        (site / "docs" / "index.md").write_text("# Handbook\n", encoding="utf-8")
        (site / "docs" / "guide" / "install.md").write_text(_PAGE, encoding="utf-8")
        command = "mkdocs build -q"
        printed = _run_in_terminal(site, command)
    page = browser.new_page(viewport={"width": 1000, "height": 400}, device_scale_factor=2)
    page.set_content(_TERMINAL.format(f"<b>$ {command}</b>\n" + _paint(printed)))
    body = page.locator("body")
    return Screen(body.screenshot(), tidy(body.inner_text()))


def _run_in_terminal(folder: Path, command: str) -> str:
    """Run a module of Python in a terminal, which has colours, and give what it prints."""
    terminal, inner = os.openpty()
    fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 40, _WIDTH, 0, 0))
    with subprocess.Popen(
        [sys.executable, "-m", *command.split()],
        cwd=folder,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1", "TERM": "xterm-256color"},
        stdin=inner,
        stdout=inner,
        stderr=inner,
    ):
        os.close(inner)
        printed = b""
        with suppress(OSError):  # at the end of it all
            while part := os.read(terminal, 4096):
                printed += part
    os.close(terminal)
    return printed.decode().replace("\r\n", "\n").strip()


def _paint(text: str) -> str:
    """Write the colours of a terminal as HTML."""

    def paint(match: re.Match[str]) -> str:
        colour = next((_COLOURS[n] for n in match[1].split(";") if n in _COLOURS), "inherit")
        return f'<span style="color: {colour}">{match[2]}</span>'

    return re.sub(r"\x1b\[([\d;]+)m(.*?)\x1b\[0m", paint, escape(text), flags=re.DOTALL)


# -- what readers, writers and reviewers see


def show_cite(browser: Browser) -> Screen:
    """Show the menu beside a section of the example site."""
    with tempfile.TemporaryDirectory() as home, closing(Server()) as server:
        site = Path(home, "site")
        _run(EXAMPLE, "mkdocs", "build", "-q", "-d", str(site))
        page = browser.new_page(viewport={"width": 1000, "height": 560}, device_scale_factor=2)
        page.context.grant_permissions(["clipboard-write"])
        page.goto(f"{server.mount('/', site)}siting/#height-safety")
        page.locator("#height-safety .markstay-cite").click()
        menu = page.locator(".markstay-menu")
        menu.locator(".markstay-done").wait_for()
        page.mouse.move(0, 0)
        return Screen(page.screenshot(), tidy(menu.inner_text()))


def show_inspector(browser: Browser) -> Screen:
    """Show what an edit of a page does, in the preview of the example site."""
    with tempfile.TemporaryDirectory() as home:
        folder = copy_example(Path(home, "guide"))
        _run(folder, "mkdocs", "build", "-q")
        with serve(folder) as served:
            page = browser.new_page(
                viewport={"width": 1280, "height": 720},
                device_scale_factor=2,
                reduced_motion="reduce",
            )
            page.goto(f"{served.url}siting/")
            page.locator("#markstay-inspector .toggle").click()
            page.locator("#markstay-inspector #tab-changes").click()
            served.edit("siting.md", _edit)
            panel = page.locator("#markstay-inspector .panel")
            panel.locator("ins").first.wait_for()
            panel.locator(".item .name").first.click()
            page.mouse.move(0, 0)
            words = re.sub(r"written .* ago", "", panel.inner_text())
            return Screen(page.screenshot(), tidy(words))


def show_report(browser: Browser) -> Screen:
    """Show the report of a change to the example site."""
    with tempfile.TemporaryDirectory() as home:
        folder = copy_example(Path(home, "guide"))
        _run(folder, "mkdocs", "build", "-q", "-d", "old")
        edits: dict[str, Callable[[str], str]] = {
            "docs/siting.md": _edit,
            "docs/instruments/wind.md": _edit_more,
            # An address is lost, and it is published all the same.
            "mkdocs.yml": lambda text: text.replace("cite: true", "permanence: warn"),
        }
        for name, edit in edits.items():
            path = folder / name
            path.write_text(edit(path.read_text("utf-8")), "utf-8")
        _run(folder, "mkdocs", "build", "-q", "-d", "new")
        _run(
            folder,
            "mkdocs_markstay",
            "diff",
            "old",
            "new",
            "-q",
            "--format",
            "html",
            "-o",
            "report.html",
        )
        page = browser.new_page(viewport={"width": 1180, "height": 1160}, device_scale_factor=2)
        page.goto((folder / "report.html").as_uri())
        page.locator("ins").first.wait_for()
        return Screen(page.screenshot(), tidy(page.locator("body").inner_text()))


def _edit(text: str) -> str:
    return text.replace("as high as you safely can", "at 10 m if you safely can").replace(
        "Check them every autumn.", "Check them every spring and after each storm."
    )


def _edit_more(text: str) -> str:
    text = text.replace("## Averages and gusts", "## The mean wind, and gusts")
    return text.replace("{#direction}", "{#wind-direction}")


def _run(folder: Path, *command: str) -> None:
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    subprocess.run([sys.executable, "-m", *command], cwd=folder, env=environment, check=True)


SCREENS: dict[str, Callable[[Browser], Screen]] = {
    "cite": show_cite,
    "findings": show_findings,
    "inspector": show_inspector,
    "report": show_report,
}


# -- files


def write_png(path: Path, screen: Screen) -> None:
    """Write a picture with its words, which follow the header."""
    data = b"iTXt" + _KEY + b"\0\1\0\0\0" + zlib.compress(screen.words.encode())
    chunk = struct.pack(">I", len(data) - 4) + data + struct.pack(">I", zlib.crc32(data))
    end = 8 + 25
    path.write_bytes(screen.png[:end] + chunk + screen.png[end:])


def read_words(path: Path) -> str:
    """Read the words that a picture of `write_png` shows."""
    for kind, data in _chunks(path.read_bytes()):
        if kind == b"iTXt" and data.startswith(_KEY):
            return zlib.decompress(data[len(_KEY) + 5 :]).decode()
    return ""


def _chunks(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    place = 8
    while place < len(png):
        (length,) = struct.unpack(">I", png[place : place + 4])
        yield png[place + 4 : place + 8], png[place + 8 : place + 8 + length]
        place += 12 + length


def main() -> None:
    """Make the pictures that are named, or all."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with start_browser() as browser:
        for name in sys.argv[1:] or SCREENS:
            write_png(FOLDER / f"{name}.png", SCREENS[name](browser))


if __name__ == "__main__":
    main()
