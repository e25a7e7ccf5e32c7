"""The command that tells what a manifest holds, in figures.

What a command needs is imported when it runs, so that each is quick.
"""

# ruff: noqa: PLC0415

from __future__ import annotations

import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mkdocs_markstay import __version__
from mkdocs_markstay.cli_tools import (
    config_option,
    count,
    errors,
    fail,
    find_config,
    inspect,
    output_option,
    progress,
    quiet_option,
    sum_up,
)

if TYPE_CHECKING:
    from mkdocs_markstay.stats import Debts, Stats

# As in mkdocs_markstay.stats_formats, which takes time to import.
FORMATS = ("text", "json", "html")


@click.command()
@click.argument("manifest", metavar="[MANIFEST]", default="")
@config_option
@click.option(
    "--format",
    "style",
    type=click.Choice(FORMATS),
    default="text",
    show_default=True,
    help="How the figures are written.",
)
@output_option
@click.option(
    "--findings",
    is_flag=True,
    help="Also render the site, and count the findings of markstay.baseline that are paid.",
)
@quiet_option
def stats(
    manifest: str, config_file: str | None, style: str, output: Path | None, findings: bool
) -> None:
    """Say what a manifest holds: how much, how long, and what stands more than once.

    MANIFEST is a file, a folder, or a committed file: git:REV:PATH. Default: the built site
    of the configuration.
    """
    from mkdocs_markstay.findings import CONFIG_FILES
    from mkdocs_markstay.manifest_shapes import ManifestError
    from mkdocs_markstay.stats import read_stats

    if findings and manifest and config_file is None:
        fail("--findings are those of a site. Name its configuration, too: -f path/to/mkdocs.yml")
    if not manifest and config_file is None and not any(Path(n).exists() for n in CONFIG_FILES):
        fail(
            "there is no mkdocs.yml in this folder, whose site would be looked at. Name a manifest,"
            " or the folder of one: mkdocs-markstay stats site"
        )
    site = find_config(config_file) if config_file is not None or not manifest else None
    try:
        with progress() as shown:
            found = read_stats(manifest or _find_site(site or ""), shown)
    except ManifestError as error:
        fail(str(error))
    except OSError as error:
        fail(f"{error.filename or 'a file'} cannot be read: {error.strerror}")
    if site is not None:
        found = replace(found, debts=_count_debts(site, findings=findings))
    _write(found, style, output)


def _find_site(config_file: str) -> str:
    from mkdocs_markstay.findings import name_path
    from mkdocs_markstay.site_options import OptionsError, find_site_dir

    try:
        return name_path(find_site_dir(Path(config_file)))
    except OptionsError as error:
        fail(str(error))


def _count_debts(config_file: str, *, findings: bool) -> Debts | None:
    """Count the findings of the baseline; how many are left is known once the site is rendered."""
    from mkdocs_markstay.baseline import Baseline
    from mkdocs_markstay.stats import Debts

    baseline = Baseline(config_file)
    baseline.read()
    for found in baseline.findings:
        click.echo(found, err=True)
    recorded = baseline.debts.total()
    if not findings:
        return Debts(recorded) if recorded else None
    from mkdocs_markstay.check_site import check_site

    with errors():
        verdict = check_site(config_file, inspect)
    left = sum(found.debt for found in verdict.findings)
    new = sum(found.level in ("error", "warning") for found in verdict.findings)
    return Debts(recorded, left, new)


def _write(stats: Stats, style: str, output: Path | None) -> None:
    from mkdocs_markstay.stats_formats import write_stats
    from mkdocs_markstay.whole_file import write_file

    if output is None:
        width = shutil.get_terminal_size().columns
        encoding = "utf-8" if style != "text" else getattr(sys.stdout, "encoding", None) or "ascii"
        plain = not _has_blocks(encoding)
        text = write_stats(stats, style, __version__, width=width, ascii_only=plain)
        click.echo(text.encode(encoding, "backslashreplace"), nl=False)
        return
    text = write_stats(stats, style, __version__)
    try:
        write_file(output, [text.encode("utf-8", "backslashreplace")])
    except OSError as error:
        fail(f"{output.as_posix()} cannot be written: {error.strerror}")
    sum_up(
        f"{output.as_posix()}: the figures of {count(stats.pages, 'page')},"
        f" {count(stats.sections, 'section')} and {count(stats.passages, 'passage')}"
    )


def _has_blocks(encoding: str) -> bool:
    """Whether an encoding has what bars are drawn with."""
    try:
        "\u2588\u258f\u2013\u2026\u00d7".encode(encoding)
    except UnicodeEncodeError:
        return False
    return True
