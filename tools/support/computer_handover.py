"""Waiting until a person hands the computer back: they are asked, or the driver is told by somebody else (W6)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import anyio

from ..limits import APPROVAL_TIMEOUT_S, COMPUTER_POLL_S
from ..ports import Question
from .located import printable

if TYPE_CHECKING:
    from ..computer import ComputerDriver
    from ..contract import CancellationToken
    from ..ports import AskPort

HAND_BACK: Final = "Hand it back"
KEEP: Final = "Keep it"


async def handed_back(driver: ComputerDriver, reason: str, ask: AskPort | None, token: CancellationToken) -> bool:
    """Whether the computer can be driven again. A person who can be asked is waited for, within bounds.

    The takeover is ended by their word alone: not by silence, not by a question that they closed, not by an error, and
    not by cancelling the call, after which it goes on.
    """
    if ask is None:
        return driver.takeover is None
    with anyio.move_on_after(APPROVAL_TIMEOUT_S):
        async with anyio.create_task_group() as group:

            async def put() -> None:
                if await _says_so(ask, reason):
                    await driver.end_takeover()
                group.cancel_scope.cancel()

            group.start_soon(put)
            while driver.takeover is not None and not token.cancelled:  # noqa: ASYNC110  both wake nobody
                await anyio.sleep(COMPUTER_POLL_S)
            group.cancel_scope.cancel()
    return driver.takeover is None


async def _says_so(ask: AskPort, reason: str) -> bool:
    text = f"You have the computer: {printable(reason)}. Hand it back when you are done."
    options = {HAND_BACK: "The agent sees the screen and acts again", KEEP: "The agent goes on without it"}
    try:
        answer = await ask.ask(Question(text=text, options=options))
    except Exception:  # noqa: BLE001  whatever a client's code raises, nobody has said so
        return False
    return answer.outcome == "answered" and answer.values == (HAND_BACK,)
