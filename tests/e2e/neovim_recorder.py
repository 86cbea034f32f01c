"""What happens in a real Neovim, written down inside it, so that a test knows who changed what.

Nothing changes for the client: the recorder looks at each application of a server's edit from both sides, at every
state of each buffer, at every reading and writing of a file. All that is no edit of the server's is the user's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .neovim import Answer, Call, Neovim

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence
    from concurrent.futures import Future

_RECORDER = """
local R = { log = {}, texts = {}, odd = {}, settled = 0, emptied = {}, followed = {} }
R.ids, R.numbers, R.answered = {}, {}, {}
_G.recorder = R

local function raw_of(buffer) return table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, true), '\\n') end

local function text_of(buffer) return (raw_of(buffer):gsub('\\r', '')) end

local function shows(buffer)
  local raw = raw_of(buffer)
  R.texts[#R.texts + 1] = (raw:gsub('\\r', ''))
  if raw:find('\\r', 1, true) or not vim.bo[buffer].eol and raw:sub(-1) == '\\n' then
    R.odd[vim.api.nvim_buf_get_name(buffer)] = true
  end
end

-- From several lines down to one that was empty before: the client tells one blank line too many, see the tests.
local function settle(buffer)
  if not R.emptied[buffer] then return end
  R.emptied[buffer] = nil
  if not vim.api.nvim_buf_is_loaded(buffer) then return end
  R.settled = R.settled + 1
  vim.api.nvim_buf_call(buffer, function()
    vim.cmd('silent! write!')
    if text_of(buffer) ~= '' then vim.cmd('silent! edit!') end
  end)
end

local function follow(buffer)
  shows(buffer)
  if R.followed[buffer] then return end
  R.followed[buffer] = true
  local count = vim.api.nvim_buf_line_count(buffer)
  vim.api.nvim_buf_attach(buffer, false, {
    on_lines = function(_, _, _, first, last)
      shows(buffer)
      local now = vim.api.nvim_buf_line_count(buffer)
      if now == 1 and last - first < count and R.texts[#R.texts] == '' then
        R.emptied[buffer] = true
        vim.schedule(function() settle(buffer) end)
      end
      count = now
    end,
    on_reload = function() count = vim.api.nvim_buf_line_count(buffer) end,
    on_detach = function() R.followed[buffer] = nil end,
  })
end

local function disk_of(path)
  local file = io.open(path, 'rb')
  if not file then return nil end
  local data = file:read('*a')
  file:close()
  return (data:gsub('\\r', ''):gsub('\\n$', ''))
end

local kinds = { BufReadPost = 'read', BufNewFile = 'new', BufWritePost = 'write' }
vim.api.nvim_create_autocmd(vim.tbl_keys(kinds), {
  callback = function(event)
    if vim.bo[event.buf].buftype ~= '' then return end
    if event.event == 'BufReadPost' then R.odd[event.match] = nil end
    follow(event.buf)
    local kind, after = kinds[event.event], text_of(event.buf)
    -- It comes after a write that failed as well; and what was written may have been changed on disk since.
    local is_written = disk_of(event.match) == after or R.was_modified and not vim.bo[event.buf].modified
    if kind == 'write' and not is_written then return end
    table.insert(R.log, { kind = kind, path = event.match, after = after })
  end,
})

vim.api.nvim_create_autocmd('BufWritePre', {
  callback = function(event) R.was_modified = vim.bo[event.buf].modified end,
})

local apply = vim.lsp.util.apply_workspace_edit
vim.lsp.util.apply_workspace_edit = function(edit, ...)
  local buffer = vim.uri_to_bufnr(edit.documentChanges[1].textDocument.uri)
  vim.fn.bufload(buffer)  -- as applying does
  local path, before = vim.api.nvim_buf_get_name(buffer), text_of(buffer)
  local result = { pcall(apply, edit, ...) }
  local after = text_of(buffer)
  if before ~= after then
    table.insert(R.log, { kind = 'edit', path = path, before = before, after = after })
  end
  if not result[1] then error(result[2], 0) end
  return unpack(result, 2)
end

local function client() return assert(vim.lsp.get_clients({ name = 'openbuffer' })[1], 'no client is running') end

local function answer(number, err, result)
  if R.answered[number] then return end
  R.answered[number] = true
  vim.rpcnotify(vim.g.harness_channel, 'answer', number, err, result)
end

-- An answer that says "cancelled" is kept from the callback.
vim.api.nvim_create_autocmd('LspRequest', {
  callback = function(event)
    local number = R.numbers[event.data.request_id]
    if event.data.request.type ~= 'complete' or not number then return end
    local cancelled = { isError = true, error = { message = 'cancelled' } }
    vim.defer_fn(function() answer(number, vim.NIL, cancelled) end, 100)
  end,
})

function R.turn(items)
  for _, item in ipairs(items) do
    if item.keys then
      vim.api.nvim_feedkeys(vim.api.nvim_replace_termcodes(item.keys, true, true, true), 'xt', false)
      for buffer in pairs(vim.deepcopy(R.emptied)) do settle(buffer) end
    elseif item.call then
      local _, id = client():request('openbuffer/callTool', item.call, function(err, result)
        answer(item.number, err or vim.NIL, result == nil and vim.NIL or result)
      end)
      R.ids[item.number], R.numbers[id] = id, item.number
    elseif item.cancel then
      client():notify('$/cancelRequest', { id = R.ids[item.cancel] })
    elseif item.flush then
      client():request('openbuffer/listTools', vim.empty_dict(), function() end)
    end
  end
end

function R.forget()
  R.log, R.texts, R.settled = {}, {}, 0
end

function R.take()
  local shown = {}
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    local name = vim.api.nvim_buf_get_name(buffer)
    if vim.api.nvim_buf_is_loaded(buffer) and vim.bo[buffer].buftype == '' and name ~= '' then
      shown[name] = text_of(buffer)
    end
  end
  local taken = { log = R.log, texts = R.texts, shown = shown, settled = R.settled, current = vim.fn.expand('%:p') }
  taken.odd = vim.tbl_keys(R.odd)
  R.forget()
  return vim.tbl_isempty(shown) and vim.tbl_extend('force', taken, { shown = vim.empty_dict() }) or taken
end
"""

_CLEAR = """
if vim.fn.reg_recording() ~= '' then vim.cmd('normal! q') end
for register in ('abcdefghijklmnopqrstuvwxyz"-0123456789'):gmatch('.') do vim.fn.setreg(register, '') end
recorder.forget()
"""


@dataclass(frozen=True, slots=True)
class Happening:
    """An ``edit`` of the server's, or that a file was ``read``, was ``new``, or a ``write`` of it ended."""

    kind: str
    path: str
    after: str
    before: str = ""


@dataclass(frozen=True, slots=True)
class Taken:
    """What happened since the last time; ``texts`` are all states of any buffer, ``shown`` what each shows now.

    ``odd``: files that were loaded without a final newline, and whose last line was empty since then: for the client
    that is no line, and saving adds one. And files that held carriage returns within lines, as after a change of
    their line ends on disk.
    """

    log: list[Happening]
    texts: list[str]
    shown: dict[str, str]
    current: str
    settled: int
    odd: frozenset[str]


class RecordedNeovim:
    """A user's hands on an editor whose doings are recorded; prompts are answered as they come up."""

    def __init__(self, editor: Neovim) -> None:
        self.editor = editor
        editor.lua(_RECORDER)
        editor.command("set shortmess+=aoOtTWIcCsF cmdheight=3 nomore")

    def clear(self) -> None:
        """Forget what happened, and what an earlier user left in registers."""
        self.editor.lua(_CLEAR)

    def take(self, dice: random.Random) -> Taken:
        wire = self.wait(self.editor.post("nvim_exec_lua", "return recorder.take()", []), dice)
        return Taken(
            log=[Happening(**entry) for entry in wire["log"]],
            texts=list(wire["texts"]),
            shown=dict(wire["shown"]),
            current=wire["current"],
            settled=wire["settled"],
            odd=frozenset(wire["odd"]),
        )

    def turn(self, items: Sequence[dict[str, Any]], dice: random.Random) -> None:
        """Do several things in one turn of the editor's event loop, in which nothing of the server's is read."""
        self.wait(self.editor.post("nvim_exec_lua", "recorder.turn(...)", [list(items)]), dice)

    def expect(self) -> tuple[int, Call]:
        """A number under which a turn's call reports its answer."""
        number, reply = self.editor.expect_answer()
        return number, Call(reply)

    def type(self, keys: str, dice: random.Random) -> None:
        """Type keys and come back when they are taken."""
        self.editor.api("nvim_input", keys)
        self.wait(self.editor.post("nvim_eval", "1"), dice)

    def answer(self, call: Call, dice: random.Random) -> Answer:
        """The answer of a call; whatever the editor asks meanwhile, its user answers."""
        self.wait(self.editor.post("nvim_eval", "1"), dice)
        return call.answer()

    def wait(self, future: Future[Any], dice: random.Random) -> Any:
        """Wait for the editor, which may be waiting for its user."""
        for _ in range(600):
            try:
                return future.result(0.05)
            except TimeoutError:
                mode = self.editor.api("nvim_get_mode")
                if mode["blocking"]:
                    self.editor.api("nvim_input", _reaction(mode["mode"], dice))
        raise TimeoutError(f"the editor does not come back: {self.editor.api('nvim_get_mode')}")


def _reaction(mode: str, dice: random.Random) -> str:
    """A confirmation gets one of the answers that Neovim's questions know, everything else is left."""
    if mode == "r?":
        return dice.choice("ynlo")
    return "<CR>" if mode.startswith("r") else "<Esc>"
