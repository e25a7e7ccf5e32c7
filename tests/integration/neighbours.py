"""Build the sites of ``cases/*.yml`` with MkDocs, with our plugin and without it.

A case is a site with a neighbour, and what must come of it. Its fields:

- ``what``: the promise, in one sentence. ``needs``: the distributions that must be there.
- ``config``: settings beside the site's name, as in ``mkdocs.yml``, text that starts with
  ``!!python/`` being a YAML tag. Instead, ``page``: a page of the documentation, whose first
  ``yaml`` block is the configuration.
- ``files``: path -> text. ``git: true``: the site is a repository with one commit.
- ``records``: all records of the manifest, referent -> text. A list for a section of several
  passages; an empty text for a section without any. ``fr index#a`` on a site of several languages.
- ``absent``: texts that stand in no file and no log, but in the files that ``shown`` matches.
- ``without``: how the ids are written where our plugin is not there. ``braces``: ``{#id}``, the
  usual; ``none``: not at all, and the ids of headings are not compared.
- ``differs``: published files that may differ without our plugin: ``pattern: why``.
- ``broken``: with ``cut`` left out of ``file``, the build fails with exactly ``findings``.
"""

from __future__ import annotations

import gzip
import os
import re
import subprocess
from fnmatch import fnmatchcase
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import yaml
from site_builder import Built, run_mkdocs

Case = dict[str, Any]
FIELDS = {"what", "needs", "page", "config", "files", "git", "without"}
FIELDS |= {"records", "absent", "shown", "broken", "differs"}
ROOT = Path(__file__).parents[2]
CASES = Path(__file__).parent / "cases"
MANIFESTS = {"passages.json", "passages.jsonl"}
DATE = "2024-05-06T07:08:09+00:00"
ENVIRON = {"SOURCE_DATE_EPOCH": "1714979289"}

SPELLINGS = {"braces": r" {#\1}", "none": ""}
_ID = re.compile(r" <#([^<>\n]+)>")
_YAML_TAG = re.compile(r"'(!!python/[^']*)'")
_YAML_BLOCK = re.compile(r"^```yaml[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LEAK = re.compile(r"(?:<|&lt;|\\u003c)#[\w{]|\{#|data-markstay-(?!begin\b|end\b)")
_TEXTS = {".html", ".json", ".jsonl", ".xml", ".txt", ".md"}
_OURS = re.compile(
    rb"<span data-markstay-(?:begin|end)\b[^>]*></span>|<link [^>]*\bpassages\.json\b[^>]*>"
)
_HEADING_IDS = re.compile(
    rb"(?<=<h)([1-6]\b[^<>]*?) id=(?:\"[^\"]*\"|[^\s>]+)"
    rb"|((?:\bhref=[\"']?|\"location\": ?\")[^\"'#\s>]*)#[^\"'\s>]*"
)


class _Loader(yaml.SafeLoader):
    """Reads the tag of a Python name as text, as it is written in cases."""


_Loader.add_multi_constructor(
    "tag:yaml.org,2002:python/", lambda _loader, suffix, _node: f"!!python/{suffix}"
)


def read_cases() -> dict[str, str]:
    """Read the text of all cases: name -> case."""
    return {path.stem: path.read_text("utf-8") for path in sorted(CASES.glob("*.yml"))}


def read_case(text: str) -> Case:
    """Read a case, with the configuration of its page."""
    case: Case = yaml.load(text, _Loader)  # noqa: S506 (a safe loader, and text for tags)
    unknown = set(case) - FIELDS
    assert not unknown, unknown
    assert ("page" in case) != ("config" in case), "either page or config"
    if "page" in case:
        block = _YAML_BLOCK.search((ROOT / case["page"]).read_text("utf-8"))
        assert block is not None, case["page"]
        case["config"] = yaml.load(block[1], _Loader)  # noqa: S506 (as above)
    names = [name_of(item) for item in case["config"]["plugins"]]
    assert names.count("markstay") == 1, names
    return case


def missing_packages(case: Case) -> list[str]:
    """Name the distributions that a case needs and that are not installed."""
    return [name for name in case.get("needs", []) if not _is_installed(name)]


def _is_installed(name: str) -> bool:
    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True


def name_of(item: Any) -> str:
    """Name a plugin or an extension as it is listed in a configuration."""
    return str(next(iter(item)) if isinstance(item, dict) else item)


def build(folder: Path, case: Case) -> Built:
    """Build the site of a case with our plugin."""
    return _build(folder, case, dict(case["config"]), case["files"])


def build_without(folder: Path, case: Case) -> Built:
    """Build the site of a case as it would be if there were no such plugin."""
    spelling = SPELLINGS[case.get("without", "braces")]
    files = {
        name: _ID.sub(spelling, text) if name.endswith((".md", ".py")) else text
        for name, text in case["files"].items()
    }
    config = dict(case["config"])
    config["plugins"] = [item for item in config["plugins"] if name_of(item) != "markstay"]
    extensions = config.get("markdown_extensions", [])
    if "attr_list" not in map(name_of, extensions):
        config["markdown_extensions"] = [*extensions, "attr_list"]
    return _build(folder, case, config, files)


def build_broken(folder: Path, case: Case) -> Built:
    """Build the site of a case with the fault that it describes."""
    broken = case["broken"]
    files = dict(case["files"])
    assert files[broken["file"]].count(broken["cut"]) == 1, "the fault is not at one place"
    files[broken["file"]] = files[broken["file"]].replace(broken["cut"], "")
    return _build(folder, case, dict(case["config"]), files)


def _build(folder: Path, case: Case, config: dict[str, Any], files: dict[str, str]) -> Built:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    written = yaml.safe_dump({"site_name": "Test", **config}, sort_keys=False, allow_unicode=True)
    (folder / "mkdocs.yml").write_text(_YAML_TAG.sub(r"\1", written), encoding="utf-8")
    if case.get("git"):
        _commit(folder)
    return run_mkdocs(folder, environ=ENVIRON)


def _commit(folder: Path) -> None:
    """Make a repository of a folder, the same one wherever and whenever."""
    environ = {
        **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        **{f"GIT_{who}_NAME": "Ada" for who in ("AUTHOR", "COMMITTER")},
        **{f"GIT_{who}_EMAIL": "ada@example.org" for who in ("AUTHOR", "COMMITTER")},
        **{f"GIT_{who}_DATE": DATE for who in ("AUTHOR", "COMMITTER")},
    }
    for command in ("init -q -b main", "add -A", "commit -q -m Site"):
        subprocess.run(["git", *command.split()], cwd=folder, env=environ, check=True)  # noqa: S607


def records(built: Built) -> dict[str, str | list[str]]:
    """Give the records of a manifest as cases write them."""
    manifest = built.manifest
    assert manifest is not None, "\n".join(built.log)
    texts: dict[str, list[str]] = {}
    for record in manifest["sections"]:
        texts.setdefault(_key(manifest, record), [])
    for record in manifest["passages"]:
        texts.setdefault(_key(manifest, record), []).append(record["text"])
    return {
        key: found[0] if len(found) == 1 else found or "" for key, found in sorted(texts.items())
    }


def _key(manifest: dict[str, Any], record: dict[str, Any]) -> str:
    referent = str(record["referent"])
    alone = len({page["lang"] for page in manifest["pages"]}) == 1
    return referent if alone else f"{record['lang']} {referent}"


def published(built: Built) -> dict[str, bytes]:
    """Read all files of a site: path -> content, unpacked if it is packed."""
    site = built.folder / "site"
    return {
        path.relative_to(site).as_posix(): gzip.decompress(path.read_bytes())
        if path.suffix == ".gz"
        else path.read_bytes()
        for path in sorted(site.rglob("*"))
        if path.is_file()
    }


def leaks(files: dict[str, bytes]) -> list[str]:
    """Find section ids that readers would see, in either spelling, and marks of a build."""
    return [
        f"{name}: {text[max(match.start() - 20, 0) : match.end() + 20]!r}"
        for name, content in files.items()
        if Path(name).suffix in _TEXTS
        for text in [content.decode("utf-8", "replace")]
        for match in _LEAK.finditer(text)
    ]


def secrets(case: Case, files: dict[str, bytes], log: list[str]) -> list[str]:
    """Find texts of a case that stand where they must not."""
    shown = case.get("shown", [])
    return [
        f"{name}: {secret}"
        for secret in case.get("absent", [])
        for name, content in {**files, "the log": "\n".join(log).encode()}.items()
        if secret.encode() in content and not matches(name, shown)
    ]


def allowed_to_differ(case: Case) -> list[str]:
    """List the patterns of files that may differ without our plugin."""
    return [str(name_of(item)).split(": ")[0] for item in case.get("differs", [])]


def matching(names: list[str], pattern: str) -> list[str]:
    """List the names that a pattern matches."""
    return [name for name in names if fnmatchcase(name, pattern)]


def matches(name: str, patterns: list[str]) -> bool:
    """Tell whether one of some patterns matches a name."""
    return any(matching([name], pattern) for pattern in patterns)


def differences(case: Case, ours: dict[str, bytes], others: dict[str, bytes]) -> list[str]:
    """Name the files that are not the same with our plugin and without it."""
    ignored = case.get("without") == "none"
    mine = {name: content for name, content in ours.items() if name not in MANIFESTS}
    return [
        name
        for name in sorted(mine.keys() | others.keys())
        if name not in mine
        or name not in others
        or _plain(mine[name], ignored) != _plain(others[name], ignored)
    ]


def _plain(content: bytes, without_ids: bool) -> bytes:
    content = _OURS.sub(b"", content)
    if without_ids:
        content = _HEADING_IDS.sub(rb"\1\2", content)
    return re.sub(rb"\s+(?=</head>)", b"", content)
