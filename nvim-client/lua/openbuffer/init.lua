--- Agent tools that see and change what Neovim shows, saved or not.
local M = {}

--- Take options over and start. Without options everything has its default, see |openbuffer-options|.
---@param options? table
function M.setup(options)
  if vim.fn.has('nvim-0.11') == 0 then
    error('openbuffer needs Neovim 0.11 or newer', 0)
  end
  require('openbuffer.config').set(options)
  local client = require('openbuffer.client')
  require('openbuffer.highlights').define()
  vim.lsp.config(client.NAME, client.lsp_config())
  require('openbuffer.calls').watch()
  require('openbuffer.progress').watch()
  require('openbuffer.window').watch()
  require('openbuffer.files').watch()
  client.watch()
  -- Whoever loads plugins late has 'runtimepath' looked through before this one is on it.
  vim.cmd.runtime('plugin/openbuffer.lua')
  vim.lsp.enable(client.NAME)
  if vim.v.vim_did_enter == 1 then
    client.attach_all()
  end
end

--- Call a tool and come back at once. `done` is called once, in the main loop: `failed` says why there is no answer
--- (the server does not run, "cancelled"); else `result` is a `CallToolResult`, whose `isError` tells whether the tool did
--- what it was asked to.
---@param name string such as "Read"
---@param arguments? table such as { filePath = "a.txt" }
---@param done fun(failed: string?, result: table?)
---@return fun() cancel ends the call; `done` is called with "cancelled" when it has really stopped
function M.call(name, arguments, done)
  return require('openbuffer.calls').call(name, arguments, done)
end

--- Call a tool and wait for its answer. Keys are not taken meanwhile, but for CTRL-C, which cancels, and the answers to
--- permissions, which are asked for by |confirm()|. Questions of the agent are closed.
---@param name string
---@param arguments? table
---@param options? { timeout_ms?: integer } 60000 without
---@return table? result a `CallToolResult`
---@return string? failed why there is none
function M.call_sync(name, arguments, options)
  local calls = require('openbuffer.calls')
  return calls.wait(function(done)
    return calls.call(name, arguments, done)
  end, options and options.timeout_ms or 60000)
end

--- List the tools that can be called now: their names, descriptions, schemas and capabilities.
---@param done fun(failed: string?, tools: table[]?)
---@return fun() cancel
function M.tools(done)
  return require('openbuffer.calls').tools(done)
end

--- The same, and wait for it.
---@param options? { timeout_ms?: integer } 60000 without
---@return table[]? tools
---@return string? failed
function M.tools_sync(options)
  local calls = require('openbuffer.calls')
  return calls.wait(calls.tools, options and options.timeout_ms or 60000)
end

--- What a tool answered, in words: what a model is to be shown.
---@param result table a `CallToolResult`
---@return string
function M.text_of(result)
  local data = result.data
  if type(result.error) == 'table' then
    return result.error.message
  elseif type(data) ~= 'table' then
    return vim.json.encode(data)
  end
  local text = data.error or data.output
  return type(text) == 'string' and text or vim.json.encode(data)
end

--- Put the cursor into the dialog that waits for an answer.
---@return boolean whether there is one
function M.answer()
  return require('openbuffer.window').answer()
end

--- Take the marks of the last call's changes away.
function M.clear()
  require('openbuffer.marks').clear()
end

--- Open a quickfix list of what the agent changed in this session.
function M.changes()
  local items = require('openbuffer.marks').quickfix_items()
  vim.fn.setqflist({}, ' ', { title = 'openbuffer: changes', items = items })
  if #items > 0 then
    vim.cmd('botright copen')
  end
end

return M
