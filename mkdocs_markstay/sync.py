"""Keeps a vector store in step with a manifest, whatever the store and the model are.

New records are written first, then old ones deleted, then the receipts of their pages written.
Before anything is touched it is noted as pending, so a sync may die at any point: the store can
be searched, and the next sync finishes the work. The terms are defined in ``docs/sync.md``.
"""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from mkdocs_markstay.database import Database
from mkdocs_markstay.embedder import Embedder
from mkdocs_markstay.manifest import Manifest, PagePlace, Passage, opened
from mkdocs_markstay.partitions import PARTITIONS
from mkdocs_markstay.receipts import PageKey, Receipt, Receipts
from mkdocs_markstay.sync_errors import SyncError, told
from mkdocs_markstay.target_check import Differences, check, find_ids, list_ids
from mkdocs_markstay.targets import Item, Listing, Lookup, Target, make_metadata
from mkdocs_markstay.vectors import VectorCache

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from types import TracebackType

    from typing_extensions import Self

    from mkdocs_markstay.receipts import State

__all__ = ["Counts", "Differences", "Embedder", "Sync", "SyncError", "check", "sync"]

MAX_DELETE = 0.3

T = TypeVar("T")

_BATCH = 500
_SAMPLE = 50


class Counts(NamedTuple):
    """What a sync did, or would do.

    ``added`` ids are new in the target; the vectors of the ``reused`` ones among them were
    known. ``rewritten`` ids were there, with other metadata or with a vector of another model,
    ``skipped`` ones are as they should be, ``deleted`` ones are gone. Of those that a sync which
    died had begun with, nobody knows whether they were there: they are added or deleted.
    ``embedded`` is how many texts the model was given.
    """

    added: int = 0
    reused: int = 0
    rewritten: int = 0
    skipped: int = 0
    deleted: int = 0
    embedded: int = 0


@dataclass
class Plan:
    """What is to be done. ``held`` counts the records that the target holds of these sites.

    ``pages`` are those with anything to do, ``gone`` those that the manifests have no more,
    ``ghosts`` ids of publications that belong to no page.
    ``policy_moved``: passages are made otherwise;
    ``model_moved``: the target's vectors were made by another model, or of other contents.
    ``others`` counts what the target holds of sites that are not in the manifests.
    """

    counts: Counts
    held: int
    pages: list[PagePlace] = field(default_factory=list)
    gone: list[PageKey] = field(default_factory=list)
    ghosts: dict[str, list[str]] = field(default_factory=dict)
    policy_moved: bool = False
    model_moved: bool = False
    others: dict[str, int] = field(default_factory=dict)

    @property
    def steps(self) -> int:
        """How many texts are embedded, and records written or deleted."""
        counts = self.counts
        return counts.embedded + counts.added + counts.rewritten + counts.deleted


def sync(
    manifest: Manifest | str | os.PathLike[str],
    target: Target,
    embedder: Embedder,
    receipts: Database | str | os.PathLike[str],
    *,
    namespace: str = "",
    dry_run: bool = False,
    rebuild: bool = False,
    forget: Iterable[str] = (),
    force: bool = False,
    max_delete: float = MAX_DELETE,
) -> Counts:
    """Make a target hold exactly the passages of manifests, and count what that took.

    ``receipts`` is an SQLite file, which may be new, or the URL of PostgreSQL. ``namespace``
    is that of one target: a version, a tenant. ``rebuild`` trusts no receipt. ``forget`` names
    publications that are given up: their records are deleted, too. More than the share
    ``max_delete`` of what the target holds is deleted with ``force`` only. Raises ManifestError
    for a manifest that cannot be read and SyncError for all else; run it again then.
    """
    if not 0 <= max_delete <= 1:
        raise SyncError(f"max_delete is a share of the target: 0.3 is 30 %. It is {max_delete}")
    with ExitStack() as stack:
        found = stack.enter_context(opened(manifest))
        if not isinstance(receipts, Database):
            receipts = Database.open(receipts)
            stack.callback(receipts.close)
        run = stack.enter_context(
            Sync(
                found,
                target,
                embedder,
                receipts,
                namespace=namespace,
                rebuild=rebuild,
                forget=forget,
            )
        )
        if not dry_run:
            if not force:
                run.check_deletions(max_delete)
            run.execute()
        return run.plan.counts


class Sync:
    """One sync: while it is open, nobody else writes to its part of the namespace.

    ``plan`` is what is to be done; `execute` does it.
    """

    def __init__(
        self,
        manifest: Manifest,
        target: Target,
        embedder: Embedder,
        database: Database,
        *,
        namespace: str = "",
        rebuild: bool = False,
        forget: Iterable[str] = (),
    ) -> None:
        _check_arguments(target, embedder)
        self._manifest = manifest
        self._target = target
        self._embedder = embedder
        self._rebuild = rebuild
        self._scope = {name: header.partitions for name, header in manifest.headers.items()}
        refuse(manifest)
        for name in forget:
            if name in self._scope:
                raise SyncError(f"{name} is in the manifest, so it cannot be forgotten")
            self._scope[name] = PARTITIONS
        if rebuild and any(each != PARTITIONS for each in self._scope.values()):
            raise SyncError("only a whole site can be rebuilt, not one part of it")
        self._stack = ExitStack()
        self._receipts = Receipts(database, namespace)
        self._vectors = VectorCache(database, embedder.model)
        self._lock = database.locked(namespace, frozenset[int]().union(*self._scope.values()))
        self.plan = Plan(Counts(), 0)

    def __enter__(self) -> Self:
        self._check_lock = self._stack.enter_context(self._lock)
        try:
            self.plan = self._make_plan()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stack.close()

    def check_deletions(self, max_delete: float) -> None:
        """Raise SyncError if more than this share of what the target holds would be deleted."""
        deleted, held = self.plan.counts.deleted, self.plan.held
        if held and deleted > held * max_delete:
            raise SyncError(
                f"{deleted} of {held} records would be deleted, more than {max_delete:.0%}. Look"
                " at the manifest, and force it if that is right"
            )

    # -- the plan

    def _make_plan(self) -> Plan:
        states = self._receipts.read_states(self._scope)
        held = sum(state.held for state in states.values())
        ghosts: dict[str, list[str]] = {}
        if self._rebuild:
            held, ghosts = self._list_ghosts(held)
        else:
            self._check_not_lost(states)
        others = self._receipts.count_held()
        others = {name: others[name] for name in sorted(others.keys() - self._scope.keys())}
        pages: list[PagePlace] = []
        skipped = 0
        for page in self._manifest.pages:
            state = states.pop(_key(page), None)
            if state is not None and state.state == self._state(page) and not self._rebuild:
                skipped += page.passages
            else:
                pages.append(page)
        plan = Plan(Counts(), held, pages, list(states), ghosts, others=others)
        counts: Counter[str] = Counter(skipped=skipped)
        known: set[bytes] = set()
        unknown: set[bytes] = set()
        for some in _batches(pages, _BATCH):
            self._count_pages(some, counts, known, unknown)
            self._note_moves(some, plan)
        counts["embedded"] = len(unknown)
        for keys in _chunks(plan.gone, _BATCH):
            for receipt in self._receipts.read(keys).values():
                counts["deleted"] += len(receipt.ids)
        counts["deleted"] += sum(map(len, ghosts.values()))
        plan.counts = Counts(**{name: counts[name] for name in Counts._fields})
        return plan

    def _state(self, page: PagePlace) -> str:
        """Digest all that the records of a page are made from."""
        policy = self._manifest.headers[page.publication].policy
        parts = f"{page.digest}\n{policy}\n{self._embedder.fingerprint}"
        return sha256(parts.encode()).hexdigest()

    def _note_moves(self, pages: Sequence[PagePlace], plan: Plan) -> None:
        """Note whether passages, or vectors, were made otherwise."""
        for key, receipt in self._receipts.read([_key(page) for page in pages]).items():
            policy = self._manifest.headers[key.publication].policy
            plan.policy_moved |= receipt.policy not in ("", policy)
            plan.model_moved |= receipt.embedding != self._embedder.fingerprint

    def _count_pages(
        self,
        pages: Sequence[PagePlace],
        counts: Counter[str],
        known: set[bytes],
        unknown: set[bytes],
    ) -> None:
        """Count what is to be done to some pages; ``unknown`` are texts to be embedded."""
        works = self._compare(pages)
        digests = {self._embedder.prepare(passage)[0] for work in works for passage in work.writes}
        found = self._vectors.find(digests - known - unknown)
        known |= found
        for work in works:
            for passage in work.writes:
                digest = self._embedder.prepare(passage)[0]
                is_known = digest in known or digest in unknown
                if digest not in known:
                    unknown.add(digest)
                if passage.chunk_id in work.receipt.held:
                    counts["rewritten"] += 1
                else:
                    counts["added"] += 1
                    counts["reused"] += is_known
            counts["skipped"] += len(work.kept)
            counts["deleted"] += len(work.stale)

    def _compare(self, pages: Sequence[PagePlace]) -> list[_Work]:
        receipts = self._receipts.read([_key(page) for page in pages])
        works = []
        for page in pages:
            receipt = receipts.get(_key(page)) or Receipt(_key(page))
            same_model = receipt.embedding == self._embedder.fingerprint and not self._rebuild
            work = _Work(page, receipt)
            for passage in self._manifest.read(page):
                chunk_id = passage.chunk_id
                sure = same_model and chunk_id not in receipt.pending
                if sure and receipt.held.get(chunk_id) == passage.record_digest:
                    work.kept[chunk_id] = passage.record_digest
                else:
                    work.writes.append(passage)
            wanted = work.kept.keys() | {passage.chunk_id for passage in work.writes}
            work.stale = receipt.ids - wanted
            works.append(work)
        return works

    # -- what the target has lost

    def _check_not_lost(self, states: Mapping[PageKey, State]) -> None:
        """Refuse to go on where a target is empty that was written to."""
        self._check_known(self._scope.keys() - {key.publication for key in states})
        by_publication: dict[str, list[PageKey]] = {}
        # Of those with something pending, all may be, so they come last.
        for key, state in sorted(states.items(), key=lambda each: not each[1].state):
            if state.held:
                by_publication.setdefault(key.publication, []).append(key)
        for publication, keys in by_publication.items():
            receipts = self._receipts.read(keys[:_SAMPLE]).values()
            sample = [next(iter(receipt.held)) for receipt in receipts if receipt.held]
            if not sample:
                continue
            # A list may have to be read as a whole, so a look is better.
            if isinstance(self._target, Lookup):
                lost = not find_ids(self._target, sample)
            elif isinstance(self._target, Listing):
                lost = not list_ids(self._target, publication, 1)
            else:
                lost = False
            if lost:
                raise SyncError(
                    f"the target holds nothing of {publication}, and by its receipts it should. If"
                    " these receipts are of another target or namespace, name its own. If the"
                    " target was emptied, rebuild it"
                )

    def _check_known(self, publications: Iterable[str]) -> None:
        """Refuse to go on where a target was written to, and there is no receipt of it."""
        for publication in sorted(publications):
            # Another worker may have begun with another part.
            if self._receipts.read_states({publication: PARTITIONS}):
                continue
            if isinstance(self._target, Listing):
                there = bool(list_ids(self._target, publication, 1))
            elif isinstance(self._target, Lookup):
                pages = (page for page in self._manifest.pages if page.publication == publication)
                sample = [each.chunk_id for page in pages for each in self._manifest.read(page)[:1]]
                there = bool(sample) and bool(find_ids(self._target, sample[:_SAMPLE]))
            else:
                there = False
            if there:
                raise SyncError(
                    f"the target holds records of {publication}, and there is no receipt of them."
                    " If they are of another version or namespace, give this one a collection or"
                    " table of its own. If only the receipts were lost, rebuild it"
                )

    def _list_ghosts(self, held: int) -> tuple[int, dict[str, list[str]]]:
        """Give how many records a target may hold, and those that no receipt knows."""
        if not isinstance(self._target, Listing):
            return held, {}
        there = {name: set(list_ids(self._target, name)) for name in self._scope}
        held = max(held, sum(map(len, there.values())))
        for receipt in self._receipts.iter_all(self._scope):
            there[receipt.key.publication] -= receipt.ids
        for page in self._manifest.pages if any(there.values()) else ():
            there[page.publication].difference_update(
                passage.chunk_id for passage in self._manifest.read(page)
            )
        return held, {name: sorted(ids) for name, ids in there.items() if ids}

    # -- the work

    def execute(self, progress: Callable[[int], None] | None = None) -> None:
        """Do what is planned. ``progress`` is told how many of `Plan.steps` more are done.

        Raises SyncError where the model or the target fails. All that was done by then is
        known to the next sync.
        """
        tell = progress or (lambda _: None)
        if self._rebuild:
            self._distrust()
        for pages in _batches(self.plan.pages, _BATCH):
            self._write(self._compare(pages), tell)
        for keys in _chunks(self.plan.gone, _BATCH):
            receipts = self._receipts.read(keys)
            for receipt in receipts.values():
                receipt.distrust()
            self._receipts.write(receipts.values())
        self._delete(tell)

    def _distrust(self) -> None:
        """Note as pending all that may be there: if this dies, the next sync goes on with it."""
        for keys in _chunks(list(self._receipts.read_states(self._scope)), _BATCH):
            receipts = self._receipts.read(keys)
            for receipt in receipts.values():
                receipt.distrust()
            self._receipts.write(receipts.values())
        for publication, ghosts in self.plan.ghosts.items():
            # No page has an empty language, so these stand for pages that are gone.
            self._receipts.write(
                Receipt(PageKey(publication, "", str(number)), pending=set(some))
                for number, some in enumerate(_chunks(ghosts, _BATCH))
            )

    def _write(self, works: Sequence[_Work], progress: Callable[[int], None]) -> None:
        """Write what is new on some pages, and note what is to be deleted there."""
        writes = [passage for work in works for passage in work.writes]
        vectors = self._embed(writes, progress)
        # What is about to be written is not known to be there until it is.
        for work in works:
            receipt = work.receipt
            receipt.pending = work.stale | {passage.chunk_id for passage in work.writes}
            receipt.held = dict(work.kept)
            receipt.state, receipt.embedding = "", self._embedder.fingerprint
        self._receipts.write(work.receipt for work in works if work.writes)
        for some in _chunks(writes, _BATCH):
            items = [
                Item(
                    passage.chunk_id,
                    vectors[self._embedder.prepare(passage)[0]],
                    passage.text,
                    make_metadata(passage),
                )
                for passage in some
            ]
            self._check_lock()
            with told("the target failed to write"):
                self._target.upsert(items)
            self._settle(some, works)
            progress(len(items))
        for work in works:
            receipt, header = work.receipt, self._manifest.headers[work.page.publication]
            receipt.state, receipt.policy = self._state(work.page), header.policy
        self._receipts.write(work.receipt for work in works)

    def _settle(self, written: Sequence[Passage], works: Sequence[_Work]) -> None:
        """Note that some passages are there now."""
        receipts = {work.receipt.key: work.receipt for work in works}
        changed: dict[PageKey, Receipt] = {}
        for passage in written:
            key = PageKey(passage.publication, passage.lang, passage.page_id)
            receipt = changed[key] = receipts[key]
            receipt.held[passage.chunk_id] = passage.record_digest
            receipt.pending.discard(passage.chunk_id)
        self._receipts.write(changed.values())

    def _embed(
        self, passages: Sequence[Passage], progress: Callable[[int], None]
    ) -> dict[bytes, list[float]]:
        """Give the vector of each text, by its digest; unknown ones are asked for and kept."""
        prepared = dict(map(self._embedder.prepare, passages))
        vectors = self._vectors.read(prepared)
        size = self._vectors.size()
        missing = [digest for digest in prepared if digest not in vectors]
        for digests in _chunks(missing, self._embedder.batch_size):
            texts = [prepared[digest] for digest in digests]
            made = self._embedder.make_vectors(texts, size)
            size = len(made[0])
            self._vectors.write(dict(zip(digests, made, strict=True)))
            progress(len(texts))
            # As they are in the cache, so that the same vector is written every time.
            vectors |= self._vectors.read(digests)
        return vectors

    def _delete(self, progress: Callable[[int], None]) -> None:
        """Delete what is pending, and then forget it."""
        states = self._receipts.read_states(self._scope)
        unsettled = [key for key, state in states.items() if not state.state]
        for keys in _chunks(unsettled, _BATCH):
            receipts = self._receipts.read(keys).values()
            stale = [(each, receipt) for receipt in receipts for each in sorted(receipt.pending)]
            for some in _chunks(stale, _BATCH):
                self._check_lock()
                with told("the target failed to delete"):
                    self._target.delete([chunk_id for chunk_id, _ in some])
                progress(len(some))
                changed = {}
                for chunk_id, receipt in some:
                    receipt.pending.discard(chunk_id)
                    changed[receipt.key] = receipt
                self._receipts.write(changed.values())


@dataclass
class _Work:
    """What is to be done to one page.

    ``writes`` are written, ``kept`` ids are there as they should be, ``stale`` ones are to go.
    """

    page: PagePlace
    receipt: Receipt
    writes: list[Passage] = field(default_factory=list)
    kept: dict[str, str] = field(default_factory=dict)
    stale: set[str] = field(default_factory=set)


def _check_arguments(target: Target, embedder: Embedder) -> None:
    """Tell at once what would fail somewhere else, or weeks later."""
    if not isinstance(embedder, Embedder):
        raise SyncError(
            f"a sync takes an Embedder, not {embedder!r}. Write: Embedder(name, function)"
        )
    for name in ("upsert", "delete"):
        if isinstance(target, type) or not callable(getattr(target, name, None)):
            raise SyncError(f"{target!r} is no target: it has no method {name}")


def refuse(manifest: Manifest) -> None:
    """Refuse manifests by which nothing may be deleted."""
    for name, header in manifest.headers.items():
        whole = header.partitions == PARTITIONS
        if whole and all(page.publication != name for page in manifest.pages):
            raise SyncError(f"the manifest of {name} has no passages: nothing is done by it")
        if header.preview:
            raise SyncError(f"the manifest of {name} was written by a preview. Build the site")
        if header.complete is None:
            raise SyncError(
                f"nothing tells whether the manifest of {name} is complete: passages.jsonl does"
                " not say so. Give passages.json, or keep it beside the other file"
            )
        if not header.complete:
            raise SyncError(f"the manifest of {name} is not complete. Build the whole site")
    if not manifest.headers:
        raise SyncError("the manifest has no passages: nothing is done by it")


def _key(page: PagePlace) -> PageKey:
    return PageKey(page.publication, page.lang, page.page_id)


def _batches(pages: Sequence[PagePlace], size: int) -> Iterator[list[PagePlace]]:
    """Divide pages so that each batch has about so many passages."""
    batch: list[PagePlace] = []
    count = 0
    for page in pages:
        batch.append(page)
        count += page.passages
        if count >= size:
            yield batch
            batch, count = [], 0
    if batch:
        yield batch


def _chunks(values: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    for start in range(0, len(values), size):
        yield values[start : start + size]
