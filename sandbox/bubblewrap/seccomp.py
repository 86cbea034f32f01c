"""The filter of system calls for confined commands, as a classic BPF program emitted by hand. Pure: bytes out of names.

It closes what namespaces and mounts leave open: sockets that reach the host by other ways than IP (Unix sockets,
VSOCK, ...), io_uring (which makes sockets behind a filter's back), looking into other processes, keyrings, typing into
a terminal, and programs that let any other user of the host be the one who made them (setuid). Where the filter cannot
tell, it refuses.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection

EPERM: Final = 1
ENOSYS: Final = 38
EAFNOSUPPORT: Final = 97

AF_UNIX: Final = 1
SOCKET_FAMILIES: Final = {"INET": 2, "INET6": 10, "NETLINK": 16}
"""All that IP needs; a socket of any other family could reach the host or a hypervisor."""

SOCKET_PAIR_TYPES: Final = {"STREAM": 1, "SEQPACKET": 5}
"""A pair of datagram sockets could still send to any Unix socket of the host, a connected one cannot."""

TERMINAL_REQUESTS: Final = {"TIOCSTI": 0x5412, "TIOCLINUX": 0x541C}
"""They type into the terminal that the server was started from."""

REFUSED: Final = (
    "ptrace",
    "process_vm_readv",
    "process_vm_writev",
    "pidfd_getfd",
    "add_key",
    "request_key",
    "keyctl",
    "bpf",
    "perf_event_open",
    "userfaultfd",
    "open_by_handle_at",
    "setns",
    "kexec_load",
    "kexec_file_load",
)
"""Answered with EPERM, whoever asks."""

ABSENT: Final = ("io_uring_setup", "io_uring_enter", "io_uring_register", "openat2")
"""Answered with ENOSYS, so that programs fall back to what they did before these calls existed.
``openat2`` hides the mode of a new file from the filter.
"""

MODE_ARGUMENTS: Final = {"chmod": 1, "fchmod": 1, "fchmodat": 2, "fchmodat2": 2, "mknod": 1, "mknodat": 2, "creat": 1}
"""Calls that set a file's mode, and which argument it is. Not every architecture has them all."""

OPEN_ARGUMENTS: Final = {"open": (1, 2), "openat": (2, 3)}
"""Calls that may make a file, and which arguments are the flags and the mode; without these flags there is no mode."""

OPEN_MAKES: Final = 0x40 | 0x400000
"""O_CREAT, and what O_TMPFILE has besides O_DIRECTORY."""

SET_USER_ID: Final = 0o4000


@dataclass(frozen=True, slots=True)
class Machine:
    """One architecture: what the kernel calls it in the filter's data, and its numbers of system calls.

    ``foreign_bit``: numbers from here on belong to a second table of the same architecture (x32), which is absent.
    """

    audit_arch: int
    numbers: dict[str, int]
    foreign_bit: int | None = None


MACHINES: Final = {
    "x86_64": Machine(
        audit_arch=0xC000003E,
        foreign_bit=0x40000000,
        numbers={
            "ioctl": 16,
            "socket": 41,
            "socketpair": 53,
            "ptrace": 101,
            "kexec_load": 246,
            "add_key": 248,
            "request_key": 249,
            "keyctl": 250,
            "perf_event_open": 298,
            "open_by_handle_at": 304,
            "setns": 308,
            "process_vm_readv": 310,
            "process_vm_writev": 311,
            "kexec_file_load": 320,
            "bpf": 321,
            "userfaultfd": 323,
            "pidfd_getfd": 438,
            "io_uring_setup": 425,
            "io_uring_enter": 426,
            "io_uring_register": 427,
            "openat2": 437,
            "open": 2,
            "creat": 85,
            "chmod": 90,
            "fchmod": 91,
            "mknod": 133,
            "openat": 257,
            "mknodat": 259,
            "fchmodat": 268,
            "fchmodat2": 452,
        },
    ),
    "aarch64": Machine(
        audit_arch=0xC00000B7,
        numbers={
            "ioctl": 29,
            "kexec_load": 104,
            "ptrace": 117,
            "socket": 198,
            "socketpair": 199,
            "add_key": 217,
            "request_key": 218,
            "keyctl": 219,
            "perf_event_open": 241,
            "open_by_handle_at": 265,
            "setns": 268,
            "process_vm_readv": 270,
            "process_vm_writev": 271,
            "bpf": 280,
            "userfaultfd": 282,
            "kexec_file_load": 294,
            "pidfd_getfd": 438,
            "io_uring_setup": 425,
            "io_uring_enter": 426,
            "io_uring_register": 427,
            "openat2": 437,
            "mknodat": 33,
            "fchmod": 52,
            "fchmodat": 53,
            "openat": 56,
            "fchmodat2": 452,
        },
    ),
}
"""The architectures that the filter is written for, by the machine name of ``uname``. Both are little-endian."""


def build_filter(machine: str) -> bytes:
    """The program for ``bwrap --seccomp``: an array of ``struct sock_filter`` for this machine (``uname -m``).

    Raises:
        KeyError: it is not written for this machine.
    """
    target = MACHINES[machine]
    numbers = target.numbers
    program = _require_architecture(target)
    program += _answer([numbers[name] for name in ABSENT], ENOSYS)
    program += _answer([numbers[name] for name in REFUSED], EPERM)
    program += _only(numbers["socket"], 0, None, SOCKET_FAMILIES.values(), EAFNOSUPPORT)
    program += _only(numbers["socketpair"], 0, None, [AF_UNIX], EAFNOSUPPORT)
    program += _only(numbers["socketpair"], 1, _SOCKET_TYPE_MASK, SOCKET_PAIR_TYPES.values(), EPERM)
    program += _never(numbers["ioctl"], 1, TERMINAL_REQUESTS.values(), EPERM)
    for name, mode in MODE_ARGUMENTS.items():
        if name in numbers:
            program += _for_call(numbers[name], _without_bits(mode, SET_USER_ID, EPERM))
    for name, (flags, mode) in OPEN_ARGUMENTS.items():
        if name in numbers:
            program += _for_call(numbers[name], _if_bits(flags, OPEN_MAKES, _without_bits(mode, SET_USER_ID, EPERM)))
    program.append(_return(_ALLOW))
    return b"".join(struct.pack("<HBBI", *each) for each in program)


# The kernel's numbers for instructions, and the places of a call's data that they load.
_LOAD_WORD: Final = 0x20
_AND: Final = 0x54
_JUMP_IF_EQUAL: Final = 0x15
_JUMP_IF_AT_LEAST: Final = 0x35
_JUMP_IF_ANY_BIT: Final = 0x45
_RETURN: Final = 0x06

_NUMBER: Final = 0
_ARCHITECTURE: Final = 4
_ARGUMENTS: Final = 16  # of 8 bytes each; their low halves, as the kernel itself takes these as 32 bits wide

_ALLOW: Final = 0x7FFF0000
_KILL_PROCESS: Final = 0x80000000
_ERRNO: Final = 0x00050000
_SOCKET_TYPE_MASK: Final = 0xF  # the rest of the argument are flags

_Instruction = tuple[int, int, int, int]


def _require_architecture(target: Machine) -> list[_Instruction]:
    """A call by another architecture's table is a call by other numbers: the process ends."""
    program = [
        (_LOAD_WORD, 0, 0, _ARCHITECTURE),
        (_JUMP_IF_EQUAL, 1, 0, target.audit_arch),
        _return(_KILL_PROCESS),
        (_LOAD_WORD, 0, 0, _NUMBER),
    ]
    if target.foreign_bit is not None:
        program += [(_JUMP_IF_AT_LEAST, 0, 1, target.foreign_bit), _return(_ERRNO | ENOSYS)]
    return program


def _answer(numbers: Collection[int], errno: int) -> list[_Instruction]:
    """With the number loaded: these calls get this error."""
    last = len(numbers) - 1
    jumps = [(_JUMP_IF_EQUAL, last - index, int(index == last), number) for index, number in enumerate(numbers)]
    return [*jumps, _return(_ERRNO | errno)]


def _only(number: int, argument: int, mask: int | None, values: Collection[int], errno: int) -> list[_Instruction]:
    """With the number loaded: this call gets this error unless the argument is one of the values."""
    test: list[_Instruction] = [_load(argument)]
    if mask is not None:
        test.append((_AND, 0, 0, mask))
    test += [(_JUMP_IF_EQUAL, len(values) - index, 0, value) for index, value in enumerate(values)]
    test.append(_return(_ERRNO | errno))
    return _for_call(number, test)


def _never(number: int, argument: int, values: Collection[int], errno: int) -> list[_Instruction]:
    """With the number loaded: this call gets this error if the argument is one of the values."""
    test: list[_Instruction] = [_load(argument), *_answer(values, errno)]
    return _for_call(number, test)


def _without_bits(argument: int, bits: int, errno: int) -> list[_Instruction]:
    """This error if any of the bits is set in the argument."""
    return [_load(argument), (_JUMP_IF_ANY_BIT, 0, 1, bits), _return(_ERRNO | errno)]


def _if_bits(argument: int, bits: int, test: list[_Instruction]) -> list[_Instruction]:
    """The test, if any of the bits is set in the argument."""
    return [_load(argument), (_JUMP_IF_ANY_BIT, 0, len(test), bits), *test]


def _for_call(number: int, test: list[_Instruction]) -> list[_Instruction]:
    """Run the test for this call alone; the number is loaded again after it."""
    return [(_JUMP_IF_EQUAL, 0, len(test), number), *test, (_LOAD_WORD, 0, 0, _NUMBER)]


def _load(argument: int) -> _Instruction:
    return (_LOAD_WORD, 0, 0, _ARGUMENTS + 8 * argument)


def _return(value: int) -> _Instruction:
    return (_RETURN, 0, 0, value)
