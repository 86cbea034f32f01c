"""Who answers what: the one list of messages, and the parts behind them. Heavy to import; ``server`` does it late."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio.to_thread
from lsprotocol import types

from .builtin_tools import BuiltinTools
from .editor_client import EditorClient
from .handlers.call_tool import call_tool
from .handlers.cancel_progress import cancel_progress
from .handlers.did_change import did_change
from .handlers.did_change_configuration import did_change_configuration
from .handlers.did_change_unsynchronized_documents import did_change_unsynchronized_documents
from .handlers.did_change_workspace_folders import did_change_workspace_folders
from .handlers.did_change_workspace_trust import did_change_workspace_trust
from .handlers.did_close import did_close
from .handlers.did_open import did_open
from .handlers.did_save import did_save
from .handlers.execute_command import execute_command
from .handlers.exit import leave
from .handlers.initialize import initialize
from .handlers.initialized import initialized
from .handlers.list_tools import list_tools
from .handlers.shutdown import shutdown
from .protocol import CALL_TOOL, LIST_TOOLS, TRUST_CHANGED, UNSYNCHRONIZED_CHANGED
from .session import Session, ToolExecutor
from .settings_pull import SettingsPull
from .version import VERSION
from .wire.jsonrpc import BridgeProtocol, BridgeServer

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import ExitStack
    from pathlib import Path

    from openbuffer.editor_access.port import EditorProvider

    from .client_facts import ClientFacts
    from .editor_settings import EditorSettings
    from .life.lifetime import Lifetime
    from .saves import Saves


log = logging.getLogger(__name__)


def create_builtin_executor(
    roots: tuple[str, ...],
    editor: EditorProvider,
    *,
    ending: ExitStack,
    config_file: Path | None = None,
    tell: Callable[[str], None] = log.warning,
    saves: Saves | None = None,
    editor_settings: EditorSettings | None = None,
) -> ToolExecutor:
    """The tools over these roots; imported when the first call needs them. ``ending`` cleans up after them.

    Raises:
        ConfigError: ``config_file``, or else the user's own file, cannot be used.
    """
    tools = BuiltinTools(
        ending=ending, config_file=config_file, tell=tell, saves=saves, editor_settings=editor_settings
    )
    return tools(roots, editor)


def tell_user(protocol: BridgeProtocol) -> Callable[[str], None]:
    """Shows a sentence to the user as a warning of the editor's, and logs it; may be called from any thread."""
    loop = asyncio.get_running_loop()

    def show(sentence: str) -> None:
        params = {"type": types.MessageType.Warning.value, "message": f"openbuffer: {sentence}"}
        protocol.send_notification(types.WINDOW_SHOW_MESSAGE, params)

    def tell(sentence: str) -> None:
        log.warning("%s", sentence)
        with suppress(RuntimeError):  # the session is over
            loop.call_soon_threadsafe(show, sentence)

    return tell


def create_protocol() -> BridgeProtocol:
    """The protocol without its handlers."""
    protocol = BridgeServer(VERSION).protocol
    assert isinstance(protocol, BridgeProtocol)
    return protocol


def wire(
    protocol: BridgeProtocol,
    lifetime: Lifetime,
    watch_process: Callable[[int], None],
    create_executor: Callable[[tuple[str, ...], EditorProvider], ToolExecutor],
    saves: Saves,
    editor_settings: EditorSettings,
    *,
    let_go: Callable[[ToolExecutor], None] = lambda _: None,
    tell: Callable[[str], None] = log.warning,
    assembling: anyio.Lock | None = None,
) -> Session:
    """Give the protocol its handlers; returns the session behind them.

    ``let_go`` blocks, takes what ``create_executor`` made once it is not used any more, and runs in a thread.
    ``assembling`` is for the session.
    """

    def client(facts: ClientFacts) -> EditorClient:
        return EditorClient(protocol, applies_edits=facts.applies_edits)

    def send_progress(params: dict[str, Any]) -> None:
        protocol.send_notification(types.PROGRESS, params)

    def let_go_in_thread(executor: ToolExecutor) -> None:
        protocol.run_beside(partial(anyio.to_thread.run_sync, partial(let_go, executor)))

    pull = SettingsPull(editor_settings, EditorClient(protocol, applies_edits=False).ask, protocol.run_beside)
    session = Session(
        create_executor=create_executor,
        create_client=client,
        send_progress=send_progress,
        saves=saves,
        let_go=let_go_in_thread,
        tell=tell,
        settled=pull.settled,
        assembling=assembling,
    )
    for method, handler in (
        (types.INITIALIZE, partial(initialize, session, watch_process, editor_settings, pull)),
        (types.SHUTDOWN, partial(shutdown, protocol)),
        (types.WORKSPACE_EXECUTE_COMMAND, partial(execute_command, session)),
        (LIST_TOOLS, partial(list_tools, session)),
        (CALL_TOOL, partial(call_tool, session)),
    ):
        protocol.on_request(method, handler)
    for method, handler in (
        (types.EXIT, partial(leave, lifetime)),
        (types.WORKSPACE_DID_CHANGE_CONFIGURATION, partial(did_change_configuration, editor_settings, pull)),
        (types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS, partial(did_change_workspace_folders, session)),
        (TRUST_CHANGED, partial(did_change_workspace_trust, session, editor_settings, pull)),
        (UNSYNCHRONIZED_CHANGED, partial(did_change_unsynchronized_documents, session)),
        (types.INITIALIZED, partial(initialized, pull)),
        (types.TEXT_DOCUMENT_DID_OPEN, partial(did_open, session)),
        (types.TEXT_DOCUMENT_DID_CHANGE, partial(did_change, session)),
        (types.TEXT_DOCUMENT_DID_SAVE, partial(did_save, session)),
        (types.TEXT_DOCUMENT_DID_CLOSE, partial(did_close, session)),
        (types.WINDOW_WORK_DONE_PROGRESS_CANCEL, partial(cancel_progress, session)),
    ):
        protocol.on_notification(method, handler)
    return session
