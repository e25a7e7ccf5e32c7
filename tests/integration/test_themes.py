"""The example site in twelve themes: whatever surrounds the prose, the manifest is the same."""

from __future__ import annotations

import os
import re
import shutil
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from site_builder import run_markstay, run_mkdocs

EXAMPLE = Path(__file__).parents[2] / "example_site"
THEMES = (
    "mkdocs",
    "readthedocs",
    "material",
    "alabaster",
    "cerulean",
    "cinder",
    "dracula",
    "gitbook",
    "ivory",
    "shadcn",
    "terminal",
    "windmill",
)
# It cannot do without its options for formulas where a site has some.
_OPTIONS = {"shadcn": "{name: shadcn, katex_options: {delimiters: []}}"}
_THEME = re.compile(r"^theme:\n(?: .*\n)+", re.MULTILINE)


def require(theme: str) -> None:
    """Skip a test whose theme is not there, or fail where all must be."""
    if theme in {found.name for found in entry_points(group="mkdocs.themes")}:
        return
    if os.environ.get("MARKSTAY_ALL_NEIGHBOURS"):
        pytest.fail(f"theme not installed: {theme}")
    pytest.skip(f"theme not installed: {theme}")


def build(folder: Path, theme: str) -> bytes:
    """Build the example site in a theme, verify it and return its manifest."""
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("site", ".cache"))
    config = folder / "mkdocs.yml"
    text, found = _THEME.subn(
        f"theme: {_OPTIONS.get(theme, theme)}\n", config.read_text(encoding="utf-8")
    )
    assert found == 1
    config.write_text(text, encoding="utf-8")
    built = run_mkdocs(folder)
    assert built.passed, "\n".join(built.log)
    verified = run_markstay(folder, "verify", "site")
    assert verified.code == 0, verified.err
    assert built.manifest_bytes is not None
    return built.manifest_bytes


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The manifest of the site in a theme that MkDocs brings along."""
    return build(tmp_path_factory.mktemp("plain") / "site", "mkdocs")


@pytest.mark.parametrize("theme", THEMES[1:])
def test_theme_changes_nothing_in_the_manifest(theme: str, plain: bytes, tmp_path: Path) -> None:
    require(theme)
    assert build(tmp_path / "site", theme) == plain
