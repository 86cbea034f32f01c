"""``openbuffer call`` as a user meets it: a process, its output and its exit code."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from inline_snapshot import snapshot

if TYPE_CHECKING:
    from collections.abc import Callable

COMMAND = str(Path(sys.executable).with_name("openbuffer"))


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    root = tmp_path / "workspace"
    root.mkdir()
    (root / "notes.txt").write_text("apples\npears\n")
    return root


@pytest.fixture
def call(workspace: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run ``openbuffer call`` in the workspace; an argument that is no string is sent as JSON."""

    def run(*arguments: Any, **options: Any) -> subprocess.CompletedProcess[str]:
        words = [word if isinstance(word, str) else json.dumps(word) for word in arguments]
        options = {"cwd": workspace, "stdin": subprocess.DEVNULL, **options}
        if "input" in options:
            del options["stdin"]
        return subprocess.run(
            [COMMAND, "call", *words], capture_output=True, encoding="utf-8", timeout=30, check=False, **options
        )

    return run


@pytest.mark.contract("B1", "F1")
def test_read_prints_the_output_of_the_tool(call: Any, workspace: Path) -> None:
    done = call("Read", {"filePath": "notes.txt"})
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.replace(str(workspace), "W") == snapshot("""\
W/notes.txt: lines 1-2 of 2, on disk
     1	apples
     2	pears
""")


@pytest.mark.contract("F5")
def test_edit_changes_the_file(call: Any, workspace: Path) -> None:
    done = call("Edit", {"filePath": "notes.txt", "oldString": "pears", "newString": "plums"})
    assert (done.returncode, done.stderr) == (0, "")
    assert (workspace / "notes.txt").read_bytes() == b"apples\nplums\n"


@pytest.mark.contract("F3")
def test_write_takes_its_arguments_from_stdin(call: Any, workspace: Path) -> None:
    arguments = json.dumps({"filePath": "new/é.txt", "content": "ü\n"}, ensure_ascii=False)
    done = call("Write", "-", input=arguments)
    assert (done.returncode, done.stderr) == (0, "")
    assert (workspace / "new" / "é.txt").read_bytes() == "ü\n".encode()


@pytest.mark.contract("P2")
def test_relative_paths_start_at_the_root_and_not_at_the_current_directory(
    call: Any, workspace: Path, tmp_path: Path
) -> None:
    done = call("--root", str(workspace), "Read", {"filePath": "notes.txt"}, cwd=tmp_path)
    assert done.returncode == 0
    assert "apples" in done.stdout


@pytest.mark.contract("P1")
def test_a_path_outside_is_an_ordinary_failure(call: Any, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret\n")
    done = call("Read", {"filePath": "../secret.txt"})
    assert (done.returncode, done.stdout) == (1, "")
    assert "secret.txt" in done.stderr
    assert done.stderr.startswith("openbuffer: ")


def test_further_roots_of_the_configuration_are_inside(call: Any, tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "b.txt").write_text("bananas\n")
    config = tmp_path / "settings.toml"
    config.write_text('roots = ["more"]\n')
    done = call("--config", str(config), "Read", {"filePath": str(tmp_path / "more" / "b.txt")})
    assert done.returncode == 0
    assert "bananas" in done.stdout


def test_the_answer_as_json_is_the_answer_of_call_tool(call: Any) -> None:
    done = call("--json", "Read", {"filePath": "notes.txt"})
    assert (done.returncode, done.stderr) == (0, "")
    answer = json.loads(done.stdout)
    assert set(answer) == {"name", "isError", "data"}
    assert (answer["name"], answer["isError"], answer["data"]["success"]) == ("Read", False, True)
    assert "apples" in answer["data"]["output"]


def test_an_ordinary_failure_as_json_keeps_its_payload(call: Any) -> None:
    done = call("--json", "Edit", {"filePath": "notes.txt", "oldString": "plums", "newString": "figs"})
    assert (done.returncode, done.stderr) == (1, "")
    answer = json.loads(done.stdout)
    assert (answer["isError"], answer["data"]["success"]) == (True, False)
    assert answer["data"]["error"]


@pytest.mark.contract("T5")
def test_a_hard_error_as_json_has_its_type(call: Any, tmp_path: Path) -> None:
    config = tmp_path / "settings.json"
    config.write_text('{"limits": {"file_max_bytes": 3}}')
    done = call("--json", "--config", str(config), "Read", {"filePath": "notes.txt"})
    assert (done.returncode, done.stderr) == (2, "")
    answer = json.loads(done.stdout)
    assert (answer["name"], answer["isError"], answer["error"]["type"]) == ("Read", True, "ReadByteLimitError")
    assert "data" not in answer


def test_an_unknown_tool_is_told_with_the_tools_there_are(call: Any) -> None:
    done = call("Raed", {})
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == snapshot(
        "openbuffer: no tool is named 'Raed'; the tools are: "
        "Read, Write, Edit, Delete, ListDir, Glob, Grep, CodebaseRetrieval, Shell, Bash, WebFetch, AskUserQuestion\n"
    )


def test_wrong_arguments_name_the_unknown_and_the_known(call: Any) -> None:
    done = call("Read", {"path": "notes.txt"})
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == snapshot(
        "openbuffer: Read: unknown argument path (known: filePath, offset, limit); missing argument filePath\n"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{'filePath': 1}", "the arguments are not JSON (Expecting property name enclosed in double quotes"),
        ("notes.txt", "the arguments are not JSON (Expecting value at line 1, column 1)"),
        ("", "the arguments are not JSON"),
        ('["notes.txt"]', "the arguments are an array and not an object"),
        ('{"offset": NaN}', "NaN is not JSON"),
        ("[" * 60_000, "the arguments are not usable JSON"),
    ],
)
def test_arguments_that_are_no_json_object_are_told_with_an_example(call: Any, text: str, message: str) -> None:
    done = call("Read", text)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert """openbuffer call Read '{"filePath": "notes.txt"}'""" in done.stderr
    assert "Traceback" not in done.stderr


def test_arguments_on_stdin_that_are_not_utf_8_are_told(workspace: Path) -> None:
    done = subprocess.run(
        [COMMAND, "call", "Read", "-"], input=b'{"filePath": "\xff"}', cwd=workspace, capture_output=True, check=False
    )
    assert done.returncode == 2
    assert b"not UTF-8 (invalid start byte at byte 14)" in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--root", "nowhere", "Read", "{}"], "nowhere: the root does not exist; name a directory that exists"),
        (["--root", "notes.txt", "Read", "{}"], "notes.txt: the root is not a directory"),
        (["--config", "none.toml", "Read", "{}"], "none.toml: cannot be read (No such file or directory)"),
    ],
)
def test_a_root_or_configuration_that_cannot_be_used_is_told(call: Any, words: list[str], message: str) -> None:
    done = call(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


def test_a_current_directory_that_is_gone_is_told(tmp_path: Path) -> None:
    script = f"mkdir gone && cd gone && rmdir ../gone && exec {COMMAND} call Read '{{}}'"
    done = subprocess.run(["sh", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "the current directory does not exist any more; name one with --root" in done.stderr


def test_a_reader_that_goes_away_ends_it_quietly(workspace: Path) -> None:
    (workspace / "long.txt").write_text("x" * 200 + "\n" + "line\n" * 50_000)
    arguments = json.dumps({"filePath": "long.txt", "limit": 50_000})
    process = subprocess.Popen(
        [COMMAND, "call", "Read", arguments], cwd=workspace, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.read(10)
    process.stdout.close()
    assert process.wait(timeout=30) == 141
    assert process.stderr.read() == b""
    process.stderr.close()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full, which is as full as a disk can be")
@pytest.mark.parametrize("command", [["call", "Read", '{"filePath": "notes.txt"}'], ["doctor"], ["doctor", "--json"]])
def test_output_that_cannot_be_written_is_told_with_what_to_do(workspace: Path, command: list[str]) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run([COMMAND, *command], cwd=workspace, stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 2
    assert done.stderr.decode() == snapshot(
        "openbuffer: the output could not be written (No space left on device); "
        "what the command did is not undone; send its output elsewhere and look before you repeat it\n"
    )


def test_without_a_stdout_the_call_is_made_all_the_same(workspace: Path) -> None:
    arguments = json.dumps({"filePath": "new.txt", "content": "figs\n"})
    script = 'exec "$0" call Write "$1" >&-'
    done = subprocess.run(["sh", "-c", script, COMMAND, arguments], cwd=workspace, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert (workspace / "new.txt").read_text() == "figs\n"


@pytest.mark.parametrize("closed", [">&-", "<&-", "<&- >&-"])
def test_serve_without_stdin_or_stdout_says_what_they_are_for(workspace: Path, closed: str) -> None:
    script = f'exec "$0" serve {closed}'
    done = subprocess.run(
        ["sh", "-c", script, COMMAND], cwd=workspace, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.decode().startswith(
        "openbuffer: stdin and stdout must be open, the client is at their other ends"
    )


def test_serve_at_a_terminal_says_that_an_editor_starts_it(workspace: Path) -> None:
    ours, terminal = pty.openpty()
    os.write(ours, b"\x04")  # Ctrl-D
    done = subprocess.run(
        [COMMAND, "serve"], cwd=workspace, stdin=terminal, capture_output=True, check=False, timeout=30
    )
    os.close(ours)
    os.close(terminal)
    assert done.stdout == b""
    assert b"an editor starts it. Ctrl-D ends it; `openbuffer demo` shows it at work.\n" in done.stderr


def test_ctrl_c_while_it_waits_for_stdin_ends_it_quietly_with_130(workspace: Path) -> None:
    process = subprocess.Popen(
        [COMMAND, "call", "Read", "-"],
        cwd=workspace,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    wait_until(lambda: reads_stdin(process.pid))
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (130, b"", b"")


@pytest.mark.contract("T6")
def test_ctrl_c_during_a_call_ends_it_with_130_and_says_what_to_do(workspace: Path) -> None:
    lock = os.open(workspace, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(lock, fcntl.LOCK_EX)  # as another process that is writing there; the call waits for it
    process = subprocess.Popen(
        [COMMAND, "call", "Write", '{"filePath": "notes.txt", "content": "new"}'],
        cwd=workspace,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_until(lambda: waits_for_the_lock(process.pid, workspace))
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    os.close(lock)
    assert (process.returncode, out) == (130, "")
    assert err == "openbuffer: stopped. A change may already have been made; read before you try again.\n"
    assert (workspace / "notes.txt").read_text() == "apples\npears\n"


def wait_until(condition: Callable[[], bool]) -> None:
    while not condition():
        time.sleep(0.01)  # nothing tells of another process's system calls; the test's own time-out bounds this


def reads_stdin(pid: int) -> bool:
    """The kernel tells which call a process is in; 0 is read on x86-64, 63 on arm64."""
    number, _, rest = Path(f"/proc/{pid}/syscall").read_text().partition(" ")
    return number in {"0", "63"} and rest.startswith("0x0 ")


def waits_for_the_lock(pid: int, directory: Path) -> bool:
    """Whether it has the directory open for reading, which only locking needs."""
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        try:
            flags = int(
                (descriptor.parent.parent / "fdinfo" / descriptor.name).read_text().split("flags:")[1].split()[0], 8
            )
            if os.readlink(descriptor) == str(directory) and not flags & os.O_PATH:
                return True
        except OSError:  # closed meanwhile
            continue
    return False


def test_text_that_the_locale_cannot_show_is_escaped(call: Any, workspace: Path) -> None:
    (workspace / "smile.txt").write_text("😋\n", encoding="utf-8")
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = call("Read", {"filePath": "smile.txt"}, env=environment)
    assert done.returncode == 0
    assert "\\U0001f60b" in done.stdout


@pytest.mark.contract("B3")
def test_a_workspace_full_of_hostile_modules_is_not_imported(call: Any, workspace: Path) -> None:
    for name in ("json", "tools", "bridge", "anyio", "argparse", "openbuffer"):
        (workspace / name).mkdir()
        (workspace / name / "__init__.py").write_text("raise SystemExit('imported the workspace')\n")
    done = call("Read", {"filePath": "notes.txt"})
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.contract("F1")
def test_a_file_cannot_act_on_the_terminal_it_is_shown_on_and_a_pipe_gets_it_as_it_is(
    call: Any, workspace: Path
) -> None:
    (workspace / "evil.txt").write_text("\x1b]0;owned\x07\x1b[2Jgone\n")
    words = [COMMAND, "call", "Read", '{"filePath": "evil.txt"}']
    controller, terminal = os.openpty()
    try:
        subprocess.run(words, cwd=workspace, stdin=terminal, stdout=terminal, stderr=terminal, timeout=30, check=True)
        shown = os.read(controller, 65_536)
    finally:
        os.close(controller)
        os.close(terminal)
    assert b"\\x1b]0;owned\\x07\\x1b[2Jgone" in shown
    assert b"\x1b" not in shown
    assert "\x1b[2Jgone" in call("Read", {"filePath": "evil.txt"}).stdout
    refused = call("Edit", {"filePath": "evil.txt", "oldString": "Gone", "newString": "x"})
    assert "\x1b" not in refused.stderr
    assert "\\x1b[2Jgone" in refused.stderr
