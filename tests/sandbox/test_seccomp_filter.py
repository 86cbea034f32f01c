"""The filter of system calls, run by a small machine of our own over every number, and by the kernel itself."""

from __future__ import annotations

import errno
import os
import socket
import struct

import pytest
from bpf_machine import SystemCall, answer
from hypothesis import given
from hypothesis import strategies as st
from openbuffer.sandbox.bubblewrap.seccomp import (
    ABSENT,
    MACHINES,
    MODE_ARGUMENTS,
    OPEN_ARGUMENTS,
    REFUSED,
    build_filter,
)

NAMES = sorted(MACHINES)
EVERY_NUMBER = range(600)


def call(machine: str, name: str, *arguments: int) -> str:
    target = MACHINES[machine]
    return answer(build_filter(machine), SystemCall(target.audit_arch, target.numbers[name], arguments))


@pytest.mark.parametrize("machine", NAMES)
def test_all_other_calls_of_the_table_are_allowed(machine: str) -> None:
    target = MACHINES[machine]
    program = build_filter(machine)
    named = set(target.numbers.values())
    answers = {number: answer(program, SystemCall(target.audit_arch, number)) for number in EVERY_NUMBER}
    assert {number for number, said in answers.items() if said != "allow"} <= named
    assert [said for number, said in answers.items() if number not in named] == ["allow"] * (600 - len(named))


@pytest.mark.parametrize("machine", NAMES)
@pytest.mark.parametrize("name", REFUSED)
def test_looking_into_others_and_keyrings_are_not_permitted(machine: str, name: str) -> None:
    assert call(machine, name, 1, 2, 3) == f"errno {errno.EPERM}"


@pytest.mark.parametrize("machine", NAMES)
@pytest.mark.parametrize("name", ABSENT)
def test_calls_that_would_get_past_the_filter_seem_not_to_exist(machine: str, name: str) -> None:
    assert call(machine, name) == f"errno {errno.ENOSYS}"


@pytest.mark.contract("S8")
@pytest.mark.parametrize("machine", NAMES)
def test_only_ip_and_netlink_sockets_can_be_made(machine: str) -> None:
    allowed = {family for family in range(64) if call(machine, "socket", family, 1, 0) == "allow"}
    assert allowed == {socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK}
    assert call(machine, "socket", socket.AF_UNIX, 1, 0) == f"errno {errno.EAFNOSUPPORT}"


@pytest.mark.parametrize("machine", NAMES)
def test_the_upper_half_of_a_family_does_not_get_past_the_filter(machine: str) -> None:
    # The kernel takes the low 32 bits; the filter has to judge the same ones.
    assert call(machine, "socket", (1 << 32) | socket.AF_INET, 1, 0) == "allow"
    assert call(machine, "socket", (socket.AF_INET << 32) | socket.AF_UNIX, 1, 0) == f"errno {errno.EAFNOSUPPORT}"


@pytest.mark.contract("S8")
@pytest.mark.parametrize("machine", NAMES)
def test_pairs_of_sockets_are_connected_ones_alone(machine: str) -> None:
    flags = socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK
    allowed = {kind for kind in range(16) if call(machine, "socketpair", socket.AF_UNIX, kind | flags) == "allow"}
    assert allowed == {socket.SOCK_STREAM, socket.SOCK_SEQPACKET}
    assert call(machine, "socketpair", 30, socket.SOCK_STREAM) == f"errno {errno.EAFNOSUPPORT}"  # TIPC has pairs too


@pytest.mark.parametrize("machine", NAMES)
def test_nothing_can_be_typed_into_a_terminal(machine: str) -> None:
    for request in (0x5412, 0x541C, (7 << 32) | 0x5412):
        assert call(machine, "ioctl", 0, request) == f"errno {errno.EPERM}"
    assert call(machine, "ioctl", 0, 0x5401) == "allow"


@pytest.mark.parametrize("machine", NAMES)
@given(mode=st.integers(0, 2**64 - 1))
def test_no_file_gets_the_bit_by_which_others_become_its_owner(machine: str, mode: int) -> None:
    expected = f"errno {errno.EPERM}" if mode & 0o4000 else "allow"
    for name, position in MODE_ARGUMENTS.items():
        if name in MACHINES[machine].numbers:
            assert call(machine, name, *[2**64 - 1] * position, mode) == expected
    for name, (flags, position) in OPEN_ARGUMENTS.items():
        if name in MACHINES[machine].numbers:
            given_flags = {os.O_CREAT | os.O_WRONLY: expected, os.O_TMPFILE: expected, os.O_RDONLY: "allow"}
            for each, said in given_flags.items():
                arguments = [0] * position + [mode]
                arguments[flags] = each
                assert call(machine, name, *arguments) == said


@pytest.mark.parametrize("machine", NAMES)
@given(arch=st.integers(0, 2**32 - 1), number=st.integers(0, 2**32 - 1))
def test_calls_by_another_architectures_table_end_the_process(machine: str, arch: int, number: int) -> None:
    if arch != MACHINES[machine].audit_arch:
        assert answer(build_filter(machine), SystemCall(arch, number)) == "kill"


@given(number=st.integers(0x40000000, 2**32 - 1))
def test_the_second_table_of_x86_64_seems_not_to_exist(number: int) -> None:
    said = answer(build_filter("x86_64"), SystemCall(MACHINES["x86_64"].audit_arch, number, (socket.AF_UNIX,)))
    assert said == f"errno {errno.ENOSYS}"


@pytest.mark.parametrize("machine", NAMES)
def test_every_jump_ends_inside_of_the_program_and_every_path_returns(machine: str) -> None:
    program = build_filter(machine)
    instructions = list(struct.iter_unpack("<HBBI", program))
    assert len(program) % 8 == 0
    assert len(instructions) < 4096
    for position, (code, if_true, if_false, _) in enumerate(instructions):
        if code in {0x15, 0x35, 0x45}:
            assert position + 1 + max(if_true, if_false) < len(instructions)
    assert instructions[-1][0] == 0x06


def test_a_machine_that_it_is_not_written_for_has_no_filter() -> None:
    with pytest.raises(KeyError):
        build_filter("riscv64")


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the header is of this machine")
def test_the_numbers_are_those_of_the_kernels_own_header() -> None:
    header = "/usr/include/x86_64-linux-gnu/asm/unistd_64.h"
    if not os.path.exists(header):
        pytest.skip(f"there is no {header}")
    with open(header, encoding="utf-8") as lines:
        words = [line.split() for line in lines if line.startswith("#define __NR_")]
    numbers = {name.removeprefix("__NR_"): int(value) for _, name, value in words}
    ours = MACHINES["x86_64"].numbers
    known = ours.keys() & numbers.keys()  # an old header lacks the newest
    assert len(known) >= len(ours) - 1
    assert {name: ours[name] for name in known} == {name: numbers[name] for name in known}
