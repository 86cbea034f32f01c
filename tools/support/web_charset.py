"""The text of a body that came from the web: byte-order mark, header, meta, in this order, and what is done without.

A label that does not fit is not believed: where more than a few bytes are no text in it, UTF-8 is taken, and where it
is not that either, windows-1252, in which everything is some text. The answer tells which.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from typing import Final

_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark is the beginning of its own
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_META: Final = re.compile(
    rb"<meta\b[^>]{0,1000}?\bcharset\s*=\s*[\"']?\s*([A-Za-z0-9_:.-]{2,40})"
    rb"|<\?xml\b[^>]{0,200}?\bencoding\s*=\s*[\"']([A-Za-z0-9_:.-]{2,40})",
    re.IGNORECASE,
)
_HEADER: Final = re.compile(r"\bcharset\s*=\s*[\"']?\s*([A-Za-z0-9_:.-]{2,40})", re.IGNORECASE)
_META_WITHIN_BYTES: Final = 4096
_COMMENT: Final = re.compile(rb"<!--.*?(?:-->|\Z)", re.DOTALL)

_BROADER: Final = {
    # What browsers take for a label where the label means less.
    "iso8859-1": "cp1252",
    "ascii": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "big5": "big5hkscs",
    "utf-16": "utf-16-le",
    "utf-32": "utf-32-le",
}
_ALIASES: Final = {
    "x-sjis": "cp932",
    "x-gbk": "gb18030",
    "x-euc-jp": "euc_jp",
    "x-cp1251": "cp1251",
    "windows-874": "cp874",
}
_TEXT_CODECS: Final = re.compile(
    r"utf-(8|16|32)(-[lb]e)?|ascii|iso8859-\d+|cp\d+|koi8-[ru]|gb\w+|big5\w*|hz|euc_\w+|shift_jis\w*|iso2022_jp\w*|mac-\w+|tis-620"
)
"""Python has more codecs that make text of bytes, and some of them take their time."""

_SINGLE_BYTES: Final = re.compile(r"cp125\d|cp874|iso8859-\d+|koi8-[ru]|mac-\w+")
_TELLING: Final = 4
"""So many characters of several bytes each, and no byte that is wrong, are no chance."""
_LOOKED_AT: Final = 100_000

_FEW: Final = 1_000
"""One byte in so many may be wrong; a text is often cut, or has one quotation mark of another encoding."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """The text; ``charset`` is what it was read as, ``how`` says why, ``note`` is what does not fit."""

    text: str
    charset: str
    how: str
    note: str = ""


def decode_body(body: bytes, content_type: str, *, is_markup: bool, is_whole: bool = True) -> Decoded:
    """The text of a body; ``content_type`` is the whole header. Never fails, and tells what it did instead."""
    for mark, codec in _MARKS:
        if body.startswith(mark):
            return _read(body[len(mark) :], codec, "by its byte-order mark", is_whole)
    label, how = _label(body, content_type, is_markup=is_markup)
    if not label:
        if (text := _strictly(body, "utf-8", is_whole)) is not None:
            return Decoded(text, "utf-8", "not labelled")
        return _read(body, "cp1252", "not labelled, and not UTF-8", is_whole)
    codec = _codec(label)
    if codec is None:
        fallback = decode_body(body, "", is_markup=False, is_whole=is_whole)
        note = f"the charset {label} ({how}) is not known; read as {fallback.charset}"
        return Decoded(fallback.text, fallback.charset, how, note)
    if (text := _really_utf8(body, codec, is_whole)) is not None:
        return Decoded(text, "utf-8", how, f"it is labelled {label} ({how}) and is UTF-8; read as that")
    decoded = _read(body, codec, how, is_whole)
    if decoded.note and decoded.text.count("\ufffd") * _FEW > len(decoded.text) + _FEW:
        fallback = decode_body(body, "", is_markup=False, is_whole=is_whole)
        note = f"it is labelled {label} ({how}) and is not in that charset; read as {fallback.charset}"
        return Decoded(fallback.text, fallback.charset, how, note)
    return decoded


def _really_utf8(body: bytes, codec: str, is_whole: bool) -> str | None:
    """The text of UTF-8 that is labelled as something else, in which it is no text or an odd one."""
    if codec.startswith(("utf-16", "utf-32")):
        return None if b"\0" in body else _strictly(body, "utf-8", is_whole)
    if codec.startswith("utf-") or body.isascii():
        return None
    text = _strictly(body, "utf-8", is_whole)
    # Two bytes of UTF-8 are a character in many a charset of two bytes, too.
    low = "\x7f" if _SINGLE_BYTES.fullmatch(codec) else "\u07ff"
    return text if text is not None and sum(char > low for char in text[:_LOOKED_AT]) >= _TELLING else None


def _label(body: bytes, content_type: str, *, is_markup: bool) -> tuple[str, str]:
    if found := _HEADER.search(content_type):
        return found.group(1).lower(), "by its header"
    if is_markup and (meta := _META.search(_COMMENT.sub(b"", body[:_META_WITHIN_BYTES]))):
        label = (meta.group(1) or meta.group(2)).decode("ascii").lower()
        # It was found by reading ASCII, so that it cannot be true.
        return "utf-8" if label.startswith(("utf-16", "utf-32")) else label, "by its own words"
    return "", ""


def _codec(label: str) -> str | None:
    try:
        name = codecs.lookup(_ALIASES.get(label, label)).name
    except (LookupError, ValueError):
        return None
    return _BROADER.get(name, name) if _TEXT_CODECS.fullmatch(name) else None


def _strictly(body: bytes, codec: str, is_whole: bool) -> str | None:
    try:
        return codecs.getincrementaldecoder(codec)("strict").decode(body, final=is_whole)
    except (UnicodeError, ValueError):
        return None


def _read(body: bytes, codec: str, how: str, is_whole: bool) -> Decoded:
    text = _strictly(body, codec, is_whole)
    if text is not None:
        return Decoded(text, codec, how)
    text = body.decode(codec, "replace")
    return Decoded(text, codec, how, f"{text.count(chr(0xFFFD))} characters could not be read and are shown as \ufffd")
