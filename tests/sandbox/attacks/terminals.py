"""A terminal of the host that the attacker's user owns."""

from __future__ import annotations

import os
import select
import tty
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from types import TracebackType

    from attack_scene import Scene


class Terminal:
    """``path`` is where its programs sit; this is the side of the screen and the keyboard."""

    def __init__(self, scene: Scene) -> None:
        self._screen, self._line = os.openpty()
        tty.setraw(self._line)
        self.path = os.ttyname(self._line)
        if os.getuid() == 0:
            os.chown(self.path, scene.user_id, -1)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._line)
        os.close(self._screen)

    def type(self, text: str) -> None:
        os.write(self._screen, text.encode())

    def shown(self) -> str:
        """What a program has written to it."""
        return _waiting(self._screen)

    def typed(self) -> str:
        """What waits to be read by a program, as if somebody had typed it."""
        return _waiting(self._line)


def _waiting(descriptor: int) -> str:
    ready, _, _ = select.select([descriptor], [], [], 0.05)
    return os.read(descriptor, 1000).decode() if ready else ""
