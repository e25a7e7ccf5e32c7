"""Ids of an original that are carried over to a translation, and those that are not."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from outline_builder import LEVELS, build, changed, read

from mkdocs_markstay.carried_ids import Carried, carry_ids
from mkdocs_markstay.outlines import OutlineHeading

PAGE = "# Page\n## One <#one>\n### Two <#two>\n### Three <#three>\n## Four <#four>"


def carry(original: str, translation: str) -> list[Carried]:
    ours, our_text = read(original, "en/a.md")
    theirs, their_text = read(translation, "de/a.md")
    return carry_ids(ours, theirs, {"en/a.md": our_text, "de/a.md": their_text})


def ids(original: str, translation: str) -> list[str]:
    return [each.section_id for each in carry(original, translation)]


def reasons(original: str, translation: str) -> list[str]:
    return [each.reason for each in carry(original, translation)]


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
        ("Python 3.9 and 3.10", "Python 3.9"),
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
        ("Set `app.debug_mode` early", "app.debug_mode früh setzen"),
        ("Tests with pytest", "Mit `pytest` testen"),
        ("FastAPI's `Request`s", "Die `Request` von FastAPI"),
        ("Heroes and APIs", "Hero と API"),
        ("The 1st step, e.g. Docker", "1. Schritt, z.B. Docker"),
        ("One process", "1 プロセス"),
        ("The docs UI", "Oberfläche der Dokumentation"),
        ("_Path operations_", "*Path operation* 関数"),
        ("R &amp; D", "R & D"),
        ("Search & find", "文字 &amp; 文字"),
        ("<b class='a_b'>A</b>", "<b class='c_d'>B</b>"),
        ("Bugs ✨🐛", "Fehler 🐛"),
        ("Manual", "[Handbuch](https://node.js.example/a_b)"),
        ("The uses", "use の文字"),
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


def test_sections_may_differ_if_something_in_them_is_the_same() -> None:
    original = "## `bb` one <#one>\n### C <#c>\n### D <#d>\n## `bb` two <#two>"
    assert ids(original, "## `bb` eins\n### Zeh\n## `bb` zwei") == ["one", "", "two"]


def test_what_is_said_of_several_headings_tells_none_of_them() -> None:
    original = "## The `bb` <#b>\n## More <#more>\n## Last <#last>"
    assert ids(original, "## `bb` eins\n## `bb` zwei") == ["", ""]
    assert ids("## `bb` `cc` <#b>\n## More <#more>", "## `bb`") == [""]
    assert ids("## 1 way <#way>\n## More <#more>", "## 1 Weg") == [""]


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
    # Those that changed places are no neighbours of the others.
    assert ids(original, "## Beh <#b>\n## Ah <#a>\n## Zeh") == [""]
    assert "stands elsewhere" in reasons(original, "## Beh <#b>\n## Ah <#a>\n## Zeh")[0]
    # They are the same, whatever their titles say.
    original = "## A <#a>\n### `b1` <#b>\n## C <#c>\n### `d1` <#d>"
    assert ids(original, "## Ah\n### `x1` <#b>\n## Zeh\n### `y1` <#d>") == ["a", "c"]
    # No other heading is the same as their originals.
    original = "## `bb` <#b>\n## C <#c>\n## D <#d>"
    assert "'`bb` x' (line 3)" in reasons(original, "## Beh <#b>\n## `bb` x\n## Zeh")[0]
    # They are not what their titles look like.
    assert ids("## A <#a>\n## `bb` <#b>\n## C <#c>", "## `bb` x <#a>\n## Zeh") == [""]


def test_an_id_that_stands_twice_in_the_original_is_not_given() -> None:
    assert ids("## A <#a>\n## B <#a>", "## Ah\n## Beh") == ["", ""]
    assert reasons("## A <#a>\n## B <#a>", "## Ah\n## Beh")[1] == (
        "the id 'a' stands twice in the original; correct that first"
    )


def test_an_id_that_another_heading_has_in_another_case_is_not_given() -> None:
    original = "## A <#a>\n## B <#B>\n### C"
    carried = carry(original, "## Ah\n## Beh\n### Zeh <#b>")
    assert [(each.section_id, each.reason) for each in carried] == [
        ("a", ""),
        ("", "the id 'B' of its original is already at de/a.md:5"),
    ]
    carried = carry("## A <#a>\n## B <#A>", "## Ah\n## Beh")
    assert [(each.section_id, each.reason) for each in carried] == [
        ("a", ""),
        ("", "the id 'A' of its original is already at de/a.md:1"),
    ]


def test_an_original_without_id() -> None:
    (carried,) = carry("## A", "## Ah")
    assert carried.reason == "its original 'A' (en/a.md:1) has no id; give it one there first"


def test_the_title_of_a_page_may_stand_elsewhere() -> None:
    assert ids("# Page <#p>\n## A <#a>", "## Ah") == ["a"]
    assert ids("# Page <#p>\nText\n## A <#a>", "# Seite\nText\nText\n## Ah") == ["p", "a"]
    assert ids("# `bb` <#p>\n## A <#a>", "# `other`\n## Ah") == ["", "a"]
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
    # Not if there are several of them, or something else stands below.
    assert ids(original.replace("More", "Use"), "## Einrichten\n## Use\n## Ende") == ["", "", ""]
    original = "## Use <#use>\n`a_a` `b_b` `c_c`\n## More <#more>\n## End <#end>"
    assert ids(original, "## Use\n`d_d` `e_e` `f_f`\n## Ende") == ["", ""]


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


def test_texts_must_leave_no_doubt() -> None:
    original = "## One {}<#one>\n`a_a` `b_b` {}\n## Two <#two>\n{}\n## End <#end>"
    for title, text, other, translation in [
        ("", "`c_c`", "`a_a` `b_b` `c_c`", "## Eins\n`a_a` `b_b` `c_c`"),
        ("", "`c_c` `d_d` `e_e` `f_f`", "", "## Eins\n`a_a` `b_b` `c_c` `g_g` `h_h`"),
        ("", "", "", "## Eins\n`a_a` `b_b`"),
        ("v1 ", "`c_c`", "", "## Eins v2\n`a_a` `b_b` `c_c`"),
    ]:
        assert ids(original.format(title, text, other), f"{translation}\n## Ende") == ["", ""]
    # A single thing says little.
    original = "## One <#one>\n`a_a` `z_z`\n## Two <#two>\n`a_a`"
    assert ids(original, "## Eins\n`a_a`\n## Zwei\n`a_a`") == ["one", "two"]


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
    assert ids("## Two <#two>\n`aa` `bb` `cc` `dd` `ee`", "## Zwei\n`aa` `bb`\nText") == [""]
    assert ids("## Two <#two>\n`aa`", "## Zwei\n`aa`\nText") == [""]


@pytest.mark.parametrize(
    ("text", "section_id"),
    [
        ("One\n---\n\nText", "one"),
        ("## One\nText\nin lines\n", "one"),
        ("## One\nText\n\n## Two\nText", ""),
    ],
)
def test_blocks(text: str, section_id: str) -> None:
    original = OutlineHeading(2, "One", "one", "en/a.md", 1)
    translation = OutlineHeading(2, "Eins", "", "de/a.md", 1)
    texts = {"en/a.md": text, "de/a.md": "## Eins\n\nText"}
    assert carry_ids([original], [translation], texts)[0].section_id == section_id


def test_where_the_text_is_not_known_the_title_decides() -> None:
    original = [OutlineHeading(2, title, title[:3], "en/a.md", 1) for title in ("One", "`bb` two")]
    translation = [OutlineHeading(2, title, "", "inc.md", 1) for title in ("Eins", "`bb` zwei")]
    carried = carry_ids(original, translation, {"en/a.md": "One\n"})
    assert [each.section_id for each in carried] == ["", "`bb"]
    assert carried[0].reason.startswith("nothing shows that it is 'One'")
    twice = [OutlineHeading(2, "Same", section_id, "en/a.md", 1) for section_id in ("one", "two")]
    bare = [heading._replace(section_id="") for heading in twice]
    assert [each.section_id for each in carry_ids(twice, bare, {})] == ["one", "two"]


def test_what_stands_everywhere_tells_nothing() -> None:
    common = " ".join(f"`common_{number}`" for number in range(9))
    sections = [(2, "Words", f"i{n}", f"{common} `n{n}_a` `n{n}_b` `n{n}_c`") for n in range(60)]
    original, our_text = build(sections, "en.md")
    sections[7] = (2, "Words", "", f"{common} `own_a` `own_b` `own_c`")
    translation, their_text = build(sections, "de.md")
    (carried,) = carry_ids(original, translation, {"en.md": our_text, "de.md": their_text})
    assert "the texts below them have little in common" in carried.reason


# -- what holds for all outlines


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
