"""Build the cases of ``tests/cases`` with MkDocs and judge what comes out.

A case is a small project and what must come of it. Its fields:

- ``id``, ``note``: its name, and the behaviour that it holds in one sentence.
- ``files``: path -> text, written byte for byte. ``generate``: path -> parts, each a text or
  ``{count, text}``: the text so many times, ``%d`` is the number. ``symlinks``: path -> target.
- ``mkdocs``: settings beside name and address. ``extensions``, ``plugins``: as in ``mkdocs.yml``,
  text that starts with ``!!python/`` being a YAML tag; ``markstay``: options of the plugin.
- ``args``: of MkDocs, if not ``[build]``. ``steps``: builds one after the other, each
  ``{write, delete, args}``; ``in_process_steps``: the same in one process, as while serving. All
  must pass but the last, which is judged.
- ``compare``: the project is built again elsewhere with a ``change`` of fields; the texts of
  ``page`` and ``section`` must have the ``same`` or ``different`` digests.
- ``swap_ok``: the case holds as well with every ``{#id}`` written ``<#id>``.
- ``expect``: ``build`` is ``ok`` or ``fail``; each other field is a method of ``FindingChecks``
  or ``SiteChecks``, called for each item. ``Promises`` and ``RefusedPromises`` hold for all cases,
  and `mkdocs-markstay check` must find the same as the build that is judged.

A check tells what is wrong, or nothing. A case that no check would judge is an error.
"""

from __future__ import annotations

import html
import json
import logging
import os
import re
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote, urljoin, urlsplit

import yaml
from mkdocs.commands.build import build
from mkdocs.config import load_config
from selectolax.lexbor import LexborHTMLParser
from site_builder import careless_plugins, run_markstay

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

FIELDS = {"id", "note", "files", "generate", "symlinks", "mkdocs", "extensions", "plugins"}
FIELDS |= {"markstay", "args", "steps", "in_process_steps", "compare", "swap_ok", "expect"}
SETTINGS = {"site_name": "T", "site_url": "https://docs.example.org/"}
Case = dict[str, Any]
_YAML_TAG = re.compile(r"'(!!python/[^']*)'")
_FINDING = re.compile(
    r"^(?:[A-Z]+ +-  )?(\S.*?):(\d+): (error|warning|info)\[([a-z0-9-]+)\] (.*)$", re.MULTILINE
)
_TITLE = re.compile(r"(?is)<title\b[^>]*>(.*?)</title>")
_CODE = re.compile(r"(?is)<(pre|code|script|style)\b.*?</\1\s*>|<!--.*?-->")
_ID_MARK = re.compile(r"(?:<|&lt;|\{:? ?)#([\w.:-]+)")
_BUILDING_MARK = re.compile(r"data-markstay(?!-(?:begin|end)\b)[\w-]*")
_HEX = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{64}")


class BadCaseError(Exception):
    """A case says something that nothing would judge."""


class Finding(NamedTuple):
    """A line that markstay printed."""

    path: str
    line: int
    level: str
    code: str
    message: str


@dataclass(frozen=True)
class Outcome:
    """What a build left behind."""

    root: Path
    exit_code: int
    output: str
    seconds: float

    @cached_property
    def findings(self) -> list[Finding]:
        """All findings that were printed, in their order."""
        return [Finding(f[0], int(f[1]), *f[2:]) for f in _FINDING.findall(self.output)]

    @cached_property
    def errors(self) -> list[Finding]:
        """The findings that fail a build."""
        return [found for found in self.findings if found.level == "error"]

    @property
    def manifest_file(self) -> Path:
        """Where the manifest is published."""
        return self.root / "site" / "passages.json"

    @cached_property
    def manifest(self) -> Any:
        """The manifest."""
        return json.loads(self.manifest_file.read_bytes())

    @cached_property
    def html(self) -> dict[str, str]:
        """The published pages: path in the site -> HTML."""
        site = self.root / "site"
        pages = sorted(site.rglob("*.html"))
        return {page.relative_to(site).as_posix(): page.read_text("utf-8") for page in pages}

    def sections(self, page: str) -> list[Any]:
        """Give the sections of a source file, in order."""
        return [section for section in self.manifest["sections"] if section["source"] == page]

    def section(self, page: str, section_id: str) -> Any:
        """Give a section of a source file, without any field if it is not there."""
        known = {section["section_id"]: section for section in self.sections(page)}
        return known.get(section_id, {})

    def texts(self, page: str, section: str) -> list[str]:
        """Give the passages of a section of a source file ("": of the page itself)."""
        known = self.manifest["pages"]
        end = f"#{section}" if section else ""
        ids = {found["page_id"] + end for found in known if found["source"] == page}
        return [found["text"] for found in self.manifest["passages"] if found["referent"] in ids]

    def all_texts(self) -> list[str]:
        """Give all passages."""
        return [passage["text"] for passage in self.manifest["passages"]]


def check_case(case: Case) -> None:
    """Refuse a case that says something that nothing would judge."""
    expect = case["expect"]
    site_fields = set(expect) & names_of(SiteChecks)
    steps = [*case.get("steps", []), *case.get("in_process_steps", [])]
    comparisons = case.get("compare", [])
    changes = [comparison["change"] for comparison in comparisons]
    unknown = set(expect) - {"build"} - names_of(FindingChecks) - site_fields
    unknown |= set(case) - FIELDS
    unknown |= {*chain(*steps)} - {"write", "delete", "args"}
    unknown |= {*chain(*comparisons)} - {"change", "page", "section", "digest", "manifest_bytes"}
    unknown |= {*chain(*changes)} - {"files", "mkdocs", "plugins"}
    if any("digest" not in comparison for comparison in comparisons):
        raise BadCaseError("a comparison must tell the digest")
    if unknown:
        raise BadCaseError(f"unknown fields: {sorted(unknown)}")
    if expect.get("build") not in {"ok", "fail"}:
        raise BadCaseError("build must be ok or fail")
    if len(expect) == 1 or not all(expect.values()):
        raise BadCaseError("nothing is expected beside build, or an expectation is empty")
    if expect["build"] == "fail" and (site_fields or changes or "errors" not in expect):
        raise BadCaseError("a build that fails has errors, and no site to judge")


# Building


def write_project(case: Case, root: Path) -> None:
    """Write the files of a case and its ``mkdocs.yml``."""
    (root / "docs").mkdir(parents=True)
    _write(root, case.get("files", {}))
    _write(root, {path: _generate(parts) for path, parts in case.get("generate", {}).items()})
    for path, target in case.get("symlinks", {}).items():
        (root / path).symlink_to(target)
    plugins = [*case.get("plugins", []), {"markstay": case.get("markstay", {})}]
    config = {**SETTINGS, **case.get("mkdocs", {}), "plugins": plugins}
    config["markdown_extensions"] = case["extensions"]
    text = yaml.safe_dump(config, allow_unicode=True, width=1000)
    _write(root, {"mkdocs.yml": _YAML_TAG.sub(r"\1", text)})


def _write(root: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(text.encode())


def _generate(parts: Sequence[Any]) -> str:
    texts: list[str] = []
    for part in parts:
        text, count = (part, 1) if isinstance(part, str) else (part["text"], part["count"])
        texts += [text.replace("%d", str(number + 1)) for number in range(count)]
    return "".join(texts)


def run_case(case: Case, root: Path) -> list[Outcome]:
    """Write a case and make its builds; those in one process are one outcome."""
    write_project(case, root)
    if "in_process_steps" in case:
        return [_python(root, __file__, json.dumps(case["in_process_steps"]))]
    outcomes = []
    for step in case.get("steps", [{"args": case.get("args", ["build"])}]):
        _apply(step, root)
        outcomes.append(_python(root, "-m", "mkdocs", *step.get("args", ["build"])))
    return outcomes


def _apply(step: Case, root: Path) -> None:
    _write(root, step.get("write", {}))
    for name in step.get("delete", []):
        (root / name).unlink()


def _python(root: Path, *arguments: str, **variables: str) -> Outcome:
    """Run Python in ``root``, with nothing in the environment that changes what is printed."""
    hidden = {"COLUMNS", "CI", "GITHUB_ACTIONS", "FORCE_COLOR", "SOURCE_DATE_EPOCH"}
    environment = {key: value for key, value in os.environ.items() if key not in hidden}
    environment |= {"NO_MKDOCS_2_WARNING": "1", "PYTHONWARNINGS": "ignore", "NO_COLOR": "1"}
    environment |= {"PYTHONIOENCODING": "utf-8", **variables}
    start = time.monotonic()
    process = subprocess.run(
        [sys.executable, *arguments],
        cwd=root,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    return Outcome(root, process.returncode, process.stdout, time.monotonic() - start)


def rebuild(steps: Sequence[Case]) -> None:
    """Build as ``mkdocs serve --clean`` does: one start, settings anew for each build."""
    logging.basicConfig(format="%(levelname)s -  %(message)s")
    for number, step in enumerate(steps):
        _apply(step, Path())
        config = load_config("mkdocs.yml")
        if number == 0:
            config.plugins.on_startup(command="build", dirty=False)
        build(config)
    config.plugins.on_shutdown()


# Judging


def judge(case: Case, folder: Path) -> list[str]:
    """Build a case in ``folder`` and tell everything that is not as expected."""
    check_case(case)
    *earlier, last = run_case(case, folder / "project")
    failures = [told for outcome in earlier for told in judge_outcome({"build": "ok"}, outcome)]
    failures += judge_outcome(case["expect"], last)
    failures += compare_check(last, case.get("steps", [case])[-1].get("args", []))
    for number, comparison in enumerate(case.get("compare", [])):
        if not failures:
            failures += _compare(case, last, folder / f"change-{number}", comparison)
    return failures


def judge_outcome(expect: Mapping[str, Any], outcome: Outcome) -> list[str]:
    """Tell everything about a build that is not as expected."""
    passes = expect["build"] == "ok"
    failure = _published(outcome) if passes else _refused(outcome)
    if failure:
        return [f"build: {failure}"]
    fields = [field for field in expect if field != "build"]
    told = [(field, said) for field in fields for said in _judge(field, expect[field], outcome)]
    others = len(outcome.errors) - len(expect.get("errors", []))
    told += [("errors", f"{others} more than expected: {outcome.errors}")] if others else []
    promises = Promises if passes else RefusedPromises
    told += [(name, getattr(promises(outcome), name)()) for name in sorted(names_of(promises))]
    return [f"{name}: {said}" for name, said in told if said]


def _judge(field: str, wanted: Any, outcome: Outcome) -> Iterator[str]:
    """Judge each item of what is wanted."""
    kind = FindingChecks if field in names_of(FindingChecks) else SiteChecks
    check = getattr(kind(outcome), field)
    if isinstance(wanted, dict):
        yield from (check(page, value) for page, value in wanted.items())
    elif isinstance(wanted, list):
        yield from (check(**item) if isinstance(item, dict) else check(item) for item in wanted)
    else:
        yield check(wanted)


def names_of(kind: type[Any]) -> set[str]:
    """Name the checks of a class."""
    return {name for name in vars(kind) if not name.startswith("_")}


def _published(outcome: Outcome) -> str:
    if outcome.exit_code or outcome.errors:
        return f"must pass; exit code {outcome.exit_code}:\n{outcome.output}"
    if not outcome.manifest_file.exists():
        return "published no manifest"
    whole = outcome.manifest["pages"] and outcome.manifest["passages"] and outcome.html
    return "" if whole else "published no page, no passage or no HTML"


def _refused(outcome: Outcome) -> str:
    orderly = outcome.exit_code > 0 and "Traceback (most recent call last)" not in outcome.output
    return "" if orderly else f"must fail; exit code {outcome.exit_code}:\n{outcome.output}"


def compare_check(outcome: Outcome, args: Sequence[str]) -> list[str]:
    """Tell where `check` differs from a build of the same files."""
    strict = {"--strict"}.intersection(args)
    with careless_plugins():
        checked = run_markstay(outcome.root, "check", "--no-cache", *strict)
    found = {Finding(f.path, f.line, f.level, f.code, f.message) for f in checked.findings}
    compared: dict[str, set[Any]] = {
        "only in the build": set(outcome.findings) - found,
        "only in the check": found - set(outcome.findings),
    }
    if checked.code != min(outcome.exit_code, 1):
        compared["exit code of the check"] = {checked.code}
    return [f"check: {what}: {which}" for what, which in compared.items() if which]


def _compare(case: Case, base: Outcome, root: Path, comparison: Case) -> list[str]:
    """Build the changed case on another day in another time zone and compare."""
    change, place = comparison["change"], (comparison["page"], comparison["section"])
    write_project({**case, **change, "files": {**case["files"], **change.get("files", {})}}, root)
    # Not the first day of all: MkDocs 1.6.0 fails where local time begins before it.
    other = _python(root, "-m", "mkdocs", "build", SOURCE_DATE_EPOCH="86400", TZ="Asia/Kathmandu")
    failures = judge_outcome({"build": "ok"}, other)
    if failures:
        return failures
    texts = base.texts(*place), other.texts(*place)
    raw = base.manifest_file.read_bytes(), other.manifest_file.read_bytes()
    found = {"digest": _compared(*texts), "manifest_bytes": _compared(*raw)}
    wrong = {key: found[key] for key in found if comparison.get(key, found[key]) != found[key]}
    return [f"compare {place}: {wrong}; texts: {texts}"] if wrong or not all(texts) else []


def _compared(one: object, other: object) -> str:
    return "same" if one == other else "different"


def _plain(text: str) -> str:
    return " ".join(text.split())


def _ids(page: str) -> list[str]:
    return [element.attributes["id"] or "" for element in LexborHTMLParser(page).css("[id]")]


@dataclass(frozen=True)
class _Checks:
    _outcome: Outcome


class FindingChecks(_Checks):
    """Expectations about what is printed."""

    def errors(
        self,
        file: str,
        line: int,
        code: str = "",
        contains: str = "",
        any_of: Sequence[Sequence[Any]] = (),
    ) -> str:
        """An error is printed at this line or one of ``any_of``; no error is printed but these."""
        places = [[file, line], *any_of]
        for found in self._outcome.errors:
            placed = [found.path, found.line] in places
            if placed and code in ("", found.code) and contains in found.message:
                return ""
        return f"no {code} at {places} with {contains!r} among {self._outcome.errors}"

    def time_limit_s(self, seconds: float) -> str:
        """The build takes no longer."""
        return "" if self._outcome.seconds <= seconds else f"{self._outcome.seconds:.1f} s"


class SiteChecks(_Checks):
    """Expectations about a site that was published: its manifest, then its HTML."""

    def sections(self, page: str, ids: list[str]) -> str:
        """A page has these sections in this order; generated ones count if they are named."""
        known = [(s["section_id"], s["generated"]) for s in self._outcome.sections(page)]
        found = [section_id for section_id, made in known if not made or section_id in ids]
        return "" if found == ids else f"{page} must have {ids}, has {found}"

    def section_count(self, page: str, count: int) -> str:
        """A page has so many sections."""
        found = len(self._outcome.sections(page))
        return "" if found == count else f"{page} must have {count}, has {found}"

    def titles(self, page: str, section: str, title: str) -> str:
        """A section has a plain title."""
        found = self._outcome.section(page, section).get("title")
        return "" if found == title else f"{page}#{section} must be {title!r}, is {found!r}"

    def referents(self, page: str, section: str, url: str) -> str:
        """A section has a public address."""
        site_url = self._outcome.manifest["site_url"].rstrip("/") + "/"
        path = self._outcome.section(page, section).get("url", "nowhere")
        found = urljoin(site_url, path)
        right = unquote(found) == unquote(url)
        return "" if right else f"{page}#{section} must be at {url}, is at {found}"

    def pages_absent(self, page: str) -> str:
        """A source file is not in the manifest."""
        manifest = self._outcome.manifest
        sources = {record["source"] for record in (*manifest["pages"], *manifest["sections"])}
        return f"{page} is there" if page in sources else ""

    def manifest_not_contain(self, text: str) -> str:
        """A text is not in the manifest file, digests aside: they hold any number."""
        raw = _HEX.sub("", self._outcome.manifest_file.read_text("utf-8"))
        return f"{text!r} is there" if text in raw else ""

    def passages_contain(self, page: str, section: str, text: str, exact: bool = False) -> str:
        """A section has a text, white space aside unless ``exact``."""
        found = self._outcome.texts(page, section)
        if any(text in have if exact else _plain(text) in _plain(have) for have in found):
            return ""
        return f"{text!r} is not in {page}#{section}: {found}"

    def passages_not_in(self, page: str, section: str, text: str) -> str:
        """A section that is there does not have a text."""
        if not self._outcome.section(page, section):
            return f"there is no {page}#{section}"
        bad = [have for have in self._outcome.texts(page, section) if text in _plain(have)]
        return f"{text!r} is in {page}#{section}: {bad}" if bad else ""

    def passages_exclude(self, text: str) -> str:
        """A text is in no passage, neither as it stands nor with single spaces."""
        bad = [have for have in self._outcome.all_texts() if text in f"{have}\0{_plain(have)}"]
        return f"{text!r} is in {bad}" if bad else ""

    def text_once(self, text: str) -> str:
        """A text is in the manifest exactly once."""
        found = [_plain(have) for have in self._outcome.all_texts()]
        count = sum(have.count(text) for have in found)
        return "" if count == 1 else f"{text!r} is there {count} times: {found}"

    def html_contain(self, text: str) -> str:
        """A text is in some HTML file."""
        found = any(text in page for page in self._outcome.html.values())
        return "" if found else f"{text!r} is in none"

    def displayed_not_contain(self, text: str) -> str:
        """A text is in no HTML file."""
        bad = [name for name, page in self._outcome.html.items() if text in page]
        return f"{text!r} is in {bad}" if bad else ""

    def title_tag_not_contain(self, text: str) -> str:
        """Each page has a ``<title>`` without the text."""
        found = [_TITLE.findall(page) for page in self._outcome.html.values()]
        bad = [title for title in chain(*found) if text in title + html.unescape(title)]
        return f"{text!r} is in {bad}, or none: {found}" if bad or not all(found) else ""

    def nav_titles(self, label: str) -> str:
        """A label is in the navigation."""
        links = "nav a[href], [role=navigation] a[href], .navbar a[href]"
        trees = map(LexborHTMLParser, self._outcome.html.values())
        found = {_plain(link.text()) for tree in trees for link in tree.css(links)}
        return "" if label in found else f"{label!r} is not among {sorted(found)}"

    def unique_html_ids(self, wanted: bool) -> str:
        """No page has an id twice."""
        ids = {name: Counter(_ids(page)) for name, page in self._outcome.html.items()}
        bad = [(name, found) for name in ids for found in ids[name] if ids[name][found] > 1]
        return f"repeated: {bad}" if bad and wanted else ""


class Promises(_Checks):
    """What holds for every build that passes."""

    def text_digests(self) -> str:
        """A text digest is the SHA-256 of the text."""
        bad = [
            passage
            for passage in self._outcome.manifest["passages"]
            if passage["text_digest"] != f"sha256:{sha256(passage['text'].encode()).hexdigest()}"
        ]
        return f"wrong: {bad}" if bad else ""

    def chunk_ids(self) -> str:
        """No two passages have the same chunk id."""
        seen = Counter(passage["chunk_id"] for passage in self._outcome.manifest["passages"])
        return "" if max(seen.values()) == 1 else f"repeated: {seen.most_common(3)}"

    def listed_referents(self) -> str:
        """Every passage belongs to a page or section that is listed."""
        manifest = self._outcome.manifest
        known = {section["referent"] for section in manifest["sections"]}
        known |= {page["page_id"] for page in manifest["pages"]}
        lost = {passage["referent"] for passage in manifest["passages"]} - known
        return f"not listed: {sorted(lost)}" if lost else ""

    def anchors(self) -> str:
        """Every section's URL leads to an element of the published page that has its id."""
        ids = {name: set(_ids(page)) for name, page in self._outcome.html.items()}
        for section in self._outcome.manifest["sections"]:
            url = urlsplit(unquote(section["url"]))
            name = url.path if url.path.endswith(".html") else f"{url.path}index.html"
            if url.fragment != section["section_id"] or url.fragment not in ids.get(name, ()):
                return f"not in {name}: {section}"
        return ""

    def id_marks(self) -> str:
        """No id is displayed as it was written, outside code."""
        known = {section["section_id"] for section in self._outcome.manifest["sections"]}
        prose = {name: _CODE.sub("", page) for name, page in self._outcome.html.items()}
        shown = [(name, known & {*_ID_MARK.findall(page)}) for name, page in prose.items()]
        shown = [(name, ids) for name, ids in shown if ids]
        return f"shown: {shown}" if shown else ""

    def building_marks(self) -> str:
        """Nothing that the build marks elements with is published, but begin and end."""
        left = {name: _BUILDING_MARK.findall(page) for name, page in self._outcome.html.items()}
        return f"left: {left}" if any(left.values()) else ""


class RefusedPromises(_Checks):
    """What holds for every build that fails."""

    def findings_once(self) -> str:
        """Each finding is printed once."""
        again = [found for found, count in Counter(self._outcome.findings).items() if count > 1]
        return f"repeated: {again}" if again else ""

    def findings_sorted(self) -> str:
        """Errors are sorted by file and line."""
        found = [(error.path, error.line) for error in self._outcome.errors]
        return "" if found == sorted(found) else f"not sorted: {found}"

    def nothing_published(self) -> str:
        """No manifest and no page is left."""
        there = self._outcome.manifest_file.exists() or self._outcome.html
        return f"published: {there}" if there else ""


if __name__ == "__main__":
    rebuild(json.loads(sys.argv[1]))
