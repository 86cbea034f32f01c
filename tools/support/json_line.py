"""Members as one line of JSON, which nothing in their texts can break out of, or disturb a terminal by."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_ACTING: Final = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def json_line(members: Mapping[str, object]) -> str:
    """The object on one line. What no encoding can hold is replaced; what ends lines or turns text is escaped."""
    line = json.dumps(members, ensure_ascii=False).encode("utf-8", "replace").decode()
    return _ACTING.sub(lambda found: f"\\u{ord(found[0]):04x}", line)
