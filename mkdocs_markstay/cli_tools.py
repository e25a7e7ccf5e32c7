"""What the commands of the command line share: options, the site's configuration, output."""

# ruff: noqa: PLC0415, PTH110

from __future__ import annotations

import atexit
import gc
import os
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from mkdocs_markstay import __version__
from mkdocs_markstay.progress import SILENT, make_progress

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mkdocs_markstay.findings import Finding
    from mkdocs_markstay.inspection import Inspection
    from mkdocs_markstay.progress import Progress

# As in mkdocs_markstay.formats, which takes time to import.
FORMATS = ("text", "json", "github", "sarif")

config_option = click.option(
    "-f",
    "--config-file",
    type=click.Path(exists=True, dir_okay=False),
    help="The site's configuration. Default: mkdocs.yml in this folder, else zensical.toml.",
)
format_option = click.option(
    "--format",
    "style",
    type=click.Choice(FORMATS),
    default="text",
    show_default=True,
    help="How findings are written.",
)

output_option = click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The file to write. Default: standard output.",
)

_QUIET, _PROGRESS = f"{__name__}.quiet", f"{__name__}.progress"


def _set_quiet(context: click.Context, _: click.Parameter, value: bool) -> None:
    context.meta[_QUIET] = value


quiet_option = click.option(
    "-q",
    "--quiet",
    is_flag=True,
    expose_value=False,
    callback=_set_quiet,
    help="Show no progress and no summary.",
)


def progress() -> Progress:
    """Give what shows how far the command is that runs: the same one each time."""
    context = click.get_current_context(silent=True)
    if context is None:
        return SILENT
    if _PROGRESS not in context.meta:
        quiet = context.meta.get(_QUIET, False)
        context.meta[_PROGRESS] = make_progress(sys.stderr, os.environ, quiet=quiet)
    shown: Progress = context.meta[_PROGRESS]
    return shown


def sum_up(text: str) -> None:
    """Say in one line what a command did, unless it was asked to be quiet."""
    context = click.get_current_context(silent=True)
    if context is None or not context.meta.get(_QUIET):
        click.echo(text, err=True)


def count(number: int, name: str) -> str:
    """Give a number and what it counts."""
    return f"{number} {name}{'' if number == 1 else 's'}"


def find_config(config_file: str | None) -> str:
    """Find the configuration of the site that a command is about, or end the program."""
    from mkdocs_markstay.findings import CONFIG_FILES

    if config_file is not None:
        return config_file
    for name in CONFIG_FILES:
        if os.path.exists(name):
            return name
    return fail(
        "there is no mkdocs.yml in this folder, and no zensical.toml."
        " Name it: -f path/to/mkdocs.yml"
    )


def inspect(config_file: str, run: Inspection, **overrides: Any) -> None:
    """Render a site with the generator that it is for, and publish nothing."""
    from mkdocs_markstay.site_kind import is_properdocs, is_zensical

    if is_zensical(config_file):
        from mkdocs_markstay.zensical_site import inspect_site
    elif is_properdocs(config_file):
        from mkdocs_markstay.properdocs_site import inspect_site
    else:
        from mkdocs_markstay.plugin import inspect_site
    # All modules are imported by now, and last. Not looking at them each time the garbage of
    # a page is collected makes the rendering of a site about a twentieth faster. As much is
    # saved by not taking apart what is left of all pages when Python ends.
    gc.freeze()
    atexit.register(gc.freeze)
    try:
        with progress() as run.progress:
            run.progress.begin(run.step)
            inspect_site(config_file, run, **overrides)
    finally:
        gc.unfreeze()


def within(findings: Sequence[Finding], paths: tuple[str, ...]) -> list[Finding]:
    """Keep the findings in these files and folders, or in what they include."""
    if not paths:
        return list(findings)
    wanted = [os.path.realpath(path) for path in paths]

    def is_wanted(path: str) -> bool:
        real = os.path.realpath(path)
        return any(real == each or real.startswith(each + os.sep) for each in wanted)

    return [
        found
        for found in findings
        if is_wanted(found.path) or (found.via and is_wanted(found.via.rpartition(":")[0]))
    ]


def print_findings(findings: Sequence[Finding], style: str) -> None:
    """Print findings in one of the formats."""
    from mkdocs_markstay.findings import without_many_debts

    if style == "text":
        for found in without_many_debts(findings):
            click.echo(found)
        return
    from mkdocs_markstay.formats import format_findings

    click.echo(format_findings(findings, style, __version__).encode(), nl=False)


def print_if_not_configured(*, configured: bool) -> None:
    """Say so if a site does not use this package yet."""
    if not configured:
        click.echo("the configuration of the site does not name markstay yet", err=True)


@contextmanager
def errors() -> Iterator[None]:
    """Tell a person why a command cannot go on."""
    from mkdocs_markstay.inspection import InspectionError

    try:
        yield
    except (InspectionError, OSError) as error:  # there may be no room for temporary files
        fail(str(error))


def fail(message: str) -> NoReturn:
    """End the program: it cannot do what it was asked to."""
    click.echo(f"mkdocs-markstay: {message}", err=True)
    sys.exit(2)
