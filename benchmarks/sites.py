"""Temporary sites to build: the documentation of others, with a configuration of ours."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

from build import environment
from measure import MARKSTAY

HERE = Path(__file__).resolve().parent


def copy_docs(docs: Path, folder: Path) -> None:
    """Copy the Markdown files (and the rest) of a site to ``folder/docs``, writable."""
    shutil.copytree(docs, folder / "docs", copy_function=shutil.copyfile)
    for path in (folder / "docs", *(folder / "docs").rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)


def find_config(docs: Path) -> Path:
    """Find our configuration for a corpus by the names of the folders around it."""
    names = [part for part in docs.resolve().parts if (HERE / f"{part}.yml").is_file()]
    return HERE / f"{names[-1] if names else 'generated'}.yml"


def write_config(
    folder: Path,
    base: Path,
    plugins: list[Any],
    *,
    theme: str = "",
    name: str = "mkdocs.yml",
    **more: Any,
) -> Path:
    """Write a configuration that inherits ``base``; its plugins are those given here."""
    values: dict[str, Any] = {
        "INHERIT": str(base.resolve()),
        "docs_dir": "docs",
        "site_dir": f"site-{name.removesuffix('.yml')}",
        "plugins": plugins,
        **more,
    }
    if theme:
        values["theme"] = {"name": theme}
    path = folder / name
    path.write_text(json.dumps(values), encoding="utf-8")  # JSON is YAML
    return path


def stamp(config: Path) -> None:
    """Write the ids into a copied site. What cannot be stamped is left as it is."""
    command = [MARKSTAY, "stamp", "--write", "--config-file", config.name]
    _run(command, config.parent)


def find(config: Path) -> Counter[str]:
    """Count what is wrong with a site, by code of the findings that are errors."""
    command = [MARKSTAY, "check", "--no-cache", "--format", "json", "--config-file", config.name]
    findings = json.loads(_run(command, config.parent))["findings"]
    return Counter(found["code"] for found in findings if found["level"] == "error")


def _run(command: list[str], folder: Path) -> str:
    done = subprocess.run(
        command, cwd=folder, env=environment(), check=False, capture_output=True, encoding="utf-8"
    )
    if done.returncode > 1:  # 1: there are findings
        raise SystemExit(done.stderr)
    return done.stdout
