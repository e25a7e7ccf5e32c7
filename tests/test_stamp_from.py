"""`stamp --from`: the ids of originals, carried over into translations, in whole sites."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from site_builder import Site, write_site
from translated_site import STRUCTURES, page_path, run, translated, write_tree

from mkdocs_markstay.originals import Originals
from mkdocs_markstay.plugin import inspect_site
from mkdocs_markstay.stamp_site import StampOptions, stamp_site

if TYPE_CHECKING:
    from mkdocs_markstay.inspection import Inspection

ORIGINAL = """\
# Guide <#guide>

## Install <#install>

Run `setup.py`.

### On Linux <#linux>

Use `apt`.

## Use <#use>

Call `main_loop`.
"""
TRANSLATION = """\
# Anleitung

## Einrichten

Starten Sie `setup.py`.

### Unter Linux

Nehmen Sie `apt`.

## Benutzen

Rufen Sie `main_loop` auf.
"""
STAMPED = """\
# Anleitung <#guide>

## Einrichten <#install>

Starten Sie `setup.py`.

### Unter Linux <#linux>

Nehmen Sie `apt`.

## Benutzen <#use>

Rufen Sie `main_loop` auf.
"""


def left_alone(output: str) -> list[str]:
    """List what is left alone, each as `path:line reason`."""
    found = re.findall(
        r"^(\S+:\d+): warning\[not-stamped\] .*? gets no id: (.*)$", output, re.MULTILINE
    )
    return [f"{place} {reason}" for place, reason in found]


def stamp_page(folder: Path, original: str, translation: str) -> tuple[str, list[str]]:
    """Stamp a translation from its original; give its text, and what is left alone."""
    pages = {"en": {"index": original}, "de": {"index": translation}}
    write_site(folder, translated(pages, "suffix"))
    command = ("stamp", "docs/index.de.md", "--from", "docs/index.md")
    planned, written = run(folder, *command), run(folder, *command, "--write")
    left = left_alone(written.out)
    assert left_alone(planned.err) == left
    assert len(left) == written.out.count("\n")
    assert written.code == bool(left)
    again = run(folder, *command)
    assert (again.out, left_alone(again.err)) == ("", left)
    assert (folder / "docs" / "index.md").read_text() == original
    return (folder / "docs" / "index.de.md").read_text(), left


# -- which page is the original of which


def test_a_page_with_a_suffix(tmp_path: Path) -> None:
    pages = {
        "en": {"index": "# Home\n", "guide": ORIGINAL, "other": ORIGINAL},
        "de": {"guide": TRANSLATION, "other": TRANSLATION},
    }
    write_site(tmp_path, translated(pages, "suffix"))
    command = ("stamp", "docs/guide.de.md", "--from", "docs/guide.md")
    planned = run(tmp_path, *command)
    assert planned.code == 0
    assert planned.err == "4 ids in 1 file to write (--write)\n"
    assert [line for line in planned.out.split("\n") if line[:1] in ("+", "-")] == [
        "--- a/docs/guide.de.md",
        "+++ b/docs/guide.de.md",
        *(
            sign + line
            for before, after in zip(TRANSLATION.split("\n"), STAMPED.split("\n"), strict=True)
            if before != after
            for sign, line in (("-", before), ("+", after))
        ),
    ]
    assert (tmp_path / "docs" / "guide.de.md").read_text() == TRANSLATION
    written = run(tmp_path, *command, "--write")
    assert (written.code, written.out) == (0, "")
    assert (tmp_path / "docs" / "guide.de.md").read_text() == STAMPED
    assert (tmp_path / "docs" / "other.de.md").read_text() == TRANSLATION
    again = run(tmp_path, *command, "--write")
    assert (again.code, again.err) == (0, "0 ids in 0 files written\n")


@pytest.mark.parametrize("structure", STRUCTURES)
def test_all_pages_of_a_language(tmp_path: Path, structure: str) -> None:
    pages = {
        "en": {"index": "# Home\n", "a/guide": ORIGINAL, "b": ORIGINAL, "only": "# O\n\n## No\n"},
        "de": {"index": "# Start\n", "a/guide": TRANSLATION, "b": TRANSLATION},
    }
    write_site(tmp_path, translated(pages, structure))
    command = ["stamp", "--from", "docs"]
    if structure == "folder":
        command = ["stamp", "docs/de", "--from", "docs/en"]
    written = run(tmp_path, *command, "--write")
    # Pages that are shown in the other language for lack of a translation are left alone.
    assert (written.code, written.out) == (0, "")
    assert written.err == "8 ids in 2 files written\n"
    for name in ("a/guide", "b"):
        assert (tmp_path / page_path(name, "de", structure)).read_text() == STAMPED
        assert (tmp_path / page_path(name, "en", structure)).read_text() == ORIGINAL
    assert run(tmp_path, *command).err == "0 ids in 0 files to write (--write)\n"
    assert run(tmp_path, "parity").code == 0


def test_another_language_can_be_the_original(tmp_path: Path) -> None:
    pages = {
        "en": {"index": ORIGINAL},
        "de": {"index": TRANSLATION},
        "fr": {"index": ORIGINAL.replace("<#use>", "<#usage>")},
    }
    write_site(tmp_path, translated(pages, "suffix"))
    assert (
        run(tmp_path, "stamp", "docs/index.de.md", "--from", "docs/index.fr.md", "--write").code
        == 0
    )
    text = (tmp_path / "docs" / "index.de.md").read_text()
    assert text == STAMPED.replace("<#use>", "<#usage>")


@pytest.mark.parametrize(
    "options",
    [
        ["-f", "de/mkdocs.yml", "--from", "en/docs"],
        ["-f", "de/mkdocs.yml", "de/docs/a/guide.md", "--from", "en/docs"],
        ["-f", "de/mkdocs.yml", "de/docs/a", "--from", "en/docs"],
        ["-f", "de/mkdocs.yml", "de/docs/a/guide.md", "--from", "en/docs/a/guide.md"],
    ],
)
@pytest.mark.parametrize("language", [{}, {"language": "de", "default_language": "en"}])
def test_two_trees(tmp_path: Path, options: list[str], language: dict[str, str]) -> None:
    write_tree(tmp_path / "en", {"index": "# Home\n", "guide": "# X\n", "a/guide": ORIGINAL})
    pages = {"index": "# Start\n", "a/guide": TRANSLATION}
    write_tree(tmp_path / "de", pages, plugins=[{"markstay": language}])
    written = run(tmp_path, "stamp", *options, "--write")
    assert (written.code, written.out) == (0, "")
    assert written.err == "4 ids in 1 file written\n"
    assert (tmp_path / "de/docs/a/guide.md").read_text() == STAMPED
    assert (tmp_path / "en/docs/a/guide.md").read_text() == ORIGINAL


def test_pages_of_two_trees_have_the_same_path_whatever_their_page_id(tmp_path: Path) -> None:
    write_tree(tmp_path / "en", {"guide": f"---\npage_id: manual\n---\n{ORIGINAL}"})
    write_tree(tmp_path / "de", {"guide": TRANSLATION})
    assert run(tmp_path / "de", "stamp", "--from", "../en/docs", "--write").code == 0
    assert (tmp_path / "de/docs/guide.md").read_text() == STAMPED


def test_a_page_without_original(tmp_path: Path) -> None:
    write_tree(tmp_path / "en", {"index": "# Home\n"})
    write_tree(tmp_path / "de", {"index": "# Start\n", "guide": TRANSLATION})
    written = run(tmp_path / "de", "stamp", "--from", "../en/docs", "--write")
    assert written.code == 1
    assert left_alone(written.out) == [
        f"docs/guide.md:{line} the page has no original" for line in (3, 7, 11)
    ]
    assert (tmp_path / "de/docs/guide.md").read_text() == TRANSLATION


def test_a_file_is_the_original_of_one_page(tmp_path: Path) -> None:
    pages = {
        "en": {"index": ORIGINAL, "b": ORIGINAL},
        "de": {"index": TRANSLATION, "b": TRANSLATION},
    }
    write_site(tmp_path, translated(pages, "suffix"))
    for paths in ([], ["docs"], ["docs/index.de.md", "docs/b.de.md"]):
        refused = run(tmp_path, "stamp", *paths, "--from", "docs/index.md", "--write")
        assert refused.code == 2
        assert refused.err == (
            "mkdocs-markstay: docs/index.md is the original of one page."
            " Name that page, too: PATH\n"
        )
    assert (tmp_path / "docs" / "b.de.md").read_text() == TRANSLATION


@pytest.mark.parametrize(
    ("original", "problem"),
    [("docs/style.css", "docs/style.css is no page"), ("empty", "empty has no pages")],
)
def test_an_original_that_is_no_page(tmp_path: Path, original: str, problem: str) -> None:
    pages = {"en": {"index": ORIGINAL}, "de": {"index": TRANSLATION}}
    write_site(tmp_path, translated(pages, "suffix"))
    (tmp_path / "docs" / "style.css").touch()
    (tmp_path / "empty").mkdir()
    refused = run(tmp_path, "stamp", "docs/index.de.md", "--from", original)
    assert (refused.code, refused.err) == (2, f"mkdocs-markstay: {problem}\n")


def test_new_ids_are_not_those_of_an_original(tmp_path: Path) -> None:
    write_tree(tmp_path, {"index": TRANSLATION})
    refused = run(tmp_path, "stamp", "--fresh", "--from", "docs")
    assert (refused.code, refused.err) == (
        2,
        "mkdocs-markstay: --fresh and --from cannot be used together\n",
    )


# -- what is written


def test_ids_of_the_translation_stay(tmp_path: Path) -> None:
    own = TRANSLATION.replace("Einrichten", "Einrichten <#einrichten>")
    assert stamp_page(tmp_path, ORIGINAL, own) == (
        STAMPED.replace("<#install>", "<#einrichten>"),
        [],
    )


def test_the_spelling_of_the_site_and_other_attributes(tmp_path: Path) -> None:
    braces = TRANSLATION.replace("Einrichten", "Einrichten {.wide}").replace(
        "## Benutzen", "## Benutzen {#use}"
    )
    text, left = stamp_page(tmp_path, ORIGINAL.replace("<#", "{#").replace(">", "}"), braces)
    assert left == []
    assert text == STAMPED.replace("<#install>", "{#install .wide}").replace("<#", "{#").replace(
        ">", "}"
    )


def test_outlines_that_do_not_match(tmp_path: Path) -> None:
    """A section was added, another one taken away: what is certain is written, no more."""
    linux = "### Unter Linux\n\nNehmen Sie `apt`.\n"
    others = "### Unter Windows\n\nNehmen Sie `winget`.\n\n### Und dann\n\nWeiter.\n"
    text, left = stamp_page(tmp_path, ORIGINAL, TRANSLATION.replace(linux, others))
    assert text == re.sub(" <#(install|linux)>", "", STAMPED).replace(linux, others)
    reason = (
        "the headings here are not those of the original's 'Install' (docs/index.md:3);"
        " if they are the same, write <#install>"
    )
    assert left == [f"docs/index.de.md:{line} {reason}" for line in (3, 7, 11)]


def test_sections_that_changed_places(tmp_path: Path) -> None:
    start, install, linux, use = re.split("(?=^##)", TRANSLATION, flags=re.MULTILINE)
    moved = f"{start}{use}\n{install}{linux}"
    text, left = stamp_page(tmp_path, ORIGINAL, moved)
    assert text == moved.replace("Anleitung", "Anleitung <#guide>")
    assert [place.partition(" ")[0] for place in left] == [
        f"docs/index.de.md:{line}" for line in (3, 7, 11)
    ]


def test_an_id_that_was_made_by_counting_is_the_one_of_the_original(tmp_path: Path) -> None:
    """Nothing of it is to be chosen here."""
    text, left = stamp_page(tmp_path, ORIGINAL.replace("<#use>", "<#use_1>"), TRANSLATION)
    assert (text, left) == (STAMPED.replace("<#use>", "<#use_1>"), [])


def test_an_original_without_an_id(tmp_path: Path) -> None:
    text, left = stamp_page(tmp_path, ORIGINAL.replace(" <#linux>", ""), TRANSLATION)
    assert text == STAMPED.replace(" <#linux>", "")
    (reason,) = left
    assert reason == (
        "docs/index.de.md:7 its original 'On Linux' (docs/index.md:7) has no id; give it one there"
        " first"
    )


def test_a_link_to_the_anchor_of_today_is_not_broken(tmp_path: Path) -> None:
    linked = TRANSLATION.replace("main_loop` auf.", "main_loop` auf, wie [oben](#einrichten).")
    text, left = stamp_page(tmp_path, ORIGINAL, linked)
    assert text == STAMPED.replace(
        "main_loop` auf.", "main_loop` auf, wie [oben](#einrichten)."
    ).replace(" <#install>", "")
    (reason,) = left
    assert reason.startswith("docs/index.de.md:3 with the id, ")
    assert "would be rendered differently in more than the id" in reason


def test_only_pages_that_are_in_doubt_are_rendered_again_and_again(tmp_path: Path) -> None:
    """A heading that keeps no id gets another anchor when those before it get theirs."""
    counted = "## 一 <#one>\n\nText.\n\n## 二 <#two>\n\nText.\n\n## 三 <#three>\n\nText.\n"
    write_tree(tmp_path / "en", {"index": ORIGINAL, "b": counted.replace(" <#three>", "")})
    bare = re.sub(" <#.*>", "", counted)
    config = write_tree(tmp_path / "ja", {"index": TRANSLATION, "b": bare})
    rendered: list[int] = []

    def inspect(config_file: str, run: Inspection, **options: Any) -> None:
        inspect_site(config_file, run, **options)
        rendered.append(len(run.rendered))

    originals = Originals(
        tmp_path / "en" / "docs", lambda docs, run: inspect(str(config), run, docs_dir=str(docs))
    )
    stamps = stamp_site(config, StampOptions((), "auto", originals.choose), inspect)
    assert [Path(file.path).name for file in stamps.files] == ["index.md"]
    assert [each.line for each in stamps.findings] == [1, 5, 9]
    # Both trees, the first proof and the last one; between them the page that is searched.
    assert rendered.count(2) <= 4
    assert set(rendered) == {1, 2}


def test_an_included_file(tmp_path: Path) -> None:
    linux = re.compile("### .*\n\n.*`apt`.*\n")
    includes = {
        "en": linux.sub('--8<-- "docs/part.en.inc"\n', ORIGINAL),
        "de": linux.sub('--8<-- "docs/part.de.inc"\n', TRANSLATION),
    }
    pages = {language: {"index": text, "b": text} for language, text in includes.items()}
    site = translated(pages, "folder")
    (original,), (part,) = linux.findall(ORIGINAL), linux.findall(TRANSLATION)
    files = {**site.files, "docs/part.en.inc": original, "docs/part.de.inc": part}
    write_site(tmp_path, Site(files, site.extensions, config=site.config))
    file = tmp_path / "docs" / "part.de.inc"
    # It is not among the files that are to be stamped.
    written = run(tmp_path, "stamp", "docs/de", "--from", "docs/en", "--write")
    assert (written.code, written.err) == (0, "6 ids in 2 files written\n")
    assert file.read_text() == part
    written = run(tmp_path, "stamp", "docs/part.de.inc", "--from", "docs/en", "--write")
    assert (written.code, written.err) == (0, "1 id in 1 file written\n")
    assert file.read_text() == part.replace("Linux", "Linux <#linux>")
    assert run(tmp_path, "parity").code == 0
