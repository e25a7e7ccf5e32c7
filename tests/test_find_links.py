"""What could be a link in a text, how it is replaced, and what an address means at a place."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mkdocs_markstay.edits import LineChangedError
from mkdocs_markstay.link_addresses import DocsAddress, DocsAddresses, Seat, find_new
from mkdocs_markstay.links import Change, Destination, find_destinations, rewrite

# -- texts


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[x](a.md#s)", ["a.md#s"]),
        ("[x]( a.md#s )", ["a.md#s"]),
        ("[x](a (b).md#s)", ["a (b).md#s"]),
        ("[x](a\\).md#s)", ["a\\).md#s"]),
        ("[x](a b.md#s 'T (t)')", ["a b.md#s"]),
        ('[x](a.md "one" two.md)', ['a.md "one" two.md']),
        ('[x](a.md "a " b")', ["a.md"]),
        ("[x](<a b.md#s>)[x](< a >)", ["a b.md#s", "a"]),
        ("[x](<a", ["<a"]),
        ("[x](a](b)", ["b"]),
        ("[![i](a.png)](b.md)", ["a.png", "b.md"]),
        ("[x](\n  a.md\n'T')", ["a.md"]),
        ("[x](a.md", ["a.md"]),
        ("[x]()[x](<>)", []),
        ("[x]: a.md#s 'T'\n> - [y]: <b.md>\n[z]:\n   d.md", ["a.md#s", "b.md", "d.md"]),
        ("[^1]: [x](a.md#s)\n[^1]: b\n[x]: [x](c)\n[x]: <a href='d'>", ["a.md#s", "c", "d"]),
        ("<a href=a.md#s>, <img src = 'b c' data-src=d>, {: href=\"e\" }", ["a.md#s", "b c", "e"]),
        ("See https://docs.example.org/a/#s.", ["https://docs.example.org/a/#s"]),
        ("[x](https://docs.example.org/a/#s)", ["https://docs.example.org/a/#s"]),
        ("---\nx: '[x](a)'\n---\n\n[x](b)", ["b"]),
    ],
)
def test_destinations(text: str, found: list[str]) -> None:
    assert [each.text for each in find_destinations(text)] == found
    windows = text.replace("\n", "\r\n")
    assert [each.text for each in find_destinations(windows)] == found


@pytest.mark.parametrize(
    ("text", "syntax", "parts"),
    [
        ("a%20b.md?q=1#s%C3%BC", "inline", ("a b.md", "?q=1", "sü")),
        ("a\\_b.md#s\\#", "inline", ("a_b.md", "", "s#")),
        ("a\\_b#s", "html", ("a\\_b", "", "s")),
        ("a&amp;b#s&#252;", "html", ("a&b", "", "sü")),
        ("&#97;.md", "definition", ("a.md", "", "")),
        ("#s", "inline", ("", "", "s")),
        ("a.md#", "inline", ("a.md", "", "")),
    ],
)
def test_parts(text: str, syntax: str, parts: tuple[str, str, str]) -> None:
    found = Destination(0, 0, text, syntax)
    assert (found.path, found.query, found.fragment) == parts


_PIECES = (
    "[x](",
    ")",
    "<",
    ">",
    "[x]: ",
    "href=",
    "'",
    '"',
    " ",
    "a.md#s",
    "\\",
    "(",
    "\n",
    "\r\n",
)
_texts = st.lists(
    st.sampled_from([*_PIECES, "\r", "https://docs.example.org/", "]", "ü", "`", "\x85", "---\n"])
).map("".join)


@given(_texts, st.sampled_from([b"", b"\xef\xbb\xbf"]))
def test_nothing_but_destinations_is_replaced(text: str, mark: bytes) -> None:
    found = find_destinations(text)
    changes = [Change(each.line, each.column, each.text, "é") for each in found]
    new = rewrite(mark + text.encode(), changes)
    # What is put in can be told from the rest, which is the same.
    kept = iter(new.decode().removeprefix("\ufeff").split("é"))
    rest = text
    for each in found:
        before = next(kept)
        assert rest.startswith(before + each.text)
        rest = rest[len(before + each.text) :]
    assert rest == next(kept)
    assert new.startswith(mark)


def test_line_that_changed_is_no_place_for_a_link() -> None:
    change = Change(1, 4, "a.md", "b.md")
    assert rewrite(b"x\r\n[x](a.md)", [change]) == b"x\r\n[x](b.md)"
    for raw in (b"x\n[x](c.md)", b"x", b"x\n[x] (a.md)"):
        with pytest.raises(LineChangedError):
            rewrite(raw, [change])


@pytest.mark.parametrize(
    "text", ["](" * 50_000, "](a 'b " * 20_000, "](<" * 50_000, "[x]:\n" * 50_000, "](\n" * 50_000]
)
def test_long_lines_take_little_time(text: str) -> None:
    start = time.process_time()
    find_destinations(text)
    assert time.process_time() - start < 5


# -- addresses

PAGES = {
    "index.md": "index.html",
    "guide/a.md": "guide/a/index.html",
    "guide/README.md": "guide/index.html",
    "b c.md": "b c/index.html",
}


def addresses(site_url: str = "https://docs.example.org/base/") -> DocsAddresses:
    return DocsAddresses(PAGES.items(), ["gone.md"], site_url)


@pytest.mark.parametrize(
    ("destination", "address"),
    [
        ("#s", "guide/a.md#s"),
        ("", "guide/a.md"),
        ("?q#s", "guide/a.md#s"),
        ("a.md#S", "guide/a.md#S"),
        ("./a.md", "guide/a.md"),
        ("README.md#s", "guide/README.md#s"),
        ("../index.md", "index.md"),
        ("../#s", "guide/README.md#s"),
        ("..", "guide/README.md"),
        ("../..", "index.md"),
        ("../../index.html#s", "index.md#s"),
        ("../../b%20c/#%C3%BC", "b c.md#ü"),
        ("../b%20c.md", "b c.md"),
        ("/b%20c.md", "b c.md"),
        ("/base/b%20c", "b c.md"),
        ("/base", "index.md"),
        ("/bases/", None),
        ("/b%20c/", None),
        ("../gone.md#s", "gone.md#s"),
        ("../../gone/", "gone.md"),
        ("a.MD", None),
        ("../A/", None),
        ("a.html", None),
        ("https://docs.example.org/base/guide/a/#s", "guide/a.md#s"),
        ("HTTP://DOCS.example.org/base", "index.md"),
        ("//docs.example.org/base/", "index.md"),
        ("https://docs.example.org", None),
        ("https://other.example.org/base/guide/a/", None),
        ("ftp://docs.example.org/base/", None),
        ("mailto:a.md", None),
        ("http://[x", None),
        ("../../../index.md", None),
    ],
)
def test_reading(destination: str, address: str | None) -> None:
    found = addresses().read(destination, Seat("guide/a.md", "guide/a/index.html"))
    assert (None if found is None else str(found)) == address


def test_a_site_without_an_address_has_no_absolute_ones() -> None:
    seat = Seat("index.md", "index.html")
    found = [
        addresses("").read(each, seat)
        for each in ("//x/", "https://docs.example.org/", "/guide/a/")
    ]
    assert found == [None, None, DocsAddress("guide/a.md")]


def test_page_that_is_gone_where_no_page_has_a_folder_of_its_own() -> None:
    site = DocsAddresses(
        [("index.md", "index.html"), ("a.md", "a.html")], ["b.md", "c/index.md"], ""
    )
    seat = Seat("a.md", "a.html")
    found = [site.read(each, seat) for each in ("b.html", "c/", "c/index.html", "b/")]
    assert found == [
        DocsAddress("b.md"),
        DocsAddress("c/index.md"),
        DocsAddress("c/index.md"),
        None,
    ]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a.md", "b.md"),
        ("a.md#s", "c.md#t"),
        ("a.md#other", "b.md#other"),
        ("c.md#s", "c.md#s"),
        ("d.md", None),
        ("d.md#s", None),
        ("d.md#kept", "a.md#s"),
        ("e.md#s", "c.md#e"),
    ],
)
def test_new_addresses(old: str, new: str | None) -> None:
    values = {"a.md": "b.md", "a.md#s": "c.md#t", "d.md": None, "d.md#kept": "a.md#s"}
    values["e.md"] = "c.md#e"
    changed = {
        DocsAddress(*one.split("#")): None if other is None else DocsAddress(*other.split("#"))
        for one, other in values.items()
    }
    found = find_new(changed, DocsAddress(*old.split("#")))
    assert (None if found is None else str(found)) == new


_seats = st.sampled_from([*PAGES.items()])
_ids = st.sampled_from(["", "s", "über", "a_b", "x.y:1"])
_spellings = st.sampled_from(["{}", "./{}", "/{}"])


@settings(deadline=None)
@given(_seats, st.sampled_from(list(PAGES)), st.sampled_from(list(PAGES)), _ids, _ids, st.data())
def test_what_is_spelled_is_read(
    seat: tuple[str, str], old: str, new: str, one: str, other: str, data: st.DataObject
) -> None:
    """In each style, an address is spelled so that it is read as that, and there is a way back."""
    site, place = addresses(), Seat(*seat)
    before, after = DocsAddress(old, one), DocsAddress(new, other)
    styles = [f"https://docs.example.org/base/{PAGES[old]}", f"/base/{PAGES[old]}", f"/{old}"]
    url = data.draw(st.sampled_from(styles)).replace(" ", "%20") + (f"#{one}" if one else "")
    syntax = data.draw(st.sampled_from(["inline", "html", "angle"]))
    written = Destination(0, 0, url, syntax)
    assert site.read(written.meant, place) == before
    spelled = site.respell(written, place, before, after)
    assert spelled is not None
    there = Destination(0, 0, spelled, syntax)
    assert site.read(there.meant, place) == after
    assert site.respell(there, place, after, before) == url
    assert re.search(r"[ <>\"']", spelled) is None
