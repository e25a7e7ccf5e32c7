"""What a page says of itself in its front matter: ``page_id`` and ``markstay``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mkdocs_markstay.extract_lexbor import check_selector
from mkdocs_markstay.sectionids import show

if TYPE_CHECKING:
    from collections.abc import Mapping

_PAGE_ID = re.compile(r"[^\s#/]+(?:/[^\s#/]+)*")


@dataclass(frozen=True)
class PageOptions:
    """The front matter, read.

    ``page_id`` is empty if the page has none of its own. ``included`` is False for
    `markstay: false`. ``problems`` are triples of a finding code, the key it is
    about and a message.
    """

    page_id: str = ""
    included: bool = True
    furniture: tuple[str, ...] = ()
    problems: tuple[tuple[str, str, str], ...] = ()


def read_page_options(meta: Mapping[str, Any]) -> PageOptions:
    """Read the front matter of a page."""
    problems: list[tuple[str, str, str]] = []
    page_id = meta.get("page_id", "")
    if "page_id" in meta and (
        not isinstance(page_id, str)
        or not _PAGE_ID.fullmatch(page_id)
        or not page_id.isprintable()
        or page_id.split("/")[0] in (".", "..")
    ):
        problems.append(
            (
                "page-id",
                "page_id",
                f"page_id {show(str(page_id))} is no page id: text without white space and '#',"
                " parts separated by single '/'. Write: page_id: guide/install",
            )
        )
        page_id = ""
    included, furniture = True, ()
    value = meta.get("markstay")
    if isinstance(value, bool):
        included = value
    elif isinstance(value, dict) and set(value) == {"furniture"}:
        furniture, message = _read_furniture(value["furniture"])
        if message:
            problems.append(("page-options", "markstay", message))
    elif value is not None:
        problems.append(
            (
                "page-options",
                "markstay",
                f"markstay {show(str(value))} is neither true or false nor a mapping with the key"
                " furniture. Write: markstay: false",
            )
        )
    return PageOptions(page_id, included, furniture, tuple(problems))


def find_key(front_matter: str, key: str) -> int:
    """Find the line (from 1) of a top-level key, 1 if there is none."""
    for number, line in enumerate(front_matter.split("\n"), 1):
        if re.match(rf"""["']?{re.escape(key)}["']?\s*:""", line, re.IGNORECASE):
            return number
    return 1


def _read_furniture(value: Any) -> tuple[tuple[str, ...], str]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        return (), 'markstay.furniture is no list of CSS selectors. Write: furniture: [".note"]'
    for selector in value:
        problem = check_selector(selector)
        if problem:
            return (), f"in markstay.furniture: {problem}. Correct or remove it"
    return tuple(value), ""
