"""The register: what its lines say, what is wrong in them, and that version control merges it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from mkdocs_markstay.register import (
    LIVE,
    MOVED,
    RETIRED,
    Entry,
    Register,
    parse_register,
    read_register,
    write_register,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

HEADER = "# markstay register, version 1\n"
CASES = yaml.safe_load((Path(__file__).parent / "register/lines.yml").read_text("utf-8"))


def parse(text: str) -> Register:
    return parse_register(text.encode(), "markstay.lock")


def places(register: Register) -> list[str]:
    found = sorted(register.findings, key=lambda found: found.line)
    return [f"{each.line} {each.code}" for each in found]


def make(entries: Iterable[Entry]) -> Register:
    return Register("markstay.lock", entries={entry.referent: entry for entry in entries})


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_lines(case: dict[str, Any]) -> None:
    register = parse(HEADER + case["text"])
    assert places(register) == case.get("findings", [])
    for referent, expected in case.get("follow", {}).items():
        end = register.follow(referent)
        found = None
        if end is not None:
            found = end.referent if end.state == LIVE else f"{end.state}: {end.detail}"
        assert found == expected, referent
    if "findings" not in case:
        assert register.tidy is not case.get("untidy", False)
        again = parse(register.to_text())
        assert (again.entries, again.findings, again.tidy) == (register.entries, [], True)


def test_every_finding_names_the_repair() -> None:
    for case in CASES:
        for found in parse(HEADER + case["text"]).findings:
            repairs = (
                "Correct it",
                "Remove",
                "Run: mkdocs-markstay lock",
                "Keep",
                "Run: mkdocs-markstay move",
            )
            assert any(repair in found.message for repair in repairs), found


def test_a_newer_version_is_not_read() -> None:
    register = parse('# markstay register, version 2\n["p", "live", "P", "p"]\n')
    assert places(register) == ["1 bad-register"]
    assert "newer mkdocs-markstay" in register.findings[0].message
    assert (register.readable, register.entries) == (False, {})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('["p", "live", "P", "p"]\n', ["1 bad-register"]),
        (f'["p", "live", "P", "p"]\n{HEADER}', []),  # merging can move it
        (f'{HEADER}["p", "live", "P", "p"]\n{HEADER}', []),
        (f'{HEADER}["p", "live", "P", "p"]\n{HEADER.replace("1", "2")}', ["3 bad-register"]),
        (HEADER.replace("1", "0"), ["1 bad-register", "1 bad-register"]),
        (HEADER.replace("1", "٢"), ["1 bad-register", "1 bad-register"]),
        (HEADER.replace("1", "9" * 5000), ["1 bad-register", "1 bad-register"]),
        (f'\ufeff{HEADER}["p", "live", "P", "p"]\n', []),
        (f'{HEADER}["p", "live", "P", "p"]\n'.replace("\n", "\r\n"), []),
        (f'{HEADER}["p", "live", "P", "p"]', []),
        ("", ["1 bad-register"]),
    ],
)
def test_first_lines(text: str, expected: list[str]) -> None:
    register = parse(text)
    assert places(register) == expected
    assert set(register.entries) <= {"p"}


def test_not_utf_8() -> None:
    register = parse_register(HEADER.encode() + b'["p", "live", "\xff", "p"]\n', "markstay.lock")
    assert (places(register), register.readable) == (["2 bad-register"], False)


def test_a_folder_in_its_place(tmp_path: Path) -> None:
    (tmp_path / "markstay.lock").mkdir()
    register = read_register(str(tmp_path / "mkdocs.yml"))
    assert [found.code for found in register.findings] == ["bad-register"]
    assert (register.exists, register.readable) == (True, False)


def test_a_symbolic_link_in_its_place(tmp_path: Path) -> None:
    config = str(tmp_path / "mkdocs.yml")
    (tmp_path / "markstay.lock").symlink_to("real.lock")
    # A link that leads nowhere is no site without a register.
    assert [found.code for found in read_register(config).findings] == ["bad-register"]
    (tmp_path / "real.lock").write_text(HEADER, "utf-8")
    write_register(config, make([Entry("p", LIVE, "P", paths=("p",))]))
    assert (tmp_path / "markstay.lock").is_symlink()
    assert (tmp_path / "real.lock").read_text("utf-8") == f'{HEADER}["p", "live", "P", "p"]\n'


def test_there_need_be_none(tmp_path: Path) -> None:
    register = read_register(str(tmp_path / "mkdocs.yml"))
    assert (register.exists, register.findings) == (False, [])


names = st.text(
    st.characters(exclude_characters="#", exclude_categories=("Cc", "Cs", "Z")), min_size=1
)
referents = st.one_of(names, st.tuples(names, names).map("#".join))
paths = st.lists(st.sampled_from(["a", "a/index", "größe/b c"]), min_size=1, unique=True).map(tuple)
digests = st.sampled_from(["", "0123456789ab"])


@st.composite
def entries(draw: st.DrawFn) -> Entry:
    referent = draw(referents)
    state = draw(st.sampled_from([LIVE, MOVED, RETIRED]))
    detail = "" if state == LIVE else draw(referents)
    section = "#" in referent
    digest = draw(digests) if section and state == LIVE else ""
    return Entry(referent, state, draw(st.text()), detail, digest, () if section else draw(paths))


@given(st.lists(entries()))
def test_writing_and_reading_gives_the_same(made: list[Entry]) -> None:
    register = make(made)
    read = parse_register(register.to_text().encode(), "markstay.lock")
    assert read.entries == register.entries
    assert {found.code for found in read.findings} <= {"dead-end"}
    assert read.to_text() == register.to_text()


@given(st.lists(entries()))
def test_following_ends(made: list[Entry]) -> None:
    register = make(made)
    for referent in register.entries:
        end = register.follow(referent)
        assert end is None or end.state in (LIVE, RETIRED)
    assert register.follow_all() == {each: register.follow(each) for each in register.entries}


moves = st.dictionaries(st.sampled_from("abcdefgh"), st.sampled_from("abcdefghi"))


@given(moves)
def test_following_all_is_following_each(made: dict[str, str]) -> None:
    moved = [Entry(old, MOVED, "", new, paths=("p",)) for old, new in made.items()]
    register = make([Entry("a", LIVE, "", paths=("p",)), *moved])
    assert register.follow_all() == {each: register.follow(each) for each in register.entries}


def test_a_long_chain_takes_no_long_time() -> None:
    chain = [f'["p#{n}", "moved", "", "p#{n + 1}"]' for n in range(20_000)]
    assert not parse("\n".join([HEADER, *chain, '["p#20000", "live", "", ""]'])).findings


def test_paths_that_leave_a_folder_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mkdocs_markstay.register._UNSAFE", "\\:")
    found = parse(
        f"""{HEADER}["a", "retired", "A", "R", "a\\\\b"]\n["b", "retired", "B", "R", "C:b"]\n"""
    )
    assert places(found) == ["2 bad-register", "3 bad-register"]


@given(st.binary())
def test_any_bytes_are_read(raw: bytes) -> None:
    parse_register(HEADER.encode() + raw, "markstay.lock")


@given(st.lists(st.one_of(st.none(), st.text(), st.lists(st.text())), max_size=6))
def test_any_list_is_read(values: list[Any]) -> None:
    parse(f"{HEADER}{json.dumps(values)}\n")


def test_a_name_that_is_no_unicode_is_kept() -> None:
    entry = Entry("p\udcff", LIVE, "P", paths=("p\udcff",))
    text = make([entry]).to_text()
    assert parse(text).entries == {entry.referent: entry}


# -- merging


def git(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    who = ["-c", "user.name=A", "-c", "user.email=a@docs.example.org", "-c", "commit.gpgsign=false"]
    return subprocess.run(
        ["git", *who, *arguments],  # noqa: S607
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def commit(folder: Path, made: Iterable[Entry]) -> None:
    write_register(str(folder / "mkdocs.yml"), make(made))
    assert git(folder, "add", "-A").returncode == 0
    assert git(folder, "commit", "--allow-empty", "-m", "x").returncode == 0


def merge(folder: Path, base: list[Entry], ours: list[Entry], theirs: list[Entry]) -> Register:
    """Merge two changes of a register, as the documentation advises."""
    assert git(folder, "init", "-b", "main").returncode == 0
    (folder / ".gitattributes").write_text("markstay.lock merge=union\n", "utf-8")
    commit(folder, base)
    git(folder, "checkout", "-b", "theirs")
    commit(folder, theirs)
    git(folder, "checkout", "main")
    commit(folder, ours)
    merged = git(folder, "merge", "theirs", "-m", "merge")
    assert merged.returncode == 0, merged.stdout
    return read_register(str(folder / "mkdocs.yml"))


def live(*names: str) -> list[Entry]:
    return [Entry(f"p#{name}", LIVE, name.upper()) for name in names]


BASE = live(*"adgmptw")


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (live("b"), live("c")),  # beside each other
        (live("b"), live("b")),
        (live("b", "e", "x"), live("c", "f", "y", "z")),
        (live("0"), live("1")),  # at the top, below the first line
        (live("x"), live("z")),  # at the end
        ([], live("h")),
    ],
)
def test_additions_merge_without_conflict(
    tmp_path: Path, ours: list[Entry], theirs: list[Entry]
) -> None:
    merged = merge(tmp_path, BASE, BASE + ours, BASE + theirs)
    assert {found.code for found in merged.findings} <= {"register-duplicate"}
    assert merged.entries == make(BASE + ours + theirs).entries


def test_a_register_that_both_branches_begin(tmp_path: Path) -> None:
    git(tmp_path, "init", "-b", "main")
    (tmp_path / ".gitattributes").write_text("markstay.lock merge=union\n", "utf-8")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-m", "x")
    git(tmp_path, "branch", "theirs")
    commit(tmp_path, live("a", "b"))
    git(tmp_path, "checkout", "theirs")
    commit(tmp_path, live("b", "c"))
    assert git(tmp_path, "merge", "main", "-m", "merge").returncode == 0
    merged = read_register(str(tmp_path / "mkdocs.yml"))
    assert merged.entries == make(live("a", "b", "c")).entries
    assert {found.code for found in merged.findings} <= {"register-duplicate"}


def test_a_title_and_a_move_beside_each_other(tmp_path: Path) -> None:
    first = [entry._replace(title="Other") if entry.referent == "p#g" else entry for entry in BASE]
    moved = Entry("p#d", MOVED, "D", "p#m")
    second = [moved if entry.referent == "p#d" else entry for entry in BASE]
    merged = merge(tmp_path, BASE, first, second)
    assert {found.code for found in merged.findings} == {"register-duplicate"}
    assert merged.entries["p#d"] == moved


def test_two_moves_of_one_referent_are_told(tmp_path: Path) -> None:
    def moved(to: str) -> list[Entry]:
        return [Entry("p#d", MOVED, "D", to) if e.referent == "p#d" else e for e in BASE]

    merged = merge(tmp_path, BASE, moved("p#m"), moved("p#w"))
    assert [found.code for found in merged.findings] == ["register-conflict"]
