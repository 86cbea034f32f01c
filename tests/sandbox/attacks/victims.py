"""A process of the host that has what an attacker wants: a secret in its memory, environment and descriptors."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from types import TracebackType

    from attack_scene import Scene

_PROGRAM = """
import ctypes, os, sys
secret = sys.stdin.readline().strip().encode()
memory = ctypes.create_string_buffer(secret, 64)
kept, vault = os.open("kept", os.O_RDWR), os.open("vault/secret", os.O_RDONLY)
print(ctypes.addressof(memory), flush=True)
sys.stdin.read()
"""


class Victim:
    """Lives as long as this context, unless it is killed."""

    def __init__(self, scene: Scene) -> None:
        scene.desk.own()
        self._process = scene.as_user(
            ["/usr/bin/python3", "-c", _PROGRAM], cwd=scene.outside, env={"VICTIM_SECRET": scene.token}
        )
        self.pid = self._process.pid
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(scene.token + "\n")
        self._process.stdin.flush()
        self.address = int(self._process.stdout.readline())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()

    def memory(self) -> str:
        """What its secret is now."""
        with open(f"/proc/{self.pid}/mem", "rb", 0) as memory:
            return os.pread(memory.fileno(), 64, self.address).split(b"\0")[0].decode()

    def state(self) -> tuple[str, str, int, str]:
        """Whether it runs, who traces it, its priority and its place in the queue for being ended."""
        fields = {"State": "gone", "TracerPid": "0"}
        with suppress(OSError):
            for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
                name, _, value = line.partition(":")
                fields[name] = value.strip()
        with suppress(OSError):
            adjusted = Path(f"/proc/{self.pid}/oom_score_adj").read_text().strip()
            return (
                "gone" if fields["State"].startswith("Z") else "runs",
                fields["TracerPid"],
                os.getpriority(os.PRIO_PROCESS, self.pid) + 100 * os.sched_getscheduler(self.pid),
                adjusted,
            )
        return ("gone", "0", 0, "")
