"""The habits of an editor towards files and versions: where editors differ whatever they speak to servers. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True, kw_only=True)
class EditorHabits:
    r"""How an editor treats what it opens and saves; the defaults keep every byte, and ask nothing.

    ``first_version``: of a document that is opened. ``counts``: what raises a version by one.
    ``undecodable``: a file that is not UTF-8 is not opened, is shown with U+FFFD (and saved so), or is taken for
    Latin-1 (and saved so, with ``¿`` for what that lacks).
    ``line_ends``: shown as they are, all made those of the majority, or as ``\n`` whatever the file has.
    ``shows_empty_as_newline``: an empty file as one empty line. ``final_newline``: what saving does where it is
    missing.
    ``format_on_save``: made of the text before the user, or a tool, saves it. ``autosave``: see
    ``MemoryEditor.autosave``.
    ``reloads``: whether the text of the file is taken as a change of the document, or the document is opened anew.
    ``saves_over``: what becomes of the user's saving where the file was changed by somebody else.
    """

    first_version: int = 0
    counts: Literal["changes", "keystrokes"] = "changes"
    undecodable: Literal["refused", "replaced", "latin-1"] = "refused"
    line_ends: Literal["kept", "majority", "shown_as_lf"] = "kept"
    shows_empty_as_newline: bool = False
    final_newline: Literal["as_it_is", "added", "added_untold"] = "as_it_is"
    format_on_save: Callable[[str], str] | None = None
    autosave: bool = False
    reloads: Literal["changed", "reopened"] = "changed"
    saves_over: Literal["overwrites", "asks", "refuses"] = "overwrites"


PLAIN_HABITS = EditorHabits()

NEOVIM_HABITS = EditorHabits(
    undecodable="latin-1",
    shows_empty_as_newline=True,
    final_newline="added_untold",
    reloads="reopened",
    saves_over="asks",
)
"""As Neovim opens, reloads and saves files."""

VSCODE_HABITS = EditorHabits(
    first_version=1,
    undecodable="replaced",
    line_ends="majority",
    saves_over="asks",
)
"""As VS Code does it with its default settings, autosave aside."""
