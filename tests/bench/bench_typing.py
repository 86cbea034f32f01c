"""Typing at 50 changes a second into a document of 10 MB, and how long the server lets anybody wait meanwhile.

One thread types by the clock, another reads what comes; the main thread asks for something that costs nothing and
waits for the answer, again and again. The longest of these waits is the longest stall of the server's event loop,
whatever its cause: a collection of garbage, a comparison of whole texts, the joining of lines. With "Reads" in
flight there is always one Read of the typed document, with "Edits" always one edit of it as well, which the editor
applies as soon as it is asked to; a slow editor takes a tenth of a second, so that each edit lands among changes.
A strict editor refuses an edit for another version than it shows. Nobody ever pauses, so that each edit has to be
moved to a text that changed since it was prepared. "edits" are those that landed, of so many that were asked for.

The rows beyond ASCII have characters of one, two and four bytes in memory, and CRLF. See README.md.
"""

from __future__ import annotations

import json
import random
import statistics
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsp_wire import Server, frame
from measure import parse_options, scratch_folder

if TYPE_CHECKING:
    from collections.abc import Sequence

HERE = Path(__file__).resolve().parent
BARE = [sys.executable, "-P", str(HERE / "bare_pygls.py")]
SERVE = [sys.executable, "-P", "-m", "openbuffer.bridge", "serve"]

DOCUMENT_BYTES = 10_000_000
CHANGES_PER_S = 50
GOAL_S = 0.05
LINE = "x" * 79 + "\n"
LINES = {
    "ASCII": LINE,
    "é": "é" * 79 + "\r\n",
    "—": "a dash — in much plain text that goes on and on\r\n",
    "😋": "x 😋 y, one of those in a line of text\r\n",
}
MARK = "edit %d of this line\n"
CALL = "openbuffer/callTool"


def main() -> None:
    """Print a row for each kind of load."""
    options = parse_options(__doc__)
    seconds = 10 * options.rounds_factor
    print(f"{'':38} changes Reads  edits of  pings median ms   99% ms longest ms")
    with scratch_folder() as folder:
        path = folder / "typed.txt"
        echo, ours = ("bench/echo", {"text": "x"}), ("openbuffer/listTools", {})
        row("pygls, typing", Typist(BARE, path, echo), seconds)
        row("openbuffer, typing", Typist(SERVE, path, ours), seconds)
        row("openbuffer, Reads", Typist(SERVE, path, ours), seconds, ("Read",))
        row("openbuffer, Reads, Edits", Typist(SERVE, path, ours), seconds, ("Read", "Edit"))
        row("openbuffer, Edits, strict editor", Typist(SERVE, path, ours, is_strict=True), seconds, ("Edit",))
        for name, line in LINES.items():
            slow = Typist(SERVE, path, ours, apply_after_s=0.1, line=line)
            row(f"openbuffer, Reads, slow Edits, {name}", slow, seconds, ("Read", "Edit"))


def row(name: str, typist: Typist, seconds: float, tools: Sequence[str] = ()) -> None:
    """Measure and print."""
    waits = typist.run(seconds, tools)
    waits.sort()
    longest = waits[-1]
    verdict = "met" if longest <= GOAL_S else "MISSED"
    print(
        f"{name:38} {typist.changes:7} {typist.reads:5} {typist.edits:5} {typist.asked:3} {len(waits):6}"
        f" {statistics.median(waits) * 1e3:9.2f} {waits[int(len(waits) * 0.99)] * 1e3:8.2f} {longest * 1e3:10.1f}"
        f"  | goal <= {GOAL_S * 1e3:g} ms: {longest / GOAL_S:.2f} of it, {verdict}"
    )


class Typist(Server):
    """A client whose user never stops typing."""

    def __init__(
        self,
        command: Sequence[str],
        path: Path,
        ping: tuple[str, dict[str, Any]],
        *,
        apply_after_s: float = 0,
        is_strict: bool = False,
        line: str = LINE,
    ) -> None:
        self._command, self._apply_after_s, self._is_strict, self._line = command, apply_after_s, is_strict, line
        self._lines = DOCUMENT_BYTES // len(line.encode())
        self._path = path
        self._uri = path.as_uri()
        self._ping = ping
        self._version = 0
        self._lock = threading.RLock()
        self.changes = self.reads = self.edits = self.asked = 0
        self._over = False
        self._pinged = threading.Event()
        self._came = 0.0
        self._rng = random.Random(7)

    def run(self, seconds: float, tools: Sequence[str]) -> list[float]:
        """Seconds of each ping."""
        text = self._line * self._lines + MARK % 0
        self._path.write_text(text, newline="")
        super().__init__(self._command, self._path.parent)
        with self:
            self.initialize()
            item = {"uri": self._uri, "languageId": "text", "version": 0, "text": text}
            self._write(frame({"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": item}}))
            self.request(*self._ping)
            threads = [threading.Thread(target=work, daemon=True) for work in (self._type, self._listen)]
            for thread in threads:
                thread.start()
            for tool in tools:
                self._call(tool)
            waits = self._ask_until(time.perf_counter() + seconds)
            self._over = True
            for thread in threads:
                thread.join(30)
        return waits

    def _ask_until(self, end: float) -> list[float]:
        method, params = self._ping
        waits: list[float] = []
        while (start := time.perf_counter()) < end:
            self._pinged.clear()
            self._send({"id": "ping", "method": method, "params": params})
            if not self._pinged.wait(60):
                raise EOFError("no answer to a ping in a minute")
            waits.append(self._came - start)
            time.sleep(0.001)
        return waits

    def _type(self) -> None:
        next_at = time.perf_counter()
        while not self._over:
            at = self._rng.randrange(self._lines)
            self._change({"line": at, "character": 3}, {"line": at, "character": 3}, "y")
            next_at += 1 / CHANGES_PER_S
            time.sleep(max(0.0, next_at - time.perf_counter()))
        self._send({"id": "last", "method": self._ping[0], "params": self._ping[1]})

    def _change(self, start: Any, end: Any, text: str) -> None:
        with self._lock:
            self._version += 1
            document = {"uri": self._uri, "version": self._version}
            change = {"range": {"start": start, "end": end}, "text": text}
            params = {"textDocument": document, "contentChanges": [change]}
            self._write(frame({"jsonrpc": "2.0", "method": "textDocument/didChange", "params": params}))
            self.changes += 1

    def _listen(self) -> None:
        while True:
            body = self._read()
            came = time.perf_counter()
            message = json.loads(body) if len(body) < 100_000 else {"id": "Read"}
            if message.get("method") == "workspace/applyEdit":
                threading.Timer(self._apply_after_s, self._apply, [message]).start()
            elif message.get("id") == "ping":
                self._came = came
                self._pinged.set()
            elif message.get("id") == "last":
                return
            elif "method" not in message:
                if message["id"] == "Edit":
                    self.asked += 1
                    self.edits += bool(message["result"]["data"]["success"])
                else:
                    self.reads += 1
                if not self._over:
                    self._call(message["id"])

    def _apply(self, message: Any) -> None:
        change = message["params"]["edit"]["documentChanges"][0]
        with self._lock:
            fits = not self._is_strict or change["textDocument"]["version"] == self._version
            for edit in change["edits"] if fits else ():
                self._change(edit["range"]["start"], edit["range"]["end"], edit["newText"])
        self._send({"id": message["id"], "result": {"applied": fits}})

    def _call(self, tool: str) -> None:
        arguments: dict[str, Any] = {"filePath": str(self._path)}
        if tool == "Edit":
            arguments |= {"oldString": MARK % self.edits, "newString": MARK % (self.edits + 1)}
        else:
            arguments |= {"offset": 60_000, "limit": 100}
        self._send({"id": tool, "method": CALL, "params": {"name": tool, "arguments": arguments}})

    def _send(self, message: dict[str, Any]) -> None:
        with self._lock:
            self._write(frame({"jsonrpc": "2.0", **message}))


if __name__ == "__main__":
    main()
