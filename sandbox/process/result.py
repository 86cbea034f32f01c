"""What is known of a command that has ended: values, and the limits of what is kept. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

How = Literal["exited", "timed_out", "cancelled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureLimits:
    """How many bytes of the output are kept: the first ones and the last ones."""

    head_bytes: int
    tail_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Captured:
    r"""The output of a command, stdout and stderr as they came, as much of it as was kept.

    ``head`` is all of it when nothing is missing. Otherwise ``omitted_bytes`` with ``omitted_lines`` line ends lay
    between ``head`` and ``tail``. ``total_bytes`` is what the command wrote. ``folded``: text that a later carriage
    return on the same line had overwritten is not shown and not counted as omitted. Bytes that are not UTF-8 show as
    ``\xNN``.
    """

    head: str
    tail: str = ""
    total_bytes: int = 0
    omitted_bytes: int = 0
    omitted_lines: int = 0
    folded: bool = False

    @property
    def cut(self) -> bool:
        """Whether ``head`` and ``tail`` are not the whole output."""
        return self.omitted_bytes > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """The end of a command.

    ``exit_code`` is 128 + n for one that signal n ended, and None where the command was cancelled before it was
    started or where its end could not be awaited. ``left_running`` are processes of the command that go on in the
    background, by pid. ``seconds`` from the start to the end.
    """

    how: How
    exit_code: int | None
    signal: int | None
    output: Captured
    left_running: tuple[int, ...]
    seconds: float
