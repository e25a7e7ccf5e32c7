"""Writing a manifest as a data set: Parquet files for engines, and a part for each worker.

A page is in the part that its partition belongs to, so it stays in it as long as the number of
parts does. Beside the parts, ``dataset.json`` describes them. See ``docs/scale.md``.
"""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from hashlib import sha256
from heapq import merge
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any

from mkdocs_markstay import __version__
from mkdocs_markstay.dataset import Part, digest_file, read_parts
from mkdocs_markstay.manifest_parquet import GROUP, ParquetWriter, part_facts
from mkdocs_markstay.manifest_shapes import ManifestError
from mkdocs_markstay.partitions import DATASET_NAME, DATASET_SCHEMA, PARTITIONS, partition_of
from mkdocs_markstay.records import to_json
from mkdocs_markstay.whole_file import write_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from mkdocs_markstay.manifest import Manifest, PagePlace, Passage
    from mkdocs_markstay.records import Record

# So many rows wait in all parts together.
_WAITING = 40 * GROUP


def export_manifest(
    manifest: Manifest,
    folder: Path,
    parts: int,
    progress: Callable[[int], None] | None = None,
) -> list[Part]:
    """Write a data set of so many parts, whole or not at all; an older one is replaced.

    ``progress`` is called with numbers of passages. Raises ManifestError for a manifest that is
    not that of whole sites, and for a folder that holds anything else; OSError.
    """
    sites = _list_sites(manifest)
    folder = folder.resolve()
    _check_free(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
    try:
        written = _write_parts(manifest, sites, temporary, parts, progress)
        facts: Record = {
            "schema": DATASET_SCHEMA,
            "generator": {"name": "mkdocs-markstay", "version": __version__},
            "sites": sites,
            "parts": [part._asdict() for part in written],
        }
        write_file(temporary / DATASET_NAME, [to_json(facts).encode(), b"\n"])
        temporary.chmod(0o755)  # mkdtemp makes it private
        _replace(folder, temporary)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return written


def _list_sites(manifest: Manifest) -> list[Record]:
    sites = []
    for name, header in manifest.headers.items():
        if header.facts is None:
            raise ManifestError(
                f"nothing tells what the site {name} is: passages.jsonl does not say so. Give"
                " passages.json, or keep it beside the other file"
            )
        if header.partitions != PARTITIONS:
            raise ManifestError(f"a part of {name} alone cannot be exported. Give all of them")
        sites.append(header.facts)
    return sites


def _write_parts(
    manifest: Manifest,
    sites: Sequence[Record],
    folder: Path,
    parts: int,
    progress: Callable[[int], None] | None,
) -> list[Part]:
    publications = [site["publication"] for site in sites]
    with ExitStack() as stack:
        writers = [
            _PartWriter(
                folder / f"part-{number:05}-of-{parts:05}.parquet",
                publications,
                min(GROUP, _WAITING // parts),
                stack,
            )
            for number in range(parts)
        ]
        for page in _in_order(manifest, publications):
            number = partition_of(page.publication, page.page_id, page.lang) % parts
            writers[number].add(manifest.read(page))
            if progress is not None:
                progress(page.passages)
        return [
            writer.finish(part_facts(sites, number, parts, writer.digests()))
            for number, writer in enumerate(writers)
        ]


def _in_order(manifest: Manifest, publications: Sequence[str]) -> Iterator[PagePlace]:
    """Give all pages in the order of a manifest: of parts, each has it for itself."""
    ranks = {name: rank for rank, name in enumerate(publications)}
    sources: dict[tuple[int, str], list[PagePlace]] = {}
    for page in manifest.pages:
        sources.setdefault((page.source, page.publication), []).append(page)
    return merge(
        *sources.values(), key=lambda page: (ranks[page.publication], page.page_id, page.lang)
    )


class _PartWriter:
    def __init__(
        self, path: Path, publications: Iterable[str], group: int, stack: ExitStack
    ) -> None:
        self._path = path
        self._file = stack.enter_context(path.open("wb"))
        self._writer = stack.enter_context(ParquetWriter(self._file, group))
        self._digests: dict[str, Any] = {name: sha256() for name in publications}

    def add(self, passages: Iterable[Passage]) -> None:
        """Write the passages of a page."""
        for passage in passages:
            line = f"{passage.chunk_id} {passage.record_digest}\n"
            self._digests[passage.publication].update(line.encode())
            self._writer.add(passage)

    def digests(self) -> dict[str, str]:
        """Give the digests of the passages of each site."""
        return {name: f"sha256:{each.hexdigest()}" for name, each in self._digests.items()}

    def finish(self, facts: Record) -> Part:
        """Write the end, and say what was written."""
        self._writer.finish(facts)
        self._file.close()
        size = self._path.stat().st_size
        return Part(self._path.name, self._writer.count, digest_file(self._path), size)


def _check_free(folder: Path) -> None:
    """Raise ManifestError if there is anything in a folder that is not of a data set."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise ManifestError(f"{folder} is no folder")
    names = {path.name for path in folder.iterdir()}
    if not names:
        return
    if DATASET_NAME in names:
        known = {part.file for part in read_parts(folder)}
        names -= {DATASET_NAME, *known}
    if names:
        raise ManifestError(f"{folder} holds {min(names)}, which is of no data set. Name another")


def _replace(folder: Path, new: Path) -> None:
    """Put a folder in the place of another one, which may be there."""
    if not folder.exists():
        new.rename(folder)
        return
    old = Path(mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
    try:
        folder.rename(old / "old")
        new.rename(folder)
    except BaseException:
        if not folder.exists():
            (old / "old").rename(folder)
        old.rmdir()
        raise
    shutil.rmtree(old, ignore_errors=True)
