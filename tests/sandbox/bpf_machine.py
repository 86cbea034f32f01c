"""A small machine for classic BPF as seccomp runs it: what a filter answers to a system call."""

from __future__ import annotations

import struct
from dataclasses import dataclass


@dataclass(frozen=True)
class SystemCall:
    arch: int
    number: int
    arguments: tuple[int, ...] = ()

    @property
    def data(self) -> bytes:
        arguments = (*self.arguments, 0, 0, 0, 0, 0, 0)[:6]
        return struct.pack(
            "<IIQ6Q", self.number & 0xFFFFFFFF, self.arch, 0, *(each & (2**64 - 1) for each in arguments)
        )


def answer(program: bytes, call: SystemCall) -> str:
    """``allow``, ``kill``, or ``errno N``; anything the kernel's checker would refuse is an assertion."""
    instructions = [struct.unpack_from("<HBBI", program, offset) for offset in range(0, len(program), 8)]
    data = call.data
    accumulator = 0
    position = 0
    while True:
        code, if_true, if_false, constant = instructions[position]
        position += 1
        if code == 0x20:
            assert constant % 4 == 0
            assert constant < 64
            (accumulator,) = struct.unpack_from("<I", data, constant)
        elif code == 0x54:
            accumulator &= constant
        elif code in {0x15, 0x35, 0x45}:
            tests = {0x15: accumulator == constant, 0x35: accumulator >= constant, 0x45: accumulator & constant != 0}
            holds = tests[code]
            position += if_true if holds else if_false
        else:
            assert code == 0x06, f"unknown instruction {code:#x}"
            return _named(constant)


def _named(value: int) -> str:
    action = value & 0xFFFF0000
    if action == 0x00050000:
        return f"errno {value & 0xFFFF}"
    return {0x7FFF0000: "allow", 0x80000000: "kill"}[action]
