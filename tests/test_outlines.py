"""The ids of a translated page, compared with those of its original."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from outline_builder import LEVELS, Outline, build, read

from mkdocs_markstay.findings import Finding, judge
from mkdocs_markstay.outlines import OutlineHeading
from mkdocs_markstay.parity import Differences, check_parity, join_missing


def compare(original: Outline, translation: Outline, **texts: str) -> list[Finding]:
    found = check_parity(original, translation, "de/a.md", lambda _: texts)
    return judge([*found.unnamed, *found.others], {})


def parity(original: str, translation: str) -> list[Finding]:
    (ours, our_text), (theirs, their_text) = read(original, "en/a.md"), read(translation, "de/a.md")
    return compare(ours, theirs, **{"en/a.md": our_text, "de/a.md": their_text})


def test_an_outline_is_json() -> None:
    heading = OutlineHeading(2, "Über `x`", "about", "de/a.md", 3, "## Über `x` <#about>")
    assert OutlineHeading(*json.loads(json.dumps(heading))) == heading


# -- parity

PAGE = "# Page\n## One <#one>\n### Two <#two>\n### Three <#three>\n## Four <#four>"


def test_the_same_ids_are_no_finding() -> None:
    assert parity(PAGE, "# Seite\n## Eins {#one}\n## Zwei <#two>\n# X <#three>\n## Y <#four>") == []


def test_what_has_no_id_in_both_is_no_finding() -> None:
    assert parity("# A\n## B\n## C <#c>", "# A\n## B\n## B\n### B\n## C <#c>") == []


def test_a_repeated_id_counts_once() -> None:
    twice = "## A <#a>\n## B <#b>\n## C <#a>"
    assert parity("## A <#a>\n## B <#b>", twice) == []
    assert parity(twice, "## A <#a>\n## B <#b>") == []
    assert [each.heading for each in parity(twice, "## A <#b>")] == ["A"]
    # The second one stands where another id is missing; nor is it the one to write.
    assert [each.heading for each in parity("## A <#a>\n## B <#b>", "## A <#a>\n## C <#a>")] == [
        "B"
    ]
    (found,) = parity("## A <#a>\n## B <#a>", "## A <#a>\n## C <#c>")
    assert found.message.endswith(
        "which the original lacks. Remove the heading, or add it to the original"
    )


@pytest.mark.parametrize(
    ("translation", "line", "where"),
    [
        ("# Seite\n## Eins <#one>\n### Drei <#three>\n## Vier <#four>", 3, "after 'Eins'"),
        ("# Seite\n## Eins <#one>\n### Drei <#three>\n### V <#four>", 3, "after 'Eins'"),
        ("### Drei <#three>\n## Eins <#one>\n## Vier <#four>", 3, "after 'Eins'"),
    ],
)
def test_a_missing_id_is_told_after_what_precedes_it(
    translation: str, line: int, where: str
) -> None:
    (found,) = [each for each in parity(PAGE, translation) if each.code == "parity-missing"]
    assert (found.path, found.line, found.heading) == ("de/a.md", line, "Two")
    assert found.message == (
        f"the id 'two' of the original's heading 'Two' (en/a.md:5) is missing {where}. Translate"
        " that section, or write the id at the heading that is its translation: <#two>"
    )


def test_a_page_without_headings_lacks_all_ids() -> None:
    found = parity(PAGE, "Text")
    assert {(each.code, each.path, each.line) for each in found} == {
        ("parity-missing", "de/a.md", 1)
    }
    assert sorted(each.heading for each in found) == ["Four", "One", "Three", "Two"]
    assert "is missing at the beginning." in found[0].message


def test_an_id_that_the_original_lacks() -> None:
    (found,) = parity(PAGE, PAGE.replace("## Four", "### Neu <#new>\n## Four"))
    assert (found.code, found.path, found.line, found.heading) == (
        "parity-extra",
        "de/a.md",
        9,
        "Neu",
    )
    assert found.message == (
        "heading 'Neu' has the id 'new', which the original lacks. Remove the heading, or add it to"
        " the original"
    )


@pytest.mark.parametrize(
    ("line", "repair"),
    [
        ("## Eins <#eins>", "## Eins <#one>"),
        ("## Nr. #eins {: .x #eins .y }", "## Nr. #eins {: .x #one .y }"),
        ("\t> ## Eins {#eins} ##", "    > ## Eins {#one} ##"),
        ('<h2 class="x" id="eins">Eins</h2>', '<h2 class="x" id="one">Eins</h2>'),
        ("<h2 id=eins>Eins</h2>", "<h2 id=one>Eins</h2>"),
        ("Eins <#eins-zwei>", "## Eins <#one>"),
        ("", "## Eins <#one>"),
        ("<h2", '<h2 id="one">'),
        (f"## {'Eins ' * 99}<#eins>", "<#one>"),
    ],
)
def test_a_changed_id_is_told_once_with_the_line_to_write(line: str, repair: str) -> None:
    original = read(PAGE, "en/a.md")[0]
    translation = list(original)
    translation[1] = OutlineHeading(2, "Eins", "eins", "de/a.md", 7, line)
    (found,) = compare(original, translation)
    assert (found.code, found.line) == ("parity-extra", 7)
    assert found.message == (
        "heading 'Eins' has the id 'eins', which the original lacks; 'One' (en/a.md:3) stands"
        f" there, with the id 'one'. If it is its translation: Write: {repair}"
    )


def test_titles_that_contradict_are_not_one_heading() -> None:
    found = parity("## `one` <#one>\n## B <#b>", "## `other` <#other>\n## B <#b>")
    assert [each.code for each in found] == ["parity-extra", "parity-missing"]


def test_a_heading_without_id_lacks_that_of_the_original() -> None:
    (found,) = parity(PAGE, PAGE.replace("Two <#two>", "Zwei"))
    assert (found.code, found.line, found.heading) == ("parity-missing", 5, "Zwei")
    assert found.message == (
        "heading 'Zwei' has no section id; in the original 'Two' (en/a.md:5) stands there, with the id"
        " 'two'. If it is its translation: Write: ### Zwei <#two>"
    )


def test_a_line_that_cannot_take_the_id_is_not_proposed() -> None:
    original = read(PAGE, "en/a.md")[0]
    translation = list(original)
    translation[2] = OutlineHeading(3, "Zwei", "", "de/a.md", 5, "### Zwei {#a b}")
    (found,) = compare(original, translation)
    assert found.message.endswith("Write: ### Zwei <#two>")


def test_a_heading_whose_original_has_no_id() -> None:
    (found,) = parity(PAGE.replace(" <#two>", ""), PAGE)
    assert (found.code, found.line, found.heading) == ("parity-extra", 5, "Two")
    assert found.message == (
        "heading 'Two' has the id 'two', which the original lacks; 'Two' (en/a.md:5) stands there,"
        " without an id. Give it this one"
    )


def test_a_moved_heading_is_one_finding() -> None:
    (found,) = parity(PAGE, "## 4 <#four>\n## 1 <#one>\n### 2 <#two>\n### 3 <#three>")
    assert (found.code, found.path, found.line, found.heading) == (
        "parity-order",
        "de/a.md",
        1,
        "4",
    )
    assert found.message == (
        "heading '4' with the id 'four' stands in another place than in the original"
        " (en/a.md:9). Move it after 'three'"
    )


def test_headings_that_were_moved_together_are_one_finding() -> None:
    ten = [f"## T{number} <#i{number}>" for number in range(10)]
    moved = "\n".join([*ten[3:9], *ten[:3], ten[9]])
    (found,) = parity("\n".join(ten), moved)
    assert found.message == (
        "heading 'T0' with the id 'i0' and the 2 headings after it stand in another place than in"
        " the original (en/a.md:1). Move them before all others"
    )
    apart = "\n".join([*ten[3:5], ten[0], *ten[5:9], ten[1], ten[9], ten[2]])
    assert len(parity("\n".join(ten), apart)) == 3
    # They stand together in the translation only.
    together = "\n".join([ten[1], *ten[3:], ten[0], ten[2]])
    assert len(parity("\n".join(ten), together)) == 2


# -- included files

INCLUDED = OutlineHeading(2, "Eins", "one", "de/part.md", 4, "## Eins <#one>", "de/a.md:9")


def test_what_stands_in_an_included_file_names_the_page() -> None:
    original = read("## One <#one>\n## Two <#two>", "en/a.md")[0]
    more = INCLUDED._replace(level=3, section_id="more", line=6)
    missing, extra = compare(original, [INCLUDED, more])
    assert extra.code == "parity-extra"
    assert (extra.path, extra.line, extra.via) == ("de/part.md", 6, "de/a.md:9")
    # What belongs after it is not to be written into that file.
    assert missing.code == "parity-missing"
    assert (missing.path, missing.line, missing.via) == ("de/a.md", 9, "")


# -- the command that repairs


def repair_of(heading: OutlineHeading, **texts: str) -> str:
    """Say what repairs a heading without id whose original is `## One <#one>`."""
    original = read("## One <#one>\nText", "en/a.md")[0]
    texts = texts or {"en/a.md": "## One\n\nText", "de/a.md": "## Eins\n\nText"}
    found = check_parity(original, [heading], "de/a.md", lambda _: texts, "stamp it")
    assert not found.others
    return found.unnamed[0].message.partition("If it is its translation: ")[2]


def test_the_command_is_named_where_it_carries_the_id_over() -> None:
    heading = OutlineHeading(2, "Eins", "", "de/a.md", 1, "## Eins")
    assert repair_of(heading) == "Write: ## Eins <#one>, or run: stamp it"
    # Nothing shows that it is the same: other blocks stand below.
    texts = {"en/a.md": "## One\n\nText", "de/a.md": "## Eins\n\nText\n\nText"}
    assert repair_of(heading, **texts) == "Write: ## Eins <#one>"


@pytest.mark.parametrize(
    ("change", "repair"),
    [
        ({"source": "<h2>Eins</h2>"}, '<h2 id="one">'),
        ({"source": "1. - <h2>Eins</h2>"}, '<h2 id="one">'),
        ({"source": ""}, "## Eins <#one>"),
        ({"via": "de/b.md:3"}, "## Eins <#one>"),
    ],
)
def test_the_command_is_not_named_where_it_writes_nothing(
    change: dict[str, str], repair: str
) -> None:
    heading = OutlineHeading(2, "Eins", "", "de/a.md", 1, "## Eins")
    assert repair_of(heading._replace(**change)) == f"Write: {repair}"  # type: ignore[arg-type]


def test_an_id_that_the_original_has_twice_is_not_carried_over() -> None:
    original = read("## One <#one>\n## Two <#one>", "en/a.md")[0]
    translation = [OutlineHeading(2, "Eins", "", "de/a.md", 1, "## Eins")]
    translation.append(translation[0]._replace(title="Zwei", source="## Zwei"))
    found = check_parity(original, translation, "de/a.md", lambda _: {}, "stamp it")
    assert [each.message.endswith("Write: ## Eins <#one>") for each in found.unnamed] == [True]


def test_files_are_read_only_where_ids_differ() -> None:
    outline = read(PAGE, "en/a.md")[0]

    def read_no_texts(_: object) -> dict[str, str]:
        raise AssertionError

    assert check_parity(outline, outline, "de/a.md", read_no_texts) == ([], [])
    with pytest.raises(AssertionError):
        check_parity(outline, outline[1:-1], "de/a.md", read_no_texts)


# -- one cause, one finding

MISSING = Finding("a.md", 5, "missing-id", "Write: ## T <#t>", heading="T")
UNNAMED = Finding("a.md", 5, "parity-missing", "Write: ## T <#one>", heading="T")


def test_a_heading_without_id_is_told_once() -> None:
    joined = replace(MISSING, message=UNNAMED.message)
    assert join_missing([MISSING], Differences([UNNAMED], [])) == [joined]
    # It need not have one for itself.
    assert join_missing([], Differences([UNNAMED], [])) == [UNNAMED]
    # It has no original, or that has none.
    assert join_missing([MISSING], Differences([], [])) == [MISSING]


def test_what_else_stands_at_the_heading_stays() -> None:
    page = [
        replace(MISSING, line=4),
        replace(MISSING, path="b.md"),
        replace(MISSING, heading="U"),
        replace(MISSING, code="id-taken"),
    ]
    other = replace(UNNAMED, message="The next one is missing.")
    assert join_missing([*page, MISSING], Differences([UNNAMED], [other])) == [
        *page,
        replace(MISSING, message=UNNAMED.message),
        other,
    ]
    assert join_missing(page, Differences([UNNAMED], [other])) == [*page, other, UNNAMED]


def test_headings_that_look_the_same_in_one_place_are_joined_in_order() -> None:
    second = replace(UNNAMED, message="Write: ## T <#two>")
    assert join_missing([MISSING, MISSING, MISSING], Differences([UNNAMED, second], [])) == [
        replace(MISSING, message=UNNAMED.message),
        replace(MISSING, message=second.message),
        MISSING,
    ]


# -- what holds for all outlines


@given(st.lists(st.sampled_from("abcdefgh"), unique=True), LEVELS)
def test_identical_outlines_have_nothing_to_tell(names: list[str], levels: list[int]) -> None:
    outline, _ = build(
        [(level, name, name, "") for level, name in zip(levels, names, strict=False)], "a.md"
    )
    assert compare(outline, outline) == []


@given(st.lists(st.sampled_from("abcdefgh"), unique=True), st.data())
def test_parity_tells_exactly_what_differs(names: list[str], data: st.DataObject) -> None:
    there = data.draw(st.lists(st.sampled_from("abcdefghxyz"), unique=True))
    original, _ = build([(2, "T", name, "") for name in names], "en.md")
    translation, _ = build([(2, "T", name, "") for name in there], "de.md")
    found = compare(original, translation)
    assert bool(found) == (names != there)
    at = {heading.line: heading.section_id for heading in translation}
    extra = [at[each.line] for each in found if each.code == "parity-extra"]
    assert sorted(extra) == sorted(set(there) - set(names))
    # Each missing id is told once: by itself, or where another one stands in its place.
    missing = [
        name
        for each in found
        for name in set(names) - set(there)
        if each.code != "parity-order" and f"id '{name}'" in each.message
    ]
    assert sorted(missing) == sorted(set(names) - set(there))
    # Without the headings that are told, and those after them, the order is right.
    ours = [name for name in names if name in there]
    theirs = [name for name in there if name in names]
    order = [each for each in found if each.code == "parity-order"]
    assert len(order) <= len(ours) - longest_common(ours, theirs)
    assert bool(order) == (ours != theirs)


def longest_common(first: list[str], second: list[str]) -> int:
    above = [0] * (len(second) + 1)
    for one in first:
        row = [0]
        for column, other in enumerate(second):
            row.append(max(above[column + 1], row[-1], above[column] + (one == other)))
        above = row
    return above[-1]
