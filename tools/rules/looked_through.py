"""A line's commands together with those that they run: launchers are looked through, lines in lines are read."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from .computing import may_compute
from .launchers import LAUNCHERS, OTHER_LAUNCHERS, RUNNERS, SHELLS, launched, launcher_name, shell_script
from .shell_line import Redirection, SimpleCommand, is_harmless_variable, read_line
from .shell_words import ANY_WORDS, Word

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

COMMANDS_MAX: Final = 1_500
"""A line that comes to more commands is not understood."""

_DEPTH_MAX: Final = 12
_GUESSED_MAX: Final = 64
_BYTES_MAX: Final = 48 * 1024
"""Of a line and those within it."""


@dataclass(slots=True)
class RunCommand:
    """A command and what it runs in turn.

    Attributes:
        words: as they are given.
        readings: the same without what does not matter to a rule that denies.
        runs: commands that it runs.
        may_run: commands that it may run, which a rule that allows it means as well.
        reach: how many of its first words name the launcher, its options and the program that it runs.
        needs_rule: whether it does something by itself, besides what it runs.
    """

    words: tuple[Word, ...]
    readings: tuple[tuple[Word, ...], ...] = ()
    runs: list[RunCommand] = field(default_factory=list["RunCommand"])
    may_run: list[RunCommand] = field(default_factory=list["RunCommand"])
    reach: int = 0
    needs_rule: bool = True


@dataclass(slots=True)
class RunLine:
    """All that a line runs; ``doubts`` as those of ``ShellLine``."""

    commands: list[RunCommand] = field(default_factory=list[RunCommand])
    redirections: list[Redirection] = field(default_factory=list[Redirection])
    doubts: list[str] = field(default_factory=list[str])
    count: int = 0

    def doubt(self, why: str) -> None:
        """Take note of a reason, once."""
        if why not in self.doubts:
            self.doubts.append(why)


def look_through(line: str, *, is_bash: bool = True) -> RunLine:
    """Everything that a line runs, as far as the line tells; else it is of another POSIX shell."""
    result = RunLine()
    looker = _Looker(result, is_bash=is_bash)
    result.commands = looker.line(line, 0)
    if looker.changes_directory and looker.runs_relative:
        result.doubt("changes the directory and runs a program by a relative path")
    if looker.changes_directory:
        result.redirections = [_from_anywhere(each) for each in result.redirections]
    return result


def _from_anywhere(each: Redirection) -> Redirection:
    """The same as it is known where the directory is not."""
    is_known = each.target is None or each.target.tilde or each.target.text.startswith("/")
    return each if is_known else Redirection(each.access, None)


def _is_relative(program: str) -> bool:
    return "/" in program and not program.startswith(("/", "~"))


_HARMLESS: Final = frozenset({":", "[", "[[", "false", "test", "true"})
_RESERVED: Final = frozenset(
    {
        "!", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if", "in", "select",
        "then", "until", "while", "{", "}",
    }
)  # fmt: skip
_SETTING: Final = frozenset(
    {
        "alias", "bind", "compgen", "complete", "compopt", "declare", "enable", "export", "getopts", "hash", "let",
        "local", "mapfile", "read", "readarray", "readonly", "shopt", "typeset", "unalias", "unset",
    }
)  # fmt: skip
"""Built into shells: they change what later words of the line mean, or compute what stands in their arguments."""

_COMPUTING: Final = frozenset({"[", "printf", "test", "wait", *_SETTING})
_NOT_OF_ALL_SHELLS: Final = re.compile(
    r"\$['\"\[]|\[\[|(?<!\$)\(\(|<<<|[<>]\(|&>|\|&|;;?&(?!&)|\b(?:function|select|coproc|time)\b|\$\{(?:!|\w*[/^,@]|\w*:[^-+?=])"
)
"""What bash reads in another way than a plain POSIX shell, for which it may be words, or a list of commands."""

_SAFE_SET: Final = re.compile(r"[-+][eux]+|[-+][eux]*o|pipefail|errexit|nounset|xtrace")


class _Looker:
    def __init__(self, result: RunLine, *, is_bash: bool) -> None:
        self._result = result
        self._is_bash = is_bash
        self._left_bytes = _BYTES_MAX
        self.changes_directory = False
        self.runs_relative = False

    def line(self, line: str, depth: int) -> list[RunCommand]:
        """The commands of a line, or of a line within one."""
        if depth > _DEPTH_MAX:
            self._result.doubt("is nested too deeply")
            return []
        self._left_bytes -= len(line)
        if self._left_bytes < 0 and depth:
            self._result.doubt("has too much within it to be judged")
            return []
        read = read_line(line)
        for why in read.doubts:
            self._result.doubt(why)
        self._result.redirections += read.redirections
        if not self._is_bash and (found := _NOT_OF_ALL_SHELLS.search(line)):
            self._result.doubt(f"has {found.group()!r}, which is not the same in all shells")
        commands: list[RunCommand] = []
        seen: set[SimpleCommand] = set()
        for command in read.commands:
            if command not in seen:
                seen.add(command)
                commands.append(self.command(command.words, depth))
        return commands

    def command(self, words: tuple[Word, ...], depth: int) -> RunCommand:
        """One command with all that it runs."""
        self._result.count += 1
        program = launcher_name(posixpath.basename(words[0].text))
        run = RunCommand(words, (words,))
        self.runs_relative = self.runs_relative or _is_relative(words[0].text)
        if self._result.count > COMMANDS_MAX or depth > _DEPTH_MAX:
            self._result.doubt("runs too many commands to be judged")
        elif not words[0].is_exact or not program:
            self._result.doubt("runs a program that is named by an expansion")
        elif program in _RESERVED or program in OTHER_LAUNCHERS:
            self._result.doubt(f"runs what {program} is given in a way that is not read")
            run.runs = self._guessed(words, depth)
        elif program in LAUNCHERS:
            self._launcher(run, program, depth)
        elif program in SHELLS:
            self._shell(run, program, depth)
        elif program in _SPECIAL:
            _SPECIAL[program](self, run, depth)
        elif program in RUNNERS:
            self._runner(run, RUNNERS[program], depth)
        else:
            self._plain(run, program)
        return run

    def _plain(self, run: RunCommand, program: str) -> None:
        run.needs_rule = program not in _HARMLESS
        if program in {"cd", "pushd", "popd"}:
            self.changes_directory = True
        if program in _SETTING:
            self._result.doubt(f"changes by {program} what a shell does")
        if program == "printf" and any(word.text.startswith(("-v", "\0")) for word in run.words[1:2]):
            self._result.doubt("sets a variable by printf")
        if program in _COMPUTING and may_compute(program, run.words):
            self._result.doubt(f"gives {program} what it may compute")

    def _guessed(self, words: Sequence[Word], depth: int) -> list[RunCommand]:
        """Every word behind the first may begin a command."""
        return [
            self.command(tuple(words[start:]), depth + 1)
            for start in range(1, min(len(words), _GUESSED_MAX))
            if self._result.count <= COMMANDS_MAX and words[start].is_exact and not words[start].text.startswith("-")
        ]

    def _runner(self, run: RunCommand, before: frozenset[str], depth: int) -> None:
        at = next((at for at, word in enumerate(run.words) if word.text in before), None) if before else 0
        if at is not None:
            run.may_run = self._guessed(run.words[at:], depth)

    def _launcher(self, run: RunCommand, program: str, depth: int) -> None:
        launcher = LAUNCHERS[program]
        if program == "command" and any(word.text in {"-v", "-V"} for word in run.words[1:2]):
            run.needs_rule = False  # it tells what a name is, and runs nothing
            return
        found = launched(launcher, run.words)
        if found is None:
            self._result.doubt(f"runs what {program} is given with options that are not known")
            run.runs = self._guessed(run.words, depth)
            return
        for name in found.assignments:
            if not is_harmless_variable(name):
                self._result.doubt(f"sets the variable {name[:40]}")
        options = [word.text for word in run.words[1 : found.at]]
        if run.words[0].text == "time" and not {"-p", "--"}.issuperset(options):
            self._result.doubt("gives time what is a program where time is a word of the shell's")
        if program in {"env", "sudo"} and any(text.startswith(("-C", "-D", "--chdir")) for text in options):
            self.changes_directory = True
        run.needs_rule = launcher.needs_rule or not found.words
        run.reach = found.at + 1
        if not found.words:
            # Redirections of exec hold for all that follows, and were taken in; env alone tells variables.
            run.needs_rule = program != "exec"
        elif launcher.is_line:
            self._inner_line(run, found.words, depth)
        else:
            run.runs = [self.command(found.words, depth + 1)]

    def _inner_line(self, run: RunCommand, words: Sequence[Word], depth: int) -> None:
        """Words that are joined, and the whole is run as a line."""
        if not all(word.is_exact for word in words):
            self._result.doubt("runs a line that is made by an expansion")
        run.runs = self.line(" ".join(word.text.replace("\0", "$_") for word in words), depth + 1)

    def _shell(self, run: RunCommand, program: str, depth: int) -> None:
        try:
            script = shell_script(run.words)
        except LookupError:
            self._result.doubt(f"has {program} run what its arguments do not tell")
            run.runs = self._guessed(run.words, depth)
            return
        if script is None:
            if any(_is_no_file(word) for word in run.words[1:]):
                self._result.doubt(f"has {program} run what its arguments do not tell")
        else:
            run.needs_rule = False
            run.reach = len(run.words)
            around, self._is_bash = self._is_bash, program in {"bash", "rbash"}
            self._inner_line(run, (script,), depth)
            self._is_bash = around

    # --- programs of their own kind ---------------------------------------------------------------------------------

    def eval(self, run: RunCommand, depth: int) -> None:
        """What it is given is a line."""
        run.needs_rule = False
        words = run.words[2:] if len(run.words) > 1 and run.words[1].text == "--" else run.words[1:]
        self._inner_line(run, words, depth)

    def trap(self, run: RunCommand, depth: int) -> None:
        """The first argument is a line, to be run later."""
        operands = [word for word in run.words[1:] if not word.text.startswith("-") or not word.is_exact]
        run.needs_rule = False
        if operands:
            self._inner_line(run, operands[:1], depth)

    def alias(self, run: RunCommand, depth: int) -> None:
        """Each value is the beginning of a line."""
        self._plain(run, "alias")
        for word in run.words[1:]:
            self._inner_line_of(run, word.text.partition("=")[2], depth)

    def set(self, run: RunCommand, _depth: int) -> None:
        """Some of its options change nothing that matters here."""
        run.needs_rule = False
        if not all(_SAFE_SET.fullmatch(word.text) for word in run.words[1:]):
            self._result.doubt("changes by set what a shell does")

    def source(self, run: RunCommand, _depth: int) -> None:
        """Two names for one thing."""
        run.readings = ((Word("source"), *run.words[1:]), (Word("."), *run.words[1:]))
        self.runs_relative = self.runs_relative or not any(word.text.startswith("/") for word in run.words[1:2])
        if any(_is_no_file(word) for word in run.words[1:2]):
            self._result.doubt("has source run what its arguments do not tell")

    def find(self, run: RunCommand, depth: int) -> None:
        """It runs programs, and deletes."""
        words = run.words
        at = 1
        while at < len(words):
            text = words[at].text
            at += 1
            if text in {"-exec", "-execdir", "-ok", "-okdir"}:
                self.changes_directory = self.changes_directory or text.endswith("dir")
                end = next((i for i in range(at, len(words)) if words[i].text in {";", "+"}), len(words))
                inner = tuple(ANY_WORDS if "{}" in word.text else word for word in words[at:end])
                if inner and inner[0] is not ANY_WORDS:
                    run.runs.append(self.command(inner, depth + 1))
                else:
                    self._result.doubt("has find run what it finds")
                at = end + 1
            elif text == "-delete":
                run.runs.append(self.command((Word("rm"), ANY_WORDS), depth + 1))
            elif text in {"-fprint", "-fprint0", "-fprintf", "-fls"}:
                target = words[at] if at < len(words) and words[at].is_exact else None
                self._result.redirections.append(Redirection("write", target))
            elif "\0" in text and text.startswith(("-", "\0")):
                self._result.doubt("gives find words that are made by an expansion")
        run.reach = len(words) if run.runs else 0

    def git(self, run: RunCommand, depth: int) -> None:
        """Options before its own command, which can name programs; and commands of it that run others."""
        words = run.words
        at = 1
        while at < len(words) and words[at].text.startswith("-") and words[at].is_exact:
            at += self._git_option(run, at, depth)
        if at < len(words) and not words[at].is_exact:
            self._result.doubt("runs a command of git that is named by an expansion")
        if at > 1:
            run.readings = (words, (words[0], *words[at:]))
        self._git_command(run, [word.text for word in words[at:]], words[at:], depth)

    def _git_option(self, run: RunCommand, at: int, depth: int) -> int:
        """How many words the option takes."""
        text = run.words[at].text
        if text in {"-C", "--git-dir", "--work-tree", "--namespace"}:
            return 2
        if re.fullmatch(r"-[pPhv]|--(no-pager|no-optional-locks|version|help|paginate|literal-pathspecs|bare)", text):
            return 1
        if re.match(r"--(git-dir|work-tree|namespace)=", text):
            return 1
        is_setting = text in {"-c", "--config-env", "--exec-path"} and text != "--exec-path"
        value = run.words[at + 1].text if is_setting and at + 1 < len(run.words) else text
        if text == "-c" and _HARMLESS_SETTING.match(value):
            return 2
        self._result.doubt(f"gives git {text[:40]}")
        name, _, rest = value.removeprefix("-c").partition("=")
        if name.startswith("alias."):
            self._inner_line_of(run, rest[1:] if rest.startswith("!") else f"git {rest}", depth)
        elif rest:
            self._inner_line_of(run, rest, depth)
        return 2 if is_setting else 1

    def _git_command(self, run: RunCommand, texts: list[str], words: Sequence[Word], depth: int) -> None:
        command = texts[0] if texts else ""
        operands = [word for word in words[1:] if not word.text.startswith("-")]
        if any(_GIT_RUNS.match(text) for text in texts[1:]) or _runs_by_letter(command, texts[1:]):
            self._result.doubt(f"has git {command[:40]} run what an option says")
        if command == "config" and len(operands) > 1 and not _HARMLESS_SETTING.match(f"{operands[-2].text}="):
            self._result.doubt("changes the configuration of git")
        runs = " ".join((command, *(word.text for word in operands[:1])))
        if command == "rebase" or runs in {"bisect run", "submodule foreach"}:
            self.changes_directory = True  # to the top, or to each of the modules
        if runs == "submodule foreach":
            self._inner_line(run, operands[1:], depth)
        elif runs == "bisect run" and len(words) > 2:
            run.runs.append(self.command(tuple(words[2:]), depth + 1))
        elif command == "rebase":
            for at, text in enumerate(texts):
                if found := _REBASE_RUNS.match(text):
                    self._inner_line_of(run, text[found.end() :] or " ".join(texts[at + 1 : at + 2]), depth)

    def _inner_line_of(self, run: RunCommand, text: str, depth: int) -> None:
        if text.strip():
            run.runs += self.line(text.replace("\0", "$_"), depth + 1)


def _is_no_file(word: Word) -> bool:
    # One that begins by going up may come to /dev as well.
    path = posixpath.normpath(word.text).removeprefix("/")
    return not word.is_exact or re.match(r"/?(?:\.\./)*(?:dev|proc)/", path) is not None


# Options can be shortened, and those of one letter stand together.
_REBASE_RUNS: Final = re.compile(r"--exe?c?(?:=|$)|-[a-zA-Z]*?x")
_GIT_RUNS: Final = re.compile(
    r"--(?:extc(?:m|md)?|upl(?:oad(?:-pack)?)?|rec(?:eive-pack)?|op(?:en-files-in-pager)?|[\w-]+-filter|[\w-]+-cmd)(?:=|$)"
)
_GIT_LETTERS: Final = {"clone": "uc", "difftool": "x", "grep": "O"}
_GIT_WORDS: Final = {"archive": "--ex", "clone": "--conf", "ls-remote": "--ex", "push": "--ex", "fetch-pack": "--ex"}


def _runs_by_letter(command: str, options: Sequence[str]) -> bool:
    word = _GIT_WORDS.get(command)
    letters = _GIT_LETTERS.get(command, "")
    short = (option for option in options if re.match(r"-[A-Za-z]", option))
    return any(letter in option for option in short for letter in letters) or (
        word is not None and any(option.startswith(word) for option in options)
    )


_HARMLESS_SETTING: Final = re.compile(r"(color|advice|user)\.[\w.]+=|core\.quote[pP]ath=")
_SPECIAL: Final[dict[str, Callable[[_Looker, RunCommand, int], None]]] = {
    "eval": _Looker.eval,
    "trap": _Looker.trap,
    "alias": _Looker.alias,
    "set": _Looker.set,
    "source": _Looker.source,
    ".": _Looker.source,
    "bfs": _Looker.find,
    "find": _Looker.find,
    "git": _Looker.git,
}
