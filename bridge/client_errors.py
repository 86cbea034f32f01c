"""What goes wrong between a client and its server::

BridgeError
├── BridgeStartError      the server could not be started or reached, or did not answer ``initialize``
├── BridgeEndedError      the server ended, or what it wrote is no LSP
├── BridgeTimeoutError    no answer in time; the request was withdrawn
└── BridgeRequestError    the server refused the request itself (a JSON-RPC error)
"""

from __future__ import annotations

from typing import Any


class BridgeError(Exception):
    """The client and its server did not get through to each other."""


class BridgeStartError(BridgeError):
    """The server process could not be started or reached, or did not answer ``initialize``."""


class BridgeEndedError(BridgeError):
    """The server ended, or what it wrote is no LSP; what became of open requests is not known."""


class BridgeTimeoutError(BridgeError):
    """No answer in time; the request was withdrawn with ``$/cancelRequest``."""


class BridgeRequestError(BridgeError):
    """The server answered with a JSON-RPC error."""

    def __init__(self, message: str, code: int, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data
