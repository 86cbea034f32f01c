"""Where one attack takes place: a throw-away workspace, what lies around it, and eyes that look from the host.

The same attack runs in a scene that nothing confines and in one that is confined. What it did is judged by the bytes on
the host's disk, by the host's ``/proc`` and by what sockets of the host received. A text that a command could not know
otherwise, in its output or in a file that it left, shows what it has read.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import stat
import subprocess
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confined_desk import SYSTEM_PATH, Desk, Outcome, WorkerProcess
from openbuffer.sandbox import SandboxUnavailableError
from openbuffer.sandbox.confinement.scratch import remove_tree

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

SCRIPTS = Path(__file__).with_name("scripts")
MARK = "OB_ATTACK"
BEGAN = "the attack begins"
PYTHON = "/usr/bin/python3"


@dataclass(frozen=True)
class Process:
    """As the host sees it."""

    pid: int

    def field(self, name: str) -> str:
        with suppress(OSError):
            for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
                if line.startswith(f"{name}:"):
                    return line.partition(":")[2].strip()
        return ""

    def opened(self) -> list[str]:
        """What its descriptors lead to."""
        found: list[str] = []
        with suppress(OSError):
            for number in os.listdir(f"/proc/{self.pid}/fd"):
                with suppress(OSError):
                    found.append(os.readlink(f"/proc/{self.pid}/fd/{number}"))
        return found

    def opened_devices(self) -> set[tuple[int, int]]:
        """Numbers of the character and block devices behind its descriptors."""
        found: set[tuple[int, int]] = set()
        with suppress(OSError):
            for number in os.listdir(f"/proc/{self.pid}/fd"):
                with suppress(OSError):
                    facts = os.stat(f"/proc/{self.pid}/fd/{number}")
                    if stat.S_ISCHR(facts.st_mode) or stat.S_ISBLK(facts.st_mode):
                        found.add((os.major(facts.st_rdev), os.minor(facts.st_rdev)))
        return found


class Scene:
    """``confined``: whether the sandbox holds what is run here. ``token``: a text that nobody else has."""

    def __init__(self, worker: WorkerProcess, place: str, *, confined: bool) -> None:
        self.confined = confined
        self.token = f"ob-{secrets.token_hex(8)}"
        self.desk = Desk(worker, place)
        self.user_id = worker.user_id
        self.base, self.ws, self.outside, self.state = (
            self.desk.base,
            self.desk.ws,
            self.desk.outside,
            self.desk.state,
        )
        self.kept = self.outside / "kept"
        self.kept.write_text("kept")
        self.secret = self.outside / "vault" / "secret"
        self.secret.parent.mkdir()
        self.secret.write_text(self.token)
        self.notes: list[str] = []
        self.said = ""
        self._undo: list[Callable[[], object]] = []
        self._before: dict[str, str] = {}
        self._was_opened = False

    # What an attack is made of.

    def open(self, **options: Any) -> None:
        """Begin the session that is attacked; what stands outside now is what must stand there afterwards."""
        self.desk.open(**options)
        self._before = self.tree(self.base, without=(self.ws, self.state))
        self._was_opened = True

    def run(self, line: str, *, op: str = "run", may_be_refused: bool = False, **options: Any) -> Outcome:
        """Run a line here, in this scene's way.

        That it has begun is checked, so that no attack is held for having been misspelt.
        """
        if not self._was_opened:
            self.open()
        environment = {MARK: self.token, **options.pop("environment", {})}
        request = self.desk.request(f"echo {BEGAN}; {line}", environment=environment, **options)
        try:
            outcome = Outcome(**self.desk.ask(op if self.confined else "bare", **request))
        except SandboxUnavailableError as refused:
            if not may_be_refused:
                raise
            outcome = Outcome("refused", None, str(refused), [], 0.0, [])
        self.said += outcome.output
        self.notes += outcome.notes
        assert may_be_refused or BEGAN in outcome.output, outcome
        reason = next((each for each in outcome.output.splitlines() if each.startswith("absent: ")), "")
        if reason and not self.confined:
            pytest.skip(reason.removeprefix("absent: "))
        return outcome

    def script(self, name: str, *arguments: object, **options: Any) -> Outcome:
        """Run one of the scripts to its end."""
        return self.run(self.line_of(name, *arguments), **options)

    def line_of(self, name: str, *arguments: object) -> str:
        """One of the scripts, which lies in the workspace then."""
        here = self.ws / "scripts"
        here.mkdir(exist_ok=True)
        for each in ("kernel", name):
            if not (here / f"{each}.py").exists():
                shutil.copy(SCRIPTS / f"{each}.py", here)
        quoted = " ".join("'" + str(each) + "'" for each in arguments)
        return f"{PYTHON} -B '{here}/{name}.py' {quoted}"

    @contextmanager
    def meanwhile(self, line: str, **options: Any) -> Generator[list[Process]]:
        """Look while the line runs: when it says ``held``, or has ended. Then it is let go."""
        if not self._was_opened:
            self.open()
        for name in ("held", "release"):
            (self.ws / name).unlink(missing_ok=True)
        errors: list[BaseException] = []

        def run() -> None:
            try:
                self.run(line, **options)
            except BaseException as error:  # noqa: BLE001  raised again below, in the thread that waits
                errors.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        try:
            wait_until(lambda: (self.ws / "held").exists() or not thread.is_alive())
            yield self.processes()
        finally:
            (self.ws / "release").touch()
            thread.join(40)
        assert not thread.is_alive()
        if errors:
            raise errors[0]

    def holding(self, name: str, *arguments: object, **options: Any) -> Any:
        """Look while a script holds what it has got."""
        return self.meanwhile(self.line_of(name, *arguments), **options)

    def as_user(
        self, argv: list[str], *, cwd: Path | str = "/", env: dict[str, str] | None = None, stdin: int | None = None
    ) -> subprocess.Popen[str]:
        """A process of the host, of the same user, which knows nothing of a sandbox."""
        environment = {"PATH": SYSTEM_PATH, "HOME": str(self.base), "LANG": "C.UTF-8", **(env or {})}
        user = self.user_id if os.getuid() == 0 and self.user_id != 0 else None
        process = subprocess.Popen(
            argv,
            text=True,
            env=environment,
            stdin=subprocess.PIPE if stdin is None else stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=cwd,
            user=user,
            group=user,
            extra_groups=None if user is None else [],
        )
        self.on_close(lambda: end(process))
        return process

    def host(self, *argv: str, cwd: Path | None = None) -> str:
        """A program of the host, run to its end over the workspace, as its user would run it."""
        process = self.as_user(list(argv), cwd=cwd or self.ws, stdin=subprocess.DEVNULL)
        return process.communicate(timeout=20)[0]

    def on_close(self, undo: Callable[[], object]) -> None:
        self._undo.append(undo)

    # What the judges look at.

    def outside_changed(self) -> str:
        """What is not as it was around the workspace; empty if all is."""
        after = self.tree(self.base, without=(self.ws, self.state))
        return "; ".join(
            f"{path}: {self._before.get(path)} -> {after.get(path)}"
            for path in sorted({*self._before, *after})
            if self._before.get(path) != after.get(path)
        )

    def was_read(self, text: str = "") -> str:
        """Where the secret came out of the sandbox; empty if it did nowhere."""
        text = text or self.token
        if text in self.said:
            return "in the output"
        for directory in (self.ws, *self.state.glob("temporary-*")):
            for path in walk(directory):
                with suppress(OSError):
                    if path.is_file() and not path.is_symlink() and text.encode() in path.read_bytes():
                        return f"in {path}"
        return ""

    def comes(self, holds: Callable[[], object], *, soon_s: float) -> bool:
        """Whether something happens after a command has ended: within this time where it must not, else in a long one,
        so that a busy machine does not make an attack fail.
        """
        deadline = time.monotonic() + (soon_s if self.confined else 15)
        while not holds():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.01)
        return True

    def processes(self) -> list[Process]:
        """All that were started here and live, wherever they are now; found by what they were started with."""
        mark = f"{MARK}={self.token}".encode()
        found: list[Process] = []
        for name in filter(str.isdigit, os.listdir("/proc")):
            with suppress(OSError):
                if mark in Path(f"/proc/{name}/environ").read_bytes():
                    found.append(Process(int(name)))
        return found

    def tree(self, top: Path, *, without: tuple[Path, ...] = ()) -> dict[str, str]:
        """Everything below a directory: kind, mode, time of change and content."""
        return {str(path.relative_to(top)): facts_of(path) for path in walk(top, without=without)}

    def close(self) -> None:
        """End what is left of it and remove it."""
        for each in self.processes():
            with suppress(OSError):
                os.kill(each.pid, signal.SIGKILL)
        for undo in reversed(self._undo):
            undo()
        with suppress(Exception):
            self.desk.ask("close")
        remove_tree(str(self.base))


def unmount(place: Path) -> None:
    """Everything that is mounted there now, one over the other."""
    while any(line.split()[4] == str(place) for line in Path("/proc/self/mountinfo").read_text().splitlines()):
        subprocess.run(["umount", "-l", place], check=True)


def walk(top: Path, *, without: tuple[Path, ...] = ()) -> Generator[Path]:
    """Paths below a directory, deep or not; no link is followed."""
    for directory, names, files in os.walk(top):
        names[:] = [name for name in names if Path(directory, name) not in without]
        for name in (*names, *files):
            yield Path(directory, name)


def facts_of(path: Path) -> str:
    try:
        facts = path.lstat()
        if stat.S_ISLNK(facts.st_mode):
            return f"link to {os.readlink(path)}"
        content = path.read_text("latin-1")[:200] if stat.S_ISREG(facts.st_mode) else ""
        # A directory's time changes with its entries, which are seen themselves.
        when = "" if stat.S_ISDIR(facts.st_mode) else str(facts.st_mtime_ns)
    except OSError as error:
        return f"{error.strerror}"
    return f"{stat.filemode(facts.st_mode)} {when} {content!r}"


def wait_until(holds: Callable[[], bool], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.005)


def end(process: subprocess.Popen[str]) -> None:
    process.kill()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()
    process.wait(10)
