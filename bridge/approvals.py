"""Approvals over LSP: the whole plan for a client that announced ``openbuffer/requestPermission``, else in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from openbuffer.editor_access.client_requests import REQUEST_PERMISSION
from openbuffer.tools.ports import ApprovalAnswer

from .approval_text import plan_in_words
from .approval_wire import permission_params, read_permission
from .dialogs import DialogTimeoutError, NoDialogError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openbuffer.tools.ports import ApprovalOutcome, ApprovalRequest

    from .call_turn import CallTurn
    from .dialogs import Dialogs

DENY: Final = "Deny"
ALLOW_ONCE: Final = "Allow once"
ALLOW_SESSION: Final = "Allow for this session"
ALLOW_ALWAYS: Final = "Always allow"

# Some clients put the first action where a stray Return chooses it.
_ONCE_ONLY: Final[Mapping[str, ApprovalOutcome]] = {DENY: "no", ALLOW_ONCE: "once"}
_ALL: Final[Mapping[str, ApprovalOutcome]] = {**_ONCE_ONLY, ALLOW_SESSION: "session", ALLOW_ALWAYS: "always"}


class LspApprovals:
    """Fulfils ``ApprovalPort`` for one call, whose turn is given back while the user thinks."""

    def __init__(self, dialogs: Dialogs, turn: CallTurn) -> None:
        self._dialogs = dialogs
        self._turn = turn

    async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Ask the user."""
        async with self._turn.given_back("waits for your permission"):
            try:
                if self._dialogs.can.request_permission:
                    return await self._whole(request)
                return await self._in_words(request)
            except NoDialogError as error:
                return ApprovalAnswer(outcome="unavailable", reason=str(error))
            except DialogTimeoutError as error:
                return ApprovalAnswer(outcome="timeout", reason=str(error))

    async def _whole(self, request: ApprovalRequest) -> ApprovalAnswer:
        params = cast("Mapping[str, Any]", permission_params(request))
        answer = read_permission(await self._dialogs.ask(REQUEST_PERMISSION, params))
        if answer is None:
            raise NoDialogError(f"the client's answer to {REQUEST_PERMISSION} is none that it can give")
        return answer

    async def _in_words(self, request: ApprovalRequest) -> ApprovalAnswer:
        words = plan_in_words(request)
        outcomes = _ALL if words.offers_rules else _ONCE_ONLY
        chosen = await self._dialogs.show_message("warning", words.message, tuple(outcomes))
        return ApprovalAnswer(outcome="dismissed" if chosen is None else outcomes[chosen])
