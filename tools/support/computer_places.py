"""Pixels of the picture that a model was shown, and places of the screen that it is of; pure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..computer import ComputerFailure, Point

if TYPE_CHECKING:
    from ..computer import Screen


@dataclass(frozen=True, slots=True)
class SeenPicture:
    """The last picture that was handed out: its size, and the screen as it was then."""

    width: int
    height: int
    screen: Screen

    def place(self, x: float, y: float) -> Point:
        """The place on the screen: the middle of what the pixel shows.

        Raises:
            ComputerFailure: there is no such pixel.
        """
        if not (0 <= x < self.width and 0 <= y < self.height):  # neither is true of what is no number
            size = (
                f"{self.width} x {self.height} pixels: x goes to {self.width - 1}, y to {self.height - 1}, both from 0"
            )
            raise ComputerFailure(
                f"x={x:g}, y={y:g} is outside of the last screenshot, which is {size}. Nothing was done. Correct the "
                "coordinates, scroll, or take a new screenshot."
            )
        return Point(*(self._middle(math.floor(x), 0), self._middle(math.floor(y), 1)))

    def distance(self, dx: float, dy: float) -> tuple[float, float]:
        """A distance in pixels of the picture as one on the screen."""
        return dx * self.screen.width / self.width, dy * self.screen.height / self.height

    def pixel(self, point: Point) -> tuple[int, int]:
        """The pixel that shows a place of the screen."""
        return (
            min(self.width - 1, math.floor(point.x * self.width / self.screen.width)),
            min(self.height - 1, math.floor(point.y * self.height / self.screen.height)),
        )

    def _middle(self, pixel: int, axis: int) -> float:
        picture, screen = ((self.width, self.screen.width), (self.height, self.screen.height))[axis]
        return (pixel + 0.5) * screen / picture
