"""``initialize``: take in what the client is, say what the server is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lsprotocol import types

from ..client_facts import read_client_facts
from ..protocol import CALL_TOOL_COMMAND, LIST_TOOLS_COMMAND, PROTOCOL_VERSION
from ..version import VERSION

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..editor_settings import EditorSettings
    from ..protocol import OpenbufferCapabilities
    from ..session import Session
    from ..settings_pull import SettingsPull


async def initialize(
    session: Session,
    watch_process: Callable[[int], None],
    settings: EditorSettings,
    pull: SettingsPull,
    params: object,
) -> dict[str, Any]:
    """Begin the session; its process is watched from now on, so that the server ends with it."""
    facts = read_client_facts(params)
    session.begin(facts)
    settings.begin(facts.settings, facts.workspace_trusted)
    pull.begin(facts)
    if facts.process_id is not None:
        watch_process(facts.process_id)
    return {
        "capabilities": _capabilities(facts.position_encoding),
        "serverInfo": {"name": "openbuffer", "version": VERSION},
    }


def _capabilities(position_encoding: str) -> dict[str, Any]:
    openbuffer: OpenbufferCapabilities = {"protocolVersion": PROTOCOL_VERSION}
    return {
        "positionEncoding": position_encoding,
        "textDocumentSync": {
            "openClose": True,
            "change": types.TextDocumentSyncKind.Incremental.value,
            # The text that comes with a save is the one chance to notice that the two sides have drifted apart.
            "save": {"includeText": True},
        },
        "workspace": {"workspaceFolders": {"supported": True, "changeNotifications": True}},
        "executeCommandProvider": {"commands": [LIST_TOOLS_COMMAND, CALL_TOOL_COMMAND], "workDoneProgress": True},
        "experimental": {"openbuffer": openbuffer},
    }
