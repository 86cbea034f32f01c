"""Which encoding a text file is in, and its text as pieces of UTF-8.

UTF-8 unless a byte-order mark says otherwise. Anything else has to be a legacy encoding that gives back the whole
file byte for byte; which one is guessed by charset-normalizer from the lines that are not ASCII. What fits nothing is
refused: a file is never shown or changed through a lossy decoding.

A *piece* is a part of a file in its order. A piece may be a buffer that is reused: it is valid until the next one.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Final, TypeAlias

from ..errors import TextRefusedError
from .byte_search import Bytes, PlainLines

if TYPE_CHECKING:
    from charset_normalizer import CharsetMatch

Pieces: TypeAlias = Callable[[], Iterable[Bytes]]
"""Gives the file's pieces, from its start each time it is called."""

TextPiece: TypeAlias = tuple[Bytes, int | None]
"""A piece of UTF-8, and its number of line feeds where that is known: then it is ASCII without a carriage return."""


@dataclass(frozen=True, slots=True)
class Encoding:
    """How the bytes of a file stand for its text.

    Attributes:
        codec: Python's name of it.
        mark: the byte-order mark that the file starts with; no part of the text.
        guessed: nothing in the file states it.
    """

    codec: str
    mark: bytes = b""
    guessed: bool = False

    @property
    def label(self) -> str:
        """How people call it."""
        return _LABELS.get(self.codec, self.codec)


UTF8: Final = Encoding("utf-8")
LATIN1: Final = Encoding("latin-1", guessed=True)

_MARKED: Final = (
    # UTF-32 LE before UTF-16 LE, whose mark is the beginning of its own.
    Encoding("utf-32-le", codecs.BOM_UTF32_LE),
    Encoding("utf-32-be", codecs.BOM_UTF32_BE),
    Encoding("utf-16-le", codecs.BOM_UTF16_LE),
    Encoding("utf-16-be", codecs.BOM_UTF16_BE),
    Encoding("utf-8", codecs.BOM_UTF8),
)
_LONGEST_MARK_BYTES: Final = 4
_LABELS: Final = {
    "utf-8": "UTF-8",
    "utf-16-le": "UTF-16 LE",
    "utf-16-be": "UTF-16 BE",
    "utf-32-le": "UTF-32 LE",
    "utf-32-be": "UTF-32 BE",
    "latin-1": "Latin-1",
    "cp1252": "windows-1252",
    "cp1251": "windows-1251",
    "cp1250": "windows-1250",
    "cp932": "Shift-JIS",
    "gbk": "GBK",
    "gb18030": "GB18030",
    "euc_jp": "EUC-JP",
    "big5": "Big5",
    "cp949": "EUC-KR",
    "koi8_r": "KOI8-R",
}

MULTIBYTE: Final = ("cp932", "euc_jp", "gbk", "gb18030", "big5", "big5hkscs", "cp949")
_LEGACY: Final = (
    *MULTIBYTE,
    *("cp1252", "cp1251", "koi8_r", "cp1250", "cp1254", "cp1253", "cp1255", "cp1256", "cp1257", "cp874", "cp866"),
    *("iso8859_2", "iso8859_15", "koi8_u", "mac_roman", "cp437", "cp850"),
)
# Measured on short texts in twelve languages: the library finds typographic quotes and dense accents noisy, and takes
# Western European, which is by far the commonest in source code, for its neighbours.
_MOST_NOISE: Final = 0.45
_WESTERN_BONUS: Final = 0.2
_SAMPLE_BYTES: Final = 64 * 1024
_CONTEXT_BYTES: Final = 200
_BEYOND_ASCII: Final = re.compile(rb"[\x80-\xff]")
_PIECE_BYTES: Final = 128 * 1024
_PART_BYTES: Final = 32 * 1024
_DECODED_BYTES: Final = 8 * 1024  # their text may take four times as much memory


def detect(path: str, pieces: Pieces) -> Encoding:
    """The encoding of the text that ``pieces`` give.

    Raises:
        TextRefusedError: binary, damaged, or in an encoding that does not give back the same bytes.
    """
    encoding, text = marked_text(path, pieces)
    try:
        for _ in text:
            pass
    except NotUtf8Error as error:
        return legacy_encoding(path, pieces, error)
    return encoding


def marked_text(path: str, pieces: Pieces) -> tuple[Encoding, Iterator[TextPiece]]:
    """The encoding that the file's byte-order mark states, UTF-8 when it has none, and the text as ``utf8_pieces``."""
    body = iter(pieces())
    head: Bytes = b""
    for piece in body:
        head = head + piece if head else piece
        if len(head) >= _LONGEST_MARK_BYTES:
            break
        head = bytes(head)  # the next piece may overwrite this one
    encoding = next((marked for marked in _MARKED if head.startswith(marked.mark)), UTF8)
    return encoding, _utf8(path, chain((head,), body), encoding)


def utf8_pieces(path: str, pieces: Pieces, encoding: Encoding) -> Iterator[TextPiece]:
    """The text as UTF-8 in pieces that end with a whole character; the byte-order mark is left out.

    Raises:
        NotUtf8Error: the encoding is UTF-8 and a piece is not; what was given before it is then void.
        TextRefusedError: binary, or not in the encoding at all.
    """
    return _utf8(path, pieces(), encoding)


class NotUtf8Error(Exception):
    """A byte is no part of UTF-8 text; ``offset`` is where in the file."""

    def __init__(self, offset: int, byte: int) -> None:
        super().__init__(f"byte 0x{byte:02x} at offset {offset}")
        self.offset = offset
        self.byte = byte


def legacy_encoding(path: str, pieces: Pieces, not_utf8: NotUtf8Error) -> Encoding:
    """The legacy encoding that fits best and gives back every byte of the file.

    Raises:
        TextRefusedError: none does, or the file is UTF-8 with damage.
    """
    sample = _beyond_ascii(pieces())
    if _is_damaged_utf8(sample):
        raise TextRefusedError(
            f"{path}: is UTF-8 text with damage ({not_utf8}); showing or changing it would lose bytes. "
            "Repair it first, for example with iconv."
        )
    for codec in _candidates(sample):
        if gives_back(codec, pieces()):
            return Encoding(codec, guessed=True)
    raise TextRefusedError(
        f"{path}: is not text that can be kept byte for byte: not UTF-8 ({not_utf8}), without a byte-order mark, and "
        "in no legacy encoding that gives the same bytes back. Convert it to UTF-8 first, or treat it as binary."
    )


def gives_back(codec: str, pieces: Iterable[Bytes]) -> bool:
    """True when decoding and encoding again gives exactly these bytes."""
    decoder = codecs.getincrementaldecoder(codec)("strict")
    pending = b""  # bytes of a character that the next piece completes
    try:
        for piece in pieces:
            pending += piece
            encoded = decoder.decode(piece).encode(codec)
            if not pending.startswith(encoded):
                return False
            pending = pending[len(encoded) :]
        decoder.decode(b"", final=True)
    except UnicodeError:
        return False
    return not pending


def slices(data: bytes) -> Iterator[bytes]:
    """The pieces of text that is in memory already."""
    return (data[start : start + _PIECE_BYTES] for start in range(0, len(data), _PIECE_BYTES))


def _utf8(path: str, pieces: Iterable[Bytes], encoding: Encoding) -> Iterator[TextPiece]:
    body = _without_mark(pieces, encoding.mark)
    return _checked(path, body, len(encoding.mark)) if encoding.codec == "utf-8" else _reencoded(path, body, encoding)


def _without_mark(pieces: Iterable[Bytes], mark: bytes) -> Iterator[Bytes]:
    rest = len(mark)
    for piece in pieces:
        if rest:
            yield piece[rest:]
            rest = max(0, rest - len(piece))
        else:
            yield piece


def _checked(path: str, pieces: Iterable[Bytes], offset: int) -> Iterator[TextPiece]:
    """The pieces themselves, proven to be UTF-8; almost free for plain lines."""
    plain = PlainLines()
    pending = b""
    for piece in pieces:
        if not pending and (line_feeds := plain.line_feeds(piece)) is not None:
            offset += len(piece)
            yield piece, line_feeds
            continue
        if (nul := piece.find(b"\0")) >= 0:
            raise _binary(path, offset + len(pending) + nul)
        if not pending and piece.isascii():
            offset += len(piece)
            yield piece, None
            continue
        for start in range(0, len(piece), _PART_BYTES):
            joined = pending + piece[start : start + _PART_BYTES]
            used = _utf8_length(joined, offset, final=False)
            pending = joined[used:]
            offset += used
            yield joined[:used], None
    _utf8_length(pending, offset, final=True)


def _utf8_length(data: Bytes, offset: int, *, final: bool) -> int:
    """How many bytes of ``data`` are whole characters."""
    view = memoryview(data)
    used = 0
    while True:
        window = view[used : used + _DECODED_BYTES]
        is_last = used + len(window) == len(data)
        try:
            used += codecs.utf_8_decode(window, "strict", final and is_last)[1]
        except UnicodeDecodeError as error:
            raise NotUtf8Error(offset + used + error.start, window[error.start]) from None
        if is_last:
            return used


def _reencoded(path: str, pieces: Iterable[Bytes], encoding: Encoding) -> Iterator[TextPiece]:
    decoder = codecs.getincrementaldecoder(encoding.codec)("strict")
    try:
        for piece in pieces:
            yield _text_as_utf8(path, decoder.decode(piece), encoding), None
        yield _text_as_utf8(path, decoder.decode(b"", final=True), encoding), None
    except UnicodeDecodeError:
        raise TextRefusedError(
            f"{path}: starts with the byte-order mark of {encoding.label} but is not valid {encoding.label}; "
            "it is damaged or binary, so it is neither shown nor changed as text."
        ) from None


def _text_as_utf8(path: str, text: str, encoding: Encoding) -> bytes:
    if "\0" in text:
        raise TextRefusedError(
            f"{path}: looks like {encoding.label} but holds NUL characters, so it is binary; "
            "it is neither shown nor changed as text."
        )
    return text.encode()


def _binary(path: str, offset: int) -> TextRefusedError:
    return TextRefusedError(
        f"{path}: is binary (NUL byte at offset {offset}), or UTF-16 without a byte-order mark; it is neither shown "
        "nor changed as text. Use a command made for its format."
    )


def _beyond_ascii(pieces: Iterable[Bytes]) -> bytes:
    """The lines that tell encodings apart, up to a bound and cut between characters.

    In every encoding considered a line feed is never part of another character, and neither is what comes before
    the first byte beyond ASCII.
    """
    found: list[bytes] = []
    size = 0
    unfinished = b""
    for piece in pieces:
        *lines, unfinished = (unfinished + piece).split(b"\n")
        telling = [_telling_part(line) for line in lines if not line.isascii()]
        found += telling
        size += sum(map(len, telling))
        unfinished = b"" if unfinished.isascii() else _from_first_beyond_ascii(unfinished)
        if size + len(unfinished) > 2 * _SAMPLE_BYTES:
            break
    if unfinished:
        found.append(_telling_part(unfinished))
    return _cut_between_characters(b"\n".join(found))


def _telling_part(line: bytes) -> bytes:
    return _cut_between_characters(_from_first_beyond_ascii(line))


def _from_first_beyond_ascii(line: bytes) -> bytes:
    first = _BEYOND_ASCII.search(line)
    return line[max(0, first.start() - _CONTEXT_BYTES) :] if first else b""


def _cut_between_characters(sample: bytes) -> bytes:
    if len(sample) <= _SAMPLE_BYTES:
        return sample
    # A byte up to "/" is no second half of a character in any encoding considered (GB18030 uses digits).
    for end in range(_SAMPLE_BYTES, _SAMPLE_BYTES // 2, -1):
        if sample[end - 1] <= ord("/"):
            return sample[:end]
    return sample[:_SAMPLE_BYTES]


def _is_damaged_utf8(sample: bytes) -> bool:
    """True when the text beyond ASCII is UTF-8 more often than not.

    Text in a legacy encoding makes a UTF-8 sequence by chance now and then, but mostly it does not.
    """
    valid = sum(not character.isascii() for character in sample.decode("utf-8", "ignore"))
    invalid = sample.decode("utf-8", "replace").count("\ufffd")
    return valid > invalid


def _candidates(sample: bytes) -> list[str]:
    """Codecs that may be it, most likely first."""
    from charset_normalizer import from_bytes  # noqa: PLC0415  slow to import and needed for few files

    # gbk is left to _narrowed: it is the same text as gb18030 and would only be tried twice.
    considered = [codec for codec in _LEGACY if codec != "gbk"]
    matches = list(from_bytes(sample, cp_isolation=considered, threshold=_MOST_NOISE))
    if len(sample) == _SAMPLE_BYTES:  # perhaps cut inside a character of two bytes
        matches += from_bytes(sample[:-1], cp_isolation=considered, threshold=_MOST_NOISE)
    ranked: set[tuple[bool, float, float, int, str]] = set()
    for match in matches:
        for codec in _codecs_of(match):
            noise = match.chaos - (_WESTERN_BONUS if codec == "cp1252" else 0.0)
            unlikely = _japanese_without_kana(codec, sample)
            ranked.add((unlikely, noise, -match.coherence, _LEGACY.index(codec), codec))
    return [narrow for *_, codec in sorted(ranked) for narrow in _narrowed(codec)]


def _codecs_of(match: CharsetMatch) -> list[str]:
    return [codec for codec in match.could_be_from_charset if codec in _LEGACY]


def _japanese_without_kana(codec: str, sample: bytes) -> bool:
    """Japanese without full-width kana is rare, and Chinese bytes read as Japanese have none."""
    if codec not in {"cp932", "euc_jp"}:
        return False
    return not any("\u3041" <= character <= "\u30fe" for character in sample.decode(codec, "ignore"))


def _narrowed(codec: str) -> tuple[str, ...]:
    """GBK before its superset, so that a GBK file never gets a character that only GB18030 has."""
    return ("gbk", codec) if codec == "gb18030" else (codec,)
