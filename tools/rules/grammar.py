"""How a rule is written: a tool or a capability, and in brackets what of it is meant.

    Edit                          every call of this tool
    FILE_WRITE                    every file that is changed, by whatever tool
    Read(~/.ssh/**)               paths: relative to a root, absolute, or below the home directory
    Bash(git status:*)            commands: words, `*` for any words; Shell and Bash are one
    WebFetch(domain:python.org)   hosts; NETWORK(domain:*.example.org) by whatever tool

A path without a slash is a name at any depth below the roots, as in ignore files; `./name` is that of a root alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from ..contract import Capability
from .command_pattern import CommandPattern, CommandPatternError
from .domain_pattern import DomainPattern, DomainPatternError

Verdict: TypeAlias = Literal["allow", "ask", "deny"]
VERDICTS: Final[tuple[Verdict, ...]] = ("deny", "ask", "allow")
"""The first that fits counts."""

RULE_MAX_CHARS: Final = 2_000

_PATH_TOOLS: Final = frozenset({"Read", "Write", "Edit", "Delete", "Glob", "Grep", "ListDir", "CodebaseRetrieval"})
_COMMAND_TOOLS: Final = frozenset({"Shell", "Bash"})
_NETWORK_TOOLS: Final = frozenset({"WebFetch", "WebSearch"})
_OTHER_TOOLS: Final = frozenset({"AskUserQuestion", "ToolSearch", "Computer", "ComputerView"})

_RULE: Final = re.compile(r"\s*([A-Za-z_][\w.-]{0,63})\s*(?:\((.*)\))?\s*", re.DOTALL)


class RuleError(ValueError):
    """The text is no rule; it names the rule and says what is expected."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where rules come from: a name for people, and whether they may allow anything.

    What a repository can write is not ``trusted``: it can only make rules stricter (B7).
    """

    name: str
    trusted: bool = True


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. At most one of ``path``, ``command`` and ``domain`` is there; none means all of ``subject``.

    ``subject`` is a tool's name or a capability's; "" means every call there is.
    """

    verdict: Verdict
    text: str
    source: Source
    subject: str
    path: str | None = None
    command: CommandPattern | None = None
    domain: DomainPattern | None = None

    @property
    def is_whole(self) -> bool:
        """Whether it means all calls of its subject."""
        return self.path is None and self.command is None and self.domain is None

    def __str__(self) -> str:
        return f"{self.verdict} rule {self.text} ({self.source.name})"


def parse_rule(text: str, verdict: Verdict, source: Source, *, folds_programs: bool = False) -> Rule:
    """Read one rule. ``folds_programs``: names of programs are compared without regard to case where it restricts.

    Raises:
        RuleError: it is none.
    """
    if len(text) > RULE_MAX_CHARS:
        raise RuleError(f"rule {text[:60]}…: has {len(text)} characters, at most {RULE_MAX_CHARS} are taken")
    found = _RULE.fullmatch(text)
    if found is None:
        raise _expected(text, "is no rule; expected is TOOL, TOOL(PATTERN), CAPABILITY or CAPABILITY(PATTERN)")
    subject, inside = found.group(1), found.group(2)
    _check_name(text, subject)
    if subject in _COMMAND_TOOLS:
        # One tool under two names; what is not allowed to it is not allowed to another tool that runs commands.
        subject = "Shell" if verdict == "allow" else "SHELL"
    rule = Rule(verdict, text.strip(), source, subject)
    if inside is None:
        return rule
    inside = inside.strip()
    if not inside:
        raise _expected(text, f"has nothing in its brackets; {subject} without brackets means all of it")
    if subject in _PATH_TOOLS or subject in {"FILE_READ", "FILE_WRITE"}:
        return Rule(verdict, rule.text, source, subject, path=_checked_path(text, inside))
    if subject in {"Shell", "SHELL"}:
        return _command_rule(rule, inside, folds=folds_programs and verdict != "allow")
    if subject in _NETWORK_TOOLS or subject == "NETWORK":
        return _domain_rule(rule, inside)
    raise _expected(text, f"{subject} takes no pattern; write {subject} alone")


def _expected(text: str, why: str) -> RuleError:
    shown = text.strip().encode("unicode_escape").decode("ascii") if not text.isprintable() else text.strip()
    return RuleError(f"rule {shown}: {why}")


def _check_name(text: str, subject: str) -> None:
    known = {*_PATH_TOOLS, *_COMMAND_TOOLS, *_NETWORK_TOOLS, *_OTHER_TOOLS, *Capability}
    if subject in known:
        return
    for name in sorted(known):
        if name.casefold() == subject.casefold():
            raise _expected(text, f"there is no {subject}; {name} is written like this")


def _command_rule(rule: Rule, inside: str, *, folds: bool) -> Rule:
    if inside in {"*", ":*"}:
        return rule
    try:
        pattern = CommandPattern(inside, folds=folds)
    except CommandPatternError as error:
        raise _expected(rule.text, f"{error}; expected is a command such as git status or git status:*") from None
    return Rule(rule.verdict, rule.text, rule.source, rule.subject, command=pattern)


def _domain_rule(rule: Rule, inside: str) -> Rule:
    if not inside.startswith("domain:"):
        raise _expected(rule.text, "expected is domain:HOST in the brackets")
    try:
        pattern = DomainPattern(inside.removeprefix("domain:"))
    except DomainPatternError as error:
        raise _expected(rule.text, str(error)) from None
    return Rule(rule.verdict, rule.text, rule.source, rule.subject, domain=pattern)


def _checked_path(text: str, inside: str) -> str:
    if "\0" in inside:
        raise _expected(text, "has a NUL character, which no path can have")
    if ".." in inside.split("/"):
        raise _expected(text, "goes up by `..`; write the path that is meant, absolute or relative to a root")
    if inside.startswith("~") and inside != "~" and not inside.startswith("~/"):
        raise _expected(text, "expected is ~/ for the home directory, or an absolute path")
    return inside
