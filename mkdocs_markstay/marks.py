"""The attributes and elements by which a page's HTML tells what was found in its source."""

from __future__ import annotations

import re
from uuid import uuid4

BEGIN = "<span data-markstay-begin hidden></span>"
"""In the published page: what follows is the page's prose."""

END = "<span data-markstay-end hidden></span>"
"""In the published page: the page's prose ends here."""


_FIRST_TAG = re.compile(r"\s*<[A-Za-z][\w-]*")


class BuildingMarks:
    """Attributes of headings while a site is built; they are gone from what is published.

    ``number`` marks a heading that the page's own Markdown made, with its number in
    the `Conversion`; ``slug`` one in nested Markdown (a docstring) that has no id of
    its own. ``block`` marks elements of any kind, with their numbers in the `Provenance`. The
    names are new for every build, so that no page can hold them.
    """

    def __init__(self) -> None:
        name = f"data-markstay-{uuid4().hex[:12]}"
        self.number, self.slug, self.block = f"{name}-n", f"{name}-s", f"{name}-b"
        self._name = name
        self._marks = re.compile(rf' {name}-[nsb]="\d*"')
        self._number = re.compile(rf'\b{self.number}="(\d+)"')

    def strip(self, html: str) -> str:
        """Take the marks out of HTML."""
        return self._marks.sub("", html) if self._name in html else html

    def find_number(self, attributes: str) -> int | None:
        """Find the number that a heading's attributes (as text) give it."""
        match = self._number.search(attributes)
        return int(match[1]) if match else None

    def mark_first(self, html: str, number: int) -> str:
        """Mark the element that HTML begins with, if it does, as a block."""
        match = _FIRST_TAG.match(html)
        return f'{match[0]} {self.block}="{number}"{html[match.end() :]}' if match else html
