"""Which generator a site is for, and which configuration a command takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from site_builder import run_markstay, working_in

from mkdocs_markstay import site_kind
from mkdocs_markstay.findings import name_command
from mkdocs_markstay.site_kind import is_extension, is_properdocs, is_zensical

if TYPE_CHECKING:
    from pathlib import Path

PLUGIN = "plugins: [search, markstay]\n"
PLUGIN_WITH_OPTIONS = "plugins:\n  - markstay:\n      verify: !ENV [VERIFY, true]\n"
PLUGINS_BY_NAME = "plugins:\n  markstay: {}\n"
EXTENSION = "markdown_extensions: [toc, mkdocs_markstay]\n"
EXTENSION_WITH_OPTIONS = "markdown_extensions:\n  - mkdocs_markstay:\n      levels: [2]\n"
EXTENSIONS_BY_NAME = "markdown_extensions:\n  mkdocs_markstay.extension: {}\n"
TAGGED = "x: !!python/name:a.b\ny: !relative $config_dir\n"


def install(monkeypatch: pytest.MonkeyPatch, *packages: str) -> None:
    found = {package: object() for package in packages}
    monkeypatch.setattr(site_kind, "find_spec", found.get)


@pytest.mark.parametrize(
    ("config", "zensical"),
    [
        ("", False),
        (PLUGIN, False),
        (EXTENSION, True),
        (TAGGED + EXTENSION_WITH_OPTIONS, True),
        (EXTENSIONS_BY_NAME, True),
        (PLUGIN + EXTENSION, False),
        (TAGGED + PLUGIN_WITH_OPTIONS + EXTENSION, False),
        (PLUGINS_BY_NAME + EXTENSION, False),
        ("plugins: [search]\n" + EXTENSION, True),
        ("plugins: 1\nmarkdown_extensions: toc\n", False),
        ("- a list\n", False),
        ("a: [\n" + EXTENSION, False),
        ("INHERIT: base.yml\n" + EXTENSION, False),
        ("INHERIT: base.yml\nplugins: []\n" + EXTENSION, True),
        ("INHERIT: mkdocs.yml\n" + EXTENSION, True),
        ("INHERIT: no.yml\n" + EXTENSION, True),
        ("INHERIT: !ENV BASE\n" + EXTENSION, True),
    ],
)
def test_with_both_installed_the_configuration_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, config: str, zensical: bool
) -> None:
    path = tmp_path / "mkdocs.yml"
    path.write_text(f"site_name: Test\n{config}" if config[:1].islower() else config)
    (tmp_path / "base.yml").write_text(PLUGIN)
    install(monkeypatch, "mkdocs", "zensical")
    assert is_zensical(str(path)) is zensical
    # One that is not there builds nothing.
    install(monkeypatch, "mkdocs")
    assert not is_zensical(str(path))
    install(monkeypatch, "properdocs", "zensical")
    assert is_zensical(str(path)) is zensical
    install(monkeypatch, "zensical")
    assert is_zensical(str(path))


@pytest.mark.parametrize(
    ("name", "installed", "properdocs"),
    [
        ("mkdocs.yml", ("mkdocs",), False),
        ("mkdocs.yml", ("mkdocs", "properdocs"), False),
        ("mkdocs.yml", ("properdocs",), True),
        ("properdocs.yml", ("mkdocs",), False),
        ("properdocs.yml", ("mkdocs", "properdocs"), True),
        ("properdocs.yaml", ("mkdocs", "properdocs"), True),
        ("other.yml", ("mkdocs", "properdocs"), False),
        ("other.yml", ("properdocs",), True),
    ],
)
def test_the_name_of_the_file_decides_where_there_are_mkdocs_and_properdocs(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    installed: tuple[str, ...],
    properdocs: bool,
) -> None:
    path = tmp_path / "folder" / name
    path.parent.mkdir()
    path.write_text(f"site_name: Test\n{EXTENSION}")
    install(monkeypatch, *installed)
    assert is_properdocs(str(path)) is properdocs
    assert not is_zensical(str(path))
    # Zensical does not look for a file of that name.
    install(monkeypatch, *installed, "zensical")
    assert is_zensical(str(path)) is not (properdocs and name.startswith("properdocs"))


def test_without_any_generator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mkdocs.yml").write_text("site_name: Test\n")
    install(monkeypatch)
    ran = run_markstay(tmp_path, "check")
    message = "mkdocs-markstay: MkDocs, which mkdocs.yml is for, is not installed\n"
    assert (ran.code, ran.out, ran.err) == (2, "", message)


def test_a_site_of_zensical_needs_zensical(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "zensical.toml").write_text('[project]\nsite_name = "Test"\n')
    install(monkeypatch, "mkdocs")
    for arguments in ((), ("-f", "zensical.toml")):
        ran = run_markstay(tmp_path, "check", *arguments)
        message = "mkdocs-markstay: Zensical, which zensical.toml is for, is not installed\n"
        assert (ran.code, ran.out, ran.err) == (2, "", message)


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("mkdocs_markstay", True),
        ("mkdocs_markstay.extension", True),
        ("mkdocs_markstay.extension:MarkstayExtension", True),
        ("mkdocs_markstay_more", False),
        ("toc", False),
        (None, False),
    ],
)
def test_names_of_the_extension(name: object, ours: bool) -> None:
    assert is_extension(name) is ours


def test_a_command_names_the_configuration_unless_it_would_be_found(tmp_path: Path) -> None:
    with working_in(tmp_path):
        assert name_command("check", "zensical.toml") == "mkdocs-markstay check -f zensical.toml"
        (tmp_path / "zensical.toml").touch()
        assert name_command("check", "zensical.toml") == "mkdocs-markstay check"
        (tmp_path / "mkdocs.yaml").touch()
        assert name_command("check", "zensical.toml") == "mkdocs-markstay check -f zensical.toml"
        assert name_command("check", "mkdocs.yaml") == "mkdocs-markstay check"
        (tmp_path / "mkdocs.yml").touch()
        assert name_command("check", "mkdocs.yaml") == "mkdocs-markstay check -f mkdocs.yaml"
        assert name_command("check", str(tmp_path / "mkdocs.yml")) == "mkdocs-markstay check"
        (tmp_path / "properdocs.yml").touch()
        assert name_command("check", "mkdocs.yml") == "mkdocs-markstay check -f mkdocs.yml"
        assert name_command("check", "properdocs.yml") == "mkdocs-markstay check"
