"""Which command lines run unconfined because they run one program that the user has excluded, and nothing else (S7).

Whatever is not plainly that stays confined. A line is taken for plain when it is words, unquoted or in quotes without
anything special in them: no expansions, assignments, redirections, substitutions, patterns, comments, joined commands
or further lines. The program is looked up as the shell will do it, and must not be one that a command could have made.
What an excluded program itself starts is its own doing, and was excluded with it.
"""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from .steps import TooManyLinksError, first_step_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

LINE_MAX_CHARS: Final = 32_768
_INTERPRETERS_MAX: Final = 4
_FIRST_LINE_MAX_BYTES: Final = 512

_PLAIN: Final = re.compile(r"[A-Za-z0-9_@%+=:,./-]+")
# Outside of ASCII a shell may see a blank where there is a letter, by its locale; inside of quotes that is all one.
_SINGLE_QUOTED: Final = re.compile(r"'[^'\x00-\x08\x0a-\x1f\x7f]*'")
_DOUBLE_QUOTED: Final = re.compile(r'"[^"$`\\!\x00-\x08\x0a-\x1f\x7f]*"')
_BLANKS: Final = re.compile(r"[ \t]+")

LAUNCHERS: Final = frozenset(
    {
        "ash", "bash", "busybox", "chroot", "chrt", "csh", "dash", "doas", "env", "fish", "flock", "ionice", "ksh",
        "ld.so", "mksh", "nice", "nohup", "nsenter", "parallel", "pkexec", "pwsh", "rbash", "runuser", "script",
        "setarch", "setpriv", "setsid", "sh", "ssh-agent", "stdbuf", "strace", "su", "sudo", "systemd-run", "taskset",
        "tcsh", "time", "timeout", "toybox", "unshare", "watch", "xargs", "zsh",
    }
)  # fmt: skip
"""Programs that run another one, which their arguments name: excluding one would exclude all."""

SHELL_WORDS: Final = frozenset(
    {
        "!", ".", ":", "[", "[[", "alias", "bg", "bind", "break", "builtin", "caller", "case", "cd", "command",
        "compgen", "complete", "continue", "coproc", "declare", "do", "done", "elif", "else", "enable", "esac", "eval",
        "exec", "exit", "export", "fc", "fg", "fi", "for", "function", "getopts", "hash", "history", "if", "in", "jobs",
        "let", "local", "mapfile", "read", "readarray", "readonly", "return", "select", "set", "shift", "shopt",
        "source", "then", "trap", "type", "typeset", "ulimit", "umask", "unalias", "unset", "until",
        "wait", "while", "{", "}",
    }
)  # fmt: skip
"""What a shell does by itself: there is no program to exclude."""

_SHELL_STARTERS: Final = frozenset({"BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "ZDOTDIR"})
"""Variables by which a shell runs or does something else before, or with, the line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exclusion:
    """Whether a line runs unconfined. ``program`` is the resolved program then; else ``because`` says why it does not,
    and is empty where the line begins with no excluded program.
    """

    program: str = ""
    because: str = ""

    @property
    def is_excluded(self) -> bool:
        """Whether the line may run unconfined."""
        return bool(self.program)


def exclusion_of(
    line: str, *, excluded: Sequence[str], environment: Mapping[str, str], writable: Sequence[str]
) -> Exclusion:
    """Whether a line runs one of the excluded programs and nothing else.

    ``excluded`` are names, or absolute paths. ``environment`` is the one that the shell will be started with.
    ``writable`` are the resolved places in which confined commands may write.
    """
    words = plain_words(line)
    if not words:
        named = next((name for name in excluded if _mentions(line, name)), "")
        reason = f"{named} is excluded, but the line is more than one plain command"
        return Exclusion(because=reason if named else "")
    word = words[0]
    if not any(_means(entry, word) for entry in excluded):
        return Exclusion()
    reason = _refusal_of_name(os.path.basename(word)) or _refusal_of_environment(environment)
    if reason:
        return Exclusion(because=reason)
    search_path = environment.get("PATH", "")
    found = _found(word, search_path, writable)
    if found.because:
        return found
    if not any(_means(entry, word) and _is_program_of(entry, found, search_path, writable) for entry in excluded):
        return Exclusion(because=f"{word} is not the program that is excluded, only one of the same name")
    reason = _refusal_of_interpreters(found.program, search_path, writable)
    return Exclusion(because=reason) if reason else found


def plain_words(line: str) -> tuple[str, ...]:
    """The words of a line that is one plain command, the first of them unquoted; empty for every other line."""
    if len(line) > LINE_MAX_CHARS or not _PLAIN.match(line.lstrip(" \t")):
        return ()
    words: list[str] = []
    position = 0
    line = line.strip(" \t")
    while position < len(line):
        word, position = _word(line, position)
        if word is None:
            return ()
        words.append(word)
        blanks = _BLANKS.match(line, position)
        if blanks is None and position < len(line):
            return ()
        position = blanks.end() if blanks else position
    # An assignment before a command changes what it does; a quote in the first word hides what it is.
    first = _PLAIN.match(line)
    is_plain_first = first is not None and first.group() == words[0] and "=" not in words[0]
    return tuple(words) if is_plain_first else ()


def _word(line: str, position: int) -> tuple[str | None, int]:
    """The word at a position and where it ends; None where what stands there is not plain."""
    parts: list[str] = []
    while position < len(line) and line[position] not in " \t":
        if found := _PLAIN.match(line, position):
            parts.append(found.group())
        elif found := _SINGLE_QUOTED.match(line, position) or _DOUBLE_QUOTED.match(line, position):
            parts.append(found.group()[1:-1])
        else:
            return None, position
        position = found.end()
    return "".join(parts), position


def _mentions(line: str, entry: str) -> bool:
    return bool(re.search(rf"(?<![\w.-]){re.escape(os.path.basename(entry))}(?![\w.-])", line[:LINE_MAX_CHARS]))


def _means(entry: str, word: str) -> bool:
    return bool(entry) and os.path.basename(entry) == os.path.basename(word)


def _refusal_of_name(name: str) -> str:
    if name in LAUNCHERS:
        return f"{name} runs the program that its arguments name; exclude that program instead"
    return f"{name} is a word of the shell, not a program" if name in SHELL_WORDS else ""


def _refusal_of_environment(environment: Mapping[str, str]) -> str:
    for name in environment:
        if name in _SHELL_STARTERS or name.startswith("BASH_FUNC_"):
            return f"the variable {name} of the environment can make the shell run something else"
    return ""


def _found(word: str, search_path: str, writable: Sequence[str]) -> Exclusion:
    """The program that a shell starts for a word, which is a name or an absolute path."""
    if "/" in word:
        if not word.startswith("/"):
            return Exclusion(because=f"{word} is looked up from the working directory")
        candidates = iter([word])
    else:
        candidates = _candidates(word, search_path)
    for candidate in candidates:
        reason = _refusal_of_place(candidate, writable)
        if reason:
            return Exclusion(because=reason)
        if _is_program(candidate):
            return Exclusion(program=candidate)
    return Exclusion(because=f"no program {word} is found on the PATH")


def _candidates(name: str, search_path: str) -> Iterator[str]:
    # An empty or relative entry is a place that the working directory decides; it comes out as a relative path.
    return (os.path.join(directory, name) for directory in search_path.split(os.pathsep))


def _refusal_of_place(candidate: str, writable: Sequence[str]) -> str:
    """Why a candidate is not safe to be looked for: also one that is not there yet could be, a moment later."""
    if not candidate.startswith("/"):
        return f"the PATH has an entry that depends on the working directory before {os.path.basename(candidate)}"
    try:
        step = first_step_in(candidate, writable)
    except TooManyLinksError:
        return ""  # it leads nowhere, and nobody who is confined can change that
    return f"{candidate} leads through {step}, where commands may write" if step else ""


def _is_program(path: str) -> bool:
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(mode) and os.access(path, os.X_OK)


def _is_program_of(entry: str, found: Exclusion, search_path: str, writable: Sequence[str]) -> bool:
    """Whether what was found is what the entry means: a name means what stands on the PATH, no path."""
    meant = _found(entry, search_path, writable).program
    return bool(meant) and _in_real_directory(meant) == _in_real_directory(found.program)


def _in_real_directory(path: str) -> str:
    # Not resolved itself: one file may be many programs, by the name that it is called by.
    return os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))


def _refusal_of_interpreters(program: str, search_path: str, writable: Sequence[str]) -> str:
    """A script is its interpreter's: that must not be one that a command could have made either."""
    for _ in range(_INTERPRETERS_MAX):
        words = _interpreter(program)
        if not words:
            return ""
        reason = _refusal_of_place(words[0], writable)
        if not reason and os.path.basename(words[0]) == "env":
            name = next((word for word in words[1:] if not word.startswith("-") and "=" not in word), "")
            found = _found(name, search_path, writable)
            reason, words = found.because, [found.program]
        if reason:
            return f"{program} is a script: {reason}"
        program = words[0]
    return f"{program} is a script of a script of a script"


def _interpreter(program: str) -> list[str]:
    """The words of a script's first line; empty for what is none."""
    try:
        with open(program, "rb") as file:
            first = file.read(_FIRST_LINE_MAX_BYTES)
    except (OSError, ValueError):
        return []
    return os.fsdecode(first.split(b"\n")[0][2:]).split() if first.startswith(b"#!") else []
