"""Markdown that other plugins render again holds no section ids, and is else as it was."""

from __future__ import annotations

import pytest

from mkdocs_markstay.bare_markdown import leave_out_ids, leave_out_markers
from mkdocs_markstay.conversion import Conversion, RenderedHeading
from mkdocs_markstay.sectionids import read_heading


def converted(*raws: str) -> Conversion:
    return Conversion([RenderedHeading(raw, read_heading(raw)) for raw in raws])


@pytest.mark.parametrize(
    ("markdown", "raw", "bare"),
    [
        ("# A <#a>\n\nText.", "A <#a>", "# A\n\nText."),
        ("## A {#a}", "A {#a}", "## A"),
        ("## A <#a> ##", "A <#a>", "## A"),
        ("> - ## A <#a>", "A <#a>", "> - ## A"),
        ("A <#a>\n---\n", "A <#a>", "A\n---\n"),
        ("## A <#a> {.c}", "A <#a> {.c}", "## A {.c}"),
    ],
)
def test_ids_of_headings_are_left_out(markdown: str, raw: str, bare: str) -> None:
    assert leave_out_ids(markdown, converted(raw)) == bare


@pytest.mark.parametrize(
    "markdown",
    [
        "```\n## A <#a>\n```\n",
        "## Not a heading there <#b>\n",
        "<!--\n## A <#a>\n-->\n",
        "Text <#a>\n",
    ],
)
def test_what_is_no_heading_stays(markdown: str) -> None:
    assert leave_out_ids(markdown, converted("A <#a>")) == markdown


@pytest.mark.parametrize(
    ("markdown", "bare"),
    [
        ("One.\n<!-- stay:a1 -->\n\nTwo.", "One.\n\nTwo."),
        ("- one <!-- stay:a1 subhash=sha256:00 -->\n- two", "- one\n- two"),
        ("```\n<!-- stay:a1 -->\n```", "```\n<!-- stay:a1 -->\n```"),
        ("One <!-- no marker -->", "One <!-- no marker -->"),
    ],
)
def test_markers_are_left_out(markdown: str, bare: str) -> None:
    assert leave_out_markers(markdown) == bare
