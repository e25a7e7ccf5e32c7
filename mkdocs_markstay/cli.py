"""The command line: `mkdocs-markstay`. Exit codes: 0 clean, 1 findings, 2 cannot run.

What a command needs is imported when it runs, so that each is quick.
"""

# ruff: noqa: PLC0415, PTH100

from __future__ import annotations

import os
from errno import ENOSPC
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from mkdocs_markstay import __version__
from mkdocs_markstay.cli_diff import diff
from mkdocs_markstay.cli_export import export
from mkdocs_markstay.cli_register import lock, move, rename, resolve, restore, retire
from mkdocs_markstay.cli_stats import stats
from mkdocs_markstay.cli_sync import sync
from mkdocs_markstay.cli_tools import (
    config_option,
    count,
    errors,
    fail,
    find_config,
    format_option,
    inspect,
    print_findings,
    print_if_not_configured,
    progress,
    quiet_option,
    sum_up,
    within,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mkdocs_markstay.check_site import Verdict
    from mkdocs_markstay.findings import Finding
    from mkdocs_markstay.inspection import Inspection, RenderedPage
    from mkdocs_markstay.stamp_plan import Choice
    from mkdocs_markstay.stamp_site import Stamps


_FOLDER = click.Path(exists=True, file_okay=False)

_paths = click.argument("paths", nargs=-1, type=click.Path(exists=True), metavar="[PATH]...")


class _Commands(click.Group):
    def invoke(self, ctx: click.Context) -> Any:
        """Run a command. Where its output goes, there may be no room."""
        try:
            return super().invoke(ctx)
        except OSError as error:
            # Of files, commands tell themselves; whoever reads no more is no error.
            if error.errno == ENOSPC and error.filename is None:
                fail(f"the output cannot be written: {error.strerror}")
            raise


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="mkdocs-markstay")
def main() -> None:
    """Section ids, passages and their manifest for documentation sites."""


@main.command()
@click.argument(
    "site", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="SITE"
)
@quiet_option
def verify(site: Path) -> None:
    """Prove that the published site in the folder SITE and its manifest agree.

    Reads every page that the manifest lists with a second, independent extractor:
    each section's anchor must stand exactly once in its page, each passage's text
    under it, and every digest and id must come out again.
    """
    from mkdocs_markstay.findings import judge, summarize
    from mkdocs_markstay.verify import verify_site

    with progress() as shown:
        findings = judge(verify_site(site, shown), {})
    for found in findings:
        click.echo(found)
    if findings:
        sum_up(summarize(findings))
        raise SystemExit(1)
    click.echo(f"{site}: the site and its manifest agree")


@main.command()
@click.argument(
    "site", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="SITE"
)
@click.option(
    "-f",
    "--config",
    "--config-file",
    "config_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A mkdocs.yml with the site's options. MkDocs need not be installed.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The folder to write to. Default: SITE.",
)
@click.option(
    "--sources",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The folder of the site's sources. Default: the docs folder of the configuration.",
)
@click.option(
    "--assume-explicit", is_flag=True, help="All anchors of headings were written by authors."
)
@click.option(
    "--content", metavar="SELECTOR", help="The element that holds a page's prose, in CSS."
)
@click.option(
    "--exclude",
    multiple=True,
    metavar="PATTERN",
    help="Pages to leave out, as in .gitignore. Can be given again.",
)
@click.option("--publication", metavar="NAME", help="Names the corpus in every chunk id.")
@click.option("--site-url", metavar="URL", help="The address of the site.")
@click.option("--language", metavar="CODE", help="The language of the site.")
@format_option
@quiet_option
def manifest(
    site: Path,
    config_file: Path | None,
    output: Path | None,
    style: str,
    exclude: tuple[str, ...],
    assume_explicit: bool,
    **given: Any,
) -> None:
    """Write the manifest of the published site in the folder SITE, whoever built it.

    Reads the HTML alone. Options come from the configuration, those given here go
    before them.
    """
    from contextlib import closing

    from mkdocs_markstay.findings import judge, name_path, summarize
    from mkdocs_markstay.site_manifest import SiteError, check_free, join_left_out, read_site
    from mkdocs_markstay.site_options import OptionsError, choose_options

    given |= {"exclude": exclude, "explicit": assume_explicit}
    folder = output or site
    try:
        options = choose_options(config_file, given)
        with progress() as shown:
            made = read_site(site, options, shown)
    except (OptionsError, SiteError) as error:
        fail(str(error))
    with closing(made):
        findings = judge([*made.findings, *check_free(folder)], options.severities)
        print_findings(join_left_out(findings, site) if style == "text" else findings, style)
        if findings:
            sum_up(summarize(findings))
        if any(found.level == "error" for found in findings):
            raise SystemExit(1)
        if not made.pages:
            fail(f"there is no page of prose in {site}, so nothing is written")
        try:
            made.write(folder)
        except OSError as error:
            fail(f"the manifest cannot be written: {error}")
        sum_up(f"{name_path(folder)}: {made.writer.summary()}")
        if made.sourceless:
            pages = count(made.sourceless, "page")
            click.echo(f"no source was found of {pages} of {made.pages}", err=True)
        if made.unknown:
            pages = count(made.unknown, "page")
            click.echo(
                f"nothing tells who wrote the section ids of {pages}, so they are marked as"
                " generated. Name the sources (--sources), or say that all ids were written"
                " (--assume-explicit)",
                err=True,
            )


@main.command()
@config_option
@_paths
@format_option
@click.option("--strict", is_flag=True, help="Warnings fail, too, as in `mkdocs build --strict`.")
@click.option("--no-cache", is_flag=True, help="Render all pages, and keep nothing.")
@click.option("--stays", is_flag=True, help="Only tell what is wrong with markers of blocks.")
@click.option(
    "--since",
    metavar="REVISION",
    help="With --stays: also find markers that were dropped, doubled or relocated since.",
)
@quiet_option
def check(
    config_file: str | None,
    paths: tuple[str, ...],
    style: str,
    strict: bool,
    no_cache: bool,
    stays: bool,
    since: str | None,
) -> None:
    """Say what `mkdocs build` would find, without a build.

    Renders the Markdown of the pages that changed since the last check, and writes no
    HTML. With PATHs, only findings in these files and folders are told.
    """
    if since is not None and not stays:
        fail("--since is for --stays")
    verdict = _check(config_file, strict=strict, cache=not no_cache)
    if stays:
        found = [each for each in verdict.findings if each.code.startswith("stay-")]
        found += _find_changes(config_file, verdict, since, found) if since is not None else []
        verdict = verdict._replace(findings=sorted(found, key=lambda f: (f.path, f.line, f.code)))
    findings = within(verdict.findings, paths)
    print_findings(findings, style)
    _print_summary(findings, verdict)
    _exit(findings, verdict)


@main.command()
@config_option
@click.option("--prune", is_flag=True, help="Only take out what is repaired; add nothing.")
@quiet_option
def baseline(config_file: str | None, prune: bool) -> None:
    """Record today's findings, so that only new ones fail.

    Writes `markstay.baseline` beside the configuration. The plugin and `check` lower the
    findings that are in it to `info`.
    """
    from mkdocs_markstay.baseline import Baseline

    verdict = _check(config_file)
    debts = Baseline(find_config(config_file))
    debts.read()
    if prune and debts.findings and not debts.debts:
        fail(f"{debts.shown} is no baseline, so nothing is taken out of it")
    before = debts.debts.total()
    debts.take(verdict.findings, prune=prune)
    try:
        debts.write()
    except OSError as error:
        fail(f"{debts.shown} cannot be written: {error.strerror}")
    after = count(debts.debts.total(), "old finding")
    click.echo(f"{debts.shown}: {after} (before: {before})")
    print_if_not_configured(configured=verdict.configured)


@main.command()
@config_option
@format_option
@click.option(
    "--original",
    type=click.Path(exists=True, file_okay=False),
    help="The docs folder of the originals.",
)
@click.option(
    "--translation",
    type=click.Path(exists=True, file_okay=False),
    help="The docs folder of the translations. Default: the site's.",
)
@quiet_option
def parity(
    config_file: str | None, style: str, original: str | None, translation: str | None
) -> None:
    """Compare the section ids of translated pages with those of their originals.

    Without --original, the languages of the site are compared (mkdocs-static-i18n).
    """
    from mkdocs_markstay.findings import judge, name_path, summarize
    from mkdocs_markstay.inspection import Inspection
    from mkdocs_markstay.translations import compare_languages, compare_trees

    path = find_config(config_file)
    run, first = Inspection(), Inspection()
    with errors():
        inspect(path, run, docs_dir=translation and os.path.abspath(translation))
        if original:
            inspect(path, first, docs_dir=os.path.abspath(original))
    settings = run.settings
    assert settings is not None
    # What is not in the docs folder of the site cannot be stamped.
    stamp = "" if translation else settings.rules.stamp
    if original:
        folder = name_path(original)
        pages, found = compare_trees(first.reports, run.reports, stamp, folder)
        why = f"no page has an original with the same path in {folder}"
    else:
        pages, found = compare_languages(run.reports, settings.default_language, {}, stamp)
        why = "no page has a translation. Name the docs folder of the originals: --original"
    if not pages:
        fail(why)
    judged = judge([*found.unnamed, *found.others], settings.levels)
    print_findings(judged, style)
    sum_up(f"{summarize(judged)} ({count(pages, 'translated page')})")
    print_if_not_configured(configured=settings.configured)
    raise SystemExit(1 if judged else 0)


@main.command()
@config_option
@_paths
@click.option(
    "--syntax",
    type=click.Choice(("auto", "angle", "brace")),
    default="auto",
    show_default=True,
    help="<#id>, {#id}, or what the site mostly uses.",
)
@click.option("--write", is_flag=True, help="Change the files. Default: print a diff.")
@click.option(
    "--fresh", is_flag=True, help="Make new ids from titles, for pages that nobody links to yet."
)
@click.option(
    "--from",
    "original",
    type=click.Path(exists=True),
    help="Carry ids over from the original of a translation: a file, or a docs folder.",
)
@click.option("--stays", is_flag=True, help="Write markers below blocks that have none instead.")
@click.option("--refresh", is_flag=True, help="With --stays: accept blocks that were edited.")
@click.option("--repair", is_flag=True, help="With --stays: give copies of blocks their own ids.")
@quiet_option
def stamp(
    config_file: str | None,
    paths: tuple[str, ...],
    syntax: str,
    write: bool,
    fresh: bool,
    original: str | None,
    stays: bool,
    refresh: bool,
    repair: bool,
) -> None:
    """Write into each heading without an id the anchor that it has today.

    The site is rendered before and after; a heading of which more than the id would
    change is left alone. With PATHs, only these files and folders are stamped.

    With --stays, a marker (`<!-- stay:ID hash=... -->`) is written below each block of prose
    that has none; with --refresh or --repair, only markers that are there are changed.
    """
    from mkdocs_markstay.stamp_site import StampOptions, stamp_site

    if stays:
        if fresh or original or syntax != "auto":
            fail("--syntax, --fresh and --from are for ids, not for --stays")
        stamps = _stamp_stays(find_config(config_file), paths, refresh=refresh, repair=repair)
        if write and not stamps.settings.configured:
            fail(
                "the site does not use markstay, and markers below the items of a list would divide"
                " it. Add it to the plugins first"
            )
        _finish(stamps, "marker", write=write)
    if refresh or repair:
        fail("--refresh and --repair are for --stays")
    if fresh and original:
        fail("--fresh and --from cannot be used together")
    if original and Path(original).is_file() and [Path(each).is_file() for each in paths] != [True]:
        fail(f"{original} is the original of one page. Name that page, too: PATH")
    path = find_config(config_file)
    options = StampOptions(tuple(map(Path, paths)), syntax, _choose(path, original, fresh=fresh))
    with errors():
        stamps = stamp_site(path, options, inspect)
    _finish(stamps, "id", write=write)


def _stamp_stays(path: str, paths: Sequence[str], *, refresh: bool, repair: bool) -> Stamps:
    from mkdocs_markstay.stay_stamping import MINT, REFRESH, REPAIR, StayOptions, stamp_stays

    if refresh and repair:
        fail("--refresh and --repair cannot be used together")
    action = REFRESH if refresh else REPAIR if repair else MINT
    with errors():
        return stamp_stays(path, StayOptions(tuple(map(Path, paths)), action), inspect)


def _finish(stamps: Stamps, name: str, *, write: bool) -> NoReturn:
    """Write files, or show what would be written, and end the program."""
    from mkdocs_markstay.edits import diff_text

    if write:
        stamps.write()
    else:
        for file in stamps.files:
            click.echo(diff_text(file.path, file.old, file.new).encode(), nl=False)
    # Beside a diff nothing else may stand.
    for found in stamps.findings:
        click.echo(found, err=not write)
    for missed, reason in stamps.missed.items():
        click.echo(f"{missed} {reason}", err=True)
    what = f"{count(stamps.ids, name)} in {count(len(stamps.files), 'file')}"
    sum_up(f"{what} {'written' if write else 'to write (--write)'}")
    print_if_not_configured(configured=stamps.settings.configured)
    raise SystemExit(any(found.level in ("error", "warning") for found in stamps.findings))


def _choose(
    path: str, original: str | None, *, fresh: bool
) -> Callable[[RenderedPage, Inspection], Mapping[int, Choice]]:
    from mkdocs_markstay.originals import Originals
    from mkdocs_markstay.stamp_plan import choose_anew, keep_anchors

    if original:

        def inspect_other(docs: Path, run: Inspection) -> None:
            inspect(path, run, docs_dir=os.path.abspath(docs))

        return Originals(Path(original), inspect_other).choose

    def choose(page: RenderedPage, run: Inspection) -> Mapping[int, Choice]:
        assert run.settings is not None
        new = fresh or page.left_out
        return (choose_anew if new else keep_anchors)(page, run.settings.rules)

    return choose


def _check(config_file: str | None, *, strict: bool = False, cache: bool = True) -> Verdict:
    from mkdocs_markstay.check_site import check_site

    path = find_config(config_file)
    with errors():
        return check_site(path, inspect, strict=strict, cache=cache)


def _find_changes(
    config_file: str | None, verdict: Verdict, revision: str, known: Sequence[Finding]
) -> list[Finding]:
    """Find what became of markers since a revision, but for what is known without it."""
    from mkdocs_markstay.findings import judge
    from mkdocs_markstay.git_command import GitError
    from mkdocs_markstay.identity import STAY_PREFIX
    from mkdocs_markstay.register import LIVE, read_register
    from mkdocs_markstay.stay_changes import find_changes

    docs = Path(verdict.docs)
    entries = read_register(find_config(config_file)).entries.values()
    # What somebody has said of a block's anchor is known, in whichever page it was.
    retired = {
        entry.section_id.removeprefix(STAY_PREFIX) for entry in entries if entry.state != LIVE
    }
    try:
        changes = find_changes(docs, revision, verdict.stay_blocks, verdict.stamp, retired)
    except GitError as error:
        fail(f"--since {revision}: {error}")
    places = {(found.path, found.line, found.code) for found in known}
    new = [each for each in changes if (each.path, each.line, each.code) not in places]
    return judge(new, verdict.levels)


def _print_summary(findings: Sequence[Finding], verdict: Verdict) -> None:
    from mkdocs_markstay.findings import summarize

    parts = [summarize(findings)]
    if verdict.debts:
        parts.append(verdict.debts)
    pages = count(verdict.pages, "page")
    sum_up(f"{'; '.join(parts)} ({pages}, {verdict.rendered} rendered now)")
    print_if_not_configured(configured=verdict.configured)


def _exit(findings: Sequence[Finding], verdict: Verdict) -> None:
    failing = {"error", "warning"} if verdict.strict else {"error"}
    raise SystemExit(any(found.level in failing for found in findings))


for _command in (diff, export, lock, move, rename, resolve, restore, retire, stats, sync):
    main.add_command(_command)
