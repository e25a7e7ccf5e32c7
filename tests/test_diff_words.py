"""Which words of a text changed."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mkdocs_markstay.diff_words import ADDED, REMOVED, SAME, compare_words

# What is removed stands in brackets, what is added in braces.
CASES = [
    ("Get it.", "Get it.", "Get it."),
    ("", "", ""),
    ("", "New.", "{New.}"),
    ("Old.", "", "[Old.]"),
    (
        "You need Python 3.9 or later.",
        "You need Python 3.10 or later.",
        "You need Python [3.9]{3.10} or later.",
    ),
    ("Run it.", "Run it now.", "Run it{ now}."),
    ("Run it", "Run it now", "Run it{ now}"),
    ("one two three", "one three", "one [two ]three"),
    ("a\nb c", "a b c", "a[\n]{ }b c"),
    # What only a space or a sign holds apart is one change.
    ("run the installer", "start an installer", "[run the]{start an} installer"),
    ("a, b", "c; d", "[a, b]{c; d}"),
    # Without spaces between words, and with marks that are no letters
    ("我们喜欢猫。", "我们喜欢狗。", "我们喜欢[猫]{狗}。"),
    ("नमस्ते दुनिया", "नमस्ते भारत", "नमस्ते [दुनिया]{भारत}"),
    ("Äpfel essen", "Äste essen", "[Äpfel]{Äste} essen"),
]


@pytest.mark.parametrize(("old", "new", "shown"), CASES)
def test_words(old: str, new: str, shown: str) -> None:
    marks = {SAME: "{}", REMOVED: "[{}]", ADDED: "{{{}}}"}
    pieces = compare_words(old, new)
    assert "".join(marks[sign].format(text) for sign, text in pieces) == shown


_PARTS = st.lists(st.sampled_from([*"ab,. \n", "word", "3.10", "猫", "é", "\u200d"])).map("".join)


@given(old=_PARTS | st.text(), new=_PARTS | st.text())
def test_both_texts_can_be_read_of_it(old: str, new: str) -> None:
    pieces = compare_words(old, new)
    assert "".join(text for sign, text in pieces if sign != ADDED) == old
    assert "".join(text for sign, text in pieces if sign != REMOVED) == new
    signs = "".join(sign for sign, _ in pieces)
    assert all(text for _, text in pieces)
    assert not any(twice in signs for twice in ("==", "--", "++", "+-"))


LONG = [
    ("a" * 100_000, "a" * 99_999 + "b"),
    ("a b " * 25_000, "b a " * 25_000),
    (", ".join("ab" * 16_000), ", ".join("ba" * 16_000)),
    ("Some words. " * 8_000, "Other words! " * 8_000),
    ("\n" * 100_000, "\n " * 50_000),
    # One word that stands again and again, between others
    ("b a " * 1_750 + "z", "z " + "a c " * 240),
]


@pytest.mark.parametrize(("old", "new"), LONG, ids=range(len(LONG)))
def test_long_texts_take_no_time(old: str, new: str) -> None:
    started = time.process_time()
    compare_words(old, new)
    assert time.process_time() - started < 2


def test_of_a_long_text_the_words_that_changed_are_found() -> None:
    sentences = [f"The sentence {number} has some words in it. " for number in range(500)]
    old = "".join(sentences)
    new = old.replace("sentence 17 ", "phrase 17 ").replace("sentence 483 ", "phrase 483 ")
    changed = [piece for piece in compare_words(old, new) if piece.sign != SAME]
    assert changed == [(REMOVED, "sentence"), (ADDED, "phrase")] * 2
