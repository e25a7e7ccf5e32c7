"""The pictures of the documentation show what there is today.

    python tests/integration/screens.py

makes them anew. Look at them before they are committed.
"""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING

import pytest
from browser import start_browser
from screens import FOLDER, ROOT, SCREENS, Screen, read_words, write_png

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser

# Fonts differ from computer to computer, so what is compared of two pictures is their shape and
# the colours of large areas: how far these are apart, of 255.
_FAR = 10
_DISTANCE = """async ([one, other]) => {
  const draw = async source => {
    const image = new Image();
    image.src = "data:image/png;base64," + source;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = canvas.height = 24;
    const context = canvas.getContext("2d");
    context.imageSmoothingQuality = "high";
    context.drawImage(image, 0, 0, 24, 24);
    return [image.width / image.height, context.getImageData(0, 0, 24, 24).data];
  };
  const [[shape, colours], [otherShape, otherColours]] = [await draw(one), await draw(other)];
  const apart = colours.reduce((sum, colour, n) => sum + Math.abs(colour - otherColours[n]), 0);
  return [Math.max(shape / otherShape, otherShape / shape), apart / (24 * 24 * 3)];
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with start_browser() as browser:
        yield browser


def tell_apart(browser: Browser, one: bytes, other: bytes) -> tuple[float, float]:
    page = browser.new_page()
    shape, distance = page.evaluate(
        _DISTANCE, [base64.b64encode(png).decode() for png in (one, other)]
    )
    page.close()
    return shape, distance


@pytest.mark.parametrize("name", SCREENS)
def test_a_picture_shows_what_there_is_today(name: str, browser: Browser, tmp_path: Path) -> None:
    kept, taken = FOLDER / f"{name}.png", tmp_path / "taken.png"
    screen = SCREENS[name](browser)
    write_png(taken, screen)
    assert read_words(kept) == read_words(taken) == screen.words
    shape, distance = tell_apart(browser, kept.read_bytes(), taken.read_bytes())
    assert shape < 1.1
    assert distance < _FAR


def test_another_picture_is_noticed(browser: Browser, tmp_path: Path) -> None:
    page = browser.new_page(viewport={"width": 300, "height": 200})
    pictures = {}
    for name, style in (("light", ""), ("dark", "background: #222"), ("box", "border: 60px solid")):
        page.set_content(f"<body style='margin: 0; height: 80px; {style}'>Words")
        write_png(tmp_path / name, Screen(page.screenshot(), name))
        pictures[name] = (tmp_path / name).read_bytes()
        assert read_words(tmp_path / name) == name
    page.close()
    assert tell_apart(browser, pictures["light"], pictures["light"]) == (1, 0)
    assert tell_apart(browser, pictures["light"], pictures["dark"])[1] > _FAR
    assert tell_apart(browser, pictures["light"], pictures["box"])[1] > _FAR


def test_pages_show_each_picture_and_say_what_is_on_it() -> None:
    shown = {
        match[2]
        for page in (ROOT / "docs").rglob("*.md")
        for match in re.finditer(
            r"!\[([^\]]{20,})\]\(\S*assets/screens/([^)]+)\)", page.read_text("utf-8")
        )
    }
    assert shown == {path.name for path in FOLDER.iterdir()} == {f"{name}.png" for name in SCREENS}
