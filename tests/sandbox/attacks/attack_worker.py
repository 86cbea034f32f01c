"""The worker of the sandbox's tests that can also run a line bare, as somebody would who has no sandbox.

Run as a program, as ``confined_worker`` is.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import confined_worker
from openbuffer.sandbox import Command
from openbuffer.sandbox.detect import detect_os_sandbox


class AttackWorker(confined_worker.Worker):
    """Its ``bare`` closes no descriptor and waits for no background process."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._left_open: list[int] = []

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """An attack that goes wrong must not take the next ones with it."""
        try:
            return super().answer(request)
        except Exception as error:  # noqa: BLE001  told, and fails the test that asked
            return {"error": type(error).__name__, "text": str(error)}

    def bare(
        self, line: str, cwd: str, timeout_s: float, environment: dict[str, str], cancel_after_s: float | None
    ) -> dict[str, Any]:
        began = time.monotonic()
        with tempfile.TemporaryFile() as output:
            process = subprocess.Popen(
                ["/bin/sh", "-c", line],
                cwd=cwd,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                close_fds=False,
                start_new_session=True,
            )
            how = "exited"
            try:
                process.wait(timeout_s if cancel_after_s is None else min(timeout_s, cancel_after_s))
            except subprocess.TimeoutExpired:
                how = "timed_out"
                process.terminate()
                process.wait()
            output.seek(0)
            said = output.read().decode(errors="backslashreplace")
        seconds = time.monotonic() - began
        code = process.returncode
        return {"how": how, "code": code, "output": said, "left": [], "seconds": seconds, "notes": []}

    def decided(self, **request: Any) -> dict[str, Any]:
        """As the shell tool does it: confined, unless the client says that nothing confines this line."""
        assert self._client is not None
        command = Command(line=request["line"], cwd=request["cwd"], timeout_s=request["timeout_s"])
        if self._client.containment(command).confined:
            return self.run(**request)
        return {**self.bare(**request), "notes": ["excluded"]}

    def after(self, path: str, **request: Any) -> dict[str, Any]:
        """Run it once a file exists."""
        deadline = time.monotonic() + 20
        while not os.path.exists(path) and time.monotonic() < deadline:
            time.sleep(0.002)
        return self.run(**request)

    def leave_open(self, directory: str, file: str, port: int) -> str:
        """Descriptors that whoever wrote the server forgot."""
        connection = socket.create_connection(("127.0.0.1", port))
        for descriptor in (
            os.open(directory, os.O_RDONLY | os.O_DIRECTORY),
            os.open(file, os.O_RDWR),
            connection.detach(),
        ):
            os.set_inheritable(descriptor, True)
            self._left_open.append(descriptor)
        return ""

    def close_left(self) -> str:
        while self._left_open:
            os.close(self._left_open.pop())
        return ""

    def detect_on(self, path: str, roots: list[str]) -> list[str]:
        found = detect_os_sandbox(roots, path=path)
        return [found.program, found.problem]

    def set_environment(self, environment: dict[str, str]) -> str:
        """Of the server itself."""
        os.environ.update(environment)
        return ""

    def get_environment(self, name: str) -> str:
        return os.environ.get(name, "")

    def groups(self) -> list[int]:
        return os.getgroups()

    def set_groups(self, groups: list[int]) -> str:
        os.setgroups(groups)
        return ""


if __name__ == "__main__":
    confined_worker.main(int(sys.argv[1]), sys.argv[2], AttackWorker)
