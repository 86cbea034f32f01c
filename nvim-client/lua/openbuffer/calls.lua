--- Calls of tools, each with exactly one end: an answer, a cancellation, or that the server ended.
local client_of = require('openbuffer.client')
local marks = require('openbuffer.marks')
local protocol = require('openbuffer.protocol')
local server = require('openbuffer.server')

local M = {}

---@class openbuffer.Call
---@field name string
---@field client_id integer
---@field request_id? integer
---@field is_done boolean
---@field done fun(failed: string?, result: table?)

---@type table<openbuffer.Call, true>
local running = {}

local synchronous = 0

--- The tools that were listed last, by name.
---@type table<string, table>
local known_tools = {}

---@param call openbuffer.Call
---@param failed string?
---@param result table?
local function finish(call, failed, result)
  if call.is_done then
    return
  end
  call.is_done = true
  running[call] = nil
  call.done(failed, result)
end

--- Whether a call keeps the editor from taking keys, so that questions have to be asked in another way.
---@return boolean
function M.is_waiting_synchronously()
  return synchronous > 0
end

--- The names of the tools that run now.
---@return string[]
function M.running()
  return vim.tbl_map(function(call)
    return call.name
  end, vim.tbl_keys(running))
end

--- The client is gone, and with it the answers.
---@param client_id integer
---@param code integer
---@param signal integer
function M.client_ended(client_id, code, signal)
  for _, call in ipairs(vim.tbl_keys(running)) do
    if call.client_id == client_id then
      finish(call, ('the server ended (exit code %d, signal %d)'):format(code, signal))
    end
  end
end

--- `vim.lsp` keeps an answer that says "cancelled" to itself, but tells that the request is over.
function M.watch()
  vim.api.nvim_create_autocmd('LspRequest', {
    group = vim.api.nvim_create_augroup('openbuffer.calls', { clear = true }),
    callback = function(event)
      if event.data.request.type ~= 'complete' then
        return
      end
      for call in pairs(running) do
        if call.client_id == event.data.client_id and call.request_id == event.data.request_id then
          -- The callback of a real answer is behind this one in the queue.
          vim.defer_fn(function()
            finish(call, 'cancelled')
          end, 50)
        end
      end
    end,
  })
end

---@param arguments table?
---@return table
local function object(arguments)
  return (arguments == nil or vim.tbl_isempty(arguments)) and vim.empty_dict() or arguments
end

---@param result table
---@param arguments table
local function note_change(result, arguments)
  local tool = known_tools[result.name]
  local path = arguments.filePath or arguments.path
  if result.isError or not tool or not vim.list_contains(tool.capabilities, 'FILE_WRITE') or type(path) ~= 'string' then
    return
  end
  local client = client_of.current()
  if not path:match('^/') and client and client.root_dir then
    path = vim.fs.joinpath(client.root_dir, path)
  end
  local buffer = vim.fn.bufnr('^' .. vim.fn.escape(path, '\\*?[]{},^$~') .. '$')
  if buffer == -1 or not vim.api.nvim_buf_is_loaded(buffer) then
    local line = type(result.data) == 'table' and result.data.startLine or 1
    marks.changed_on_disk(path, type(line) == 'number' and line or 1, result.name)
  end
end

--- The client to call with; one is started where none runs.
---@param done fun(failed: string?, client: vim.lsp.Client?)
function M.with_client(done)
  -- A server that has ended leaves documents behind that no other is told of: without them tools would see the disk.
  pcall(client_of.attach_all)
  local client = client_of.current()
  if not client then
    if not server.find() then
      return done('there is no server; :Openbuffer install makes one, :checkhealth openbuffer tells more')
    end
    local root = vim.uv.fs_realpath(vim.fn.getcwd()) or vim.fn.getcwd()
    local is_right, id = pcall(client_of.start, root, { attach = false })
    client = is_right and id and vim.lsp.get_client_by_id(id) or nil
    if not client then
      return done(is_right and 'the server could not be started; :checkhealth openbuffer tells more' or tostring(id))
    end
  end
  local left = 400
  local function poll()
    left = left - 1
    if client:is_stopped() or left == 0 then
      return done('the server did not start; :checkhealth openbuffer tells more')
    elseif not client.initialized then
      return vim.defer_fn(poll, 25)
    end
    done(nil, client)
  end
  poll()
end

---@param method string
---@param params table
---@param name string
---@param done fun(failed: string?, result: table?)
---@return fun() cancel
local function request(method, params, name, done)
  local call = { name = name, client_id = -1, is_done = false, done = done } ---@type openbuffer.Call
  M.with_client(function(failed, client)
    if failed or not client then
      return finish(call, failed)
    elseif call.is_done then
      return
    end
    call.client_id = client.id
    running[call] = true
    local sent, id = client:request(method, params, function(err, result)
      finish(call, err and (err.message or vim.inspect(err)) or nil, result)
    end)
    call.request_id = id
    if not sent then
      finish(call, 'the server takes no request')
    end
  end)
  return function()
    local client = vim.lsp.get_client_by_id(call.client_id)
    if client and call.request_id and not call.is_done then
      -- Not `cancel_request`, after which the end of the request is not told.
      client:notify('$/cancelRequest', { id = call.request_id })
    elseif not call.request_id then
      finish(call, 'cancelled')
    end
  end
end

--- Call a tool. `done` is called once: with why there is no answer, or with the answer.
---@param name string
---@param arguments table?
---@param done fun(failed: string?, result: table?)
---@return fun() cancel
function M.call(name, arguments, done)
  local params = { name = name, arguments = object(arguments) }
  return request(protocol.CALL_TOOL, params, name, function(failed, result)
    if result and result.toolsChanged then
      M.forget_tools()
    end
    if result then
      pcall(note_change, result, arguments or {})
    end
    done(failed, result)
  end)
end

--- List the tools that can be called now.
---@param done fun(failed: string?, tools: table[]?)
---@return fun() cancel
function M.tools(done)
  return request(protocol.LIST_TOOLS, vim.empty_dict(), 'the list of tools', function(failed, result)
    if result then
      known_tools = {}
      for _, tool in ipairs(result.tools) do
        known_tools[tool.name] = tool
      end
    end
    done(failed, result and result.tools)
  end)
end

--- There are others now; `User OpenbufferToolsChanged` tells those who keep a list of their own.
function M.forget_tools()
  known_tools = {}
  vim.api.nvim_exec_autocmds('User', { pattern = 'OpenbufferToolsChanged', modeline = false })
end

--- The tools as they were listed last.
---@return table<string, table>
function M.known_tools()
  return known_tools
end

--- Wait for one of the above. Keys are not taken meanwhile; CTRL-C ends it.
---@param begin fun(done: fun(failed: string?, result: any)): fun()
---@param timeout_ms integer
---@return any result
---@return string? failed
function M.wait(begin, timeout_ms)
  local is_done, failed, result = false, nil, nil
  synchronous = synchronous + 1
  local cancel = begin(function(why, value)
    is_done, failed, result = true, why, value
  end)
  local _, how = vim.wait(timeout_ms, function()
    return is_done
  end, 5)
  synchronous = synchronous - 1
  if not is_done then
    cancel()
    return nil, how == -2 and 'interrupted' or ('no answer within %d ms; the call was cancelled'):format(timeout_ms)
  end
  return result, failed
end

return M
