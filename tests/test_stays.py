"""Markers read in a text: what markstay reads, in time that grows with the text."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import markstay
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from stay_builder import render, render_plain

from mkdocs_markstay.checks import Rules
from mkdocs_markstay.stays import SEGMENTATIONS, has_markers, read_markers

if TYPE_CHECKING:
    from collections.abc import Callable

IDS = st.sampled_from(["a", "b1", "c_2", "D-3", "e"])
HASHES = st.sampled_from(["", " hash=sha256:0000", " hash=sha256:7692c3ad3540", " x-k=v"])
MARKERS = st.builds("<!-- stay:{}{} -->".format, IDS, HASHES)
NO_MARKERS = st.sampled_from(
    ["<!-- stay: -->", "<!-- stay:é -->", "<!-- stay:a b -->", "<!-- stay:a --!>", "<!-- other -->"]
)
LINES = st.one_of(
    st.sampled_from(
        [
            "",
            "",
            "",
            "one",
            "two words",
            "## Heading",
            "- item",
            "  more",
            "> quote",
            "***",
            "one  ",
        ]
    ),
    st.sampled_from(["```", "~~~", "    indented", "| a | b |", "|---|---|", "| 1 | 2 |", "\t"]),
    MARKERS,
    st.builds("{} {}".format, st.sampled_from(["one", "- item", "##"]), MARKERS),
    st.builds("{}{}".format, MARKERS, MARKERS),
    NO_MARKERS,
)
TEXTS = st.lists(LINES, max_size=25).map("\n".join)
CODES = {
    "DUPLICATE_ID": "stay-duplicate",
    "ORPHAN_MARKER": "stay-orphan",
    "HASH_DRIFT": "stay-drift",
}
COMPARED = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


@COMPARED
@given(TEXTS, st.sampled_from(SEGMENTATIONS))
@example('one\n<!-- stay:a x-n="a\nb" -->\n\n<!-- stay:b1 -->\n\nend', "blank-line")
def test_blocks_and_findings_are_those_of_markstay(text: str, segmentation: str) -> None:
    # The empty line keeps markstay from taking the beginning for front matter.
    blocks, findings = markstay.lint_document(f"\n{text}", segmentation)
    read = read_markers(f"\n{text}", segmentation)
    shown = {(p.line, p.id) for p in read.problems if p.code == "stay-in-code"}

    def ids(markers: list[markstay.Marker]) -> list[str | None]:
        known = [m for m in markers if not m.malformed and (m.line, m.id) not in shown]
        return [marker.id for marker in known]

    expected = [
        (ids(block.markers), f"sha256:{markstay.body_hash(block.content)}")
        for block in blocks
        if block.index >= 0
    ]
    found = [([m.id for m in block.markers], block.body_hash) for block in read.blocks]
    if not shown:  # what is shown is text to us
        assert found == expected
    assert [marker.id for marker in read.orphans] == [
        stay_id for block in blocks if block.index < 0 for stay_id in ids(block.markers)
    ]
    told = {(p.line, p.code, p.id) for p in read.problems if p.code in CODES.values()}
    if not shown:
        assert told == {(f.line, CODES[f.code], f.id) for f in findings if f.code in CODES}
    malformed = {f.line for f in findings if f.code == "MALFORMED_MARKER"}
    assert malformed <= {p.line for p in read.problems if p.code == "stay-malformed"} | {
        line for line, _ in shown
    } | set(read.code)


PARTS = st.sampled_from(
    [
        "# Title",
        "## Section <#s{n}>",
        "## Section <#s{n}>\nWith words.",
        "Setext {{#s{n}}}\n---",
        "Words, *with* `code` and [a link](https://docs.example.org/).",
        "Two\nlines.",
        "- one\n- two",
        "- loose\n\n- list",
        "1. one\n\n    more\n\n    ```python\n    a = 1\n\n    b = 2\n    ```\n\n2. two",
        "```python\na = 1\n```",
        "```python\na = 1\n\nb = 2\n```",
        '```python hl_lines="1"\n# x\n```',
        "    indented code",
        "| a | b |\n|---|---|\n| 1 | 2 |",
        "> quote\n>\n> more",
        "!!! note\n    words",
        '!!! tip "Title"\n\n    words\n\n    - item\n\n    more',
        "??? note\n    words",
        "/// note | Title\n\nWords.\n\n///",
        "/// note\n    attrs: {{id: x{n}}}\n\nWords.\n///",
        "<div>\n<p>raw</p>\n</div>",
        '<div class="x" markdown>\n\nWords.\n\n</div>',
        "<!-- a comment -->",
        "Term\n:   Meaning\n\n:   Another",
        "Note.[^{n}]\n\n[^{n}]: The note.\n\n    More of it.",
        '[ref{n}]: https://docs.example.org/ "Title"',
        "*[HTML{n}]: Hypertext",
        "Words.\n{{: .cls }}",
        "***",
        "$$\nx\n$$",
        "![image](a.png){{ .cls }}",
        "Ends with a tag <br>",
        "- !!! note\n\n        words\n\n- ??? tip\n        words",
        "Term\n:   !!! note\n\n        words",
        "> 1. !!! note\n>        words",
        "- /// note\n      attrs: {{class: x}}\n\n  words\n\n  ///",
        "1.  </div>",
        "2.  $$\n    x\n    $$",
        "[^a{n}]: !!! note\n        words",
        "[^b{n}]: <div markdown>\n\n    words\n\n    </div>",
        "<!--\nlong\n\ncomment\n-->",
        "One\n```\ncode\n```\ntwo",
        "One <div>two</div> three",
        "{{++\n\nadded\n\n++}}",
        "[TOC]",
    ]
)


@st.composite
def pages(draw: Callable[[st.SearchStrategy[list[str]]], list[str]]) -> str:
    parts = draw(st.lists(PARTS, min_size=1, max_size=8))
    return "\n\n".join(part.format(n=number) for number, part in enumerate(parts)) + "\n"


@COMPARED
@given(pages(), st.sampled_from(SEGMENTATIONS))
def test_markers_change_nothing_that_is_published(text: str, segmentation: str) -> None:
    stamped = markstay.stamp(text, mode=segmentation)
    page = render(stamped.text, Rules(stay_blocks=segmentation))
    assert page.html == render_plain(text)
    # Every marker is bound, or told.
    bound = {s.id for each in page.sections for b in each.blocks for s in b.stays if s}
    bound |= {each.stay.id for each in page.sections if each.stay}
    minted = {each["id"] for each in stamped.minted}
    told = [found for found in page.findings if found.code == "stay-unbound"]
    assert len(minted - bound) == len(told)
    assert bound <= minted


@COMPARED
@given(pages())
def test_with_every_block_followed_nothing_changes(text: str) -> None:
    assert render(text, Rules(stays="required")).html == render_plain(text)


def hostile(count: int) -> dict[str, str]:
    return {
        "one marker a block": "".join(f"p{n}\n<!-- stay:m{n} -->\n\n" for n in range(count)),
        "all on one block": "p\n" + "".join(f"<!-- stay:m{n} -->\n" for n in range(count)),
        "all in one line": "p " + "".join(f"<!-- stay:m{n} -->" for n in range(count)),
        "openings without ends": "p " + "<!-- stay:m " * count,
        "openings on lines": "p\n" + "<!-- stay:m\n" * count,
        "of parts": "".join(f"- p{n} <!-- stay:m{n} subhash=sha256:00 -->\n" for n in range(count)),
        "ticks": "p ` " + "`` <!-- stay:m --> ` " * count,
        "in indented code": "p\n\n" + "    <!-- stay:m -->\n" * count,
    }


@pytest.mark.parametrize("name", hostile(1))
def test_time_grows_with_the_text(name: str) -> None:
    def measure(count: int) -> float:
        text = hostile(count)[name]
        began = time.process_time()
        read_markers(text)
        return time.process_time() - began

    count = 500
    small = max(min(measure(count) for _ in range(3)), 0.002)
    large = min(measure(8 * count) for _ in range(2))
    assert large < 8 * 3 * small


def test_what_is_no_marker_costs_nothing() -> None:
    assert not has_markers("Please stay: here.\n<!-- stays -->")
    assert has_markers("{/* stay:a */}")
    assert has_markers("<!--stay:a-->")
