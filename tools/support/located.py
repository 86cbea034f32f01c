"""A path that was resolved and opened inside the roots: what the gate judges and the commit uses."""

from __future__ import annotations

import _thread
import os
import re
import stat
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from ..errors import PathRefusedError
from .unseen import HIDDEN, SHAPELESS, TURNING

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

Kind = Literal["file", "directory", "link", "fifo", "socket", "device", "missing", "other"]


class UnresolvedPathError(PathRefusedError):
    """What lies on the way kept a path from being resolved.

    ``place`` is where that is, canonical and inside the roots, with the rest of the path behind it. The text tells
    what is there, so the gate is asked about ``place`` before anybody sees it, and before about what was ``passed``.
    """

    def __init__(self, message: str, place: str, passed: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.place = place
        self.passed = passed


@dataclass(slots=True, kw_only=True)
class Located:
    """One place below a root, with the descriptors that hold on to it. Close it, or use it as a context manager.

    Attributes:
        root: canonical root that the path lies in (the innermost one where roots are nested).
        path: canonical, symlink-free path; for a link inside the roots the path of what it leads to, or, where the
            link itself was asked for, its own.
        name: final component below ``parent_fd``; "" only for a root itself.
        parent_fd: the opened directory that really holds ``name``; None while parents are missing.
        anchor_fd: the innermost directory that exists: ``parent_fd``, or where the missing parents start.
        missing_parents: directory names that are still to be created below ``anchor_fd``, outermost first.
        fd: the regular file, opened for reading and non-blocking; None for everything else.
        status: what ``fstat`` says of it; None when nothing is there.
        kind: what is there; "link" only where the link itself was asked for.
        unreadable: why a regular file could not be opened for reading; None where it was.
        passed: places that the way led through, by ``..`` or by a link there, with the rest of the path behind each.
            That there is a way through them is told by the answer, so the gate is asked about them, too.
    """

    root: str
    path: str
    name: str
    parent_fd: int | None
    anchor_fd: int
    missing_parents: tuple[str, ...] = ()
    fd: int | None = None
    status: os.stat_result | None = None
    kind: Kind
    unreadable: OSError | None = None
    passed: tuple[str, ...] = ()
    _closes_aside: bool = field(default=False, repr=False)
    _closed: bool = field(default=False, repr=False)

    def require_file(self) -> int:
        """The descriptor of the regular file.

        Raises:
            PathRefusedError: it is missing, unreadable or no regular file; the text says which, and what to do.
        """
        if self.fd is None:
            raise PathRefusedError(self._why_no_file())
        return self.fd

    def close(self) -> None:
        """Release the descriptors; safe to call twice."""
        if self._closed:
            return
        self._closed = True
        descriptors = [self.anchor_fd] if self.fd is None else [self.anchor_fd, self.fd]
        self.anchor_fd = _CLOSED_FD
        self.parent_fd = None if self.parent_fd is None else _CLOSED_FD
        self.fd = None if self.fd is None else _CLOSED_FD
        if self._closes_aside:
            _close_aside(descriptors)
        else:
            _close_all(descriptors)

    def retire(self) -> None:
        """Close a file that was replaced, in the thread that did it; a large one is left to ``close`` for a while.

        The last descriptor takes the old content along, which the system needs up to a millisecond per megabyte for.
        Neither the event loop nor the result is to wait for that, so that ``close`` then uses a thread of its own.
        """
        if self.status is not None and self.status.st_size >= _LARGE_BYTES:
            self._closes_aside = True
        else:
            self.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        # A call that is cancelled while its thread is still locating never gets to see the result.
        self.close()

    def _why_no_file(self) -> str:
        shown = printable(self.path)
        if self.kind == "missing":
            return self._why_missing(shown)
        if self.kind == "directory":
            return (
                f"{shown}: is a directory, not a file; list it (ListDir, where that tool is offered) "
                "and name a file inside it."
            )
        if self.kind == "file":
            reason = self.unreadable.strerror if self.unreadable else "it is not open"
            return f"{shown}: cannot be opened for reading ({reason}); its permissions have to be changed first."
        return f"{shown}: is {special_kind(self.status)}, not a regular file; it is not opened. Name a regular file."

    def _why_missing(self, shown: str) -> str:
        where = f"no such file: {shown} (root {printable(self.root)})"
        if self.missing_parents:
            top = os.path.join(self.path[: -len("/".join((*self.missing_parents, self.name)))], self.missing_parents[0])
            return f"{where}: the directory {printable(top)} does not exist. Check the path, or list what is there."
        return f"{where}. Check the name; a relative path starts at the first root."


def kind_of(mode: int) -> Kind:
    """The kind for the mode bits of something that exists."""
    return _KINDS.get(stat.S_IFMT(mode), "other")


def printable(path: str) -> str:
    """The path as text that can be sent and shown, on one line.

    Escaped are bytes that are not UTF-8, and what would act on a terminal or on the text around it: control
    characters, line ends, marks of writing direction, and what nobody would see.
    """
    if path.isascii() and path.isprintable():
        return path
    return _ACTING.sub(_escaped, path.encode("utf-8", "backslashreplace").decode())


def _escaped(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode("ascii")


_ACTING: Final = re.compile(f"[\x00-\x1f\x7f-\x9f\u2028\u2029{TURNING}{HIDDEN}{SHAPELESS}]")


def _close_aside(descriptors: list[int]) -> None:
    """Close in a thread of its own, that nobody waits for: it ends by itself, and has nothing to tell."""
    try:
        _thread.start_new_thread(_close_all, (descriptors,))  # threading.Thread would wait until the thread runs
    except RuntimeError:  # no thread is to be had
        _close_all(descriptors)


def _close_all(descriptors: list[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


_LARGE_BYTES: Final = 256 * 1024  # less is gone sooner than a thread is there
_CLOSED_FD: Final = -1  # no descriptor ever; the old number may be another file's in a moment

_KINDS: dict[int, Kind] = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "directory",
    stat.S_IFLNK: "link",
    stat.S_IFIFO: "fifo",
    stat.S_IFSOCK: "socket",
    stat.S_IFCHR: "device",
    stat.S_IFBLK: "device",
}
_WORDS = {
    stat.S_IFIFO: "a FIFO (named pipe)",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a character device",
    stat.S_IFBLK: "a block device",
}


def why_unread(error: OSError) -> str:
    """Why a directory cannot be read, in brackets, and what to do about that where it is known."""
    advice = "; its permissions have to be changed first" if isinstance(error, PermissionError) else ""
    return f"({error.strerror or error}){advice}"


def special_kind(status: os.stat_result | None) -> str:
    """What something is that is neither file, directory nor link, in words."""
    return _WORDS.get(stat.S_IFMT(status.st_mode), "a special file") if status else "a special file"
