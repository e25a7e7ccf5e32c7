"""What `cite` puts into pages, and that nothing else of a site is touched by it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from site_builder import Built, Site, build_site, careless_plugins

from mkdocs_markstay.cite import CitedSite, complete_page, derive_url, write_script, write_style
from mkdocs_markstay.extract_lexbor import extract, find_region
from mkdocs_markstay.furniture import FURNITURE
from mkdocs_markstay.marks import BEGIN, END
from mkdocs_markstay.page_report import PageReport, StayPlace

if TYPE_CHECKING:
    from pathlib import Path

SITE = CitedSite("Field guide", "", "https://docs.example.org/", FURNITURE)


def complete(region: str, **report: Any) -> str:
    """Complete a page with the id `a/b`, and give what follows the element before its prose."""
    known = PageReport("a/b.md", "a/b/index.html", "docs/a/b.md", "en", page_id="a/b", **report)
    html = complete_page(f"<p>{BEGIN}{region}{END}</p>", "a/b/", known, SITE)
    assert html.startswith("<p><span ")
    assert html.endswith(f"{END}</p>")
    return html.removeprefix("<p><span ").removesuffix(f"{END}</p>")


def told(region: str, **report: Any) -> str:
    """Give the words in the mark of a completed page."""
    found = re.match('data-markstay-begin="([^"]*)" hidden></span>', complete(region, **report))
    assert found is not None
    return found[1]


LINK = '<a class="headerlink" href="#x">&para;</a>'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('<h2 id="x">Title</h2>', '<h2 id="x">Title<a href="#x"></a></h2>'),
        (f'<h2 id="x">Title{LINK}</h2>', None),
        ("<h2 id=x>Title<a class=headerlink href=#x>&para;</a></h2>", None),
        ("<H2 ID=x>Title</H2>", '<H2 ID=x>Title<a href="#x"></a></H2>'),
        ('<h2 id="x"><a class="toclink" href="#x">Title</a></h2>', None),
        ('<h2 id="x"><a href="/other/#x">Title</a></h2>', None),
        (
            '<h2 id="x"><a href="#y">Title</a></h2>',
            '<h2 id="x"><a href="#y">Title</a><a href="#x"></a></h2>',
        ),
        ('<h2 id="ü.ö">Title<a href="#%C3%BC.%C3%B6">&para;</a></h2>', None),
        ('<h2 id="ü.ö">T</h2>', '<h2 id="ü.ö">T<a href="#%C3%BC.%C3%B6"></a></h2>'),
        ('<h2 id="made">Title</h2>', None),
        ("<h2>Title</h2>", None),
        (
            '<h2 id="x">One</h2><h3 id="x">Two</h3>',
            '<h2 id="x">One<a href="#x"></a></h2><h3 id="x">Two</h3>',
        ),
        ('<!-- <h2 id="x">No</h2> -->', None),
        ('<script>"<h2 id=x>No</h2>"</script>', None),
        ('<p title="<h2 id=x>No</h2>">Text</p>', None),
        ('<textarea><h2 id="x">No</h2></textarea>', None),
        ('<iframe><h2 id="x">No</h2></iframe>', None),
        ('<!-- <h2 id="x">never ended</h2>', None),
        ('<h2 id="x">Never ended', None),
        (
            '<h2 id="x">Ended by <h3 id="y">another</h3>',
            '<h2 id="x">Ended by <a href="#x"></a><h3 id="y">another<a href="#y"></a></h3>',
        ),
        ("""<h2 id="x'">T</h2>""", """<h2 id="x'">T<a href="#x&#x27;"></a></h2>"""),
        (
            """<h2 id='"x"'>T<a href="#x"></a></h2>""",
            """<h2 id='"x"'>T<a href="#x"></a><a href="#%22x%22"></a></h2>""",
        ),
        ('<script>never ended <h2 id="x">', None),
    ],
)
def test_a_plain_link_stands_where_there_is_no_permalink(before: str, after: str | None) -> None:
    found = complete(before, slugs=frozenset({"made"}))
    assert found.partition("hidden></span>")[2] == (before if after is None else after)


@pytest.mark.parametrize(
    ("region", "words"),
    [
        ("<p>Text</p>", ""),
        ("<h1 id=page>T</h1><h2 id=a>A</h2>", ""),
        ("<h1>T</h1><h2 id=a>A</h2>", ""),
        ("<h1 id=own>T</h1><h2 id=a>A</h2>", " ^"),
        ("<h1 id=page>T</h1><h2 id=made>M</h2><h2 id=a-long-one>A</h2>", " -made"),
        ("<h1 id=page>T</h1><h2 id=made>M</h2><h2 id=a>A</h2>", " + +a"),
        ("<h1 id=page>T</h1><h2 id=made>M</h2>", " +"),
        ("<h2 id=a>A</h2><h1 id=page>T</h1><h1 id=made>T</h1><h2 id=b>B</h2>", " -made"),
        ('<p id="stay-b1">T</p><p id=stay-b2>T</p><p id=stay-c>T</p>', " -stay-b2 -stay-c"),
        ("<h2 id=stay-here>T</h2>", ""),
        ('<h2 id="a b">A</h2><h2 id="made">M</h2><h2 id="page">P</h2>', " + +a\tb"),
    ],
)
def test_a_page_tells_which_places_are_none(region: str, words: str) -> None:
    stays = {"b1": StayPlace("a", 1, True), "b2": StayPlace("a", 2, False)}
    slugs = frozenset({"page", "made"})
    assert told(region, slugs=slugs, stays=stays, lines={"stay-here": 1}) == f"a/b{words}"


@pytest.mark.parametrize(
    ("page_id", "url", "directory_urls", "words"),
    [
        ("index", "", True, "index"),
        ("guide/install", "guide/install/", True, "guide/install"),
        ("guide/install", "de/guide/install/", True, "guide/install =de/guide/install/"),
        ("old", "new/", True, "old =new/"),
        ("old", "", True, "old ="),
        ("index", "index.html", False, "index"),
        ("guide", "guide/index.html", False, "guide =guide/index.html"),
        ('a"<&', "a/", True, "a&quot;&lt;&amp; =a/"),
        ("my page", "my%20page/", True, "my\tpage =my%20page/"),
    ],
)
def test_a_page_tells_its_id_and_the_url_that_it_does_not_give(
    page_id: str, url: str, directory_urls: bool, words: str
) -> None:
    report = PageReport("a.md", "a", "a.md", "en", page_id=page_id)
    site = CitedSite("Site", "", "", (), directory_urls)
    html = complete_page(BEGIN + END, url, report, site)
    assert html == f'<span data-markstay-begin="{words}" hidden></span>{END}'
    assert (derive_url(page_id, directory_urls=directory_urls) == url) == ("=" not in words)


@pytest.mark.parametrize(
    "mark",
    [
        "<span data-markstay-begin hidden></span>",
        '<span data-markstay-begin="" hidden=""></span>',
        "<span hidden data-markstay-begin></span>",
    ],
)
def test_the_mark_of_a_minified_page_is_still_found(mark: str) -> None:
    region = '<h2 id="x">Title</h2><p>Text'
    report = PageReport("a.md", "a", "a.md", "en", page_id="a")
    html = complete_page(f"<body>{mark}{region}{END}", "a/", report, SITE)
    assert 'data-markstay-begin="a"' in html
    found = find_region(html)
    assert found is not None
    # To the reader of text the page is the same.
    assert extract(found, {"x"}, FURNITURE) == extract(region, {"x"}, FURNITURE)


@pytest.mark.parametrize(
    "html",
    [
        "<p>No marks</p>",
        f'{BEGIN}<div id="mkdocs-encrypted-content">mkdocs-encrypted</div>{END}',
    ],
)
def test_what_cannot_be_read_stays_as_it_is(html: str) -> None:
    report = PageReport("a.md", "a", "a.md", "en", page_id="a")
    assert complete_page(html, "a/", report, SITE) == html


def test_the_script_is_called_with_what_it_has_to_know() -> None:
    site = CitedSite('A "site" </script>', "2.0", "https://docs.example.org/", ("nav",), True, True)
    script = write_script(site)
    value = script[script.rindex("({") + 1 : script.rindex(")")]
    assert json.loads(value) == {
        "name": 'A "site" </script>',
        "version": "2.0",
        "url": "https://docs.example.org/",
        "furniture": ["nav"],
        "directories": True,
        "blocks": True,
    }


def test_script_and_style_need_nothing_that_a_strict_policy_forbids() -> None:
    script, style = write_script(SITE), write_style()
    assert not re.search(r"\beval\b|new Function|innerHTML|setAttribute\(.style|\bfetch\b", script)
    assert not re.search(r"url\(|@import|http", style)
    # But for the name of a namespace, no address stands in it.
    assert re.findall(r"https?://[^\"]*", script) == [
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/2000/svg",
        "https://docs.example.org/",
    ]


FILES: dict[str, str | bytes] = {
    "docs/index.md": "# Home\n\nText.\n\n## One <#one>\n\nOne.\n<!-- stay:a1 -->\n",
    "docs/guide/install.md": "# Install <#install>\n\nText.\n\n## Two <#two>\n\nTwo.\n",
    "docs/left.md": "---\nmarkstay: false\n---\n# Left\n\n## Three <#three>\n",
    "docs/drafts/out.md": "# Out\n\n## Four <#four>\n",
}
MKDOCS = {"name": "mkdocs", "highlightjs": False}


def build(folder: Path, cite: bool, **options: Any) -> Built:
    plugin = {"cite": cite, "stay_anchors": True, "exclude": ["drafts/"], "verify": True, **options}
    config = {"theme": MKDOCS, "plugins": ["search", {"markstay": plugin}]}
    with careless_plugins():
        built = build_site(folder, Site(FILES, ("attr_list",), config=config))
    assert built.passed, built.log
    assert built.findings == []
    return built


def read_files(built: Built) -> dict[str, bytes]:
    site = built.folder / "site"
    return {
        path.relative_to(site).as_posix(): path.read_bytes()
        for path in site.rglob("*")
        if path.is_file() and path.name != "sitemap.xml.gz"
    }


OURS = re.compile(
    rb'\s*<(?:link href="[./]*assets/markstay/cite.css" rel="stylesheet"|script'
    rb' src="[./]*assets/markstay/cite.js" defer></script)>'
)


def settle(html: bytes) -> bytes:
    """Leave out what a theme makes of the time, and of the lines in which nothing stands."""
    return re.sub(rb"Build Date UTC : .*|\s+", b" ", html)


def test_nothing_but_pages_changes_and_these_only_in_what_is_ours(tmp_path: Path) -> None:
    off = read_files(build(tmp_path / "off", cite=False))
    on = read_files(build(tmp_path / "on", cite=True))
    assert on.keys() - off.keys() == {"assets/markstay/cite.css", "assets/markstay/cite.js"}
    assert off.keys() <= on.keys()
    changed = {name for name in off if off[name] != on[name]}
    assert changed == {name for name in off if name.endswith(".html")}
    completed = {
        "index.html": (b"index", b"one"),
        "guide/install/index.html": (b"guide/install ^", b"install", b"two"),
        "left/index.html": (b"",),
        "drafts/out/index.html": (b"",),
        "404.html": (b"",),
    }
    for name in changed:
        words, *linked = completed[name]
        bare = OURS.sub(b"", on[name])
        for each in linked:
            link = b'<a href="#%s"></a></h' % each
            assert bare.count(link) == 1
            bare = bare.replace(link, b"</h")
        bare = bare.replace(b'data-markstay-begin="%s"' % words, b"data-markstay-begin")
        assert settle(bare) == settle(off[name]), name


def test_a_build_without_it_publishes_nothing_of_it(tmp_path: Path) -> None:
    files = read_files(build(tmp_path, cite=False))
    assert not any(b"markstay/cite" in text for text in files.values())
    assert not any(name.startswith("assets/markstay") for name in files)


def test_a_second_build_in_one_process_names_the_files_once(tmp_path: Path) -> None:
    build(tmp_path, cite=True)
    html = build(tmp_path, cite=True).html("guide/install/index.html")
    assert html.count("../../assets/markstay/cite.js") == 1
    assert html.count("../../assets/markstay/cite.css") == 1


def test_every_language_has_its_own_urls_and_one_script(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs_static_i18n")
    languages = [
        {"locale": "en", "default": True, "name": "English"},
        {"locale": "de", "name": "Deutsch", "site_name": "Handbuch"},
    ]
    i18n = {"i18n": {"docs_structure": "suffix", "languages": languages}}
    files: dict[str, str | bytes] = {
        "docs/index.md": "# Home\n\n## One <#one>\n\nOne.\n",
        "docs/index.de.md": "# Anfang\n\n## Eins <#one>\n\nEins.\n",
    }
    config = {"theme": MKDOCS, "plugins": [i18n, {"markstay": {"cite": True, "verify": True}}]}
    with careless_plugins():
        built = build_site(tmp_path, Site(files, config=config))
    assert built.passed, built.log
    assert 'data-markstay-begin="index"' in built.html("index.html")
    html = built.html("de/index.html")
    assert 'data-markstay-begin="index =de/"' in html
    assert 'src="../assets/markstay/cite.js"' in html
    assert (tmp_path / "site/assets/markstay/cite.js").read_text("utf-8").count(
        '"name": "Test"'
    ) == 1
    assert not (tmp_path / "site/de/assets/markstay").exists()


def test_generated_pages_are_cited_as_the_manifest_has_them(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs_gen_files")
    script = (
        "import mkdocs_gen_files\n"
        "with mkdocs_gen_files.open('made.md', 'w') as f: f.write('# Made\\n\\n## Slug\\n\\nText.\\n\\n"
        "## Section {#own}\\n\\nText.\\n')\n"
    )
    files = {"docs/index.md": "# Home\n", "make.py": script}
    plugins = [{"gen-files": {"scripts": ["make.py"]}}, {"markstay": {"cite": True}}]
    site = Site(files, ("attr_list",), config={"theme": MKDOCS, "plugins": plugins})
    with careless_plugins():
        built = build_site(tmp_path, site)
    assert built.passed, built.log
    assert built.manifest is not None
    assert [each["referent"] for each in built.manifest["sections"]] == ["made#own"]
    html = built.html("made/index.html")
    assert 'data-markstay-begin="made -slug"' in html
    assert '<h2 id="slug">Slug</h2>' in html
    assert '<h2 id="own">Section<a href="#own"></a></h2>' in html
