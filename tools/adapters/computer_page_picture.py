"""A picture of a page within bounds. What is too large is taken again, smaller, where the browser speaks CDP."""

from __future__ import annotations

import base64
import math
from typing import TYPE_CHECKING, Any, Final, Literal

from ..limits import COMPUTER_SCREENSHOT_TIMEOUT_S, SCREEN_MAX_SIDE
from ..support.png import NoPictureError, png_head

if TYPE_CHECKING:
    from ..computer import PictureBounds, Screen
    from .computer_page_port import Page

_ATTEMPTS: Final = 3
"""What is rounded up comes out a pixel too large; the size of the first one tells."""


async def page_picture(page: Page, screen: Screen, bounds: PictureBounds, scale: Literal["css", "device"]) -> bytes:
    """The picture as PNG; larger than the bounds where it cannot be made smaller, which the caller looks at."""
    by_scale = {"css": 1.0, "device": screen.scale}[scale]
    expected = math.ceil(screen.width * by_scale), math.ceil(screen.height * by_scale)
    png = b""
    if bounds.admit(*expected):
        png = await _whole(page, scale)
        if bounds.admit(*_size(png)):
            return png
        expected = _size(png)  # the page told another scale than it has
    session = await _cdp_session(page)
    if session is None:
        return png or await _whole(page, scale)
    try:
        return await _smaller(session, screen, bounds.fit(*expected))
    finally:
        await session.detach()


async def _whole(page: Page, scale: Literal["css", "device"]) -> bytes:
    return await page.screenshot(
        type="png", scale=scale, caret="initial", timeout=COMPUTER_SCREENSHOT_TIMEOUT_S * 1_000
    )


async def _cdp_session(page: Page) -> Any:
    """A session of the browser's own protocol; None where there is no such thing."""
    context = getattr(page, "context", None)
    opens = getattr(context, "new_cdp_session", None)
    if opens is None:
        return None
    try:
        return await opens(page)
    except Exception:  # noqa: BLE001  other browsers' contexts have the method and refuse, by an error of the library's
        return None


async def _smaller(session: Any, screen: Screen, wanted: tuple[int, int]) -> bytes:
    seen = (await session.send("Page.getLayoutMetrics"))["cssVisualViewport"]
    png = b""
    factor = wanted[0] / screen.width
    for _ in range(_ATTEMPTS):
        clip = {"x": seen["pageX"], "y": seen["pageY"], "width": screen.width, "height": screen.height, "scale": factor}
        told = await session.send("Page.captureScreenshot", {"format": "png", "clip": clip})
        png = base64.b64decode(told["data"])
        width, height = _size(png)
        if width <= wanted[0] and height <= wanted[1]:
            break
        factor *= min(wanted[0] / width, wanted[1] / height) * 0.999
    return png


def _size(png: bytes) -> tuple[int, int]:
    try:
        return png_head(png)
    except NoPictureError:
        return SCREEN_MAX_SIDE, SCREEN_MAX_SIDE
