"""One stage for every driver: a button, a field, a canvas and a list at the same places, and what is known of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from openbuffer.tools.adapters.computer_memory import InMemoryComputerDriver
from openbuffer.tools.adapters.computer_memory_parts import Area, MemoryButton, MemoryCanvas, MemoryField, MemoryList
from openbuffer.tools.adapters.computer_page import PageComputerDriver

if TYPE_CHECKING:
    from openbuffer.tools.computer import ComputerDriver

SIZE = (640, 400)
BUTTON = (80, 40)
FIELD = (170, 95)
CANVAS = (350, 20)
"""Its upper left corner; it is 200 wide and high."""
LIST = (120, 200)

PAGE = """<!doctype html><title>Stage</title>
<style>
  * { box-sizing: border-box } body { margin: 0; background: #fff; overflow: hidden }
  body > * { position: absolute; margin: 0 }
  button { left: 20px; top: 20px; width: 120px; height: 40px; background: rgb(200,200,200); border: 0 }
  input { left: 20px; top: 80px; width: 300px; height: 30px }
  canvas { left: 350px; top: 20px }
  #list { left: 20px; top: 150px; width: 200px; height: 100px; overflow: auto }
  #list div { height: 1000px; background: repeating-linear-gradient(#ccc 0 20px, #fff 20px 40px) }
</style>
<button></button><input><canvas width="200" height="200"></canvas><div id="list"><div></div></div>
<script>
  const clicks = [], held = new Set();
  const button = document.querySelector("button"), canvas = document.querySelector("canvas");
  const pen = canvas.getContext("2d"); let from = null;
  pen.fillStyle = "#fff"; pen.fillRect(0, 0, 200, 200); pen.strokeStyle = "rgb(255,0,0)"; pen.lineWidth = 4;
  button.addEventListener("mousedown", event => { clicks.push([event.button, event.detail]); });
  button.addEventListener("mouseup", event => { button.style.background = "rgb(0,160,0)"; });
  canvas.addEventListener("mousedown", event => { from = [event.offsetX, event.offsetY]; });
  canvas.addEventListener("mousemove", event => {
    if (!from || !event.buttons) return;
    pen.beginPath(); pen.moveTo(...from); from = [event.offsetX, event.offsetY]; pen.lineTo(...from); pen.stroke();
  });
  addEventListener("mousedown", event => held.add("button " + event.button), true);
  addEventListener("mouseup", event => held.delete("button " + event.button), true);
  addEventListener("keydown", event => held.add("key " + event.code), true);
  addEventListener("keyup", event => held.delete("key " + event.code), true);
  addEventListener("contextmenu", event => event.preventDefault());
</script>"""


class Stage(Protocol):
    """A driver, and what an observer knows of what it drives."""

    driver: ComputerDriver

    async def clicks(self) -> list[tuple[str, int]]:
        """Button and count of every press on the button."""
        ...

    async def text(self) -> str: ...

    async def offset(self) -> float: ...

    async def held(self) -> list[str]: ...


class MemoryStage:
    """The stage in memory."""

    def __init__(self, scale: float = 1.0) -> None:
        self.button = MemoryButton(Area(20, 20, 120, 40))
        self.field = MemoryField(Area(20, 80, 300, 30))
        self.canvas = MemoryCanvas(Area(350, 20, 200, 200))
        self.list = MemoryList(Area(20, 150, 200, 100))
        parts = (self.button, self.field, self.canvas, self.list)
        self.driver = InMemoryComputerDriver(*SIZE, scale=scale, parts=parts)

    async def clicks(self) -> list[tuple[str, int]]:
        return list(self.button.clicks)

    async def text(self) -> str:
        return self.field.text

    async def offset(self) -> float:
        return self.list.offset

    async def held(self) -> list[str]:
        return sorted(self.driver.held)


class PageStage:
    """The stage as a page."""

    def __init__(self, page: Any, **options: Any) -> None:
        self.page = page
        self.driver = PageComputerDriver(page, **options)

    async def clicks(self) -> list[tuple[str, int]]:
        names = ("left", "middle", "right")
        return [(names[button], count) for button, count in await self.page.evaluate("clicks")]

    async def text(self) -> str:
        return await self.page.evaluate("document.querySelector('input').value")

    async def offset(self) -> float:
        return await self.page.evaluate("document.querySelector('#list').scrollTop")

    async def held(self) -> list[str]:
        return await self.page.evaluate("[...held]")
