"""Looking at pictures with an eye that is not ours."""

from __future__ import annotations

import io

from PIL import Image


def colour_at(png: bytes, x: int, y: int) -> tuple[int, int, int]:
    """Red, green and blue of a pixel."""
    with Image.open(io.BytesIO(png), formats=["PNG"]) as image:
        red, green, blue = image.convert("RGB").getpixel((x, y))  # type: ignore[misc]  three channels after converting
    return red, green, blue
