"""Sessions of arbitrary messages with a real server, and the judge of what comes back."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import signal
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .wire_messages import Item, Messages, frame, key

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

BATCH = 250
"""After so many messages the server has to answer for all of them before it gets more."""

DEADLINE_S = 60.0
"""For a whole batch; it is there to find what hangs."""


@dataclass
class Figures:
    """What a run came to. Memory is the server's, in MiB; ``early`` of it after the first tenth."""

    messages: int = 0
    answers: int = 0
    sessions: int = 0
    early: float = 0.0
    peak: float = 0.0
    problems: list[str] = field(default_factory=list)


@dataclass
class Fuzz:
    """Runs sessions until that many messages were sent; ``call`` makes the calls of tools."""

    command: Sequence[str]
    root: Path
    call: Callable[[Messages], tuple[str, Any]]
    seed: int
    per_session: int = 5_000

    async def run(self, messages: int) -> Figures:
        """Never raises for what the server does: problems are told."""
        figures = Figures()
        rng = random.Random(self.seed)
        while figures.messages < messages and not figures.problems:
            figures.sessions += 1
            most = min(self.per_session, messages - figures.messages)
            session = _Session(Messages(rng, self.root.as_uri(), self.call), figures)
            await session.run(self.command, most)
        return figures


class _Session:
    def __init__(self, messages: Messages, figures: Figures) -> None:
        self._messages = messages
        self._rng = messages.rng
        self._figures = figures
        self._owed: Counter[str] = Counter()
        self._perhaps: Counter[str] = Counter()
        self._came: Counter[str] = Counter()
        self._codes: dict[str, Any] = {}
        self._awaited: dict[str, asyncio.Event] = {}
        self._syncs = 0
        self._wild = 0

    async def run(self, command: Sequence[str], most: int) -> None:
        process = await asyncio.create_subprocess_exec(
            *command, stdin=-1, stdout=-1, stderr=asyncio.subprocess.DEVNULL, start_new_session=True, limit=2**26
        )
        self._process = process
        reading = asyncio.create_task(self._read(process))
        try:
            await self._live(most)
            assert await asyncio.wait_for(process.wait(), DEADLINE_S) in {0, 1}, process.returncode
            await reading
            self._judge()
        except Exception as error:  # noqa: BLE001  a problem of the server's, told with the rest
            self._figures.problems.append(f"session {self._figures.sessions}: {error!r}")
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
            await process.wait()

    async def _live(self, most: int) -> None:
        sent = await self._some(min(20, most), before=True)
        params = {
            "processId": None,
            "rootUri": self._messages.root_uri,
            "capabilities": {"workspace": {"applyEdit": True}},
        }
        self._owe(Item(frame(self._messages.rpc(id="begin", method="initialize", params=params)), ('"begin"',)))
        await self._until_answered("begin")
        while sent < most:
            sent += await self._some(min(BATCH, most - sent))
            await self._synchronised()
            if not self._figures.early and self._figures.messages >= self._figures.sessions * most // 10:
                self._figures.early = self._memory("VmRSS")
        self._owe(self._messages.let_go())
        for held in self._messages.holds:
            self._send(frame(self._messages.rpc(method="$/cancelRequest", params={"id": held})))
        await self._synchronised()
        self._figures.peak = max(self._figures.peak, self._memory("VmHWM"))
        if self._rng.random() < 0.8:
            self._owe(Item(frame(self._messages.rpc(id="end", method="shutdown")), ('"end"',)))
            await self._until_answered("end")
            await self._some(20, after=True)
            await self._synchronised()
        self._send(frame(self._messages.rpc(method="exit")))

    async def _some(self, count: int, *, before: bool = False, after: bool = False) -> int:
        """Send so many; before initialize and after shutdown nothing that would wait."""
        data = bytearray()
        for _ in range(count):
            item = self._messages.next() if not (before or after) else self._rng.choice(self._idle())()
            data += self._note(item)
        self._figures.messages += count
        while data:
            size = self._rng.choice([len(data), 1, 7, 100, 4_096, 65_536])
            self._send(bytes(data[:size]))
            del data[:size]
            if size < len(data) and self._rng.random() < 0.05:
                await asyncio.sleep(0)
        assert self._process.stdin is not None
        await asyncio.wait_for(self._process.stdin.drain(), DEADLINE_S)
        return count

    def _idle(self) -> list[Callable[[], Item]]:
        messages = self._messages
        return [
            messages.notification,
            messages.document,
            messages.cancel,
            messages.answer,
            messages.sloppy,
            messages.damaged,
        ]

    def _note(self, item: Item) -> bytes:
        for each in item.exactly:
            self._owed[each] += 1
        for each in item.perhaps:
            self._perhaps[each] += 1
        if not item.is_damaged:
            return item.data
        self._wild += item.is_wild
        # What is broken may cost the message behind it: one that nobody waits for.
        return item.data + frame(self._messages.rpc(method="no/such", params="after what is broken"))

    def _owe(self, item: Item) -> None:
        self._send(self._note(item))

    async def _synchronised(self) -> None:
        self._syncs += 1
        name = f"sync {self._syncs}"
        self._owe(Item(frame(self._messages.rpc(id=name, method="no/such")), (key(name),)))
        await self._until_answered(name)

    async def _until_answered(self, request_id: str) -> None:
        event = self._awaited.setdefault(key(request_id), asyncio.Event())
        await asyncio.wait_for(event.wait(), DEADLINE_S)

    def _send(self, data: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(data)

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        """Strictly: anything but frames is a problem."""
        assert process.stdout is not None
        while header := await process.stdout.readline():
            assert header.startswith(b"Content-Length: "), header
            assert await process.stdout.readline() == b"\r\n"
            message = json.loads(await process.stdout.readexactly(int(header[16:])))
            assert message["jsonrpc"] == "2.0"
            if "method" in message:
                if "id" in message:  # a question: most of what it gets is nonsense
                    answer = self._rng.choice(
                        [{"result": None}, {"result": 5}, {"error": {}}, {"error": 1, "result": 2}, {}]
                    )
                    self._send(frame({"jsonrpc": "2.0", "id": message["id"], **answer}))
                continue
            assert ("result" in message) != ("error" in message), message
            self._figures.answers += 1
            each = key(message["id"])
            self._came[each] += 1
            self._awaited.setdefault(each, asyncio.Event()).set()

    def _judge(self) -> None:
        missing = [(each, owed, self._came[each]) for each, owed in self._owed.items() if self._came[each] < owed]
        told = [f"id {each[:80]}: {owed} requests, {came} answers" for each, owed, came in missing if each != "null"]
        beyond = {each: came - self._owed[each] - self._perhaps[each] for each, came in self._came.items()}
        too_many = {each: number for each, number in beyond.items() if number > 0 and each != "null"}
        if sum(too_many.values()) > self._wild:  # bytes that were changed may have made another id of the one there was
            told.append(f"answers that nobody asked for: {too_many}, and {self._wild} requests that became others")
        self._figures.problems += told

    def _memory(self, what: str) -> float:
        with open(f"/proc/{self._process.pid}/status", encoding="ascii") as lines:
            return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(what))
