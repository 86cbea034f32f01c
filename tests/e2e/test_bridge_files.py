"""Real files through a real server: what is no text file gets its own answer, and the session goes on."""

from __future__ import annotations

import asyncio
import os
import socket
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from .raw_client import RawClient

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

pytestmark = pytest.mark.asyncio(loop_scope="module")

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89"
PDF = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<< /Filter /FlateDecode >>\nstream\nx\x9c\x03\0\0\0\0\x01\nendstream\n"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RawClient]:
    """One server for all; each test works in a directory of its own below the root."""
    async with RawClient.start() as client:
        await client.initialize(tmp_path_factory.getbasetemp())
        yield client
        assert await client.leave() == 0


async def refusals(client: RawClient, path: Path) -> list[str]:
    """What Read, Edit and Write say of a file that none of them may touch."""
    return [
        said(await client.call("Read", {"filePath": str(path)})),
        said(await client.call("Edit", {"filePath": str(path), "oldString": "a", "newString": "b"})),
        said(await client.call("Write", {"filePath": str(path), "content": "b"})),
    ]


def said(answer: Any) -> str:
    assert answer["isError"] is True
    return answer["data"]["error"] if "data" in answer else answer["error"]["message"]


async def works(client: RawClient, tmp_path: Path) -> bool:
    (tmp_path / "good.txt").write_text("good\n")
    answer = await client.call("Read", {"filePath": str(tmp_path / "good.txt")})
    return answer["data"]["output"].endswith("\tgood")


@pytest.mark.contract("P6", "B3", "F1")
async def test_what_is_no_regular_file_is_told_by_every_tool_and_nothing_waits(
    client: RawClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "dir").mkdir()
    monkeypatch.chdir(tmp_path)  # a socket's path is limited to about 100 bytes
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
    (tmp_path / "link").symlink_to("pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    for name, what in {
        "pipe": "is a FIFO (named pipe), not a regular file",
        "link": "is a FIFO (named pipe), not a regular file",
        "socket": "is a socket, not a regular file",
        "dir": "is a directory, not a file",
        "zero": "is outside the workspace",
    }.items():
        for message in await refusals(client, tmp_path / name):
            assert what in message
            assert str(tmp_path) in message
    assert await works(client, tmp_path)


@pytest.mark.contract("P6", "B3")
async def test_a_device_inside_the_root_is_never_opened() -> None:
    async with RawClient.start() as client:
        await client.initialize("/dev")
        for path in ("zero", "null"):
            arguments = {"filePath": path, "oldString": "a", "newString": "b"}
            for message in (
                said(await client.call("Read", {"filePath": path})),
                said(await client.call("Edit", arguments)),
                said(await client.call("Write", {"filePath": path, "content": "x"})),
            ):
                assert message.startswith(f"/dev/{path}: is a character device, not a regular file")


@pytest.mark.contract("B3", "F1", "F2")
async def test_an_image_a_pdf_and_a_huge_file_are_errors_of_their_call_only(client: RawClient, tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(PNG)
    (tmp_path / "a.pdf").write_bytes(PDF)
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(300 * 1024 * 1024)  # holes only, so that it costs no disk
    for name, raw in {"a.png": PNG, "a.pdf": PDF}.items():
        for message in await refusals(client, tmp_path / name):
            assert message.startswith(f"{tmp_path}/{name}: is binary")
        assert (tmp_path / name).read_bytes() == raw
    for message in await refusals(client, tmp_path / "huge"):
        assert f"has {300 * 1024 * 1024} bytes, over the budget of {256 * 1024 * 1024} bytes" in message
    assert (tmp_path / "huge").stat().st_size == 300 * 1024 * 1024
    assert await works(client, tmp_path)


@pytest.mark.contract("E12", "F5")
async def test_edits_of_two_lines_by_two_bridges_at_once_for_fifty_rounds_lose_nothing(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("".join(f"{number}\n" for number in range(1, 101)))
    (tmp_path / "dir").mkdir()
    async with RawClient.start() as one, RawClient.start() as other:
        for client in (one, other):
            await client.initialize(tmp_path)
        expected = file.read_text().splitlines()
        for round_ in range(50):
            wanted = {50: f"50 in round {round_}", 75: f"75 in round {round_}"}
            answers = await asyncio.gather(
                *(
                    client.call(
                        "Edit",
                        {
                            "filePath": path,
                            "oldString": f"\n{expected[line - 1]}\n",
                            "newString": f"\n{wanted[line]}\n",
                        },
                    )
                    for client, path, line in ((one, str(file), 50), (other, "dir/../a.txt", 75))
                )
            )
            for line, answer in zip((50, 75), answers, strict=True):
                if answer["data"]["success"]:
                    expected[line - 1] = wanted[line]
            assert file.read_text().splitlines() == expected, (round_, answers)
        assert all("in round" in expected[line - 1] for line in (50, 75))
        assert sorted(os.listdir(tmp_path)) == ["a.txt", "dir"]
