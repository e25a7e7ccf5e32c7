"""The documentation in a browser: nothing sticks out, fails or is fetched from elsewhere."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from axe import find_faults
from browser import Server, start_browser

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

ROOT = Path(__file__).parents[2]
# What is wider than the page, and in no box that can be scrolled.
_WIDE = """() => [...document.querySelectorAll("article *")].filter(element => {
  if (element.getBoundingClientRect().right <= innerWidth + 1) return false;
  for (let box = element; box !== document.body; box = box.parentElement)
    if (getComputedStyle(box).overflowX !== "visible") return false;
  return true;
}).map(element => element.outerHTML.slice(0, 120))"""
_BELOW = """() => [...document.querySelectorAll(".md-button")]
  .filter(element => element.getBoundingClientRect().bottom > innerHeight).length"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("docs")
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "-q", "--strict", "-d", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        check=True,
    )
    return folder


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with start_browser() as found:
        yield found


@pytest.fixture(scope="module")
def url(site: Path) -> Iterator[str]:
    server = Server()
    yield server.mount("/docs/", site)
    server.close()


def list_foreign(asked: str, url: str) -> list[str]:
    """Give the URL that was asked for, if it is not of the site."""
    return [] if asked.startswith((url, "data:")) else [asked]


@pytest.mark.parametrize("width", [360, 1280])
def test_pages(site: Path, browser: Browser, url: str, width: int) -> None:
    page = browser.new_page(viewport={"width": width, "height": 800})
    told: list[str] = []
    page.on("console", lambda message: told.append(message.text))
    page.on("pageerror", lambda error: told.append(str(error)))
    page.on("request", lambda asked: told.extend(list_foreign(asked.url, url)))
    for path in sorted((ROOT / "docs").rglob("*.md")):
        place = path.relative_to(ROOT / "docs").with_suffix("")
        folder = place.parent if place.name == "index" else place
        name = "" if folder == Path() else f"{folder.as_posix()}/"
        assert (site / name / "index.html").is_file()
        page.goto(url + name)
        assert (name, page.evaluate(_WIDE), told) == (name, [], [])
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_landing_page(browser: Browser, url: str, width: int, scheme: str) -> None:
    page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    page.goto(url)
    assert find_faults(page, ".lead", ".sides", ".actions", ".four") == []
    # The problem, the answer and where to go next are seen at once.
    assert width == 360 or page.evaluate(_BELOW) == 0
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_and_links_can_be_told_apart(browser: Browser, url: str, scheme: str) -> None:
    page = browser.new_page(color_scheme=scheme)
    for path in ("", "tutorial/", "cli/", "stores/", "api/checks/", "comparison/"):
        page.goto(url + path)
        assert (path, find_faults(page, ".md-content")) == (path, [])
    page.close()
