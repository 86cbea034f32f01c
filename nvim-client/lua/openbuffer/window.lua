--- Dialogs in a window that never takes the cursor by itself: what a person is typing must not answer a question.
---
--- One is shown at a time, the others wait behind it. `:Openbuffer answer` puts the cursor into it; only there keys count.
local config = require('openbuffer.config')

local M = {}

---@class openbuffer.DialogKey
---@field key string
---@field words string
---@field act fun(dialog: openbuffer.Dialog)

---@class openbuffer.Dialog
---@field title string
---@field lines string[]
---@field groups table<integer, string> highlight group by line number
---@field keys openbuffer.DialogKey[]
---@field dismissed fun() when it is closed without an answer
---@field entered? fun(dialog: openbuffer.Dialog): boolean? the user wants to answer; true: it was answered elsewhere
---@field buffer? integer
---@field window? integer
---@field tab? integer that it has for itself, in the place of the window
---@field is_hidden? boolean its window is being closed, which is no answer

local space = vim.api.nvim_create_namespace('openbuffer.dialog')

---@type openbuffer.Dialog[]
local queue = {}

---@param dialog openbuffer.Dialog
---@return boolean
local function is_shown(dialog)
  return dialog.window ~= nil and vim.api.nvim_win_is_valid(dialog.window)
end

---@param dialog openbuffer.Dialog
---@param buffer integer
function M.set_keys(dialog, buffer)
  for _, key in ipairs(dialog.keys) do
    vim.keymap.set('n', key.key, function()
      key.act(dialog)
    end, { buffer = buffer, nowait = true, desc = key.words })
  end
end

---@param lines string[]
---@return integer
function M.scratch(lines)
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.bo[buffer].undolevels = -1
  vim.api.nvim_buf_set_lines(buffer, 0, -1, true, lines)
  vim.bo[buffer].modifiable = false
  vim.bo[buffer].bufhidden = 'wipe'
  return buffer
end

---@param dialog openbuffer.Dialog
---@return string[]
local function keys_in_words(dialog)
  return vim.tbl_map(function(key)
    return ('%s %s'):format(key.key, key.words)
  end, dialog.keys)
end

---@param dialog openbuffer.Dialog
---@return string[]
local function footer(dialog)
  local rows, row = {}, ''
  for _, part in ipairs(keys_in_words(dialog)) do
    if row ~= '' and #row + #part > 74 then
      rows[#rows + 1], row = row, ''
    end
    row = row == '' and part or (row .. '  ·  ' .. part)
  end
  rows[#rows + 1] = row
  return rows
end

---@param lines string[]
---@return integer width
---@return integer height
---@return boolean fits whether all of it is seen at once
local function size_of(lines)
  local width = 40
  for _, line in ipairs(lines) do
    width = math.max(width, vim.fn.strdisplaywidth(line))
  end
  width = math.max(10, math.min(width, 100, vim.o.columns - 4))
  local height = 0
  for _, line in ipairs(lines) do
    height = height + math.max(1, math.ceil(vim.fn.strdisplaywidth(line) / width))
  end
  local most = math.max(1, math.floor(vim.o.lines * 0.7))
  return width, math.min(height, most), height <= most
end

---@param dialog openbuffer.Dialog
local function window_config(dialog, lines)
  local width, height, fits = size_of(lines)
  -- The keys are the last lines; where these are out of sight, they are on the border.
  local below = fits and ':Openbuffer answer' or table.concat(keys_in_words(dialog), ' · ')
  local title = (' %s%s '):format(dialog.title, #queue > 1 and (' (1 of %d)'):format(#queue) or '')
  return {
    relative = 'editor',
    anchor = 'NE',
    row = 1,
    col = vim.o.columns - 1,
    width = width,
    height = height,
    border = 'rounded',
    title = title,
    footer = (' %s '):format(require('openbuffer.plain').short(below, width - 4)),
    footer_pos = 'right',
    style = 'minimal',
    zindex = 60,
  }
end

---@param dialog openbuffer.Dialog
local function show(dialog)
  local lines = vim.list_extend(vim.list_extend({}, dialog.lines), { '' })
  local first_of_footer = #lines
  vim.list_extend(lines, footer(dialog))
  local buffer = M.scratch(lines)
  dialog.buffer = buffer
  for row, group in pairs(dialog.groups) do
    vim.api.nvim_buf_set_extmark(buffer, space, row - 1, 0, { line_hl_group = group })
  end
  for row = first_of_footer, #lines - 1 do
    vim.api.nvim_buf_set_extmark(buffer, space, row, 0, { line_hl_group = 'OpenbufferKeys' })
  end
  M.set_keys(dialog, buffer)
  local settings = window_config(dialog, lines)
  settings.noautocmd = true
  dialog.window = vim.api.nvim_open_win(buffer, false, settings)
  vim.wo[dialog.window].wrap = true
  vim.api.nvim_create_autocmd('WinClosed', {
    pattern = tostring(dialog.window),
    once = true,
    callback = function()
      -- Closed by its user, in it; `:only` elsewhere merely hides it.
      if queue[1] == dialog and vim.api.nvim_get_current_win() == dialog.window and not dialog.is_hidden then
        vim.schedule(dialog.dismissed)
      end
    end,
  })
end

--- Take the window away, but not the dialog.
---@param dialog openbuffer.Dialog
local function hide(dialog)
  local window = dialog.window
  dialog.window = nil
  if window and vim.api.nvim_win_is_valid(window) then
    dialog.is_hidden = true
    pcall(vim.api.nvim_win_close, window, true)
    dialog.is_hidden = false
  end
end

---@param dialog openbuffer.Dialog
---@return boolean
local function has_tab(dialog)
  if not dialog.tab or not vim.api.nvim_tabpage_is_valid(dialog.tab) then
    return false
  end
  -- Whoever wipes the buffers away keeps a tab in which no key answers anything.
  return vim.iter(vim.api.nvim_tabpage_list_wins(dialog.tab)):any(function(window)
    return vim.b[vim.api.nvim_win_get_buf(window)].openbuffer_side ~= nil
  end)
end

local retry_is_planned = false

--- Show the first dialog; where the editor forbids a new window at the moment, later.
local function refresh()
  local dialog = queue[1]
  if not dialog or has_tab(dialog) then
    return
  end
  if is_shown(dialog) then
    local known = vim.api.nvim_buf_get_lines(dialog.buffer, 0, -1, true)
    pcall(vim.api.nvim_win_set_config, dialog.window, window_config(dialog, known))
    return
  end
  if pcall(show, dialog) then
    if config.get().dialogs.notify then
      local said = ('openbuffer asks: %s (:Openbuffer answer)'):format(dialog.title)
      require('openbuffer.messages').say(said, 'WarningMsg')
    end
  elseif not retry_is_planned then
    retry_is_planned = true
    vim.defer_fn(function()
      retry_is_planned = false
      refresh()
    end, 200)
  end
end

--- The window goes where its user goes. (Neovim 0.11.4 crashes at `:%bwipeout!` with a floating window in another tab.)
function M.watch()
  local group = vim.api.nvim_create_augroup('openbuffer.window', { clear = true })
  vim.api.nvim_create_autocmd('TabLeave', {
    group = group,
    callback = function()
      if queue[1] then
        hide(queue[1])
      end
    end,
  })
  vim.api.nvim_create_autocmd({ 'TabEnter', 'TabClosed', 'VimResized' }, {
    group = group,
    callback = vim.schedule_wrap(refresh),
  })
end

--- Have a tab in the place of the window.
---@param dialog openbuffer.Dialog
---@param fill fun() called in the new tab
function M.move_to_tab(dialog, fill)
  hide(dialog)
  vim.cmd('tab split')
  dialog.tab = vim.api.nvim_get_current_tabpage()
  fill()
end

--- Put a dialog behind those that wait.
---@param dialog openbuffer.Dialog
function M.open(dialog)
  queue[#queue + 1] = dialog
  refresh()
end

---@param dialog openbuffer.Dialog
local function close_window(dialog)
  local tab = has_tab(dialog) and dialog.tab or nil
  dialog.tab = nil
  if tab then
    pcall(vim.cmd.tabclose, vim.api.nvim_tabpage_get_number(tab))
  end
  hide(dialog)
end

--- Take a dialog away, whether it is shown or waits.
---@param dialog openbuffer.Dialog
function M.close(dialog)
  for place, other in ipairs(queue) do
    if other == dialog then
      table.remove(queue, place)
      break
    end
  end
  close_window(dialog)
  refresh()
end

--- Show other lines in a dialog.
---@param dialog openbuffer.Dialog
---@param lines string[]
---@param groups table<integer, string>
function M.update(dialog, lines, groups)
  dialog.lines, dialog.groups = lines, groups
  if not is_shown(dialog) then
    return
  end
  local was_in_it = vim.api.nvim_get_current_win() == dialog.window
  local cursor = vim.api.nvim_win_get_cursor(dialog.window)
  hide(dialog)
  show(dialog)
  if was_in_it then
    vim.api.nvim_set_current_win(dialog.window)
    pcall(vim.api.nvim_win_set_cursor, dialog.window, cursor)
  end
end

--- Put the cursor into the dialog that is shown.
---@return boolean whether there is one
function M.answer()
  local dialog = queue[1]
  if not dialog then
    return false
  end
  if dialog.entered and dialog.entered(dialog) then
    return true
  end
  if has_tab(dialog) then
    vim.api.nvim_set_current_tabpage(dialog.tab)
    return true
  end
  refresh()
  if is_shown(dialog) then
    vim.cmd.stopinsert()
    vim.api.nvim_set_current_win(dialog.window)
  end
  return true
end

--- The titles of all that wait for an answer.
---@return string[]
function M.waiting()
  return vim.tbl_map(function(dialog)
    return dialog.title
  end, queue)
end

return M
