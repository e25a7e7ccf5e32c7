"""Findings in the four formats, read back as their consumers read them."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from jsonschema import Draft4Validator

from mkdocs_markstay.findings import CODES, Finding, judge
from mkdocs_markstay.formats import DESCRIPTIONS, FORMATS, format_findings

# The official schema (errata 01), unchanged.
SARIF = Draft4Validator(
    json.loads(Path(__file__).with_name("sarif-schema-2.1.0.json").read_text("utf-8"))
)

MISSING = Finding(
    "docs/guide/install.md",
    3,
    "missing-id",
    "heading 'Install' has no section id. Write: ## Install <#install>",
    heading="Install",
)
INSERTED = Finding(
    "docs/part, 1.md",
    1,
    "not-published",
    "nothing of it, 100%",
    "info",
    via="docs/[a] b.md:6",
)
DEBT = replace(MISSING, level="info", debt=True)

# What has a meaning in one of the formats, and what cannot be encoded.
SIGNS = '%::,;=[]()\\/?#"\r\n\x1b\u2028\udc80\ud83d ü'
NASTY = Finding(SIGNS, 7, "id-taken", SIGNS, via=f"{SIGNS}:8", heading=SIGNS)

ANY_TEXT = st.text(st.sampled_from(SIGNS) | st.characters(), max_size=12)
PATHS = st.one_of(
    ANY_TEXT.filter(bool), st.sampled_from(["../up.md", "a:b.md", "docs/ü, 1%.md", "/abs/x y.md"])
)
LINES = st.integers(1, 10_000)


@st.composite
def findings(draw: st.DrawFn) -> Finding:
    return Finding(
        draw(PATHS),
        draw(LINES),
        draw(st.sampled_from(list(CODES))),
        draw(ANY_TEXT),
        via=draw(st.just("") | st.builds("{}:{}".format, PATHS, LINES)),
        heading=draw(st.just("") | ANY_TEXT),
        debt=draw(st.booleans()),
    )


JUDGED = st.builds(judge, st.lists(findings(), max_size=4), st.just({}))

quickly = settings(max_examples=50, deadline=None, derandomize=True, database=None)


def write(found: list[Finding], style: str) -> str:
    return format_findings(found, style, "1.2.3")


def run(found: list[Finding]) -> Any:
    """Give the one run of a SARIF log that is valid."""
    log = json.loads(write(found, "sarif"))
    SARIF.validate(log)
    (only,) = log["runs"]
    return only


def fingerprints(found: list[Finding]) -> list[str]:
    results = json.loads(write(found, "sarif"))["runs"][0]["results"]
    return [result["partialFingerprints"]["finding/v1"] for result in results]


def place(uri: str, line: int) -> dict[str, Any]:
    return {"physicalLocation": {"artifactLocation": {"uri": uri}, "region": {"startLine": line}}}


def escape(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


def read_command(line: str) -> tuple[str, dict[str, str], str]:
    """Read a workflow command as GitHub's runner does."""
    head, message = line.removeprefix("::").split("::", 1)
    command, _, rest = head.partition(" ")
    pairs = [pair.split("=", 1) for pair in rest.split(",")]

    def unescape(text: str, signs: dict[str, str]) -> str:
        for code, sign in signs.items():
            text = text.replace(code, sign)
        return text

    data = {"%0D": "\r", "%0A": "\n", "%25": "%"}
    properties = {"%3A": ":", "%2C": ",", **data}
    return (
        command,
        {name: unescape(value, properties) for name, value in pairs},
        unescape(message, data),
    )


# -- every format


@given(JUDGED, st.sampled_from(FORMATS))
@example([NASTY], "json")
@example([NASTY], "sarif")
@quickly
def test_output_can_be_encoded_and_ends_with_one_newline(found: list[Finding], style: str) -> None:
    text = write(found, style)
    text.encode()
    assert text.endswith("\n") or not text
    assert not text.endswith("\n\n")


def test_unknown_format() -> None:
    with pytest.raises(ValueError, match="'xml' is none of text, json, github, sarif"):
        write([MISSING], "xml")


# -- text


def test_text() -> None:
    assert write([], "text") == ""
    assert write([MISSING, INSERTED], "text") == f"{MISSING}\n{INSERTED}\n"


@given(JUDGED)
@example([NASTY])
@quickly
def test_text_has_a_line_for_each(found: list[Finding]) -> None:
    assert len(write(found, "text").splitlines()) == len(found)


# -- JSON


def test_json() -> None:
    text = write([MISSING, INSERTED], "json")
    expected = {
        "schema": 1,
        "generator": {"name": "mkdocs-markstay", "version": "1.2.3"},
        "summary": {"error": 1, "warning": 0, "info": 1, "debt": 0},
        "findings": [
            {
                "path": "docs/guide/install.md",
                "line": 3,
                "level": "error",
                "code": "missing-id",
                "message": "heading 'Install' has no section id. Write: ## Install <#install>",
                "heading": "Install",
                "via": None,
                "debt": False,
            },
            {
                "path": "docs/part, 1.md",
                "line": 1,
                "level": "info",
                "code": "not-published",
                "message": "nothing of it, 100%",
                "heading": "",
                "via": {"path": "docs/[a] b.md", "line": 6},
                "debt": False,
            },
        ],
    }
    # As text: the order of keys is part of the format.
    assert text == json.dumps(expected, indent=2) + "\n"


def test_json_of_nothing() -> None:
    data = json.loads(write([], "json"))
    assert data["summary"] == {"error": 0, "warning": 0, "info": 0, "debt": 0}
    assert data["findings"] == []


def test_json_counts_debts_apart() -> None:
    data = json.loads(write([DEBT, INSERTED], "json"))
    assert data["summary"] == {"error": 0, "warning": 0, "info": 1, "debt": 1}
    assert [record["debt"] for record in data["findings"]] == [True, False]


@given(JUDGED)
@example([NASTY])
@quickly
def test_json_keeps_every_finding(found: list[Finding]) -> None:
    data = json.loads(write(found, "json"))
    read = [
        Finding(
            **{**record, "via": "{path}:{line}".format(**via) if (via := record["via"]) else ""}
        )
        for record in data["findings"]
    ]
    assert read == [
        replace(
            each,
            path=escape(each.path),
            message=escape(each.message),
            via=escape(each.via),
            heading=escape(each.heading),
        )
        for each in found
    ]
    assert sum(data["summary"].values()) == len(found)


def test_json_is_readable_in_every_script() -> None:
    assert "安裝" in write([replace(MISSING, heading="安裝")], "json")


# -- GitHub


def test_github() -> None:
    assert write([], "github") == ""
    assert write([MISSING, INSERTED], "github") == (
        "::error file=docs/guide/install.md,line=3,title=missing-id::docs/guide/install.md:3:"
        " error[missing-id] heading 'Install' has no section id. Write: ## Install <#install>\n"
        "::notice file=docs/part%2C 1.md,line=1,title=not-published::docs/part, 1.md:1:"
        " info[not-published] nothing of it, 100%25 (inserted by docs/[a] b.md:6)\n"
    )


@given(JUDGED)
@example([NASTY])
@quickly
def test_github_reads_what_was_written(found: list[Finding]) -> None:
    commands = write(found, "github").split("\n")
    assert commands.pop() == ""
    names = {"error": "error", "warning": "warning", "info": "notice"}
    told = [each for each in found if not each.debt]
    for line, each in zip(commands, told, strict=True):
        assert "\r" not in line
        command, properties, message = read_command(line)
        assert command == names[each.level]
        assert properties == {"file": escape(each.path), "line": str(each.line), "title": each.code}
        assert message == str(replace(each, path=escape(each.path)))


def test_github_is_not_told_of_debts() -> None:
    assert write([DEBT] * 20, "github") == ""


def test_github_counts_what_it_does_not_show() -> None:
    many = [replace(MISSING, line=line, level="warning") for line in range(1, 12)]
    assert len(write(many[:10], "github").splitlines()) == 10
    lines = write([*many, INSERTED], "github").splitlines()
    assert len(lines) == 13
    assert lines[0] == (
        "::warning title=mkdocs-markstay::11 warnings (missing-id 11); 1 info (not-published 1)"
        " in 2 files. Not all are shown as annotations; the log has them all"
    )


# -- SARIF


def test_sarif() -> None:
    assert run([MISSING, INSERTED])["results"] == [
        {
            "ruleId": "missing-id",
            "ruleIndex": list(CODES).index("missing-id"),
            "level": "error",
            "message": {"text": MISSING.message},
            "locations": [place("docs/guide/install.md", 3)],
            "partialFingerprints": {
                "finding/v1": "c1b737c5f38a71c183da5e03d15fa1b36bd60393778f0a39d10a2c1e33528618:1"
            },
        },
        {
            "ruleId": "not-published",
            "ruleIndex": list(CODES).index("not-published"),
            "level": "note",
            "message": {"text": "nothing of it, 100% (inserted by [docs/\\[a\\] b.md:6](1))"},
            "locations": [place("docs/part%2C%201.md", 1)],
            "relatedLocations": [{"id": 1, **place("docs/%5Ba%5D%20b.md", 6)}],
            "partialFingerprints": {
                "finding/v1": "f2d7a2750c9dd9543eafd71ae514498bd00ecdbb3a31f78f02b8ca00f40fef83:1"
            },
        },
    ]


def test_sarif_names_the_tool_and_every_rule() -> None:
    driver = run([])["tool"]["driver"]
    assert (driver["name"], driver["version"]) == ("mkdocs-markstay", "1.2.3")
    assert [rule["id"] for rule in driver["rules"]] == list(CODES)
    levels = {"error": "error", "warning": "warning", "note": "info"}
    for rule in driver["rules"]:
        code = rule["id"]
        assert levels[rule["defaultConfiguration"]["level"]] == CODES[code]
        assert rule["shortDescription"]["text"] == DESCRIPTIONS[code]
        # GitHub takes these for required, and cuts them at 1024 characters.
        assert 0 < len(rule["fullDescription"]["text"]) < 1024
        assert f"'{code}'" in rule["help"]["text"]


@given(JUDGED)
@example([NASTY])
@quickly
def test_sarif_is_valid_and_says_what_the_findings_say(found: list[Finding]) -> None:
    only = run(found)
    rules = only["tool"]["driver"]["rules"]
    for result, each in zip(only["results"], found, strict=True):
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"] == each.code
        assert result["message"]["text"].startswith(escape(each.message))
        places = result["locations"] + result.get("relatedLocations", [])
        read = [
            (location["physicalLocation"]["artifactLocation"]["uri"], location)
            for location in places
        ]
        expected = [f"{each.path}:{each.line}", *filter(None, [each.via])]
        for (uri, location), name in zip(read, expected, strict=True):
            # RFC 3986: only these characters, and `%` only before two hex digits.
            assert re.fullmatch(r"(?:[\w.~/:-]|%[0-9A-F]{2})*", uri, re.ASCII)
            parts = urlsplit(uri)
            assert parts.scheme in ("", "file")
            assert parts.netloc == ""
            line = location["physicalLocation"]["region"]["startLine"]
            path = unquote(parts.path)
            if parts.scheme:
                assert Path(path) == Path(escape(name).rpartition(":")[0])
            else:
                assert f"{path}:{line}" == escape(name)


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("../shared/a.md", "../shared/a.md"),
        ("docs/100% C#?.md", "docs/100%25%20C%23%3F.md"),
        ("a:b.md", "a%3Ab.md"),
        ("docs/übung.md", "docs/%C3%BCbung.md"),
        ("/srv/a b.md", "file:///srv/a%20b.md"),
    ],
)
def test_sarif_paths(path: str, uri: str) -> None:
    (result,) = run([replace(MISSING, path=path)])["results"]
    assert result["locations"] == [place(uri, 3)]


def test_sarif_suppresses_debts() -> None:
    first, second = run([MISSING, DEBT])["results"]
    assert "suppressions" not in first
    assert second["suppressions"] == [{"kind": "external"}]


# -- fingerprints


def test_fingerprint_stays_when_lines_move() -> None:
    def on(line: int) -> list[Finding]:
        message = f"id 'a' is already used at docs/a.md:{line}. Write: ## B <#b>"
        return [replace(MISSING, line=line + 2), Finding("docs/a.md", line + 5, "page-id", message)]

    assert fingerprints(on(1)) == fingerprints(on(200))


def test_fingerprint_stays_when_the_proposal_changes() -> None:
    other = replace(MISSING, message="heading 'Install' has no section id. Write: ## I <#i-2>")
    assert fingerprints([MISSING]) == fingerprints([other])


@pytest.mark.parametrize(
    "change", [{"path": "docs/b.md"}, {"code": "empty-id"}, {"heading": "Installing"}]
)
def test_fingerprint_tells_apart(change: dict[str, str]) -> None:
    assert fingerprints([MISSING]) != fingerprints([replace(MISSING, **change)])  # type: ignore[arg-type]


def test_fingerprint_counts_headings_of_the_same_title() -> None:
    first, second = fingerprints([MISSING, replace(MISSING, line=9)])
    assert first == f"{second[:-1]}1"
    assert second.endswith(":2")


@given(JUDGED, LINES)
@example([NASTY, replace(NASTY, line=9)], 1)
@quickly
def test_fingerprints_are_unique_and_know_no_line(found: list[Finding], down: int) -> None:
    made = fingerprints(found)
    assert len(set(made)) == len(made)
    assert fingerprints([replace(each, line=each.line + down) for each in found]) == made


# -- descriptions


def test_every_code_is_described() -> None:
    assert list(DESCRIPTIONS) == list(CODES)


def test_descriptions_are_one_sentence() -> None:
    for text in DESCRIPTIONS.values():
        assert re.fullmatch(r"[A-Z][^.\n]{10,90}\.", text.replace("`stamp`", "stamp")), text
    assert len(set(DESCRIPTIONS.values())) == len(DESCRIPTIONS)


def test_a_code_without_a_description_is_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(DESCRIPTIONS, "missing-id")
    assert run([])["tool"]["driver"]["rules"][0]["shortDescription"] == {"text": "missing-id"}
