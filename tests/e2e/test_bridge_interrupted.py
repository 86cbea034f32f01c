"""Edits that are interrupted, over real JSON-RPC: editors that are killed, late, silent or cancelled; two servers."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from openbuffer.bridge.headless import open_headless
from openbuffer.editor_access.memory_lsp import RICH

from .raw_client import RawClient

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

HASTY = (sys.executable, "-P", str(Path(__file__).with_name("hasty_server.py")))
DOOMED = Path(__file__).with_name("doomed_editor.py")
OLD, NEW = "first\nsame\nlast\n", "first\nAGENT\nlast\n"
GONE_S = 10.0

# --- an editor that is killed --------------------------------------------------------------------------------

STEPS = {
    "rich": [
        *("called", "readDocument came", "readDocument is about to be answered"),
        *("applyEdit came", "applyEdit is about to be answered"),
        *("saveDocument came", "saveDocument is about to be answered", "answered"),
    ],
    "plain": ["called", "applyEdit came", "it was done, and not told", "applyEdit is about to be answered", "answered"],
    "closed": ["called", "some time later", "answered"],
}
ALWAYS = {
    ("rich", "applyEdit is about to be answered"),
    ("rich", "saveDocument came"),
    ("rich", "saveDocument is about to be answered"),
    ("plain", "it was done, and not told"),
    ("closed", "some time later"),
}
DEATHS = [
    pytest.param(client, step, marks=[] if (client, step) in ALWAYS else [pytest.mark.slow])
    for client, steps in STEPS.items()
    for step in steps
]


@pytest.mark.contract("B3", "E2", "E9", "F4")
@pytest.mark.parametrize(("client", "step"), DEATHS)
async def test_an_editor_that_is_killed_during_an_edit_leaves_the_file_whole_and_nothing_behind(
    tmp_path: Path, client: str, step: str
) -> None:
    path = tmp_path / "f.txt"
    path.write_text(OLD)
    editor = await asyncio.create_subprocess_exec(
        sys.executable, "-P", str(DOOMED), str(path), client, step, stdout=asyncio.subprocess.PIPE
    )
    assert editor.stdout is not None
    server = int(await asyncio.wait_for(editor.stdout.readline(), 20))
    with open_pidfd(server) as server_fd:
        await asyncio.wait_for(editor.wait(), 20)
        assert editor.returncode == -9
        await asyncio.wait_for(has_ended(server_fd), GONE_S)
    steps = (await editor.stdout.read()).decode().splitlines()
    assert steps[-1] == step
    is_saved = client == "rich" and bool({"saveDocument is about to be answered", "answered"} & set(steps))
    if client == "closed":
        assert path.read_text() in ({NEW} if step == "answered" else {OLD, NEW})
    else:
        assert path.read_text() == (NEW if is_saved else OLD)
    assert os.listdir(tmp_path) == ["f.txt"]


class open_pidfd:  # noqa: N801  # used like open
    """A descriptor of a process, which no other process of the same number can be taken for."""

    def __init__(self, pid: int) -> None:
        self._fd = os.pidfd_open(pid)

    def __enter__(self) -> int:
        return self._fd

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)


async def has_ended(process_fd: int) -> None:
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(process_fd, ended.set)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(process_fd)


# --- an editor that answers by hand ----------------------------------------------------------------------------


class Desk:
    """A rich client whose every answer a test gives."""

    def __init__(self, client: RawClient, path: Path) -> None:
        self.client = client
        self.path = path
        self.text = path.read_text()
        self.version = 1
        self._seen = 0

    @property
    def state(self) -> dict[str, Any]:
        return {"version": self.version, "textHash": sha256(self.text.encode()).hexdigest(), "dirty": True}

    def begin(self) -> None:
        document = {"uri": self.path.as_uri(), "languageId": "text", "version": self.version, "text": self.text}
        self.client.notify("textDocument/didOpen", {"textDocument": document})

    def edit(self, old: str = "same", new: str = "AGENT") -> int:
        arguments = {"filePath": str(self.path), "oldString": old, "newString": new}
        return self.client.ask("openbuffer/callTool", {"name": "Edit", "arguments": arguments})

    async def read(self) -> str:
        call = self.client.ask("openbuffer/callTool", {"name": "Read", "arguments": {"filePath": str(self.path)}})
        self.answer(await self.asked("readDocument"), self.state)
        return (await self.client.answer(call))["result"]["data"]["output"]

    async def asked(self, name: str) -> dict[str, Any]:
        """The next request of this kind; those that only ask for the state are answered on the way."""
        while True:
            message = await self.client.expect(lambda m: "method" in m and "id" in m, since=self._seen)
            self._seen = self.client.received.index(message) + 1
            if message["method"] == f"openbuffer/{name}":
                return message
            assert message["method"] == "openbuffer/readDocument"
            self.answer(message, self.state)

    async def told(self, method: str) -> dict[str, Any]:
        return await self.client.expect(lambda m: m.get("method") == method)

    def answer(self, request: dict[str, Any], result: Any) -> None:
        self.client.send({"jsonrpc": "2.0", "id": request["id"], "result": result})

    def done(self, request: dict[str, Any]) -> None:
        self.answer(request, {"done": True, "document": self.state})

    def refuse(self, request: dict[str, Any], reason: str) -> None:
        self.answer(request, {"done": False, "reason": reason, "document": self.state})

    def becomes(self, text: str) -> None:
        self.text, self.version = text, self.version + 1
        document = {"uri": self.path.as_uri(), "version": self.version}
        self.client.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": text}]})

    def save(self) -> None:
        self.path.write_text(self.text)
        self.client.notify("textDocument/didSave", {"textDocument": {"uri": self.path.as_uri()}})

    def cancel(self, call: int) -> None:
        self.client.notify("$/cancelRequest", {"id": call})

    async def has_ended_as_cancelled(self, call: int) -> None:
        assert (await self.client.answer(call))["error"]["code"] == -32800
        assert await self.client.alive()
        assert len(self.client.answers(call)) == 1


@asynccontextmanager
async def desk_at(path: Path) -> AsyncIterator[Desk]:
    path.write_text(OLD)  # noqa: ASYNC240  # a temporary file of the test
    announced = ("readDocument", "applyEdit", "saveDocument", "reloadDocument", "withdrawDialog")
    capabilities = {"experimental": {"openbuffer": {"protocolVersion": 1, **dict.fromkeys(announced, True)}}}
    async with RawClient.start(HASTY) as client:
        await client.initialize(path.parent, capabilities=capabilities)
        desk = Desk(client, path)
        desk.begin()
        yield desk
        assert await client.leave() == 0
        assert os.listdir(path.parent) == [path.name]


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with desk_at(tmp_path / "f.txt") as desk:
        yield desk


async def output(desk: Desk, call: int) -> str:
    data = (await desk.client.answer(call))["result"]["data"]
    return data["output"] + (data.get("error") or "")


@pytest.mark.contract("T6", "B2", "E10")
async def test_a_call_cancelled_before_its_edit_was_sent_ends_at_once_and_changes_nothing(desk: Desk) -> None:
    call = desk.edit()
    asked = await desk.client.expect(lambda m: m.get("method") == "openbuffer/readDocument")
    desk.cancel(call)
    await desk.has_ended_as_cancelled(call)
    cancelled = [m["params"]["id"] for m in desk.client.received if m.get("method") == "$/cancelRequest"]
    assert cancelled == [asked["id"]]
    assert not [m for m in desk.client.received if m.get("method") == "openbuffer/applyEdit"]
    desk.answer(asked, desk.state)
    desk._seen = desk.client.received.index(asked) + 1
    assert "2\tsame" in await desk.read()


@pytest.mark.contract("T6", "B2", "E7")
@pytest.mark.parametrize("makes_it", [True, False])
async def test_a_call_cancelled_while_its_edit_is_with_the_editor_withdraws_the_dialog_and_waits(
    desk: Desk, makes_it: bool
) -> None:
    call = desk.edit()
    asked = await desk.asked("applyEdit")
    desk.cancel(call)
    withdrawn = await desk.told("openbuffer/withdrawDialog")
    assert withdrawn["params"]["dialogId"] == asked["params"]["dialogId"]
    assert await desk.client.alive()
    assert desk.client.answers(call) == []
    if makes_it:  # the user was quicker
        desk.becomes(NEW)
        desk.done(asked)
    else:
        desk.refuse(asked, "withdrawn")
    await desk.has_ended_as_cancelled(call)
    assert not [m for m in desk.client.received if m.get("method") == "openbuffer/saveDocument"]
    assert ("2\tAGENT" if makes_it else "2\tsame") in await desk.read()


@pytest.mark.contract("T6", "B2", "E9")
@pytest.mark.parametrize("saves", [True, False])
async def test_a_call_cancelled_while_a_save_is_asked_about_withdraws_that_dialog_and_waits(
    desk: Desk, saves: bool
) -> None:
    call = desk.edit()
    edit = await desk.asked("applyEdit")
    desk.becomes(NEW)
    desk.done(edit)
    save = await desk.asked("saveDocument")
    assert save["params"]["diskHash"] == sha256(OLD.encode()).hexdigest()
    desk.cancel(call)
    withdrawn = await desk.told("openbuffer/withdrawDialog")
    assert withdrawn["params"]["dialogId"] == save["params"]["dialogId"] != edit["params"]["dialogId"]
    assert await desk.client.alive()
    assert desk.client.answers(call) == []
    if saves:
        desk.save()
        desk.done(save)
    else:
        desk.refuse(save, "withdrawn")
    await desk.has_ended_as_cancelled(call)
    whereabouts = "nothing unsaved" if saves else "unsaved: the agent's own edits"
    assert f"in the open document, {whereabouts}" in await desk.read()


@pytest.mark.contract("T6", "B2", "E11")
async def test_a_call_cancelled_while_a_reload_is_on_its_way_ends_after_it_and_changes_nothing(desk: Desk) -> None:
    assert "2\tsame" in await desk.read()
    changed = f"command\n{OLD}"
    desk.path.write_text(changed)
    call = desk.edit()
    reload = await desk.asked("reloadDocument")
    desk.cancel(call)
    assert (await desk.told("openbuffer/withdrawDialog"))["params"]["dialogId"] == reload["params"]["dialogId"]
    assert desk.client.answers(call) == []
    desk.becomes(changed)
    desk.done(reload)
    await desk.has_ended_as_cancelled(call)
    assert desk.path.read_text() == changed
    assert "1\tcommand" in await desk.read()


@pytest.mark.contract("E9", "B3")
async def test_a_save_that_is_never_answered_is_given_up_and_said_to_be_unknown(desk: Desk) -> None:
    call = desk.edit()
    edit = await desk.asked("applyEdit")
    desk.becomes(NEW)
    desk.done(edit)
    save = await desk.asked("saveDocument")
    told = await output(desk, call)
    assert "It is in the open document; whether it was saved to disk is not known" in told
    assert (await desk.told("openbuffer/withdrawDialog"))["params"]["dialogId"] == save["params"]["dialogId"]
    # The answer that comes after all is of no consequence, and the save that it tells of is taken note of.
    desk.save()
    desk.done(save)
    assert "in the open document, nothing unsaved" in await desk.read()
    call = desk.edit("AGENT", "second")
    edit = await desk.asked("applyEdit")
    desk.becomes(OLD.replace("same", "second"))
    desk.done(edit)
    save = await desk.asked("saveDocument")
    assert save["params"]["diskHash"] == sha256(NEW.encode()).hexdigest()
    desk.save()
    desk.done(save)
    assert "and saved to disk" in await output(desk, call)


@pytest.mark.contract("E7", "B3")
async def test_an_edit_that_is_made_after_its_call_gave_up_was_said_to_be_unknown(desk: Desk) -> None:
    call = desk.edit()
    edit = await desk.asked("applyEdit")
    told = await output(desk, call)
    assert "outcome is unknown" in told
    assert "Read the file before you try again" in told
    desk.becomes(NEW)
    desk.done(edit)
    assert "2\tAGENT" in await desk.read()


@pytest.mark.contract("E10", "B3")
async def test_a_state_that_is_never_told_is_said_not_to_be_assured(desk: Desk) -> None:
    call = desk.client.ask("openbuffer/callTool", {"name": "Read", "arguments": {"filePath": str(desk.path)}})
    await desk.client.expect(lambda m: m.get("method") == "openbuffer/readDocument")
    told = await output(desk, call)
    assert "as last sent by the editor (it did not answer within 2 s)" in told
    assert "2\tsame" in told


@pytest.mark.contract("B3", "E7", "E9")
async def test_an_editor_that_stops_reading_in_the_middle_of_a_call_finds_it_as_it_left_it(tmp_path: Path) -> None:
    async with desk_at(tmp_path / "f.txt") as desk:
        call = desk.edit()
        edit = await desk.asked("applyEdit")
        transport: Any = desk.client.process._transport
        pipe = transport.get_pipe_transport(1)
        pipe.pause_reading()
        large = {"name": "Read", "arguments": {"filePath": str(tmp_path / "missing" / ("x" * 200_000))}}
        asked = [desk.client.ask("openbuffer/callTool", large) for _ in range(20)]
        desk.becomes(NEW)
        desk.done(edit)
        await asyncio.sleep(0.2)
        pipe.resume_reading()
        save = await desk.asked("saveDocument")
        desk.save()
        desk.done(save)
        assert "and saved to disk" in await output(desk, call)
        for each in asked:
            assert (await desk.client.answer(each))["result"]["isError"]


# --- two servers on one file -------------------------------------------------------------------------------------


@pytest.mark.contract("E12", "E9", "E11")
async def test_two_servers_on_one_file_lose_no_change_or_tell_that_it_was_not_made(tmp_path: Path) -> None:
    """One has an editor with the file open and saves through it, the other writes to disk."""
    path = tmp_path / "f.txt"
    rounds = 12
    path.write_text("".join(f"{side} {number}\n" for number in range(rounds) for side in "ab"))
    async with open_headless(tmp_path, rich=RICH) as one, open_headless(tmp_path) as other:
        one.memory.open(str(path))

        async def edit(side: str, number: int) -> bool:
            editor = one if side == "a" else other
            line = f"{side} {number}\n"
            arguments = {"filePath": str(path), "oldString": line, "newString": line.upper()}
            answer = await editor.call_tool("Edit", arguments)
            return not answer.is_error

        made = {
            (side, number): result
            for number in range(rounds)
            for side, result in zip("ab", await asyncio.gather(edit("a", number), edit("b", number)), strict=True)
        }
        shown, disk = one.memory.buffer(str(path)).text, path.read_text()
        for (side, number), was_made in made.items():
            line = f"{side} {number}\n"
            assert (line.upper() in shown + disk) == was_made, (line, shown, disk)
            assert (line in shown or line in disk) or was_made
        assert sum(made.values()) > rounds
        answer = await one.call_tool("Read", {"filePath": str(path)})
        if shown != disk:
            assert "nothing unsaved" not in answer.output
