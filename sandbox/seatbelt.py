"""How a command is confined on macOS: a profile for ``sandbox-exec`` and the argument vector. Pure.

Of the rules of a profile the last one that fits counts. So: nothing is allowed; then what is; then, of the writable,
what is protected; last what is hidden. Rules fit paths as the kernel resolves them, so that links do not matter, and
fit names that do not exist too: nothing has to be moved out afterwards, and the quarantine finds nothing to do.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from .paths import lies_in
from .quarantine.protected import PROTECTED_NAMES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SANDBOX_EXEC: Final = "/usr/bin/sandbox-exec"

_DEVICES: Final = ("/dev/null", "/dev/zero", "/dev/tty", "/dev/dtracehelper", "/dev/stdout", "/dev/stderr")

_SERVICES: Final = (
    "com.apple.bsd.dirhelper",
    "com.apple.cfprefsd.agent",
    "com.apple.cfprefsd.daemon",
    "com.apple.diagnosticd",
    "com.apple.logd",
    "com.apple.system.logger",
    "com.apple.system.notification_center",
    "com.apple.system.opendirectoryd.libinfo",
    "com.apple.system.opendirectoryd.membership",
)
"""Services of the system that programs ask at their start; none of them starts a program or opens a file for others."""

_NETWORK_SERVICES: Final = (
    "com.apple.SystemConfiguration.configd",
    "com.apple.SystemConfiguration.DNSConfiguration",
    "com.apple.dnssd.service",
    "com.apple.networkd",
    "com.apple.trustd",
    "com.apple.trustd.agent",
)

_RESOLVER_SOCKET: Final = "/private/var/run/mDNSResponder"


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatbeltPolicy:
    """What one command may do. All paths are absolute and resolved (``/private/tmp``, not ``/tmp``).

    ``writable`` are the roots, temporary and other places; ``roots`` those of them whose protected names are protected.
    ``read_only`` are further protected paths, such as git's directories; ``hidden`` those that cannot be read.
    """

    roots: tuple[str, ...]
    writable: tuple[str, ...]
    read_only: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    network: bool = False


def seatbelt_argv(policy: SeatbeltPolicy, argv: Sequence[str]) -> tuple[str, ...]:
    """The argument vector that starts ``argv`` confined."""
    return (SANDBOX_EXEC, "-p", seatbelt_profile(policy), "--", *argv)


def seatbelt_profile(policy: SeatbeltPolicy) -> str:
    """The profile, a rule per line."""
    return "\n".join(
        [
            "(version 1)",
            "(deny default)",
            *_process_rules(),
            "(allow file-read*)",
            *_write_rules(policy.writable),
            *_network_rules(network=policy.network),
            *_protected_rules(policy),
            *_hidden_rules(policy.hidden),
            *_pin_rules((*policy.read_only, *policy.hidden), policy.writable),
            "",
        ]
    )


def quoted(path: str) -> str:
    """A path as a string of the profile, whatever is in it: it ends where it ends and means itself."""
    pieces: list[str] = []
    for byte in os.fsencode(path):
        character = chr(byte)
        if character in {'"', "\\"}:
            pieces.append(f"\\{character}")
        elif byte < 0x20 or byte == 0x7F:
            pieces.append(f"\\x{byte:02x}")
        else:
            pieces.append(character)
    return '"' + os.fsdecode("".join(pieces).encode("latin-1")) + '"'


def _process_rules() -> Iterable[str]:
    yield "(allow process-exec)"
    yield "(allow process-fork)"
    yield "(allow process-info* (target same-sandbox))"
    yield "(allow signal (target same-sandbox))"
    yield "(allow sysctl-read)"
    yield "(allow ipc-posix-sem)"
    yield "(allow pseudo-tty)"
    yield from _services(_SERVICES)


def _services(names: Iterable[str]) -> Iterable[str]:
    return (f"(allow mach-lookup (global-name {quoted(name)}))" for name in names)


def _write_rules(writable: Iterable[str]) -> Iterable[str]:
    yield from (f"(allow file-write* (subpath {quoted(path)}))" for path in writable)
    yield from (f"(allow file-write-data (literal {quoted(path)}))" for path in _DEVICES)
    yield f"(allow file-write* file-ioctl (literal {quoted('/dev/ptmx')}))"
    # Only terminals that the command has opened itself: into another one it could type.
    yield (
        r'(allow file-write* file-ioctl (require-all (regex #"^/dev/ttys[0-9]+$") '
        '(extension "com.apple.sandbox.pty")))'
    )
    yield "(deny file-write-setugid)"  # also in a writable place: a file that runs with the rights of another user


def _network_rules(*, network: bool) -> Iterable[str]:
    """With a network, only that of addresses: a Unix socket leads to daemons that act outside of the sandbox."""
    if not network:
        yield "(deny network*)"
        return
    yield '(allow network-outbound (remote ip "*:*"))'
    yield '(allow network-inbound (local ip "*:*"))'
    yield '(allow network-bind (local ip "*:*"))'
    yield "(allow system-socket)"
    yield f"(allow network-outbound (literal {quoted(_RESOLVER_SOCKET)}))"
    yield from _services(_NETWORK_SERVICES)


def _protected_rules(policy: SeatbeltPolicy) -> Iterable[str]:
    for root in policy.roots:
        for name in PROTECTED_NAMES:
            yield f"(deny file-write* (subpath {quoted(os.path.join(root, name))}) (regex {_in_any_case(root, name)}))"
    yield from (f"(deny file-write* (subpath {quoted(path)}))" for path in policy.read_only)


def _in_any_case(root: str, name: str) -> str:
    """A pattern for a name below a root in whatever case, which the disk takes for the same.

    What is not plain in the root's path may be anything: a pattern that forbids too much is safe, a wrong escape not.
    """
    start = re.sub(r"[^A-Za-z0-9/_-]+", "[^/]+", root.rstrip("/"))
    return f'#"^{start}/{"".join(map(_either_case, name))}(/|$)"'


def _either_case(character: str) -> str:
    if character.isalpha():
        return f"[{character.lower()}{character.upper()}]"
    return r"\." if character == "." else character


def _hidden_rules(hidden: Iterable[str]) -> Iterable[str]:
    return (f"(deny file-read* file-write* (subpath {quoted(path)}))" for path in hidden)


def _pin_rules(fixed: Iterable[str], writable: Sequence[str]) -> Iterable[str]:
    """No directory above a fixed path is renamed or removed: below another name the path would not fit its rule."""
    above: set[str] = set()
    for path in (*fixed, *writable):
        places = [place for place in writable if lies_in(path, place)]
        while any(lies_in(path, place) for place in places):
            above.add(path)
            path = os.path.dirname(path)  # noqa: PLW2901  upwards, to the end of the writable
            if path == "/":
                break
    return (f"(deny file-write-unlink (literal {quoted(path)}))" for path in sorted(above))
