"""PageComputerDriver: a browser page as the computer that is driven (W6). The page is given; none is ever started.

What surprises: a page that the page opens comes into view, and when it closes the one before does. Dialogs are closed
at once, since one that is open lets nothing else happen, and told; while a person has the computer they are theirs.
"""

from __future__ import annotations

import math
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypeVar, cast

import anyio

from ..computer import ACTIONS, ComputerFailure, Drag, Screen, Screenshot, TypeText, Wait
from ..limits import (
    COMPUTER_ACTION_TIMEOUT_S,
    COMPUTER_PAGES_MAX,
    COMPUTER_RELEASE_TIMEOUT_S,
    COMPUTER_SCREENSHOT_TIMEOUT_S,
    SCREEN_MAX_SIDE,
)
from ..support.computer_turns import ComputerTurns, Happened
from ..support.located import printable
from ..support.seen_through import seen_through
from .computer_page_hands import PageHands, drag_steps
from .computer_page_picture import page_picture

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ..computer import ActionName, ComputerAction, PictureBounds, Takeover
    from .computer_page_port import Page

T = TypeVar("T")
PictureScale: TypeAlias = Literal["css", "device"]

_TYPING_S_PER_CHAR: Final = 0.02
_DRAGGING_S_PER_MOVE: Final = 0.1
_SCALE_MAX: Final = 16


class PageComputerDriver:
    """Implements ``ComputerDriver``. Lives on the event loop of the page, until :meth:`detach`; closes no page.

    Pictures have a pixel for each CSS pixel, or with ``pictures="device"`` for each of the device. Of dialogs that ask
    something the answer is no, unless ``accept_dialogs``; a text that is asked for is never given.
    """

    def __init__(self, page: Page, *, pictures: PictureScale = "css", accept_dialogs: bool = False) -> None:
        self._pictures: PictureScale = pictures
        self._accepts = accept_dialogs
        self._turns = ComputerTurns()
        self._happened = Happened()
        self._pages: list[_ShownPage] = []
        self._views = 0
        self._left: list[Any] = []
        self._show(page)

    def switch_to(self, page: Page) -> None:
        """Drive another page from now on, after a crash for example; what is under way is stopped."""
        self.detach()
        self._turns.stop(ComputerFailure("The page was put aside for another one; a part of it may have been done."))
        self._show(page)

    def detach(self) -> None:
        """Listen to no page any more."""
        for shown in self._pages:
            shown.forget()
        self._pages.clear()

    # --- ComputerDriver ----------------------------------------------------------------------------------------------

    @property
    def actions(self) -> frozenset[ActionName]:
        """All that there are."""
        return frozenset(ACTIONS)

    @property
    def takeover(self) -> Takeover | None:
        """Who has the page."""
        return self._turns.takeover

    @property
    def held(self) -> frozenset[str]:
        """What a page that did not answer could not be made to release."""
        return frozenset(name for shown in self._pages for name in shown.hands.held)

    async def screen(self) -> Screen:
        """The size of what is in view."""
        shown = self._shown()
        size = shown.page.viewport_size
        if size is None:
            width, height = await self._numbers(shown.page, "[innerWidth, innerHeight]")
        else:
            width, height = float(size["width"]), float(size["height"])
        if not (1 <= width <= SCREEN_MAX_SIDE and 1 <= height <= SCREEN_MAX_SIDE):
            raise ComputerFailure(f"The page tells a size that cannot be: {width:g} x {height:g}.")
        if shown.scale is None:
            (scale,) = await self._numbers(shown.page, "[devicePixelRatio]")
            shown.scale = scale if 0 < scale <= _SCALE_MAX else 1.0  # the page may have put anything there
        return Screen(int(width), int(height), shown.scale, self._views + self._turns.handed_back)

    async def screenshot(self, bounds: PictureBounds) -> Screenshot:
        """A picture of what is in view."""

        async def take() -> Screenshot:
            page = self._in_view()
            screen = await self.screen()
            png = await self._in_time(
                lambda: page_picture(page, screen, bounds, self._pictures), COMPUTER_SCREENSHOT_TIMEOUT_S
            )
            return Screenshot(png, screen, f"The page is {printable(_shortened(page.url))}.")

        return await self._turns.run(take, is_picture=True)

    async def perform(self, action: ComputerAction) -> None:
        """Do it with the mouse or the keyboard of the page in view."""
        await self._turns.run(lambda: self._perform(action))

    async def begin_takeover(self, reason: str) -> None:
        """Let a person have the page, dialogs included."""
        await self._turns.begin_takeover(reason)

    async def end_takeover(self) -> None:
        """Dialogs that they have left open are closed."""
        self._turns.end_takeover()
        left, self._left = self._left, []
        for dialog in left:
            await self._close_dialog(dialog)

    def happened(self) -> tuple[str, ...]:
        """Dialogs, pages that came and went, and a new address."""
        if self._pages:
            shown = self._pages[-1]
            url = shown.page.url
            if url != shown.told_url:
                shown.told_url = url
                self._happened.tell("The page went to ", url, ".")
        return self._happened.take()

    # --- doing it ----------------------------------------------------------------------------------------------------

    async def _perform(self, action: ComputerAction) -> None:
        shown = self._shown()
        if isinstance(action, Wait):
            await anyio.sleep(action.seconds)
            return
        await self._release(shown)
        if shown.hands.held:
            raise ComputerFailure(
                f"{_named(shown.hands)} is still held down and the page does not answer, so that nothing else was done."
                " Try again later."
            )
        timeout_s = COMPUTER_ACTION_TIMEOUT_S
        if isinstance(action, TypeText):
            timeout_s += _TYPING_S_PER_CHAR * len(action.text)
        elif isinstance(action, Drag):
            timeout_s += _DRAGGING_S_PER_MOVE * sum(drag_steps(action.path))
        try:
            await self._in_time(lambda: shown.hands.do(action), timeout_s)
        except ComputerFailure as failure:
            if shown.hands.is_at_end and shown.page.is_closed():
                return  # by what was done: it is told as what happened
            raise ComputerFailure(f"{failure} {shown.hands.progress}".rstrip()) from failure
        finally:
            await self._release(shown)

    async def _release(self, shown: _ShownPage) -> None:
        """Let go of everything, whoever cancels meanwhile, or remember that it is still held."""
        if not shown.hands.held or shown.page.is_closed() or shown.has_crashed:
            shown.hands.held.clear()
            return

        async def let_go() -> None:
            with anyio.move_on_after(COMPUTER_RELEASE_TIMEOUT_S), suppress(Exception):
                await shown.hands.let_go()

        try:
            await seen_through(let_go)
        finally:
            if shown.hands.held:
                self._happened.tell(f"{_named(shown.hands)} could not be released, since the page does not answer.")

    async def _numbers(self, page: Page, expression: str) -> list[float]:
        """What a page says of itself: as many numbers as the expression lists; -1 for what is none."""
        told = await self._in_time(lambda: page.evaluate(expression), COMPUTER_ACTION_TIMEOUT_S)
        values: list[object] = cast("list[object]", told) if isinstance(told, list) else []
        values = [*values, -1, -1][: expression.count(",") + 1]
        return [float(value) if isinstance(value, (int, float)) and math.isfinite(value) else -1.0 for value in values]

    async def _in_time(self, work: Callable[[], Awaitable[T]], timeout_s: float) -> T:
        try:
            with anyio.fail_after(timeout_s):
                return await work()
        except TimeoutError:
            raise ComputerFailure(
                f"The page did not answer within {timeout_s:.0f} seconds; a script may keep it busy. Wait, look again."
            ) from None
        except ComputerFailure:
            raise
        except Exception as error:
            self._in_view()  # that it is gone says more than what a call made of that
            raise ComputerFailure(f"The page refused: {_first_line(error)}. Take a new screenshot.") from error

    # --- pages -------------------------------------------------------------------------------------------------------

    def _in_view(self) -> Page:
        return self._shown().page

    def _shown(self) -> _ShownPage:
        if not self._pages:
            raise ComputerFailure(
                "The page was closed, and there is no other. Whoever gave it has to give another one."
            )
        shown = self._pages[-1]
        if shown.has_crashed:
            raise ComputerFailure("The page has crashed. Whoever gave it has to load it again or give another one.")
        if shown.page.is_closed():
            self._closed(shown)
            return self._shown()
        return shown

    def _show(self, page: Page) -> None:
        shown = _ShownPage(page, self)
        self._pages.append(shown)
        self._views += 1

    def opened(self, page: Page) -> None:
        """A page was opened by one of these; it comes into view, unless there are too many."""
        if len(self._pages) > COMPUTER_PAGES_MAX:
            self._happened.tell("The page opened one more page, which is not brought into view: ", page.url, ".")
            return
        self._show(page)
        self._happened.tell("The page opened another one, which is in view now: ", page.url, ".")

    def closed(self, shown: _ShownPage) -> None:
        """A page was closed; the one before it comes into view."""
        self._closed(shown)

    def _closed(self, shown: _ShownPage) -> None:
        if shown not in self._pages:
            return
        was_in_view = self._pages[-1] is shown
        self._pages.remove(shown)
        shown.forget()
        if not was_in_view:
            return
        self._views += 1
        if self._pages:
            self._happened.tell("The page was closed; in view is now ", self._pages[-1].page.url, ".")
        else:
            self._happened.tell("The page was closed.")

    def crashed(self, shown: _ShownPage) -> None:
        """A page has crashed."""
        shown.has_crashed = True
        if self._pages and self._pages[-1] is shown:
            self._turns.stop(ComputerFailure("The page has crashed while this was under way."))

    # --- what pages ask ----------------------------------------------------------------------------------------------

    async def dialog(self, dialog: Any) -> None:
        """A dialog came up, which keeps everything else from happening until it is closed."""
        if self.takeover is not None:
            self._left.append(dialog)
        else:
            await self._close_dialog(dialog)

    async def _close_dialog(self, dialog: Any) -> None:
        kind = str(dialog.type)
        accepts = kind in {"alert", "beforeunload"} or (self._accepts and kind == "confirm")
        answered = {"alert": "was closed", "beforeunload": "was left as asked"}.get(kind)
        answered = answered or ("was answered with yes" if accepts else "was answered with no")
        # It may be gone with its page, or a person may have closed it.
        with suppress(Exception), anyio.move_on_after(COMPUTER_RELEASE_TIMEOUT_S):
            await (dialog.accept() if accepts else dialog.dismiss())
        self._happened.tell(
            f'The page showed a dialog ({printable(kind[:20])}), which {answered}: "', dialog.message, '"'
        )

    def asked_for_files(self, _chooser: Any) -> None:
        """Files were asked for."""
        self._happened.tell("The page asked for files to upload; none was given.")

    def downloaded(self, download: Any) -> None:
        """A download began."""
        self._happened.tell("The page began a download, which is not opened: ", str(download.suggested_filename), ".")


class _ShownPage:
    """One page and what it says, from when it came into view until it is forgotten."""

    def __init__(self, page: Page, driver: PageComputerDriver) -> None:
        self.page = page
        self.hands = PageHands(page)
        self.has_crashed = False
        self.scale: float | None = None
        self.told_url = page.url
        self._heard: dict[str, Callable[[Any], Any]] = {
            "dialog": driver.dialog,
            "popup": driver.opened,
            "crash": lambda _page: driver.crashed(self),
            "close": lambda _page: driver.closed(self),
            "filechooser": driver.asked_for_files,
            "download": driver.downloaded,
        }
        for event, hear in self._heard.items():
            page.on(event, hear)

    def forget(self) -> None:
        """Listen to it no more."""
        for event, hear in self._heard.items():
            with suppress(Exception):  # of a page that is gone
                self.page.remove_listener(event, hear)
        self._heard = {}


def _named(hands: PageHands) -> str:
    held = " and ".join(hands.held)
    return held[0].upper() + held[1:]


def _shortened(url: str) -> str:
    return url if len(url) <= _URL_MAX_CHARS else f"{url[:_URL_MAX_CHARS]}… ({len(url)} characters)"


_URL_MAX_CHARS: Final = 500


def _first_line(error: Exception) -> str:
    return printable(f"{type(error).__name__}: {error}".partition("\n")[0][:300]).rstrip(".")
