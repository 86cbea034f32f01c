"""Operations on files as lines for a POSIX shell, and what their output means, for clients that can run lines. Pure.

Needs what Debian and BusyBox both have. Output of a login shell before that of the line does no harm.
"""

from __future__ import annotations

import re
import shlex
import stat
from dataclasses import dataclass
from typing import Final

from .errors import SandboxAnswerError, SandboxNotDirectoryError
from .file_content import file_error
from .port import DirectoryEntry, DirectoryListing, FileKind, FileStat


@dataclass(frozen=True, slots=True)
class LineEnd:
    """How a line ended, and what it wrote to its two streams."""

    exit_code: int
    out: str
    err: str


def stat_line(path: str) -> str:
    """Tells what the path leads to, or, of a link that leads nowhere, of the link."""
    return f"""{_beginning(path)}
l=0; [ ! -L "$p" ] || l=1
s=$(command stat -L -c '%f %s %Y' -- "$p" 2>/dev/null) || s=$(command stat -c '%f %s %Y' -- "$p") || exit 1
printf 'openbuffer-stat %s %s\\n' "$l" "$s"
"""


def parse_stat(path: str, ended: LineEnd) -> FileStat:
    """What ``stat_line`` told.

    Raises:
        SandboxFileError: nothing has this path, or it may not be looked at.
        SandboxAnswerError: the output is none of that line.
    """
    if ended.exit_code != 0:
        raise file_error(path, "looked at", ended.err)
    told = _STAT.search(ended.out)
    if told is None:
        raise _no_answer(path)
    link, mode, size, seconds = told.groups()
    return FileStat(
        kind=kind_of_mode(int(mode, 16)),
        size=int(size),
        mtime_ns=int(seconds) * 1_000_000_000,
        mode=stat.S_IMODE(int(mode, 16)),
        is_link=link == "1",
    )


def list_line(path: str, max_entries: int) -> str:
    """Tells the names in a directory, each after its kind; no name contains the slash that separates them."""
    return f"""{_beginning(path)}
command ls -d -- "$p/." >/dev/null || exit 1
cd -- "$p" 2>/dev/null && [ -r . ] || {{ echo "$p: Permission denied" >&2; exit 1; }}
set +f; n=0
printf 'openbuffer-list/'
for f in .* *; do
  case $f in .|..) continue;; esac
  if [ -L "$f" ]; then k=l; elif [ -d "$f" ]; then k=d; elif [ -f "$f" ]; then k=f; elif [ -e "$f" ]; then k=o
  else continue; fi
  n=$((n+1)); [ "$n" -le {max_entries} ] || {{ printf 'more/'; break; }}
  printf '%s/%s/' "$k" "$f"
done
printf 'end/\\n'
"""


def parse_list(path: str, ended: LineEnd) -> DirectoryListing:
    """What ``list_line`` told.

    Raises:
        SandboxFileError: it cannot be listed.
        SandboxAnswerError: the output is none of that line, or not the whole of it.
    """
    if ended.exit_code != 0:
        raise file_error(path, "listed", ended.err)
    told = ended.out.partition("openbuffer-list/")[2]
    body, end, _ = told.rpartition("end/")
    if not end or (body and not body.endswith("/")):
        raise _no_answer(path)
    complete = not body.endswith("/more/") and body != "more/"
    fields = (body if complete else body[: -len("more/")]).split("/")[:-1]
    if len(fields) % 2 or any(kind not in _KINDS for kind in fields[::2]):
        raise _no_answer(path)
    kinds, names = fields[::2], fields[1::2]
    if any(name in {"", ".", ".."} or "\0" in name for name in names):
        raise _no_answer(path)
    entries = [DirectoryEntry(name=name, kind=_KINDS[kind]) for kind, name in zip(kinds, names, strict=True)]
    return DirectoryListing(entries=tuple(sorted(entries, key=lambda entry: entry.name)), complete=complete)


def delete_line(path: str) -> str:
    """Deletes a file, a link itself or an empty directory."""
    return f"""{_beginning(path)}
if [ -d "$p" ] && [ ! -L "$p" ]; then command rmdir -- "$p"; else command rm -- "$p" </dev/null; fi
"""


def check_deleted(path: str, ended: LineEnd) -> None:
    """What ``delete_line`` told.

    Raises:
        SandboxFileError: it was not deleted.
    """
    if ended.exit_code != 0:
        raise file_error(path, "deleted", ended.err)


def make_directory_line(path: str) -> str:
    """Makes a directory and those above it."""
    return f"""{_beginning(path)}
command mkdir -p -- "$p"
"""


def check_made_directory(path: str, ended: LineEnd) -> None:
    """What ``make_directory_line`` told.

    Raises:
        SandboxFileError: there is no such directory.
    """
    if ended.exit_code == 0:
        return
    if "file exists" in ended.err.casefold().rpartition(":")[2]:
        raise SandboxNotDirectoryError(f"{path} cannot be made: it exists, and is no directory", path=path)
    raise file_error(path, "made", ended.err)


def kind_of_mode(mode: int) -> FileKind:
    """The kind by the mode of ``stat``."""
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "directory"
    return "link" if stat.S_ISLNK(mode) else "other"


_STAT: Final = re.compile(r"^openbuffer-stat ([01]) ([0-9a-f]{1,8}) (\d{1,19}) (-?\d{1,19})$", re.MULTILINE)
_KINDS: Final[dict[str, FileKind]] = {"f": "file", "d": "directory", "l": "link", "o": "other"}


def _beginning(path: str) -> str:
    return f"LC_ALL=C; export LC_ALL; p={shlex.quote(path)}"


def _no_answer(path: str) -> SandboxAnswerError:
    return SandboxAnswerError(
        f"what the sandbox told about {path} cannot be understood; look at it by a command (ls -la)"
    )
