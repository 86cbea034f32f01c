--- One line in the message area, never so long that the user is asked to press a key, never in the way of a prompt.
local plain = require('openbuffer.plain')

local M = {}

--- Modes in which the message area is the user's.
local function is_taken()
  local mode = vim.api.nvim_get_mode()
  return mode.blocking or mode.mode:sub(1, 1):match('[crt!]') ~= nil
end

---@param text string
---@param group? string highlight group
function M.say(text, group)
  if is_taken() then
    return
  end
  local cells = math.max(10, vim.o.columns - 20)
  -- What an earlier message left is drawn over: two of them would be one too many, and ask for a key.
  vim.cmd.redraw()
  vim.api.nvim_echo({ { plain.short(text, cells), group } }, false, {})
end

return M
