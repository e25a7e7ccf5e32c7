"""The cases of ``cases/*.yml``, in both spellings, and proof that the runner can fail."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import TYPE_CHECKING, Any

import case_runner
import pytest
import yaml
from case_runner import BadCaseError, Case, Outcome, check_case, judge, judge_outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CASES = Path(__file__).parent / "cases"
AREAS: dict[str, list[Case]] = {
    path.stem: yaml.safe_load(path.read_bytes()) for path in sorted(CASES.glob("*.yml"))
}
ALL = [case for cases in AREAS.values() for case in cases]

PACKAGES = {
    "autorefs": "mkdocs-autorefs",
    "blog": "mkdocs-material",
    "gen-files": "mkdocs-gen-files",
    "i18n": "mkdocs-static-i18n",
    "include-markdown": "mkdocs-include-markdown-plugin",
    "macros": "mkdocs-macros-plugin",
    "material": "mkdocs-material",
    "minify": "mkdocs-minify-plugin",
    "mkdocs-jupyter": "mkdocs-jupyter",
    "mkdocstrings": "mkdocstrings-python",
    "pymdownx": "pymdown-extensions",
}
"""What installs a plugin, a theme or an extension (by the first part of its name)."""

WITH_MKDOCS = {"mkdocs", "readthedocs", "search"}
WITH_MARKDOWN = {"abbr", "admonition", "attr_list", "def_list", "footnotes", "md_in_html"}
WITH_MARKDOWN |= {"smarty", "tables", "toc"}


def names_used(case: Case) -> Iterator[str]:
    """Name the plugins, extensions and themes of a case."""
    for part in (case, *(comparison["change"] for comparison in case.get("compare", []))):
        theme = part.get("mkdocs", {}).get("theme", "mkdocs")
        yield theme["name"] if isinstance(theme, dict) else theme
        for item in (*part.get("plugins", []), *part.get("extensions", [])):
            yield (next(iter(item)) if isinstance(item, dict) else item).split(".")[0]


def missing_packages(case: Case) -> list[str]:
    needed = {PACKAGES[name] for name in names_used(case) if name in PACKAGES}
    return sorted(package for package in needed if not is_installed(package))


def is_installed(package: str) -> bool:
    try:
        distribution(package)
    except PackageNotFoundError:
        return False
    return True


def angled(value: Any) -> Any:
    """Write every ``{#id}`` in the texts of a case as ``<#id>``."""
    if isinstance(value, str):
        return re.sub(r"\{#([^}\s]+)\}", r"<#\1>", value)
    if isinstance(value, list):
        return [angled(part) for part in value]
    if isinstance(value, dict):
        return {key: angled(part) for key, part in value.items()}
    return value


def variants() -> Iterator[Any]:
    """Give every case as it stands and, where it holds as well, in the other spelling."""
    for case in ALL:
        yield pytest.param(case, id=case["id"])
        if case.get("swap_ok"):
            texts = {key: case[key] for key in ("files", "generate", "steps") if key in case}
            yield pytest.param({**case, **angled(texts)}, id=f"{case['id']}+angle")


@pytest.mark.parametrize("case", list(variants()))
def test_case(case: Case, tmp_path: Path) -> None:
    missing = missing_packages(case)
    if missing:
        pytest.skip(f"needs {', '.join(missing)}")
    failures = judge(case, tmp_path)
    assert not failures, "\n".join([case["note"], *failures])


def test_there_are_cases_in_every_area() -> None:
    assert len(AREAS) == 19
    assert all(AREAS.values())
    assert len({case["id"] for case in ALL}) == len(ALL) >= 110
    assert all(case["note"] for case in ALL)


def test_every_swap_changes_the_case() -> None:
    swapped = [case for case in ALL if case.get("swap_ok")]
    assert len(swapped) >= 58
    assert [case["id"] for case in swapped if angled(case) == case] == []


def test_every_name_that_a_case_uses_is_known() -> None:
    used = {name for case in ALL for name in names_used(case)}
    assert used == {*PACKAGES, *(used & (WITH_MKDOCS | WITH_MARKDOWN))}


# The runner itself: every check and every promise must be able to fail.

SITE: Case = {
    "files": {
        "docs/index.md": "# Home {#home}\n\nWords.\n\n## Part <#part>\n\n    a  b\n",
        "docs/b.md": "# B {#b}\n\nMore words.\n",
    },
    "extensions": ["attr_list"],
    "markstay": {"publication": "pub"},
}
RIGHT: dict[str, Any] = {
    "build": "ok",
    "time_limit_s": 120,
    "sections": {"index.md": ["home", "part"]},
    "section_count": {"b.md": 1},
    "titles": [{"page": "index.md", "section": "part", "title": "Part"}],
    "referents": [{"page": "b.md", "section": "b", "url": "https://docs.example.org/b/#b"}],
    "pages_absent": ["c.md"],
    "manifest_not_contain": ["No such words."],
    "passages_contain": [{"page": "index.md", "section": "part", "text": "a  b", "exact": True}],
    "passages_not_in": [{"page": "index.md", "section": "part", "text": "Words."}],
    "passages_exclude": ["No such words."],
    "text_once": ["More words."],
    "html_contain": ['id="part"'],
    "displayed_not_contain": ["No such words."],
    "title_tag_not_contain": ["{"],
    "nav_titles": ["Home"],
    "unique_html_ids": True,
}
WRONG: list[tuple[str, Any]] = [
    ("build", "fail"),
    ("time_limit_s", 0.0),
    ("sections", {"index.md": ["part", "home"]}),
    ("sections", {"index.md": ["home"]}),
    ("sections", {"no.md": ["home"]}),
    ("section_count", {"index.md": 1}),
    ("titles", [{"page": "index.md", "section": "part", "title": "part"}]),
    ("titles", [{"page": "index.md", "section": "no", "title": "Part"}]),
    ("referents", [{"page": "b.md", "section": "b", "url": "https://docs.example.org/#b"}]),
    ("referents", [{"page": "b.md", "section": "no", "url": "https://docs.example.org/b/#no"}]),
    ("pages_absent", ["b.md"]),
    ("manifest_not_contain", ["index#home"]),
    ("passages_contain", [{"page": "b.md", "section": "b", "text": "Words."}]),
    ("passages_contain", [{"page": "b.md", "section": "", "text": "More words."}]),
    (
        "passages_contain",
        [{"page": "index.md", "section": "part", "text": "a b", "exact": True}],
    ),
    ("passages_not_in", [{"page": "b.md", "section": "b", "text": "More words."}]),
    ("passages_not_in", [{"page": "b.md", "section": "no", "text": "No such words."}]),
    ("passages_exclude", ["More words."]),
    ("text_once", ["ords."]),
    ("text_once", ["No such words."]),
    ("html_contain", ["No such words."]),
    ("displayed_not_contain", ["More words."]),
    ("title_tag_not_contain", ["B"]),
    ("nav_titles", ["Part"]),
]


ERRORS: list[Case] = [
    {"file": "docs/index.md", "line": 3, "code": "missing-id", "contains": "'B'"},
    {"file": "docs/index.md", "line": 5, "code": "missing-id", "contains": "'C'"},
]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    return case_runner.run_case(SITE, tmp_path_factory.mktemp("site") / "project")[0]


@pytest.fixture(scope="module")
def refused(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    case = {**SITE, "files": {"docs/index.md": "# A\n\n## B\n\n## C\n"}}
    return case_runner.run_case(case, tmp_path_factory.mktemp("refused") / "project")[0]


def test_right_expectations_hold(site: Outcome) -> None:
    assert judge_outcome(RIGHT, site) == []


@pytest.mark.parametrize(("field", "value"), WRONG)
def test_wrong_expectations_fail(site: Outcome, field: str, value: Any) -> None:
    failures = judge_outcome({"build": "ok", field: value}, site)
    assert [failure.partition(":")[0] for failure in failures] == [field]


def test_every_check_was_seen_to_hold_and_to_fail() -> None:
    checks = case_runner.names_of(case_runner.FindingChecks)
    checks |= case_runner.names_of(case_runner.SiteChecks) | {"build"}
    assert {*RIGHT, "errors"} == checks
    assert {field for field, _ in WRONG} | {"errors", "unique_html_ids"} == checks


@pytest.mark.parametrize(
    "wrong", [{"file": "index.md"}, {"line": 4}, {"code": "two-ids"}, {"contains": "'B'"}]
)
def test_wrong_errors_fail(refused: Outcome, wrong: Case) -> None:
    failures = judge_outcome({"build": "fail", "errors": [ERRORS[0], ERRORS[1] | wrong]}, refused)
    assert [failure.partition(":")[0] for failure in failures] == ["errors"]


def test_errors_must_be_all_and_may_stand_elsewhere(refused: Outcome) -> None:
    elsewhere = {**ERRORS[1], "line": 9, "any_of": [["docs/b.md", 1], ["docs/index.md", 5]]}
    assert judge_outcome({"build": "fail", "errors": [ERRORS[0], elsewhere]}, refused) == []
    assert judge_outcome({"build": "fail", "errors": ERRORS[1:]}, refused)
    assert judge_outcome({"build": "fail", "errors": [*ERRORS, ERRORS[1]]}, refused)
    with pytest.raises(TypeError, match="colour"):
        judge_outcome({"build": "fail", "errors": [{**ERRORS[1], "colour": "red"}]}, refused)


def test_a_traceback_and_a_signal_are_no_orderly_failure(refused: Outcome) -> None:
    expect = {"build": "fail", "errors": ERRORS}
    told = f"Traceback (most recent call last):\n{refused.output}"
    assert judge_outcome(expect, refused) == []
    assert judge_outcome(expect, replace(refused, output=told))
    assert judge_outcome(expect, replace(refused, exit_code=-9))
    assert judge_outcome({"build": "ok", "time_limit_s": 120}, refused)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("docs/index.md:3:", "no finding"),
        ("index.md:3:", "index.md:4:"),
        ("missing-id", "two-ids"),
        ("heading 'B'", "heading 'C'"),
        ("error[", "warning["),
    ],
)
def test_a_check_that_differs_is_told(refused: Outcome, old: str, new: str) -> None:
    assert case_runner.compare_check(refused, []) == []
    assert old in refused.output
    other = replace(refused, output=refused.output.replace(old, new))
    assert case_runner.compare_check(other, [])


def test_an_exit_code_that_differs_is_told(refused: Outcome, site: Outcome) -> None:
    assert case_runner.compare_check(site, []) == []
    assert case_runner.compare_check(replace(site, exit_code=1), [])
    assert case_runner.compare_check(replace(refused, exit_code=0), [])


def _passage(change: Callable[[dict[str, Any]], None]) -> Callable[[Path], None]:
    def spoil(root: Path) -> None:
        path = root / "site" / "passages.json"
        manifest = json.loads(path.read_bytes())
        change(manifest)
        path.write_text(json.dumps(manifest), "utf-8")

    return spoil


def _page(old: str, new: str) -> Callable[[Path], None]:
    def spoil(root: Path) -> None:
        path = root / "site" / "index.html"
        text = path.read_text("utf-8")
        assert old in text
        path.write_text(text.replace(old, new), "utf-8")

    return spoil


SPOILED: list[tuple[str, Callable[[Path], None]]] = [
    ("build", lambda root: (root / "site" / "passages.json").unlink()),
    ("build", _passage(lambda manifest: manifest["passages"].clear())),
    ("text_digests", _passage(lambda manifest: manifest["passages"][0].update(text="Changed."))),
    ("chunk_ids", _passage(lambda manifest: manifest["passages"].append(manifest["passages"][0]))),
    ("listed_referents", _passage(lambda manifest: manifest["passages"][0].update(referent="no"))),
    ("anchors", _passage(lambda manifest: manifest["sections"][0].update(url="b/#c"))),
    ("anchors", _page('id="part"', 'id="moved"')),
    ("id_marks", _page("Words.", "Words. &lt;#part&gt;")),
    ("id_marks", _page("Words.", "Words. {#part}")),
    ("building_marks", _page("<p>Words.", '<p data-markstay-line="3">Words.')),
    ("unique_html_ids", _page("<p>Words.", '<p id="part">Words.')),
]


@pytest.mark.parametrize(("name", "spoil"), SPOILED)
def test_spoiled_sites_fail(
    site: Outcome, name: str, spoil: Callable[[Path], None], tmp_path: Path
) -> None:
    shutil.copytree(site.root / "site", tmp_path / "site")
    spoil(tmp_path)
    failures = judge_outcome({"build": "ok", "unique_html_ids": True}, replace(site, root=tmp_path))
    assert [failure.partition(":")[0] for failure in failures] == [name]


def test_broken_promises_of_refused_builds_fail(refused: Outcome, site: Outcome) -> None:
    first, second, *rest = [line for line in refused.output.splitlines() if "error[" in line]
    warned = first.replace("error[", "warning[")
    assert not rest
    for name, broken in {
        "findings_once": replace(refused, output=f"{first}\n{second}\n{warned}\n{warned}"),
        "findings_sorted": replace(refused, output=f"{second}\n{first}"),
        "nothing_published": replace(refused, root=site.root),
    }.items():
        failures = judge_outcome({"build": "fail", "errors": ERRORS}, broken)
        assert [failure.partition(":")[0] for failure in failures] == [name]


def test_every_promise_was_seen_broken() -> None:
    promises = case_runner.names_of(case_runner.Promises)
    assert {name for name, _ in SPOILED} == promises | {"build", "unique_html_ids"}
    assert case_runner.names_of(case_runner.RefusedPromises) == {
        "findings_once",
        "findings_sorted",
        "nothing_published",
    }


@pytest.mark.parametrize(
    "change",
    [
        {"expect": {"build": "ok"}},
        {"expect": {"build": "fail", "time_limit_s": 1}},
        {"expect": {"build": "maybe", "text_once": ["Words."]}},
        {"expect": {"text_once": ["Words."]}},
        {"expect": {"build": "ok", "text_once": []}},
        {"expect": {"build": "ok", "text_twice": ["Words."]}},
        {"expect": {"build": "fail", "errors": [{}], "text_once": ["Words."]}},
        {"plugin": ["search"]},
        {"steps": [{"arguments": ["build"]}]},
        {"in_process_steps": [{"remove": ["docs/b.md"]}]},
        {"compare": [{"change": {}, "page": "b.md", "section": "b"}]},
        {"compare": [{"change": {}, "page": "b.md", "section": "b", "digests": "same"}]},
        {"compare": [{"change": {"theme": "x"}, "page": "", "section": "", "digest": "same"}]},
    ],
)
def test_cases_that_nothing_would_judge_are_refused(change: Case) -> None:
    good = {**SITE, "expect": {"build": "ok", "text_once": ["More words."]}}
    check_case(good)
    with pytest.raises(BadCaseError):
        check_case({**good, **change})


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"compare": [{"digest": "different"}]}, "compare"),
        ({"compare": [{"digest": "same", "manifest_bytes": "different"}]}, "compare"),
        ({"steps": [{"args": ["build", "--no"]}, {}]}, "build"),
        ({"in_process_steps": [{}, {"write": {"docs/b.md": "# B\n\n## C\n"}}]}, "build"),
        ({"in_process_steps": [{"write": {"docs/b.md": "# B\n\n## C\n"}}, {}]}, "build"),
    ],
)
def test_wrong_sequences_fail(change: Case, told: str, tmp_path: Path) -> None:
    case = {**SITE, "expect": {"build": "ok", "text_once": ["More words."]}, **change}
    for comparison in case.get("compare", []):
        comparison.update({"change": {}, "page": "b.md", "section": "b"})
    failures = judge(case, tmp_path)
    assert [failure.partition(" ")[0].rstrip(":") for failure in failures] == [told]
