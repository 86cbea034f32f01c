"""Configuration files as bytes and as tables: read without waiting and within bounds, parsed as TOML or JSON.

Read again before every command, so that nothing here may hang or take long: a FIFO, a device and a file that is far too
long are told instead of read.
"""

from __future__ import annotations

import json
import os
import re
import select
import stat
import time
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

CONFIG_MAX_BYTES: Final = 1024 * 1024
"""No configuration is this long; a device or a log that was named by mistake is."""

WORKSPACE_MAX_BYTES: Final = 128 * 1024
"""Of a workspace's own file; whoever wrote that may want its reading to take long."""

CONFIG_NAME: Final = "openbuffer.toml"
"""Of the user's file in their configuration directory, and of a workspace's own at its root."""

PIPE_TIMEOUT_S: Final = 10.0
"""How long the other end of a pipe (``--config <(...)``) may say nothing."""


_SHOWN_MAX_CHARS: Final = 80
_ERROR_MAX_CHARS: Final = 200
_KEY_PARTS_MAX: Final = 32
_LONG_KEY: Final = re.compile(
    r"""(?<![A-Za-z0-9_-])(?:(?:[A-Za-z0-9_-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+)"""
    f"{{{_KEY_PARTS_MAX}}}"
)
"""A key of that many parts and a dot, which tomllib takes the square of their number to read."""

# Not every system has them, and one without FIFOs needs none.
_NO_LINKS: Final = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)
_AT_ONCE: Final = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOCTTY", 0)


class ConfigFileError(Exception):
    """The file cannot be used; the text says why and what to do, without naming the file."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a look at a file gave: its ``content``; else ``problem``, why it cannot be used; else there is none."""

    content: bytes | None = None
    problem: str = ""


class NamedFile:
    """Reads a file that the user named: links are followed, and a pipe is read to its end, once and for all."""

    def __init__(self) -> None:
        self._kept: Reading | None = None

    def __call__(self, file: Path) -> Reading:
        """The file as it is now."""
        if self._kept is not None:
            return self._kept
        reading = _reading(lambda: _read(file, os.O_RDONLY, pipe=True))
        if file.is_fifo():
            self._kept = reading
        return reading


def read_user_file(file: Path) -> Reading:
    """Read the user's own file: links are followed, because people keep such files elsewhere and link them.

    ``/dev/null`` is an empty one.
    """
    return _reading(lambda: _read(file, os.O_RDONLY, pipe=False))


def read_workspace_file(file: Path) -> Reading:
    """Read the file of a workspace, whoever wrote it: no link is followed."""

    def read() -> bytes:
        # Looked at before it is opened: opening a device can have an effect already.
        mode = os.lstat(file).st_mode
        if stat.S_ISLNK(mode):
            raise ConfigFileError("is a link; put the file itself there")
        _require_regular(mode, "")
        return _read(file, _NO_LINKS, pipe=False, most=WORKSPACE_MAX_BYTES)

    return _reading(read)


def _reading(read: Callable[[], bytes]) -> Reading:
    try:
        return Reading(read())
    except FileNotFoundError:
        return Reading()
    except NotADirectoryError:
        return Reading()  # a part of the path is a file, so that there is nothing of that name either
    except OSError as error:
        return Reading(problem=f"cannot be read ({error.strerror}); make it readable")
    except ConfigFileError as error:
        return Reading(problem=str(error))


def _read(file: Path, flags: int, *, pipe: bool, most: int = CONFIG_MAX_BYTES) -> bytes:
    fd = os.open(file, flags | _AT_ONCE)
    try:
        status = os.fstat(fd)
        if not (pipe and stat.S_ISFIFO(status.st_mode)) and not os.path.samestat(status, os.stat(os.devnull)):
            _require_regular(status.st_mode, "; name a file of text")
        content = bytearray()
        while chunk := _chunk(fd):
            content += chunk
            if len(content) > most:
                raise ConfigFileError(f"is over {most} bytes; that is no configuration file")
        return bytes(content)
    finally:
        os.close(fd)


def _chunk(fd: int) -> bytes:
    """The next bytes, none at the end; a pipe is waited for."""
    deadline = time.monotonic() + PIPE_TIMEOUT_S
    while True:
        try:
            return os.read(fd, CONFIG_MAX_BYTES + 1)
        except BlockingIOError:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([fd], [], [], left)[0]:
                raise ConfigFileError("nothing came from this pipe in time") from None


def _require_regular(mode: int, advice: str) -> None:
    if not stat.S_ISREG(mode):
        kind = next((name for is_one, name in _KINDS if is_one(mode)), "no regular file")
        raise ConfigFileError(f"is {kind} and not a file of text{advice}")


_KINDS: Final = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def parse(content: bytes, *, is_json: bool | None = None) -> Mapping[str, Any]:
    """The tables of the file; ``is_json`` None: whichever it looks like.

    Raises:
        ConfigFileError: it is not UTF-8, or neither TOML nor JSON.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ConfigFileError("is not UTF-8 text; save it as UTF-8") from None
    if is_json is None:
        is_json = text[:64].lstrip()[:1] == "{"  # no TOML document starts with a brace
    kind, parser = ("JSON", _parse_json) if is_json else ("TOML", _parse_toml)
    try:
        return parser(text)
    except (ValueError, RecursionError) as error:
        raise ConfigFileError(f"is not {kind}: {str(error)[:_ERROR_MAX_CHARS]}") from None


def _parse_toml(text: str) -> Mapping[str, Any]:
    if _LONG_KEY.search(text):
        raise ValueError(f"a key of {_KEY_PARTS_MAX} parts or more is none that anybody wants")
    return tomllib.loads(text)


def _parse_json(text: str) -> Mapping[str, Any]:
    settings = json.loads(text, object_pairs_hook=_without_duplicates)
    if not isinstance(settings, dict):
        raise ValueError("the whole is not an object")  # noqa: TRY004  every way of not being JSON settings ends alike
    return settings  # pyright: ignore[reportUnknownVariableType]  JSON object keys are strings


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    for name, value in pairs:
        if name in settings:
            raise ValueError(f"{name[:_SHOWN_MAX_CHARS]!r} is there twice")
        settings[name] = value
    return settings
