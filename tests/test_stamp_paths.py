"""What `mkdocs-markstay stamp` says of the files that it is given, if there is nothing to write."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from site_builder import Site, run_markstay, write_site

if TYPE_CHECKING:
    from pathlib import Path

NO_PAGE = "is no page of this site, and no page includes it with a heading"
EXCLUDED = "is left out by the option exclude, or by `markstay: false` in the page"
SITE = Site(
    {
        "docs/index.md": '# Home\n\n## A <#a>\n\n--8<-- "docs/shown.md"\n',
        "docs/by-option.md": "# By option\n\n## B\n",
        "docs/by-page.md": "---\nmarkstay: false\n---\n# By page\n\n## C\n",
        "docs/shown.md": "## D\n",
        "docs/part.txt": "## E\n",
        "notes.md": "# Notes\n\n## F\n",
    },
    ("pymdownx.snippets",),
    {"exclude": ["by-option.md", "shown.md"]},
)


@pytest.mark.parametrize("write", [(), ("--write",)])
@pytest.mark.parametrize("path", ["docs/by-option.md", "docs/by-page.md"])
def test_a_page_that_is_left_out(tmp_path: Path, path: str, write: tuple[str, ...]) -> None:
    write_site(tmp_path, SITE)
    old = (tmp_path / path).read_bytes()
    ran = run_markstay(tmp_path, "stamp", path, *write)
    done = "written" if write else "to write (--write)"
    assert (ran.code, ran.out) == (0, "")
    assert ran.err == f"{path} {EXCLUDED}\n0 ids in 0 files {done}\n"
    assert (tmp_path / path).read_bytes() == old


def test_a_folder_says_nothing_of_pages_that_are_left_out(tmp_path: Path) -> None:
    write_site(tmp_path, SITE)
    ran = run_markstay(tmp_path, "stamp", "docs")
    assert (ran.code, ran.err) == (0, "1 id in 1 file to write (--write)\n")


def test_a_page_that_is_left_out_and_shown_in_another(tmp_path: Path) -> None:
    write_site(tmp_path, SITE)
    ran = run_markstay(tmp_path, "stamp", "docs/shown.md", "--write")
    assert (ran.code, ran.err) == (0, "1 id in 1 file written\n")
    assert (tmp_path / "docs" / "shown.md").read_text() == "## D <#d>\n"


@pytest.mark.parametrize("path", ["notes.md", "docs/part.txt", "mkdocs.yml"])
def test_a_file_that_is_no_page(tmp_path: Path, path: str) -> None:
    write_site(tmp_path, SITE)
    # A script may name it twice.
    ran = run_markstay(tmp_path, "stamp", path, path, "--write")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == f"mkdocs-markstay: {path} {NO_PAGE}\n"


def test_files_of_all_kinds(tmp_path: Path) -> None:
    """What a commit hook gives: the others are stamped all the same."""
    write_site(tmp_path, SITE)
    paths = ("notes.md", "docs/by-option.md", "docs/shown.md", "docs/part.txt")
    ran = run_markstay(tmp_path, "stamp", *paths)
    assert ran.code == 0
    assert ran.err.splitlines() == [
        f"notes.md {NO_PAGE}",
        f"docs/by-option.md {EXCLUDED}",
        f"docs/part.txt {NO_PAGE}",
        "1 id in 1 file to write (--write)",
    ]
    # One of them is known to the site: that is no mistake of the person who runs it.
    ran = run_markstay(tmp_path, "stamp", "notes.md", "docs/by-page.md")
    assert (ran.code, ran.err.splitlines()[:2]) == (
        0,
        [f"notes.md {NO_PAGE}", f"docs/by-page.md {EXCLUDED}"],
    )


def test_a_path_that_is_not_there(tmp_path: Path) -> None:
    write_site(tmp_path, SITE)
    ran = run_markstay(tmp_path, "stamp", "docs/gone.md")
    assert ran.code == 2
    assert "docs/gone.md" in ran.err


def test_no_configuration(tmp_path: Path) -> None:
    ran = run_markstay(tmp_path, "stamp")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (
        "mkdocs-markstay: there is no mkdocs.yml in this folder, and no zensical.toml. Name it: -f path/to/mkdocs.yml\n"
    )
