"""The build's verdict on a site, without a build; what did not change is not rendered again."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from mkdocs_markstay.baseline import Baseline
from mkdocs_markstay.check_cache import load
from mkdocs_markstay.findings import Finding, judge

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mkdocs_markstay.check_cache import Known
    from mkdocs_markstay.inspection import Inspection
    from mkdocs_markstay.page_report import PageReport


class Verdict(NamedTuple):
    """What is wrong with a site.

    ``findings`` are judged, by the site's ``levels`` and its baseline, and sorted;
    ``debts`` says how many old ones are left, "" without a baseline. ``strict``: warnings
    fail, too. ``pages`` counts the pages of the site, ``rendered`` those that had to be
    rendered now; ``configured`` is False if the plugin is not in the configuration.
    ``docs`` is the docs folder, ``stay_blocks`` says what a block is, ``stamp`` is the
    command that stamps the site.
    """

    findings: list[Finding]
    levels: Mapping[str, str]
    strict: bool
    pages: int
    rendered: int
    configured: bool
    docs: str
    stay_blocks: str
    stamp: str
    debts: str = ""


def check_site(
    config_file: str,
    inspect: Callable[..., None],
    *,
    strict: bool = False,
    cache: bool = True,
) -> Verdict:
    """Find what `mkdocs build` would find in a site.

    ``inspect`` renders the site of a configuration file and takes an `Inspection` and
    MkDocs' settings; it is called only if anything has changed since the last check.
    ``strict`` adds to what the configuration says. Raises InspectionError.
    """
    overrides = {"strict": True} if strict else {}
    inspect = partial(inspect, config_file, **overrides)
    if cache:
        known = load(config_file, overrides)
        verdict = _read_verdict(known.verdict) or _check_changes(inspect, known)
    else:
        verdict = _judge(_inspect(inspect, {}))
    # Not kept with the rest: it changes with every debt that is paid, and no page does.
    baseline = Baseline(config_file)
    baseline.read()
    findings = verdict.findings
    if baseline.findings:
        findings = judge([*findings, *baseline.findings], verdict.levels)
    findings = baseline.judge(findings)
    return verdict._replace(findings=findings, debts=baseline.summarize())


def _check_changes(inspect: Callable[..., None], known: Known) -> Verdict:
    """Render what has changed, and keep the result."""
    from mkdocs_markstay.read_files import recording  # noqa: PLC0415 (a quick check needs none)

    with recording() as record:
        run = _inspect(inspect, _read_reports(known.reports), begin_page=record.begin_page)
        if known.is_outdated(record):
            run = _inspect(inspect, {}, begin_page=record.begin_page)
    verdict = _judge(run)
    reports = {report.key: report.to_json() for report in run.reports if not report.generated}
    known.save(record, reports, [[vars(found) for found in verdict.findings], *verdict[1:]])
    return verdict


def _inspect(
    inspect: Callable[..., None], known: Mapping[str, PageReport], **options: Any
) -> Inspection:
    from mkdocs_markstay.inspection import Inspection  # noqa: PLC0415

    run = Inspection(known=known, wants=lambda key, _path: key not in known, **options)
    inspect(run)
    if run.unprobed:
        known = {key: known[key] for key in known.keys() - run.unprobed}
        return _inspect(inspect, known, **options)
    return run


def _judge(run: Inspection) -> Verdict:
    settings = run.settings
    assert settings is not None, "an inspection that ends has them"
    return Verdict(
        judge(run.findings, settings.levels),
        settings.levels,
        settings.strict,
        len(run.reports),
        sum(report.key not in run.known for report in run.reports),
        settings.configured,
        os.fspath(settings.docs),
        settings.rules.stay_blocks,
        settings.rules.stamp,
    )


# What is read from a cache that somebody else has written, or damaged.
_WRONG = (AttributeError, KeyError, TypeError, ValueError)


def _read_verdict(value: Any) -> Verdict | None:
    with suppress(*_WRONG):
        findings, *rest = value
        verdict = Verdict([Finding(**each) for each in findings], *rest)
        return verdict._replace(rendered=0)
    return None


def _read_reports(values: Mapping[str, Any]) -> dict[str, PageReport]:
    from mkdocs_markstay.page_report import PageReport  # noqa: PLC0415

    with suppress(*_WRONG):
        return {key: PageReport.from_json(value) for key, value in values.items()}
    return {}
