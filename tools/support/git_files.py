"""Where git keeps the excludes that are no ``.gitignore``: read from its files in the plain way, git is never run.

Of configuration files only ``excludesFile`` in a section ``[core]`` is read: no includes, no conditions, no lines that
go on in the next one, and none of a repository's own, which is as foreign as its files.
"""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_CONFIG_MAX_BYTES: Final = 1024 * 1024
_POINTER_MAX_BYTES: Final = 8 * 1024
_SYSTEM_CONFIG: Final = "/etc/gitconfig"


@dataclass(frozen=True, slots=True)
class TooLargeFile:
    """What is there has more bytes than were asked for."""

    size: int


def regular_content(
    path: str, max_bytes: int, *, directory_fd: int | None = None, follows_link: bool = False
) -> bytes | TooLargeFile | None:
    """The content of a regular file; None where there is none that can be read."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC | (0 if follows_link else os.O_NOFOLLOW)
    try:
        # Looked at before it is opened: no device or FIFO is to notice.
        if not stat.S_ISREG(os.stat(path, dir_fd=directory_fd, follow_symlinks=follows_link).st_mode):
            return None
        fd = os.open(path, flags, dir_fd=directory_fd)
    except (OSError, ValueError):
        return None
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            return None
        if status.st_size > max_bytes:
            return TooLargeFile(status.st_size)
        content = os.read(fd, max_bytes + 1)
        return content if len(content) <= max_bytes else TooLargeFile(len(content))
    except OSError:
        return None
    finally:
        os.close(fd)


def global_excludes_path() -> str | None:
    """The user's file of excludes for every repository, as git's global configuration or its default names it."""
    named = None
    for config in _global_configs():
        content = regular_content(config, _CONFIG_MAX_BYTES, follows_link=True)
        if isinstance(content, bytes):
            named = _excludes_file(content.decode("utf-8", "surrogateescape"), named)
    if named is None:
        home = _config_home()
        return home and os.path.join(home, "git", "ignore")
    return _expanded(named)


def repository_exclude_path(directory: str) -> str:
    """The ``info/exclude`` of the repository whose top is this directory, also where its ``.git`` is a file."""
    git = os.path.join(directory, ".git")
    content = regular_content(git, _POINTER_MAX_BYTES)
    if isinstance(content, bytes) and content.startswith(b"gitdir:"):
        git = os.path.join(directory, _line(content.removeprefix(b"gitdir:")))
        common = regular_content(os.path.join(git, "commondir"), _POINTER_MAX_BYTES)
        if isinstance(common, bytes):
            git = os.path.join(git, _line(common))
    return os.path.join(git, "info", "exclude")


def _line(content: bytes) -> str:
    return os.fsdecode(content.split(b"\n", 1)[0].strip()).replace("\0", "")


def _global_configs() -> Iterator[str]:
    """Later ones count more."""
    yield _SYSTEM_CONFIG
    if "GIT_CONFIG_GLOBAL" in os.environ:
        yield os.environ["GIT_CONFIG_GLOBAL"]
        return
    if home := _config_home():
        yield os.path.join(home, "git", "config")
    if home := os.environ.get("HOME"):
        yield os.path.join(home, ".gitconfig")


def _config_home() -> str | None:
    given, home = os.environ.get("XDG_CONFIG_HOME"), os.environ.get("HOME")
    return given or (os.path.join(home, ".config") if home else None)


def _excludes_file(config: str, before: str | None) -> str | None:
    in_core = False
    for line in config.splitlines():
        rest = line
        if section := _SECTION.match(line):
            in_core = section["inside"].strip().lower() == "core"
            rest = line[section.end() :]
        if in_core and (setting := _SETTING.match(rest)):
            before = _value(setting["value"])
    return before


_SECTION: Final = re.compile(r"\s*\[(?P<inside>[^\]]*)\]")
_SETTING: Final = re.compile(r"\s*excludesfile\s*=\s*(?P<value>.*)", re.IGNORECASE)


def _value(text: str) -> str:
    """The value with its quotes, escapes and comment taken away."""
    value, quoted, at = "", False, 0
    while at < len(text):
        char = text[at]
        at += 1
        if char == '"':
            quoted = not quoted
        elif char == "\\" and at < len(text):
            value += {"n": "\n", "t": "\t", "b": "\b"}.get(text[at], text[at])
            at += 1
        elif char in "#;" and not quoted:
            break
        else:
            value += char
    return value.rstrip()


def _expanded(path: str) -> str | None:
    """None for an empty name, and for one that is relative: relative to what, is nowhere said."""
    home = os.environ.get("HOME")
    if path.startswith("~/") and home:
        path = os.path.join(home, path[2:])
    return path if path.startswith("/") else None
