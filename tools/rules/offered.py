"""The rules that an approval may bring about: they say what is shown with it, and nothing that is wider (X4)."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Final

from ..contract import CommandTarget, FileTarget
from ..support.glob_pattern import literally
from .command_rules import JudgedLine, shell_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..contract import Target
    from ..permissions import PermissionRequest

_MOST_RULES: Final = 10


def offered_rules(request: PermissionRequest) -> tuple[str, ...]:
    """The texts of rules that name exactly this; empty where no rule can.

    A host is named without what is asked of it, and a tool that tells no targets without its arguments: a rule knows no
    more of either, and its text shows that.
    """
    try:
        texts = tuple(dict.fromkeys(text for target in request.targets for text in _rules_for(request.tool, target)))
    except _CannotBeNamedError:
        return ()
    if not request.targets:
        texts = (request.tool,)
    return texts if len(texts) <= _MOST_RULES and all(text.isprintable() for text in texts) else ()


class _CannotBeNamedError(Exception):
    """No rule says just this."""


def _rules_for(tool: str, target: Target) -> Iterator[str]:
    if isinstance(target, FileTarget):
        if target.in_sandbox:  # a rule would be about the host's file of that name as well
            raise _CannotBeNamedError
        yield f"{tool}({literally(target.path)})"
    elif isinstance(target, CommandTarget):
        yield from _commands(tool, target)
    else:
        yield f"{tool}(domain:{target.host})"


def _commands(tool: str, target: CommandTarget) -> Iterator[str]:
    if target.in_sandbox:
        raise _CannotBeNamedError
    run = JudgedLine(target.command, shell_of(target.argv)).run
    if run.doubts or not run.commands:
        raise _CannotBeNamedError
    for command in run.commands:
        if not all(word.is_exact and not word.tilde for word in command.words):
            raise _CannotBeNamedError
        if command.needs_rule or command.runs:
            yield f"{tool}({shlex.join(word.text for word in command.words)})"
