"""Indexes kept in a directory from one session to the next; several processes may use it at the same time.

A file is replaced as a whole, so that whoever reads one reads a whole one, and the last to write wins: nothing is lost
by that but the time to parse some files again.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..limits import RETRIEVAL_INDEX_MAX_BYTES, RETRIEVAL_KEPT_INDEXES
from .index import without_passing_trouble
from .index_format import RepoMapIndexError, deserialize_repo_map_index, serialize_repo_map_index

if TYPE_CHECKING:
    from ..contract import CancellationToken
    from .index import RepoMapIndex

_SUFFIX: Final = ".index"
_UNFINISHED: Final = ".unfinished"
_PRIVATE: Final = 0o700
_WRITING_S: Final = 600.0  # no index takes longer to be written


class KeptIndexes:
    """The indexes in one directory, which is made when the first is written, for this user alone. Everything blocks."""

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self._directory = Path(directory)

    def load(self, root: str, token: CancellationToken) -> RepoMapIndex | None:
        """The index of a root, by its canonical path; None where there is none that can be used.

        Raises:
            ToolCancelledError: the token was cancelled.
        """
        try:
            with open(_opened(self._file(root)), "rb") as file:
                data = file.read(RETRIEVAL_INDEX_MAX_BYTES + 1)
            return without_passing_trouble(deserialize_repo_map_index(data, token))
        except (OSError, RepoMapIndexError):
            return None  # it is made anew, which takes some seconds and loses nothing

    def save(self, root: str, index: RepoMapIndex) -> str:
        """Keep an index; why that was not possible, or ""."""
        try:
            data = serialize_repo_map_index(index)
            self._directory.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
            _replace(self._file(root), data)
            self._let_go()
        except OSError as error:
            return error.strerror or str(error)
        except RepoMapIndexError as error:
            return str(error)
        return ""

    def _file(self, root: str) -> Path:
        name = hashlib.blake2b(os.fsencode(root), digest_size=16).hexdigest()
        return self._directory / f"{name}{_SUFFIX}"

    def _let_go(self) -> None:
        """Remove what was not written for the longest time, and what a process left that ended while it wrote."""
        found: list[tuple[float, Path]] = []
        left: list[Path] = []
        for path in self._directory.iterdir():
            with suppress(OSError):  # another process removes them as well
                if path.name.endswith(_SUFFIX):
                    found.append((path.stat().st_mtime, path))
                elif path.name.endswith(_UNFINISHED) and abs(time.time() - path.stat().st_mtime) > _WRITING_S:
                    left.append(path)
        found.sort(reverse=True)
        for path in (*left, *(path for _, path in found[RETRIEVAL_KEPT_INDEXES:])):
            with suppress(OSError):
                path.unlink()


def _opened(path: Path) -> int:
    """A descriptor of a file that this user has written. Raises OSError for any other, and never waits for one."""
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    status = os.fstat(fd)
    is_fit = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()
    if is_fit and status.st_size <= RETRIEVAL_INDEX_MAX_BYTES:
        return fd
    os.close(fd)
    raise PermissionError(errno.EPERM, "is no file of this user, or too large", str(path))


def _replace(path: Path, data: bytes) -> None:
    fd, unfinished = tempfile.mkstemp(dir=path.parent, suffix=_UNFINISHED)  # mode 0600
    try:
        with open(fd, "wb") as file:
            file.write(data)
        os.replace(unfinished, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(unfinished)
        raise
