"""What goes into a container by one call: many files as an archive, variables in a file that has no name."""

from __future__ import annotations

import io
import tarfile
import tempfile
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..port import require_sandbox_path

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Generator, Mapping, Sequence


def archive_of(files: Sequence[tuple[str, bytes | None]]) -> bytes:
    """The files, by their absolute paths, and directories (None) as an archive of tar's.

    Raises:
        SandboxPathError: one has no usable path.
    """
    packed = io.BytesIO()
    # BusyBox understands GNU's long names, and not the newer format's.
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT, encoding="utf-8") as archive:
        for path, content in files:
            entry = tarfile.TarInfo(require_sandbox_path(path).lstrip("/"))
            entry.type = tarfile.DIRTYPE if content is None else tarfile.REGTYPE
            entry.mode = 0o755 if content is None else 0o644
            entry.size = len(content or b"")
            entry.mtime = int(time.time())
            archive.addfile(entry, io.BytesIO(content or b""))
    return packed.getvalue()


@contextmanager
def handed_on(variables: Mapping[str, str]) -> Generator[int | None]:
    """The descriptor of a file with the variables, so that no other process of the host sees them; None for none."""
    if not variables:
        yield None
        return
    with tempfile.TemporaryFile() as file:
        file.write("".join(f"{name}={value}\n" for name, value in variables.items()).encode())
        file.flush()
        file.seek(0)
        yield file.fileno()


async def one_piece(content: bytes) -> AsyncIterator[bytes]:
    """The content as what is fed."""
    if content:
        yield content
