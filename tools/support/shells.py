"""Which shell takes a command line on this system, and how it is handed over (S1).

On POSIX bash, or sh where there is none; on Windows PowerShell. What a workspace offers as a shell is passed over: a
repository must not be able to put a program of its own in front of every command. Nothing is started here.
"""

from __future__ import annotations

import ntpath
import os
import posixpath
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from types import ModuleType

_SYSTEM_NAMES: Final = {"linux": "Linux", "darwin": "macOS"}
_SYSTEM_DIRECTORIES: Final = ("/bin", "/usr/bin")

# Put around the line: the output is UTF-8 whatever the console's code page, no progress bars are drawn, and the exit
# code is that of the last command, as in other shells.
_POWERSHELL_BEFORE: Final = (
    "[Console]::OutputEncoding = $OutputEncoding = New-Object System.Text.UTF8Encoding $false\n"
    "$ProgressPreference = 'SilentlyContinue'\n"
)
_POWERSHELL_AFTER: Final = "\nif ($?) { exit 0 } elseif ($LASTEXITCODE) { exit $LASTEXITCODE } else { exit 1 }\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shell:
    """A shell of this system: its ``name`` and the ``system``'s for people, and the absolute path of its program."""

    name: str
    program: str
    system: str
    kind: Literal["posix", "powershell"] = "posix"

    def argv(self, line: str) -> tuple[str, ...]:
        """The argument vector that has it run a line, whatever the line begins with."""
        if self.kind == "posix":
            return (self.program, "-c", "--", line)
        script = _POWERSHELL_BEFORE + line + _POWERSHELL_AFTER
        return (self.program, "-NoLogo", "-NoProfile", "-NonInteractive", "-Command", script)


def find_shell(
    roots: Iterable[str],
    *,
    platform: str = sys.platform,
    environment: Mapping[str, str] | None = None,
    is_program: Callable[[str], bool] | None = None,
) -> Shell:
    """The shell for the commands of a session over these roots, found by some looks at the file system.

    The directories of PATH come first, but for those inside a root; then the system's. Where nothing is found, it is
    the shell that every such system has, and starting it will tell that it is missing.
    """
    environment = os.environ if environment is None else environment
    is_program = _is_program if is_program is None else is_program
    if platform == "win32":
        return _find_powershell(environment, _Outside(roots, ntpath), is_program)
    outside = _Outside(roots, posixpath)
    system = _SYSTEM_NAMES.get(platform, platform)
    for name in ("bash", "sh"):
        for program in _candidates(name, environment, outside):
            if is_program(program):
                return Shell(name=name, program=program, system=system)
    return Shell(name="sh", program="/bin/sh", system=system)


def _candidates(name: str, environment: Mapping[str, str], outside: _Outside) -> Iterator[str]:
    for directory in environment.get("PATH", "").split(":"):
        if not directory.startswith("/"):
            continue  # it starts at whatever the current directory is, which may be the workspace
        # No directory of the path is a link any more. The last name may be one: some shells go by the name they have.
        program = f"{posixpath.realpath(directory)}/{name}"
        if outside(directory) and outside(program) and outside(posixpath.realpath(program)):
            yield program
    # A root may be so wide that it holds the system's own directories; those are trusted all the same.
    for directory in _SYSTEM_DIRECTORIES:
        yield f"{directory}/{name}"


def _find_powershell(environment: Mapping[str, str], outside: _Outside, is_program: Callable[[str], bool]) -> Shell:
    for directory in environment.get("PATH", "").split(";"):
        program = ntpath.join(directory, "pwsh.exe")
        if ntpath.splitdrive(directory)[0] and ntpath.isabs(directory) and outside(directory) and is_program(program):
            return Shell(name="PowerShell (pwsh)", program=program, system="Windows", kind="powershell")
    root = environment.get("SystemRoot", r"C:\Windows")
    program = ntpath.join(root, r"System32\WindowsPowerShell\v1.0\powershell.exe")
    return Shell(name="Windows PowerShell", program=program, system="Windows", kind="powershell")


class _Outside:
    """Whether a path lies outside of all roots, as they are given and as they are resolved."""

    def __init__(self, roots: Iterable[str], paths: ModuleType) -> None:
        self._paths = paths
        given = tuple(roots)
        self._roots = {self._plain(root) for root in given} | {self._plain(paths.realpath(root)) for root in given}

    def __call__(self, path: str) -> bool:
        below = self._plain(path) + self._paths.sep
        return not any(below.startswith(root.rstrip(self._paths.sep) + self._paths.sep) for root in self._roots)

    def _plain(self, path: str) -> str:
        return self._paths.normcase(self._paths.normpath(path))


def _is_program(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)
