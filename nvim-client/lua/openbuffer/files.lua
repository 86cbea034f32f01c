--- `openbuffer/saveDocument` and `openbuffer/reloadDocument`: from a buffer to its file and back.
local apply = require('openbuffer.apply')
local buffers = require('openbuffer.buffers')
local sha256 = require('openbuffer.sha256')

local M = {}

---@param path string
---@return string? data nil: there is no file
---@return string? why it cannot be read
local function bytes_of(path)
  local file, why, code = io.open(path, 'rb')
  if not file then
    return nil, code ~= 2 and why or nil -- 2: no such file
  end
  local data, wrong = file:read('*a')
  file:close()
  return data, wrong
end

--- Why the file is not the one that a request is for.
---@param buffer integer
---@param disk_hash string|vim.NIL
---@return string?
local function disk_objection(buffer, disk_hash)
  local path = vim.api.nvim_buf_get_name(buffer)
  local data, why = bytes_of(path)
  if why then
    return why
  end
  local wanted = disk_hash ~= vim.NIL and disk_hash or nil
  if (data and sha256(data)) ~= wanted then
    return 'the file on disk holds something else by now'
  end
  return nil
end

---@param client vim.lsp.Client
---@param params openbuffer.SaveDocumentParams
---@param act fun(buffer: integer): string?
---@return openbuffer.DocumentActionResult
local function acted(client, params, act)
  return apply.acted(client, params, function(buffer)
    return disk_objection(buffer, params.diskHash) or act(buffer)
  end)
end

--- `write!`, because a plain one asks where the file has another time stamp; that it has the right bytes is known.
---@param buffer integer
---@return string?
local function write(buffer)
  local why = buffers.objection(buffer)
  if why then
    return why
  end
  vim.api.nvim_buf_call(buffer, function()
    vim.cmd('silent lockmarks keepalt keepjumps write!')
  end)
  if vim.bo[buffer].modified then
    return 'the editor did not write the file'
  end
  return nil
end

--- Answer `openbuffer/saveDocument`.
---@param client vim.lsp.Client
---@param params openbuffer.SaveDocumentParams
---@return openbuffer.DocumentActionResult
function M.save(client, params)
  return acted(client, params, write)
end

--- Buffers that were begun without a file. Once there is one, `:checktime` asks about it in any case.
---@type table<integer, boolean>
local begun_without_file = {}

--- Keep track of which buffers have no file.
function M.watch()
  vim.api.nvim_create_autocmd({ 'BufNewFile', 'BufReadPost', 'BufWritePost', 'BufFilePost', 'BufWipeout' }, {
    group = vim.api.nvim_create_augroup('openbuffer.files', { clear = true }),
    callback = function(event)
      local is_new = event.event == 'BufNewFile' or event.event == 'BufFilePost'
      begun_without_file[event.buf] = is_new or nil
    end,
  })
end

--- Read the file again as its user would. Waits for nobody.
---@param buffer integer
local function edit_again(buffer)
  vim.api.nvim_buf_call(buffer, function()
    local view = vim.fn.winsaveview()
    vim.cmd('silent keepalt keepjumps edit!')
    vim.fn.winrestview(view)
  end)
end

--- `:checktime` leaves a blank line behind in a buffer that held nothing else.
---@param buffer integer
local function holds_nothing(buffer)
  return vim.api.nvim_buf_line_count(buffer) == 1 and vim.api.nvim_buf_get_lines(buffer, 0, 1, true)[1] == ''
end

---@param buffer integer
---@return string?
local function reload(buffer)
  if vim.bo[buffer].modified then
    return 'the buffer has unsaved changes'
  elseif begun_without_file[buffer] or holds_nothing(buffer) then
    edit_again(buffer)
    return nil
  end
  local is_reloaded = false
  vim.api.nvim_buf_attach(buffer, false, {
    on_reload = function()
      is_reloaded = true
    end,
    on_lines = function()
      return is_reloaded
    end,
  })
  -- It keeps the cursor, and comes without a question where 'autoread' is on.
  local own = vim.api.nvim_get_option_value('autoread', { buf = buffer, scope = 'local' })
  vim.bo[buffer].autoread = true
  local is_right, why = pcall(vim.cmd.checktime, { args = { tostring(buffer) }, mods = { silent = true } })
  if vim.api.nvim_buf_is_valid(buffer) then
    vim.api.nvim_set_option_value('autoread', own, { buf = buffer, scope = 'local' })
  end
  if not is_right then
    error(why, 0)
  end
  if not is_reloaded and vim.api.nvim_buf_is_loaded(buffer) then
    edit_again(buffer) -- a change that left size and time stamp as they were
  end
  return nil
end

--- Answer `openbuffer/reloadDocument`.
---@param client vim.lsp.Client
---@param params openbuffer.SaveDocumentParams
---@return openbuffer.DocumentActionResult
function M.reload(client, params)
  return acted(client, params, reload)
end

return M
