"""The port to a computer that is driven: screen, mouse, keyboard, and a person who may take over; pure data (W6).

There is no driver of this host, and none is looked for: without one that a composition root gives there is nothing.

Points and distances are in the screen's own units, of a browser page CSS pixels, from its upper left corner. They may
be fractions: a point is the middle of a pixel. A driver that knows whole units alone takes the one it lies in.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol, TypeAlias, get_args

from .errors import ToolFailure

MouseButton: TypeAlias = Literal["left", "middle", "right"]
ActionName: TypeAlias = Literal[
    "click", "double_click", "move", "drag", "scroll", "type", "keypress", "wait", "takeover"
]
ACTIONS: Final[tuple[ActionName, ...]] = get_args(ActionName)


class ComputerFailure(ToolFailure):
    """What was asked of the computer was not done, or not all of it; the text says which, and what to do next."""


class TakenOverError(ComputerFailure):
    """A person has the computer, so that nothing is done and no picture is taken."""


@dataclass(frozen=True, slots=True)
class Point:
    """A place on the screen."""

    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Click:
    """Press and release a button at a point."""

    point: Point
    button: MouseButton = "left"


@dataclass(frozen=True, slots=True)
class DoubleClick:
    """Click twice, as one double click."""

    point: Point
    button: MouseButton = "left"


@dataclass(frozen=True, slots=True)
class Move:
    """Move the pointer, with no button pressed."""

    point: Point


@dataclass(frozen=True, slots=True)
class Drag:
    """Press a button at the first point, move through the others, release it at the last. There are two at least."""

    path: tuple[Point, ...]
    button: MouseButton = "left"


@dataclass(frozen=True, slots=True)
class Scroll:
    """Turn the wheel at a point: positive ``dx`` shows what is further right, positive ``dy`` what is further down."""

    point: Point
    dx: float
    dy: float


@dataclass(frozen=True, slots=True)
class TypeText:
    """Type a text where the keyboard is; a line feed is Enter, a tab Tab, and no other control character is in it."""

    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class PressKeys:
    """Press keys together: all are held in this order and released the other way round.

    Names are those of the DOM's ``KeyboardEvent.key``; a space is "Space".
    """

    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Wait:
    """Do nothing for so many seconds."""

    seconds: float


ComputerAction: TypeAlias = Click | DoubleClick | Move | Drag | Scroll | TypeText | PressKeys | Wait
"""Everything that a driver performs; handing the computer over is a method of its own."""


@dataclass(frozen=True, slots=True)
class Screen:
    """What is driven: its size in units, and how many pixels of the device a unit has.

    ``view`` is another number whenever something else is shown than before, so that places on an older picture mean
    nothing any more: another page came to the front, or a person had the computer.
    """

    width: int
    height: int
    scale: float = 1.0
    view: int = 0


@dataclass(frozen=True, slots=True)
class PictureBounds:
    """How large a picture may be, in pixels: its longer side, and all of it."""

    side: int
    pixels: int

    def admit(self, width: int, height: int) -> bool:
        """Whether a picture of this size is within them."""
        return max(width, height) <= self.side and width * height <= self.pixels

    def fit(self, width: int, height: int) -> tuple[int, int]:
        """The largest size of the same shape within them, and not larger than that; at least one pixel each way."""
        if self.admit(width, height):
            return width, height
        factor = min(self.side / max(width, height), math.sqrt(self.pixels / (width * height)))
        fitted = max(1, math.floor(width * factor)), max(1, math.floor(height * factor))
        return min(fitted[0], self.pixels), min(fitted[1], max(1, self.pixels // fitted[0]))

    def smaller(self, factor: float) -> PictureBounds:
        """The same with sides of ``factor`` times the length; at least one pixel."""
        return PictureBounds(max(1, int(self.side * factor)), max(1, int(self.pixels * factor * factor)))


@dataclass(frozen=True, slots=True)
class Screenshot:
    """A picture of the whole screen as PNG. ``about`` says in a sentence what is shown, or is empty."""

    png: bytes = field(repr=False)
    screen: Screen
    about: str = ""


@dataclass(frozen=True, slots=True)
class Takeover:
    """A person has the computer; ``reason`` is why."""

    reason: str


class ComputerDriver(Protocol):
    """Drives one computer, one call after the other; further ones wait. Every call ends in bounded time.

    While a person has the computer, ``screenshot`` and ``perform`` raise TakenOverError and do nothing; what was under
    way when they took it is stopped first, and a picture of that moment is not handed out.
    """

    @property
    def actions(self) -> frozenset[ActionName]:
        """What it can do, always the same; nothing else is offered to a model or asked of it."""
        ...

    @property
    def takeover(self) -> Takeover | None:
        """Who has the computer now; None where it is driven."""
        ...

    @property
    def held(self) -> frozenset[str]:
        """Keys and buttons that it pressed and could not release, by names for people; mostly none."""
        ...

    async def screen(self) -> Screen:
        """The screen as it is now.

        Raises:
            ComputerFailure: it cannot be told.
        """
        ...

    async def screenshot(self, bounds: PictureBounds) -> Screenshot:
        """Take a picture of the whole screen within the bounds, as far as the driver can make one smaller.

        Raises:
            TakenOverError: a person has the computer.
            ComputerFailure: there is none.
        """
        ...

    async def perform(self, action: ComputerAction) -> None:
        """Do it. However it ends, cancelled too, what it pressed is released before; ``held`` is what could not be.

        Raises:
            TakenOverError: a person has, or took, the computer.
            ComputerFailure: it was not done, or not all of it.
        """
        ...

    async def begin_takeover(self, reason: str) -> None:
        """Let a person have the computer; returns once nothing is done with it any more. Anybody may call it.

        Raises:
            TakenOverError: a person has it already.
        """
        ...

    async def end_takeover(self) -> None:
        """The person has handed it back. Only who has their word for it may call it."""
        ...

    def happened(self) -> tuple[str, ...]:
        """What happened by itself since this was last asked, as sentences: dialogs, other pages, what is still held."""
        ...
