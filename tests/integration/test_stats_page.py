"""The statistics as a page, in a real browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from axe import find_faults
from browser import start_browser

from mkdocs_markstay.stats import (
    BarePage,
    Debts,
    Language,
    PassageSize,
    Repeated,
    Sizes,
    Stats,
    make_buckets,
)
from mkdocs_markstay.stats_formats import write_stats

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

LONG = "a-folder/" * 12 + "page#a-section-whose-id-is-long"
HOSTILE = '<script>document.title = "run"</script><img src="https://docs.example.org/x.png">'
LENGTHS = {length: 1 + (length * 37) % 400 for length in range(0, 2400, 7)}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with start_browser() as started:
        yield started


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    size = PassageSize(LONG, "en", 0, 2400, HOSTILE)
    stats = Stats(
        "site",
        ["guide"],
        listed=True,
        pages=1234,
        sections=98_765,
        passages=sum(LENGTHS.values()),
        bare_pages=3,
        bare_sections=4567,
        sizes=Sizes(123_456_789, 1123.4, 0, 100, 1100, 2100, 2390, 2400),
        histogram=make_buckets(LENGTHS),
        longest=[size] * 5,
        shortest=[size] * 5,
        repeated_texts=400,
        repeats=900,
        repeated=[Repeated(155, 20, HOSTILE, (LONG,) * 5)] * 10,
        barest=[BarePage(LONG, "en", 10, 9)] * 10,
        languages={"en": Language(1000, 9000, 1), "fr": Language(234, 12, 1)},
        kinds={"paragraph": 60_000, "table": 1},
        blocks=100,
        marked=50,
        debts=Debts(945, 932, 0),
    )
    path: Path = tmp_path_factory.mktemp("page") / "stats.html"
    path.write_text(write_stats(stats, "html", "1"), encoding="utf-8")
    return path.as_uri()


@pytest.fixture(params=["light", "dark"])
def page(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    context = browser.new_context(color_scheme=request.param)
    yield context.new_page()
    context.close()


@pytest.mark.parametrize("width", [360, 1280])
def test_the_page(page: Page, url: str, width: int) -> None:
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("request", lambda request: said.append(request.url))
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(url)
    assert said == [url]
    assert page.title() == "guide: statistics"
    assert find_faults(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") == width
    # The style is allowed by the page's own policy, so that bars are as long as their numbers.
    bars = page.locator("section:first-of-type tr")
    numbers = [
        int(each.replace(",", "")) for each in bars.locator("td:nth-child(2)").all_inner_texts()
    ]
    lengths = page.evaluate(
        "[...document.querySelectorAll('section:first-of-type rect')].map(r => r.getBoundingClientRect().width)"
    )
    room = page.evaluate("document.querySelector('svg').getBoundingClientRect().width")
    assert room > width / 4
    assert lengths == pytest.approx([room * n / max(numbers) for n in numbers], abs=0.5)
    colors = page.evaluate(
        "['body', 'rect'].map(s => getComputedStyle(document.querySelector(s)))"
        ".map(s => [s.backgroundColor, s.fill])"
    )
    assert colors[0][0] != "rgba(0, 0, 0, 0)"
    assert colors[1][1] not in ("rgb(0, 0, 0)", colors[0][0])


def test_the_page_in_print(page: Page, url: str) -> None:
    page.goto(url)
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
    # Long lists may go on on the next page, what belongs together may not.
    within = "each => getComputedStyle(document.querySelector(each)).breakInside"
    assert [page.evaluate(within, each) for each in ("section", "tr", "li")] == [
        "auto",
        "avoid",
        "avoid",
    ]


def test_bars_in_the_colours_of_the_reader(page: Page, url: str) -> None:
    page.emulate_media(forced_colors="active")
    page.goto(url)
    bar, text = page.evaluate(
        "[getComputedStyle(document.querySelector('rect')).fill, getComputedStyle(document.body).color]"
    )
    assert bar == text
