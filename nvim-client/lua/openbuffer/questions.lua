--- `openbuffer/askUser`: a question of the agent's, with choices, several choices, or a text of one's own.
local config = require('openbuffer.config')
local plain = require('openbuffer.plain')
local waiting = require('openbuffer.waiting')
local window = require('openbuffer.window')

local M = {}

---@class openbuffer.Asked
---@field params table openbuffer.AskUserParams
---@field chosen table<integer, boolean>
---@field text? string the user's own
---@field answer fun(values: string[]?) nil: closed without one

---@param params table
---@return string?
local function header_of(params)
  return type(params.header) == 'string' and params.header ~= '' and plain.short(params.header, 40) or nil
end

---@param asked openbuffer.Asked
---@return string[]
local function values_of(asked)
  local values = {}
  for place, option in ipairs(asked.params.options) do
    if asked.chosen[place] then
      values[#values + 1] = option.label
    end
  end
  if asked.text then
    values[#values + 1] = asked.text
  end
  return values
end

---@param asked openbuffer.Asked
---@return string[]
---@return table<integer, string>
local function shown(asked)
  local lines, groups = plain.lines(asked.params.text), { [1] = 'Title' }
  lines[#lines + 1] = ''
  for place, option in ipairs(asked.params.options) do
    local box = asked.params.multiSelect and (asked.chosen[place] and '[x] ' or '[ ] ') or ''
    lines[#lines + 1] = ('%s%d  %s'):format(box, place, plain.short(option.label, 90))
    if type(option.description) == 'string' and option.description ~= '' then
      for _, line in ipairs(plain.lines(option.description)) do
        lines[#lines + 1] = '     ' .. line
        groups[#lines] = 'Comment'
      end
    end
  end
  if asked.text then
    lines[#lines + 1] = '     your text: ' .. plain.short(asked.text, 80)
  end
  return lines, groups
end

---@param asked openbuffer.Asked
---@param then_ fun()
local function ask_for_text(asked, then_)
  vim.ui.input({ prompt = plain.short(asked.params.text, 60) .. ' ' }, function(text)
    if text and vim.trim(text) ~= '' then
      asked.text = text
      then_()
    end
  end)
end

---@param asked openbuffer.Asked
---@param dialog openbuffer.Dialog
local function redraw(asked, dialog)
  local lines, groups = shown(asked)
  window.update(dialog, lines, groups)
end

---@param asked openbuffer.Asked
---@return openbuffer.DialogKey[]
local function keys_of(asked)
  local params = asked.params
  local keys = {} ---@type openbuffer.DialogKey[]
  for place in ipairs(params.options) do
    if place <= 9 then
      keys[#keys + 1] = {
        key = tostring(place),
        words = params.multiSelect and 'choose or not' or 'choose',
        act = function(dialog)
          if params.multiSelect then
            asked.chosen[place] = not asked.chosen[place]
            redraw(asked, dialog)
          else
            asked.answer({ params.options[place].label })
          end
        end,
      }
    end
  end
  if params.freeText then
    keys[#keys + 1] = {
      key = 'i',
      words = 'answer with a text',
      act = function(dialog)
        ask_for_text(asked, function()
          if params.multiSelect then
            redraw(asked, dialog)
          else
            asked.answer({ asked.text })
          end
        end)
      end,
    }
  end
  if params.multiSelect then
    keys[#keys + 1] = {
      key = '<CR>',
      words = 'send',
      act = function()
        if #values_of(asked) > 0 then
          asked.answer(values_of(asked))
        end
      end,
    }
  end
  keys[#keys + 1] = {
    key = 'q',
    words = 'close',
    act = function()
      asked.answer(nil)
    end,
  }
  return keys
end

--- Whether somebody has put a picker in the place of Neovim's list, which would keep everything waiting.
local function has_own_select()
  local info = debug.getinfo(vim.ui.select, 'S')
  return not vim.endswith(info.source, 'vim/ui.lua')
end

--- Ask by `vim.ui.select`, again and again where several may be chosen.
---@param asked openbuffer.Asked
local function select(asked)
  local params = asked.params
  local items = {} ---@type { place?: integer, act?: string, words: string }[]
  for place, option in ipairs(params.options) do
    local box = params.multiSelect and (asked.chosen[place] and '[x] ' or '[ ] ') or ''
    local more = type(option.description) == 'string' and (': ' .. plain.short(option.description, 60)) or ''
    items[#items + 1] = { place = place, words = box .. plain.short(option.label, 60) .. more }
  end
  if params.freeText then
    items[#items + 1] =
      { act = 'text', words = asked.text and ('Your text: ' .. asked.text) or 'A text of your own…' }
  end
  if params.multiSelect then
    items[#items + 1] = { act = 'send', words = 'Send' }
  end
  local prompt = (header_of(params) and (header_of(params) .. ': ') or '') .. plain.short(params.text, 200)
  vim.ui.select(items, {
    prompt = prompt,
    kind = 'openbuffer_question',
    format_item = function(item)
      return item.words
    end,
  }, function(item)
    if not item then
      asked.answer(nil)
    elseif item.act == 'text' then
      ask_for_text(asked, function()
        if params.multiSelect then
          select(asked)
        else
          asked.answer({ asked.text })
        end
      end)
    elseif item.act == 'send' then
      if #values_of(asked) > 0 then
        asked.answer(values_of(asked))
      else
        select(asked)
      end
    elseif params.multiSelect then
      asked.chosen[item.place] = not asked.chosen[item.place]
      select(asked)
    else
      asked.answer({ params.options[item.place].label })
    end
  end)
end

--- Where the user wants to answer: in the picker or the input line that they have, else in the dialog itself.
---@param asked openbuffer.Asked
---@return boolean? true: it is asked elsewhere
local function entered(asked)
  local how = config.get().dialogs.select
  if #asked.params.options == 0 then
    ask_for_text(asked, function()
      asked.answer({ asked.text })
    end)
    return true
  elseif how == 'ui' or (how == 'auto' and (has_own_select() or #asked.params.options > 9)) then
    select(asked)
    return true
  end
end

--- Answer `openbuffer/askUser`. Waits for the user.
---@param _ vim.lsp.Client
---@param params table openbuffer.AskUserParams
---@return openbuffer.QuestionAnswer
function M.ask(_, params)
  if waiting.is_withdrawn(params.dialogId) or require('openbuffer.calls').is_waiting_synchronously() then
    return { outcome = 'dismissed' }
  end
  return waiting.await(function(done)
    local dialog ---@type openbuffer.Dialog
    ---@type openbuffer.Asked
    local asked = {
      params = params,
      chosen = {},
      answer = function(values)
        waiting.on_withdrawn(params.dialogId, nil)
        window.close(dialog)
        done(values and { outcome = 'answered', values = values } or { outcome = 'dismissed' })
      end,
    }
    local lines, groups = shown(asked)
    dialog = {
      title = header_of(params) or 'A question',
      lines = lines,
      groups = groups,
      keys = keys_of(asked),
      dismissed = function()
        asked.answer(nil)
      end,
      entered = function()
        return entered(asked)
      end,
    }
    waiting.on_withdrawn(params.dialogId, dialog.dismissed)
    window.open(dialog)
  end)
end

return M
