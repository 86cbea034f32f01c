"""Clients of somebody else's that answer with what is no answer: nothing of it is taken for success (S4, S5)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from file_tool_desk import FACTORIES
from openbuffer.sandbox import CommandTimeoutError, DirectoryEntry, DirectoryListing, FileStat, RunResult
from openbuffer.tools.config import ToolConfig
from openbuffer.tools.executor import create_tool_executor

ARGUMENTS: dict[str, dict[str, Any]] = {
    "Read": {"filePath": "f"},
    "Edit": {"filePath": "f", "oldString": "old", "newString": "new"},
    "Write": {"filePath": "f", "content": "new"},
    "Delete": {"path": "f"},
    "Shell": {"command": "x"},
}


class UnspeakableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("this error has no words")


class Liar:
    """Answers as it is told, or raises; else as a client with one file of four bytes."""

    filesystem = "separate"

    def __init__(self, **answers: Any) -> None:
        self.answers = answers
        self.done: list[str] = []

    async def run(self, _command: Any) -> Any:
        return self._say("run", RunResult(exit_code=0, output="x"))

    async def read_file(self, _path: str, *, max_bytes: int | None = None) -> Any:  # noqa: ARG002  the port's
        return self._say("read_file", "old\n")

    async def read_bytes(self, _path: str, *, max_bytes: int | None = None) -> Any:  # noqa: ARG002  the port's
        return self._say("read_bytes", b"old\n")

    async def write_file(self, _path: str, _text: str) -> Any:
        return self._say("write_file", None)

    async def write_bytes(self, _path: str, _content: bytes) -> Any:
        return self._say("write_bytes", None)

    async def stat(self, _path: str) -> Any:
        return self._say("stat", FileStat(kind="file", size=4))

    async def list_directory(self, _path: str, *, max_entries: int) -> Any:  # noqa: ARG002  the port's
        return self._say("list_directory", DirectoryListing(entries=()))

    async def delete(self, _path: str) -> Any:
        return self._say("delete", None)

    def _say(self, name: str, usual: Any) -> Any:
        answer = self.answers.get(name, usual)
        if isinstance(answer, BaseException):
            raise answer
        self.done.append(name)
        return answer


async def call(name: str, client: Any) -> tuple[bool, str]:
    executor = create_tool_executor(ToolConfig(roots=("/w",), sandbox=client))
    result = await executor.call(name, ARGUMENTS[name])
    return result.success, str(result.value.get("error"))


def stat(**given: Any) -> FileStat:
    return FileStat(**({"kind": "file", "size": 4} | given))


NO_STATS = [
    None,
    {"kind": "file", "size": 4},
    "file",
    stat(kind="weird"),
    stat(kind=None),
    stat(size=-1),
    stat(size="4"),
    stat(size=None),
    stat(size=True),
    stat(size=4.0),
    stat(size=10**5_000),
    stat(mode="644"),
    stat(mtime_ns=0.5),
    stat(is_link="no"),
]


@pytest.mark.contract("S4", "S5")
@pytest.mark.parametrize("answer", NO_STATS, ids=range(len(NO_STATS)))
@pytest.mark.parametrize("tool", ["Read", "Edit", "Write", "Delete"])
async def test_what_is_no_status_of_a_file_is_told_and_nothing_is_changed(tool: str, answer: object) -> None:
    client = Liar(stat=answer)
    success, error = await call(tool, client)
    assert not success
    assert "as the status of the file" in error
    assert not {"write_bytes", "delete"} & set(client.done)


NO_LISTINGS = [
    None,
    (),
    DirectoryListing(entries=None),  # type: ignore[arg-type]  that is what the test is about
    DirectoryListing(entries=("a",)),  # type: ignore[arg-type]  likewise
    DirectoryListing(entries=[], complete="no"),  # type: ignore[arg-type]  likewise
    DirectoryListing(entries=(DirectoryEntry(name="..", kind="directory"),)),
    DirectoryListing(entries=(DirectoryEntry(name="a/b", kind="file"),)),
    DirectoryListing(entries=(DirectoryEntry(name="", kind="file"),)),
]


@pytest.mark.contract("S4", "S5")
@pytest.mark.parametrize("answer", NO_LISTINGS, ids=range(len(NO_LISTINGS)))
async def test_what_is_no_list_of_names_is_told_and_nothing_is_deleted(answer: object) -> None:
    client = Liar(stat=stat(kind="directory", size=0), list_directory=answer)
    success, error = await call("Delete", client)
    assert not success
    assert "as the entries of the directory" in error
    assert "delete" not in client.done


NO_ENDS = [
    None,
    0,
    "0",
    *(RunResult(exit_code=code, output="x") for code in (None, True, False, "0", 0.0, -1, 256, 10**5_000)),  # type: ignore[arg-type]  that is what the test is about
    *(RunResult(exit_code=0, output=output) for output in (None, b"x", 5)),  # type: ignore[arg-type]  likewise
]


@pytest.mark.contract("S4", "S5")
@pytest.mark.parametrize("answer", NO_ENDS, ids=range(len(NO_ENDS)))
async def test_what_is_no_end_of_a_command_is_no_success(answer: object) -> None:
    success, error = await call("Shell", Liar(run=answer))
    assert not success
    assert "the sandbox did not run it to a known end" in error
    assert "Look at what it did before you try again." in error


async def test_a_time_out_without_output_is_a_time_out() -> None:
    executor = create_tool_executor(
        ToolConfig(roots=("/w",), sandbox=Liar(run=CommandTimeoutError("late", output=None)))  # type: ignore[arg-type]  that is what the test is about
    )
    result = await executor.call("Shell", ARGUMENTS["Shell"])
    assert not result.success
    assert "Ended at its timeout" in str(result.value)


FAILURES = [
    KeyError("k"),
    ConnectionError("gone"),
    TimeoutError(),
    ExceptionGroup("g", [ValueError("x")]),
    UnspeakableError(),
]


@pytest.mark.contract("S4", "S5")
@pytest.mark.parametrize("failure", FAILURES, ids=lambda each: type(each).__name__)
@pytest.mark.parametrize("tool", ["Read", "Edit", "Write", "Delete"])
async def test_a_client_that_fails_in_its_own_way_while_it_looks_is_an_ordinary_failure(
    tool: str, failure: Exception
) -> None:
    for name in ("stat", "read_bytes"):
        client = Liar(**{name: failure})
        success, error = await call(tool, client)
        assert not success
        assert f"cannot be read in the sandbox (its client failed: {type(failure).__name__}" in error
        assert not {"write_bytes", "delete"} & set(client.done)


@pytest.mark.contract("S4", "S5")
@pytest.mark.parametrize("failure", FAILURES, ids=lambda each: type(each).__name__)
@pytest.mark.parametrize(
    ("tool", "operation"), [("Write", "write_bytes"), ("Edit", "write_bytes"), ("Delete", "delete")]
)
async def test_a_client_that_fails_in_its_own_way_while_it_changes_leaves_the_outcome_unknown(
    tool: str, operation: str, failure: Exception
) -> None:
    success, error = await call(tool, Liar(**{operation: failure}))
    assert not success
    assert "the outcome is unknown: the change was sent to the sandbox" in error


@pytest.mark.contract("S4", "S5")
@pytest.mark.parametrize("failure", FAILURES, ids=lambda each: type(each).__name__)
async def test_a_command_whose_client_fails_in_its_own_way_has_no_known_end(failure: Exception) -> None:
    success, error = await call("Shell", Liar(run=failure))
    assert not success
    assert f"the sandbox did not run it to a known end: its client failed: {type(failure).__name__}" in error


@pytest.mark.contract("S4", "S5", "T6")
@pytest.mark.parametrize(
    ("tool", "operation"), [("Write", "write_bytes"), ("Edit", "write_bytes"), ("Delete", "delete")]
)
async def test_a_change_whose_client_was_cancelled_by_itself_is_no_success(tool: str, operation: str) -> None:
    success, error = await call(tool, Liar(**{operation: asyncio.CancelledError()}))
    assert not success
    assert "the outcome is unknown: the change was sent to the sandbox" in error


def test_every_file_tool_is_tried_here() -> None:
    assert set(FACTORIES) | {"Shell"} == set(ARGUMENTS)
