"""The anchors of marked blocks in the register: where a block is now is told by its marker.

A section that is somewhere else is recognised by a person. A block has the id of its marker,
which its author keeps with it: so no person is asked where the register and the site agree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mkdocs_markstay.published_places import list_homes
from mkdocs_markstay.register import LIVE, RETIRED
from mkdocs_markstay.register_edits import is_free

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mkdocs_markstay.published_places import PublishedPlace
    from mkdocs_markstay.register import Register


def find_followed(register: Register, places: Mapping[str, PublishedPlace]) -> dict[str, str]:
    """Find the blocks that the register has elsewhere, or as retired: old referent to new.

    What is gone is on the one page that publishes a block with its marker, unless the
    register had that one already as a live one: then it is a copy. What is retired and
    published again is itself.
    """
    homes = list_homes(places)
    found = {}
    for referent, entry in register.entries.items():
        place = places.get(referent)
        if place is not None:
            if entry.state == RETIRED and place.stay:
                found[referent] = referent
        elif entry.state == LIVE and entry.of_block:
            here = homes.get(entry.section_id, ())
            if len(here) == 1 and _is_new(register, referent, here[0].referent):
                found[referent] = here[0].referent
    return found


def _is_new(register: Register, old: str, new: str) -> bool:
    entry = register.entries.get(new)
    return (entry is None or entry.state != LIVE) and is_free(register, old, new)
