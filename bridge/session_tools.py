"""The tools of a session over its folders as they are now; what runs goes on with those that it began with.

Other folders, or another word on whether they are trusted, make another set of tools, when a call or a list needs it.
The one before is let go of when its last call has ended.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from openbuffer.tools.errors import ToolExecutionError

from .read_only import ReadOnlyTools
from .workspace_folders import WorkspaceFolders

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Sequence

    from openbuffer.editor_access.port import EditorProvider
    from openbuffer.tools.contract import FunctionTool, ToolContext, ToolResult

_TOLD_AT_ONCE: Final = 5


class NoWorkspaceError(ToolExecutionError):
    """The client opened no folder, so that there is no boundary for any tool to work in."""


class ToolExecutor(Protocol):
    """The pipeline as the session sees it."""

    @property
    def tools(self) -> Sequence[FunctionTool]:
        """The tools that can be called now; there can only come to be more."""
        ...

    async def call(self, name: str, arguments: object, context: ToolContext) -> ToolResult:
        """Run one call to its end; raises ToolExecutionError for a hard error."""
        ...


@dataclass(slots=True, eq=False)
class _Set:
    """One set of tools; ``users`` are calls that run with it."""

    roots: tuple[str, ...]
    made: ToolExecutor
    """As it was created."""
    executor: ToolExecutor
    """As it is used."""
    users: int = 0


class SessionTools:
    """Which tools there are. Everything runs on one event loop.

    ``create`` makes them for roots; ``let_go`` takes what it made once nothing of it runs any more. ``tell`` takes a
    sentence for the user on each folder that the tools do not have.
    """

    def __init__(
        self,
        create: Callable[[tuple[str, ...], EditorProvider], ToolExecutor],
        editor: EditorProvider,
        *,
        let_go: Callable[[ToolExecutor], None],
        tell: Callable[[str], None],
    ) -> None:
        self._create = create
        self._editor = editor
        self._let_go = let_go
        self._tell = tell
        self._folders = WorkspaceFolders()
        self._is_trusted = True
        self._now: _Set | None = None
        self._outdated: list[_Set] = []
        self._told: frozenset[str] = frozenset()

    def begin(self, uris: Iterable[str], *, trusted: bool) -> None:
        """These folders are open."""
        self._folders.begin(uris)
        self._is_trusted = trusted
        self._told = frozenset()
        self._outdate()
        self._tell_of_left_out()

    def change_folders(self, added: Iterable[str], removed: Iterable[str]) -> bool:
        """Folders were opened and closed; whether the tools are others by that."""
        if not self._folders.change(added, removed):
            return False
        self._outdate()
        self._tell_of_left_out()
        return True

    def change_trust(self, *, trusted: bool) -> bool:
        """Whether the user trusts the workspace; whether the tools are others by that."""
        if trusted is self._is_trusted:
            return False
        self._is_trusted = trusted
        if self._now is not None:
            self._now.executor = self._as_trusted(self._now.made)
        return True

    @property
    def roots(self) -> tuple[str, ...]:
        """Where the tools work; none where no folder is open."""
        return self._folders.roots()

    @property
    def are_assembled(self) -> bool:
        """Whether the next call finds them as they have to be."""
        return self._now is not None

    def tools(self) -> Sequence[FunctionTool]:
        """The tools there are now; none without a workspace folder.

        Raises:
            ToolExecutionError: they cannot be assembled.
        """
        return self._assembled().executor.tools if self._now is not None or self.roots else ()

    def withheld(self) -> tuple[str, ...]:
        """The names of those that are withheld because the workspace is not trusted; of the last :meth:`tools`."""
        executor = None if self._now is None else self._now.executor
        return executor.withheld if isinstance(executor, ReadOnlyTools) else ()

    @contextmanager
    def use(self) -> Generator[ToolExecutor]:
        """The tools for one call.

        Raises:
            NoWorkspaceError: there is no folder.
            ToolExecutionError: they cannot be assembled.
        """
        used = self._assembled()
        used.users += 1
        try:
            yield used.executor
        finally:
            used.users -= 1
            self._let_go_of(used)

    @property
    def roots_in_use(self) -> tuple[str, ...]:
        """The roots, and those of calls that began before they changed."""
        return tuple(dict.fromkeys((*self.roots, *(root for each in self._outdated for root in each.roots))))

    def _assembled(self) -> _Set:
        if self._now is None:
            roots = self.roots
            self._tell_of_left_out()
            if not roots:
                raise NoWorkspaceError(self._why_none())
            made = self._create(roots, self._editor)
            self._now = _Set(roots, made, self._as_trusted(made))
        return self._now

    def _as_trusted(self, made: ToolExecutor) -> ToolExecutor:
        return made if self._is_trusted else ReadOnlyTools(made)

    def _outdate(self) -> None:
        outdated, self._now = self._now, None
        if outdated is not None:
            self._outdated.append(outdated)
            self._let_go_of(outdated)

    def _let_go_of(self, each: _Set) -> None:
        if each in self._outdated and not each.users:
            self._outdated.remove(each)
            self._let_go(each.made)

    def _why_none(self) -> str:
        left_out = self._folders.left_out()
        if left_out:
            return f"no workspace folder that tools could work in is open; open a folder of this machine. {left_out[0]}"
        return "no workspace folder is open, so there is nothing that a tool may touch; open a folder in the editor"

    def _tell_of_left_out(self) -> None:
        left_out = self._folders.left_out()
        news = [sentence for sentence in left_out if sentence not in self._told]
        self._told = frozenset(left_out)
        for sentence in news[:_TOLD_AT_ONCE]:
            self._tell(sentence)
        if len(news) > _TOLD_AT_ONCE:
            self._tell(f"{len(news) - _TOLD_AT_ONCE} more workspace folders cannot be used")
