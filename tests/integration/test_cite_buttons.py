"""The cite buttons in a real browser: what they copy, for whom they work, and what they leave alone."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from axe import find_faults
from browser import Server, start_browser
from site_builder import Built, Site, build_site, careless_plugins, run_markstay

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request

EXAMPLE = Path(__file__).parents[2] / "example_site"
# Where it is published for good is not where it is tried.
SITE_URL = "https://docs.example.org/guide/"
THEMES: dict[str, dict[str, Any]] = {
    "material": {"name": "material", "font": False, "palette": {"scheme": "default"}},
    "instant": {"name": "material", "font": False, "features": ["navigation.instant"]},
    "mkdocs": {"name": "mkdocs", "highlightjs": False},
    "readthedocs": {"name": "readthedocs", "highlightjs": False},
}
PLAIN = """\
<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{{ page.title|e }}</title>
{% for path in config.extra_css %}<link rel="stylesheet" href="{{ path|url }}">{% endfor %}</head>
<body><main>{{ page.content }}</main>
{% for script in config.extra_javascript %}{{ script|script_tag }}{% endfor %}</body></html>
"""
# All that a site needs that has nothing but text and what is ours.
POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; base-uri 'none'"
PAGE = """\
# Keeping bees

The first words of the page.

## What you `need` [now] <#requirements>

Keep the hives out of the wind, and well away from the road that leads to the neighbours.
<!-- stay:b1 -->

- A smoker
- A veil
<!-- stay:b2 -->

```python
print("bees")
```
<!-- stay:b3 -->

| Month | Work |
|---|---|
| May | Look for queens |
<!-- stay:b4 -->

### Tools (old & new) <#a.b:c>

!!! note

    Tools are lent.
    <!-- stay:b5 -->

## The end <#end>

Go on with [the other page](other/page.md).
"""
OTHER = (
    "# Other\n\n## First <#first>\n\nText.\n\n## Second <#second>\n\nMore.\n\n[Back](../index.md)\n"
)
TABLE = "## Many <#many>\n\n" + "\n\n".join(f"Line {number}." for number in range(40))
FILES: dict[str, str | bytes] = {
    "docs/index.md": PAGE,
    "docs/other/page.md": f"{OTHER}\n{TABLE}\n",
}
EXTENSIONS = ("admonition", "attr_list", "tables", "pymdownx.superfences")
REQUIREMENTS = "#requirements .markstay-cite"
MENU = ".markstay-menu"
# All ways to cite each place of a page, as its menu offers them.
ALL_WAYS = """async () => {
  const found = [];
  for (const button of document.querySelectorAll("button.markstay-cite")) {
    button.click();
    while (!document.querySelector(".markstay-menu")) await new Promise(requestAnimationFrame);
    const ways = [...document.querySelectorAll(".markstay-shown")].map(each => each.textContent);
    found.push([button.getAttribute("aria-label"), ...ways]);
    const escape = new KeyboardEvent("keydown", {key: "Escape", bubbles: true});
    document.querySelector(".markstay-menu").dispatchEvent(escape);
  }
  return found;
}"""
# The contrast of a colour of an element with the ground of another, as both are painted.
CONTRAST = """([selector, name, ground]) => {
  const paint = document.createElement("canvas").getContext("2d");
  const light = colors => {
    for (const color of colors) { paint.fillStyle = color; paint.fillRect(0, 0, 1, 1); }
    const parts = [...paint.getImageData(0, 0, 1, 1).data].slice(0, 3).map(each => each / 255)
      .map(each => each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4);
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
  };
  const style = each => getComputedStyle(document.querySelector(each));
  const back = style(ground).backgroundColor;
  const [low, high] = [light([back]), light([back, style(selector)[name]])].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}"""
# All that takes place on a page, but what is ours.
BOXES = """() => [...document.body.querySelectorAll("*")]
  .filter(each => !each.closest("[class^=markstay],script,style,a[href^='#']:empty:not([class])"))
  .map(each => {
    const {x, y, width, height} = each.getBoundingClientRect();
    return [each.tagName, x, y, width, height];
  })"""


def build(
    folder: Path, theme: Any, site_url: str, *, permalink: bool = True, **plugin: Any
) -> Built:
    """Build the small site."""
    options = {"cite": True, "stay_anchors": True, "verify": True, "version": "2.0", **plugin}
    files = dict(FILES)
    plugins: list[Any] = ["search", {"markstay": options}]
    if theme == "plain":
        files["own/main.html"] = PLAIN
        theme = {"name": None, "custom_dir": "own"}
        del plugins[0]
    config = {
        "site_name": "Field guide",
        "site_url": site_url,
        "theme": theme,
        "plugins": plugins,
    }
    site = Site(files, (*EXTENSIONS, {"toc": {"permalink": permalink}}), {}, config)
    with careless_plugins():
        built = build_site(folder, site)
    assert built.passed, built.log
    assert built.findings == []
    return built


@dataclass
class Sites:
    """The small site in each theme, built once, with and without buttons."""

    folder: Path
    server: Server

    def open(self, theme: str, *, permalink: bool = True, cite: bool = True) -> str:
        name = f"{theme}-{permalink}-{cite}"
        folder = self.folder / name
        headers = {"Content-Security-Policy": POLICY} if theme == "plain" else {}
        url = self.server.mount(f"/{name}/", folder / "site", headers)
        if not folder.exists():
            # Instant navigation works where the site is published.
            site_url = url if theme == "instant" else SITE_URL
            build(folder, THEMES.get(theme, theme), site_url, permalink=permalink, cite=cite)
        return url


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with start_browser() as started:
        yield started


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sites]:
    server = Server()
    yield Sites(tmp_path_factory.mktemp("sites"), server)
    server.close()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    context = browser.new_context(reduced_motion="reduce")
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    yield context
    context.close()


@pytest.fixture
def page(context: BrowserContext, sites: Sites) -> Iterator[Page]:
    """Open a page. Nothing may go wrong in it, and nothing is asked of others."""
    page = context.new_page()
    wrong: list[str] = []

    def note(message: ConsoleMessage) -> None:
        if message.type == "error" and not message.location["url"].endswith("/favicon.ico"):
            wrong.append(message.text)

    def check(request: Request) -> None:
        if not request.url.startswith((sites.server.url, "data:")):
            wrong.append(request.url)

    page.on("console", note)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", check)
    yield page
    assert wrong == []


def pasted(page: Page) -> str:
    return str(page.evaluate("navigator.clipboard.readText()"))


def wait_until_said(page: Page, text: str) -> None:
    page.locator(".markstay-status", has_text=text).wait_for(state="attached")


# -- what is copied


def test_every_section_and_block_of_the_example_site_is_cited_as_the_manifest_says(
    page: Page, sites: Sites, tmp_path: Path
) -> None:
    folder = tmp_path / "site"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("site", ".cache", "*.lock"))
    config = yaml.safe_load((folder / "mkdocs.yml").read_text("utf-8").replace("!relative ", ""))
    for each in config["markdown_extensions"]:
        if isinstance(each, dict) and "pymdownx.snippets" in each:
            each["pymdownx.snippets"]["base_path"] = ["includes"]
    config["plugins"][1]["markstay"] |= {"cite": True, "stay_anchors": True, "version": "3"}
    (folder / "mkdocs.yml").write_text(yaml.safe_dump(config), "utf-8")
    assert run_markstay(folder, "stamp", "--stays", "--write").code == 0
    with careless_plugins():
        built = build_site(folder)
    assert built.passed, built.log
    manifest = built.manifest
    assert manifest is not None
    url = sites.server.mount("/example/", folder / "site")
    root = config["site_url"]
    name = config["site_name"]
    blocks = 0
    for record in manifest["pages"]:
        page.goto(url + record["url"])
        found = {referent: rest for _, *rest in page.evaluate(ALL_WAYS) for referent in [rest[1]]}
        page_id = record["page_id"]
        expected = {page_id}
        for section in manifest["sections"]:
            if section["page_id"] != page_id:
                continue
            expected.add(section["referent"])
            address, _, link, reference = found[section["referent"]]
            assert address == root + section["url"]
            assert link.endswith(f"]({address.replace('(', '%28').replace(')', '%29')})")
            above = " › ".join(section["path"][1:-1])
            assert reference.startswith(f"“{section['title']}”. ")
            assert reference.endswith(f"{above}. {name}, version 3. {address}")
        for passage in manifest["passages"]:
            if passage["referent"].partition("#")[0] == page_id:
                anchors = {block.get("referent") for block in passage["blocks"]} - {None}
                blocks += len(anchors)
                expected |= anchors
        assert found.keys() == expected
        assert found[page_id][0] == root + record["url"]
    assert blocks > 50


@pytest.mark.parametrize("theme", ["material", "mkdocs", "readthedocs"])
def test_the_button_copies_the_durable_address_and_the_menu_the_others(
    page: Page, sites: Sites, theme: str
) -> None:
    page.goto(sites.open(theme) + "index.html?x=1#end")
    page.hover("#requirements")
    page.click(REQUIREMENTS)
    address = f"{SITE_URL}#requirements"
    assert page.inner_text(".markstay-said") == "Address copied"
    wait_until_said(page, "Address copied")
    assert pasted(page) == address
    reference = f"“What you need [now]”. Keeping bees. Field guide, version 2.0. {address}"
    for name, text in {
        "URL": address,
        "Referent": "index#requirements",
        "Markdown link": rf"[What you need \[now\]]({address})",
        "Reference": reference,
    }.items():
        page.wait_for_selector(MENU)
        page.get_by_role("menuitem", name=f"{name} ").click()
        page.locator(".markstay-said", has_text=f"{name} copied").wait_for()
        wait_until_said(page, f"{name} copied")
        assert pasted(page) == text
        page.keyboard.press("Escape")
        page.keyboard.press("Enter")


def test_odd_ids_and_blocks(page: Page, sites: Sites) -> None:
    page.goto(sites.open("material"))
    ways = {each[2]: each for each in page.evaluate(ALL_WAYS)}
    address = f"{SITE_URL}#a.b:c"
    assert ways["index#a.b:c"] == [
        "Cite: Tools (old & new)",
        address,
        "index#a.b:c",
        rf"[Tools (old \& new)]({SITE_URL}#a.b:c)",
        f"“Tools (old & new)”. Keeping bees › What you need [now]. Field guide, version 2.0. {address}",
    ]
    words = "Keep the hives out of the wind, and well away from the road …"
    assert ways["index#stay-b1"] == [
        f"Cite: {words}",
        f"{SITE_URL}#stay-b1",
        "index#stay-b1",
        rf"[Keeping bees › What you need \[now\]]({SITE_URL}#stay-b1)",
        f"“{words}”. Keeping bees › What you need [now]. Field guide, version 2.0. {SITE_URL}#stay-b1",
    ]
    assert ways["index"][4] == f"“Keeping bees”. Field guide, version 2.0. {SITE_URL}"
    assert {f"index#stay-b{number}" for number in range(1, 6)} <= ways.keys()


def test_without_a_site_url_the_address_is_made_of_where_the_page_is(
    page: Page, sites: Sites, tmp_path: Path
) -> None:
    folder = tmp_path / "site"
    build(folder, "plain", "")
    url = sites.server.mount("/somewhere/else/", folder / "site")
    page.goto(url + "other/page/index.html?x=1#first")
    page.focus("#second .markstay-cite")
    page.keyboard.press("Enter")
    page.wait_for_selector(MENU)
    assert pasted(page) == f"{url}other/page/#second"


# -- for whom it works


def test_keyboard_only(page: Page, sites: Sites) -> None:
    page.goto(sites.open("material"))
    focused = """(({ariaLabel, firstChild}) => ariaLabel || firstChild.textContent)
        (document.activeElement)"""
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate(focused) == "Cite: What you need [now]":
            break
    opacity = f"getComputedStyle(document.querySelector('{REQUIREMENTS}')).opacity"
    assert page.evaluate(opacity) == "1"
    page.keyboard.press("Enter")
    page.wait_for_selector(MENU)
    assert pasted(page) == f"{SITE_URL}#requirements"
    steps = {"ArrowDown": "Referent", "ArrowUp": "URL", "End": "Reference", "Home": "URL"}
    for key, name in steps.items():
        page.keyboard.press(key)
        assert page.evaluate(focused) == name
    page.keyboard.press("ArrowUp")
    assert page.evaluate(focused) == "Reference"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_timeout(100)
    assert pasted(page) == "index#requirements"
    page.locator(MENU).wait_for(state="detached")
    assert page.evaluate(focused) == "Cite: What you need [now]"
    page.keyboard.press("Space")
    page.wait_for_selector(MENU)
    assert page.get_attribute(REQUIREMENTS, "aria-expanded") == "true"
    page.keyboard.press("Escape")
    assert page.locator(MENU).count() == 0
    assert page.get_attribute(REQUIREMENTS, "aria-expanded") == "false"
    assert page.evaluate(focused) == "Cite: What you need [now]"
    page.keyboard.press("Enter")
    page.wait_for_selector(MENU)
    page.keyboard.press("Tab")
    assert page.locator(MENU).count() == 0
    assert "hives" in page.evaluate(focused)  # the next button, of the block below


def test_a_click_elsewhere_or_on_the_button_closes_the_menu(page: Page, sites: Sites) -> None:
    page.goto(sites.open("mkdocs"))
    page.focus(REQUIREMENTS)
    for place in ("h1", REQUIREMENTS):
        page.keyboard.press("Enter")
        page.wait_for_selector(MENU)
        page.click(place, position={"x": 5, "y": 5})
        assert page.locator(MENU).count() == 0
        page.focus(REQUIREMENTS)


WITHOUT_CLIPBOARD = """
window.kept = navigator.clipboard;
Object.defineProperty(navigator, "clipboard", {value: undefined});
"""
DENIED = "navigator.clipboard.writeText = () => Promise.reject(new Error('no'));"
FORBIDDEN = "document.execCommand = () => false;"


@pytest.mark.parametrize(
    "script", [WITHOUT_CLIPBOARD, f"window.kept = navigator.clipboard;{DENIED}"]
)
def test_where_the_clipboard_is_not_to_be_had_the_text_is_copied_in_the_old_way(
    page: Page, sites: Sites, script: str
) -> None:
    page.add_init_script(script)
    page.goto(sites.open("readthedocs"))
    page.focus(REQUIREMENTS)
    page.keyboard.press("Enter")
    page.wait_for_selector(MENU)
    assert page.evaluate("kept.readText()") == f"{SITE_URL}#requirements"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_timeout(100)
    assert page.inner_text(".markstay-said") == "Referent copied"
    assert page.evaluate("kept.readText()") == "index#requirements"


def test_where_nothing_can_be_copied_the_text_stands_selected_in_a_field(
    page: Page, sites: Sites
) -> None:
    page.add_init_script(DENIED + FORBIDDEN)
    page.goto(sites.open("material"))
    selected = "document.activeElement.value.slice(document.activeElement.selectionStart)"
    page.focus(REQUIREMENTS)
    page.keyboard.press("Enter")
    page.wait_for_selector(f"{MENU} input")
    assert page.inner_text(".markstay-said") == "Copy the URL from here:"
    assert page.evaluate(selected) == f"{SITE_URL}#requirements"
    page.get_by_role("menuitem", name="Referent").click()
    assert page.evaluate(selected) == "index#requirements"
    assert find_faults(page, MENU) == []
    page.keyboard.press("Escape")
    assert page.locator(MENU).count() == 0


@pytest.mark.parametrize("theme", ["material", "mkdocs", "readthedocs", "plain"])
def test_without_javascript_there_is_a_plain_link(
    browser: Browser, sites: Sites, theme: str
) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    for permalink in (True, False):
        page.goto(sites.open(theme, permalink=permalink))
        link = page.locator("#requirements a[href='#requirements']")
        assert link.count() == 1
        assert link.get_attribute("class") == ("headerlink" if permalink else None)
        page.hover("#requirements")
        assert link.is_visible()
        link.click()
        assert page.url.endswith("#requirements")
        assert page.locator("button.markstay-cite").count() == 0
    assert link.inner_text() == ""
    assert page.get_by_role("link", name="Cite", exact=True).count() == 3
    context.close()


DARK = {
    "material": "document.body.dataset.mdColorScheme = 'slate'",
    "mkdocs": "document.documentElement.dataset.bsTheme = 'dark'",
}


@pytest.mark.parametrize(
    ("theme", "script"),
    [*((theme, "") for theme in ("material", "mkdocs", "readthedocs", "plain")), *DARK.items()],
)
def test_no_serious_fault_for_screen_readers_and_keyboards(
    page: Page, sites: Sites, theme: str, script: str
) -> None:
    page.goto(sites.open(theme, permalink=bool(script)))
    page.evaluate(script or "0")
    page.hover("#requirements")
    assert find_faults(page, "button.markstay-cite") == []
    page.click(REQUIREMENTS)
    page.wait_for_selector(MENU)
    page.wait_for_timeout(100)
    assert find_faults(page, MENU, "button.markstay-cite", ".markstay-status") == []
    light = page.locator(MENU).evaluate("each => getComputedStyle(each).backgroundColor")
    assert (light == "rgb(255, 255, 255)") == (not script)


# -- where it works


@pytest.mark.parametrize("theme", ["material", "mkdocs", "readthedocs"])
def test_a_button_that_is_touched_stays_where_it_is(
    browser: Browser, sites: Sites, theme: str
) -> None:
    context = browser.new_context(
        viewport={"width": 360, "height": 700}, is_mobile=True, has_touch=True
    )
    page = context.new_page()
    page.goto(sites.open(theme))
    button = page.locator(REQUIREMENTS)
    before = button.bounding_box()
    # The theme mkdocs puts the permalink in when its heading is touched.
    button.tap()
    page.wait_for_selector(MENU)
    assert button.bounding_box() == before
    context.close()


def test_in_a_low_window_all_of_the_menu_is_seen(page: Page, sites: Sites) -> None:
    page.set_viewport_size({"width": 320, "height": 256})
    page.goto(sites.open("material") + "other/page/")
    page.locator("#many .markstay-cite").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(MENU)
    box = page.locator(MENU).bounding_box()
    assert box is not None
    assert (box["y"] >= 0, box["y"] + box["height"] <= 256) == (True, True)


@pytest.mark.parametrize("accent", ["yellow", "lime", "teal", "indigo"])
@pytest.mark.parametrize("scheme", ["default", "slate"])
def test_the_ring_around_what_has_the_focus_can_be_seen(
    page: Page, sites: Sites, scheme: str, accent: str
) -> None:
    page.goto(sites.open("material"))
    page.evaluate(
        "([scheme, accent]) => {"
        "document.body.dataset.mdColorScheme = scheme; document.body.dataset.mdColorAccent = accent }",
        [scheme, accent],
    )
    page.locator(REQUIREMENTS).focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(MENU)
    page.keyboard.press("ArrowDown")
    assert page.evaluate(CONTRAST, [f"{MENU} :focus", "outlineColor", MENU]) >= 3


def test_the_menu_is_read_from_left_to_right(page: Page, sites: Sites) -> None:
    page.goto(sites.open("material"))
    page.evaluate("document.documentElement.dir = 'rtl'; document.body.dir = 'rtl'")
    page.click(REQUIREMENTS)
    page.wait_for_selector(MENU)
    shown = page.locator(".markstay-shown").nth(2)
    assert shown.evaluate("each => getComputedStyle(each).direction") == "ltr"


@pytest.mark.parametrize("theme", ["material", "mkdocs", "readthedocs"])
@pytest.mark.parametrize("touch", [False, True], ids=["wide", "narrow"])
def test_nothing_else_moves_and_nothing_leaves_the_window(
    browser: Browser, sites: Sites, theme: str, touch: bool
) -> None:
    size: Any = {"width": 360, "height": 700} if touch else {"width": 1280, "height": 800}
    context = browser.new_context(
        viewport=size, is_mobile=touch, has_touch=touch, reduced_motion="reduce"
    )
    page = context.new_page()
    for permalink in (True, False):
        for path in ("", "other/page/"):
            boxes = []
            for cite in (False, True):
                page.goto(sites.open(theme, permalink=permalink, cite=cite) + path)
                page.wait_for_timeout(150)
                boxes.append(page.evaluate(BOXES))
            assert len(boxes[0]) > 30
            assert boxes[0] == boxes[1]
    for button in page.locator("button.markstay-cite").all():
        if touch:
            assert button.evaluate("each => getComputedStyle(each).opacity") == "1"
            box = button.bounding_box()
            assert box is not None
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= size["width"]
            assert min(box["width"], box["height"]) >= 24
        button.scroll_into_view_if_needed()
        button.focus()
        page.keyboard.press("Enter")
        page.wait_for_selector(MENU)
        box = page.locator(MENU).bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["y"] >= 0
        assert box["x"] + box["width"] <= size["width"]
        assert box["y"] + box["height"] <= size["height"]
        page.keyboard.press("Escape")
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    context.close()


def test_notes_of_code_are_cited_beside_it(page: Page, sites: Sites, tmp_path: Path) -> None:
    code = '```python\nprint("bees")  # (1)!\n```\n<!-- stay:c1 -->'
    text = f"# Notes\n\n{code}\n\n1.  A note.\n<!-- stay:n1 -->\n\nThe end.\n"
    theme = {**THEMES["instant"], "features": ["content.code.annotate", "navigation.instant"]}
    plugin = {"markstay": {"cite": True, "stay_anchors": True}}
    config = {"theme": theme, "site_url": SITE_URL, "plugins": [plugin]}
    with careless_plugins():
        assert build_site(tmp_path, Site({"docs/index.md": text}, EXTENSIONS, {}, config)).passed
    page.goto(sites.server.mount("/notes/", tmp_path / "site"))
    page.locator("#stay-n1[hidden]").wait_for(state="attached")
    page.hover(".highlight")
    code_button, notes_button = page.locator(".markstay-beside").all()
    first, second = code_button.bounding_box(), notes_button.bounding_box()
    assert first is not None
    assert second is not None
    assert (second["x"], second["y"]) == (first["x"], first["y"] + 24)
    for each in (code_button, notes_button):
        assert each.evaluate("each => getComputedStyle(each).opacity") == "1"
    assert {each[2] for each in page.evaluate(ALL_WAYS)} == {
        "index",
        "index#stay-c1",
        "index#stay-n1",
    }


def test_what_is_opened_later_is_no_wider_than_the_window(
    browser: Browser, sites: Sites, tmp_path: Path
) -> None:
    blocks = [f"    {'m ' * length}\n    <!-- stay:b{length} -->" for length in range(20, 60)]
    text = "# Folded\n\n??? note\n\n" + "\n\n".join(blocks) + "\n"
    plugin = {"markstay": {"cite": True, "stay_anchors": True}}
    config = {"theme": THEMES["mkdocs"], "plugins": [plugin]}
    extensions = (*EXTENSIONS, "pymdownx.details")
    with careless_plugins():
        assert build_site(tmp_path, Site({"docs/index.md": text}, extensions, {}, config)).passed
    context = browser.new_context(viewport={"width": 360, "height": 700})
    page = context.new_page()
    page.goto(sites.server.mount("/folded/", tmp_path / "site"))
    width = "document.documentElement.scrollWidth"
    assert page.evaluate(width) == 360
    page.click("summary")
    page.wait_for_timeout(200)
    assert page.evaluate(width) == 360
    translates = (
        "[...document.querySelectorAll('details .markstay-cite')].map(e => e.style.translate)"
    )
    assert page.evaluate(translates)[0] == "0px"  # where its line ends
    context.close()


def test_pages_that_are_put_into_the_window_have_their_own_buttons(
    page: Page, sites: Sites
) -> None:
    url = sites.open("instant")
    page.goto(url)
    page.wait_for_function(
        "performance.getEntriesByType('resource').some(e => e.name.endsWith('sitemap.xml'))"
    )
    page.evaluate("window.stays = true")
    labels = "[...document.querySelectorAll('button.markstay-cite')].map(e => e.ariaLabel)"
    before = page.evaluate(labels)
    other = ["Cite: Other", "Cite: First", "Cite: Second", "Cite: Many"]
    page.get_by_role("link", name="the other page").click()
    page.wait_for_selector("#second .markstay-cite", state="attached")
    assert page.evaluate(labels) == other
    page.focus("#second .markstay-cite")
    page.keyboard.press("Enter")
    page.wait_for_selector(MENU)
    assert pasted(page) == f"{url}other/page/#second"
    page.go_back()
    page.wait_for_selector(REQUIREMENTS, state="attached")
    assert page.evaluate(labels) == before
    assert page.locator(MENU).count() == 0
    page.go_forward()
    page.wait_for_selector("#second .markstay-cite", state="attached")
    assert page.evaluate(labels) == other
    assert page.evaluate("window.stays")


def test_a_strict_policy_allows_it(page: Page, sites: Sites) -> None:
    page.goto(sites.open("plain"))
    page.click(REQUIREMENTS)
    page.wait_for_selector(MENU)
    assert pasted(page) == f"{SITE_URL}#requirements"
    # The style, too, is there, and where the script puts the menu.
    assert page.evaluate(f"getComputedStyle(document.querySelector('{MENU}')).width") == "320px"
    assert page.locator(MENU).evaluate("each => parseFloat(each.style.top)") > 50


def test_nothing_of_it_is_printed(page: Page, sites: Sites) -> None:
    page.goto(sites.open("material"))
    page.focus(REQUIREMENTS)
    page.keyboard.press("Enter")
    page.wait_for_selector(MENU)
    page.emulate_media(media="print")
    assert page.locator(f"button.markstay-cite:visible, {MENU}:visible").count() == 0
