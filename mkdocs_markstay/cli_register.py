"""The commands for the register of published referents, and for citations.

What a command needs is imported when it runs, so that each is quick.
"""

# ruff: noqa: PLC0415

from __future__ import annotations

import json
import shlex
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

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
    quiet_option,
    sum_up,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from mkdocs_markstay.findings import Finding
    from mkdocs_markstay.inspection import Inspection, SiteSettings
    from mkdocs_markstay.link_site import LinkedFile
    from mkdocs_markstay.published_places import PublishedPlace
    from mkdocs_markstay.register import Register
    from mkdocs_markstay.register_edits import Changes

_UNREAD = ("bad-register", "register-conflict")

_fix_links = click.option(
    "--fix-links", is_flag=True, help="Rewrite links of the docs that lead to the old address."
)


@click.command()
@config_option
@click.option("--check", is_flag=True, help="Write nothing; fail if the register is not current.")
@click.option(
    "--since",
    metavar="REV",
    help="With --check: what was in it in this commit must be there still.",
)
@_fix_links
@format_option
@quiet_option
def lock(
    config_file: str | None, check: bool, since: str | None, fix_links: bool, style: str
) -> None:
    """Record what the site publishes in markstay.lock, the register of all that it ever did.

    What is new is added. While something is missing that was published, nothing is written:
    `move` or `retire` says first what became of it.
    """
    from mkdocs_markstay.register_edits import Changes

    if since is not None and not check:
        fail("--since is for --check")
    if fix_links and check:
        fail("--fix-links and --check cannot be used together")
    site = _read_site(config_file)
    if check:
        findings = _check_register(site, since)
        changes = None
    else:
        findings, changes = _update_register(site)
    _print_verdict(findings, style)
    if check and not findings:
        shown = site.register.shown
        sum_up(f"{shown} is current: {_referents(len(site.register.entries))}")
    if changes is not None:
        moved = [e.referent for e in site.register.entries.values() if e.paths[1:]]
        moved += [old for old, new in site.followed.items() if old != new]
        told = [referent for referent in moved if fix_links or referent in changes.changed]
        if told:
            _follow_links(site, Changes(changed=told), fix_links=fix_links)
    print_if_not_configured(configured=site.settings.configured)
    raise SystemExit(any(found.level in ("error", "warning") for found in findings))


def _check_register(site: _Site, since: str | None) -> list[Finding]:
    """Find what keeps the register from being current."""
    from mkdocs_markstay.findings import judge
    from mkdocs_markstay.kept_referents import check_forgotten, check_new, check_referents
    from mkdocs_markstay.register_edits import follow

    register, places = site.register, site.places
    now = register.copy()
    follow(now, site.followed, places)
    findings = [*register.findings]
    findings += check_referents(now, places, site.digests, site.followed)
    findings += check_new(register, places, site.followed)
    if since is not None:
        findings += check_forgotten(register, _read_committed(site, since), since)
    return judge(findings, _levels(site))


def _update_register(site: _Site) -> tuple[list[Finding], Changes | None]:
    """Write the register anew, if nothing is missing or wrong: findings, and what was changed."""
    from mkdocs_markstay.findings import judge
    from mkdocs_markstay.kept_referents import check_referents
    from mkdocs_markstay.register import parse_register
    from mkdocs_markstay.register_edits import follow, update

    site, doubles = _settle(site)
    register, places = site.register, site.places
    now = register.copy()
    moved = follow(now, site.followed, places)
    findings = [*register.findings]
    findings += check_referents(now, places, site.digests, site.followed)
    judged = judge(findings, _levels(site))
    failing = any(found.level == "error" for found in judged)
    if register.doubles or (failing and not doubles):
        sum_up(f"{register.shown} is not changed")
        return judged, None
    if failing:
        site.write()
        lines = count(doubles, "line")
        sum_up(f"{register.shown} is not changed, but for {lines} that stood twice")
        return judged, None
    if not places:
        fail("the site publishes nothing, so there is nothing to record")
    register.entries, register.lines = now.entries, now.lines
    changes = update(register, places, site.digests)
    changes.added[:0] = moved.added
    changes.changed[:0] = moved.changed
    site.write()
    what = f"{len(changes.added)} added, {len(changes.changed)} changed"
    sum_up(f"{register.shown}: {_referents(len(register.entries))} ({what})")
    written = register.to_text().encode()
    findings = parse_register(written, register.shown, register.command).findings
    return judge(findings, _levels(site)), changes


def _levels(site: _Site) -> dict[str, str]:
    # A line that cannot be read, or that another one denies, would be lost by writing.
    return {code: level for code, level in site.settings.levels.items() if code not in _UNREAD}


def _print_verdict(findings: Sequence[Finding], style: str) -> None:
    from mkdocs_markstay.findings import summarize

    print_findings(findings, style)
    if findings:
        sum_up(summarize(findings))


@click.command()
@config_option
@click.argument("page", type=click.Path(exists=True, dir_okay=False), metavar="PAGE")
@click.argument("old", metavar="OLD-ID")
@click.argument("new", metavar="NEW-ID")
@_fix_links
@quiet_option
def rename(config_file: str | None, page: str, old: str, new: str, fix_links: bool) -> None:
    """Give a section of the file PAGE another id, and keep the old one for its old address.

    Changes the line of the heading, in all languages, and the register.
    """
    from mkdocs_markstay.register_edits import check_target
    from mkdocs_markstay.register_edits import rename as change
    from mkdocs_markstay.rename_ids import plan_renaming

    site = _read_site(config_file, needs_register=True)
    with _refusals():
        renaming = plan_renaming(site.run, Path(page), old, new, site.register.name("move"))
        for page_id in renaming.page_ids:
            check_target(site.register, f"{page_id}#{old}", f"{page_id}#{new}")

        def record(places: Mapping[str, PublishedPlace]) -> Changes:
            all_places = {**site.places, **places}
            made = change(site.register, renaming.page_ids, old, new, all_places, site.digests)
            site.write()
            return made

        with errors():
            changes = renaming.write(lambda run: inspect(site.config_file, run), record)
    for path, line in renaming.changed:
        click.echo(f"{path}:{line}: {old} is now {new}")
    _tell(changes, site.register)
    _follow_links(site, changes, fix_links=fix_links)


@click.command()
@config_option
@click.argument("old", metavar="OLD-REFERENT")
@click.argument("new", metavar="NEW-REFERENT")
@_fix_links
@quiet_option
def move(config_file: str | None, old: str, new: str, fix_links: bool) -> None:
    """Say that what was published as OLD-REFERENT is now NEW-REFERENT.

    A referent is a page and a section id (`guide/install#setup`), or a page alone; with a
    page go its sections. The sources have been changed already; this changes the register,
    so that the old address leads to the new one.
    """
    from mkdocs_markstay.register_edits import move as change

    site = _read_site(config_file, needs_register=True)
    with _refusals():
        changes = change(site.register, old, new, site.places, site.digests)
    site.write()
    _tell(changes, site.register)
    _follow_links(site, changes, fix_links=fix_links)


@click.command()
@config_option
@click.argument("referent", metavar="[REFERENT]", default="")
@click.option("--reason", required=True, help="What readers of the old address will read.")
@click.option(
    "--stays",
    is_flag=True,
    help="Of the page REFERENT, or of the site, all anchors of blocks that are missing.",
)
@quiet_option
def retire(config_file: str | None, referent: str, reason: str, *, stays: bool) -> None:
    """Say that what was published as REFERENT is gone for good, and why."""
    from mkdocs_markstay.register_edits import retire as change
    from mkdocs_markstay.register_edits import retire_blocks

    if not referent and not stays:
        fail("name what is gone: REFERENT, or --stays for all anchors of blocks that are missing")
    if stays and "#" in referent:
        fail("--stays is for a page, or for the whole site: leave it out")
    site = _read_site(config_file, needs_register=True)
    with _refusals():
        if stays:
            changes = retire_blocks(site.register, referent, reason, site.places)
        else:
            changes = change(site.register, referent, reason, site.places, site.digests)
    site.write()
    _tell(changes, site.register)
    _follow_links(site, changes, fix_links=False)


@click.command()
@config_option
@click.argument("referent", metavar="REFERENT")
@quiet_option
def restore(config_file: str | None, referent: str) -> None:
    """Say that what was published as REFERENT, and had gone, is back: the same, not another.

    With a page come its sections.
    """
    from mkdocs_markstay.register_edits import restore as change

    site = _read_site(config_file, needs_register=True)
    with _refusals():
        changes = change(site.register, referent, site.places, site.digests)
    site.write()
    _tell(changes, site.register)


@click.command()
@config_option
@click.argument("cited", nargs=-1, required=True, metavar="REFERENT|URL...")
@click.option(
    "--manifest",
    type=click.Path(exists=True, path_type=Path),
    help="The manifest, or the folder of the published site. Default: the site's folder.",
)
@click.option(
    "--format",
    "style",
    type=click.Choice(("text", "json")),
    default="text",
    show_default=True,
    help="How the answers are written.",
)
def resolve(
    config_file: str | None, cited: tuple[str, ...], manifest: Path | None, style: str
) -> None:
    """Say where a citation leads today: a referent, or a URL of the site, old or new.

    Reads the manifest alone.
    """
    from mkdocs_markstay.findings import name_path, printable
    from mkdocs_markstay.manifest_shapes import JSON_NAME, ManifestError
    from mkdocs_markstay.resolve import Resolver
    from mkdocs_markstay.site_options import OptionsError, find_site_dir
    from mkdocs_markstay.whole_manifest import read_manifest

    try:
        path = manifest or find_site_dir(Path(find_config(config_file)))
        path = path / JSON_NAME if path.is_dir() or manifest is None else path
        resolver = Resolver(read_manifest(path))
    except OptionsError as error:
        fail(str(error))
    except ManifestError as error:
        fail(f"{name_path(path.parent)}: {error}. Build the site, or name its manifest: --manifest")
    answers = [resolver.resolve(each) for each in cited]
    if style == "json":
        text = json.dumps([vars(each) for each in answers], indent=2, ensure_ascii=False)
        click.echo(text.encode("utf-8", "backslashreplace"))  # an argument need not be Unicode
    for each in answers if style == "text" else ():
        # Of one citation, the answer alone; of several, each behind its own.
        label = f"{each.cited}: " if len(answers) > 1 else ""
        if each.referent:
            click.echo(printable(f"{label}{each.referent} {each.url}"))
        else:
            click.echo(printable(f"{each.cited}: {each.state}: {each.reason}"), err=True)
    raise SystemExit(any(not each.referent for each in answers))


# -- what these commands share


class _Site(NamedTuple):
    """A site as it is now, and its register."""

    config_file: str
    run: Inspection
    settings: SiteSettings
    register: Register
    places: Mapping[str, PublishedPlace]
    digests: Mapping[str, str]
    followed: Mapping[str, str]

    def write(self) -> None:
        from mkdocs_markstay.register import write_register

        try:
            write_register(self.config_file, self.register)
        except OSError as error:
            fail(f"{self.register.shown} cannot be written: {error.strerror}")


def _read_site(config_file: str | None, *, needs_register: bool = False) -> _Site:
    from mkdocs_markstay.inspection import Inspection
    from mkdocs_markstay.kept_blocks import find_followed
    from mkdocs_markstay.published import digest_sections
    from mkdocs_markstay.published_places import list_places
    from mkdocs_markstay.register import read_register
    from mkdocs_markstay.register_edits import follow, settle

    path = find_config(config_file)
    register = read_register(path)
    if not register.readable:
        fail("; ".join(str(found) for found in register.findings))
    if needs_register:
        _check_usable(register)
    run = Inspection(keep=True)
    with errors():
        inspect(path, run)
    settings = run.settings
    assert settings is not None
    places = list_places(run.reports, settings.default_language)
    if needs_register:
        settle(register, places)
        _check_settled(register)
    followed = find_followed(register, places)
    if needs_register:
        follow(register, followed, places)
    shown = {id(place.report) for place in places.values()}
    digests = {}
    for page in run.rendered:
        for section_id, digest in digest_sections(page.html, page.report).items():
            referent = f"{page.report.page_id}#{section_id}"
            if id(page.report) in shown or referent not in digests:
                digests[referent] = digest
    return _Site(path, run, settings, register, places, digests, followed)


def _read_committed(site: _Site, revision: str) -> Register:
    """Read the register as it is in a commit, an empty one if it was not there yet."""
    from mkdocs_markstay.git_command import GitError, read_committed
    from mkdocs_markstay.register import NAME, Register, find_register, parse_register

    try:
        text = read_committed(find_register(site.config_file).parent, revision, NAME)
    except GitError as error:
        fail(f"--since {revision}: {error}")
    if text is None:
        return Register(NAME)
    return parse_register(text.encode("utf-8", "surrogateescape"), f"{revision}:{NAME}")


def _settle(site: _Site) -> tuple[_Site, int]:
    """Leave one of two lines that merging has left, where that can be; count the others."""
    from mkdocs_markstay.register import parse_register
    from mkdocs_markstay.register_edits import settle

    register = site.register
    if any(found.code in _UNREAD for found in register.findings):
        return site, 0
    doubles = settle(register, site.places)
    if doubles and not register.doubles:  # the lines have other numbers now
        text = register.to_text().encode()
        site = site._replace(register=parse_register(text, register.shown, register.command))
    return site, doubles


def _check_usable(register: Register) -> None:
    if not register.exists:
        fail(f"there is no {register.shown} yet. Run: {register.command}")
    _check_none(register, [f for f in register.findings if f.code in _UNREAD])


def _check_settled(register: Register) -> None:
    lines = {number for number, _ in register.doubles}
    lines |= {register.lines[double.referent] for _, double in register.doubles}
    _check_none(
        register,
        [f for f in register.findings if f.code == "register-duplicate" and f.line in lines],
    )


def _check_none(register: Register, problems: list[Finding]) -> None:
    if problems:
        print_findings(problems, "text")
        fail(f"{register.shown} has to be repaired first")


@contextmanager
def _refusals() -> Iterator[None]:
    from mkdocs_markstay.inspection import InspectionError
    from mkdocs_markstay.register_edits import RefusedError

    try:
        yield
    except (RefusedError, InspectionError) as error:
        fail(str(error))


def _tell(changes: Changes, register: Register) -> None:
    from mkdocs_markstay.findings import printable
    from mkdocs_markstay.register import LIVE, MOVED, RETIRED

    for referent in changes.changed:
        entry = register.entries[referent]
        what = {
            LIVE: "is live again",
            MOVED: f"leads to {entry.detail} now",
            RETIRED: f"is retired: {entry.detail}",
        }[entry.state]
        click.echo(printable(f"{referent} {what}"))
    blocks = [each for each in changes.left if register.entries[each].of_block]
    if blocks:
        page_id = blocks[0].partition("#")[0]
        more = f" and {len(blocks) - 1} more anchors of blocks are" if blocks[1:] else " is"
        what = (
            f"{blocks[0]}{more} left. Put the markers where the blocks are now, or say that they"
            f" are gone: {register.name('retire')} {shlex.quote(page_id)} --stays --reason '...'"
        )
        click.echo(printable(what), err=True)
    for referent in changes.left:
        if referent in blocks:
            continue
        quoted = shlex.quote(referent)
        what = (
            f"{referent} is left. Say what became of it: {register.name('move')}"
            f" {quoted} NEW-REFERENT, or {register.name('retire')} {quoted} --reason '...'"
        )
        click.echo(printable(what), err=True)


def _follow_links(site: _Site, changes: Changes, *, fix_links: bool) -> None:
    """Tell the links of the sources that lead to old addresses, or rewrite them."""
    from mkdocs_markstay.changed_sources import list_changed
    from mkdocs_markstay.link_site import find_left, find_site_links, make_addresses

    changed = list_changed(site.register, changes.changed, site.run.reports)
    with errors():
        if fix_links:
            links = find_site_links(site.config_file, changed, inspect)
            _rewrite(links.files)
            for left in links.left:
                click.echo(f"{left.path}:{left.line}: {left}", err=True)
            return
    rendered = site.run.rendered
    found = find_left(rendered, changed, make_addresses(site.run, changed))
    for left in found:
        gone = " (gone)" if left.new is None else f" (now {left.new})"
        click.echo(f"{left.path} has a link to {left.old}{gone}", err=True)
    if any(left.new is not None for left in found):
        click.echo(f"{_FIX}: {_name_fix(site, changes)} --fix-links", err=True)


_FIX = "the links of the sources can be rewritten"


def _name_fix(site: _Site, changes: Changes) -> str:
    entry = site.register.entries[changes.changed[0]]
    if not entry.detail:  # a page has another path now
        return site.register.command
    words = map(shlex.quote, (entry.referent, entry.detail))
    return f"{site.register.name('move')} {' '.join(words)}"


def _rewrite(files: Iterable[LinkedFile]) -> None:
    from mkdocs_markstay.edits import NotReplacedError, replace_file

    for file in files:
        try:
            replace_file(Path(file.path), file.old, file.new)
        except NotReplacedError as error:
            click.echo(str(error), err=True)
            continue
        for link in file.links:
            click.echo(f"{link.path}:{link.line}: the link leads to {link.new} now")


def _referents(number: int) -> str:
    return count(number, "referent")
