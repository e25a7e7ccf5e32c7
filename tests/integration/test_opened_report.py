"""The report of a comparison in a real browser, as somebody opens it from a folder."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from axe import find_faults
from browser import start_browser
from report_builder import HOSTILE, make
from site_builder import run_markstay
from test_diff_command import write

from mkdocs_markstay.diff import Change, Comparison, Place
from mkdocs_markstay.diff_entries import Report
from mkdocs_markstay.diff_formats import write_report
from mkdocs_markstay.diff_texts import Texts

try:
    from playwright.sync_api import expect
except ImportError:
    expect = None

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from manifest_builder import Site
    from playwright.sync_api import Browser, Page

LEAD = "This is a sentence that both of the two have, and which is there to be left alone. "
LONG = "Word after word, sentence after sentence. " * 25
OLD: Site = {
    "guide=The guide": {
        "": ["Lead."],
        "install=Install": [
            f"{LEAD * 8}You need Python 3.9 or later. {LEAD * 8}",
            "Run it.",
            "End.",
        ],
        "old": ["The old way."],
        "gone": ["Nothing says where to."],
    },
    "notes": {"": ["Notes."], "x": ["X."]},
    "long": {"": [LONG]},
}
NEW: Site = {
    "guide=The guide": {
        "": ["Lead."],
        "install=Install it": [
            f"{LEAD * 8}You need Python 3.10 or later. {LEAD * 8}",
            "End.",
            "Run it.",
        ],
        "set": ["The old way."],
    },
    "more": {"": ["More."]},
    "long": {"": [LONG.replace("Word", "Page")]},
}
REDIRECT = {"from": "guide#old", "to": "guide#set", "url": "guide/#old"}
RETIRED = {"referent": "notes", "reason": "Nobody read them.", "url": "notes/"}
# What opens, and how long it took, in milliseconds from the beginning of the navigation.
TIMES = """() => ({
  paint: performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? Infinity,
  usable: performance.getEntriesByName("usable")[0].startTime,
  elements: document.getElementsByTagName("*").length,
})"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with start_browser() as started:
        yield started


class Reader:
    """Opens pages, and notes what they do that they must not."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._contexts: list[Any] = []
        self.wrong: list[str] = []

    def open(self, path: Path, fragment: str = "", **options: Any) -> Page:
        context = self._browser.new_context(
            **{"viewport": {"width": 1280, "height": 900}, **options}
        )
        self._contexts.append(context)
        page = context.new_page()
        url = path.as_uri()
        page.on("console", lambda message: self.wrong.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: self.wrong.append(f"error: {error}"))
        page.on("dialog", lambda dialog: self.wrong.append(f"dialog: {dialog.message}"))
        page.on("request", lambda request: self._note(request.url, url))
        page.goto(url + fragment)
        return page

    def _note(self, requested: str, opened: str) -> None:
        if requested.partition("#")[0] != opened:
            self.wrong.append(f"request: {requested}")

    def close(self) -> None:
        for context in self._contexts:
            context.close()


@pytest.fixture
def reader(browser: Browser) -> Iterator[Reader]:
    found = Reader(browser)
    yield found
    found.close()
    assert found.wrong == []


def write_html(folder: Path, old: Site, new: Site, **options: Any) -> Path:
    write(folder, "old", old)
    write(folder, "new", new, **options)
    ran = run_markstay(folder, "diff", "old", "new", "--format", "html", "-o", "report.html")
    assert (ran.code, ran.out) == (0, "")
    return folder / "report.html"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    return write_html(folder, OLD, NEW, redirects=[REDIRECT], retired=[RETIRED])


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a report of 10,000 changes of 1,000 pages, with their texts."""
    old, new = Texts(), Texts()
    changes = []
    for number in range(10_000):
        referent = f"part/page-{number // 10:04}#section"
        url = f"https://docs.example.org/{referent.replace('#', '/#')}"
        position = number % 10
        place = Place(referent, "en", "The section", url, "page.md", 1, position, str(number))
        old.passages[referent, "en", position] = text = f"This is passage {number}. {LEAD * 5}"
        new.passages[referent, "en", position] = text.replace("there", f"here {number}")
        if position:
            changes.append(Change("edited", "passage", place, place))
        else:
            changes.append(Change("removed", "passage", place, None))
    comparison = Comparison("old", "new", (), False, (), (10_000, 9_000), "en", changes)
    path = tmp_path_factory.mktemp("large") / "report.html"
    with path.open("w", encoding="utf-8") as file:
        file.writelines(write_report(Report(comparison, read=lambda _: (old, new)), "html", "1"))
    return path


def data_of(page: Page) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(page.locator("#data").text_content() or "")
    return data


def status(page: Page) -> str:
    text: str = page.locator("[role=status]").inner_text()
    return text


def test_ten_thousand_changes_open_at_once(large: Path, reader: Reader) -> None:
    # The best of some times: others may be at work, too.
    best: dict[str, float] = {}
    for _ in range(3):
        page = reader.open(large)
        page.wait_for_timeout(300)
        times = page.evaluate(TIMES)
        best = {name: min(time, best.get(name, time)) for name, time in times.items()}
    assert len(data_of(page)["changes"]) == 10_000
    assert best["paint"] < 2_000
    assert best["usable"] < 2_000
    assert best["elements"] < 20_000
    # What comes near is made, wherever that is.
    page.evaluate("document.querySelector('#edited .chunk:nth-of-type(50)').scrollIntoView()")
    page.wait_for_selector("#edited .chunk:nth-of-type(50) article")
    page.locator("input[type=search]").fill("passage 777")
    expect(page.locator("[role=status]")).to_have_text("11 of 10,000 changes")
    assert page.locator("article").count() == 11


def test_filters_by_keyboard(report: Path, reader: Reader) -> None:
    page = reader.open(report)
    changes = data_of(page)["changes"]
    total = len(changes)
    assert status(page) == f"{total} changes"
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.value") == "edited":
            break
    page.keyboard.press("Space")
    edited = sum(change["cause"] == "edited" for change in changes)
    assert edited == 2
    expect(page.locator("#edited")).to_have_count(0)
    assert status(page) == f"{total - edited} of {total} changes"
    page.keyboard.press("Space")
    page.wait_for_selector("#edited")
    # By page: those to which something moved, too.
    page.locator("select").select_option(label="guide – 8")
    expect(page.locator("article")).to_have_count(8)
    assert status(page) == f"8 of {total} changes"
    # By a text: what stands there, though it is divided by marks.
    page.get_by_label("Search").fill("PYTHON 3.10 or")
    expect(page.locator("article")).to_have_count(1)
    assert page.locator("h2").all_inner_texts() == ["Edited"]
    assert page.locator(".number").inner_text() == "1 of 2"
    page.get_by_label("Search").fill("nothing has this")
    page.get_by_text("No change matches.").wait_for()
    page.get_by_role("button", name="Show all").press("Enter")
    expect(page.locator("article")).to_have_count(total)
    assert page.get_by_label("Search").input_value() == ""
    assert page.get_by_role("button", name="Show all").count() == 0


def test_all_changes_are_there_with_links_to_their_pages(report: Path, reader: Reader) -> None:
    page = reader.open(report)
    data = data_of(page)
    ids = page.locator("article").evaluate_all("all => all.map(each => each.id)")
    assert ids == [change["id"] for change in data["changes"]]
    titles = page.locator("#edited h3 a").evaluate_all(
        "all => all.map(each => [each.href, each.innerText])"
    )
    assert titles == [
        ["https://docs.example.org/guide/#install", "The guide › Install it"],
        ["https://docs.example.org/long/", "Long"],
    ]
    assert page.locator("#edited del").first.inner_text() == "3.9"
    assert page.locator("#edited ins").first.inner_text() == "3.10"
    assert "by a redirect" in page.locator("#moved").inner_text()
    assert "Why: Nobody read them." in page.locator("#retired").inner_text()
    assert page.locator("#broken .change").first.inner_text().split("\n")[0] == (
        "Section. Gone, and nothing says where to."
    )


def test_what_is_the_same_is_folded(report: Path, reader: Reader) -> None:
    page = reader.open(report)
    change = page.locator("#edited article").first
    assert len(change.locator(".text").first.inner_text()) < 400
    change.get_by_role("button", name="Show the whole text").press("Enter")
    assert (
        change.locator(".text").first.inner_text().strip()
        == OLD["guide=The guide"]["install=Install"][0].strip()
    )
    assert change.get_by_role("button", name="Show less").get_attribute("aria-expanded") == "true"


def test_permalinks(large: Path, reader: Reader) -> None:
    page = reader.open(large)
    changes = data_of(page)["changes"]
    first, last = changes[-1]["id"], changes[5_000]["id"]
    page = reader.open(large, f"#{first}")
    assert page.evaluate("document.activeElement.id") == first
    assert page.locator(f"#{first}").is_visible()
    # One that no filter lets through is shown nevertheless.
    page.get_by_label("Search").fill("nothing has this")
    page.get_by_text("No change matches.").wait_for()
    page.evaluate(f"location.hash = '{last}'")
    expect(page.locator(f"#{last}")).to_be_focused()
    box = page.locator(f"#{last}").bounding_box()
    assert box is not None
    assert 0 < box["y"] < 900
    own = page.locator(f"#{last} .permalink")
    assert own.get_attribute("href") == f"#{last}"


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (360, "light")])
def test_it_can_be_read(width: int, scheme: str, report: Path, reader: Reader) -> None:
    page = reader.open(report, viewport={"width": width, "height": 800}, color_scheme=scheme)
    for each in page.locator("header details").all():
        each.locator("summary").click()
    assert find_faults(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    old, new = (box.bounding_box() for box in page.locator("#edited .side").all()[:2])
    assert old is not None
    assert new is not None
    if width == 360:
        assert old["y"] + old["height"] <= new["y"]
        assert old["x"] == new["x"]
    else:
        assert old["y"] == new["y"]
        assert old["x"] + old["width"] <= new["x"]
    color = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (color == "rgb(20, 23, 28)") == (scheme == "dark")
    # Not by colour alone.
    for tag, line in (("del", "line-through"), ("ins", "underline")):
        style = page.locator(f"#edited {tag}").first.evaluate(
            "e => getComputedStyle(e).textDecorationLine"
        )
        assert style == line


def test_all_is_printed(large: Path, report: Path, reader: Reader) -> None:
    page = reader.open(report)
    page.locator("#edited > summary").click()
    assert not page.locator("#edited article").first.is_visible()
    page.emulate_media(media="print")
    page.wait_for_selector("#edited article")
    assert not page.locator("#filters").is_visible()
    assert not page.locator("button, .permalink").filter(visible=True).count()
    # The whole texts, but not in ink.
    assert page.locator("#edited .fold").first.is_visible()
    colors = page.evaluate(
        "['body', 'del', '.card'].map(each => getComputedStyle(document.querySelector(each)).backgroundColor)"
    )
    assert set(colors) <= {"rgb(255, 255, 255)", "rgba(0, 0, 0, 0)"}
    # As wide as A4 paper without its margins: no figure is cut off, and a page may end
    # between two changes without texts, but not below a title.
    page.set_viewport_size({"width": 640, "height": 900})
    page.evaluate(
        "for (const each of document.querySelectorAll('header details')) each.open = true"
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= 640
    assert page.evaluate("getComputedStyle(document.querySelector('.wide')).overflowX") == "visible"
    after = "all => all.map(each => getComputedStyle(each).breakAfter)"
    assert set(page.locator(".head:last-child").evaluate_all(after)) == {"auto"}
    assert set(page.locator(".section").evaluate_all(after)) == {"avoid"}
    page = reader.open(large)
    page.locator("select").select_option(index=500)
    expect(page.locator("[role=status]")).to_contain_text(" of ")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    count = int(status(page).partition(" ")[0])
    assert page.locator("article").count() == count


def test_nothing_in_a_text_acts(tmp_path: Path, reader: Reader) -> None:
    path = tmp_path / "report.html"
    path.touch()
    page = reader.open(path)
    for text in HOSTILE:
        with path.open("w", encoding="utf-8") as file:
            file.writelines(write_report(make(text, text), "html", "1"))
        page.reload()
        assert page.locator("article").count() == 6
        assert page.locator("script").count() == 2
        links = page.locator("a").evaluate_all("all => all.map(each => each.getAttribute('href'))")
        assert all(link.startswith(("#", "https://", "http://")) for link in links)
        for tag in ("article", "h2", "#filters"):
            assert page.locator(tag).first.is_visible()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_without_a_script(report: Path, reader: Reader) -> None:
    page = reader.open(report, java_script_enabled=False)
    assert not page.locator("#filters").is_visible()
    shown = page.locator(".plain article").all_inner_texts()
    assert len(shown) == len(data_of(page)["changes"])
    assert "You need Python 3.93.10 or later." in page.locator(".plain").inner_text()


def test_a_policy_stands_in_the_way_of_what_was_smuggled_in(
    report: Path, tmp_path: Path, browser: Browser
) -> None:
    path = tmp_path / "report.html"
    smuggled = (
        '<script>document.title = "smuggled"</script><img src="https://docs.example.org/x.png">'
    )
    path.write_text(report.read_text("utf-8").replace("<footer>", f"{smuggled}<footer>"), "utf-8")
    page = browser.new_page()
    refused: list[str] = []
    page.on("console", lambda message: refused.append(message.text))
    page.goto(path.as_uri())
    assert page.title() != "smuggled"
    assert len([each for each in refused if "Content Security Policy" in each]) == 2
    page.close()
