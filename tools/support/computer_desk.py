"""What the two tools of a driven computer share: its driver, the last picture, and who has it (W6)."""

from __future__ import annotations

import hashlib
import math
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeVar, cast

import anyio

from ..computer import ComputerFailure, PictureBounds, TakenOverError
from ..contract import ImageContent, InvocationResult
from ..errors import ToolCancelledError
from ..limits import COMPUTER_DRIVER_TIMEOUT_S, SCREEN_MAX_SIDE, SCREENSHOT_ATTEMPTS
from .blocking import run_blocking
from .computer_handover import handed_back
from .computer_places import SeenPicture
from .located import printable
from .png import NoPictureError, png_head, png_size
from .until_cancelled import until_cancelled

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator

    from ..computer import ComputerAction, ComputerDriver, Screen, Screenshot
    from ..contract import ToolContext
    from ..ports import ArtifactStore, AskPort

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Handover:
    """The user gets the computer, or is asked whether they hand it back."""

    phase: Literal["begin", "end"]
    reason: str


@dataclass(frozen=True, slots=True)
class PlannedAction:
    """What will be done, what is said once it is, and the screen that its places are for, where it has any."""

    action: ComputerAction | Handover
    done: str
    screen: Screen | None = None


class ComputerDesk:
    """One computer and one session. ``bounds`` and ``max_bytes`` are those of a picture."""

    def __init__(
        self,
        driver: ComputerDriver,
        bounds: PictureBounds,
        max_bytes: int,
        artifacts: ArtifactStore | None,
        ask: AskPort | None,
    ) -> None:
        self.bounds = bounds
        self.max_bytes = max_bytes
        self._driver = driver
        self._artifacts = artifacts
        self._ask = ask
        self._seen: SeenPicture | None = None
        self._turn = anyio.Lock()

    def refuse_taken_over(self) -> None:
        """Raise TakenOverError while a person has the computer."""
        takeover = self._driver.takeover
        if takeover is not None:
            raise TakenOverError(
                f"The user has the computer ({printable(takeover.reason)}): nothing was done and no picture was taken. "
                f"It ends when they hand it back{self._asking}."
            )

    async def seen(self) -> SeenPicture:
        """The last picture, which coordinates are those of.

        Raises:
            ComputerFailure: there is none, or it is not of this screen any more.
        """
        if self._seen is None:
            raise ComputerFailure(
                "There is no screenshot yet that coordinates could be those of. Nothing was done. Take one first."
            )
        await self._refuse_changed(self._seen.screen)
        return self._seen

    # --- looking -----------------------------------------------------------------------------------------------------

    async def look(self, context: ToolContext) -> InvocationResult:
        """Take a picture; from now on coordinates are those of it.

        Raises:
            ComputerFailure: there is none.
        """
        shot = await self._driven(self._picture, context)
        width, height = await run_blocking(context.cancellation, lambda: self._checked(shot))
        sha256 = hashlib.sha256(shot.png).hexdigest()
        is_kept = await run_blocking(context.cancellation, lambda: self._keep(shot.png))
        self.refuse_taken_over()
        self._seen = SeenPicture(width, height, shot.screen)
        screen = f"{shot.screen.width} x {shot.screen.height}"
        size = f"{width} x {height}"
        told = [f"Screenshot of {size} pixels" + ("." if size == screen else f", of a screen of {screen}.")]
        told += [shot.about] if shot.about else []
        told += [f"It is kept as {sha256}."] if is_kept else []
        image = ImageContent(mime_type="image/png", data=shot.png, width=width, height=height, sha256=sha256)
        return InvocationResult(success=True, output=self._with_happened(*told), images=(image,))

    async def _picture(self) -> Screenshot:
        bounds = self.bounds
        size = 0
        for _ in range(SCREENSHOT_ATTEMPTS):
            shot = await self._driver.screenshot(bounds)
            png = cast("object", shot.png)  # a driver is anybody's code
            if not isinstance(png, bytes):
                raise ComputerFailure(f"The driver gave no picture that can be used: it is a {type(png).__name__}.")
            size = len(png)
            if size <= self.max_bytes:
                return shot
            bounds = PictureBounds(*_outline(shot.png)).smaller(math.sqrt(self.max_bytes / size) * 0.95)
        raise ComputerFailure(
            f"The picture has {size} bytes, and the most is {self.max_bytes}; it could not be made smaller. It was not "
            "taken over. A smaller window, or other content of it, can be shown."
        )

    def _checked(self, shot: Screenshot) -> tuple[int, int]:
        """The size of a picture that can be relied on."""
        screen = shot.screen
        if not all(type(side) is int and 1 <= side <= SCREEN_MAX_SIDE for side in (screen.width, screen.height)):
            raise ComputerFailure(f"The driver tells of a screen of {screen.width} x {screen.height}, which cannot be.")
        try:
            width, height = png_size(shot.png, self.bounds.pixels)
        except NoPictureError as error:
            raise ComputerFailure(f"The driver gave no picture that can be used: {error}.") from None
        if not self.bounds.admit(width, height):
            raise ComputerFailure(
                f"The picture has {width} x {height} pixels, and the most is {self.bounds.side} on its longer side. It "
                "could not be made smaller; a smaller window can be shown."
            )
        return width, height

    def _keep(self, png: bytes) -> bool:
        if self._artifacts is None:
            return False
        writer = self._artifacts.create()
        writer.write(png)
        kept = writer.finish()
        return kept is not None and kept.complete

    # --- acting ------------------------------------------------------------------------------------------------------

    async def act(self, planned: PlannedAction, context: ToolContext) -> InvocationResult:
        """Do it.

        Raises:
            ComputerFailure: it was not done, or not all of it.
        """
        action = planned.action
        if isinstance(action, Handover):
            return await self._hand_over(action, context)

        async def do() -> None:
            # Whatever is done before it may bring up another page, and while it waits a person may have the computer.
            async with self._turn:
                self.refuse_taken_over()
                if planned.screen is not None:
                    await self._refuse_changed(planned.screen)
                await self._driver.perform(action)

        await self._driven(do, context)
        return InvocationResult(success=True, output=self._with_happened(f"{planned.done}."))

    async def _hand_over(self, handover: Handover, context: ToolContext) -> InvocationResult:
        if handover.phase == "end" and self._driver.takeover is None:
            return InvocationResult(success=True, output="The user does not have the computer; it can be used.")
        if handover.phase == "begin":
            self.refuse_taken_over()
            with _telling_of_cancellation(lambda: self._driver.takeover is not None):
                await self._driven(lambda: self._driver.begin_takeover(handover.reason), context)
        takeover = self._driver.takeover
        reason = handover.reason if takeover is None else takeover.reason
        ask = context.ask or self._ask
        if await self._handed_back(reason, ask, context):
            return InvocationResult(
                success=True,
                output=self._with_happened("The user has handed the computer back. Coordinates need a new screenshot."),
            )
        has_it = f"The user has the computer now ({printable(reason)}); nothing is done until they hand it back"
        if handover.phase == "begin" and ask is None:
            return InvocationResult(success=True, output=f"{has_it}{self._asking}.")
        asked = "they did not say that they do" if ask is not None else "nobody can be asked here"
        return InvocationResult.failed(f"{has_it}, and {asked}{self._asking}.")

    async def _handed_back(self, reason: str, ask: AskPort | None, context: ToolContext) -> bool:
        with _telling_of_cancellation(lambda: True):
            is_back = await handed_back(self._driver, reason, ask, context.cancellation)
            if context.cancellation.cancelled and not is_back:
                raise ToolCancelledError("cancelled before they answered.")
        return is_back

    @property
    def _asking(self) -> str:
        if "takeover" not in self._driver.actions:
            return ""
        return "; the action takeover with the phase end asks for it, and tells once it is so"

    # --- with the driver ---------------------------------------------------------------------------------------------

    async def _refuse_changed(self, then: Screen) -> None:
        if await self._driver.screen() != then:
            raise ComputerFailure(
                "The screen is not the one of the last screenshot any more: it has another size, shows another page, "
                "or the user had it meanwhile. Nothing was done. Take a new screenshot first."
            )

    async def _driven(self, work: Callable[[], Awaitable[T]], context: ToolContext) -> T:
        """Have the driver do something, within bounds; what happened meanwhile is told however it ends."""
        try:
            with anyio.fail_after(COMPUTER_DRIVER_TIMEOUT_S):
                return await until_cancelled(context.cancellation, work, "")
        except ComputerFailure as failure:
            kind = TakenOverError if isinstance(failure, TakenOverError) else ComputerFailure
            raise kind(self._with_happened(str(failure))) from failure
        except TimeoutError:
            raise ComputerFailure(self._with_happened(f"{_TOO_LONG} {self._held}")) from None
        except ToolCancelledError:
            raise ToolCancelledError(self._with_happened(f"{_STOPPED} {self._held}")) from None
        except anyio.get_cancelled_exc_class() as cancelled:
            cancelled.add_note(self._with_happened(f"{_STOPPED} {self._held}"))
            raise

    @property
    def _held(self) -> str:
        held = self._driver.held
        return f"Still held down: {', '.join(sorted(held))}." if held else "No key or button is held down."

    def _with_happened(self, *told: str) -> str:
        return "\n".join((*told, *self._driver.happened()))


@contextmanager
def _telling_of_cancellation(is_taken_over: Callable[[], bool]) -> Generator[None]:
    """A handover that is cancelled leaves the computer to the user, once they have it."""
    still = "It was cancelled while the user was waited for, who has the computer still."
    try:
        yield
    except ToolCancelledError as cancelled:
        if not is_taken_over():
            raise
        raise ToolCancelledError(still) from cancelled
    except anyio.get_cancelled_exc_class() as cancelled:
        if is_taken_over():
            cancelled.add_note(still)
        raise


_TOO_LONG: Final = (
    f"The computer did not answer within {COMPUTER_DRIVER_TIMEOUT_S:.0f} seconds, and what was done is not known. Take "
    "a new screenshot before anything else."
)
_STOPPED: Final = "It was cancelled and has stopped; a part of it may have been done."


def _outline(png: bytes) -> tuple[int, int]:
    """Longer side and pixels of what is to be made smaller."""
    try:
        width, height = png_head(png)
    except NoPictureError:
        return 1, 1
    return max(width, height), width * height
