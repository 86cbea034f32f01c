"""Which text is the truth: an open document's, or that of its file on disk (E11). Pure.

LSP has no "modified" flag. So of every open document a *baseline* is kept: a text that it showed while the disk held
the same. Both sides are judged against it, by content and never by time stamps:

=============================  ===================  ============
document against its baseline  disk against it      truth
=============================  ===================  ============
same                           same                 one_text
same                           changed, or deleted  disk
changed                        same                 editor
changed                        changed, or deleted  conflict
there is no baseline           any                  no_baseline
=============================  ===================  ============

A document and a disk that hold the same text now are one text, whatever came before; that moment is a new baseline.

"Same" is modulo what editors normalise without telling: a byte-order mark, line ends, the encoding, one final newline.
A file that does not exist holds nothing: a document opened for it is the editor's, until the file appears.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, Literal, Protocol, TypeAlias

from .plain_text import pieces_of, plain_byte_pieces, plain_pieces, same_stream, same_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Truth: TypeAlias = Literal["one_text", "disk", "editor", "conflict", "no_baseline"]
"""Whose text is to be read and changed; see the table."""

Fingerprint: TypeAlias = bytes
"""Equal for contents that differ only in what editors normalise, and for no others."""

MISSING: Final[Fingerprint] = b"missing"
"""The fingerprint of a file that does not exist."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """``text`` is what the document showed while the disk's fingerprint was ``disk``; they were the same then."""

    text: str
    disk: Fingerprint


class DiskText(Protocol):
    """The disk, for whoever follows documents."""

    def baseline(self, path: str, text: str) -> Baseline | None:
        """The baseline of a document that shows ``text``, if its file holds that now. Blocks; never raises."""
        ...


_TABLE: Final[Mapping[tuple[bool, bool], Truth]] = {
    # (the document is the same, the disk is the same)
    (True, True): "one_text",
    (True, False): "disk",
    (False, True): "editor",
    (False, False): "conflict",
}


def judge(document: str, baseline: Baseline | None, disk: bytes | None) -> Truth:
    """The row of the table. ``disk`` is the whole content of the file, None where it does not exist."""
    if disk is not None and _is_its_utf8(document, disk):
        return "one_text"
    if baseline is not None and fingerprint(disk) == baseline.disk:
        return judge_against_unchanged_disk(document, baseline)
    if disk is not None and _is_in_another_encoding(document, disk):
        return "one_text"
    return "no_baseline" if baseline is None else _TABLE[same_text(document, baseline.text), False]


def judge_against_unchanged_disk(document: str, baseline: Baseline) -> Truth:
    """The row where the disk is known to hold the baseline's text."""
    return _TABLE[same_text(document, baseline.text), True]


def baseline_of(text: str, disk: bytes | None) -> Baseline | None:
    """The baseline of a document that shows ``text`` while the disk holds ``disk``; None where those differ."""
    if disk is None:
        return Baseline("", MISSING)
    same = _is_its_utf8(text, disk) or _is_in_another_encoding(text, disk)
    return Baseline(text, fingerprint(disk)) if same else None


def fingerprint(disk: bytes | None) -> Fingerprint:
    """What tells the content of a file apart from every other that is not the same; None: it does not exist."""
    if disk is None:
        return MISSING
    digest = blake2b(digest_size=32)
    for piece in plain_byte_pieces(_as_utf8(disk)):
        digest.update(piece)
    return digest.digest()


def is_on_disk(document: str, disk: bytes) -> bool:
    """Whether the file is this very text, line ends and final newline too, in whatever encoding; a mark aside."""
    as_utf8 = _as_utf8(disk)
    if any(_is_encoded(document, "utf-8", data) for data in (as_utf8, as_utf8.removeprefix(_UTF8_MARK))):
        return True
    return not document.isascii() and any(_is_encoded(document, codec, disk) for codec in _UNMARKED)


def _is_its_utf8(document: str, disk: bytes) -> bool:
    return _encodes_to(document, "utf-8", _as_utf8(disk))


def _is_in_another_encoding(document: str, disk: bytes) -> bool:
    """Whether some encoding without a mark turns the text into exactly these bytes; then the editor read it so."""
    return not document.isascii() and any(_encodes_to(document, codec, disk) for codec in _UNMARKED)


def _encodes_to(text: str, codec: str, data: bytes) -> bool:
    return _is_stream(plain_pieces(text), codec, plain_byte_pieces(data))


def _is_encoded(text: str, codec: str, data: bytes) -> bool:
    return _is_stream(pieces_of(text), codec, pieces_of(data))


def _is_stream(pieces: Iterator[str], codec: str, data: Iterator[bytes]) -> bool:
    errors = "surrogatepass" if codec == "utf-8" else "strict"
    # All these encodings hold ASCII as it is, which costs a twentieth by itself.
    encoded = (piece.encode("ascii" if piece.isascii() else codec, errors) for piece in pieces)
    try:
        return same_stream(encoded, data)
    except UnicodeEncodeError:
        return False


def _as_utf8(disk: bytes) -> bytes:
    """UTF-16 and UTF-32 state themselves by a mark; all other bytes are taken as they are."""
    for mark, codec in _MARKED:
        if disk.startswith(mark):
            try:
                return disk[len(mark) :].decode(codec).encode()
            except UnicodeError:
                return disk
    return disk


_UTF8_MARK: Final = b"\xef\xbb\xbf"
_MARKED: Final = (
    # UTF-32 LE before UTF-16 LE, whose mark is the beginning of its own.
    (b"\xff\xfe\0\0", "utf-32-le"),
    (b"\0\0\xfe\xff", "utf-32-be"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)
_UNMARKED: Final = (
    *("latin-1", "cp1252", "iso8859_15", "cp1250", "iso8859_2", "cp1251", "koi8_r", "koi8_u", "cp866"),
    *("cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp874", "cp437", "cp850", "mac_roman"),
    *("gb18030", "gbk", "big5", "big5hkscs", "cp932", "euc_jp", "cp949"),
)
