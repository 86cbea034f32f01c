"""The log file: whole lines, bounded, shared by several servers, and never a reason to fail."""

from __future__ import annotations

import fcntl
import logging
import os
import stat
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from openbuffer.bridge.life.log_file import LogFile, LogFileError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def record(message: str, level: int = logging.WARNING, **more: Any) -> logging.LogRecord:
    return logging.makeLogRecord({"msg": message, "name": "a.b", "levelno": level, "levelname": "WARNING", **more})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "server.log"


@pytest.fixture
def log(path: Path) -> Iterator[LogFile]:
    log = LogFile(path, logging.INFO, max_bytes=2_000, kept=2)
    yield log
    log.close()


@pytest.mark.contract("B3")
def test_a_record_is_a_line_of_time_process_level_and_logger_that_no_message_can_forge(
    log: LogFile, path: Path
) -> None:
    log.emit(record("one\n2026-01-01T00:00:00.000Z 1 ERROR root: forged", created=0.0, msecs=0.0))
    first, second, end = path.read_text().split("\n")
    assert first == f"1970-01-01T00:00:00.000Z {os.getpid()} WARNING a.b: one"
    assert second == "    2026-01-01T00:00:00.000Z 1 ERROR root: forged"
    assert end == ""
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.contract("B3")
def test_a_full_file_becomes_an_older_one_and_there_are_never_more_than_were_asked_for(
    log: LogFile, path: Path
) -> None:
    for number in range(200):
        log.emit(record(f"line {number} {'x' * 50}"))
    names = sorted(os.listdir(path.parent))
    assert names == ["server.log", "server.log.1", "server.log.2"]
    assert all((path.parent / name).stat().st_size < 2_200 for name in names)
    kept = [line.split()[5] for name in reversed(names) for line in (path.parent / name).read_text().splitlines()]
    assert kept == [str(number) for number in range(200 - len(kept), 200)]


@pytest.mark.contract("B3")
def test_several_servers_share_a_file_and_lose_no_line(path: Path) -> None:
    code = (
        "import logging, pathlib, sys; from openbuffer.bridge.life.log_file import LogFile\n"
        "log = LogFile(pathlib.Path(sys.argv[1]), logging.INFO, max_bytes=20_000, kept=50)\n"
        "[log.emit(logging.makeLogRecord({'msg': f'{sys.argv[2]} {n} end', 'levelname': 'X'})) for n in range(1000)]"
    )
    servers = [subprocess.Popen([sys.executable, "-P", "-c", code, str(path), name]) for name in "abc"]
    assert [server.wait(50) for server in servers] == [0, 0, 0]
    lines = [line for file in path.parent.iterdir() for line in file.read_text().splitlines()]
    told = sorted(tuple(line.rpartition(": ")[2].split()) for line in lines)
    assert told == sorted((name, str(number), "end") for name in "abc" for number in range(1000))
    assert len(os.listdir(path.parent)) > 3


@pytest.mark.contract("B3")
def test_a_full_file_that_another_server_holds_holds_nobody_up_and_does_not_grow_without_end(
    log: LogFile, path: Path
) -> None:
    with path.open("rb") as other:  # a server that was stopped while it renamed the file
        fcntl.flock(other, fcntl.LOCK_EX)
        for number in range(200):
            log.emit(record(f"line {number} {'x' * 50}"))
        assert os.listdir(path.parent) == ["server.log"]
        assert 2_000 < path.stat().st_size < 4_200
    log.emit(record("free again"))
    assert path.read_text().endswith(": free again\n")
    assert len(path.read_text().splitlines()) == 1


@pytest.mark.contract("B3")
def test_a_server_that_cannot_rename_a_full_file_holds_no_other_up(
    log: LogFile, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise PermissionError

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", refused)
        for number in range(200):
            log.emit(record(f"line {number} {'x' * 50}"))
    assert 2_000 < path.stat().st_size < 4_200
    with path.open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises where the first one still has it
    log.emit(record("one that can"))
    assert path.read_text().endswith(": one that can\n")


@pytest.mark.contract("B3")
def test_what_cannot_be_written_is_dropped_and_a_file_that_went_is_made_again(log: LogFile, path: Path) -> None:
    log.emit(record("%d", args=("no number",)))
    log.emit(record("y" * 100_000))
    path.unlink()
    log.emit(record("again"))
    assert path.read_text().endswith(": again\n")
    path.unlink()
    path.parent.joinpath("elsewhere").touch()
    path.symlink_to(path.parent / "elsewhere")
    log.emit(record("not through a link"))
    assert (path.parent / "elsewhere").read_text() == ""


@pytest.mark.contract("B3")
@pytest.mark.parametrize("kind", ["directory", "fifo", "missing"])
def test_what_is_no_file_is_refused(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "x" / "log" if kind == "missing" else tmp_path / "log"
    if kind == "directory":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    with pytest.raises(LogFileError, match="the log cannot be written there"):
        LogFile(path, logging.INFO)


def test_a_link_and_a_pipe_are_told_as_what_they_are(tmp_path: Path) -> None:
    (tmp_path / "link.log").symlink_to(tmp_path / "elsewhere.log")
    os.mkfifo(tmp_path / "pipe.log")
    with pytest.raises(LogFileError, match="it is a link, and links are not followed here; name the file itself"):
        LogFile(tmp_path / "link.log", logging.INFO)
    with pytest.raises(LogFileError, match="it is no regular file"):
        LogFile(tmp_path / "pipe.log", logging.INFO)
    assert not (tmp_path / "elsewhere.log").exists()
