"""Links to addresses that changed. Small sites, and what comes of them, are in `links/`.

A case is a site and what becomes of its links. Its fields:

- ``id``, ``note``: its name, and the behaviour that it holds in one sentence.
- ``files``: path -> text, written byte for byte. ``extensions``, ``plugins``, ``config``: as in
  ``mkdocs.yml``.
- ``changed``: old address -> new address, or null for what is gone.
- ``moved``: files that have moved already, old path -> new path: the links are found after that.
- ``lines``: `path:line` -> the line as it becomes. Every other byte of the site stays.
- ``left``: what is for a person to change: `path:line old address`, or a list of that and of a
  part of what is said.
- ``returns``: False if there is no way back, as two addresses became one, or spellings one.
- ``settles``: False if what is written could be changed again, as in a swap.

What is promised of every site is checked of every case: see `check`.
"""

from __future__ import annotations

import posixpath
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mkdocs.config.config_options import Hooks
from site_builder import Site, run_mkdocs, working_in, write_site

from mkdocs_markstay.inspection import Inspection
from mkdocs_markstay.link_addresses import DocsAddress, find_new
from mkdocs_markstay.link_site import SiteLinks, find_left, find_site_links, make_addresses
from mkdocs_markstay.plugin import inspect_site
from mkdocs_markstay.verify import verify_site

if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDER = Path(__file__).parent / "links"
CASES = [
    case for path in sorted(FOLDER.glob("*.yml")) for case in yaml.safe_load(path.read_bytes())
]
FIELDS = {"id", "note", "files", "extensions", "plugins", "config", "changed", "moved", "lines"}
FIELDS |= {"left", "returns", "settles"}
Changed = dict[DocsAddress, "DocsAddress | None"]


def address(text: str) -> DocsAddress:
    return DocsAddress(*text.split("#"))


def read_changed(values: Mapping[str, str | None]) -> Changed:
    return {address(old): new if new is None else address(new) for old, new in values.items()}


def read_files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def find(folder: Path, changed: Changed) -> SiteLinks:
    with working_in(folder):
        return find_site_links("mkdocs.yml", changed, inspect_site)


def write(folder: Path, links: SiteLinks) -> None:
    for file in links.files:
        assert (folder / file.path).read_bytes() == file.old
        (folder / file.path).write_bytes(file.new)


def move(folder: Path, old: str, new: str) -> None:
    (folder / new).parent.mkdir(parents=True, exist_ok=True)
    (folder / old).rename(folder / new)


def inspect(folder: Path) -> Inspection:
    run = Inspection(keep=True)
    with working_in(folder):
        inspect_site("mkdocs.yml", run)
    return run


def left_in(folder: Path, changed: Changed) -> set[DocsAddress]:
    """Collect the old addresses that links in the rendered pages still lead to."""
    run = inspect(folder)
    return {left.old for left in find_left(run.rendered, changed, make_addresses(run, changed))}


def change(lines: Mapping[str, str], files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Give the files with other lines; their ends stay."""
    result = dict(files)
    for place, line in lines.items():
        path, _, number = place.rpartition(":")
        parts = re.split(rb"(\r\n|\n|\r)", result[path])
        parts[2 * int(number) - 2] = line.encode()
        result[path] = b"".join(parts)
    return result


# -- cases


@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in CASES])
def test_case(case: dict[str, Any], tmp_path: Path) -> None:
    assert case.keys() <= FIELDS
    site = Site(
        case["files"],
        tuple(case.get("extensions", ())),
        config={
            "plugins": [{"markstay": {"levels": [], "parity": "off"}}, *case.get("plugins", ())],
            **case.get("config", {}),
        },
    )
    write_site(tmp_path, site)
    for old, new in case.get("moved", {}).items():
        move(tmp_path, old, new)
    changed = read_changed(case["changed"])
    check(tmp_path, case, changed)


def check(folder: Path, case: dict[str, Any], changed: Changed) -> None:
    before = read_files(folder)
    pages = {page.report.key: page.html for page in inspect(folder).rendered}
    links = find(folder, changed)
    assert read_files(folder) == before
    write(folder, links)
    after = read_files(folder)
    assert after == change(case.get("lines", {}), before)
    told = [f"{left.path}:{left.line} {left.old}" for left in links.left]
    expected = [entry if isinstance(entry, list) else [entry, ""] for entry in case.get("left", [])]
    assert told == [entry for entry, _ in expected]
    for left, (_, part) in zip(links.left, expected, strict=True):
        assert part in str(left)
        assert left.new == find_new(changed, left.old)
    if not case.get("settles", True):
        return
    # Doing it twice is the same as doing it once.
    again = find(folder, changed)
    assert (again.files, again.left) == ([], links.left)
    # In the rendered site, nothing leads to an old address but what was told of.
    assert left_in(folder, changed) == {left.old for left in links.left}
    # Nothing but destinations is another than before.
    for page in inspect(folder).rendered:
        assert _blank(page.html) == _blank(pages[page.report.key])
    # And it can be taken back.
    back: Changed = {new: old for old, new in changed.items() if new is not None}
    if len(back) == len(changed) and not links.left and case.get("returns", True):
        write(folder, find(folder, back))
        assert read_files(folder) == before


def _blank(html: str) -> str:
    html = re.sub(r">https?://[^<]*</a>", "></a>", html)  # addresses that are their own text
    return re.sub(
        r"""((?:href|src)\s*=\s*)("[^"]*"|'[^']*'|[^\s>]+)""", r"\1", html, flags=re.IGNORECASE
    )


# -- any site

PAGES = {
    "index.md": "",
    "guide/a.md": "guide/a/",
    "guide/b.md": "guide/b/",
    "x/index.md": "x/",
}
URL = "https://docs.example.org/base/"
LINKS = (
    "[t]({})",
    '[t]({} "T (t)") [t][no]',
    "![i](<{}>)",
    "<a class=x href='{}'>x</a>",
    '<div><a title="t" href="{}">x</a></div>',
    "- [*e* `]`]({} 'T')\n    - [t]( {} )",
    "> text [q]({})\n> > [q]({})",
    "| a | b |\n|---|---|\n| [t]({}) | `x` |",
    '!!! note "t"\n    [t]({})',
    "[d%][]\n\n[d%]: {} 'T'",
    "## T [t]({}) <#h%>",
)
"""Texts with links; with `%` being a number of their own."""
DECOYS = (
    "`[t]({})`",
    "\\[t]({})",
    "```\n[t]({})\n```",
    "<!-- [t]({}) <a href='{}'> -->",
    "text\n\n    [t]({})",
    "[never%]: {}",
    "[t] ({})",
    "<a data-href='{}'>x</a>",
    "[t](https://other.example.org/{}) [t](mailto:x@example.org?{})",
)
_addresses = st.builds(
    DocsAddress, st.sampled_from(list(PAGES)), st.sampled_from(["s", "t", "ü.1"])
)
_styles = st.sampled_from(["source", "url", "docs", "path", "site"])
_blocks = st.tuples(st.sampled_from([*LINKS, *DECOYS]), _addresses, _styles)
_sites = st.fixed_dictionaries({page: st.lists(_blocks, max_size=5) for page in PAGES})
_TRIES = settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def spell(page: str, to: DocsAddress, style: str) -> str:
    """Spell an address, without anything of ours."""
    url = PAGES[to.source]
    relative = posixpath.relpath("/" + url, "/" + PAGES[page])
    path = {
        "source": posixpath.relpath(to.source, posixpath.dirname(page) or "."),
        "url": f"{relative}/",
        "docs": f"/{to.source}",
        "path": f"/base/{url}",
        "site": URL + url,
    }[style]
    return f"{path}#{to.fragment}"


def fill(page: str, blocks: list[tuple[str, DocsAddress, str]], now: Changed) -> str:
    """Write a page in which links lead to other addresses, and nothing else does."""
    texts = [f"# {page}"]
    for number, (text, to, style) in enumerate(blocks):
        new = (now.get(to) or to) if text in LINKS else to
        texts.append(text.replace("%", str(number)).replace("{}", spell(page, new, style)))
    return "\n\n".join(texts) + "\n"


@_TRIES
@given(_sites, st.dictionaries(_addresses, st.sampled_from(list(PAGES))), st.sampled_from("\n\r"))
def test_any_site(
    pages: dict[str, list[tuple[str, DocsAddress, str]]], moves: dict[DocsAddress, str], end: str
) -> None:
    """What a person would write is written, and there is a way back to the same bytes."""
    changed: Changed = {
        old: DocsAddress(page, f"new{number}") for number, (old, page) in enumerate(moves.items())
    }
    end = end.replace("\r", "\r\n")
    before, after = (
        {
            f"docs/{page}": fill(page, blocks, now).replace("\n", end).encode()
            for page, blocks in pages.items()
        }
        for now in ({}, changed)
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        config = {"site_url": URL, "plugins": [{"markstay": {"levels": [2]}}]}
        extensions = ("admonition", "tables", "fenced_code")
        write_site(folder, Site({**before}, extensions, config=config))
        links = find(folder, changed)
        write(folder, links)
        assert {path: (folder / path).read_bytes() for path in after} == after
        assert links.left == []
        assert left_in(folder, changed) == set()
        write(folder, find(folder, {new: old for old, new in changed.items() if new is not None}))
        assert {path: (folder / path).read_bytes() for path in before} == before


# -- built sites

STRICT = {"validation": {"links": {"anchors": "warn", "unrecognized_links": "warn"}}}


def test_mkdocs_finds_no_broken_link_afterwards(tmp_path: Path) -> None:
    """A section is renamed and a page moved: MkDocs, which checks links itself, has no warning."""
    files: dict[str, str | bytes] = {
        "docs/index.md": "# Home\n\n[a](guide/a.md#s) [b](guide/b.md) [b](guide/b.md#u 'T')\n",
        "docs/guide/a.md": "# A\n\n[TOC]\n\n## S <#s>\n\n[s](#s) [u][u]\n\n[u]: b.md#u\n",
        "docs/guide/b.md": "# B\n\n## U <#u>\n\n[u](#u) [s](a.md#s) `a.md#s`\n",
    }
    config = {"site_url": URL, "theme": {"name": "mkdocs"}, **STRICT}
    write_site(tmp_path, Site(files, ({"toc": {"permalink": True}},), config=config))
    before = run_mkdocs(tmp_path, "--strict")
    assert before.passed, before.log
    pages = before.pages()
    move(tmp_path, "docs/guide/b.md", "docs/guide/c.md")
    page = tmp_path / "docs" / "guide" / "a.md"
    page.write_bytes(page.read_bytes().replace(b"<#s>", b"<#renamed>"))
    assert not run_mkdocs(tmp_path, "--strict").passed
    changed = {"guide/a.md#s": "guide/a.md#renamed", "guide/b.md": "guide/c.md"}
    links = find(tmp_path, read_changed(changed))
    assert [len(file.links) for file in links.files] == [2, 1, 3]
    assert links.left == []
    write(tmp_path, links)
    after = run_mkdocs(tmp_path, "--strict")
    assert after.passed, after.log
    assert verify_site(tmp_path / "site") == []
    # Else the site is what it was.
    pages["guide/c/index.html"] = pages.pop("guide/b/index.html").replace("u/b", "u/c")
    for path, html in after.pages().items():
        assert _without_dates(html) == _without_dates(
            pages[path]
            .replace('id="s"', 'id="renamed"')
            .replace('#s"', '#renamed"')
            .replace("guide/b/", "guide/c/")
            .replace("../b/", "../c/")
        )


def _without_dates(html: str) -> str:
    return re.sub(r"Build Date UTC : .*", "", html)


def test_pages_of_several_languages(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "docs/index.md": "# Home\n\n[a](a.md#s)\n",
        "docs/index.de.md": "# Start\n\n[a](a.md#s) [b](b.md#s)\n",
        "docs/a.md": "# A\n",
        "docs/a.de.md": "# A\n",
        "docs/b.md": "# B\n\n[a](a.md#s)\n",
    }
    languages = [{"locale": "en", "name": "E", "default": True}, {"locale": "de", "name": "D"}]
    plugins = [{"markstay": {"parity": "off"}}, {"i18n": {"languages": languages}}]
    write_site(tmp_path, Site(files, config={"plugins": plugins}))
    changed = {f"{page}#s": f"{page}#t" for page in ("a.md", "a.de.md")}
    links = find(tmp_path, read_changed(changed))
    assert links.left == []
    lines = {"index.md:3": "[a](a.md#t)", "b.md:3": "[a](a.md#t)"}
    lines["index.de.md:3"] = "[a](a.md#t) [b](b.md#s)"
    expected = change({f"docs/{at}": line for at, line in lines.items()}, read_files(tmp_path))
    write(tmp_path, links)
    assert read_files(tmp_path) == expected
    assert left_in(tmp_path, read_changed(changed)) == set()


# -- what may go wrong

LINK = "# Home\n\n[x](a.md#s)\n"
CHANGED: Changed = {DocsAddress("a.md", "s"): DocsAddress("a.md", "t")}


def hook(folder: Path, code: str, **files: str) -> SiteLinks:
    """Find the links of a site with a hook."""
    texts = {f"docs/{name}.md": text for name, text in files.items()}
    config = {"hooks": ["hook.py"]}
    write_site(folder, Site({"docs/a.md": "# A\n", "hook.py": code, **texts}, config=config))
    Hooks._load_hook.cache_clear()  # MkDocs loads each hook once for a process
    return find(folder, CHANGED)


def told(links: SiteLinks) -> list[str]:
    return [f"{left.path}:{left.line} {left}" for left in links.left]


def test_page_of_which_more_would_change_is_left(tmp_path: Path) -> None:
    code = "def on_page_content(html, **_): return html + str(html.count('#t'))"
    links = hook(tmp_path, code, index=LINK, b=LINK.replace("#s", "#u"))
    assert links.files == []
    (text,) = told(links)
    assert text == (
        "docs/index.md:3 a link leads to a.md#s: with the new destination, docs/index.md would be"
        " rendered differently in more than the link. Let it lead to a.md#t"
    )


def test_page_that_never_stays_the_same_is_compared_by_its_links(tmp_path: Path) -> None:
    code = "import uuid\ndef on_page_content(html, **_): return html + uuid.uuid4().hex"
    links = hook(tmp_path, code, index=LINK, b="# B\n")
    assert ([file.path for file in links.files], links.left) == (["docs/index.md"], [])


def test_link_that_a_plugin_makes_is_told_of(tmp_path: Path) -> None:
    code = "def on_page_content(html, **_): return html + '<a href=\"../a/#s\">x</a>'"
    links = hook(tmp_path, code, b="# B\n", c="# C\n\n`[x](a.md#s)`\n")
    assert links.files == []
    assert [(left.path, left.line) for left in links.left] == [
        ("docs/a.md", 1),
        ("docs/b.md", 1),
        ("docs/c.md", 1),
    ]


def test_links_of_made_pages_come_from_others(tmp_path: Path) -> None:
    code = """
from mkdocs.structure.files import File
def on_files(files, config):
    files.append(File.generated(config, "made.md", content="# M\\n\\n[x](a.md#s)\\n"))
"""
    links = hook(tmp_path, code, index=LINK)
    assert ([file.path for file in links.files], links.left) == (["docs/index.md"], [])
    (text,) = told(hook(tmp_path, code, index="# Home\n"))
    assert text == (
        "made.md:1 a link leads to a.md#s: the link does not stand in a file as it is: a macro, a"
        " plugin or code makes it. Let it lead to a.md#t"
    )


def test_file_that_may_not_be_written_is_left(tmp_path: Path) -> None:
    write_site(tmp_path, Site({"docs/index.md": LINK, "docs/a.md": "# A\n"}))
    (tmp_path / "docs" / "index.md").chmod(0o444)
    links = find(tmp_path, CHANGED)
    assert links.files == []
    (text,) = told(links)
    assert text == (
        "docs/index.md:1 a link leads to a.md#s: the file docs/index.md is read-only."
        " Let it lead to a.md#t"
    )


def test_file_outside_of_the_project_is_left(tmp_path: Path) -> None:
    (tmp_path / "part.md").write_text("[x](a.md#s)\n")
    site = tmp_path / "site"
    files: dict[str, str | bytes] = {
        "docs/index.md": "# Home\n\n--8<-- '../part.md'\n",
        "docs/a.md": "# A\n",
    }
    snippets = {"pymdownx.snippets": {"restrict_base_path": False}}
    write_site(site, Site(files, (snippets,)))
    links = find(site, CHANGED)
    assert links.files == []
    assert "the file ../part.md is outside the folder of the site" in told(links)[0]


def test_site_without_such_links_is_rendered_once(tmp_path: Path) -> None:
    write_site(tmp_path, Site({"docs/index.md": "# Home\n\n[x](a.md)\n", "docs/a.md": "# A\n"}))
    runs = []

    def count(*args: Any, **kwargs: Any) -> None:
        runs.append(args)
        inspect_site(*args, **kwargs)

    with working_in(tmp_path):
        links = find_site_links("mkdocs.yml", CHANGED, count)
    assert (links.files, links.left, len(runs)) == ([], [], 1)
