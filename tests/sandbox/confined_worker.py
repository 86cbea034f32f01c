"""A process that confines commands for a test, as root or as an unprivileged user: one request and one answer a line.

Run as a program; everything is imported before the user changes, because the new one may not read the interpreter.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from openbuffer.sandbox import Command, Invocation, SandboxError, SandboxSettings
from openbuffer.sandbox.detect import OsSandboxDetection, detect_os_sandbox
from openbuffer.sandbox.limits import CommandLimits
from openbuffer.sandbox.os_client import OsSandboxClient
from openbuffer.sandbox.process.result import CaptureLimits
from openbuffer.sandbox.process.runner import run_invocation

LIMITS = CaptureLimits(head_bytes=200_000, tail_bytes=50_000)


class Worker:
    def __init__(self, path: str) -> None:
        self._path = path
        self._client: OsSandboxClient | None = None
        self._detection: OsSandboxDetection | None = None
        self._settings = SandboxSettings(enabled=True)

    def handle(self, request: dict[str, Any]) -> Any:
        return getattr(self, request.pop("op"))(**request)

    def detect(self, roots: list[str]) -> dict[str, Any]:
        found = self._detection = detect_os_sandbox(roots, path=self._path)
        return {name: getattr(found, name) for name in found.__slots__}

    def open(
        self, roots: list[str], state: str, hidden: list[str], limits: dict[str, int], settings: dict[str, Any]
    ) -> str:
        if self._client is not None:
            self._client.close()
        self.set(settings)
        assert self._detection is not None
        self._client = OsSandboxClient(
            detection=self._detection,
            roots=roots,
            settings=lambda: self._settings,
            state_directory=state,
            hidden_paths=hidden,
            limits=CommandLimits(**limits),
        )
        return ""

    def set(self, settings: dict[str, Any]) -> str:
        self._settings = SandboxSettings(
            **{"enabled": True, **{name: _value(value) for name, value in settings.items()}}
        )
        return ""

    def containment(self, cwd: str) -> dict[str, Any]:
        assert self._client is not None
        found = self._client.containment(Command(line="true", cwd=cwd, timeout_s=5))
        return {"confined": found.confined, "by": found.by, "words": found.words}

    def run(
        self, line: str, cwd: str, timeout_s: float, environment: dict[str, str], cancel_after_s: float | None
    ) -> dict[str, Any]:
        assert self._client is not None
        command = Command(line=line, cwd=cwd, timeout_s=timeout_s)
        invocation = Invocation(argv=("/bin/sh", "-c", line), cwd=cwd, environment=environment)
        stop = threading.Event()
        if cancel_after_s is not None:
            threading.Timer(cancel_after_s, stop.set).start()
        with self._client.wrap_command(command, invocation) as wrapped:
            ended = run_invocation(
                wrapped.invocation, timeout_s=timeout_s, is_cancelled=stop.is_set, limits=LIMITS, wrapped=wrapped
            )
        return {
            "how": ended.how,
            "code": ended.exit_code,
            "output": ended.output.head + ended.output.tail,
            "left": list(ended.left_running),
            "seconds": ended.seconds,
            "notes": list(wrapped.notes),
        }

    def together(self, requests: list[dict[str, Any]]) -> list[Any]:
        with ThreadPoolExecutor(len(requests)) as pool:
            return list(pool.map(self.answer, requests))

    def sweep(self) -> list[str]:
        assert self._client is not None
        return list(self._client.sweep())

    def close(self) -> list[str]:
        assert self._client is not None
        self._client.close()
        return [str(fd) for fd in os.listdir("/proc/self/fd")]

    def descriptors(self) -> int:
        return len(os.listdir("/proc/self/fd"))

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        try:
            return {"ok": self.handle(request)}
        except SandboxError as error:
            return {"error": type(error).__name__, "text": str(error)}


def _value(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


def main(user_id: int, path: str, kind: type[Worker] = Worker) -> None:
    encoded = "".encode("idna")  # encodings are imported when they are first used
    assert not encoded
    os.umask(0o022)
    if user_id != os.getuid():
        os.setgroups([])
        os.setgid(user_id)
        os.setuid(user_id)
    worker = kind(path)
    for line in sys.stdin:
        sys.stdout.write(json.dumps(worker.answer(json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
