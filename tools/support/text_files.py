"""A text file in memory: its bytes, its text as UTF-8, and how a change of the text becomes bytes again.

Everything outside a replaced region keeps its bytes. The search works on UTF-8 whatever the file is in, so that a
UTF-8 file, which is nearly every file, is never decoded and encoded.
"""

from __future__ import annotations

import codecs
import unicodedata
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Final

from ..errors import TextRefusedError, ToolCancelledError
from .byte_search import count, find, is_ascii_text
from .encodings import MULTIBYTE, UTF8, Encoding, detect, gives_back, slices

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..contract import CancellationToken
    from .replacing import Replacement

_PIECE: Final = 1 << 16
"""Bytes or characters that are converted at a time: a large text in one would hold the interpreter for long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextFile:
    """Text with the bytes that it came from.

    Attributes:
        path: for messages.
        raw: the bytes of the file.
        utf8: its text as UTF-8, without the byte-order mark; ``raw`` itself where they are the same.
        encoding: how ``raw`` stands for the text.
    """

    path: str
    raw: bytes
    utf8: bytes
    encoding: Encoding

    def spliced(self, replacements: Sequence[Replacement]) -> list[bytes | memoryview]:
        """The bytes of the file after the replacements, in parts that are not joined.

        Raises:
            TextRefusedError: the file's encoding cannot hold the new text, or the bytes around it would change.
        """
        for replacement in replacements:
            refuse_nul(self.path, replacement.new)
        if self.encoding.codec == "utf-8":
            return _spliced(self.raw, len(self.encoding.mark), replacements)
        return self._spliced_through_codec(replacements)

    def _spliced_through_codec(self, replacements: Sequence[Replacement]) -> list[bytes | memoryview]:
        codec = self.encoding.codec
        new = [encode_or_refuse(self.path, replacement.new.decode(), self.encoding) for replacement in replacements]
        ends = [offset for r in replacements for offset in (r.start, r.end)]
        try:
            native = [*accumulate(len(self.utf8[a:b].decode().encode(codec)) for a, b in pairwise([0, *ends]))]
        except UnicodeEncodeError:
            # Big5-HKSCS has codes for two characters of which the second has none of its own.
            raise self._inseparable() from None
        if self.encoding.guessed:
            self._refuse_inside_characters(native)
        moved = [replace(r, start=native[2 * i], end=native[2 * i + 1], new=new[i]) for i, r in enumerate(replacements)]
        parts = _spliced(self.raw, len(self.encoding.mark), moved)
        self._refuse_other_text(parts, replacements)
        return parts

    def _refuse_inside_characters(self, offsets: Sequence[int]) -> None:
        """A guess may be wrong: every place must be between characters in each encoding that fits the file too."""
        for codec in MULTIBYTE:
            if codec == self.encoding.codec or not gives_back(codec, slices(self.raw)):
                continue
            for start, end in pairwise([0, *offsets]):
                if not gives_back(codec, [self.raw[start:end]]):
                    raise TextRefusedError(
                        f"{self.path}: its encoding is not certain ({self.encoding.label}, or "
                        f"{Encoding(codec).label}), and in one of them this change would cut a character in two. "
                        "Nothing was changed. Take in more text around the place, or convert the file to UTF-8 first."
                    )

    def _refuse_other_text(self, parts: Sequence[bytes | memoryview], replacements: Sequence[Replacement]) -> None:
        """Decode what would be written: it must be the intended text, whatever the encoding does at the seams."""
        after = b"".join(parts)[len(self.encoding.mark) :]
        try:
            same = after.decode(self.encoding.codec).encode() == b"".join(_spliced(self.utf8, 0, replacements))
        except UnicodeDecodeError:
            same = False
        if not same:
            raise self._inseparable()

    def _inseparable(self) -> TextRefusedError:
        return TextRefusedError(
            f"{self.path}: in {self.encoding.label} this change would alter bytes outside the replaced text. "
            "Nothing was changed. Convert the file to UTF-8 first."
        )


def text_file(path: str, raw: bytes, token: CancellationToken | None = None) -> TextFile:
    """The text that ``raw`` holds. Finding out a legacy encoding takes seconds for a large file.

    Raises:
        ToolCancelledError: the token was cancelled meanwhile.
        TextRefusedError: binary, or in no encoding that gives the same bytes back.
    """
    if is_ascii_text(raw):
        return TextFile(path=path, raw=raw, utf8=raw, encoding=UTF8)
    encoding = detect(path, lambda: _until_cancelled(path, slices(raw), token))
    if encoding == UTF8:
        return TextFile(path=path, raw=raw, utf8=raw, encoding=encoding)
    body = raw[len(encoding.mark) :]
    utf8 = body if encoding.codec == "utf-8" else body.decode(encoding.codec).encode()
    return TextFile(path=path, raw=raw, utf8=utf8, encoding=encoding)


def _until_cancelled(path: str, pieces: Iterator[bytes], token: CancellationToken | None) -> Iterator[bytes]:
    for piece in pieces:
        if token is not None and token.cancelled:
            raise ToolCancelledError(f"{path}: the call was cancelled; nothing was changed.")
        yield piece


def document_text(path: str, text: str) -> TextFile:
    """The text of an open document, which has no encoding of its own.

    Raises:
        TextRefusedError: it holds half of a surrogate pair, or a NUL.
    """
    pieces: list[bytes] = []
    for start in range(0, len(text), _PIECE):
        try:
            pieces.append(text[start : start + _PIECE].encode())
        except UnicodeEncodeError as error:
            raise surrogate_refused(path, text, start + error.start) from None
    return text_file(path, b"".join(pieces))


def text_of(parts: Sequence[bytes | memoryview]) -> str:
    """The text whose UTF-8 these parts are; together, for a part may end inside a character."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    pieces = (part[start : start + _PIECE] for part in parts for start in range(0, len(part), _PIECE))
    return "".join([*map(decoder.decode, pieces), decoder.decode(b"", final=True)])


def surrogate_refused(path: str, text: str, index: int) -> TextRefusedError:
    """The error about half of a surrogate pair at ``text[index]``."""
    line = text.count("\n", 0, index) + 1
    return TextRefusedError(
        f"{path}: the open document holds half of a surrogate pair (U+{ord(text[index]):04X}) in line {line}, "
        "which is not text. Repair that line in the editor first."
    )


def refuse_nul(path: str, new: bytes) -> None:
    """Refuse text that would turn the file into a binary one.

    Raises:
        TextRefusedError: it holds a NUL.
    """
    if b"\0" in new:
        raise TextRefusedError(
            f"{path}: the new text holds a NUL character, which would make the file binary. "
            "Nothing was changed. Leave it out."
        )


def encode_or_refuse(path: str, text: str, encoding: Encoding) -> bytes:
    """``text`` in ``encoding``, without a byte-order mark.

    Raises:
        TextRefusedError: it has no such character; the message names it.
    """
    try:
        return text.encode(encoding.codec)
    except UnicodeEncodeError as error:
        character = text[error.start]
        name = unicodedata.name(character, "no name")
        raise TextRefusedError(
            f"{path}: the file is in {encoding.label}, which cannot hold {character!r} "
            f"(U+{ord(character):04X}, {name}). Nothing was changed. "
            "Use another character, or convert the file to UTF-8 first."
        ) from None


def uses_crlf_only(utf8: bytes) -> bool:
    """True when there are line ends and all of them are CRLF."""
    if find(utf8, b"\r\n") < 0:
        return False
    return count(utf8, b"\r\n") == count(utf8, b"\n")


def _spliced(data: bytes, origin: int, replacements: Sequence[Replacement]) -> list[bytes | memoryview]:
    """Views of what stays, between the new parts; ``origin`` is where the offsets count from."""
    view = memoryview(data)
    parts: list[bytes | memoryview] = []
    kept = 0
    for replacement in replacements:
        parts += (view[kept : origin + replacement.start], replacement.new)
        kept = origin + replacement.end
    parts.append(view[kept:])
    return [part for part in parts if len(part)]
