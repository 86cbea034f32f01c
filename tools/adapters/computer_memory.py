"""A computer in memory: a screen with parts on it, a pointer and a keyboard; for tests, and for trying an agent out."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, assert_never

import anyio

from ..computer import (
    ACTIONS,
    Click,
    ComputerFailure,
    DoubleClick,
    Drag,
    Move,
    PressKeys,
    Screen,
    Screenshot,
    Scroll,
    TypeText,
    Wait,
)
from ..support.computer_turns import ComputerTurns, Happened
from ..support.png import rgb_png
from .computer_memory_parts import WHITE, Area, MemoryPart

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..computer import ActionName, ComputerAction, MouseButton, PictureBounds, Point, Takeover
    from .computer_memory_parts import Colour, Shape


class InMemoryComputerDriver:
    """Implements ``ComputerDriver``. ``parts`` lie over each other in their order; a click gives one the keyboard.

    ``performed`` are the actions that were done. Pictures have ``scale`` pixels for each unit. ``actions`` is what it
    can do. ``busy_s`` is how long each action takes.
    """

    def __init__(
        self,
        width: int = 640,
        height: int = 400,
        *,
        scale: float = 1.0,
        parts: Sequence[MemoryPart] = (),
        actions: Iterable[ActionName] = ACTIONS,
        busy_s: float = 0.0,
    ) -> None:
        self.parts = list(parts)
        self.performed: list[ComputerAction] = []
        self.pointer: Point | None = None
        self._held: set[str] = set()
        self.busy_s = busy_s
        self.happenings = Happened()
        self._actions = frozenset(actions)
        self._size = width, height, scale
        self._views = 0
        self._focused: MemoryPart = _GROUND
        self._failure: ComputerFailure | None = None
        self._turns = ComputerTurns()

    # --- what goes on around it --------------------------------------------------------------------------------------

    def resize(self, width: int, height: int) -> None:
        """The screen has another size from now on."""
        self._size = width, height, self._size[2]

    def show(self, *parts: MemoryPart) -> None:
        """Something else is shown from now on."""
        self.parts[:] = parts
        self._focused = _GROUND
        self._views += 1

    def break_down(self, why: str) -> None:
        """Nothing works from now on; what is under way is stopped."""
        self._failure = ComputerFailure(why)
        self._turns.stop(self._failure)

    # --- ComputerDriver ----------------------------------------------------------------------------------------------

    @property
    def actions(self) -> frozenset[ActionName]:
        """What it can do."""
        return self._actions

    @property
    def takeover(self) -> Takeover | None:
        """Who has it."""
        return self._turns.takeover

    @property
    def held(self) -> frozenset[str]:
        """What is pressed at this moment."""
        return frozenset(self._held)

    async def screen(self) -> Screen:
        """The screen as it is now."""
        self._refuse_broken()
        return Screen(*self._size, self._views + self._turns.handed_back)

    async def screenshot(self, bounds: PictureBounds) -> Screenshot:
        """Paint it, at whatever size is wanted."""

        async def take() -> Screenshot:
            screen = await self.screen()
            await anyio.sleep(self.busy_s)
            size = bounds.fit(math.ceil(screen.width * screen.scale), math.ceil(screen.height * screen.scale))
            shapes = [shape for part in self.parts for shape in part.shapes()]
            return Screenshot(_painted(screen, size, shapes), screen, "A computer in memory.")

        return await self._turns.run(take, is_picture=True)

    async def perform(self, action: ComputerAction) -> None:
        """Do it to the parts that it meets."""
        await self._turns.run(lambda: self._perform(action))

    async def begin_takeover(self, reason: str) -> None:
        """Let a person have it."""
        await self._turns.begin_takeover(reason)

    async def end_takeover(self) -> None:
        """They have handed it back."""
        self._turns.end_takeover()

    def happened(self) -> tuple[str, ...]:
        """What was put into ``happenings``."""
        return self.happenings.take()

    # --- doing it ----------------------------------------------------------------------------------------------------

    async def _perform(self, action: ComputerAction) -> None:
        self._refuse_broken()
        self._held |= _held_by(action)
        try:
            await anyio.sleep(action.seconds if isinstance(action, Wait) else self.busy_s)
        finally:
            self._held.clear()
        self._do(action)
        self.performed.append(action)

    def _do(self, action: ComputerAction) -> None:
        match action:
            case Click(point, button):
                self._click(point, button, 1)
            case DoubleClick(point, button):
                self._click(point, button, 2)
            case Move(point):
                self.pointer = point
            case Drag(path):
                self.pointer = path[-1]
                self._at(path[0]).dragged(path)
            case Scroll(point, dx, dy):
                self.pointer = point
                self._at(point).scrolled(dx, dy)
            case TypeText(text):
                self._focused.typed(text)
            case PressKeys(keys):
                self._focused.pressed(keys)
            case Wait():
                pass
            case _:
                assert_never(action)

    def _click(self, point: Point, button: MouseButton, clicks: int) -> None:
        self.pointer = point
        self._focused = self._at(point)
        for count in range(1, clicks + 1):
            self._focused.clicked(button, count)

    def _at(self, point: Point) -> MemoryPart:
        return next((part for part in reversed(self.parts) if part.area.has(point)), _GROUND)

    def _refuse_broken(self) -> None:
        if self._failure is not None:
            raise self._failure


_GROUND: Final = MemoryPart(Area(0, 0, 0, 0))
"""Where there is nothing, nothing happens."""


def _held_by(action: ComputerAction) -> set[str]:
    match action:
        case Click() | DoubleClick() | Drag():
            return {action.button}
        case PressKeys(keys):
            return set(keys)
        case _:
            return set()


def _painted(screen: Screen, size: tuple[int, int], shapes: Iterable[Shape]) -> bytes:
    width, height = size
    rows = [bytearray(bytes(WHITE) * width) for _ in range(height)]
    for area, colour in shapes:
        left, right = (_pixel(x, screen.width, width) for x in (area.x, area.x + area.width))
        top, bottom = (_pixel(y, screen.height, height) for y in (area.y, area.y + area.height))
        _fill(rows[top:bottom], left, right, colour)
    return rgb_png(width, height, b"".join(rows))


def _fill(rows: Iterable[bytearray], left: int, right: int, colour: Colour) -> None:
    stripe = bytes(colour) * max(0, right - left)
    for row in rows:
        row[3 * left : 3 * left + len(stripe)] = stripe


def _pixel(place: float, of: int, pixels: int) -> int:
    return min(pixels, max(0, round(place * pixels / of)))
