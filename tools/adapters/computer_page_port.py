"""What a browser page has to offer to be driven; that of Playwright's async API does, and nothing of it is imported."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..computer import MouseButton


class PageMouse(Protocol):
    """The mouse of a page; points in CSS pixels."""

    async def move(self, x: float, y: float, *, steps: int | None = None) -> None:
        """Move the pointer, in so many steps."""
        ...

    async def down(self, *, button: MouseButton | None = None, click_count: int | None = None) -> None:
        """Press a button."""
        ...

    async def up(self, *, button: MouseButton | None = None, click_count: int | None = None) -> None:
        """Release it."""
        ...

    async def wheel(self, delta_x: float, delta_y: float) -> None:
        """Turn the wheel."""
        ...


class PageKeyboard(Protocol):
    """The keyboard of a page."""

    async def down(self, key: str) -> None:
        """Press a key."""
        ...

    async def up(self, key: str) -> None:
        """Release it."""
        ...

    async def type(self, text: str) -> None:
        """Press and release a key for each character."""
        ...


class Page(Protocol):
    """One page. Where it has a ``context`` that makes CDP sessions, pictures that are too large are made smaller."""

    @property
    def mouse(self) -> PageMouse:
        """Its mouse."""
        ...

    @property
    def keyboard(self) -> PageKeyboard:
        """Its keyboard."""
        ...

    @property
    def url(self) -> str:
        """Its address."""
        ...

    @property
    def viewport_size(self) -> Mapping[str, Any] | None:
        """``width`` and ``height`` in CSS pixels; None where it has no size of its own."""
        ...

    def is_closed(self) -> bool:
        """Whether it was closed."""
        ...

    def on(self, event: Any, f: Callable[..., Any], /) -> None:
        """Have a function called at an event: "dialog", "popup", "crash", "close", "filechooser", "download"."""
        ...

    def remove_listener(self, event: str, f: Any, /) -> None:
        """Undo that."""
        ...

    async def evaluate(self, expression: str, /) -> Any:
        """The value of an expression."""
        ...

    async def screenshot(
        self,
        *,
        timeout: float | None = None,
        type: Literal["png"] | None = None,  # noqa: A002  the page's name for it
        scale: Literal["css", "device"] | None = None,
        caret: Literal["hide", "initial"] | None = None,
    ) -> bytes:
        """A picture of what is in view; ``timeout`` is milliseconds."""
        ...
