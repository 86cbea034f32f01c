"""The few programs that a sandbox in memory has: one of them per line, no shell around it."""

from __future__ import annotations

import posixpath
import shlex
from typing import TYPE_CHECKING, Final

import anyio

from ..errors import SandboxError
from ..port import Command, RunResult

if TYPE_CHECKING:
    from collections.abc import Callable

    from .files import MemoryFiles


async def run_program(command: Command, files: MemoryFiles) -> RunResult:
    """Run one program with its arguments. What a shell would do beyond quoting is refused, with exit code 2."""
    try:
        words = shlex.split(command.line)
    except ValueError as error:
        return RunResult(exit_code=2, output=f"sh: {error}\n")
    if not words:
        return RunResult(exit_code=0, output="")
    if _UNQUOTED & set(_outside_quotes(command.line)):
        return RunResult(exit_code=2, output="sh: this sandbox runs one program per line, and has no shell's syntax\n")
    name, arguments = words[0], words[1:]
    if name == "sleep":
        return await _sleep(arguments)
    program = PROGRAMS.get(name)
    if program is None:
        return RunResult(exit_code=127, output=f"sh: {name}: not found\n")
    try:
        return program([*arguments], command.cwd, files)
    except SandboxError as error:
        return RunResult(exit_code=1, output=f"{name}: {error}\n")


def _echo(arguments: list[str], _cwd: str, _files: MemoryFiles) -> RunResult:
    return RunResult(exit_code=0, output=" ".join(arguments) + "\n")


def _cat(arguments: list[str], cwd: str, files: MemoryFiles) -> RunResult:
    content = b"".join(files.read(posixpath.join(cwd, each)) for each in _paths(arguments))
    return RunResult(exit_code=0, output=content.decode("utf-8", "backslashreplace"))


def _ls(arguments: list[str], cwd: str, files: MemoryFiles) -> RunResult:
    paths = [posixpath.join(cwd, each) for each in _paths(arguments)] or [cwd]
    names = [entry.name for path in paths for entry in files.list_directory(path).entries]
    return RunResult(exit_code=0, output="".join(f"{name}\n" for name in names if not name.startswith(".")))


def _mkdir(arguments: list[str], cwd: str, files: MemoryFiles) -> RunResult:
    for each in _paths(arguments):
        files.make_directory(posixpath.join(cwd, each))
    return _SILENT


def _rm(arguments: list[str], cwd: str, files: MemoryFiles) -> RunResult:
    for each in _paths(arguments):
        files.delete(posixpath.join(cwd, each))
    return _SILENT


def _ln(arguments: list[str], cwd: str, files: MemoryFiles) -> RunResult:
    paths = _paths(arguments)
    if "-s" not in arguments or len(paths) != 2:
        return RunResult(exit_code=1, output="ln: only: ln -s TARGET LINK\n")
    files.link(posixpath.join(cwd, paths[1]), paths[0])
    return _SILENT


def _chmod(arguments: list[str], cwd: str, files: MemoryFiles) -> RunResult:
    mode, *paths = _paths(arguments) or [""]
    if not mode or set(mode) - set("01234567"):
        return RunResult(exit_code=1, output="chmod: only: chmod OCTAL PATH\n")
    for each in paths:
        files.chmod(posixpath.join(cwd, each), int(mode, 8))
    return _SILENT


def _exit(arguments: list[str], _cwd: str, _files: MemoryFiles) -> RunResult:
    code = arguments[0] if arguments else "0"
    return RunResult(exit_code=int(code) & 255, output="") if code.isdecimal() else RunResult(exit_code=2, output="")


async def _sleep(arguments: list[str]) -> RunResult:
    try:
        await anyio.sleep(float(arguments[0]))
    except (IndexError, ValueError):
        return RunResult(exit_code=1, output="sleep: only: sleep SECONDS\n")
    return _SILENT


PROGRAMS: Final[dict[str, Callable[[list[str], str, MemoryFiles], RunResult]]] = {
    "cat": _cat,
    "chmod": _chmod,
    "echo": _echo,
    "exit": _exit,
    "false": lambda _arguments, _cwd, _files: RunResult(exit_code=1, output=""),
    "ln": _ln,
    "ls": _ls,
    "mkdir": _mkdir,
    "pwd": lambda _arguments, cwd, _files: RunResult(exit_code=0, output=f"{cwd}\n"),
    "rm": _rm,
    "true": lambda _arguments, _cwd, _files: _SILENT,
}
"""Each gets its arguments, the directory that it starts in, and the files. ``sleep`` waits, and is none of these."""

_SILENT: Final = RunResult(exit_code=0, output="")
_UNQUOTED: Final = frozenset("|&;<>()$`\n*?[#~!{}")


def _paths(arguments: list[str]) -> list[str]:
    return [each for each in arguments if not each.startswith("-")]


def _outside_quotes(line: str) -> str:
    """The characters of a line that is well quoted which a shell could take for its syntax.

    Double quotes do not keep a dollar or a back quote from it.
    """
    outside: list[str] = []
    quote = ""
    characters = iter(line)
    for character in characters:
        if character == "\\" and quote != "'":
            next(characters, "")
        elif character == quote:
            quote = ""
        elif not quote and character in "'\"":
            quote = character
        elif not quote or (quote == '"' and character in "$`"):
            outside.append(character)
    return "".join(outside)
