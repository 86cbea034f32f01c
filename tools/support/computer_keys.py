"""Names of keys: as models write them, and as drivers take them (the DOM's ``KeyboardEvent.key``)."""

from __future__ import annotations

from typing import Final

from .located import printable

MODIFIERS: Final = ("Control", "Shift", "Alt", "Meta")

NAMED_KEYS: Final = (
    *MODIFIERS,
    *("Enter", "Tab", "Space", "Escape", "Backspace", "Delete", "Insert"),
    *("Home", "End", "PageUp", "PageDown", "ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"),
    *(f"F{number}" for number in range(1, 13)),
)

_OTHER_NAMES: Final = {
    "ctrl": "Control",
    "option": "Alt",
    "cmd": "Meta",
    "command": "Meta",
    "super": "Meta",
    "win": "Meta",
    "windows": "Meta",
    "return": "Enter",
    "esc": "Escape",
    "del": "Delete",
    "ins": "Insert",
    "up": "ArrowUp",
    "down": "ArrowDown",
    "left": "ArrowLeft",
    "right": "ArrowRight",
    "page_up": "PageUp",
    "page_down": "PageDown",
    "pgup": "PageUp",
    "pgdn": "PageDown",
    "spacebar": "Space",
    " ": "Space",
}
_BY_NAME: Final = {name.lower(): name for name in NAMED_KEYS} | _OTHER_NAMES


def keys_of(written: list[str]) -> tuple[str, ...]:
    """The keys to press together, in the order in which they go down: modifiers, and one other key at most, the last.

    Beside modifiers, upper and lower case of a letter are one key, of which Shift makes the upper case.

    Raises:
        ValueError: no such key, or not these together; the text says what is expected.
    """
    keys = [_key(name) for name in written]
    others = [key for key in keys if key not in MODIFIERS]
    if len(set(keys)) < len(keys):
        raise ValueError("a key is named twice; each is pressed once")
    if len(others) > 1 or (others and keys[-1] != others[0]):
        raise ValueError(
            f"expected are modifiers ({', '.join(MODIFIERS)}) and after them one other key; keys that are pressed one "
            "after the other are several calls, and text is typed with the action type"
        )
    if len(keys) > 1 and len(keys[-1]) == 1:
        letter = keys[-1].upper() if "Shift" in keys else keys[-1].lower()
        keys[-1] = letter if len(letter) == 1 else keys[-1]
    return tuple(keys)


def _key(name: str) -> str:
    known = _BY_NAME.get(name.lower())
    if known is not None:
        return known
    if len(name) == 1 and name.isprintable():
        return name
    raise ValueError(f"{printable(name[:40])} is no key; there are {', '.join(NAMED_KEYS)}, and single characters")
