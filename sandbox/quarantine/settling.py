"""What is put right in a root after a command: new protected entries are moved out, links are put back.

What was there before is mounted read-only in the command, so that a change to it is the host's and stays. New and not
known to be the host's is moved, never deleted: who made a file cannot be told from the file.
"""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from .copy import COPY_MAX_S
from .moves import Moved, Place, carry_aside, may_be_changed, move_out
from .protected import PROTECTED_NAMES, has_bare_shape
from .states import NameState, RootState, look, unpack

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

PASSES_MAX: Final = 8
"""How often a root is looked at again because something was found in it: another command may go on planting."""


@dataclass(slots=True, kw_only=True)
class Settling:
    """The putting right of one root. ``notes`` are sentences for the result.

    ``prefix`` begins the names of what is moved: a name alone in the quarantine would have its effect there too, on a
    shell that stands there. ``is_the_hosts`` says of a new entry whether the host made it. ``set_aside`` is told before
    an entry gets another name in the root. ``may_restore``: a link that is missing was taken by the command as far as
    can be known.
    """

    root: Place
    before: RootState
    quarantine: Place
    prefix: str
    is_the_hosts: Callable[[str], bool]
    set_aside: Callable[[str, str], None]
    may_restore: bool = True
    notes: list[str] = field(default_factory=list[str])
    _failed: set[str] = field(default_factory=set[str])
    _deadline: float = field(default_factory=lambda: time.monotonic() + COPY_MAX_S)

    def settle(self) -> None:
        """Put right what can be; whatever cannot is told.

        Raises:
            OSError: the root cannot be looked at.
        """
        with may_be_changed(self.root.descriptor):
            for _ in range(PASSES_MAX):
                if not sum(self._settle_name(name) for name in PROTECTED_NAMES):
                    break
            else:
                self.notes.append(
                    f"Protected names in {shown(self.root.path)} are created again and again by something that still "
                    "runs there; look for it before you run git or another tool of the host in this directory."
                )
            for name in PROTECTED_NAMES:
                self._tell_what_stays(name)
            self._tell_bare_shape()

    def finish(self, name: str, aside: str) -> None:
        """Go on with an entry that a command of a killed owner had left under another name in the root."""
        if look(self.root.descriptor, aside).kind != "absent":
            moved = carry_aside(self.root, aside, self.quarantine, f"{self.prefix}{name}", self._deadline)
            self.notes.append(self._sentence(name, moved))

    def _settle_name(self, name: str) -> bool:
        """Whether something was done."""
        before = self.before.state_of(name)
        if before is None or before.kind not in {"absent", "link"} or name in self._failed:
            return False
        now = look(self.root.descriptor, name)
        if now.same_entry(before) or (now.kind != "absent" and self.is_the_hosts(name)):
            return False
        is_done = now.kind == "absent" or self._move(name)
        if before.kind == "link" and is_done:
            is_done = self._restore(name, before, was_missing=now.kind == "absent")
        return is_done

    def _move(self, name: str) -> bool:
        try:
            moved = move_out(
                self.root,
                name,
                self.quarantine,
                f"{self.prefix}{name}",
                lambda aside: self.set_aside(name, aside),
                self._deadline,
            )
        except OSError as error:
            self._failed.add(name)
            self.notes.append(
                f"{self._path(name)} is protected, appeared while the command ran, and could not be moved away "
                f"({error.strerror}). Remove it yourself before you run git or another tool of the host there."
            )
            return False
        if moved is not None:
            self.notes.append(self._sentence(name, moved))
        return moved is not None

    def _restore(self, name: str, before: NameState, *, was_missing: bool) -> bool:
        target = unpack(before.target)
        if was_missing and not self.may_restore:
            self._failed.add(name)
            self.notes.append(
                f"The link {self._path(name)} to {shown(target)} is missing, and the directory was changed since the "
                "command ended; it was not put back. Make it again if you did not remove it."
            )
            return False
        try:
            os.symlink(target, name, dir_fd=self.root.descriptor)
        except FileExistsError:
            return True  # something is there again; the next pass sees it
        except OSError as error:
            self._failed.add(name)
            self.notes.append(
                f"The link {self._path(name)} to {shown(target)} is gone since the command and could not be put back "
                f"({error.strerror}). Make it again."
            )
            return False
        self.notes.append(
            f"The link {self._path(name)} was {'removed' if was_missing else 'replaced'} while the command ran; it "
            f"leads to {shown(target)} again."
        )
        return True

    def _tell_what_stays(self, name: str) -> None:
        before = self.before.state_of(name)
        if before is None or before.kind == "absent":
            return
        now = look(self.root.descriptor, name)
        if before.kind == "link":
            if now.same_entry(before) and now.reached != before.reached:
                self.notes.append(
                    f"The protected link {self._path(name)} leads to another file than before the command, because "
                    f"{shown(unpack(before.target))} is another one now; look at it before a tool of the host reads it."
                )
        elif now.kind != "absent" and not now.same_entry(before) and not self.is_the_hosts(name):
            self.notes.append(
                f"{self._path(name)} was replaced on the host while the command ran, and from then on the command "
                "could write it. It was left as it is; look at it before a tool of the host reads it."
            )

    def _tell_bare_shape(self) -> None:
        if not self.before.bare and has_bare_shape(self.root.descriptor):
            self.notes.append(
                f"{shown(self.root.path)} holds HEAD, objects and refs since the command: git takes such a directory "
                "for a repository and runs what its config names. Look at them before you run git there, or set "
                "safe.bareRepository=explicit."
            )

    def _sentence(self, name: str, moved: Moved) -> str:
        opening = f"{self._path(name)} is protected and appeared while the command ran: "
        if not moved.aside:
            return (
                f"{opening}it was moved to {shown(moved.path)}, nothing of it was deleted. Commands cannot create it; "
                "whoever wants it moves it back by hand."
            )
        aside = shown(os.path.join(self.root.path, moved.aside))
        if moved.path != os.path.join(self.root.path, moved.aside):
            return f"{opening}it was copied to {shown(moved.path)}, and {moved.because}, as {aside}."
        return (
            f"{opening}it was renamed to {aside} and could not be taken out of the directory ({moved.because}). "
            "Nothing of it was deleted; look at it and remove it."
        )

    def _path(self, name: str) -> str:
        return shown(os.path.join(self.root.path, name))


def shown(path: str) -> str:
    """A path as it can be printed on one line, whatever bytes are in it."""
    text = os.fsencode(path).decode("utf-8", "backslashreplace")
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def tell_not_looked_at(path: str) -> str:
    """The sentence where a root cannot be looked at after a command."""
    return (
        f"{shown(path)} could not be looked at after the command; whether it created protected files there is not "
        "known. It is looked at again before the next command."
    )


@contextlib.contextmanager
def opened_root(path: str) -> Generator[Place, None, None]:
    """Open a root's directory by its resolved path.

    Raises:
        OSError: it is not there, or no directory.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        yield Place(descriptor, path)
    finally:
        os.close(descriptor)
