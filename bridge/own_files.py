"""The gate's rule on what is the server's own: no file tool reaches its directories or changes its settings.

Otherwise a model that is held by the sandbox would open it with Write. A search of a directory above them is not judged
here: what lies below is no target of its own. A file in a sandbox with files of its own is none of the server's.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from openbuffer.tools.contract import Capability, FileTarget
from openbuffer.tools.permissions import AllowAll, Decision, HidesPaths, LooksAgain, TakesRules

from .config_file import CONFIG_NAME

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from openbuffer.tools.contract import Unreadable
    from openbuffer.tools.permissions import PermissionPolicy, PermissionRequest


class OwnFilesPolicy:
    """Denies what is the server's own and leaves all else to ``others``.

    Fulfils ``PermissionPolicy``, and ``HidesPaths``, ``LooksAgain`` and ``TakesRules`` as far as ``others`` does.

    ``hidden`` are absolute paths that no tool may touch, ``roots`` the directories whose ``openbuffer.toml`` none may
    change.
    """

    def __init__(self, hidden: Iterable[str], roots: Iterable[str], others: PermissionPolicy | None = None) -> None:
        self._hidden = tuple(hidden)
        self._settings = frozenset(os.path.join(os.path.realpath(root), CONFIG_NAME) for root in roots)
        self._others = others or AllowAll()

    def decide(self, request: PermissionRequest) -> Decision:
        """Judge the request."""
        for target in request.targets:
            reason = self._reason(target) if isinstance(target, FileTarget) and not target.in_sandbox else ""
            if reason:
                return Decision("deny", reason)
        return self._others.decide(request)

    def unreadable(self, tool: str) -> Unreadable | None:
        """What ``others`` says that this tool may not read."""
        return self._others.unreadable(tool) if isinstance(self._others, HidesPaths) else None

    async def look(self) -> None:
        """Have ``others`` take what changed."""
        if isinstance(self._others, LooksAgain):
            await self._others.look()

    def offered(self, request: PermissionRequest) -> tuple[str, ...]:
        """The rules with which ``others`` would let a request pass."""
        return self._others.offered(request) if isinstance(self._others, TakesRules) else ()

    async def allow(self, rules: Sequence[str], *, always: bool) -> None:
        """Have ``others`` learn rules.

        Raises:
            RuleNotKeptError: they count for the session alone.
        """
        if isinstance(self._others, TakesRules):
            await self._others.allow(rules, always=always)

    def _reason(self, target: FileTarget) -> str:
        if any(target.path == path or target.path.startswith(f"{path}/") for path in self._hidden):
            return "it is openbuffer's own; the user looks after it"
        if target.access is Capability.FILE_WRITE and target.path in self._settings:
            return "it says what commands may do; the user alone changes it"
        return ""
