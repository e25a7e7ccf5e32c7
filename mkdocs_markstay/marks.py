"""The attributes and elements by which a page's HTML tells what was found in its source."""

from __future__ import annotations

import re

MARK = "data-markstay-n"
"""While building: a heading that the page's own Markdown made, its number in `Conversion`."""

SLUG_MARK = "data-markstay-slug"
"""While building: a heading in nested Markdown (a docstring) that has no id of its own."""

BEGIN = "<span data-markstay-begin hidden></span>"
"""In the published page: what follows is the page's prose."""

END = "<span data-markstay-end hidden></span>"
"""In the published page: the page's prose ends here."""

_BUILDING = re.compile(rf' (?:{MARK}="\d*"|{SLUG_MARK}="")')


def strip_marks(html: str) -> str:
    """Take the building marks out of HTML; the two published ones stay."""
    return _BUILDING.sub("", html) if MARK in html or SLUG_MARK in html else html
