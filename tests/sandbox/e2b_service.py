"""A service on the loopback that speaks to the ``e2b`` package's own classes what E2B's speaks, over this host's files.

The control plane makes and resumes sandboxes and keeps snapshots; the daemon in each ("envd") runs commands by
Connect's RPC with JSON, and moves files by HTTP.
"""

from __future__ import annotations

import base64
import importlib.util
import itertools
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import threading
from contextlib import asynccontextmanager, contextmanager
from email.parser import BytesParser
from email.policy import HTTP
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator

    from openbuffer.sandbox.e2b_client import E2BSandboxClient


def e2b_problem() -> str:
    """Why the package's classes cannot be tried; empty if they can."""
    return "" if importlib.util.find_spec("e2b") else "the package e2b is not installed"


class Service(ThreadingHTTPServer):
    """``end`` is told of commands in place of theirs, and no end at all without ``has_end``.

    ``drops``: the connection breaks when a command has begun. ``connected_as``: the id that a resumed sandbox has.
    """

    daemon_threads = True

    def __init__(self, root: Path) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.root = root
        self.numbers = itertools.count(1)
        self.running: set[int] = set()
        self.end: dict[str, Any] | None = None
        self.has_end = True
        self.drops = False
        self.connected_as: str | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def options(self) -> dict[str, Any]:
        """How the package's classes find it. They prefer HTTP/2, which it does not speak."""
        return {
            "api_url": self.url,
            "sandbox_url": self.url,
            "api_key": "e2b_0000",
            "http_version": "1.1",
            "debug": False,
            "request_timeout": 20,
            "retries": 0,
        }

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away in the middle is part of the tests."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Service

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        if url.path == "/health":
            self.answer(204, b"")
        elif url.path == "/files":
            self.download(Path(parse_qs(url.query)["path"][0]))
        else:
            self.refuse(404, f"no route {url.path}")

    def do_POST(self) -> None:
        url = urlsplit(self.path)
        body = self.body()
        parts = url.path.removeprefix("/v2").strip("/").split("/")
        if url.path == "/process.Process/Start":
            self.start(json.loads(body[5:]))
        elif url.path == "/files":
            self.upload(Path(parse_qs(url.query)["path"][0]), body)
        elif parts == ["sandboxes"]:
            self.create(json.loads(body)["templateID"])
        elif parts[0] == "sandboxes" and parts[2:] == ["connect"]:
            self.answer_json(200, self.described(self.server.connected_as or parts[1]))
        elif parts[0] == "sandboxes" and parts[2:] == ["snapshots"]:
            self.keep()
        else:
            self.refuse(404, f"no route {url.path}")

    def body(self) -> bytes:
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        parts: list[bytes] = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def create(self, template: str) -> None:
        kept = self.server.root.with_name(template)
        if template.startswith("kept-"):
            if not kept.is_dir():
                self.refuse(404, f"template {template} not found")
                return
            shutil.rmtree(self.server.root)
            shutil.copytree(kept, self.server.root, symlinks=True)
        self.answer_json(201, self.described(f"sandbox{next(self.server.numbers)}"))

    def keep(self) -> None:
        name = f"kept-{next(self.server.numbers)}"
        shutil.copytree(self.server.root, self.server.root.with_name(name), symlinks=True)
        self.answer_json(201, {"snapshotID": name, "names": []})

    def described(self, sandbox_id: str) -> dict[str, str]:
        return {
            "sandboxID": sandbox_id,
            "templateID": "base",
            "clientID": "client",
            "envdVersion": "0.6.5",
            "envdAccessToken": "token",
        }

    def download(self, path: Path) -> None:
        if not path.exists():
            self.refuse(404, f"path '{path}' does not exist")
        elif path.is_dir():
            self.refuse(400, f"path '{path}' is a directory")
        else:
            self.answer(200, path.read_bytes(), "application/octet-stream")

    def upload(self, path: Path, body: bytes) -> None:
        if self.headers.get_content_type() == "multipart/form-data":
            head = f"Content-Type: {self.headers['Content-Type']}\r\n\r\n".encode()
            part = next(BytesParser(policy=HTTP).parsebytes(head + body).iter_parts())
            body = part.get_payload(decode=True)
        if path.is_dir():
            self.refuse(400, f"path is a directory: {path}")
            return
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(body)
        except OSError as error:
            self.refuse(500, f"error opening file: open {path}: {(error.strerror or '').lower()}")
            return
        self.answer_json(200, [{"name": path.name, "type": "file", "path": str(path)}])

    def start(self, request: dict[str, Any]) -> None:
        process = request["process"]
        self.send_response(200)
        self.send_header("Content-Type", "application/connect+json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        if not Path(process["cwd"]).is_dir():
            message = f"cwd '{process['cwd']}' does not exist"
            self.finish_stream({"error": {"code": "invalid_argument", "message": message}})
            return
        child = subprocess.Popen(
            ["/bin/bash", "--noprofile", *process["args"]],
            cwd=process["cwd"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self.server.running.add(child.pid)
        self.event(0, {"event": {"start": {"pid": child.pid}}})
        if self.server.drops:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            child.communicate()
            self.server.running.discard(child.pid)
            return
        timeout_ms = self.headers.get("Connect-Timeout-Ms")
        try:
            out, err = child.communicate(timeout=int(timeout_ms) / 1000 if timeout_ms else None)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.communicate()
            self.server.running.discard(child.pid)
            self.finish_stream({"error": {"code": "deadline_exceeded", "message": "context deadline exceeded"}})
            return
        self.server.running.discard(child.pid)
        for name, data in (("stdout", out), ("stderr", err)):
            for start in range(0, len(data), 1000):  # multi-byte characters are cut
                piece = base64.b64encode(data[start : start + 1000]).decode()
                self.event(0, {"event": {"data": {name: piece}}})
        if self.server.has_end:
            self.event(0, {"event": {"end": self.server.end or described_end(child.returncode)}})
        self.finish_stream({})

    def finish_stream(self, trailer: dict[str, Any]) -> None:
        self.event(2, trailer)
        self.wfile.write(b"0\r\n\r\n")

    def event(self, flags: int, message: dict[str, Any]) -> None:
        data = json.dumps(message).encode()
        framed = struct.pack(">BI", flags, len(data)) + data
        self.wfile.write(b"%x\r\n%b\r\n" % (len(framed), framed))
        self.wfile.flush()

    def answer(self, status: int, body: bytes, kind: str = "text/plain") -> None:
        self.send_response(status)
        if status != 204:
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def answer_json(self, status: int, value: Any) -> None:
        self.answer(status, json.dumps(value).encode(), "application/json")

    def refuse(self, status: int, message: str) -> None:
        self.answer_json(status, {"code": status, "message": message})

    def log_message(self, *_args: Any) -> None:
        """Tests say what they need to say."""


def described_end(code: int) -> dict[str, Any]:
    """The end of a process as envd, which is written in Go, tells it."""
    if code < 0:
        words = f"signal: {signal.strsignal(-code)}".lower()
        return {"exitCode": -1, "exited": False, "status": words, "error": words}
    words = f"exit status {code}"
    return {"exitCode": code, "exited": True, "status": words, **({"error": words} if code else {})}


@contextmanager
def service(root: Path) -> Generator[Service]:
    """A service over a directory; what it started has ended when this is left."""
    server = Service(root)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        for pid in tuple(server.running):
            os.killpg(pid, signal.SIGKILL)
        server.shutdown()
        server.server_close()
        thread.join()


@asynccontextmanager
async def e2b_place(root: Path, *, is_async: bool) -> AsyncGenerator[E2BSandboxClient]:
    """A client over one of the package's classes, with a factory that makes sandboxes from snapshots."""
    import e2b
    from openbuffer.sandbox.e2b_client import E2BSandboxClient

    with service(root) as server:
        if is_async:
            sandbox: Any = await e2b.AsyncSandbox.create(**server.options())

            async def make(snapshot: str) -> object:
                return await e2b.AsyncSandbox.create(snapshot, **server.options())

            yield E2BSandboxClient(sandbox, checkpoint_factory=make)
        else:
            blocking = e2b.Sandbox.create(**server.options())
            yield E2BSandboxClient(
                blocking, checkpoint_factory=lambda snapshot: e2b.Sandbox.create(snapshot, **server.options())
            )
