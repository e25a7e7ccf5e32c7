"""The command that exports manifests as a data set.

What a command needs is imported when it runs, so that each is quick.
"""

# ruff: noqa: PLC0415

from __future__ import annotations

from pathlib import Path

import click

from mkdocs_markstay.cli_tools import count, fail, progress, quiet_option


@click.command()
@click.argument("manifests", nargs=-1, required=True, metavar="MANIFEST...")
@click.option(
    "-o",
    "--output",
    metavar="DIRECTORY",
    required=True,
    type=click.Path(path_type=Path),
    help="The folder to write. An older data set is replaced.",
)
@click.option(
    "--shards",
    metavar="N",
    type=click.IntRange(1, 256),
    default=8,
    show_default=True,
    help="How many parts to write, 1 to 256.",
)
@quiet_option
def export(manifests: tuple[str, ...], output: Path, shards: int) -> None:
    """Write manifests as a data set: Parquet files for engines and workers.

    MANIFEST is a file, the folder of a site, or that of an older data set.
    """
    from mkdocs_markstay.manifest import Manifest
    from mkdocs_markstay.manifest_shapes import ManifestError

    try:
        from mkdocs_markstay.export import export_manifest

        with progress() as shown, Manifest.open(*manifests, progress=shown) as manifest:
            shown.begin("Writing passages", manifest.count)
            written = export_manifest(manifest, output, shards, shown.advance)
    except (ManifestError, OSError) as error:
        fail(str(error))
    records = count(sum(part.records for part in written), "passage")
    click.echo(f"{records} written to {output.as_posix()}, in {count(shards, 'part')}")
