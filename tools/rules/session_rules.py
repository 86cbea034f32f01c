"""The rules of a session: those that are given, as they are now, and those that answers have brought about."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

import anyio.to_thread

from ..permissions import RuleNotKeptError
from .grammar import Source, parse_rule
from .hidden_paths import HiddenPaths, hidden_paths
from .host_places import host_places
from .policy import WITHOUT_RULES, RulePolicy

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..contract import Capability
    from ..permissions import Decision, PermissionRequest
    from ..support.unreadable import UnreadablePaths
    from .grammar import Rule, Verdict

HIDDEN_AGE_S: Final = 2.0
"""How long what was found to be hidden counts: a command asks several times, and looking for it takes time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenRules:
    """Rules, and what happens without one, by capability or for all."""

    rules: tuple[Rule, ...] = ()
    without_rules: Mapping[Capability, Verdict] | Verdict = field(default_factory=lambda: WITHOUT_RULES)


class RuleSource(Protocol):
    """Where rules are given."""

    def mark(self) -> object:
        """What is another one once they have changed; quick, and never raises."""
        ...

    def given(self) -> GivenRules:
        """The rules as they are now; blocks, and never raises."""
        ...


class LearntRules:
    """The rules that answers have brought about for one session, whose policies may share them. From any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rules: tuple[Rule, ...] = ()

    @property
    def rules(self) -> tuple[Rule, ...]:
        """All of them; the same tuple until one is learnt."""
        return self._rules

    def add(self, texts: Sequence[str]) -> None:
        """Have these allow what they say."""
        with self._lock:
            learnt = (parse_rule(text, "allow", _SESSION) for text in texts)
            self._rules = tuple(dict.fromkeys((*self._rules, *learnt)))


class SessionRules:
    """A policy over rules that change. Fulfils ``PermissionPolicy``, ``HidesPaths``, ``LooksAgain``, ``TakesRules``.

    ``keep`` puts rules where the source has them from then on; it blocks, and raises OSError or ValueError. Without it
    rules are kept for the session alone. ``tell`` takes a sentence on rules that cannot be used, from any thread.
    ``learnt`` has what answers brought about, where the session has, or had, other policies as well.
    """

    def __init__(
        self,
        source: RuleSource,
        roots: Sequence[str],
        *,
        keep: Callable[[Sequence[str]], None] | None = None,
        tell: Callable[[str], None],
        home: str | None = None,
        learnt: LearntRules | None = None,
    ) -> None:
        self._source = source
        self._roots = tuple(roots)
        self._keep = keep
        self._tell = tell
        self._home = home
        self._lock = threading.Lock()
        self._learnt = learnt or LearntRules()
        self._policy: RulePolicy | None = None
        self._mark: object = None
        self._told: set[str] = set()
        self._hidden: tuple[RulePolicy, float, HiddenPaths] | None = None

    def decide(self, request: PermissionRequest) -> Decision:
        """Judge the request by the rules of the last look."""
        return self._now().decide(request)

    def unreadable(self, tool: str) -> UnreadablePaths | None:
        """What this tool may not read."""
        return self._now().unreadable(tool)

    async def look(self) -> None:
        """Take what changed; mostly nothing did, and that costs no thread."""
        if self._policy is None or self._marked() != self._mark:
            await anyio.to_thread.run_sync(self.refresh)

    def refresh(self) -> None:
        """The same; blocks."""
        with self._lock:
            mark = self._marked()  # ahead of the reading, so that a change during it is seen the next time
            if self._policy is None or mark != self._mark:
                self._take()
                self._mark = mark

    def offered(self, request: PermissionRequest) -> tuple[str, ...]:
        """The rules with which a request would pass."""
        return self._now().offered(request)

    async def allow(self, rules: Sequence[str], *, always: bool) -> None:
        """Have these allow what they say from now on.

        Raises:
            RuleNotKeptError: they could not be kept for good, and count for the session.
        """
        why = await anyio.to_thread.run_sync(self._allow, tuple(rules), always)
        if why:
            raise RuleNotKeptError(f"{', '.join(rules)}: allowed for this session alone, {why}")

    def hidden(self) -> HiddenPaths:
        """What commands may not see by the rules, for a sandbox; blocks."""
        self.refresh()
        policy = self._now()
        with self._lock:
            if self._hidden is None or self._hidden[0] is not policy or time.monotonic() > self._hidden[1]:
                found = hidden_paths(policy.unreadable(""))
                self._hidden = policy, time.monotonic() + HIDDEN_AGE_S, found
            return self._hidden[2]

    def _now(self) -> RulePolicy:
        if self._policy is None:
            self.refresh()
        assert self._policy is not None
        return self._policy

    def _allow(self, rules: tuple[str, ...], always: bool) -> str:
        """Why they are not kept for good although they should be; empty where all is well."""
        why = ""
        if always:
            why = self._kept(rules)
        if not always or why:
            self._learnt.add(rules)
            self.refresh()
        return why

    def _marked(self) -> object:
        return self._source.mark(), self._learnt.rules

    def _kept(self, rules: tuple[str, ...]) -> str:
        if self._keep is None:
            return "because there is no place to keep it"
        try:
            self._keep(rules)
        except (OSError, ValueError) as error:
            return f"because it could not be kept ({error})"
        return ""

    def _take(self) -> None:
        given = self._source.given()
        places = host_places(self._roots, home=self._home)
        policy = RulePolicy((*given.rules, *self._learnt.rules), places, without_rules=given.without_rules)
        for problem in policy.problems:
            if problem not in self._told:
                self._told.add(problem)
                self._tell(problem)
        self._policy = policy


_SESSION: Final = Source("allowed for this session")
