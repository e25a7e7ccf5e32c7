"""Who imports whom: the core knows no generator, and data flows one way."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import mkdocs_markstay

PACKAGE = Path(mkdocs_markstay.__file__).parent
MODULES = sorted(path.stem for path in PACKAGE.glob("*.py"))

OWNERS = {
    "mkdocs": {"plugin"},
    "properdocs": {"properdocs_site"},
    "zensical": {"zensical_site"},
    "markdown": {"extension"},
    "apsw": {"target_sqlite_vec"},
    "bs4": {"extract_soup", "unmarked_soup"},
    "chromadb": {"target_chroma"},
    "click": {
        "cli",
        "cli_diff",
        "cli_export",
        "cli_register",
        "cli_stats",
        "cli_sync",
        "cli_tools",
    },
    "haystack": {"haystack"},
    "lancedb": {"target_lancedb"},
    "langchain_classic": {"langchain"},
    "langchain_core": {"langchain"},
    "llama_index": {"llamaindex"},
    "pathspec": {"rule_options"},
    "markstay": {"stay_changes", "stay_stamping", "stays"},
    "psycopg": {"target_pgvector"},
    "pyarrow": {"manifest_parquet", "target_lancedb"},
    "qdrant_client": {"llamaindex", "target_qdrant"},
    "sqlalchemy": {"database", "receipts", "vectors"},
    "sqlite_vec": {"target_sqlite_vec"},
    "yaml": {"site_kind", "site_options", "sources", "zensical_site"},
}
"""Third-party packages, and the modules that may import them."""

ADAPTERS = {
    "haystack",
    "langchain",
    "llamaindex",
    "target_chroma",
    "target_lancedb",
    "target_pgvector",
    "target_qdrant",
    "target_sqlite_vec",
}
"""Modules for what is not installed everywhere."""


def imports(module: str) -> set[str]:
    """Name everything that a module imports, for typing and inside functions, too."""
    tree = ast.parse((PACKAGE / f"{module}.py").read_text(encoding="utf-8"))
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
    return names


def own_imports(module: str) -> set[str]:
    prefix = "mkdocs_markstay."
    return {name.removeprefix(prefix) for name in imports(module) if name.startswith(prefix)}


@pytest.mark.parametrize("module", MODULES)
def test_third_parties_have_an_owner(module: str) -> None:
    roots = {name.split(".")[0] for name in imports(module)}
    for package, owners in OWNERS.items():
        assert package not in roots or module in owners


def test_there_is_no_cycle() -> None:
    above: dict[str, set[str]] = {module: own_imports(module) for module in MODULES}
    while above:
        free = {module for module, names in above.items() if not names & set(above)}
        assert free, f"a cycle among {sorted(above)}"
        above = {module: names for module, names in above.items() if module not in free}


def test_only_shells_import_shells() -> None:
    sites = {"plugin", "properdocs_site", "zensical_site"}
    known = {"cli_tools": sites, "properdocs_site": {"plugin"}, "__main__": {"cli"}}
    for module in MODULES:
        assert own_imports(module) & {*sites, "cli"} <= known.get(module, set())


def test_the_extractors_share_only_data() -> None:
    shared = own_imports("extract_lexbor") & own_imports("extract_soup")
    assert shared == {"furniture", "sections"}


def test_the_readers_of_pages_without_marks_share_only_data() -> None:
    shared = own_imports("html_page") & own_imports("unmarked_soup")
    assert shared == {"unmarked", "sections"}


def run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True
    )
    return done.stdout + done.stderr


def test_importing_prints_nothing_and_loads_no_generator() -> None:
    shells = ("__main__", "plugin", "extension", "properdocs_site", "zensical_site")
    modules = [name for name in MODULES if name not in (*shells, *ADAPTERS)]
    code = (
        "import importlib, sys\n"
        f"for name in {modules!r}: importlib.import_module('mkdocs_markstay.' + name)\n"
        "print(*sorted({'mkdocs', 'markdown', 'properdocs', 'zensical'} & set(sys.modules)), end='')"
    )
    assert run(code) == ""


def test_the_package_itself_loads_almost_nothing() -> None:
    code = (
        "import sys, mkdocs_markstay\n"
        "print(*sorted(m for m in sys.modules if m.startswith(('mkdocs_markstay.', 'bs4', 'click'))), end='')"
    )
    assert run(code) == ""
