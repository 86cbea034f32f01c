"""What stands on the screen of the in-memory computer: buttons, fields, canvases, lists that scroll."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from ..computer import MouseButton, Point

Colour: TypeAlias = tuple[int, int, int]

WHITE: Colour = (255, 255, 255)
GREY: Colour = (200, 200, 200)
GREEN: Colour = (0, 160, 0)
BLACK: Colour = (0, 0, 0)
RED: Colour = (255, 0, 0)
_CHARACTER = 6
_LINE_HEIGHT = 20
_PEN = 4


@dataclass(frozen=True, slots=True)
class Area:
    """A rectangle of the screen, in units."""

    x: float
    y: float
    width: float
    height: float

    def has(self, point: Point) -> bool:
        """Whether a place is inside of it."""
        return self.x <= point.x < self.x + self.width and self.y <= point.y < self.y + self.height


Shape: TypeAlias = tuple[Area, Colour]
"""A filled rectangle; later ones lie over earlier ones."""


@dataclass(slots=True)
class MemoryPart:
    """Something on the screen; this one does nothing. The driver calls it for what is done inside of ``area``."""

    area: Area

    def clicked(self, button: MouseButton, count: int) -> None:
        """A button was pressed and released on it, the ``count``-th time in a row."""

    def dragged(self, path: tuple[Point, ...]) -> None:
        """Something was dragged that began on it."""

    def scrolled(self, dx: float, dy: float) -> None:
        """The wheel was turned over it."""

    def typed(self, text: str) -> None:
        """Text was typed while it had the keyboard."""

    def pressed(self, keys: tuple[str, ...]) -> None:
        """Keys were pressed together while it had the keyboard."""

    def shapes(self) -> list[Shape]:
        """What it looks like."""
        return [(self.area, GREY)]


@dataclass(slots=True)
class MemoryButton(MemoryPart):
    """Is green once it was clicked; ``clicks`` are the buttons and counts."""

    clicks: list[tuple[MouseButton, int]] = field(default_factory=list[tuple["MouseButton", int]])

    def clicked(self, button: MouseButton, count: int) -> None:
        """Keep it."""
        self.clicks.append((button, count))

    def shapes(self) -> list[Shape]:
        """One colour."""
        return [(self.area, GREEN if self.clicks else GREY)]


@dataclass(slots=True)
class MemoryField(MemoryPart):
    """A field with text, whose end is where the keyboard is; Control and a selects all, Backspace deletes."""

    text: str = ""
    is_all_selected: bool = False

    def typed(self, text: str) -> None:
        """Add it, in the place of what is selected."""
        self.text = text if self.is_all_selected else self.text + text
        self.is_all_selected = False

    def pressed(self, keys: tuple[str, ...]) -> None:
        """Edit the text."""
        *modifiers, key = keys
        if keys == ("Control", "a"):
            self.is_all_selected = True
        elif keys == ("Backspace",):
            self.text = "" if self.is_all_selected else self.text[:-1]
            self.is_all_selected = False
        elif len(key) == 1 and set(modifiers) <= {"Shift"}:
            self.typed(key.upper() if modifiers else key)

    def shapes(self) -> list[Shape]:
        """A bar as long as the text."""
        area = self.area
        bar = Area(area.x + 2, area.y + 4, min(_CHARACTER * len(self.text), area.width - 4), area.height - 8)
        return [(area, GREY), (Area(area.x + 1, area.y + 1, area.width - 2, area.height - 2), WHITE), (bar, BLACK)]


@dataclass(slots=True)
class MemoryCanvas(MemoryPart):
    """What is dragged over it is drawn, in red."""

    strokes: list[tuple[Point, ...]] = field(default_factory=list[tuple["Point", ...]])

    def dragged(self, path: tuple[Point, ...]) -> None:
        """Draw it."""
        self.strokes.append(path)

    def shapes(self) -> list[Shape]:
        """The ground and the strokes, as dots close to each other."""
        return [(self.area, WHITE), *(shape for path in self.strokes for shape in self._dots(path))]

    def _dots(self, path: tuple[Point, ...]) -> list[Shape]:
        dots: list[Shape] = []
        for start, end in pairwise(path):
            steps = max(1, int(max(abs(end.x - start.x), abs(end.y - start.y))))
            for step in range(steps + 1):
                x = start.x + (end.x - start.x) * step / steps
                y = start.y + (end.y - start.y) * step / steps
                dots.append((Area(x - _PEN / 2, y - _PEN / 2, _PEN, _PEN), RED))
        return dots


@dataclass(slots=True)
class MemoryList(MemoryPart):
    """Stripes of ``height`` units in all, of which the area shows a part from ``offset`` on."""

    height: float = 1_000
    offset: float = 0

    def scrolled(self, dx: float, dy: float) -> None:  # noqa: ARG002  it is only as wide as its area
        """Move within the ends."""
        self.offset = min(max(0.0, self.offset + dy), max(0.0, self.height - self.area.height))

    def shapes(self) -> list[Shape]:
        """Every other line is grey."""
        area = self.area
        shapes: list[Shape] = [(area, WHITE)]
        first = -(self.offset % (2 * _LINE_HEIGHT))
        for line in range(int(area.height / _LINE_HEIGHT) + 3):
            top = max(0.0, first + 2 * line * _LINE_HEIGHT)
            bottom = min(area.height, first + (2 * line + 1) * _LINE_HEIGHT)
            if top < bottom:
                shapes.append((Area(area.x, area.y + top, area.width, bottom - top), GREY))
        return shapes
