"""Commands of a real server: what of its environment they see, what confines them, and who has a say in that."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import stat
import subprocess
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from openbuffer.sandbox.detect import detect_os_sandbox

from .raw_client import SERVER, RawClient

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

COMMAND = str(Path(sys.executable).with_name("openbuffer"))
ON = "[sandbox]\nenabled = true\n"

confining = pytest.mark.skipif(
    not detect_os_sandbox([]).available, reason="no sandbox can be had here; `openbuffer doctor` says why"
)


class Place:
    """A home, a workspace, and the server in it."""

    def __init__(self, directory: Path) -> None:
        self.home = directory / "home"
        self.root = directory / "workspace"
        self.config = self.home / ".config" / "openbuffer" / "openbuffer.toml"
        self.state = self.home / ".local" / "state" / "openbuffer"
        self.root.mkdir()
        self.config.parent.mkdir(parents=True)
        self.variables = {
            "HOME": str(self.home),
            "XDG_CONFIG_HOME": "",
            "XDG_STATE_HOME": "",
            "XDG_RUNTIME_DIR": "",
            "SERVICE_TOKEN": "hush",
            "GREETING": "hello",
        }

    @asynccontextmanager
    async def server(self, *arguments: str, before: tuple[str, ...] = ()) -> AsyncIterator[RawClient]:
        async with RawClient.start((*before, *SERVER, *arguments), cwd=self.root, env=self.variables) as client:
            await client.initialize(self.root)
            yield client
            assert await client.leave() == 0

    def call(self, *words: str) -> subprocess.CompletedProcess[str]:
        """``openbuffer call``, of which the last word is a command line."""
        *options, line = words
        return subprocess.run(
            [COMMAND, "call", *options, "Shell", json.dumps({"command": line})],
            cwd=self.root,
            env={**os.environ, **self.variables},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


async def shell(client: RawClient, line: str) -> Any:
    return (await client.call("Shell", {"command": line}))["data"]


SHOW = (
    'echo "<$SERVICE_TOKEN> <$GREETING> <$OPENBUFFER_LOG>"; '
    "cat /proc/self/environ /proc/1/environ 2>/dev/null | grep -ac hush"
)


@pytest.mark.contract("S3")
@pytest.mark.parametrize("settings", ["", pytest.param(ON, marks=confining)])
async def test_a_command_sees_no_token_of_the_server_unless_the_user_passes_it(place: Place, settings: str) -> None:
    place.config.write_text(settings)
    async with place.server() as client:
        assert "<> <hello> <>\n0\n" in (await shell(client, SHOW))["output"]
        place.config.write_text(f"{settings}[commands]\npass_environment = ['SERVICE_*']\n")
        assert "<hush> <hello> <>\n1\n" in (await shell(client, SHOW))["output"]
        place.config.write_text(f"{settings}[commands]\ndrop_environment = ['GREETING']\n")
        assert "<> <> <>\n0\n" in (await shell(client, SHOW))["output"]


@confining
@pytest.mark.contract("S7", "S8")
async def test_settings_that_are_changed_between_two_calls_count(place: Place) -> None:
    outside = place.home / "outside"
    outside.mkdir()
    async with place.server() as client:
        free = await shell(client, f"touch '{outside}/1'")
        assert "Not confined. The sandbox is off." in free["output"]
        place.config.write_text(ON)
        held = await shell(client, f"touch '{outside}/2'; touch here")
        assert "Confined by bubblewrap" in held["output"]
        place.config.write_text(f"{ON}allow_write = ['{outside}']\n")
        await shell(client, f"touch '{outside}/3'")
        place.config.write_text("[sandbox]\nenabled = false\n")
        assert "Not confined. The sandbox is off." in (await shell(client, "true"))["output"]
    assert sorted(os.listdir(outside)) == ["1", "3"]
    assert os.listdir(place.root) == ["here"]


@confining
@pytest.mark.contract("B7", "S7")
async def test_a_workspaces_file_cannot_loosen_anything_and_the_user_is_told(place: Place) -> None:
    outside = place.home / "outside"
    outside.mkdir()
    (place.root / "openbuffer.toml").write_text(
        f"[sandbox]\nenabled = false\nnetwork = true\nallow_write = ['{outside}']\nexcluded_commands = ['touch']\n"
        "deny_read = ['key']\n[commands]\npass_environment = ['SERVICE_TOKEN']\n"
    )
    (place.root / "key").write_text("unlocks")
    place.config.write_text(ON)
    async with place.server() as client:
        await shell(client, f"touch '{outside}/1'")
        answer = await shell(client, f"{SHOW}; cat key; ls /sys/class/net; echo >openbuffer.toml; exit 0")
        assert "Confined by bubblewrap" in answer["output"]
        assert "no network" in answer["output"]
        assert "<> <hello> <>\n0\n" in answer["output"]
        assert "unlocks" not in answer["output"]
        shown = [message["params"] for message in client.received if message.get("method") == "window/showMessage"]
    assert os.listdir(outside) == []
    assert (place.root / "openbuffer.toml").read_text().startswith("[sandbox]")
    assert {params["type"] for params in shown} == {2}
    for key in ("sandbox.enabled", "sandbox.network", "sandbox.allow_write", "sandbox.excluded_commands", "commands"):
        assert [params for params in shown if f"openbuffer.toml: {key} " in params["message"]], key
    assert len(shown) == 5


@confining
@pytest.mark.contract("B7", "S7")
async def test_a_workspaces_file_can_switch_the_sandbox_on(place: Place) -> None:
    (place.root / "openbuffer.toml").write_text(ON)
    async with place.server() as client:
        assert "Confined by bubblewrap" in (await shell(client, "true"))["output"]
        (place.root / "openbuffer.toml").write_text("[sandbox")
        assert "Confined by bubblewrap" in (await shell(client, "true"))["output"]


@confining
@pytest.mark.contract("S10")
@pytest.mark.parametrize("root", ["workspace", "home"])
async def test_the_servers_own_directories_are_hidden_also_where_the_home_is_the_workspace(
    place: Place, root: str
) -> None:
    place.config.write_text(f"{ON}allow_write = ['{place.home}']\n")
    place.root = place.root if root == "workspace" else place.home
    async with place.server() as client:
        lines = (
            f"cat '{place.config}'; cat '{place.state}'/*; ls '{place.state}'",
            f"echo '[sandbox]' >'{place.config}'; rm -rf '{place.config.parent}' '{place.state}'",
            f"mv '{place.home}/.config' '{place.home}/.other'; echo evil >'{place.state}/evil'; echo over",
        )
        answers = [await shell(client, line) for line in lines]
        assert all("Confined by bubblewrap" in answer["output"] for answer in answers)
        assert "enabled = true" not in "".join(answer["output"] for answer in answers)
    assert place.config.read_text().startswith(ON)
    assert stat.S_IMODE(place.state.stat().st_mode) == 0o700
    assert not (place.state / "evil").exists()
    assert not [name for name in os.listdir(place.state) if name.startswith("temporary")]


@confining
@pytest.mark.contract("S7", "S10")
def test_call_takes_the_file_that_it_is_given_and_hides_it(place: Place) -> None:
    mine = place.root / "mine.toml"
    mine.write_text(ON)
    done = place.call("--config", "mine.toml", "cat mine.toml; echo >mine.toml; true")
    assert "Confined by bubblewrap" in done.stdout
    assert "enabled" not in done.stdout
    assert mine.read_text() == ON
    place.config.write_text(ON)
    mine.write_text("")
    assert "Not confined. The sandbox is off." in place.call("--config", "mine.toml", "true").stdout
    assert "Confined by bubblewrap" in place.call("true").stdout


@pytest.mark.contract("S10", "B7")
@pytest.mark.parametrize("root", ["workspace", "home"])
async def test_no_file_tool_reaches_what_is_the_servers_own_or_changes_settings(place: Place, root: str) -> None:
    place.config.write_text("")
    place.state.mkdir(parents=True)
    place.root = place.root if root == "workspace" else place.home
    (place.root / "openbuffer.toml").write_text(ON)
    (place.root / "link.toml").symlink_to(place.root / "openbuffer.toml")
    calls: list[tuple[str, dict[str, Any]]] = [
        ("Write", {"filePath": "openbuffer.toml", "content": ""}),
        ("Edit", {"filePath": "link.toml", "oldString": "true", "newString": "false"}),
        ("Delete", {"path": "openbuffer.toml"}),
    ]
    if root == "home":
        calls += [
            ("Read", {"filePath": str(place.config)}),
            ("Write", {"filePath": str(place.config), "content": ""}),
            ("Write", {"filePath": str(place.state / "new"), "content": ""}),
        ]
    async with place.server() as client:
        for name, arguments in calls:
            answer = await client.call(name, arguments)
            assert answer["error"]["type"] == "PermissionDeniedError", (name, arguments)
            assert "the user" in answer["error"]["message"]
        read = await client.call("Read", {"filePath": "openbuffer.toml"})
        assert "enabled = true" in read["data"]["output"]
        written = await client.call("Write", {"filePath": "sub/openbuffer.toml", "content": ""})
        assert written["data"]["success"] is True
    assert (place.root / "openbuffer.toml").read_text() == ON
    assert "new" not in os.listdir(place.state)


def without_namespaces() -> tuple[str, ...]:
    """Starts the server where no sandbox can be made, as in many containers."""
    program = shutil.which("bwrap")
    if program is None:
        pytest.skip("bwrap is needed to take the means of bwrap away")
    return (program, "--unshare-user", "--disable-userns", "--dev-bind", "/", "/", "--")


@confining
@pytest.mark.contract("S7")
async def test_what_is_asked_for_and_cannot_be_had_is_refused_with_the_fix_and_nothing_runs(place: Place) -> None:
    place.config.write_text(ON)
    async with place.server(before=without_namespaces()) as client:
        answer = await shell(client, "touch ran")
        assert answer["success"] is False
        assert "the command was not run: " in answer["error"]
        assert "`enabled = false` under `[sandbox]`" in answer["error"]
        assert not (place.root / "ran").exists()
        read = await client.call("Read", {"filePath": "none"})
        assert "no such file" in read["data"]["error"]
        place.config.write_text("")
        assert "Not confined" in (await shell(client, "touch ran"))["output"]
    assert (place.root / "ran").exists()


@confining
@pytest.mark.contract("S2", "S9")
async def test_what_a_killed_server_left_is_finished_by_the_next_session(place: Place) -> None:
    place.config.write_text(ON)
    async with RawClient.start(SERVER, cwd=place.root, env=place.variables) as client:
        await client.initialize(place.root)
        line = "echo evil >.mcp.json; echo kept >kept; exec sleep 60"
        client.ask("openbuffer/callTool", {"name": "Shell", "arguments": {"command": line}})
        while not (place.root / "kept").exists():  # noqa: ASYNC110  nothing tells of what another process does
            await asyncio.sleep(0.01)
        client.process.kill()
        await client.exit_code()
    place.config.write_text("")
    async with place.server() as client:
        assert "Not confined" in (await shell(client, "true"))["output"]
        shown = [message["params"] for message in client.received if message.get("method") == "window/showMessage"]
    assert os.listdir(place.root) == ["kept"]
    assert ".mcp.json" in str(shown)
    assert not [name for name in os.listdir(place.state) if name.startswith("temporary")]


@pytest.mark.contract("S7")
async def test_a_configuration_that_was_never_good_stops_everything_until_it_is(place: Place) -> None:
    place.config.write_text("[sandbox]\nenable = true\n")
    done = place.call("touch ran")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{place.config}: unknown key sandbox.enable (did you mean sandbox.enabled?); " in done.stderr
    async with place.server() as client:
        answer = await client.call("Shell", {"command": "touch ran"})
        assert answer["error"]["type"] == "ConfigError"
        assert "unknown key sandbox.enable" in answer["error"]["message"]
        listed = await client.request("openbuffer/listTools")
        assert "unknown key sandbox.enable" in listed["error"]["message"]
        assert not (place.root / "ran").exists()
        place.config.write_text("")
        assert (await shell(client, "touch ran"))["success"] is True
    assert (place.root / "ran").exists()


@pytest.mark.contract("S7")
async def test_serve_takes_the_file_that_it_is_given(place: Place, tmp_path: Path) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text("[commands]\ndrop_environment = ['GREETING']\n")
    async with place.server("--config", str(mine)) as client:
        assert "<> <> <>" in (await shell(client, SHOW))["output"]
        mine.unlink()
        assert "<> <> <>" in (await shell(client, SHOW))["output"]
        assert f"{mine}: cannot be read (No such file or directory); check --config; the settings" in str(
            client.received
        )


@pytest.mark.contract("B7")
def test_call_tells_on_stderr_what_of_a_workspace_does_not_count(place: Place) -> None:
    (place.root / "openbuffer.toml").write_text("roots = ['/']\n[sandbox]\nauto_allow = true\n")
    done = place.call("true")
    own = place.root / "openbuffer.toml"
    assert done.returncode == 0
    assert done.stderr.splitlines() == [
        f"openbuffer: {own}: sandbox.auto_allow = true would loosen the user's settings and does not count",
        f"openbuffer: {own}: roots is the user's to set, in their own openbuffer.toml",
    ]


@confining
@pytest.mark.contract("S9")
async def test_what_our_tools_and_the_editor_write_meanwhile_is_not_taken_for_the_commands(place: Place) -> None:
    place.config.write_text(ON)
    line = "echo begun; while [ ! -e go ]; do sleep 0.05; done; echo planted > .npmrc; rm go"
    saved = place.root / ".envrc"
    async with place.server() as client:
        call = {"name": "Shell", "arguments": {"command": line}, "workDoneToken": "bar"}
        running = client.ask("openbuffer/callTool", call)
        await client.expect(
            lambda m: m.get("method") == "$/progress" and m["params"]["value"].get("message") == "begun"
        )
        await client.call("Write", {"filePath": ".mcp.json", "content": "{}\n"})
        await client.call("Write", {"filePath": ".vscode/settings.json", "content": "{\r\n  old é\r\n}"})
        edit = {"filePath": ".vscode/settings.json", "oldString": "old", "newString": "new"}
        assert (await client.call("Edit", edit))["data"]["success"]
        document = {"uri": saved.as_uri(), "version": 1, "languageId": "text", "text": "typed\n"}
        client.notify("textDocument/didOpen", {"textDocument": document})
        saved.write_text("typed\n")  # as an editor does it
        client.notify("textDocument/didSave", {"textDocument": {"uri": saved.as_uri()}})
        assert await client.alive()
        (place.root / "go").touch()
        told = (await client.answer(running))["result"]["data"]["output"]
    assert told.count("Note:") == 1
    assert ".npmrc" in told
    assert sorted(os.listdir(place.root)) == [".envrc", ".mcp.json", ".vscode"]
    assert (place.root / ".vscode" / "settings.json").read_bytes() == "{\r\n  new é\r\n}".encode()
