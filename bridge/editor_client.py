"""The client as the LSP adapter needs it: it applies edits, and answers what it announced beyond LSP."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from lsprotocol import types as lsp
from openbuffer.editor_access.errors import EditorLostError

from .wire.jsonrpc import ConnectionLostError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .wire.jsonrpc import BridgeProtocol


class EditorClient:
    """Implements the adapter's ``LspClient`` over the protocol."""

    def __init__(self, protocol: BridgeProtocol, *, applies_edits: bool) -> None:
        self._protocol = protocol
        self._applies_edits = applies_edits

    async def apply_edit(self, params: lsp.ApplyWorkspaceEditParams) -> lsp.ApplyWorkspaceEditResult | None:
        """Send ``workspace/applyEdit`` and wait for the answer; None for one that cannot be read.

        Raises:
            EditorLostError: the connection ended.
            JsonRpcException: the client answered with an error.
        """
        if not self._applies_edits:
            reason = "this client does not offer workspace/applyEdit, so its open documents can only be read"
            return lsp.ApplyWorkspaceEditResult(applied=False, failure_reason=reason)
        try:
            return _edit_result(await self._protocol.send_request_async(lsp.WORKSPACE_APPLY_EDIT, params))
        except ConnectionLostError as error:
            raise EditorLostError(str(error)) from error

    async def ask(self, method: str, params: Mapping[str, Any]) -> Any:
        """Send a request of ``client_requests``, or of LSP's with params of its form, and wait for its result.

        Raises:
            EditorLostError: the connection ended.
            JsonRpcException: the client answered with an error.
        """
        typed = _TYPED.get(method)
        try:
            return await self._protocol.send_request_async(method, params if typed is None else typed(params))
        except ConnectionLostError as error:
            raise EditorLostError(str(error)) from error

    def tell(self, method: str, params: Mapping[str, Any]) -> None:
        """Send a notification of ``client_requests``."""
        self._protocol.send_notification(method, dict(params))


def _message_params(params: Mapping[str, Any]) -> lsp.ShowMessageRequestParams:
    actions = [lsp.MessageActionItem(action["title"]) for action in params["actions"]]
    return lsp.ShowMessageRequestParams(lsp.MessageType(params["type"]), params["message"], actions)


def _token_params(params: Mapping[str, Any]) -> lsp.WorkDoneProgressCreateParams:
    return lsp.WorkDoneProgressCreateParams(params["token"])


def _configuration_params(params: Mapping[str, Any]) -> lsp.ConfigurationParams:
    return lsp.ConfigurationParams([lsp.ConfigurationItem(section=item["section"]) for item in params["items"]])


def _registration_params(params: Mapping[str, Any]) -> lsp.RegistrationParams:
    return lsp.RegistrationParams(
        [lsp.Registration(each["id"], each["method"], each.get("registerOptions")) for each in params["registrations"]]
    )


_TYPED: Final[Mapping[str, Callable[[Mapping[str, Any]], object]]] = {
    lsp.WINDOW_SHOW_MESSAGE_REQUEST: _message_params,
    lsp.WINDOW_WORK_DONE_PROGRESS_CREATE: _token_params,
    lsp.WORKSPACE_CONFIGURATION: _configuration_params,
    lsp.CLIENT_REGISTER_CAPABILITY: _registration_params,
}
"""What pygls takes in the form of its classes alone, as it does for every method that it knows."""


def _edit_result(answer: object) -> lsp.ApplyWorkspaceEditResult | None:
    fields = cast("dict[str, Any]", answer) if isinstance(answer, dict) else {}
    applied, reason = fields.get("applied"), fields.get("failureReason")
    if not isinstance(applied, bool):
        return None
    return lsp.ApplyWorkspaceEditResult(applied=applied, failure_reason=reason if isinstance(reason, str) else None)
