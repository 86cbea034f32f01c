"""What the tools of a session write under protected names, told to the sandbox; ``saves`` has what the editor writes.

Otherwise it would be taken for the work of a command that runs meanwhile, and be moved out when that ends. What is told
is what was meant to be written, never what is found in the file: that may be the command's by then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio.to_thread
from openbuffer.sandbox.quarantine.protected import has_protected_name
from openbuffer.tools.events import ToolFinished, ToolIntended

if TYPE_CHECKING:
    from collections.abc import Callable

    from openbuffer.tools.contract import FileChange
    from openbuffer.tools.event_log import EventLog
    from openbuffer.tools.events import Event


class ToldEventLog:
    """Records in ``log``, and tells of each change of a file: before it is made, and once more when it was made.

    The second time is for a command that began in between. ``tell`` takes a resolved path and the whole content that
    the file is to have; it blocks, and never raises. Fulfils ``EventLog``.
    """

    def __init__(self, log: EventLog, tell: Callable[[str, bytes], None]) -> None:
        self._log = log
        self._tell = tell
        self._under_way: dict[str, tuple[str, bytes]] = {}

    async def append(self, event: Event) -> None:
        """Record the event; raises whatever the log raises, and then tells nothing."""
        written = _written_by(event)  # its content is lent for as long as it is being recorded
        made = self._under_way.pop(event.call_id, None)
        await self._log.append(event)
        if written is not None:
            self._under_way[event.call_id] = written
        elif isinstance(event, ToolFinished) and event.outcome == "succeeded":
            written = made
        if written is not None:
            await anyio.to_thread.run_sync(self._tell, *written)


def _written_by(event: Event) -> tuple[str, bytes] | None:
    change = event.change if isinstance(event, ToolIntended) else None
    if change is None or change.in_sandbox or not has_protected_name(change.path):
        return None
    content = _content_after(change)
    return None if content is None else (change.path, content)


def _content_after(change: FileChange) -> bytes | None:
    """The whole content of the file, where it can be told for certain."""
    before = b"" if change.before_bytes is None else None if change.before is None else change.before.content
    if before is None or change.after_bytes is None:
        return None
    lines = before.split(b"\n")
    for hunk in reversed(change.hunks):
        first = hunk.start_line - 1
        last = first + hunk.before.count("\n")
        whole = b"\n".join(lines[first : last + 1])
        old = hunk.before.encode()
        if not whole.startswith(old):
            return None  # the text of the hunks is not encoded as the file is
        lines[first : last + 1] = (hunk.after.encode() + whole[len(old) :]).split(b"\n")
    after = b"\n".join(lines)
    return after if len(after) == change.after_bytes else None
