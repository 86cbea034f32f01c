"""Serves the host: ``listening.py tcp PORT TEXT`` or ``listening.py unix PATH TEXT``. Gives the text."""

from __future__ import annotations

import contextlib
import os
import socket
import sys

how, where, text = sys.argv[1:4]
if how == "tcp":
    server = socket.create_server(("127.0.0.1", int(where)))
else:
    server = socket.socket(socket.AF_UNIX)
    server.bind(where)
    os.chmod(where, 0o777)
    server.listen()
server.settimeout(0.05)
open("held", "w").close()
while not os.path.exists("release"):
    with contextlib.suppress(TimeoutError):
        client, _ = server.accept()
        client.sendall(text.encode())
        client.close()
