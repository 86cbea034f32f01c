"""The texts of small trees, kept by the process that searches them, and used again while their files are the same.

A file is taken for the same when its identity, size and both of its times are. Its times have to lie well before the
moment at which it was read, because a change within the tick of a clock leaves no trace in them.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Final

from .content import NotSearchedError, read_in, text_of

if TYPE_CHECKING:
    from typing import TypeAlias

_KEPT_MAX_BYTES: Final = 48 * 1024 * 1024
_FILE_MAX_BYTES: Final = 1024 * 1024
_ENTRY_BYTES: Final = 500  # what the rest of an entry takes, about
SETTLED_NS: Final = 2_000_000_000
"""How long ago a change has to be, so that another one since is sure to be seen in the times."""

Mark: TypeAlias = "tuple[int, int, int, int, int]"


class KeptTexts:
    """Texts by directory; all are given up when they become too many."""

    def __init__(self) -> None:
        self._directories: dict[str, dict[str, tuple[Mark, bytes | None]]] = {}
        self._bytes = 0

    def of(self, directory: str) -> KeptDirectory:
        """Those of the files in a directory, by its absolute path with a slash."""
        texts = self._directories.get(directory)
        if texts is None:
            texts = {}
            if self.grow(len(directory) + _ENTRY_BYTES):
                self._directories[directory] = texts
        return KeptDirectory(self, texts)

    def grow(self, size: int) -> bool:
        """Whether so many bytes may be kept."""
        if self._bytes + size > _KEPT_MAX_BYTES:
            self._directories.clear()
            self._bytes = 0
            return False
        self._bytes += size
        return True

    def give_back(self, size: int) -> None:
        """So many bytes are not kept any more."""
        self._bytes = max(0, self._bytes - size)


class KeptDirectory:
    """The texts of the files in one directory."""

    __slots__ = ("_texts", "_whole")

    def __init__(self, whole: KeptTexts, texts: dict[str, tuple[Mark, bytes | None]]) -> None:
        self._whole = whole
        self._texts = texts

    def text(self, name: str, directory_fd: int, max_bytes: int) -> bytes:
        """The text of a file in the opened directory, from the disk unless the file is the same as when it was read.

        Raises:
            NotSearchedError: it has none, or cannot be read.
        """
        try:
            status = os.stat(name, dir_fd=directory_fd, follow_symlinks=False)
        except OSError:
            return text_of(read_in(directory_fd, name, max_bytes))
        mark = mark_of(status)
        kept = self._texts.get(name)
        if kept is not None and kept[0] == mark and status.st_size <= max_bytes:
            if kept[1] is None:
                raise NotSearchedError("binary")
            return kept[1]
        settled = time.time_ns() - max(status.st_ctime_ns, status.st_mtime_ns) > SETTLED_NS
        content = read_in(directory_fd, name, max_bytes)
        try:
            text = text_of(content)
        except NotSearchedError:
            self._keep(name, mark if settled else None, None)
            raise
        self._keep(name, mark if settled else None, text)
        return text

    def remembered(self, name: str) -> tuple[Mark | None, bytes | None]:
        """What is kept of a file: its mark and its text, no text for a binary one; no mark where it is not kept."""
        return self._texts.get(name, (None, None))

    def _keep(self, name: str, mark: Mark | None, text: bytes | None) -> None:
        before = self._texts.pop(name, None)
        self._whole.give_back(0 if before is None or before[1] is None else len(before[1]))
        size = 0 if text is None else len(text)
        if mark is not None and size <= _FILE_MAX_BYTES and self._whole.grow(size + _ENTRY_BYTES):
            self._texts[name] = (mark, text)


def mark_of(status: os.stat_result) -> Mark:
    """What tells a file from another, or a changed one."""
    return status.st_ino, status.st_dev, status.st_size, status.st_mtime_ns, status.st_ctime_ns
