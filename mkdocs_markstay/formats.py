"""Findings for people and for other programs: text, JSON, GitHub annotations, SARIF."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from mkdocs_markstay.findings import CODES, LEVELS, summarize

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mkdocs_markstay.findings import Finding

FORMATS: tuple[str, ...] = ("text", "json", "github", "sarif")
"""How findings can be written."""

DESCRIPTIONS: dict[str, str] = {
    # ids in headings
    "missing-id": "A heading that must have a section id has none.",
    "empty-id": "The spelling of a section id has no id in it.",
    "malformed-id": "A section id has a character that none can have, is too long or not closed.",
    "misplaced-id": "What looks like a section id stands where none can stand.",
    "two-ids": "A heading has more than one section id.",
    "mangled-id": "Markdown without the plugin reads the section id as emphasis.",
    "id-pattern": "A section id does not match the site's own pattern.",
    "duplicate-id": "Two headings of a page have the same section id.",
    "id-taken": "Something else in the page has the same id as a section.",
    "case-clash": "Two section ids of a page differ only in case.",
    # pages
    "page-id": "The id of a page is not well formed.",
    "duplicate-page-id": "Two pages have the same page id in the same language.",
    "same-url": "Two pages are published at the same address.",
    "page-options": "The options in a page's front matter have no meaning.",
    "not-utf-8": "A file is not UTF-8.",
    "page-error": "A page was replaced by an error text.",
    "bad-baseline": "The baseline cannot be read.",
    # translations
    "parity-missing": "A translation lacks a section id of its original.",
    "parity-extra": "A translation has a section id that its original does not have.",
    "parity-order": "A translation has the section ids of its original in another order.",
    # what was published, against the register
    "lost-referent": "A page or section that was published is not any more.",
    "forgotten-referent": "The register has lost the line of a page or section.",
    "published-again": "A page or section is published that the register says to have gone.",
    "dead-end": "What was moved leads to nothing.",
    "alias-taken": "The old id of a section is the id of something else in the page.",
    "address-taken": "Something else is published at the address of an old page.",
    "redirected-twice": "An old address is led somewhere by mkdocs-redirects, too.",
    "unregistered": "The register does not have what is published.",
    "bad-register": "The register, or a line of it, cannot be read.",
    "register-conflict": "Two lines of the register say what cannot both be true.",
    "register-duplicate": "Two lines of the register are for one referent.",
    # what `stamp` could not or would not write
    # markers of blocks
    "stay-missing": "A block that must have a marker has none.",
    "stay-uncovered": "A published block has no block in the source that could have a marker.",
    "stay-duplicate": "Two markers have the same id.",
    "stay-several": "A block has more than one marker.",
    "stay-orphan": "A marker stands before any block.",
    "stay-malformed": "What begins like a marker is none.",
    "stay-dropped": "A marker that an older revision has is gone.",
    "stay-relocated": "A marker is on the text of another block than in an older revision.",
    "stay-shared": "Two pages have a marker with the same id.",
    "stay-drift": "A block is not the one that the hash in its marker was made of.",
    "stay-unbound": "A marker is bound to nothing that is published.",
    "stay-in-code": "A marker stands in code, where readers see it.",
    "not-stamped": "A heading was left without an id: none can be written for certain.",
    "not-written": "A file that ids belong into was left as it was.",
    "positional-id": "A section id comes from the heading's position among others.",
    # published pages
    "lost-id": "A section id was written, but the published page has no section with it.",
    "leaked-id": "A published title ends with what looks like a section id.",
    "not-published": "The published file has none of the page's content.",
    # pages of a site that is read as it is published
    "left-out": "A file of a published site is no page of prose.",
    "no-content": "A published page has no main content that could be found.",
    "ambiguous-anchor": "The anchor of a heading leads to other places as well.",
    "cut-off": "A published file ends before its prose does.",
    # a published site against its manifest
    "bad-manifest": "The manifest is missing or damaged.",
    "page-missing": "A page of the manifest is not in the site.",
    "page-changed": "A published page cannot be compared with the manifest.",
    "anchor-missing": "A section of the manifest has no anchor in its page.",
    "anchor-repeated": "A section's anchor stands more than once in its page.",
    "section-changed": "A section has another title, order or URL than in the manifest.",
    "passage-changed": "A passage has another text than in the manifest.",
    "digest-wrong": "A digest or id in the manifest is not what the rules give.",
}
"""What each finding code says, in one sentence."""

_TOOL = "mkdocs-markstay"
_JSON_SCHEMA = 1
_SARIF_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_SARIF_LEVELS = {"error": "error", "warning": "warning", "info": "note"}
_GITHUB_COMMANDS = {"error": "error", "warning": "warning", "info": "notice"}
# GitHub shows this many annotations of each level for one step of a job.
_GITHUB_SHOWS = 10
# The line in `docs/install.md:19`. Messages name other places in that form.
_LINE_NUMBER = re.compile(r":[0-9]+")
_LINK_SIGNS = re.compile(r"[\\\[\]]")


def format_findings(findings: Sequence[Finding], style: str, version: str) -> str:
    """Write findings that are judged and sorted, in one of `FORMATS`.

    ``version`` is that of this package. The result is empty (`text` and `github`
    without findings) or ends with one newline. It holds no lone surrogate, so it
    can always be encoded; `json` and `sarif` are meant to be UTF-8.

    `text`: one line for each, ``str(finding)``.

    `json`: one object. Keys stand in this order::

        {"schema": 1,
         "generator": {"name": "mkdocs-markstay", "version": "0.1.0"},
         "summary": {"error": 1, "warning": 0, "info": 0, "debt": 0},
         "findings": [{"path": "docs/a.md", "line": 3, "level": "error",
                       "code": "missing-id", "message": "heading ...", "heading": "Install",
                       "via": {"path": "docs/b.md", "line": 6}, "debt": false}]}

    ``heading`` is "" for what is not about a heading, ``via`` (the line that inserts
    the text) is null for text that stands in the file itself. ``debt`` is true for what
    the site's baseline has; in the summary, these are counted under no level.

    `github`: one workflow command for each, whose message is the line of `text`. Debts
    are left out: they are not what a change is to be told of. If there are more of a
    level than GitHub shows, a command that counts them all stands first.

    `sarif`: a SARIF 2.1.0 log of one run. The partial fingerprint ``finding/v1`` is made
    of path, code and heading (without a heading: the message, line numbers taken out),
    and of a number that counts those for which all this is the same: it stays when
    the finding moves to another line. Debts are suppressed.
    """
    findings = [_make_encodable(found) for found in findings]
    if style == "text":
        return "".join(f"{found}\n" for found in findings)
    if style == "github":
        return _write_commands(findings)
    if style == "json":
        document = _make_json(findings, version)
    elif style == "sarif":
        document = _make_sarif(findings, version)
    else:
        raise ValueError(f"{style!r} is none of {', '.join(FORMATS)}")
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def _make_encodable(found: Finding) -> Finding:
    return replace(
        found,
        path=_escape_surrogates(found.path),
        message=_escape_surrogates(found.message),
        via=_escape_surrogates(found.via),
        heading=_escape_surrogates(found.heading),
    )


def _escape_surrogates(text: str) -> str:
    """Escape lone surrogates: Python has them for the bytes of file names that are not UTF-8."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _split_place(place: str) -> tuple[str, int]:
    path, _, line = place.rpartition(":")
    return path, int(line)


# -- JSON


def _make_json(findings: Sequence[Finding], version: str) -> dict[str, Any]:
    counts = Counter("debt" if found.debt else found.level for found in findings)
    return {
        "schema": _JSON_SCHEMA,
        "generator": {"name": _TOOL, "version": version},
        "summary": {name: counts[name] for name in ("error", "warning", "info", "debt")},
        "findings": [_make_record(found) for found in findings],
    }


def _make_record(found: Finding) -> dict[str, Any]:
    return {
        "path": found.path,
        "line": found.line,
        "level": found.level,
        "code": found.code,
        "message": found.message,
        "heading": found.heading,
        "via": dict(zip(("path", "line"), _split_place(found.via), strict=True))
        if found.via
        else None,
        "debt": found.debt,
    }


# -- GitHub


def _write_commands(findings: Sequence[Finding]) -> str:
    findings = [found for found in findings if not found.debt]
    commands = [
        write_command(
            found.level,
            {"file": found.path, "line": str(found.line), "title": found.code},
            # The log of a job shows the message alone, so that names the place, too.
            str(found),
        )
        for found in findings
    ]
    levels = Counter(found.level for found in findings)
    if max(levels.values(), default=0) > _GITHUB_SHOWS:
        worst = next(level for level in LEVELS if levels[level])
        message = f"{summarize(findings)}. Not all are shown as annotations; the log has them all"
        commands.insert(0, write_command(worst, {"title": _TOOL}, message))
    return "".join(f"{command}\n" for command in commands)


def write_command(level: str, properties: dict[str, str], message: str) -> str:
    """Write a workflow command of GitHub; ``level`` is one of findings."""
    written = ",".join(f"{name}={_escape_property(value)}" for name, value in properties.items())
    return f"::{_GITHUB_COMMANDS[level]} {written}::{_escape_data(message)}"


def _escape_data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape_data(text).replace(":", "%3A").replace(",", "%2C")


# -- SARIF


def _make_sarif(findings: Sequence[Finding], version: str) -> dict[str, Any]:
    # All rules, not only those of the findings: GitHub expects the same ones in every run.
    rules = [_make_rule(code) for code in CODES]
    index_of = {code: index for index, code in enumerate(CODES)}
    results = []
    seen: Counter[str] = Counter()
    for found in findings:
        digest = _fingerprint(found)
        seen[digest] += 1
        result = _make_result(found, index_of[found.code])
        # Not `primaryLocationLineHash`: GitHub's upload makes that from the source itself,
        # and warns about each that is not what it would make.
        result["partialFingerprints"] = {"finding/v1": f"{digest}:{seen[digest]}"}
        results.append(result)
    driver = {"name": _TOOL, "version": version, "rules": rules}
    return {
        "$schema": _SARIF_SCHEMA,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }


def _make_rule(code: str) -> dict[str, Any]:
    description = {"text": DESCRIPTIONS.get(code, code)}
    # GitHub wants all three texts.
    return {
        "id": code,
        "shortDescription": description,
        "fullDescription": description,
        "help": {"text": f"See '{code}' on the page Findings of the documentation of {_TOOL}."},
        "defaultConfiguration": {"level": _SARIF_LEVELS[CODES[code]]},
    }


def _make_result(found: Finding, rule: int) -> dict[str, Any]:
    message = found.message
    related = []
    if found.via:
        # A related location is shown where a link in the message leads to its number.
        name = _LINK_SIGNS.sub(r"\\\g<0>", found.via)
        message = f"{message} (inserted by [{name}](1))"
        related = [{"id": 1, **_make_location(*_split_place(found.via))}]
    result: dict[str, Any] = {
        "ruleId": found.code,
        "ruleIndex": rule,
        "level": _SARIF_LEVELS[found.level],
        "message": {"text": message},
        "locations": [_make_location(found.path, found.line)],
    }
    if related:
        result["relatedLocations"] = related
    if found.debt:
        result["suppressions"] = [{"kind": "external"}]
    return result


def _make_location(path: str, line: int) -> dict[str, Any]:
    # GitHub takes what is relative as relative to the root of the repository.
    uri = Path(path).as_uri() if Path(path).is_absolute() else quote(path)
    return {
        "physicalLocation": {"artifactLocation": {"uri": uri}, "region": {"startLine": line}},
    }


def _fingerprint(found: Finding) -> str:
    subject = found.heading or _LINE_NUMBER.sub("", found.message)
    return sha256(f"{found.path}\n{found.code}\n{subject}".encode()).hexdigest()
