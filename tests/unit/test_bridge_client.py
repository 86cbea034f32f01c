"""The headless client against servers that behave badly; the real server is in tests/e2e."""

from __future__ import annotations

import os
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from openbuffer.bridge.client import (
    BridgeClient,
    BridgeEndedError,
    BridgeRequestError,
    BridgeStartError,
    BridgeTimeoutError,
)

if TYPE_CHECKING:
    from collections.abc import Callable

PRELUDE = """
import json, os, signal, sys, time
def read():
    length = None
    while (line := sys.stdin.buffer.readline().strip()):
        length = int(line.split(b":")[1])
    if length is None:
        sys.exit(0)
    return json.loads(sys.stdin.buffer.read(length))
def send(**message):
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\\r\\n\\r\\n%s" % (len(body), body))
    sys.stdout.buffer.flush()
def shake_hands():
    send(id=read()["id"], result={"capabilities": {}})
    read()
def answer_all():
    while True:
        message = read()
        if "id" in message and "method" in message:
            send(id=message["id"], result=None)
        if message.get("method") == "exit":
            sys.exit(0)
"""


@pytest.fixture
def server(tmp_path: Path) -> Callable[[str], list[str]]:
    """The command of a server with this behaviour."""

    def command(behaviour: str) -> list[str]:
        script = tmp_path / "server.py"
        script.write_text(PRELUDE + textwrap.dedent(behaviour))
        return [sys.executable, "-I", str(script)]

    return command


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_a_program_that_does_not_exist_is_told(tmp_path: Path) -> None:
    with pytest.raises(BridgeStartError, match=r"/no/such/server could not be started: No such file"):
        async with BridgeClient([tmp_path], command=["/no/such/server"]):
            pass


@pytest.mark.parametrize("name", ["none", "file.txt"])
async def test_a_workspace_folder_that_is_no_directory_is_told_as_that(tmp_path: Path, name: str) -> None:
    (tmp_path / "file.txt").touch()
    with pytest.raises(
        BridgeStartError, match=f"{name}: the workspace folder is not a directory; name one that exists"
    ):
        async with BridgeClient([tmp_path / name]):
            pass


@pytest.mark.parametrize("kind", [str, Path, lambda path: [path]])
async def test_one_workspace_folder_is_one_folder_however_it_is_given(
    tmp_path: Path, kind: Callable[[Path], Any], server: Any
) -> None:
    command = server(
        "hello = read(); send(id=hello['id'], result={'capabilities': hello['params']['workspaceFolders']})"
    )
    async with BridgeClient(kind(tmp_path), command=command) as client:
        assert client.server_capabilities == [{"uri": tmp_path.as_uri(), "name": tmp_path.name}]


@pytest.mark.parametrize("handled", [False, True])
async def test_edits_are_announced_by_a_client_that_can_make_them(tmp_path: Path, server: Any, handled: bool) -> None:
    command = server("hello = read(); send(id=hello['id'], result={'capabilities': hello['params']['capabilities']})")
    handlers = {"workspace/applyEdit": lambda _params: {"applied": False}} if handled else {}
    async with BridgeClient(tmp_path, command=command, handlers=handlers) as client:
        assert client.server_capabilities["workspace"]["applyEdit"] is handled


async def test_a_server_that_ends_at_once_is_told_with_its_last_words(tmp_path: Path, server: Any) -> None:
    command = server("sys.exit('no pygls here')")
    with pytest.raises(BridgeStartError, match=r"exit code 1; it said: no pygls here"):
        async with BridgeClient([tmp_path], command=command):
            pass


async def test_output_that_is_no_lsp_ends_the_connection_and_the_server(
    tmp_path: Path, server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("openbuffer.bridge.client.END_TIMEOUT_S", 0.2)
    command = server("print('Welcome to my server', flush=True); time.sleep(60)")
    client = BridgeClient([tmp_path], command=command)
    with pytest.raises(BridgeStartError, match="the server's output is no LSP"):
        async with client:
            pass
    assert not alive(client.pid)


async def test_a_server_that_dies_during_a_request_fails_that_request_and_later_ones(
    tmp_path: Path, server: Any
) -> None:
    command = server("shake_hands(); read(); os._exit(7)")
    async with BridgeClient([tmp_path], command=command) as client:
        with pytest.raises(BridgeEndedError, match=r"openbuffer/callTool: the server ended with exit code 7"):
            await client.call_tool("Read", {})
        with pytest.raises(BridgeEndedError, match="exit code 7"):
            await client.list_tools()


async def test_a_json_rpc_error_keeps_its_code_and_data(tmp_path: Path, server: Any) -> None:
    command = server("""
        shake_hands()
        send(id=read()["id"], error={"code": -32602, "message": "no name", "data": [1]})
        answer_all()
    """)
    async with BridgeClient([tmp_path], command=command) as client:
        with pytest.raises(BridgeRequestError, match="openbuffer/callTool: no name") as caught:
            await client.call_tool("Read", {})
    assert (caught.value.code, caught.value.data) == (-32602, [1])


async def test_a_request_without_an_answer_times_out_and_is_withdrawn(tmp_path: Path, server: Any) -> None:
    command = server("""
        shake_hands()
        asked, withdrawn = read(), read()
        send(method="seen", params=[asked["id"], withdrawn])
        send(id=asked["id"], result="late")
        answer_all()
    """)
    seen: list[Any] = []
    arrived = anyio.Event()

    def notified(_method: str, params: Any) -> None:
        seen.append(params)
        arrived.set()

    async with BridgeClient([tmp_path], command=command, on_notification=notified) as client:
        with pytest.raises(BridgeTimeoutError, match=r"silent: no answer in 0.1 s"):
            await client.request("silent", {}, timeout_s=0.1)
        await arrived.wait()
        number, withdrawn = seen[0]
        assert withdrawn["method"] == "$/cancelRequest"
        assert withdrawn["params"] == {"id": number}
        assert await client.request("still alive", {}) is None


async def test_cancelling_a_request_withdraws_it(tmp_path: Path, server: Any) -> None:
    command = server("""
        shake_hands()
        read(); send(method="asked"); send(method=read()["method"])
        answer_all()
    """)
    seen: list[str] = []
    wake = anyio.Event()

    def notified(method: str, _params: Any) -> None:
        nonlocal wake
        seen.append(method)
        wake.set()
        wake = anyio.Event()

    async with BridgeClient([tmp_path], command=command, on_notification=notified) as client:
        async with anyio.create_task_group() as tasks:
            first = wake
            tasks.start_soon(client.request, "endless", {})
            await first.wait()
            second = wake
            tasks.cancel_scope.cancel()
        await second.wait()
    assert seen == ["asked", "$/cancelRequest"]


async def test_requests_of_the_server_get_the_handlers_answer_or_an_error(tmp_path: Path, server: Any) -> None:
    command = server("""
        shake_hands()
        start = read()
        answers = []
        asked = ["editor/echo", "editor/plain", "editor/fails", "editor/unknown", "workspace/configuration"]
        for number, method in enumerate(asked):
            send(id=number, method=method, params={"items": [1, 2]})
            answer = read()
            answers.append(answer.get("result") or answer["error"])
        send(id=start["id"], result=answers)
        answer_all()
    """)

    async def echo(params: Any) -> Any:
        return params

    async def fails(_params: Any) -> Any:
        raise RuntimeError("no window")

    handlers = {"editor/echo": echo, "editor/plain": lambda params: [params, "plain"], "editor/fails": fails}
    async with BridgeClient([tmp_path], command=command, handlers=handlers) as client:
        answers = await client.request("start", {})
    assert answers == [
        {"items": [1, 2]},
        [{"items": [1, 2]}, "plain"],
        {"code": -32603, "message": "editor/fails: no window"},
        {"code": -32601, "message": "this client does not know editor/unknown"},
        [None, None],
    ]


async def test_a_chatty_stderr_does_not_block_the_server(tmp_path: Path, server: Any) -> None:
    command = server("sys.stderr.write('x' * 3_000_000); sys.stderr.flush(); shake_hands(); answer_all()")
    async with BridgeClient([tmp_path], command=command) as client:
        assert await client.request("anything", {}) is None


async def test_an_error_in_the_body_comes_out_as_itself_and_the_server_ends(tmp_path: Path, server: Any) -> None:
    command = server("shake_hands(); answer_all()")
    client = BridgeClient([tmp_path], command=command)
    with pytest.raises(LookupError, match="mine"):
        async with client:
            raise LookupError("mine")
    assert not alive(client.pid)


@pytest.mark.parametrize(
    "stubborn",
    ["time.sleep(600)", "signal.signal(signal.SIGTERM, signal.SIG_IGN); send(method='deaf'); time.sleep(600)"],
)
async def test_a_server_that_does_not_end_is_ended_by_force(
    tmp_path: Path, server: Any, stubborn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("openbuffer.bridge.client.END_TIMEOUT_S", 0.2)
    client = BridgeClient([tmp_path], command=server(f"shake_hands(); {stubborn}"))
    async with client:
        pid = client.pid
    assert not alive(pid)


async def test_text_with_a_lone_surrogate_arrives_as_it_is(tmp_path: Path, server: Any) -> None:
    command = server("shake_hands(); m = read(); send(id=m['id'], result=m['params']); answer_all()")
    async with BridgeClient([tmp_path], command=command) as client:
        assert await client.request("echo", {"text": "\ud800 é 😋"}) == {"text": "\ud800 é 😋"}


async def test_progress_goes_to_the_call_that_it_is_of(tmp_path: Path, server: Any) -> None:
    command = server("""
        shake_hands()
        asked = read()
        for kind in ("begin", "report", "end"):
            send(method="$/progress", params={"token": asked["params"]["workDoneToken"], "value": {"kind": kind}})
        send(method="$/progress", params={"token": "another", "value": {"kind": "begin"}})
        send(id=asked["id"], result={"name": "T", "isError": False, "data": 1})
        send(method="$/progress", params={"token": asked["params"]["workDoneToken"], "value": {"kind": "late"}})
        answer_all()
    """)
    told: list[str] = []
    async with BridgeClient([tmp_path], command=command) as client:
        answer = await client.call_tool("T", {}, on_progress=lambda value: told.append(value["kind"]))
        assert answer.data == 1
        await client.request("anything")
    assert told == ["begin", "report", "end"]


@pytest.mark.parametrize(
    "address", ["127.0.0.1:1", "unix:/no/such/socket", "nonsense", "127.0.0.1:", "127.0.0.1:99999"]
)
async def test_an_address_where_nobody_listens_is_told(tmp_path: Path, address: str) -> None:
    with pytest.raises(BridgeStartError, match=f"{address}: no server answers there"):
        async with BridgeClient(tmp_path, connect=address):
            pass


async def test_the_access_token_goes_with_the_first_message(tmp_path: Path, server: Any) -> None:
    command = server("""
        hello = read()
        send(id=hello["id"], result={"capabilities": hello["params"]["initializationOptions"]})
        answer_all()
    """)
    async with BridgeClient(tmp_path, command=command, access_token="secret") as client:
        assert client.server_capabilities == {"openbuffer": {"accessToken": "secret"}}


@pytest.mark.contract("B2")
async def test_what_the_server_withdraws_is_cancelled_at_its_handler_and_answered(tmp_path: Path, server: Any) -> None:
    command = server("""
        shake_hands()
        start = read()
        send(id="d-1", method="window/showMessageRequest", params={})
        send(id="d-2", method="window/showMessageRequest", params={})
        read()
        send(method="$/cancelRequest", params={"id": "d-1"})
        first = read()
        send(method="$/cancelRequest", params={"id": "d-1"})
        send(method="$/cancelRequest", params={"id": "never"})
        send(method="go on")
        send(id=start["id"], result=[first, read()])
        answer_all()
    """)
    closed: list[str] = []
    go_on = anyio.Event()

    async def dialog(_params: Any) -> Any:
        closed.append("open")
        if len(closed) == 2:
            client.notify("both are open")
        try:
            await go_on.wait()
        except anyio.get_cancelled_exc_class():
            closed.append("closed")
            raise
        return {"title": "Deny"}

    def notified(method: str, _params: Any) -> None:
        if method == "go on":
            go_on.set()

    handlers = {"window/showMessageRequest": dialog}
    async with BridgeClient(tmp_path, command=command, handlers=handlers, on_notification=notified) as client:
        first, second = await client.request("start", {})
    assert closed == ["open", "open", "closed"]
    assert (first["id"], first["error"]["code"]) == ("d-1", -32800)
    assert (second["id"], second["result"]) == ("d-2", {"title": "Deny"})


async def test_a_handler_whose_result_is_no_json_is_answered_as_an_error(tmp_path: Path, server: Any) -> None:
    command = server("""
        shake_hands()
        start = read()
        send(id="r-1", method="editor/strange", params={})
        send(id=start["id"], result=read())
        answer_all()
    """)
    async with BridgeClient(tmp_path, command=command, handlers={"editor/strange": lambda _params: object()}) as client:
        answer = await client.request("start", {})
    assert (answer["id"], answer["error"]["code"]) == ("r-1", -32603)


async def test_notifications_of_a_shape_that_they_cannot_have_take_nothing_down(tmp_path: Path, server: Any) -> None:
    command = server("""
        shake_hands()
        asked = read()
        for method in ("$/progress", "$/cancelRequest"):
            send(method=method)
            send(method=method, params=["no", "object"])
            send(method=method, params={})
            send(method=method, params={"id": ["no id"], "token": {"no": "token"}})
        send(id=asked["id"], result={"name": "T", "isError": False, "data": 1})
        answer_all()
    """)
    async with BridgeClient([tmp_path], command=command) as client:
        assert (await client.call_tool("T", {}, on_progress=lambda _value: None)).data == 1


@pytest.mark.parametrize("where", ["progress", "notification"])
async def test_what_a_callback_raises_is_logged_and_ends_nothing(
    tmp_path: Path, server: Any, where: str, caplog: pytest.LogCaptureFixture
) -> None:
    command = server("""
        shake_hands()
        asked = read()
        token = asked["params"]["workDoneToken"]
        for kind in ("begin", "end"):
            send(method="$/progress", params={"token": token, "value": {"kind": kind}})
        send(id=asked["id"], result={"name": "T", "isError": False, "data": 1})
        answer_all()
    """)
    told: list[Any] = []

    def raises(*arguments: Any) -> None:
        told.append(arguments)
        raise LookupError(f"a fault of the {where} handler")

    notified = raises if where == "notification" else None
    async with BridgeClient([tmp_path], command=command, on_notification=notified) as client:
        on_progress = raises if where == "progress" else lambda _value: None
        assert (await client.call_tool("T", {}, on_progress=on_progress)).data == 1
        assert await client.request("anything") is None
    assert len(told) == 2
    assert caplog.text.count(f"LookupError: a fault of the {where} handler") == 2


async def test_messages_of_a_shape_that_they_cannot_have_are_no_reason_to_end(tmp_path: Path, server: Any) -> None:
    command = server("""
        shake_hands()
        asked = read()
        for strange in (
            {"id": ["no id"], "method": "editor/known"},
            {"id": {"no": "id"}, "result": 1},
            {"id": None, "method": "editor/known"},
            {"method": ["no method"]},
            {"id": 5, "method": {"no": "method"}},
            {"id": None, "error": "no error"},
            {"method": "$/progress", "params": {"token": asked["params"]["workDoneToken"]}},
        ):
            send(**strange)
        send(id=asked["id"], result={"name": "T", "isError": False, "data": 1})
        again = read()
        while "method" not in again:
            again = read()
        send(id=again["id"], error="no error")
        answer_all()
    """)
    async with BridgeClient([tmp_path], command=command) as client:
        assert (await client.call_tool("T", {}, on_progress=lambda _value: None)).data == 1
        with pytest.raises(BridgeRequestError, match="anything: no error"):
            await client.request("anything")
        assert await client.request("anything") is None


async def test_why_a_server_turned_the_client_away_is_told_where_it_answers_no_request(
    tmp_path: Path, server: Any
) -> None:
    command = server("send(id=None, error={'code': -32040, 'message': 'no whole message came in 10 s'}); sys.exit(1)")
    with pytest.raises(BridgeStartError, match=r"exit code 1; its last error was: no whole message came in 10 s"):
        async with BridgeClient([tmp_path], command=command):
            pass
