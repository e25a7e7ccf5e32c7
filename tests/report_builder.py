"""Reports of comparisons that have a text in all places that a manifest fills."""

from __future__ import annotations

from mkdocs_markstay.citations import Citations
from mkdocs_markstay.diff import Change, Comparison, Field, Place
from mkdocs_markstay.diff_entries import Report

HOSTILE = [
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "</noscript><img src=x onerror=alert(1)>",
    "<!--<script>",
    '" onclick="alert(1)" x="',
    "' onclick='alert(1)",
    "</style><style>*{display:none}",
    "</title>&lt;b&gt;&amp;",
    "javascript:alert(1)",
    'https://docs.example.org/" onclick=alert(1)',
    "{{x}}{%x%}\\u003c",
    "\u2028\u2029\u202eabc\u2066\u200f\ufeff",
    "\0\x1b[31m\x7f\x85",
    "\ud800\udfff",
    "a" * 30_000,
    "\n\n\t",
]


def make(text: str, url: str) -> Report:
    """Make a report that has a text in all places that a manifest fills."""
    place = Place(text, text, text, url, text, 1, 0, text, text, text)
    section = Place(text + "#", text, text, url, text)
    fields = (Field(text, text, [text, text]), Field("ids", {text: 1}, None))
    changes = [
        Change("edited", "passage", place, place._replace(excerpt=text + "x")),
        Change("removed", "section", section, None),
        Change("retired", "section", section, None, reason=text),
        Change("moved", "section", section, place, followed=True),
        Change("metadata", "section", section, section, fields),
        Change("added", "passage", None, place),
    ]
    citations = Citations((text,), {}, (text,))
    comparison = Comparison(text, text, fields, True, (text,), (1, 1), "en", changes)
    return Report(comparison, ["removed"], citations, [text])
