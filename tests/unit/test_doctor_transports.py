"""What the doctor says of VS Code and of sockets."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from openbuffer.bridge.commands.doctor_transports import examine_transports
from openbuffer.bridge.wire import listening

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openbuffer.bridge.commands.findings import Finding


@pytest.fixture
def run() -> Iterator[Path]:
    """A directory with a path that is short enough for a socket."""
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="ob-") as directory:
        yield Path(directory)


@pytest.fixture(autouse=True)
def programs(tmp_path: Path, run: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only directory on PATH; and a runtime directory of one's own."""
    directory = tmp_path / "bin"
    directory.mkdir()
    monkeypatch.setenv("PATH", str(directory))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(run))
    (run / "openbuffer").mkdir(mode=0o700)
    return directory


def found() -> dict[str, Finding]:
    return {finding.name: finding for finding in examine_transports()}


def install(directory: Path, name: str, says: str) -> None:
    (directory / name).write_text(f"#!/bin/sh\n{says}\n")
    (directory / name).chmod(0o755)


def test_without_vscode_it_is_told_how_to_get_it() -> None:
    finding = found()["VS Code"]
    assert finding.state == "note"
    assert "not found; only its extension needs it" in finding.detail
    assert "code.visualstudio.com" in str(finding.fix)


@pytest.mark.parametrize(
    ("name", "says", "state", "detail"),
    [
        ("code", "echo 1.139.1; echo abcdef; echo x64", "good", "1.139.1"),
        ("code-server", "echo 4.139.1 abcdef with Code 1.139.1", "good", "1.139.1"),
        ("codium", "echo 1.50.0", "note", "1.50.0 ("),
        ("code", "echo hello", "note", "tells no version"),
        ("code", "exit 1", "note", "tells no version"),
    ],
)
def test_vscode_is_asked_for_its_version(programs: Path, name: str, says: str, state: str, detail: str) -> None:
    install(programs, name, says)
    finding = found()["VS Code"]
    assert finding.state == state
    assert detail in finding.detail
    assert (finding.fix is None) == (state == "good")


def test_a_program_that_does_not_run_is_a_note(programs: Path) -> None:
    (programs / "code").write_bytes(b"\x00not a program")
    (programs / "code").chmod(0o755)
    assert "does not run" in found()["VS Code"].detail


@pytest.mark.contract("B1")
def test_sockets_that_can_be_had_are_good_and_leave_nothing(run: Path) -> None:
    finding = found()["sockets"]
    assert finding.state == "good", finding
    assert list((run / "openbuffer").iterdir()) == []


@pytest.mark.contract("B1")
def test_a_place_for_socket_files_that_cannot_be_used_is_noted_with_what_helps(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(run / ("x" * 120)))
    assert "longer than the 100 bytes" in found()["sockets"].detail
    (run / "openbuffer").chmod(0o755)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(run))
    finding = found()["sockets"]
    assert "can be entered by others" in finding.detail
    assert "XDG_RUNTIME_DIR" in str(finding.fix)


@pytest.mark.contract("B1")
def test_without_a_loopback_interface_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_address: object) -> object:
        raise listening.ListenError("127.0.0.1:0: Cannot assign requested address")

    monkeypatch.setattr(listening, "open_listener", refuse)
    finding = found()["sockets"]
    assert (finding.state, "cannot be used" in finding.detail) == ("note", True)
