"""Following the blocks of a Markdown text through its conversion.

Before the text is parsed, its markers are taken out, and short tokens are put into lines of
its blocks. As soon as there is a tree of elements, they are taken out of that, before anything
reads the text in it. So a page comes out as it does without markers, and it is known which
element each block became, whatever the block parser made of it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mkdocs_markstay.stays import has_markers, read_markers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from xml.etree.ElementTree import Element

    from mkdocs_markstay.stays import MarkedText, Marker

# Characters that are in no text: Unicode keeps them for uses such as this one.
_BEGIN, _END = "\ufdd0", "\ufdd1"
_TOKEN = re.compile(f"{_BEGIN}([0-9]+){_END}")
_WORD = re.compile(rf"<[^<>]*>?|\x02[^\x03]*\x03|{_BEGIN}[0-9]*{_END}?|(?P<word>\w)")
# Lines that are no text, or part of a syntax that a token would break.
_NO_PLACE = re.compile(
    r"[ \t>]*(?:!!!|\?\?\?|===|///|:::|-+8<-|\$\$|\\\[|\{[ ]?[:.#]|\*\[|\[[^\^\]][^\]]*\]:)"
)
# What is indented below them are settings.
_HAS_SETTINGS = re.compile(r"[ \t>]*(?:///+[ \t]*\w|:::)")
# Lines that begin or end something around other blocks.
_FRAME = re.compile(r"[ \t>]*(?:!!!|\?\?\?|===|///|</?[A-Za-z](?:[^<>]|<[^<>]*>)*>[ \t]*$)")
_FRAME_END = re.compile(r"[ \t>]*(?:///+[ \t]*$|</)")
# Lines of which nothing is published at their place: definitions of links and abbreviations,
# rules, comments, lists of attributes.
_NOTHING = re.compile(
    r"[ \t>]*(?:\*\[[^\]]+\]:|\[[^\^\]][^\]]*\]:|<!--(?:(?!-->).)*-->[ \t]*$"
    r"|\{:?[ ]?[.#\w][^{}]*\}[ \t]*$"
    r"|(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$|[ \t>]*$)"
)
_START_TAG = re.compile(r"<[A-Za-z][\w-]*(?:[^<>\"']|\"[^\"]*\"|'[^']*')*>")
_NEAR = 4000
# What most lines end with.
_MARKS = " .,:;!?`*_)]}>|\"'#-"

PROSE, FRAME, FRAME_END, NOTHING = "prose", "frame", "frame-end", "nothing"


@dataclass
class Provenance:
    """The blocks of a text, and what became of them.

    ``text`` is what `read_markers` gave, ``roles`` says of each of its blocks whether it is
    prose, begins or ends something around other blocks, or becomes nothing. Their numbers,
    and after them those of ``parts``, the markers of parts of blocks, are what ``carried``
    maps the numbers of elements to. ``lines`` is the text that was read.
    """

    text: MarkedText
    lines: Sequence[str]
    roles: list[str] = field(default_factory=list)
    parts: list[Marker] = field(default_factory=list)
    carried: dict[int, list[int]] = field(default_factory=dict)

    def content(self, number: int) -> str:
        """Give the lines of a block, without markers."""
        block = self.text.blocks[number]
        return "\n".join(self.lines[block.first - 1 : block.last])


def follow(
    lines: list[str], segmentation: str, *, every: bool, marks: bool
) -> tuple[list[str], Provenance | None]:
    """Take the markers out of the lines of a text, and with ``marks`` put tokens into them.

    Without any marker there is nothing to follow, unless ``every`` block is of interest.
    """
    text = "\n".join(lines)
    if not every and not has_markers(text):
        return lines, None
    read = read_markers(text, segmentation)
    bare = _strip(lines, read)
    made = Provenance(read, lines)
    # What stands in the text as a token does would be taken for one.
    tokens = marks and _BEGIN not in text
    for number, block in enumerate(read.blocks):
        content = [bare[n - 1] for n in range(block.first, block.last + 1)]
        made.roles.append(_find_role([line for line in content if line is not None]))
        lines_of = enumerate(content, block.first)
        places = _find_places({n: line for n, line in lines_of if n not in read.code})
        # First the later line, so that the other's place stays where it is.
        for at, place in reversed(places) if tokens else ():
            bare[at - 1] = _insert(bare[at - 1] or "", place, number)
    for block in read.blocks:
        for child in block.children:
            number = len(read.blocks) + len(made.parts)
            made.parts.append(child.marker)
            line = bare[child.marker.line - 1]
            if line is not None and tokens:
                found = _last_word(line[: child.marker.column] or line)
                if found is not None:
                    bare[child.marker.line - 1] = _insert(line, found, number)
    return [line for line in bare if line is not None], made


def _strip(lines: Sequence[str], read: MarkedText) -> list[str | None]:
    """Take the markers out; a line that had nothing else is None."""
    bare: list[str | None] = list(lines)
    markers = sorted(read.markers(), key=lambda marker: (marker.line, marker.column), reverse=True)
    for marker in markers:
        height = marker.raw.count("\n")
        number = marker.line - 1
        text = "\n".join(line or "" for line in bare[number : number + height + 1])
        before, after = text[: marker.column], text[marker.column + len(marker.raw) :]
        if not after.strip() or after[:1].isspace():
            before = before.rstrip(" \t")
        bare[number] = before + after
        for extra in range(number + 1, number + height + 1):
            bare[extra] = None
    for number in {marker.line - 1 for marker in markers}:
        line = bare[number]
        if line is not None and not line.strip() and lines[number].strip():
            bare[number] = None
    return bare


def _find_role(content: Sequence[str]) -> str:
    if content[0][:1].isalnum():  # most blocks
        return PROSE
    if all(_NOTHING.match(line) for line in content):
        return NOTHING
    first = next(line for line in content if line.strip())
    settings = bool(_HAS_SETTINGS.match(first))
    rest = [line for line in content if not (settings and line[:1] in " \t")]
    if all((_FRAME.match(line) and not _has_text(line)) or not line.strip() for line in rest):
        return FRAME_END if all(_FRAME_END.match(line) for line in rest if line.strip()) else FRAME
    return PROSE


def _has_text(line: str) -> bool:
    """Whether a line that looks like a frame is one of HTML with text in it."""
    return line.lstrip(" \t>")[:1] == "<" and _last_word(line) is not None


def _find_places(content: Mapping[int, str | None]) -> list[tuple[int, int]]:
    """Find the first and the last place in the lines of a block where a token may be.

    ``content`` gives the lines by their numbers; a place is such a number and a column.
    """
    lines = [(number, line) for number, line in content.items() if line and line.strip()]
    if lines and _HAS_SETTINGS.match(lines[0][1]):
        lines = [(number, line) for number, line in lines if line[0] not in " \t"]
    first = next(_places(lines), None)
    last = next(_places(lines[::-1]), None) if len(lines) > 1 else first
    return list(dict.fromkeys(place for place in (first, last) if place is not None))


def _places(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, int]]:
    for number, line in lines:
        if line[0].isalnum() or not _NO_PLACE.match(line):
            place = _last_word(line)
            if place is not None:
                yield number, place


def _last_word(line: str) -> int | None:
    """Find the place behind the last letter or digit of a line that is in no tag."""
    place = None
    if "<" not in line and "\x02" not in line and _BEGIN not in line:
        bare = line.rstrip(_MARKS)
        if bare and bare[-1].isalnum():
            return len(bare)
    for match in _WORD.finditer(line):
        if match["word"]:
            place = match.end()
    return place


def _insert(line: str, place: int, number: int) -> str:
    return f"{line[:place]}{_BEGIN}{number}{_END}{line[place:]}"


@dataclass(frozen=True)
class Taken:
    """The tokens of a tree: each number with the element that it was in.

    ``parents`` maps the elements to those around them, as they were then.
    """

    found: list[tuple[Element, int]]
    parents: Mapping[Element, Element]


def take_tokens(root: Element) -> Taken:
    """Take the tokens out of a tree."""
    parents = {child: element for element in root.iter() for child in element}
    taken = Taken([], parents)
    for element in root.iter():
        if element.text and _BEGIN in element.text:
            element.text = _take_out(element.text, element, taken)
        if element.tail and _BEGIN in element.tail:
            element.tail = _take_out(element.tail, parents.get(element, root), taken)
        for name, value in element.attrib.items():
            if _BEGIN in value:
                element.set(name, _take_out(value, element, taken))
    return taken


def _take_out(text: str, element: Element, taken: Taken) -> str:
    taken.found.extend((element, int(match[1])) for match in _TOKEN.finditer(text))
    kind: Callable[[str], str] = type(text)  # Python-Markdown has one for what is read already
    return kind(_TOKEN.sub("", text))


def number_elements(
    elements: Iterable[Element], taken: Taken, made: Provenance
) -> dict[Element, int]:
    """Give elements of a tree numbers, and note which blocks each of them carries."""
    numbers = {element: number for number, element in enumerate(elements)}
    made.carried = {number: [] for number in numbers.values()}
    for element, token in taken.found:
        within: Element | None = element
        while within is not None and within not in numbers:
            within = taken.parents.get(within)
        if within is not None:
            made.carried[numbers[within]].append(token)
    return numbers


def mark_leftovers(html: str, mark: str, made: Provenance) -> str:
    """Take the tokens out of HTML that was not parsed, and mark the elements that they are in."""
    if _TOKEN.search(html) is None:
        return html
    marked = re.compile(rf'\s{mark}="(\d+)"')
    parts: list[str] = []
    done = 0
    for match in _TOKEN.finditer(html):
        parts.append(html[done : match.start()])
        done = match.end()
        text = "".join(parts[-3:])
        before, near = text[:-_NEAR] if len(text) > _NEAR else "", text[-_NEAR:]
        tags = list(_START_TAG.finditer(near))
        if not tags:
            continue
        tag = tags[-1]
        known = marked.search(tag[0])
        if known:
            made.carried.setdefault(int(known[1]), []).append(int(match[1]))
            continue
        number = max(made.carried, default=-1) + 1
        made.carried[number] = [int(match[1])]
        name = re.match(r"<[\w-]+", tag[0])
        place = tag.start() + (name.end() if name else 0)
        parts[-3:] = [f'{before}{near[:place]} {mark}="{number}"{near[place:]}']
    return "".join(parts) + html[done:]
