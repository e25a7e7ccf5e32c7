"""Which generator builds a site, as its configuration says."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import yaml

from mkdocs_markstay.inspection import InspectionError

_PLUGIN = "markstay"
_EXTENSION = "mkdocs_markstay"
_PROPERDOCS_CONFIGS = ("properdocs.yml", "properdocs.yaml")


def is_zensical(config_file: str) -> bool:
    """Whether Zensical builds the site, not MkDocs or ProperDocs.

    Zensical reads `mkdocs.yml` as well. Where both generators are installed, a site in which
    the extension is listed and the plugin is not is Zensical's. Raises InspectionError.
    """
    path = Path(config_file)
    if path.suffix == ".toml":
        if not _is_installed("zensical"):
            raise InspectionError(f"Zensical, which {path.name} is for, is not installed")
        return True
    if not _is_installed("zensical") or _is_for_properdocs(path):
        return False
    if not _is_installed("mkdocs") and not _is_installed("properdocs"):
        return True
    plugins, extensions = _find_names(path)
    return _PLUGIN not in plugins and any(map(is_extension, extensions))


def is_properdocs(config_file: str) -> bool:
    """Whether ProperDocs builds the site, not MkDocs, where Zensical does not.

    ProperDocs reads `mkdocs.yml` as well. Where both generators are installed, the name of
    the file decides. Raises InspectionError if there is neither.
    """
    path = Path(config_file)
    if _is_for_properdocs(path):
        return True
    if _is_installed("mkdocs"):
        return False
    if not _is_installed("properdocs"):
        raise InspectionError(f"MkDocs, which {path.name} is for, is not installed")
    return True


def is_extension(name: object) -> bool:
    """Whether a Markdown extension, as a configuration names it, is this package's."""
    return isinstance(name, str) and name.split(":")[0] in (_EXTENSION, f"{_EXTENSION}.extension")


def _is_for_properdocs(path: Path) -> bool:
    return path.name in _PROPERDOCS_CONFIGS and _is_installed("properdocs")


def _is_installed(package: str) -> bool:
    return find_spec(package) is not None


def _find_names(config_file: Path) -> tuple[set[object], set[object]]:
    """Find the plugins and the Markdown extensions that an `mkdocs.yml` lists."""
    found: dict[str, set[object]] = {}
    path: Path | None = config_file
    seen: set[Path] = set()
    while path is not None and path not in seen:
        seen.add(path)
        values = _read(path)
        for setting in ("plugins", "markdown_extensions"):
            # A list replaces that of the configuration that is inherited.
            if setting in values and setting not in found:
                found[setting] = _names(values[setting])
        parent = values.get("INHERIT")
        path = path.parent / parent if isinstance(parent, str) else None
    return found.get("plugins", set()), found.get("markdown_extensions", set())


def _names(entries: Any) -> set[object]:
    """Name the entries of a list, or the keys of a mapping: each may have options."""
    if isinstance(entries, dict):
        return set(entries)
    if not isinstance(entries, list):
        return set()
    return {
        name
        for entry in entries
        for name in (entry if isinstance(entry, dict) else [entry])
        if isinstance(name, str)
    }


def _read(path: Path) -> dict[str, Any]:
    """Read a configuration as far as it can be; what is wrong in it is for the generator to say."""
    try:
        values = yaml.load(path.read_bytes(), _Loader)  # noqa: S506 (it makes no objects)
    except (OSError, ValueError, yaml.YAMLError):
        return {}
    return values if isinstance(values, dict) else {}


class _Loader(yaml.SafeLoader):
    """Makes nothing of values that have a tag, such as `!ENV`."""


_Loader.add_constructor(None, lambda _loader, _node: None)
