"""Folders that come and go while a real server runs: calls that begin later have the new ones, and no other."""

from __future__ import annotations

import os
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from openbuffer.tools.adapters.sqlite_log_reader import LogReader

from .raw_client import LATER, RawClient
from .test_bridge_commands import confining

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from .raw_client import Message

SHOW = "window/showMessageRequest"
CHANGED = "openbuffer/toolsChanged"
CAPABILITIES = {
    "workspace": {"applyEdit": True, "workspaceFolders": True},
    "experimental": {"openbuffer": {"protocolVersion": 1, "toolsChanged": True}},
}


class Place:
    """A home, and directories to open."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.config = directory / "config" / "openbuffer" / "openbuffer.toml"
        self.config.parent.mkdir(parents=True)
        self.state = directory / "state" / "openbuffer"
        names = {"XDG_CONFIG_HOME": "config", "XDG_STATE_HOME": "state", "XDG_RUNTIME_DIR": "run"}
        self.variables = {name: str(directory / part) for name, part in names.items()}

    def folder(self, name: str) -> Path:
        folder = self.directory / "work" / name
        folder.mkdir(parents=True)
        (folder / "a.txt").write_text(f"text of {name}\n")
        return folder

    @asynccontextmanager
    async def server(self, *folders: Path | str, **params: Any) -> AsyncGenerator[RawClient]:
        async with RawClient.start(env=self.variables) as client:
            await client.initialize(
                capabilities=CAPABILITIES, workspaceFolders=[wire(each) for each in folders], **params
            )
            yield client
            assert await client.leave() == 0


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path.resolve())


def wire(folder: Path | str) -> dict[str, str]:
    return {"uri": folder.as_uri() if isinstance(folder, Path) else folder, "name": "folder"}


def change(client: RawClient, *, added: Sequence[Path | str] = (), removed: Sequence[Path | str] = ()) -> None:
    event = {"added": [wire(each) for each in added], "removed": [wire(each) for each in removed]}
    client.notify("workspace/didChangeWorkspaceFolders", {"event": event})


async def read(client: RawClient, path: Path | str) -> str:
    """The text of a file, or why it is not to be had."""
    answer = await client.call("Read", {"filePath": str(path)})
    return words(answer)


def words(answer: Message) -> str:
    if "error" in answer:
        return f"{answer['error']['type']}: {answer['error']['message']}"
    return answer["data"].get("error") or answer["data"]["output"]


async def names(client: RawClient) -> list[str]:
    return [tool["name"] for tool in (await client.request("openbuffer/listTools"))["result"]["tools"]]


def told(client: RawClient) -> list[str]:
    return [each["params"]["message"] for each in client.received if each.get("method") == "window/showMessage"]


def count(client: RawClient, method: str) -> int:
    return sum(each.get("method") == method for each in client.received)


@pytest.mark.contract("B2", "E5")
async def test_calls_have_the_folders_that_are_open_when_they_begin_and_the_session_goes_on(place: Place) -> None:
    one, two = place.folder("one"), place.folder("two")
    async with place.server(one) as client:
        assert "text of one" in await read(client, "a.txt")
        assert "is outside the workspace" in await read(client, two / "a.txt")
        await client.call("TaskCreate", {"title": "a task"})
        change(client, added=[two])
        assert "text of two" in await read(client, two / "a.txt")
        assert "text of one" in await read(client, "a.txt")
        change(client, removed=[one])
        assert "is outside the workspace" in await read(client, one / "a.txt")
        assert "text of two" in await read(client, "a.txt"), "relative paths start at the first that is left"
        assert "a task" in words(await client.call("TaskList"))
        assert words(await client.call("Grep", {"pattern": "text of"})).count("text of") == 1
        assert count(client, CHANGED) == 2
        assert told(client) == []
    with closing(LogReader(str(place.state / "log"))) as reader:
        calls = list(reader.calls())
    assert len({call.session.number for call in calls}) == 1
    session = calls[0].session
    assert session.roots == (str(one),)
    assert [roots for _, roots in session.later_roots] == [(str(one), str(two)), (str(two),)]
    assert calls[-1].at_ns < session.later_roots[0][0] < session.later_roots[1][0] < calls[0].at_ns


@pytest.mark.contract("B2")
async def test_without_a_folder_there_are_no_tools_until_one_is_opened(place: Place) -> None:
    one = place.folder("one")
    async with place.server() as client:
        assert await names(client) == []
        assert (await read(client, "a.txt")).startswith("NoWorkspaceError: no workspace folder is open")
        change(client, added=[one])
        assert "Write" in await names(client)
        assert "text of one" in await read(client, "a.txt")
        change(client, removed=[one])
        assert await names(client) == []
        assert (await read(client, one / "a.txt")).startswith("NoWorkspaceError")
        change(client, added=[one])
        assert "text of one" in await read(client, "a.txt")


@pytest.mark.contract("B2", "B3")
async def test_folders_that_are_none_of_this_machine_are_left_out_and_told(place: Place) -> None:
    one = place.folder("one")
    async with place.server("vscode-remote://ssh/work", one, "file://elsewhere/x", one) as client:
        assert "text of one" in await read(client, "a.txt")
        assert len(told(client)) == 2
        assert "vscode-remote://ssh/work: this workspace folder is no directory of this machine" in told(client)[0]
        change(client, added=["untitled:x", one], removed=[one, "file://elsewhere/x"])
        assert "text of one" in await read(client, "a.txt")
        assert len(told(client)) == 3
        change(client, removed=[one])
        assert "open a folder of this machine. vscode-remote://ssh/work: this" in await read(client, "a.txt")
        before = count(client, CHANGED)
        unclear: list[Any] = [None, 5, [], {}, {"event": []}, {"event": {"added": 7, "removed": [1, {}]}}]
        for params in unclear:
            client.notify("workspace/didChangeWorkspaceFolders", params)
        assert await client.alive()
        assert count(client, CHANGED) == before, "nothing was changed by what says nothing"


@pytest.mark.contract("B2", "X4")
async def test_what_was_approved_before_lets_no_later_call_into_a_closed_folder(place: Place) -> None:
    place.config.write_text('[permissions.default]\nFILE_WRITE = "ask"\n')
    one, two = place.folder("one"), place.folder("two")
    async with place.server(one, two) as client:
        client.on_request[SHOW] = lambda _params: LATER
        edit = {"filePath": str(one / "a.txt"), "oldString": "text", "newString": "word"}
        running = client.ask("openbuffer/callTool", {"name": "Edit", "arguments": edit})
        asked = await client.expect(lambda each: each.get("method") == SHOW)
        change(client, removed=[one])
        assert "is outside the workspace" in await read(client, one / "a.txt")
        client.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"title": "Allow for this session"}})
        answer = await client.answer(running)
        assert answer["result"]["isError"] is False, "it goes on with the folders that it began with"
        assert (one / "a.txt").read_text() == "word of one\n"
        later = await client.call("Edit", {**edit, "oldString": "word", "newString": "text"})
        assert "is outside the workspace" in words(later)
        assert (one / "a.txt").read_text() == "word of one\n"
        change(client, added=[one])
        again = await client.call("Edit", {**edit, "oldString": "word", "newString": "line"})
        assert again["isError"] is False, "what was allowed for the session is allowed where the folder is open again"
        assert count(client, SHOW) == 1
        other = client.ask(
            "openbuffer/callTool", {"name": "Edit", "arguments": {**edit, "filePath": str(two / "a.txt")}}
        )
        await client.expect(lambda _each: count(client, SHOW) == 2)
        client.notify("$/cancelRequest", {"id": other})
        assert (await client.answer(other))["error"]["code"] == -32800


@pytest.mark.contract("B2", "P2")
async def test_a_folder_in_whose_place_a_link_is_put_leads_nowhere_else(place: Place) -> None:
    outer, secret, other = place.folder("outer"), place.directory / "secret", place.folder("other")
    inner = outer / "inner"
    inner.mkdir()
    (inner / "a.txt").write_text("text of inner\n")
    secret.mkdir()
    (secret / "a.txt").write_text("hush\n")
    async with place.server(outer, inner) as client:
        assert "text of inner" in await read(client, inner / "a.txt")
        inner.rename(outer / "moved")
        inner.symlink_to(secret)
        assert "hush" not in await read(client, inner / "a.txt")
        change(client, added=[other])
        assert "hush" not in await read(client, inner / "a.txt")
        assert "hush" not in await read(client, secret / "a.txt")
        assert "text of inner" in await read(client, outer / "moved" / "a.txt")
        assert f"{inner}: this workspace folder leads elsewhere than when it was opened" in told(client)[-1]
        change(client, removed=[inner], added=[inner])
        assert "hush" in await read(client, inner / "a.txt"), "its user opened it as it is now"
        inner.unlink()
        change(client, removed=[other])
        assert "hush" not in await read(client, inner / "a.txt")
        assert "text of outer" in await read(client, "a.txt")


@pytest.mark.contract("B2")
async def test_a_folder_that_vanishes_takes_no_other_with_it(place: Place) -> None:
    one, two = place.folder("one"), place.folder("two")
    async with place.server(one, two) as client:
        assert "text of two" in await read(client, two / "a.txt")
        (two / "a.txt").unlink()
        two.rmdir()
        assert "cannot be used: it is not an existing directory" in await read(client, two / "a.txt")
        assert "text of one" in await read(client, one / "a.txt")
        change(client, removed=[two])
        assert "text of one" in await read(client, one / "a.txt")


@pytest.mark.contract("B2")
async def test_a_hundred_folders_in_each_other_come_and_go(place: Place) -> None:
    folders: list[Path | str] = []
    for number in range(50):
        folders += [place.folder(f"f{number}"), place.folder(f"f{number}/inner")]
    async with place.server() as client:
        change(client, added=[*folders, *folders])
        for folder in (folders[0], folders[1], folders[99]):
            assert f"text of {Path(folder).relative_to(place.directory / 'work')}" in await read(
                client, Path(folder) / "a.txt"
            )
        change(client, removed=[folder for folder in folders if not str(folder).endswith("inner")])
        assert "text of f0/inner" in await read(client, "a.txt")
        assert "is outside the workspace" in await read(client, Path(folders[0]) / "a.txt")
        for folder in folders[1::2]:
            change(client, removed=[folder])
        assert await names(client) == []
        assert told(client) == []


@confining
@pytest.mark.contract("B2", "S7", "S10", "T6")
async def test_confined_commands_keep_the_folders_that_they_began_with_and_leave_nothing_behind(place: Place) -> None:
    place.config.write_text("[sandbox]\nenabled = true\n")
    one, two = place.folder("one"), place.folder("two")
    (one / "go").write_text("")
    (one / "go").unlink()
    os.mkfifo(one / "go")
    async with place.server(one) as client:
        waiting = "touch began; read line < go; touch ended; touch /tmp/mine && echo made"
        running = client.ask("openbuffer/callTool", {"name": "Bash", "arguments": {"command": waiting}})
        while not (one / "began").exists():
            assert await client.alive()
        change(client, added=[two], removed=[one])
        denied = words(await client.call("Bash", {"command": f"touch {one}/x; touch {two}/y; mkdir -p .git/hooks"}))
        assert not (one / "x").exists(), denied
        assert (two / "y").exists(), denied
        (one / "go").write_text("line\n")
        answer = await client.answer(running)
        assert "made" in words(answer["result"])
        assert (one / "ended").exists()
        assert not (two / ".git").exists() or not any((two / ".git").rglob("*.sample"))
    left = [path.name for path in place.state.rglob("*") if "scratch" in str(path) or "session-" in path.name]
    assert left == []


@pytest.mark.contract("B7", "B2", "B1")
async def test_in_a_workspace_that_is_not_trusted_there_is_nothing_with_effects_until_it_is(place: Place) -> None:
    place.config.write_text('[permissions]\ndefault = "allow"\n')
    one = place.folder("one")
    async with place.server(one, initializationOptions={"openbuffer": {"workspaceTrusted": False}}) as client:
        listed = (await client.request("openbuffer/listTools"))["result"]
        offered = {tool["name"] for tool in listed["tools"]}
        assert {"Read", "Grep", "Glob", "ListDir", "TaskCreate"} <= offered
        withheld = {"Write", "Edit", "Delete", "Shell", "Bash", "WebFetch"}
        assert withheld <= set(listed["withheld"]["tools"])
        assert not withheld & offered
        assert "mark the workspace as trusted" in listed["withheld"]["reason"]
        for name, arguments in (("Write", {"filePath": "b.txt", "content": "x"}), ("Bash", {"command": "touch b.txt"})):
            answer = await client.call(name, arguments)
            assert words(answer).startswith(f"WorkspaceUntrustedError: {name} is withheld: the user has not said")
        assert not (one / "b.txt").exists()
        assert "text of one" in await read(client, "a.txt")
        unclear: list[Any] = [None, {}, [], {"trusted": 1}, {"trusted": None}, {"trusted": "true"}]
        for params in unclear:
            client.notify("openbuffer/didChangeWorkspaceTrust", params)
        client.notify("workspace/didChangeConfiguration", {"settings": {"openbuffer": {"workspaceTrusted": True}}})
        assert "WorkspaceUntrustedError" in words(await client.call("Bash", {"command": "true"}))
        assert count(client, CHANGED) == 0
        client.notify("openbuffer/didChangeWorkspaceTrust", {"trusted": True})
        assert (await client.call("Write", {"filePath": "b.txt", "content": "x"}))["isError"] is False
        listed = (await client.request("openbuffer/listTools"))["result"]
        assert "withheld" not in listed
        assert withheld <= {tool["name"] for tool in listed["tools"]}
        client.notify("openbuffer/didChangeWorkspaceTrust", {"trusted": True})
        client.notify("openbuffer/didChangeWorkspaceTrust", {"trusted": False})
        assert "WorkspaceUntrustedError" in words(await client.call("Delete", {"filePath": "b.txt"}))
        assert count(client, CHANGED) == 2
    with closing(LogReader(str(place.state / "log"))) as reader:
        rejected = [call.tool for call in reader.calls() if call.outcome == "rejected"]
    assert rejected == ["Delete", "Bash", "Bash", "Write"], "what was withheld is on record"
