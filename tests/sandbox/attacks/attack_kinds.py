"""The attacks by their names, and what each needs of a host to be one at all."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from confined_desk import NOBODY, SYSTEM_PATH

if TYPE_CHECKING:
    from collections.abc import Callable

    from attack_scene import Scene

Kind = Literal["writing", "reading", "network", "kernel", "resources", "protected", "host"]
Need = "Callable[[int], str]"
"""Asked for a user; says why the attack is none for that one, and nothing if it is one."""


@dataclass(frozen=True)
class Attack:
    """``act`` attacks a scene and says from outside what it has reached; empty if nothing."""

    name: str
    kind: Kind
    act: Callable[[Scene], str]
    needs: tuple[Callable[[int], str], ...]
    place: Literal["beside", "temporary"]

    def lacks(self, user_id: int) -> str:
        return next(filter(None, (need(user_id) for need in self.needs)), "")


ATTACKS: list[Attack] = []
LIMITS: list[Attack] = []


def attack(
    kind: Kind, *needs: Callable[[int], str], place: Literal["beside", "temporary"] = "beside"
) -> Callable[[Callable[[Scene], str]], Callable[[Scene], str]]:
    """It has to reach something unconfined and nothing confined."""

    def enter(act: Callable[[Scene], str]) -> Callable[[Scene], str]:
        ATTACKS.append(Attack(act.__name__, kind, act, needs, place))
        return act

    return enter


def limit(kind: Kind, *needs: Callable[[int], str]) -> Callable[[Callable[[Scene], str]], Callable[[Scene], str]]:
    """It reaches what it wants confined too: no boundary of the operating system holds it. The README says so."""

    def enter(act: Callable[[Scene], str]) -> Callable[[Scene], str]:
        LIMITS.append(Attack(act.__name__, kind, act, needs, "beside"))
        return act

    return enter


def as_root(user_id: int) -> str:
    return "" if user_id == 0 else "unconfined, only root can do that"


def as_a_user(user_id: int) -> str:
    return "" if user_id != 0 else "root has nothing to gain by it"


def with_a_root_beside(user_id: int) -> str:
    return "" if os.getuid() == 0 and user_id == NOBODY else "only root can set it up, for somebody who is not root"


def setting(path: str, most: int) -> Callable[[int], str]:
    """A switch of the kernel is at most this, or root asks."""

    def need(user_id: int) -> str:
        try:
            value = int(Path("/proc/sys", path).read_text())
        except (OSError, ValueError):
            return ""  # the switch does not exist: nothing is switched off
        return "" if user_id == 0 or value <= most else f"{path} is {value}, which refuses it to everybody but root"

    return need


def program(name: str) -> Callable[[int], str]:
    return lambda _: "" if shutil.which(name, path=SYSTEM_PATH) else f"there is no {name} here"


def user_namespaces(user_id: int) -> str:
    return setting("kernel/apparmor_restrict_unprivileged_userns", 0)(user_id)
