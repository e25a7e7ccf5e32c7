"""What an edit moves and what it does not: the promises of the identity, on built sites."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from site_builder import Site, build_site

if TYPE_CHECKING:
    from pathlib import Path

HEAD = "# Bees <#bees>\n\nLead words.\n\n"
KEEPING = "## Keeping bees <#keeping>\n\nA hive needs a dry place.\n\n- frames\n- a smoker\n\n"
HONEY = "## Honey {#honey}\n\nHoney keeps for years.\n"
EXTENSIONS = ("attr_list", "tables", {"toc": {"permalink": True}})


def manifest_of(folder: Path, text: str, **plugin: Any) -> dict[str, Any]:
    site = Site({"docs/index.md": text}, EXTENSIONS, plugin)
    built = build_site(folder, site)
    assert built.passed, built.log
    assert built.manifest is not None
    return built.manifest


def chunk_ids(manifest: dict[str, Any]) -> dict[str, list[str]]:
    ids: dict[str, list[str]] = {}
    for passage in manifest["passages"]:
        ids.setdefault(passage["referent"], []).append(passage["chunk_id"])
    return ids


def test_editing_a_sentence_moves_its_chunk_and_no_referent(tmp_path: Path) -> None:
    before = manifest_of(tmp_path / "a", HEAD + KEEPING + HONEY)
    after = manifest_of(tmp_path / "b", HEAD + KEEPING.replace("dry", "sunny") + HONEY)
    old, new = chunk_ids(before), chunk_ids(after)
    assert list(old) == list(new) == ["index#bees", "index#keeping", "index#honey"]
    assert old["index#keeping"] != new["index#keeping"]
    assert old["index#bees"] == new["index#bees"]
    assert old["index#honey"] == new["index#honey"]
    assert before["sections"] == after["sections"]
    assert before["digest"] != after["digest"]


def test_editing_furniture_moves_nothing(tmp_path: Path) -> None:
    note = "Last checked in May.\n{ .furniture }\n\n<nav>Old list</nav>\n\n"
    before = manifest_of(tmp_path / "a", HEAD + note + KEEPING + HONEY)
    after = manifest_of(
        tmp_path / "b",
        HEAD + note.replace("May", "June").replace("Old", "New") + KEEPING + HONEY,
    )
    assert before == after
    assert "checked" not in str(before["passages"])


def test_renaming_a_heading_moves_titles_alone(tmp_path: Path) -> None:
    before = manifest_of(tmp_path / "a", HEAD + KEEPING + HONEY)
    after = manifest_of(
        tmp_path / "b", HEAD + KEEPING.replace("Keeping bees", "Your first hive") + HONEY
    )
    assert chunk_ids(before) == chunk_ids(after)
    changed = {"title", "path"}
    for old, new in zip(before["sections"], after["sections"], strict=True):
        assert {key for key in old if old[key] != new[key]} <= changed
    renamed = after["sections"][1]
    assert renamed["title"] == "Your first hive"
    assert renamed["path"] == ["Bees", "Your first hive"]
    digests = [
        [(p["text_digest"], p["record_digest"]) for p in manifest["passages"]]
        for manifest in (before, after)
    ]
    moved = [old[1] != new[1] for old, new in zip(*digests, strict=True)]
    assert [old[0] for old in digests[0]] == [new[0] for new in digests[1]]
    assert moved == [False, True, False]  # the metadata of the renamed section alone


def paragraphs(count: int) -> list[str]:
    return [
        f"Paragraph number {n} tells of the {'workers queens drones'.split()[n % 3]}"  # noqa: SIM905
        f" that were seen on day {n * 7}, and of what they did there for {n % 5 + 1} hours."
        for n in range(count)
    ]


@pytest.mark.parametrize("place", [0, 1, 2, 5])
def test_inserting_a_paragraph_changes_its_neighbourhood_alone(tmp_path: Path, place: int) -> None:
    lines = paragraphs(80)
    new = "An entirely new paragraph about the winter, its storms and the weight of the hive."
    sizes = {"min_chars": 200, "target_chars": 600, "max_chars": 1200}
    head = "# Long <#long>\n\n"
    before = manifest_of(tmp_path / "a", head + "\n\n".join(lines), passages=sizes)
    edited = [*lines[:place], new, *lines[place:]]
    after = manifest_of(tmp_path / "b", head + "\n\n".join(edited), passages=sizes)
    old_texts = [passage["text"] for passage in before["passages"]]
    new_texts = [passage["text"] for passage in after["passages"]]
    assert len(old_texts) > 8
    others = [text for text in new_texts if text not in old_texts and new not in text]
    assert len(others) <= 2
    assert len([text for text in old_texts if text not in new_texts]) <= 3
    assert {p["referent"] for p in after["passages"]} == {"index#long"}
    # What is unchanged far behind the insertion is the same text at another position.
    assert new_texts[-3:] == old_texts[-3:]
    assert "\n\n".join(new_texts) == "\n\n".join(edited)
