"""Every tool of a real server can be cancelled, in every way: one answer, soon, and a log that tells what became."""

from __future__ import annotations

import asyncio
import itertools
import random
from contextlib import asynccontextmanager, closing
from typing import TYPE_CHECKING, Any

import pytest
from openbuffer.tools.adapters.sqlite_log_reader import LogReader

from .neovim import wait_until_gone
from .raw_client import LATER, RawClient
from .test_bridge_commands import Place

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

SHOW = "window/showMessageRequest"
WAYS = ("request id", "request id of a command", "client's token", "server's token")
LONG_WAYS = ("request id of a command", "server's token")
"""Those are tried on all tools in the long mode alone, and in any case on what is at work."""
CANCELLED = {"code": -32800, "message": "cancelled"}

QUESTION = {"questions": [{"question": "Which?", "options": ["red", "blue"]}]}
CALLS: dict[str, dict[str, Any]] = {
    "Read": {"filePath": "a.txt"},
    "Write": {"filePath": "new.txt", "content": "new\n"},
    "Edit": {"filePath": "b.txt", "oldString": "one", "newString": "two"},
    "Delete": {"path": "c.txt"},
    "ListDir": {"recursive": True},
    "Glob": {"pattern": "**/*"},
    "Grep": {"pattern": "n.*e"},
    "CodebaseRetrieval": {"query": "one"},
    "Shell": {"command": "touch by-shell"},
    "Bash": {"command": "touch by-bash"},
    "WebFetch": {"url": "http://127.0.0.1:{port}/"},
    "WebSearch": {"query": "one"},
    "AskUserQuestion": QUESTION,
    "TaskCreate": {"title": "one"},
    "TaskUpdate": {"id": 1, "state": "done"},
    "TaskList": {},
}
MADE = {"Write": "new.txt", "Shell": "by-shell", "Bash": "by-bash"}


@asynccontextmanager
async def silent_web() -> AsyncIterator[int]:
    """A web server that takes requests and never answers; its port."""

    async def swallow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with_writer.append(writer)
        while await reader.read(65536):
            pass

    with_writer: list[asyncio.StreamWriter] = []
    server = await asyncio.start_server(swallow, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for writer in with_writer:
            writer.close()


def configure(place: Place, port: int, permissions: str) -> None:
    place.config.write_text(
        f'[permissions]\n{permissions}[web]\nallowed_hosts = ["127.0.0.1:{port}"]\n'
        f'[search]\nprovider = "searxng"\nurl = "http://127.0.0.1:{port}"\n'
    )


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path.resolve())
    place.variables["PATH"] = "/usr/local/bin:/usr/bin:/bin"
    for name in ("a.txt", "b.txt", "c.txt"):
        (place.root / name).write_text("one\n")
    return place


@asynccontextmanager
async def session(place: Place, **window: bool) -> AsyncIterator[RawClient]:
    async with RawClient.start(cwd=place.root, env=place.variables) as client:
        client.on_request[SHOW] = lambda _params: LATER
        client.on_request["window/workDoneProgress/create"] = lambda _params: None
        await client.initialize(
            place.root, capabilities={"workspace": {"applyEdit": True}, "window": {"workDoneProgress": True, **window}}
        )
        yield client
        assert await client.leave() == 0


class Call:
    """A call that can be cancelled in one way."""

    _numbers = itertools.count(1)

    def __init__(self, client: RawClient, way: str, name: str, arguments: dict[str, Any]) -> None:
        self.client = client
        self.way = way
        self.since = len(client.received)
        self.token: object = f"bar {next(self._numbers)}" if way == "client's token" else None
        call = {"name": name, "arguments": arguments}
        if self.token is not None:
            call["workDoneToken"] = self.token
        if way == "request id of a command":
            self.id = client.ask("workspace/executeCommand", {"command": "openbuffer.callTool", "arguments": [call]})
        else:
            self.id = client.ask("openbuffer/callTool", call)

    async def cancel(self) -> None:
        if self.way.startswith("request id"):
            self.client.notify("$/cancelRequest", {"id": self.id})
            return
        if self.way == "server's token":
            made = await self.client.expect(
                lambda m: m.get("method") == "$/progress" and m["params"]["value"]["kind"] == "begin",
                since=self.since,
            )
            self.token = made["params"]["token"]
        self.client.notify("window/workDoneProgress/cancel", {"token": self.token})

    async def ended(self) -> None:
        """It is answered as cancelled, once, and its progress has ended before."""
        assert (await self.client.answer(self.id))["error"] == CANCELLED
        assert await self.client.alive()
        assert len(self.client.answers(self.id)) == 1
        if self.token is not None:
            told = [
                m["params"]["value"]["kind"]
                for m in self.client.received
                if m.get("method") == "$/progress" and m["params"]["token"] == self.token
            ]
            assert (told[0], told[-1], told.count("begin"), told.count("end")) == ("begin", "end", 1, 1)

    async def shown(self) -> None:
        """A dialog has been opened since it began."""
        came = await self.client.expect(
            lambda m: m.get("method") == SHOW or (m.get("id") == self.id and "method" not in m), since=self.since
        )
        assert came.get("method") == SHOW, came


def arguments_of(name: str, port: int) -> dict[str, Any]:
    given = CALLS[name]
    return {**given, "url": given["url"].format(port=port)} if "url" in given else given


def logged(place: Place) -> list[tuple[str, str, list[str]]]:
    """Of every call, the first one first: its tool, its outcome, and the kinds of its events."""
    with closing(LogReader(str(place.state / "log"))) as reader:
        calls = sorted(reader.calls(), key=lambda call: call.number)
    return [(call.tool, call.outcome, [type(e.event).__name__ for e in call.events]) for call in calls]


@pytest.mark.contract("B2", "T6", "X4")
@pytest.mark.parametrize(
    "way", [pytest.param(way, marks=[pytest.mark.slow] if way in LONG_WAYS else []) for way in WAYS]
)
async def test_every_tool_can_be_cancelled_while_it_waits_for_a_permission(place: Place, way: str) -> None:
    async with silent_web() as port:
        configure(place, port, 'default = "ask"\n')
        async with session(place) as client:
            listed = [tool["name"] for tool in (await client.request("openbuffer/listTools"))["result"]["tools"]]
            assert set(listed) == set(CALLS), "each tool needs a call in this test"
            client.on_request[SHOW] = lambda _params: {"title": "Allow once"}
            assert not (await client.call("TaskCreate", {"title": "for TaskUpdate"}))["isError"]
            client.on_request[SHOW] = lambda _params: LATER
            for name in listed:
                call = Call(client, way, name, arguments_of(name, port))
                await call.shown()
                await call.cancel()
                await call.ended()
            dialogs = [m["id"] for m in client.received if m.get("method") == SHOW][1:]
            withdrawn = [m["params"]["id"] for m in client.received if m.get("method") == "$/cancelRequest"]
            assert set(dialogs) <= set(withdrawn)
    assert sorted(path.name for path in place.root.iterdir()) == ["a.txt", "b.txt", "c.txt"]
    assert {path.read_text() for path in place.root.iterdir()} == {"one\n"}
    told = logged(place)[1:]
    assert [tool for tool, _, _ in told] == listed
    assert all(kinds == ["ApprovalAsked", "ApprovalAnswered", "ToolRejected"] for _, _, kinds in told)


async def at_work(client: RawClient, call: Call, place: Place, name: str) -> None:
    """Return when it is certain that the tool itself is at work."""
    if name in {"Shell", "Bash"}:
        while not (place.root / "pid").exists():
            assert await client.alive()
    elif name == "AskUserQuestion":
        await call.shown()


WORKING: dict[str, dict[str, Any]] = {
    "Shell": {"command": "echo $$ >pid~; mv pid~ pid; trap '' TERM; sleep 300"},
    "Bash": {"command": "echo $$ >pid~; mv pid~ pid; exec sleep 300"},
    "WebFetch": CALLS["WebFetch"],
    "WebSearch": CALLS["WebSearch"],
    "AskUserQuestion": QUESTION,
}


@pytest.mark.contract("B2", "T6", "S2", "W3")
@pytest.mark.parametrize("way", WAYS)
async def test_what_is_at_work_stops_and_says_so(place: Place, way: str) -> None:
    async with silent_web() as port:
        configure(place, port, "")
        async with session(place) as client:
            for name, given in WORKING.items():
                arguments = {**given, "url": given["url"].format(port=port)} if "url" in given else given
                call = Call(client, way, name, arguments)
                await at_work(client, call, place, name)
                await call.cancel()
                await call.ended()
                if (place.root / "pid").exists():
                    assert wait_until_gone([int((place.root / "pid").read_text())], 10) == []
                    (place.root / "pid").unlink()
    for tool, outcome, kinds in logged(place):
        assert (outcome, kinds[0]) == ("cancelled", "ToolIntended"), tool


@pytest.mark.contract("B2", "T6", "X2")
async def test_whenever_a_call_is_cancelled_its_answer_the_log_and_the_disk_agree(place: Place) -> None:
    dice = random.Random(11)
    calls: list[tuple[str, int, Path | None]] = []
    for number in range(300):
        (place.root / f"{number}.txt").write_text("one\n" * 200)
    async with silent_web() as port:
        configure(place, port, "")
        async with session(place) as client:
            await client.call("Read", {"filePath": "a.txt"})
            for number in range(120):
                name = dice.choice(sorted(CALLS.keys() - {"AskUserQuestion"}))
                arguments = arguments_of(name, port)
                made = None
                if name in MADE:
                    made = place.root / f"made-{number}"
                    key = "filePath" if name == "Write" else "command"
                    arguments = {**arguments, key: str(made) if name == "Write" else f"touch {made}"}
                call = Call(client, "request id", name, arguments)
                calls.append((name, call.id, made))
                for _ in range(dice.choice([0, 0, 0, 1, 2, 5])):
                    assert await client.alive()
                client.notify("$/cancelRequest", {"id": call.id})
            answers = {request_id: await client.answer(request_id) for _, request_id, _ in calls}
            assert all(len(client.answers(request_id)) == 1 for _, request_id, _ in calls)
    cancelled = {request_id for request_id, answer in answers.items() if "error" in answer}
    assert all(answers[request_id]["error"] == CANCELLED for request_id in cancelled)
    assert cancelled
    for name, request_id, made in calls:
        if made is not None and request_id not in cancelled and not answers[request_id]["result"]["isError"]:
            assert made.exists(), name
    told = logged(place)[1:]
    assert not [each for each in told if each[1] in {"running", "interrupted"}]
    # What never came as far as the log did nothing; of the rest as many were cancelled as were answered so, or fewer.
    assert sum(outcome == "cancelled" for _, outcome, _ in told) <= len(cancelled)
    intended = _intended(place)
    assert all(made is None or not made.exists() or str(made) in intended for _, _, made in calls)


def _intended(place: Place) -> set[str]:
    """Paths and last words of commands that were about to be made, by the log."""
    with closing(LogReader(str(place.state / "log"))) as reader:
        targets = [target for call in reader.calls() if call.intent is not None for target in call.targets]
    return {target.subject.removeprefix("touch ") for target in targets}
