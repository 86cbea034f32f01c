"""The connection between an editor and the tools' process: all arrives later, in the order in which it was sent."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Any

from .seams import after

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from lsprotocol import types as lsp
    from openbuffer.editor_access.memory_lsp import MemoryLanguageClient


class Wire:
    """Implements ``LspClient``, and carries what the client tells to its ``deliver`` functions, one after the other."""

    def __init__(self, client: MemoryLanguageClient, latency: Callable[[], int]) -> None:
        self._client = client
        self._latency = latency
        self._to_tools: deque[Callable[[], None]] = deque()
        self._requests: set[asyncio.Task[None]] = set()

    def send(self, deliver: Callable[[], None]) -> None:
        """Have ``deliver`` called on the tools' side, after everything that was sent before."""
        self._to_tools.append(deliver)
        if len(self._to_tools) == 1:
            after(self._latency(), self._arrive)

    def cut(self) -> None:
        """Nothing of what is on its way arrives."""
        self._to_tools.clear()

    async def apply_edit(self, params: lsp.ApplyWorkspaceEditParams) -> lsp.ApplyWorkspaceEditResult | None:
        return await self._asked(lambda: self._client.apply_edit(params))

    async def ask(self, method: str, params: Mapping[str, Any]) -> Any:
        return await self._asked(lambda: self._client.ask(method, params))

    def tell(self, method: str, params: Mapping[str, Any]) -> None:
        after(self._latency(), lambda: self._client.tell(method, params))

    async def _asked(self, ask: Callable[[], Awaitable[Any]]) -> Any:
        """The request reaches the editor, whether or not somebody still waits for the answer."""
        loop = asyncio.get_running_loop()
        answered: asyncio.Future[Any] = loop.create_future()

        async def answer() -> None:
            try:
                result = await ask()
            except Exception as error:  # noqa: BLE001  # an error is an answer as well
                self.send(lambda error=error: _answered(answered, None, error))
            else:
                self.send(lambda: _answered(answered, result, None))

        after(self._latency(), lambda: self._keep(loop.create_task(answer())))
        return await answered

    def _keep(self, task: asyncio.Task[None]) -> None:
        self._requests.add(task)  # a request is never dropped half-way
        task.add_done_callback(self._requests.discard)

    def _arrive(self) -> None:
        if not self._to_tools:
            return  # cut meanwhile
        self._to_tools.popleft()()
        if self._to_tools:
            after(self._latency(), self._arrive)


def _answered(answered: asyncio.Future[Any], result: Any, error: Exception | None) -> None:
    if answered.done():
        return
    if error is None:
        answered.set_result(result)
    else:
        answered.set_exception(error)
