"""What was published stays: builds compare themselves with the register, old addresses land."""

from __future__ import annotations

import json
import re
import subprocess
import time
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator
from site_builder import Built, Ran, Site, build_site, run_markstay, run_mkdocs, write_site

import mkdocs_markstay
from mkdocs_markstay.register import read_register

if TYPE_CHECKING:
    from collections.abc import Mapping

INDEX = "# Home\n\nSee [setup](guide/install.md#setup).\n\n## News <#news>\n\nNone.\n"
INSTALL = """\
---
title: Install it
---

# Install

## Requirements <#requirements>

You need things.

## Setup <#setup>

Run it.

### Deep {#deep}

Deep text.
"""
USAGE = "# Usage\n\n## First steps <#first>\n\nStep.\n\n## Tips <#tips>\n\nTip.\n"
FILES = {
    "docs/index.md": INDEX,
    "docs/guide/install.md": INSTALL,
    "docs/guide/usage.md": USAGE,
}
LOCK = """\
# markstay register, version 1
["guide/install", "live", "Install it", "guide/install"]
["guide/install#deep", "live", "Deep", "8478ceca7ad3"]
["guide/install#requirements", "live", "Requirements", "015b7161ae98"]
["guide/install#setup", "live", "Setup", "1cd8016bec35"]
["guide/usage", "live", "Usage", "guide/usage"]
["guide/usage#first", "live", "First steps", "a55021019f69"]
["guide/usage#tips", "live", "Tips", "2f1a5a8e0dbb"]
["index", "live", "Home", "index"]
["index#news", "live", "News", "903ea500e7cc"]
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Make a site with its register."""
    write_site(tmp_path, Site(FILES, config={"site_url": "https://docs.example.org/sub/"}))
    ran = run_markstay(tmp_path, "lock")
    assert (ran.code, ran.out) == (0, "")
    return tmp_path


def edit(site: Path, name: str, *changes: tuple[str, str]) -> None:
    path = site / "docs" / name
    text = path.read_text("utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path.write_text(text, "utf-8")


def done(site: Path, *arguments: str) -> Ran:
    ran = run_markstay(site, *arguments)
    assert ran.code == 0, ran.err
    return ran


def built(folder: Path, **overrides: Any) -> Built:
    result = build_site(folder, **overrides)
    assert result.passed, result.log
    return result


def lock(site: Path) -> str:
    return (site / "markstay.lock").read_text("utf-8")


def line_of(site: Path, referent: str) -> int:
    return read_register(str(site / "mkdocs.yml")).lines[referent]


def told(site: Path) -> dict[str, str]:
    """Give the findings of a build that fails, by the referents that they begin with."""
    result = build_site(site)
    checked = run_markstay(site, "check")
    assert checked.findings == result.findings
    assert not result.passed
    assert not (site / "site/index.html").exists()
    return {found.message.split("'")[1]: found.message for found in result.findings}


# -- the register


def test_lock_records_what_is_published(site: Path) -> None:
    digests = r'"[0-9a-f]{12}"\]'
    assert re.sub(digests, '"…"]', lock(site)) == re.sub(digests, '"…"]', LOCK)
    assert done(site, "lock", "--check").err == "markstay.lock is current: 9 referents\n"
    before = lock(site)
    assert done(site, "lock").err == "markstay.lock: 9 referents (0 added, 0 changed)\n"
    assert lock(site) == before


def test_the_build_does_not_write_it(site: Path) -> None:
    edit(site, "index.md", ("## News", "## Fresh <#fresh>\n\n## News"))
    before = lock(site)
    log = built(site).log
    assert lock(site) == before
    assert "markstay.lock has to be updated (1). Run: mkdocs-markstay lock" in log
    ran = run_markstay(site, "lock", "--check")
    assert (ran.code, ran.places) == (1, ["docs/index.md:5 error unregistered"])
    assert done(site, "lock").err == "markstay.lock: 10 referents (1 added, 0 changed)\n"
    assert '["index#fresh", "live", "Fresh", ""]' in lock(site)
    assert done(site, "lock", "--check")


def test_without_a_register_nothing_is_kept(tmp_path: Path) -> None:
    result = built(tmp_path, site=Site(FILES))
    assert result.manifest is not None
    assert (result.manifest["redirects"], result.manifest["retired"]) == ([], [])
    assert not any("markstay.lock" in line for line in result.log)
    ran = run_markstay(tmp_path, "lock", "--check")
    assert (ran.code, ran.places) == (1, ["markstay.lock:1 error unregistered"])
    assert "there is no markstay.lock yet. Run: mkdocs-markstay lock" in ran.out


def test_a_new_title_moves_nothing(site: Path) -> None:
    edit(site, "guide/install.md", ("## Setup", "## Set it up"), ("Run it.", "Run it now."))
    done(site, "lock", "--check")
    built(site)
    assert done(site, "lock").err == "markstay.lock: 9 referents (0 added, 1 changed)\n"
    assert '"guide/install#setup", "live", "Set it up"' in lock(site)


def test_what_merging_leaves_is_repaired(site: Path) -> None:
    twice = '["index#news", "live", "News", "903ea500e7cc"]\n'
    (site / "markstay.lock").write_text(lock(site) + twice, "utf-8")
    result = built(site)
    assert result.places == ["markstay.lock:11 register-duplicate"]
    assert run_markstay(site, "lock", "--check").code == 1
    done(site, "lock")
    assert lock(site).count("index#news") == 1
    done(site, "lock", "--check")


@pytest.mark.parametrize(
    "line", ["what", "<<<<<<< HEAD", '["index#news", "retired", "", "Why"]\n' * 2]
)
def test_lock_loses_no_line(site: Path, line: str) -> None:
    changed = f"{lock(site)}{line}\n"
    (site / "markstay.lock").write_text(changed, "utf-8")
    ran = run_markstay(site, "lock")
    assert (ran.code, lock(site)) == (1, changed)
    assert "markstay.lock is not changed" in ran.err


@pytest.mark.parametrize(
    "plugin",
    [
        {"permanence": "warn"},
        {"permanence": "off"},
        {"findings": {"bad-register": "ignore", "register-conflict": "warning"}},
    ],
)
def test_no_option_makes_lock_lose_a_line(tmp_path: Path, plugin: dict[str, Any]) -> None:
    write_site(tmp_path, Site(FILES, plugin=plugin))
    done(tmp_path, "lock")
    for more in ('["index#old", "retired", "Old", "Why"\n', '["a#b", "retired", "", "{}"]\n'):
        changed = lock(tmp_path) + more.format(1) + more.format(2)
        (tmp_path / "markstay.lock").write_text(changed, "utf-8")
        assert run_markstay(tmp_path, "lock").code == 1
        assert lock(tmp_path) == changed


TWICE = '["guide/install#deep", "live", "Deeper", ""]\n'


@pytest.mark.parametrize("more", [TWICE, TWICE * 2])
def test_what_merging_leaves_blocks_no_command(site: Path, more: str) -> None:
    edit(site, "guide/usage.md", ("\n## Tips <#tips>\n\nTip.\n", ""))
    clean = lock(site)
    (site / "markstay.lock").write_text(clean + more, "utf-8")
    ran = run_markstay(site, "lock")
    assert (ran.code, [found.code for found in ran.findings]) == (1, ["lost-referent"])
    line = line_of(site, "guide/usage#tips")
    assert f"('Tips', markstay.lock:{line})" in ran.findings[0].message
    assert sorted(read_register(str(site / "mkdocs.yml")).entries) == sorted(
        json.loads(line)[0] for line in clean.splitlines()[1:]
    )
    (site / "markstay.lock").write_text(clean + more, "utf-8")
    done(site, "retire", "guide/usage#tips", "--reason", "Known by now.")
    done(site, "lock", "--check")


def test_names_that_a_file_can_have(tmp_path: Path) -> None:
    names = ("what?", "a:b", 'quo"te', "<i>", "a|b", "a*b", " lead", "trail ", "x%20y", "(a)")
    files = {f"docs/{name}.md": f"# {name}\n\n## S <#s>\n" for name in names}
    write_site(tmp_path, Site({"docs/index.md": "# Home\n", **files}))
    done(tmp_path, "lock")
    for name in names:
        (tmp_path / f"docs/{name}.md").unlink()
        done(tmp_path, "move", name, "index")
        done(tmp_path, "retire", f"{name}#s", "--reason", "Gone.")
    result = built(tmp_path)
    for name in names:
        page = Page(result.html(f"{name}/index.html"))
        assert (page.links["markstay-page-to"], page.ids["s"]) == ("../", "markstay-note")


def test_a_page_that_cannot_be_named_is_not_recorded(tmp_path: Path) -> None:
    write_site(tmp_path, Site({"docs/index.md": "# Home\n", "docs/c#.md": "# C\n\n## S <#s>\n"}))
    done(tmp_path, "lock")
    assert build_site(tmp_path).places == ["docs/c#.md:1 page-id"]


def test_a_rename_that_cannot_be_recorded_changes_nothing(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    before = lock(site)
    monkeypatch.setattr("mkdocs_markstay.register.write_file", fail)
    ran = run_markstay(site, "rename", "docs/guide/usage.md", "tips", "hints")
    assert (ran.code, ran.err) == (
        2,
        "mkdocs-markstay: markstay.lock cannot be written: No space left on device\n",
    )
    assert (lock(site), (site / "docs/guide/usage.md").read_text("utf-8")) == (before, USAGE)


def test_commands_that_are_printed_can_be_run(tmp_path: Path) -> None:
    raw = '# My\n\n<h2 id = "k">K</h2>\n'
    write_site(tmp_path, Site({"docs/index.md": "# Home\n", "docs/my page.md": raw}))
    done(tmp_path, "lock")
    ran = run_markstay(tmp_path, "rename", "docs/my page.md", "k", "new")
    assert "run: mkdocs-markstay move 'my page#k' 'my page#new'" in ran.err
    (tmp_path / "docs/my page.md").write_text("# My\n", "utf-8")
    (tmp_path / "docs/my page.md").rename(tmp_path / "docs/mine.md")
    assert done(tmp_path, "move", "my page", "mine").err == (
        "my page#k is left. Say what became of it: mkdocs-markstay move 'my page#k'"
        " NEW-REFERENT, or mkdocs-markstay retire 'my page#k' --reason '...'\n"
    )
    ran = done(tmp_path, "retire", "my page#k", "--reason", "Not \udcff \x1b[31mred")
    assert ran.out == "my page#k is retired: Not \\udcff \\x1b[31mred\n"
    built(tmp_path)
    done(tmp_path, "verify", "site")


def test_a_newer_register_is_refused(site: Path) -> None:
    newer = lock(site).replace("version 1", "version 2")
    (site / "markstay.lock").write_text(newer, "utf-8")
    for command in (["lock"], ["retire", "index#news", "--reason", "x"]):
        ran = run_markstay(site, *command)
        assert ran.code == 2
        assert "Install a newer mkdocs-markstay" in ran.err
    assert lock(site) == newer
    assert build_site(site).places == ["markstay.lock:1 bad-register"]


def test_the_commands_need_a_register(tmp_path: Path) -> None:
    write_site(tmp_path, Site(FILES))
    ran = run_markstay(tmp_path, "retire", "index#news", "--reason", "x")
    assert (ran.code, ran.err) == (
        2,
        "mkdocs-markstay: there is no markstay.lock yet. Run: mkdocs-markstay lock\n",
    )


def test_nothing_is_recorded_of_a_site_without_pages(tmp_path: Path) -> None:
    write_site(tmp_path, Site({}))
    assert run_markstay(tmp_path, "lock").code == 2
    assert not (tmp_path / "markstay.lock").exists()


def test_unseen_headings_have_no_title_in_it(tmp_path: Path) -> None:
    text = '# Home\n\n<h2 id="hid" hidden>Secret plan</h2>\n\n## Seen <#seen>\n'
    write_site(tmp_path, Site({"docs/index.md": text}))
    done(tmp_path, "lock")
    assert "Secret" not in lock(tmp_path)


def test_a_line_that_is_lost_is_told(site: Path) -> None:
    def git(*arguments: str) -> None:
        who = ["-c", "user.name=A", "-c", "user.email=a@docs.example.org"]
        subprocess.run(["git", *who, *arguments], cwd=site, check=True, capture_output=True)  # noqa: S607

    git("init", "-b", "main")
    git("commit", "--allow-empty", "-m", "x")
    # In that commit there was none.
    done(site, "lock", "--check", "--since", "HEAD")
    done(site, "rename", "docs/guide/install.md", "setup", "set-up")
    git("add", "-A")
    git("commit", "-m", "x")
    done(site, "lock", "--check", "--since", "HEAD")
    lines = [line for line in lock(site).splitlines() if '"moved"' not in line]
    (site / "markstay.lock").write_text("\n".join([*lines, ""]), "utf-8")
    done(site, "lock", "--check")
    ran = run_markstay(site, "lock", "--check", "--since", "HEAD")
    assert (ran.code, ran.places) == (1, ["markstay.lock:1 error forgotten-referent"])
    line = '["guide/install#setup", "moved", "Setup", "guide/install#set-up"]'
    assert ran.findings[0].message.endswith(f"Put it back: {line}")
    for revision in ("none", "--help", ""):
        assert run_markstay(site, "lock", "--check", "--since", revision).code == 2
    assert run_markstay(site, "lock", "--since", "HEAD").code == 2


# -- what is lost


def test_a_renamed_id_is_missed(site: Path) -> None:
    edit(site, "guide/install.md", ("<#setup>", "<#set-up>"))
    found = told(site)["guide/install#setup"]
    assert found == (
        "'guide/install#setup' ('Setup', markstay.lock:5) was published and is not any more."
        " Put it back. If it is now docs/guide/install.md:11 (same text),"
        " run: mkdocs-markstay move 'guide/install#setup' 'guide/install#set-up'. If it is gone"
        " for good, run: mkdocs-markstay retire 'guide/install#setup' --reason '...'"
    )


@pytest.mark.parametrize(
    ("section", "why"),
    [
        ("## Anything <#any>\n\nDeep text.", "same text"),
        ("## Deep <#deep>\n\nReworded.", "same id and title"),
        ("## deep <#other>\n\nReworded.", "same title"),
        ("## Other <#deep>\n\nReworded.", "same id"),
    ],
)
def test_a_section_that_moved_is_found(site: Path, section: str, why: str) -> None:
    edit(site, "guide/install.md", ("\n### Deep {#deep}\n\nDeep text.\n", ""))
    edit(site, "index.md", ("## News", f"{section}\n\n## News"))
    new = re.findall(r"<#(\w+)>", section)[0]
    message = told(site)["guide/install#deep"]
    assert f"docs/index.md:5 ({why})" in message
    assert f"mkdocs-markstay move 'guide/install#deep' 'index#{new}'" in message


def test_a_page_that_moved_is_found(site: Path) -> None:
    (site / "docs/start").mkdir()
    (site / "docs/guide/usage.md").rename(site / "docs/start/using.md")
    messages = told(site)
    assert sorted(messages) == ["guide/usage", "guide/usage#first", "guide/usage#tips"]
    move = "docs/start/using.md:1 (2 of its sections), with its sections, run: mkdocs-markstay move"
    assert f"{move} guide/usage start/using." in messages["guide/usage"]
    line = line_of(site, "guide/usage")
    assert messages["guide/usage#first"].endswith(
        f"nor is its page: see markstay.lock:{line}. Its command takes this along"
    )
    ran = done(site, "move", "guide/usage", "start/using")
    assert ran.out.split("\n")[:3] == [
        "guide/usage leads to start/using now",
        "guide/usage#first leads to start/using#first now",
        "guide/usage#tips leads to start/using#tips now",
    ]
    assert done(site, "lock", "--check")


def test_a_page_merged_into_another_takes_only_its_own_sections_along(site: Path) -> None:
    more = "\n## Setup of use <#first-use>\n\nStep.\n\n## Tips <#tips>\n\nTip.\n"
    edit(site, "guide/install.md", ("Deep text.\n", f"Deep text.\n{more}\n## First <#first>\n"))
    done(site, "lock")
    (site / "docs/guide/usage.md").unlink()
    edit(site, "guide/install.md", ("## First <#first>\n", "## First <#first>\n\nOther.\n"))
    ran = done(site, "move", "guide/usage", "guide/install")
    # `tips` is the same text; `first` was there before, and is another one.
    assert ran.out.splitlines() == [
        "guide/usage leads to guide/install now",
        "guide/usage#tips leads to guide/install#tips now",
    ]
    assert "guide/usage#first is left" in ran.err


def test_a_page_that_comes_back(site: Path) -> None:
    (site / "docs/guide/usage.md").unlink()
    edit(site, "index.md", ("None.\n", "None.\n\n## Hints <#hints>\n\nTip.\n"))
    ran = done(site, "retire", "guide/usage", "--reason", "Nobody used it.")
    # The text of the other one is published elsewhere.
    assert [line.split()[0] for line in ran.out.splitlines()] == [
        "guide/usage",
        "guide/usage#first",
    ]
    assert "guide/usage#tips is left. Say what became of it: mkdocs-markstay move" in ran.err
    done(site, "move", "guide/usage#tips", "index#hints")
    (site / "docs/guide/usage.md").write_text(USAGE, "utf-8")
    messages = [found.message for found in build_site(site).findings]
    assert len(messages) == 3
    assert all("run: mkdocs-markstay restore guide/usage" in message for message in messages)
    ran = run_markstay(site, "restore", "guide/usage#none")
    assert "'guide/usage#none' is not in markstay.lock, so it was never gone" in ran.err
    ran = done(site, "restore", "guide/usage")
    assert len(ran.out.splitlines()) == 3
    done(site, "lock")
    done(site, "lock", "--check")
    assert "'guide/usage' is live already" in run_markstay(site, "restore", "guide/usage").err


def test_a_page_that_moves_back(site: Path) -> None:
    (site / "docs/use.md").write_text(USAGE, "utf-8")
    (site / "docs/guide/usage.md").unlink()
    done(site, "move", "guide/usage", "use")
    done(site, "lock")
    (site / "docs/use.md").rename(site / "docs/guide/usage.md")
    messages = {f.message.split("'")[1]: f.message for f in build_site(site).findings}
    assert messages["guide/usage"].endswith(
        "the same again, run: mkdocs-markstay move use guide/usage"
    )
    done(site, "move", "use", "guide/usage")
    done(site, "lock", "--check")
    assert Page(built(site).html("use/index.html")).links["markstay-page-to"] == "../guide/usage/"


def test_a_long_page_of_which_every_id_changes_takes_no_long_time(tmp_path: Path) -> None:
    def page(name: str) -> str:
        sections = (f"## {name} number {n} <#{name}-{n}>\n\n{name} {n}.\n" for n in range(400))
        return "# Home\n\n" + "\n".join(sections)

    write_site(tmp_path, Site({"docs/index.md": page("part")}))
    done(tmp_path, "lock")
    (tmp_path / "docs/index.md").write_text(page("section"), "utf-8")
    before = time.perf_counter()
    assert len(build_site(tmp_path).findings) == 400
    assert time.perf_counter() - before < 5  # with each pair compared: 10


def test_while_something_is_missing_nothing_is_recorded(site: Path) -> None:
    edit(site, "index.md", ("## News <#news>", "## Fresh <#fresh>"))
    before = lock(site)
    ran = run_markstay(site, "lock")
    assert ran.code == 1
    assert [found.code for found in ran.findings] == ["lost-referent"]
    assert lock(site) == before


def test_a_page_left_out_is_missed(site: Path) -> None:
    edit(site, "guide/usage.md", ("# Usage", "---\nmarkstay: false\n---\n\n# Usage"))
    assert sorted(told(site)) == ["guide/usage", "guide/usage#first", "guide/usage#tips"]


@pytest.mark.parametrize(
    ("option", "level", "passed"),
    [
        ("error", "error", False),
        ("warn", "warning", True),
        ("off", None, True),
        (False, None, True),
    ],
)
def test_the_option_says_what_it_is(
    tmp_path: Path, option: object, level: str | None, passed: bool
) -> None:
    write_site(tmp_path, Site(FILES, plugin={"permanence": option}))
    done(tmp_path, "lock")
    edit(tmp_path, "index.md", ("## News <#news>\n", ""))
    result = build_site(tmp_path)
    assert result.passed is passed
    assert [found.level for found in result.findings] == ([level] if level else [])
    assert run_markstay(tmp_path, "check").code == (0 if passed else 1)


def test_a_preview_warns(site: Path) -> None:
    edit(site, "index.md", ("## News <#news>\n", ""))
    result = build_site(site, command="serve")
    assert result.passed
    assert [found.level for found in result.findings] == ["warning"]


def test_no_baseline_takes_it(site: Path) -> None:
    edit(site, "index.md", ("## News <#news>\n", ""))
    assert run_markstay(site, "baseline").code == 0
    assert not (site / "markstay.baseline").exists()
    assert not build_site(site).passed


def test_a_dirty_build_compares_nothing(site: Path) -> None:
    assert run_mkdocs(site).passed
    edit(site, "index.md", ("## News <#news>\n", ""))
    assert run_mkdocs(site, "--dirty").passed
    assert not run_mkdocs(site).passed


def test_check_finds_the_text_in_pages_that_did_not_change(site: Path) -> None:
    edit(site, "guide/install.md", ("\n### Deep {#deep}\n\nDeep text.\n", ""))
    edit(site, "index.md", ("## News", "## Any <#any>\n\nDeep text.\n\n## News"))
    first = run_markstay(site, "check")
    edit(site, "guide/usage.md", ("Tip.", "A tip."))
    second = run_markstay(site, "check")
    assert "docs/index.md:5 (same text)" in first.findings[0].message
    assert second.findings == first.findings


# -- what became of it


def test_refusals(site: Path) -> None:
    done(site, "rename", "docs/guide/install.md", "setup", "set-up")
    edit(site, "index.md", ("## News <#news>\n", ""))
    before = lock(site)
    for arguments, reason in (
        (("move", "index#news", "index#none"), "'index#none' is not published by this site"),
        (("move", "index#news", "index#news"), "'index#news' cannot move to itself"),
        (("move", "guide/usage#tips", "index"), "is still published, by docs/guide/usage.md:7"),
        (("move", "index#never", "index"), "'index#never' is not in markstay.lock"),
        (
            ("retire", "guide/usage", "--reason", "x"),
            "is still published, by docs/guide/usage.md:1",
        ),
        (("retire", "index#news", "--reason", " "), "a reason is what readers"),
        (("retire", "nothing", "--reason", "x"), "'nothing' is not in markstay.lock"),
        (("rename", "docs/guide/usage.md", "none", "new"), "no heading in docs/guide/usage.md has"),
        (("rename", "docs/guide/usage.md", "tips", "first"), "has the id 'first' already"),
        (("rename", "docs/guide/usage.md", "tips", "tips"), "is that id already"),
        (("rename", "docs/guide/usage.md", "tips", "a b"), "'a b' is no section id"),
        (("rename", "docs/index.md", "home", "new"), "no heading in docs/index.md has"),
        (("rename", "docs/guide/install.md", "deep", "setup"), "'guide/install#setup' is an old"),
    ):
        ran = run_markstay(site, *arguments)
        assert ran.code == 2
        assert reason in ran.err
    assert lock(site) == before
    assert (site / "docs/guide/usage.md").read_text("utf-8") == USAGE


class Page(HTMLParser):
    """What matters of a page for old addresses."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.ids: dict[str, str] = {}
        self.links: dict[str, str] = {}
        self.seen = ""
        self.tags: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attributes}
        if "id" in values:
            self.ids[values["id"]] = values.get("class", tag)
        self.links[values.get("class", tag)] = values.get("href", values.get("content", ""))
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.seen += data


def land(site: Path) -> None:
    """Change the site in all the ways that there are, and say so."""
    done(site, "rename", "docs/guide/install.md", "setup", "set-up")
    (site / "docs/start").mkdir()
    (site / "docs/guide/usage.md").rename(site / "docs/start/using.md")
    edit(site, "start/using.md", ("\n## Tips <#tips>\n\nTip.\n", ""))
    edit(site, "guide/install.md", ("\n### Deep {#deep}\n\nDeep text.\n", ""))
    edit(site, "index.md", ("## News <#news>\n\nNone.\n", "## Tips & <#more>\n\nTip.\n"))
    done(site, "move", "guide/usage", "start/using")
    done(site, "move", "guide/usage#tips", "index#more")
    done(site, "move", "guide/install#deep", "start/using#first")
    done(site, "retire", "index#news", "--reason", "The <b>news</b> are elsewhere.")
    done(site, "lock", "--check")


def test_anchors_of_a_renamed_section(site: Path) -> None:
    plain = built(site).html("guide/install/index.html")
    done(site, "rename", "docs/guide/install.md", "setup", "set-up")
    page = built(site).html("guide/install/index.html")
    alias = '<span id="setup" class="markstay-alias"></span>'
    assert f'<h2 id="set-up">{alias}Setup</h2>' in page
    # Nothing else is there for it.
    assert page.replace(alias, "").replace("set-up", "setup") == plain


def test_an_old_anchor_that_the_register_never_had_is_written_by_hand(site: Path) -> None:
    with (site / "markstay.lock").open("a", encoding="utf-8") as file:
        file.write('["guide/install#older", "moved", "", "guide/install#setup"]\n')
        file.write('["old/install", "moved", "", "guide/install", "old/install"]\n')
    done(site, "lock")
    result = built(site)
    assert '<span id="older" class="markstay-alias"></span>' in result.html(
        "guide/install/index.html"
    )
    assert "../../guide/install/" in result.html("old/install/index.html")


def test_notes_of_sections_that_went(site: Path) -> None:
    land(site)
    result = built(site)
    install = Page(result.html("guide/install/index.html"))
    assert install.ids["deep"] == "markstay-note"
    assert install.links["markstay-to"] == "../../start/using/#first"
    home = Page(result.html())
    assert home.ids["news"] == "markstay-note"
    assert "was retired: The <b>news</b> are elsewhere." in home.seen
    # What is not wanted is not seen, and is no text.
    assert 'class="markstay-note" lang="en" hidden="until-found">' in result.html()
    assert "elsewhere" not in (site / "site/passages.jsonl").read_text("utf-8")


def test_pages_in_the_place_of_old_ones(site: Path) -> None:
    land(site)
    html = built(site).html("guide/usage/index.html")
    page = Page(html)
    assert page.links["markstay-page-to"] == "../../start/using/"
    assert page.links["link"] == "https://docs.example.org/sub/start/using/"
    assert '<noscript><meta http-equiv="refresh" content="0; url=../../start/using/">' in html
    # One section went elsewhere; the others go along with the page.
    assert page.ids == {"tips": "markstay-note"}
    assert page.links["markstay-to"] == "../../#more"
    assert "Tips &amp;" in html


def test_a_retired_page_says_so(site: Path) -> None:
    (site / "docs/guide/usage.md").unlink()
    done(site, "retire", "guide/usage", "--reason", "Use is obvious </script> now.")
    html = built(site).html("guide/usage/index.html")
    page = Page(html)
    # Once, whichever section is looked for.
    assert page.seen.count("Use is obvious </script> now.") == 1
    assert "refresh" not in html


@pytest.mark.parametrize("directories", [True, False])
def test_addresses_in_both_styles(site: Path, directories: bool) -> None:
    land(site)
    result = built(site, use_directory_urls=directories)
    old = "guide/usage/index.html" if directories else "guide/usage.html"
    new = "../../start/using/" if directories else "../start/using.html"
    assert Page(result.html(old)).links["markstay-page-to"] == new
    there = {path for path in result.pages() if path != "404.html"}
    assert len(there) == 4


def test_a_page_whose_path_changes_keeps_its_referent(site: Path) -> None:
    text = USAGE.replace("# Usage", "---\npage_id: guide/usage\n---\n\n# Usage", 1)
    (site / "docs/guide/usage.md").unlink()
    (site / "docs/use.md").write_text(text, "utf-8")
    page = Page(built(site).html("guide/usage/index.html"))
    assert page.links["markstay-page-to"] == "../../use/"
    ran = run_markstay(site, "lock", "--check")
    line = line_of(site, "guide/usage")
    assert ran.places == [f"markstay.lock:{line} error unregistered"]
    done(site, "lock")
    assert '["guide/usage", "live", "Usage", "use", "guide/usage"]' in lock(site)
    manifest = built(site).manifest
    assert manifest is not None
    found = {page["page_id"]: page.get("former_urls") for page in manifest["pages"]}
    assert found == {"guide/usage": ["guide/usage/"], "guide/install": None, "index": None}
    ran = done(site, "resolve", "https://docs.example.org/sub/guide/usage/#tips")
    assert ran.out == "guide/usage#tips https://docs.example.org/sub/use/#tips\n"


def test_a_page_that_is_a_section_now(site: Path) -> None:
    (site / "docs/guide/usage.md").unlink()
    text = USAGE.replace("##", "###").replace("# Usage", "## Usage <#usage>", 1)
    (site / "docs/all.md").write_text(f"# All\n\n{text}", "utf-8")
    done(site, "move", "guide/usage", "all#usage")
    html = built(site).html("guide/usage/index.html")
    page = Page(html)
    assert page.links["markstay-page-to"] == "../../all/#usage"
    assert page.ids == {"first": "markstay-note", "tips": "markstay-note"}
    assert re.findall(r'markstay-to" href="(.*?)"', html) == ["../../all/#first", "../../all/#tips"]


@pytest.mark.parametrize(
    "heading",
    [
        '<h2 title="a > b" id="s">S</h2>',
        "<H2 class=x ID = 's'>S</H2>",
        "<h2 id=s>S</h2>",
        '<!-- <h2 id="s"> -->\n\n## S <#s>',
        '`<h2 id="s">`\n\n## S <#s>',
        "<p title='<h2 id=\"s\">'>S</p>\n\n## S <#s>",
        "> ## S {: .x #s }",
        "S <#s>\n---",
    ],
)
def test_an_anchor_in_every_kind_of_heading(tmp_path: Path, heading: str) -> None:
    write_site(tmp_path, Site({"docs/index.md": f"# Home\n\n{heading}\n"}, ("attr_list",)))
    done(tmp_path, "lock")
    path = tmp_path / "docs/index.md"
    text = path.read_text("utf-8")
    for spelled in ("<#s>", "#s }", '> b" id="s"', "ID = 's'", "<h2 id=s"):
        text = text.replace(spelled, re.sub(r"\bs\b", "t", spelled))
    path.write_text(text, "utf-8")
    done(tmp_path, "move", "index#s", "index#t")
    assert re.search(
        r'(?i)<h2[^<]*><span id="s" class="markstay-alias"></span>S', built(tmp_path).html()
    )


def test_an_id_is_not_given_twice(site: Path) -> None:
    edit(site, "guide/usage.md", ("# Usage", "---\npage_id: use\n---\n\n# Usage"))
    done(site, "move", "guide/usage", "use")
    done(site, "rename", "docs/guide/usage.md", "tips", "hints")
    assert built(site).html("guide/usage/index.html").count('id="tips"') == 1
    edit(site, "guide/usage.md", ("\n## Tips <#hints>\n\nTip.\n", ""))
    done(site, "retire", "use#hints", "--reason", "Known by now.")
    html = built(site).html("guide/usage/index.html")
    assert (html.count('id="tips"'), html.count('id="hints"')) == (1, 1)


def test_two_pages_at_one_old_address(site: Path) -> None:
    more = '["x", "retired", "X", "Why", "z"]\n["y", "moved", "Y", "index", "y", "z"]\n'
    (site / "markstay.lock").write_text(lock(site) + more, "utf-8")
    (found,) = build_site(site).findings
    assert found.place == "markstay.lock:12 address-taken"
    assert found.message == (
        "'y' and 'x' (markstay.lock:11) were both published at 'z', and lead elsewhere now."
        " Remove the path from one of the lines"
    )


def test_a_page_that_a_hook_publishes_elsewhere(site: Path) -> None:
    hook = "def on_files(files, config):\n    for file in files.documentation_pages():\n"
    hook += "        if file.src_uri == 'guide/usage.md':\n"
    hook += "            file.dest_uri = file.url = 'odd/use.html'\n    return files\n"
    (site / "hook.py").write_text(hook, "utf-8")
    (site / "mkdocs.yml").write_text(
        (site / "mkdocs.yml").read_text("utf-8") + "hooks: [hook.py]\n", "utf-8"
    )
    done(site, "lock")
    assert sorted(built(site).pages()) == [
        "guide/install/index.html",
        "guide/usage/index.html",
        "index.html",
        "odd/use.html",
    ]


def test_a_page_id_that_changes_leaves_its_page_where_it_is(site: Path) -> None:
    edit(site, "guide/usage.md", ("# Usage", "---\npage_id: use\n---\n\n# Usage"))
    assert "mkdocs-markstay move guide/usage use." in told(site)["guide/usage"]
    done(site, "move", "guide/usage", "use")
    result = built(site)
    assert "markstay-page" not in result.html("guide/usage/index.html")
    done(site, "rename", "docs/guide/usage.md", "tips", "hints")
    page = Page(built(site).html("guide/usage/index.html"))
    assert page.ids["tips"] == "markstay-alias"
    assert done(site, "resolve", "guide/usage#tips").out.startswith("use#hints ")


def test_a_chain_lands_at_its_end(site: Path) -> None:
    done(site, "rename", "docs/guide/usage.md", "tips", "b")
    done(site, "rename", "docs/guide/usage.md", "b", "c")
    edit(site, "guide/usage.md", ("\n## Tips <#c>\n\nTip.\n", ""))
    edit(site, "index.md", ("## News", "## Tips <#d>\n\n## News"))
    done(site, "move", "guide/usage#c", "index#d")
    page = Page(built(site).html("guide/usage/index.html"))
    notes = [name for name, css in page.ids.items() if css == "markstay-note"]
    assert notes == ["b", "c", "tips"]
    assert page.links["markstay-to"] == "../../#d"
    assert done(site, "resolve", "guide/usage#tips").out.startswith("index#d ")


def test_back_again(site: Path) -> None:
    done(site, "rename", "docs/guide/usage.md", "tips", "hints")
    done(site, "rename", "docs/guide/usage.md", "hints", "tips")
    assert '["guide/usage#tips", "live", "Tips"' in lock(site)
    assert '["guide/usage#hints", "moved", "Tips", "guide/usage#tips"]' in lock(site)
    done(site, "lock", "--check")
    assert Page(built(site).html("guide/usage/index.html")).ids["hints"] == "markstay-alias"


def test_a_heading_that_lost_its_id_gets_the_same_one(site: Path) -> None:
    edit(site, "guide/install.md", ("## Setup <#setup>", "## Setup"))
    found = {each.code: each for each in build_site(site).findings}
    assert sorted(found) == ["lost-referent", "missing-id"]
    assert (
        found["missing-id"].message == "heading 'Setup' has no section id, and"
        " 'guide/install#setup' with this title is missing. If it is the same: Write:"
        " ## Setup <#setup>"
    )
    assert "Its heading at docs/guide/install.md:11 has no id: write it there again." in (
        found["lost-referent"].message
    )
    assert run_markstay(site, "check").findings == build_site(site).findings
    ran = run_markstay(site, "check", "docs/guide/install.md")
    assert len(ran.findings) == 2


def test_a_section_that_went_into_its_page(site: Path) -> None:
    edit(site, "guide/usage.md", ("## Tips <#tips>\n", ""))
    done(site, "move", "guide/usage#tips", "guide/usage")
    html = built(site).html("guide/usage/index.html")
    assert html.index('id="tips"') < html.index("data-markstay-begin")


def test_rename_in_a_file_that_two_pages_include(tmp_path: Path) -> None:
    files = {
        "docs/index.md": "# Home\n\n--8<-- 'part.md'\n",
        "docs/b.md": "# B\n\n--8<-- 'part.md'\n",
        "docs/c.md": "# C\n\n## Part <#part>\n",
        "part.md": "## Part <#part> {.x}\n\nText.\n",
    }
    write_site(tmp_path, Site(files, extensions=("pymdownx.snippets",)))
    done(tmp_path, "lock")
    ran = done(tmp_path, "rename", "docs/b.md", "part", "piece")
    assert ran.out.split("\n")[:3] == [
        "part.md:1: part is now piece",
        "b#part leads to b#piece now",
        "index#part leads to index#piece now",
    ]
    assert (tmp_path / "part.md").read_text("utf-8") == "## Part <#piece> {.x}\n\nText.\n"
    done(tmp_path, "lock", "--check")


# -- links in the sources


def test_links_are_told_and_rewritten(site: Path) -> None:
    (site / "README.md").write_text("[x](docs/guide/install.md#setup)\n", "utf-8")
    ran = done(site, "rename", "docs/guide/install.md", "setup", "set-up")
    assert ran.err.splitlines() == [
        "docs/index.md has a link to guide/install.md#setup (now guide/install.md#set-up)",
        (
            "the links of the sources can be rewritten: mkdocs-markstay move 'guide/install#setup'"
            " 'guide/install#set-up' --fix-links"
        ),
    ]
    ran = done(site, "move", "guide/install#setup", "guide/install#set-up", "--fix-links")
    assert ran.out.splitlines()[-1] == (
        "docs/index.md:3: the link leads to guide/install.md#set-up now"
    )
    text = (site / "docs/index.md").read_text("utf-8")
    assert text == INDEX.replace("install.md#setup", "install.md#set-up")
    built(site, strict=True)


def test_links_to_a_page_that_moved(site: Path) -> None:
    edit(site, "guide/install.md", ("Run it.", "[Use](usage.md), [tips](usage.md#tips)."))
    (site / "docs/start").mkdir()
    (site / "docs/guide/usage.md").rename(site / "docs/start/using.md")
    done(site, "move", "guide/usage", "start/using", "--fix-links")
    text = (site / "docs/guide/install.md").read_text("utf-8")
    assert "[Use](../start/using.md), [tips](../start/using.md#tips)." in text
    built(site, strict=True)


def test_links_to_a_page_whose_file_moved_and_whose_id_stays(site: Path) -> None:
    text = INSTALL.replace("title: Install it", "title: Install it\npage_id: guide/install")
    (site / "docs/guide/install.md").unlink()
    (site / "docs/setup.md").write_text(text, "utf-8")
    ran = done(site, "lock")
    assert "docs/index.md has a link to guide/install.md#setup (now setup.md#setup)" in ran.err
    assert "can be rewritten: mkdocs-markstay lock --fix-links" in ran.err
    (site / "docs/setup.md").rename(site / "docs/install.md")
    done(site, "lock")
    ran = done(site, "lock", "--fix-links")
    assert "docs/index.md:3: the link leads to install.md#setup now" in ran.out
    built(site, strict=True)


def test_rename_rewrites_links_at_once(site: Path) -> None:
    ran = done(site, "rename", "docs/guide/install.md", "setup", "set-up", "--fix-links")
    assert "docs/index.md:3: the link leads to guide/install.md#set-up now" in ran.out
    done(site, "rename", "docs/guide/install.md", "set-up", "third", "--fix-links")
    assert "install.md#third" in (site / "docs/index.md").read_text("utf-8")


def test_links_to_what_is_gone_are_told(site: Path) -> None:
    edit(site, "guide/install.md", ("## Setup <#setup>\n", ""))
    ran = done(site, "retire", "guide/install#setup", "--reason", "It sets itself up.")
    assert ran.err == "docs/index.md has a link to guide/install.md#setup (gone)\n"


# -- invariants


def test_an_old_id_is_given_to_something_else(site: Path) -> None:
    land(site)
    edit(site, "guide/install.md", ("You need", "## Again <#setup>\n\nYou need"))
    edit(site, "index.md", ("Tip.", '<p id="news">Tip.</p>'))
    edit(site, "start/using.md", ("Step.", "Step.\n\n## Kept <#kept>\n"))
    result = build_site(site)
    assert result.places == [
        "docs/guide/install.md:9 published-again",
        "docs/index.md:1 alias-taken",
    ]
    assert "run: mkdocs-markstay restore 'guide/install#setup'" in result.findings[0].message
    done(site, "restore", "guide/install#setup")
    assert build_site(site).places == ["docs/index.md:1 alias-taken"]


def test_a_file_at_an_old_address(site: Path) -> None:
    land(site)
    (site / "docs/guide/usage.md").write_text("# New\n", "utf-8")
    assert build_site(site).places == ["docs/guide/usage.md:1 published-again"]
    (site / "docs/guide/usage.md").write_text("---\npage_id: new\n---\n\n# New\n", "utf-8")
    assert build_site(site).places == ["docs/guide/usage.md:1 address-taken"]


def test_a_file_where_the_folder_of_an_old_page_was(site: Path) -> None:
    (site / "docs/guide/usage.md").unlink()
    done(site, "retire", "guide/usage", "--reason", "x")
    (site / "docs/guide/usage").write_text("a file", "utf-8")
    result = run_mkdocs(site)
    assert result.places == ["markstay.lock:1 address-taken"]
    assert (site / "site/guide/usage").read_text("utf-8") == "a file"
    assert not (site / "site/index.html").exists()


def test_an_old_file_that_is_the_new_one(site: Path) -> None:
    # As in a file system in which case makes no difference.
    (site / "docs/guide/usage.md").rename(site / "docs/guide/Usage.md")
    done(site, "move", "guide/usage", "guide/Usage")
    hook = "def on_post_build(config):\n    from pathlib import Path\n"
    hook += "    (Path(config.site_dir) / 'guide/usage').symlink_to('Usage')\n"
    (site / "hook.py").write_text(hook, "utf-8")
    config = (site / "mkdocs.yml").read_text("utf-8") + "hooks: [hook.py]\n"
    (site / "mkdocs.yml").write_text(config, "utf-8")
    assert "markstay-page" not in built(site).html("guide/Usage/index.html")


@pytest.mark.parametrize("became", ['"retired", "X", "Why"', '"moved", "X", "index"'])
def test_a_name_that_no_file_can_have(site: Path, became: str) -> None:
    name = "x" * 300
    line = f'["{name}", {became}, "{name}"]\n'
    (site / "markstay.lock").write_text(lock(site) + line, "utf-8")
    result = run_mkdocs(site)
    assert result.verdict == 1
    assert any("an old address cannot be kept: " in line for line in result.log)
    assert not (site / "site/index.html").exists()


def test_what_the_register_says_of_nothing(site: Path) -> None:
    more = '["x#y", "moved", "Y", "x#z"]\n["z", "moved", "Z", "z", "z"]\n'
    (site / "markstay.lock").write_text(lock(site) + more, "utf-8")
    assert build_site(site).places == ["markstay.lock:11 dead-end", "markstay.lock:12 dead-end"]


# -- the manifest, and citations


def test_the_manifest_says_where_old_addresses_lead(site: Path) -> None:
    before = built(site).manifest
    land(site)
    manifest = built(site).manifest
    assert before is not None
    assert manifest is not None
    schema = Path(mkdocs_markstay.__file__).with_name("passages-1.schema.json")
    Draft202012Validator(json.loads(schema.read_text("utf-8"))).validate(manifest)
    assert manifest["redirects"] == [
        {"from": "guide/install#deep", "to": "start/using#first", "url": "guide/install/#deep"},
        {
            "from": "guide/install#setup",
            "to": "guide/install#set-up",
            "url": "guide/install/#setup",
        },
        {"from": "guide/usage", "to": "start/using", "url": "guide/usage/"},
        {"from": "guide/usage#first", "to": "start/using#first", "url": "guide/usage/#first"},
        {"from": "guide/usage#tips", "to": "index#more", "url": "guide/usage/#tips"},
    ]
    assert manifest["retired"] == [
        {"referent": "index#news", "reason": "The <b>news</b> are elsewhere.", "url": "#news"}
    ]
    assert {row["referent"]: row["aliases"] for row in manifest["sections"]} == {
        "guide/install#requirements": [],
        "guide/install#set-up": ["guide/install#setup"],
        "index#more": ["guide/usage#tips"],
        "start/using#first": ["guide/install#deep", "guide/usage#first"],
    }
    # Where nothing else changed, no digest and no id did.
    assert kept(before, "guide/install#requirements") == kept(
        manifest, "guide/install#requirements"
    )
    done(site, "verify", "site")


def kept(manifest: Mapping[str, Any], referent: str) -> list[dict[str, Any]]:
    return [row for row in manifest["passages"] if row["referent"] == referent]


BASE = "https://docs.example.org/sub/"


@pytest.mark.parametrize(
    ("cited", "code", "answer"),
    [
        ("index", 0, f"index {BASE}"),
        ("guide/install#set-up", 0, f"guide/install#set-up {BASE}guide/install/#set-up"),
        ("guide/install#setup", 0, f"guide/install#set-up {BASE}guide/install/#set-up"),
        ("guide/usage", 0, f"start/using {BASE}start/using/"),
        (f"{BASE}guide/usage/", 0, f"start/using {BASE}start/using/"),
        (f"{BASE}guide/usage", 0, f"start/using {BASE}start/using/"),
        (f"{BASE}guide/usage/index.html#first", 0, f"start/using#first {BASE}start/using/#first"),
        (f"{BASE}guide/usage/?q=1#tips", 0, f"index#more {BASE}#more"),
        ("/sub/guide/usage/#tips", 0, f"index#more {BASE}#more"),
        (BASE, 0, f"index {BASE}"),
        (BASE.rstrip("/"), 0, f"index {BASE}"),
        (f"{BASE}#news", 1, f"{BASE}#news: retired: The <b>news</b> are elsewhere."),
        ("index#none", 1, "index#none: unknown: the page index has, and had, no section none"),
        ("none", 1, "none: unknown: there is, and was, no such page"),
        (
            "https://example.org/sub/",
            1,
            "https://example.org/sub/: unknown: it is no address of this site",
        ),
    ],
)
def test_resolve(site: Path, cited: str, code: int, answer: str) -> None:
    land(site)
    built(site)
    ran = run_markstay(site, "resolve", cited)
    assert (ran.code, (ran.out or ran.err).strip()) == (code, answer)
    ran = run_markstay(
        site, "resolve", cited, "--manifest", "site/passages.json", "--format", "json"
    )
    (found,) = json.loads(ran.out)
    assert (ran.code, found["cited"]) == (code, cited)
    assert (found["referent"] == "") is bool(code)


@pytest.mark.parametrize(
    "cited", ["http://[", "//[::1", "https://[::1", "\udcff", "a#\0", "javascript:alert(1)", ""]
)
def test_resolve_takes_any_text(site: Path, cited: str) -> None:
    built(site)
    for style in ("text", "json"):
        ran = run_markstay(site, "resolve", "--format", style, "--", cited)
        assert (ran.code, "unknown" in ran.out + ran.err) == (1, True)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (
            {
                "redirects": [
                    {"from": "a", "to": "b", "url": ""},
                    {"from": "b", "to": "a", "url": ""},
                ]
            },
            1,
        ),
        ({"redirects": [{"from": "a"}]}, 2),
        ({"redirects": [{"from": ["a"], "to": "b", "url": ""}]}, 2),
        ({"redirects": None}, 2),
        ({"redirects": "text"}, 2),
        ({"retired": [{"referent": "a"}]}, 2),
        ({"retired": [1]}, 2),
        ({"site_url": "https://["}, 1),
    ],
)
def test_resolve_with_a_manifest_that_somebody_changed(
    site: Path, change: dict[str, Any], code: int
) -> None:
    manifest = built(site).manifest
    assert manifest is not None
    path = site / "site/passages.json"
    path.write_text(json.dumps({**manifest, **change}), "utf-8")
    ran = run_markstay(site, "resolve", "a", "https://docs.example.org/sub/")
    assert (ran.code, "damaged" in ran.err) == (code, code == 2)


def test_any_text_of_the_register_can_be_in_the_manifest(site: Path) -> None:
    odd = r'["index#a\u0000", "retired", "T\ud800", "R\u0000\ud800 <b>"]'
    (site / "markstay.lock").write_text(f"{lock(site)}{odd}\n", "utf-8")
    assert "&lt;b&gt;" in built(site).html()
    done(site, "verify", "site")
    assert run_markstay(site, "resolve", "index#a\0").err.endswith("R\\x00? <b>\n")


def test_resolve_with_an_older_manifest(site: Path) -> None:
    manifest = built(site).manifest
    assert manifest is not None
    older = {key: manifest[key] for key in manifest if key not in ("redirects", "retired")}
    (site / "site/passages.json").write_text(json.dumps(older), "utf-8")
    assert done(site, "resolve", "index").out == f"index {BASE}\n"


def test_an_address_that_is_not_known_is_not_that_of_the_home_page(site: Path) -> None:
    line = '["lost#tips", "retired", "Tips", "Nobody knows the page."]\n'
    (site / "markstay.lock").write_text(lock(site) + line, "utf-8")
    built(site)
    ran = run_markstay(site, "resolve", "lost#tips")
    assert ran.err == "lost#tips: retired: Nobody knows the page.\n"
    ran = run_markstay(site, "resolve", f"{BASE}#tips")
    assert ran.err == f"{BASE}#tips: unknown: the page index has, and had, no section tips\n"


def test_resolve_without_a_manifest(site: Path) -> None:
    ran = run_markstay(site, "resolve", "index")
    assert ran.code == 2
    assert "site: there is no passages.json" in ran.err


# -- languages


def test_every_language_keeps_its_addresses(tmp_path: Path) -> None:
    german = {
        "docs/index.de.md": INDEX.replace("Home", "Start"),
        "docs/guide/install.de.md": INSTALL.replace("Setup", "Einrichten"),
        "docs/guide/usage.de.md": USAGE,
    }
    languages = [
        {"locale": "en", "name": "English", "default": True, "build": True},
        {"locale": "de", "name": "Deutsch", "build": True},
    ]
    plugins = [{"i18n": {"docs_structure": "suffix", "languages": languages}}, "markstay"]
    write_site(tmp_path, Site({**FILES, **german}, config={"plugins": plugins}))
    done(tmp_path, "lock")
    assert len(lock(tmp_path).splitlines()) == 10
    ran = done(tmp_path, "rename", "docs/guide/install.md", "setup", "set-up")
    assert ran.out.splitlines()[:2] == [
        "docs/guide/install.de.md:11: setup is now set-up",
        "docs/guide/install.md:11: setup is now set-up",
    ]
    (tmp_path / "docs/start").mkdir()
    for name in ("{}.md", "{}.de.md"):
        old = tmp_path / "docs/guide" / name.format("usage")
        old.rename(tmp_path / "docs/start" / name.format("using"))
    result = run_mkdocs(tmp_path)
    assert {found.code for found in result.findings} == {"lost-referent"}
    assert not list((tmp_path / "site").rglob("*.html"))
    done(tmp_path, "move", "guide/usage", "start/using")
    result = run_mkdocs(tmp_path)
    assert result.passed, result.log
    for prefix in ("", "de/"):
        page = Page(result.html(f"{prefix}guide/usage/index.html"))
        assert page.links["markstay-page-to"] == "../../start/using/"
        assert Page(result.html(f"{prefix}guide/install/index.html")).ids["setup"]


@pytest.mark.parametrize("structure", ["suffix", "folder"])
def test_pages_without_a_translation_keep_their_addresses(tmp_path: Path, structure: str) -> None:
    folder = "docs/en" if structure == "folder" else "docs"
    files = {name.replace("docs", folder): text for name, text in FILES.items()}
    languages = [
        {"locale": "en", "name": "English", "default": True, "build": True},
        {"locale": "fr", "name": "Français", "build": True},
    ]
    plugins = [{"i18n": {"docs_structure": structure, "languages": languages}}, "markstay"]
    write_site(tmp_path, Site(files, config={"plugins": plugins}))
    done(tmp_path, "lock")
    before = run_mkdocs(tmp_path).pages()
    done(tmp_path, "rename", f"{folder}/guide/install.md", "setup", "set-up")
    (tmp_path / folder / "guide/usage.md").rename(tmp_path / folder / "guide/use.md")
    done(tmp_path, "move", "guide/usage", "guide/use")
    result = run_mkdocs(tmp_path)
    assert result.passed, result.log
    assert before.keys() - result.pages().keys() == set()
    for prefix in ("", "fr/"):
        assert Page(result.html(f"{prefix}guide/install/index.html")).ids["setup"]
        page = Page(result.html(f"{prefix}guide/usage/index.html"))
        assert page.links["markstay-page-to"] == "../use/"
    assert "data-markstay-begin" not in result.html("fr/guide/install/index.html")
    done(tmp_path, "verify", "site")
