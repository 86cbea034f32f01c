--- `openbuffer/readDocument` and `openbuffer/applyEdit`.
local buffers = require('openbuffer.buffers')
local documents = require('openbuffer.documents')
local edits = require('openbuffer.edits')
local marks = require('openbuffer.marks')
local waiting = require('openbuffer.waiting')

local M = {}

local UNCHANGED = "it would change nothing: the buffer's line ends are those of its 'fileformat', and with 'fixendofline' "
  .. 'there always is a last one'

--- Answer `openbuffer/readDocument`.
---@param client vim.lsp.Client
---@param params openbuffer.ReadDocumentParams
---@return openbuffer.DocumentState|vim.NIL
function M.read(client, params)
  local buffer = documents.find(client, params.textDocument.uri)
  if not buffer then
    return vim.NIL
  end
  return documents.state(client, buffer, params.includeText == true)
end

--- Why a document is not in the state that a request is for; nil: it is.
---@param client vim.lsp.Client
---@param buffer integer
---@param params openbuffer.ApplyEditParams|openbuffer.SaveDocumentParams
---@return string?
local function moved(client, buffer, params)
  if waiting.is_withdrawn(params.dialogId) then
    return 'the request was withdrawn'
  end
  local state = documents.state(client, buffer)
  if state.version ~= params.textDocument.version then
    return ('the document is at version %d by now'):format(state.version)
  elseif state.textHash ~= params.textHash then
    return 'the document holds another text by now'
  end
  return nil
end

--- The result of a request about a document, with the state that it is in afterwards.
---@param client vim.lsp.Client
---@param uri string
---@param why string? why it was not done
---@return openbuffer.DocumentActionResult
local function result(client, uri, why)
  return { done = why == nil, reason = why, document = documents.state_of(client, uri) }
end

--- Close the block of changes that an undo takes back, so that what comes is one of its own.
---@param buffer integer
local function begin_undo_block(buffer)
  vim.bo[buffer].undolevels = vim.bo[buffer].undolevels
end

--- The marks a to z: those on lines that are replaced are lost otherwise.
---@param buffer integer
---@return table<string, integer[]>
local function named_marks(buffer)
  local found = {}
  for _, mark in ipairs(vim.fn.getmarklist(buffer)) do
    if mark.mark:match("^'[a-z]$") then
      found[mark.mark:sub(2)] = { mark.pos[2], mark.pos[3] - 1 }
    end
  end
  return found
end

---@param buffer integer
---@param before table<string, integer[]>
local function restore_marks(buffer, before)
  local now = named_marks(buffer)
  local count = vim.api.nvim_buf_line_count(buffer)
  for name, position in pairs(before) do
    if not now[name] then
      local row = math.min(position[1], count)
      local line = vim.api.nvim_buf_get_lines(buffer, row - 1, row, true)[1]
      vim.api.nvim_buf_set_mark(buffer, name, row, math.min(position[2], #line), {})
    end
  end
end

--- Make the changes; all of them or none.
---@param buffer integer
---@param plan openbuffer.Plan
---@param lines string[] as they are
local function make(buffer, plan, lines)
  local tick = vim.api.nvim_buf_get_changedtick(buffer)
  local before = named_marks(buffer)
  begin_undo_block(buffer)
  local is_right, why = pcall(function()
    for _, place in ipairs(plan.places) do
      vim.api.nvim_buf_set_text(buffer, place.start_row, place.start_col, place.end_row, place.end_col, place.lines)
    end
  end)
  if not is_right then
    if vim.api.nvim_buf_get_changedtick(buffer) ~= tick then
      vim.api.nvim_buf_set_lines(buffer, 0, -1, true, lines)
    end
    error(why, 0)
  end
  restore_marks(buffer, before)
  if vim.bo[buffer].endofline ~= plan.endofline then
    vim.bo[buffer].endofline = plan.endofline
    vim.bo[buffer].modified = true
  end
  begin_undo_block(buffer)
end

--- Check, and make the edits if nothing speaks against it.
---@param client vim.lsp.Client
---@param buffer integer
---@param params openbuffer.ApplyEditParams
---@return string? why not
local function attempt(client, buffer, params)
  local why = buffers.objection(buffer)
  if why then
    return why
  end
  local lines = vim.api.nvim_buf_get_lines(buffer, 0, -1, true)
  local options = vim.bo[buffer]
  local ended_before = options.endofline
  local plan, wrong = edits.plan(lines, {
    line_end = documents.line_end(buffer),
    endofline = options.endofline,
    fixes_end = options.fixendofline and not options.binary,
    encoding = client.offset_encoding,
  }, params.edits)
  if not plan then
    return wrong
  end
  if #plan.places == 0 and plan.endofline == ended_before then
    return UNCHANGED
  end
  why = buffers.encoding_objection(buffer, plan.text)
  if why then
    return why
  end
  make(buffer, plan, lines)
  if vim.bo[buffer].endofline ~= ended_before then
    documents.tell_whole(client, buffer)
  end
  -- Marking what changed must not make an edit look as if it had failed.
  pcall(marks.changed, buffer, plan.places, params.label)
  return nil
end

--- Do what a request asks for if its document is still the one that it is for, and answer with how it is then.
---@param client vim.lsp.Client
---@param params openbuffer.ApplyEditParams|openbuffer.SaveDocumentParams
---@param act fun(buffer: integer): string? tells why not
---@return openbuffer.DocumentActionResult
function M.acted(client, params, act)
  local uri = params.textDocument.uri
  local buffer = documents.find(client, uri)
  if not buffer then
    return result(client, uri, 'the document is not open')
  end
  local why = buffers.when_unlocked(function()
    if not vim.api.nvim_buf_is_loaded(buffer) then
      return 'the document was closed'
    end
    return moved(client, buffer, params) or act(buffer)
  end)
  return result(client, uri, why)
end

--- Answer `openbuffer/applyEdit`.
---@param client vim.lsp.Client
---@param params openbuffer.ApplyEditParams
---@return openbuffer.DocumentActionResult
function M.apply(client, params)
  return M.acted(client, params, function(buffer)
    return attempt(client, buffer, params)
  end)
end

return M
