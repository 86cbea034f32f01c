"""What the doctor looks at of editors and of the ways to the server: VS Code, loopback sockets, socket files."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Final

from .findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

_VSCODE_NAMES: Final = ("code", "codium", "code-insiders", "code-server")
_VSCODE_OLDEST: Final = (1, 91)
_VERSION_TIMEOUT_S: Final = 20.0


def examine_transports() -> Iterator[Finding]:
    """None of it is needed for the main job over stdin and stdout."""
    yield _vscode()
    yield _sockets()


def _vscode() -> Finding:
    use = "only its extension needs it"
    found = next((path for name in _VSCODE_NAMES if (path := shutil.which(name)) is not None), None)
    if found is None:
        fix = "install it from code.visualstudio.com, and from it run `Shell Command: Install 'code' command in PATH`"
        return Finding("VS Code", "note", f"{' or '.join(_VSCODE_NAMES)} not found; {use}", fix)
    try:
        done = subprocess.run(  # noqa: S603  a fixed question to a program of the user's PATH
            [found, "--version"],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=_VERSION_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return Finding("VS Code", "note", f"{found} does not run; {use}", f"find out why `{found} --version` fails")
    version = _version(done.stdout.decode(errors="replace"))
    if version is None:
        why = f"`{found} --version` tells no version; {use}"
        return Finding("VS Code", "note", why, f"find out what `{found} --version` says")
    shown = f"{'.'.join(map(str, version))} ({found})"
    if version < _VSCODE_OLDEST:
        oldest = ".".join(map(str, _VSCODE_OLDEST))
        return Finding("VS Code", "note", f"{shown} is older than {oldest}; {use}", f"update it to {oldest} or newer")
    return Finding("VS Code", "good", shown)


def _version(text: str) -> tuple[int, ...] | None:
    """Of VS Code itself: code-server tells its own first, which is VS Code's with a 4 in front."""
    for word in text.split():
        parts = word.split(".")
        if len(parts) == 3 and all(part.isascii() and part.isdigit() for part in parts):
            major, minor, patch = map(int, parts)
            return (1, minor, patch) if major == 4 else (major, minor, patch)
    return None


def _sockets() -> Finding:
    from ..directories import DirectoryError, own_directories  # noqa: PLC0415  not before it is asked for
    from ..wire.listening import ListenError, TcpAddress, open_listener, parse_address  # noqa: PLC0415  likewise

    try:
        open_listener(TcpAddress("127.0.0.1", 0)).close()
    except ListenError as error:
        return Finding(
            "sockets", "note", f"`serve --listen` cannot be used: {error}", "give the process a loopback interface"
        )
    try:
        runtime = own_directories().runtime
        address = parse_address(f"unix:{runtime / f'doctor-{os.getpid()}'}")
        if Path(runtime).is_dir():
            open_listener(address).close()
    except (DirectoryError, ListenError) as error:
        fix = "set XDG_RUNTIME_DIR to a directory of your own with a short path, mode 0700"
        return Finding("sockets", "note", f"127.0.0.1 can be listened at, a socket file cannot: {error}", fix)
    return Finding("sockets", "good", f"`serve --listen` works, at 127.0.0.1 and at unix:{runtime}/...")
