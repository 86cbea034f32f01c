"""The editor with the packaged extension and the probe installed, and a tap on the wire of its language server."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .code_server import CodeServer
from .vsix import pack_probe, packaged_extension

if TYPE_CHECKING:
    from collections.abc import Mapping

_TAP = Path(__file__).resolve().parent / "tapped_server.py"
SERVER = (sys.executable, "-P", "-m", "openbuffer.bridge")


class ClientServer(CodeServer):
    """Its language servers have the rules of one file, which counts anew at each call."""

    def __init__(self, home: Path, machine: Mapping[str, Any] | None = None) -> None:
        package = packaged_extension()
        assert package is not None
        self.wire_log = home / "wire.jsonl"
        self.wire_log.touch()
        self.config = home / "openbuffer.toml"
        self.set_config("")
        own = {
            "openbuffer.server.command": [sys.executable, str(_TAP), str(self.wire_log), *SERVER],
            "openbuffer.server.arguments": ["--config", str(self.config)],
        }
        super().__init__(home, extensions=[pack_probe(home), package], machine={**own, **(machine or {})})

    def set_config(self, text: str) -> None:
        """What the server's configuration says from the next call on."""
        fresh = self.config.with_suffix(".new")
        fresh.write_text(text)
        fresh.replace(self.config)

    def wire(self, since: int = 0) -> list[dict[str, Any]]:
        """What was said: ``{"from": "client" or "server", "message": ...}``."""
        return [json.loads(line) for line in self.wire_log.read_text(encoding="utf-8").splitlines()[since:]]

    def requests(self, method: str, since: int = 0) -> list[dict[str, Any]]:
        """The params of every message with this method, from either side."""
        messages = [line["message"] for line in self.wire(since)]
        return [message.get("params") for message in messages if message.get("method") == method]
