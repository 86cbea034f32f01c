"""A page in a real Chromium: what pages do that no screen in memory does (W6)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel
import pytest
from openbuffer.tools.adapters import computer_page, computer_page_hands
from openbuffer.tools.contract import CancellationToken, ToolContext
from openbuffer.tools.errors import ToolCancelledError

from .computer_pictures import colour_at
from .computer_stages import BUTTON, CANVAS, FIELD
from .test_computer_suite import GREEN, GREY, RED, Hands

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from .computer_stages import PageStage

    OpenPage = Callable[..., Awaitable[PageStage]]

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.contract("W6")]

BIG_BUTTON = "<body style='margin:0'><button style='width:200px;height:100px' onclick=\"{}\">go</button>"
PLACE = {"x": 50, "y": 50}


async def opened(open_page: OpenPage, content: str = "", **options: Any) -> Hands:
    hands = Hands(await open_page(content, **options))
    await hands.look()
    return hands


def page_of(hands: Hands) -> Any:
    return hands.stage.page  # type: ignore[attr-defined]  these stages are pages


async def and_then(hands: Hands, told: str, words: str) -> str:
    """What is told, now or a little later: the browser tells of pages in its own time."""
    with anyio.fail_after(10):
        while words not in told:
            told += await hands.done("wait", duration=20)
    return told


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("alert('a\\u202e<b>')", 'The page showed a dialog (alert), which was closed: "a\\u202e<b>"'),
        (
            "document.title = confirm('sure?')",
            'The page showed a dialog (confirm), which was answered with no: "sure?"',
        ),
        ("document.title = prompt('name?')", 'The page showed a dialog (prompt), which was answered with no: "name?"'),
    ],
)
async def test_a_dialog_is_closed_and_told_and_blocks_nothing(open_page: OpenPage, script: str, said: str) -> None:
    hands = await opened(open_page, BIG_BUTTON.format(script))
    told = await hands.done("click", **PLACE)
    assert told == f"Clicked the left button at 50, 50.\n{said}"
    assert await page_of(hands).evaluate("document.title") in {"", "false", "null"}


async def test_dialogs_are_accepted_where_that_was_chosen_and_a_text_is_never_given(open_page: OpenPage) -> None:
    script = "document.title = confirm('sure?') + ' ' + prompt('name?')"
    hands = await opened(open_page, BIG_BUTTON.format(script), accept_dialogs=True)
    assert "answered with yes" in await hands.done("click", **PLACE)
    assert await page_of(hands).evaluate("document.title") == "true null"


async def test_a_page_that_asks_without_end_does_not_hold_the_call_for_ever(
    open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module, name in (
        (computer_page, "COMPUTER_ACTION_TIMEOUT_S"),
        (computer_page, "COMPUTER_RELEASE_TIMEOUT_S"),
        (computer_page_hands, "COMPUTER_RELEASE_TIMEOUT_S"),
    ):
        monkeypatch.setattr(module, name, 0.4)
    hands = await opened(open_page, BIG_BUTTON.format("for (;;) alert('again')"))
    failed = await hands.do("click", **PLACE)
    assert failed.error is not None
    assert "did not answer within 0 seconds" in failed.error
    assert "more things happened before what follows" in failed.error or "again" in failed.error
    await page_of(hands).close()


async def test_another_page_comes_into_view_and_places_on_the_old_picture_are_refused(open_page: OpenPage) -> None:
    inner = BIG_BUTTON.format("window.close()").replace("<body style='", "<body style='background:rgb(0,160,0);")
    script = f"window.open().document.write(`{inner}`)".replace('"', "&quot;")
    hands = await opened(open_page, BIG_BUTTON.format(script))
    told = await hands.done("click", **PLACE)
    assert "The page opened another one, which is in view now: about:blank" in await and_then(hands, told, "opened")
    refused = await hands.do("click", **PLACE)
    assert refused.error is not None
    assert "shows another page" in refused.error
    image = await hands.look()
    assert colour_at(image.data, 500, 300) == GREEN
    told = await hands.done("click", **PLACE)
    assert "The page was closed; in view is now http://127.0.0.1" in await and_then(hands, told, "closed")
    assert colour_at((await hands.look()).data, 500, 300) == (255, 255, 255)


async def test_a_page_that_opens_pages_without_end_shows_some_of_them(
    open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(computer_page, "COMPUTER_PAGES_MAX", 2)
    hands = await opened(open_page, BIG_BUTTON.format("for (let n = 0; n < 5; n++) window.open('about:blank#' + n)"))
    told = await and_then(hands, await hands.done("click", **PLACE), "#4")
    assert told.count("which is in view now") == 2
    assert told.count("which is not brought into view") == 3
    assert "about:blank#1" in (await hands.view.execute({})).value["output"]


@pytest.mark.parametrize(("scale", "pictures"), [(1.25, "device"), (1.5, "device"), (1.5, "css")])
async def test_the_pixels_at_the_borders_are_the_places_at_the_borders(
    open_page: OpenPage, scale: float, pictures: str
) -> None:
    content = """<body style="margin:0"><script>const seen = [];
      addEventListener("mousedown", event => seen.push([event.clientX, event.clientY]))</script>"""
    hands = await opened(open_page, content, size=(641, 401), scale=scale, pictures=pictures)
    assert hands.image is not None
    right, bottom = hands.image.width - 1, hands.image.height - 1
    for x, y in ((0, 0), (right, 0), (0, bottom), (right + 0.99, bottom + 0.99)):
        await hands.done("click", x=x, y=y)
    for x, y in ((right + 1, 0), (0, bottom + 1), (-0.01, 0), (0, -0.01)):
        assert "is outside of the last screenshot" in ((await hands.do("click", x=x, y=y)).error or "")
    assert await page_of(hands).evaluate("seen") == [[0, 0], [640, 0], [0, 400], [640, 400]]


async def test_a_drag_through_as_many_points_as_there_may_be_reaches_its_end(open_page: OpenPage) -> None:
    hands = await opened(open_page)
    left, top = CANVAS
    path = [(left + 10 + n * 1.8, top + 20 + n % 20 * 8) for n in range(99)]
    await hands.done("drag", path=[hands.at(point) for point in [*path, (left + 195, top + 195)]])
    assert await hands.colour(path[50]) == RED
    assert await hands.colour((left + 194, top + 194)) == RED
    assert await hands.stage.held() == []


async def test_a_page_that_closes_while_something_is_done_with_it_is_told(open_page: OpenPage) -> None:
    hands = await opened(open_page)
    failed: list[Any] = []

    async def drag() -> None:
        failed.append(await hands.do("drag", path=[{"x": n * 6, "y": n * 3} for n in range(100)]))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(drag)
        while not await hands.stage.held():
            await anyio.lowlevel.checkpoint()
        await page_of(hands).close()
    assert failed[0].error == (
        "The page was closed, and there is no other. Whoever gave it has to give another one. The button was released "
        "where the pointer was.\nThe page was closed."
    )
    assert hands.stage.driver.held == frozenset()


@pytest.mark.parametrize("times", [1, 3])
async def test_a_task_that_asyncio_itself_cancels_releases_what_it_pressed(open_page: OpenPage, times: int) -> None:
    hands = await opened(open_page)
    left, top = CANVAS
    drag = asyncio.create_task(hands.do("drag", path=[hands.at((left + 5 + n, top + 5)) for n in range(100)]))
    while not await hands.stage.held():  # noqa: ASYNC110  a page has no event for it
        await asyncio.sleep(0)
    for _ in range(times):
        drag.cancel()
        await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await drag
    assert hands.stage.driver.held == frozenset()
    assert await hands.stage.held() == []
    await hands.done("move", x=1, y=1)


async def test_a_navigation_during_an_action_is_told(open_page: OpenPage) -> None:
    hands = await opened(open_page, BIG_BUTTON.format("location = '/'"))
    told = await hands.done("click", **PLACE)
    assert "The page went to http://127.0.0.1:" in await and_then(hands, told, "went to")
    await page_of(hands).wait_for_load_state()
    assert await hands.colour(BUTTON) == GREY


async def test_a_page_that_is_busy_fails_in_bounded_time_and_works_again_after(
    open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    hands = await opened(open_page, BIG_BUTTON.format("for (const end = Date.now() + 2500; Date.now() < end;);"))
    monkeypatch.setattr(computer_page, "COMPUTER_ACTION_TIMEOUT_S", 0.3)
    monkeypatch.setattr(computer_page, "COMPUTER_RELEASE_TIMEOUT_S", 0.3)
    monkeypatch.setattr(computer_page_hands, "COMPUTER_RELEASE_TIMEOUT_S", 0.3)
    failed = await hands.do("click", **PLACE)
    assert failed.error == (
        "The page did not answer within 0 seconds; a script may keep it busy. Wait, look again.\n"
        "The left button could not be released, since the page does not answer."
    )
    assert hands.stage.driver.held == {"the left button"}
    failed = await hands.do("move", x=1, y=1)
    assert failed.error is not None
    assert failed.error.startswith("The left button is still held down and the page does not answer, so that nothing")
    await page_of(hands).evaluate("0")
    monkeypatch.undo()
    await hands.done("move", x=1, y=1)
    assert hands.stage.driver.held == frozenset()


async def test_a_crash_is_told_and_another_page_can_be_given(open_page: OpenPage) -> None:
    hands = await opened(open_page)
    page = page_of(hands)
    results: list[Any] = []

    async def wait() -> None:
        results.append(await hands.do("wait", duration=60_000))

    async def crash() -> None:
        with pytest.raises(Exception, match="crash"):
            await page.goto("chrome://crash", timeout=10_000)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        await anyio.sleep(0.1)
        tasks.start_soon(crash)
    assert results[0].error == "The page has crashed while this was under way."
    gone = "The page has crashed. Whoever gave it has to load it again or give another one."
    for result in (await hands.do("click", **PLACE), (await hands.view.execute({})).invocation):
        assert result is not None
        assert result.error == gone
    other = await open_page()
    hands.stage.driver.switch_to(other.page)  # type: ignore[attr-defined]  a page's driver
    refused = await hands.do("click", **PLACE)
    assert "Take a new screenshot first" in (refused.error or "")
    await hands.look()
    await hands.done("click", **hands.at(BUTTON))
    assert await other.clicks() == [("left", 1)]


async def test_a_page_that_was_closed_is_told(open_page: OpenPage) -> None:
    hands = await opened(open_page)
    await page_of(hands).close()
    for result in (await hands.do("click", **PLACE), await hands.do("type", text="a")):
        assert result.error is not None
        assert result.error.startswith("The page was closed, and there is no other.")


async def test_things_are_dragged_and_dropped_by_the_pages_own_rules(open_page: OpenPage) -> None:
    content = """<body style="margin:0">
      <div draggable="true" id="from" style="width:80px;height:80px;background:red"></div>
      <div id="to" style="position:absolute;left:300px;top:0;width:100px;height:100px;background:grey"></div><script>
      const from = document.querySelector("#from"), to = document.querySelector("#to");
      from.addEventListener("dragstart", event => event.dataTransfer.setData("text/plain", "carried"));
      to.addEventListener("dragover", event => event.preventDefault());
      to.addEventListener("drop", event => { to.textContent = event.dataTransfer.getData("text/plain") });</script>"""
    hands = await opened(open_page, content)
    await hands.done("drag", path=[{"x": 40, "y": 40}, {"x": 350, "y": 50}])
    assert await page_of(hands).evaluate("to.textContent") == "carried"


async def test_keys_reach_the_page_with_their_modifiers(open_page: OpenPage) -> None:
    content = """<body><script>const seen = [];
      addEventListener("keydown", event => { seen.push([event.key, event.ctrlKey, event.shiftKey, event.altKey]);
      event.preventDefault(); })</script>"""
    hands = await opened(open_page, content)
    for keys in (["ctrl", "shift", "P"], ["ESC"], ["alt", "down"], ["F5"], ["space"], ["?"]):
        await hands.done("keypress", keys=keys)
    seen = [each for each in await page_of(hands).evaluate("seen") if each[0] not in {"Control", "Shift", "Alt"}]
    assert seen == [
        ["P", True, True, False],
        ["Escape", False, False, False],
        ["ArrowDown", False, False, True],
        ["F5", False, False, False],
        [" ", False, False, False],
        ["?", False, False, False],
    ]


async def test_line_ends_and_tabs_are_keys(open_page: OpenPage) -> None:
    content = "<body style='margin:0'><textarea style='width:200px;height:100px'></textarea><input><script></script>"
    hands = await opened(open_page, content)
    await hands.done("click", **PLACE)
    await hands.done("type", text="one\r\ntwo\tthree")
    values = "[...document.querySelectorAll('textarea, input')].map(each => each.value)"
    assert await page_of(hands).evaluate(values) == ["one\ntwo", "three"]


async def test_hovering_shows_what_a_page_shows_then(open_page: OpenPage) -> None:
    hands = await opened(
        open_page, "<style>body:hover{background:rgb(0,160,0)} html,body{height:100%;margin:0}</style>"
    )
    await hands.done("move", x=100, y=100)
    assert colour_at((await hands.look()).data, 10, 10) == GREEN


@pytest.mark.parametrize("by_token", [True, False])
async def test_a_cancelled_drag_releases_the_button(open_page: OpenPage, by_token: bool) -> None:
    hands = await opened(open_page)
    left, top = CANVAS
    path = [hands.at((left + 5 + n, top + 5 + n % 50)) for n in range(100)]
    context = ToolContext(cancellation=CancellationToken())
    failures: list[BaseException] = []

    async def drag() -> None:
        try:
            await hands.do("drag", context, path=path)
        except (ToolCancelledError, anyio.get_cancelled_exc_class()) as error:
            failures.append(error)
            raise

    with anyio.move_on_after(30) as scope:
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(drag)
                while not await hands.stage.held():
                    await anyio.lowlevel.checkpoint()
                if by_token:
                    context.cancellation.cancel()
                else:
                    tasks.cancel_scope.cancel()
        except* ToolCancelledError:
            pass
    assert not scope.cancelled_caught
    (failure,) = failures
    said = str(failure) + "".join(getattr(failure, "__notes__", []))
    assert "It was cancelled and has stopped; a part of it may have been done. No key or button is held down." in said
    assert await hands.stage.held() == []
    await hands.done("move", **hands.at(BUTTON))


async def test_a_window_without_a_size_of_its_own_is_measured(open_page: OpenPage) -> None:
    hands = await opened(open_page, size=None)
    assert hands.image is not None
    width, height = await page_of(hands).evaluate("[innerWidth, innerHeight]")
    assert abs(hands.image.width / hands.image.height - width / height) < 0.01
    await hands.done("click", x=80 * hands.image.width // width, y=40 * hands.image.height // height)
    assert await hands.stage.clicks() == [("left", 1)]


async def test_a_page_that_tells_a_smaller_scale_than_it_has_is_pictured_within_the_bounds(open_page: OpenPage) -> None:
    lie = "<script>Object.defineProperty(window, 'devicePixelRatio', { value: 0.01 })</script>"
    hands = Hands(await open_page(lie, size=(700, 450), scale=3, pictures="device"))
    looked = (await hands.view.execute({})).invocation
    assert looked is not None
    assert looked.error is None
    (image,) = looked.images
    assert max(image.width, image.height) <= 1_568
    assert image.width * image.height <= 1_200_000
    assert abs(image.width / image.height - 700 / 450) < 0.01


async def test_a_page_that_lies_about_its_size_and_scale_harms_itself_alone(open_page: OpenPage) -> None:
    names = "['devicePixelRatio', 'innerWidth', 'innerHeight']"
    lies = f"<script>for (const name of {names}) window[name] = '9'.repeat(99)</script>"
    hands = await opened(open_page, lies)
    assert hands.image is not None
    assert (hands.image.width, hands.image.height) == (640, 400)
    failed = (await Hands(await open_page(lies, size=None)).view.execute({})).invocation
    assert failed is not None
    assert failed.error == "The page tells a size that cannot be: -1 x -1."


async def test_a_screen_of_noise_is_made_to_fit(open_page: OpenPage) -> None:
    noise = """<body style="margin:0"><canvas width="700" height="450"></canvas><script>
      const pen = document.querySelector("canvas").getContext("2d"), image = pen.createImageData(700, 450);
      for (let at = 0; at < image.data.length; at++) image.data[at] = at % 4 == 3 ? 255 : Math.random() * 256;
      pen.putImageData(image, 0, 0);</script>"""
    hands = Hands(await open_page(noise, size=(700, 450), scale=2, pictures="device"), max_picture_bytes=500_000)
    image = await hands.look()
    assert len(image.data) <= 500_000
    assert image.width > 400


async def test_a_scrolled_page_is_shown_where_it_is_also_when_it_is_made_smaller(open_page: OpenPage) -> None:
    content = (
        "<body style='margin:0'><div style='height:900px'></div><div style='height:2000px;background:rgb(0,160,0)'>"
    )
    hands = Hands(await open_page(content), max_picture_side=320)
    await hands.look()
    await hands.done("scroll", scrollY=475, x=50, y=50)
    with anyio.fail_after(10):
        while await page_of(hands).evaluate("scrollY") != 950:  # noqa: ASYNC110  a page has no event for it
            await anyio.sleep(0.02)
    image = await hands.look()
    assert (image.width, image.height) == (320, 200)
    assert colour_at(image.data, 100, 1) == GREEN


async def test_a_handover_leaves_dialogs_to_the_person_and_closes_them_after(open_page: OpenPage) -> None:
    hands = await opened(open_page, BIG_BUTTON.format(""))
    driver, page = hands.stage.driver, page_of(hands)
    await driver.begin_takeover("mine")
    await page.evaluate("setTimeout(() => { document.title = confirm('theirs?') }, 0) && 0")
    with anyio.fail_after(10):
        while not driver._left:  # noqa: ASYNC110  # type: ignore[attr-defined]  there is no other word of it
            await anyio.sleep(0.02)
    await driver.end_takeover()
    with anyio.fail_after(10):
        while await page.evaluate("document.title") != "false":  # noqa: ASYNC110  a page has no event for it
            await anyio.sleep(0.02)
    assert driver.happened() == ('The page showed a dialog (confirm), which was answered with no: "theirs?"',)


async def test_files_are_not_given_and_downloads_are_told(open_page: OpenPage) -> None:
    content = """<body style="margin:0"><input type="file" style="width:200px;height:100px">
      <a download="d.txt" href="data:text/plain,x" style="position:absolute;left:300px;top:0">download this file</a>"""
    hands = await opened(open_page, content)
    told = await and_then(hands, await hands.done("click", **PLACE), "asked for files")
    assert "The page asked for files to upload; none was given." in told
    told = await and_then(hands, await hands.done("click", x=350, y=8), "download")
    assert "The page began a download, which is not opened: d.txt." in told


async def test_the_address_is_told_with_the_picture_and_a_long_one_is_cut(open_page: OpenPage) -> None:
    hands = await opened(open_page)
    page = page_of(hands)
    await page.evaluate("history.replaceState(0, '', '?' + 'a'.repeat(2000))")
    result = (await hands.view.execute({})).invocation
    assert result is not None
    assert f"({len(page.url)} characters)" in result.output
    assert len(result.output) < 1_000


async def test_typing_shows_in_the_picture(open_page: OpenPage) -> None:
    hands = await opened(open_page)
    before = await hands.look()
    await hands.done("click", **hands.at(FIELD))
    await hands.done("type", text="seen")
    after = await hands.look()
    assert before.sha256 != after.sha256
