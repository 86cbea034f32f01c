"""The user's rules file: what was allowed for good, one rule a line, for openbuffer to add to and for people to edit.

::

    # a comment
    allow Edit(/home/u/project/notes.txt)
    deny Read(~/.ssh/**)

It is replaced as a whole, under a lock: a line that was cut off could be a rule that says more than the whole one.
"""

from __future__ import annotations

import os
import stat
import uuid
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from ..errors import ToolFailure
from ..support.directory_lock import directory_lock
from ..support.located import printable
from .grammar import VERDICTS, Source
from .reading import RulesRead, ask_about_everything, rules_from

if TYPE_CHECKING:
    from collections.abc import Sequence

KEPT_MAX_BYTES: Final = 1024 * 1024
"""A longer file is not taken for one of rules."""

_HEADER: Final = "# Rules that count in every workspace, one a line: allow, ask or deny, and the rule.\n"
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_PLAIN: Final = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
_PRIVATE_FILE: Final = 0o600
_PRIVATE_DIRECTORY: Final = 0o700


class KeptRules:
    """The rules in one file, which need not exist. Links are followed: people keep such files elsewhere."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._source = Source(path)

    def mark(self) -> object:
        """What is another one once the file has changed; quick."""
        return mark_of(self.path)

    def read(self) -> RulesRead:
        """The rules; blocks. A file that cannot be read may deny something, so that everything is asked about then."""
        try:
            text = self._text()
        except (OSError, ValueError) as error:
            why = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
            broken = ask_about_everything(self._source, "that cannot be read")
            return RulesRead((broken,), (f"{self.path}: cannot be read ({why}); every call is asked about",))
        lists: dict[str, list[str]] = {verdict: [] for verdict in VERDICTS}
        unclear: list[str] = []
        for line in map(str.strip, text.split("\n")):
            verdict, _, rule = line.partition(" ")
            if verdict in lists:
                lists[verdict].append(rule)
            elif line and not line.startswith("#"):
                unclear.append(line)
        read = rules_from(lists, self._source)
        problems = [f"{self.path}: {problem}" for problem in read.problems]
        rules = read.rules
        if unclear:
            shown = printable(unclear[0][:80])
            problems.append(
                f"{self.path}: {shown}: expected is allow, ask or deny, and a rule; every call is asked about"
            )
            rules = (*rules, ask_about_everything(self._source, "that cannot be read"))
        return RulesRead(rules, tuple(problems))

    def append(self, rules: Sequence[str]) -> None:
        """Allow these from now on; those that are there already are not added. Blocks, shortly for another writer.

        Raises:
            OSError: it could not be written; the file is as it was.
            ValueError: what is there is no file of rules, or one of ``rules`` is no line.
        """
        if not all(rule.isprintable() for rule in rules):
            raise ValueError("a rule has to be one line of printable text")
        path = os.path.realpath(self.path)
        directory = os.path.dirname(path)
        os.makedirs(directory, mode=_PRIVATE_DIRECTORY, exist_ok=True)
        fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            with directory_lock(fd, directory):
                text = self._text()
                known = set(map(str.strip, text.split("\n")))
                new = [line for line in (f"allow {rule}" for rule in dict.fromkeys(rules)) if line not in known]
                if new:
                    text = text if text.endswith("\n") or not text else f"{text}\n"
                    _replace(path, (text or _HEADER) + "".join(f"{line}\n" for line in new))
        except ToolFailure as error:
            raise OSError(str(error)) from error
        finally:
            os.close(fd)

    def _text(self) -> str:
        try:
            fd = os.open(self.path, _PLAIN)
        except (FileNotFoundError, NotADirectoryError):
            return ""
        with open(fd, "rb") as file:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise ValueError("is no regular file")
            content = file.read(KEPT_MAX_BYTES + 1)
        if len(content) > KEPT_MAX_BYTES:
            raise ValueError(f"has more than {KEPT_MAX_BYTES} bytes, which no file of rules has")
        try:
            return content.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise ValueError("is not UTF-8 text") from None


def mark_of(path: str) -> object:
    """What tells one state of a file from another, without its content; None where there is no file."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _replace(path: str, text: str) -> None:
    temporary = f"{path}.{uuid.uuid4().hex}"
    fd = os.open(temporary, _NEW, _PRIVATE_FILE)
    try:
        with open(fd, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
