"""The rules of a session as its files have them now: the user's, what was allowed for good, and the workspaces'."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openbuffer.tools.rules.session_rules import GivenRules

from .settings import ignore

if TYPE_CHECKING:
    from collections.abc import Callable

    from openbuffer.tools.rules.kept_rules import KeptRules

    from .settings import LiveSettings


class FileRules:
    """Fulfils ``RuleSource``. ``tell`` takes a sentence on each line of ``kept`` that does not count, once."""

    def __init__(self, settings: LiveSettings, kept: KeptRules, *, tell: Callable[[str], None] = ignore) -> None:
        self._settings = settings
        self._kept = kept
        self._tell = tell
        self._told: frozenset[str] = frozenset()

    def mark(self) -> object:
        """What is another one once a file has changed."""
        return self._settings.mark(), self._kept.mark()

    def given(self) -> GivenRules:
        """The rules of all the files as they are now."""
        given = self._settings.permissions()
        kept = self._kept.read()
        for problem in kept.problems:
            if problem not in self._told:
                self._tell(problem)
        self._told = frozenset(kept.problems)
        return GivenRules(rules=(*given.rules, *kept.rules), without_rules=given.without_rules)
