"""Sockets of the host that keep what they receive."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from types import TracebackType

    from attack_scene import Scene


class Listener:
    """Takes one connection after the other, or one datagram after the other, in a thread of its own."""

    def __init__(self, server: socket.socket, *, has_connections: bool, answer: bytes = b"") -> None:
        self._server = server
        self._has_connections = has_connections
        self._answer = answer
        self._received: list[bytes] = []
        self._stop = threading.Event()
        self._server.settimeout(0.02)
        self._thread = threading.Thread(target=self._take)
        if has_connections:
            self._server.listen()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> str:
        """No more is taken; what was received."""
        self._stop.set()
        self._thread.join(10)
        self._server.close()
        return b"".join(self._received).decode(errors="backslashreplace")

    def _take(self) -> None:
        while True:
            with suppress(TimeoutError):
                if not self._has_connections:
                    self._received.append(self._server.recv(65536))
                    continue
                client, _ = self._server.accept()
                with client:
                    client.settimeout(2)
                    with suppress(OSError):
                        self._received.append(client.recv(65536))
                        client.sendall(self._answer)
                continue
            # Asked for after a pause without anything: what had arrived before is not lost.
            if self._stop.is_set():
                return


class TcpListener(Listener):
    """On the loopback interface."""

    def __init__(self, scene: Scene, address: str = "127.0.0.1") -> None:
        del scene
        server = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
        server.bind((address, 0))
        self.port: int = server.getsockname()[1]
        super().__init__(server, has_connections=True)


class UdpListener(Listener):
    """On the loopback interface."""

    def __init__(self, scene: Scene, address: str = "127.0.0.1") -> None:
        del scene
        server = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
        server.bind((address, 0))
        self.port: int = server.getsockname()[1]
        super().__init__(server, has_connections=False)


class UnixListener(Listener):
    """At a path outside of the workspace that everybody may connect to, or at an abstract name (``@...``)."""

    def __init__(
        self, scene: Scene, kind: int = socket.SOCK_STREAM, *, abstract: bool = False, answer: bytes = b""
    ) -> None:
        server = socket.socket(socket.AF_UNIX, kind)
        self.path = f"@{scene.token}" if abstract else str(scene.outside / "socket")
        server.bind("\0" + self.path[1:] if abstract else self.path)
        if not abstract:
            (scene.outside / "socket").chmod(0o777)
        super().__init__(server, has_connections=kind != socket.SOCK_DGRAM, answer=answer)


class NetlinkListener(Listener):
    """A user socket; ``port`` is its number."""

    def __init__(self, scene: Scene) -> None:
        del scene
        server = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 2)
        server.bind((0, 0))
        self.port: int = server.getsockname()[0]
        super().__init__(server, has_connections=False)
