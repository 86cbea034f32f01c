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

local TOLD_MAX = 50

--- What servers said to the user, whole.
---@type string[]
local told = {}

---@return string[]
function M.told()
  return told
end

--- The handler of `window/showMessage`. Neovim's own would have a long one wait for a key, and the agent with it.
---@type lsp.Handler
function M.show(_, params)
  if #told >= TOLD_MAX then
    table.remove(told, 1)
  end
  local message = tostring(params.message)
  told[#told + 1] = message
  local is_own = not vim.endswith(debug.getinfo(vim.notify, 'S').source, 'vim/_editor.lua')
  local level = ({ vim.log.levels.ERROR, vim.log.levels.WARN })[params.type] or vim.log.levels.INFO
  if is_own then
    vim.notify('openbuffer: ' .. table.concat(plain.lines(message), '\n'), level)
  else
    M.say(
      ('openbuffer: %s (whole: :Openbuffer status)'):format(plain.short(message, math.max(10, vim.o.columns - 65))),
      params.type == 1 and 'ErrorMsg' or params.type == 2 and 'WarningMsg' or nil
    )
  end
end

return M
