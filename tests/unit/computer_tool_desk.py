"""The two tools over a computer in memory, for the tests of either."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from openbuffer.tools.adapters.computer_memory import InMemoryComputerDriver
from openbuffer.tools.adapters.computer_memory_parts import Area, MemoryButton
from openbuffer.tools.builtin.computer import create_computer_tool
from openbuffer.tools.computer import PictureBounds, Screen, Screenshot
from openbuffer.tools.support.png import rgb_png

if TYPE_CHECKING:
    from collections.abc import Callable

    from openbuffer.tools.contract import InvocationResult, ToolContext, ToolResult

AREA = Area(0, 0, 100, 100)


class Desk:
    """The two tools over a computer in memory."""

    def __init__(self, driver: Any = None, **options: Any) -> None:
        self.button = MemoryButton(AREA)
        self.driver: Any = driver or InMemoryComputerDriver(200, 100, parts=[self.button])
        self.view, self.computer = create_computer_tool(driver=self.driver, **options)

    async def look(self, context: ToolContext | None = None) -> InvocationResult:
        return invocation(await self.view.execute({}, context))

    async def do(self, action: str, context: ToolContext | None = None, **arguments: Any) -> InvocationResult:
        return invocation(await self.computer.execute({"action": action, **arguments}, context))

    async def refused(self, action: str, context: ToolContext | None = None, **arguments: Any) -> str:
        before = list(self.driver.performed)
        result = await self.do(action, context, **arguments)
        assert (result.success, self.driver.performed) == (False, before)
        assert result.error is not None
        return result.error


def invocation(result: ToolResult) -> InvocationResult:
    assert result.invocation is not None
    return result.invocation


class OddDriver(InMemoryComputerDriver):
    """Hands out what it is told to."""

    def __init__(self, png: Callable[[PictureBounds], bytes], screen: Screen | None = None) -> None:
        super().__init__()
        self._png = png
        self._odd_screen = screen
        self.asked: list[PictureBounds] = []

    async def screenshot(self, bounds: PictureBounds) -> Screenshot:
        self.asked.append(bounds)
        return Screenshot(self._png(bounds), self._odd_screen or await self.screen())


def plain(width: int, height: int) -> bytes:
    return rgb_png(width, height, bytes(3 * width * height))


GOOD = plain(20, 10)
