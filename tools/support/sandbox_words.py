"""What the descriptions of file tools say where the files are those of a sandbox (T8)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from openbuffer.sandbox.port import routes_files_through_sandbox

if TYPE_CHECKING:
    from openbuffer.sandbox.port import SandboxClient

IN_SANDBOX: Final = "in the session's sandbox, which has files of its own"
PATHS_IN_SANDBOX: Final = (
    "Paths are POSIX paths in the sandbox, which confines them by itself; a relative one starts at the first root, and "
    "one with `..` is refused."
)
HOW_WRITTEN_IN_SANDBOX: Final = (
    "In the sandbox the file is compared with what it was right ahead of the writing, and not replaced in one step: it "
    "can be seen half-written, a command that changes it at the same moment is not noticed, and permissions and "
    "attributes are left to the sandbox."
)


def is_in_sandbox(sandbox: SandboxClient | None) -> bool:
    """Whether file tools work in there and not on this host."""
    return routes_files_through_sandbox(sandbox)
