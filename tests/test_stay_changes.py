"""Markers that were dropped, doubled or relocated since a revision."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markstay import CommitEntry, check_entries
from site_builder import Site, run_markstay, write_site

from mkdocs_markstay.stay_changes import compare_versions, shorten

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

A, B, C = "Alpha.\n<!-- stay:a -->\n\n", "Beta.\n<!-- stay:b -->\n\n", "Gamma.\n<!-- stay:c -->\n\n"
TOP = "---\ntitle: T\n---\n\n# T\n\n"
ITEMS = "- one <!-- stay:i1 subhash=sha256:aa -->\n- two <!-- stay:i2 subhash=sha256:bb -->\n"
SHOWN = "`<!-- stay:a -->`\n\n"

Files = dict[str, str]
COMPARED: dict[str, tuple[Files, Files, list[str]]] = {
    "nothing": ({"p.md": TOP + A + B}, {"p.md": TOP + A + B}, []),
    "a block is edited": ({"p.md": A + B}, {"p.md": A.replace("Al", "El") + B}, []),
    "blocks change places, with their markers": ({"p.md": A + B}, {"p.md": B + A}, []),
    "a block is new": ({"p.md": A}, {"p.md": A + B}, []),
    "a marker is dropped": (
        {"p.md": TOP + A + B},
        {"p.md": TOP + "Alpha.\n\n" + B},
        ["p.md:7 stay-dropped a 8"],
    ),
    "a block is dropped: the nearest above": (
        {"p.md": TOP + A + B + C},
        {"p.md": TOP + A + C},
        ["p.md:7 stay-dropped b 11"],
    ),
    "a block is dropped, and the one above has no marker": (
        {"p.md": "# T\n\n" + A},
        {"p.md": "# T\n\nOther.\n"},
        ["p.md:1 stay-dropped a 4"],
    ),
    "all is dropped": (
        {"p.md": A + B},
        {"p.md": "Other.\n"},
        ["p.md:1 stay-dropped a 2", "p.md:1 stay-dropped b 5"],
    ),
    "two markers are swapped": (
        {"p.md": A + B},
        {"p.md": "Alpha.\n<!-- stay:b -->\n\nBeta.\n<!-- stay:a -->\n"},
        ["p.md:2 stay-relocated b a", "p.md:5 stay-relocated a b"],
    ),
    "a marker goes to another block": (
        {"p.md": A + B},
        {"p.md": "Alpha.\n\nBeta.\n<!-- stay:a -->\n"},
        ["p.md:3 stay-dropped b 5", "p.md:4 stay-relocated a b"],
    ),
    "a block is copied": ({"p.md": A + B}, {"p.md": A + B + A}, ["p.md:8 stay-duplicate a 2"]),
    "a block is copied and edited": (
        {"p.md": A + B},
        {"p.md": A + B + A.replace("Al", "El")},
        ["p.md:8 stay-duplicate a 2"],
    ),
    "a copy that was there before": ({"p.md": A + B + A}, {"p.md": A + B + A + C}, []),
    "a block goes to another file": (
        {"p.md": A + B, "q.md": C},
        {"p.md": B, "q.md": C + A},
        [],
    ),
    "a block goes to a new file": ({"p.md": A + B}, {"p.md": B, "q.md": A}, []),
    "a file is rewritten under another name": (
        {"old.md": A + B},
        {"new.md": A + "Other.\n"},
        ["new.md:1 stay-dropped b 5 old.md"],
    ),
    "a file is deleted": ({"p.md": A + B, "q.md": C}, {"q.md": C}, ["p.md:1 stay-dropped a, b"]),
    "a file without markers is deleted": ({"p.md": "Alpha.\n"}, {}, []),
    "a file is deleted, and its blocks are elsewhere": (
        {"p.md": A + B, "q.md": C},
        {"q.md": C + A + B},
        [],
    ),
    "an item of a list is dropped": (
        {"p.md": ITEMS},
        {"p.md": ITEMS.replace(" <!-- stay:i2 subhash=sha256:bb -->", "").replace("two", "new")},
        ["p.md:1 stay-dropped i2 2"],
    ),
    "what readers see is no marker": ({"p.md": SHOWN + B}, {"p.md": B}, []),
    "code with a marker in it": ({"p.md": "```\n" + A + "```\n"}, {"p.md": "Other.\n"}, []),
    "a file without front matter any more": (
        {"p.md": TOP + A},
        {"p.md": "Alpha.\n"},
        ["p.md:1 stay-dropped a 8"],
    ),
}


def compare(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """Give the findings in short: place, code, ids, and the old line or file."""
    entries = []
    for name in sorted({*old, *new}):
        before, after = old.get(name), new.get(name)
        if before != after:
            status = "A" if before is None else "D" if after is None else "M"
            entries.append(CommitEntry(status, name, name, before, after))
    findings = compare_versions(entries, "v1", "blank-line", "stamp", str)
    told = []
    for found in sorted(findings, key=lambda found: (found.path, found.line, found.message)):
        assert "v1" in found.message
        # The marker itself, which is to be put back, stands at the end.
        told_of = found.message.split(" Put it back")[0]
        words = told_of.replace("(line ", "\0").split("stay:")[1:]
        ids = [word.split()[0] for word in words]
        if "deleted" in found.message:
            ids = [found.message.split("of v1: ")[1].split(".")[0]]
        if "\0" in words[0] if words else False:
            ids.append(words[0].split("\0")[1].split(")")[0])
            where = words[0].split(" was in ")[1].split(" at ")[0]
            ids += [where] if where != "this file" else []
        if found.code == "stay-duplicate":
            ids.append(words[0].split(" is there ")[1].split()[0])
        told.append(f"{found.path}:{found.line} {found.code} {' '.join(ids)}")
    return told


@pytest.mark.parametrize("case", COMPARED)
def test_what_became_of_markers(case: str) -> None:
    old, new, told = COMPARED[case]
    assert compare(old, new) == told


@pytest.mark.parametrize("case", COMPARED)
def test_without_a_change_there_is_no_finding(case: str) -> None:
    old, new, _ = COMPARED[case]
    assert compare(old, old) == compare(new, new) == []


_TEXTS = (
    "One.",
    "Two.",
    "- a\n- b",
    "# T",
    "```\nx\n\ny\n```",
    "    code",
    "One.\nTwo.",
    "Para:\n- c",
)
_BLOCKS = st.lists(
    st.tuples(st.sampled_from(_TEXTS), st.sampled_from(["", "a", "b", "c", "d"])), max_size=7
)


@settings(deadline=None, max_examples=300)
@given(_BLOCKS, _BLOCKS, _BLOCKS, st.sampled_from(["blank-line", "commonmark"]))
def test_what_is_left_out_tells_nothing(
    same: list[tuple[str, str]],
    old: list[tuple[str, str]],
    new: list[tuple[str, str]],
    segmentation: str,
) -> None:
    """markstay finds in the versions that it is given what it finds in the whole ones."""

    def join(blocks: list[tuple[str, str]]) -> str:
        parts, used = [], {""}
        for text, stay_id in blocks:  # an id that is there twice is another finding
            parts.append(f"{text}\n" + ("" if stay_id in used else f"<!-- stay:{stay_id} -->\n"))
            used.add(stay_id)
        return "\n".join(parts)

    def check(entry: CommitEntry) -> set[tuple[str, str | None]]:
        (report, *_) = check_entries([entry], mode=segmentation, child_blocks=True).reports or [
            ("", [])
        ]
        codes = ("DROPPED_ID", "RELOCATED_ID", "HASH_DRIFT", "ADOPTED_ID")
        return {(each.code, each.id) for each in report[1] if each.code in codes}

    middle = len(same) // 2
    before = join(same[:middle] + old + same[middle:])
    after = join(new[:1] + same[:middle] + new[1:] + same[middle:])
    entry = CommitEntry("M", "p.md", "p.md", before, after)
    short = shorten(entry, segmentation)
    assert check(short) == check(entry)


# -- with git


def git(folder: Path, *arguments: str) -> None:
    who = ("-c", "user.name=x", "-c", "user.email=x@example.org")
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)  # noqa: S607


def commit(folder: Path, files: Mapping[str, str]) -> None:
    write_site(folder, Site({f"docs/{name}": text for name, text in files.items()}))
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "x")


def write(folder: Path, files: Mapping[str, str | None]) -> None:
    for name, text in files.items():
        path = folder / "docs" / name
        if text is None:
            path.unlink()
        else:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="")


FIRST = {"index.md": "# T\n\n" + A + B, "q r.md": "# Q\n\n" + C}
SINCE: dict[str, tuple[dict[str, str | None], list[str]]] = {
    "nothing": ({}, []),
    "not committed": (
        {"index.md": "# T\n\n" + A + "Beta.\n"},
        ["docs/index.md:6 error stay-dropped"],
    ),
    "other line ends": ({"index.md": ("# T\n\n" + A + B).replace("\n", "\r\n")}, []),
    "deleted": ({"q r.md": None}, ["docs/q r.md:1 error stay-dropped"]),
    "renamed": ({"q r.md": None, "new.md": "# Q\n\n" + C}, []),
    "renamed and rewritten": (
        {"index.md": None, "sub/é.md": "# Other\n\nNew.\n\n" + B},
        ["docs/sub/é.md:1 error stay-dropped"],
    ),
    "moved to a new file": ({"index.md": "# T\n\n" + A, "new.md": B}, []),
    "copied": ({"index.md": "# T\n\n" + A + B + A}, ["docs/index.md:10 error stay-duplicate"]),
    "no Markdown": ({"data.txt": "<!-- stay:a -->\n"}, []),
}


@pytest.mark.parametrize("case", SINCE)
def test_since(case: str, tmp_path: Path) -> None:
    changed, told = SINCE[case]
    commit(tmp_path, FIRST)
    write(tmp_path, changed)
    for _ in range(2):  # the second time, nothing is rendered
        ran = run_markstay(tmp_path, "check", "--stays", "--since", "HEAD")
        assert (ran.code, ran.places) == (bool(told), told)
    git(tmp_path, "add", "-A")
    assert run_markstay(tmp_path, "check", "--stays", "--since", "HEAD").places == told
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "y")
    assert run_markstay(tmp_path, "check", "--stays", "--since", "HEAD~1").places == told


def test_leading_lines_are_counted(tmp_path: Path) -> None:
    commit(tmp_path, {"index.md": "\n\n\n# T\n\n" + A})
    write(tmp_path, {"index.md": "# T\n\nAlpha.\n"})
    (found,) = run_markstay(tmp_path, "check", "--stays", "--since", "HEAD").findings
    assert (found.place, "(line 7)" in found.message) == ("docs/index.md:3 stay-dropped", True)


def test_only_stays_are_told(tmp_path: Path) -> None:
    text = "# T\n\n## No id\n\n<!-- stay: x -->\n\n" + A
    commit(tmp_path, {"index.md": text, "other.md": "# O\n\n## No id\n"})
    assert {found.code for found in run_markstay(tmp_path, "check").findings} == {
        "missing-id",
        "stay-malformed",
    }
    ran = run_markstay(tmp_path, "check", "--stays")
    assert (ran.code, ran.places) == (1, ["docs/index.md:5 error stay-malformed"])
    ran = run_markstay(tmp_path, "check", "--stays", "docs/other.md")
    assert (ran.code, ran.places) == (0, [])
    ran = run_markstay(tmp_path, "check", "--stays", "--format", "json")
    assert [found["code"] for found in json.loads(ran.out)["findings"]] == ["stay-malformed"]


def test_levels_and_paths(tmp_path: Path) -> None:
    commit(tmp_path, FIRST)
    write(tmp_path, {"index.md": "# T\n", "q r.md": "# Q\n"})
    arguments = ["check", "--stays", "--since", "HEAD"]
    assert len(run_markstay(tmp_path, *arguments).places) == 3
    assert run_markstay(tmp_path, *arguments, "docs/q r.md").places == [
        "docs/q r.md:1 error stay-dropped"
    ]
    write_site(tmp_path, Site({}, plugin={"findings": {"stay-dropped": "warning"}}))
    ran = run_markstay(tmp_path, *arguments)
    assert (ran.code, {found.level for found in ran.findings}) == (0, {"warning"})
    assert run_markstay(tmp_path, *arguments, "--strict").code == 1


def test_a_page_that_was_rewritten_is_one_finding(tmp_path: Path) -> None:
    text = "# T\n\n" + "".join(f"Words {n}.\n<!-- stay:w{n} -->\n\n" for n in range(11))
    commit(tmp_path, {"index.md": text})
    write(tmp_path, {"index.md": "# T\n\nOther words.\n"})
    (found,) = run_markstay(tmp_path, "check", "--stays", "--since", "HEAD").findings
    assert (found.place, found.message[:10]) == ("docs/index.md:1 stay-dropped", "11 markers")


def test_what_was_retired_may_be_gone(tmp_path: Path) -> None:
    commit(tmp_path, FIRST)
    write(tmp_path, {"index.md": "# T\n"})
    lines = '["index#stay-a", "retired", "", "It was wrong."]\n'
    (tmp_path / "markstay.lock").write_text(f"# markstay register, version 1\n{lines}", "utf-8")
    ran = run_markstay(tmp_path, "check", "--stays", "--since", "HEAD")
    assert [("stay:a" in found.message, found.code) for found in ran.findings] == [
        (False, "stay-dropped")
    ]


CANNOT = {
    "an unknown revision": (["--stays", "--since", "nosuch"], "Not a valid object name nosuch"),
    "an option for a revision": (["--stays", "--since", "--output=x"], "is no revision"),
    "an empty revision": (["--stays", "--since", ""], "is no revision"),
    "only --since": (["--since", "HEAD"], "--since is for --stays"),
}


@pytest.mark.parametrize("case", CANNOT)
def test_cannot_run(case: str, tmp_path: Path) -> None:
    arguments, said = CANNOT[case]
    commit(tmp_path, FIRST)
    ran = run_markstay(tmp_path, "check", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err.splitlines()[-1]


def test_without_a_repository_or_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_site(tmp_path, Site({"docs/index.md": A}))
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    ran = run_markstay(tmp_path, "check", "--stays", "--since", "HEAD")
    assert (ran.code, ran.out) == (2, "")
    assert "not a git repository" in ran.err
    monkeypatch.setenv("PATH", str(tmp_path))
    ran = run_markstay(tmp_path, "check", "--stays", "--since", "HEAD")
    assert (ran.code, ran.out) == (2, "")
    assert "--since HEAD: git: No such file or directory" in ran.err
