"""The inspector of `mkdocs serve` in a real browser: what it shows is what the manifest says."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.request import urlopen

import pytest
import yaml
from axe import find_faults
from browser import start_browser

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser, Page
    from typing_extensions import Self

EXAMPLE = Path(__file__).parents[2] / "example_site"
ON = '{"on": true, "tab": "passages"}'
# Blocks that are longer than a passage, text in no block, and blocks with markers.
LONG = "\n\n".join(
    [
        "# Long blocks",
        "## A list <#list>",
        "\n".join(
            f"- Item {n} of {n * n} with some more words in it, to be long." for n in range(90)
        ),
        "## Code <#code>",
        "```python",
        "\n".join(f"value_{n} = compute({n}, {n + 1})  # line {n}" for n in range(120)),
        "```",
        "## One paragraph <#paragraph>",
        " ".join(f"Sentence number {n} says no more than that." for n in range(90)),
        "## Loose <#loose>",
        "<div>Some loose text <b>in bold</b> and more<p>A paragraph in it.</p>and loose again</div>",
        "## Marked <#marked>",
        "A block with a marker.\n<!-- stay:k7d2m4x9 -->",
        "Another block without one.",
    ]
)
# The letters in the bounds of each passage, as they are drawn.
LETTERS = """async () => {
  const ranges = await import(document.querySelector('script[src*="inspector.js"]').src
    .replace("inspector.js", "inspector-ranges.js"));
  const base = document.querySelector('script[src*="inspector.js"]').src;
  const url = new URL("page.json", base);
  url.searchParams.set("page", location.pathname.slice(new URL("../../../", base).pathname.length));
  const page = await (await fetch(url)).json();
  const letters = text => (text.match(/[\\p{L}\\p{N}]/gu) || []).join("");
  return ranges.findPieces(page.passages).map((pieces, number) => ({
    chunk_id: page.passages[number].chunk_id,
    text: page.passages[number].text,
    within: pieces.map(ranges.lettersIn),
    split: pieces.some(piece => piece.of > 1),
  }));
}"""
# The headings with words that the name of a passage covers.
COVERED = """() => {
  const { shadowRoot } = document.querySelector("#markstay-inspector");
  const labels = [...shadowRoot.querySelectorAll(".label")].map(each => each.getBoundingClientRect());
  return [...document.querySelectorAll("[data-markstay-begin] ~ h2")].filter(heading => {
    const range = document.createRange();
    range.selectNodeContents(heading.firstChild);
    // Without the room below the letters.
    const end = range.getBoundingClientRect().bottom - 6;
    return labels.some(each => each.top < end && each.bottom > end);
  }).map(heading => heading.textContent);
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with start_browser() as started:
        yield started


class Served(NamedTuple):
    """A site that `mkdocs serve` shows: its URL, its folder, and the lines it has logged."""

    url: str
    folder: Path
    log: Path

    @property
    def manifest(self) -> dict[str, Any]:
        """The manifest of the preview."""
        with urlopen(f"{self.url}passages.json") as answer:  # noqa: S310 (this computer)
            manifest: dict[str, Any] = json.load(answer)
            return manifest

    def edit(self, name: str, change: Callable[[str], str]) -> None:
        """Change a page, and wait until the site is built again."""
        before = self.log.read_text("utf-8").count("Reloading browsers")
        path = self.folder / "docs" / name
        path.write_text(change(path.read_text("utf-8")), "utf-8")
        wait(lambda: self.log.read_text("utf-8").count("Reloading browsers") > before)


def wait(done: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not done():
        assert time.monotonic() < end
        time.sleep(0.05)


def find_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@contextmanager
def serve(folder: Path, *arguments: str) -> Iterator[Served]:
    """Serve the site in a folder, at a port of its own."""
    config = (folder / "mkdocs.yml").read_text("utf-8")
    found = re.search(r"^site_url: https?://[^/]+(/.*)$", config, re.MULTILINE)
    address, log = f"127.0.0.1:{find_port()}", folder / "serve.log"
    with log.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "mkdocs", "serve", "-a", address, *arguments],
            cwd=folder,
            env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
            stdout=file,
            stderr=subprocess.STDOUT,
        )
        try:
            wait(lambda: "Serving on" in log.read_text("utf-8") or process.poll() is not None)
            assert process.poll() is None, log.read_text("utf-8")
            yield Served(f"http://{address}{found[1] if found else '/'}", folder, log)
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(20)


def copy_example(folder: Path, **config: Any) -> Path:
    """Copy the example site, with the first values of its configuration changed."""
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("site"))
    path = folder / "mkdocs.yml"
    text = path.read_text("utf-8")
    for key, value in config.items():
        text = re.sub(rf"^{key}:.*\n(?: .*\n)*", "", text, flags=re.MULTILINE)
        text += yaml.safe_dump({key: value})
    path.write_text(text, "utf-8")
    return folder


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = copy_example(tmp_path_factory.mktemp("example") / "site")
    (folder / "docs/long.md").write_text(LONG, "utf-8")
    with serve(folder) as started:
        # What was published last is what is there now.
        (folder / "site").mkdir()
        (folder / "site/passages.json").write_text(json.dumps(started.manifest), "utf-8")
        yield started


class Watched:
    """A page of the browser, and all that goes wrong in it."""

    def __init__(
        self, browser: Browser, served: Served, width: int = 1280, scheme: Any = "light"
    ) -> None:
        size: Any = {"width": width, "height": 800}
        self.context = browser.new_context(viewport=size, color_scheme=scheme)
        self.page = self.context.new_page()
        self.served = served
        self.wrong: list[str] = []
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("console", self.note)
        self.page.on("request", lambda request: self.note_request(request.url))

    def note(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.wrong.append(message.text)

    def note_request(self, url: str) -> None:
        origin = "/".join(self.served.url.split("/")[:3])
        if not url.startswith((origin, "data:", "blob:")):
            self.wrong.append(url)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_rest: object) -> None:
        self.context.close()
        if kind is None:
            assert self.wrong == []

    def open(self, path: str, *, on: bool = True) -> Page:
        self.page.goto(self.served.url + path)
        if on:
            self.page.locator("#markstay-inspector .toggle").click()
            self.page.locator("#markstay-inspector h3").first.wait_for()
        return self.page


def letters(text: str) -> str:
    """Give what a passage and the page both have, without the signs that only a passage has."""
    text = re.sub(r"^([ >]*)[0-9]+\. ", r"\1", text, flags=re.MULTILINE)
    text = re.sub(r"^([ >]*)- \[[ x]\] ", r"\1", text, flags=re.MULTILINE)
    return "".join(filter(str.isalnum, text))


def contains(whole: str, wanted: str) -> bool:
    """Tell whether letters stand in order in others, which have marks of annotations, too."""
    rest = iter(whole)
    return len(whole) < 1.05 * len(wanted) + 40 and all(letter in rest for letter in wanted)


def test_bounds_and_ids_are_those_of_the_manifest(browser: Browser, served: Served) -> None:
    manifest = served.manifest
    published: dict[str, list[dict[str, Any]]] = {}
    for passage in manifest["passages"]:
        published.setdefault(passage["referent"].partition("#")[0], []).append(passage)
    split = 0
    with browser.new_context() as context:
        shown = context.new_page()
        # As it is served: the theme's script moves the notes of annotated code into the code.
        shown.route("**/assets/javascripts/**", lambda route: route.abort())
        for page in manifest["pages"]:
            passages = published[page["page_id"]]
            shown.goto(served.url + page["url"])
            found = shown.evaluate(LETTERS)
            assert [each["chunk_id"] for each in found] == [p["chunk_id"] for p in passages]
            assert [each["text"] for each in found] == [p["text"] for p in passages]
            for each in found:
                assert all(each["within"])
                assert contains("".join(each["within"]), letters(each["text"]))
            split += sum(each["split"] for each in found)
    assert split > 5


def test_labels_show_what_a_passage_is(browser: Browser, served: Served) -> None:
    passages = [
        passage
        for passage in served.manifest["passages"]
        if passage["referent"].partition("#")[0] == "siting"
    ]
    with Watched(browser, served) as watched:
        page = watched.open("siting/")
        shown = page.locator("#markstay-inspector .label").all_inner_texts()
        assert len(shown) == len(passages)
        for text, passage in zip(shown, passages, strict=True):
            assert f"pos {passage['position']}" in text
            assert ", ".join(passage["kinds"]) in text
            assert f"{len(passage['text'])} chars" in text
        # What is drawn is around the text: the first letters are in it.
        inside = page.evaluate(
            """() => {
              const host = document.querySelector("#markstay-inspector").shadowRoot;
              return [...host.querySelectorAll(".box")].every(box => {
                const outer = box.getBoundingClientRect();
                return outer.width > 100 && outer.height > 10;
              });
            }"""
        )
        assert inside
        assert page.locator("[data-markstay-furniture]").count() > 0
        # From the page to the panel, and back.
        page.locator("#markstay-inspector .label").nth(1).click()
        assert page.locator("#markstay-inspector .item.active").count() == 1
        page.locator("#markstay-inspector .item").last.locator(".name").click()
        assert page.locator("#markstay-inspector .box.active").count() == 1


def test_a_chunk_id_is_copied_by_keyboard(browser: Browser, served: Served) -> None:
    with Watched(browser, served) as watched:
        watched.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page = watched.open("siting/", on=False)
        toggle = page.locator("#markstay-inspector .toggle")
        toggle.focus()
        page.keyboard.press("Enter")
        assert toggle.get_attribute("aria-pressed") == "true"
        copy = page.locator("#markstay-inspector .copy").first
        copy.focus()
        page.keyboard.press("Enter")
        page.locator("#markstay-inspector .copy.done").wait_for()
        assert "Copied" in copy.inner_text()
        first = page.evaluate(LETTERS)[0]["chunk_id"]
        assert page.evaluate("navigator.clipboard.readText()") == first
        page.keyboard.press("Escape")
        assert toggle.get_attribute("aria-pressed") == "false"
        assert page.locator("#markstay-inspector .box").count() == 0


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (360, "dark")])
def test_anyone_can_use_it(browser: Browser, served: Served, width: int, scheme: str) -> None:
    with Watched(browser, served, width, scheme) as watched:
        page = watched.open("siting/", on=False)
        if scheme == "dark":
            page.evaluate("document.body.dataset.mdColorScheme = 'slate'")
        before = find_faults(page)
        assert find_faults(page, "#markstay-inspector") == []
        page.locator("#markstay-inspector .toggle").click()
        for tab in ("passages", "changes", "findings"):
            page.locator(f"#markstay-inspector #tab-{tab}").click()
            assert find_faults(page, "#markstay-inspector") == []
        assert [fault[:2] for fault in find_faults(page)] == [fault[:2] for fault in before]
        host = page.locator("#markstay-inspector")
        assert (host.get_attribute("data-dark") is not None) == (scheme == "dark")
        # Nothing is wider than the window.
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        panel = page.locator("#markstay-inspector .panel").bounding_box()
        assert panel is not None
        assert panel["x"] >= 0
        assert panel["x"] + panel["width"] <= width


def test_an_edit_is_shown_within_two_seconds_of_the_rebuild(
    browser: Browser, served: Served
) -> None:
    page_file = served.folder / "docs/siting.md"
    before = page_file.read_text("utf-8")
    with Watched(browser, served) as watched:
        page = watched.open("siting/")
        page.locator("#markstay-inspector #tab-changes").click()
        page.get_by_text("Nothing has changed").wait_for()
        served.edit("siting.md", lambda text: text.replace("A good instrument", "A fine device"))
        # The script of MkDocs loads the page again; the inspector is still on, with its tab.
        item = page.locator("#markstay-inspector .item", has_text="edited")
        item.wait_for(timeout=2000)
        assert item.locator("del").all_inner_texts() == ["good instrument"]
        assert item.locator("ins").all_inner_texts() == ["fine device"]
        assert page.locator("#markstay-inspector .label .badge.edited").count() == 1
        # A section that loses its id breaks an address.
        served.edit("siting.md", lambda text: text.replace("<#heights>", "<#other-heights>"))
        page.locator("#markstay-inspector .badge.broken").first.wait_for(timeout=2000)
        page.locator("#markstay-inspector #tab-findings").click()
        finding = page.locator("#markstay-inspector .item", has_text="lost-referent")
        assert "siting#heights" in finding.first.inner_text()
        served.edit("siting.md", lambda _: before)
        page.locator("#markstay-inspector #tab-changes").click()
        page.get_by_text("Nothing has changed").wait_for(timeout=2000)


def test_nothing_of_the_theme_is_covered(browser: Browser, served: Served) -> None:
    with Watched(browser, served) as watched:
        page = watched.open("long/")
        # Bounds go below the header, and what is in front there is the header.
        page.evaluate("scrollTo(0, 400)")
        page.wait_for_timeout(200)
        box = page.locator("#markstay-inspector .box").first.bounding_box()
        assert box is not None
        assert box["y"] < 20
        over = "([x, y]) => document.elementsFromPoint(x, y)[0].closest('.md-header') !== null"
        page.evaluate(
            "document.querySelector('#markstay-inspector').shadowRoot.querySelector('.box')"
            ".style.pointerEvents = 'auto'"
        )
        assert page.evaluate(over, [box["x"] + 1, 20])
        # The folded panel leaves the search of the theme alone.
        page.locator("#markstay-inspector .icon").first.click()
        page.locator(".md-search__input").click(timeout=2000)


@pytest.mark.parametrize("size", [(1280, 800), (740, 360)])
def test_targets_and_room_of_the_panel(
    browser: Browser, served: Served, size: tuple[int, int]
) -> None:
    with Watched(browser, served, size[0]) as watched:
        watched.page.set_viewport_size({"width": size[0], "height": size[1]})
        page = watched.open("siting/")
        for button in page.locator("#markstay-inspector .item button").all():
            box = button.bounding_box()
            assert box is not None
            assert min(box["width"], box["height"]) >= 24
        body = page.locator("#markstay-inspector .body").bounding_box()
        assert body is not None
        assert body["height"] > 150


THEMES: dict[str, Any] = {
    "instant": {"name": "material", "font": False, "features": ["navigation.instant"]},
    "mkdocs": {"name": "mkdocs", "highlightjs": False},
    "readthedocs": {"name": "readthedocs", "highlightjs": False},
}


def test_odd_addresses_are_no_error_and_what_is_cited_is_not_covered(
    tmp_path: Path, browser: Browser
) -> None:
    theme = {"name": "material", "font": False}
    folder = copy_example(tmp_path / "example", theme=theme)
    config = folder / "mkdocs.yml"
    config.write_text(
        config.read_text("utf-8").replace("- markstay:", "- markstay:\n      cite: true")
    )
    with serve(folder) as served, Watched(browser, served) as watched:
        page = watched.open("siting/%E0")  # which the server of MkDocs takes for siting/
        page.get_by_text("It is no page of the documentation.").wait_for()
        page = watched.open("siting/", on=False)
        page.locator("#markstay-inspector .label").first.wait_for()
        page.locator("h2 .markstay-cite").first.focus()
        page.keyboard.press("Enter")
        on_top = """() => {
          const menu = document.querySelector(".markstay-menu").getBoundingClientRect();
          const spots = [...Array(40).keys()].map(n => menu.top + 3 + n * (menu.height - 6) / 39);
          return spots.every(y => document.elementFromPoint(menu.left + 9, y).closest(".markstay-menu"));
        }"""
        page.locator(".markstay-menu").wait_for()
        assert page.evaluate(on_top)


@pytest.mark.parametrize("theme", THEMES)
def test_themes_subpaths_and_plain_files(tmp_path: Path, browser: Browser, theme: str) -> None:
    folder = copy_example(
        tmp_path / "example",
        theme=THEMES[theme],
        site_url="https://docs.example.org/guide/v1/",
        use_directory_urls=theme != "mkdocs",
    )
    with serve(folder) as served, Watched(browser, served) as watched:
        first, second = (
            ("siting/", "glossary/") if theme != "mkdocs" else ("siting.html", "glossary.html")
        )
        page = watched.open(first)
        labels = page.locator("#markstay-inspector .label")
        count = labels.count()
        assert count == 5
        assert page.evaluate(COVERED) == []
        page.evaluate("window.stayed = 1")
        # A link of the page itself: of the theme's navigation there may be none in sight.
        page.evaluate(f"document.querySelector('a[href*=\"{second.rstrip('/')}\"]').click()")
        page.wait_for_url(f"**/{second}")
        page.locator("#markstay-inspector h3", has_text="Glossary").wait_for()
        assert page.evaluate("window.stayed") == (1 if theme == "instant" else None)
        glossary = [p for p in served.manifest["passages"] if p["referent"].startswith("glossary")]
        shown = page.evaluate(LETTERS)
        assert [each["chunk_id"] for each in shown] == [p["chunk_id"] for p in glossary]
        assert page.locator("#markstay-inspector .item").count() == len(glossary)
        page.locator("#markstay-inspector #tab-changes").click()
        page.get_by_text(
            "Run mkdocs build, or name a manifest in the option baseline_manifest."
        ).wait_for()
        assert find_faults(page, "#markstay-inspector") == []
