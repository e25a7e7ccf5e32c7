"""The command that keeps a vector store in step with a manifest.

What a command needs is imported when it runs, so that each is quick.
"""

# ruff: noqa: PLC0415

from __future__ import annotations

import importlib
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mkdocs_markstay.cli_tools import count, fail, progress, quiet_option, sum_up
from mkdocs_markstay.sync_errors import hide_password

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mkdocs_markstay.sync import Differences, Embedder, Plan

_SHOWN = 5
_REWRITTEN = {
    False: "other titles, addresses and the like",
    True: "all vectors were made by another model, or of other contents",
}


def _read_share(context: click.Context, option: click.Parameter, value: str) -> float:
    """Read a percentage, with or without its sign."""
    try:
        share = float(value.strip().removesuffix("%"))
    except ValueError:
        share = -1.0
    if not 0 <= share <= 100:
        raise click.BadParameter(f"{value!r} is no percentage from 0 to 100", context, option)
    return share


@click.command()
@click.argument("manifests", metavar="MANIFEST...", nargs=-1, required=True)
@click.option(
    "--target",
    "place",
    metavar="STORE:PLACE",
    required=True,
    help="chroma:PATH, qdrant:PATH, lancedb:PATH, sqlite-vec:FILE, pgvector:URL; of a server"
    " chroma:URL, qdrant:URL.",
)
@click.option(
    "--embedder",
    metavar="MODULE:FUNCTION",
    help="A function that takes a list of texts and gives a list of vectors.",
)
@click.option(
    "--model",
    metavar="NAME",
    help="The name of the model, by which vectors are kept. Default: MODULE:FUNCTION.",
)
@click.option(
    "--content",
    type=click.Choice(("text", "path")),
    default="text",
    show_default=True,
    help="What is embedded: the text, or the titles that lead to it and the text.",
)
@click.option(
    "--namespace", metavar="NAME", default="", help="A version or tenant, apart from all others."
)
@click.option(
    "--receipts",
    metavar="FILE|URL",
    help="An SQLite file, or the URL of PostgreSQL. Default: with the target.",
)
@click.option("--dry-run", is_flag=True, help="Print the plan, and do nothing.")
@click.option(
    "--max-delete",
    metavar="PERCENT",
    callback=_read_share,
    default="30",
    show_default=True,
    help="How much of the target may be deleted, in percent.",
)
@click.option("--force", is_flag=True, help="Delete as much as the plan says.")
@click.option("--check", is_flag=True, help="Only compare the target with its receipts.")
@click.option(
    "--forget",
    metavar="PUBLICATION",
    multiple=True,
    help="Delete what the target holds of a site that is given up.",
)
@click.option("--rebuild", is_flag=True, help="Write everything, whatever the receipts say.")
@quiet_option
def sync(
    manifests: tuple[str, ...],
    place: str,
    embedder: str | None,
    model: str | None,
    content: str,
    namespace: str,
    receipts: str | None,
    dry_run: bool,
    max_delete: float,
    force: bool,
    check: bool,
    forget: tuple[str, ...],
    rebuild: bool,
) -> None:
    """Make a vector store hold exactly the passages of MANIFEST.

    A MANIFEST is a file, the folder of a site or an exported data set; several are of several
    sites. Texts whose vectors are known are not embedded again. A sync that was interrupted
    is finished by the next one.
    """
    try:
        from mkdocs_markstay.database import Database
        from mkdocs_markstay.sync import Embedder as Model
        from mkdocs_markstay.sync import Sync, SyncError
        from mkdocs_markstay.sync import check as compare
    except ImportError as error:
        kind = place.partition(":")[0]
        fail(f"{error}. Run: pip install 'mkdocs-markstay[{kind}]'")
    from mkdocs_markstay.manifest import Manifest, ManifestError
    from mkdocs_markstay.stores import open_store

    if check and (dry_run or rebuild or force or forget):
        fail("--check only compares: --dry-run, --rebuild, --forget and --force are for a sync")
    if not check and not embedder:
        fail("a sync needs a model. Name it: --embedder MODULE:FUNCTION")
    try:
        with ExitStack() as stack:
            with progress() as shown:
                manifest = stack.enter_context(Manifest.open(*manifests, progress=shown))
            made = None if check else Model(model or embedder or "", _load(embedder or ""), content)
            store = open_store(place, namespace)
            stack.callback(store.close)
            database = Database.open(receipts or store.receipts)
            stack.callback(database.close)
            if check or made is None:
                found = compare(store.target, manifest.headers, database, namespace=namespace)
                _tell_differences(found, place)
                raise SystemExit(bool(found.missing or found.ghosts or found.pending))
            with progress() as shown:
                shown.begin("Planning")
                run = Sync(
                    manifest, store.target, made, database, namespace=namespace, rebuild=rebuild
                )
            stack.enter_context(run)
            _tell_plan(run.plan, made, manifests, place, namespace)
            if dry_run:
                click.echo("nothing was done: --dry-run", err=True)
                return
            if not force:
                run.check_deletions(max_delete / 100)
            start = time.monotonic()
            with progress() as shown:
                shown.begin("Embedding and writing", run.plan.steps)
                run.execute(shown.advance)
            _tell_end(run.plan, time.monotonic() - start)
    except (ManifestError, SyncError) as error:
        fail(_advise(str(error)))
    except KeyboardInterrupt:
        click.echo("interrupted. What was done is kept: run the sync again", err=True)
        raise SystemExit(130) from None


def _advise(message: str) -> str:
    """Say the same in words of the command line."""
    for said, option in (("force it if", "--force if"), ("rebuild it", "rebuild it: --rebuild")):
        message = message.replace(said, option)
    return message


def _load(name: str) -> Callable[[list[str]], Sequence[Sequence[float]]]:
    """Find a function in a module, also in one of this folder."""
    module, _, attribute = name.partition(":")
    if not module or not attribute:
        fail(f"--embedder {name}: write it as MODULE:FUNCTION")
    sys.path.insert(0, str(Path.cwd()))
    try:
        found: Any = importlib.import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (Exception, SystemExit) as error:  # noqa: BLE001 (whatever a module does when it is imported)
        fail(f"--embedder {name}: {type(error).__name__}: {error}")
    if not callable(found):
        fail(f"--embedder {name}: that is no function")
    function: Callable[[list[str]], Sequence[Sequence[float]]] = found
    return function


def _tell_plan(
    plan: Plan, embedder: Embedder, manifests: Sequence[str], place: str, namespace: str
) -> None:
    counts = plan.counts
    rows = [
        ("embed", counts.embedded, f"by {embedder.model}"),
        ("add", counts.added, f"{counts.reused} with a vector that is known"),
        ("rewrite", counts.rewritten, _REWRITTEN[plan.model_moved]),
        ("skip", counts.skipped, "as they should be"),
        ("delete", counts.deleted, f"of {plan.held} that the target holds of these sites"),
    ]
    apart = f", namespace {namespace}" if namespace else ""
    click.echo(f"{', '.join(manifests)} -> {hide_password(place)}{apart}")
    width = max(len(f"{number:,}") for _, number, _ in rows)
    for name, number, what in rows:
        click.echo(f"  {name:<8}{number:>{width},}  {what}")
    if plan.policy_moved:
        click.echo(
            "the policy of the manifest is another one: texts may have moved by it", err=True
        )


def _tell_end(plan: Plan, seconds: float) -> None:
    counts = plan.counts
    if not plan.steps:
        sum_up(f"nothing to do: {count(counts.skipped, 'passage')} as they should be")
        return
    sum_up(
        f"{counts.added} added ({counts.reused} reused), {counts.rewritten} rewritten,"
        f" {counts.deleted} deleted, {counts.skipped} skipped;"
        f" {count(counts.embedded, 'text')} embedded in {seconds:.1f} s"
    )


def _tell_differences(found: Differences, place: str) -> None:
    kinds = (("missing", found.missing), ("unknown", found.ghosts), ("pending", found.pending))
    for name, chunk_ids in kinds:
        if chunk_ids:
            click.echo(f"{name}: {len(chunk_ids)} ({', '.join(chunk_ids[:_SHOWN])}, ...)")
    place = hide_password(place)
    if found.missing or found.ghosts:
        click.echo(f"{place} is not what its receipts say. Repair it: --rebuild", err=True)
    elif found.pending:
        click.echo(f"a sync into {place} has not ended. Run it again", err=True)
    else:
        listed = "" if found.listed else ", as far as it can say"
        sum_up(f"{place} holds what its receipts say{listed}")
