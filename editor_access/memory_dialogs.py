"""The in-memory client's dialogs: what its user is asked, and how that is answered on the wire."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from . import client_requests as wire
from .memory_requests import Prompt

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .client_requests import RichCapabilities
    from .memory_requests import OpenRequests

SHOW_MESSAGE_REQUEST: Final = "window/showMessageRequest"

_WITHOUT_ANSWER: Final[Mapping[str, Any]] = {"outcome": "dismissed"}


class Dialogs:
    """Puts each request before the user as a ``Prompt``, and makes the answer of what they do with it.

    They choose a title of a message, an outcome of a permission, or the values of an answer; a plain yes allows once,
    and a plain no is "no" to a permission. Anything else closes the dialog, as withdrawing does.
    """

    def __init__(self, requests: OpenRequests, *, capabilities: RichCapabilities) -> None:
        self._requests = requests
        self._capabilities = capabilities
        self._open: dict[str, Prompt] = {}

    def takes(self, method: str) -> bool:
        """Whether this is a request for a dialog, and one that the client answers."""
        can = self._capabilities
        announced = {wire.REQUEST_PERMISSION: can.request_permission, wire.ASK_USER: can.ask_user}
        return announced.get(method, method == SHOW_MESSAGE_REQUEST)

    async def answer(self, method: str, params: Mapping[str, Any]) -> Any:
        """Ask, and wait for the user.

        Raises:
            EditorLostError: the connection is gone.
        """
        prompt = Prompt(params)
        dialog_id = params.get("dialogId")
        if dialog_id is not None:
            self._open[dialog_id] = prompt
        try:
            await self._requests.asked(prompt)
        finally:
            self._open.pop(dialog_id or "", None)
        if method == SHOW_MESSAGE_REQUEST:
            return _action(params, prompt)
        return _outcome(prompt) if method == wire.REQUEST_PERMISSION else _values(prompt)

    def withdraw(self, dialog_id: str) -> None:
        """Close the dialog of the request that came with this; unknown ones are ignored."""
        if self._capabilities.withdraw_dialog and (prompt := self._open.get(dialog_id)):
            prompt.withdraw()


def _action(params: Mapping[str, Any], prompt: Prompt) -> Any:
    actions = cast("list[Mapping[str, Any]]", params.get("actions", []))
    return next((action for action in actions if action["title"] == prompt.chosen), None)


def _outcome(prompt: Prompt) -> Any:
    if prompt.reply == "yes":
        return {"outcome": prompt.chosen or "once"}
    return {"outcome": "no"} if prompt.reply == "no" else _WITHOUT_ANSWER


def _values(prompt: Prompt) -> Any:
    if prompt.reply != "yes" or prompt.chosen is None:
        return _WITHOUT_ANSWER
    return {"outcome": "answered", "values": prompt.chosen}
