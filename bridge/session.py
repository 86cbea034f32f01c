"""One client's session: what it said of itself, its documents, and the tools over its workspace folders."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, cast

import anyio
from anyio.lowlevel import checkpoint
from openbuffer.editor_access.client_requests import TOOLS_CHANGED
from openbuffer.editor_access.lsp import LspEditor
from openbuffer.editor_access.uri import path_from_uri, uri_from_path
from openbuffer.tools.contract import ToolContext
from openbuffer.tools.errors import ToolExecutionError

from .approvals import LspApprovals
from .asks import LspQuestions
from .call_turn import CallTurn
from .client_facts import ClientFacts
from .dialogs import Dialogs
from .folder_disk import FolderDisk
from .limits import RUNNING_CALLS_MAX
from .protocol import PROTOCOL_VERSION, CallCancelledError
from .reporting import CREATE_PROGRESS, Reporting
from .session_tools import SessionTools, ToolExecutor

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from openbuffer.editor_access.lsp import LspClient
    from openbuffer.editor_access.port import EditorProvider
    from openbuffer.tools.contract import FunctionTool, ToolResult
    from openbuffer.tools.ports import ProgressPort

    from .protocol import CallToolResult, ProgressToken, ToolCall, ToolError
    from .saves import Saves

__all__ = ["Session", "ToolExecutor"]

log = logging.getLogger(__name__)


class Session:
    """State between ``initialize`` and the end. Everything runs on one event loop.

    ``let_go`` takes what ``create_executor`` made, once it is not used any more; ``tell`` a sentence for the user.
    ``settled`` is waited for before each call: it returns when the settings are known as far as they can be.
    ``assembling`` is shared by the sessions of one loop: their tools are assembled one session after the other.
    """

    def __init__(
        self,
        *,
        create_executor: Callable[[tuple[str, ...], EditorProvider], ToolExecutor],
        create_client: Callable[[ClientFacts], LspClient],
        send_progress: Callable[[dict[str, Any]], None],
        saves: Saves | None = None,
        let_go: Callable[[ToolExecutor], None] = lambda _: None,
        tell: Callable[[str], None] = log.warning,
        settled: Callable[[], Awaitable[None]] | None = None,
        assembling: anyio.Lock | None = None,
    ) -> None:
        self.facts = ClientFacts()
        self.editor: LspEditor | None = None
        self._create_client = create_client
        self._send_progress = send_progress
        self._saves = saves
        self._settled = settled
        self._assembling = assembling
        self._waiting = 0
        self._client: LspClient | None = None
        self._disk = FolderDisk()

        def let_go_of(executor: ToolExecutor) -> None:
            let_go(executor)
            self._disk.follow(self._tools.roots_in_use)

        self._tools = SessionTools(create_executor, lambda: self.editor, let_go=let_go_of, tell=tell)
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
        client = self._client = self._create_client(facts)
        self._dialogs = Dialogs(client, facts.rich)
        if facts.creates_progress:
            self._reporting = Reporting(
                self._send_progress, lambda token: client.ask(CREATE_PROGRESS, {"token": token})
            )
        self.editor = LspEditor(
            client,
            encoding=facts.position_encoding,
            is_neovim=facts.is_neovim,
            disk=self._disk,
            rich=facts.rich,
        )
        uris = facts.folders or [uri_from_path(root) for root in facts.roots]
        self._tools.begin(uris, trusted=facts.workspace_trusted is not False)
        self._disk.follow(self._tools.roots_in_use)

    def connection_lost(self) -> None:
        """The client is gone for good."""
        if self.editor is not None:
            self.editor.connection_lost()

    def saved(self, uri: str) -> None:
        """The editor has saved this document, and the document store knows of it."""
        path = path_from_uri(uri)
        text = None if self.editor is None else self.editor.text_of(uri)
        if self._saves is not None and path is not None and text is not None:
            self._saves.saved(path, text)

    async def ready(self) -> None:
        """Wait until the settings are known as far as they can be; mostly they are, and that does not give way.

        Nor does it once the tools are assembled. Before, of many sessions that begin at once one does so in each turn
        of the loop, which comes to everything else in between.
        """
        if self._settled is not None:
            await self._settled()
        if self._assembling is not None and (self._waiting or not self._tools.are_assembled):
            self._waiting += 1  # who comes while others wait goes behind them
            try:
                async with self._assembling:
                    if not self._tools.are_assembled:
                        await checkpoint()
            finally:
                self._waiting -= 1

    def tools(self) -> Sequence[FunctionTool]:
        """The tools there are now; none without a workspace folder."""
        return self._tools.tools()

    def withheld(self) -> Sequence[str]:
        """The names of those that are withheld because the user does not trust the workspace."""
        return self._tools.withheld()

    def change_folders(self, added: Iterable[str], removed: Iterable[str]) -> None:
        """The client opened and closed folders: calls that begin later have the new ones."""
        if self._tools.change_folders(added, removed):
            self._disk.follow(self._tools.roots_in_use)
            self._tell_of_other_tools()

    def change_trust(self, *, trusted: bool) -> None:
        """The user trusts the workspace, or not any more: for calls that begin later."""
        if self._tools.change_trust(trusted=trusted):
            self._tell_of_other_tools()

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
                await self.ready()
                with self._tools.use() as executor:
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

    def _tell_of_other_tools(self) -> None:
        if self._client is not None and self.facts.rich.tools_changed:
            self._client.tell(TOOLS_CHANGED, {})
