"""The command that compares two manifests.

What a command needs is imported when it runs, so that each is quick.
"""

# ruff: noqa: PLC0415

from __future__ import annotations

import gc
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mkdocs_markstay import __version__
from mkdocs_markstay.cli_tools import count, fail, output_option, progress, quiet_option, sum_up

if TYPE_CHECKING:
    from collections.abc import Iterable

# As in mkdocs_markstay.diff_formats, which takes time to import.
FORMATS = ("text", "json", "markdown", "github", "html")


@click.command()
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@click.option(
    "--format",
    "style",
    type=click.Choice(FORMATS),
    default="text",
    show_default=True,
    help="How the changes are written.",
)
@output_option
@click.option("--fail-on", metavar="KINDS", default="", help="Exit with 1 for these, with commas.")
@click.option(
    "--cited",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Tell only what touches these: a list of referents or URLs.",
)
@click.option(
    "--docs",
    metavar="DIRECTORY",
    default="docs",
    show_default=True,
    help="The folder of the sources, for --format github.",
)
@quiet_option
def diff(
    old: str,
    new: str,
    style: str,
    output: Path | None,
    fail_on: str,
    cited: Path | None,
    docs: str,
) -> None:
    """Say what changed between two manifests, of passages and of sections.

    OLD and NEW are files, folders, or committed files: git:REV, git:REV:PATH.
    """
    from dataclasses import replace
    from functools import partial
    from tempfile import TemporaryDirectory

    from mkdocs_markstay.citations import find_citations, read_citations
    from mkdocs_markstay.diff import FAILURES, compare
    from mkdocs_markstay.diff_entries import Report
    from mkdocs_markstay.diff_formats import write_report
    from mkdocs_markstay.diff_texts import read_texts
    from mkdocs_markstay.manifest_files import open_manifest
    from mkdocs_markstay.manifest_shapes import ManifestError

    wanted = [name.strip() for name in fail_on.split(",") if name.strip()]
    for name in wanted:
        if name not in FAILURES:
            fail(f"--fail-on {name}: there is no such kind. Kinds are {', '.join(FAILURES)}")
    # Texts are read when a report is written, so the two are kept until then.
    with TemporaryDirectory() as first, TemporaryDirectory() as second:
        # What a comparison makes is needed to its end, so looking for garbage is of no use.
        gc.disable()
        try:
            manifests = open_manifest(old, new, Path(first)), open_manifest(new, old, Path(second))
            citations = find_citations(read_citations(cited), *manifests) if cited else None
            with progress() as shown:
                found = compare(*manifests, shown)
        except (ManifestError, OSError) as error:
            fail(str(error))
        finally:
            gc.enable()
        affected: list[str] = []
        if citations is not None:
            touched = [(change, citations.touched(change)) for change in found.changes]
            found = replace(found, changes=[change for change, texts in touched if texts])
            texts = set().union(*(texts for _, texts in touched))
            affected = [text for text in citations.texts if text in texts]
        failures = [name for name in FAILURES if name in wanted and name in found.failures()]
        read = partial(read_texts, old=manifests[0], new=manifests[1])
        report = Report(found, failures, citations, affected, read, progress())
        written = write_report(report, style, __version__, docs)
        try:
            _write(written, output)
        except ManifestError as error:
            fail(str(error))
    if style != "text" or output is not None:  # the text begins with it
        changes, (before, after) = count(len(found.changes), "change"), found.passages
        sum_up(f"{changes} ({before} passages in OLD, {after} in NEW)")
    if failures:
        click.echo(f"found of --fail-on: {', '.join(failures)}", err=True)
        raise SystemExit(1)


def _write(parts: Iterable[str], output: Path | None) -> None:
    """Write a report, to a file as a whole or not at all."""
    from mkdocs_markstay.whole_file import write_file

    encoded = (part.encode("utf-8", "backslashreplace") for part in parts)
    if output is None:
        for part in encoded:
            click.echo(part, nl=False)
        return
    try:
        write_file(output, encoded)
    except OSError as error:
        fail(f"{output} cannot be written: {error.strerror}")
