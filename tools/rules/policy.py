"""RulePolicy: what the rules say of a call. Deny beats ask beats allow, whatever the order and the source (X4).

It looks at the request alone, and at where links lead that a command redirects through. Paths are compared as they were
opened, commands as they will run.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from ..contract import Capability, CommandTarget, FileTarget
from ..errors import ToolFailure
from ..permissions import Decision
from ..support.located import printable
from ..support.path_matcher import AnchoredPattern
from ..support.unreadable import UnreadablePaths, UnreadablePattern
from .command_rules import CommandRules, JudgedLine, TooMuchToJudgeError, shell_of
from .grammar import VERDICTS, Rule, RuleError, Source, parse_rule
from .offered import offered_rules
from .path_rules import PathRules
from .reading import ask_about_everything

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ..contract import Target
    from ..permissions import PermissionRequest
    from .command_rules import Finding
    from .grammar import Verdict
    from .places import RulePlaces
    from .shell_line import Redirection

FileAccess: TypeAlias = Literal[Capability.FILE_READ, Capability.FILE_WRITE]

WITHOUT_RULES: Final[Mapping[Capability, Verdict]] = {
    Capability.FILE_READ: "allow",
    Capability.FILE_WRITE: "ask",
    Capability.SHELL: "ask",
    Capability.NETWORK: "ask",
    Capability.ASK_USER: "allow",
    Capability.COMPUTER: "ask",
    Capability.SCREEN_READ: "allow",
    Capability.SESSION: "allow",
}
"""What happens without a rule: what changes nothing passes, everything else is asked about."""

_NO_FILES: Final = frozenset({"/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty"})
_ELSEWHERE: Final = ("/proc/", "/dev/fd/")
"""What lies there is another file for each process."""

_ALLOWED: Final = Decision("allow")
_OFFERED: Final = Source("offered")


class RulePolicy:
    """Decides by rules; ``without_rules`` is what happens where there is none, by capability, or one verdict for all.

    Rules of sources that are not trusted and would allow something do not count. ``problems`` tells what could not be
    used of the rules; every call is asked about then.
    """

    def __init__(
        self,
        rules: Iterable[Rule],
        places: RulePlaces,
        *,
        without_rules: Mapping[Capability, Verdict] | Verdict = WITHOUT_RULES,
    ) -> None:
        self._places = places
        if isinstance(without_rules, str):
            without_rules = dict.fromkeys(Capability, without_rules)
        self._without_rules = without_rules
        self._unreadable: dict[str, UnreadablePaths | None] = {}
        self.problems: tuple[str, ...] = ()
        counted = [rule for rule in rules if rule.source.trusted or rule.verdict != "allow"]
        try:
            self._sets = {verdict: _RuleSet(counted, verdict, places) for verdict in VERDICTS}
        except ToolFailure as error:
            self.problems = (f"the rules about paths cannot be used: {error}",)
            broken = ask_about_everything(Source("the rules as a whole"), "that cannot be used")
            counted = [*(rule for rule in counted if rule.path is None), broken]
            self._sets = {verdict: _RuleSet(counted, verdict, places) for verdict in VERDICTS}

    def decide(self, request: PermissionRequest) -> Decision:
        """Judge a request: each of its targets, or the call as a whole where it has none."""
        decisions = [self._judge(request, target) for target in request.targets] or [self._without_targets(request)]
        return max(decisions, key=lambda decision: _STRICTNESS[decision.verdict])

    def unreadable(self, tool: str) -> UnreadablePaths | None:
        """What a tool that walks must leave out, and must not tell; None where there is no such thing."""
        if tool not in self._unreadable:
            patterns = [
                UnreadablePattern(pattern, asks=verdict == "ask")
                for verdict in _RESTRICTING
                for pattern in self._sets[verdict].unreadable(tool)
            ]
            self._unreadable[tool] = UnreadablePaths(patterns) if patterns else None
        return self._unreadable[tool]

    def offered(self, request: PermissionRequest) -> tuple[str, ...]:
        """The rules with which a request would pass that is asked about for want of one; see ``offered_rules``.

        Empty where a rule asks: none that allows comes before it.
        """
        lenient = copy(self)
        lenient._without_rules = dict.fromkeys(Capability, "allow")  # noqa: SLF001  a copy of this very object
        if lenient.decide(request).verdict != "allow":
            return ()
        texts = offered_rules(request)
        try:
            rules = [parse_rule(text, "allow", _OFFERED) for text in texts]
        except RuleError:
            return ()
        would = RulePolicy(rules, self._places, without_rules="ask").decide(request)
        return texts if would.verdict == "allow" else ()

    # --- targets -----------------------------------------------------------------------------------------------------

    def _judge(self, request: PermissionRequest, target: Target) -> Decision:
        if isinstance(target, FileTarget):
            return self._judge_file(request.tool, target)
        if isinstance(target, CommandTarget):
            return self._judge_command(request.tool, target)
        return self._judge_host(request, target.host)

    def _judge_file(self, tool: str, target: FileTarget) -> Decision:
        for verdict in VERDICTS:
            rules = self._sets[verdict]
            rule = rules.whole(tool, target.access) or rules.paths.find(tool, target)
            if rule is not None:
                return _by(rule)
        return self._default(target.access)

    def _judge_host(self, request: PermissionRequest, host: str | None) -> Decision:
        capability = Capability.NETWORK
        for verdict in VERDICTS:
            rules = self._sets[verdict]
            if (rule := rules.whole(request.tool, capability)) is not None:
                return _by(rule)
            for each in rules.domains(request.tool):
                assert each.domain is not None
                if host is None and verdict != "allow":
                    return Decision("ask", f"it cannot be told which host it is about, and there is the {each}")
                if host is not None and (each.domain.matches if verdict == "allow" else each.domain.denies)(host):
                    return _by(each)
        return self._default(capability)

    def _without_targets(self, request: PermissionRequest) -> Decision:
        if Capability.NETWORK in request.capabilities and request.stage == "plan":
            found = [self._judge_host(request, None)]
        else:
            found = []
        for capability in sorted(request.capabilities) or [None]:
            rule = self._first_whole(request.tool, capability)
            if rule is not None:
                found.append(_by(rule))
            elif capability is not None:
                found.append(self._default(capability))
            else:
                found += map(self._of_unknown, Capability)
        return max(found, key=lambda decision: _STRICTNESS[decision.verdict], default=_ALLOWED)

    def _of_unknown(self, capability: Capability) -> Decision:
        """For a tool that declares nothing, so that nobody knows whether it has this capability."""
        for verdict in _RESTRICTING:
            if (rule := self._sets[verdict].whole("", capability)) is not None:
                return Decision("ask", f"it does not tell what it can do, and there is the {rule}")
        return self._default(capability)

    def _first_whole(self, tool: str, capability: Capability | None) -> Rule | None:
        for verdict in VERDICTS:
            if (rule := self._sets[verdict].whole(tool, capability)) is not None:
                return rule
        return None

    def _default(self, capability: Capability) -> Decision:
        verdict = self._without_rules.get(capability, "ask")
        return _ALLOWED if verdict == "allow" else Decision(verdict, "no rule allows it")

    # --- commands ----------------------------------------------------------------------------------------------------

    def _judge_command(self, tool: str, target: CommandTarget) -> Decision:
        denying, asking, allowing = (self._sets[verdict].whole(tool, Capability.SHELL) for verdict in VERDICTS)
        if denying is not None:
            return _by(denying)
        allows = bool(self._sets["allow"].commands) and allowing is None
        if not (self._restricts_commands or self._restricts_files or allows):
            return _by(asking) if asking is not None else self._unless(allowing, target, "no rule allows it")
        line = JudgedLine(target.command, shell_of(target.argv))
        try:
            restricted = self._restricted_line(line, target, asking)
            return restricted or self._allowed_line(line, target, allowing)
        except TooMuchToJudgeError:
            return Decision("ask", "the line runs more commands than can be compared with the rules")

    @property
    def _restricts_commands(self) -> bool:
        return bool(self._sets["deny"].commands or self._sets["ask"].commands)

    @property
    def _restricts_files(self) -> bool:
        accesses = (Capability.FILE_READ, Capability.FILE_WRITE)
        return any(self._sets[verdict].judges(access) for verdict in _RESTRICTING for access in accesses)

    def _restricted_line(self, line: JudgedLine, target: CommandTarget, asking: Rule | None) -> Decision | None:
        """What the rules that restrict say of it; ``asking`` is about every line there is."""
        possible: list[Decision] = []
        redirected = [self._redirected(each, target) for each in line.run.redirections]
        for verdict in _RESTRICTING:
            found = line.restricted_by(self._sets[verdict].commands)
            if found is not None and found.certain:
                return Decision(verdict, f"{_on(found)}by the {found.rule}")
            if found is not None:
                possible.append(Decision("ask", f"{_on(found)}it may be what the {found.rule} means"))
            if (judged := next((each for each in redirected if each and each.verdict == verdict), None)) is not None:
                return judged
            if verdict == "deny" and asking is not None:
                return _by(asking)
        if possible:
            return possible[0]
        if line.doubts and self._restricts_commands:
            return Decision("ask", f"it cannot be told which rules apply: the line {line.doubts[0]}")
        return None

    def _allowed_line(self, line: JudgedLine, target: CommandTarget, allowing: Rule | None) -> Decision:
        if allowing is not None or target.auto_allowed:
            return self._unless(allowing, target, "")
        if line.doubts:
            return self._unless(None, target, f"no rule can allow it: the line {line.doubts[0]}")
        found = line.allowed_by(self._sets["allow"].commands)
        if isinstance(found, str):
            return self._unless(None, target, f"no rule allows {found}")
        written = (self._redirected(each, target) for each in line.run.redirections if each.access == "write")
        if any(judged is None or judged.verdict != "allow" for judged in written):
            return self._unless(None, target, "no rule allows the file that its output is redirected to")
        return _by(found)

    def _unless(self, allowing: Rule | None, target: CommandTarget, reason: str) -> Decision:
        """Allowed by that rule or by the sandbox's settings; else what happens without a rule."""
        if allowing is not None:
            return _by(allowing)
        if target.auto_allowed:
            return Decision("allow", "it runs confined, and the sandbox's settings allow that")
        decision = self._default(Capability.SHELL)
        return decision if decision.verdict == "allow" else Decision(decision.verdict, reason)

    def _redirected(self, each: Redirection, target: CommandTarget) -> Decision | None:
        """What the rules about files say of a redirection; None where none of them does."""
        access: FileAccess = Capability.FILE_WRITE if each.access == "write" else Capability.FILE_READ
        if each.target is None:
            return self._redirected_anywhere(access)
        text, tilde = each.target.text, each.target.tilde
        written = self._places.written(text, target.cwd, tilde=tilde)
        if written in _NO_FILES:
            return _ALLOWED
        found = written if target.in_sandbox else self._places.leads_to(text, target.cwd, tilde=tilde)
        if written is None or found is None or written.startswith(_ELSEWHERE):
            return self._redirected_anywhere(access)
        # A link that a repository brings must not carry what is allowed to somewhere else.
        decisions = [self._redirected_to(path, access) for path in dict.fromkeys((written, found))]
        restricting = [decision for decision in decisions if decision is not None and decision.verdict != "allow"]
        if restricting or None not in decisions:
            return max(restricting or [_ALLOWED], key=lambda decision: _STRICTNESS[decision.verdict])
        return None

    def _redirected_anywhere(self, access: FileAccess) -> Decision | None:
        why = "it cannot be told which file it is redirected to, and there are rules about files"
        return Decision("ask", why) if self._judges(access) else None

    def _redirected_to(self, path: str, access: FileAccess) -> Decision | None:
        file = FileTarget(path=path, access=access)
        for verdict in VERDICTS:
            rules = self._sets[verdict]
            tool = "Write" if access == Capability.FILE_WRITE else "Read"
            rule = rules.whole("", access) or rules.paths.find(tool, file)
            if rule is not None:
                return Decision(verdict, f"its redirection to {printable(path)} is one by the {rule}")
        return None

    def _judges(self, access: Capability) -> bool:
        return any(self._sets[verdict].judges(access) for verdict in _RESTRICTING)


class _RuleSet:
    """The rules of one verdict, sorted out."""

    def __init__(self, rules: Sequence[Rule], verdict: Verdict, places: RulePlaces) -> None:
        mine = [rule for rule in rules if rule.verdict == verdict]
        self._whole: dict[str, Rule] = {}
        for rule in mine:
            if rule.is_whole:
                self._whole.setdefault(rule.subject, rule)
        self.commands = CommandRules([(rule, rule.command) for rule in mine if rule.command is not None])
        self._domains = [rule for rule in mine if rule.domain is not None]
        self.paths = PathRules((rule for rule in mine if rule.path is not None), places, deep=verdict != "allow")

    def whole(self, tool: str, capability: Capability | None) -> Rule | None:
        """The rule about every call of a tool, or of its capability."""
        for key in ("", "Shell" if tool == "Bash" else tool, str(capability or "")):
            if (rule := self._whole.get(key)) is not None:
                return rule
        return None

    def domains(self, tool: str) -> list[Rule]:
        """The rules about hosts that hold for a tool."""
        return [rule for rule in self._domains if rule.subject in {tool, "NETWORK"}]

    def judges(self, access: Capability) -> bool:
        """Whether there is any rule about reading, or changing, files by whatever tool."""
        return str(access) in self._whole or self.paths.has(access)

    def unreadable(self, tool: str) -> list[AnchoredPattern]:
        """The patterns of what a tool may not read."""
        if str(Capability.FILE_READ) in self._whole:
            return [AnchoredPattern("/")]
        return self.paths.patterns_for(tool)


_RESTRICTING: Final[tuple[Verdict, ...]] = ("deny", "ask")
_STRICTNESS: Final = {"allow": 0, "ask": 1, "deny": 2}


def _by(rule: Rule) -> Decision:
    return Decision(rule.verdict, f"by the {rule}")


def _on(found: Finding) -> str:
    return f"{found.command}: "
