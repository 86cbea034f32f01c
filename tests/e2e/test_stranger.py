"""PROTOCOL.md is enough to write a client from: one in Perl that was, over stdio and over a socket."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from .listening_server import TOKEN, listening
from .raw_client import DEADLINE_S, SERVER

STRANGER = Path(__file__).with_name("stranger.pl")
RULES = '[permissions]\nask = ["Edit"]\n'


@pytest.fixture(scope="module")
def perl() -> str:
    """Perl with what it brings along; Debian's smallest one lacks that."""
    perl = shutil.which("perl")
    if perl is None:
        pytest.skip("there is no perl on this machine")
    modules = ("JSON::PP", "Digest::SHA", "IO::Socket::INET", "IPC::Open2")
    done = subprocess.run([perl, *(f"-M{name}" for name in modules), "-e", "1"], capture_output=True, check=False)
    if done.returncode:
        pytest.skip(f"{perl} lacks one of {', '.join(modules)}; Debian has them in the package perl")
    return perl


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path.resolve() / "ws"
    root.mkdir()
    (root / "notes.txt").write_text("pears\napples\n")
    (root / "clean.txt").write_text("the old line\n")
    (tmp_path / "rules.toml").write_text(RULES)
    return root


async def findings(*command: str) -> list[dict[str, Any]]:
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    try:
        told, said = await asyncio.wait_for(process.communicate(), DEADLINE_S)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, told.decode() + said.decode()
    return [json.loads(line) for line in told.splitlines()]


@pytest.mark.contract("B1", "B2", "E8", "E9", "E10")
@pytest.mark.parametrize("transport", ["stdio", "TCP"])
async def test_a_client_written_from_the_page_alone_does_all_of_it(
    tmp_path: Path, root: Path, perl: str, transport: str
) -> None:
    rules = ("--config", str(tmp_path / "rules.toml"))
    if transport == "stdio":
        told = await findings(perl, str(STRANGER), str(root), *SERVER, *rules)
    else:
        variable = "OPENBUFFER_ACCESS_TOKEN"
        os.environ[variable] = TOKEN
        try:
            async with listening("127.0.0.1:0", *rules) as server:
                told = await findings(perl, str(STRANGER), str(root), server.address, variable)
        finally:
            del os.environ[variable]
    begun, listed, read, permission, edited, denied, refused, allowed, saved, *more = told
    assert begun == {"encoding": "utf-8", "version": 1}
    assert {"Read", "Write", "Edit", "Delete", "Grep", "Shell"} <= set(listed["tools"])
    assert "1\ttyped 😀 é\n     2\tpears" in read["read"]
    assert "unsaved" in read["read"]
    notes, clean = str(root / "notes.txt"), str(root / "clean.txt")
    assert (permission["permission"], permission["path"]) == ("Edit", notes)
    assert [hunk["startLine"] for hunk in permission["hunks"]] == [1]
    assert edited == {"edited": True, "text": "typed 😀 e\nplums\napples\n"}
    assert (root / "notes.txt").read_text() == "pears\napples\n"
    assert [each["path"] for each in (denied, allowed)] == [clean, clean]
    assert refused["refused"] == "PermissionDeniedError"
    assert "not this one" in refused["why"]
    assert refused["text"] == "the old line\n"
    assert "saved to disk" in saved["saved"]
    assert saved["dirty"] is False
    assert (root / "clean.txt").read_text() == "the new line\n"
    methods = ("applyEdit", "readDocument", "requestPermission", "saveDocument")
    assert more == [
        {"cancelled": -32800},
        {"progress": ["begin", "end"]},
        {"asked": [f"openbuffer/{method}" for method in methods]},
        {"exit": 0},
    ]
