"""Markers written below the blocks of whole sites, refreshed, and repaired.

In the texts of the cases, a line ``M`` is a new marker. What is promised of every site is
checked of every case: see `check`.
"""

from __future__ import annotations

import os
import re
from itertools import chain, repeat
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from site_builder import Built, Site, build_site, run_markstay, working_in, write_site

from mkdocs_markstay.plugin import inspect_site
from mkdocs_markstay.stay_stamping import MINT, REPAIR, StayOptions, stamp_stays

if TYPE_CHECKING:
    from collections.abc import Mapping

    from site_builder import Ran

_MARKER = re.compile(rb"<!-- stay:[A-Za-z0-9]{8} hash=sha256:[0-9a-f]{12} -->")
_EXTENSIONS: tuple[str | dict[str, Any], ...] = (
    "admonition",
    "tables",
    "md_in_html",
    "attr_list",
    "def_list",
    "footnotes",
    "pymdownx.superfences",
    "pymdownx.details",
    "pymdownx.blocks.admonition",
    {"pymdownx.snippets": {"base_path": ["docs", "parts"]}},
)
_PLUGIN: dict[str, Any] = {"levels": []}


def site_of(files: Mapping[str, str | bytes], **plugin: Any) -> Site:
    return Site(files, _EXTENSIONS, {**_PLUGIN, **plugin})


def stamp(folder: Path, *arguments: str) -> Ran:
    return run_markstay(folder, "stamp", "--stays", *arguments)


def sources(folder: Path) -> dict[str, bytes]:
    """Read the sources, each new marker being an M."""
    found = chain(folder.glob("docs/**/*.md"), folder.glob("parts/*.md"))
    return {
        path.relative_to(folder).as_posix(): _MARKER.sub(b"M", path.read_bytes()) for path in found
    }


def pages(built: Built) -> dict[str, str]:
    assert built.passed, built.log
    return built.pages()


def ids_of(built: Built) -> set[str]:
    """Collect the ids of all markers in the manifest."""
    assert built.manifest is not None
    blocks = [block for each in built.manifest["passages"] for block in each["blocks"]]
    found = (*blocks, *built.manifest["sections"], *built.manifest["pages"])
    return {each["stay"] for each in found if each.get("stay")}


# -- which blocks get a marker


TEXTS = {
    "paragraphs and lists": ("# T\n\nOne.\n\n- a\n- b\n", "# T\n\nOne.\nM\n\n- a\n- b\nM\n"),
    "a heading alone": ("# T\n\n## S <#s>\n\nOne.\n", "# T\n\n## S <#s>\n\nOne.\nM\n"),
    "a heading with text below it": ("# T\n## S\nOne.\n", "# T\n## S\nOne.\nM\n"),
    "what becomes nothing": (
        "One [a].\n\n---\n\n[a]: https://docs.example.org\n\n<!-- note -->\n\nTwo.\n",
        "One [a].\nM\n\n---\n\n[a]: https://docs.example.org\n\n<!-- note -->\n\nTwo.\nM\n",
    ),
    "an admonition": (
        '!!! note "N"\n\n    One.\n\n    Two.\n\nEnd.\n',
        '!!! note "N"\nM\n\n    One.\nM\n\n    Two.\nM\n\nEnd.\nM\n',
    ),
    "an admonition without a title": (
        "!!! note\n\n    One.\n\nEnd.\n",
        "!!! note\n\n    One.\nM\n\nEnd.\nM\n",
    ),
    "a block of pymdownx": (
        "/// note | N\n\nOne.\n\n///\n\nEnd.\n",
        "/// note | N\nM\n\nOne.\nM\n\n///\n\nEnd.\nM\n",
    ),
    "raw HTML with Markdown in it": (
        '<div markdown="1">\n\nOne.\n\n</div>\n',
        '<div markdown="1">\n\nOne.\nM\n\n</div>\n',
    ),
    "tables, definitions, footnotes": (
        "One.[^1]\n\n| a |\n|---|\n| 1 |\n\nWord\n:   Sense\n\n[^1]: Note.\n",
        "One.[^1]\nM\n\n| a |\n|---|\n| 1 |\nM\n\nWord\n:   Sense\nM\n\n[^1]: Note.\nM\n",
    ),
    "some are there": (
        "One.\n<!-- stay:a -->\n\nTwo.\n\nThree.\n\n<!-- stay:c -->\n",
        "One.\n<!-- stay:a -->\n\nTwo.\nM\n\nThree.\n\n<!-- stay:c -->\n",
    ),
    "the same text": ("One.\n\nOne.\n\nOne.\n", "One.\nM\n\nOne.\nM\n\nOne.\nM\n"),
    "code": ("```\na\nb\n```\n\nOne.\n", "```\na\nb\n```\nM\n\nOne.\nM\n"),
    "code with empty lines, where none can stand": (
        "One.\n\n```\na\n\nb\n```\n",
        "One.\nM\n\n```\na\n\nb\n```\n",
    ),
    "such code in a list": (
        "- a\n\n    ```\n    b\n\n    c\n    ```\n",
        "- a\nM\n\n    ```\n    b\n\n    c\n    ```\n",
    ),
    "front matter": (
        "---\ntitle: T\nlist:\n\n- a\n---\n\n\nOne.\n",
        "---\ntitle: T\nlist:\n\n- a\n---\n\n\nOne.\nM\n",
    ),
    "rules that look like front matter": (
        "---\n\nOne.\n\n---\n\nTwo.\n",
        "---\n\nOne.\nM\n\n---\n\nTwo.\nM\n",
    ),
    "no line end": ("One.\n\nTwo.", "One.\nM\n\nTwo.\nM"),
    "one line": ("One.", "One.\nM"),
    "CRLF": ("---\r\ntitle: T\r\n---\r\n\r\nOne.\r\n\r\nTwo.", "---\r\ntitle: T\r\n---\r\n\r\nOne.\r\nM\r\n\r\nTwo.\r\nM"),
    "CR": ("One.\r\rTwo.\r", "One.\rM\r\rTwo.\rM\r"),
    "mixed line ends": ("One.\r\n\nTwo.\n", "One.\r\nM\r\n\nTwo.\nM\n"),
    "a byte order mark": ("\ufeffOne.\n", "\ufeffOne.\nM\n"),
    "other white space": ("One.\u2028 a\x0b\n \t\nTwo.\n", "One.\u2028 a\x0b\nM\n \t\nTwo.\nM\n"),
    "tabs": ("-\ta\n\t\n\tb\n\n```\n\tc\n```\n", "-\ta\nM\n\t\n\tb\nM\n\n```\n\tc\n```\nM\n"),
    "nothing": ("# T\n", "# T\n"),
}  # fmt: skip

LEFT: dict[str, tuple[str, str, list[str]]] = {
    "no marker, but nearly": (
        "One.\n<!-- stay: a -->\n\nTwo.\n",
        "One.\n<!-- stay: a -->\n\nTwo.\nM\n",
        ["docs/index.md:1 warning not-stamped"],
    ),
    "a marker in code that markstay takes for one": (
        "Two.\n\n    <!-- stay:a -->\n\nOne.\n",
        "Two.\n\n    <!-- stay:a -->\n\nOne.\nM\n",
        ["docs/index.md:1 warning not-stamped"],
    ),
}


def check(folder: Path, site: Site, wanted: Mapping[str, str], told: list[str]) -> None:
    """Stamp a site, and check what is promised of all sites."""
    before = pages(build_site(folder, site))
    first = sources(folder)
    ran = stamp(folder)
    assert sources(folder) == first, "only --write writes"
    assert ran.out.count("\n+") >= sum(text.count("M") for text in wanted.values())
    ran = stamp(folder, "--write")
    after = sources(folder)
    assert {name: text.decode() for name, text in after.items()} == {
        **{name: text.decode() for name, text in first.items()},
        **wanted,
    }
    assert (ran.places, ran.code) == (told, bool(told))
    written = {name: (folder / name).read_bytes() for name in after}
    ids = [each for text in written.values() for each in re.findall(rb"stay:(\w{8}) ", text)]
    assert len(set(ids)) == len(ids)
    again = stamp(folder, "--write")
    # Lines have moved down, also those that include others.
    reasons = [[f.message.split(" (inserted")[0] for f in each.findings] for each in (ran, again)]
    assert reasons[0] == reasons[1]
    assert "0 markers in 0 files written" in again.err
    assert {name: (folder / name).read_bytes() for name in after} == written
    built = build_site(folder)
    assert pages(built) == before
    assert ids_of(built) >= {each.decode() for each in ids}


def test_texts(tmp_path: Path) -> None:
    # Each a page of one site: it is rendered six times.
    befores, afters = (
        {f"docs/{name.replace(' ', '-')}.md": texts[n] for name, texts in TEXTS.items()}
        for n in range(2)
    )
    check(tmp_path, site_of(befores), afters, [])
    write_site(tmp_path, site_of({}, stays="required"))
    assert run_markstay(tmp_path, "check").places == []


@pytest.mark.parametrize("case", LEFT)
def test_what_is_left(case: str, tmp_path: Path) -> None:
    before, after, told = LEFT[case]
    levels = {"stay-malformed": "warning"}
    site = site_of({"docs/index.md": before}, findings=levels)
    check(tmp_path, site, {"docs/index.md": after}, told)


_COMMONMARK = "One.\n\n```\na\n\nb\n```\n\n- a\n\n- b\n\n    ```\n    c\n\n    d\n    ```\n"


def test_commonmark(tmp_path: Path) -> None:
    after = "One.\nM\n\n```\na\n\nb\n```\nM\n\n- a\n\n- b\n\n    ```\n    c\n\n    d\n    ```\nM\n"
    site = site_of({"docs/index.md": _COMMONMARK}, stay_blocks="commonmark")
    check(tmp_path, site, {"docs/index.md": after}, [])


@pytest.mark.parametrize(
    "options",
    [{"stays": "off"}, {"stays": "required"}, {"stay_anchors": True}, {"keep_markers": True}],
    ids=str,
)
def test_options_of_the_site(options: dict[str, Any], tmp_path: Path) -> None:
    write_site(tmp_path, site_of({"docs/index.md": "# T\n\nOne.\n\n- a\n"}, **options))
    assert stamp(tmp_path, "--write").code == 0
    assert sources(tmp_path) == {"docs/index.md": b"# T\n\nOne.\nM\n\n- a\nM\n"}


_PIECES = (
    "One.",
    "# Title",
    "- a\n- b",
    "```\na\n\nb\n```",
    "    indented",
    "> quoted",
    "---",
    "!!! note\n\n    In it.",
    "<div>raw</div>",
    "[a]: https://docs.example.org",
    "<!-- stay:x -->",
    "| a |\n|---|\n| 1 |",
    "1. a\n\n    b",
    "`<!-- stay:y -->`",
)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(st.sampled_from(_PIECES), st.sampled_from(["\n", "\n\n"])), max_size=6),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(["blank-line", "commonmark"]),
)
def test_only_lines_are_added(pieces: list[tuple[str, str]], end: str, segmentation: str) -> None:
    raw = "".join(chain(*pieces)).replace("\n", end).encode()
    with TemporaryDirectory() as name, working_in(Path(name)):
        write_site(Path(name), site_of({"docs/index.md": raw}, stay_blocks=segmentation))
        first = stamp_stays("mkdocs.yml", StayOptions(()), inspect_site)
        for file in first.files:
            kept = re.sub(rb"\r?\n" + _MARKER.pattern, b"", file.new)
            assert (file.old, kept) == (raw, raw)
            assert len(_MARKER.findall(file.new)) == file.ids
        first.write()
        assert stamp_stays("mkdocs.yml", StayOptions(()), inspect_site).files == []


# -- files


def test_files_and_folders(tmp_path: Path) -> None:
    files = dict.fromkeys(("docs/index.md", "docs/a/b.md", "docs/a/c.md"), "One.\n")
    write_site(tmp_path, site_of(files))
    assert stamp(tmp_path, "docs/a/b.md", "--write").code == 0
    assert [name for name, text in sources(tmp_path).items() if b"M" in text] == ["docs/a/b.md"]
    assert stamp(tmp_path, "docs/a", "--write").err.startswith("1 marker in 1 file written")
    assert sources(tmp_path)["docs/index.md"] == b"One.\n"


def test_a_page_that_is_left_out_is_stamped_if_it_is_named(tmp_path: Path) -> None:
    site = site_of({"docs/index.md": "One.\n", "docs/draft.md": "One.\n"})
    write_site(tmp_path, Site(site.files, site.extensions, site.plugin, {"exclude_docs": "draft*"}))
    stamp(tmp_path, "--write")
    assert sources(tmp_path)["docs/draft.md"] == b"One.\n"
    stamp(tmp_path, "docs/draft.md", "--write")
    assert sources(tmp_path)["docs/draft.md"] == b"One.\nM\n"


def test_excluded_pages(tmp_path: Path) -> None:
    files = {"docs/index.md": "One.\n", "docs/a.md": "One.\n", "docs/b.md": "---\nmarkstay: false\n---\nOne.\n"}  # fmt: skip
    write_site(tmp_path, site_of(files, exclude=["a.md"]))
    ran = stamp(tmp_path, "docs/index.md", "docs/a.md", "--write")
    assert "docs/a.md is left out by the option exclude" in ran.err
    stamp(tmp_path, "--write")
    assert [name for name, text in sources(tmp_path).items() if b"M" in text] == ["docs/index.md"]


INCLUDED: dict[str, tuple[dict[str, str], dict[str, str], list[str]]] = {
    "once": (
        {"docs/index.md": 'One.\n\n--8<-- "part.md"\n', "parts/part.md": "Two.\n\nThree.\n"},
        {"docs/index.md": 'One.\nM\n\n--8<-- "part.md"\n', "parts/part.md": "Two.\nM\n\nThree.\nM\n"},
        [],
    ),
    "by two pages": (
        {
            "docs/index.md": '--8<-- "part.md"\n',
            "docs/other.md": '--8<-- "part.md"\n',
            "parts/part.md": "Two.\n",
        },
        {"parts/part.md": "Two.\nM\n"},
        [],
    ),
    "twice by a page": (
        {"docs/index.md": 'One.\n\n--8<-- "part.md"\n\n--8<-- "part.md"\n', "parts/part.md": "Two.\n"},
        {"docs/index.md": 'One.\nM\n\n--8<-- "part.md"\n\n--8<-- "part.md"\n'},
        ["parts/part.md:1 warning not-stamped"],
    ),
    "and shown as code": (
        {
            "docs/index.md": '--8<-- "part.md"\n',
            "docs/code.md": '```\n--8<-- "part.md"\n```\n',
            "parts/part.md": "Two.\n",
        },
        {},
        ["parts/part.md:1 warning not-stamped"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", INCLUDED)
def test_included_files(case: str, tmp_path: Path) -> None:
    files, after, told = INCLUDED[case]
    check(tmp_path, site_of(files), after, told)


def test_a_site_without_the_plugin_gets_no_markers(tmp_path: Path) -> None:
    write_site(tmp_path, Site({"docs/index.md": "One.\n"}, config={"plugins": []}))
    ran = stamp(tmp_path, "--write")
    assert (ran.code, sources(tmp_path)) == (2, {"docs/index.md": b"One.\n"})
    assert "Add it to the plugins first" in ran.err


def test_a_file_outside_the_project_is_left_alone(tmp_path: Path) -> None:
    site = tmp_path / "site"
    (tmp_path / "part.md").write_bytes(b"Two.\n")
    extensions = ({"pymdownx.snippets": {"base_path": [str(tmp_path)]}},)
    files = {"docs/index.md": 'One.\n\n--8<-- "part.md"\n'}
    write_site(site, Site(files, extensions, _PLUGIN))
    ran = stamp(site, "--write")
    assert (ran.code, ran.places) == (1, ["../part.md:1 error not-written"])
    assert "is outside the folder site. Write the markers where it belongs" in ran.out
    assert (tmp_path / "part.md").read_bytes() == b"Two.\n"
    assert sources(site) == {"docs/index.md": b'One.\nM\n\n--8<-- "part.md"\n'}


def test_ids_are_unlike_all_of_the_site(tmp_path: Path) -> None:
    files = {"docs/index.md": "One.\n\nTwo.\n", "docs/other.md": "Three.\n<!-- stay:a -->\n"}
    write_site(tmp_path, site_of({**files, "docs/left.md": "```\nstay:b\n```\n<!-- stay:c -->\n"}))
    made = chain("abc", repeat("d", 2), "ef")
    with working_in(tmp_path):
        options = StayOptions((Path("docs/index.md"),), MINT, made.__next__)
        (file,) = stamp_stays("mkdocs.yml", options, inspect_site).files
    assert re.findall(rb"stay:(\w+) ", file.new) == [b"d", b"e"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="may write all")
def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    write_site(tmp_path, site_of({"docs/index.md": "One.\n", "docs/other.md": "One.\n"}))
    (tmp_path / "docs/index.md").chmod(0o444)
    ran = stamp(tmp_path, "--write")
    assert ran.places == ["docs/index.md:1 error not-written"]
    assert sources(tmp_path) == {"docs/index.md": b"One.\n", "docs/other.md": b"One.\nM\n"}


def test_what_is_wrong_already_keeps_no_marker_away(tmp_path: Path) -> None:
    text = "One.\n\n## A <#a>\n\nTwo.\n\n## B <#b>\n"
    write_site(tmp_path, site_of({"docs/index.md": text}, id_pattern="a"))
    assert run_markstay(tmp_path, "check").places == ["docs/index.md:7 error id-pattern"]
    assert stamp(tmp_path, "--write").places == []
    after = text.replace("One.", "One.\nM").replace("Two.", "Two.\nM")
    assert sources(tmp_path)["docs/index.md"].decode() == after


def test_a_marker_that_no_page_would_have_is_not_written(tmp_path: Path) -> None:
    hook = "import re\ndef on_page_markdown(markdown, **_):\n    return re.sub('<!--.*?-->', '', markdown)\n"
    site = site_of({"docs/index.md": "One.\n\nTwo.\n", "hook.py": hook})
    write_site(tmp_path, Site(site.files, site.extensions, site.plugin, {"hooks": ["hook.py"]}))
    ran = stamp(tmp_path, "--write")
    told = ["docs/index.md:1 warning not-stamped", "docs/index.md:3 warning not-stamped"]
    assert (ran.places, sources(tmp_path)["docs/index.md"]) == (told, b"One.\n\nTwo.\n")
    assert all("would be bound to nothing" in found.message for found in ran.findings)


# -- what is there already


_HASH = "70277bfc409b"  # of "One."
CHANGED: dict[str, tuple[str, str, str, list[str]]] = {
    "an edited block": (
        "--refresh",
        "One.\n<!-- stay:a hash=sha256:00 -->\n\nTwo.\n",
        f"One.\n<!-- stay:a hash=sha256:{_HASH[:2]} -->\n\nTwo.\n",
        [],
    ),
    "with front matter and CRLF": (
        "--refresh",
        "---\r\na: b\r\n---\r\n\r\nOne.\r\n<!-- stay:a hash=sha256:000000000000 x=y -->",
        f"---\r\na: b\r\n---\r\n\r\nOne.\r\n<!-- stay:a hash=sha256:{_HASH} x=y -->",
        [],
    ),
    "nothing is edited": ("--refresh", "One.\n<!-- stay:a -->\n", "One.\n<!-- stay:a -->\n", []),
    "two markers are one": (
        "--refresh",
        "One.\n<!-- stay:a hash=sha256:00 -->\n\nTwo.\n<!-- stay:a -->\n",
        "One.\n<!-- stay:a hash=sha256:00 -->\n\nTwo.\n<!-- stay:a -->\n",
        ["docs/index.md:2 warning not-stamped"],
    ),
    "a copy": (
        "--repair",
        "One.\n<!-- stay:a hash=sha256:70 -->\n\nOne.\n<!-- stay:a hash=sha256:70 -->\n",
        "One.\n<!-- stay:a hash=sha256:70 -->\n\nOne.\n<!-- stay:N hash=sha256:70 -->\n",
        [],
    ),
    "copies, with a byte order mark": (
        "--repair",
        "\ufeffOne.\n<!-- stay:a -->\n\nTwo.\n<!-- stay:a -->\n\n<!-- stay:a -->\n",
        "\ufeffOne.\n<!-- stay:a -->\n\nTwo.\n<!-- stay:N -->\n\n<!-- stay:N -->\n",
        [],
    ),
    "no copy": ("--repair", "One.\n\nOne.\n", "One.\n\nOne.\n", []),
}


@pytest.mark.parametrize("case", CHANGED)
def test_what_is_there_is_changed(case: str, tmp_path: Path) -> None:
    option, before, after, told = CHANGED[case]
    levels = {"stay-duplicate": "warning", "stay-several": "warning"}
    html = pages(build_site(tmp_path, site_of({"docs/index.md": before}, findings=levels)))
    shown = stamp(tmp_path, option)
    assert sources(tmp_path)["docs/index.md"] == before.encode()
    ran = stamp(tmp_path, option, "--write")
    text = (tmp_path / "docs/index.md").read_bytes().decode()
    assert re.sub(r"stay:\w{8}\b", "stay:N", text) == after
    assert (ran.places, ran.code) == (told, bool(told))
    assert bool(shown.out) == (before != after)
    assert stamp(tmp_path, option, "--write").err.count("0 markers in 0 files") == 1
    assert pages(build_site(tmp_path)) == html


def test_a_file_that_a_page_includes_twice_cannot_be_repaired(tmp_path: Path) -> None:
    part = "Two.\n<!-- stay:a -->\n"
    page = '--8<-- "part.md"\n\n--8<-- "part.md"\n'
    write_site(tmp_path, site_of({"docs/index.md": page, "parts/part.md": part}))
    with working_in(tmp_path):
        stamps = stamp_stays("mkdocs.yml", StayOptions((), REPAIR), inspect_site)
    (found,) = stamps.findings
    assert (found.path, found.code, stamps.files) == ("parts/part.md", "not-stamped", [])
    assert "once in the file, and a page includes that more than once" in found.message


CANNOT = {
    "two at once": (["--stays", "--refresh", "--repair"], "cannot be used together"),
    "refresh alone": (["--refresh"], "--refresh and --repair are for --stays"),
    "repair alone": (["--repair"], "--refresh and --repair are for --stays"),
    "a syntax": (["--stays", "--syntax", "brace"], "are for ids, not for --stays"),
    "fresh": (["--stays", "--fresh"], "are for ids, not for --stays"),
    "from": (["--stays", "--from", "docs"], "are for ids, not for --stays"),
    "no page": (["--stays", "mkdocs.yml"], "mkdocs.yml is no page of this site"),
}


@pytest.mark.parametrize("case", CANNOT)
def test_cannot_run(case: str, tmp_path: Path) -> None:
    arguments, said = CANNOT[case]
    write_site(tmp_path, site_of({"docs/index.md": "One.\n"}))
    ran = run_markstay(tmp_path, "stamp", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
