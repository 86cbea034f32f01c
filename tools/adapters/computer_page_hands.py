"""Mouse and keyboard of a page: one action at a time, and what is held down at every moment."""

from __future__ import annotations

import math
import re
from itertools import pairwise
from typing import TYPE_CHECKING, Final, assert_never

import anyio

from ..computer import Click, DoubleClick, Drag, Move, PressKeys, Scroll, TypeText, Wait
from ..limits import COMPUTER_RELEASE_TIMEOUT_S

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from ..computer import ComputerAction, MouseButton, Point
    from .computer_page_port import Page

_DRAG_STEPS_MAX: Final = 8
_DRAG_STEP: Final = 12.0
"""Moves between two points of a drag, and how far each goes about: pages begin to drag after some, and draw from one to
the next. A page that draws takes a frame for each, so that points which lie close together have fewer.
"""

_PIECES: Final = re.compile(r"\t|[^\t]{1,32}")
"""Of a text, what is typed at once: so much goes on in the browser when the call is cancelled."""


def drag_steps(path: tuple[Point, ...]) -> list[int]:
    """In how many moves each point of a drag is gone to, from the second on."""
    ways = (math.dist((one.x, one.y), (other.x, other.y)) for one, other in pairwise(path))
    steps = [max(1, min(_DRAG_STEPS_MAX, math.ceil(way / _DRAG_STEP))) for way in ways]
    return [_DRAG_STEPS_MAX, *steps[1:]]


class PageHands:
    """Does one action. What it may have pressed is in ``held``, by its name for people, until it was released.

    ``is_at_end``: nothing is left but to release. ``progress`` tells of an action that has parts how far it came.
    """

    def __init__(self, page: Page) -> None:
        self._page = page
        self.held: dict[str, tuple[str, str]] = {}
        self.is_at_end = False
        self.progress = ""

    async def do(self, action: ComputerAction) -> None:
        """Do it; whatever the page raises ends it."""
        self.is_at_end = False
        self.progress = ""
        match action:
            case Click(point, button):
                await self._click(point, button, 1)
            case DoubleClick(point, button):
                await self._click(point, button, 2)
            case Move(point):
                await _ended(self._page.mouse.move(point.x, point.y))
            case Drag(path, button):
                await self._drag(path, button)
            case Scroll(point, dx, dy):
                await _ended(self._page.mouse.move(point.x, point.y))
                await _ended(self._page.mouse.wheel(dx, dy))
            case TypeText(text):
                await self._type(text)
            case PressKeys(keys):
                await self._press(keys)
            case Wait():
                pass  # is no matter of hands
            case _:
                assert_never(action)

    async def let_go(self) -> None:
        """Release everything, the last first."""
        for name, (kind, what) in reversed(list(self.held.items())):
            if kind == "key":
                await _ended(self._page.keyboard.up(what))
            else:
                await _ended(self._page.mouse.up(button=_BUTTONS[what]))
            del self.held[name]

    async def _click(self, point: Point, button: MouseButton, clicks: int) -> None:
        await _ended(self._page.mouse.move(point.x, point.y))
        for count in range(1, clicks + 1):
            self._hold("button", button)
            await _ended(self._page.mouse.down(button=button, click_count=count))
            self.is_at_end = count == clicks
            await _ended(self._page.mouse.up(button=button, click_count=count))
            self.held.clear()

    async def _drag(self, path: tuple[Point, ...], button: MouseButton) -> None:
        first, *others = path
        steps = drag_steps(path)
        await _ended(self._page.mouse.move(first.x, first.y))
        self._hold("button", button)
        self.progress = "The button was released where the pointer was."
        await _ended(self._page.mouse.down(button=button, click_count=1))
        for point, count in zip(others, steps, strict=True):
            await _ended(self._page.mouse.move(point.x, point.y, steps=count))
        self.is_at_end = True
        await _ended(self._page.mouse.up(button=button, click_count=1))
        self.held.clear()

    async def _type(self, text: str) -> None:
        typed = 0
        for piece in _PIECES.findall(text):
            self.progress = f"At least {typed} of {len(text)} characters were typed."
            if piece == "\t":  # as text it would be put in, where the key goes on to the next field
                await self._press(("Tab",))
                self.is_at_end = False
            else:
                await _ended(self._page.keyboard.type(piece))
            typed += len(piece)

    async def _press(self, keys: tuple[str, ...]) -> None:
        for key in keys:
            self._hold("key", key)
            await _ended(self._page.keyboard.down(key))
        self.is_at_end = True
        await self.let_go()

    def _hold(self, kind: str, what: str) -> None:
        self.held[f"the {what} button" if kind == "button" else f"the key {what}"] = kind, what


_BUTTONS: Final[dict[str, MouseButton]] = {"left": "left", "middle": "middle", "right": "right"}


async def _ended(call: Awaitable[None]) -> None:
    """Await a call of the page; one that is cancelled has a moment to end, since in the browser it goes on anyway."""
    failure: Exception | None = None
    ended = anyio.Event()
    scope = anyio.CancelScope(shield=True)

    async def run() -> None:
        nonlocal failure
        with scope:
            try:
                await call
            except Exception as error:  # noqa: BLE001  raised below, as itself and not in a group
                failure = error
        ended.set()

    async with anyio.create_task_group() as group:
        group.start_soon(run)
        try:
            await ended.wait()
        except anyio.get_cancelled_exc_class():
            scope.deadline = anyio.current_time() + COMPUTER_RELEASE_TIMEOUT_S
            raise
    if failure is not None:
        raise failure
