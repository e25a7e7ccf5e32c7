"""Following the blocks of a Markdown text through its conversion.

Before the text is parsed, its markers are taken out, and short tokens are put into lines of
its blocks. As soon as there is a tree of elements, they are taken out of that, before anything
reads the text in it. So a page comes out as it does without markers, and it is known which
element each block became, whatever the block parser made of it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import islice, pairwise
from typing import TYPE_CHECKING

from mkdocs_markstay.stays import has_markers, read_markers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from xml.etree.ElementTree import Element

    from mkdocs_markstay.stays import MarkedText, Marker

# Characters that are in no text: Unicode keeps them for uses such as this one.
_BEGIN, _END = "\ufdd0", "\ufdd1"
_TOKEN = re.compile(f"{_BEGIN}([0-9]+){_END}")
_WORD = re.compile(rf"<(?!https?://)[^<>]*>?|\x02[^\x03]*\x03|{_BEGIN}[0-9]*{_END}?|(?P<word>\w)")
# What may stand before the beginning of a block in its line: quotes, and marks of items,
# meanings, and notes.
_AHEAD = r"(?:[ \t>]|(?:[-*+:]|[0-9]{1,9}[.)]|\[\^[^\]]+\]:)(?=[ \t]|$))*"
_AHEAD_OF = re.compile(_AHEAD)
_INDENT = 4
_TITLE = re.compile(r"[ \t>]*#")
_UNDERLINE = re.compile(r"[ \t>]*(?:=+|-+)[ \t]*$")
# Lines that are no text, or part of a syntax that a token would break.
_NO_PLACE = re.compile(
    rf"{_AHEAD}(?:!!!|\?\?\?|===|///|:::|-+8<-|\$\$|\\\[|\{{[ ]?[:.#]|\*\[|\[[^\^\]][^\]]*\]:)"
)
# What is indented below them are settings.
_HAS_SETTINGS = re.compile(rf"(?P<ahead>{_AHEAD})(?:///+[ \t]*\w|:::)")
# Lines that begin or end something around other blocks.
_FRAME = re.compile(rf"{_AHEAD}(?:!!!|\?\?\?|===|///|</?[A-Za-z](?:[^<>]|<[^<>]*>)*>[ \t]*$)")
_FRAME_END = re.compile(r"[ \t>]*(?:///+[ \t]*$|</)")
# Lines of which nothing is published at their place: definitions of links and abbreviations,
# rules, comments, lists of attributes.
_NOTHING = re.compile(
    r"[ \t>]*(?:\*\[[^\]]+\]:|\[[^\^\]][^\]]*\]:|<!--(?:(?!-->).)*-->[ \t]*$"
    r"|\{:?[ ]?[.#\w][^{}]*\}[ \t]*$"
    r"|(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$|[ \t>]*$)"
)
# What ends a paragraph that it stands in.
_BLOCK = re.compile(r"\s*<(?:div|pre|table|ul|ol|dl|p|blockquote|figure|details|h[1-6])\b")
_ENDS = re.compile(
    r"(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`)|`+|(?P<stored>\x02[^\x02\x03]*\x03)"
    rf"|(?P<tag>{_BLOCK.pattern[3:]})",
    re.DOTALL,
)
# Tags, and comments; ``open`` is one without an end.
_TAG = re.compile(
    r"<!--(?:[^-]|-(?!->))*(?:-->|(?P<open>\Z))|</(?P<end>[A-Za-z][\w-]*)"
    r"|<(?P<start>[A-Za-z][\w-]*)(?:[^<>\"']|\"[^\"]*\"|'[^']*')*>"
)
_VOID = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "wbr")
)
_NEAR = 4000
# What most lines end with.
_MARKS = " .,:;!?`*_)]}>|\"'#-"

# What begins something, and has a title that is published.
_TITLED = re.compile(
    rf'{_AHEAD}(?:(?:!!!|\?\?\?|===)[^"\n]*"[^"\n]+"|///+[ \t]*[\w-]+[ \t]*\|[ \t]*\S)'
)

PROSE, FRAME, TITLED, FRAME_END, NOTHING = "prose", "frame", "titled", "frame-end", "nothing"
"""What a block of the source is: text; what begins something around other blocks, without a
title or with one; what ends it; or what becomes nothing."""


@dataclass
class Provenance:
    """The blocks of a text, and what became of them.

    ``text`` is what `read_markers` gave, ``roles`` says of each of its blocks whether it is
    prose, begins or ends something around other blocks, or becomes nothing, and ``followed`` its
    lines that have tokens. Their numbers,
    and after them those of ``parts``, the markers of parts of blocks, are what ``carried``
    maps the numbers of elements to. ``elements`` counts these, ``lines`` is the text that was read.
    """

    text: MarkedText
    lines: Sequence[str]
    roles: list[str] = field(default_factory=list)
    followed: list[list[int]] = field(default_factory=list)
    parts: list[Marker] = field(default_factory=list)
    carried: dict[int, list[int]] = field(default_factory=dict)
    elements: int = 0

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
        made.followed.append([line for line, _ in places])
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
    found = (*read.markers(), *read.hidden)
    markers = sorted(found, key=lambda marker: (marker.line, marker.column), reverse=True)
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
    if content and content[0][:1].isalpha():  # most blocks
        return PROSE
    if all(_NOTHING.match(line) for line in content):
        return NOTHING
    lines = [(n, line) for n, line in enumerate(content) if line.strip()]
    rest = [line for _, line in _skip_settings(lines)]
    if all((_FRAME.match(line) and not _has_text(line)) or not line.strip() for line in rest):
        if all(_FRAME_END.match(line) for line in rest if line.strip()):
            return FRAME_END
        return TITLED if any(map(_TITLED.match, rest)) else FRAME
    return PROSE


def _skip_settings(lines: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """Leave out settings, which are indented directly below the first line."""
    opening = _HAS_SETTINGS.match(lines[0][1]) if lines else None
    if opening is None:
        return lines
    indent = len(opening["ahead"].expandtabs(_INDENT)) + _INDENT
    end = 1
    for (before, _), (number, line) in pairwise(lines):
        spaces = line[: len(line) - len(line.lstrip(" \t"))].expandtabs(_INDENT)
        if number != before + 1 or len(spaces) < indent:
            break
        end += 1
    return [lines[0], *lines[end:]]


def _has_text(line: str) -> bool:
    """Whether a line that looks like a frame is one of HTML with text in it."""
    return line.lstrip(" \t>")[:1] == "<" and _last_word(line) is not None


def _find_places(content: Mapping[int, str | None]) -> list[tuple[int, int]]:
    """Find the first and the last place in the lines of a block where a token may be.

    Below a heading there is one more.

    ``content`` gives the lines by their numbers; a place is such a number and a column.
    """
    lines = [(number, line) for number, line in content.items() if line and line.strip()]
    lines = _skip_settings(lines)
    # What is below a heading is another element than it.
    title = len(lines) > 1 and bool(_TITLE.match(lines[0][1]) or _UNDERLINE.match(lines[1][1]))
    firsts = list(islice(_places(lines), 2 if title else 1))
    lasts = list(islice(_places(lines[::-1]), 1)) if len(lines) > 1 else []
    return list(dict.fromkeys((*firsts, *lasts)))


def _places(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, int]]:
    for number, line in lines:
        plain = line[0].isalpha()  # most lines
        if plain or not _NO_PLACE.match(line):
            place = _last_word(line)
            # The number of an item and the name of a note are no text.
            ahead = None if plain else _AHEAD_OF.match(line)
            if place is not None and (ahead is None or place > ahead.end()):
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


def take_tokens(root: Element, stored: Mapping[str, str | Element]) -> Taken:
    """Take the tokens out of a tree.

    ``stored`` maps placeholders in the tree to the HTML that they stand for.
    """
    parents = {child: element for element in root.iter() for child in element}
    taken = Taken([], parents)
    for element in root.iter():
        if element.text and _BEGIN in element.text:
            text, followed = element.text, len(taken.found)
            element.text = _take_out(text, element, taken)
            if element.tag == "p" and ("\x02" in text or "<" in text):
                # A paragraph ends where such a block begins: what is behind is in another one.
                ends = _find_block(text, stored)
                behind = len(_TOKEN.findall(text, ends))
                del taken.found[max(followed, len(taken.found) - behind) :]
        if element.tail and _BEGIN in element.tail:
            element.tail = _take_out(element.tail, parents.get(element, root), taken)
        for name, value in element.attrib.items():
            if _BEGIN in value:
                element.set(name, _take_out(value, element, taken))
    return taken


def _find_block(text: str, stored: Mapping[str, str | Element]) -> int:
    """Find where something in the text of a paragraph ends it, else the end of the text."""
    for match in _ENDS.finditer(text):
        if match["tag"]:
            return match.start()
        html = stored.get(match["stored"] or "")
        if isinstance(html, str) and _BLOCK.match(html) and match[0] != text.strip():
            return match.end()
    return len(text)


def _take_out(text: str, element: Element, taken: Taken) -> str:
    taken.found.extend((element, int(match[1])) for match in _TOKEN.finditer(text))
    kind: Callable[[str], str] = type(text)  # Python-Markdown has one for what is read already
    return kind(_TOKEN.sub("", text))


def number_elements(
    elements: Iterable[Element], taken: Taken, made: Provenance
) -> dict[Element, int]:
    """Give elements of a tree numbers, and note which blocks each of them carries."""
    numbers = {element: number for number, element in enumerate(elements)}
    made.elements = len(numbers)
    for element, token in taken.found:
        within: Element | None = element
        while within is not None and within not in numbers:
            within = taken.parents.get(within)
        if within is not None:
            made.carried.setdefault(numbers[within], []).append(token)
    return numbers


def _find_open_tag(html: str) -> re.Match[str] | None:
    """Find the tag of the innermost element that HTML ends in, None if that is a comment."""
    tags: list[re.Match[str]] = []
    for match in _TAG.finditer(html):
        if match["open"]:
            return None
        if match["start"] and match["start"].lower() not in _VOID:
            tags.append(match)
        elif match["end"]:
            ended = (n for n in range(len(tags) - 1, -1, -1) if tags[n]["start"] == match["end"])
            del tags[next(ended, len(tags)) :]
    return tags[-1] if tags else None


def mark_leftovers(html: str, mark: str, made: Provenance) -> str:
    """Take the tokens out of HTML that was not parsed, and mark the elements that they are in."""
    if _TOKEN.search(html) is None:
        return html
    marked = re.compile(rf'\s{mark}="(\d+)"')
    parts: list[str] = []
    near, done = "", 0
    for match in _TOKEN.finditer(html):
        near += html[done : match.start()]
        done = match.end()
        if len(near) > 2 * _NEAR:
            parts.append(near[:-_NEAR])
            near = near[-_NEAR:]
        tag = _find_open_tag(near)
        if tag is None:
            continue
        known = marked.search(tag[0])
        if known:
            made.carried.setdefault(int(known[1]), []).append(int(match[1]))
            continue
        made.carried[made.elements] = [int(match[1])]
        place = tag.end("start")
        near = f'{near[:place]} {mark}="{made.elements}"{near[place:]}'
        made.elements += 1
    return "".join(parts) + near + html[done:]
