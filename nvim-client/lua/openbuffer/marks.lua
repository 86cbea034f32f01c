--- The lines that the agent changed: marked after a call, kept as a list for the session.
local config = require('openbuffer.config')

local M = {}

local LINES_MAX = 2000
local CHANGES_MAX = 1000

local shown = vim.api.nvim_create_namespace('openbuffer.changed')
local kept = vim.api.nvim_create_namespace('openbuffer.session')

---@class openbuffer.KnownChange
---@field buffer? integer of an open document
---@field mark? integer where it is now
---@field path string
---@field line integer where it was
---@field label string

---@type openbuffer.KnownChange[]
local changes = {}

---@param change openbuffer.KnownChange
local function remember(change)
  changes[#changes + 1] = change
  if #changes > CHANGES_MAX then
    table.remove(changes, 1)
  end
end

--- First and last row of what came, in the buffer as it is now.
---@param places openbuffer.Place[] from the last to the first, as they were
---@return integer[][]
local function rows_of(places)
  local rows, moved = {}, 0
  for index = #places, 1, -1 do
    local place = places[index]
    local first, count = place.start_row + moved, #place.lines - 1
    local last = first + count
    if count > 0 and place.lines[#place.lines] == '' and place.end_col == 0 then
      last = last - 1 -- the row behind whole lines that came is as it was
    end
    rows[#rows + 1] = { first, last }
    moved = moved + count - (place.end_row - place.start_row)
  end
  return rows
end

--- Put a place into the jump list of a window that shows it; the cursor stays where it is.
---@param buffer integer
---@param row integer
local function add_jump(buffer, row)
  local window = vim.api.nvim_get_current_buf() == buffer and vim.api.nvim_get_current_win() or vim.fn.bufwinid(buffer)
  if window ~= -1 then
    vim.api.nvim_win_call(window, function()
      vim.cmd(("%dmark '"):format(row + 1))
    end)
  end
end

--- Note a change that was just made in a buffer.
---@param buffer integer
---@param places openbuffer.Place[]
---@param label string
function M.changed(buffer, places, label)
  M.clear()
  local count, left = vim.api.nvim_buf_line_count(buffer), LINES_MAX
  local options = config.get().marks
  for _, range in ipairs(rows_of(places)) do
    local first = math.min(range[1], count - 1)
    for row = first, math.min(range[2], count - 1) do
      if options.enabled and left > 0 then
        left = left - 1
        vim.api.nvim_buf_set_extmark(buffer, shown, row, 0, {
          line_hl_group = 'OpenbufferChanged',
          sign_text = options.sign ~= '' and options.sign or nil,
          sign_hl_group = 'OpenbufferChangedSign',
          priority = 20,
        })
      end
    end
    remember({
      buffer = buffer,
      mark = vim.api.nvim_buf_set_extmark(buffer, kept, first, 0, {}),
      path = vim.api.nvim_buf_get_name(buffer),
      line = first + 1,
      label = label,
    })
  end
  if options.jump and #places > 0 then
    add_jump(buffer, math.min(places[#places].start_row, count - 1))
  end
end

--- Note a change that was made on disk.
---@param path string
---@param line integer
---@param label string
function M.changed_on_disk(path, line, label)
  remember({ path = path, line = line, label = label })
end

--- Take the marks of the last call away.
function M.clear()
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    vim.api.nvim_buf_clear_namespace(buffer, shown, 0, -1)
  end
end

--- What the agent changed in this session, as items of a quickfix list.
---@return vim.quickfix.entry[]
function M.quickfix_items()
  return vim.tbl_map(function(change) ---@param change openbuffer.KnownChange
    local line = change.line
    if change.buffer and vim.api.nvim_buf_is_loaded(change.buffer) then
      local where = vim.api.nvim_buf_get_extmark_by_id(change.buffer, kept, change.mark, {})
      line = where[1] and where[1] + 1 or line
    end
    return { filename = change.path, lnum = line, col = 1, text = change.label }
  end, changes)
end

return M
