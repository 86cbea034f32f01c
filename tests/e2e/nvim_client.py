"""Real Neovim with the plugin of ``nvim-client/``, set up as its user would: on 'runtimepath', and one ``setup``."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .neovim import SERVER, Call, Neovim, wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PLUGIN = Path(__file__).resolve().parents[2] / "nvim-client"

_LOAD = """
local plugin, options, encodings, flags, channel = ...
vim.g.harness_channel = channel
vim.opt.runtimepath:append(plugin)
vim.cmd('runtime plugin/openbuffer.lua')
vim.lsp.set_log_level('debug')
if #encodings > 0 then
  vim.lsp.config('openbuffer', { capabilities = { general = { positionEncodings = encodings } } })
end
if next(flags) then vim.lsp.config('openbuffer', { flags = flags }) end
require('openbuffer').setup(options)
"""

_START = """
local id = require('openbuffer.client').start(..., { attach = false })
return assert(id, 'no client was started')
"""

_IS_READY = "local client = vim.lsp.get_client_by_id(...) return client ~= nil and client.initialized == true"

_CALL_AT_PROMPT = """
local number, params, cancel_after_ms = ...
local client = vim.lsp.get_clients({ name = 'openbuffer' })[1]
local channel = vim.g.harness_channel
local timer = assert(vim.uv.new_timer())
timer:start(10, 10, function()
  if not vim.api.nvim_get_mode().blocking then return end
  timer:close()
  local _, id = client.rpc.request('openbuffer/callTool', params, function(err, result)
    vim.rpcnotify(channel, 'answer', number, err or vim.NIL, result == nil and vim.NIL or result)
  end, function() end)
  if cancel_after_ms == 0 then return end
  local later = assert(vim.uv.new_timer())
  later:start(cancel_after_ms, 0, function()
    later:close()
    client.rpc.notify('$/cancelRequest', { id = id })
  end)
end)
"""
"""While the editor waits for a key at a prompt it runs nothing but timers of this kind."""


class PluginNeovim(Neovim):
    """The editor of ``neovim.py``, whose client is the plugin's. ``options`` are those of ``setup``."""

    def __init__(
        self,
        home: Path,
        root: Path,
        *,
        options: Mapping[str, Any] | None = None,
        arguments: tuple[str, ...] = (),
        starts: bool = True,
        **more: Any,
    ) -> None:
        super().__init__(home, root, **more)
        self._options = {"cmd": [*SERVER, *arguments], "root": str(root), **(options or {})}
        self._starts = starts

    def start_client(self, server: list[str] | dict[str, Any], root: Path) -> None:
        del server  # the plugin finds its own
        self.ready.clear()
        # Without a terminal, prompts do not wait and nothing is drawn.
        self.api("nvim_ui_attach", 100, 40, {"rgb": True})
        self.lua(_LOAD, str(PLUGIN), self._options, self._encodings, self._flags, self._nvim.channel_id)
        if self._starts:
            number = self.lua(_START, str(root))
            wait_for(lambda: self.lua(_IS_READY, number), f"the server: {self.log()}", timeout_s=90)

    def __enter__(self) -> PluginNeovim:
        super().__enter__()
        return self

    def begin_at_prompt(self, tool: str, arguments: Mapping[str, Any], keys: str, *, cancel_after_ms: int = 0) -> Call:
        """Type keys that end at a prompt, and have a tool called, and cancelled, while the editor waits there."""
        number, reply = self.expect_answer()
        self.lua(_CALL_AT_PROMPT, number, {"name": tool, "arguments": dict(arguments)}, cancel_after_ms)
        self.api("nvim_input", keys)
        wait_for(lambda: self.api("nvim_get_mode")["blocking"], "a prompt")
        return Call(reply)

    def screen(self) -> str:
        """What a terminal would show, row by row, without the blanks at the ends."""
        rows: list[str] = self.lua(
            """
            vim.cmd('redraw!')
            local rows = {}
            for row = 1, vim.o.lines do
              local cells = {}
              for column = 1, vim.o.columns do cells[column] = vim.fn.screenstring(row, column) end
              rows[row] = table.concat(cells):gsub('%s+$', '')
            end
            return rows
            """
        )
        return "\n".join(rows)

    def wait_for_screen(self, text: str) -> str:
        """The screen, once this is on it."""
        seen = ""

        def is_there() -> bool:
            nonlocal seen
            seen = self.screen()
            return text in seen

        try:
            wait_for(is_there, f"{text!r} on the screen", timeout_s=15)
        except AssertionError:
            raise AssertionError(f"{text!r} is not on the screen:\n{seen}\n{self.log()}") from None
        return seen


@contextmanager
def short_directory() -> Iterator[Path]:
    """A directory whose path is short whatever the tests are run by: screens that show it are then the same."""
    with tempfile.TemporaryDirectory(prefix="ob-", dir="/tmp") as directory:
        yield Path(os.path.realpath(directory))


def plugin_editor_in(directory: Path, **more: Any) -> Iterator[PluginNeovim]:
    """Body of a module's fixture: one editor whose workspace is ``directory/work``."""
    root = directory / "work"
    root.mkdir()
    with PluginNeovim(directory / "home", root, **more) as editor:
        yield editor
