"""File paths and the URIs by which editors name them; pure.

A document URI is read literally after its path begins: no editor puts a fragment or a query on a text document,
but some leave ``#`` and ``?`` of a file name unescaped.
"""

from __future__ import annotations

import os
import re
from pathlib import Path, PureWindowsPath
from typing import Final
from urllib.parse import unquote_to_bytes

_POSIX_PATH_MAX_BYTES: Final = 4_096
_WINDOWS_PATH_MAX_BYTES: Final = 3 * 32_767  # of UTF-8
_FILE_URI = re.compile(r"file:(?://(?P<host>[^/\\]*)|(?!//))(?P<path>[/\\].*)", re.IGNORECASE | re.DOTALL)
_DRIVE = re.compile(r"/([A-Za-z])[:|](?=[/\\]|$)")


def path_from_uri(uri: str, *, windows: bool = os.name == "nt") -> str | None:
    """The absolute path that a ``file:`` URI names, or None where it names no file of this machine.

    Links are not resolved. None for unnamed buffers (``file://``), other schemes, other hosts, relative paths,
    and what no path can hold: NUL, or more bytes than any system takes.
    """
    most = _WINDOWS_PATH_MAX_BYTES if windows else _POSIX_PATH_MAX_BYTES
    if len(uri) > 4 * most:  # percent-encoding makes three of one; looking at each part of such a path takes ages
        return None
    found = _FILE_URI.fullmatch(uri)
    if found is None:
        return None
    host = (found["host"] or "").lower()
    try:
        raw = unquote_to_bytes(found["path"])
        path = raw.decode("utf-8") if windows else os.fsdecode(raw)
    except UnicodeError:
        return None
    if "\0" in path or len(raw) > most:
        return None
    if windows:
        return _windows_path(host, path)
    # A backslash is an ordinary character of a POSIX name, so only a slash makes the path absolute.
    return path if host in {"", "localhost"} and path.startswith("/") and path != "/" else None


def uri_from_path(path: str) -> str:
    """The ``file:`` URI of an absolute path, percent-encoded."""
    return Path(path).as_uri()


def _windows_path(host: str, path: str) -> str | None:
    if host not in {"", "localhost"}:
        return str(PureWindowsPath(f"//{host}{path}"))
    drive = _DRIVE.match(path)
    if drive is None:
        return None
    return str(PureWindowsPath(f"{drive[1].upper()}:{path[drive.end() :] or '/'}"))
