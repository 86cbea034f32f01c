"""A window of the real VS Code with the extension in it, whose tools are called as another extension calls them."""

from __future__ import annotations

import contextlib
import itertools
from typing import TYPE_CHECKING, Any

from ..e2e.neovim import Answer
from .window import START_S, Window, wait_for

if TYPE_CHECKING:
    from collections.abc import Mapping
    from concurrent.futures import Future
    from pathlib import Path

EXTENSION = "openbuffer.openbuffer"
CALL_S = 60.0
_numbers = itertools.count(1)

_CALL = """
const [number, id, name, input] = args;
const extension = vscode.extensions.getExtension(id);
const api = extension.isActive ? extension.exports : await extension.activate();
probe.tokens ??= new Map();
probe.begun ??= new Set();
const source = new vscode.CancellationTokenSource();
probe.tokens.set(number, source);
probe.begun.add(number);
try {
  return {answer: await api.callTool(name, input, {token: source.token})};
} catch (error) {
  return {failure: `${error.name}: ${error.message}`};
} finally {
  probe.tokens.delete(number);
}
"""

_CANCEL = """
while (!probe.begun?.has(args[0])) await new Promise((resolve) => setTimeout(resolve, 2));
probe.tokens.get(args[0])?.cancel();
"""


class Call:
    """A call on its way; ask for its answer when the test has done what must happen meanwhile."""

    def __init__(self) -> None:
        self._number = next(_numbers)
        self._reply: Future[Any] | None = None

    def begin(self, window: Window, params: Mapping[str, Any]) -> Call:
        self._window = window
        self._reply = window.begin_js(
            _CALL, self._number, EXTENSION, params["name"], params["arguments"], timeout_s=CALL_S
        )
        return self

    def cancel(self) -> None:
        self._window.js(_CANCEL, self._number)

    def done(self) -> bool:
        return self._reply is not None and self._reply.done()

    def answer(self, timeout_s: float = CALL_S) -> Answer:
        """What the tool answered. A call without an answer is an answer that is a hard error."""
        assert self._reply is not None, "it was not begun"
        told = self._reply.result(timeout_s)
        if "failure" in told:
            return Answer({"isError": True, "error": {"type": "no answer", "message": told["failure"]}})
        return Answer(told["answer"])


class ClientWindow(Window):
    """The agent's side of a window."""

    def begin(self, tool: str, **arguments: Any) -> Call:
        """Start a tool call and come back while it is on its way."""
        return Call().begin(self, {"name": tool, "arguments": arguments})

    def call(self, tool: str, **arguments: Any) -> Answer:
        return self.begin(tool, **arguments).answer()

    def read(self, file: Path | str, **more: Any) -> Answer:
        return self.call("Read", filePath=str(file), **more)

    def edit(self, file: Path | str, old: str, new: str, **more: Any) -> Answer:
        return self.call("Edit", filePath=str(file), oldString=old, newString=new, **more)

    def write(self, file: Path | str, content: str) -> Answer:
        return self.call("Write", filePath=str(file), content=content)

    # --- the extension -------------------------------------------------------------------------------------

    def api(self, source: str, *args: Any, timeout_s: float = CALL_S) -> Any:
        """Code with ``api``, what the extension gives to others, in the extension host."""
        prelude = f"const api = await vscode.extensions.getExtension('{EXTENSION}').activate();\n"
        return self.js(prelude + source, *args, timeout_s=timeout_s)

    def server_pid(self) -> int | None:
        """The process that the extension has started as its server."""
        return self.api("return api.server?.processId ?? null")

    def wait_until_running(self) -> ClientWindow:
        """Until the language server runs."""
        state = ""

        def is_running() -> bool:
            nonlocal state
            state = self.api("return api.serverState + (api.problem ? ': ' + api.problem.message : '')")
            return state == "running" or state.startswith("failed")

        with contextlib.suppress(AssertionError):
            wait_for(is_running, "the language server", START_S)
        assert state == "running", f"the language server is {state}\n{self.server.extension_logs()}"
        return self
