"""A whole documentation site, edited as authors do, synced into every store."""

from __future__ import annotations

import importlib
import json
import os
import random
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from site_builder import build_site
from sync_cases import Model, check_held

from mkdocs_markstay.sync import Counts, Differences, check, sync

if TYPE_CHECKING:
    from store_cases import Opener

ROOT = Path(__file__).parents[2]
CORPORA = Path(os.environ.get("MARKSTAY_CORPORA") or ROOT.parent / "shared" / "corpora")
BENCHMARKS = ROOT / "benchmarks"
pytestmark = [
    pytest.mark.skipif(not CORPORA.is_dir(), reason="no corpora are at hand"),
    pytest.mark.skipif(not BENCHMARKS.is_dir(), reason="the benchmarks are not at hand"),
]

EDITS = (
    "rename_headings",
    "reword_texts",
    "insert_texts",
    "insert_sections",
    "move_section",
    "swap_texts",
    "move_and_edit_section",
    "rename_ids",
    "copy_texts",
    "rename_ids_and_headings",
    "delete_texts",
    "delete_sections",
    "rename_page",
    "reword_texts",
    "move_page",
    "delete_page",
    "keep_page_id",
    "give_page_id",
    "merge_pages",
    "split_page",
)


def load(folder: Path, name: str) -> Any:
    """Import a module of another folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        return importlib.import_module(name)


def edit_site(docs: Path) -> None:
    """Make twenty edits: those of the benchmark, and some inside sections."""
    read_pages = load(BENCHMARKS, "history_ledger").read_pages
    make_edits = load(BENCHMARKS, "history_edits").Edits
    pages = read_pages(docs)
    fixed = {path for path, page in pages.items() if not page.plain}
    before = set(pages)
    edits = make_edits(pages, random.Random(7), 1, set(), fixed, {})  # noqa: S311
    for number, name in enumerate(EDITS):
        edits.number = number
        if name.endswith("_texts") and name != "reword_texts":
            for _, section in edits.pick_sections(2):
                section.body[:] = edit_texts(name, section.body, number)
        else:
            getattr(edits, name)()
    for path in before - edits.pages.keys():
        (docs / path).unlink()
    for path in edits.touched & edits.pages.keys():
        edits.pages[path].write(docs)


def edit_texts(name: str, lines: list[str], number: int) -> list[str]:
    first, *others = re.split(r"\n\n+", "\n".join(lines).strip("\n"))
    texts = {
        "insert_texts": [f"This was written for edit {number}.", first, *others],
        "swap_texts": [*others[:1], first, *others[1:]],
        "copy_texts": [first, first, *others],
        "delete_texts": others,
    }[name]
    return ["", *"\n\n".join(texts).split("\n"), ""]


class States(NamedTuple):
    """The manifests of a site before and after its edits."""

    old: Path
    new: Path


@pytest.fixture(scope="module")
def fastapi(tmp_path_factory: pytest.TempPathFactory) -> States:
    folder = tmp_path_factory.mktemp("fastapi")
    corpora = load(ROOT / "tests" / "integration", "test_corpora")
    files = {place.split(":")[0].removeprefix("docs/") for place in corpora.WITHOUT_IDS}
    exclude = [*corpora.LEFT_OUT, *sorted(files)]
    corpora.copy(folder, "fastapi/docs/en/docs", exclude=exclude, granularity="block")
    docs = folder / "docs"
    corpora.make_writable(docs)
    for path in docs.rglob("*.md"):
        # The spelling of ids that the edits know; titles of pages need none.
        text = path.read_text(encoding="utf-8")
        text = re.sub(r"^(# .*) \{ #[\w-]+ \}$", r"\1", text, count=1, flags=re.MULTILINE)
        text = re.sub(r"^(##+ .*) \{ #([\w-]+) \}$", r"\1 <#\2>", text, flags=re.MULTILINE)
        path.write_text(text, encoding="utf-8")
    states = States(folder / "old.json", folder / "new.json")
    for state in states:
        built = build_site(folder)
        assert built.passed, built.places[:5]
        (folder / "site" / "passages.json").rename(state)
        if state == states.old:
            edit_site(docs)
    return states


def read(path: Path) -> dict[str, dict[str, Any]]:
    """Read the passages as any program does, by chunk id."""
    passages = json.loads(path.read_bytes())["passages"]
    return {row["chunk_id"]: row for row in passages}


def test_only_new_texts_are_embedded(fastapi: States, opener: Opener) -> None:
    old, new = read(fastapi.old), read(fastapi.new)
    known = {row["text"] for row in old.values()}
    unknown = {row["text"] for row in new.values()} - known
    stay = old.keys() & new.keys()
    rewritten = sum(old[key]["record_digest"] != new[key]["record_digest"] for key in stay)
    assert len(old) > 4500
    assert len(unknown) > 20
    assert rewritten > 20

    model = Model()
    embedder = model.embedder(batch_size=64)
    store = opener.open()
    counts = sync(fastapi.old, store.target, embedder, store.receipts)
    assert (counts.added, counts.embedded) == (len(old), len(known))
    assert sorted(model.texts) == sorted(known)
    model.texts.clear()
    counts = sync(fastapi.new, store.target, embedder, store.receipts)
    assert sorted(model.texts) == sorted(unknown)
    added = new.keys() - old.keys()
    assert counts._replace(reused=0) == Counts(
        added=len(added),
        rewritten=rewritten,
        skipped=len(stay) - rewritten,
        deleted=len(old.keys() - new.keys()),
        embedded=len(unknown),
    )
    check_held(opener.hold(), fastapi.new)
    publication = json.loads(fastapi.new.read_bytes())["publication"]
    assert check(store.target, [publication], store.receipts) == Differences([], [], [], True)
    model.texts.clear()
    again = sync(fastapi.new, store.target, embedder, store.receipts)
    assert (again, model.texts) == (Counts(skipped=len(new)), [])
