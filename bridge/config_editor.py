"""The configuration's layer in the editor: what the client tells in ``initialize``, and whenever the settings change.

The keys are those of the file, below the section ``openbuffer``. Where the client says that the user trusts the
workspace, they are the user's own and count fully. Else they may come from the repository, and only tighten (B7).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, cast

from .config_keys import TABLES
from .config_reading import Layer, Problem, read_layer
from .tightening import STRICTEST, read_tightening

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from .editor_settings import EditorSaid

NAME: Final = "the editor's settings"

VALUES_MAX: Final = 20_000
CHARS_MAX: Final = 256 * 1024
"""Of all names and texts together. More is no settings of a person's."""

DEPTH_MAX: Final = 16


def read_editor(said: EditorSaid, base: Path | None) -> Layer:
    """The layer. Relative paths start at ``base``, the first root. Nothing is raised, whatever was said.

    Of settings that count fully, a value that cannot be used must not loosen anything: until it is corrected the key
    has its strictest value, where it has one.
    """
    wrong = what_is_wrong_with_settings(said.settings)
    if wrong:
        return Layer(name=NAME, problems=(Problem(wrong),))
    tables = _tables(said.settings)
    if said.trusted is not True:
        return read_tightening(tables, NAME, base)
    layer = read_layer(tables, NAME, base=base)
    return replace(layer, values={**layer.values, **_strictest(layer)})


def _tables(settings: object) -> Mapping[str, Any]:
    """The tables; an empty one is an empty array where it was written in Lua."""
    tables = cast("dict[str, Any]", settings or {})
    return {name: {} if value == [] and name in TABLES else value for name, value in tables.items()}


def _strictest(layer: Layer) -> Mapping[str, Any]:
    return {problem.key: STRICTEST[problem.key] for problem in layer.problems if problem.key in STRICTEST}


def what_is_wrong_with_settings(settings: object) -> str:
    """Why these cannot be settings at all, empty where they can; looks no further than the bounds."""
    if settings is None or settings == []:
        return ""
    if not isinstance(settings, dict):
        return f"the section openbuffer must be an object, not {type(settings).__name__}; it does not count"
    count = chars = 0
    left: list[tuple[object, int]] = [(cast("object", settings), 0)]
    while left:
        value, depth = left.pop()
        count += 1
        if isinstance(value, str):
            chars += len(value)
        elif isinstance(value, dict):
            table = cast("dict[str, object]", value)
            chars += sum(map(len, table))
            left += [(each, depth + 1) for each in table.values()]
        elif isinstance(value, list):
            left += [(each, depth + 1) for each in cast("list[object]", value)]
        if count + len(left) > VALUES_MAX or chars > CHARS_MAX or depth > DEPTH_MAX:
            return "they are longer or deeper than any settings, and do not count"
    return ""
