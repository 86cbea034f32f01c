"""Where a server listens: an address of this machine's own, or a socket file that only its user can reach."""

from __future__ import annotations

import errno
import fcntl
import ipaddress
import os
import socket
import stat
import struct
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..directories import DirectoryError, create_private
from ..limits import LISTEN_LOCK_S

if TYPE_CHECKING:
    from collections.abc import Generator

_UNIX: Final = "unix:"
_PORT_MAX: Final = 65_535
_SOCKET_PATH_MAX_BYTES: Final = 100
"""Systems take between 104 and 108, with the byte that ends it."""

_BACKLOG: Final = 64
_CREDENTIALS: Final = struct.Struct("3i")


class ListenError(Exception):
    """Nobody can listen there; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class TcpAddress:
    """A port of a loopback address; 0 is any that is free."""

    host: str
    port: int


@dataclass(frozen=True, slots=True)
class UnixAddress:
    """A socket file, by its absolute path."""

    path: Path


def parse_address(text: str) -> TcpAddress | UnixAddress:
    """Read ``HOST:PORT`` (``[::1]:0`` for IPv6) or ``unix:PATH``.

    Raises:
        ListenError: it is neither, or another machine could reach it.
    """
    if text.startswith(_UNIX):
        return _unix_address(text.removeprefix(_UNIX))
    host, colon, port = text.rpartition(":")
    host = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    if not colon or not (port.isascii() and port.isdigit() and int(port) <= _PORT_MAX):
        raise ListenError(f"{text!r} is no address; write HOST:PORT such as 127.0.0.1:0, or unix:PATH")
    if host == "localhost":  # never asked about: whoever answers for names must not decide where this listens
        host = "127.0.0.1"
    try:
        is_loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        raise ListenError(f"{host!r} is no IP address; write 127.0.0.1:{port} or [::1]:{port}") from None
    if not is_loopback:
        raise ListenError(
            f"{host} can be reached from other machines; use 127.0.0.1:{port}, and from elsewhere a tunnel such as SSH"
        )
    return TcpAddress(host, int(port))


def _unix_address(name: str) -> UnixAddress:
    if not name or "\0" in name:
        raise ListenError(
            "unix: needs the path of a socket file, for example unix:/run/user/1000/openbuffer/serve.sock"
        )
    try:
        path = Path(name).expanduser().absolute()
    except RuntimeError:
        raise ListenError(f"{name}: there is no such user here; write the whole path of the socket file") from None
    if len(os.fsencode(path)) > _SOCKET_PATH_MAX_BYTES:
        raise ListenError(
            f"{path} is longer than the {_SOCKET_PATH_MAX_BYTES} bytes that the path of a socket may have"
        )
    return UnixAddress(path)


class Listener:
    """An open listening socket. ``address`` is where clients reach it, in the form of ``parse_address``."""

    def __init__(self, listening: socket.socket, path: Path | None = None) -> None:
        self.socket = listening
        self._path = path
        self._identity = None if path is None else _identity(path)

    @property
    def address(self) -> str:
        """Where it listens, with the port that it was given."""
        if self._path is not None:
            return f"{_UNIX}{self._path}"
        host, port = self.socket.getsockname()[:2]
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def close(self) -> None:
        """Listen no more; the socket file goes, unless another server has put its own there by now."""
        self.socket.close()
        if self._path is not None:
            with suppress(OSError, ListenError), _locked(self._path.parent):
                if _identity(self._path) == self._identity:
                    self._path.unlink()


def open_listener(address: TcpAddress | UnixAddress) -> Listener:
    """Listen there; what connects is not blocking.

    Raises:
        ListenError: it is in use, or not safe.
    """
    if isinstance(address, UnixAddress):
        return _listen_at_path(address.path)
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        listening = socket.create_server((address.host, address.port), family=family, backlog=_BACKLOG)
    except OSError as error:
        advice = "choose another port, or 0 for any that is free"
        raise ListenError(f"{address.host}:{address.port}: {error.strerror}; {advice}") from None
    listening.setblocking(False)
    return Listener(listening)


def peer_is_user(connection: socket.socket) -> bool:
    """Whether the process at the other end runs as this one's user; True where the system does not tell."""
    if connection.family != socket.AF_UNIX or not hasattr(socket, "SO_PEERCRED"):
        return True
    try:
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    except OSError:
        return False
    return _CREDENTIALS.unpack(credentials)[1] == os.geteuid()


def _listen_at_path(path: Path) -> Listener:
    _private_directory(path.parent)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with _locked(path.parent):
            _remove_dead(path)
            listening.bind(str(path))
            os.chmod(path, 0o600)
            listening.listen(_BACKLOG)
            listening.setblocking(False)
            return Listener(listening, path)
    except OSError as error:
        listening.close()
        raise ListenError(f"{path}: {error.strerror}") from None
    except BaseException:
        listening.close()
        raise


def _private_directory(directory: Path) -> None:
    """It is there, and nobody else's to enter: a socket in it can neither be connected to nor be replaced by others."""
    try:
        status = os.lstat(directory)
    except FileNotFoundError:
        try:
            create_private(directory)
        except DirectoryError as error:
            raise ListenError(str(error)) from None
        status = os.lstat(directory)
    except OSError as error:
        raise ListenError(f"{directory}: {error.strerror}") from None
    if not stat.S_ISDIR(status.st_mode):
        raise ListenError(f"{directory} is no directory (links are not followed here); name the directory itself")
    if status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) & 0o077:
        raise ListenError(
            f"{directory} can be entered by others; use a directory of your own that nobody else can enter (chmod 700)"
        )


def _remove_dead(path: Path) -> None:
    """Remove the socket of a server that is gone; what is anything else, or answers, stays.

    Raises:
        ListenError: it stays.
    """
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise ListenError(f"{path} exists and is no socket; it is left alone, choose another name")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        refused = probe.connect_ex(str(path))
    if refused == errno.ENOENT:
        return
    if refused != errno.ECONNREFUSED:
        raise ListenError(f"{path}: a server listens there already; end it, or choose another name")
    path.unlink()


@contextmanager
def _locked(directory: Path) -> Generator[None]:
    """One server at a time looks for a dead socket and puts its own there."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        deadline = time.monotonic() + LISTEN_LOCK_S
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise ListenError(f"{directory}: another server has been starting there for too long") from None
                time.sleep(0.01)
        yield
    finally:
        os.close(descriptor)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino
