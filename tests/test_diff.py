"""`diff`: what it finds in two manifests. The cases are in `diff/`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st
from manifest_builder import Site, build

from mkdocs_markstay.diff import Change, Comparison, Place, compare
from mkdocs_markstay.manifest_files import open_manifest

CASES: list[dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parent / "diff" / "changes.yml").read_text(encoding="utf-8")
)
FORMS = ("passages.json", "passages.jsonl")


def compare_bytes(folder: Path, old: bytes, new: bytes, name: str, other: str = "") -> Comparison:
    """Compare two files, which have these names."""
    paths = []
    for kind, content, file in (("old", old, name), ("new", new, other or name)):
        path = folder / kind / file
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        paths.append(path)
        (folder / f"{kind}-temporary").mkdir(exist_ok=True)
    first, second = map(str, paths)
    return compare(
        open_manifest(first, second, folder / "old-temporary"),
        open_manifest(second, first, folder / "new-temporary"),
    )


def show_place(place: Place | None) -> str:
    if place is None:
        return "-"
    lang = "" if place.lang == "en" else f"@{place.lang}"
    return f"{place.referent}{lang}" + (f"[{place.position}]" if place.position >= 0 else "")


def show(change: Change) -> str:
    text = f"{change.kind} {change.what} {show_place(change.old)} -> {show_place(change.new)}"
    if change.kind == "metadata":
        text += f" ({', '.join(each.name for each in change.fields)})"
    if change.reason:
        text += f" ({change.reason})"
    if change.followed:
        assert change.new is not None
        text += f" (redirect {change.new.url})"
    if change.marks.edited:
        text += f" (stays {', '.join(change.marks.edited)})"
    return text + " +" * change.opened


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
@pytest.mark.parametrize("form", FORMS)
def test_changes(case: dict[str, Any], form: str, tmp_path: Path) -> None:
    lines = form == "passages.jsonl"
    old = build(case["old"])[lines]
    new = build(case["new"], **case.get("new_options", {}))[lines]
    found = compare_bytes(tmp_path, old, new, form)
    expected, facts = case["changes"], case.get("facts", [])
    if lines:
        expected, facts = case.get("lines", expected), case.get("lines_facts", facts)
    assert sorted(map(show, found.changes)) == sorted(expected)
    assert [fact.name for fact in found.facts] == facts
    assert found.moving == any(name not in ("version", "site_url") for name in facts)
    if "gone" in case:
        assert sorted(f"{key.page_id} {key.stay}" for key in found.gone) == case["gone"]
    failures = case.get("failures")
    if failures:
        failures = case.get("lines_failures", failures) if lines else failures
        assert sorted(found.failures()) == failures


EXCERPTS = [
    ("One.", "Two.", "One.", "Two."),
    ("A" * 60, "B", "A" * 60, "B"),
    ("A" * 61, "B", "A" * 60 + "…", "B"),
    # from a whole word on, if there is one before the difference
    (
        "word " * 10 + "one",
        "word " * 10 + "two",
        "…" + "word " * 5 + "one",
        "…" + "word " * 5 + "two",
    ),
    ("A" * 100 + "B", "A" * 100 + "C", "…" + "A" * 30 + "B", "…" + "A" * 30 + "C"),
    ("A" * 100, "A" * 101, "…" + "A" * 30, "…" + "A" * 31),
]


@pytest.mark.parametrize(("old", "new", "before", "after"), EXCERPTS)
def test_excerpts_show_the_difference(
    old: str, new: str, before: str, after: str, tmp_path: Path
) -> None:
    contents = [build({"a": {"x": [text]}})[1] for text in (old, new)]
    (change,) = compare_bytes(tmp_path, contents[0], contents[1], FORMS[1]).changes
    assert change.old
    assert change.new
    assert (change.old.excerpt, change.new.excerpt) == (before, after)


# -- what holds for all manifests

_IDS = st.sampled_from(["", "x", "y", "z=Z", "z=Other"])
_TEXTS = st.lists(st.sampled_from("ABCDE"), max_size=4)
_SECTIONS = st.lists(
    st.tuples(_IDS, _TEXTS), max_size=4, unique_by=lambda each: each[0].partition("=")[0]
).map(lambda each: dict(sorted(each, key=lambda pair: pair[0] != "")))
_SITES = st.dictionaries(st.sampled_from(["a", "a b", "a/b", "b", "a=A@fr"]), _SECTIONS, max_size=4)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("manifests")


def records(lines: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines.splitlines()]


_STEPS = {
    "metadata": ("text_digest", "position"),
    "repositioned": ("text_digest",),
    "edited": (),
}
"""What must be the same of two passages of a section that are compared, in this order."""


def naive(old: list[dict[str, Any]], new: list[dict[str, Any]]) -> set[tuple[str, str, str]]:
    """Compare the passages of two manifests that are in memory as a whole."""
    found = set()
    left = [list(old), list(new)]
    for kind, same in (*_STEPS.items(), ("moved", ("text_digest",))):
        keys = same if kind == "moved" else ("referent", "lang", *same)
        for row in list(left[0]):
            other = next((o for o in left[1] if all(o[key] == row[key] for key in keys)), None)
            if other is not None:
                left[0].remove(row)
                left[1].remove(other)
                if kind != "metadata" or row["record_digest"] != other["record_digest"]:
                    found.add((kind, row["chunk_id"], other["chunk_id"]))
    found |= {("removed", row["chunk_id"], "") for row in left[0]}
    return found | {("added", "", row["chunk_id"]) for row in left[1]}


def passages(found: Comparison) -> list[tuple[str, str, str]]:
    return [
        (
            change.kind,
            change.old.chunk_id if change.old else "",
            change.new.chunk_id if change.new else "",
        )
        for change in found.changes
        if change.what == "passage"
    ]


def referents(found: Comparison, *, new: bool) -> set[tuple[str, str]]:
    """Name the pages and sections that only one of the two has."""
    kinds = ("added",) if new else ("removed", "moved", "retired")
    return {
        place.key
        for change in found.changes
        for place in [change.new if new else change.old]
        if change.what != "passage" and place and (change.kind in kinds or (new and change.opened))
    }


@given(site=_SITES)
@settings(deadline=None)
def test_a_manifest_is_equal_to_itself(folder: Path, site: Site) -> None:
    as_json, lines = build(site)
    for name, content in zip(FORMS, (as_json, lines), strict=True):
        assert compare_bytes(folder, content, content, name).changes == []
    # The same, if every line is another one, and if one side has to be written anew.
    assert compare_bytes(folder, lines, lines.replace(b"\n", b"\r\n"), FORMS[1]).changes == []
    indented = json.dumps(json.loads(as_json), indent=1).encode()
    assert compare_bytes(folder, as_json, indented, FORMS[0]).changes == []
    assert passages(compare_bytes(folder, as_json, lines, *FORMS)) == []


@given(old=_SITES, new=_SITES)
@settings(deadline=None)
def test_what_is_streamed_is_what_is_found_in_memory(folder: Path, old: Site, new: Site) -> None:
    (old_json, old_lines), (new_json, new_lines) = build(old), build(new)
    expected = naive(records(old_lines), records(new_lines))
    from_lines = compare_bytes(folder, old_lines, new_lines, FORMS[1])
    from_json = compare_bytes(folder, old_json, new_json, FORMS[0])
    mixed = compare_bytes(folder, old_json, new_lines, *FORMS)
    for found in (from_lines, from_json, mixed):
        each = passages(found)
        assert set(each) == expected
        # Each passage is in one change.
        for ids in zip(*(change[1:] for change in each), strict=True):
            told = [chunk_id for chunk_id in ids if chunk_id]
            assert len(told) == len(set(told))
    before, after = ({row["chunk_id"] for row in records(each)} for each in (old_lines, new_lines))
    assert before - after <= {first for _, first, _ in expected}
    assert after - before <= {second for *_, second in expected}


@given(old=_SITES, new=_SITES)
@settings(deadline=None)
def test_there_and_back(folder: Path, old: Site, new: Site) -> None:
    for number, name in enumerate(FORMS):
        first, second = build(old)[number], build(new)[number]
        there, back = (
            compare_bytes(folder, *pair, name) for pair in ((first, second), (second, first))
        )
        swapped = {"added": "removed", "removed": "added"}
        assert sorted(passages(there)) == sorted(
            (swapped.get(kind, kind), after, before) for kind, before, after in passages(back)
        )
        assert referents(there, new=True) == referents(back, new=False)
        assert referents(there, new=False) == referents(back, new=True)
        assert referents(there, new=True) == known(second) - known(first)


def known(manifest: bytes) -> set[tuple[str, str]]:
    """Name the pages and sections that a manifest tells of."""
    if not manifest.startswith(b"{\n"):
        keys = {(row["referent"], row["lang"]) for row in records(manifest)}
        return keys | {(referent.partition("#")[0], lang) for referent, lang in keys}
    data = json.loads(manifest)
    pages = {(row["page_id"], row["lang"]) for row in data["pages"]}
    return pages | {(row["referent"], row["lang"]) for row in data["sections"]}


_MARKED_TEXTS = st.lists(
    st.tuples(st.sampled_from("ABC"), st.sampled_from(["", " ^1#", " ^2#", " ^3"])),
    max_size=3,
).map(lambda each: ["".join(pair) for pair in each])
_MARKED_SITES = st.dictionaries(
    st.sampled_from(["a", "b", "a=A@fr"]),
    st.dictionaries(st.sampled_from(["x", "y"]), _MARKED_TEXTS, max_size=2),
    max_size=3,
)


def marked_blocks(lines: bytes) -> dict[tuple[str, str, str], set[str]]:
    """Map marked blocks to their referents."""
    found: dict[tuple[str, str, str], set[str]] = {}
    for row in records(lines):
        for block in row["blocks"]:
            if block["stay"]:
                key = row["page_id"], row["lang"], block["stay"]
                found.setdefault(key, set()).add(block["referent"])
    return found


def without_anchors(site: Site) -> Site:
    return {
        page: {name: [text.rstrip("#") for text in texts] for name, texts in sections.items()}
        for page, sections in site.items()
    }


@example(
    old={"a": {"x": ["A ^1#"]}, "b": {"x": ["A", "A ^1#"]}},
    new={"a": {}, "b": {"x": ["A", "A ^1#", "A ^1#"]}},
)
@given(old=_MARKED_SITES, new=_MARKED_SITES | _MARKED_SITES.map(without_anchors))
@settings(deadline=None)
def test_markers_tell_what_a_passage_is(folder: Path, old: Site, new: Site) -> None:
    (old_json, old_lines), (new_json, new_lines) = build(old), build(new)
    rows = [{row["chunk_id"]: row for row in records(each)} for each in (old_lines, new_lines)]
    blocks = [marked_blocks(each) for each in (old_lines, new_lines)]
    for files in ((old_lines, new_lines, FORMS[1]), (old_json, new_json, FORMS[0])):
        found = compare_bytes(folder, *files)
        each = passages(found)
        for side in (1, 2):
            told = [change[side] for change in each if change[side]]
            assert len(told) == len(set(told))
        # What has another marker is never taken for the same.
        left: list[set[tuple[str, str, str]]] = [set(), set()]
        for kind, *ids in each:
            pair = [r[chunk_id] for r, chunk_id in zip(rows, ids, strict=True) if chunk_id]
            stays = [{block["stay"] for block in row["blocks"] if block["stay"]} for row in pair]
            if len(pair) == 2:
                assert not all(stays) or stays[0] & stays[1]
                assert (kind != "edited") == (pair[0]["text_digest"] == pair[1]["text_digest"])
            else:
                side = kind == "added"
                left[side] |= {(pair[0]["referent"], pair[0]["lang"], each) for each in stays[0]}
        # Nothing is gone here and new here that has one marker.
        assert not left[0] & left[1]
        gone = {tuple(key) for key in found.gone}
        assert gone <= blocks[0].keys() - blocks[1].keys()
        missing = blocks[0].keys() - blocks[1].keys()
        elsewhere = {key[1:] for key in blocks[1].keys() - blocks[0].keys()}
        # Or its passage went to a page that has another block with this marker already.
        followed = {
            (change.old.referent.partition("#")[0], change.old.lang, stay)
            for change in found.changes
            if change.what == "passage" and change.old and change.new
            for stay in change.marks.old
            if (change.new.referent.partition("#")[0], change.new.lang, stay) in blocks[1]
        }
        assert all(key[1:] in elsewhere or key in followed for key in missing - gone)
        anchors = {
            (referent, key[1])
            for key, referents in blocks[0].items()
            for referent in referents - blocks[1].get(key, set()) - {""}
        }
        told_blocks = {c.old.key for c in found.changes if c.what == "block" and c.old}
        assert told_blocks == anchors
