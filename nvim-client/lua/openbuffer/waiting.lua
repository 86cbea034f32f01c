--- Handlers of the server's requests: each gives an answer, whatever happens, and may wait for it.
---
--- `vim.lsp` runs a handler in a coroutine, takes an error or nil for a failure, and sends what it returns.
local M = {}

--- Dialogs that a server has withdrawn before they were begun, by `own_id`.
---@type table<string, boolean>
local withdrawn = {}

---@type table<string, fun()>
local closers = {}

--- The name of a dialog among those of all servers, which number theirs alike.
---@param client_id integer
---@param params table
---@return string
local function own_id(client_id, params)
  return ('%d %s'):format(client_id, tostring(params.dialogId or ''))
end

--- Wait in a handler until `begin`'s callback is called with its result.
---@param begin fun(done: fun(result: any))
---@return any
function M.await(begin)
  local running = coroutine.running()
  local is_done, is_waiting, result = false, false, nil
  begin(function(value)
    if is_done then
      return
    end
    is_done, result = true, value
    if is_waiting then
      coroutine.resume(running)
    end
  end)
  if not is_done then
    is_waiting = true
    coroutine.yield()
  end
  return result
end

---@param ms integer
function M.sleep(ms)
  M.await(function(done)
    vim.defer_fn(done, ms)
  end)
end

--- Let what came in behind this request be taken first: a withdrawal, above all.
local function let_others_go_first()
  M.await(function(done)
    vim.schedule(done)
  end)
end

--- A handler for `vim.lsp` that always answers. The `dialogId` that `act` finds is unlike those of other servers.
---@param act fun(client: vim.lsp.Client, params: table): any may wait
---@param failed fun(client: vim.lsp.Client, params: table, why: string): any the answer where `act` fails
---@return lsp.Handler
function M.handler(act, failed)
  return function(_, params, context)
    local client = vim.lsp.get_client_by_id(context.client_id)
    if not client or type(params) ~= 'table' then
      return vim.NIL
    end
    params.dialogId = own_id(client.id, params)
    local is_right, result = pcall(function()
      let_others_go_first()
      return act(client, params)
    end)
    if not is_right then
      vim.lsp.log.error('openbuffer', context.method, result)
      local is_told
      is_told, result = pcall(failed, client, params, tostring(result))
      if not is_told then
        result = nil
      end
    end
    withdrawn[params.dialogId] = nil
    if result == nil then
      return vim.NIL
    end
    return result
  end
end

--- Whether the server has taken the request with this dialog back.
---@param dialog_id string
function M.is_withdrawn(dialog_id)
  return withdrawn[dialog_id] == true
end

--- What to do when a dialog is withdrawn, in the place of remembering it; nil takes that back.
---@param dialog_id string
---@param close fun()?
function M.on_withdrawn(dialog_id, close)
  closers[dialog_id] = close
end

--- The handler of `openbuffer/withdrawDialog`.
---@type lsp.Handler
function M.withdraw(_, params, context)
  local id = own_id(context.client_id, params)
  local close = closers[id]
  if close then
    closers[id] = nil
    close()
    return
  end
  -- It may be of a request that has not been begun: of one that is over nothing is left to be found.
  withdrawn[id] = true
  vim.defer_fn(function()
    withdrawn[id] = nil
  end, 60000)
end

--- A server has ended, and nobody waits for an answer to its dialogs any more.
---@param client_id integer
function M.client_ended(client_id)
  for _, id in ipairs(vim.tbl_keys(closers)) do
    if vim.startswith(id, client_id .. ' ') then
      local close = closers[id]
      closers[id] = nil
      close()
    end
  end
end

return M
