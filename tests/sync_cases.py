"""The cases of `tests/sync/changes.yml`, and what they are run with.

`run_change` syncs a site and then one change of it into a target, and compares what the target
holds with the manifest: every record, its vector, its text and its metadata.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml
from manifest_builder import build

from mkdocs_markstay.manifest import Manifest
from mkdocs_markstay.sync import Counts, Embedder, sync
from mkdocs_markstay.targets import make_metadata

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from mkdocs_markstay.manifest import Passage
    from mkdocs_markstay.targets import Item, Target

SIZE = 8
_FILE = Path(__file__).parent / "sync" / "changes.yml"
_DATA = yaml.safe_load(_FILE.read_text(encoding="utf-8"))
SITE: dict[str, Any] = _DATA["site"]
CHANGES: list[dict[str, Any]] = _DATA["changes"]
NAMES = [change["name"] for change in CHANGES]


def embed(text: str, model: str = "model") -> list[float]:
    """Give a vector that tells the text and the model, in numbers that 32 bits hold exactly."""
    return [(byte - 128) / 128 for byte in sha256(f"{model}\n{text}".encode()).digest()[:SIZE]]


@dataclass
class Model:
    """A model that keeps what it was given."""

    name: str = "model"
    texts: list[str] = field(default_factory=list)

    def embed(self, texts: list[str]) -> list[list[float]]:
        self.texts += texts
        return [embed(text, self.name) for text in texts]

    def embedder(self, content: str = "text", batch_size: int = 4) -> Embedder:
        return Embedder(self.name, self.embed, content, batch_size)


@dataclass
class MemoryTarget:
    """A target in memory, as a person would write one."""

    items: dict[str, Item] = field(default_factory=dict)

    def upsert(self, items: Sequence[Item]) -> None:
        self.items.update({item.chunk_id: item for item in items})

    def delete(self, chunk_ids: Sequence[str]) -> None:
        for chunk_id in chunk_ids:
            self.items.pop(chunk_id, None)

    def list_ids(self, publication: str) -> Iterable[str]:
        return [i.chunk_id for i in self.items.values() if i.metadata["publication"] == publication]


class Held(NamedTuple):
    """What a test found in a store. What the store does not give is None."""

    text: str | None
    metadata: Mapping[str, Any]
    vector: Sequence[float] | None = None


def hold_memory(target: MemoryTarget) -> dict[str, Held]:
    return {key: Held(i.text, i.metadata, i.vector) for key, i in target.items.items()}


def write_manifest(
    folder: Path, site: Mapping[str, Any], name: str = "passages.json", **options: Any
) -> Path:
    """Write the manifest of a site in short form."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    as_json, as_lines = build(site, **options)
    path.write_bytes(as_lines if name.endswith(".jsonl") else as_json)
    return path


def read_passages(path: Path) -> dict[str, Passage]:
    with Manifest.open(path) as manifest:
        return {passage.chunk_id: passage for passage in manifest.iter_passages()}


def place(passage: Passage) -> str:
    return f"{passage.referent}:{passage.position}"


def check_held(
    held: Mapping[str, Held], path: Path, model: str = "model", lists: Callable[[Any], Any] = list
) -> None:
    """Hold what a target has against a manifest: no ghost, nothing missing, nothing stale."""
    passages = read_passages(path)
    assert set(held) == set(passages)
    for chunk_id, passage in passages.items():
        record = held[chunk_id]
        assert record.text in (passage.text, None)
        expected = {
            key: lists(value) if isinstance(value, list) else value
            for key, value in make_metadata(passage).items()
        }
        assert {key: record.metadata.get(key) for key in expected} == expected
        if record.vector is not None:
            assert list(record.vector) == embed(passage.text, model)


def expected_counts(change: Mapping[str, Any]) -> Counts:
    return Counts(**change.get("counts", {}))


def run_change(
    folder: Path,
    change: Mapping[str, Any],
    target: Target,
    hold: Callable[[], Mapping[str, Held]],
    sync: Callable[..., Counts] = sync,
    **options: Any,
) -> None:
    """Sync the site and one change of it, and check all that the case says.

    ``sync`` may be another one, which is called in the same way and syncs by an adapter.
    """
    receipts = folder / "receipts.sqlite"
    first, second = Model(), Model(change.get("model", "model"))
    old = write_manifest(folder / "old", SITE)
    new = write_manifest(folder / "new", change["site"], **change.get("options", {}))
    # The model is asked for each text once, however often it occurs.
    assert sync(old, target, first.embedder(), receipts) == Counts(added=11, reused=3, embedded=8)
    assert len(first.texts) == len(set(first.texts)) == 8
    check_held(hold(), old, **options)
    planned = sync(new, target, second.embedder(), receipts, dry_run=True)
    assert second.texts == []
    check_held(hold(), old, **options)
    before, after = read_passages(old), read_passages(new)
    assert sync(new, target, second.embedder(), receipts, max_delete=1) == planned
    assert planned == expected_counts(change)
    assert len(second.texts) == planned.embedded
    check_held(hold(), new, second.name, **options)
    assert {place(after[key]) for key in after.keys() - before.keys()} == set(change.get("new", ()))
    assert {place(before[key]) for key in before.keys() - after.keys()} == set(
        change.get("gone", ())
    )
    # And once more: nothing is left to do.
    again = sync(new, target, second.embedder(), receipts)
    assert again == Counts(skipped=len(after))
    assert len(second.texts) == planned.embedded
