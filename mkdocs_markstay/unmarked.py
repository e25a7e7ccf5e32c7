"""What is known of pages that were not made with the plugin, and have no marks around their prose.

Only data, for both extractors. The rules are in ``docs/any-site.md``.
"""

from __future__ import annotations

MAINS = ("main", '[role="main"]')
"""CSS selectors of the element that holds the main content of a page, the better one first."""

NOT_SHOWN = (
    "[hidden]",
    '[style*="display:none"]',
    '[style*="display: none"]',
    '[aria-hidden="true"]',
    "noscript",
    "template",
)
"""CSS selectors of elements that are no main content, nor is anything in them."""

ARTICLE = "article"
"""The element for what stands for itself: the prose, or the teaser of another page."""

FURNITURE_ELSEWHERE: tuple[str, ...] = (
    # what its role says is no prose
    '[role="navigation"]',
    '[role="search"]',
    '[role="banner"]',
    '[role="contentinfo"]',
    "article > footer",
    "[data-pagefind-ignore]",
    # marks of footnotes, and their way back
    '[role="doc-noteref"]',
    "[data-footnote-ref]",
    "[data-footnote-backref]",
    "aside.footnote > .label",
    # line numbers
    "span.ln",
    "span.lnt",
    '[style*="user-select:none"]',
    # Sphinx: lists of pages and headings, links to source code
    ".toctree-wrapper",
    "div.topic.contents",
    ".viewcode-link",
    ".viewcode-back",
    # Docusaurus: which version this is, and the contents list
    ".theme-doc-version-badge",
    ".theme-doc-toc-mobile",
    # Starlight: permalinks beside headings
    ".sl-anchor-link",
)
"""CSS selectors of what other generators put on pages that is not their text."""

CLASSES: tuple[tuple[str, str], ...] = (
    ('.footnotes, [role="doc-endnotes"]', "footnote"),
    ("table.lntable, .highlight table", "highlighttable"),
)
"""CSS selectors of elements, and the class by which the rules for text know such elements."""

PANELS = '[role="tabpanel"]'
"""Hidden or not, a reader can open these."""

HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")

IDS_OF_TOOLS = ".doc-heading, .jp-Notebook"
"""CSS selectors of headings, or of what holds them, with ids that a tool set on purpose."""

SLUGS_OF_TOOLS = ".mkdocstrings"
"""CSS selectors of what holds headings of docstrings: other ids are made of their text."""

WRAPPER = "section"
"""The element, or class of a `div`, whose id is an anchor of the heading that it begins with."""

CASES = ("div", "a")
"""Elements that do not end a section if there is nothing in them but its heading."""

NOT_PROSE: tuple[tuple[str, str], ...] = (
    (".genindextable, .modindextable, .domainindex-table", "it is an index of the site"),
    ("#print-site-page", "it holds the whole site, to be printed"),
)
"""CSS selectors of what only pages have that are no prose, and what such a page is."""

SEARCH = '[id$="search-results"], input[type="search"], input[name="q"]'
"""CSS selectors of what makes a page with the name of a search page one."""
