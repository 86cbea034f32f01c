"""The values of a configuration, one by one: each is checked for what it has to be, and what it should be is told.

A path may be absolute, start with ``~/`` (the home directory), or start at the directory of the file that it stands
in. It names one file or directory: neither variables nor patterns are known.
"""

from __future__ import annotations

import math
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from openbuffer.tools.contract import Capability
from openbuffer.tools.errors import ToolDefinitionError
from openbuffer.tools.rules.grammar import VERDICTS
from openbuffer.tools.support.http_guard_settings import WebSettings

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import ValidationInfo

LIST_MAX: Final = 256
"""Entries of one list; each of them becomes arguments of every sandbox that is started."""

TEXT_MAX_CHARS: Final = 4_096
"""Of one entry; no path and no host is longer."""

_SHOWN_MAX_CHARS: Final = 80
_PATH_SHOWN_MAX_CHARS: Final = 300
_PROGRAM: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")
_VARIABLES: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\*?|\*")


class ValueRefusedError(ValueError):
    """A value cannot be used; the text goes on where the name of its key ends, and says what is expected."""

    def of(self, key: str) -> str:
        """The whole sentence."""
        text = str(self)
        return f"{key}{':' if text[:1] in {_QUOTE, _DOUBLE_QUOTE, '/'} else ''} {text}"


@dataclass(frozen=True, slots=True)
class Place:
    """Where values stand: relative paths start at ``base``; without one they are refused."""

    base: Path | None = None


_QUOTE: Final = "'"
_DOUBLE_QUOTE: Final = '"'


def switch(value: Any) -> bool:
    """A yes or no."""
    if not isinstance(value, bool):
        raise ValueRefusedError(f"must be true or false, not {shown(value)}")
    return value


def whole(what: str, least: int, most: int) -> Callable[[Any], int]:
    """A whole number of something, within bounds."""

    def check(value: Any) -> int:
        if type(value) is not int or value < least:  # True is an int too
            raise ValueRefusedError(f"must be a whole number of {what}, {least} or more, not {shown(value)}")
        if value > most:
            raise ValueRefusedError(f"must be a whole number of {what}, {most} at the most, not {shown(value)}")
        return value

    return check


def seconds(most: float) -> Callable[[Any], float]:
    """A time that ends."""

    def check(value: Any) -> float:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or math.isnan(value) or not 0 < value <= most:
            raise ValueRefusedError(
                f"must be a number of seconds, above 0 and {most:g} at the most, not {shown(value)}"
            )
        return float(value)

    return check


def one_of(*known: str) -> Callable[[Any], str]:
    """One of the words that are known."""

    def check(value: Any) -> str:
        if not isinstance(value, str) or value not in known:
            raise ValueRefusedError(f"must be one of {', '.join(known)}, not {shown(value)}")
        return value

    return check


def some_of(*known: str) -> Callable[[Any], tuple[str, ...]]:
    """Some of the words that are known, or none."""

    def check(value: Any) -> tuple[str, ...]:
        names = _texts(value, f"some of {', '.join(known)}")
        for name in names:
            if name not in known:
                raise ValueRefusedError(f"{shown(name)} is none of {', '.join(known)}")
        return tuple(name for name in known if name in names)

    return check


def directories(value: Any, info: ValidationInfo) -> tuple[str, ...]:
    """Absolute paths of directories that exist."""
    found = tuple(_absolute(name, info) for name in _texts(value, "directory names"))
    for directory in found:
        if wrong := what_is_wrong_with_directory(Path(directory)):
            raise ValueRefusedError(f"{shown(directory, _PATH_SHOWN_MAX_CHARS)} {wrong}; name a directory that exists")
    return tuple(dict.fromkeys(found))


def paths(value: Any, info: ValidationInfo) -> tuple[str, ...]:
    """Absolute paths, without ``.`` and ``..`` in them; links in them are left to whoever uses them."""
    return tuple(dict.fromkeys(_plain(_absolute(name, info)) for name in _texts(value, "paths")))


def writable_paths(value: Any, info: ValidationInfo) -> tuple[str, ...]:
    """Paths that commands may write: not everything."""
    found = paths(value, info)
    if "/" in found:
        raise ValueRefusedError("'/' would leave nothing to confine; name what has to be written")
    return found


def programs(value: Any) -> tuple[str, ...]:
    """Names of programs, as they stand at the beginning of a line."""
    names = _texts(value, "names of programs")
    for name in names:
        if not _PROGRAM.fullmatch(name):
            raise ValueRefusedError(f"{shown(name)} is not the name of a program, such as 'docker'")
    return tuple(dict.fromkeys(names))


def variables(value: Any) -> tuple[str, ...]:
    """Names of environment variables; one may end in ``*`` and stands for all that begin like it."""
    names = _texts(value, "names of variables")
    for name in names:
        if not _VARIABLES.fullmatch(name):
            raise ValueRefusedError(
                f"{shown(name)} is not the name of a variable, such as 'GITHUB_TOKEN', nor the beginning of "
                "one, such as 'CARGO_*'"
            )
    return tuple(dict.fromkeys(names))


def patterns(value: Any) -> tuple[str, ...]:
    """Regular expressions that can be matched in a bounded time."""
    found = _texts(value, "regular expressions")
    if found:
        from openbuffer.tools.adapters.log_redaction import pattern_problem  # noqa: PLC0415  most users have none

        for pattern in found:
            if wrong := pattern_problem(pattern):
                raise ValueRefusedError(f"{shown(pattern)} {wrong}")
    return tuple(dict.fromkeys(found))


def hosts(value: Any) -> tuple[str, ...]:
    """Names, addresses and networks that may be reached although they are not public."""
    found = tuple(dict.fromkeys(_texts(value, "hosts")))
    for host in found:
        _judged_by_web(allowed_hosts=(host,))
    return found


def ports(value: Any) -> tuple[int, ...]:
    """Numbers of ports."""
    items = cast("list[object]", value) if isinstance(value, list) else [None]
    if len(items) > LIST_MAX:
        raise ValueRefusedError(f"has {len(items)} entries; the most is {LIST_MAX}")
    found: list[int] = []
    for item in items:
        if type(item) is not int or not 0 < item < 65_536:
            raise ValueRefusedError(f"must be a list of ports, from 1 to 65535, not {shown(cast('object', value))}")
        found.append(item)
    return tuple(dict.fromkeys(found))


def proxy(value: Any) -> str:
    """The URL of a proxy. It may hold a password and is never repeated."""
    if not isinstance(value, str) or len(value) > TEXT_MAX_CHARS:
        raise ValueRefusedError("must be the URL of a proxy, such as 'http://proxy:3128'")
    _judged_by_web(proxy=value)
    return value


def without_rules(value: Any) -> dict[str, str]:
    """What happens without a rule, by capability; those that a table does not name are allowed, as they are anyway."""
    if not isinstance(value, dict):
        return dict.fromkeys(Capability, one_of(*VERDICTS)(value))
    told = cast("dict[str, Any]", value)
    for name in told:
        if name not in tuple(Capability):
            known = ", ".join(Capability)
            raise ValueRefusedError(f"has the key {shown_key(name)}, which is no capability; known are {known}")
    words = {name: one_of(*VERDICTS)(verdict) for name, verdict in told.items()}
    return {**dict.fromkeys(Capability, "allow"), **words}


def one_path(value: Any, info: ValidationInfo) -> str:
    """One absolute path."""
    if not isinstance(value, str) or not value:
        raise ValueRefusedError(f"must be a path, not {shown(value)}")
    return paths([value], info)[0]


def web_address(value: Any) -> str:
    """An absolute URL without credentials."""
    if (
        not isinstance(value, str)
        or len(value) > TEXT_MAX_CHARS
        or not re.match(r"https?://[^/@\s]+(/[^@\s]*)?$", value)
    ):
        told = "" if "@" in str(value) else f", not {shown(value)}"  # what is before it could be a password
        raise ValueRefusedError(f"must be a URL with http or https and without credentials{told}")
    return value


def what_is_wrong_with_directory(path: Path) -> str:
    """Why this is no directory that can be used, empty where it is one."""
    try:
        if path.is_dir():
            return ""
        return "is not a directory" if os.path.lexists(path) else "does not exist"
    except (OSError, ValueError) as error:
        return f"cannot be used ({error})"


def shown(value: object, most: int = _SHOWN_MAX_CHARS) -> str:
    """The value for a message, on one line and not too long."""
    # Showing all of a huge one takes as long as it is.
    if isinstance(value, str):
        value = value[:most]
    elif isinstance(value, list):
        value = cast("list[object]", value)[:_SHOWN_MAX_CHARS]
    try:
        text = repr(value)
    except (RecursionError, ValueError):  # nested beyond all measure; an integer of more digits than Python writes
        text = f"a {type(value).__name__}"
    return text if len(text) <= most else f"{text[: most - 3]}..."


def shown_key(key: str) -> str:
    """The key for a message: quoted where it is none that anybody would write."""
    return key if re.fullmatch(r"[A-Za-z0-9_.-]{1,80}", key) else shown(key)


def _judged_by_web(**settings: Any) -> None:
    try:
        WebSettings(**settings)
    except ToolDefinitionError as error:
        raise ValueRefusedError(str(error)) from None


def _plain(path: str) -> str:
    """The path without ``..``, which after a link leads elsewhere than it looks."""
    head, up, rest = path.rpartition("/../")
    if path.endswith("/.."):
        head, up, rest = path, "/", ""
    return os.path.normpath(os.path.join(os.path.realpath(f"{head}{up}"), rest) if up else path)


def _texts(value: Any, what: str) -> list[str]:
    items: list[object] = cast("list[object]", value) if isinstance(value, list) else [None]
    if len(items) > LIST_MAX:
        raise ValueRefusedError(f"has {len(items)} entries; the most is {LIST_MAX}")
    texts = [item for item in items if isinstance(item, str) and item]
    if len(texts) < len(items):
        raise ValueRefusedError(f"must be a list of {what}, not {shown(cast('object', value))}")
    for text in texts:
        if len(text) > TEXT_MAX_CHARS:
            raise ValueRefusedError(f"{shown(text)} has {len(text)} characters; the most is {TEXT_MAX_CHARS}")
    return texts


def _absolute(name: str, info: ValidationInfo) -> str:
    if "\0" in name:
        raise ValueRefusedError(f"{shown(name)} cannot be a path")
    if "*" in name:
        raise ValueRefusedError(f"{shown(name)} is a pattern; name files and directories one by one")
    if name == "~" or name.startswith("~/"):
        home = os.path.expanduser("~")
        if not os.path.isabs(home):
            raise ValueRefusedError(f"{shown(name)} needs a home directory and there is none; name the whole path")
        return os.path.join(home, name[2:])
    if name.startswith("~"):
        raise ValueRefusedError(f"{shown(name)} names somebody's home directory; name the whole path")
    place = info.context
    base = place.base if isinstance(place, Place) else None
    if base is None and not os.path.isabs(name):
        raise ValueRefusedError(
            f"{shown(name)} is relative, and there is nothing that it could start at; name it whole"
        )
    return os.path.join(base or "/", name)
