"""Draw media/icon.png, the icon of the extension in lists: the mark of media/openbuffer.svg on a ground of its own.

Needs Pillow, which the extra `test` of the repository has.
"""
# ruff: noqa: INP001  a script that is started by its path

from __future__ import annotations

from pathlib import Path
from typing import Final

from PIL import Image, ImageDraw

TARGET: Final = Path(__file__).parent.parent / "media" / "icon.png"

SIDE: Final = 256
FINER: Final = 8
"""Drawn so many times larger and made smaller, which is what smooths the edges."""

TOP: Final = (31, 60, 136)
BOTTOM: Final = (13, 27, 62)
INK: Final = (240, 244, 255)
DOT: Final = (255, 183, 77)


def main() -> None:
    """Draw and write it."""
    side = SIDE * FINER
    ground = Image.new("RGB", (1, side))
    for row in range(side):
        share = row / side
        ground.putpixel((0, row), tuple(round(a + (b - a) * share) for a, b in zip(TOP, BOTTOM, strict=True)))
    mask = Image.new("L", (side, side), 0)
    ImageDraw.Draw(mask).rounded_rectangle((0, 0, side - 1, side - 1), radius=side * 7 // 32, fill=255)
    icon = Image.new("RGBA", (side, side), (0, 0, 0, 0))
    icon.paste(ground.resize((side, side)), mask=mask)  # pyright: ignore[reportUnknownMemberType]  Pillow's types name numpy's
    _mark(ImageDraw.Draw(icon), side)
    small = icon.resize((SIDE, SIDE), Image.Resampling.LANCZOS)  # pyright: ignore[reportUnknownMemberType]  as above
    small.save(TARGET, optimize=True)


def _mark(draw: ImageDraw.ImageDraw, side: int) -> None:
    unit = side / 32
    width = round(unit * 1.7)

    def line(*points: tuple[float, float]) -> None:
        spots = [(x * unit, y * unit) for x, y in points]
        draw.line(spots, fill=INK, width=width, joint="curve")
        for x, y in spots:
            half = width / 2
            draw.ellipse((x - half, y - half, x + half, y + half), fill=INK)

    line((17.5, 7), (9, 7), (9, 25), (23, 25), (23, 14))
    line((12.8, 14.5), (16.5, 14.5))
    line((12.8, 18), (19.4, 18))
    line((12.8, 21.4), (17.5, 21.4))
    draw.ellipse((19.6 * unit, 5.2 * unit, 26.4 * unit, 12 * unit), fill=DOT)


if __name__ == "__main__":
    main()
