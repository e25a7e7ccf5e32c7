"""Ids written into lines, bytes and files. The cases of lines are in `edits/`."""

from __future__ import annotations

import os
import random
import re
import shutil
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
import yaml
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from markdown import Markdown
from markdown.extensions import Extension
from markdown.treeprocessors import Treeprocessor

from mkdocs_markstay.edits import (
    LineChangedError,
    NotReplacedError,
    diff_text,
    is_inside,
    replace_file,
    stamp_text,
    write_id,
)
from mkdocs_markstay.locate import align, find_candidates, heading_key
from mkdocs_markstay.page_source import decode
from mkdocs_markstay.sectionids import Problem, read_heading

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from mkdocs_markstay.locate import Candidate
    from mkdocs_markstay.sectionids import HeadingText

FOLDER = Path(__file__).parent / "edits"
BOM = b"\xef\xbb\xbf"
EXTENSIONS = ["mkdocs_markstay", "admonition", "def_list", "footnotes", "md_in_html", "toc"]
posix = os.name == "posix"
on_posix = pytest.mark.skipif(not posix, reason="modes and links are those of POSIX")
_HEADING_ID = re.compile(r'(<h[1-6]\b[^>]*?) id="([^"]*)"')


# -- what Python-Markdown makes of a text


class _Headings(Treeprocessor):
    """Keeps the raw texts of the headings, before their ids are taken out."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def run(self, root: Element) -> None:
        headings = (element for element in root.iter() if re.fullmatch("h[1-6]", element.tag))
        self.texts = [(element.text or "").strip() for element in headings]


class _Watch(Extension):
    def __init__(self, headings: _Headings) -> None:
        super().__init__()
        self.headings = headings

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802 (the library's name)
        md.treeprocessors.register(self.headings, "watch", 45.5)


class Rendered(NamedTuple):
    html: str
    headings: list[str]

    @property
    def ids(self) -> list[str]:
        return [match[2] for match in _HEADING_ID.finditer(self.html)]

    @property
    def without_ids(self) -> str:
        return _HEADING_ID.sub(r"\1", self.html)


_HEADINGS = _Headings()
_MARKDOWN = Markdown(extensions=[*EXTENSIONS, _Watch(_HEADINGS)])


def render(text: str) -> Rendered:
    html = _MARKDOWN.reset().convert(text)
    return Rendered(html, _HEADINGS.texts)


# -- lines


def cases() -> list[Any]:
    return [
        pytest.param(case, syntax, id=f"{case['text']}-{syntax}")
        for path in sorted(FOLDER.glob("*.yml"))
        for case in yaml.safe_load(path.read_text(encoding="utf-8"))
        for syntax in ("angle", "brace")
    ]


def locate(text: str, headings: list[str]) -> Candidate:
    """Find the line of the last heading; the last candidate if nothing is a heading."""
    candidates = find_candidates(text)
    found = align([heading_key(heading) for heading in headings], candidates)
    return (found and found[-1]) or candidates[-1]


@pytest.mark.parametrize(("case", "syntax"), cases())
def test_line(case: dict[str, Any], syntax: str) -> None:
    text, section_id = case["text"], case.get("id", "x")
    before = render(text)
    candidate = locate(text, before.headings)
    written = read_heading(before.headings[-1] if before.headings else "")
    line = write_id(candidate, written, section_id, syntax)
    assert line == case[syntax]
    if line is None:
        return
    lines = text.split("\n")
    lines[candidate.line] = line
    after = render("\n".join(lines))
    assert after.ids[-1] == section_id
    assert after.without_ids == before.without_ids
    read = read_heading(after.headings[-1])
    assert (read.section_id, read.problem) == (section_id, None)
    # It is a heading with an id now.
    again = locate("\n".join(lines), after.headings)
    assert again.source == line
    assert write_id(again, read, section_id, syntax) is None


def test_heading_with_a_problem_is_left() -> None:
    candidate = find_candidates("## Title\n{#x}")[0]
    written = read_heading("Title")
    assert write_id(candidate, written, "x", "angle") == "## Title <#x>"
    # Its id stands on the line below: only the renderer sees that.
    problem = Problem("misplaced-id", "has its id 'x' on the next line", below=True)
    assert write_id(candidate, written._replace(problem=problem), "x", "angle") is None


@pytest.mark.parametrize(("text", "written"), [("<h2>Title", ">Title"), ("## C:\\", "C:\\")])
def test_line_that_is_no_heading_in_markdown_is_left(text: str, written: str) -> None:
    candidate = find_candidates(text)[0]
    assert write_id(candidate, read_heading(written), "x", "angle") is None


# -- bytes


@pytest.mark.parametrize(
    ("raw", "edits", "stamped"),
    [
        (b"", {}, b""),
        (b"a", {0: ("a", "b")}, b"b"),
        (b"a\n", {0: ("a", "b")}, b"b\n"),
        (b"a\r\nb\nc\rd", {1: ("b", "B"), 3: ("d", "D")}, b"a\r\nB\nc\rD"),
        (b"a\r\r\n\nb", {3: ("b", "B")}, b"a\r\r\n\nB"),
        (b"a\rb\r", {1: ("b", "B")}, b"a\rB\r"),
        (BOM + b"a\n", {0: ("a", "b")}, BOM + b"b\n"),
        (b"a\x0b\x0c\x1c\x1d\n\xe2\x80\xa8\xc2\x85b\n", {1: ("\u2028\x85b", "c")}, b"a\x0b\x0c\x1c\x1d\nc\n"),
        (b"a\n\xff\n", {0: ("a", "\u5b89")}, b"\xe5\xae\x89\n\xff\n"),
        (b"b\n", {0: ("a", "b")}, b"b\n"),
    ],
)  # fmt: skip
def test_stamped(raw: bytes, edits: dict[int, tuple[str, str]], stamped: bytes) -> None:
    assert stamp_text(raw, edits) == stamped
    assert stamp_text(stamped, edits) == stamped


@pytest.mark.parametrize(
    ("raw", "line"),
    [(b"a\nc\n", 1), (b"a\n", 1), (b"a", 1), (b"a\nb \n", 1), (b"a\nb\x0c", 1), (b"a\n\xff\n", 1)],
)
def test_line_that_is_another_one(raw: bytes, line: int) -> None:
    with pytest.raises(LineChangedError, match=r"^line 2 is not 'b' any more$") as caught:
        stamp_text(raw, {0: ("a", "A"), line: ("b", "B")})
    assert caught.value.line == line


# -- documents made at random


def tries(count: int) -> settings:
    return settings(
        max_examples=count,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )


_WORDS = (
    "Alpha", "\u5b89\u88c5", "*em*", "`code`", "`<#c>`", "[l](u#x)", "[l](u){.c}", "**b**{x}", "<b>x</b>",
    "<!-- c -->", "&amp;", "&amp", "\\#", "\\<#x>", "#", "##", "C#", "{x}", "{{ x }}", "/{id}", "Vec{T}",
    "{a, b}", "\\{a\\}", "x>", "}", "{", "\u00a0", "\u2028", "\x0b", "\x0c", "\x85", "\x02",
    "\x03", "\x00", "\\", "\\\\", "`", "*", "_", "[^1]", "$x_{#a}$", "\t", '"', "\ufeff", "{#m}", "<#m>",
)  # fmt: skip
_ENDS = (
    *["", "", "", " ##", "##", " #", "#", "  ", "\t", " \\#", "\\", " {.c}", " {: .c }", "{.c}"],
    *[" {.a_b k=v} ##", " ## { .c }", " {: .a} {: .b}", " {hidden}", ' {: t="*a* {b}" }', " {x}"],
    *["\u00a0", "\u2028", " ## ", " <#y>", " {#y}", " {: ._a_ }", ' {: t="a  b" }', " {a} {: .b}"],
)
_IDS = ("a", "x-1", "_u", "__init__", "\u00dcber", "e\u0301", "9", "a.b:c", "", "a b", "<b")
_CONTAINERS = (
    "{}",
    "{}",
    "> {}",
    "- {}",
    "    {}",
    "\t{}",
    "> > {}",
    "1.  {}",
    ":   {}",
    "[^1]: {}",
)
_AROUND = ("", "text", "```\n## code\n```", "!!! note\n", "<div>", "</div>", "- item\n", "a\n", "> q",
           '<div markdown="1">', "{: .c}", "***", "| a |\n|---|", "    ## code")  # fmt: skip

_WORD = re.compile(r"t\d+e")
_titles = st.lists(st.sampled_from(_WORDS), max_size=3).map(" ".join)


@st.composite
def _documents(draw: st.DrawFn) -> bytes:
    """Make the file of a document, in which each possible heading has a word of its own."""
    lines: list[str] = []
    for number in range(1, draw(st.integers(2, 5))):
        lines += [*draw(st.sampled_from(_AROUND)).split("\n"), *[""] * draw(st.integers(0, 1))]
        words = [draw(_titles), f"t{number}e", draw(_titles)]
        title = " ".join(filter(None, words)) + draw(st.sampled_from(_ENDS))
        container = draw(st.sampled_from(_CONTAINERS))
        sign = draw(
            st.sampled_from(["", "#", "## ", "##", "###\t", "####### ", " ## ", "##\u00a0"])
        )
        lines.append(container.format(sign + title))
        if not sign:
            rest = re.sub(r"[^> \t]", " ", container[:-2])
            lines.append(rest + draw(st.sampled_from(["---", "=", "=== "])))
        lines += [""] * draw(st.integers(0, 2))
    ends = draw(st.lists(st.sampled_from([b"\n", b"\r\n", b"\r"]), min_size=1, max_size=3))
    parts = [(line.encode(), ends[number % len(ends)]) for number, line in enumerate(lines)]
    raw = b"".join(line + end for line, end in parts)
    if draw(st.booleans()):
        raw = raw.removesuffix(parts[-1][1])
    return (BOM if draw(st.booleans()) else b"") + raw


def _find(raw: bytes) -> tuple[list[tuple[Candidate, HeadingText]], Rendered]:
    """Find the lines of the headings of a file, by their own words."""
    text, findings = decode(raw, "x.md")
    assert not findings
    rendered = render(text)
    of_word = {
        match[0]: read_heading(heading)
        for heading in rendered.headings
        if (match := _WORD.search(heading))
    }
    found = [
        (candidate, of_word[match[0]])
        for candidate in find_candidates(text)
        if (match := _WORD.search(candidate.source)) and match[0] in of_word
    ]
    return found, rendered


def _lines(raw: bytes) -> tuple[list[str], list[bytes]]:
    """Split a file into its lines and their ends, the byte order mark among these."""
    parts = re.split(rb"(\r\n|\n|\r)", raw.removeprefix(BOM))
    return [part.decode() for part in parts[::2]], [raw[: raw.startswith(BOM) * 3], *parts[1::2]]


def _insertion(old: str, new: str) -> tuple[int, str]:
    """Find what was put into a line, and where; nothing else may differ."""
    size = len(new) - len(old)
    at = next(at for at in range(len(old), -1, -1) if new[:at] + new[at + size :] == old)
    return at, new[at : at + size]


def test_stamping_changes_nothing_but_ids() -> None:
    stamped_headings = 0

    @given(_documents(), st.sampled_from(["angle", "brace"]), st.permutations(_IDS))
    @tries(250)
    def check(raw: bytes, syntax: str, ids: list[str]) -> None:
        nonlocal stamped_headings
        headings, before = _find(raw)
        edits: dict[int, tuple[str, str]] = {}
        of_line = {}
        for (candidate, written), section_id in zip(headings, ids, strict=False):
            line = write_id(candidate, written, section_id, syntax)
            if line is not None:
                edits[candidate.line] = (candidate.source, line)
                of_line[candidate.line] = section_id
                stamped_headings += 1
        stamped = stamp_text(raw, edits)
        # nothing but the ends of these lines
        old_lines, old_ends = _lines(raw)
        new_lines, new_ends = _lines(stamped)
        assert old_ends == new_ends
        for number, (old, new) in enumerate(zip(old_lines, new_lines, strict=True)):
            if number not in edits:
                assert old == new
                continue
            at, inserted = _insertion(old, new)
            assert of_line[number] in inserted
            if inserted.startswith("#"):  # inside braces
                at = old.rindex("{", 0, at)
            assert re.fullmatch(r"[\s#]*(\{.*\}[\s#]*)?", old[at:], re.DOTALL)
        # twice is the same as once
        assert stamp_text(stamped, edits) == stamped
        again, after = _find(stamped)
        for candidate, written in again:
            if candidate.line in edits:
                assert (written.section_id, written.problem) == (of_line[candidate.line], None)
                assert write_id(candidate, written, "other", syntax) is None
        # nothing but ids
        assert after.without_ids == before.without_ids
        assert set(of_line.values()) <= set(after.ids)

    check()
    assert stamped_headings > 100


@given(
    st.binary(max_size=40) | st.text("ab\r\n\x0b\x0c\x85\u2028\ufeff", max_size=40).map(str.encode)
)
@tries(200)
def test_lines_are_those_of_the_decoded_text(raw: bytes) -> None:
    text, findings = decode(raw, "x.md")
    assume(not findings)
    edits = {number: (line, f"{number}!") for number, line in enumerate(text.split("\n"))}
    stamped = stamp_text(raw, edits)
    assert decode(stamped, "x.md")[0].split("\n") == [new for _, new in edits.values()]
    assert stamp_text(raw, {number: (old, old) for number, (old, _) in edits.items()}) == raw


# -- differences

_CONTENTS = (
    (b"", b""),
    (b"a\n", b"a\n"),
    (b"## a\n", b"## a <#a>\n"),
    (b"## a", b"## a <#a>"),
    (b"a\nb\n## c", b"a <#a>\nb\n## c"),
    (b"## a\r\n\r\ntext\r\n", b"## a <#a>\r\n\r\ntext\r\n"),
    (b"## a\r\ntext\n## b\r\n## c\r", b"## a <#a>\r\ntext\n## b <#b>\r\n## c <#c>\r"),
    (b"a\r## b\rc\r", b"a\r## b <#b>\rc\r"),
    (BOM + b"## a\n", BOM + b"## a <#a>\n"),
    (b"## a\x0c\x1c\xe2\x80\xa8\xc2\x85b  \n\n", b"## a\x0c\x1c\xe2\x80\xa8\xc2\x85b <#b>  \n\n"),
    (b"- a\n--- a\n+++ b\n@@ -1 +1 @@\n\\ No\n## x\n", b"- a\n--- a\n+++ b\n@@ -1 +1 @@\n\\ No\n## x <#x>\n"),
    (b"## a\n" + b"t\n" * 20 + b"## b", b"## a <#a>\n" + b"t\n" * 20 + b"## b <#b>"),
)  # fmt: skip
_NAMES = (
    "docs/a.md", "docs/with space/a b.md", 'docs/a"b.md', "docs/a\tb.md", "docs/\u5b89\u88c5.md",
    "docs/a\\b.md", "docs/n\nb.md", "docs/\u2028.md", "docs/\udcff.md",
)  # fmt: skip
_PROGRAMS = {
    "git": ["git", "-c", "core.autocrlf=false", "apply", "--whitespace=nowarn"],
    "patch": ["patch", "-p1", "--silent", "--fuzz=0"],
}


@pytest.mark.parametrize("program", sorted(_PROGRAMS))
def test_difference_is_a_patch(program: str, tmp_path: Path) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    names = [name for name in _NAMES if posix or re.fullmatch(r"[\w/ .]+", name)]
    contents = {f"docs/{number}.md": pair for number, pair in enumerate(_CONTENTS)}
    contents |= dict.fromkeys(names, (b"one\n## two\n", b"one\n## two <#two>\n"))
    parts = []
    for name, (old, new) in contents.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(old)
        parts.append(diff_text(name, old, new).encode())
        assert bool(parts[-1]) == (old != new)
    subprocess.run(_PROGRAMS[program], input=b"".join(parts), cwd=tmp_path, check=True)
    for name, (_, new) in contents.items():
        assert (tmp_path / name).read_bytes() == new, name


def test_difference_shows_the_lines() -> None:
    assert diff_text("docs/a b.md", b"t\n## a\r\n", b"t\n## a <#a>\r\n") == (
        "--- a/docs/a b.md\t\n+++ b/docs/a b.md\t\n@@ -1,2 +1,2 @@\n t\n-## a\r\n+## a <#a>\r\n"
    )


# -- files


def left_over(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if not re.fullmatch(r"[a-z0-9]+\.md", path.name)]


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "docs" / "a.md"
    path.parent.mkdir()
    path.write_bytes(b"old")
    return path


def refusal(path: Path, old: bytes = b"old") -> str:
    with pytest.raises(NotReplacedError) as caught:
        replace_file(path, old, b"new")
    assert caught.value.path == path
    assert str(caught.value) == f"{path}: {caught.value.reason}"
    return caught.value.reason


@on_posix
@pytest.mark.parametrize("mode", [0o644, 0o600, 0o755, 0o664])
def test_file_is_replaced_and_keeps_its_mode(page: Path, mode: int) -> None:
    page.chmod(mode)
    replace_file(page, b"old", b"new")
    assert page.read_bytes() == b"new"
    assert stat.S_IMODE(page.stat().st_mode) == mode
    assert left_over(page.parent) == []


@on_posix
def test_file_keeps_its_owner(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.geteuid() == 0:
        os.chown(page, 12, 34)
        page.chmod(0o6755)
        replace_file(page, b"old", b"new")
        status = page.stat()
        assert (status.st_uid, status.st_gid) == (12, 34)
        assert stat.S_IMODE(status.st_mode) == 0o6755
    else:
        replace_file(page, b"old", b"new")

    def chown(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "chown", chown)
    replace_file(page, b"new", b"newer")
    assert page.read_bytes() == b"newer"


def test_file_that_changed_is_left(page: Path) -> None:
    assert refusal(page, b"older") == "was changed by someone else meanwhile"
    assert page.read_bytes() == b"old"


def test_file_that_changes_while_it_is_written_is_left(
    page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: page.write_bytes(b"theirs"))
    assert refusal(page) == "was changed by someone else meanwhile"
    assert page.read_bytes() == b"theirs"
    assert left_over(page.parent) == []


def test_read_only_file_is_left(page: Path) -> None:
    page.chmod(0o444)
    assert refusal(page) == "is read-only"
    page.chmod(0o644)
    assert page.read_bytes() == b"old"


@on_posix
def test_file_in_a_read_only_folder_is_left(page: Path) -> None:
    page.parent.chmod(0o555)
    assert refusal(page) == "is in a folder that is read-only"
    page.parent.chmod(0o755)
    assert page.read_bytes() == b"old"


@on_posix
def test_what_is_no_file_is_left(tmp_path: Path) -> None:
    assert refusal(tmp_path) == "is not a regular file"
    os.mkfifo(tmp_path / "pipe.md")
    assert refusal(tmp_path / "pipe.md") == "is not a regular file"
    assert refusal(tmp_path / "none.md") == "cannot be written: No such file or directory"
    (tmp_path / "loop.md").symlink_to("loop.md")
    assert refusal(tmp_path / "loop.md").startswith("cannot be written: ")
    assert not is_inside(tmp_path / "loop.md", tmp_path / "docs")


@on_posix
def test_link_stays_and_its_target_is_replaced(page: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.md"
    outside.write_bytes(b"old")
    inner, outer, folder = (page.parent / name for name in ("i.md", "o.md", "folder"))
    inner.symlink_to("a.md")
    outer.symlink_to("../outside.md")
    folder.symlink_to("..")
    assert is_inside(page, page.parent)
    assert is_inside(inner, page.parent)
    assert not is_inside(outer, page.parent)
    assert not is_inside(folder / "outside.md", page.parent)
    assert is_inside(folder / "docs" / "a.md", page.parent)
    assert not is_inside(tmp_path / "docs2" / "a.md", page.parent)
    for link, target in ((inner, page), (outer, outside)):
        replace_file(link, b"old", b"new")
        assert link.is_symlink()
        assert target.read_bytes() == b"new"


@on_posix
def test_other_hard_link_keeps_the_old_content(page: Path) -> None:
    other = page.parent / "b.md"
    os.link(page, other)
    replace_file(page, b"old", b"new")
    assert (page.read_bytes(), other.read_bytes()) == (b"new", b"old")


@pytest.mark.parametrize("function", ["fsync", "chmod", "replace"])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_failure_leaves_the_file(
    page: Path, monkeypatch: pytest.MonkeyPatch, function: str, error: BaseException
) -> None:
    def fail(*_: object) -> None:
        # What is there at this moment is no page to a generator.
        assert all(
            name.startswith(".") and not name.endswith(".md") for name in left_over(page.parent)
        )
        assert left_over(page.parent)
        raise error

    monkeypatch.setattr(os, function, fail)
    expected = NotReplacedError if isinstance(error, OSError) else KeyboardInterrupt
    with pytest.raises(expected) as caught:
        replace_file(page, b"old", b"new")
    if isinstance(caught.value, NotReplacedError):
        assert caught.value.reason == "cannot be written: No space left on device"
    assert page.read_bytes() == b"old"
    assert left_over(page.parent) == []


_STAMPING = """
import sys
from pathlib import Path
from mkdocs_markstay.edits import replace_file
old, new = b"old" * 500_000, b"new" * 700_000
while True:
    for path in sorted(Path(sys.argv[1]).glob("*.md")):
        found = path.read_bytes()
        replace_file(path, found, new if found == old else old)
        print("replaced", flush=True)
"""


def test_killed_process_leaves_every_file_whole(tmp_path: Path) -> None:
    old, new = b"old" * 500_000, b"new" * 700_000
    for number in range(9):
        (tmp_path / f"{number}.md").write_bytes(old)
    moments = random.Random(7)  # noqa: S311 (nothing is secret)
    for _ in range(6):
        process = subprocess.Popen(
            [sys.executable, "-c", _STAMPING, str(tmp_path)], stdout=subprocess.PIPE
        )
        with process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"replaced\n"
            time.sleep(moments.uniform(0.001, 0.06))
            process.kill()
        contents = {path.read_bytes() for path in tmp_path.glob("*.md")}
        assert contents <= {old, new}
        assert len(list(tmp_path.glob("[0-9]*.md"))) == 9
        for name in left_over(tmp_path):
            assert re.fullmatch(r"\.markstay-\w+\.tmp", name)
