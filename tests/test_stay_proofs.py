"""What an edit does to markers: the three claims, on built sites, by sets of ids.

The same block has the same record wherever it goes, keeps its id whatever is done to its text,
and is no other block that has the same bytes. The documents in ``stays/corpus`` are stamped, and
each was edited twice, as an editor does who leaves markers in their places: a copy-edit, and
a restructuring, which moves sections and rewords blocks.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import markstay
import pytest
from site_builder import Built, Site, build_site

if TYPE_CHECKING:
    from collections.abc import Mapping

CORPUS = Path(__file__).parent / "stays" / "corpus"
EXTENSIONS = ("admonition", "attr_list", "tables", "fenced_code")
OPTIONS = {"verify": True, "stay_anchors": True, "granularity": "block", "stays": "required"}
DRIFTED = {"findings": {"stay-drift": "warning"}}
_HASH = re.compile(r" hash=sha256:[0-9a-f]+")


class Record(NamedTuple):
    """What a consumer stores of a marked block: where it is, its key, and its text."""

    page: str
    key: str
    body_hash: str
    digest: str


def build(folder: Path, pages: Mapping[str, str], **options: Any) -> Built:
    files: dict[str, str | bytes] = {f"docs/{name}.md": text for name, text in pages.items()}
    files.setdefault("docs/index.md", "# Home <#home>\n")
    built = build_site(folder, Site(files, EXTENSIONS, {**OPTIONS, **DRIFTED, **options}))
    assert built.passed, built.log
    assert built.manifest is not None
    return built


def records(built: Built) -> dict[str, Record]:
    """Give the records of marked blocks, by the ids of the markers."""
    found: dict[str, Record] = {}
    assert built.manifest is not None
    for passage in built.manifest["passages"]:
        for block in passage["blocks"]:
            if block["stay"]:
                assert block["stay"] not in found
                page = passage["referent"].partition("#")[0]
                key = passage["stay_key"]
                found[block["stay"]] = Record(page, key, block["body_hash"], block["digest"])
    return found


def drifted(built: Built) -> set[str]:
    """Give the ids of the markers whose hashes are told to be old."""
    told = [found.message for found in built.findings if found.code == "stay-drift"]
    return {match[1] for message in told if (match := re.search(r"stay:([\w-]+)", message))}


def mark(stay_id: str, body: str) -> str:
    return f"{body}\n<!-- stay:{stay_id} hash=sha256:{markstay.body_hash(body, 12)} -->\n\n"


A, B, C = mark("a", "One block."), mark("b", "Same words."), mark("c", "Same words.")
HEAD = "# Page <#page>\n\n"
SECTION = "## Section <#section>\n\n"


# -- blocks with the same bytes


@pytest.mark.parametrize(
    "pages",
    [
        pytest.param({"p": HEAD + A + B + C}, id="in one section"),
        pytest.param({"p": HEAD + A + B + SECTION + C}, id="in two sections"),
        pytest.param({"p": HEAD + A + B, "q": HEAD + C}, id="on two pages"),
    ],
)
def test_blocks_with_the_same_bytes_are_distinct(tmp_path: Path, pages: dict[str, str]) -> None:
    found = records(build(tmp_path, pages))
    assert set(found) == {"a", "b", "c"}
    assert found["b"].digest == found["c"].digest
    assert len({record.key for record in found.values()}) == 3
    assert len({record.digest for record in found.values()}) == 2  # one is lost by digests


def test_a_passage_of_several_blocks_has_a_key_of_its_own(tmp_path: Path) -> None:
    twice = mark("d", "One block.") + mark("e", "Same words.")
    built = build(tmp_path, {"p": HEAD + A + B + SECTION + twice}, granularity="section")
    assert built.manifest is not None
    first, second = [p for p in built.manifest["passages"] if p["referent"].startswith("p#")]
    assert first["text_digest"] == second["text_digest"]
    assert first["stay_key"] != second["stay_key"]


# -- edits: what stays, drifts, appears, vanishes

OLD = {"p": HEAD + A + B + SECTION + C, "q": HEAD + mark("d", "Elsewhere.")}


class Edit(NamedTuple):
    """New pages, and the ids that are expected to have changed in each way."""

    pages: dict[str, str]
    drift: str = ""
    appear: str = ""
    vanish: str = ""
    moved: str = ""


EDITS = {
    "nothing": Edit(OLD),
    "edit": Edit({**OLD, "p": OLD["p"].replace("One block.", "One good block.")}, drift="a"),
    "edit, hash refreshed": Edit(
        {**OLD, "p": OLD["p"].replace(A, mark("a", "One good block."))}, drift="a"
    ),
    "move in the page": Edit({**OLD, "p": HEAD + B + SECTION + C + A}),
    "move between pages": Edit(
        {"p": HEAD + B + SECTION + C, "q": HEAD + mark("d", "Elsewhere.") + A}, moved="a"
    ),
    "move and edit": Edit(
        {
            "p": HEAD + B + SECTION + C,
            "q": HEAD + mark("d", "Elsewhere.") + A.replace("One", "Some"),
        },
        drift="a",
        moved="a",
    ),
    "insert": Edit({**OLD, "p": HEAD + A + mark("x", "New.") + B + SECTION + C}, appear="x"),
    "delete": Edit({**OLD, "p": HEAD + A + SECTION + C}, vanish="b"),
    # The part that keeps the marker is the block, with another text.
    "split": Edit(
        {**OLD, "p": HEAD + "One\n" + A.partition("\n")[2] + mark("x", "block.") + B + SECTION + C},
        drift="a",
        appear="x",
    ),
    "merge": Edit(
        {**OLD, "p": HEAD + A.replace("One block.", "One block. Same words.") + SECTION + C},
        drift="a",
        vanish="b",
    ),
    "a section reordered": Edit({**OLD, "p": HEAD + SECTION + C + "## A <#a>\n\n" + A + B}),
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_edits_by_sets_of_ids(tmp_path: Path, edit: Edit) -> None:
    old = records(build(tmp_path / "old", OLD))
    built = build(tmp_path / "new", edit.pages)
    new = records(built)
    kept = old.keys() & new.keys()
    assert new.keys() - old.keys() == set(edit.appear)
    assert old.keys() - new.keys() == set(edit.vanish)
    assert {i for i in kept if old[i].body_hash != new[i].body_hash} == set(edit.drift)
    assert {i for i in kept if old[i].key != new[i].key} == set(edit.drift)
    assert {i for i in kept if old[i].page != new[i].page} == set(edit.moved)
    # A hash that was refreshed says nothing of the edit any more.
    assert drifted(built) <= set(edit.drift)


# -- the matrix of the corpus

NAMES = ("clouds", "gauges", "records", "siting")
REKEYED = {
    ("clouds", "copyedit"): "",
    ("gauges", "copyedit"): "g04 g09",
    ("records", "copyedit"): "r04",
    ("siting", "copyedit"): "s09",
    ("clouds", "restructure"): "c04 c06 c08 c11 c12",
    ("gauges", "restructure"): "g05 g06 g11 g12",
    ("records", "restructure"): "r02 r05 r09 r12 r13",
    ("siting", "restructure"): "s02 s06 s08 s12 s13",
}


@pytest.mark.parametrize(("name", "kind"), REKEYED)
def test_as_many_new_keys_as_new_texts(tmp_path: Path, name: str, kind: str) -> None:
    """No more is embedded again than by digests of texts alone, and no id is lost."""
    before = (CORPUS / f"{name}.md").read_text(encoding="utf-8")
    after = (CORPUS / f"{name}.{kind}.md").read_text(encoding="utf-8")
    assert before != after or not REKEYED[name, kind]
    old = records(build(tmp_path / "old", {"p": before}))
    new = records(build(tmp_path / "new", {"p": after}))
    assert old.keys() == new.keys()
    changed = {i for i in old if old[i].key != new[i].key}
    assert changed == set(REKEYED[name, kind].split())
    assert {i for i in old if old[i].body_hash != new[i].body_hash} == changed
    texts = Counter(r.digest for r in new.values()) - Counter(r.digest for r in old.values())
    assert len(changed) == texts.total()


def test_movement_alone_moves_no_key(tmp_path: Path) -> None:
    """All sections of all four documents, in another order and on one page."""
    texts = [(CORPUS / f"{name}.md").read_text(encoding="utf-8") for name in NAMES]
    old = build(tmp_path / "old", dict(zip(NAMES, texts, strict=True)))
    sections = [part for text in texts for part in re.split(r"(?m)^(?=##? )", text) if part]
    joined = "\n".join(reversed([part.replace("# ", "## ", 1) for part in sections]))
    new = build(tmp_path / "new", {"all": "# All <#all>\n\n" + joined.replace("### ", "## ")})
    before, after = records(old), records(new)
    assert before.keys() == after.keys()
    assert len(before) == 4 * 9
    assert {i: r.key for i, r in before.items()} == {i: r.key for i, r in after.items()}


def test_three_of_three_duplicates_are_kept(tmp_path: Path) -> None:
    found = records(build(tmp_path, {"p": HEAD + A + B + C}))
    assert len({record.digest for record in found.values()}) == 2
    assert len({record.key for record in found.values()}) == 3


def test_the_id_stays_while_the_hash_moves(tmp_path: Path) -> None:
    before = (CORPUS / "gauges.md").read_text(encoding="utf-8")
    after = (CORPUS / "gauges.copyedit.md").read_text(encoding="utf-8")
    old = records(build(tmp_path / "old", {"p": before}))
    built = build(tmp_path / "new", {"p": after})
    new = records(built)
    assert drifted(built) == {"g04", "g09"}
    body = "The rim is a brass ring with a sharp edge."
    assert new["g04"].body_hash == f"sha256:{markstay.body_hash(body)}" != old["g04"].body_hash


def test_stamping_moves_no_digest(tmp_path: Path) -> None:
    """Markers are no text: all but the blocks' own facts is as it is without them."""
    text = (CORPUS / "siting.md").read_text(encoding="utf-8")
    bare = markstay.strip_markers(text)
    options = {"stays": "optional", "stay_anchors": False}
    with_markers = build(tmp_path / "with", {"p": text}, **options)
    without = build(tmp_path / "without", {"p": bare}, **options)
    old, new = without.manifest, with_markers.manifest
    assert old is not None
    assert new is not None
    assert old["digest"] == new["digest"]
    assert [p["record_digest"] for p in old["passages"]] == [
        p["record_digest"] for p in new["passages"]
    ]
    assert without.pages() == with_markers.pages()
    assert [b["digest"] for p in old["passages"] for b in p["blocks"]] == [
        b["digest"] for p in new["passages"] for b in p["blocks"]
    ]


def test_the_hash_in_a_marker_may_be_short_or_missing(tmp_path: Path) -> None:
    text = (CORPUS / "siting.md").read_text(encoding="utf-8")
    plain = records(build(tmp_path / "with", {"p": text}))
    assert records(build(tmp_path / "without", {"p": _HASH.sub("", text)})) == plain
