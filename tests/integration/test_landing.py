"""Old addresses in a real browser: each lands where its text is today, or says why it is gone."""

from __future__ import annotations

import os
import shutil
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

import pytest
import yaml
from aged_site import GONE, MOVED, NEWS, RETIRED, Sources
from browser import START, Server, start_browser
from neighbours import missing_packages
from site_builder import Built, build_site, careless_plugins
from test_mike import Repository

try:
    from playwright.sync_api import Error
except ImportError:
    Error = Exception

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Dialog, Page

THEMES: dict[str, Any] = {
    "mkdocs": {"name": "mkdocs", "highlightjs": False},
    "readthedocs": {"name": "readthedocs", "highlightjs": False},
    "material": {"name": "material", "font": False},
    "instant": {"name": "material", "font": False, "features": ["navigation.instant"]},
}
LANGUAGES = [
    {"locale": "en", "default": True, "name": "English"},
    {"locale": "de", "name": "Deutsch"},
]
I18N = {"i18n": {"docs_structure": "suffix", "languages": LANGUAGES}}
# What a reader sees of an element: the place of its text in the window, if nothing covers it.
LANDED = """([url, id, reason]) => {
  if (decodeURIComponent(location.href) !== url) return false;
  const element = id ? document.getElementById(id) : document.querySelector(reason ? "p" : "h1");
  if (!element || (reason && !element.textContent.includes(reason))) return false;
  const box = element.getBoundingClientRect();
  const seen = document.elementFromPoint(box.left + 20, box.top + box.height / 2);
  return box.height > 5 && box.top > -1 && box.bottom <= innerHeight && element.contains(seen);
}"""

# All that takes place on a page, but what we put into it.
BOXES = """() => [...document.body.querySelectorAll("*:not([class^=markstay],script,style,a.markstay-to)")]
  .map(element => {
    const {x, y, width, height} = element.getBoundingClientRect();
    return [element.tagName, x, y, width, height];
  })"""


class Old(NamedTuple):
    """An old address: the URL in the site, and the language and the referent that it named."""

    url: str
    language: str
    referent: str

    @property
    def section_id(self) -> str:
        return self.referent.partition("#")[2]


class End(NamedTuple):
    """Where an old address lands: the URL in the site, the id of what is seen, and the reason."""

    url: str
    seen: str
    reason: str = ""


@dataclass
class History:
    """The site of today in a folder, and all that it ever published, by `use_directory_urls`."""

    folder: Path
    olds: dict[bool, dict[Old, None]]


def addresses(built: Built) -> dict[tuple[str, str], str]:
    """Give the URL in the site of each language and referent that a build publishes."""
    manifest = built.manifest
    assert manifest is not None, built.log
    urls = {(page["lang"], page["page_id"]): page["url"] for page in manifest["pages"]}
    for section in manifest["sections"]:
        urls[section["lang"], section["referent"]] = section["url"]
    return {key: unquote(url) for key, url in urls.items()}


def build(folder: Path, **config: Any) -> Built:
    """Build the site in a folder with further configuration."""
    path = folder / "mkdocs.yml"
    values = {**yaml.safe_load(path.read_text("utf-8")), **config}
    path.write_text(yaml.safe_dump(values), "utf-8")
    with careless_plugins():
        built = build_site(folder)
    assert built.passed, built.log
    assert built.findings == []
    return built


def make_history(folder: Path, *, translations: bool = False) -> History:
    plugins = [I18N, "markstay"] if translations else ["markstay"]
    sources = Sources(folder, {"plugins": plugins}, translations=translations)
    history = History(folder, {True: {}, False: {}})
    for _ in sources.age():
        for style, olds in history.olds.items():
            for (language, referent), url in addresses(
                build(folder, use_directory_urls=style)
            ).items():
                olds[Old(url, language, referent)] = None
    return history


def find_end(old: Old, today: dict[tuple[str, str], str]) -> End:
    """Say where an old address has to land."""
    if old.referent in RETIRED:
        reason = RETIRED[old.referent]
        # A retired page says it once, of all that had no reason of its own.
        same = RETIRED.get(old.referent.partition("#")[0]) == reason
        return End(old.url, "" if same else old.section_id, reason)
    referent = MOVED.get(old.referent, old.referent)
    url = today[old.language, referent]
    # An alias on the same page: the address stays as it is.
    stays = old.section_id and url.partition("#")[0] == old.url.partition("#")[0]
    return End(old.url if stays else url, referent.partition("#")[2])


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with start_browser() as started:
        yield started


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    started = Server()
    yield started
    started.close()


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> History:
    return make_history(tmp_path_factory.mktemp("history"))


@dataclass
class Published:
    """A site that is published at a URL, and where its old addresses have to land."""

    url: str
    folder: Path
    today: dict[tuple[str, str], str]
    ends: dict[Old, End]

    @property
    def changed(self) -> dict[Old, End]:
        """The old addresses that do not name what is there today."""
        return {
            old: end
            for old, end in self.ends.items()
            if end.reason or (old.url, old.section_id) != end[:2]
        }


class Publisher:
    """Publishes the site of today in many ways, each once."""

    def __init__(self, folder: Path, server: Server, history: History) -> None:
        self.folder, self.server, self.history = folder, server, history
        self.published: dict[str, Published] = {}

    def publish(self, path: str, theme: str, *, directory_urls: bool = True) -> Published:
        """Publish it in a theme, below a path such as `/docs/`."""
        if path not in self.published:
            folder = self.folder / f"site{len(self.published)}"
            shutil.copytree(self.history.folder, folder)
            site_url = self.server.mount(path, folder / "site")
            config = {"theme": THEMES[theme], "use_directory_urls": directory_urls}
            today = addresses(build(folder, site_url=site_url, **config))
            ends = {old: find_end(old, today) for old in self.history.olds[directory_urls]}
            self.published[path] = Published(site_url, folder, today, ends)
        return self.published[path]


@pytest.fixture(scope="module")
def publisher(
    tmp_path_factory: pytest.TempPathFactory, server: Server, history: History
) -> Publisher:
    return Publisher(tmp_path_factory.mktemp("published"), server, history)


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    opened = browser.new_page(reduced_motion="reduce")
    yield opened
    opened.close()


def require(name: str) -> None:
    """Skip a test that needs a package that is not there, or fail where all must be."""
    if missing_packages({"needs": [name]}):
        if os.environ.get("MARKSTAY_ALL_NEIGHBOURS"):
            pytest.fail(f"not installed: {name}")
        pytest.skip(f"not installed: {name}")


def has_landed(page: Page, site: str, end: End) -> bool:
    """Whether a page comes to an end, and stays there."""
    expected = [site + end.url, end.seen, end.reason]
    until = time.monotonic() + 5
    while time.monotonic() < until:
        # While it goes on to another page, there is nothing to ask.
        with suppress(Error):
            if page.evaluate(LANDED, expected):
                page.wait_for_timeout(50)
                return bool(page.evaluate(LANDED, expected))
        page.wait_for_timeout(20)
    return False


def goes_back(page: Page, start: str) -> bool:
    """Whether the back button leads to the page from which a reader came, and no further."""
    page.go_back()
    with suppress(Error):
        page.wait_for_url(start, timeout=5000)
    return str(page.url) == start


def follow(page: Page, url: str) -> None:
    """Follow a link to a URL."""
    page.evaluate(
        "url => { const a = document.querySelector('#go'); a.href = url; a.click(); }", url
    )


def find_boxes(page: Page) -> Any:
    """Find the places of all elements, once nothing moves any more."""
    boxes, before = page.evaluate(BOXES), None
    while boxes != before:
        page.wait_for_timeout(200)
        boxes, before = page.evaluate(BOXES), boxes
    return boxes


def find_wrong(page: Page, start: str, site: str, ends: dict[Old, End]) -> list[Any]:
    """Follow a link to each old address and go back; give what comes to another end."""
    page.goto(start)
    wrong: list[Any] = []
    for old, end in ends.items():
        follow(page, site + old.url)
        if not has_landed(page, site, end):
            wrong.append((old.url, end, unquote(page.url)))
        if not goes_back(page, start):
            wrong.append((old.url, "back", page.url))
            page.goto(start)
    return wrong


@pytest.mark.parametrize("directory_urls", [True, False], ids=["folders", "files"])
@pytest.mark.parametrize("theme", THEMES)
def test_every_old_address_lands_and_the_back_button_leads_back(
    page: Page, server: Server, publisher: Publisher, theme: str, directory_urls: bool
) -> None:
    path = f"/{theme}/{'folders' if directory_urls else 'files'}/"
    site = publisher.publish(path, theme, directory_urls=directory_urls)
    assert len(site.changed) == 26
    # What stays as it was is tried once.
    ends = site.ends if path == "/mkdocs/folders/" else site.changed
    assert find_wrong(page, server.url + START, site.url, ends) == []


def test_old_addresses_land_at_the_root_of_a_host(page: Page, publisher: Publisher) -> None:
    server = Server()
    try:
        site = Publisher(publisher.folder / "root", server, publisher.history).publish(
            "/", "mkdocs"
        )
        assert find_wrong(page, server.url + START, site.url, site.changed) == []
    finally:
        server.close()


def test_links_inside_a_site_that_loads_no_pages_anew(
    browser: Browser, publisher: Publisher
) -> None:
    site = publisher.publish("/instant/folders/", "instant")
    start = f"{site.url}end/stayed/"
    referents = (
        "guide/install#a.b:c",
        "guide/install#deep",
        "index#news",
        "guide/old#other",
        "gone",
    )
    assert set(referents) <= {old.referent for old in site.changed}
    wrong: list[Any] = []
    for old, end in site.changed.items():
        if old.referent not in referents:
            continue
        page = browser.new_page(reduced_motion="reduce")
        page.goto(start)
        # What is in the sitemap is taken for a page of the site.
        page.wait_for_function(
            "performance.getEntriesByType('resource').some(e => e.name.endsWith('sitemap.xml'))"
        )
        page.evaluate(
            "document.querySelector('article').insertAdjacentHTML('afterbegin', '<a id=go>Go</a>')"
        )
        page.evaluate("window.stays = true")
        follow(page, site.url + old.url)
        stays = end.url == old.url
        if stays:
            # Material scrolls there before the new page is in place, or after it, so that
            # today's sections, too, are not always in view. What it looks for must be there.
            there = "id => window.stays && document.getElementById(id) !== null"
            with suppress(Error):
                page.wait_for_function(there, arg=old.section_id, timeout=5000)
            stays = unquote(page.url) == site.url + end.url
            stays = stays and bool(page.evaluate(there, old.section_id))
        if not stays and not has_landed(page, site.url, end):
            wrong.append((old.url, end, unquote(page.url)))
        if not goes_back(page, start):
            wrong.append((old.url, "back", page.url))
        page.close()
    assert wrong == []


def test_old_addresses_land_in_each_language(page: Page, server: Server, tmp_path: Path) -> None:
    require("mkdocs-static-i18n")
    history = make_history(tmp_path / "history", translations=True)
    site = Publisher(tmp_path, server, history).publish("/languages/", "mkdocs")
    ends = site.changed
    assert {
        language: sum(old.language == language for old in ends) for language in ("en", "de")
    } == {"en": 26, "de": 26}
    assert find_wrong(page, server.url + START, site.url, ends) == []


def test_old_addresses_land_in_the_version_that_they_name(
    page: Page, server: Server, history: History, publisher: Publisher, tmp_path: Path
) -> None:
    require("mike")
    (tmp_path / "repository").mkdir()
    repository = Repository(tmp_path / "repository")
    shutil.copytree(history.folder / "docs", repository.folder / "docs", dirs_exist_ok=True)
    shutil.copy(history.folder / "markstay.lock", repository.folder)
    for arguments in (["1.0"], ["2.0", "latest"]):
        repository.deploy({}, *arguments)
    repository.checkout(tmp_path / "published")
    site = server.mount("/pump/", tmp_path / "published")
    ends = publisher.publish("/material/folders/", "material").changed
    assert find_wrong(page, server.url + START, site + "latest/", ends) == []
    first = {old: end for old, end in ends.items() if old.referent == "guide/old#other"}
    assert find_wrong(page, server.url + START, site + "1.0/", first) == []
    assert len(first) == 1
    canonical = tmp_path / "published/2.0/guide/old/index.html"
    assert 'rel="canonical" href="https://docs.example.org/pump/2.0/end/final/"' in (
        canonical.read_text("utf-8")
    )


@pytest.mark.parametrize("theme", ["mkdocs", "readthedocs", "material"])
def test_nothing_is_seen_of_anchors_and_of_notes_for_other_addresses(
    page: Page, server: Server, publisher: Publisher, tmp_path: Path, theme: str
) -> None:
    site = publisher.publish(f"/{theme}/folders/", theme)
    folder = tmp_path / "site"
    shutil.copytree(site.folder, folder)
    build(folder, plugins=[{"markstay": {"permanence": "off"}}])
    bare = server.mount("/bare/", folder / "site")
    for url in ("", "#contact", "guide/install/", "guide/install/#set-up", "start/usage/"):
        seen = []
        for start in (site.url, bare):
            page.goto(start + url)
            seen.append((find_boxes(page), page.screenshot(animations="disabled")))
        (boxes, picture), (bare_boxes, bare_picture) = seen
        assert len(boxes) > 50
        assert boxes == bare_boxes
        assert picture == bare_picture


def end_without_javascript(old: Old, end: End, today: dict[tuple[str, str], str]) -> End:
    """Say where an old address has to land without JavaScript."""
    url, page_id = old.url.partition("#")[0], old.referent.partition("#")[0]
    if url in today.values() or page_id in RETIRED:
        moved = end.url != old.url
        return End(old.url, old.section_id, "This section has moved") if moved else end
    # The page that took its place: a section id does not go along.
    return End(today[old.language, MOVED.get(page_id, page_id)], "")


@pytest.mark.parametrize("theme", ["mkdocs", "material"])
def test_without_javascript_pages_lead_on_and_notes_show_themselves(
    browser: Browser, publisher: Publisher, theme: str
) -> None:
    site = publisher.publish(f"/{theme}/folders/", theme)
    context = browser.new_context(java_script_enabled=False, reduced_motion="reduce")
    page = context.new_page()
    wrong: list[Any] = []
    links = 0
    for old, end in site.changed.items():
        page.goto(site.url + old.url)
        expected = end_without_javascript(old, end, site.today)
        if not has_landed(page, site.url, expected):
            wrong.append((old.url, expected, unquote(page.url)))
        elif expected.url == old.url != end.url:
            links += 1
            page.click(".markstay-note:target a")
            if not has_landed(page, site.url, end):
                wrong.append((old.url, "its link", unquote(page.url)))
    context.close()
    assert wrong == []
    assert links == 2


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("guide/old/?q=a%20b&r=%23", "end/final/?q=a%20b&r=%23"),
        ("guide/old/?q=1#kept", "end/final/?q=1#kept"),
        ("guide/old/?q=1#other", "end/final/?q=1#another"),
        ("guide/old/?q=1#unknown", "end/final/?q=1#unknown"),
        ("guide/install/?q=1#deep", "start/usage/?q=1#farthest"),
        ("gone/?q=1#lost", "gone/?q=1#lost"),
    ],
)
def test_queries_and_unknown_fragments_go_along(
    page: Page, publisher: Publisher, old: str, new: str
) -> None:
    site = publisher.publish("/mkdocs/folders/", "mkdocs")
    page.goto(site.url + old)
    page.wait_for_url(site.url + new, timeout=5000)
    page.wait_for_timeout(100)
    assert page.url == site.url + new


def test_an_old_section_is_found_from_inside_its_page(page: Page, publisher: Publisher) -> None:
    site = publisher.publish("/mkdocs/folders/", "mkdocs")
    start = f"{site.url}guide/install/"
    page.goto(start)
    page.evaluate("location.hash = 'deep'")
    page.wait_for_url(f"{site.url}start/usage/#farthest", timeout=5000)
    assert goes_back(page, start)


@pytest.mark.parametrize(
    "fragment",
    [
        '"><img src=x onerror=alert(1)>',
        "%22%3E%3Cimg%20src=x%20onerror=alert(1)%3E",
        "javascript:alert(1)",
        "//evil.example",
        "/\\evil.example",
        "@evil.example",
        "%",
        "__proto__",
        "a#b",
    ],
)
def test_no_fragment_leads_away_or_runs(page: Page, publisher: Publisher, fragment: str) -> None:
    site = publisher.publish("/mkdocs/folders/", "mkdocs")
    alarms: list[str] = []
    requests: list[str] = []

    def refuse(dialog: Dialog) -> None:
        alarms.append(dialog.message)
        dialog.dismiss()

    page.on("dialog", refuse)
    page.on("request", lambda request: requests.append(request.url))
    for old, new in {
        "guide/old/": "end/final/",
        "gone/": "gone/",
        "guide/install/": "guide/install/",
    }.items():
        page.goto("about:blank")
        page.goto(f"{site.url}{old}#{fragment}")
        page.wait_for_timeout(150)
        assert page.url.partition("#")[0] == site.url + new
        assert page.locator("img[src=x]").count() == 0
    assert alarms == []
    assert requests
    assert [url for url in requests if not url.startswith(site.url)] == []


def test_where_a_policy_forbids_our_script_and_style_all_is_said_in_words(
    page: Page, server: Server, publisher: Publisher
) -> None:
    folder = publisher.publish("/mkdocs/folders/", "mkdocs").folder / "site"
    site = server.mount("/policy/", folder, {"Content-Security-Policy": "default-src 'self'"})
    for url, seen, said in (
        ("guide/install/#setup", "set-up", ""),
        ("guide/install/#deep", "deep", "This section has moved"),
        ("#news", "news", NEWS),
        ("gone/", "", GONE),
        ("gone/#lost", "", GONE),
        ("guide/old/#kept", "", "This page has moved"),
        ("guide/old/#dropped", "dropped", "Nobody needs it."),
    ):
        page.goto("about:blank")
        page.goto(site + url)
        assert has_landed(page, site, End(url, seen, said)), (url, page.url)
    page.goto(f"{site}guide/install/")
    page.wait_for_timeout(100)
    assert page.locator(".markstay-note:visible").count() == 0


REDIRECTED = {"guide/old.md": "end/final.md", "gone.md": "index.md", "other.md": "index.md"}
# At a given place in the configuration, so that the line is known.
PLUGINS = f"""
plugins:
  - markstay
  - redirects:
      redirect_maps:
        {chr(10).join(f"        {old}: {new}" for old, new in REDIRECTED.items()).strip()}
"""


def test_what_mkdocs_redirects_leads_somewhere_too(history: History, tmp_path: Path) -> None:
    require("mkdocs-redirects")
    shutil.copytree(history.folder, tmp_path, dirs_exist_ok=True)
    config = tmp_path / "mkdocs.yml"
    values = yaml.safe_load(config.read_text("utf-8"))
    del values["plugins"]
    text = yaml.safe_dump(values) + PLUGINS
    config.write_text(text, "utf-8")
    lines = text.split("\n")
    with careless_plugins():
        built = build_site(tmp_path)
    assert not built.passed
    assert built.places == [
        f"mkdocs.yml:{1 + lines.index(f'        {old}: {REDIRECTED[old]}')} redirected-twice"
        for old in ("guide/old.md", "gone.md")
    ]


HOOK = """
from pathlib import Path

def on_post_build(config):
    path = Path(config.site_dir, "gone/index.html")
    path.parent.mkdir(exist_ok=True)
    path.write_text("Mine")
"""


@pytest.mark.parametrize(
    ("files", "hooks"), [({"docs/gone/index.html": "Mine"}, []), ({"hook.py": HOOK}, ["hook.py"])]
)
@pytest.mark.parametrize("level", ["error", "warning"])
def test_what_others_publish_at_an_old_address_stays(
    history: History, tmp_path: Path, files: dict[str, str], hooks: list[str], level: str
) -> None:
    shutil.copytree(history.folder, tmp_path, dirs_exist_ok=True)
    shutil.rmtree(tmp_path / "site")
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")
    config = tmp_path / "mkdocs.yml"
    plugins = [{"markstay": {"findings": {"address-taken": level}}}]
    values = {**yaml.safe_load(config.read_text("utf-8")), "hooks": hooks, "plugins": plugins}
    config.write_text(yaml.safe_dump(values), "utf-8")
    with careless_plugins():
        built = build_site(tmp_path, use_directory_urls=True)
    assert [(found.path, found.code) for found in built.findings] == [
        ("markstay.lock", "address-taken")
    ]
    assert "gone/index.html" in built.findings[0].message
    assert built.passed == (level == "warning")
    if built.passed:
        assert built.html("gone/index.html") == "Mine"
        assert "has moved" in built.html("guide/old/index.html")
