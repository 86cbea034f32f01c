"""``openbuffer log`` as a user meets it: what was done is listed, followed, filtered and shown with its diff."""

from __future__ import annotations

import json
import os
import pty
import re
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
EVIL = "\x1b]0;owned\x07\x1b[2J\u202e"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Directories of the server's own below ``tmp_path``, and a credential."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("OPENBUFFER_")}
    return {
        **kept,
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "DEPLOY_TOKEN": "hunter22-hunter22",
        "TZ": "UTC",
    }


@pytest.fixture
def run(tmp_path: Path, environment: dict[str, str]) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run ``openbuffer`` in the workspace; an argument that is no string is given as JSON."""
    root = tmp_path / "workspace"
    root.mkdir()

    def run(*words: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [COMMAND, *(word if isinstance(word, str) else json.dumps(word) for word in words)],
            cwd=root,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=30,
            check=False,
        )

    return run


def plain(text: str, tmp_path: Path) -> str:
    text = text.replace(str(tmp_path), "T")
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "WHEN", text)
    text = re.sub(r"took \d+\.\d{3} s", "took SECONDS", text)
    text = re.sub(r"\b[0-9a-f]{32}\b", "ID", re.sub(r"process \d+", "process PID", text))
    return "".join(line if len(line) < 90 else f"{line[:80]}...\n" for line in text.splitlines(keepends=True))


@pytest.mark.contract("X7", "X2")
def test_calls_are_listed_and_one_is_shown_with_its_diff(run: Any, tmp_path: Path) -> None:
    assert run("log").stderr == "openbuffer: nothing is recorded\n"
    run("call", "Write", {"filePath": "a.txt", "content": "one\ntwo\nthree"})
    run("call", "Edit", {"filePath": "a.txt", "oldString": "two\nthree", "newString": f"2 {EVIL}\nhunter22-hunter22\n"})
    run("call", "Edit", {"filePath": "a.txt", "oldString": "nowhere", "newString": "x"})
    run("call", "Shell", {"command": "echo $((6 * 7)); kill -9 $PPID"})
    run("call", "Read", {"path": 1})

    listed = run("log")
    assert (listed.returncode, listed.stderr) == (0, "")
    assert plain(listed.stdout, tmp_path) == snapshot("""\
     1  WHEN  Write     succeeded    T/workspace/a.txt
     3  WHEN  Edit      succeeded    T/workspace/a.txt
     5  WHEN  Edit      failed       T/workspace/a.txt: oldString was not found;...
     7  WHEN  Shell     interrupted  echo $((6 * 7)); kill -9 $PPID
     8  WHEN  Read      rejected     Read: unknown argument path (known: filePat...
""")
    shown = run("log", "show", "3")
    assert shown.stderr == ""
    assert plain(shown.stdout, tmp_path) == snapshot("""\
Call 3: Edit, succeeded
  id       ID
  began    WHEN, took SECONDS
  session  2 (call 0.1.0, process PID, roots T/workspace)

Intent at WHEN, attempt 1
  T/workspace/a.txt (FILE_READ, disk)
  T/workspace/a.txt (FILE_WRITE, disk)
  {
   "filePath": "a.txt",
   "oldString": "two\\nthree",
   "newString": "2 \\u001b]0;owned\\u0007\\u001b[2J\\u202e\\n[redacted: DEPLOY_TOKEN]\\n"
  }
  the text before it is kept (--before prints it)
--- T/workspace/a.txt
+++ T/workspace/a.txt
@@ -2,2 +2,2 @@
-two
-three
\\ No newline at end of file
+2 \\x1b]0;owned\\x07\\x1b[2J\\u202e
+[redacted: DEPLOY_TOKEN]

Outcome at WHEN: succeeded
  Edited T/workspace/a.txt: replaced 1 place, in line 2. Written to disk.
""")
    assert run("log", "show", "3", "--before").stdout == "one\ntwo\nthree"
    assert "what it did is not known" in run("log", "show", "7").stdout
    nothing = run("log", "show", "1", "--before")
    assert (nothing.returncode, nothing.stderr) == (1, "openbuffer: of call 1 no text from before is kept\n")


@pytest.mark.contract("X7")
def test_json_has_everything_one_object_for_each_call(run: Any) -> None:
    run("call", "Write", {"filePath": "a.txt", "content": f"{EVIL}\n"})
    run("call", "Read", {"filePath": "a.txt"})
    listed = run("log", "--json")
    assert listed.stdout.isascii()
    calls = [json.loads(line) for line in listed.stdout.splitlines()]
    assert [(call["number"], call["tool"], call["outcome"]) for call in calls] == [
        (1, "Write", "succeeded"),
        (3, "Read", "succeeded"),
    ]
    whole = json.loads(run("log", "show", "1", "--json").stdout)
    assert [event["kind"] for event in whole["events"]] == ["intended", "finished"]
    assert whole["events"][0]["change"]["hunks"] == [{"start_line": 1, "before": "", "after": f"{EVIL}\n"}]
    assert json.loads(run("log", "--json", "show", "3").stdout)["events"][1]["value"]["success"] is True


@pytest.mark.contract("X7")
def test_calls_are_filtered(run: Any) -> None:
    run("call", "Write", {"filePath": "a.txt", "content": "x\n"})
    run("call", "Read", {"filePath": "a.txt"})
    run("call", "Read", {"filePath": "b.txt"})

    def numbers(*options: str) -> list[int]:
        return [json.loads(line)["number"] for line in run("log", "--json", *options).stdout.splitlines()]

    assert numbers("-n", "2") == [3, 5]
    assert numbers("--tool", "read", "--outcome", "failed") == [5]
    assert numbers("--session", "1") == [1]
    assert numbers("--since", "1h") == [1, 3, 5]
    assert numbers("--since", "2999-01-01") == []
    assert run("log", "--tool", "Nothing").stderr == "openbuffer: no such call is recorded\n"
    for options in (["--since", "yesterday"], ["--since", "0001-01-01"], ["--outcome", "odd"], ["show"]):
        assert run("log", *options).returncode == 2
    for since, found in (("999999w", [1, 3, 5]), ("9999-12-31", [])):
        assert numbers("--since", since) == found
    assert numbers("--tool", "\udcff") == []
    for name in ("77", "", "\udcff", "9" * 30):
        assert run("log", "show", name).returncode == 1


@pytest.mark.contract("X7", "X2")
def test_what_happens_is_followed_until_it_is_stopped(run: Any, environment: dict[str, str], tmp_path: Path) -> None:
    run("call", "Write", {"filePath": "a.txt", "content": "x\n"})
    follower = subprocess.Popen(
        [COMMAND, "log", "--json", "--follow"], env=environment, stdout=subprocess.PIPE, text=True
    )
    assert follower.stdout is not None
    try:
        assert json.loads(follower.stdout.readline())["number"] == 1
        gate = tmp_path / "gate"
        os.mkfifo(gate)
        slow = subprocess.Popen(
            [COMMAND, "call", "Shell", json.dumps({"command": f"read line < {gate}; kill -9 $PPID"})],
            cwd=tmp_path / "workspace",
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        begun = json.loads(follower.stdout.readline())
        assert (begun["tool"], begun["outcome"]) == ("Shell", "running")
        gate.write_text("go\n")
        slow.wait(timeout=30)
        ended = json.loads(follower.stdout.readline())
        assert (ended["number"], ended["outcome"]) == (begun["number"], "interrupted")
        run("call", "Read", {"filePath": "a.txt"})
        assert json.loads(follower.stdout.readline())["tool"] == "Read"
        follower.send_signal(signal.SIGINT)
        assert follower.wait(timeout=30) == 130
    finally:
        follower.kill()
        follower.wait()
        follower.stdout.close()


def test_a_terminal_gets_colours_and_lines_that_fit(run: Any, environment: dict[str, str]) -> None:
    run("call", "Read", {"filePath": f"{EVIL}{'long ' * 100}.txt"})
    master, slave = pty.openpty()
    environment = {name: value for name, value in environment.items() if name != "NO_COLOR"} | {"TERM": "xterm"}
    done = subprocess.Popen([COMMAND, "log"], env={**environment, "COLUMNS": "100"}, stdout=slave)
    os.close(slave)
    output = b""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            chunk = os.read(master, 65536)
        except OSError:
            break
        if not chunk:
            break
        output += chunk
    os.close(master)
    assert done.wait(timeout=30) == 0
    (line,) = output.decode().splitlines()
    assert "\x1b[33mfailed" in line
    seen = re.sub(r"\x1b\[\d+m", "", line)
    assert "\x1b" not in seen
    assert len(seen) <= 100
    assert seen.endswith("…")


@pytest.mark.contract("X7", "B7")
def test_the_users_settings_say_what_is_kept_and_a_workspace_says_nothing(run: Any, tmp_path: Path) -> None:
    (tmp_path / "config" / "openbuffer").mkdir(parents=True)
    (tmp_path / "config" / "openbuffer" / "openbuffer.toml").write_text(
        '[log]\nkeep = ["rejections"]\nredact = ["secret-[0-9]+"]\n'
    )
    (tmp_path / "workspace" / "openbuffer.toml").write_text("[log]\nkeep = []\nredact = []\n")
    written = run("call", "Write", {"filePath": "a.txt", "content": "secret-77\n"})
    assert "log is the user's to set" in written.stderr
    run("call", "Read", {"filePath": "a.txt"})
    run("call", "Read", {"path": 1})
    calls = [json.loads(line) for line in run("log", "--json").stdout.splitlines()]
    assert [(call["tool"], call["outcome"]) for call in calls] == [("Write", "succeeded"), ("Read", "rejected")]
    whole = run("log", "show", "1", "--json").stdout
    assert "secret-77" not in whole
    assert json.loads(whole)["events"][1]["notKept"] == {"value": {"bytes": 0, "why": "results are not kept"}}


@pytest.mark.contract("X2")
def test_a_log_that_cannot_be_made_keeps_what_acts_from_running(run: Any, tmp_path: Path) -> None:
    (tmp_path / "state" / "openbuffer").mkdir(parents=True)
    (tmp_path / "state" / "openbuffer" / "log").write_text("in the way")
    (tmp_path / "workspace" / "a.txt").write_text("x\n")
    refused = run("call", "Write", {"filePath": "a.txt", "content": "y\n"})
    assert refused.returncode == 2
    assert "the event log could not be written" in refused.stderr
    assert "nothing was done" in refused.stderr
    assert (tmp_path / "workspace" / "a.txt").read_text() == "x\n"
    read = run("call", "Read", {"filePath": "a.txt"})
    assert (read.returncode, read.stdout.endswith("     1\tx\n")) == (0, True)
    assert "what only reads goes on without a record" in read.stderr
    assert run("log").returncode == 0
