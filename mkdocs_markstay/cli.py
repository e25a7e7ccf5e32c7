"""The command line: `mkdocs-markstay`. Exit codes: 0 clean, 1 findings, 2 cannot run."""

from __future__ import annotations

from pathlib import Path

import click

from mkdocs_markstay import __version__


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="mkdocs-markstay")
def main() -> None:
    """Section ids, passages and their manifest for documentation sites."""


@main.command()
@click.argument(
    "site", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="SITE"
)
def verify(site: Path) -> None:
    """Prove that the published site in the folder SITE and its manifest agree.

    Reads every page that the manifest lists with a second, independent extractor:
    each section's anchor must stand exactly once in its page, each passage's text
    under it, and every digest and id must come out again.
    """
    from mkdocs_markstay.findings import judge, summarize  # noqa: PLC0415 (--help is quick)
    from mkdocs_markstay.verify import verify_site  # noqa: PLC0415

    findings = judge(verify_site(site), {})
    for found in findings:
        click.echo(found)
    if findings:
        click.echo(summarize(findings), err=True)
        raise SystemExit(1)
    click.echo(f"{site}: the site and its manifest agree")
