"""ComputerView and Computer over the computer in memory: what is refused, places, and pictures (W6)."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import math
import struct
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openbuffer.tools import (
    Capability,
    ToolArgumentError,
    ToolDefinitionError,
)
from openbuffer.tools.adapters.artifact_memory import InMemoryArtifactStore
from openbuffer.tools.adapters.computer_memory import InMemoryComputerDriver
from openbuffer.tools.adapters.computer_memory_parts import MemoryButton
from openbuffer.tools.builtin.computer import create_computer_tool
from openbuffer.tools.computer import (
    ACTIONS,
    ComputerFailure,
    Move,
    PictureBounds,
    Point,
    Screen,
    Scroll,
    TypeText,
    Wait,
)
from openbuffer.tools.contract import ToolContext
from openbuffer.tools.support.computer_places import SeenPicture
from openbuffer.tools.support.png import NoPictureError, png_size, rgb_png
from openbuffer.tools.targets import only_observes

from .computer_tool_desk import AREA, GOOD, Desk, OddDriver, invocation, plain

pytestmark = pytest.mark.contract("W6")


@pytest.fixture
def desk() -> Desk:
    return Desk()


# --- arguments -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "missing argument action"),
        ({"action": "reboot"}, "action: "),
        ({"action": "click"}, "click was called without x, y; it takes x, y, and may take button"),
        ({"action": "click", "x": 1}, "click was called without y; it takes x, y, and may take button"),
        ({"action": "click", "x": 1, "y": 1, "text": "a"}, "click was called and not text; it takes x, y"),
        ({"action": "click", "x": True, "y": 1}, "x: "),
        ({"action": "click", "x": "1", "y": 1}, "x: "),
        ({"action": "click", "x": 1, "y": 1, "button": "fourth"}, "button: "),
        ({"action": "drag", "path": [{"x": 1, "y": 1}]}, "path: "),
        ({"action": "drag", "path": [{"x": 1, "y": 1}] * 101}, "path: "),
        ({"action": "drag", "path": [{"x": 1, "y": 1}, {"x": 1}]}, "path: "),
        ({"action": "scroll", "x": 1, "y": 1, "scrollY": 10_001}, "scrollY: "),
        (
            {"action": "scroll", "scrollY": 5},
            "scroll was called without x, y; it takes x, y, and may take scrollX, scrollY",
        ),
        ({"action": "type"}, "type was called without text; it takes text, and may take secret"),
        ({"action": "type", "text": ""}, "text: "),
        ({"action": "type", "text": "x" * 4_001}, "text: "),
        ({"action": "type", "text": "a\x1b[A"}, "has a control character, which no key types"),
        ({"action": "type", "text": "a\x00"}, "has a control character"),
        ({"action": "type", "text": "a\x9f"}, "has a control character"),
        ({"action": "keypress", "keys": []}, "keys: "),
        ({"action": "keypress", "keys": ["Hyper"]}, "Hyper is no key; there are Control, Shift, Alt, Meta, Enter,"),
        ({"action": "keypress", "keys": ["a\n"]}, "is no key"),
        ({"action": "keypress", "keys": ["a", "b"]}, "keys that are pressed one after the other are several calls"),
        ({"action": "keypress", "keys": ["a", "Control"]}, "expected are modifiers"),
        ({"action": "keypress", "keys": ["ctrl", "Control"]}, "a key is named twice"),
        ({"action": "wait", "duration": 0}, "duration: "),
        ({"action": "wait", "duration": 60_001}, "duration: "),
        ({"action": "wait", "x": 1}, "wait was called and not x; it takes nothing more, and may take duration"),
        ({"action": "takeover", "phase": "pause"}, "phase: "),
        ({"action": "move", "x": 1, "y": 1, "speed": 3}, "unknown argument speed"),
        ({"action": "move", "x": math.nan, "y": 1}, ""),
        ({"action": "move", "x": math.inf, "y": 1}, ""),
    ],
)
async def test_arguments_that_are_none_are_refused_by_name_and_nothing_is_done(
    desk: Desk, arguments: dict[str, Any], words: str
) -> None:
    await desk.look()
    if words:
        with pytest.raises(ToolArgumentError) as caught:
            await desk.computer.execute(arguments)
        assert words in str(caught.value)
    else:  # what JSON cannot carry is refused by the schema or by the size of the picture
        with contextlib.suppress(ToolArgumentError):
            assert not (await desk.computer.execute(arguments)).success
    assert desk.driver.performed == []


@pytest.mark.parametrize(
    ("written", "pressed"),
    [
        (["CTRL", "A"], ("Control", "a")),
        (["cmd", "Shift", "p"], ("Meta", "Shift", "P")),
        (["a"], ("a",)),
        (["A"], ("A",)),
        (["alt", "ß"], ("Alt", "ß")),
        (["Shift", "ß"], ("Shift", "ß")),
        (["return"], ("Enter",)),
        ([" "], ("Space",)),
        (["PGDN"], ("PageDown",)),
        (["option"], ("Alt",)),
        (["?"], ("?",)),
    ],
)
async def test_keys_are_known_by_the_names_that_models_write(desk: Desk, written: list[str], pressed: Any) -> None:
    assert (await desk.do("keypress", keys=written)).success
    assert desk.driver.performed[0].keys == pressed


async def test_what_is_left_out_and_what_is_given_reach_the_driver_as_told(desk: Desk) -> None:
    await desk.look()
    at: dict[str, Any] = {"x": 10, "y": 20}
    assert (await desk.do("scroll", scrollX=-7, **at)).output == "Scrolled by -7, 0 at 10, 20."
    assert (await desk.do("scroll", scrollY=9, **at)).output == "Scrolled by 0, 9 at 10, 20."
    assert (await desk.do("move", **at)).output == "Moved the pointer to 10, 20."
    assert (await desk.do("wait", duration=5)).output == "Waited for 5 ms."
    assert (await desk.do("type", text="a\r\nb\tc", secret=False, x=None)).output == "Typed 5 characters."
    plan = await desk.computer.prepare(desk.computer.validate({"action": "wait"}), ToolContext())
    assert desk.driver.performed == [
        Scroll(Point(10.5, 20.5), -7, 0),
        Scroll(Point(10.5, 20.5), 0, 9),
        Move(Point(10.5, 20.5)),
        Wait(0.005),
        TypeText("a\nb\tc"),
    ]
    assert plan.state.action == Wait(1)


def test_the_schema_offers_what_the_driver_can_and_nothing_else() -> None:
    less = Desk(InMemoryComputerDriver(actions=["click", "type"]))
    assert less.computer.input_schema["properties"]["action"]["enum"] == ["click", "type"]
    assert "takeover" not in less.computer.description
    with pytest.raises(ToolArgumentError, match="action: "):
        less.computer.validate({"action": "move", "x": 1, "y": 1})
    assert less.computer.validate({"action": "click", "x": 1, "y": 1}).action == "click"
    assert Desk().computer.input_schema["properties"]["action"]["enum"] == list(ACTIONS)


@pytest.mark.contract("T7")
@pytest.mark.parametrize("driver", [None, InMemoryComputerDriver(actions=[])])
def test_without_a_driver_that_can_do_something_there_is_no_tool(driver: Any) -> None:
    with pytest.raises(ToolDefinitionError, match="needs a driver"):
        create_computer_tool(driver=driver)


@pytest.mark.contract("T10")
def test_looking_only_observes_and_acting_does_not(desk: Desk) -> None:
    assert (desk.view.capabilities, desk.computer.capabilities) == (
        {Capability.SCREEN_READ},
        {Capability.COMPUTER},
    )
    assert only_observes(desk.view.capabilities)
    assert not only_observes(desk.computer.capabilities)
    assert not only_observes(frozenset())


# --- coordinates ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", [(200, 0), (0, 100), (-1, 5), (5, -0.5), (1e300, 1), (199, 100)])
async def test_a_place_outside_of_the_last_picture_is_refused_with_its_size(
    desk: Desk, place: tuple[float, float]
) -> None:
    await desk.look()
    error = await desk.refused("click", x=place[0], y=place[1])
    assert error.endswith(
        "is outside of the last screenshot, which is 200 x 100 pixels: x goes to 199, y to 99, both from 0. Nothing "
        "was done. Correct the coordinates, scroll, or take a new screenshot."
    )
    assert "is outside" in await desk.refused("drag", path=[{"x": 1, "y": 1}, {"x": place[0], "y": place[1]}])


async def test_coordinates_before_any_picture_are_refused(desk: Desk) -> None:
    for action in ("click", "double_click", "move", "scroll"):
        assert "There is no screenshot yet" in await desk.refused(action, x=1, y=1)
    assert (await desk.do("type", text="needs no place")).success


async def test_a_screen_that_changed_since_the_picture_is_refused_until_there_is_a_new_one(desk: Desk) -> None:
    await desk.look()
    desk.driver.resize(300, 100)
    assert "has another size" in await desk.refused("click", x=1, y=1)
    await desk.look()
    assert (await desk.do("click", x=299, y=99)).success
    desk.driver.show()
    assert "shows another page" in await desk.refused("click", x=1, y=1)


async def test_a_screen_that_changes_between_the_plan_and_the_act_is_not_acted_on(desk: Desk) -> None:
    await desk.look()
    parsed = desk.computer.validate({"action": "click", "x": 1, "y": 1})
    plan = await desk.computer.prepare(parsed, ToolContext())
    desk.driver.show(MemoryButton(AREA))
    result = invocation(await desk.computer.commit(plan, ToolContext()))
    assert result.error is not None
    assert "Take a new screenshot first" in result.error
    assert desk.driver.performed == []


SIDES = st.integers(1, 5_000)


@given(SIDES, SIDES, SIDES, SIDES, st.data())
def test_every_pixel_is_a_place_inside_of_the_screen_and_that_place_is_the_pixel(
    width: int, height: int, screen_width: int, screen_height: int, data: st.DataObject
) -> None:
    seen = SeenPicture(width, height, Screen(screen_width, screen_height))
    x, y = data.draw(st.integers(0, width - 1)), data.draw(st.integers(0, height - 1))
    point = seen.place(x, y)
    assert 0 <= point.x < screen_width
    assert 0 <= point.y < screen_height
    assert seen.pixel(point) == (x, y)


@given(SIDES, SIDES, st.floats(allow_nan=True), st.floats(allow_nan=True))
def test_a_number_is_a_place_inside_or_refused(width: int, height: int, x: float, y: float) -> None:
    seen = SeenPicture(width, height, Screen(2 * width, 2 * height))
    if 0 <= x < width and 0 <= y < height:
        point = seen.place(x, y)
        assert seen.pixel(point) == (math.floor(x), math.floor(y))
    else:
        with pytest.raises(ComputerFailure, match="is outside of the last screenshot"):
            seen.place(x, y)


@given(SIDES, SIDES, st.integers(1, 3_000), st.integers(1, 4_000_000))
def test_what_is_fitted_is_within_the_bounds_and_never_larger_than_it_was(
    width: int, height: int, side: int, pixels: int
) -> None:
    bounds = PictureBounds(side, pixels)
    fitted = bounds.fit(width, height)
    assert bounds.admit(*fitted)
    assert 1 <= fitted[0] <= width
    assert 1 <= fitted[1] <= height
    if bounds.admit(width, height):
        assert fitted == (width, height)


@given(st.integers(1, 300), st.integers(1, 300), st.floats(0.5, 4), st.data())
async def test_a_click_lands_on_what_the_picture_shows_there_at_any_scale(
    width: int, height: int, scale: float, data: st.DataObject
) -> None:
    desk = Desk(InMemoryComputerDriver(width, height, scale=scale), max_picture_side=200, max_picture_pixels=20_000)
    (image,) = (await desk.look()).images
    x, y = data.draw(st.integers(0, image.width - 1)), data.draw(st.integers(0, image.height - 1))
    assert (await desk.do("click", x=x, y=y)).success
    point: Point = desk.driver.pointer
    assert abs(point.x - (x + 0.5) * width / image.width) < 1e-6
    assert abs(point.y - (y + 0.5) * height / image.height) < 1e-6


# --- pictures ------------------------------------------------------------------------------------------------------


def remade(
    *more: tuple[bytes, bytes], depth: int = 8, colour: int = 2, interlaced: int = 0, rows: bytes | None = None
) -> bytes:
    """``GOOD`` with another header, other pixels, or more in it, everything intact."""
    packed = zlib.compress(b"".join(b"\0" + bytes(60) for _ in range(10)) if rows is None else rows, 1)
    if colour == 3 and rows is None:
        packed = zlib.compress(b"".join(b"\0" + bytes(20 * depth // 8) for _ in range(10)))
    header = struct.pack(">IIBBBBB", 20, 10, depth, colour, 0, 0, interlaced)
    parts = ((b"IHDR", header), *more, (b"IDAT", packed), (b"IEND", b""))
    chunks = (
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)) for kind, body in parts
    )
    return GOOD[:8] + b"".join(chunks)


def test_what_is_remade_without_a_fault_is_a_picture() -> None:
    for png in (remade(), remade((b"iCCP", bytes(3_000))), remade((b"PLTE", bytes(3)), colour=3)):
        assert png_size(png, 200) == (20, 10)


@pytest.mark.parametrize(
    ("png", "why"),
    [
        (b"", "it does not begin as one"),
        (b"\xff\xd8\xff\xe0JFIF" + bytes(50), "it does not begin as one"),
        (GOOD[:-6], "its end is missing"),
        (GOOD + b"more", "something follows its end"),
        (GOOD[:45] + b"\0\0" + GOOD[47:], "a part of it is damaged"),
        (GOOD[:16] + bytes(4) + GOOD[20:], "its header makes no sense"),
        (remade(colour=3), "its colours are missing"),
        (remade(depth=16, colour=3), "its header makes no sense"),
        (remade(depth=1, colour=2), "its header makes no sense"),
        (remade(interlaced=1), "it is interlaced"),
        (remade(rows=bytes(20_000_000)), "its pixels are not all there"),
        (remade(rows=bytes(10)), "its pixels are not all there"),
        (remade((b"zTXt", bytes(20_000))), "it brings packed data along"),
        (remade((b"iCCP", bytes(20_000))), "it brings packed data along"),
        (bytearray(GOOD), "it is a bytearray"),
        ("no bytes", "it is a str"),
        (None, "it is a NoneType"),
        (plain(2_000, 1_000), "it has 2000 x 1000 pixels, and the most is 1200000"),
        (plain(1_600, 100), "could not be made smaller"),
    ],
)
async def test_what_is_no_picture_within_the_bounds_is_not_handed_out(png: Any, why: str) -> None:
    desk = Desk(OddDriver(lambda _bounds: png))
    result = await desk.look()
    assert (result.success, result.images) == (False, ())
    assert result.error is not None
    assert why in result.error
    assert "There is no screenshot yet" in await desk.refused("click", x=1, y=1)


def test_a_picture_whose_pixels_are_not_all_there_is_none() -> None:
    short = rgb_png(20, 10, bytes(3 * 20 * 10))
    tall = short[:20] + (11).to_bytes(4, "big") + short[24:]
    repaired = tall[:29] + struct.pack(">I", zlib.crc32(tall[12:29])) + tall[33:]
    with pytest.raises(NoPictureError, match="its pixels are not all there"):
        png_size(repaired, 10_000)
    assert png_size(short, 200) == (20, 10)


@given(st.binary(max_size=200), st.integers(0, 100))
def test_bytes_are_a_picture_or_refused(noise: bytes, at: int) -> None:
    for data in (noise, GOOD[:at] + noise + GOOD[at:], GOOD[: at % len(GOOD)] + noise):
        try:
            assert png_size(data, 10_000) == (20, 10)
        except NoPictureError:
            continue
        assert data == GOOD


async def test_a_driver_whose_pictures_stay_too_large_is_asked_a_few_times_only() -> None:
    driver = OddDriver(lambda _bounds: GOOD)
    result = await Desk(driver, max_picture_bytes=len(GOOD) - 1).look()
    assert result.error is not None
    assert "could not be made smaller" in result.error
    assert len(driver.asked) == 4


@pytest.mark.parametrize(
    "screen", [Screen(0, 5), Screen(5, -1), Screen(40_000, 5), Screen(float("nan"), 5), Screen("9", 5)]
)
async def test_a_screen_that_cannot_be_is_not_believed(screen: Screen) -> None:
    result = await Desk(OddDriver(lambda _bounds: GOOD, screen)).look()
    assert result.error is not None
    assert "which cannot be" in result.error


@pytest.mark.contract("T4")
async def test_the_result_has_the_picture_as_base64_and_the_record_its_hash(desk: Desk) -> None:
    store = InMemoryArtifactStore()
    desk = Desk(artifacts=store)
    result = await desk.view.execute({})
    (image,) = invocation(result).images
    sha256 = hashlib.sha256(image.data).hexdigest()
    described = {"mimeType": "image/png", "width": 200, "height": 100, "sha256": sha256}
    assert result.value == {
        "success": True,
        "output": f"Screenshot of 200 x 100 pixels.\nA computer in memory.\nIt is kept as {sha256}.",
        "images": [{**described, "data": base64.b64encode(image.data).decode()}],
    }
    assert result.recorded["images"] == json.loads(result.data)["images"] == [{**described, "bytes": len(image.data)}]
    assert store.read(sha256) == image.data


async def test_a_picture_that_is_not_kept_is_not_said_to_be() -> None:
    for options in ({}, {"artifacts": InMemoryArtifactStore(max_bytes=10)}):
        assert "kept" not in (await Desk(**options).look()).output
