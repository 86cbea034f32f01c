"""What every driver does, through the tools: one suite over the computer in memory and a real Chromium (W6)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import pytest
from openbuffer.tools.builtin.computer import create_computer_tool
from openbuffer.tools.computer import Drag, Point, TakenOverError
from openbuffer.tools.support.png import png_size

from .computer_pictures import colour_at
from .computer_stages import BUTTON, CANVAS, FIELD, LIST, SIZE

if TYPE_CHECKING:
    from openbuffer.tools.contract import ImageContent, InvocationResult, ToolContext

    from .computer_stages import Stage

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.contract("W6")]

GREY, GREEN, RED, WHITE = (200, 200, 200), (0, 160, 0), (255, 0, 0), (255, 255, 255)


class Hands:
    """The two tools over a stage. Places are those of the stage, and are given to the tool as the picture has them."""

    def __init__(self, stage: Stage, **options: Any) -> None:
        self.stage = stage
        self.view, self.computer = create_computer_tool(driver=stage.driver, **options)
        self.image: ImageContent | None = None

    async def look(self) -> ImageContent:
        result = (await self.view.execute({})).invocation
        assert result is not None
        assert result.success, result.error
        (self.image,) = result.images
        return self.image

    def at(self, place: tuple[float, float]) -> dict[str, int]:
        assert self.image is not None
        return {
            "x": int(place[0] * self.image.width / SIZE[0]),
            "y": int(place[1] * self.image.height / SIZE[1]),
        }

    async def do(self, action: str, context: ToolContext | None = None, **arguments: Any) -> InvocationResult:
        result = (await self.computer.execute({"action": action, **arguments}, context)).invocation
        assert result is not None
        return result

    async def done(self, action: str, **arguments: Any) -> str:
        result = await self.do(action, **arguments)
        assert result.success, result.error
        return result.output

    async def colour(self, place: tuple[float, float]) -> tuple[int, int, int]:
        image = await self.look()
        return colour_at(image.data, **self.at(place))


@pytest.fixture
def hands(stage: Stage) -> Hands:
    return Hands(stage)


async def test_a_picture_is_a_png_of_the_whole_screen_within_the_bounds(hands: Hands) -> None:
    image = await hands.look()
    assert png_size(image.data, 10_000_000) == (image.width, image.height)
    assert image.width * SIZE[1] == image.height * SIZE[0]
    assert image.width in {SIZE[0], 2 * SIZE[0]}
    assert colour_at(image.data, **hands.at(BUTTON)) == GREY


async def test_a_click_lands_where_the_picture_shows_it(hands: Hands) -> None:
    await hands.look()
    told = await hands.done("click", **hands.at(BUTTON))
    assert told.startswith("Clicked the left button at ")
    await hands.done("click", button="right", **hands.at((25, 25)))
    await hands.done("click", button="middle", **hands.at((135, 55)))
    await hands.done("click", **hands.at((145, 65)))
    assert await hands.stage.clicks() == [("left", 1), ("right", 1), ("middle", 1)]
    assert await hands.colour(BUTTON) == GREEN
    assert await hands.stage.held() == []


async def test_a_double_click_is_one(hands: Hands) -> None:
    await hands.look()
    await hands.done("double_click", **hands.at(BUTTON))
    assert await hands.stage.clicks() == [("left", 1), ("left", 2)]


async def test_text_is_typed_where_the_keyboard_is_and_keys_edit_it(hands: Hands) -> None:
    await hands.look()
    await hands.done("click", **hands.at(FIELD))
    await hands.done("type", text="Grüße, 世界 & so on: a text that is longer than what is typed at once")
    assert await hands.stage.text() == "Grüße, 世界 & so on: a text that is longer than what is typed at once"
    await hands.done("keypress", keys=["CTRL", "A"])
    await hands.done("type", text="new")
    assert await hands.stage.text() == "new"
    await hands.done("keypress", keys=["BackSpace"])
    await hands.done("keypress", keys=["shift", "x"])
    assert await hands.stage.text() == "neX"
    assert await hands.stage.held() == []


async def test_a_drag_draws_along_its_whole_path(hands: Hands) -> None:
    await hands.look()
    left, top = CANVAS
    corners = [(left + 20, top + 20), (left + 180, top + 20), (left + 180, top + 180)]
    await hands.done("drag", path=[hands.at(corner) for corner in corners])
    assert await hands.colour((left + 100, top + 20)) == RED
    assert await hands.colour((left + 180, top + 100)) == RED
    assert await hands.colour((left + 100, top + 100)) == WHITE
    assert await hands.stage.held() == []


async def test_the_wheel_scrolls_what_is_under_it_by_pixels_of_the_picture(hands: Hands) -> None:
    image = await hands.look()
    by = 120 * image.width / SIZE[0]
    await hands.done("scroll", scrollY=by, **hands.at(LIST))
    with anyio.fail_after(10):
        while await hands.stage.offset() != 120:  # noqa: ASYNC110  a page has no event for it
            await anyio.sleep(0.02)
    await hands.done("scroll", scrollY=-10 * by, **hands.at(LIST))
    with anyio.fail_after(10):
        while await hands.stage.offset() != 0:  # noqa: ASYNC110  a page has no event for it
            await anyio.sleep(0.02)


async def test_a_picture_that_would_be_too_large_is_made_smaller_and_places_are_found_all_the_same(
    stage: Stage,
) -> None:
    hands = Hands(stage, max_picture_side=300, max_picture_pixels=40_000)
    image = await hands.look()
    assert image.width <= 300
    assert 36_000 <= image.width * image.height <= 40_000
    assert abs(image.width / image.height - SIZE[0] / SIZE[1]) < 0.03
    await hands.done("click", **hands.at(BUTTON))
    await hands.done("click", **hands.at((22, 22)))
    assert await stage.clicks() == [("left", 1), ("left", 1)]
    assert await hands.colour(BUTTON) == GREEN


async def test_a_picture_of_too_many_bytes_is_made_smaller(stage: Stage) -> None:
    hands = Hands(stage)
    whole = await hands.look()
    smaller = await Hands(stage, max_picture_bytes=len(whole.data) * 3 // 4).look()
    assert len(smaller.data) <= len(whole.data) * 3 // 4
    assert smaller.width < whole.width


async def test_while_a_person_has_it_nothing_is_done_and_no_picture_is_taken(hands: Hands) -> None:
    driver = hands.stage.driver
    await hands.look()
    await driver.begin_takeover("log in")
    place = hands.at(BUTTON)
    for refused in (await hands.do("click", **place), (await hands.view.execute({})).invocation):
        assert refused is not None
        assert not refused.success
        assert refused.images == ()
        assert refused.error == (
            "The user has the computer (log in): nothing was done and no picture was taken. It ends when they hand it "
            "back; the action takeover with the phase end asks for it, and tells once it is so."
        )
    with pytest.raises(TakenOverError):
        await driver.perform(Drag((Point(1, 1), Point(2, 2))))
    await driver.end_takeover()
    old = await hands.do("click", **place)
    assert old.error is not None
    assert "the user had it meanwhile" in old.error
    await hands.look()
    await hands.done("click", **place)
    assert await hands.stage.clicks() == [("left", 1)]


async def test_a_person_who_takes_over_stops_what_is_under_way_and_gets_no_picture_taken(hands: Hands) -> None:
    driver = hands.stage.driver
    results: list[InvocationResult] = []

    async def wait() -> None:
        results.append(await hands.do("wait", duration=60_000))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        await anyio.sleep(0.1)
        await driver.begin_takeover("mine")
    assert results[0].error == (
        "A person took the computer while this was under way; it was stopped part way, and a part of it may have been "
        "done (mine)."
    )
    await driver.end_takeover()
    await hands.done("wait", duration=1)
