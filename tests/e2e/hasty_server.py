"""``openbuffer serve`` that waits for the editor in tenths of seconds; for tests in which editors let it wait."""

from __future__ import annotations

import sys

from openbuffer.bridge.server import serve_stdio
from openbuffer.editor_access import lsp_flight

REPLY_S, TEXT_S, GRACE_S = 1.2, 0.8, 0.6

if __name__ == "__main__":
    constructor = lsp_flight.EditTimeouts.__init__
    constructor.__defaults__ = (REPLY_S, TEXT_S, GRACE_S, GRACE_S, *(constructor.__defaults__ or ())[4:])
    sys.exit(serve_stdio())
