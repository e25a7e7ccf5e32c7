"""What a sync does to a target, and what is left when it dies or is given something bad."""

from __future__ import annotations

import multiprocessing
import os
import signal
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from manifest_builder import build
from sync_cases import (
    CHANGES,
    NAMES,
    SITE,
    MemoryTarget,
    Model,
    check_held,
    embed,
    hold_memory,
    read_passages,
    run_change,
    write_manifest,
)

from mkdocs_markstay.database import Database
from mkdocs_markstay.manifest import Manifest, ManifestError
from mkdocs_markstay.receipts import Receipts
from mkdocs_markstay.sync import Counts, Embedder, Sync, SyncError, check, sync
from mkdocs_markstay.vectors import VectorCache

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from pathlib import Path

    from mkdocs_markstay.targets import Item


@pytest.fixture
def target() -> MemoryTarget:
    return MemoryTarget()


@pytest.fixture
def receipts(tmp_path: Path) -> Path:
    return tmp_path / "receipts.sqlite"


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    return write_manifest(tmp_path / "site", SITE)


@pytest.mark.parametrize("change", CHANGES, ids=NAMES)
def test_what_moves_when(change: dict[str, Any], tmp_path: Path, target: MemoryTarget) -> None:
    run_change(tmp_path, change, target, lambda: hold_memory(target))


# -- what is embedded


def test_titles_can_be_embedded_too(tmp_path: Path, target: MemoryTarget, receipts: Path) -> None:
    model = Model()
    site = {"a=A": {"x=One": ["Same."], "y=Two": ["Same."]}}
    sync(write_manifest(tmp_path, site), target, model.embedder("path"), receipts)
    assert sorted(model.texts) == ["A > One\n\nSame.", "A > Two\n\nSame."]
    # A heading that is renamed is another text to embed now, and the other one is not.
    site = {"a=A": {"x=Uno": ["Same."], "y=Two": ["Same."]}}
    counts = sync(write_manifest(tmp_path, site), target, model.embedder("path"), receipts)
    assert counts == Counts(rewritten=1, skipped=1, embedded=1)
    assert model.texts[2:] == ["A > Uno\n\nSame."]
    items = {item.metadata["title"]: item for item in target.items.values()}
    assert items["Uno"].vector == embed("A > Uno\n\nSame.")
    assert items["Uno"].text == "Same."


def test_another_content_embeds_everything(
    manifest: Path, target: MemoryTarget, receipts: Path
) -> None:
    sync(manifest, target, Model().embedder(), receipts)
    counts = sync(manifest, target, Model().embedder("path"), receipts)
    assert counts == Counts(rewritten=11, embedded=10)


def test_back_to_a_model_that_was_there_costs_nothing(
    manifest: Path, target: MemoryTarget, receipts: Path
) -> None:
    for name in ("one", "two"):
        sync(manifest, target, Model(name).embedder(), receipts)
    assert sync(manifest, target, Model("one").embedder(), receipts) == Counts(rewritten=11)
    check_held(hold_memory(target), manifest, "one")


def test_another_policy_alone_writes_nothing(
    tmp_path: Path, target: MemoryTarget, receipts: Path
) -> None:
    model = Model()
    sync(write_manifest(tmp_path, SITE), target, model.embedder(), receipts)
    moved = write_manifest(tmp_path, SITE, furniture=[".chrome"])
    with Manifest.open(moved) as opened, open_run(opened, target, model, receipts) as run:
        assert run.plan.policy_moved
        assert run.plan.counts == Counts(skipped=11)
        run.execute()
        assert not target.items.keys() - read_passages(moved).keys()
    with Manifest.open(moved) as opened, open_run(opened, target, model, receipts) as run:
        assert run.plan.pages == []


@contextmanager
def open_run(
    opened: Manifest, target: MemoryTarget, model: Model, receipts: Path
) -> Iterator[Sync]:
    with (
        closing(Database.open(receipts)) as database,
        Sync(opened, target, model.embedder(), database) as run,
    ):
        yield run


@pytest.mark.parametrize(
    ("made", "message"),
    [
        ([[1.0, 2.0]], "gave 1 vectors for 4 texts"),
        ([[1.0]] * 3 + [[1.0, 2.0]], "gave a vector of 2 numbers, and others of 1"),
        ([[float("nan")]] * 4, "numbers that are none"),
        ([[float("inf")]] * 4, "numbers that are none"),
        ([[1e39]] * 4, "numbers that are none"),
        ([[]] * 4, "an empty vector"),
        ([[0.0, -0.0]] * 4, "a vector of zeros"),
        ([["a"]] * 4, "ValueError"),
        (None, "TypeError"),
    ],
)
def test_bad_vectors_are_written_nowhere(
    made: Any, message: str, manifest: Path, target: MemoryTarget, receipts: Path
) -> None:
    embedder = Embedder("model", lambda _: made, batch_size=4)
    with pytest.raises(SyncError, match=message):
        sync(manifest, target, embedder, receipts)
    assert target.items == {}
    # Nothing bad is kept, so the next sync is right.
    sync(manifest, target, Model().embedder(), receipts)
    check_held(hold_memory(target), manifest)


def test_a_model_with_other_vectors_needs_another_name(
    tmp_path: Path, manifest: Path, target: MemoryTarget, receipts: Path
) -> None:
    sync(manifest, target, Model().embedder(), receipts)
    longer = Embedder("model", lambda texts: [[1.0] * 99 for _ in texts])
    other = write_manifest(tmp_path / "other", {"new": {"": ["Nobody has seen this."]}})
    with pytest.raises(SyncError, match=r"99 numbers, and others of 8\. .* another name"):
        sync(other, target, longer, receipts, max_delete=1)
    check_held(hold_memory(target), manifest)


@pytest.mark.parametrize("model", ["", None])
def test_a_model_needs_a_name(model: Any) -> None:
    with pytest.raises(SyncError, match="has no name"):
        Embedder(model, Model().embed)


# -- a sync that dies


class Killed(BaseException):
    """What nobody catches."""


@dataclass
class Fuse:
    """Kills a sync at the step of this number, if there are so many."""

    at: int
    steps: int = 0

    def step(self) -> None:
        self.steps += 1
        if self.steps == self.at:
            raise Killed

    def around(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Give a function that can die before it has begun and after it has ended."""

        def guarded(*args: Any, **values: Any) -> Any:
            self.step()
            result = function(*args, **values)
            self.step()
            return result

        return guarded


def light(fuse: Fuse, target: MemoryTarget, patch: pytest.MonkeyPatch) -> Embedder:
    """Put a fuse to all that a sync does."""
    patch.setattr(target, "upsert", fuse.around(target.upsert), raising=False)
    patch.setattr(target, "delete", fuse.around(target.delete), raising=False)
    patch.setattr(Receipts, "write", fuse.around(Receipts.write))
    patch.setattr(VectorCache, "write", fuse.around(VectorCache.write))
    return Embedder("model", fuse.around(Model().embed), batch_size=4)


BEFORE = {
    "a=A": {"": ["Stays."], "x=X": ["One.", "Two.", "Three."]},
    "b=B": {"y=Y": ["Four.", "Five."]},
    "c=C": {"": ["Goes."]},
}
AFTER = {
    "a=A": {"": ["Stays."], "x=Xx": ["One.", "New.", "Two.", "Three."]},
    "b=Bb": {"y=Y": ["Four.", "Five."]},
    "d=D": {"": ["Comes."]},
}
THIRD = {
    "a=A": {"": ["Stays."], "x=X": ["Two.", "Three.", "New."]},
    "c=C": {"": ["Goes."]},
    "d=D": {"": ["Comes otherwise."]},
}


@pytest.mark.parametrize("then", [AFTER, BEFORE, THIRD], ids=["same", "back", "third"])
@pytest.mark.parametrize("again", [None, "another"], ids=["model", "another-model"])
def test_a_sync_that_died_is_finished_by_the_next(
    then: dict[str, Any], again: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = write_manifest(tmp_path / "old", BEFORE)
    new = write_manifest(tmp_path / "new", AFTER)
    last = write_manifest(tmp_path / "last", then)
    common = {"Stays.", "One.", "Two.", "Three.", "Four.", "Five."}
    for at in range(1, 1000):
        target, fuse = MemoryTarget(), Fuse(at)
        receipts = tmp_path / f"receipts-{at}.sqlite"
        sync(old, target, Model().embedder(), receipts)
        with monkeypatch.context() as patch:
            try:
                sync(new, target, light(fuse, target, patch), receipts, max_delete=1)
            except Killed:
                pass
            else:
                break
        # What is in both can be found all the time.
        assert common <= {item.text for item in target.items.values()}
        model = Model(again or "model")
        sync(last, target, model.embedder(), receipts, max_delete=1)
        check_held(hold_memory(target), last, model.name)
        assert check(target, ["p"], receipts) == ([], [], [], True)
    else:
        pytest.fail("it never ends")
    assert fuse.steps > 15


def test_a_paid_vector_is_not_paid_twice(
    tmp_path: Path, target: MemoryTarget, receipts: Path
) -> None:
    path = write_manifest(tmp_path, {"a": {"": [f"Text {number}." for number in range(20)]}})
    model = Model()

    def fail(texts: list[str]) -> list[list[float]]:
        if len(model.texts) >= 12:
            raise ConnectionError("too many requests")
        return model.embed(texts)

    with pytest.raises(
        SyncError, match=r"too many requests.* What was done is kept: run the sync again"
    ):
        sync(path, target, Embedder("model", fail, batch_size=4), receipts)
    sync(path, target, model.embedder(), receipts)
    assert sorted(model.texts) == sorted(f"Text {number}." for number in range(20))


@dataclass
class Unreliable(MemoryTarget):
    """Fails at every third call."""

    calls: int = 0

    def _call(self) -> None:
        self.calls += 1
        if self.calls % 3 == 0:
            raise OSError("connection lost")

    def upsert(self, items: Sequence[Item]) -> None:
        self._call()
        super().upsert(items)

    def delete(self, chunk_ids: Sequence[str]) -> None:
        self._call()
        super().delete(chunk_ids)


def test_every_run_gets_further(tmp_path: Path, receipts: Path) -> None:
    target = Unreliable()
    pages: dict[str, Any] = {
        f"page{number}": {"": [f"Text {number} {each}." for each in range(600)]}
        for number in range(4)
    }
    # One page that is written in many calls.
    pages["large"] = {"": [f"Large {each}." for each in range(3000)]}
    first = write_manifest(tmp_path / "1", pages)
    second = write_manifest(tmp_path / "2", {"page0": pages["page0"], "large": pages["large"]})
    for path, most in ((first, 8), (second, 6)):
        failures = 0
        while failures < most:
            try:
                sync(path, target, Model().embedder(batch_size=500), receipts, force=True)
                break
            except SyncError as error:
                failures += 1
                assert "connection lost" in str(error)  # noqa: PT017 (not always)
        assert 0 < failures < most, path
        check_held(hold_memory(target), path)


# -- bad manifests


def test_bad_manifests_delete_nothing(
    tmp_path: Path, manifest: Path, target: MemoryTarget, receipts: Path
) -> None:
    sync(manifest, target, Model().embedder(), receipts)
    as_json, as_lines = build(SITE)
    cases: dict[str, tuple[bytes, str]] = {
        "empty.json": (build({})[0], "has no passages"),
        "nothing.jsonl": (b"", "has no passages"),
        "preview.json": (as_json.replace(b'"preview":false', b'"preview":true'), "a preview"),
        "incomplete.json": (build(SITE, complete=False)[0], "is not complete"),
        "alone.jsonl": (as_lines, "nothing tells whether the manifest of p is complete"),
        "half.jsonl": (as_lines[:-40], "cut off"),
        "half.json": (as_json[:-40], "half.json:"),
        "other.json": (b'{"passages": []}', "no manifest"),
        "foreign.json": (build({"x": {"": ["Other."]}})[0], "11 of 11 records would be deleted"),
    }
    for name, (content, message) in cases.items():
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises((SyncError, ManifestError), match=message):
            sync(path, target, Model().embedder(), receipts)
        check_held(hold_memory(target), manifest)


def test_lines_beside_their_manifest_say_enough(
    tmp_path: Path, target: MemoryTarget, receipts: Path
) -> None:
    write_manifest(tmp_path, SITE)
    lines = write_manifest(tmp_path, SITE, "passages.jsonl")
    assert sync(lines, target, Model().embedder(), receipts).added == 11
    content = lines.read_bytes().splitlines(keepends=True)
    lines.write_bytes(b"".join(content[:-1]))
    with pytest.raises(ManifestError, match="is damaged"):
        sync(lines, target, Model().embedder(), receipts)


@pytest.mark.parametrize(
    ("gone", "share", "refused"),
    [(3, 0.3, False), (4, 0.3, True), (4, 0.4, False), (10, 0.9, True), (10, 1.0, False)],
)
def test_much_is_deleted_by_force_only(
    gone: int, share: float, refused: bool, tmp_path: Path, target: MemoryTarget, receipts: Path
) -> None:
    pages = {f"page{number}": {"": [f"Text {number}."]} for number in range(11)}
    sync(write_manifest(tmp_path, pages), target, Model().embedder(), receipts)
    left = write_manifest(tmp_path, dict(list(pages.items())[gone:]))
    if refused:
        with pytest.raises(SyncError, match=f"{gone} of 11 records would be deleted"):
            sync(left, target, Model().embedder(), receipts, max_delete=share)
        assert len(target.items) == 11
        sync(left, target, Model().embedder(), receipts, force=True)
    else:
        sync(left, target, Model().embedder(), receipts, max_delete=share)
    check_held(hold_memory(target), left)


# -- namespaces, several sites


def test_sites_share_a_target_and_namespaces_do_not(tmp_path: Path, receipts: Path) -> None:
    one, two = MemoryTarget(), MemoryTarget()
    guide = write_manifest(tmp_path / "guide", SITE, publication="guide")
    other = write_manifest(tmp_path / "other", {"a": {"": ["Other."]}}, publication="other")
    model = Model()
    sync(guide, one, model.embedder(), receipts)
    sync(other, one, model.embedder(), receipts)
    assert one.items.keys() == read_passages(guide).keys() | read_passages(other).keys()
    # Another version has the same chunk ids, and a target of its own.
    older = write_manifest(tmp_path / "older", SITE, publication="guide", version="1")
    asked = len(model.texts)
    counts = sync(older, two, model.embedder(), receipts, namespace="v1")
    assert counts == Counts(added=11, reused=11)
    assert len(model.texts) == asked
    check_held(hold_memory(two), older)
    assert sync(guide, one, model.embedder(), receipts) == Counts(skipped=11)
    with Manifest.open(guide, other) as both:
        assert sync(both, one, model.embedder(), receipts) == Counts(skipped=12)


# -- a target that is not what its receipts say


def test_a_target_that_lost_everything_is_noticed(
    manifest: Path, target: MemoryTarget, receipts: Path
) -> None:
    sync(manifest, target, Model().embedder(), receipts)
    target.items.clear()
    with pytest.raises(SyncError, match=r"holds nothing of p.* rebuild it"):
        sync(manifest, target, Model().embedder(), receipts)
    model = Model()
    counts = sync(manifest, target, model.embedder(), receipts, rebuild=True)
    assert counts == Counts(rewritten=11)
    assert model.texts == []
    check_held(hold_memory(target), manifest)


def test_what_is_missing_and_what_is_too_much(
    manifest: Path, target: MemoryTarget, receipts: Path
) -> None:
    sync(manifest, target, Model().embedder(), receipts)
    (lost, item), *_ = target.items.items()
    ghost = "00000000-0000-8000-8000-000000000000"
    del target.items[lost]
    target.upsert([item._replace(chunk_id=ghost)])
    assert check(target, ["p"], receipts) == ([lost], [ghost], [], True)
    sync(manifest, target, Model().embedder(), receipts, rebuild=True)
    check_held(hold_memory(target), manifest)
    assert check(target, ["p"], receipts) == ([], [], [], True)


def test_a_check_of_nothing_is_none(
    tmp_path: Path, manifest: Path, target: MemoryTarget, receipts: Path
) -> None:
    with pytest.raises(SyncError, match="there are no receipts of p in namespace ''"):
        check(target, ["p"], receipts)
    sync(manifest, target, Model().embedder(), receipts)
    for publications, namespace in ((["p", "q"], ""), (["p"], "v2")):
        with pytest.raises(SyncError, match="there are no receipts of"):
            check(target, publications, receipts, namespace=namespace)
    with pytest.raises(SyncError, match=r"write \['p'\]"):
        check(target, "p", receipts)

    # What a sync has begun and not ended is told.
    def fail(_: Sequence[Item]) -> None:
        raise OSError("gone")

    broken = MemoryTarget(target.items)
    broken.upsert = fail  # type: ignore[assignment]
    edited = write_manifest(tmp_path / "edited", CHANGES[1]["site"])
    with pytest.raises(SyncError, match="OSError: gone"):
        sync(edited, broken, Model().embedder(), receipts)
    assert len(check(target, ["p"], receipts).pending) == 2


def test_a_site_with_another_name_is_told(
    tmp_path: Path, manifest: Path, target: MemoryTarget, receipts: Path
) -> None:
    model = Model()
    sync(manifest, target, model.embedder(), receipts)
    renamed = write_manifest(tmp_path / "renamed", SITE, publication="q")
    with Manifest.open(renamed) as opened, open_run(opened, target, model, receipts) as run:
        assert run.plan.others == {"p": 11}
        assert run.plan.counts == Counts(added=11, reused=11)
    with pytest.raises(SyncError, match="q is in the manifest"):
        sync(renamed, target, model.embedder(), receipts, forget=["q"])
    with pytest.raises(SyncError, match="11 of 11 records would be deleted"):
        sync(renamed, target, model.embedder(), receipts, forget=["p"])
    counts = sync(renamed, target, model.embedder(), receipts, forget=["p"], force=True)
    assert counts == Counts(added=11, reused=11, deleted=11)
    check_held(hold_memory(target), renamed)


@pytest.mark.parametrize("share", [30, 1.01, -0.1, float("nan"), float("inf")])
def test_a_share_is_no_percentage(
    share: float, manifest: Path, target: MemoryTarget, receipts: Path
) -> None:
    with pytest.raises(SyncError, match=r"max_delete is a share of the target: 0\.3 is 30 %"):
        sync(manifest, target, Model().embedder(), receipts, max_delete=share)


@pytest.mark.parametrize(
    ("target", "embedder", "message"),
    [
        (MemoryTarget(), Model().embed, "a sync takes an Embedder"),
        (MemoryTarget, Model().embedder(), "is no target"),
        (Model().embedder(), MemoryTarget(), "a sync takes an Embedder"),
        ("index", Model().embedder(), "'index' is no target: it has no method upsert"),
    ],
)
def test_wrong_arguments_are_told(
    target: Any, embedder: Any, message: str, manifest: Path, receipts: Path
) -> None:
    with pytest.raises(SyncError, match=message):
        sync(manifest, target, embedder, receipts)


def test_lost_receipts_are_noticed(manifest: Path, target: MemoryTarget, receipts: Path) -> None:
    sync(manifest, target, Model().embedder(), receipts)
    other = receipts.with_name("other.sqlite")
    with pytest.raises(SyncError, match="holds records of p, and there is no receipt"):
        sync(manifest, target, Model().embedder(), other)
    sync(manifest, target, Model().embedder(), other, rebuild=True)
    check_held(hold_memory(target), manifest)


@dataclass
class Mute:
    """A target with the two methods alone."""

    inner: MemoryTarget = field(default_factory=MemoryTarget)

    def upsert(self, items: Sequence[Item]) -> None:
        self.inner.upsert(items)

    def delete(self, chunk_ids: Sequence[str]) -> None:
        self.inner.delete(chunk_ids)


@dataclass
class Finding(Mute):
    """A target that can look up ids."""

    def find_ids(self, chunk_ids: Sequence[str]) -> list[str]:
        return [each for each in chunk_ids if each in self.inner.items]


def test_two_methods_are_enough(tmp_path: Path) -> None:
    target = Mute()
    run_change(tmp_path, CHANGES[3], target, lambda: hold_memory(target.inner))
    with pytest.raises(SyncError, match="no way to say what it holds"):
        check(target, ["p"], tmp_path / "receipts.sqlite")


def test_a_target_that_finds_ids_notices_losses(manifest: Path, receipts: Path) -> None:
    target = Finding()
    sync(manifest, target, Model().embedder(), receipts)
    lost = next(iter(target.inner.items))
    del target.inner.items[lost]
    assert check(target, ["p"], receipts) == ([lost], [], [], False)
    target.inner.items.clear()
    with pytest.raises(SyncError, match="rebuild it"):
        sync(manifest, target, Model().embedder(), receipts)
    sync(manifest, target, Model().embedder(), receipts, rebuild=True)
    check_held(hold_memory(target.inner), manifest)


class Unreachable(MemoryTarget):
    """A target that cannot be asked."""

    def list_ids(self, publication: str) -> list[str]:
        raise OSError(publication)


def test_a_target_that_finds_ids_notices_lost_receipts(manifest: Path, receipts: Path) -> None:
    target = Finding()
    sync(manifest, target, Model().embedder(), receipts)
    with pytest.raises(SyncError, match="there is no receipt of them"):
        sync(manifest, target, Model().embedder(), receipts.with_name("other"))
    sync(manifest, target, Model().embedder(), receipts.with_name("other"), rebuild=True)
    check_held(hold_memory(target.inner), manifest)


def test_a_target_that_cannot_be_asked(manifest: Path, receipts: Path) -> None:
    target = Unreachable()
    for rebuild in (False, True):
        with pytest.raises(SyncError, match="failed to say what it holds: OSError: p"):
            sync(manifest, target, Model().embedder(), receipts, rebuild=rebuild)
    sync(manifest, MemoryTarget(), Model().embedder(), receipts)
    with pytest.raises(SyncError, match="failed to say what it holds: OSError: p"):
        check(target, ["p"], receipts)


# -- two writers


def _hold_lock(receipts: str, ready: Any) -> None:
    with Database.open(receipts).locked("", [1]):
        ready.set()
        signal.pause()


def test_a_second_writer_waits_or_refuses(
    manifest: Path, target: MemoryTarget, receipts: Path
) -> None:
    context = multiprocessing.get_context("spawn")
    ready = context.Event()
    process = context.Process(target=_hold_lock, args=(str(receipts), ready))
    process.start()
    assert process.pid is not None
    assert ready.wait(30)
    with (
        closing(Database.open(receipts, wait=0.1)) as database,
        pytest.raises(SyncError, match="another sync is writing here"),
    ):
        sync(manifest, target, Model().embedder(), database)
    # Who dies keeps nobody waiting.
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    assert sync(manifest, target, Model().embedder(), receipts).added == 11


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("mysql://localhost/x", "neither a file nor the URL of PostgreSQL"),
        ("nonsense://x", "nonsense://x"),
        ("{folder}/none/x", "there is no folder"),
        ("{folder}", "cannot be used|unable to open"),
        ("{folder}/text", "file is not a database"),
        ("{folder}/text/x", "there is no folder"),
    ],
)
def test_receipts_that_cannot_be_opened(
    place: str, message: str, tmp_path: Path, manifest: Path, target: MemoryTarget
) -> None:
    (tmp_path / "text").write_text("no database, but long enough to be looked at" * 99)
    with pytest.raises(SyncError, match=message):
        sync(manifest, target, Model().embedder(), place.format(folder=tmp_path))
    assert target.items == {}


# -- what holds for all sites

_TEXTS = st.lists(st.sampled_from(["A.", "B.", "C.", "D."]), max_size=4)
_SECTIONS = st.dictionaries(st.sampled_from(["", "x=X", "y=Y", "x=Other"]), _TEXTS, max_size=3).map(
    lambda sections: {
        key: texts for key, texts in sections.items() if key != "x=Other" or "x=X" not in sections
    }
)
_SITES = st.dictionaries(
    st.sampled_from(["a=A", "b=B", "c=C", "b=B@de"]), _SECTIONS, min_size=1, max_size=4
).filter(lambda site: any(texts for sections in site.values() for texts in sections.values()))


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(_SITES, min_size=2, max_size=4))
def test_any_sequence_of_sites(tmp_path_factory: pytest.TempPathFactory, sites: list[Any]) -> None:
    folder = tmp_path_factory.mktemp("sites")
    target, model = MemoryTarget(), Model()
    for site in sites:
        path = write_manifest(folder, site)
        held = set(target.items)
        counts = sync(path, target, model.embedder(), folder / "receipts.sqlite", force=True)
        check_held(hold_memory(target), path)
        assert counts.added == len(target.items.keys() - held)
        assert counts.deleted == len(held - target.items.keys())
        assert counts.skipped + counts.rewritten + counts.added == len(target.items)
    assert len(model.texts) == len(set(model.texts))


def test_a_very_long_text(tmp_path: Path, target: MemoryTarget, receipts: Path) -> None:
    path = write_manifest(tmp_path, {"a": {"": ["long " * 2_000_000, "Short."]}}, max_chars=10**8)
    assert sync(path, target, Model().embedder(), receipts) == Counts(added=2, embedded=2)
    check_held(hold_memory(target), path)


def test_force_rebuilds_what_has_lost_nearly_all(
    tmp_path: Path, manifest: Path, target: MemoryTarget, receipts: Path
) -> None:
    sync(manifest, target, Model().embedder(), receipts)
    for chunk_id in list(target.items)[1:]:
        del target.items[chunk_id]
    other = write_manifest(tmp_path / "other", {"new": {"": ["New."]}})
    sync(other, target, Model().embedder(), receipts, rebuild=True, force=True)
    check_held(hold_memory(target), other)


class LookedUp(MemoryTarget):
    """A target that can be looked into, and is slow to list."""

    listed = 0

    def find_ids(self, chunk_ids: Sequence[str]) -> Collection[str]:
        return self.items.keys() & set(chunk_ids)

    def list_ids(self, publication: str) -> Iterable[str]:
        self.listed += 1
        return super().list_ids(publication)


def test_a_target_is_looked_into_rather_than_listed(tmp_path: Path) -> None:
    path, target, model = write_manifest(tmp_path, SITE), LookedUp(), Model()
    receipts = tmp_path / "receipts.sqlite"
    sync(path, target, model.embedder(), receipts)
    assert target.listed == 1
    assert sync(path, target, model.embedder(), receipts) == Counts(skipped=11)
    assert target.listed == 1
    target.items.clear()
    with pytest.raises(SyncError, match="by its receipts it should"):
        sync(path, target, model.embedder(), receipts)


# -- a sync that died, and then something else is wrong


@dataclass
class Dying(MemoryTarget):
    """Fails at the write, and at the deletion, of these numbers, counted down."""

    writes: int = -1
    deletions: int = -1

    def upsert(self, items: Sequence[Item]) -> None:
        self.writes -= 1
        if self.writes == -1:
            raise OSError("gone")
        super().upsert(items)

    def delete(self, chunk_ids: Sequence[str]) -> None:
        self.deletions -= 1
        if self.deletions == -1:
            raise OSError("gone")
        super().delete(chunk_ids)


LARGE = {f"p{number}": {"": [f"T {number} {each}." for each in range(300)]} for number in range(6)}
GHOST = "00000000-0000-8000-8000-000000000000"


def die(path: Path, target: Dying, receipts: Path, model: str = "model", **options: Any) -> None:
    with pytest.raises(SyncError, match="gone"):
        sync(path, target, Model(model).embedder(batch_size=500), receipts, **options)


@pytest.mark.parametrize(("writes", "deletions"), [(0, -1), (1, -1), (2, -1), (-1, 0)])
def test_a_rebuild_that_died_is_finished_by_a_sync(
    writes: int, deletions: int, tmp_path: Path, receipts: Path
) -> None:
    target, path = Dying(), write_manifest(tmp_path, LARGE)
    sync(path, target, Model().embedder(batch_size=500), receipts)
    # Most is lost, and there is a ghost.
    item = target.items.popitem()[1]
    target.items = {GHOST: item._replace(chunk_id=GHOST)}
    target.writes, target.deletions = writes, deletions
    die(path, target, receipts, rebuild=True)
    sync(path, target, Model().embedder(), receipts)
    check_held(hold_memory(target), path)
    assert check(target, ["p"], receipts) == ([], [], [], True)


def test_what_a_sync_that_died_had_begun_with_is_counted(tmp_path: Path, receipts: Path) -> None:
    target, path = Dying(), write_manifest(tmp_path / "old", LARGE)
    sync(path, target, Model().embedder(batch_size=500), receipts)
    less = write_manifest(tmp_path / "new", {"p0": LARGE["p0"]})
    target.deletions = 1
    die(less, target, receipts, force=True)
    with pytest.raises(SyncError, match="1000 of 1300 records would be deleted"):
        sync(less, target, Model().embedder(), receipts)
    counts = sync(less, target, Model().embedder(), receipts, force=True)
    assert counts == Counts(skipped=300, deleted=1000)
    check_held(hold_memory(target), less)


def test_a_sync_that_died_opens_no_way_to_delete_all(
    tmp_path: Path, manifest: Path, receipts: Path
) -> None:
    target = Dying()
    sync(manifest, target, Model().embedder(), receipts)
    target.writes = 0
    die(manifest, target, receipts, "another")
    bad = write_manifest(tmp_path / "bad", {"new": {"": ["New."]}})
    with pytest.raises(SyncError, match="11 of 11 records would be deleted"):
        sync(bad, target, Model("another").embedder(), receipts)
    check_held(hold_memory(target), manifest)


def test_a_loss_after_a_sync_that_died_is_noticed(tmp_path: Path, receipts: Path) -> None:
    target = Dying()
    texts = [f"Text {number}." for number in range(9)]
    sync(write_manifest(tmp_path, {"a": {"": texts}}), target, Model().embedder(), receipts)
    path = write_manifest(tmp_path, {"a": {"": [*texts, "New."]}})
    target.writes = 0
    die(path, target, receipts)
    target.items.clear()
    with pytest.raises(SyncError, match="by its receipts it should"):
        sync(path, target, Model().embedder(), receipts)


# -- what a program gives wrongly


@pytest.mark.parametrize("size", [0, -1])
def test_a_batch_has_texts(size: int) -> None:
    with pytest.raises(SyncError, match="1 text or more"):
        Model().embedder(batch_size=size)


@pytest.mark.parametrize("vector", ["123", b"\0\1\2", {1.0: 2.0}, {1.0, 2.0}])
def test_what_only_looks_like_numbers(
    vector: Any, manifest: Path, target: MemoryTarget, receipts: Path
) -> None:
    with pytest.raises(SyncError, match="a vector is a list of numbers, not"):
        sync(manifest, target, Embedder("m", lambda texts: [vector for _ in texts]), receipts)
    assert target.items == {}


def test_a_model_that_ends_the_program(
    manifest: Path, target: MemoryTarget, receipts: Path
) -> None:
    def end(_: list[str]) -> list[list[float]]:
        raise SystemExit

    with pytest.raises(SyncError, match="the model m failed: SystemExit"):
        sync(manifest, target, Embedder("m", end), receipts)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://me:secret@host:port/x", "me:…@host:port/x cannot be opened"),
        ("mysql://me:sec@ret@host/x", "me:…@host/x is neither"),
        ("postgresql://host:1:1/x?user=me&password=secret", "x.user=me&password=… cannot be"),
    ],
)
def test_wrong_urls_keep_their_passwords(url: str, shown: str) -> None:
    with pytest.raises(SyncError, match=shown) as caught:
        Database.open(url)
    assert "ret" not in str(caught.value)


def test_a_lock_that_cannot_be_had(manifest: Path, target: MemoryTarget, receipts: Path) -> None:
    lock = receipts.with_name(f"{receipts.name}-lock")
    lock.write_bytes(b"no database" * 999)
    with pytest.raises(SyncError, match=r"-lock: file is not a database"):
        sync(manifest, target, Model().embedder(), receipts)
    lock.unlink()
    lock.mkdir()
    with pytest.raises(SyncError, match=r"-lock: unable to open"):
        sync(manifest, target, Model().embedder(), receipts)


def test_a_site_that_is_built_again_meanwhile(tmp_path: Path, receipts: Path) -> None:
    target = MemoryTarget()
    old, new = ({f"a={title}": {"x": ["One."]}, "b": {"": ["Two."]}} for title in ("Old", "New"))
    path, same = write_manifest(tmp_path, old), write_manifest(tmp_path / "same", old)
    with Manifest.open(path) as opened:
        path.unlink()  # as a build does first
        write_manifest(tmp_path, new)
        sync(opened, target, Model().embedder(), receipts)
    check_held(hold_memory(target), same)
