"""Ports that a host or a client implements for the tools; pure protocols and data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .schema import ToolSchema
    from .targets import Capability, Hunk, Target


class ProgressPort(Protocol):
    """Takes progress of a running call; must not raise and must not block."""

    def report(self, message: str, *, percentage: int | None = None) -> None:
        """Tell that work went on; ``percentage`` is 0 to 100 where it is known."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question to the user; ``options`` maps a label to its description (may be empty).

    ``header`` is a few words to tell it from others; empty where there are none.
    """

    text: str
    options: Mapping[str, str]
    multi_select: bool = False
    free_text: bool = False
    header: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What became of one question; only ``answered`` carries values, and ``reason`` says why any other outcome is."""

    outcome: Literal["answered", "dismissed", "timeout", "unavailable"]
    values: tuple[str, ...] = ()
    reason: str = ""


class AskPort(Protocol):
    """Puts a question to the user."""

    async def ask(self, question: Question) -> Answer:
        """Ask and wait for the user; cancelling withdraws the question where the client can."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownChange:
    """A change as it is put before a person: path, counts, and the hunks, the first one at the least, within bounds.

    ``is_whole``: ``hunks`` are all of them, and none is cut. ``removed_lines`` and ``added_lines`` are counted as far
    as the bounds go; with ``is_counted`` False there are more. Sizes are bytes: ``before_bytes`` None is a file that is
    made, ``after_bytes`` None one that is deleted. ``in_sandbox``: the path is one of a sandbox and not of the host.
    """

    path: str
    kind: Literal["file", "link", "directory"]
    hunks: tuple[Hunk, ...]
    hunk_count: int
    removed_lines: int
    added_lines: int
    before_bytes: int | None
    after_bytes: int | None
    is_whole: bool = True
    is_counted: bool = True
    in_sandbox: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRequest:
    """A plan that rules ask about, as it will be done if the answer is yes.

    Attributes:
        reason: the rule that asks, in words.
        targets: files, commands with argument vector and directory, final URLs.
        change: what a file will be; None where none is changed.
        arguments: those of a tool that tells no targets, as JSON; may be cut, and ends in ``…`` then.
        containment: what would hold the command, in words; empty where there is no command.
        rules: what is allowed from then on by an answer for the session or for always, word for word; empty where there
            is no such rule, and then those two answers count for this once.
    """

    call_id: str
    tool: str
    capabilities: frozenset[Capability]
    reason: str
    targets: tuple[Target, ...] = ()
    change: ShownChange | None = None
    arguments: str = ""
    containment: str = ""
    rules: tuple[str, ...] = ()


ApprovalOutcome: TypeAlias = Literal["once", "session", "always", "no", "dismissed", "timeout", "unavailable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalAnswer:
    """What became of one request. Only the first three outcomes allow it.

    ``no`` is a person's, with what they say to it in ``reason``. ``dismissed``: they closed it without an answer.
    ``timeout``: there was none in time. ``unavailable``: nobody could be asked; ``reason`` says why.
    """

    outcome: ApprovalOutcome
    reason: str = ""

    @property
    def is_yes(self) -> bool:
        """Whether the call may go on."""
        return self.outcome in {"once", "session", "always"}


class ApprovalPort(Protocol):
    """Puts a plan before whoever decides about it (X4)."""

    async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Ask and wait; cancelling withdraws the request where the client can. What is raised is ``unavailable``."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactRef:
    """A kept artifact by its content: the SHA-256 as 64 hex digits, and its size in bytes.

    ``complete`` is False where the store kept only the beginning.
    """

    sha256: str
    size: int
    complete: bool = True


class ArtifactWriter(Protocol):
    """Takes the bytes of one artifact in order; nothing is kept unless it is finished."""

    def write(self, data: bytes) -> None:
        """Take more bytes; never raises for a full store or disk: then the artifact ends here and is not complete."""
        ...

    def finish(self) -> ArtifactRef | None:
        """Keep it for good; None when nothing could be kept."""
        ...

    def discard(self) -> None:
        """Keep nothing; safe after :meth:`finish`, which it does not undo."""
        ...


class ArtifactStore(Protocol):
    """Keeps large outputs by their content, out of reach of the tools (X7). Used from worker threads."""

    def create(self) -> ArtifactWriter:
        """Begin an artifact; the caller finishes or discards it."""
        ...

    def read(self, sha256: str) -> bytes | None:
        """The artifact's bytes, or None when it is not kept."""
        ...


class DeferredToolCatalog(Protocol):
    """Tools whose schemas the model has not seen yet (W4)."""

    def schemas(self) -> Sequence[ToolSchema]:
        """Every deferred tool's schema, also of those that are loaded; from any thread, and always in one order."""
        ...

    def load(self, names: Sequence[str]) -> None:
        """Make these tools resident for the rest of the session; loading one again changes nothing.

        Raises:
            ToolNotFoundError: a name is that of no deferred tool; none is loaded then.
        """
        ...


TaskState: TypeAlias = Literal["open", "active", "done", "dropped"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One task of a session (W7). Tasks are listed by ``order``, and those of one order by ``id``."""

    id: int
    title: str
    note: str
    order: int
    state: TaskState


class TaskStore(Protocol):
    """Keeps the tasks of one session. Calls run at the same time; no method blocks."""

    def tasks(self) -> Sequence[Task]:
        """Every task, in the order in which they are listed."""
        ...

    def put(self, task: Task, *, instead_of: Task | None) -> bool:
        """Keep a task if what is kept under its id is still ``instead_of`` (None: nothing); tells whether it did."""
        ...
