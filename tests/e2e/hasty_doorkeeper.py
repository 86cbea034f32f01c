"""``openbuffer serve --listen`` with little patience for connections that say nothing."""

from __future__ import annotations

import sys
from functools import partial

from openbuffer.bridge.server import serve_socket
from openbuffer.bridge.wire import handshake, sockets

if __name__ == "__main__":
    sockets.admitted = partial(handshake.admitted, timeout_s=0.5)  # type: ignore[assignment]
    sys.exit(serve_socket(sys.argv[1].removeprefix("listen=")))
