"""PageComputerDriver over a page that is none: what it calls, and what it says where a page refuses or hangs (W6)."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import anyio
import pytest
from openbuffer.tools.adapters import computer_page, computer_page_hands
from openbuffer.tools.adapters.computer_page import PageComputerDriver
from openbuffer.tools.builtin.computer import create_computer_tool
from openbuffer.tools.config import ToolConfig, build_tools
from openbuffer.tools.support.png import rgb_png
from pydantic import ValidationError

pytestmark = pytest.mark.contract("W6")


class Page:
    """Has what a page has to have, keeps what it is called for, and fails or hangs where it is told to."""

    def __init__(self, width: int = 200, height: int = 100) -> None:
        self.viewport_size: Any = {"width": width, "height": height}
        self.url = "http://page.example/"
        self.calls: list[tuple[Any, ...]] = []
        self.hang_at = ""
        self.fail_at = ""
        self.listeners: dict[str, Any] = {}
        self.mouse = self.keyboard = self

    def on(self, event: str, f: Any) -> None:
        self.listeners[event] = f

    def remove_listener(self, event: str, f: Any) -> None:
        assert self.listeners.pop(event) == f

    def is_closed(self) -> bool:
        return False

    async def evaluate(self, expression: str) -> Any:
        return {"[devicePixelRatio]": [1]}.get(expression, "nonsense")

    async def screenshot(self, **_options: Any) -> bytes:
        await self._called("screenshot")
        size = self.viewport_size["width"], self.viewport_size["height"]
        return rgb_png(*size, bytes(3 * size[0] * size[1]))

    async def move(self, x: float, y: float, **_options: Any) -> None:
        await self._called("move", x, y)

    async def down(self, key: str = "", **options: Any) -> None:
        await self._called("down", key or options["button"])

    async def up(self, key: str = "", **options: Any) -> None:
        await self._called("up", key or options["button"])

    async def wheel(self, dx: float, dy: float) -> None:
        await self._called("wheel", dx, dy)

    async def type(self, text: str) -> None:
        await self._called("type", text)

    async def _called(self, name: str, *values: Any) -> None:
        self.calls.append((name, *values))
        if name == self.hang_at:
            await anyio.sleep_forever()
        if name == self.fail_at:
            raise RuntimeError(f"no {name}\x1b[2J\nCall log: and so on")


class Hands:
    def __init__(self, page: Page) -> None:
        self.page = page
        self.driver = PageComputerDriver(page)  # type: ignore[arg-type]  it has two things in one
        self.view, self.computer = create_computer_tool(driver=self.driver)

    async def look(self) -> Any:
        result = (await self.view.execute({})).invocation
        self.page.calls.clear()
        return result

    async def do(self, action: str, **arguments: Any) -> Any:
        return (await self.computer.execute({"action": action, **arguments})).invocation


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("COMPUTER_ACTION_TIMEOUT_S", "COMPUTER_RELEASE_TIMEOUT_S", "COMPUTER_SCREENSHOT_TIMEOUT_S"):
        monkeypatch.setattr(computer_page, name, 0.05)
    monkeypatch.setattr(computer_page_hands, "COMPUTER_RELEASE_TIMEOUT_S", 0.05)


async def test_keys_go_down_in_their_order_and_up_the_other_way_round() -> None:
    hands = Hands(Page())
    await hands.do("keypress", keys=["ctrl", "shift", "a"])
    names = ["Control", "Shift", "A"]
    assert hands.page.calls == [*(("down", key) for key in names), *(("up", key) for key in reversed(names))]


@pytest.mark.parametrize("fail_at", ["move", "down", "up", "wheel", "type", "screenshot"])
async def test_what_a_page_raises_is_told_on_one_line_and_nothing_stays_pressed(fail_at: str) -> None:
    hands = Hands(Page())
    await hands.look()
    hands.page.fail_at = fail_at
    results = [
        await hands.do("click", x=1, y=1),
        await hands.do("scroll", x=1, y=1, scrollY=1),
        await hands.do("type", text="abc"),
        await hands.look(),
    ]
    failed = [each.error for each in results if not each.success]
    assert failed
    hands.page.fail_at = ""
    assert (await hands.do("move", x=1, y=1)).success
    assert hands.driver.held == frozenset()
    assert all(f"RuntimeError: no {fail_at}\\x1b[2J" in each or "still held" in each for each in failed), failed


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("hang_at", ["move", "down", "up", "wheel", "type", "screenshot"])
async def test_a_page_that_hangs_at_any_call_holds_nobody(hang_at: str) -> None:
    hands = Hands(Page())
    await hands.look()
    hands.page.hang_at = hang_at
    results = [
        await hands.do("click", x=1, y=1),
        await hands.do("scroll", x=1, y=1, scrollY=1),
        await hands.do("type", text="abc"),
        await hands.look(),
    ]
    assert not all(each.success for each in results)
    hands.page.hang_at = ""
    assert (await hands.do("move", x=1, y=1)).success
    assert hands.driver.held == frozenset()


@pytest.mark.usefixtures("quick")
async def test_a_text_that_was_typed_in_part_says_how_much_at_least() -> None:
    hands = Hands(Page())

    async def typed(text: str) -> None:
        if text.startswith("b"):
            await anyio.sleep_forever()

    hands.page.type = typed  # type: ignore[method-assign]
    failed = await hands.do("type", text="a" * 32 + "b" * 8)
    assert failed.error.endswith("At least 32 of 40 characters were typed.")


async def test_a_picture_that_no_browser_makes_smaller_is_refused_with_its_size() -> None:
    hands = Hands(Page(1_600, 700))
    assert (await hands.look()).error == (
        "The picture has 1600 x 700 pixels, and the most is 1568 on its longer side. It could not be made smaller; a "
        "smaller window can be shown."
    )


async def test_a_page_of_a_library_that_has_the_browsers_protocol_for_others_only_is_shown_as_it_is() -> None:
    class Refusing:
        async def new_cdp_session(self, _page: Any) -> None:
            raise RuntimeError("CDP session is only available in Chromium")

    page = Page(1_600, 700)
    page.context = Refusing()  # type: ignore[attr-defined]
    assert "could not be made smaller" in (await Hands(page).look()).error


@pytest.mark.parametrize("size", [{"width": 0, "height": 5}, {"width": 5, "height": 40_000}, None])
async def test_a_size_that_cannot_be_is_refused(size: Any) -> None:
    page = Page()
    page.viewport_size = size
    assert (await Hands(page).look()).error.startswith("The page tells a size that cannot be: ")


async def test_a_page_that_was_put_aside_is_listened_to_no_more() -> None:
    first, second = Page(), Page()
    hands = Hands(first)
    assert set(first.listeners) == {"dialog", "popup", "crash", "close", "filechooser", "download"}
    hands.driver.switch_to(second)  # type: ignore[arg-type]
    assert first.listeners == {}
    assert (await hands.look()).success
    await hands.do("move", x=1, y=1)
    assert second.calls == [("screenshot",), ("move", 1.5, 1.5)]
    hands.driver.detach()
    assert second.listeners == {}
    assert "there is no other" in (await hands.do("type", text="a")).error


@pytest.mark.contract("T9", "T11")
def test_no_browser_library_is_imported() -> None:
    script = (
        "import sys, openbuffer.tools.adapters.computer_page, openbuffer.tools.host\n"
        "print([name for name in sys.modules if name.startswith(('playwright', 'selenium'))])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.contract("X5", "T9")
def test_without_a_driver_there_are_no_tools_and_what_is_none_is_refused() -> None:
    names = [tool.name for tool in build_tools(ToolConfig(roots=("/w",)))]
    assert not {"Computer", "ComputerView"} & set(names)
    given = build_tools(ToolConfig(roots=("/w",), computer=PageComputerDriver(Page())))  # type: ignore[arg-type]
    assert {"Computer", "ComputerView"} == {tool.name for tool in given} - set(names)
    with pytest.raises(ValidationError, match="is no such port: it has no actions and no perform"):
        ToolConfig(roots=("/w",), computer=Page())  # type: ignore[arg-type]
