"""Values of the configuration as people read them. A password in one is not shown."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from collections.abc import Mapping

_CREDENTIALS: Final = re.compile(r"(?<=://)[^/]*(?=@)")


def shown_value(key: str, value: Any) -> str:
    """The value as TOML has it, but for a table, which is in JSON's form."""
    return "not set" if value is None else json.dumps(plain_value(key, value), ensure_ascii=False)


def plain_value(key: str, value: Any) -> Any:
    """The value in the types of JSON."""
    if key == "web.proxy" and value is not None:
        return _CREDENTIALS.sub("***", value)
    if key == "permissions.default":
        return _in_a_word(cast("Mapping[str, str]", value))
    return list(cast("tuple[object, ...]", value)) if isinstance(value, tuple) else value


def _in_a_word(verdicts: Mapping[str, str]) -> str | dict[str, str]:
    """One word where it is the same for all; else those that are not ``allow``."""
    words = set(verdicts.values())
    if len(words) == 1:
        return words.pop()
    return {str(name): verdict for name, verdict in verdicts.items() if verdict != "allow"}
