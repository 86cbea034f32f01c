"""Files read and written as a command would: by a small shell script that is confined like every other one.

What holds is what holds for commands; nothing here judges a path.
"""

from __future__ import annotations

from typing import Final

READ_SCRIPT: Final = """
export LC_ALL=C
[ ! -d "$1" ] || { echo "$1: Is a directory" >&2; exit 1; }
exec head -c "$2" -- "$1"
"""
"""A directory is told first, because not every ``head`` says so in the same words."""

WRITE_SCRIPT: Final = """
set -e
export LC_ALL=C
mkdir -p -- "${1%/*}/"
target=$(readlink -f -- "$1")
[ ! -d "$target" ] || { echo "$target: Is a directory" >&2; exit 1; }
new=$(mktemp -- "$target.XXXXXXXX")
trap 'rm -f -- "$new"' EXIT
cat -- "/proc/self/fd/$2" > "$new"
if [ -e "$target" ]; then chmod --reference="$target" -- "$new"; else chmod =rw -- "$new"; fi
mv -fT -- "$new" "$target"
"""
"""The new content is whole before it takes the place of the old one."""


def read_argv(path: str, max_bytes: int) -> tuple[str, ...]:
    """Print the file, and one byte more than may be read if it has that many."""
    return ("/bin/sh", "-c", READ_SCRIPT, "read", path, str(max_bytes + 1))


def write_argv(path: str, content_fd: int) -> tuple[str, ...]:
    """Replace the file, or make it, with what the inherited descriptor holds."""
    return ("/bin/sh", "-c", WRITE_SCRIPT, "write", path, str(content_fd))
