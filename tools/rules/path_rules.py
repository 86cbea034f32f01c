"""The rules about paths of one verdict, for a tool and what it does with a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..contract import Capability
from ..support.path_matcher import PathMatcher

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..contract import FileTarget
    from ..support.path_matcher import AnchoredPattern
    from .grammar import Rule
    from .places import RulePlaces

_ABOUT_READING = frozenset({"FILE_READ", "Read"})
_ABOUT_CHANGING = frozenset({"FILE_WRITE", "Edit", "Write"})


def access_of(rule: Rule) -> Capability | None:
    """What a rule with a path is about, by whatever tool; None where it is about the tool that it names.

    A restriction that names Read, Edit or Write would be worth nothing if another tool went around it; what is allowed
    to one tool is not allowed to another, but that reading is reading.
    """
    if rule.subject in _ABOUT_READING:
        return Capability.FILE_READ
    if rule.subject == "FILE_WRITE" or (rule.subject in _ABOUT_CHANGING and rule.verdict != "allow"):
        return Capability.FILE_WRITE
    return None


class PathRules:
    """All rules with a path that have one verdict.

    Raises:
        ToolFailure: they take too long to be compared.
    """

    def __init__(self, rules: Iterable[Rule], places: RulePlaces, *, deep: bool) -> None:
        sorted_out: dict[str, list[tuple[Rule, AnchoredPattern]]] = {}
        for rule in rules:
            key = str(access_of(rule) or rule.subject)
            sorted_out.setdefault(key, []).extend((rule, pattern) for pattern in places.patterns(rule))
        self._by_key = {
            key: (PathMatcher((pattern for _, pattern in pairs), deep=deep), [rule for rule, _ in pairs])
            for key, pairs in sorted_out.items()
        }

    def find(self, tool: str, target: FileTarget) -> Rule | None:
        """The rule that is about this target of this tool."""
        for key in (str(target.access), tool):
            if key in self._by_key:
                matcher, rules = self._by_key[key]
                if (index := matcher.which(target.path)) is not None:
                    return rules[index]
        return None

    def patterns_for(self, tool: str) -> list[AnchoredPattern]:
        """The patterns of what they say about reading by this tool."""
        keys = (str(Capability.FILE_READ), tool)
        return [pattern for key in keys if key in self._by_key for pattern in self._by_key[key][0].patterns]

    def has(self, access: Capability) -> bool:
        """Whether any is about this access by whatever tool."""
        return str(access) in self._by_key
