"""Many editors at one server, with many documents each, whose users type while their agents read and edit.

For the figures, on a machine that does nothing else::

    python tests/e2e/load.py --sessions 50 --documents 200 --seconds 60
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import signal
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openbuffer.bridge.headless import open_headless

if TYPE_CHECKING:
    from openbuffer.bridge.headless import HeadlessEditor

PULSED = Path(__file__).with_name("pulsed_server.py")
LINES = 40
THINKS_S = 0.25
_APART_S = 0.1
"""Between the first words of two sessions: people do not open their editors in the same millisecond."""


@dataclass
class Load:
    """What is asked of the server."""

    sessions: int
    documents: int
    seconds: float
    seed: int = 1


@dataclass
class Figures:
    """What came of it. Memory in MiB, times in milliseconds."""

    calls: int = 0
    changes: int = 0
    wrong: list[str] = field(default_factory=list)
    opened_in_s: float = 0.0
    median_ms: float = 0.0
    slowest_ms: float = 0.0
    memory_opened: float = 0.0
    memory_quarter: float = 0.0
    memory_end: float = 0.0
    server_busy_s: float = 0.0
    pulse: dict[str, Any] = field(default_factory=dict)
    exit_code: int | None = None


async def run(load: Load, directory: Path) -> Figures:
    """Start a server, load it, end it."""
    figures = Figures()
    beats = directory / "pulse.json"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-P", str(PULSED), str(beats), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        assert process.stdout is not None
        announced = json.loads(await process.stdout.readline())
        reached_by = {"connect": announced["listen"], "access_token": announced["accessToken"]}
        began = time.monotonic()
        times: list[float] = []
        together = asyncio.Barrier(load.sessions + 1)
        async with asyncio.TaskGroup() as sessions:
            for number in range(load.sessions):
                root = directory / f"ws{number}"
                sessions.create_task(_session(load, root, reached_by, number, together, figures, times))
            await together.wait()
            figures.opened_in_s = time.monotonic() - began
            figures.memory_opened = _memory(process.pid)
            busy = _busy_s(process.pid)
            await asyncio.sleep(load.seconds / 4)
            figures.memory_quarter = _memory(process.pid)
            await together.wait()
            figures.server_busy_s = _busy_s(process.pid) - busy
            figures.memory_end = _memory(process.pid)
            await together.wait()
        times.sort()
        figures.median_ms, figures.slowest_ms = times[len(times) // 2] * 1_000, times[-1] * 1_000
        process.send_signal(signal.SIGTERM)
        figures.exit_code = await asyncio.wait_for(process.wait(), 30)
        figures.pulse = json.loads(beats.read_text())
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return figures


class User:
    """One session: its user types into one document after the other, its agent reads and edits what was typed."""

    def __init__(self, editor: HeadlessEditor, root: Path, load: Load, number: int) -> None:
        self._editor = editor
        self._root = root
        self._load = load
        self._rng = random.Random(load.seed * 1_000 + number)
        self._typed = 0

    def path(self, number: int) -> str:
        return str(self._root / f"{number}.txt")

    async def work(self, end: float, figures: Figures, times: list[float]) -> None:
        await asyncio.sleep(self._rng.random() * THINKS_S)
        while time.monotonic() < end:
            self._typed += 1
            path = self.path(self._rng.randrange(self._load.documents))
            mark = f"mark {self._typed} 😋"
            for letter in f"{mark}\n"[::-1]:
                self._editor.memory.type(path, 0, letter)
                figures.changes += 1
            name = self._rng.choices(["Read", "Edit", "Grep"], [6, 3, 1])[0]
            began = time.monotonic()
            wrong = await self._call(name, path, mark)
            times.append(time.monotonic() - began)
            figures.calls += 1
            if wrong:
                figures.wrong.append(f"{name}: {wrong}"[:300])
            await asyncio.sleep(self._rng.random() * THINKS_S * 2)

    async def _call(self, name: str, path: str, mark: str) -> str:
        """What is wrong with the answer; nothing, if it is right."""
        if name == "Read":
            answer = await self._editor.call_tool("Read", {"filePath": path, "limit": 5})
            return "" if f"1\t{mark}" in answer.output else answer.output
        if name == "Grep":
            answer = await self._editor.call_tool("Grep", {"pattern": "line 7 of 1"})
            return "" if not answer.is_error and "1.txt" in answer.output else answer.output
        arguments = {"filePath": path, "oldString": f"{mark}\n", "newString": "edited\n"}
        answer = await self._editor.call_tool("Edit", arguments)
        shown = self._editor.memory.buffer(path).text
        return "" if not answer.is_error and mark not in shown else answer.output


async def _session(
    load: Load,
    root: Path,
    reached_by: dict[str, str],
    number: int,
    together: asyncio.Barrier,
    figures: Figures,
    times: list[float],
) -> None:
    """All that one user does; they begin to work, and leave, together."""
    await asyncio.to_thread(_fill, root, load.documents)
    await asyncio.sleep(number * _APART_S)
    async with open_headless(root, **reached_by) as editor:
        user = User(editor, root, load, number)
        for each in range(load.documents):
            editor.memory.open(user.path(each))
            if each % 20 == 0:
                await asyncio.sleep(0)
        await editor.bridge.list_tools()  # what was sent before has arrived before
        await together.wait()
        await user.work(time.monotonic() + load.seconds, figures, times)
        await together.wait()
        await together.wait()


def _fill(root: Path, documents: int) -> None:
    root.mkdir()
    for number in range(documents):
        (root / f"{number}.txt").write_text("".join(f"line {line} of {number}, and more\n" for line in range(LINES)))


def _memory(pid: int) -> float:
    with open(f"/proc/{pid}/status", encoding="ascii") as lines:
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))


def _busy_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def main() -> None:
    """The figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=50)
    parser.add_argument("--documents", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="openbuffer-load-") as directory:
        load = Load(options.sessions, options.documents, options.seconds)
        print(json.dumps(asdict(asyncio.run(run(load, Path(directory).resolve()))), indent=1))


if __name__ == "__main__":
    main()
