"""The ids of an original, carried over to the headings of its translation.

Only where nothing speaks against it: a wrong id misdirects every citation, a missing one
costs a minute.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from mkdocs_markstay.matching import match_outlines
from mkdocs_markstay.sectionids import same_id_key, show

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mkdocs_markstay.outlines import OutlineHeading


class Carried(NamedTuple):
    """What became of a heading without id: the id of its original, else the reason for none."""

    heading: OutlineHeading
    section_id: str
    reason: str = ""


def carry_ids(
    original: Sequence[OutlineHeading],
    translation: Sequence[OutlineHeading],
    texts: Mapping[str, str],
) -> list[Carried]:
    """Find the ids of the original for the headings of a translation that have none, in order.

    ``texts`` are those of their files, as `match_outlines` takes them; where they are not
    known, only a title that has something in common with the original's gets an id. No
    id is given twice, and none that the translation has.
    """
    matcher = match_outlines(original, translation, texts)
    counts = Counter(heading.section_id for heading in original)
    taken = {same_id_key(each.section_id): each for each in translation if each.section_id}
    carried = []
    for number, heading in enumerate(translation):
        if heading.section_id:
            continue
        index = matcher.found[number]
        if index is None:
            carried.append(Carried(heading, "", matcher.reasons[number]))
            continue
        section_id = original[index].section_id
        user = taken.get(same_id_key(section_id))
        if not section_id:
            reason = f"its original {original[index].name} has no id; give it one there first"
        elif counts[section_id] > 1:
            reason = f"the id {show(section_id)} stands twice in the original; correct that first"
        elif user is not None:
            reason = f"the id {show(section_id)} of its original is already at {user.place}"
        elif not matcher.is_supported(index, number):
            reason = (
                f"nothing shows that it is {original[index].name}; if it is, write <#{section_id}>"
            )
        else:
            reason = ""
            taken[same_id_key(section_id)] = heading
        carried.append(Carried(heading, "" if reason else section_id, reason))
    return carried
