"""The rules about commands, and what they say of a line."""

from __future__ import annotations

import functools
import posixpath
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from .command_pattern import WORDS_MAX, CommandPattern
from .looked_through import RunLine, look_through

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .grammar import Rule
    from .looked_through import RunCommand
    from .shell_words import Word

ShellKind: TypeAlias = Literal["bash", "posix", "other"]
"""Whose grammar a line is of: bash's, that of any POSIX shell, or one that is not read."""

STEPS_MAX: Final = 30_000
"""How many comparisons of a rule with a command a line may take."""

_CRUDE_MAX_CHARS: Final = 256 * 1024
_CRUDE: Final = re.compile(r"[^\s;&|(){}<>`$\"'\\=,]+")


@dataclass(frozen=True, slots=True)
class Finding:
    """The first rule that restricts a line, and whether it is certain that it does."""

    rule: Rule
    certain: bool
    command: str


class TooMuchToJudgeError(Exception):
    """There are too many rules for too many commands."""


class CommandRules:
    """Rules of one verdict, found by the name of the program."""

    def __init__(self, rules: Sequence[tuple[Rule, CommandPattern]]) -> None:
        self._by_program: dict[str, list[tuple[Rule, CommandPattern]]] = {}
        self._others: list[tuple[Rule, CommandPattern]] = []
        for rule, pattern in rules:
            if pattern.program is None:
                self._others.append((rule, pattern))
            else:
                self._by_program.setdefault(pattern.program, []).append((rule, pattern))

    def __bool__(self) -> bool:
        return bool(self._by_program or self._others)

    def about(self, program: str) -> Iterator[tuple[Rule, CommandPattern]]:
        """Those that may be about a program of this name."""
        yield from self._by_program.get(program, ())
        if (folded := program.casefold()) != program:
            yield from self._by_program.get(folded, ())
        yield from self._others

    def about_any(self, programs: set[str]) -> Iterator[tuple[Rule, CommandPattern]]:
        """Those that may be about a program of one of these names."""
        known = programs.union(program.casefold() for program in programs)
        for program, pairs in self._by_program.items():
            if program in known:
                yield from pairs
        yield from self._others


@dataclass(slots=True)
class JudgedLine:
    """A line, judged by several sets of rules; bounded in the comparisons that it makes."""

    line: str
    shell: ShellKind = "bash"
    _steps: int = 0
    _run: RunLine = field(init=False)

    def __post_init__(self) -> None:
        if self.shell == "other":
            self._run = RunLine(doubts=["is not of a POSIX shell"])
        else:
            self._run = _looked_through(self.line, self.shell == "bash")

    @property
    def run(self) -> RunLine:
        """What it runs."""
        return self._run

    @property
    def doubts(self) -> list[str]:
        """Why it may run more than is known."""
        return self._run.doubts

    def restricted_by(self, rules: CommandRules) -> Finding | None:
        """The rule that restricts one of the commands: the first of which that is certain, else one that may.

        Raises:
            TooMuchToJudgeError: that cannot be told in time.
        """
        if not rules:
            return None
        possible: Finding | None = None
        for command in every_command(self._run.commands):
            for words in command.readings:
                for rule, pattern in self._about(rules, words):
                    match = pattern.restricts(words)
                    if match == "yes":
                        return Finding(rule, certain=True, command=shown(command.words))
                    if match == "maybe" and possible is None:
                        possible = Finding(rule, certain=False, command=shown(command.words))
        if self._run.doubts and (found := self._among_words(rules)) is not None:
            return found
        return possible

    def _about(self, rules: CommandRules, words: Sequence[Word]) -> Iterator[tuple[Rule, CommandPattern]]:
        # A program that is not known is a doubt already, and what stands there as words is looked at then.
        found = rules.about(posixpath.basename(words[0].text)) if words[0].is_exact else rules.about("")
        for each in found:
            self._step(1 + min(len(words), WORDS_MAX) // 10)
            yield each

    def _among_words(self, rules: CommandRules) -> Finding | None:
        words = _crude_words(self.line)
        names = [posixpath.basename(word) for word in words]
        for rule, pattern in rules.about_any(set(names)):
            self._step(1 + len(words) // 1_000)
            if pattern.occurs_in(words, names):
                return Finding(rule, certain=True, command=pattern.program or pattern.text)
        return None

    def allowed_by(self, rules: CommandRules) -> Rule | str:
        """The rule that allows it (the first one of several), or the command that none allows.

        Raises:
            TooMuchToJudgeError: that cannot be told in time.
        """
        first: Rule | None = None
        for command in self._run.commands:
            found = self._allowed(command, rules)
            if isinstance(found, str):
                return found
            first = first or found
        return first if first is not None else "a line that runs no command"

    def _allowed(self, command: RunCommand, rules: CommandRules) -> Rule | str | None:
        """None: it needs no rule."""
        own: Rule | None = None
        for rule, pattern in rules.about(posixpath.basename(command.words[0].text)):
            self._step()
            if pattern.allows(command.words):
                # One that names the launcher and what it runs has been given for both.
                if not command.runs or (command.reach and pattern.known_words() >= command.reach):
                    return rule
                own = own or rule
        if command.needs_rule and own is None:
            return shown(command.words)
        for inner in command.runs:
            found = self._allowed(inner, rules)
            if isinstance(found, str):
                return found
            own = own or found
        return own

    def _step(self, weight: int = 1) -> None:
        self._steps += weight
        if self._steps > STEPS_MAX:
            raise TooMuchToJudgeError


def every_command(commands: Sequence[RunCommand]) -> Iterator[RunCommand]:
    """All of them, and those that they run or may run, in the order of the line."""
    waiting = list(reversed(commands))
    while waiting:
        command = waiting.pop()
        yield command
        waiting.extend(reversed((*command.runs, *command.may_run)))


def shown(words: Sequence[Word], most: int = 60) -> str:
    """A command in a sentence."""
    text = " ".join(word.text.replace("\0", "…") for word in words[:20])
    text = text if text.isprintable() else text.encode("unicode_escape").decode("ascii")
    return text if len(text) <= most and len(words) <= 20 else f"{text[:most]}…"


@functools.lru_cache(maxsize=16)
def _looked_through(line: str, is_bash: bool) -> RunLine:
    return look_through(line, is_bash=is_bash)


def _crude_words(line: str) -> list[str]:
    """What looks like words in a line that is not understood: as it stands, and with quotes taken away."""
    plain = re.sub(r"\\\n|['\"\\]", "", line)
    words = _CRUDE.findall(line[:_CRUDE_MAX_CHARS])
    return words if plain == line else [*words, *_CRUDE.findall(plain[:_CRUDE_MAX_CHARS])]


def shell_of(argv: Sequence[str]) -> ShellKind:
    """Which lines an argument vector takes; without one, as in a sandbox of its own, nobody knows which shell it is."""
    name = posixpath.basename(argv[0].replace("\\", "/")).lower().removesuffix(".exe") if argv else "sh"
    if name in {"bash", "rbash"}:
        return "bash"
    return "posix" if name in {"ash", "busybox", "dash", "sh"} else "other"
