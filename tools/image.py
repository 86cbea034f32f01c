"""A picture that a result carries; a plain value."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageContent:
    """A picture in a result: its bytes, their type, its size in pixels, and the SHA-256 by which it may be kept."""

    mime_type: str
    data: bytes = field(repr=False)
    width: int
    height: int
    sha256: str

    def to_json(self, *, with_data: bool) -> dict[str, Any]:
        """The wire form, with the bytes as Base64; the record of it has their number instead."""
        wire: dict[str, Any] = {"mimeType": self.mime_type, "width": self.width, "height": self.height}
        wire["sha256"] = self.sha256
        if with_data:
            return {**wire, "data": base64.b64encode(self.data).decode("ascii")}
        return {**wire, "bytes": len(self.data)}
