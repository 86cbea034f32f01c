"""What a tool can do to the world, what a plan is about, and the change that it makes; plain values (T10, T12).

Gate, event log and editor look at these, and never at a tool's name.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Literal, TypeAlias


class Capability(StrEnum):
    """What a tool can do to the world; gate, log and editor look at this and never at a tool's name (T10)."""

    FILE_READ = "FILE_READ"
    FILE_WRITE = "FILE_WRITE"
    SHELL = "SHELL"
    NETWORK = "NETWORK"
    ASK_USER = "ASK_USER"
    COMPUTER = "COMPUTER"
    """Acting with mouse and keyboard on the computer that is driven; looking at it is another one."""
    SCREEN_READ = "SCREEN_READ"
    """Taking pictures of the computer that is driven."""
    SESSION = "SESSION"
    """What the session keeps for itself and nothing else does: its tasks, and which tools it has loaded."""


def only_observes(capabilities: frozenset[Capability]) -> bool:
    """Whether a tool with these can change nothing. One that declares none is not known to be harmless."""
    return bool(capabilities) and capabilities <= _OBSERVING


_OBSERVING: Final = frozenset({Capability.FILE_READ, Capability.SCREEN_READ})


@dataclass(frozen=True, slots=True, kw_only=True)
class FileTarget:
    """A file by its canonical, symlink-free path, and where its text is at this call.

    ``place`` is "sandbox", from the first word to the gate on, for a file in a sandbox with files of its own. Then
    ``path`` is a path in there, and says nothing of the host's file of that name; which links it goes through, and
    before anything was looked at whether it exists, only the sandbox knows.
    """

    path: str
    access: Literal[Capability.FILE_READ, Capability.FILE_WRITE]
    exists: bool = True
    place: Literal["undecided", "disk", "document", "sandbox"] = "undecided"

    @property
    def in_sandbox(self) -> bool:
        """Whether the path is one of a sandbox and not of the host."""
        return self.place == "sandbox"

    @property
    def subject(self) -> str:
        """What is judged, for a message."""
        return f"{self.path} in the sandbox" if self.in_sandbox else self.path


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandTarget:
    """A command as it will be started: the line as given, the argument vector and the directory.

    ``confined_by`` names what would confine it, empty where nothing does. ``auto_allowed``: the sandbox's settings let
    it run without being asked about. ``in_sandbox``: it does not run on this host but in a sandbox with files of its
    own, whose directory ``cwd`` is; there is no argument vector then. ``asks_because``: why the settings do not let it,
    of one that is confined; what is judged is the same without it.
    """

    command: str
    argv: tuple[str, ...]
    cwd: str
    confined_by: str = ""
    auto_allowed: bool = False
    in_sandbox: bool = False
    asks_because: str = field(default="", compare=False)

    @property
    def subject(self) -> str:
        """What is judged, for a message."""
        return self.command


@dataclass(frozen=True, slots=True, kw_only=True)
class UrlTarget:
    """A request over the network, before any byte of it is sent: where to, and how.

    ``url`` is absolute, http or https, without credentials and without a fragment. ``host`` is what it is sent to, as
    rules compare it: lower case, ASCII (IDNA), no dot at the end, an IPv6 address in brackets. ``port`` is never left
    open. A redirect to another place is a target of its own.
    """

    url: str
    host: str
    port: int
    method: str = "GET"

    @property
    def subject(self) -> str:
        """What is judged, for a message."""
        return self.url


Target: TypeAlias = FileTarget | CommandTarget | UrlTarget
"""What a plan is about; grows by one member per kind when its tool is built."""


@dataclass(frozen=True, slots=True)
class Hunk:
    """One replaced region, as text: ``start_line`` is 1-based in the text before the change."""

    start_line: int
    before: str
    after: str


@dataclass(slots=True, eq=False)
class BeforeState:
    """The whole of what is about to change, for the record: a file's bytes, or the text of a document as UTF-8.

    ``version`` is the document's, and once the change was made that of the text it was made in; None for a file.
    The content is lent: it is let go of once the change was
    made or given up, so that a log takes what it wants of it while it records the intent.
    """

    content: bytes | None = field(repr=False)
    version: int | None = None

    def let_go(self) -> None:
        """Give up the content; safe to call twice."""
        self.content = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """The exact change of one file.

    ``before_bytes`` is None where it does not exist yet, ``after_bytes`` where it does not exist any more.
    ``kind`` is what is changed, where that is no file: the text of a link is where it leads, and a directory has none.
    A deletion without hunks is of something that is no text, or too large to be kept. ``before`` is None where nothing
    was there, or where it was not loaded. ``in_sandbox``: the path is one of a sandbox and not of the host.
    """

    path: str
    hunks: tuple[Hunk, ...]
    before_bytes: int | None
    after_bytes: int | None
    kind: Literal["file", "link", "directory"] = "file"
    before: BeforeState | None = field(default=None, repr=False, compare=False)
    in_sandbox: bool = False
