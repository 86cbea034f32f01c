"""Artifacts as files of one directory, named by the SHA-256 of their content (X7).

Several processes may share the directory. A file under its final name is whole; one that is being written has a name of
its own and is locked by its writer, so that one whose writer died is told from the others and removed. Nothing is
flushed to the platter: a file that a power failure tore does not fit its name any more, and is not given out.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import stat
import threading
import time
from typing import TYPE_CHECKING, Final

from ..limits import ARTIFACT_MAX_BYTES, ARTIFACTS_MAX_BYTES
from ..ports import ArtifactRef

if TYPE_CHECKING:
    from collections.abc import Iterator

try:
    import fcntl
except ImportError:  # Windows: no lock, so that nothing is taken for abandoned
    fcntl = None

_NAME: Final = re.compile(r"[0-9a-f]{64}")
_UNFINISHED: Final = "unfinished-"
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_OLD: Final = os.O_RDONLY | os.O_NONBLOCK | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


class ArtifactDirectory:
    """Implements ``ArtifactStore`` over a directory, which is made when the first artifact begins.

    The oldest artifacts go when all finished ones together would be over ``max_total_bytes``, and those older than
    ``max_age_s`` when one is made for the first time; of one that is larger
    than ``max_bytes``, or that meets a full disk, the beginning is kept.
    """

    def __init__(
        self,
        directory: str,
        *,
        max_bytes: int = ARTIFACT_MAX_BYTES,
        max_total_bytes: int = ARTIFACTS_MAX_BYTES,
        max_age_s: float | None = None,
    ) -> None:
        self._directory = directory
        self._max_bytes = min(max_bytes, max_total_bytes)
        self._max_total_bytes = max_total_bytes
        self._max_age_s = max_age_s
        self._lock = threading.Lock()
        self._swept = False

    def create(self) -> ArtifactFile:
        """Begin an artifact. Where no file can be made, nothing of it is kept."""
        path = os.path.join(self._directory, f"{_UNFINISHED}{secrets.token_hex(16)}")
        try:
            os.makedirs(self._directory, mode=0o700, exist_ok=True)
            self._sweep()
            fd = os.open(path, _NEW, 0o600)
        except OSError:
            return ArtifactFile(self, path, None, 0)
        if fcntl is not None:
            with contextlib.suppress(OSError):  # a file system without locks
                fcntl.flock(fd, fcntl.LOCK_EX)  # waits for a sweeper at most, who took it for abandoned just now
        return ArtifactFile(self, path, fd, self._max_bytes)

    def read(self, sha256: str) -> bytes | None:
        """The artifact's bytes, or None when it is not kept, or is not what it was."""
        if not _NAME.fullmatch(sha256):
            return None
        try:
            fd = os.open(os.path.join(self._directory, sha256), _OLD)
        except OSError:
            return None
        try:
            content = self._content(fd)
        except OSError:
            return None
        finally:
            os.close(fd)
        return content if hashlib.sha256(content).hexdigest() == sha256 else None

    def _content(self, fd: int) -> bytes:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_size > self._max_bytes:
            return b""
        with open(fd, "rb", closefd=False) as file:
            return file.read()

    def keep(self, path: str, sha256: str) -> bool:
        """Give a finished file its final name, and let the oldest go that there is no room for beside it."""
        with self._lock:
            try:
                os.replace(path, os.path.join(self._directory, sha256))
            except OSError:
                return False
            self._make_room(sha256)
        return True

    def _make_room(self, newest: str) -> None:
        kept = (file for file in self._files() if _NAME.fullmatch(file[0]))
        files = sorted(kept, key=lambda file: file[1].st_mtime_ns)
        total = sum(status.st_size for _, status in files)
        for name, status in files:
            if total <= self._max_total_bytes:
                return
            if name != newest:
                try:
                    os.unlink(os.path.join(self._directory, name))
                except FileNotFoundError:
                    pass  # another process made room
                except OSError:
                    continue
                total -= status.st_size

    def _sweep(self) -> None:
        """Once: remove what is too old, and what was being written when its process was killed."""
        with self._lock:
            if self._swept:
                return
            self._swept = True
        latest = None if self._max_age_s is None else time.time() - self._max_age_s
        for name, status in self._files():
            if latest is not None and _NAME.fullmatch(name) and status.st_mtime < latest:
                with contextlib.suppress(OSError):
                    os.unlink(os.path.join(self._directory, name))
            elif fcntl is not None and name.startswith(_UNFINISHED):
                self._remove_abandoned(os.path.join(self._directory, name))

    @staticmethod
    def _remove_abandoned(path: str) -> None:
        assert fcntl is not None
        with contextlib.suppress(OSError):
            fd = os.open(path, _OLD)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails while its writer lives
                os.unlink(path)
            finally:
                os.close(fd)

    def _files(self) -> Iterator[tuple[str, os.stat_result]]:
        with contextlib.suppress(OSError), os.scandir(self._directory) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    if entry.is_file(follow_symlinks=False):
                        yield entry.name, entry.stat(follow_symlinks=False)


class ArtifactFile:
    """Implements ``ArtifactWriter``; ``fd`` is None where no file could be made. Used by one thread at a time."""

    def __init__(self, store: ArtifactDirectory, path: str, fd: int | None, max_bytes: int) -> None:
        self._store = store
        self._path = path
        self._fd = fd
        self._room = max_bytes
        self._size = 0
        self._complete = fd is not None
        self._ended = fd is None
        self._hash = hashlib.sha256()

    def write(self, data: bytes) -> None:
        """Take more bytes, as far as they can be kept."""
        if self._fd is None or self._ended or not self._complete:
            return
        rest = memoryview(data)[: self._room]
        self._complete = len(rest) == len(data)
        while rest:
            try:
                written = os.write(self._fd, rest)
            except OSError:  # a full disk, a quota, a limit on file sizes
                self._complete = False
                return
            self._hash.update(rest[:written])
            self._size += written
            self._room -= written
            rest = rest[written:]

    def finish(self) -> ArtifactRef | None:
        """Keep it for good, or what there is of it."""
        if self._ended:
            return None
        if fcntl is None:
            self._close()  # Windows renames no file that is open
        sha256 = self._hash.hexdigest()
        if (self._size or self._complete) and self._store.keep(self._path, sha256):
            self._ended = True
            self._close()
            return ArtifactRef(sha256=sha256, size=self._size, complete=self._complete)
        self.discard()
        return None

    def discard(self) -> None:
        """Keep nothing of what was not finished."""
        if self._ended:
            return
        self._ended = True
        self._close()
        with contextlib.suppress(OSError):
            os.unlink(self._path)

    def _close(self) -> None:
        if self._fd is not None:
            fd, self._fd = self._fd, None
            with contextlib.suppress(OSError):  # a network file system may tell only now that the disk is full
                os.close(fd)
