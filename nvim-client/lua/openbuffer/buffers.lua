--- Whether a buffer may be changed or written now, and doing so.
local waiting = require('openbuffer.waiting')

local M = {}

local TRIES = 40
local TRY_MS = 100

--- Errors that say that the editor cannot do it at the moment: text locked, a window that forbids it.
local BUSY = { 'E565:', 'E523:', 'E11:', 'E788:', 'E578:', 'E5767' }

---@param why string
local function is_busy(why)
  return vim.iter(BUSY):any(function(code)
    return why:find(code, 1, true) ~= nil
  end)
end

--- Do something that a locked text can stand in the way of, again and again for some seconds. Waits between tries.
---@param act fun(): string? nil: done; else why not
---@return string? why not
function M.when_unlocked(act)
  for try = 1, TRIES do
    local is_right, why = pcall(act)
    if is_right then
      return why
    end
    local said = M.in_short(why)
    if not is_busy(said) then
      return said
    elseif try == TRIES then
      return 'the editor is busy with something that locks its text (' .. said .. ')'
    end
    waiting.sleep(TRY_MS)
  end
end

--- A Lua error as people are told it: without the places in the source.
---@param why any
---@return string
function M.in_short(why)
  local said = tostring(why):gsub('\nstack traceback:.*', '')
  return vim.trim((said:gsub('^[^\n]-Vim%b():', ''):gsub('^[^\n]-Vim:', ''):gsub('^[^\n]-%.lua:%d+: ', '')))
end

--- Why this buffer is not to be changed; nil: nothing speaks against it.
---@param buffer integer
---@return string?
function M.objection(buffer)
  local options = vim.bo[buffer]
  if options.buftype ~= '' then
    return ("it is no buffer of a file ('buftype' is %s)"):format(options.buftype)
  elseif not options.modifiable then
    return "the buffer is not modifiable ('nomodifiable')"
  elseif options.readonly then
    return "the buffer is read-only ('readonly'); its user can :set noreadonly"
  end
  return nil
end

--- Why a text cannot be written in this buffer's encoding without a loss.
---@param buffer integer
---@param text string
---@return string?
function M.encoding_objection(buffer, text)
  local encoding = vim.bo[buffer].fileencoding
  if encoding == '' or encoding:match('^utf') or encoding:match('^ucs') or not text:find('[\128-\255]') then
    return nil
  end
  local there = vim.iconv(text, 'utf-8', encoding)
  if there and vim.iconv(there, encoding, 'utf-8') == text then
    return nil
  end
  return ("the file's encoding %s cannot hold the new text; its user can :set fileencoding=utf-8"):format(encoding)
end

return M
