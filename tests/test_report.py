"""The report of a comparison as HTML, and as a comment that is never too long: without a browser."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from report_builder import HOSTILE, make
from site_builder import run_markstay
from test_diff import _SITES
from test_diff_command import git, write

from mkdocs_markstay import diff_html
from mkdocs_markstay.citations import Citations
from mkdocs_markstay.diff import KINDS, Change, Comparison, Field, Place, compare
from mkdocs_markstay.diff_entries import CAUSES, Report, find_cause, is_link
from mkdocs_markstay.diff_formats import write_report
from mkdocs_markstay.diff_html import show_unseen
from mkdocs_markstay.diff_texts import Texts, read_texts
from mkdocs_markstay.manifest_files import open_manifest
from mkdocs_markstay.progress import Progress

if TYPE_CHECKING:
    from manifest_builder import Site

OLD: Site = {
    "guide=The guide": {
        "": ["Lead."],
        "install=Install": ["You need Python 3.9 or later.", "Run it."],
        "old": ["The old way."],
    },
    "notes": {"": ["Notes."], "x": ["X."]},
}
NEW: Site = {
    "guide=The guide": {
        "": ["Lead."],
        "install=Install": ["You need Python 3.10 or later.", "Run it."],
        "set": ["The old way."],
    },
    "more": {"": ["More."]},
}


class Parsed(HTMLParser):
    """The elements of a report, and the texts of its scripts and styles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.attributes: list[tuple[str, str]] = []
        self.texts: dict[str, list[str]] = {}
        self._in = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        self._in = tag
        self.texts.setdefault(tag, []).append("")

    def handle_data(self, data: str) -> None:
        if self._in:
            self.texts[self._in][-1] += data

    def handle_endtag(self, _tag: str) -> None:
        self._in = ""

    @property
    def data(self) -> dict[str, Any]:
        data: dict[str, Any] = json.loads(self.texts["script"][0])
        return data


def show(report: Report) -> Parsed:
    return Parsed("".join(write_report(report, "html", "1")))


def open_report(old: Path, new: Path, folder: Path) -> Report:
    """Compare two manifests."""
    opened = []
    for name, path, other in (("a", old, new), ("b", new, old)):
        (folder / name).mkdir(exist_ok=True)
        opened.append(open_manifest(str(path), str(other), folder / name))
    read = partial(read_texts, old=opened[0], new=opened[1])
    return Report(compare(opened[0], opened[1]), read=read)


def write_both(folder: Path, old: Site, new: Site, **options: Any) -> tuple[Path, Path]:
    for name in ("old", "new"):
        shutil.rmtree(folder / name, ignore_errors=True)
    write(folder, "old", old)
    write(folder, "new", new, **options)
    return folder / "old", folder / "new"


# -- what it says


@pytest.mark.parametrize("name", ["passages.json", "passages.jsonl"])
def test_changes_with_their_texts(name: str, tmp_path: Path) -> None:
    old, new = write_both(tmp_path, OLD, NEW)
    data = show(open_report(old / name, new / name, tmp_path)).data
    causes = [(each["id"], each["count"]) for each in data["causes"]]
    assert causes == [("broken", 3), ("edited", 1), ("moved", 1), ("removed", 2), ("added", 2)]
    (edited,) = (each for each in data["changes"] if each["kind"] == "edited")
    assert edited["pieces"] == [
        ["=", "You need Python "],
        ["-", "3.9"],
        ["+", "3.10"],
        ["=", " or later."],
    ]
    section = data["sections"][edited["new"][0]]
    page = data["pages"][section["page"]]
    assert edited["old"] == edited["new"]
    assert section == {
        "page": section["page"],
        "referent": "guide#install",
        "title": "Install",
        "url": "https://docs.example.org/guide/#install",
    }
    assert page == {"id": "guide", "lang": "en", "title": "The guide"}
    (moved,) = (each for each in data["changes"] if each["cause"] == "moved")
    assert moved["pieces"] == [["=", "The old way."]]


@pytest.mark.parametrize("name", ["passages.json", "passages.jsonl"])
def test_texts_are_whole(name: str, tmp_path: Path) -> None:
    texts = [f"Passage {number} is longer than an excerpt. {'Word. ' * 40}" for number in range(9)]
    sites: list[Site] = [
        {page: {"x": [f"{page} {text}{end}" for text in texts]} for page in ("a", "b", "c")}
        for end in ("old", "new")
    ]
    paths = write_both(tmp_path, *sites)
    report = open_report(paths[0] / name, paths[1] / name, tmp_path)
    data = show(report).data
    assert len(data["changes"]) == 27
    check_texts(paths, data)


def test_an_edit_far_behind_in_a_text_is_shown() -> None:
    place = Place("a#x", "en", position=0)
    old, new = ({("a#x", "en", 0): "word " * 60_000 + end} for end in ("old end", "new end"))
    report = make_report(
        Change("edited", "passage", place, place), read=lambda _: (Texts(old), Texts(new))
    )
    ((_, first), *others) = show(report).data["changes"][0]["pieces"]
    assert first == "word " * 20_000 + "\u2026" + "word " * 20_000
    assert others == [["-", "old"], ["+", "new"], ["=", " end"]]


def make_report(*changes: Change, **options: Any) -> Report:
    return Report(Comparison("old", "new", (), False, (), (1, 1), "en", changes), **options)


def test_what_there_is_no_room_for_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diff_html, "_MOST", 2)
    place = Place("a#x", "en", position=0)
    edited = Change("edited", "passage", place, place)
    page = show(make_report(edited, edited, edited, Change("added", "passage", None, place)))
    assert [(each["id"], each["count"]) for each in page.data["causes"]] == [("edited", 3)]
    # Nothing leads to a list that is not there.
    assert [value for name, value in page.attributes if name == "href"] == ["#edited"]


def test_it_tells_how_far_it_is() -> None:
    told: list[tuple[str, int | None] | int] = []

    class Told(Progress):
        def begin(self, step: str, total: int | None = None, *, in_bytes: bool = False) -> None:
            del in_bytes
            told.append((step, total))

        def advance(self, count: int = 1) -> None:
            told.append(count)

    place = Place("a#x", "en", position=0)
    show(make_report(*[Change("added", "passage", None, place)] * 3, progress=Told()))
    assert told == [("Reading the texts", None), ("Comparing texts", 3), 1, 1, 1]


def test_if_everything_may_have_moved_whole_sections_are_shown(tmp_path: Path) -> None:
    old, new = write_both(tmp_path, OLD, NEW, max_chars=500)
    report = open_report(old, new, tmp_path)
    (edited,) = (each for each in show(report).data["changes"] if each["kind"] == "edited")
    assert (edited["what"], edited["new"][1]) == ("section", -1)
    shown = "".join(text for sign, text in edited["pieces"] if sign != "-")
    assert shown == "You need Python 3.10 or later.\n\nRun it."
    comment = "".join(write_report(report, "markdown", "1"))
    assert "Python <del>3&#46;9</del> <ins>3&#46;10</ins> or later" in comment


def test_markers_that_are_gone(tmp_path: Path) -> None:
    old, new = write_both(tmp_path, {"a": {"x": ["A ^1#", "B ^2"]}}, {"a": {"x": ["A2 ^1#"]}})
    data = show(open_report(old, new, tmp_path)).data
    gone = {each["what"]: each.get("gone") for each in data["changes"] if each["kind"] == "removed"}
    assert gone == {"passage": ["2"]}


def describe(change: dict[str, Any], data: dict[str, Any]) -> tuple[Any, ...]:
    """Tell of a change in a report what the JSON format tells of it, too."""
    places: list[tuple[Any, ...] | None] = []
    for place in (change["old"], change["new"]):
        if place is None:
            places.append(None)
            continue
        section = data["sections"][place[0]]
        lang = data["pages"][section["page"]]["lang"]
        places.append((section["referent"], lang, place[1], section["url"]))
    flags = change.get("followed", False), change.get("opened", False), change.get("reason", "")
    return change["kind"], change["what"], *places, *flags, len(change.get("fields", ()))


def describe_json(change: dict[str, Any]) -> tuple[Any, ...]:
    places = [
        place
        and (
            place["referent"],
            place["lang"],
            place.get("position", -1),
            place["url"] if is_link(place["url"]) else "",
        )
        for place in (change["old"], change["new"])
    ]
    flags = change["redirected"], change["opened"], change["reason"]
    return change["kind"], change["what"], *places, *flags, len(change["fields"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("manifests")


@given(old=_SITES, new=_SITES)
@settings(deadline=None, max_examples=60)
def test_the_report_has_what_json_has(folder: Path, old: Site, new: Site) -> None:
    paths = write_both(folder, old, new)
    for name in ("passages.json", "passages.jsonl"):
        report = open_report(paths[0] / name, paths[1] / name, folder)
        page = "".join(write_report(report, "html", "1"))
        # The same two manifests make the same bytes.
        again = open_report(paths[0] / name, paths[1] / name, folder)
        assert page == "".join(write_report(again, "html", "1"))
        data = Parsed(page).data
        changes = json.loads("".join(write_report(report, "json", "1")))["changes"]
        shown = [describe(each, data) for each in data["changes"]]
        assert sorted(shown, key=repr) == sorted(map(describe_json, changes), key=repr)
        names = [each["id"] for each in data["changes"]]
        assert len(set(names)) == len(names)
        causes = [each["cause"] for each in data["changes"]]
        assert causes == sorted(causes, key=list(CAUSES).index)
        check_texts(paths, data)


def check_texts(paths: tuple[Path, Path], data: dict[str, Any]) -> None:
    """Compare the texts of passages with those of the manifests."""
    for path, side, sign in zip(paths, ("old", "new"), "-+", strict=True):
        lines = (path / "passages.jsonl").read_text("utf-8").splitlines()
        rows = [json.loads(line) for line in lines]
        texts = {(row["referent"], row["lang"], row["position"]): row["text"] for row in rows}
        for change in data["changes"]:
            if change["what"] == "passage" and change[side] is not None:
                section = data["sections"][change[side][0]]
                lang = data["pages"][section["page"]]["lang"]
                key = section["referent"], lang, change[side][1]
                shown = [text for each, text in change["pieces"] if each in ("=", sign)]
                assert "".join(shown) == texts[key]


def test_causes_are_all_kinds_and_broken_addresses() -> None:
    assert set(CAUSES) == {"broken", *KINDS}
    place, other = Place("a#x", "en"), Place("a#y", "en")
    assert find_cause(Change("removed", "section", place, None)) == "broken"
    assert find_cause(Change("moved", "section", place, other)) == "broken"
    assert find_cause(Change("moved", "section", place, other, followed=True)) == "moved"
    assert find_cause(Change("removed", "passage", place, None)) == "removed"


# -- nothing in it acts

NAMES = {
    *re.findall(
        r"\S+",
        "html head meta title style body header h1 p bdi code span strong ul li a b svg rect details"
        " summary div table caption thead tbody tr th td form fieldset legend label input select"
        " option button main noscript h2 h3 article del ins footer script",
    )
}
ATTRIBUTES = {
    *re.findall(
        r"\S+",
        "lang charset http-equiv content name class aria-label aria-hidden aria-live href width height"
        " focusable rx tabindex role scope id hidden type checked value autocomplete spellcheck dir"
        " open",
    )
}


@given(text=st.sampled_from(HOSTILE) | st.text(), url=st.sampled_from(HOSTILE) | st.text())
@settings(deadline=None)
def test_nothing_in_a_text_acts(text: str, url: str) -> None:
    page = "".join(write_report(make(text, url), "html", "1"))
    page.encode()
    parsed = Parsed(page)
    assert parsed.names <= NAMES
    assert {name for name, _ in parsed.attributes} <= ATTRIBUTES
    for value in (value for name, value in parsed.attributes if name == "href"):
        assert re.match(r"#[a-z]+\Z|https?://", value)
    assert len(parsed.texts["script"]) == 2
    assert len(parsed.texts["style"]) == 1
    edited = next(each for each in parsed.data["changes"] if each["kind"] == "edited")
    shown = "".join(text for sign, text in edited["pieces"] if sign != "+")
    assert shown == show_unseen(text)
    # Between the elements, and in the data, everything is seen as it is written.
    for unseen in "\0\x1b\x7f\x85\u202e\u2066\u200f\ufeff\u2028":
        assert unseen not in page
    # Nothing in the data ends or begins an element.
    data = page.partition('id="data">')[2].partition("</script>")[0]
    assert not set(data) & set("<>&")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\u202eb", "a‹U+202E›b"),
        ("\0\ud800\U000e0001", "‹U+0000›‹U+D800›‹U+E0001›"),
        ("a\n\tb\u00a0c", "a\n\tb\u00a0c"),
        ("می\u200cخواهم 👩\u200d💻", "می\u200cخواهم 👩\u200d💻"),
    ],
)
def test_what_is_not_seen_is_shown(text: str, shown: str) -> None:
    assert show_unseen(text) == shown


@pytest.mark.parametrize(
    ("url", "links"),
    [
        ("https://docs.example.org", True),
        ("http://127.0.0.1:8000/a/b.html?x=1&y=2#z%20a", True),
        ("HTTPS://docs.example.org/é/#ü", True),
        ("guide/#set", False),
        ("//docs.example.org/", False),
        ("javascript:alert(1)", False),
        ("java\nscript:alert(1)", False),
        ("data:text/html,x", False),
        ("https://", False),
        ("https:/docs.example.org", False),
        (" https://docs.example.org", False),
        ("https://docs.example.org/a b", False),
        ("https://docs.example.org/'x", False),
        ("https://docs.example.org/\u202ea", False),
        ("https://docs.example.org\\@a", False),
    ],
)
def test_only_pages_are_linked(url: str, links: bool) -> None:
    assert is_link(url) == links


def test_the_policy_allows_its_own_script_and_style_alone() -> None:
    parsed = show(make("a", "https://docs.example.org/"))
    policy = next(v for n, v in parsed.attributes if n == "content" and "default-src" in v)
    hashes = {
        name: base64.b64encode(hashlib.sha256(parsed.texts[name][-1].encode()).digest()).decode()
        for name in ("script", "style")
    }
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{hashes['style']}';"
        f" script-src 'sha256-{hashes['script']}'; base-uri 'none'; form-action 'none'"
    )


def test_without_changes_there_is_nothing_to_filter(tmp_path: Path) -> None:
    old, new = write_both(tmp_path, OLD, OLD)
    parsed = show(open_report(old, new, tmp_path))
    assert "form" not in parsed.names
    assert parsed.data["changes"] == []


# -- the command


def test_the_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    write_both(tmp_path, OLD, NEW)
    for style in ("html", "json", "text", "markdown", "github"):
        printed = run_markstay(tmp_path, "diff", "old", "new", "--format", style)
        ran = run_markstay(tmp_path, "diff", "old", "new", "--format", style, "-o", "out")
        assert (ran.code, ran.out, ran.err) == (0, "", "9 changes (6 passages in OLD, 5 in NEW)\n")
        assert (tmp_path / "out").read_text("utf-8") == printed.out
    path = tmp_path / "new" / "passages.json"
    path.write_bytes(path.read_bytes()[:-40])
    ran = run_markstay(tmp_path, "diff", "old", "new", "--format", "html", "-o", "out")
    assert ran.code == 2
    assert (tmp_path / "out").read_text("utf-8") == printed.out
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]
    ran = run_markstay(tmp_path, "diff", "old", "old", "-o", "none/out")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("mkdocs-markstay: none/out cannot be written: ")
    ran = run_markstay(tmp_path, "diff", "old", "old", "-o", "old")
    assert (ran.code, ran.out) == (2, "")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no such pipes")
def test_links_and_pipes_stay_what_they_are(tmp_path: Path) -> None:
    write_both(tmp_path, OLD, NEW)
    printed = run_markstay(tmp_path, "diff", "old", "new", "--format", "html").out.encode()
    (tmp_path / "link").symlink_to("target")
    os.mkfifo(tmp_path / "pipe")
    read: list[bytes] = []
    reader = Thread(target=lambda: read.append((tmp_path / "pipe").read_bytes()), daemon=True)
    reader.start()
    for name in ("link", "pipe"):
        ran = run_markstay(tmp_path, "diff", "old", "new", "--format", "html", "-o", name)
        assert ran.code == 0
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == printed
    assert (tmp_path / "pipe").is_fifo()
    reader.join(10)
    assert read == [printed]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no such device")
@pytest.mark.parametrize("command", ["diff old new --format html", "stats old", "diff old new"])
def test_output_for_which_there_is_no_room(command: str, tmp_path: Path) -> None:
    write_both(tmp_path, OLD, NEW)
    with Path("/dev/full").open("wb") as full:
        ran = subprocess.run(
            [sys.executable, "-m", "mkdocs_markstay", *command.split(), "-q"],
            stdout=full,
            stderr=subprocess.PIPE,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            check=False,
        )
    message = b"mkdocs-markstay: the output cannot be written: No space left on device\n"
    assert (ran.returncode, ran.stderr) == (2, message)


def test_fail_on_writes_the_file_and_fails(tmp_path: Path) -> None:
    write_both(tmp_path, OLD, NEW)
    ran = run_markstay(
        tmp_path, "diff", "old", "new", "--format", "html", "--fail-on", "edited", "-o", "out"
    )
    summary = "9 changes (6 passages in OLD, 5 in NEW)\n"
    assert (ran.code, ran.out, ran.err) == (1, "", f"{summary}found of --fail-on: edited\n")
    assert "Found of <code>--fail-on</code>: edited" in (tmp_path / "out").read_text("utf-8")


@pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")
def test_committed_manifests_and_other_forms(tmp_path: Path) -> None:
    old, new = write_both(tmp_path, OLD, NEW)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "old")
    git(tmp_path, "commit", "-q", "-m", "Site")
    expected = run_markstay(tmp_path, "diff", "old", "new", "--format", "html").out
    name = "old/passages.json"
    shutil.rmtree(old)
    indented = json.dumps(json.loads((new / "passages.json").read_bytes()), indent=1)
    (tmp_path / "new.json").write_text(indented, "utf-8")
    ran = run_markstay(tmp_path, "diff", f"git:HEAD:{name}", "new.json", "--format", "html")
    shown = ran.out.replace(f"git:HEAD:{name}", name).replace("new.json", "new/passages.json")
    assert shown == expected


# -- comments

_HEAVY = st.text(
    alphabet=st.sampled_from("a#@<&`*_ \0\u202e\U000e0001\ud800é猫👩"), min_size=1, max_size=300
).map(lambda text: text * (1 + 3_000 // len(text)))


@given(text=_HEAVY | st.text(), url=_HEAVY, count=st.integers(0, 3_000))
@example(text="\U000e0001" * 5_000, url="https://docs.example.org/" + "a" * 270, count=300_000)
@example(text="#" * 5_000, url="https://docs.example.org/" + "&" * 270, count=300)
@settings(deadline=None, max_examples=25)
def test_a_comment_is_never_too_long(text: str, url: str, count: int) -> None:
    report = make(text, url)
    comparison = report.comparison
    edited = comparison.changes[0]
    fields = [Field(f"policy.{text}{number}", text, [text]) for number in range(100)]
    changes = [*[edited] * count, *(list(comparison.changes) * 200)]
    citations = tuple(f"{text}{number}" for number in range(10_000))
    long = Report(
        Comparison(text, text, tuple(fields), True, (text,) * 100, (1, 1), "de", changes),
        ["removed"],
        Citations(citations, {}, citations),
        citations,
    )
    for each in (report, long):
        written = "".join(write_report(each, "markdown", "1"))
        assert len(written.encode()) < 65_536
        assert written.count("<details") == written.count("</details>")
    assert "Lines left out here: " in written


def test_what_is_broken_comes_first_and_what_is_left_out_is_counted() -> None:
    places = [Place(f"page#s{number}", "en", "Title") for number in range(1_000)]
    changes = [Change("edited", "passage", place, place) for place in places[:500]]
    changes += [Change("added", "section", None, place) for place in places[500:800]]
    changes += [Change("removed", "section", place, None) for place in places[800:820]]
    comparison = Comparison("old", "new", (), False, (), (1, 1), "en", changes)
    written = "".join(write_report(Report(comparison), "markdown", "1"))
    start = "Passages and citations: **20 broken addresses**, 500 edited, 300 added.\n"
    assert written.startswith(start)
    titles = re.findall(r"<summary><b>(.*)</b> \(([\d,]+)\)</summary>", written)
    assert titles == [("Broken addresses", "20"), ("Edited", "500")]
    assert written.endswith(
        "Lines left out here: 320 edited, 300 added. `--format html` shows more.\n"
    )
