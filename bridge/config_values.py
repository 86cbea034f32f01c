"""The values of a configuration file, one by one: each is checked for what it has to be and named where it is not.

A path may be absolute, start with ``~/`` (the home directory), or start at the directory of the file that it stands
in. It names one file or directory: neither variables nor patterns are known.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

LIST_MAX: Final = 256
"""Entries of one list; each of them becomes arguments of every sandbox that is started."""

_SHOWN_MAX_CHARS: Final = 80
_PROGRAM: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")
_VARIABLES: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\*?|\*")


T = TypeVar("T", bound=str)


class ValueRefusedError(Exception):
    """A key or its value cannot be used; the text names the key and what is expected."""


def table(settings: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The table of that name, empty where there is none."""
    value = settings.get(name, {})
    if not isinstance(value, dict):
        raise ValueRefusedError(f"{name} must be a table, not {shown(value)}")
    return cast("dict[str, Any]", value)  # keys are strings in TOML and JSON


def unknown_keys(settings: Mapping[str, Any], known: tuple[str, ...], prefix: str = "") -> str:
    """The sentence on keys that nobody knows, empty where there are none: a key that is misspelt has no effect."""
    unknown = [shown_key(prefix + name) for name in settings if name not in known]
    if not unknown:
        return ""
    return f"unknown key {', '.join(unknown)}; known are {', '.join(prefix + name for name in known)}"


def size(key: str, value: Any) -> int:
    """A number of bytes."""
    return number(key, value, "bytes")


def number(key: str, value: Any, what: str, least: int = 1) -> int:
    """A whole number of something."""
    if type(value) is not int or value < least:  # True is an int too
        raise ValueRefusedError(f"{key} must be a whole number of {what}, {least} or more, not {shown(value)}")
    return value


def words(key: str, value: Any, known: tuple[str, ...]) -> tuple[str, ...]:
    """Some of the words that are known, or none."""
    names = _texts(key, value, f"some of {', '.join(known)}")
    for name in names:
        if name not in known:
            raise ValueRefusedError(f"{key}: {shown(name)} is none of {', '.join(known)}")
    return tuple(dict.fromkeys(names))


def word(key: str, value: Any, known: tuple[T, ...]) -> T:
    """One of the words that are known."""
    for each in known:
        if value == each:
            return each
    raise ValueRefusedError(f"{key} must be one of {', '.join(known)}, not {shown(value)}")


def texts(key: str, value: Any, what: str) -> tuple[str, ...]:
    """Texts, which the caller looks at."""
    return tuple(dict.fromkeys(_texts(key, value, what)))


def switch(key: str, value: Any) -> bool:
    """A yes or no."""
    if not isinstance(value, bool):
        raise ValueRefusedError(f"{key} must be true or false, not {shown(value)}")
    return value


def directories(key: str, value: Any, base: Path) -> tuple[str, ...]:
    """Absolute paths of directories, which the caller looks at."""
    return tuple(_absolute(key, name, base) for name in _texts(key, value, "directory names"))


def paths(key: str, value: Any, base: Path) -> tuple[str, ...]:
    """Absolute paths, without ``.`` and ``..`` in them; links in them are left to whoever uses them."""
    return tuple(dict.fromkeys(_plain(_absolute(key, name, base)) for name in _texts(key, value, "paths")))


def programs(key: str, value: Any) -> tuple[str, ...]:
    """Names of programs, as they stand at the beginning of a line."""
    names = _texts(key, value, "names of programs")
    for name in names:
        if not _PROGRAM.fullmatch(name):
            raise ValueRefusedError(f"{key}: {shown(name)} is not the name of a program, such as 'docker'")
    return tuple(dict.fromkeys(names))


def variables(key: str, value: Any) -> tuple[str, ...]:
    """Names of environment variables; one may end in ``*`` and stands for all that begin like it."""
    names = _texts(key, value, "names of variables")
    for name in names:
        if not _VARIABLES.fullmatch(name):
            raise ValueRefusedError(
                f"{key}: {shown(name)} is not the name of a variable, such as 'GITHUB_TOKEN', nor the beginning of "
                "one, such as 'CARGO_*'"
            )
    return tuple(dict.fromkeys(names))


def _plain(path: str) -> str:
    """The path without ``..``, which after a link leads elsewhere than it looks."""
    head, up, rest = path.rpartition("/../")
    if path.endswith("/.."):
        head, up, rest = path, "/", ""
    return os.path.normpath(os.path.join(os.path.realpath(f"{head}{up}"), rest) if up else path)


def shown(value: object) -> str:
    """The value for a message, on one line and not too long."""
    text = repr(value)
    return text if len(text) <= _SHOWN_MAX_CHARS else f"{text[: _SHOWN_MAX_CHARS - 3]}..."


def shown_key(key: str) -> str:
    """The key for a message: quoted where it is none that anybody would write."""
    return key if re.fullmatch(r"[A-Za-z0-9_.-]{1,80}", key) else shown(key)


def _texts(key: str, value: Any, what: str) -> list[str]:
    items: list[object] = cast("list[object]", value) if isinstance(value, list) else [None]
    texts = [item for item in items if isinstance(item, str) and item]
    if len(texts) < len(items):
        raise ValueRefusedError(f"{key} must be a list of {what}, not {shown(cast('object', value))}")
    if len(texts) > LIST_MAX:
        raise ValueRefusedError(f"{key} has {len(texts)} entries; the most is {LIST_MAX}")
    return texts


def _absolute(key: str, name: str, base: Path) -> str:
    if "\0" in name:
        raise ValueRefusedError(f"{key}: {shown(name)} cannot be a path")
    if "*" in name:
        raise ValueRefusedError(f"{key}: {shown(name)} is a pattern; name files and directories one by one")
    if name == "~" or name.startswith("~/"):
        home = os.path.expanduser("~")
        if not os.path.isabs(home):
            raise ValueRefusedError(
                f"{key}: {shown(name)} needs a home directory and there is none; name the whole path"
            )
        return os.path.join(home, name[2:])
    if name.startswith("~"):
        raise ValueRefusedError(f"{key}: {shown(name)} names somebody's home directory; name the whole path")
    return os.path.join(base, name)
