"""Objects of the shape of E2B's sandboxes, over a directory of this host: blocking, asynchronous, and for text only."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread


class CommandExitError(Exception):
    """Raised for a command that ended with another code than 0, as E2B's classes do."""

    def __init__(self, exit_code: object, stdout: str = "", stderr: str = "", error: str | None = None) -> None:
        super().__init__(f"Command exited with code {exit_code}")
        self.exit_code = exit_code
        self.stdout = stdout
        self.stderr = stderr
        self.error = error


class TimeoutException(Exception):  # noqa: N818  the name that the package has given it
    pass


@dataclass
class Result:
    exit_code: object
    stdout: str = ""
    stderr: str = ""
    error: str | None = None


class BlockingCommands:
    """``stop`` ends what still runs and nobody waits for: its thread would hold up the end of the tests."""

    def __init__(self) -> None:
        self._running: set[int] = set()

    def stop(self) -> None:
        for pid in tuple(self._running):
            os.killpg(pid, signal.SIGKILL)

    def run(self, cmd: str, *, cwd: str, timeout: float) -> Result:
        process = subprocess.Popen(
            ["/bin/sh", "-c", cmd],
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self._running.add(process.pid)
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise TimeoutException("context deadline exceeded") from None
        finally:
            self._running.discard(process.pid)
        return ended(process.returncode, out, err)


def ended(code: int, out: bytes, err: bytes) -> Result:
    """As envd tells it: a signal is -1, and the streams are decoded."""
    exit_code = -1 if code < 0 else code
    error = f"signal: {-code}" if code < 0 else f"exit status {code}" if code else None
    result = Result(exit_code, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"), error)
    if code != 0:
        raise CommandExitError(result.exit_code, result.stdout, result.stderr, result.error)
    return result


class BlockingFiles:
    def read(self, path: str, format: str = "text") -> Any:  # noqa: A002  the name is the package's
        content = Path(path).read_bytes()
        return content.decode("utf-8", "replace") if format == "text" else bytearray(content)

    def write(self, path: str, data: str | bytes) -> Any:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_bytes(data.encode() if isinstance(data, str) else data)
        return {"path": path}


class TextFiles:
    def read(self, path: str) -> str:
        return Path(path).read_bytes().decode("utf-8", "replace")

    def write(self, path: str, data: str) -> None:
        assert isinstance(data, str)
        BlockingFiles().write(path, data)


class AsyncCommands:
    def stop(self) -> None:
        """Cancelling has ended what ran."""

    async def run(self, cmd: str, *, cwd: str, timeout: float) -> Result:
        process = await anyio.open_process(
            ["/bin/sh", "-c", cmd], cwd=cwd, stdin=subprocess.DEVNULL, start_new_session=True
        )
        told: dict[str, bytes] = {}
        try:
            with anyio.fail_after(timeout):
                async with anyio.create_task_group() as tasks:
                    for name, stream in (("out", process.stdout), ("err", process.stderr)):
                        tasks.start_soon(self._drain, stream, told, name)
                code = await process.wait()
        except TimeoutError:
            raise TimeoutException("context deadline exceeded") from None
        finally:
            with anyio.CancelScope(shield=True):
                if process.returncode is None:
                    os.killpg(process.pid, signal.SIGKILL)
                await process.aclose()
        return ended(code, told["out"], told["err"])

    async def _drain(self, stream: Any, told: dict[str, bytes], name: str) -> None:
        told[name] = b"".join([chunk async for chunk in stream])


class AsyncFiles:
    async def read(self, path: str, format: str = "text") -> Any:  # noqa: A002  the name is the package's
        return await anyio.to_thread.run_sync(BlockingFiles().read, path, format)

    async def write(self, path: str, data: str | bytes) -> Any:
        return await anyio.to_thread.run_sync(BlockingFiles().write, path, data)


class HostSandbox:
    """Keeps snapshots of ``root`` beside it, and makes a sandbox with an id of its own from each."""

    numbers = itertools.count(1)

    def __init__(self, root: Path, commands: Any, files: Any) -> None:
        self.root = root
        self.commands = commands
        self.files = files
        self.sandbox_id = f"sandbox-{next(self.numbers)}"

    def snapshot(self) -> str:
        kept = self.root.with_name(f"{self.root.name}-kept-{next(self.numbers)}")
        shutil.copytree(self.root, kept, symlinks=True)
        return kept.name

    def from_checkpoint(self, checkpoint: str) -> HostSandbox:
        kept = self.root.with_name(checkpoint)
        if not kept.is_dir():
            raise LookupError(f"no checkpoint {checkpoint}")
        shutil.rmtree(self.root)
        shutil.copytree(kept, self.root, symlinks=True)
        return HostSandbox(self.root, self.commands, self.files)
