"""What calls saw of the world is on record as it was returned, so that a session can be played back without it (X3)."""

from __future__ import annotations

import hashlib
import sqlite3
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from openbuffer.tools import ToolContext, UrlTarget
from openbuffer.tools.adapters.artifact_files import ArtifactDirectory
from openbuffer.tools.adapters.asks import InMemoryAsks
from openbuffer.tools.adapters.log_settings import KEPT, LogSettings
from openbuffer.tools.adapters.sqlite_log_reader import LogReader
from openbuffer.tools.builtin.ask_user_question import create_ask_user_question_tool
from openbuffer.tools.builtin.glob import create_glob_tool
from openbuffer.tools.builtin.grep import create_grep_tool
from openbuffer.tools.builtin.list_dir import create_list_dir_tool
from openbuffer.tools.builtin.read import create_read_tool
from openbuffer.tools.builtin.shell import create_shell_tool
from openbuffer.tools.builtin.web_search import create_web_search_tool
from openbuffer.tools.events import ToolFinished
from openbuffer.tools.executor import DispatchingToolExecutor, SandboxedToolExecutor
from openbuffer.tools.permissions import AllowAll
from openbuffer.tools.ports import Answer
from openbuffer.tools.registry import DefaultToolRegistry

from .log_desk import Desk
from .search_desk import KEY, brave, brave_answer, brave_result, brave_server, searxng, searxng_server
from .web_desk import Server, answer, page, serving, web_fetch

if TYPE_CHECKING:
    from pathlib import Path

    from openbuffer.tools import FunctionTool, ToolResult
    from openbuffer.tools.adapters.sqlite_log import SqliteEventLog
    from openbuffer.tools.adapters.sqlite_log_reader import LoggedCall

pytestmark = pytest.mark.contract("X3")

CHOICE = {"question": "Which?", "options": ["one", "two"]}


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path / "log")


def executor(log: SqliteEventLog, *tools: FunctionTool) -> SandboxedToolExecutor:
    return SandboxedToolExecutor(DispatchingToolExecutor(DefaultToolRegistry(tools)), policy=AllowAll(), log=log)


def played_back(call: LoggedCall) -> tuple[str, Any]:
    """What a replay has of a call: how it ended, and what it returned."""
    end = call.events[-1].event
    assert isinstance(end, ToolFinished)
    assert call.intent is not None
    return end.outcome, end.value


def as_recorded(result: ToolResult) -> tuple[str, Any]:
    return "succeeded" if result.success else "failed", result.value


def everything_of(desk: Desk) -> bytes:
    return b"".join(each.read_bytes() for each in desk.directory.glob("events.db*"))


@pytest.mark.contract("X7")
async def test_what_was_read_listed_searched_and_run_is_played_back_with_the_workspace_gone(
    desk: Desk, tmp_path: Path
) -> None:
    root = tmp_path / "ws"
    root.mkdir()
    (root / "latin.txt").write_bytes(b"caf\xe9 au lait\r\n" * 400)
    (root / "binary").write_bytes(b"\0\1")
    log = desk.log()
    run = executor(
        log,
        *(make(cwd=root) for make in (create_read_tool, create_list_dir_tool, create_glob_tool, create_grep_tool)),
        create_shell_tool(cwd=root),
    )
    results = [
        await run.call("Read", {"filePath": "latin.txt"}),
        await run.call("Read", {"filePath": "latin.txt", "offset": 3, "limit": 1}),
        await run.call("Read", {"filePath": "binary"}),
        await run.call("Read", {"filePath": "missing"}),
        await run.call("ListDir", {}),
        await run.call("Glob", {"pattern": "*.txt"}),
        await run.call("Grep", {"pattern": "caf", "outputMode": "count"}),
        await run.call("Shell", {"command": "printf 'a\\xff\\n'; ls; exit 3"}),
        await run.call("Shell", {"command": "seq 9000 >&2"}),
    ]
    log.close()
    for each in root.iterdir():
        each.unlink()
    root.rmdir()
    assert [result.success for result in results] == [True, True, False, False, *[True] * 5]
    assert list(map(played_back, desk.calls())) == list(map(as_recorded, results))
    assert "exit" not in str(results[7].value.get("error"))
    assert results[7].value["exitCode"] == 3


@pytest.mark.contract("X7")
async def test_the_whole_output_of_a_command_is_to_be_had_by_the_hash_that_is_on_record(
    desk: Desk, tmp_path: Path
) -> None:
    store = ArtifactDirectory(str(tmp_path / "artifacts"))
    log = desk.log()
    run = executor(log, create_shell_tool(cwd=tmp_path, artifacts=store, max_output_bytes=1_000))
    result = await run.call("Shell", {"command": "seq 50000"})
    log.close()
    whole = b"".join(b"%d\n" % number for number in range(1, 50_001))
    name = hashlib.sha256(whole).hexdigest()
    (call,) = desk.calls()
    assert played_back(call) == as_recorded(result)
    assert f"sha256:{name}" in played_back(call)[1]["output"]
    assert store.read(name) == whole


@pytest.mark.contract("W1", "X7")
async def test_pages_are_played_back_without_a_network_and_one_content_is_kept_once(desk: Desk) -> None:
    log = desk.log()
    long = "".join(f"<p>paragraph {n} of a page of some length</p>" for n in range(400))
    async with serving(server := Server({"/": page(long)})):
        run = executor(log, web_fetch(allowed=("127.0.0.1",)))
        url = server.url(host="127.0.0.1")
        results = [
            await run.call("WebFetch", {"url": url}),
            await run.call("WebFetch", {"url": url, "fresh": True}),
            await run.call("WebFetch", {"url": url, "offset": 9_000}),
            await run.call("WebFetch", {"url": server.url("/missing", "127.0.0.1")}),
            await run.call("WebFetch", {"url": "http://10.0.0.1/"}),
        ]
    log.close()
    calls = desk.calls()
    assert [result.success for result in results] == [True, True, True, False, False]
    assert list(map(played_back, calls)) == list(map(as_recorded, results))
    assert [target.subject for target in calls[0].targets] == [url]
    with sqlite3.connect(desk.directory / "events.db") as connection:
        sizes = [size for (size,) in connection.execute("SELECT size FROM artifacts ORDER BY size")]
    connection.close()
    assert len(sizes) == 2, "the same page twice, and another part of it"


@pytest.mark.contract("W2", "X2")
async def test_searches_are_on_record_before_they_are_sent_and_are_played_back(desk: Desk) -> None:
    log = desk.log()
    seen: list[str] = []

    async with serving(server := brave_server()):
        server.give(brave_answer(brave_result(1), brave_result(2, description="x" * 5_000)))
        given = server.given

        async def look(stream: anyio.abc.ByteStream) -> None:
            seen.extend(desk.outcomes())
            await stream.send(given)

        server.given = look  # type: ignore[assignment]  the desk writes what it likes
        run = executor(log, create_web_search_tool(provider=brave(server)))
        found = await run.call("WebSearch", {"query": "unsaved"})
        server.give({}, "500 Internal Server Error")
        failed = await run.call("WebSearch", {"query": "unsaved"})
    log.close()
    assert [each.rpartition(" ")[2] for each in seen] == ["running"]
    calls = desk.calls()
    assert list(map(played_back, calls)) == [as_recorded(found), as_recorded(failed)]
    assert (found.success, failed.success) == (True, False)
    (target,) = calls[0].targets
    assert isinstance(target, UrlTarget)
    assert (target.host, target.port) == ("127.0.0.1", server.port)
    assert "q=unsaved" in target.url
    assert KEY.encode() not in everything_of(desk)


@pytest.mark.contract("W3", "X2")
async def test_answers_are_played_back_and_a_question_that_waits_is_on_record(desk: Desk) -> None:
    log, port = desk.log(), InMemoryAsks("two", Answer(outcome="dismissed", reason="not now"))
    run = executor(log, create_ask_user_question_tool(ask=port))
    answered = await run.call("AskUserQuestion", {"questions": [CHOICE]})
    dismissed = await run.call("AskUserQuestion", {"questions": [CHOICE, CHOICE]})
    async with anyio.create_task_group() as group:
        group.start_soon(run.call, "AskUserQuestion", {"questions": [CHOICE]}, ToolContext(call_id="waits"))
        await port.next_question()
        assert desk.outcomes()[-1] == "waits running"
        group.cancel_scope.cancel()
    log.close()
    calls = desk.calls()
    assert list(map(played_back, calls[:2])) == [as_recorded(answered), as_recorded(dismissed)]
    assert (answered.success, dismissed.success) == (True, False)
    assert calls[2].outcome == "cancelled"
    assert calls[2].intent is not None
    assert calls[2].intent.arguments == {"questions": [CHOICE]}


@pytest.mark.contract("X7")
async def test_what_is_to_be_redacted_of_pages_results_and_answers_is_on_record_nowhere(desk: Desk) -> None:
    settings = LogSettings(redact=("hush-[0-9]+",))
    log = desk.log(settings, secrets={"MY_TOKEN": "hunter2222"})
    hidden = "hunter2222 hush-77 ghp_" + "Q" * 36
    async with serving(server := Server({"/": answer(hidden, content_type="text/plain")}), found := searxng_server()):
        found.give({"results": [{"url": "https://a.example/", "title": hidden, "content": hidden}]})
        run = executor(
            log,
            web_fetch(allowed=("127.0.0.1",)),
            create_web_search_tool(provider=searxng(found)),
            create_ask_user_question_tool(ask=InMemoryAsks(hidden)),
        )
        headers = {"Authorization": "Basic b3duZXI6b3BlbnNlc2FtZQ==", "X-Api-Key": "k-12345678", "Accept": "text/plain"}
        results = [
            await run.call("WebFetch", {"url": server.url(host="127.0.0.1"), "headers": headers}),
            await run.call("WebSearch", {"query": hidden}),
            await run.call("AskUserQuestion", {"questions": [{"question": f"Is it {hidden}?"}]}),
        ]
    log.close()
    assert all(result.success and hidden in result.value["output"] for result in results)
    kept = everything_of(desk)
    for secret in ("hunter2222", "hush-77", "Q" * 36, "b3duZXI6b3BlbnNlc2FtZQ", "k-12345678"):
        assert secret.encode() not in kept
    calls = desk.calls()
    for call in calls:
        assert "[redacted: MY_TOKEN] [redacted] [redacted]" in played_back(call)[1]["output"]
    assert calls[0].intent is not None
    assert calls[0].intent.arguments["headers"] == {
        "Authorization": "[redacted]",
        "X-Api-Key": "[redacted]",
        "Accept": "text/plain",
    }


@pytest.mark.contract("X7")
async def test_where_results_are_not_kept_that_is_told_of_each(desk: Desk) -> None:
    log = desk.log(LogSettings(keep=frozenset(KEPT) - {"results"}))
    run = executor(log, create_ask_user_question_tool(ask=InMemoryAsks("my secret wish")))
    assert (await run.call("AskUserQuestion", {"questions": [{"question": "What?"}]})).success
    log.close()
    (call,) = desk.calls()
    assert call.events[-1].not_kept == {"value": (0, "results are not kept")}
    assert b"secret wish" not in everything_of(desk)


async def test_what_is_on_record_is_read_while_the_session_goes_on(desk: Desk) -> None:
    log = desk.log()
    run = executor(log, create_ask_user_question_tool(ask=InMemoryAsks("one")))
    result = await run.call("AskUserQuestion", {"questions": [CHOICE]})
    reader = LogReader(str(desk.directory))
    (call,) = reader.call("1")
    reader.close()
    assert call.session.is_alive
    assert played_back(call) == as_recorded(result)
    log.close()
