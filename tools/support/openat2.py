"""Linux' openat2(2), which the standard library does not have: opening a path that cannot leave a directory.

Only a fast path: where the call is missing (other systems, old kernels, seccomp filters) ``available()`` is False
and paths are walked name by name instead.
"""

from __future__ import annotations

import functools
import os
import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

_SYSCALL_NUMBER: Final = 437
# The number is the same wherever the kernel numbers its calls uniformly; alpha and mips do not.
_UNIFORM_MACHINES: Final = frozenset(
    {"x86_64", "i686", "i586", "aarch64", "armv8l", "armv7l", "riscv64", "ppc64le", "ppc64", "s390x", "loongarch64"}
)
_AT_FDCWD: Final = -100
_RESOLVE_NO_SYMLINKS: Final = 0x04
_RESOLVE_BENEATH: Final = 0x08


def available() -> bool:
    """Whether the kernel offers the call to this process; found out once."""
    return _opener() is not None


def open_directory_beneath(directory_fd: int, path: str) -> int:
    """Open a directory for use as an anchor (O_PATH); no link is followed on the way.

    Raises:
        OSError: EXDEV when the path leaves ``directory_fd``, ELOOP at a link, and whatever opening may raise.
    """
    opener = _opener()
    assert opener is not None, "ask available() first"
    return opener(directory_fd, path)


@functools.cache
def _opener() -> Callable[[int, str], int] | None:
    if sys.platform != "linux" or os.uname().machine not in _UNIFORM_MACHINES:
        return None
    try:
        opener = _bind()
        os.close(opener(_AT_FDCWD, "."))
    except (OSError, AttributeError, ImportError):
        return None
    return opener


def _bind() -> Callable[[int, str], int]:
    import ctypes  # noqa: PLC0415  costs milliseconds, paid by the first path and not by the first answer

    class OpenHow(ctypes.Structure):
        _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))

    syscall = ctypes.CDLL(None, use_errno=True).syscall
    syscall.argtypes = (ctypes.c_long, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t)
    syscall.restype = ctypes.c_long
    # The kernel only reads this, so that one instance serves every thread.
    how = OpenHow(os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC, 0, _RESOLVE_BENEATH | _RESOLVE_NO_SYMLINKS)
    how_address, how_size = ctypes.addressof(how), ctypes.sizeof(how)
    get_errno, fsencode, keep_alive = ctypes.get_errno, os.fsencode, how

    def open_directory(directory_fd: int, path: str) -> int:
        fd = syscall(_SYSCALL_NUMBER, directory_fd, fsencode(path), how_address, how_size)
        if fd < 0:
            number = get_errno()
            raise OSError(number, os.strerror(number), path)
        return fd

    open_directory.__dict__["how"] = keep_alive
    return open_directory
