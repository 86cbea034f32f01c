"""Characters that deceive, for character classes of ``re``: what shows nothing, and what turns the writing around.

Where each of them goes depends on the place: a dialog escapes them, a question refuses them, a found text loses them.
The joiners U+200C and U+200D are in none: they are part of words (Persian, Hindi) and of emoji.
"""

from __future__ import annotations

from typing import Final

SHAPELESS: Final = "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\uffa0"
"""Without a shape, though Unicode counts them as letters, marks or symbols."""

SELECTORS: Final = "\U000e0100-\U000e01ef"
"""Choose a variant of the character before, and do so in names of people and places; many in a row carry a text."""

TURNING: Final = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
"""Marks of writing direction: what is shown after them may stand before them."""

HIDDEN: Final = "\u00ad\u200b\u2060-\u2065\u206a-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f"
"""Marks of format that nobody sees; the last are letters (tags) of which flags are made, and hidden instructions."""
