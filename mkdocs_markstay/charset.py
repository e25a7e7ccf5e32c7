"""The text of a published file, by the charset that it declares, as browsers find it."""

from __future__ import annotations

import re

from webencodings import UTF8, Encoding, lookup

# Where browsers look for a declaration.
_HEAD = 1024
_COMMENT = re.compile(rb"<!--.*?(?:-->|\Z)", re.DOTALL)
_CHARSET = re.compile(rb"""<meta[^>]*?\bcharset\s*=\s*["']?\s*([\w:.-]+)""", re.IGNORECASE)
_BYTE_ORDER_MARKS = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xfe\xff", "utf-16be"),
    (b"\xff\xfe", "utf-16le"),
)


def decode_html(raw: bytes) -> tuple[str, str]:
    """Decode a published file: its text, and what is wrong with it, "" if nothing is.

    A byte order mark tells the encoding, else a `meta` element, else it is UTF-8. Where
    the bytes are not what they are said to be, the text has replacement characters.
    """
    start, encoding = 0, _find_declared(raw)
    for mark, label in _BYTE_ORDER_MARKS:
        if raw.startswith(mark):
            start, encoding = len(mark), lookup(label) or UTF8
    try:
        return encoding.codec_info.decode(raw[start:], "strict")[0], ""
    except UnicodeDecodeError as error:
        text = encoding.codec_info.decode(raw[start:], "replace")[0]
        byte = raw[start + error.start]
        return text, f"byte 0x{byte:02x} is not {_NAMES.get(encoding.name, encoding.name)}"


_NAMES = {"utf-8": "UTF-8"}


def _find_declared(raw: bytes) -> Encoding:
    match = _CHARSET.search(_COMMENT.sub(b"", raw[:_HEAD]))
    encoding = lookup(match[1].decode("ascii", "replace")) if match else None
    # As in browsers: what can be read as ASCII up to here is not UTF-16.
    return UTF8 if encoding is None or encoding.name.startswith("utf-16") else encoding
