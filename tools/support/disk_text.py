"""The whole content of a file, for comparing it with an open document (E11)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from openbuffer.editor_access.truth import baseline_of

from ..errors import ToolFailure
from ..limits import FILE_MAX_BYTES
from .file_bytes import PIECE_BYTES, file_bytes
from .paths import CwdInput, Roots, printable

if TYPE_CHECKING:
    from openbuffer.editor_access.truth import Baseline

    from .paths import Located


_MARK: Final = b"\xef\xbb\xbf"
_PIECE_CHARS: Final = PIECE_BYTES // 4


class RootedDiskText:
    """Implements ``DiskText`` for files below the roots; no tool reaches another, so no other is opened."""

    def __init__(self, cwd: CwdInput) -> None:
        self._roots = Roots(cwd)

    def baseline(self, path: str, text: str) -> Baseline | None:
        """The baseline of a document that shows ``text``, if its file holds that now. Blocks; never raises."""
        try:
            with self._roots.locate(path) as located:
                return baseline_of(text, whole_content(located))
        except (ToolFailure, OSError):
            return None


def holds_exactly(fd: int, text: str) -> bool:
    """Whether the file is this text in UTF-8, a mark and one final newline aside; told without loading it."""
    offset = len(_MARK) if os.pread(fd, len(_MARK), 0) == _MARK else 0
    for start in range(0, len(text), _PIECE_CHARS):
        try:
            piece = text[start : start + _PIECE_CHARS].encode()
        except UnicodeEncodeError:
            return False
        if os.pread(fd, len(piece), offset) != piece:
            return False
        offset += len(piece)
    rest = os.pread(fd, 2, offset)
    return not rest or (rest == b"\n" and not text.endswith(("\n", "\r")))


def whole_content(located: Located) -> bytes | None:
    """The bytes of the file; None where there is nothing.

    Raises:
        ToolFailure: it is no readable regular file, or larger than any that the tools change.
        OSError: reading failed.
    """
    if located.kind == "missing":
        return None
    return file_bytes(located.require_file(), printable(located.path), FILE_MAX_BYTES)
