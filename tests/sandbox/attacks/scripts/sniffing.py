"""Listens to everything that goes over the loopback interface."""

from __future__ import annotations

import contextlib
import os
import socket

sniffer = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
sniffer.bind(("lo", 0))
sniffer.settimeout(0.05)
open("held", "w").close()
with open("sniffed", "wb") as file:
    while not os.path.exists("release"):
        with contextlib.suppress(TimeoutError):
            file.write(sniffer.recv(4096))
