"""An editor that is killed in the middle of a tool call.

python doomed_editor.py FILE CLIENT STEP, where CLIENT is "plain", "rich" or "closed" (rich, and the file is not open).

Prints the server's process id and then each step that it reaches, and dies by SIGKILL at the one that is named.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from functools import partial
from typing import Any

from openbuffer.bridge.headless import open_headless
from openbuffer.editor_access.memory_lsp import PLAIN, RICH

_CALL = {"oldString": "same", "newString": "AGENT"}


async def main(path: str, client: str, fatal: str) -> None:
    """Open the file, and have it edited."""

    def at(step: str) -> None:
        print(step, flush=True)
        if step == fatal:
            os.kill(os.getpid(), signal.SIGKILL)

    async with open_headless(os.path.dirname(path), rich=PLAIN if client == "plain" else RICH) as editor:
        print(editor.bridge.pid, flush=True)
        if client != "closed":
            editor.memory.open(path)

        async def asked(answer: Any, *params: Any) -> Any:
            name = params[0].rpartition("/")[2] if isinstance(params[0], str) else "applyEdit"
            at(f"{name} came")
            result = await answer(*params)
            at(f"{name} is about to be answered")
            return result

        editor.client.ask = partial(asked, editor.client.ask)  # type: ignore[method-assign]
        editor.client.apply_edit = partial(asked, editor.client.apply_edit)  # type: ignore[method-assign]
        editor.client.on_handled = lambda: at("it was done, and not told")
        call = asyncio.ensure_future(editor.call_tool("Edit", {"filePath": path, **_CALL}))
        await asyncio.sleep(0)
        at("called")
        if fatal == "some time later":
            await asyncio.sleep(0.01)
            at("some time later")
        answer = await call
        at("answered")
        assert not answer.is_error, answer


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:4]))
