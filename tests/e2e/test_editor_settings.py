"""The editor's settings as a real server takes them: fully where the workspace is trusted, else to tighten alone."""

from __future__ import annotations

import threading
from contextlib import asynccontextmanager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from .raw_client import RawClient

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

TOLD = "window/showMessage"


class Place:
    """A user's file and a workspace, and servers over them."""

    def __init__(self, directory: Path) -> None:
        self.root = directory / "workspace"
        self.root.mkdir()
        self.file = directory / "config" / "openbuffer" / "openbuffer.toml"
        self.file.parent.mkdir(parents=True)
        (self.root / "a.txt").write_text("text of a\n")
        (self.root / "b.txt").write_text("text of b\n")
        names = {"XDG_CONFIG_HOME": "config", "XDG_STATE_HOME": "state", "XDG_RUNTIME_DIR": "run"}
        self.variables = {name: str(directory / part) for name, part in names.items()}

    @asynccontextmanager
    async def server(self, **said: Any) -> AsyncIterator[RawClient]:
        async with RawClient.start(env=self.variables) as client:
            await client.initialize(self.root, initializationOptions={"openbuffer": said})
            yield client
            assert await client.leave() == 0


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path.resolve())


@contextmanager
def loopback() -> Iterator[str]:
    """The URL of a page on this machine."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/plain")
            self.end_headers()
            self.wfile.write(b"a page of this machine")

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


def told(client: RawClient) -> list[str]:
    return [message["params"]["message"] for message in client.received if message.get("method") == TOLD]


async def reads(client: RawClient, name: str) -> bool:
    return not (await client.call("Read", {"filePath": name}))["isError"]


def change(client: RawClient, settings: object) -> None:
    client.notify("workspace/didChangeConfiguration", {"settings": {"openbuffer": settings}})


@pytest.mark.contract("X5", "B7", "W1")
@pytest.mark.parametrize("trusted", [True, False, None])
async def test_only_in_a_trusted_workspace_an_editor_s_settings_loosen_anything(
    place: Place, trusted: bool | None
) -> None:
    said = {} if trusted is None else {"workspaceTrusted": trusted}
    with loopback() as url:
        async with place.server(settings={"web": {"allowed_hosts": ["127.0.0.1"]}}, **said) as client:
            answer = await client.call("WebFetch", {"url": url})
            assert answer["isError"] is (trusted is not True)
            if trusted is True:
                assert "a page of this machine" in answer["data"]["output"]
                assert told(client) == []
                change(client, {})
                assert (await client.call("WebFetch", {"url": url, "fresh": True}))["isError"]
            else:
                if trusted is None:
                    assert "a loopback address" in answer["data"]["error"]
                else:  # what was not even asked for from there: no tool with effects is there
                    assert answer["error"]["type"] == "WorkspaceUntrustedError"
                    assert await reads(client, "a.txt")
                sentence = "web.allowed_hosts = ['127.0.0.1'] would loosen the user's settings and does not count"
                assert told(client) == [f"openbuffer: the editor's settings: {sentence}"]


@pytest.mark.contract("X5", "B7", "B2")
@pytest.mark.parametrize("trusted", [True, False])
async def test_settings_of_an_editor_tighten_and_follow_its_changes_without_a_restart(
    place: Place, trusted: bool
) -> None:
    place.file.write_text('[permissions]\ndeny = ["Read(b.txt)"]\n')
    async with place.server(settings={"permissions": {"deny": ["Read(a.txt)"]}}, workspaceTrusted=trusted) as client:
        assert [await reads(client, name) for name in ("a.txt", "b.txt")] == [False, False]
        change(client, {"permissions": {"deny": []}})
        assert [await reads(client, name) for name in ("a.txt", "b.txt")] == [True, False]
        client.notify("workspace/didChangeConfiguration", {"settings": None})
        change(client, {"permissions": {"deny": ["Read"]}})
        assert [await reads(client, name) for name in ("a.txt", "b.txt")] == [False, False]
        change(client, None)
        place.file.write_text("")
        assert [await reads(client, name) for name in ("a.txt", "b.txt")] == [True, True]
        assert told(client) == []


@pytest.mark.contract("X5", "B7")
async def test_what_an_editor_says_that_cannot_be_used_is_named_and_nothing_ends(place: Place) -> None:
    async with place.server(settings={"sandbx": {}, "sandbox": {"network": "no"}}, workspaceTrusted=True) as client:
        assert await reads(client, "a.txt")
        assert [sentence.partition(";")[0] for sentence in told(client)] == [
            "openbuffer: the editor's settings: unknown key sandbx (did you mean sandbox?)",
            "openbuffer: the editor's settings: sandbox.network must be true or false, not 'no'",
        ]
        for hostile in ("text", [1], 7, {"sandbox": {"deny_read": ["x" * 300_000]}}, {"a" * 300_000: {}}):
            change(client, hostile)
            assert await reads(client, "a.txt")
        deep: Any = 1
        for _ in range(900):
            deep = [deep]
        change(client, deep)
        for params in (None, 7, [], {"settings": 7}):
            client.notify("workspace/didChangeConfiguration", params)
        assert await reads(client, "a.txt")
        assert any("longer or deeper than any settings" in sentence for sentence in told(client))
        change(client, {"permissions": {"deny": ["Read(a.txt"]}})
        assert not await reads(client, "a.txt"), "a restriction that cannot be read is not just absent"


@pytest.mark.contract("X5", "B7", "W1", "W2")
async def test_the_web_can_be_switched_off_by_whoever_wrote_the_workspace(place: Place) -> None:
    async def names(client: RawClient) -> set[str]:
        listed = (await client.request("openbuffer/listTools"))["result"]["tools"]
        return {tool["name"] for tool in listed} & {"WebFetch", "WebSearch"}

    place.file.write_text('[search]\nprovider = "searxng"\nurl = "http://localhost:9"\n')
    async with place.server() as client:
        assert await names(client) == {"WebFetch", "WebSearch"}
        (place.root / "openbuffer.toml").write_text("[web]\nenabled = false\n[search]\nenabled = false\n")
        fetched = await client.call("WebFetch", {"url": "http://site.example/"})
        searched = await client.call("WebSearch", {"query": "x"})
        assert "switched off by the settings (web.enabled)" in fetched["data"]["error"]
        assert "switched off by the settings (search.enabled)" in searched["data"]["error"]
    async with place.server() as client:
        assert await names(client) == set()
        assert told(client) == []


@pytest.mark.contract("X5")
async def test_the_environment_counts_over_the_file_and_an_unknown_variable_is_told(place: Place) -> None:
    place.file.write_text('[permissions]\ndefault = "deny"\n')
    place.variables |= {"OPENBUFFER_PERMISSIONS_DEFAULT": "allow", "OPENBUFFER_PERMISIONS_DENY": "['Read']"}
    async with place.server() as client:
        assert await reads(client, "a.txt")
        (sentence,) = told(client)
        assert sentence.endswith("has no effect; did you mean OPENBUFFER_PERMISSIONS_DENY?")
    place.variables |= {"OPENBUFFER_PERMISSIONS_DEFAULT": "perhaps"}
    async with place.server() as client:
        answer = await client.call("Read", {"filePath": "a.txt"})
        assert answer["error"]["type"] == "ConfigError"
        assert "the environment: permissions.default must be one of deny, ask, allow" in answer["error"]["message"]


@pytest.mark.contract("B7")
async def test_a_workspace_whose_file_would_take_hours_to_read_holds_nobody_up(place: Place) -> None:
    own = place.root / "openbuffer.toml"
    for text in ("a." * 60_000 + "a = 1", "x = " + "[" * 100_000, "#" * 10_000_000, '"a".' * 30_000 + "b = 1"):
        own.write_text(text)
        async with place.server() as client:
            assert await reads(client, "a.txt")
            (sentence,) = told(client)
            assert str(own) in sentence
            assert len(sentence) < 600
