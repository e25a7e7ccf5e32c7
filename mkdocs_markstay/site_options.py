"""The options of a site whose manifest is made from its HTML, read without its generator.

They are those of the plugin, in a `mkdocs.yml`. A site that was not made with MkDocs can
have such a file for this purpose alone.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import yaml
from slugify import slugify

from mkdocs_markstay.extract_lexbor import check_selector
from mkdocs_markstay.manifest_shapes import NAMES
from mkdocs_markstay.manifest_writer import check_formats
from mkdocs_markstay.passages import GRANULARITIES, Sizes, check_sizes
from mkdocs_markstay.register import NAME, Register, read_register
from mkdocs_markstay.rule_options import OptionError, read_levels, read_severities

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

_PLUGIN = "markstay"
_SNIPPETS = "pymdownx.snippets"
_MAX_PARENTS = 10


class OptionsError(Exception):
    """Options that cannot be used. The message is for people."""


@dataclass(frozen=True)
class SiteOptions:
    """How the HTML of a site is read, and what its manifest says of it.

    ``publication`` is "" if it was not named, ``language`` if the pages are to tell;
    ``default_language`` if it is the same. ``levels`` are the heading levels at which the
    plugin required ids, ``severities`` the levels of finding codes that are not the default.
    ``exclude`` are patterns as in `.gitignore` for paths of pages and of their sources.
    ``sources`` is the folder of the sources, ``roots`` others with files that they include;
    ``titles`` are the titles in the navigation, by source.
    ``content`` is the CSS selector of the element that holds the prose, "" for the rules.
    ``explicit``: what nothing is known of was written by an author. ``register`` is that of
    the site, beside its configuration.
    """

    publication: str = ""
    site_name: str = ""
    site_url: str | None = None
    version: str | None = None
    language: str = ""
    default_language: str = ""
    furniture: tuple[str, ...] = ()
    sizes: Sizes = Sizes()
    granularity: str = "group"
    formats: tuple[str, ...] = ("json", "jsonl")
    levels: frozenset[int] = frozenset((2, 3, 4, 5, 6))
    severities: Mapping[str, str] = field(default_factory=dict)
    exclude: tuple[str, ...] = ()
    directory_urls: bool = True
    sources: Path | None = None
    roots: tuple[Path, ...] = ()
    titles: Mapping[str, str] = field(default_factory=dict)
    content: str = ""
    explicit: bool = False
    register: Register = field(default_factory=lambda: Register(NAME))


def choose_options(path: Path | None, given: Mapping[str, Any]) -> SiteOptions:
    """Read the options of a `mkdocs.yml`, if there is one, and lay others over them.

    ``given`` has values for fields of `SiteOptions`; those that are empty change nothing, and
    what is to be left out is added. Raises OptionsError if options cannot be used.
    """
    if path is not None and path.suffix == ".toml":
        raise OptionsError(
            f"the command reads no {path.name}. Name what is needed of it: --publication, --sources"
        )
    options = _read_options(path) if path is not None else SiteOptions()
    chosen = {name: value for name, value in given.items() if value}
    chosen["exclude"] = (*options.exclude, *given.get("exclude", ()))
    options = replace(options, **chosen)
    _check(options)
    return options


def find_site_dir(path: Path) -> Path:
    """Name the folder in which the site of a configuration is published. Raises OptionsError."""
    if path.suffix == ".toml":
        return path.parent / "site"  # where Zensical puts it, if it is not told otherwise
    values = _Values(_load(path, ()), path.name)
    return path.parent / str(values.get("site_dir", (str,), "site"))


def _read_options(path: Path) -> SiteOptions:
    values = _Values(_load(path, ()), path.name)
    own = values.find_plugin()
    theme = values.get("theme", (str, dict), {})
    theme = theme if isinstance(theme, dict) else {}
    folder = path.absolute().parent
    docs = folder / values.get("docs_dir", (str,), "docs")
    site_name = values.get("site_name", (str,), "")
    sizes = own.get("passages", (dict,), {})
    numbers = _Values(sizes, f"passages of {own.name}")
    return SiteOptions(
        own.get("publication", (str,), "") or (site_name and (slugify(site_name) or "site")),
        site_name,
        values.get("site_url", (str,), "") or None,
        own.get("version", (str,), "") or os.environ.get("MIKE_DOCS_VERSION") or None,
        own.get("language", (str,), "") or str(theme.get("language") or theme.get("locale") or ""),
        own.get("default_language", (str,), ""),
        tuple(own.get_list("furniture", str)),
        Sizes(
            numbers.get("min_chars", (int,), Sizes.min_chars),
            numbers.get("target_chars", (int,), Sizes.target_chars),
            numbers.get("max_chars", (int,), Sizes.max_chars),
        ),
        own.get("granularity", (str,), "group"),
        tuple(own.get_list("formats", str)) or ("json", "jsonl"),
        frozenset(own.get_list("levels", int) or (2, 3, 4, 5, 6)),
        own.get("findings", (dict,), {}),
        tuple(own.get_list("exclude", str)),
        values.get("use_directory_urls", (bool,), True),
        docs if docs.is_dir() else None,
        (docs, folder, *_find_snippets(values, folder, docs)),
        dict(_find_titles(values.get("nav", (list, dict), []))),
        register=read_register(os.fspath(path)),
    )


def _check(options: SiteOptions) -> None:
    problems = [
        "" if options.publication else _NO_PUBLICATION,
        *map(check_selector, options.furniture),
        check_selector(options.content) if options.content else "",
        check_sizes(options.sizes),
    ]
    if options.granularity not in GRANULARITIES:
        problems.append(f"granularity is one of {', '.join(GRANULARITIES)}")
    if not set(options.formats) <= set(NAMES):
        problems.append(f"formats are {', '.join(NAMES)}")
    problems.append(check_formats(options.formats))
    try:
        read_severities(dict(options.severities))
        read_levels(list(options.levels))
    except OptionError as error:
        problems.append(str(error))
    for name in ("publication", "version", "language", "default_language"):
        value = getattr(options, name)
        if value and (not value.strip() or not value.isprintable()):
            problems.append(f"{name} must be one line of text")
    problem = next(filter(None, problems), "")
    if problem:
        raise OptionsError(problem)


_NO_PUBLICATION = (
    "the publication has no name, which is a part of every chunk id. Name it (--publication), or a"
    " configuration with a site_name (--config-file)"
)


class _Values:
    """A mapping that was read from a file, with the types of its values checked."""

    def __init__(self, values: Mapping[str, Any], name: str) -> None:
        self._values = values
        self.name = name

    def get(self, key: str, types: tuple[type, ...], default: Any) -> Any:
        value = self._values.get(key)
        if value is None:
            return default
        if not any(map(partial(_is, value), types)):
            raise OptionsError(f"{key} in {self.name} is not {_SPELLED[types[0]]}")
        return value

    def get_list(self, key: str, kind: type) -> list[Any]:
        values = self.get(key, (list,), [])
        if not all(_is(value, kind) for value in values):
            raise OptionsError(f"{key} in {self.name} is not a list, each entry {_SPELLED[kind]}")
        return list(values)

    def find_plugin(self) -> _Values:
        """Give the options of the plugin, which may stand in a list or in a mapping."""
        found = _find_named(self.get("plugins", (list, dict), []), _PLUGIN)
        if not isinstance(found, dict):
            raise OptionsError(f"{_PLUGIN} in {self.name} is not a mapping of options")
        return _Values(found, f"{self.name}, {_PLUGIN}")

    def find_extension(self, name: str) -> Mapping[str, Any]:
        """Give the options of a Markdown extension."""
        found = _find_named(self.get("markdown_extensions", (list, dict), []), name)
        configs = self.get("mdx_configs", (dict,), {}).get(name)
        return {**(configs or {}), **(found if isinstance(found, dict) else {})}


def _is(value: Any, kind: type) -> bool:
    # True is a number to Python.
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))


_SPELLED = {
    str: "a text",
    int: "a number",
    bool: "true or false",
    list: "a list",
    dict: "a mapping",
}


def _find_named(entries: list[Any] | dict[str, Any], name: str) -> Any:
    if isinstance(entries, dict):
        return entries.get(name) or {}
    for entry in entries:
        if isinstance(entry, dict) and name in entry:
            return entry[name] or {}
    return {}


def _find_snippets(values: _Values, folder: Path, docs: Path) -> list[Path]:
    """Give the folders in which pymdownx.snippets looks for files."""
    paths = values.find_extension(_SNIPPETS).get("base_path") or []
    paths = [path for path in (paths if isinstance(paths, list) else [paths]) if path]
    places = {"$config_dir": folder.as_posix(), "$docs_dir": docs.as_posix()}
    for name, place in places.items():
        paths = [str(path).replace(name, place) for path in paths]
    return [folder / path for path in paths]


def _find_titles(nav: Any) -> Iterator[tuple[str, str]]:
    """Give the pages of a navigation that have titles in it: source and title."""
    for entry in [nav] if isinstance(nav, dict) else nav:
        for title, inside in entry.items() if isinstance(entry, dict) else ():
            if isinstance(inside, (list, dict)):
                yield from _find_titles(inside)
            elif isinstance(inside, str):
                yield inside.removeprefix("./"), " ".join(str(title).split())


# -- the file


class _Loader(yaml.SafeLoader):
    """Reads the tags that MkDocs and its neighbours have; what else is tagged is nothing to us."""


def _load_env(loader: _Loader, node: yaml.Node) -> Any:
    """Read `!ENV NAME` and `!ENV [NAME, OTHER, default]`."""
    if isinstance(node, yaml.ScalarNode):
        names, default = [loader.construct_scalar(node)], None
    elif isinstance(node, yaml.SequenceNode):
        *names, default = loader.construct_sequence(node)
        # As pyyaml_env_tag has it, one entry is a name, not a default.
        names, default = (names, default) if names else ([default], None)
    else:
        return None
    for name in names:
        if str(name) in os.environ:
            return yaml.safe_load(os.environ[str(name)])
    return default


def _load_relative(loader: _Loader, node: yaml.Node) -> Any:
    """Read `!relative`, whose value is a path; `_find_snippets` says from where."""
    return loader.construct_scalar(node) if isinstance(node, yaml.ScalarNode) else None


def _load_unknown(_loader: _Loader, _tag: str, _node: yaml.Node) -> None:
    return None


_Loader.add_constructor("!ENV", _load_env)
_Loader.add_constructor("!relative", _load_relative)
_Loader.add_multi_constructor("", _load_unknown)


def _load(path: Path, below: tuple[Path, ...]) -> dict[str, Any]:
    """Load a file, with what it inherits."""
    data: Any
    try:
        data = yaml.load(path.read_bytes(), _Loader)  # noqa: S506 (a kind of SafeLoader)
    except OSError as error:
        raise OptionsError(f"{path.name} cannot be read: {error.strerror}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise OptionsError(f"{path.name} is not YAML: {error}") from None
    data = {} if data is None else data
    if not isinstance(data, dict):
        raise OptionsError(f"{path.name} is not a mapping of options")
    parent = data.pop("INHERIT", None)
    if not isinstance(parent, str):
        return data
    if path in below or len(below) >= _MAX_PARENTS:
        raise OptionsError(f"{path.name} inherits from itself")
    return _merge(_load(path.parent / parent, (*below, path)), data)


def _merge(base: dict[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Lay values over others; mappings are merged, anything else is replaced."""
    merged = dict(base)
    for key, above in over.items():
        old, value = merged.get(key), above
        if isinstance(old, dict) and isinstance(value, dict):
            value = _merge(old, value)
        merged[key] = value
    return merged
