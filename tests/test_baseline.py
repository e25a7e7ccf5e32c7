"""The baseline: what it records, what it forgives, and that builds and `check` agree on it."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from site_builder import (
    Site,
    build_site,
    careless_plugins,
    run_markstay,
    run_mkdocs,
    working_in,
    write_site,
)

from mkdocs_markstay.baseline import NAME, Baseline
from mkdocs_markstay.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

OLD = {
    "docs/index.md": "# Home\n\n## Old\n\nWords.\n",
    "docs/b.md": "# B\n\n## Twice\n\n## Twice\n\n## Glued{#glued}\n",
}
RECORDS = [
    ["docs/b.md", "misplaced-id", "Glued"],
    ["docs/b.md", "missing-id", "Twice"],
    ["docs/b.md", "missing-id", "Twice"],
    ["docs/index.md", "missing-id", "Old"],
]
OLD_PLACES = [
    "docs/b.md:3 info missing-id",
    "docs/b.md:5 info missing-id",
    "docs/b.md:7 info misplaced-id",
    "docs/index.md:3 info missing-id",
]


def records(folder: Path) -> list[list[str]]:
    """Read the baseline of a site."""
    path = folder / NAME
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]


def adopt(folder: Path, site: Site) -> None:
    """Write a site and record what is wrong with it."""
    write_site(folder, site)
    ran = run_markstay(folder, "baseline")
    assert ran.code == 0, ran.err


def write(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")


def judge(folder: Path, *arguments: str) -> tuple[int, list[str]]:
    """Check a site and build it, which must come to the same; give the exit code and the places."""
    checked = run_markstay(folder, "check", *arguments)
    built = build_site(folder, strict="--strict" in arguments)
    places = [f"{f.path}:{f.line} {f.level} {f.code}" for f in built.findings]
    assert (checked.code, checked.places) == (built.verdict, places), built.log
    return checked.code, places


# -- what is recorded


def test_findings_are_recorded_by_file_code_and_heading(tmp_path: Path) -> None:
    write_site(tmp_path, Site(OLD))
    ran = run_markstay(tmp_path, "baseline")
    assert (ran.code, ran.out, ran.err) == (0, f"{NAME}: 4 old findings (before: 0)\n", "")
    assert records(tmp_path) == RECORDS
    assert judge(tmp_path) == (0, OLD_PLACES)
    # The same again gives the same bytes.
    before = (tmp_path / NAME).read_bytes()
    assert run_markstay(tmp_path, "baseline").out == f"{NAME}: 4 old findings (before: 4)\n"
    assert (tmp_path / NAME).read_bytes() == before


def test_findings_without_a_heading_are_recorded_too(tmp_path: Path) -> None:
    files = {
        "docs/index.md": "---\npage_id: a b\n---\n# Home\n",
        "docs/b.md": "---\npage_id: c\nmarkstay: 3\n---\n# B\n",
        "docs/c.md": "# C\n",
    }
    adopt(tmp_path, Site(files))
    assert records(tmp_path) == [
        ["docs/b.md", "page-options", ""],
        ["docs/c.md", "duplicate-page-id", ""],
        ["docs/index.md", "page-id", ""],
    ]
    assert judge(tmp_path)[0] == 0


def test_a_site_without_findings_has_no_baseline(tmp_path: Path) -> None:
    adopt(tmp_path, Site(OLD))
    write(tmp_path, {"docs/index.md": "# Home\n", "docs/b.md": "# B\n"})
    ran = run_markstay(tmp_path, "baseline")
    assert ran.out == f"{NAME}: 0 old findings (before: 4)\n"
    assert not (tmp_path / NAME).exists()
    assert run_markstay(tmp_path, "baseline").code == 0
    assert judge(tmp_path) == (0, [])


def test_without_prune_all_of_today_is_recorded(tmp_path: Path) -> None:
    adopt(tmp_path, Site(OLD))
    write(tmp_path, {"docs/index.md": "# Home\n\n## New\n", "docs/c.md": "# C\n\n## Old\n"})
    run_markstay(tmp_path, "baseline")
    assert records(tmp_path) == [
        *RECORDS[:3],
        ["docs/c.md", "missing-id", "Old"],
        ["docs/index.md", "missing-id", "New"],
    ]
    assert judge(tmp_path)[0] == 0


def test_a_site_that_cannot_be_read_leaves_the_baseline(tmp_path: Path) -> None:
    adopt(tmp_path, Site(OLD))
    before = (tmp_path / NAME).read_bytes()
    config = tmp_path / "mkdocs.yml"
    config.write_text(config.read_text().replace("site_name", "no_name"))
    for arguments in ([], ["--prune"]):
        assert run_markstay(tmp_path, "baseline", *arguments).code == 2
        assert (tmp_path / NAME).read_bytes() == before


def test_headings_in_any_writing(tmp_path: Path) -> None:
    titles = ["Überblick", "概要", 'Say "so"', "back\\slash", "👩‍👩‍👧 family", "a\u2028b", "`x`"]
    text = "# Home\n\n" + "".join(f"## {title}\n\n" for title in titles)
    adopt(tmp_path, Site({"docs/index.md": text, "docs/ü b.md": "# B\n\n## Über\n"}))
    raw = (tmp_path / NAME).read_bytes().decode()
    assert "Überblick" in raw
    assert "概要" in raw
    assert len(records(tmp_path)) == 8
    assert judge(tmp_path)[0] == 0


def test_a_file_name_that_is_not_unicode() -> None:
    baseline = Baseline("mkdocs.yml")
    found = Finding(os.fsdecode(b"docs/\xff.md"), 3, "missing-id", "no id", heading="A")
    baseline.take([found])
    with pytest.MonkeyPatch.context() as patch:
        written: list[bytes] = []
        patch.setattr(
            "mkdocs_markstay.baseline.write_file", lambda _path, parts: written.extend(parts)
        )
        baseline.write()
    assert written == [b'["docs/\\udcff.md", "missing-id", "A"]\n']


# -- what is forgiven


def test_lines_do_not_count(tmp_path: Path) -> None:
    adopt(tmp_path, Site(OLD))
    write(tmp_path, {"docs/index.md": f"---\ntitle: T\n---\n\n\n{OLD['docs/index.md']}"})
    assert judge(tmp_path) == (0, [*OLD_PLACES[:3], "docs/index.md:8 info missing-id"])


@pytest.mark.parametrize(
    ("files", "new"),
    [
        ({"docs/index.md": "# Home\n\n## Old\n\n## New\n"}, "docs/index.md:5 error missing-id"),
        # A second heading with the title of an old one is not an old one.
        ({"docs/index.md": "# Home\n\n## Old\n\n## Old\n"}, "docs/index.md:5 error missing-id"),
        # Nor is one in another file, nor one of which something else is wrong.
        ({"docs/c.md": "# C\n\n## Old\n"}, "docs/c.md:3 error missing-id"),
        ({"docs/index.md": "# Home\n\n## Old <#>\n"}, "docs/index.md:3 error empty-id"),
        ({"docs/index.md": "# Home\n\n## Older\n"}, "docs/index.md:3 error missing-id"),
    ],
)
def test_what_is_new_fails(tmp_path: Path, files: dict[str, str], new: str) -> None:
    adopt(tmp_path, Site(OLD))
    write(tmp_path, files)
    code, places = judge(tmp_path)
    assert code == 1
    assert [place for place in places if " error " in place] == [new]
    assert f"1 error ({new.rpartition(' ')[2]} 1)" in run_markstay(tmp_path, "check").err


def test_a_renamed_file_has_no_debts(tmp_path: Path) -> None:
    adopt(tmp_path, Site(OLD))
    (tmp_path / "docs" / "b.md").rename(tmp_path / "docs" / "c.md")
    code, places = judge(tmp_path)
    assert code == 1
    assert [place for place in places if "error" in place] == [
        "docs/c.md:3 error missing-id",
        "docs/c.md:5 error missing-id",
        "docs/c.md:7 error misplaced-id",
    ]


def test_warnings_are_forgiven_in_strict_mode(tmp_path: Path) -> None:
    levels = {"findings": {"missing-id": "warning", "misplaced-id": "warning"}}
    adopt(tmp_path, Site(OLD, plugin=levels))
    assert records(tmp_path) == RECORDS
    assert judge(tmp_path, "--strict") == (0, OLD_PLACES)
    write(tmp_path, {"docs/index.md": "# Home\n\n## Old\n\n## New\n"})
    assert judge(tmp_path, "--strict")[0] == 1
    assert judge(tmp_path)[0] == 0


@pytest.mark.parametrize(("level", "left"), [("info", 4), ("warning", 4), ("ignore", 1)])
def test_a_level_that_is_lowered_later(tmp_path: Path, level: str, left: int) -> None:
    adopt(tmp_path, Site(OLD))
    write_site(tmp_path, Site(OLD, plugin={"findings": {"missing-id": level}}))
    ran = run_markstay(tmp_path, "check")
    assert ran.code == 0
    assert f"{left} old finding{'s' if left > 1 else ''} left" in ran.err
    # What still is in the site and is told, if only for information, is not repaired.
    assert ("repaired" in ran.err) is (level == "ignore")
    run_markstay(tmp_path, "baseline", "--prune")
    assert len(records(tmp_path)) == left
    # What is only information is nothing to record.
    (tmp_path / NAME).unlink()
    run_markstay(tmp_path, "baseline")
    assert len(records(tmp_path)) == (4 if level == "warning" else 1)


def test_a_debt_opens_no_section(tmp_path: Path) -> None:
    adopt(tmp_path, Site(OLD))
    built = build_site(tmp_path)
    assert built.passed
    assert built.manifest is not None
    assert built.manifest["sections"] == []
    (passage,) = [p for p in built.manifest["passages"] if p["referent"] == "index"]
    assert "Old" in passage["text"]
    assert "Words." in passage["text"]


def test_an_id_of_the_theme_is_forgiven_wherever_it_is_found(tmp_path: Path) -> None:
    """It is found before the page is published, and again in the published page."""
    text = "# A\n\n## Search {#mkdocs_search_modal}\n"
    config = {"theme": "mkdocs", "plugins": ["search", "markstay"]}
    adopt(tmp_path, Site({"docs/index.md": text}, config=config))
    assert records(tmp_path) == [["docs/index.md", "id-taken", ""]]
    assert judge(tmp_path) == (0, ["docs/index.md:3 info id-taken"])


def test_serve_forgives_too_and_warns_of_the_rest(tmp_path: Path) -> None:
    adopt(tmp_path, Site(OLD))
    write(tmp_path, {"docs/c.md": "# C\n\n## New\n"})
    with (tmp_path / NAME).open("a") as file:
        file.write("<<<<<<<\n")
    built = build_site(tmp_path, command="serve")
    assert built.passed
    assert [f"{f.path}:{f.line} {f.level} {f.code}" for f in built.findings] == [
        *OLD_PLACES[:3],
        "docs/c.md:3 warning missing-id",
        OLD_PLACES[3],
        f"{NAME}:5 warning bad-baseline",
    ]


@pytest.mark.skipif(
    importlib.util.find_spec("mkdocs_static_i18n") is None, reason="needs mkdocs-static-i18n"
)
def test_translations_share_one_baseline(tmp_path: Path) -> None:
    """A page that stands in for a missing translation is judged once, as is what both include."""
    languages = [
        {"locale": "en", "default": True, "name": "English"},
        {"locale": "de", "name": "Deutsch"},
    ]
    plugins = [
        {"i18n": {"docs_structure": "suffix", "languages": languages}},
        {"markstay": {}},
    ]
    snippet = '--8<-- "shared.md"\n'
    files = {
        "docs/index.md": f"# Home\n\n## Old\n\n{snippet}",
        "docs/index.de.md": f"# Start\n\n## Alt\n\n{snippet}",
        "docs/only.md": "# Only\n\n## In English\n",
        "shared.md": "## Shared\n",
    }
    site = Site(files, ("pymdownx.snippets",), config={"plugins": plugins})
    adopt(tmp_path, site)
    assert records(tmp_path) == [
        ["docs/index.de.md", "missing-id", "Alt"],
        ["docs/index.md", "missing-id", "Old"],
        ["docs/only.md", "missing-id", "In English"],
        ["shared.md", "missing-id", "Shared"],
    ]
    built = build_site(tmp_path)
    assert built.passed, built.log
    assert len(built.findings) == 4
    assert f"markstay: 4 old findings left in {NAME}" in built.log
    assert run_markstay(tmp_path, "check").places == sorted(
        f"{f.path}:{f.line} {f.level} {f.code}" for f in built.findings
    )
    # What is new in the second language fails the build, too.
    write(tmp_path, {"docs/index.de.md": f"{files['docs/index.de.md']}\n## Neu\n"})
    built = build_site(tmp_path)
    assert built.verdict == 1
    assert [f.message.split("'")[1] for f in built.findings if f.level == "error"] == ["Neu"]


# -- what is paid


def test_prune_takes_out_what_is_repaired_and_adds_nothing(tmp_path: Path) -> None:
    adopt(tmp_path, Site(OLD))
    write(
        tmp_path,
        {
            "docs/index.md": "# Home\n\n## New\n",
            "docs/b.md": "# B\n\n## Twice\n\n## Twice <#twice>\n\n## Glued {#glued}\n",
        },
    )
    ran = run_markstay(tmp_path, "baseline", "--prune")
    assert ran.out == f"{NAME}: 1 old finding (before: 4)\n"
    assert records(tmp_path) == [RECORDS[1]]
    assert judge(tmp_path) == (
        1,
        ["docs/b.md:3 info missing-id", "docs/index.md:3 error missing-id"],
    )
    write(tmp_path, {"docs/b.md": "# B\n"})
    assert run_markstay(tmp_path, "baseline", "--prune").code == 0
    assert not (tmp_path / NAME).exists()


def test_the_summaries_say_how_many_are_left(tmp_path: Path) -> None:
    adopt(tmp_path, Site(OLD))
    left = f"4 old findings left in {NAME}"
    assert f"no findings; {left} (2 pages, " in run_markstay(tmp_path, "check").err
    assert f"markstay: {left}" in build_site(tmp_path).log
    write(tmp_path, {"docs/index.md": "# Home\n"})
    left = f"3 old findings left in {NAME}, 1 repaired (run: mkdocs-markstay baseline --prune)"
    assert f"no findings; {left} (" in run_markstay(tmp_path, "check").err
    assert f"markstay: {left}" in build_site(tmp_path).log
    run_markstay(tmp_path, "baseline", "--prune")
    assert f"3 old findings left in {NAME} (" in run_markstay(tmp_path, "check").err
    # A build that fails has not seen everything, and so not what is repaired.
    write(tmp_path, {"docs/index.md": "# Home\n\n## New\n", "docs/b.md": "# B\n"})
    told = f"markstay: 1 error (missing-id 1) in 1 file; 3 old findings in {NAME}"
    assert told in build_site(tmp_path).log


def test_a_dirty_build_has_not_seen_what_is_repaired(tmp_path: Path) -> None:
    adopt(tmp_path, Site(OLD))
    assert run_mkdocs(tmp_path).passed
    os.utime(tmp_path / "docs" / "b.md", (1, 1))
    write(tmp_path, {"docs/index.md": "# Home\n\n## Old\n\nOther words.\n"})
    built = run_mkdocs(tmp_path, "--dirty")
    assert built.passed
    assert f"markstay: 4 old findings in {NAME}" in built.log
    assert not [line for line in built.log if "repaired" in line]


def test_many_debts_are_counted_and_not_listed(tmp_path: Path) -> None:
    def text(number: int) -> str:
        return "# Home\n\n" + "".join(f"## Old {n}\n\n" for n in range(number))

    for number, listed in ((20, 20), (21, 0)):
        adopt(tmp_path, Site({"docs/index.md": text(number)}))
        checked, built = run_markstay(tmp_path, "check"), build_site(tmp_path)
        assert len(checked.findings) == len(built.findings) == listed
        assert f"{number} old findings left" in checked.err
        assert f"markstay: {number} old findings left in {NAME}" in built.log
        # For programs, all are there.
        found = json.loads(run_markstay(tmp_path, "check", "--format", "json").out)["findings"]
        assert [each["debt"] for each in found] == [True] * number
    write(tmp_path, {"docs/index.md": f"{text(21)}## New\n"})
    assert judge(tmp_path) == (1, ["docs/index.md:45 error missing-id"])


# -- the file


@pytest.mark.parametrize(
    "line",
    [
        "<<<<<<< ours", "=======", ">>>>>>> theirs", "x", "{}", "[]", '["a", "b"]', "1", '"a"',
        '["a", "b", "c", "d"]', '["a", "b", 3]', '["a", "b", null]', '["a", "b", "c"', "[" * 100_000,
        "\udcff", '["\udcff", "missing-id", "A"]',
    ],
)  # fmt: skip
def test_a_line_that_is_no_record(tmp_path: Path, line: str) -> None:
    adopt(tmp_path, Site(OLD))
    path = tmp_path / NAME
    whole = path.read_bytes()
    first, *rest = whole.splitlines(keepends=True)
    path.write_bytes(b"".join([first, f"{line}\n".encode("utf-8", "surrogateescape"), *rest]))
    code, places = judge(tmp_path)
    assert (code, places) == (1, [*OLD_PLACES, f"{NAME}:2 error bad-baseline"])
    found = run_markstay(tmp_path, "check").findings[-1]
    assert found.message.endswith("Remove it, or run: mkdocs-markstay baseline --prune")
    # Which repairs it, and takes nothing else out.
    assert run_markstay(tmp_path, "baseline", "--prune").code == 0
    assert path.read_bytes() == whole


def test_what_editors_do_to_files_is_no_damage(tmp_path: Path) -> None:
    adopt(tmp_path, Site(OLD))
    path = tmp_path / NAME
    raw = path.read_bytes()
    path.write_bytes(b"\xef\xbb\xbf\r\n" + raw.replace(b"\n", b" \r\n").rstrip() + b"\n\n")
    assert judge(tmp_path) == (0, OLD_PLACES)


def test_a_conflict_of_two_branches(tmp_path: Path) -> None:
    """A merge by union keeps what one side has pruned; it makes nothing worse than it was."""
    adopt(tmp_path, Site(OLD))
    path = tmp_path / NAME
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(sorted([*lines, *lines])))
    code, places = judge(tmp_path)
    assert (code, places) == (0, OLD_PLACES)
    assert "4 old findings left" in run_markstay(tmp_path, "check").err
    run_markstay(tmp_path, "baseline", "--prune")
    assert path.read_bytes() == b"".join(lines)


def test_the_level_of_a_damaged_line_is_an_option(tmp_path: Path) -> None:
    write_site(tmp_path, Site({"docs/index.md": "# A\n"}))
    write(tmp_path, {NAME: "=======\n"})
    assert judge(tmp_path) == (1, [f"{NAME}:1 error bad-baseline"])
    write_site(
        tmp_path, Site({"docs/index.md": "# A\n"}, plugin={"findings": {"bad-baseline": "warning"}})
    )
    assert judge(tmp_path) == (0, [f"{NAME}:1 warning bad-baseline"])
    assert judge(tmp_path, "--strict")[0] == 1


@pytest.mark.parametrize("content", [b"\xff\xfeb\x00", b"a binary \x00\xff file\n", b"x\ny\n"])
def test_prune_does_not_remove_what_it_cannot_read(tmp_path: Path, content: bytes) -> None:
    write_site(tmp_path, Site(OLD))
    (tmp_path / NAME).write_bytes(content)
    ran = run_markstay(tmp_path, "baseline", "--prune")
    assert (ran.code, ran.out) == (2, "")
    assert NAME in ran.err
    assert (tmp_path / NAME).read_bytes() == content
    # To record anew is what was asked for.
    assert run_markstay(tmp_path, "baseline").code == 0
    assert records(tmp_path) == RECORDS


def test_a_folder_in_the_place_of_the_file(tmp_path: Path) -> None:
    write_site(tmp_path, Site(OLD))
    (tmp_path / NAME).mkdir()
    ran = run_markstay(tmp_path, "check")
    assert ran.code == 1
    assert f"{NAME}:1 error bad-baseline" in ran.places
    for arguments in ([], ["--prune"]):
        ran = run_markstay(tmp_path, "baseline", *arguments)
        assert ran.code == 2
        assert NAME in ran.err
        assert "Traceback" not in ran.err
    assert list((tmp_path / NAME).iterdir()) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only to the administrator")
def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    write_site(tmp_path, Site(OLD))
    tmp_path.chmod(0o555)
    try:
        ran = run_markstay(tmp_path, "baseline")
    finally:
        tmp_path.chmod(0o755)
    assert ran.code == 2
    assert ran.err == f"mkdocs-markstay: {NAME} cannot be written: Permission denied\n"


def test_a_write_that_fails_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    adopt(tmp_path, Site(OLD))
    before = (tmp_path / NAME).read_bytes()
    write(tmp_path, {"docs/c.md": "# C\n\n## New\n"})

    def refuse(_old: str, _new: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", refuse)
    ran = run_markstay(tmp_path, "baseline")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == f"mkdocs-markstay: {NAME} cannot be written: No space left on device\n"
    assert (tmp_path / NAME).read_bytes() == before
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(f".{NAME}")] == []


# -- where it is


def test_other_configurations_and_folders(tmp_path: Path) -> None:
    write_site(tmp_path / "sub", Site(OLD))
    ran = run_markstay(tmp_path, "baseline", "-f", "sub/mkdocs.yml")
    assert ran.out == f"sub/{NAME}: 4 old findings (before: 0)\n"
    assert records(tmp_path / "sub") == RECORDS
    assert not (tmp_path / NAME).exists()
    before = (tmp_path / "sub" / NAME).read_bytes()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for cwd, config in ((tmp_path, "sub/mkdocs.yml"), (elsewhere, "../sub/mkdocs.yml")):
        ran = run_markstay(cwd, "check", "-f", config)
        assert ran.code == 0
        assert {f.level for f in ran.findings} == {"info"}
        run_markstay(cwd, "baseline", "-f", config)
        assert (tmp_path / "sub" / NAME).read_bytes() == before
        built = run_mkdocs(cwd, "-f", config)
        assert built.passed, built.log
        assert len(built.findings) == 4
    # The commands that are proposed are for this site, from here.
    write(tmp_path, {f"sub/{NAME}": "x\n" + before.decode(), "sub/docs/index.md": "# Home\n"})
    ran = run_markstay(tmp_path, "check", "-f", "sub/mkdocs.yml")
    command = "run: mkdocs-markstay baseline -f sub/mkdocs.yml --prune"
    assert (
        f"sub/{NAME}:1: error[bad-baseline] this line is no record. Remove it, or {command}\n"
        in ran.out
    )
    assert f"1 repaired ({command})" in ran.err


def test_a_docs_folder_outside_and_symbolic_links(tmp_path: Path) -> None:
    files = {f"../{name}": text for name, text in OLD.items()}
    adopt(tmp_path / "site", Site(files, config={"docs_dir": "../docs"}))
    expected = sorted(["../" + path, *rest] for path, *rest in RECORDS)
    assert records(tmp_path / "site") == expected
    assert judge(tmp_path / "site")[0] == 0
    (tmp_path / "link").symlink_to("site")
    with working_in(tmp_path):
        ran = run_markstay(Path(), "check", "-f", "link/mkdocs.yml")
    assert (ran.code, len(ran.findings)) == (0, 4)


@pytest.mark.skipif(
    importlib.util.find_spec("mkdocs_gen_files") is None, reason="needs mkdocs-gen-files"
)
def test_generated_pages_have_the_same_debts_from_every_folder(tmp_path: Path) -> None:
    script = "import mkdocs_gen_files as gen\nwith gen.open('gen.md', 'w') as f:\n    f.write('## Made\\n')\n"
    plugins = [{"gen-files": {"scripts": ["gen.py"]}}, {"markstay": {"enforce_generated": True}}]
    files = {"docs/index.md": "# Home\n", "gen.py": script}
    with careless_plugins():
        adopt(tmp_path / "site", Site(files, config={"plugins": plugins}))
        assert records(tmp_path / "site") == [["gen.md", "missing-id", "Made"]]
        assert judge(tmp_path / "site")[0] == 0
        assert run_markstay(tmp_path, "check", "-f", "site/mkdocs.yml").code == 0


def test_a_site_without_the_plugin_can_begin(tmp_path: Path) -> None:
    write_site(tmp_path, Site(OLD, config={"plugins": []}))
    ran = run_markstay(tmp_path, "baseline")
    assert (ran.code, ran.err) == (0, "the configuration of the site does not name markstay yet\n")
    assert records(tmp_path) == RECORDS
    write_site(tmp_path, Site(OLD))
    assert judge(tmp_path) == (0, OLD_PLACES)


# -- properties

FOUND = st.builds(
    Finding,
    path=st.sampled_from(["a.md", "../c.md", "\udcff.md"]),
    line=st.integers(1, 3),
    code=st.sampled_from(["missing-id", "two-ids"]),
    message=st.just("wrong"),
    heading=st.sampled_from(["", "Ü", 'x"\n', "\u2028"]),
)


def count(findings: Iterable[Finding]) -> Counter[tuple[str, str, str]]:
    return Counter((found.path, found.code, found.heading) for found in findings)


def count_failing(findings: Iterable[Finding]) -> Counter[tuple[str, str, str]]:
    return count(found for found in findings if found.level == "error")


def read() -> Baseline:
    baseline = Baseline("mkdocs.yml")
    baseline.read()
    assert baseline.findings == []
    return baseline


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(old=st.lists(FOUND, max_size=8), new=st.lists(FOUND, max_size=8))
def test_the_ratchet_turns_one_way(old: list[Finding], new: list[Finding]) -> None:
    with tempfile.TemporaryDirectory() as folder, working_in(Path(folder)):
        recorded = Baseline("mkdocs.yml")
        recorded.take(old)
        recorded.write()
        assert Path(NAME).exists() is bool(old)
        raw = Path(NAME).read_bytes() if old else b""
        assert raw.count(b"\n") == len(old)
        # What was there is forgiven, on whatever line it is now; each as often as it was there.
        judged = read().judge(new)
        assert [replace(found, level="error", debt=False) for found in judged] == new
        assert count_failing(judged) == count(new) - count(old)
        assert count(found for found in judged if found.debt) == count(new) & count(old)
        # Pruning changes no verdict, and what comes back is new.
        pruned = read()
        pruned.take(judged, prune=True)
        pruned.write()
        assert read().debts == count(old) & count(new)
        assert read().judge(new) == judged
        assert count_failing(read().judge(old)) == count(old) - count(new)
        # Recording again gives the same bytes, in whatever order things were found.
        recorded.take([*reversed(old)])
        recorded.write()
        assert raw == (Path(NAME).read_bytes() if old else b"")


def test_baseline_imports_no_generator_of_its_own() -> None:
    code = (
        "import sys\n"
        "from mkdocs_markstay.baseline import Baseline\n"
        "Baseline('mkdocs.yml').read()\n"
        "print(*sorted({'mkdocs', 'markdown', 'tempfile', 'yaml'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
