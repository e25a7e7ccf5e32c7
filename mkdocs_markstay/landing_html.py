"""The HTML by which old addresses land: anchors, notes, and pages in the place of old ones.

Without JavaScript an anchor and the page of an old address work as they are, and a note
shows itself when it is the target. With it, a reader is taken on to where the note points.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from mkdocs_markstay.heading_html import find_element, find_heading
from mkdocs_markstay.site_addresses import Address

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mkdocs_markstay.landing import Note, OldPage
    from mkdocs_markstay.site_addresses import Addresses

GENERATOR = '<meta name="generator" content="mkdocs-markstay">'
"""What tells a page that stands in the place of an old one from all others."""

# Stronger than what themes say of hidden elements; below a header that stays in view.
_STYLE = (
    "<style>.markstay-note:not(:target){display:none}"
    ".markstay-note:target{display:block!important}"
    ".markstay-note{border-left:.2rem solid;background:rgba(127,127,127,.12);margin:1em 0;"
    "padding:.5em 1em;scroll-margin-top:8rem}</style>"
)
_PAGE_STYLE = (
    "<style>body{font:1rem/1.5 sans-serif;margin:2em auto;max-width:40em;padding:0 1em}</style>"
)
# Where a policy takes the style away, browsers show this by themselves if it is the target.
_HIDDEN = ' hidden="until-found"'
# The same in all pages, so that a content security policy can name it by its digest. The
# address that it takes is one that stands in the page.
_SCRIPT = (
    "<script>(function(){function go(){var id=location.hash.slice(1),e;"
    "try{id=decodeURIComponent(id)}catch(x){}"
    'e=id&&document.getElementById(id);if(e&&!e.matches(".markstay-note"))return;'
    'var a=e?e.querySelector("a.markstay-to"):document.querySelector("a.markstay-page-to");'
    "if(!a)return;var u=new URL(a.href);if(!e&&!u.hash)u.hash=location.hash;"
    "if(!u.search)u.search=location.search;location.replace(u)}"
    'go();addEventListener("hashchange",go)})()</script>'
)


def write_anchor(old: str) -> str:
    """Write an anchor of which nothing is seen."""
    return f'<span id="{escape(old)}" class="markstay-alias"></span>'


def insert_anchors(content: str, anchors: Sequence[tuple[str, str]]) -> tuple[str, str]:
    """Put further ids into a page's content, each at its section (section id, old id).

    Returns the content, and the anchors that belong before it: those of the page itself, and
    those of sections whose heading, and blocks whose element, is not found.
    """
    before = ""
    for section_id, old in anchors:
        place = find_heading(content, section_id) if section_id else None
        if place is None and section_id:
            place = find_element(content, section_id)
        if place is None:
            before += write_anchor(old)
        else:
            content = content[:place] + write_anchor(old) + content[place:]
    return content, before


def write_notes(notes: Sequence[Note], target: str, addresses: Addresses) -> str:
    """Write the notes of a page that is published as the file ``target``.

    Each is hidden until it is the target of an address.
    """
    if not notes:
        return ""
    written = "".join(_write_note(note, target, addresses) for note in notes)
    return f"{_STYLE}{written}{_SCRIPT}"


def _write_note(note: Note, target: str, addresses: Addresses) -> str:
    opening = f'<div id="{escape(note.fragment)}" class="markstay-note" lang="en"{_HIDDEN}>'
    title = escape(note.title or note.fragment)
    if note.to is None:
        what = "What stood here" if note.of_block else f"The section “{title}”"
        return f"{opening}{what} was retired: {escape(note.text)}</div>"
    link = _write_link("markstay-to", title, target, note.to, addresses)
    what = "What stood here" if note.of_block else "This section"
    return f"{opening}{what} has moved: {link}</div>"


def _write_link(css: str, title: str, target: str, to: Address, addresses: Addresses) -> str:
    return f'<a class="{css}" href="{escape(addresses.link(target, to))}">{title}</a>'


def write_page(page: OldPage, target: str, addresses: Addresses, site_url: str) -> str:
    """Write the page that is published as the file ``target``, in the place of an old one.

    ``site_url`` is the address of the site, "" if it is not known.
    """
    if page.to is None:
        title = escape(page.title or "Retired page")
        head = '<meta name="robots" content="noindex">'
        body = f"<h1>{title}</h1><p>This page was retired: {escape(page.text)}</p>"
        elsewhere = [
            # Of blocks, which have no titles, the page is named, and that once.
            _write_link(
                "markstay-part",
                escape(note.title),
                target,
                Address(note.to.target) if note.of_block else note.to,
                addresses,
            )
            for note in page.notes
            if note.to is not None
        ]
        elsewhere = list(dict.fromkeys(elsewhere))
        if elsewhere:
            body += f"<p>Parts of it are now elsewhere: {', '.join(elsewhere)}</p>"
        home = _write_link("markstay-home", "Home", target, Address("index.html"), addresses)
        body += f"<p>{home}</p>"
    else:
        title = escape(page.title or page.to.fragment or page.to.target)
        link = addresses.link(target, page.to)
        canonical = link
        if site_url:
            canonical = site_url.rstrip("/") + "/" + addresses.url_of(page.to)
        head = (
            f'<link rel="canonical" href="{escape(canonical.partition("#")[0])}">'
            f'<noscript><meta http-equiv="refresh" content="0; url={escape(link)}"></noscript>'
        )
        to = _write_link("markstay-page-to", title, target, page.to, addresses)
        body = f"<h1>{title}</h1><p>This page has moved: {to}</p>"
    # What the page says already of itself is not said again of its sections.
    told = [note for note in page.notes if note.to is not None or note.text != page.text]
    notes = "".join(_write_note(note, target, addresses) for note in told)
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">{GENERATOR}'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="color-scheme" content="light dark">'
        f"<title>{title}</title>{head}{_STYLE}{_PAGE_STYLE}"
        f'</head><body class="markstay-page">{body}{notes}{_SCRIPT}</body></html>\n'
    )
