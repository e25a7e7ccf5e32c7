"""The build's verdict on a site, without a build; what did not change is not rendered again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mkdocs_markstay.check_cache import load

if TYPE_CHECKING:
    from collections.abc import Callable

    from mkdocs_markstay.findings import Finding


class Verdict(NamedTuple):
    """What is wrong with a site.

    ``findings`` are judged, by the site's levels and its baseline, and sorted; ``debts``
    says how many old ones are left, "" without a baseline. ``strict``: warnings fail, too.
    ``pages`` counts the pages of the site, ``rendered`` those that had to be rendered now;
    ``configured`` is False if the plugin is not in the configuration.
    """

    findings: list[Finding]
    debts: str
    strict: bool
    pages: int
    rendered: int
    configured: bool


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
    known = load(config_file, overrides) if cache else None
    if known is not None and known.verdict is not None:
        return _read_verdict(known.verdict)

    # Only now: a check that finds nothing changed needs none of it.
    from mkdocs_markstay.findings import judge  # noqa: PLC0415
    from mkdocs_markstay.inspection import Inspection, InspectionError  # noqa: PLC0415
    from mkdocs_markstay.page_report import PageReport  # noqa: PLC0415
    from mkdocs_markstay.read_files import recording  # noqa: PLC0415

    run = Inspection()
    if known is None:
        inspect(config_file, run, **overrides)
    else:
        run.known = {key: PageReport.from_json(each) for key, each in known.reports.items()}
        run.wants = lambda key, _path: key not in run.known
        with recording() as record:
            run.begin_page = record.begin_page
            inspect(config_file, run, **overrides)
    settings = run.settings
    if settings is None:
        raise InspectionError("MkDocs stopped before it had read the site")
    findings = settings.baseline.judge(judge(run.findings, settings.levels))
    verdict = Verdict(
        findings,
        settings.baseline.summarize(),
        settings.strict,
        len(run.reports),
        sum(report.key not in run.known for report in run.reports),
        settings.configured,
    )
    if known is not None:
        reports = {report.key: report.to_json() for report in run.reports if not report.generated}
        known.save(record, reports, _write_verdict(verdict))
    return verdict


def _write_verdict(verdict: Verdict) -> Any:
    from dataclasses import asdict  # noqa: PLC0415

    return [[asdict(found) for found in verdict.findings], *verdict[1:]]


def _read_verdict(value: Any) -> Verdict:
    from mkdocs_markstay.findings import Finding  # noqa: PLC0415

    return Verdict([Finding(**each) for each in value[0]], *value[1:])._replace(rendered=0)
