"""The Markdown extension: takes section ids out of headings and records who wrote them.

It works in the element tree, on headings whose text has not been read yet, so
what is a heading is decided by Python-Markdown and its extensions alone, and the
id is gone before any slug, title or contents list is made of the text.
"""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass, field
from html import unescape
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from markdown.extensions import Extension
from markdown.postprocessors import Postprocessor
from markdown.preprocessors import Preprocessor
from markdown.treeprocessors import Treeprocessor
from markdown.util import HTML_PLACEHOLDER_RE

from mkdocs_markstay.checks import Rules
from mkdocs_markstay.conversion import Conversion, RenderedHeading
from mkdocs_markstay.enforce import Enforcer
from mkdocs_markstay.locate import find_candidates
from mkdocs_markstay.marks import BuildingMarks
from mkdocs_markstay.page_context import clean_title, describe_page, find_page
from mkdocs_markstay.sectionids import HeadingText, Problem, read_heading
from mkdocs_markstay.stay_tokens import follow, mark_leftovers, number_elements, take_tokens

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from markdown import Markdown

    from mkdocs_markstay.stay_tokens import Taken

# What extensions put where something is to be put back when the tree is written.
_PLACEHOLDER = re.compile("\x02[^\x02\x03]*\x03")

HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
BLOCKS = HEADINGS.union(
    ("p", "ul", "ol", "dl", "table", "pre", "blockquote", "figure"),
    ("div", "details", "section", "article", "aside"),
)


class MarkstayExtension(Extension):
    """Python-Markdown extension ``mkdocs_markstay``.

    It takes the ids and leaves no trace. Where a generator converts the Markdown of a page,
    it enforces ids by ``options``, those of `RuleOptions`.

    With ``marks``, others do that: the headings in the HTML are marked, and ``conversion``
    is the record of the latest conversion of a whole page; ``rules`` are theirs. ``adds_attr_list``
    says whether to read attribute lists where the site does not, ``added_attr_list`` whether
    that was so.
    """

    conversion: Conversion | None = None
    rules: Rules | None = None
    adds_attr_list = True
    added_attr_list = False

    def __init__(self, marks: BuildingMarks | None = None, **options: Any) -> None:
        super().__init__()
        self.marks = marks
        self.enforcer = Enforcer(options)

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802 (the library's name)
        """Register the processors, and attr_list where the site does not have it."""
        if self.adds_attr_list and "attr_list" not in md.treeprocessors:
            md.registerExtensions(["attr_list"], {})
            self.added_attr_list = True
        current = _Current(self, md)
        # Before every preprocessor that changes text.
        md.preprocessors.register(_Begin(md, current), "markstay_begin", 1000)
        # After footnotes (50) have been put in place, before inline markup (20)
        # and everything that reads a heading's text: attr_list (8), toc (5).
        md.treeprocessors.register(_TakeIds(md, current), "markstay_take_ids", 45)
        # After text was pulled in (32) and made plain (30), before fences (25) and raw
        # HTML (20) are put away; and out again before anything reads the text of an element.
        md.preprocessors.register(_Follow(md, current), "markstay_follow", 26)
        md.treeprocessors.register(_TakeTokens(md, current), "markstay_take_tokens", 46)
        md.treeprocessors.register(_NumberElements(md, current), "markstay_number", -999)
        # After attr_list (8), before toc (5) gives slugs to headings without id.
        md.treeprocessors.register(_MarkHeadings(md, current), "markstay_mark", 5.5)
        # After everything else.
        md.preprocessors.register(_KeepText(md, current), "markstay_keep_text", -1000)
        md.treeprocessors.register(_EndTree(md, current), "markstay_end_tree", -1000)
        md.postprocessors.register(_End(md, current), "markstay_end", -1000)


@dataclass
class _Current:
    """The conversion that one Markdown instance is in.

    ``page`` is what it converts, None if that is no whole page; ``marks`` are those of the
    page, also while a part of it (a docstring) is converted by an instance of its own.
    ``elements`` are the headings, with their numbers; ``finished``: the tree is.
    """

    extension: MarkstayExtension
    md: Markdown
    conversion: Conversion = field(default_factory=Conversion)
    elements: dict[Element, int] = field(default_factory=dict)
    taken: Taken | None = None
    page: object | None = None
    marks: BuildingMarks | None = None
    finished: bool = False

    def begin(self) -> None:
        self.conversion = Conversion()
        self.taken = None
        self.finished = False
        outer: _Current | None = getattr(_under_way, "current", None)
        page = find_page(self.md)
        if page is not None and outer is not None and outer.page is page and outer is not self:
            page = None  # Zensical tells the Markdown of a part, too, of the page
        self.page = page
        self.marks = self.extension.marks
        if page is not None:
            _under_way.current = self
            self.marks = self.marks or BuildingMarks()
        elif self.marks is None and outer is not None:
            self.marks = outer.marks

    def end(self, html: str) -> str:
        made = self.conversion.stays
        if made is not None and self.marks is not None:
            html = mark_leftovers(html, self.marks.block, made)
        page, self.page = self.page, None
        if page is None:
            return html
        _under_way.current = None
        if self.extension.marks is not None:
            return html
        assert self.marks is not None
        context = describe_page(self.md)
        clean_title(context.page)
        return self.extension.enforcer.check(context, html, self.marks, self.conversion)


# The conversion of a whole page that this thread is in: its `current`, if there is one.
_under_way = threading.local()


class _Begin(Preprocessor):
    def __init__(self, md: Markdown, current: _Current) -> None:
        super().__init__(md)
        self.current = current

    def run(self, lines: list[str]) -> list[str]:
        self.current.begin()
        return lines


class _KeepText(Preprocessor):
    def __init__(self, md: Markdown, current: _Current) -> None:
        super().__init__(md)
        self.current = current

    def run(self, lines: list[str]) -> list[str]:
        self.current.conversion.text = lines
        return lines


class _TakeIds(Treeprocessor):
    def __init__(self, md: Markdown, current: _Current) -> None:
        super().__init__(md)
        self.current = current

    def run(self, root: Element) -> None:
        conversion = self.current.conversion
        elements = self.current.elements = {}
        notes = {inner for div in root.iter("div") if _holds_notes(div) for inner in div.iter()}
        for element in root.iter():
            lines = conversion.notes if element in notes else conversion.lines
            if element.tag in HEADINGS:
                number = _take_id(element, conversion)
                elements[element] = number
                lines.append((conversion.headings[number].raw, number))
            elif element.tag == "code" and element.text:
                # What looks like headings in code is a heading to nobody, but is a line.
                decoys = find_candidates(unescape(element.text))
                lines += [(decoy.text, None) for decoy in decoys]
        if any((element.text or "").startswith("{") for element in root.iter("p")):
            _find_ids_below(root, self.current)


class _Follow(Preprocessor):
    def __init__(self, md: Markdown, current: _Current) -> None:
        super().__init__(md)
        self.current = current

    def run(self, lines: list[str]) -> list[str]:
        extension, whole = self.current.extension, self.current.page is not None
        rules = extension.rules
        if rules is None:
            # Options are read where they count: see `Enforcer`.
            rules = extension.enforcer.options.make_rules("") if whole else Rules()
        if rules.stays == "off":
            return lines
        lines, made = follow(
            lines, rules.stay_blocks, every=whole and rules.stays == "required", marks=whole
        )
        if whole:
            self.current.conversion.stays = made
        return lines


class _TakeTokens(Treeprocessor):
    def __init__(self, md: Markdown, current: _Current) -> None:
        super().__init__(md)
        self.current = current

    def run(self, root: Element) -> None:
        if self.current.conversion.stays is not None:
            stash = self.md.htmlStash
            held = enumerate(stash.rawHtmlBlocks)
            stored = {stash.get_placeholder(number): html for number, html in held}
            self.current.taken = take_tokens(root, stored)


class _NumberElements(Treeprocessor):
    """Marks the elements of blocks, and those that were put away as HTML."""

    def __init__(self, md: Markdown, current: _Current) -> None:
        super().__init__(md)
        self.current = current

    def run(self, root: Element) -> None:
        made, taken, marks = self.current.conversion.stays, self.current.taken, self.current.marks
        if made is None or taken is None or marks is None:
            return
        carrying = {element for element, _ in taken.found}
        elements = [
            element
            for element in root.iter()
            if (element.tag in BLOCKS or element in carrying) and element is not root
        ]
        for element, number in number_elements(elements, taken, made).items():
            text = (element.text or "").strip()
            if element.tag != "p" or len(element) or not _PLACEHOLDER.fullmatch(text):
                element.set(marks.block, str(number))
                continue
            # A paragraph that nothing else is in gives way to what it stands for.
            stored = HTML_PLACEHOLDER_RE.fullmatch(text)
            if stored is None:
                continue
            held = self.md.htmlStash.rawHtmlBlocks
            html = held[int(stored[1])]
            if isinstance(html, str):
                held[int(stored[1])] = marks.mark_first(html, number)


class _MarkHeadings(Treeprocessor):
    def __init__(self, md: Markdown, current: _Current) -> None:
        super().__init__(md)
        self.current = current

    def run(self, root: Element) -> None:
        marks, headings = self.current.marks, self.current.conversion.headings
        page = self.current.page is not None
        if page:
            self.current.extension.conversion = self.current.conversion
        for element in root.iter():
            if element.tag not in HEADINGS:
                continue
            if not element.get("id", "x"):
                # `{id}` and `{id=}`: no id at all.
                del element.attrib["id"]
            explicit = "id" in element.attrib
            if marks is not None and not page and not explicit:
                element.set(marks.slug, "")
            if marks is None or not page:
                continue
            number = self.current.elements.get(element)
            if number is None:  # made after the ids were taken
                text = " ".join("".join(element.itertext()).split())
                headings.append(RenderedHeading(text, HeadingText(text, text)))
                number = len(headings) - 1
            headings[number].explicit = explicit
            element.set(marks.number, str(number))
        self.current.elements = {}


class _EndTree(Treeprocessor):
    def __init__(self, md: Markdown, current: _Current) -> None:
        super().__init__(md)
        self.current = current

    def run(self, root: Element) -> None:
        del root
        self.current.finished = True


class _End(Postprocessor):
    def __init__(self, md: Markdown, current: _Current) -> None:
        super().__init__(md)
        self.current = current

    def run(self, text: str) -> str:
        # Before the tree is finished, toc runs all postprocessors for the titles in it.
        return self.current.end(text) if self.current.finished else text


def _take_id(element: Element, conversion: Conversion) -> int:
    """Take the id out of one heading, record the heading and return its number."""
    raw = (element.text or "").strip()
    number = len(conversion.headings)
    if len(element):
        # Not raw any more: nested Markdown has read this heading already.
        written = HeadingText(raw, raw)
    else:
        written = read_heading(raw)
        if written.section_id is not None and element.get("id"):
            problem = Problem("two-ids", f"has an attribute id and the id '{written.section_id}'")
            written = HeadingText(
                written.text, written.title, written.attributes, None, problem, written.section_id
            )
        if written.text != raw:
            element.text = written.text
        if written.section_id is not None:
            element.set("id", written.section_id)
    conversion.headings.append(RenderedHeading(raw, written))
    return number


def _find_ids_below(root: Element, current: _Current) -> None:
    """Notice ids that stand on the line after their heading, where they are no ids."""
    for parent in root.iter():
        for element, following in pairwise(parent):
            number = current.elements.get(element)
            if number is None or following.tag != "p" or element.get("id"):
                continue
            heading = current.conversion.headings[number]
            below = read_heading((following.text or "").strip())
            if heading.written.problem is None and below.section_id and not below.title:
                message = f"has its id '{below.section_id}' on the next line, where it is no id"
                heading.written = heading.written._replace(
                    problem=Problem("misplaced-id", message, below=True),
                    wanted=below.section_id,
                )


def _holds_notes(div: Element) -> bool:
    return div.get("class") == "footnote"


def makeExtension(**kwargs: Any) -> MarkstayExtension:  # noqa: N802 (the library's name)
    """Make the extension for Python-Markdown."""
    return MarkstayExtension(**kwargs)
