"""Real Neovim with the plugin: the random histories of ``test_neovim_interleavings``, where more is promised.

What plain ``vim.lsp`` does not tell, the plugin does: so nobody saves or reloads for it here, a document is edited
under a new name at once, and one whose file was changed is reloaded before it is edited. It saves what nobody else
has changed, which is told apart from the disk being written beside the editor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .neovim_judgement import Story
from .neovim_recorder import RecordedNeovim
from .nvim_client import PluginNeovim
from .test_neovim_interleavings import SETTINGS, History, editors_by_setting, play

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .neovim_wishes import Wish

pytestmark = [pytest.mark.editor, pytest.mark.contract("B4", "E1", "E7", "E8", "E9", "E10", "E11", "E12")]

INTERLEAVINGS = 1000
QUICK = 24
SEEDS = [seed if seed < QUICK else pytest.param(seed, marks=pytest.mark.slow) for seed in range(INTERLEAVINGS)]

_RECORD_THE_PLUGIN = """
local R = _G.recorder
local edits, marks = require('openbuffer.edits'), require('openbuffer.marks')
local plan, changed, before = edits.plan, marks.changed, nil
local function plain(lines) return (table.concat(lines, '\\n'):gsub('\\r', '')) end
edits.plan = function(lines, ...)
  before = plain(lines)
  return plan(lines, ...)
end
marks.changed = function(buffer, ...)
  local after = plain(vim.api.nvim_buf_get_lines(buffer, 0, -1, true))
  if before ~= after then
    table.insert(R.log, { kind = 'edit', path = vim.api.nvim_buf_get_name(buffer), before = before, after = after })
  end
  return changed(buffer, ...)
end
R.emptied = setmetatable({}, { __newindex = function() end })
"""
"""An edit is planned and made in one go. Nothing is settled by the recorder: what was emptied is told by the plugin."""


class RecordedPlugin(RecordedNeovim):
    def __init__(self, editor: PluginNeovim) -> None:
        super().__init__(editor)
        editor.lua(_RECORD_THE_PLUGIN)


class PluginHistory(History):
    """Judged like the others, but for what reloading and saving change."""

    def _found_the_right_place(
        self, path: str, wish: Wish, told: list[tuple[list[Wish], list[Wish]]], story: Story
    ) -> None:
        place, text = self._truth(path)
        if place == "disk" and path in self.shown:  # reloaded, edited and saved, or edited on disk
            if wish.fits(text or "") and (text is not None or wish.tool == "Write"):
                self._require(wish.said == "done", "refused, though nothing is in its way on disk", story)
            return
        super()._found_the_right_place(path, wish, told, story)

    def _require(self, holds: object, what: str, more: object) -> None:
        if not holds and what == "a buffer changed by itself" and isinstance(more, Story):
            reloaded = more.edits[0].before if more.edits else None
            holds = more.is_loaded and reloaded in {None, more.disk_before, *_put_on_disk(more)}
        super()._require(holds, what, more)


def _put_on_disk(story: Story) -> Iterator[str]:
    """What calls may have written beside the editor, in the moment in which a reload closes a document, or before."""
    for wish in story.wishes:
        if wish.tool == "Write":
            yield from wish.results(None)
        elif wish.tool == "Edit" and wish.said == "done" and wish.answer and "Written to disk." in wish.answer.output:
            yield from wish.results(story.disk_before)


@pytest.fixture(scope="module")
def editors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[int], RecordedPlugin]]:
    yield from editors_by_setting(tmp_path_factory, PluginNeovim, RecordedPlugin)


@pytest.mark.timeout(180)
@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_is_lost_or_misreported_in_a_random_history_with_the_plugin(
    editors: Callable[[int], RecordedPlugin], seed: int, record_property: Callable[[str, object], None]
) -> None:
    recorded = editors(seed % len(SETTINGS))
    history = PluginHistory(recorded, recorded.editor.root / f"seed{seed}", seed)
    play(history, record_property)
    recorded.type("<C-Bslash><C-n>", history.dice)  # whatever prompt its user left
    recorded.editor.wipe_all()
