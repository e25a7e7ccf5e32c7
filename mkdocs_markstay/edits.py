"""Writing section ids into source files: the line, the bytes, the difference, the file.

Nothing of a file changes but the ends of the heading lines that get an id, and
what the renderer has of these headings stays the same text.
"""

from __future__ import annotations

import difflib
import os
import re
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs_markstay.sectionids import read_heading, show

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mkdocs_markstay.locate import Candidate
    from mkdocs_markstay.sectionids import HeadingText

# Characters that Python-Markdown takes out of every text.
_REMOVED = {2: None, 3: None}
_TAG = re.compile(r"<[A-Za-z/!?]")
_LIST_BEGIN = re.compile(r"\{:?[ \t]*")
# Braces that inline markup may have before them: attr_list gives them to that markup.
_INLINE_LIST = re.compile(r"[*_`)\]>:^~=+]\{")
# Attributes, maybe after closing hashes, in which the renderer finds no other markup.
_PLAIN_LIST = re.compile(
    r"""[ \t]+(?:\#+[ \t]+)?
    \{:?(?:[A-Za-z0-9 \t.="'-]|(?<=[A-Za-z0-9])_(?=[A-Za-z0-9]))*\}""",
    re.VERBOSE,
)
_PLAIN_TEXT = re.compile(r"(?:[^\W_]|[ .,|{}-])*")
# An id in any spelling: `#id` in angles or braces, `id=` in braces or tags.
_ID_IN_LINE = r"(?<=#){0}(?![\w.:-])|(?<=\bid=[\"']){0}(?=[\"'])|(?<=\bid=){0}(?=[\s>}}])"
_LINE_END = re.compile(rb"(\r\n|\n|\r)")
_LINE_OF_DIFF = re.compile(r"[^\n]*\n|[^\n]+")
_BOM = b"\xef\xbb\xbf"
_WRITABLE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


class LineChangedError(ValueError):
    """A line is not what it was when its edit was made. ``line`` counts from 0."""

    def __init__(self, line: int, expected: str) -> None:
        super().__init__(f"line {line + 1} is not {show(expected)} any more")
        self.line = line


class NotReplacedError(Exception):
    """A file was left as it was. ``reason`` says why, in words that follow the path."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


# -- lines


def write_id(
    candidate: Candidate, written: HeadingText, section_id: str, syntax: str
) -> str | None:
    """Write an id at the end of a heading's line and return the line, without line end.

    ``written`` is what the renderer had of the heading. ``syntax`` is "angle" or
    "brace"; an id that braces cannot hold is written in angles all the same. None if
    the heading has an id or something like one, is an HTML tag, or would not be read
    as the same heading with exactly this id.
    """
    if candidate.sign.startswith("<") or written.section_id is not None or written.problem:
        return None
    line, hashes = candidate.source, bool(candidate.sign)
    start = len(candidate.prefix) + len(candidate.sign)
    before = _read(line[start:], hashes=hashes)
    body, tail = _split(line[start:], hashes=hashes)
    if (
        before is None
        # A container may take white space off the end, which makes other hashes closing ones;
        # the number that begins an underlined title is no part of it here.
        or not _squeeze(written.text).endswith(_squeeze(before.text))
        or _is_open(body, tail)
    ):
        return None
    for spelled in _spell(body, section_id, syntax):
        after = _read(spelled + tail, hashes=hashes)
        if after is not None and after.section_id == section_id and _is_same(before, after):
            return line[:start] + spelled + tail
    return None


def replace_id(line: str, old: str, new: str) -> str:
    """Write another id in the place of the one at the end of a heading's line.

    Returns the line, "" if ``old`` does not stand in it as an id.
    """
    ids = list(re.finditer(_ID_IN_LINE.format(re.escape(old)), line))
    return line[: ids[-1].start()] + new + line[ids[-1].end() :] if ids else ""


def _split(text: str, *, hashes: bool) -> tuple[str, str]:
    """Split what follows the sign of a heading: its text, and white space and closing hashes."""
    end = len(text)
    if hashes:
        end = len(text.rstrip("#"))
        if end < len(text) and _ends_in_escape(text[:end]):
            end += 1
    body = text[:end].rstrip()
    return body, text[len(body) :]


def _read(text: str, *, hashes: bool) -> HeadingText | None:
    """Read what follows the sign as the renderer does, None if it is no heading to it."""
    text = text.translate(_REMOVED)
    if hashes and _ends_in_escape(text):
        return None
    return read_heading(_split(text, hashes=hashes)[0].lstrip())


def _is_open(body: str, tail: str) -> bool:
    """Whether what stands at the end of a heading's text may go on."""
    # A tag that is not closed would end in the id.
    if _TAG.search(body, body.rfind(">") + 1):
        return True
    # `## C#` is published as `C`. Whether the hash is text is for the author to say.
    return tail == "#" and bool(body)


def _squeeze(text: str) -> str:
    return " ".join(text.split())


def _ends_in_escape(text: str) -> bool:
    return (len(text) - len(text.rstrip("\\"))) % 2 == 1


def _spell(body: str, section_id: str, syntax: str) -> Iterator[str]:
    """Spell a heading's text with the id, in the ways to try, the best one first."""
    angle = f"<#{section_id}>"
    # The title ends where other attributes begin.
    title = body[: len(read_heading(f"{body} {angle}").title)]
    attributes = body[len(title) :]
    if syntax == "brace":
        opening = _LIST_BEGIN.search(attributes)
        if opening is None:
            yield f"{body} {{#{section_id}}}"
        else:
            end = opening.end()
            yield f"{title}{attributes[:end]}#{section_id} {attributes[end:]}"
    yield f"{title} {angle}{attributes}"


def _is_same(before: HeadingText, after: HeadingText) -> bool:
    """Whether the renderer makes the same of a heading without the id and with it.

    The id once taken out, it gets nearly always the very text that it had. What it
    may get instead is compared by what attr_list makes of it.
    """
    if after.text == before.text:
        return True
    if after.attributes:
        # The same attributes in another spelling. They must be ones before, too: attr_list
        # reads from the first brace, wants a text before it, and takes hashes off that text.
        title = after.title
        if "{" in title or title.endswith("#"):
            return False
        return _PLAIN_LIST.fullmatch(before.text, len(title)) is not None
    # The last brace is kept from attr_list now. It must have been no concern of that before.
    return before.text.endswith("}") and _is_left(before.text)


def _is_left(text: str) -> bool:
    """Whether attr_list leaves the braces at the end of a heading's text as they are."""
    if _INLINE_LIST.search(text):
        return False
    _, opening, inner = text.replace("\t", " ").partition(" {")
    # Two closing braces are too many for it, unless one is quoted, escaped or in markup.
    return not opening or ("}" in inner[:-1] and _PLAIN_TEXT.fullmatch(inner) is not None)


# -- texts


def stamp_text(raw: bytes, edits: Mapping[int, tuple[str, str]]) -> bytes:
    r"""Change lines of a file's content, in UTF-8; every other byte stays.

    ``edits`` maps a line to its text and to the text that it gets, both without line
    end. Lines end in `\n`, `\r\n` or `\r` only, and count from 0 at the beginning of
    the file: front matter is counted. A byte order mark is no part of the first line.
    A line that has its new text already is left alone, so that doing it twice is the
    same as doing it once. Raises LineChangedError where a line is neither.
    """
    mark = _BOM if raw.startswith(_BOM) else b""
    parts = _LINE_END.split(raw[len(mark) :])  # lines and their ends in turn
    for line, (old, new) in edits.items():
        place = 2 * line
        found = parts[place] if place < len(parts) else None
        if found not in (old.encode(), new.encode()):
            raise LineChangedError(line, old)
        parts[place] = new.encode()
    return mark + b"".join(parts)


def diff_text(path: str, old: bytes, new: bytes) -> str:
    r"""Compare two contents of a file, in UTF-8: a unified diff for `git apply` or `patch -p1`.

    ``path`` has `/` between its parts. The text is empty if nothing differs. Its lines
    end in `\n`, behind the `\r` of a file that has them: write it as bytes.
    """
    before, after = (_LINE_OF_DIFF.findall(content.decode()) for content in (old, new))
    lines = difflib.unified_diff(before, after, _diff_name("a", path), _diff_name("b", path))
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


def _diff_name(side: str, path: str) -> str:
    name = f"{side}/{path}"
    if not name.isprintable() or '"' in name or "\\" in name:
        # Bytes of a path that are not UTF-8 stand in its text as surrogates.
        raw = name.encode("utf-8", "surrogateescape")
        return '"' + "".join(map(_diff_byte, raw)) + '"'
    # Without a tab a name ends at its first space.
    return f"{name}\t" if " " in name else name


def _diff_byte(byte: int) -> str:
    plain = 32 <= byte < 127 and byte not in b'"\\'
    return chr(byte) if plain else f"\\{byte:03o}"


# -- files


def is_inside(path: Path, folder: Path) -> bool:
    """Whether a file, all symbolic links followed, is in ``folder`` or below it."""
    real = Path(os.path.realpath(path))
    return real.is_relative_to(os.path.realpath(folder))


def replace_file(path: Path, old: bytes, new: bytes) -> None:
    """Replace the content ``old`` of a file by ``new``: at every moment it is one or the other.

    Mode and, where it is allowed, owner stay. Of a symbolic link the target is
    replaced. Other hard links of the file keep the old content. What a killed process
    may leave behind is a hidden file `.markstay-*.tmp`. Raises NotReplacedError, the
    file being as it was, if it may not be written or its content is not ``old``.
    """
    try:
        target = os.path.realpath(path, strict=True)
        status = os.stat(target)  # noqa: PTH116 (a real path, not to be followed again)
        _check_writable(path, target, status)
        handle, temporary = tempfile.mkstemp(
            dir=os.path.dirname(target),  # noqa: PTH120
            prefix=".markstay-",
            suffix=".tmp",
        )
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(new)
                file.flush()
                os.fsync(file.fileno())
            _copy_owner(temporary, status)
            # After the owner: a change of that takes bits of the mode away.
            os.chmod(temporary, stat.S_IMODE(status.st_mode))  # noqa: PTH101
            _check_content(path, target, old)
            os.replace(temporary, target)  # noqa: PTH105
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise NotReplacedError(path, f"cannot be written: {reason}") from error


def check_writable(path: Path) -> None:
    """Raise NotReplacedError if `replace_file` would refuse the file, as far as can be told now."""
    try:
        target = os.path.realpath(path, strict=True)
        _check_writable(path, target, os.stat(target))  # noqa: PTH116
    except OSError as error:
        reason = error.strerror or str(error)
        raise NotReplacedError(path, f"cannot be written: {reason}") from error


def _check_writable(path: Path, target: str, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise NotReplacedError(path, "is not a regular file")
    # The superuser may write everything; a file without any such bit is still meant to stay.
    if not (status.st_mode & _WRITABLE and os.access(target, os.W_OK)):
        raise NotReplacedError(path, "is read-only")
    folder = os.path.dirname(target)  # noqa: PTH120
    mode = os.stat(folder).st_mode  # noqa: PTH116
    if not (mode & _WRITABLE and os.access(folder, os.W_OK | os.X_OK)):
        raise NotReplacedError(path, "is in a folder that is read-only")


def _check_content(path: Path, target: str, old: bytes) -> None:
    if Path(target).read_bytes() != old:
        raise NotReplacedError(path, "was changed by someone else meanwhile")


def _copy_owner(temporary: str, status: os.stat_result) -> None:
    if not hasattr(os, "chown"):  # Windows
        return
    for user, group in ((-1, status.st_gid), (status.st_uid, -1)):
        with suppress(PermissionError):
            os.chown(temporary, user, group)
