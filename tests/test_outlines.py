"""Translations and their originals: ids that differ, and ids that are carried over."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mkdocs_markstay.findings import judge
from mkdocs_markstay.outlines import Carried, OutlineHeading, carry_ids, check_parity
from mkdocs_markstay.sectionids import read_heading

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mkdocs_markstay.findings import Finding

Outline = list[OutlineHeading]


def read(source: str, path: str) -> tuple[Outline, str]:
    """Read the ATX headings of a text. A line is a block of its own."""
    text = "\n\n".join(source.strip().split("\n"))
    outline = []
    for number, line in enumerate(text.split("\n"), 1):
        title = line.lstrip("#")
        if level := len(line) - len(title):
            written = read_heading(title.strip())
            section_id = written.section_id or ""
            outline.append(OutlineHeading(level, written.title, section_id, path, number, line))
    return outline, text


def parity(original: str, translation: str) -> list[Finding]:
    found = check_parity(read(original, "en/a.md")[0], read(translation, "de/a.md")[0], "de/a.md")
    return judge(found, {})


def carry(original: str, translation: str) -> list[Carried]:
    ours, our_text = read(original, "en/a.md")
    theirs, their_text = read(translation, "de/a.md")
    return carry_ids(ours, theirs, {"en/a.md": our_text, "de/a.md": their_text})


def ids(original: str, translation: str) -> list[str]:
    return [each.section_id for each in carry(original, translation)]


def reasons(original: str, translation: str) -> list[str]:
    return [each.reason for each in carry(original, translation)]


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
    assert parity("## A <#a>\n## B <#b>", "## A <#a>\n## B <#b>\n## A <#a>") == []


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
    (found,) = check_parity(original, translation, "de/a.md")
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
    assert (found.code, found.line, found.heading) == ("parity-missing", 5, "Two")
    assert found.message == (
        "heading 'Zwei' has no id; in the original 'Two' (en/a.md:5) stands there, with the id"
        " 'two'. If it is its translation: Write: ### Zwei <#two>"
    )


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


# -- ids that are carried over


def test_ids_are_carried_by_order_and_level() -> None:
    assert ids(PAGE.replace("Page", "Page <#page>"), "# S\n## E\n### Z\n### D\n## V") == [
        "page",
        "one",
        "two",
        "three",
        "four",
    ]


@pytest.mark.parametrize(
    ("original", "translation"),
    [
        ("Use `Query`", "`Path` verwenden"),
        ("Use `Query`", "Verwendung"),
        ("Usage", "`Query` verwenden"),
        ("FastAPI and you", "Das Ende"),
        ("The end", "Mit FastAPI"),
        ("Python 3.10", "Python 3.9"),
        ("The 2 ways", "Die 3 Wege"),
        ("New in v1", "Neu in v2"),
        ("Features ✨", "Fehler 🐛"),
        ("[A](https://a.example/x)", "[B](https://a.example/y)"),
        ("Return JSON", "Gib HTML zurück"),
        ("Requirements", "Docker をインストール"),
        ("For `some_name`", "Für `another_name`"),
    ],
)
def test_what_contradicts_is_not_carried(original: str, translation: str) -> None:
    around = "## {} <#x>\n## Last words <#last>"
    foreign = "文字文字" if any(ord(char) > 0x3000 for char in translation[:12]) else "Schluss"
    carried = carry(around.format(original), f"## {translation}\n## {foreign}")
    # Where one heading was replaced, its neighbours may be others, too.
    assert [each.section_id for each in carried] == ["", ""]
    assert carried[0].reason.startswith(f"where '{translation}' (line 1) stands, the original has")
    assert carried[0].reason.endswith("; write the id by hand")


@pytest.mark.parametrize(
    ("original", "translation"),
    [
        ("Use the `app.overrides` attribute", "Das Attribut app.overrides verwenden"),
        ("Dependencies with yield", "Abhängigkeiten mit `yield`"),
        ("FastAPI's `Request`s", "Die `Request` von FastAPI"),
        ("Heroes and APIs", "Hero と API"),
        ("The 1st step, e.g. Docker", "1. Schritt, z.B. Docker"),
        ("One process", "1 プロセス"),
        ("The docs UI", "Oberfläche der Dokumentation"),
        ("_Path operations_", "*Path operation* 関数"),
        ("R&amp;D <b class='a_b'>x</b>", "R & D <b class='c_d'>x</b>"),
        ("VERSION TWO", "ZWEITE FASSUNG"),
        ("Use `a``b", "Nimm `a``b"),  # no code
        ("[Wiki](../en/a.md)", "Wiki"),
        ("Ⅷ: node.js", "８：node.js"),
    ],
)
def test_what_translators_change_is_no_contradiction(original: str, translation: str) -> None:
    assert ids(f"## {original} <#x>", f"## {translation}") == ["x"]


def test_a_heading_added_and_one_taken_away_shift_nothing() -> None:
    original = "## A <#a>\n### B <#b>\n### C <#c>\n### D <#d>\n## E <#e>\n### F <#f>\n## G <#g>"
    older = "## Ah\n### Beh\n### Deh\n## Eh\n### Eff\n### X\n## Geh"
    assert not any(ids(original, older))
    assert "2 sections around it have other headings below" in reasons(original, older)[0]


def test_one_section_that_differs_does_not_spoil_the_others() -> None:
    original = "## A <#a>\n### B <#b>\n### C <#c>\n## D <#d>\n### E <#e>"
    older = "## Ah\n### Beh\n## Deh\n### Eh"
    assert ids(original, older) == ["", "", "d", "e"]
    assert reasons(original, older)[0] == (
        "the headings here are not those of the original's 'A' (en/a.md:1); if they are the same,"
        " write <#a>"
    )
    # What is certain below it shows that it is the same.
    assert ids(original.replace("B", "`b`"), older.replace("Beh", "`b`")) == ["a", "b", "d", "e"]


def test_a_missing_section_leaves_only_what_is_certain() -> None:
    original = "## A <#a>\n## Use `bb` <#b>\n### C <#c>\n## D <#d>\n## E <#e>"
    assert ids(original, "## Ah\n## `bb` nutzen\n### Zeh\n## Eh") == ["a", "b", "c", ""]
    assert reasons(original, "## Ah\n## `bb` nutzen\n### Zeh\n## Eh")[3] == (
        "the original has 2 headings of level 2 here, and this page 1; write the id by hand"
    )


def test_ids_of_the_translation_are_fixed_points() -> None:
    original = "## A <#a>\n## B <#b>\n## C <#c>\n## D <#d>"
    assert ids(original, "## Ah\n## Zeh <#c>\n## Deh") == ["", "d"]
    assert ids(original, "## Ah\n## Beh\n## Zeh <#c>") == ["a", "b"]


def test_an_id_that_stands_twice_in_the_original_is_not_given() -> None:
    assert ids("## A <#a>\n## B <#a>", "## Ah\n## Beh") == ["", ""]
    assert reasons("## A <#a>\n## B <#a>", "## Ah\n## Beh")[1] == (
        "the id 'a' stands twice in the original; correct that first"
    )


def test_an_id_that_another_heading_has_in_another_case_is_not_given() -> None:
    original = "## A <#a>\n## B <#b>\n### C"
    carried = carry(original, "## Ah\n## Beh\n### Zeh <#B>")
    assert [(each.section_id, each.reason) for each in carried] == [
        ("a", ""),
        ("", "the id 'b' of its original is already at de/a.md:5"),
    ]


def test_an_original_without_id() -> None:
    (carried,) = carry("## A", "## Ah")
    assert carried.reason == "its original 'A' (en/a.md:1) has no id; give it one there first"


def test_the_title_of_a_page_may_stand_elsewhere() -> None:
    assert ids("# Page <#p>\n## A <#a>", "## Ah") == ["a"]
    assert carry("## A <#a>", "# Seite\n## Ah") == [
        Carried(
            OutlineHeading(1, "Seite", "", "de/a.md", 1, "# Seite"),
            "",
            "the original has no heading that is its title",
        ),
        Carried(OutlineHeading(2, "Ah", "", "de/a.md", 3, "## Ah"), "a"),
    ]
    # Several of level 1 are sections.
    assert ids("# A <#a>\n# B <#b>\n# C <#c>", "# Beh\n# Zeh") == ["", ""]


def test_a_title_left_untranslated_is_a_fixed_point() -> None:
    original = "## Setup <#setup>\n## More <#more>\n## Use <#use>\n## End <#end>"
    assert ids(original, "## Einrichten\n## Use\n## Ende") == ["", "use", "end"]


# -- the text below the headings

BODIES = """
## First steps <#first>
`app_one` `app_two` `app_three`
## Next steps <#next>
`more_one` `more_two` `more_three`
## Last steps <#last>
Bye.
"""


def test_sections_that_changed_places_are_recognised() -> None:
    translation = (
        "## Weiter\n`more_one` `more_two` `more_three`\n## Anfang\n`app_one` `app_two` `app_three`\n"
        "## Schluss\nTschüss."
    )
    assert ids(BODIES, translation) == ["next", "", ""]
    # Texts that keep the same things are told apart by their blocks.
    original = "## One <#one>\n`a_a` `b_b`\n## Two <#two>\n`a_a` `b_b`\nText\n## End <#end>"
    swapped = "## Zwei\n`a_a` `b_b`\nText\n## Eins\n`a_a` `b_b`\n## Ende"
    assert ids(original, swapped) == ["", "", ""]
    assert "the text below fits that of" in reasons(original, swapped)[0]


def test_texts_say_where_a_heading_is_missing() -> None:
    translation = "## Weiter\n`more_one` `more_two` `more_three`\n## Schluss\nTschüss."
    assert ids(BODIES, translation) == ["next", "last"]


def test_texts_that_have_nothing_in_common_are_not_the_same() -> None:
    translation = "## Anfang\n`app_one` `app_two` `app_three`\n## Neu\n`x_one` `x_two` `x_three`\n## Schluss\nO."
    assert ids(BODIES, translation) == ["first", "", ""]
    assert "the texts below them have little in common" in reasons(BODIES, translation)[1]


def test_another_number_of_blocks_is_no_support() -> None:
    original = "## One <#one>\nText\n## Two <#two>\nText"
    assert ids(original, "## Eins\nText\n## Zwei\nText\nText") == ["one", ""]
    assert reasons(original, "## Eins\nText\n## Zwei\nText\nText")[1] == (
        "nothing shows that it is 'Two' (en/a.md:5); if it is, write <#two>"
    )
    # The titles, or the texts, have something in common.
    assert ids("## `Two` <#two>\nText", "## `Two` x\nText\nText") == ["two"]
    assert ids("## Two <#two>\n`aa` `bb`", "## Zwei\n`aa` `bb`\nText") == ["two"]


def test_an_underline_is_no_block() -> None:
    original = OutlineHeading(2, "One", "one", "en/a.md", 1)
    translation = OutlineHeading(2, "Eins", "", "de/a.md", 1)
    texts = {"en/a.md": "One\n---\nText", "de/a.md": "## Eins\nText"}
    assert carry_ids([original], [translation], texts)[0].section_id == "one"


def test_where_the_text_is_not_known_the_title_decides() -> None:
    original = [OutlineHeading(2, title, title[:3], "en/a.md", 1) for title in ("One", "`bb` two")]
    translation = [OutlineHeading(2, title, "", "inc.md", 1) for title in ("Eins", "`bb` zwei")]
    carried = carry_ids(original, translation, {"en/a.md": "One\n"})
    assert [each.section_id for each in carried] == ["", "`bb"]
    assert carried[0].reason.startswith("nothing shows that it is 'One'")


# -- what holds for all outlines

LEVELS = st.lists(st.integers(2, 4), max_size=12)


def build(sections: Sequence[tuple[int, str, str, str]], path: str) -> tuple[Outline, str]:
    """Build a page of sections: level, title, id, text."""
    lines: list[str] = []
    outline = []
    for level, title, section_id, text in sections:
        outline.append(OutlineHeading(level, title, section_id, path, len(lines) + 1))
        lines += [f"{'#' * level} {title}", "", *text.split("\n"), ""]
    return outline, "\n".join(lines)


def changed(data: st.DataObject, sections: list[tuple[int, str, str, str]], new: str) -> None:
    """Delete, insert or move some sections, as in a translation that is out of date."""
    for number in range(data.draw(st.integers(0, 4))):
        place = data.draw(st.integers(0, len(sections)))
        kind = data.draw(st.sampled_from(("delete", "insert", "move")))
        if kind == "insert":
            name = f"own_{number}"
            level = data.draw(st.integers(2, 4))
            sections.insert(place, (level, new, "", f"`{name}_a` `{name}_b` `{name}_c`"))
        elif place < len(sections):
            section = sections.pop(place)
            if kind == "move":
                sections.insert(data.draw(st.integers(0, len(sections))), section)


@given(st.lists(st.sampled_from("abcdefgh"), unique=True), LEVELS)
def test_identical_outlines_have_nothing_to_tell(names: list[str], levels: list[int]) -> None:
    outline, _ = build(
        [(level, name, name, "") for level, name in zip(levels, names, strict=False)], "a.md"
    )
    assert check_parity(outline, outline, "a.md") == []


@given(st.lists(st.sampled_from("abcdefgh"), unique=True), st.data())
def test_parity_tells_exactly_what_differs(names: list[str], data: st.DataObject) -> None:
    there = data.draw(st.lists(st.sampled_from("abcdefghxyz"), unique=True))
    original, _ = build([(2, "T", name, "") for name in names], "en.md")
    translation, _ = build([(2, "T", name, "") for name in there], "de.md")
    found = check_parity(original, translation, "de.md")
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


@given(LEVELS, st.lists(st.sampled_from(("", "Text", "Text\n\nText", "`ab` `cd`")), min_size=12))
def test_equal_outlines_carry_all_ids(levels: list[int], texts: list[str]) -> None:
    sections = [(1, "Page", "page", "")]
    sections += [(level, "Words", f"i{n}", texts[n]) for n, level in enumerate(levels)]
    original, text = build(sections, "en.md")
    translation, other = build([(s[0], "文字", "", s[3]) for s in sections], "ja.md")
    carried = carry_ids(original, translation, {"en.md": text, "ja.md": other})
    assert [each.section_id for each in carried] == [heading.section_id for heading in original]
    assert [each.heading for each in carried] == translation


@given(LEVELS, st.data())
@settings(max_examples=150)
def test_what_is_told_apart_is_never_mistaken(levels: list[int], data: st.DataObject) -> None:
    """Whatever was deleted, added and moved: no id of another section."""
    in_titles = data.draw(st.booleans())
    sections = []
    for n, level in enumerate(levels):
        text = "" if in_titles else f"`n{n}_a` `n{n}_b` `n{n}_c`\n\nText"
        sections.append((level, f"Use `n{n}_x`" if in_titles else "Use", f"i{n}", text))
    original, our_text = build(sections, "en.md")
    changed(data, sections, "`own_x`" if in_titles else "Eigenes")
    with_ids, their_text = build(sections, "de.md")
    keep = data.draw(st.lists(st.booleans(), min_size=len(sections), max_size=len(sections)))
    translation = [
        heading if kept else heading._replace(section_id="")
        for heading, kept in zip(with_ids, keep, strict=True)
    ]
    truth = {heading.line: heading.section_id for heading in with_ids}
    carried = carry_ids(original, translation, {"en.md": our_text, "de.md": their_text})
    for each in carried:
        assert each.section_id in ("", truth[each.heading.line])
        assert bool(each.section_id) != bool(each.reason)


@given(LEVELS, st.data())
def test_ids_are_from_the_original_and_unique(levels: list[int], data: st.DataObject) -> None:
    """Even where nothing tells one section from another."""
    names = st.sampled_from(("", "a", "A", "b", "c", "d", "e"))
    sections = [(level, "Words", data.draw(names), "") for level in levels]
    original, our_text = build(sections, "en.md")
    sections = [(level, "Words", data.draw(names), "") for level, *_ in sections]
    changed(data, sections, "Words")
    translation, their_text = build(sections, "de.md")
    carried = carry_ids(original, translation, {"en.md": our_text, "de.md": their_text})
    assert [each.heading for each in carried] == [h for h in translation if not h.section_id]
    given_ids = [each.section_id for each in carried if each.section_id]
    assert set(given_ids) <= {heading.section_id for heading in original}
    present = {heading.section_id.casefold() for heading in translation}
    assert not present & {each.casefold() for each in given_ids}
    assert max(Counter(map(str.casefold, given_ids)).values(), default=1) == 1
