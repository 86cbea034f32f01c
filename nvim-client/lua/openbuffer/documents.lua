--- Buffers as the server knows them: found by URI, told of in full, and hashed.
---
--- The text is what `textDocument/didOpen` would send now. Line ends and a missing final newline are in it, a byte-order
--- mark is not.
local sha256 = require('openbuffer.sha256')

local M = {}

---@class openbuffer.KnownHash
---@field stamp string what the text is made of, without the text
---@field hash string

---@type table<integer, openbuffer.KnownHash>
local hashes = {}

--- The loaded buffer that this client has opened under a URI.
---@param client vim.lsp.Client
---@param uri string as it was sent in `didOpen`
---@return integer?
function M.find(client, uri)
  for buffer in pairs(client.attached_buffers) do
    if vim.api.nvim_buf_is_loaded(buffer) and vim.uri_from_bufnr(buffer) == uri then
      return buffer
    end
  end
  return nil
end

--- Send what the debounce still holds back.
---@param client vim.lsp.Client
---@param buffer integer
function M.flush(client, buffer)
  local is_there, tracking = pcall(require, 'vim.lsp._changetracking')
  if is_there and type(tracking.flush) == 'function' and pcall(tracking.flush, client, buffer) then
    return
  end
  -- Every notification is preceded by what is pending; servers ignore those with `$/` that they do not know.
  client:notify('$/openbuffer/flush', vim.empty_dict())
end

---@param buffer integer
---@return string
function M.line_end(buffer)
  local format = vim.bo[buffer].fileformat
  return format == 'dos' and '\r\n' or format == 'mac' and '\r' or '\n'
end

---@param buffer integer
---@return string
function M.text(buffer)
  local line_end = M.line_end(buffer)
  local lines = vim.api.nvim_buf_get_lines(buffer, 0, -1, true)
  return table.concat(lines, line_end) .. (vim.bo[buffer].endofline and line_end or '')
end

--- SHA-256 of the text; kept, since it is asked for again and again.
---@param buffer integer
---@param text? string where it is known already
---@return string
function M.hash(buffer, text)
  local options = vim.bo[buffer]
  local tick = vim.api.nvim_buf_get_changedtick(buffer)
  local stamp = ('%d %s %s'):format(tick, options.fileformat, tostring(options.endofline))
  local known = hashes[buffer]
  if not known or known.stamp ~= stamp then
    known = { stamp = stamp, hash = sha256(text or M.text(buffer)) }
    hashes[buffer] = known
  end
  return known.hash
end

--- Forget what is kept about a buffer, whose number may come again.
---@param buffer integer
function M.forget(buffer)
  hashes[buffer] = nil
end

--- The version that was sent last. Only right after a flush is it that of the text.
---@param buffer integer
---@return integer
function M.version(buffer)
  return vim.lsp.util.buf_versions[buffer] or 0
end

--- Send the whole text: no change of a line tells of another 'endofline'.
---@param client vim.lsp.Client
---@param buffer integer
function M.tell_whole(client, buffer)
  M.flush(client, buffer)
  client:notify('textDocument/didChange', {
    textDocument = { uri = vim.uri_from_bufnr(buffer), version = M.version(buffer) },
    contentChanges = { { text = M.text(buffer) } },
  })
end

--- The state after everything was told.
---@param client vim.lsp.Client
---@param buffer integer
---@param with_text? boolean
---@return openbuffer.DocumentState
function M.state(client, buffer, with_text)
  M.flush(client, buffer)
  local text = with_text and M.text(buffer) or nil
  return {
    version = M.version(buffer),
    textHash = M.hash(buffer, text),
    dirty = vim.bo[buffer].modified,
    text = text,
  }
end

--- The state of whatever is open under a URI now.
---@param client vim.lsp.Client
---@param uri string
---@return openbuffer.DocumentState|vim.NIL
function M.state_of(client, uri)
  local buffer = M.find(client, uri)
  return buffer and M.state(client, buffer) or vim.NIL
end

return M
