"""Lines made of scraps, held against the shells: what one runs is among what was understood, or the line is doubted."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from typing import TYPE_CHECKING, Final

import pytest
from openbuffer.tools.rules.command_rules import every_command
from openbuffer.tools.rules.looked_through import look_through

if TYPE_CHECKING:
    from pathlib import Path

    from openbuffer.tools.rules.shell_words import Word

BASH: Final = shutil.which("bash", path="/bin:/usr/bin")
DASH: Final = shutil.which("dash", path="/bin:/usr/bin")

SCRAPS: Final = [
    "c1", "c2", "c3", " ", " ", " ", "\n", ";", "&&", "||", "|", "&", "(", ")", "{ ", "; }", "`", "$(", ")", '"',
    "'", "$'",
    "\\", "\\\n", "#", " #", "<<E\n", "\nE\n", "<<-E\n", "\n\tE\n", "<<'E'\n", "<f", ">f", ">>f", "2>&1", "&>f",
    ">&2", "<(", ">(",
    "$X", "${X:-", "}", "$((", "))", "((", "[[ ", " ]]", "==", "=~", "-f ", "!", " ! ", "if ", "; then ", "; fi",
    "; else ",
    "while ", "; do ", "; done", "for x in ", "case c in ", "c) ", ";;", " esac", "f1() ", "function f2 ", "eval ",
    "command ",
    "env ", "xargs ", "bash -c ", "time ", "exec ", "a=1 ", "a=(", "a[0]=", "{c1,c2}", "c?", "=", '$"', "<<<",
    "|&", "+", "-",
    "1", "é", "\u00a0", "\r", "\t", "$1", "$@", "$#", "select ", "nohup ", "echo ", "coproc ", "trap ", "let ",
    "true", "false",
    "declare ", "export ", "$[", "]", "*", "in ", " do ", " then", "<>f", ">|f", "3>&-", "{", "}", ",", "..", "%",
    "^", "./c1", "$", "[", "-eq ", "${x@P}", "${x:=", "for x in '$(c1)'; do ", "source ", "read x", "set -- ", "${!x}",
    "${x:",
    "<<- E\n", "case $x in ", "unset ", "test ", "printf -v x ", ". ", "\n\\\n", "<<E;", "<<\"E\"\n", "$\\\n",
    "]]", "[[", "[ ", " ]", "[ -f x ", "-v ", "$_", "${@", "@P}", "${*:", "=~ ", "'$(c1)'", "'x[$(c1)]'",
    "'PATH[$(c1)]' ", "\"$x\" ", "$((x))", "$'\\'", "for x in -v; do ", "f1 'PATH[$(c1)]'; ",
    "TZ='PATH[$(c1)]'; ", "TZ",
]  # fmt: skip

AROUND: Final = [
    "c1 {} c2", "{} ; c1", "c1 | {}", '"{}" c1', "$({})", "`{}`", "if c1; then {}; fi", "c1 <<E\n{}\nE\nc2",
    "{ {}; }", "( {} )",
    "f1() { {}; }; f1", "for x in c1; do {}; done", "case c in c) {} ;; esac", "eval '{}'", "bash -c '{}'", 'c1 "a{}b"',
    "c1 ${X:-{}}", "[[ {} ]] && c1", "c1 <<'E'\n{}\nE\nc2", "a=1 {}", "! {}", "c1 && {} || c2", "c1 > f {}", "{} # c3",
    "c1 # {}\nc2", "env {}", "command {}",
]  # fmt: skip

# Every command that bash does not know by itself is told, and nothing else is run: there is no directory on its PATH.
TELLS: Final = (
    "() { local IFS=$'\\x1f'; local all=\"$*\"; "
    "builtin printf '%s\\x1e' \"${all//$'\\n'/$'\\x1d'}\" >&\"$TOLD\"; return 127; }"
)

TELLS_FROM_FILE: Final = (
    '#!/bin/sh\nIFS=$(printf \'\\037\')\nset -- "${0##*/}" "$@"\nprintf \'%s\\036\' "$*" >> "/dev/fd/$TOLD"\nexit 127\n'
)


def scraps(chance: random.Random) -> str:
    line = "".join(chance.choice(SCRAPS) for _ in range(chance.randint(1, 7)))
    for _ in range(chance.randint(0, 2)):
        line = chance.choice(AROUND).replace("{}", line, 1)
    return line


def run_by_bash(line: str, directory: Path) -> list[list[str]] | None:
    """The commands that bash ran; None where it did not end."""
    return _run(BASH, line, directory, {"PATH": "/nonexistent", "BASH_FUNC_command_not_found_handle%%": TELLS})


def run_by_dash(line: str, directory: Path) -> list[list[str]] | None:
    """Those of the commands that dash ran for which there are programs."""
    ran = _run(DASH, line, directory, {"PATH": str(directory / "programs")})
    return None if ran is None else [words for words in ran if words[0] != "dash"]  # it has read one of them by a dot


def _run(shell: str | None, line: str, directory: Path, environment: dict[str, str]) -> list[list[str]] | None:
    assert shell is not None
    reading, writing = os.pipe()
    process = subprocess.Popen(
        [shell, "-c", "--", line],
        env={**environment, "TOLD": str(writing)},
        cwd=directory / "here",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=(writing,),
        start_new_session=True,
    )
    os.close(writing)
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        process.wait()
        os.close(reading)
        return None
    with os.fdopen(reading, "rb") as told:  # to its end, which is that of the last command in the background
        records = told.read().decode(errors="surrogateescape").replace("\x1d", "\n").split("\x1e")[:-1]
    return [record.split("\x1f") for record in records]


def make_programs(directory: Path) -> None:
    (directory / "here").mkdir()
    (directory / "programs").mkdir()
    for name in ("c1", "c2", "c3"):
        program = directory / "programs" / name
        program.write_text(TELLS_FROM_FILE)
        program.chmod(0o755)


def is_among(ran: list[str], known: list[tuple[Word, ...]]) -> bool:
    for words in known:
        if all(word.is_exact for word in words) and [word.text for word in words] == ran:
            return True
        if not all(word.is_exact for word in words) and words[0].is_exact and words[0].text == ran[0]:
            return True
    return False


def hold_against(shell: str, seed: int, count: int, directory: Path) -> int:
    """How many commands were compared."""
    chance = random.Random(seed)
    compared = 0
    run = run_by_bash if shell == "bash" else run_by_dash
    make_programs(directory)
    for _ in range(count):
        line = scraps(chance)
        understood = look_through(line, is_bash=shell == "bash")
        if understood.doubts:
            continue
        known = [command.words for command in every_command(understood.commands)]
        for ran in run(line, directory) or []:
            compared += 1
            assert is_among(ran, known), (line, ran)
    return compared


without_bash = pytest.mark.skipif(BASH is None, reason="there is no bash to ask")
without_dash = pytest.mark.skipif(DASH is None, reason="there is no dash to ask")
SHELLS: Final = [pytest.param("bash", marks=without_bash), pytest.param("dash", marks=without_dash)]


@pytest.mark.contract("X4")
@pytest.mark.parametrize("shell", SHELLS)
def test_what_a_shell_runs_is_what_was_understood(shell: str, tmp_path: Path) -> None:
    assert hold_against(shell, 1, 500, tmp_path) > 50


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.contract("X4")
@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("seed", range(2, 6))
def test_what_a_shell_runs_is_what_was_understood_in_many_lines(shell: str, seed: int, tmp_path: Path) -> None:
    assert hold_against(shell, seed, 10_000, tmp_path) > 1_000
