"""A workspace whose modules are named like ours, like our libraries' and like Python's: none of them is imported."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from .raw_client import RawClient

SCRIPT = (str(Path(sys.executable).with_name("openbuffer")), "serve")
MODULE = (sys.executable, "-m", "openbuffer.bridge", "serve")
PACKAGES = ("tools", "bridge", "sandbox", "editor_access", "concurrent", "logging", "email")
MODULES = (
    "json", "asyncio", "typing", "argparse", "selectors", "socket", "ssl", "subprocess", "tempfile", "uuid", "difflib",
    "anyio", "pygls", "lsprotocol", "attr", "attrs", "cattrs", "pydantic", "pydantic_core", "jsonschema_rs",
    "charset_normalizer", "dataclasses", "inspect", "secrets", "hashlib", "signal", "string",
)  # fmt: skip


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """Every module notes that it was imported, and fails."""
    root = tmp_path / "workspace"
    note = f"open({str(tmp_path / 'imported')!r}, 'a').write(__name__ + '\\n')\nraise RuntimeError(__name__)\n"
    for name in PACKAGES:
        (root / name).mkdir(parents=True)
        (root / name / "__init__.py").write_text(note)
    for name in MODULES:
        (root / f"{name}.py").write_text(note)
    (root / "a.txt").write_text("hello\n")
    return root


@pytest.mark.contract("B3")
@pytest.mark.parametrize(
    ("command", "python_path"),
    [(SCRIPT, ""), (SCRIPT, "{}:{}/tools"), (SCRIPT, "."), (MODULE, ""), (MODULE, "{}")],
)
async def test_nothing_of_it_is_imported(
    workspace: Path, tmp_path: Path, command: tuple[str, ...], python_path: str
) -> None:
    env = {"PYTHONPATH": python_path.replace("{}", str(workspace))}
    async with RawClient.start(command, cwd=workspace, env=env) as client:
        await client.initialize(workspace)
        answer = await client.call("Read", {"filePath": "a.txt"})
        assert "1\thello" in answer["data"]["output"]
        (workspace / "b.txt").write_text("one\n")
        edited = await client.call("Edit", {"filePath": "b.txt", "oldString": "one", "newString": "two"})
        assert edited["data"]["success"] is True
        assert await client.leave() == 0
    assert not (tmp_path / "imported").exists(), (tmp_path / "imported").read_text()


@pytest.mark.contract("B3")
async def test_a_module_that_python_took_from_it_before_us_is_left_behind(workspace: Path, tmp_path: Path) -> None:
    early = f"open({str(tmp_path / 'early')!r}, 'a').write('started\\n')\n"
    (workspace / "sitecustomize.py").write_text(early)
    env = {"PYTHONPATH": str(workspace)}
    async with RawClient.start(SCRIPT, cwd=workspace, env=env) as client:
        await client.initialize(workspace)
        assert "1\thello" in (await client.call("Read", {"filePath": "a.txt"}))["data"]["output"]
        assert await client.leave() == 0
    assert (tmp_path / "early").read_text() == "started\n"
    assert not (tmp_path / "imported").exists()
