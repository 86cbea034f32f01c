"""Programs that run another one which their arguments name: how those arguments are read.

Options are read by the tables below. An option that is in none of them makes the command one that is not understood,
and then every word behind the program may begin the command that it runs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from .shell_words import ANY_WORDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .shell_words import Word


@dataclass(frozen=True, slots=True, kw_only=True)
class Launcher:
    """How a program's arguments are read.

    Attributes:
        flags: letters of options without a value; ``values`` of those with one.
        long_flags: long options without a value, or with one behind ``=``; ``long_values`` those with one.
        skipped: how many words stand between the options and the command.
        assigns: words such as ``NAME=value`` may stand before the command.
        is_line: what follows is joined and run by a shell, here or elsewhere.
        adds_words: it adds words of its own to the command.
        needs_rule: it does more than to run the command, so that it needs a rule that allows it, too.
    """

    flags: str = ""
    values: str = ""
    long_flags: frozenset[str] = field(default_factory=frozenset[str])
    long_values: frozenset[str] = field(default_factory=frozenset[str])
    skipped: int = 0
    assigns: bool = False
    is_line: bool = False
    adds_words: bool = False
    needs_rule: bool = False


def _words(text: str) -> frozenset[str]:
    return frozenset(f"--{word}" for word in text.split())


_SUDO: Final = Launcher(
    flags="AbBEHknPS",
    values="ghpCDRrtTuU",
    long_flags=_words("askpass background preserve-env set-home non-interactive preserve-groups stdin"),
    long_values=_words("group host prompt close-from chdir chroot role type command-timeout user other-user"),
    assigns=True,
    needs_rule=True,
)

LAUNCHERS: Final = {
    "builtin": Launcher(),
    "busybox": Launcher(needs_rule=True),
    "command": Launcher(flags="p"),
    "doas": Launcher(flags="n", values="uC", needs_rule=True),
    "env": Launcher(
        flags="i0v",
        values="uC",
        long_flags=_words("ignore-environment null debug"),
        long_values=_words("unset chdir"),
        assigns=True,
    ),
    "exec": Launcher(flags="cl", values="a"),
    "ionice": Launcher(flags="t", values="cn", long_flags=_words("ignore"), long_values=_words("class classdata")),
    "nice": Launcher(flags="0123456789", values="n", long_values=_words("adjustment")),
    "nohup": Launcher(),
    "setsid": Launcher(flags="cfw", long_flags=_words("ctty fork wait")),
    "ssh": Launcher(
        flags="46AaCfGgKkMNnqsTtVvXxYy",
        values="BbcDEeFIiJLlmOpQRSWw",
        skipped=1,
        is_line=True,
        needs_rule=True,
    ),
    "stdbuf": Launcher(values="ioe", long_values=_words("input output error")),
    "sudo": _SUDO,
    "time": Launcher(flags="pv", long_flags=_words("portability verbose")),
    "timeout": Launcher(
        flags="fpv",
        values="ks",
        long_flags=_words("foreground preserve-status verbose"),
        long_values=_words("kill-after signal"),
        skipped=1,
    ),
    "toybox": Launcher(needs_rule=True),
    "xargs": Launcher(
        flags="0loprtx",
        values="adELnPs",
        long_flags=_words("null no-run-if-empty verbose exit interactive open-tty eof max-lines show-limits"),
        long_values=_words("arg-file delimiter max-args max-chars max-procs process-slot-var"),
        adds_words=True,
        needs_rule=True,
    ),
}

OTHER_LAUNCHERS: Final = frozenset(
    {
        "arch", "ash", "at", "batch", "bwrap", "caffeinate", "capsh", "catchsegv", "cgexec", "choom", "chpst", "chroot",
        "chronic", "chrt", "coproc", "cpulimit", "csh", "dbus-launch", "dbus-run-session", "dumb-init", "eatmydata",
        "entr", "envdir", "envuidgid", "expect", "fakeroot", "faketime", "fc", "firejail", "fish", "flock", "gdb",
        "gosu", "hyperfine", "i386", "ifne", "jobs", "ksh", "ld.so", "linux32", "linux64", "ltrace", "mksh", "mosh",
        "newgrp", "nix-shell", "nsenter", "numactl", "parallel", "perf", "pkexec", "powershell", "prlimit", "proot",
        "proxychains", "proxychains4", "pwsh", "rlwrap", "rsh", "run0", "runcon", "runuser", "rush", "sandbox-exec",
        "screen", "script", "sem", "setarch", "setlock", "setpriv", "setuidgid", "sg", "softlimit", "ssh-agent",
        "sshpass", "start-stop-daemon", "strace", "su", "su-exec", "systemd-cat", "systemd-inhibit", "systemd-run",
        "taskset", "tcsh", "tini", "tmux", "torify", "torsocks", "trickle", "uclampset", "uname26", "unbuffer",
        "unshare", "valgrind", "watch", "watchexec", "x86_64", "xvfb-run", "zsh",
    }
)  # fmt: skip
"""More of them, whose arguments are not read; and shells that read lines in ways of their own."""

RUNNERS: Final = {
    **dict.fromkeys(("docker", "kubectl", "nerdctl", "podman"), frozenset({"exec", "run"})),
    **dict.fromkeys(("hatch", "npm", "pdm", "pipenv", "pixi", "poetry", "rye", "uv"), frozenset({"exec", "run", "x"})),
    **dict.fromkeys(("bun", "mise", "pnpm", "yarn"), frozenset({"dlx", "exec", "run", "x"})),
    **dict.fromkeys(("bundle", "conda", "direnv", "mamba", "micromamba"), frozenset({"exec", "run"})),
    **dict.fromkeys(("bunx", "dotenv", "npx", "pipx", "pnpx", "uvx"), frozenset[str]()),
    "nix": frozenset({"-c", "--command"}),
    **dict.fromkeys(("fd", "fdfind"), frozenset({"-x", "-X", "--exec", "--exec-batch"})),
}
"""Programs that run another one behind one of these words, or at once where there are none.

A rule that allows them means all of it; what they run is held against rules that deny or ask.
"""

SHELLS: Final = frozenset({"bash", "dash", "rbash", "sh"})
"""Those whose lines are read."""

_ASSIGNMENT: Final = re.compile(r"([A-Za-z_]\w*)\+?=", re.ASCII)


@dataclass(frozen=True, slots=True)
class Launched:
    """The words that a launcher runs, where they begin among its own, and the variables that it sets before."""

    words: tuple[Word, ...]
    at: int
    assignments: tuple[str, ...] = ()


def launched(launcher: Launcher, words: Sequence[Word]) -> Launched | None:
    """What a command of this launcher runs, no words where it runs nothing; None where its arguments are not known."""
    at = _first_operand(launcher, words, 1)
    if at is None:
        return None
    for _ in range(launcher.skipped):
        if at < len(words) and words[at].splits:
            return None
        at += 1
    if launcher.is_line and (at := _first_operand(launcher, words, at)) is None:
        return None  # its options may stand behind the host as well
    assignments: list[str] = []
    while launcher.assigns and at < len(words) and (found := _ASSIGNMENT.match(words[at].text)):
        if words[at].splits:
            return None
        assignments.append(found.group(1))
        at += 1
    inner = tuple(words[at:])
    if inner and launcher.adds_words:
        inner = (*inner, ANY_WORDS)
    return Launched(inner, at, tuple(assignments))


def _first_operand(launcher: Launcher, words: Sequence[Word], at: int) -> int | None:
    while at < len(words):
        word = words[at]
        if not word.text.startswith("-") and word.is_exact:
            return at
        if not word.is_exact:
            return None if word.splits or word.text.startswith(("-", "\0")) else at
        if word.text == "--":
            return at + 1
        taken = _option(launcher, word.text)
        if taken is None or any(value.splits for value in words[at + 1 : at + taken]):
            return None
        at += taken
    return at


def _option(launcher: Launcher, text: str) -> int | None:
    """How many words an option takes; None for one that is not known."""
    if text.startswith("--"):
        name, equals, _ = text.partition("=")
        if name in launcher.long_values:
            return 1 if equals else 2
        return 1 if name in launcher.long_flags else None
    if text == "-":
        return None
    for index, letter in enumerate(text[1:], start=2):
        if letter in launcher.values:
            return 1 if index < len(text) else 2
        if letter not in launcher.flags:
            return None
    return 1


def launcher_name(program: str) -> str:
    """The name by which a program is in the tables; some systems have those of GNU with a letter before."""
    if program.startswith(("ld-", "ld.")):
        return "ld.so"
    plain = program.removeprefix("g")
    return plain if plain in LAUNCHERS or plain == "find" else program


def shell_script(words: Sequence[Word]) -> Word | None:
    """The line behind ``-c`` of a shell; None where there is none, or options say more than is known.

    Raises:
        LookupError: what the shell runs is not told by its arguments.
    """
    at = 1
    has_line = False
    while at < len(words):
        text = words[at].text
        if words[at].splits or not words[at].is_exact:
            raise LookupError
        if text in {"-o", "+o", "-O", "+O"}:
            at += 2
        elif text in {"--norc", "--noprofile", "--posix"}:
            at += 1
        elif re.fullmatch(r"[-+][abefhkmnptuvxBCEHPT]*c?[abefhkmnptuvxBCEHPT]*", text) and text not in {"-", "+"}:
            has_line = has_line or "c" in text
            at += 1
        elif text == "--":
            at += 1
            break
        elif text.startswith(("-", "+")):
            raise LookupError
        else:
            break
    if at >= len(words) or (not has_line and not words[at].is_exact):
        raise LookupError
    return words[at] if has_line else None
