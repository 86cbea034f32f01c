"""The ``[permissions]`` table of a configuration file as rules, and what of it does not count, in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from ..errors import ToolFailure
from .grammar import VERDICTS, Rule, RuleError, parse_rule
from .places import RulePlaces

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .grammar import Source, Verdict

RULES_MAX: Final = 10_000
"""Of one source; of one that is not trusted a tenth."""

_ANYWHERE: Final = RulePlaces(roots=("/",), home="/")


@dataclass(frozen=True, slots=True)
class RulesRead:
    """The rules of one source. ``problems`` name each entry that does not count, or does not as it stands."""

    rules: tuple[Rule, ...] = ()
    problems: tuple[str, ...] = ()


def rules_from(table: object, source: Source, *, folds_programs: bool = False) -> RulesRead:
    """Read the lists ``allow``, ``ask`` and ``deny``. Nothing is raised: what is wrong is told, and the rest counts.

    A restriction that cannot be read must not be silently absent: until it is corrected, every call is asked about.
    A source that is not trusted can allow nothing.
    """
    if not isinstance(table, dict):
        return RulesRead(problems=(f"permissions must be a table, not {table!r:.60}",))
    reader = _Reader(source, folds_programs)
    entries = cast("Mapping[str, Any]", table)
    for key in entries:
        if key not in VERDICTS:
            reader.problems.append(f"unknown key permissions.{key!s:.60}; known are permissions.allow, .ask and .deny")
    for verdict in VERDICTS:
        if verdict in entries:
            reader.take(verdict, entries[verdict])
    return RulesRead(tuple(reader.rules), tuple(reader.problems))


def ask_about_everything(source: Source, why: str) -> Rule:
    """The rule that stands for a restriction that could not be read."""
    return Rule("ask", why, source, "")


class _Reader:
    def __init__(self, source: Source, folds_programs: bool) -> None:
        self.rules: list[Rule] = []
        self.problems: list[str] = []
        self._source = source
        self._folds_programs = folds_programs
        self._left = RULES_MAX if source.trusted else RULES_MAX // 10

    def take(self, verdict: Verdict, entries: object) -> None:
        if verdict == "allow" and not self._source.trusted:
            if entries:
                self.problems.append(
                    f"permissions.allow = {entries!r:.120} would loosen the user's rules and does not count"
                )
            return
        if not isinstance(entries, list):
            self._broken(verdict, f"permissions.{verdict} must be a list of rules, not {entries!r:.60}")
            return
        given = cast("list[object]", entries)
        for entry in given[: self._left]:
            self._take_one(verdict, entry)
        if len(given) > self._left:
            self._broken(verdict, f"permissions.{verdict} has too many rules; {len(given) - self._left} do not count")
        self._left = max(0, self._left - len(given))

    def _take_one(self, verdict: Verdict, entry: object) -> None:
        if not isinstance(entry, str):
            self._broken(verdict, f"permissions.{verdict} must be a list of rules, and {entry!r:.60} is no text")
            return
        try:
            rule = parse_rule(entry, verdict, self._source, folds_programs=self._folds_programs)
            if rule.path is not None:
                _ANYWHERE.patterns(rule)
        except RuleError as error:
            self._broken(verdict, f"permissions.{verdict}: {error}")
        except ToolFailure as error:
            self._broken(verdict, f"permissions.{verdict}: rule {entry:.200}: {error}")
        else:
            self.rules.append(rule)

    def _broken(self, verdict: Verdict, problem: str) -> None:
        self.problems.append(problem)
        if verdict != "allow" and not any(rule.subject == "" for rule in self.rules):
            self.rules.append(ask_about_everything(self._source, "that cannot be read"))
