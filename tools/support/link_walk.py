"""Resolving a path name by name, following links ourselves and never out of the roots.

The complete way, and the only one where openat2 is missing. Each directory is opened without following links below
the one before, so what is reached is below the root by construction; an absolute link, or one that climbs above
its root, starts over at the root that it leads into, or is refused before anything outside is opened.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING, Final

from ..errors import PathRefusedError
from .boundary import PathMovedError
from .descriptor_path import DIRECTORY_FLAGS, proc_device, system_path
from .located import UnresolvedPathError, printable
from .open_leaf import in_proc, missing_leaf, open_leaf, root_itself

if TYPE_CHECKING:
    from .boundary import Boundary, Root
    from .located import Located

_MAX_LINKS: Final = 40  # as Linux has it
# `..` walks down again from the root, so a hostile path could cost the square of its length.
_MAX_STEPS: Final = 10_000


def walk(boundary: Boundary, asked: str, *, follows_last: bool = True) -> Located:
    """Resolve ``asked``; the result owns its descriptors. ``follows_last``: the last name too, where that is a link.

    Raises:
        PathMovedError: something changed meanwhile; look again.
        UnresolvedPathError: it leads out of the roots from inside, or cannot be resolved.
        PathRefusedError: it is outside the roots, or a root cannot be used.
    """
    walker = _Walker(boundary, asked, follows_last)
    try:
        located = walker.run()
    except PathRefusedError as refusal:
        raise walker.stuck(refusal) from refusal
    except OSError as error:
        raise walker.stuck(_refused_by_system(asked, error)) from error
    except BaseException:
        walker.close()
        raise
    located.passed = walker.passed
    return located


class _Walker:
    def __init__(self, boundary: Boundary, asked: str, follows_last: bool) -> None:
        self._boundary = boundary
        self._asked = asked
        self._follows_last = follows_last
        self._fd = -1
        self._root: Root
        self._names: list[str] = []  # of the directory that is open now, below its root
        self._pending: list[str] = []  # innermost first
        self._at: str | None = None  # what is looked at now
        self._passed: dict[str, None] = {}
        self._links = 0
        self._steps = 0

    @property
    def passed(self) -> tuple[str, ...]:
        """The places that the way led through by ``..`` or by a link."""
        return tuple(self._passed)

    def stuck(self, refusal: PathRefusedError) -> PathRefusedError:
        """Give up: the refusal with the place that it tells about."""
        self.close()
        if self._at is None:
            return refusal
        behind = self._behind()
        return UnresolvedPathError(str(refusal), os.path.join(self._at, *behind), tuple(self._passed))

    def _behind(self) -> list[str]:
        return [name for name in reversed(self._pending) if name not in {".", ".."}]

    def _pass(self, place: str) -> None:
        """Take note of a place that the way leads through and that the result does not lie in.

        With the rest of the path behind it, as where the way ends there: the gate is to say the same in both cases.
        """
        if len(self._passed) < _MAX_LINKS:
            self._passed[os.path.join(place, *self._behind())] = None

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def run(self) -> Located:
        if self._asked.startswith("/"):
            self._enter(self._asked)
        else:
            self._start(self._boundary.first(), self._asked)
        while self._pending:
            name = self._pending.pop()
            if name == ".":
                continue
            self._at = self._place() if name == ".." else os.path.join(self._place(), name)
            if name == "..":
                self._up()
                continue
            located = self._down(name) if self._pending else self._leaf(name)
            if located is not None:
                return located
        return self._here()

    def _enter(self, path: str) -> None:
        path = "/" + "/".join(_components(path))
        entrance = self._boundary.enter(path)
        if entrance is None and path.startswith("/proc/") and proc_device() is not None:
            raise in_proc(self._asked)
        if entrance is None:
            # Perhaps another spelling of a place inside. This only finds the entrance; what lies behind it is
            # walked and judged like everything else.
            entrance = self._boundary.enter(self._system_path(path) or path)
        if entrance is None:
            raise self._boundary.outside(self._asked)
        self._start(*entrance)

    def _system_path(self, path: str) -> str | None:
        if self._follows_last:
            return system_path(path)
        directory, _, name = path.rpartition("/")
        found = system_path(directory or "/")
        return found and os.path.join(found, name)

    def _start(self, root: Root, relative: str) -> None:
        self._root = root
        self._pending = _components(relative)[::-1]
        self._names = []
        self._replace(self._boundary.open(root))

    def _up(self) -> None:
        self._pass(self._place())
        if self._names:
            self._descend_again(self._names[:-1])
            return
        above = os.path.dirname(self._root.canonical)
        self._count_link()
        self._enter("/".join((above, *reversed(self._pending))))

    def _descend_again(self, names: list[str]) -> None:
        self._replace(self._boundary.open(self._root))
        self._names = []
        for name in names:
            try:
                self._step(name)
            except OSError:
                raise PathMovedError from None

    def _down(self, name: str) -> Located | None:
        try:
            self._step(name)
        except OSError as error:
            if error.errno == errno.ENOENT:
                return self._missing(name)
            if error.errno not in {errno.ENOTDIR, errno.ELOOP}:
                raise
            if not self._follow(name):
                if self._pending == ["."]:
                    raise self._not_a_directory() from None
                place = printable(os.path.join(self._place(), name))
                raise PathRefusedError(
                    f"{printable(self._asked)}: {place} is not a directory, so nothing lies below it. Check the path."
                ) from None
        return None

    def _step(self, name: str) -> None:
        self._count_step()
        self._replace(os.open(name, DIRECTORY_FLAGS | os.O_NOFOLLOW, dir_fd=self._fd))
        self._names.append(name)

    def _leaf(self, name: str) -> Located | None:
        try:
            status = os.stat(name, dir_fd=self._fd, follow_symlinks=False)
        except FileNotFoundError:
            return self._missing(name)
        if stat.S_ISLNK(status.st_mode) and self._follows_last:
            if not self._follow(name):
                raise PathMovedError
            return None
        located = open_leaf(
            self._boundary, self._asked, self._fd, name, status, walked=os.path.join(self._place(), name)
        )
        self._fd = -1
        return located

    def _missing(self, name: str) -> Located:
        names = (name, *reversed(self._pending))
        if ".." in names:
            raise PathRefusedError(
                f"{printable(self._asked)}: goes up by `..` from a directory that does not exist "
                f"({printable(os.path.join(self._place(), name))}). Write the path without `..`."
            )
        if "." in names:
            raise self._not_a_directory()
        located = missing_leaf(self._boundary, self._asked, self._fd, names, walked=self._place())
        self._fd = -1
        return located

    def _here(self) -> Located:
        """The path ended at the directory that is open now: at a root, or by `..`."""
        if self._names:
            name = self._names[-1]
            self._descend_again(self._names[:-1])
            located = self._leaf(name)
            if located is None:
                raise PathMovedError
            return located
        located = root_itself(self._boundary, self._asked, self._fd, self._root.canonical)
        self._fd = -1
        return located

    def _follow(self, name: str) -> bool:
        """Put a link's target in front of what is pending; False when it is no link."""
        if os.fstat(self._fd).st_dev == proc_device():
            raise in_proc(self._asked)  # what a link there says is not where it leads, and it may not be asked
        try:
            target = os.readlink(name, dir_fd=self._fd)
        except OSError as error:
            if error.errno == errno.EINVAL:
                return False
            raise PathMovedError from None
        self._count_link()
        self._pass(os.path.join(self._place(), name))
        if target.startswith("/"):
            self._enter("/".join((target, *reversed(self._pending))))
        else:
            self._pending.extend(reversed(_components(target)))
        return True

    def _count_link(self) -> None:
        self._links += 1
        if self._links > _MAX_LINKS:
            raise PathRefusedError(
                f"{printable(self._asked)}: leads through more than {_MAX_LINKS} links, probably a loop. "
                "Name the file itself."
            )

    def _count_step(self) -> None:
        self._steps += 1
        if self._steps > _MAX_STEPS:
            raise PathRefusedError(
                f"{printable(self._asked)}: takes more than {_MAX_STEPS} steps to resolve. Write it without `..`."
            )

    def _replace(self, fd: int) -> None:
        self.close()
        self._fd = fd

    def _place(self) -> str:
        return os.path.join(self._root.canonical, *self._names)

    def _not_a_directory(self) -> PathRefusedError:
        return PathRefusedError(
            f"{printable(self._asked)}: ends in a slash, or leads to a name that does, and is not a directory. "
            "Leave the slash out to name a file."
        )


def _components(path: str) -> list[str]:
    """The names on the way; a last "." stays, and stands for a last slash: what is before has to be a directory."""
    *way, last = path.split("/")
    names = [name for name in way if name not in {"", "."}]
    names.append(last or ".")
    return names


def _refused_by_system(path: str, error: OSError) -> PathRefusedError:
    reason = _REASONS.get(error.errno or 0, "Check the path.")
    return PathRefusedError(f"{printable(path)}: cannot be opened ({error.strerror or error}). {reason}")


_REASONS: Final = {
    errno.EACCES: "A directory on the way may not be entered; its permissions have to be changed first.",
    errno.EPERM: "A directory on the way may not be entered; its permissions have to be changed first.",
    errno.ENAMETOOLONG: "One of its names is too long; use a shorter one.",
    errno.ELOOP: "It leads through too many links; name the file itself.",
    errno.EMFILE: "This process has too many open files; try again later.",
    errno.ENFILE: "The system has too many open files; try again later.",
}
