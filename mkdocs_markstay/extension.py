"""The Markdown extension: takes section ids out of headings and records who wrote them.

It works in the element tree, on headings whose text has not been read yet, so
what is a heading is decided by Python-Markdown and its extensions alone, and the
id is gone before any slug, title or contents list is made of the text.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from html import unescape
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from markdown.extensions import Extension
from markdown.preprocessors import Preprocessor
from markdown.treeprocessors import Treeprocessor

from mkdocs_markstay.conversion import Conversion, RenderedHeading
from mkdocs_markstay.locate import find_candidates
from mkdocs_markstay.sectionids import HeadingText, Problem, read_heading

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from markdown import Markdown

    from mkdocs_markstay.marks import BuildingMarks

HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))

# The generator's own processor that only the Markdown of a whole page has:
# docstrings and excerpts are converted without it.
_PAGE_PROCESSORS = ("mkdocs_extract_title", "properdocs_extract_title")


class MarkstayExtension(Extension):
    """Python-Markdown extension ``mkdocs_markstay``.

    By itself it takes the ids and leaves no trace. With ``marks``, set by the plugin,
    it marks headings in the HTML and keeps, in ``conversion``, the record of the
    latest conversion of a whole page. ``adds_attr_list`` says whether to read attribute
    lists where the site does not, ``added_attr_list`` whether that was so.
    """

    marks: BuildingMarks | None = None
    conversion: Conversion | None = None
    adds_attr_list = True
    added_attr_list = False

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802 (the library's name)
        """Register the processors, and attr_list where the site does not have it."""
        if self.adds_attr_list and "attr_list" not in md.treeprocessors:
            md.registerExtensions(["attr_list"], {})
            self.added_attr_list = True
        current = _Current(self)
        # Before every preprocessor that changes text.
        md.preprocessors.register(_Begin(md, current), "markstay_begin", 1000)
        # After footnotes (50) have been put in place, before inline markup (20)
        # and everything that reads a heading's text: attr_list (8), toc (5).
        md.treeprocessors.register(_TakeIds(md, current), "markstay_take_ids", 45)
        # After attr_list (8), before toc (5) gives slugs to headings without id.
        md.treeprocessors.register(_MarkHeadings(md, current), "markstay_mark", 5.5)


@dataclass
class _Current:
    """The conversion that one Markdown instance is in, and the numbers of its headings."""

    extension: MarkstayExtension
    conversion: Conversion = field(default_factory=Conversion)
    elements: dict[Element, int] = field(default_factory=dict)


class _Begin(Preprocessor):
    def __init__(self, md: Markdown, current: _Current) -> None:
        super().__init__(md)
        self.current = current

    def run(self, lines: list[str]) -> list[str]:
        self.current.conversion = Conversion()
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


class _MarkHeadings(Treeprocessor):
    def __init__(self, md: Markdown, current: _Current) -> None:
        super().__init__(md)
        self.current = current

    def run(self, root: Element) -> None:
        extension, headings = self.current.extension, self.current.conversion.headings
        marks = extension.marks
        page = marks is not None and _is_page(self.md)
        if page:
            extension.conversion = self.current.conversion
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


def _is_page(md: Any) -> bool:  # the library's registries are not typed
    return any(name in md.treeprocessors for name in _PAGE_PROCESSORS)


def makeExtension(**kwargs: Any) -> MarkstayExtension:  # noqa: N802 (the library's name)
    """Make the extension for Python-Markdown."""
    return MarkstayExtension(**kwargs)
