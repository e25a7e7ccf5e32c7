"""What is on a page but is not its text.

The only thing that the two extractors share: a list of CSS selectors, the marks
that bound the prose of a page, and the rule for code annotation marks.
"""

from __future__ import annotations

import re

FURNITURE: tuple[str, ...] = (
    # never shown, or not prose
    "script",
    "style",
    "template",
    "noscript",
    "nav",
    "svg",
    "canvas",
    "audio",
    "video",
    "iframe",
    "object",
    "embed",
    "button",
    "select",
    "textarea",
    "datalist",
    "progress",
    "meter",
    "[hidden]",
    '[style*="display:none"]',
    '[style*="display: none"]',
    '[aria-hidden="true"]',
    # Python-Markdown: permalinks, contents list, footnote marks
    "a.headerlink",
    "div.toc",
    "a.footnote-ref",
    "a.footnote-backref",
    # Pygments and pymdownx.highlight: line numbers
    ".linenos",
    ".lineno",
    ".linenodiv",
    # themes: edit and copy buttons, tags, dates, feedback
    ".md-clipboard",
    ".md-code__nav",
    ".md-content__button",
    ".md-feedback",
    ".md-source-file",
    ".md-tags",
    ".git-revision-date-localized-plugin",
    ".anchor-link",
    # notebooks: prompts, and the copy of the code that is there for the clipboard
    ".jp-InputPrompt",
    ".jp-OutputPrompt",
    ".clipboard-copy-txt",
    "clipboard-copy",
    # what is there to be decrypted
    "#mkdocs-encrypted-content",
    "#mkdocs-decrypt-form",
    # numbers that another plugin puts into headings
    ".enumerate-headings-plugin",
    # the author's own mark
    ".furniture",
)
"""CSS selectors of elements that are removed, with their content, before text is read."""

_ANNOTATION = re.compile(r"\(\d{1,4}\)!?")
# More annotations than that in one line are none.
_MARKS_IN_LINE = 16
_COMMENT_MARKS = ("<!--", "#", "//", "--", "/*", ";", "%", '"')
_COMMENT_ENDS = ("-->", "*/")


def strip_annotations(code: str) -> str:
    """Cut code annotation marks from the lines of ``code``.

    Material for MkDocs shows a comment such as ``# (1)!`` as a numbered bubble.
    A mark is cut when it is all there is in the comment at a line's end, with
    the comment sign and the white space before it; a line that held nothing else
    goes. Other text stays untouched, ``f(1)`` and ``# see (1)`` included.
    """
    if "(" not in code:
        return code
    lines = [(line, _strip_line(line) if ")" in line else line) for line in code.split("\n")]
    return "\n".join(stripped for line, stripped in lines if stripped or not line)


def _strip_line(line: str) -> str:
    rest = line.rstrip(" \t")
    for end in _COMMENT_ENDS:
        if rest.endswith(end):
            rest = rest[: -len(end)].rstrip(" \t")
            break
    cut = False
    for _ in range(_MARKS_IN_LINE):
        if not rest.endswith((")", ")!")):
            break
        start = rest.rfind("(")
        if start < 0 or not _ANNOTATION.fullmatch(rest, start):
            break
        rest, cut = rest[:start].rstrip(" \t"), True
    if not cut:
        return line
    for mark in _COMMENT_MARKS:
        if rest.endswith(mark):
            return rest[: -len(mark)].rstrip(" \t")
    return line
