"""One client's session: what it said of itself, its documents, and the tools over its workspace folders.

The folders are those of ``initialize``; another set makes another executor, in :meth:`Session.begin` only.
"""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol, cast

import anyio
from openbuffer.editor_access.errors import EditorAccessError
from openbuffer.editor_access.lsp import LspEditor
from openbuffer.editor_access.uri import path_from_uri
from openbuffer.tools.contract import ToolContext
from openbuffer.tools.errors import ToolExecutionError
from openbuffer.tools.support.disk_text import RootedDiskText

from .approvals import LspApprovals
from .asks import LspQuestions
from .call_turn import CallTurn
from .client_facts import ClientFacts
from .dialogs import Dialogs
from .limits import RUNNING_CALLS_MAX
from .protocol import PROTOCOL_VERSION, CallCancelledError
from .reporting import CREATE_PROGRESS, Reporting

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from openbuffer.editor_access.lsp import LspClient
    from openbuffer.editor_access.port import EditorProvider
    from openbuffer.tools.contract import FunctionTool, ToolResult
    from openbuffer.tools.ports import ProgressPort

    from .protocol import CallToolResult, ProgressToken, ToolCall, ToolError
    from .saves import Saves

log = logging.getLogger(__name__)


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


class Session:
    """State between ``initialize`` and the end. Everything runs on one event loop."""

    def __init__(
        self,
        *,
        create_executor: Callable[[tuple[str, ...], EditorProvider], ToolExecutor],
        create_client: Callable[[ClientFacts], LspClient],
        send_progress: Callable[[dict[str, Any]], None],
        saves: Saves | None = None,
    ) -> None:
        self.facts = ClientFacts()
        self.editor: LspEditor | None = None
        self._create_executor = create_executor
        self._create_client = create_client
        self._send_progress = send_progress
        self._saves = saves
        self._executor: ToolExecutor | None = None
        self._dialogs: Dialogs | None = None
        self._reporting = Reporting(send_progress)
        # Fast: a free turn is taken without giving way, so that a call looks at the text before the next change of it.
        self._turns = anyio.Semaphore(RUNNING_CALLS_MAX, fast_acquire=True)

    def begin(self, facts: ClientFacts) -> None:
        """The client has introduced itself."""
        self.facts = facts
        if facts.foreign_protocol_version:
            log.warning(
                "the client speaks version %s of the openbuffer protocol and this server version %s: it is taken as a "
                "client that announced nothing beyond LSP; install a client and a server of the same release",
                facts.foreign_protocol_version,
                PROTOCOL_VERSION,
            )
        client = self._create_client(facts)
        self._dialogs = Dialogs(client, facts.rich)
        if facts.creates_progress:
            self._reporting = Reporting(
                self._send_progress, lambda token: client.ask(CREATE_PROGRESS, {"token": token})
            )
        self.editor = LspEditor(
            client,
            encoding=facts.position_encoding,
            is_neovim=facts.is_neovim,
            disk=RootedDiskText(facts.roots) if facts.roots else None,
            rich=facts.rich,
        )
        self._executor = None

    def connection_lost(self) -> None:
        """The client is gone for good."""
        if self.editor is not None:
            self.editor.connection_lost()

    def saved(self, uri: str) -> None:
        """The editor has saved this document, and the document store knows of it."""
        path = path_from_uri(uri)
        if self._saves is None or path is None or self.editor is None:
            return
        with suppress(EditorAccessError):  # what it holds is not known, so that nothing is told
            document = self.editor.document(os.path.realpath(path))
            if document is not None:
                self._saves.saved(document.path, document.text)

    def tools(self) -> Sequence[FunctionTool]:
        """The tools there are now; none without a workspace folder."""
        return self._assembled().tools if self.facts.roots else ()

    async def call(self, call: ToolCall) -> CallToolResult:
        """Run one call. Whatever the tool does, there is an answer; only cancelling raises.

        Raises:
            CallCancelledError: the user cancelled it through its progress; its work has stopped.
        """
        try:
            result, has_more_tools = await self._run(call)
        except ToolExecutionError as error:
            return {"name": call.name, "isError": True, "error": cast("ToolError", error.to_json())}
        except (CallCancelledError, anyio.get_cancelled_exc_class()):
            raise
        except BaseException as error:
            log.exception("%s failed", call.name[:100])
            kind = type(error).__name__
            crash: ToolError = {"type": "ToolCrashedError", "message": f"{call.name} failed: {kind}: {error}"}
            return {"name": call.name, "isError": True, "error": {**crash, "reason": kind}}
        answer: CallToolResult = {"name": call.name, "isError": not result.success, "data": result.value}
        if has_more_tools:
            answer["toolsChanged"] = True
        return answer

    def cancel_by_token(self, token: ProgressToken) -> None:
        """The user cancelled the call that reports under this token; unknown tokens are of no concern."""
        self._reporting.cancel(token)

    async def _run(self, call: ToolCall) -> tuple[ToolResult, bool]:
        """The result, and whether there are more tools than before."""
        with self._reporting.of(call.name, call.token) as progress:
            async with CallTurn(self._turns, progress) as turn:
                executor = self._assembled()
                there = len(executor.tools)
                result = await executor.call(call.name, call.arguments, self._context(turn, progress))
                return result, len(executor.tools) > there
        raise CallCancelledError

    def _context(self, turn: CallTurn, progress: ProgressPort | None) -> ToolContext:
        """What a call brings along: where it reports, and who asks the user."""
        assert self._dialogs is not None
        return ToolContext(
            progress=progress, approvals=LspApprovals(self._dialogs, turn), ask=LspQuestions(self._dialogs, turn)
        )

    def _assembled(self) -> ToolExecutor:
        if not self.facts.roots:
            raise NoWorkspaceError(
                "no workspace folder is open, so there is nothing that a tool may touch; open a folder in the editor"
            )
        if self._executor is None:
            self._executor = self._create_executor(self.facts.roots, lambda: self.editor)
        return self._executor
