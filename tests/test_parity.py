"""Translated pages against their originals, in sites: builds, `check`, `parity`, and repairs."""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING, Any

import pytest
from site_builder import Site, build_site, write_site
from translated_site import STRUCTURES, page_path, run, translated, write_tree

if TYPE_CHECKING:
    from pathlib import Path

ORIGINAL = """\
# Guide

## Install <#install>

Run `setup.py`.

## Use <#use>

Call `main_loop`.

## Options <#options>

Set `log_level`.

## Errors <#errors>

Read `errors.log`.
"""
SAME = """\
# Anleitung

## Einrichten <#install>

Starten Sie `setup.py`.

## Benutzen <#use>

Rufen Sie `main_loop` auf.

## Optionen <#options>

Setzen Sie `log_level`.

## Fehler <#errors>

Lesen Sie `errors.log`.
"""
INSTALL, USE, OPTIONS, ERRORS = re.findall(r"## [^#]*<#\w+>\n\n.*\n", SAME)
PAGES = {
    "index": SAME,
    "extra": SAME.replace("## Fehler", "### Neu <#new>\n\n## Fehler"),
    "missing": SAME.replace(OPTIONS + "\n", ""),
    "moved": f"# Anleitung\n\n{ERRORS}\n{INSTALL}\n{USE}\n{OPTIONS}",
    "renamed": SAME.replace("<#use>", "<#benutzen>"),
    "unnamed": SAME.replace(" <#use>", ""),
}
FOUND = [
    ("extra", 15, "warning", "parity-extra", "Remove the heading, or add it to the original"),
    ("missing", 7, "warning", "parity-missing", "is missing after 'Benutzen'"),
    ("moved", 3, "warning", "parity-order", "Move it after 'options'"),
    ("renamed", 7, "warning", "parity-extra", "Write: ## Benutzen <#use>"),
    ("unnamed", 7, "error", "missing-id", "Write: ## Benutzen <#use>"),
]
DIFFERENT = {
    "en": {**dict.fromkeys(PAGES, ORIGINAL), "fallback": ORIGINAL},
    "de": PAGES,
}
ONE = {"en": {"index": ORIGINAL}, "de": {"index": PAGES["unnamed"]}}


def lines_of(text: str) -> list[str]:
    return [line for line in text.split("\n") if re.match(r"\S+:\d+: \w+\[", line)]


@pytest.mark.parametrize("structure", STRUCTURES)
def test_a_build_and_a_check_say_the_same(tmp_path: Path, structure: str) -> None:
    built = build_site(tmp_path, translated(DIFFERENT, structure))
    for found, (name, line, level, code, part) in zip(built.findings, FOUND, strict=True):
        assert found.path == page_path(name, "de", structure)
        assert (found.line, found.level, found.code) == (line, level, code)
        assert part in found.message
    assert not built.passed
    checked = run(tmp_path, "check")
    assert lines_of(checked.out) == [line for line in built.log if lines_of(line)]
    assert checked.code == 1
    # Untranslated pages are shown in the other language, too, and are no finding.
    assert "(14 pages, 14 rendered now)" in checked.err


@pytest.mark.parametrize("structure", STRUCTURES)
def test_pages_that_agree(tmp_path: Path, structure: str) -> None:
    pages = {"en": {"index": ORIGINAL, "only": ORIGINAL}, "de": {"index": SAME}}
    built = build_site(tmp_path, translated(pages, structure))
    assert built.findings == []
    assert built.passed, built.log
    compared = run(tmp_path, "parity")
    assert (compared.code, compared.out) == (0, "")
    assert compared.err == "no findings (1 translated page)\n"


# -- levels


def found_in(folder: Path, site: Site) -> list[str]:
    return [f"{found.level}[{found.code}]" for found in build_site(folder, site).findings]


def test_a_heading_without_id_is_one_finding_with_the_id_of_the_original(tmp_path: Path) -> None:
    (found,) = build_site(tmp_path, translated(ONE, "suffix")).findings
    assert found.place == "docs/index.de.md:7 missing-id"
    assert found.message == (
        "heading 'Benutzen' has no section id; in the original 'Use' (docs/index.md:7) stands"
        " there, with the id 'use'. If it is its translation: Write: ## Benutzen <#use>, or run:"
        " mkdocs-markstay stamp docs/index.de.md --from docs/index.md --write"
    )


@pytest.mark.parametrize(
    ("plugin", "level"),
    [
        ({"parity": "error", "findings": {"missing-id": "warning"}}, ["warning[missing-id]"]),
        ({"findings": {"parity-missing": "ignore"}}, ["error[missing-id]"]),
        ({"levels": [3]}, ["warning[parity-missing]"]),
        ({"levels": [3], "parity": "error"}, ["error[parity-missing]"]),
        ({"levels": [3], "findings": {"parity-missing": "info"}}, ["info[parity-missing]"]),
        ({"levels": [3], "findings": {"parity-missing": "ignore"}}, []),
        ({"levels": [3], "parity": "off"}, []),
    ],
)
def test_the_level_of_a_heading_without_id(
    tmp_path: Path, plugin: dict[str, Any], level: list[str]
) -> None:
    assert found_in(tmp_path, translated(ONE, "suffix", **plugin)) == level


def test_without_comparison_the_anchor_of_today_is_proposed(tmp_path: Path) -> None:
    (found,) = build_site(tmp_path, translated(ONE, "suffix", parity="off")).findings
    assert "Write: ## Benutzen <#benutzen>" in found.message


def test_each_code_has_its_level(tmp_path: Path) -> None:
    levels = {"parity-extra": "info", "parity-missing": "warning", "missing-id": "ignore"}
    site = translated(DIFFERENT, "suffix", parity="error", findings=levels)
    assert found_in(tmp_path, site) == [
        "info[parity-extra]",
        "warning[parity-missing]",
        "error[parity-order]",
        "info[parity-extra]",
    ]


# -- check


def test_check_tells_the_findings_in_a_file(tmp_path: Path) -> None:
    write_site(tmp_path, translated(DIFFERENT, "suffix"))
    only = run(tmp_path, "check", "docs/moved.de.md")
    assert [line.partition(": ")[0] for line in lines_of(only.out)] == ["docs/moved.de.md:3"]
    assert only.code == 0
    assert run(tmp_path, "check", "--strict", "docs/moved.de.md").code == 1


def test_check_compares_pages_that_it_does_not_render_again(tmp_path: Path) -> None:
    write_site(tmp_path, translated(DIFFERENT, "suffix"))
    first = run(tmp_path, "check")
    assert run(tmp_path, "check").out == first.out
    # Another original: the translation is compared with it, as it was rendered before.
    (tmp_path / "docs" / "index.md").write_text(ORIGINAL.replace("<#use>", "<#usage>"))
    changed = run(tmp_path, "check")
    assert "docs/index.de.md:7: warning[parity-extra]" in changed.out
    assert "(14 pages, 1 rendered now)" in changed.err
    # The texts of pages are read for the comparison. No report of another page rests on them.
    (tmp_path / "docs" / "unnamed.de.md").write_text(SAME)
    repaired = run(tmp_path, "check")
    assert "unnamed.de.md" not in repaired.out
    assert "(14 pages, 1 rendered now)" in repaired.err


# -- the command `parity`


@pytest.mark.parametrize("structure", STRUCTURES)
def test_parity_compares_the_languages_of_a_site(tmp_path: Path, structure: str) -> None:
    write_site(tmp_path, translated(DIFFERENT, structure))
    compared = run(tmp_path, "parity")
    lines = lines_of(compared.out)
    for line, (name, number, _, code, part) in zip(lines, FOUND, strict=True):
        path = page_path(name, "de", structure)
        told = code.replace("missing-id", "parity-missing")
        assert line.startswith(f"{path}:{number}: warning[{told}] ")
        assert part in line
    assert compared.code == 1
    assert compared.err == (
        "5 warnings (parity-extra 2, parity-missing 2, parity-order 1) in 5 files"
        " (6 translated pages)\n"
    )


def test_parity_has_the_levels_of_the_site(tmp_path: Path) -> None:
    levels = {"parity-extra": "ignore", "parity-order": "info"}
    write_site(tmp_path, translated(DIFFERENT, "suffix", parity="error", findings=levels))
    compared = run(tmp_path, "parity")
    assert compared.err.startswith("2 errors (parity-missing 2); 1 info (parity-order 1) in 3 ")
    # `off` is for builds. Who asks is told.
    write_site(tmp_path, translated(DIFFERENT, "suffix", parity="off", findings=levels))
    compared = run(tmp_path, "parity")
    assert compared.err.startswith("2 warnings (parity-missing 2); 1 info (parity-order 1) in 3 ")


@pytest.mark.parametrize("where", [".", ".."])
def test_parity_compares_two_docs_folders(tmp_path: Path, where: str) -> None:
    """The paths in the findings can be opened where the command runs."""
    here = tmp_path / "sites"
    write_tree(here / "en", {"index": ORIGINAL, "guide/a": ORIGINAL, "more": ORIGINAL})
    pages = {"index": SAME, "guide/a": PAGES["renamed"], "other": SAME}
    write_tree(here / "de", pages, theme={"name": "mkdocs", "locale": "de"})
    prefix = "" if where == "." else "sites/"
    config, original = f"{prefix}de/mkdocs.yml", f"{prefix}en/docs"
    compared = run(here / where, "parity", "-f", config, "--original", original)
    (line,) = lines_of(compared.out)
    assert line.startswith(f"{prefix}de/docs/guide/a.md:7: warning[parity-extra] ")
    assert f"'Use' ({prefix}en/docs/guide/a.md:7) stands there" in line
    assert compared.code == 1
    # Pages without a counterpart are not compared.
    assert compared.err.endswith("in 1 file (2 translated pages)\n")
    # Both folders by option: the configuration is that of the originals.
    config = f"{prefix}en/mkdocs.yml"
    translation = f"{prefix}de/docs"
    both = ("--original", original, "--translation", translation)
    assert run(here / where, "parity", "-f", config, *both).out == compared.out


def test_parity_heeds_the_language_options_of_a_translation(tmp_path: Path) -> None:
    write_tree(tmp_path / "en", {"index": ORIGINAL})
    plugins = [{"markstay": {"language": "de", "default_language": "en"}}]
    write_tree(tmp_path / "de", {"index": SAME}, plugins=plugins)
    assert run(tmp_path / "de", "parity", "--original", "../en/docs").code == 0


def test_parity_of_a_site_that_has_no_plugin_yet(tmp_path: Path) -> None:
    write_tree(tmp_path / "en", {"index": ORIGINAL})
    write_tree(tmp_path / "de", {"index": SAME}, plugins=[])
    compared = run(tmp_path / "de", "parity", "--original", "../en/docs")
    assert (compared.code, compared.out) == (0, "")
    assert compared.err == (
        "no findings (1 translated page)\nthe configuration of the site does not name markstay yet\n"
    )


def test_parity_that_has_nothing_to_compare(tmp_path: Path) -> None:
    write_tree(tmp_path / "en", {"index": ORIGINAL})
    write_tree(tmp_path / "de", {"other": SAME})
    alone = run(tmp_path / "en", "parity")
    assert (alone.code, alone.out) == (2, "")
    assert alone.err == (
        "mkdocs-markstay: no page has a translation."
        " Name the docs folder of the originals: --original\n"
    )
    apart = run(tmp_path / "de", "parity", "--original", "../en/docs")
    assert (apart.code, apart.out) == (2, "")
    assert apart.err == (
        "mkdocs-markstay: no page has an original with the same path in ../en/docs\n"
    )


def test_parity_that_cannot_run(tmp_path: Path) -> None:
    nowhere = run(tmp_path, "parity")
    assert nowhere.code == 2
    assert "there is no mkdocs.yml in this folder" in nowhere.err
    config = write_tree(tmp_path, {"index": SAME})
    assert run(tmp_path, "parity", "--original", "no").code == 2
    config.write_text("site_name: Test\nplugins: [no-such-plugin]\n")
    broken = run(tmp_path, "parity", "--original", "docs")
    assert broken.code == 2
    assert "configuration error" in broken.err


def test_the_formats_of_parity(tmp_path: Path) -> None:
    write_site(tmp_path, translated(DIFFERENT, "suffix"))
    as_json = run(tmp_path, "parity", "--format", "json")
    found = [(f["path"], f["line"], f["code"]) for f in json.loads(as_json.out)["findings"]]
    assert found[0] == ("docs/extra.de.md", 15, "parity-extra")
    assert len(found) == len(FOUND)
    sarif = json.loads(run(tmp_path, "parity", "--format", "sarif").out)
    assert [each["ruleId"] for each in sarif["runs"][0]["results"]] == [code for *_, code in found]
    github = run(tmp_path, "parity", "--format", "github")
    assert github.out.startswith("::warning file=docs/extra.de.md,line=15,")
    assert (as_json.code, github.code) == (1, 1)


# -- the command that repairs


def repairs(output: str) -> list[list[str]]:
    return [shlex.split(text)[1:] for text in re.findall(r", or run: (mkdocs-markstay .*)", output)]


def assert_repaired(folder: Path, file: Path, *command: str) -> None:
    """Run a command that names a repair, and what it names: it repairs all that is told."""
    told = run(folder, *command)
    (repair,) = repairs(told.out)
    assert told.code == 1
    assert run(folder, *repair).code == 0
    assert file.read_text() == SAME
    assert run(folder, *command).code == 0


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("command", ["check", "parity"])
@pytest.mark.parametrize("where", [".", ".."])
def test_the_command_that_is_named_repairs(
    tmp_path: Path, structure: str, command: str, where: str
) -> None:
    folder = tmp_path / "a site"
    name = "with space/a"
    pages = {
        "en": {"index": ORIGINAL, name: ORIGINAL},
        "de": {"index": SAME, name: PAGES["unnamed"]},
    }
    write_site(folder, translated(pages, structure))
    config = () if where == "." else ("-f", "a site/mkdocs.yml")
    file = folder / page_path(name, "de", structure)
    assert_repaired(folder / where, file, command, *config)


@pytest.mark.parametrize("where", [".", "de"])
def test_the_command_that_is_named_repairs_a_tree(tmp_path: Path, where: str) -> None:
    write_tree(tmp_path / "en", {"guide/a": ORIGINAL, "a": ORIGINAL.replace("use", "usage")})
    write_tree(tmp_path / "de", {"guide/a": PAGES["unnamed"]})
    command = ["parity", "-f", "de/mkdocs.yml", "--original", "en/docs"]
    if where == "de":
        command = ["parity", "--original", "../en/docs"]
    assert_repaired(tmp_path / where, tmp_path / "de/docs/guide/a.md", *command)


def test_the_command_writes_an_id_that_need_not_be_there(tmp_path: Path) -> None:
    write_site(tmp_path, translated(ONE, "suffix", levels=[3]))
    assert_repaired(tmp_path, tmp_path / "docs" / "index.de.md", "check", "--strict")


@pytest.mark.parametrize(
    "text",
    [
        PAGES["unnamed"].replace("## Benutzen", "<h2>Benutzen</h2>"),
        # Nothing shows that it is the same section.
        PAGES["unnamed"].replace("Rufen Sie `main_loop` auf.", "Ohne.\n\nGanz.\n\nAnders."),
        PAGES["unnamed"].replace("## Benutzen", '--8<-- "docs/use.inc"'),
    ],
)
def test_no_command_is_named_where_it_writes_nothing(tmp_path: Path, text: str) -> None:
    pages = {"en": {"index": ORIGINAL}, "de": {"index": text}}
    site = translated(pages, "suffix")
    built = build_site(
        tmp_path,
        Site({**site.files, "docs/use.inc": "## Benutzen\n"}, site.extensions, config=site.config),
    )
    (found,) = built.findings
    assert found.code == "missing-id"
    assert "with the id 'use'" in found.message
    assert "run:" not in found.message
    run(tmp_path, "stamp", "docs/index.de.md", "--from", "docs/index.md", "--write")
    assert (tmp_path / "docs" / "index.de.md").read_text() == text


def test_no_command_is_named_for_a_folder_that_is_not_the_docs_folder(tmp_path: Path) -> None:
    write_tree(tmp_path / "en", {"index": ORIGINAL})
    write_tree(tmp_path / "de", {"index": PAGES["unnamed"]})
    compared = run(tmp_path / "en", "parity", "--original", "docs", "--translation", "../de/docs")
    assert compared.out.endswith("Write: ## Benutzen <#use>\n")


def test_what_an_included_file_lacks_is_told_in_it(tmp_path: Path) -> None:
    site = translated(
        {
            "en": {"index": ORIGINAL},
            "de": {"index": SAME.replace("## Benutzen <#use>", '--8<-- "docs/use.inc"')},
        },
        "suffix",
    )
    files = {**site.files, "docs/use.inc": "\n## Benutzen <#benutzen>\n"}
    built = build_site(tmp_path, Site(files, site.extensions, config=site.config))
    (found,) = built.findings
    assert found.place == "docs/use.inc:2 parity-extra"
    assert found.message.endswith("Write: ## Benutzen <#use> (inserted by docs/index.de.md:7)")
    # Who checks the page is told of it, too.
    assert run(tmp_path, "check", "docs/index.de.md").out in [f"{line}\n" for line in built.log]
