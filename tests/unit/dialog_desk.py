"""What tests of dialogs share: a client whose user does what the test says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
from openbuffer.bridge.call_turn import CallTurn
from openbuffer.bridge.dialogs import Dialogs
from openbuffer.editor_access.client_requests import RichCapabilities
from openbuffer.editor_access.memory_lsp import RICH
from pygls.exceptions import JsonRpcException

if TYPE_CHECKING:
    from collections.abc import Mapping

PLAIN = RichCapabilities()
NEVER: Any = object()
"""The answer of a client that gives none."""


class Client:
    """Answers every request with the next of ``answers``, or keeps it open; fulfils ``DialogClient``."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, Mapping[str, Any]]] = []
        self.told: list[tuple[str, Mapping[str, Any]]] = []
        self.open = 0
        self.most_open = 0
        self.withdrawn = 0
        self.came = anyio.Event()

    async def ask(self, method: str, params: Mapping[str, Any]) -> Any:
        self.asked.append((method, params))
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        self.came.set()
        try:
            answer = self.answers.pop(0) if self.answers else NEVER
            if answer is NEVER:
                await anyio.sleep_forever()
            if isinstance(answer, anyio.Event):
                await answer.wait()
                answer = None
            await anyio.lowlevel.checkpoint()
        except anyio.get_cancelled_exc_class():
            self.withdrawn += 1
            raise
        finally:
            self.open -= 1
        if isinstance(answer, Exception):
            raise answer
        return answer

    def tell(self, method: str, params: Mapping[str, Any]) -> None:
        self.told.append((method, params))


class Desk:
    """The dialogs of a session with one turn, and a call that holds it."""

    def __init__(self, *answers: Any, rich: bool = False, timeout_s: float = 60, queue_s: float = 60) -> None:
        self.client = Client(*answers)
        self.dialogs = Dialogs(self.client, RICH if rich else PLAIN, timeout_s=timeout_s, queue_s=queue_s)
        self.turns = anyio.Semaphore(1, fast_acquire=True)
        self.turn = CallTurn(self.turns)


def unknown_method() -> Exception:
    return JsonRpcException("unknown", -32601)


def chosen(title: str) -> Any:
    return {"title": title}
