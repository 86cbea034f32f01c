"""Sends a text to a socket of the host: ``sockets.py HOW WHERE TEXT``."""

from __future__ import annotations

import contextlib
import socket
import sys

how, where, text = sys.argv[1:4]
data = text.encode()
unix = "\0" + where[1:] if where.startswith("@") else where


def to_ip(family: int, kind: int) -> None:
    host, _, port = where.rpartition("|")
    with socket.socket(family, kind) as client:
        client.settimeout(5)
        client.connect((host, int(port)))
        client.sendall(data)


def to_unix(kind: int) -> None:
    with socket.socket(socket.AF_UNIX, kind) as client:
        client.settimeout(5)
        client.connect(unix)
        client.sendall(data)


def by_pair() -> None:
    """One end of a pair is turned to the host: by an address for each message, or by connecting it again."""
    for kind in (socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET, socket.SOCK_STREAM):
        with contextlib.suppress(OSError):
            one, other = socket.socketpair(socket.AF_UNIX, kind)
            with contextlib.suppress(OSError):
                one.sendto(data, unix)
            with contextlib.suppress(OSError):
                other.close()
                one.connect(unix)
                one.send(data)


def by_inherited() -> None:
    for number in range(3, 100):
        with contextlib.suppress(OSError):
            socket.socket(fileno=number).send(data)


def by_netlink() -> None:
    """User sockets of this family carry messages between processes, whoever they are."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 2) as client:
        client.bind((0, 0))
        client.sendto(data, (int(where), 0))


{
    "tcp": lambda: to_ip(socket.AF_INET, socket.SOCK_STREAM),
    "udp": lambda: to_ip(socket.AF_INET, socket.SOCK_DGRAM),
    "tcp6": lambda: to_ip(socket.AF_INET6, socket.SOCK_STREAM),
    "udp6": lambda: to_ip(socket.AF_INET6, socket.SOCK_DGRAM),
    "stream": lambda: to_unix(socket.SOCK_STREAM),
    "datagram": lambda: to_unix(socket.SOCK_DGRAM),
    "pair": by_pair,
    "inherited": by_inherited,
    "netlink": by_netlink,
}[how]()
