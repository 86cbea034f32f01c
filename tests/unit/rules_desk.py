"""A desk for tests of rules: a policy from lists of rules, and requests as the pipeline makes them."""

from __future__ import annotations

from typing import Any

from openbuffer.tools.contract import Capability, CommandTarget, FileTarget
from openbuffer.tools.permissions import Decision, PermissionRequest
from openbuffer.tools.rules.grammar import Rule, Source
from openbuffer.tools.rules.places import RulePlaces
from openbuffer.tools.rules.policy import RulePolicy
from openbuffer.tools.rules.reading import rules_from

USER = Source("the user's configuration")
WORKSPACE = Source("the workspace's file", trusted=False)
PLACES = RulePlaces(roots=("/ws",), home="/home/u")


def rules(source: Source = USER, **table: list[str]) -> tuple[Rule, ...]:
    """The rules of a table in which nothing is wrong."""
    read = rules_from(table, source)
    assert read.problems == ()
    return read.rules


def policy(*, places: RulePlaces = PLACES, without_rules: Any = None, **table: list[str]) -> RulePolicy:
    options = {} if without_rules is None else {"without_rules": without_rules}
    return RulePolicy(rules(**table), places, **options)


def command(
    by: RulePolicy, line: str, *, auto_allowed: bool = False, tool: str = "Bash", argv: tuple[str, ...] | None = None
) -> Decision:
    """What it says of a line that starts in /ws."""
    target = CommandTarget(
        command=line,
        argv=("/bin/bash", "-c", "--", line) if argv is None else argv,
        cwd="/ws",
        auto_allowed=auto_allowed,
    )
    return by.decide(request(tool, Capability.SHELL, target))


def file(by: RulePolicy, tool: str, path: str, access: str = "FILE_READ") -> Decision:
    """What it says of a file."""
    return by.decide(request(tool, Capability(access), FileTarget(path=path, access=Capability(access))))  # type: ignore[arg-type]  # one of the two


def request(tool: str, capability: Capability | None, *targets: Any, stage: Any = "plan") -> PermissionRequest:
    return PermissionRequest(
        call_id="1",
        tool=tool,
        capabilities=frozenset() if capability is None else frozenset({capability}),
        targets=targets,
        stage=stage,
    )
