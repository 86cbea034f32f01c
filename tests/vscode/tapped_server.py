"""The real server with a tap on its wire: ``python tapped_server.py LOG COMMAND...`` writes down what is said.

Every frame goes through untouched, and is written afterwards, one JSON object per line:
``{"from": "client", "message": {...}}``.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from typing import BinaryIO

_lock = threading.Lock()


class Frames:
    """Takes bytes in any pieces, gives the bodies of whole frames."""

    def __init__(self) -> None:
        self._kept = bytearray()

    def take(self, data: bytes) -> list[bytes]:
        self._kept += data
        bodies: list[bytes] = []
        while (end := self._kept.find(b"\r\n\r\n")) >= 0:
            headers = bytes(self._kept[:end]).lower().split(b"\r\n")
            length = next(int(line.split(b":")[1]) for line in headers if line.startswith(b"content-length"))
            if len(self._kept) < end + 4 + length:
                break
            bodies.append(bytes(self._kept[end + 4 : end + 4 + length]))
            del self._kept[: end + 4 + length]
        return bodies


def pump(side: str, source: int, target: BinaryIO, log: str) -> None:
    """Pass on what comes until it ends, and write it down before the next is read."""
    frames = Frames()
    try:
        while data := os.read(source, 1 << 16):
            lines = [json.dumps({"from": side, "message": json.loads(body)}) for body in frames.take(data)]
            with _lock, open(log, "a", encoding="utf-8") as file:
                file.writelines(f"{line}\n" for line in lines)
            target.write(data)
            target.flush()
    except BrokenPipeError:
        pass
    finally:
        target.close()


def main() -> int:
    log, *command = sys.argv[1:]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    signal.signal(signal.SIGTERM, lambda *_: server.terminate())
    assert server.stdin is not None
    assert server.stdout is not None
    threading.Thread(target=pump, args=("client", 0, server.stdin, log), daemon=True).start()
    pump("server", server.stdout.fileno(), sys.stdout.buffer, log)
    return server.wait()


if __name__ == "__main__":
    code = main()
    sys.stdout = None  # it is closed
    os._exit(max(code, 0))
