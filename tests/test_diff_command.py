"""`mkdocs-markstay diff`: what it reads, writes and exits with."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from manifest_builder import Site, build
from markdown import markdown
from site_builder import Ran, run_markstay

from mkdocs_markstay.citations import find_citations, read_citations
from mkdocs_markstay.diff import FAILURES, KINDS, Change, Comparison, Place
from mkdocs_markstay.diff_entries import Report
from mkdocs_markstay.diff_formats import FORMATS, write_report
from mkdocs_markstay.manifest_files import open_manifest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

OLD: Site = {
    "guide": {"": ["Lead."], "install=Install": ["Get it.", "Run it."], "old": ["The old way."]},
    "notes": {"": ["Notes."], "x": ["X."]},
}
NEW: Site = {
    "guide": {"": ["Lead."], "install=Install": ["Get it now.", "Run it."], "set": ["Set."]},
    "more": {"": ["More."]},
}
REDIRECT = {"from": "guide#old", "to": "guide#set", "url": "guide/#old"}
RETIRED = {"referent": "notes", "reason": "Nobody read them.", "url": "notes/"}
TEXT = """\
pages: 1 removed, 1 added
sections: 2 removed, 1 added
passages: 3 removed, 1 edited, 2 added
(6 passages in OLD, 5 in NEW)
removed      notes  'Notes', 1 section and 2 passages
removed      guide#old  'Old', 1 passage
edited       guide#install [0]  'Get it.' -> 'Get it now.'
added        more  'More', 1 passage
added        guide#set  'Set', 1 passage
"""


def write(folder: Path, name: str, site: Site, **options: Any) -> None:
    """Write the manifest of a site into a folder."""
    (folder / name).mkdir()
    as_json, lines = build(site, **options)
    (folder / name / "passages.json").write_bytes(as_json)
    (folder / name / "passages.jsonl").write_bytes(lines)


@pytest.fixture
def sites(tmp_path: Path) -> Path:
    write(tmp_path, "old", OLD)
    write(tmp_path, "new", NEW)
    return tmp_path


def diff(folder: Path, *arguments: str) -> Ran:
    return run_markstay(folder, "diff", *arguments)


# -- exit codes


def test_without_fail_on_any_difference_is_fine(sites: Path) -> None:
    ran = diff(sites, "old", "new")
    assert (ran.code, ran.out, ran.err) == (0, TEXT, "")
    ran = diff(sites, "old", "old")
    assert (ran.code, ran.out) == (0, "no changes (6 passages in OLD, 6 in NEW)\n")


FAIL_ON: list[tuple[str, Site, dict[str, Any], set[str]]] = [
    ("nothing", {"a": {"x": ["A", "B"]}}, {}, set()),
    ("edited", {"a": {"x": ["A", "B2"]}}, {}, {"edited"}),
    ("removed", {"a": {"x": ["A"]}}, {}, {"removed"}),
    ("added", {"a": {"x": ["A", "B", "C"]}}, {}, {"added"}),
    ("repositioned", {"a": {"x": ["B", "A"]}}, {}, {"repositioned"}),
    ("metadata", {"a": {"x=Y": ["A", "B"]}}, {}, {"metadata"}),
    ("a new page", {"a": {"x": ["A", "B"]}, "b": {}}, {}, {"added-referent"}),
    ("another policy", {"a": {"x": ["A", "B"]}}, {"furniture": ["i"]}, {"policy"}),
    ("another publication", {"a": {"x": ["A", "B"]}}, {"publication": "q"}, {"policy"}),
    ("another version", {"a": {"x": ["A", "B"]}}, {"version": "2"}, {"metadata"}),
    (
        "moved",
        {"a": {"y": ["A", "B"]}},
        {},
        {"moved", "moved-referent", "removed-referent", "added-referent"},
    ),
    (
        "redirected",
        {"a": {"y": ["A", "B"]}},
        {"redirects": [{"from": "a#x", "to": "a#y", "url": "a/#x"}]},
        {"moved", "moved-referent", "added-referent"},
    ),
    (
        "retired",
        {"a": {}},
        {"retired": [{"referent": "a#x", "reason": "Gone.", "url": "a/#x"}]},
        {"removed", "retired-referent"},
    ),
    ("gone", {"a": {}}, {}, {"removed", "removed-referent"}),
]


@pytest.mark.parametrize(
    ("site", "options", "found"), [each[1:] for each in FAIL_ON], ids=[each[0] for each in FAIL_ON]
)
def test_what_fail_on_finds(
    site: Site, options: dict[str, Any], found: set[str], tmp_path: Path
) -> None:
    write(tmp_path, "old", {"a": {"x": ["A", "B"]}})
    write(tmp_path, "new", site, **options)
    failing = {kind for kind in FAILURES if diff(tmp_path, "old", "new", "--fail-on", kind).code}
    assert failing == found
    ran = diff(tmp_path, "old", "new", "--fail-on", ", ".join(FAILURES))
    said = f"found of --fail-on: {', '.join(kind for kind in FAILURES if kind in found)}\n"
    assert (ran.code, ran.err) == ((1, said) if found else (0, ""))


def test_all_that_fail_on_knows_can_be_found() -> None:
    assert set().union(*(each[3] for each in FAIL_ON)) == set(FAILURES)


def test_unknown_kinds_cannot_be_asked_for(sites: Path) -> None:
    ran = diff(sites, "old", "new", "--fail-on", "removed,deleted")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("mkdocs-markstay: --fail-on deleted: there is no such kind. Kinds")


# -- files


@pytest.mark.parametrize("name", ["passages.json", "passages.jsonl"])
def test_a_folder_with_one_of_the_two(sites: Path, name: str) -> None:
    for folder in ("old", "new"):
        (sites / folder / name).unlink()
    ran = diff(sites, "old", "new")
    assert ran.code == 0
    noted = ran.out.startswith("note: passages.jsonl has no list of pages and sections")
    assert noted == (name == "passages.json")
    assert TEXT in ran.out


def test_one_of_each(sites: Path) -> None:
    ran = diff(sites, "old/passages.json", "new/passages.jsonl")
    assert ran.out.endswith(TEXT)


def test_an_incomplete_manifest_is_told(sites: Path) -> None:
    write(sites, "part", {}, complete=False)
    ran = diff(sites, "old", "part")
    said = "note: part/passages.json is not complete: it lacks pages that the site has\n"
    assert ran.out.startswith(said)


def cut(content: bytes) -> bytes:
    return content[:-40]


DAMAGES: list[tuple[str, str, Callable[[bytes], bytes], str]] = [
    ("empty", "passages.json", lambda _: b"", "new/passages.json is empty"),
    (
        "no JSON",
        "passages.json",
        lambda _: b"# Read me\n",
        r"new/passages.json:1: damaged, or no manifest: Expecting value.*",
    ),
    (
        "other JSON",
        "passages.json",
        lambda _: b"[1]",
        r"new/passages.json is no manifest of the schema .*",
    ),
    (
        "other lines",
        "passages.jsonl",
        lambda _: b'{"a": 1}\n',
        r"new/passages.jsonl is no manifest of the schema .*",
    ),
    ("cut off", "passages.json", cut, r"new/passages.json:\d+: damaged, or no manifest: .*"),
    ("cut off", "passages.jsonl", cut, r"new/passages.jsonl: the last line is no record .*"),
    (
        "binary",
        "passages.json",
        lambda _: b"\xff\xfe\x00\x01",
        r"new/passages.json:1: damaged, or no manifest: .*",
    ),
    (
        "Parquet",
        "passages.json",
        lambda _: b"PAR1\x15\x04\nPAR1",
        r"new/passages.json is a Parquet file. Name the passages.json or passages.jsonl of that build",
    ),
    (
        "more behind its end",
        "passages.json",
        lambda content: content + b"{}\n",
        r"new/passages.json:\d+: damaged, or no manifest: Extra data.*",
    ),
    (
        "a newer schema",
        "passages.json",
        lambda content: content.replace(b"passages-1.json", b"passages-2.json"),
        r"new/passages.json has the schema \S+/passages-2.json. This version reads \S+",
    ),
    (
        "no policy",
        "passages.json",
        lambda content: content.replace(b'"policy"', b'"police"'),
        r"new/passages.json is damaged: KeyError\('policy'\) in its header",
    ),
    (
        "no redirects",
        "passages.json",
        lambda content: content.replace(b'"redirects":[]', b'"redirects":[{"from":"a"}]'),
        r"new/passages.json is damaged: KeyError\('to'\) in its header",
    ),
    (
        "a damaged record",
        "passages.json",
        lambda content: content.replace(b"Get it now.", b'Get "it" now.'),
        r"new/passages.json:24: this is no record of a manifest: Expecting .*",
    ),
    (
        "a damaged line",
        "passages.jsonl",
        lambda content: content.replace(b"Get it now.", b"Get \xff now."),
        r"new/passages.jsonl:2: this is no record of a manifest: 'utf-8' codec .*",
    ),
    (
        "half of a character",
        "passages.jsonl",
        lambda content: content.replace(b"Get it now.", b"Get \\ud800 now."),
        r"new/passages.jsonl:2: this is no record of a manifest: 'utf-8' codec .*",
    ),
    (
        "a record without a digest",
        "passages.jsonl",
        lambda content: content.replace(b'"text_digest"', b'"text_digits"'),
        r"new/passages.jsonl:1: this is no record of a manifest: KeyError\('text_digest'\)",
    ),
    (
        "a record of another type",
        "passages.jsonl",
        lambda content: content.replace(b'"position":1', b'"position":"1"'),
        r"new/passages.jsonl:3: this is no record of a manifest: position of lines",
    ),
    (
        "pages in another order",
        "passages.jsonl",
        lambda content: b"".join(reversed(content.splitlines(keepends=True))),
        r"new/passages.jsonl:\d: the page guide is not in the order of a manifest",
    ),
    (
        "a passage of no section",
        "passages.json",
        lambda content: re.sub(rb'\{"referent":"guide#install".*\n', b"", content),
        r"new/passages.json is damaged: \S+ is a passage of guide#install, which it does not list",
    ),
]


@pytest.mark.parametrize(
    ("name", "damage", "said"),
    [each[1:] for each in DAMAGES],
    ids=[" ".join(each[:2]) for each in DAMAGES],
)
def test_damaged_files_are_not_compared(
    sites: Path, name: str, damage: Callable[[bytes], bytes], said: str
) -> None:
    path = sites / "new" / name
    content = damage(path.read_bytes())
    assert content != path.read_bytes()
    path.write_bytes(content)
    for order in (("old", "new"), ("new", "old")):
        ran = diff(sites, *(f"{folder}/{name}" for folder in order))
        assert (ran.code, ran.out) == (2, "")
        assert re.fullmatch(f"mkdocs-markstay: {said}\n", ran.err), ran.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("old", "nowhere"), "there is no file or folder nowhere"),
        (("old", "empty"), "there is no passages.json and no passages.jsonl in empty"),
        (
            ("https://docs.example.org/passages.json", "new"),
            "there is no file or folder https://docs.example.org/passages.json",
        ),
        (("git:", "new"), "git: names no revision: git:REV, or git:REV:PATH"),
        (("git:--all", "new"), "git:--all names no revision: git:REV, or git:REV:PATH"),
        (
            ("git:HEAD", "git:HEAD~1"),
            "git:HEAD names no file, and nothing else does. Write git:HEAD:path/to/passages.json",
        ),
    ],
)
def test_what_is_not_there(sites: Path, arguments: tuple[str, str], said: str) -> None:
    (sites / "empty").mkdir()
    ran = diff(sites, *arguments)
    assert (ran.code, ran.out, ran.err) == (2, "", f"mkdocs-markstay: {said}\n")


def test_empty_lines_and_a_missing_line_end(sites: Path) -> None:
    path = sites / "new" / "passages.jsonl"
    path.write_bytes(b"\n" + path.read_bytes().replace(b"}\n{", b"}\r\n\n{").rstrip() + b"\n\n")
    ran = diff(sites, "old/passages.jsonl", "new/passages.jsonl")
    assert ran.out.endswith(TEXT.split("\n", 4)[4])
    path.write_bytes(b"")
    ran = diff(sites, "new/passages.jsonl", "old/passages.jsonl", "--fail-on", "removed")
    assert ran.code == 0
    assert "passages: 6 added\n(0 passages in OLD, 6 in NEW)\n" in ran.out


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no such pipes")
def test_pipes_are_read(sites: Path) -> None:
    os.mkfifo(sites / "pipe")
    content = (sites / "new" / "passages.json").read_bytes()
    writer = Thread(target=(sites / "pipe").write_bytes, args=(content,))
    writer.start()
    ran = diff(sites, "old", "pipe")
    writer.join()
    assert (ran.code, ran.out) == (0, TEXT)


# -- git


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Make a repository with OLD and then NEW in `site/public`; the folder then holds NEW."""
    if shutil.which("git") is None:
        pytest.skip("there is no git")
    git(tmp_path, "init", "-q")
    for site in (OLD, NEW):
        shutil.rmtree(tmp_path / "site", ignore_errors=True)
        (tmp_path / "site").mkdir()
        write(tmp_path / "site", "public", site)
        git(tmp_path, "add", "-A")
        git(tmp_path, "commit", "-q", "-m", "Site")
    return tmp_path


def git(folder: Path, *arguments: str) -> str:
    names = (
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@docs.example.org",
        "-c",
        "commit.gpgsign=false",
    )
    command = ["git", *names, *arguments]
    return subprocess.run(
        command, cwd=folder, check=True, capture_output=True, encoding="utf-8"
    ).stdout


@pytest.mark.parametrize(
    ("place", "arguments"),
    [
        (".", ("git:HEAD~1", "site/public")),
        (".", ("git:HEAD~1", "site/public/passages.json")),
        ("site", ("git:HEAD~1", "public")),
        (".", ("git:HEAD~1:site/public/passages.json", "site/public")),
        (".", ("git:HEAD~1:site/public", "git:HEAD")),
        ("site", ("git:HEAD~1:./public/", "git:HEAD:site/public/passages.json")),
    ],
)
def test_committed_manifests(repository: Path, place: str, arguments: tuple[str, str]) -> None:
    ran = diff(repository / place, *arguments)
    assert (ran.code, ran.out, ran.err) == (0, TEXT, "")
    assert git(repository, "status", "--porcelain") == ""


def test_committed_lines(repository: Path) -> None:
    ran = diff(repository, "git:HEAD~1", "site/public/passages.jsonl")
    assert ran.out.endswith(TEXT)
    assert ran.out.startswith("note: ")


@pytest.mark.parametrize(
    ("argument", "said"),
    [
        ("git:nowhere", "cannot be read: fatal: "),
        ("git:HEAD:nowhere.json", "cannot be read: fatal: "),
        ("git:HEAD:site", "cannot be read: fatal: "),
    ],
)
def test_what_is_not_committed(repository: Path, argument: str, said: str) -> None:
    ran = diff(repository, argument, "site/public")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"mkdocs-markstay: {argument} {said}")


# -- citations

CITED = """\
# what we cite
guide#install

https://docs.example.org/guide/#old
guide#old
https://docs.example.org/notes/index.html?from=a#x
guide
https://docs.example.org/guide/#set
nowhere#x
guide#install
"""


def test_only_what_touches_citations_is_told(sites: Path) -> None:
    (sites / "cited.txt").write_text(CITED, "utf-8")
    ran = diff(sites, "old", "new", "--cited", "cited.txt", "--fail-on", "added")
    assert ran.code == 1
    assert (
        ran.out
        == """\
affects 5 of your 7 citations
affected: guide#install
affected: https://docs.example.org/guide/#old
affected: guide#old
affected: https://docs.example.org/notes/index.html?from=a#x
affected: https://docs.example.org/guide/#set
neither in OLD nor in NEW: nowhere#x
sections: 2 removed, 1 added
passages: 2 removed, 1 edited, 1 added
(6 passages in OLD, 5 in NEW)
removed      guide#old  'Old', 1 passage
removed      notes#x  'X', 1 passage
edited       guide#install [0]  'Get it.' -> 'Get it now.'
added        guide#set  'Set', 1 passage
"""
    )
    (sites / "cited.txt").write_text("guide\n", "utf-8")
    ran = diff(sites, "old", "new", "--cited", "cited.txt", "--fail-on", ",".join(FAILURES))
    said = "affects 0 of your 1 citation\nno changes (6 passages in OLD, 5 in NEW)\n"
    assert (ran.code, ran.out) == (0, said)


SITE = "https://docs.example.org"
TARGETS: list[tuple[str, set[tuple[str, str]]]] = [
    ("guide#set", {("guide#set", "")}),
    (f"{SITE}/guide/#set", {("guide#set", "en")}),
    (f"{SITE}/guide#set", {("guide#set", "en")}),
    ("guide/index.html#set", {("guide#set", "en")}),
    (f"{SITE}/fr/le-guide/#s%C3%A9t", {("le-guide#sét", "fr")}),
    (f"{SITE}/fr/le-guide/#sét", {("le-guide#sét", "fr")}),
    (f"{SITE}/guide/", {("guide", "en")}),
    # by a redirect, from what neither has: as a referent, and as a URL
    ("guide#old", {("guide#old", ""), ("guide#set", "")}),
    (f"{SITE}/guide/#old", {("guide#old", ""), ("guide#set", "")}),
    # by an address at which the page was
    (f"{SITE}/manual/#set", {("guide#set", "en")}),
    (f"{SITE}/manual.html", {("guide", "en")}),
    (f"{SITE}/manual/#nothing", set()),
    # what is retired
    ("notes", {("notes", "")}),
    (f"{SITE}/notes/", {("notes", "")}),
    # of another site, and what is not there
    ("https://guide.example.org/guide/#set", set()),
    (f"{SITE}.au/guide/#set", set()),
    ("guide#nothing", set()),
    ("#set", set()),
]


@pytest.mark.parametrize(("text", "targets"), TARGETS)
def test_what_a_citation_stands_for(
    text: str, targets: set[tuple[str, str]], tmp_path: Path
) -> None:
    site: Site = {"guide": {"set": ["Set."]}, "le-guide=Guide@fr": {"sét": ["Sét."]}}
    write(
        tmp_path,
        "new",
        site,
        redirects=[REDIRECT],
        retired=[RETIRED],
        former_urls={"guide": ["manual/"]},
    )
    manifest = open_manifest(str(tmp_path / "new"), "", tmp_path)
    found = find_citations([text], manifest, manifest)
    assert set(found.targets) == targets
    assert found.unknown == (() if targets else (text,))


def test_citations_of_lines(tmp_path: Path) -> None:
    write(tmp_path, "new", NEW)
    manifest = open_manifest(str(tmp_path / "new" / "passages.jsonl"), "", tmp_path)
    texts = ["guide#set", f"{SITE}/guide/#set", f"{SITE}/guide/", "more", "x"]
    found = find_citations(texts, manifest, manifest)
    assert set(found.targets) == {
        ("guide#set", ""),
        ("guide#set", "en"),
        ("guide", "en"),
        ("more", ""),
    }
    assert found.unknown == ("x",)


def test_a_list_that_is_no_text(sites: Path) -> None:
    (sites / "cited.txt").write_bytes(b"\xff\xfe")
    ran = diff(sites, "old", "new", "--cited", "cited.txt")
    assert (ran.code, ran.out) == (2, "")
    (sites / "cited.txt").write_bytes(b"\xef\xbb\xbf# first\r\n#\r\n  a b \r\n#c\r\n\r\na b\r\n")
    assert read_citations(sites / "cited.txt") == ("a b", "#c")


# -- formats


def test_a_section_that_a_redirect_of_its_page_leaves_out_is_told(tmp_path: Path) -> None:
    write(tmp_path, "old", {"a": {"": ["A."], "x": ["X."]}, "b": {"": ["B."]}})
    redirect = {"from": "a", "to": "b", "url": "a/"}
    write(tmp_path, "new", {"b": {"": ["B."]}}, redirects=[redirect])
    ran = diff(tmp_path, "old", "new", "--fail-on", "removed-referent")
    assert ran.code == 1
    assert ran.out.split("\n")[4:] == [
        "removed      a#x  'X', 1 passage",
        "removed      a [0]  'A.'",
        "moved        a  -> b (redirect)",
        "",
    ]


def test_json(sites: Path) -> None:
    write(
        sites,
        "moved",
        {"guide": {"": ["Lead."], "set": ["Get it.", "Run it."]}},
        redirects=[REDIRECT],
    )
    ran = diff(sites, "old", "moved", "--format", "json", "--fail-on", "moved")
    data = json.loads(ran.out)
    assert ran.code == 1
    changes = data.pop("changes")
    counts = dict.fromkeys(KINDS, 0)
    assert data.pop("generator")["name"] == "mkdocs-markstay"
    assert data == {
        "schema": 1,
        "old": {"name": "old/passages.json", "passages": 6},
        "new": {"name": "moved/passages.json", "passages": 3},
        "moving": False,
        "facts": {},
        "notes": [],
        "citations": None,
        "gone_stays": [],
        "summary": {
            "page": {**counts, "removed": 1},
            "section": {**counts, "removed": 1, "moved": 2},
            "block": counts,
            "passage": {**counts, "removed": 3, "moved": 2},
        },
        "failures": ["moved"],
    }
    assert len(changes) == 9
    old = {
        "referent": "guide#old",
        "lang": "en",
        "title": "Old",
        "url": "https://docs.example.org/guide/#old",
        "source": "guide.md",
        "line": 11,
        "excerpt": "",
    }
    new = {
        **old,
        "referent": "guide#set",
        "title": "Set",
        "url": "https://docs.example.org/guide/#set",
        "line": 7,
    }
    moved = next(each for each in changes if each["old"] == old)
    assert moved == {
        "kind": "moved",
        "what": "section",
        "old": old,
        "new": new,
        "fields": {},
        "redirected": True,
        "opened": False,
        "reason": "",
        "edited_stays": [],
    }


MARKED: Site = {
    "guide": {"set": ["Get it. ^1#", "Run it. ^2#", "Look. ^3"], "more": ["More. ^4"]},
    "notes": {"": ["Note. ^5"]},
}
MARKED_NEW: Site = {
    "guide": {"set": ["Get it now. ^1#"], "more": ["More. ^4"]},
    "notes": {"": ["Note. ^5", "Look at it. ^3"]},
}


@pytest.fixture
def marked(tmp_path: Path) -> Path:
    write(tmp_path, "old", MARKED)
    write(tmp_path, "new", MARKED_NEW)
    return tmp_path


def test_marked_blocks(marked: Path) -> None:
    assert diff(marked, "old", "new").out == (
        "1 marked block is gone\n"
        "blocks: 1 removed\n"
        "passages: 1 removed, 2 edited\n"
        "(5 passages in OLD, 4 in NEW)\n"
        "removed      guide#stay-2  'Set'\n"
        "removed      guide#set [1]  'Run it.', gone: stay:2\n"
        "edited       guide#set [0]  'Get it.' -> 'Get it now.'\n"
        "edited       notes [1]  from guide#set: 'Look.' -> 'Look at it.'\n"
    )


def test_marked_blocks_in_json(marked: Path) -> None:
    data = json.loads(diff(marked, "old", "new", "--format", "json").out)
    assert data["gone_stays"] == [{"page_id": "guide", "lang": "en", "stay": "2"}]
    assert data["summary"]["block"]["removed"] == 1
    stays = {
        (each["kind"], each["what"]): [
            place and place.get("stays") for place in (each["old"], each["new"])
        ]
        for each in data["changes"]
        if each["what"] != "passage" or each["edited_stays"] != ["1"]
    }
    assert stays == {
        ("removed", "block"): [None, None],
        ("removed", "passage"): [["2"], None],
        ("edited", "passage"): [["3"], ["3"]],
    }


@pytest.mark.parametrize("file", ["passages.json", "passages.jsonl"])
@pytest.mark.parametrize(
    ("cited", "fail_on", "code"),
    [
        ("guide#stay-2", "removed-referent", 1),
        ("https://docs.example.org/guide/#stay-2", "removed-referent", 1),
        ("guide#stay-1", "removed-referent", 0),
        ("guide#stay-1", "edited", 1),
        ("guide#stay-1", "removed", 0),
    ],
)
def test_cited_blocks(marked: Path, file: str, cited: str, fail_on: str, code: int) -> None:
    (marked / "cited").write_text(cited, "utf-8")
    names = (f"old/{file}", f"new/{file}")
    ran = diff(marked, *names, "--cited", "cited", "--fail-on", fail_on)
    assert ran.code == code
    assert ran.out.startswith(f"affects 1 of your 1 citation\naffected: {cited}\n")


def test_a_page_that_is_gone_is_told_with_its_anchors(tmp_path: Path) -> None:
    write(tmp_path, "old", {"a": {"x": ["A ^1#", "B ^2#"]}, "b": {"": ["C"]}})
    write(tmp_path, "new", {"b": {"": ["C"]}})
    assert diff(tmp_path, "old", "new").out.splitlines()[-1] == (
        "removed      a  'A', 1 section and 2 anchors and 2 passages"
    )
    write(tmp_path, "moved", {"b": {"": ["C"]}, "c": {"x": ["A ^1#", "B ^2#"]}})
    assert diff(tmp_path, "old", "moved").out.splitlines()[-1] == (
        "moved        a  -> c, 1 section and 2 anchors and 2 passages"
    )


def test_json_without_changes(sites: Path) -> None:
    data = json.loads(diff(sites, "old", "old", "--format", "json").out)
    assert data["changes"] == []


def test_github(sites: Path) -> None:
    ran = diff(sites, "old", "new", "--format", "github", "--fail-on", "edited", "--docs", "a,b/")
    assert ran.out.split("\n") == [
        "::error title=mkdocs-markstay::" + "%0A".join(TEXT.split("\n")[:3]),
        "::warning file=a%2Cb/notes.md,line=1,title=removed::removed: notes 'Notes', 1 section and 2 passages",
        "::warning file=a%2Cb/guide.md,line=11,title=removed::removed: guide#old 'Old', 1 passage",
        "::error file=a%2Cb/guide.md,line=7,title=edited::edited: guide#install [0] 'Get it.' -> 'Get it now.'",
        "::notice file=a%2Cb/more.md,line=1,title=added::added: more 'More', 1 passage",
        "::notice file=a%2Cb/guide.md,line=11,title=added::added: guide#set 'Set', 1 passage",
        "",
    ]
    ran = diff(sites, "old", "old", "--format", "github")
    assert ran.out == ("::notice title=mkdocs-markstay::no changes (6 passages in OLD, 6 in NEW)\n")


def test_markdown(sites: Path) -> None:
    (sites / "cited.txt").write_text("guide#old\n", "utf-8")
    ran = diff(sites, "old", "new", "--format", "markdown", "--cited", "cited.txt")
    assert (
        ran.out
        == """\
Passages and citations: **1 broken address**, 1 removed.

affects 1 of your 1 citation

affected: <code>guide&#35;old</code>

| | removed | retired | moved | edited | added | repositioned | metadata |
|---|---:|---:|---:|---:|---:|---:|---:|
| pages |  |  |  |  |  |  |  |
| sections | 1 |  |  |  |  |  |  |
| passages | 1 |  |  |  |  |  |  |

6 passages in OLD, 5 in NEW.

<details open><summary><b>Broken addresses</b> (1)</summary>

- <a href="https://docs.example.org/guide/#old"><code>guide&#35;old</code></a> <code>Old</code>, 1 passage

</details>
"""
    )
    ran = diff(sites, "old", "new", "--format", "markdown", "--fail-on", "edited")
    start = "**Found of `--fail-on`: edited**\n\nPassages and citations: **3 broken addresses**"
    assert ran.out.startswith(start)
    edited = "<code>Get it<ins> now</ins>&#46;</code>"
    assert f'/guide/#install"><code>guide&#35;install</code></a> [0] {edited}\n' in ran.out


def test_all_of_the_site_is_told_once(tmp_path: Path) -> None:
    write(tmp_path, "old", OLD)
    write(tmp_path, "new", OLD, publication="q", furniture=[".a", ".b"], version="2")
    for style in FORMATS:
        out = diff(tmp_path, "old", "new", "--format", style).out
        assert out.count("publication") == out.count("policy.furniture") == 1
        assert "Notes" not in out
    said = diff(tmp_path, "old", "new").out
    assert said == (
        "everything may have moved, and only texts are compared: policy.furniture '' -> '.a > .b';"
        " publication 'p' -> 'q'; version 'null' -> '2'\n"
        "no changes (6 passages in OLD, 6 in NEW)\n"
    )


def make(text: str, count: int = 1) -> Report:
    """Make a report that has a text in all places that a manifest fills."""
    place = Place(text, text, text, text, text, 1, 0, text, text, text)
    section = Place(text, text, text, text, text)
    changes = [
        *(
            Change("edited", "passage", place, place._replace(excerpt=text + "x"))
            for _ in range(count)
        ),
        Change("removed", "section", section._replace(referent=text + "1"), None),
        Change("retired", "section", section._replace(referent=text + "2"), None, reason=text),
        Change("moved", "section", section._replace(referent=text + "3"), section, followed=True),
    ]
    return Report(Comparison("old", "new", (), False, (), (count, count), "en", changes))


HOSTILE = st.text(
    alphabet=st.sampled_from("a <>&`*_[]()#@!|~\\-+=:/.\n\r\t\0\u202e%,'\"1ü"), min_size=1
)


@given(HOSTILE)
@settings(deadline=None)
def test_nothing_in_a_text_acts(text: str) -> None:
    report = make(text)
    written = "".join(write_report(report, "markdown", "1"))
    shown = re.sub(
        r"</?(?:code|details( open)?|summary|b|del|ins)>|&#\d+;|\*\*|`--[a-z]+ html`", "", written
    )
    # What is left are our own words.
    assert not set(re.sub(r"^\|.*\|$|^- |[()\[\],.:→\d]", "", shown, flags=re.MULTILINE)) & set(
        "<>&`*_#@!|~\\%'\""
    )
    page = markdown(written, extensions=["tables", "md_in_html"])
    assert not re.search(
        r"<(?!/?(?:code|details|summary|b|del|ins|strong|p|ul|li|table|thead|tbody|tr|th|td)\b)",
        page,
    )
    for style in ("text", "github"):
        lines = "".join(write_report(report, style, "1")).split("\n")
        if style == "github":
            assert all(line.startswith("::") for line in lines[:-1])
            lines = [line.split("::", 2)[-1] for line in lines]
        assert all(line.isprintable() for line in lines)
    data = json.loads("".join(write_report(report, "json", "1")))
    assert data["changes"][0]["old"]["excerpt"] == text


@pytest.mark.parametrize(("style", "lines"), [("text", 500), ("markdown", 200), ("github", 50)])
def test_a_flood_is_cut_and_told(style: str, lines: int) -> None:
    written = "".join(write_report(make("a" * 30, 2000), style, "1"))
    assert written.count("a" * 30 + " ") + written.count("a" * 30 + "</code>") < lines * 8
    left = re.search(r"(?:and|out here:) ([\d,]+) (?:lines|annotations|edited)", written)
    assert left is not None
    assert int(left[1].replace(",", "")) == 2003 - lines - (style == "markdown") * 2
    assert json.loads("".join(write_report(make("a", 2000), "json", "1")))["changes"][1999]


def test_a_comment_is_never_too_long() -> None:
    written = "".join(write_report(make("#" * 200, 2000), "markdown", "1"))
    assert 50_000 < len(written.encode()) < 65_536
    # The broken one is told first, so what moved and what is retired are left out.
    shown = written.count("\n- ")
    assert shown > 10
    left = f"Lines left out here: {2001 - shown:,} edited, 1 moved, 1 retired."
    assert left in written
    assert html.unescape(written).count("…") > 0


def test_an_old_address_that_is_forgotten_is_told(tmp_path: Path) -> None:
    """A register that lost its lines: what was cited by an old address leads nowhere now."""
    site = {"b": {"": ["B."], "x": ["X."]}}
    redirects = [{"from": "a#x", "to": "b#x", "url": "a/#x"}]
    retired = [{"referent": "c", "reason": "Not used.", "url": "c/"}]
    write(tmp_path, "old", site, redirects=redirects, retired=retired)
    write(tmp_path, "new", site)
    ran = diff(tmp_path, "old", "new", "--fail-on", "removed-referent")
    assert ran.code == 1
    assert "removed      c\nremoved      a#x\n" in ran.out
    cited = tmp_path / "cited.txt"
    cited.write_text("a#x\nhttps://docs.example.org/c/\nb\n", "utf-8")
    ran = diff(tmp_path, "old", "new", "--cited", str(cited))
    assert ran.out.startswith("affects 2 of your 3 citations\n")
    write(tmp_path, "later", site, retired=[{"referent": "a#x", "reason": "So.", "url": "a/#x"}])
    ran = diff(tmp_path, "old", "later", "--fail-on", "retired-referent")
    assert ran.code == 1
    assert "retired      a#x  So.\n" in ran.out


def test_sections_go_along_with_a_page_that_moved(tmp_path: Path) -> None:
    write(tmp_path, "old", {"a": {"": ["A."], "x": ["X."], "y": ["Y."]}})
    redirects = [
        {"from": f"a{end}", "to": f"b{end}", "url": f"a/{end}"} for end in ("", "#x", "#y")
    ]
    new = {"b": {"": ["A."], "x": ["X."], "y": ["Y, edited."]}}
    write(tmp_path, "new", new, redirects=redirects)
    lines = diff(tmp_path, "old", "new").out.splitlines()
    assert [line for line in lines if line.startswith(("moved", "removed", "added"))] == [
        "removed      a#y [0]  'Y.'",
        "moved        a  -> b (redirect: https://docs.example.org/b/), 2 sections and 2 passages",
        "added        b#y [0]  'Y, edited.'",
    ]


def test_old_urls_are_cited_by_what_the_manifest_says_of_them(tmp_path: Path) -> None:
    """The address of a page is not that of its page id, where its front matter names one."""
    site = {"b": {"": ["B."], "x": ["X."]}}
    redirects = [{"from": "a#x", "to": "b#x", "url": "old/place/#x"}]
    retired = [{"referent": "c", "reason": "Not used.", "url": "other/place/"}]
    write(tmp_path, "old", site, redirects=redirects, retired=retired)
    write(tmp_path, "new", {"b": {"": ["B."], "x": ["X, edited."]}}, redirects=redirects)
    cited = tmp_path / "cited.txt"
    urls = ["https://docs.example.org/old/place/#x", "https://docs.example.org/other/place/"]
    cited.write_text("\n".join(urls), "utf-8")
    out = diff(tmp_path, "old", "new", "--cited", str(cited)).out
    assert out.startswith("affects 2 of your 2 citations\n")
    assert "edited       b#x" in out
    assert "removed      c\n" in out
