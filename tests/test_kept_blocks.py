"""Anchors of marked blocks in the register, and where their old addresses land."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from site_builder import Built, Ran, Site, build_site, run_markstay, write_site

from mkdocs_markstay.kept_blocks import find_followed
from mkdocs_markstay.kept_referents import check_new, check_referents
from mkdocs_markstay.outlines import OutlineHeading
from mkdocs_markstay.page_report import PageReport, StayPlace
from mkdocs_markstay.published_places import list_places
from mkdocs_markstay.register import LIVE, parse_register
from mkdocs_markstay.register_edits import follow, update

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mkdocs_markstay.findings import Finding
    from mkdocs_markstay.published_places import PublishedPlace

HEADER = "# markstay register, version 1\n"
CASES = yaml.safe_load((Path(__file__).parent / "register/blocks.yml").read_text("utf-8"))


def publish(
    site: Mapping[str, Sequence[str]], *, anchors: bool = True
) -> dict[str, PublishedPlace]:
    """Give the places of pages, with the ids of their markers and, with a #, of sections."""
    reports = []
    for page_id, ids in site.items():
        path = f"docs/{page_id}.md"
        lines = {each[1:]: number for number, each in enumerate(ids, 3) if each.startswith("#")}
        stays = {
            each: StayPlace(path, number, anchors)
            for number, each in enumerate(ids, 3)
            if not each.startswith("#")
        }
        outline = [OutlineHeading(2, each.title(), each, path, 3) for each in lines]
        reports.append(
            PageReport(
                f"{page_id}.md",
                f"{page_id}/index.html",
                path,
                "en",
                published=True,
                page_id=page_id,
                title=page_id.title(),
                lines=lines,
                outline=tuple(outline),
                stays=stays,
            )
        )
    return list_places(reports, "en")


def said(findings: Iterable[Finding], expected: Sequence[str]) -> list[str]:
    """Give findings as they are expected: in full, or in short by what they are said of."""
    found = []
    for finding, wanted in zip(findings, [*expected, *[""] * 9], strict=False):
        referent = finding.message.split("'")[1]
        place = f"{finding.path}:{finding.line} "
        if "was published" not in wanted and "were published" not in wanted:
            place = ""
        if place or "Run" in wanted:
            found.append(place + finding.message)
        elif " " in wanted:
            found.append(f"{finding.code} {referent}")
        else:
            found.append(referent)
    return found


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_blocks(case: dict[str, Any]) -> None:
    register = parse_register((HEADER + case["text"]).encode(), "markstay.lock")
    assert register.findings == []
    places = publish(case["site"], anchors=case.get("anchors", True))
    followed = find_followed(register, places)
    assert followed == case.get("followed", {})
    new = case.get("new", [])
    assert said(check_new(register, places, followed), new) == new
    now = register.copy()
    follow(now, followed, places)
    lost = case.get("lost", [])
    assert said(check_referents(now, places, {}, followed), lost) == lost
    assert register.to_text() == HEADER + case["text"]
    if "after" in case:
        update(now, places, {})
        assert now.to_text() == HEADER + case["after"]
        assert check_new(now, places, find_followed(now, places)) == []


_SITES = st.dictionaries(
    st.sampled_from("abc"), st.lists(st.sampled_from("xyz"), unique=True, max_size=3)
)


@given(st.lists(_SITES, min_size=2, max_size=6))
def test_lock_forgets_nothing_and_settles(history: list[dict[str, list[str]]]) -> None:
    """Whatever is moved around: each address that ever was leads somewhere, or is told as lost."""
    register = parse_register(HEADER.encode(), "markstay.lock")
    ever: set[str] = set()
    for site in history:
        places = publish(site)
        followed = find_followed(register, places)
        follow(register, followed, places)
        update(register, places, {})
        ever |= places.keys()
        assert register.entries.keys() >= ever
        register = parse_register(register.to_text().encode(), "markstay.lock")
        assert register.findings == []
        # What was noted once is not noted again.
        assert find_followed(register, places) == {}
        told = " ".join(f.message for f in check_referents(register, places, {}, followed))
        for referent in ever:
            end = register.follow(referent)
            assert end is not None
            if end.state == LIVE and end.referent not in places:
                page = end.page_id
                assert end.referent in told or f"'{page}'" in told or "is the first" in told


# -- on real sites

A = """\
# A

First.
<!-- stay:one -->

## Setup <#setup>

Second.
<!-- stay:two -->

- item
<!-- stay:list -->
"""
B = "# B\n\n## There <#there>\n\nThird.\n<!-- stay:three -->\n"
FILES = {"docs/index.md": "# Home\n", "docs/a.md": A, "docs/b.md": B}
ANCHORS: dict[str, Any] = {
    "plugin": {"stay_anchors": True},
    "config": {"site_url": "https://docs.example.org/"},
}


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Make a site with its register."""
    write_site(tmp_path, Site(FILES, **ANCHORS))
    done(tmp_path, "lock")
    return tmp_path


def done(site: Path, *arguments: str) -> Ran:
    ran = run_markstay(site, *arguments)
    assert ran.code == 0, ran.out + ran.err
    return ran


def built(folder: Path) -> Built:
    result = build_site(folder)
    assert result.passed, result.log
    return result


def write(site: Path, name: str, text: str) -> None:
    (site / "docs" / name).write_text(text, "utf-8")


def lock(site: Path) -> str:
    return (site / "markstay.lock").read_text("utf-8")


def resolved(site: Path, cited: str) -> str:
    return run_markstay(site, "resolve", cited).out.strip()


def move_two(site: Path) -> None:
    """Move a block to another page."""
    write(site, "a.md", A.replace("Second.\n<!-- stay:two -->\n\n", ""))
    write(site, "b.md", B + "\nSecond, reworded.\n<!-- stay:two -->\n")


def test_lock_records_anchors(site: Path) -> None:
    blocks = [line for line in lock(site).splitlines() if "stay-" in line]
    assert blocks == [
        '["a#stay-list", "live", "", "block"]',
        '["a#stay-one", "live", "", "block"]',
        '["a#stay-two", "live", "", "block"]',
        '["b#stay-three", "live", "", "block"]',
    ]
    done(site, "lock", "--check")
    built(site)
    url = "https://docs.example.org/a/#stay-two"
    assert resolved(site, "a#stay-two") == f"a#stay-two {url}"
    assert resolved(site, url) == f"a#stay-two {url}"


def test_a_block_that_moves_within_its_page_keeps_its_referent(site: Path) -> None:
    before = lock(site)
    block = "Second.\n<!-- stay:two -->\n\n"
    write(site, "a.md", A.replace(block, "").replace("## Setup", f"{block}## Setup"))
    done(site, "lock", "--check")
    built(site)
    done(site, "lock")
    assert re.sub("[0-9a-f]{12}", "", lock(site)) == re.sub("[0-9a-f]{12}", "", before)


@pytest.mark.parametrize("locked", [False, True])
def test_a_block_that_moved_to_another_page_lands(site: Path, locked: bool) -> None:
    move_two(site)
    before = lock(site)
    ran = run_markstay(site, "lock", "--check")
    assert (ran.code, ran.places) == (1, ["docs/b.md:9 error unregistered"])
    assert lock(site) == before
    if locked:
        assert "1 added, 1 changed" in done(site, "lock").err
        done(site, "lock", "--check")
        assert '["a#stay-two", "moved", "", "b#stay-two"]' in lock(site)
        assert '["b#stay-two", "live", "", "block"]' in lock(site)
    result = built(site)
    told = "markstay.lock has to be updated (1). Run: mkdocs-markstay lock" in result.log
    assert told is not locked
    html = result.html("a/index.html")
    note = re.search(r'<div id="stay-two" class="markstay-note".*?</div>', html)
    assert note
    assert (
        'What stood here has moved: <a class="markstay-to" href="../b/#stay-two">B</a>' in note[0]
    )
    assert 'id="stay-two"' in result.html("b/index.html")
    assert result.manifest is not None
    assert result.manifest["redirects"] == [
        {"from": "a#stay-two", "to": "b#stay-two", "url": "a/#stay-two"}
    ]
    for cited in ("a#stay-two", "https://docs.example.org/a/#stay-two"):
        assert resolved(site, cited) == "b#stay-two https://docs.example.org/b/#stay-two"


def test_links_to_a_block_that_moved_are_told_and_rewritten(site: Path) -> None:
    write(site, "index.md", "# Home\n\nSee [it](a.md#stay-two).\n")
    move_two(site)
    assert "docs/index.md has a link to a.md#stay-two (now b.md#stay-two)" in done(site, "lock").err
    done(site, "move", "a#stay-two", "b#stay-two", "--fix-links")
    assert "(b.md#stay-two)" in (site / "docs/index.md").read_text("utf-8")


def test_a_lost_block_is_retired_and_comes_back(site: Path) -> None:
    write(site, "a.md", A.replace("Second.\n<!-- stay:two -->\n\n", ""))
    result = build_site(site)
    assert [found.code for found in result.findings] == ["lost-referent"]
    assert not result.passed
    done(site, "retire", "a#stay-two", "--reason", "It sets itself up.")
    result = built(site)
    assert "What stood here was retired: It sets itself up.</div>" in result.html("a/index.html")
    assert "It sets itself up." in run_markstay(site, "resolve", "a#stay-two").err
    write(site, "a.md", A)
    built(site)
    done(site, "lock")
    assert '["a#stay-two", "live", "", "block"]' in lock(site)
    done(site, "lock", "--check")


def test_restore_and_move_by_hand(site: Path) -> None:
    write(site, "a.md", A.replace("stay:two", "stay:deux"))
    assert not build_site(site).passed
    done(site, "move", "a#stay-two", "a#stay-deux")
    html = built(site).html("a/index.html")
    assert '<p id="stay-deux"><span id="stay-two" class="markstay-alias"></span>Second.' in html
    write(site, "a.md", A)
    ran = run_markstay(site, "lock")
    assert [found.code for found in ran.findings] == ["lost-referent", "published-again"]
    assert "give the marker another id" in ran.findings[1].message
    done(site, "move", "a#stay-deux", "a#stay-two")
    done(site, "lock", "--check")


def test_a_marker_is_not_renamed(site: Path) -> None:
    ran = run_markstay(site, "rename", "docs/a.md", "stay-two", "stay-deux")
    assert ran.code == 2
    assert "'stay-two' is the anchor of the marker stay:two at docs/a.md:9" in ran.err
    assert "is not renamed" in ran.err


def test_anchors_switched_off_are_one_finding(site: Path) -> None:
    config = (site / "mkdocs.yml").read_text("utf-8")
    off = config.replace("stay_anchors: true", "stay_anchors: false")
    assert off != config
    (site / "mkdocs.yml").write_text(off, "utf-8")
    result = build_site(site)
    assert [found.code for found in result.findings] == ["lost-referent"]
    assert "4 anchors of blocks ('a#stay-list' is the first)" in result.findings[0].message
    done(site, "retire", "--stays", "--reason", "Sections are cited.")
    assert "Sections are cited." in built(site).html("a/index.html")
    done(site, "lock", "--check")
    (site / "mkdocs.yml").write_text(config, "utf-8")
    built(site)
    done(site, "lock")
    assert lock(site).count('"block"') == 4


def test_a_page_that_is_renamed_takes_its_blocks_along(site: Path) -> None:
    (site / "docs/a.md").unlink()
    write(site, "c.md", A)
    result = build_site(site)
    assert {f.message.split("'")[1] for f in result.findings} == {"a", "a#setup"}
    assert "run: mkdocs-markstay move a c" in result.findings[0].message
    done(site, "move", "a", "c")
    done(site, "lock")
    html = built(site).html("a/index.html")
    assert 'href="../c/"' in html
    assert resolved(site, "a#stay-one") == "c#stay-one https://docs.example.org/c/#stay-one"


def test_a_page_that_is_retired(site: Path) -> None:
    (site / "docs/a.md").unlink()
    write(site, "b.md", B + "\nSecond.\n<!-- stay:two -->\n\nFirst.\n<!-- stay:one -->\n")
    done(site, "retire", "a", "--reason", "Merged.")
    html = built(site).html("a/index.html")
    assert 'Parts of it are now elsewhere: <a class="markstay-part" href="../b/">B</a></p>' in html
    assert 'href="../b/#stay-two"' in html
    done(site, "lock", "--check")
    assert '["a#stay-list", "retired", "", "Merged."]' in lock(site)
    assert '["a#stay-two", "moved", "", "b#stay-two"]' in lock(site)


def test_retire_needs_to_know_what(site: Path) -> None:
    for arguments in ((), ("a#stay-two", "--stays")):
        assert run_markstay(site, "retire", *arguments, "--reason", "X").code == 2
    ran = run_markstay(site, "retire", "a", "--stays", "--reason", "X")
    assert (ran.code, "no anchor of a block of 'a' is missing" in ran.err) == (2, True)


@pytest.mark.parametrize("anchors", [True, False])
def test_resolve_finds_blocks_with_and_without_anchors(tmp_path: Path, anchors: bool) -> None:
    text = A.replace("## Setup <#setup>", "## Setup <#setup>\n<!-- stay:head -->")
    write_site(tmp_path, Site({"docs/index.md": text}, plugin={"stay_anchors": anchors}))
    built(tmp_path)
    answers = {
        cited: resolved(tmp_path, f"index#{cited}")
        for cited in ("stay-one", "stay-two", "stay-head", "stay-none")
    }
    setup = "index#setup #setup"
    assert answers == {
        "stay-one": "index#stay-one #stay-one" if anchors else "index",
        "stay-two": "index#stay-two #stay-two" if anchors else setup,
        "stay-head": setup,
        "stay-none": "",
    }


def test_diff_of_builds_tells_where_blocks_went(site: Path) -> None:
    built(site)
    (site / "site").rename(site / "before")
    move_two(site)
    done(site, "lock")
    built(site)
    out = done(site, "diff", "before", "site", "--fail-on", "removed-referent,removed,added").out
    told = [re.sub(" +", " ", line) for line in out.splitlines()]
    assert "moved a#stay-two -> b#stay-two (redirect: https://docs.example.org/b/#stay-two)" in told
    assert "edited b#there [0] 'Third.' -> 'Third. Second, reworded.'" in told
    (site / "cited").write_text("https://docs.example.org/a/#stay-two\n", "utf-8")
    ran = run_markstay(
        site, "diff", "before", "site", "--cited", "cited", "--fail-on", "moved-referent"
    )
    assert ran.code == 1
    assert ran.out.startswith("affects 1 of your 1 citation\n")
