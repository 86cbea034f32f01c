"""When a confined command may run without being asked about: nothing outside of the sandbox can be changed by it.

The setting alone is not enough. Where the workspace itself holds a way out that no mount closes, the user is asked, and
told which one it is.
"""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ..paths import lies_in
from ..quarantine.protected import PROTECTED_NAMES
from ..quarantine.settling import shown
from .hard_links import HardLinks, look_for_hard_links
from .steps import TooManyLinksError, first_step_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..quarantine.protected import ProtectedPaths

REMEMBERED_S: Final = 30.0
"""How long an answer about hard links counts: no confined command can make one to the outside, only the host can."""

HOME_NAMES: Final[tuple[str, ...]] = (
    *PROTECTED_NAMES,
    ".aws",
    ".cargo/bin",
    ".cargo/config.toml",
    ".config",
    ".config/autostart",
    ".config/fish/config.fish",
    ".config/git/config",
    ".config/nvim/init.lua",
    ".config/nvim/init.vim",
    ".config/openbuffer/openbuffer.toml",
    ".config/pip/pip.conf",
    ".config/systemd/user",
    ".docker/config.json",
    ".emacs",
    ".emacs.d",
    ".gnupg",
    ".inputrc",
    ".kube/config",
    ".local/bin",
    ".pam_environment",
    ".pypirc",
    ".ssh/authorized_keys",
    ".ssh/config",
    ".ssh/rc",
    ".tmux.conf",
    ".vim",
    ".vimrc",
    ".xinitrc",
    ".xprofile",
    ".xsessionrc",
    "bin",
)
"""Names in a home directory that configure what the host runs; people keep many of them as links into a repository."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AutoAllowance:
    """Whether nobody needs to be asked; if not, ``because`` is a clause that says why."""

    allowed: bool
    because: str = ""


class AutoAllowRules:
    """Judges commands of one session. ``home`` is the user's home directory, ``configuration`` more paths like those
    that are known by ``HOME_NAMES``, as where ``XDG_CONFIG_HOME`` is set. Thread-safe; blocks for a bounded time.
    """

    def __init__(self, roots: Sequence[str], *, home: str, configuration: Sequence[str] = ()) -> None:
        self._roots = tuple(roots)
        self._home = home
        self._configuration = (*(os.path.join(home, name) for name in HOME_NAMES), *configuration)
        self._lock = threading.Lock()
        self._remembered: tuple[object, float, HardLinks] | None = None

    def judge(
        self, *, setting: bool, confined: bool, protected: ProtectedPaths, writable: Sequence[str]
    ) -> AutoAllowance:
        """Whether a command that is confined like that may run without being asked about.

        ``setting`` is ``auto_allow``; ``protected`` is of now; ``writable`` are all resolved places in which the
        command may write, the roots among them.
        """
        reason = (
            ("" if setting else "auto_allow is off")
            or ("" if confined else "nothing confines it")
            or self._redirectable_link(protected)
            or self._missing_git_directory(protected, writable)
            or self._open_home(writable)
            or self._led_into(writable)
            or self._hard_linked(protected, writable)
        )
        return AutoAllowance(allowed=not reason, because=reason)

    def _redirectable_link(self, protected: ProtectedPaths) -> str:
        for link in protected.links:
            # A mount follows a link, so nothing holds the link itself, which lies in the workspace.
            return (
                f"{shown(link.path)} is protected and a link to {shown(link.target)}, which a command can let lead "
                "elsewhere until it ends; put the file itself there"
            )
        return ""

    def _missing_git_directory(self, protected: ProtectedPaths, writable: Sequence[str]) -> str:
        for path in protected.missing_git_directories:
            if any(lies_in(path, place) for place in writable):
                return f"git is pointed to {shown(path)}, which does not exist and which the command could make"
        return ""

    def _open_home(self, writable: Iterable[str]) -> str:
        home = os.path.realpath(self._home)
        place = next((place for place in writable if lies_in(home, place)), "")
        return f"the home directory lies in {shown(place)}, which the command may write" if place else ""

    def _led_into(self, writable: Sequence[str]) -> str:
        for path in self._configuration:
            try:
                step = first_step_in(path, writable)
            except TooManyLinksError:
                continue
            if step:
                return f"{shown(path)} leads to {shown(step)}, which the command may write, and configures the host"
        return ""

    def _hard_linked(self, protected: ProtectedPaths, writable: Sequence[str]) -> str:
        found = self._hard_links(protected.read_only, tuple(writable))
        if found.outside:
            return (
                f"{shown(found.outside)} is a hard link to a file that has another name outside of the places where "
                "the command may write, so that it could change that file; copy it instead"
            )
        return (
            f"whether the workspace holds hard links to outside is not known: {found.unknown}" if found.unknown else ""
        )

    def _hard_links(self, read_only: tuple[str, ...], writable: tuple[str, ...]) -> HardLinks:
        key = (read_only, writable)
        with self._lock:  # one look at a time; who waits takes its answer
            if self._remembered is not None:
                known, until, answer = self._remembered
                if known == key and time.monotonic() < until:
                    return answer
            others = [place for place in writable if place not in self._roots]
            answer = look_for_hard_links(self._roots, others, frozenset(read_only))
            self._remembered = (key, time.monotonic() + REMEMBERED_S, answer)
            return answer
