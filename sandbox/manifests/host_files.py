"""The host's files for the local entries of a manifest, contained in given directories. POSIX.

A source is resolved once, and what it resolves to must lie in a root. It is then opened name by name from the root
without following a link, so that a link which is put there meanwhile is refused and not followed.
"""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from ..errors import HostFileError
from ..paths import lies_in
from .paths import DEPTH_MAX, is_git_name, shown
from .ports import HostEntry, HostTree

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Iterator, Sequence

PIECE_BYTES: Final = 1024 * 1024


class DirectoryHostFiles:
    """Reads in ``roots``; a relative source is one of ``base``, the first root by default. Fulfils ``HostFiles``.

    ``hidden`` paths are not read, nor what lies below them, though they lie in a root.
    """

    def __init__(self, roots: Sequence[str], *, base: str | None = None, hidden: Sequence[str] = ()) -> None:
        if not roots:
            raise ValueError("host files need a root; without one there are none to be read")
        self._roots = tuple(os.path.realpath(root) for root in roots)
        self._base = os.path.realpath(self._roots[0] if base is None else base)
        self._hidden = tuple(os.path.realpath(path) for path in hidden)

    def file(self, source: str) -> HostEntry:
        """The regular file that the source names."""
        path = self._resolved(source)
        with self._opened(path, source) as descriptor:
            status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise HostFileError(f"{shown(source)} is {_kind(status.st_mode)}; name a regular file, or use a localDir")
        return HostEntry(path="", is_directory=False, size=status.st_size, handle=path)

    def tree(self, source: str, *, exclude: Collection[str] = (), max_entries: int) -> HostTree:
        """What lies below the directory; ``.git`` and the names to exclude are left out, at any depth."""
        top = self._resolved(source)
        walk = _Walk(self, source, exclude, max_entries)
        directories = [""]
        while directories:
            relative = directories.pop()
            path = f"{top}/{relative}" if relative else top
            with self._opened(path, source, directory=True) as descriptor, os.scandir(descriptor) as found:
                names = sorted(found, key=lambda entry: entry.name)
                below = [walk.taken(entry, relative, path) for entry in names]
            directories += [child for child in reversed(below) if child is not None]
        return HostTree(entries=tuple(walk.entries), left_out=tuple(walk.left_out))

    @contextmanager
    def open(self, entry: HostEntry) -> Generator[Iterator[bytes]]:
        """The content of a file, in pieces."""
        with self._opened(entry.handle, entry.handle) as descriptor:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise HostFileError(f"{shown(entry.handle)} is no regular file any more")
            yield _pieces(descriptor, entry)

    def linked_file(self, path: str, shown_path: str) -> HostEntry:
        """The file that a link within a directory leads to; also one in another place of the roots."""
        resolved = self._within(os.path.realpath(path), shown_path)
        with self._opened(resolved, shown_path) as descriptor:
            status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise HostFileError(
                f"{shown(shown_path)} is a link to {_kind(status.st_mode)}, which is not followed; exclude it, or name "
                "the place that it leads to in an entry of its own"
            )
        return HostEntry(path="", is_directory=False, size=status.st_size, handle=resolved)

    def is_hidden(self, path: str) -> bool:
        """Whether it is one of the hidden paths, or lies below one."""
        return any(lies_in(path, hidden) for hidden in self._hidden)

    def _resolved(self, source: str) -> str:
        if not source or "\0" in source:
            raise HostFileError("the source is empty or holds a NUL; name a file or directory of this host")
        return self._within(os.path.realpath(os.path.join(self._base, source)), source)

    def _within(self, path: str, source: str) -> str:
        if self._root_of(path) is None or self.is_hidden(path):
            raise HostFileError(
                f"{shown(source)} lies outside of what may be read ({', '.join(map(shown, self._roots))}); move it "
                "there, or allow its directory"
            )
        return path

    def _root_of(self, path: str) -> str | None:
        return max((root for root in self._roots if lies_in(path, root)), key=len, default=None)

    @contextmanager
    def _opened(self, path: str, source: str, *, directory: bool = False) -> Generator[int]:
        """A descriptor of a resolved path, opened from its root without following a link."""
        root = self._root_of(path)
        assert root is not None, "it has been found to lie in one"
        try:
            descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                names = [name for name in path[len(root) :].split("/") if name]
                for number, name in enumerate(names, start=1):
                    last = number == len(names) and not directory
                    flags = _FLAGS if last else _FLAGS | os.O_DIRECTORY
                    below = os.open(name, flags, dir_fd=descriptor)
                    os.close(descriptor)
                    descriptor = below
                yield descriptor
            finally:
                os.close(descriptor)
        except OSError as error:
            raise HostFileError(
                f"{shown(source)} cannot be read ({error.strerror}); nothing of it was taken"
            ) from error


class _Walk:
    """Collects what lies below a directory, and judges each of it."""

    def __init__(self, files: DirectoryHostFiles, source: str, exclude: Collection[str], max_entries: int) -> None:
        self.entries: list[HostEntry] = []
        self.left_out: list[str] = []
        self._files = files
        self._source = source
        self._exclude = frozenset(exclude)
        self._max_entries = max_entries

    def taken(self, entry: os.DirEntry[str], relative: str, above: str) -> str | None:
        """Take one entry; the relative path of a directory, whose entries come next."""
        path = f"{relative}/{entry.name}" if relative else entry.name
        full = f"{above}/{entry.name}"
        if entry.name in self._exclude or is_git_name(entry.name) or self._files.is_hidden(full):
            self.left_out.append(path)
            return None
        if path.count("/") >= DEPTH_MAX:
            raise HostFileError(
                f"{shown(self._source)} has directories {DEPTH_MAX} deep and deeper; {DEPTH_MAX} are the most"
            )
        if len(self.entries) >= self._max_entries:
            raise HostFileError(
                f"{shown(self._source)} holds more than {self._max_entries:,} files and directories; exclude some"
            )
        status = entry.stat(follow_symlinks=False)
        if stat.S_ISLNK(status.st_mode):
            target = self._files.linked_file(full, f"{self._source}/{path}")
            self.entries.append(HostEntry(path=path, is_directory=False, size=target.size, handle=target.handle))
        elif stat.S_ISDIR(status.st_mode):
            self.entries.append(HostEntry(path=path, is_directory=True, size=0, handle=full))
            return path
        elif stat.S_ISREG(status.st_mode):
            self.entries.append(HostEntry(path=path, is_directory=False, size=status.st_size, handle=full))
        else:
            raise HostFileError(f"{shown(f'{self._source}/{path}')} is {_kind(status.st_mode)}; exclude it")
        return None


def _pieces(descriptor: int, entry: HostEntry) -> Iterator[bytes]:
    left = entry.size
    while piece := os.read(descriptor, min(PIECE_BYTES, left + 1)):
        left -= len(piece)
        if left < 0:
            break
        yield piece
    if left != 0:
        raise HostFileError(
            f"{shown(entry.handle)} has changed while it was read; apply the manifest again when it rests"
        )


def _kind(mode: int) -> str:
    return next((kind for is_one, kind in _KINDS if is_one(mode)), "no regular file")


# A FIFO that nobody writes to must not be waited for.
_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY

_KINDS: Final = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISREG, "a regular file"),
)
