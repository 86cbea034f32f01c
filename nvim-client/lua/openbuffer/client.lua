--- The language clients: how one is started for a workspace, and which buffers it is told of.
local config = require('openbuffer.config')
local documents = require('openbuffer.documents')
local protocol = require('openbuffer.protocol')
local server = require('openbuffer.server')
local waiting = require('openbuffer.waiting')

local M = {}

M.NAME = 'openbuffer'

---@param module string
---@param name string
---@param failed fun(client: vim.lsp.Client, params: table, why: string): any
---@return lsp.Handler
local function lazily(module, name, failed)
  return waiting.handler(function(client, params)
    return require(module)[name](client, params)
  end, failed)
end

---@param client vim.lsp.Client
---@param params table
---@param why string
local function not_done(client, params, why)
  local in_short = require('openbuffer.buffers').in_short(why)
  return require('openbuffer.apply').result(client, params.textDocument.uri, in_short)
end

local function not_told()
  return vim.NIL
end

---@return table<string, lsp.Handler>
local function handlers()
  local refused = require('openbuffer.approvals').failed
  return {
    [protocol.READ_DOCUMENT] = lazily('openbuffer.apply', 'read', not_told),
    [protocol.APPLY_EDIT] = lazily('openbuffer.apply', 'apply', not_done),
    [protocol.SAVE_DOCUMENT] = lazily('openbuffer.files', 'save', not_done),
    [protocol.RELOAD_DOCUMENT] = lazily('openbuffer.files', 'reload', not_done),
    [protocol.REQUEST_PERMISSION] = lazily('openbuffer.approvals', 'request', refused),
    [protocol.ASK_USER] = lazily('openbuffer.questions', 'ask', refused),
    [protocol.WITHDRAW_DIALOG] = waiting.withdraw,
    [protocol.TOOLS_CHANGED] = function()
      require('openbuffer.calls').forget_tools()
    end,
    ['window/showMessage'] = require('openbuffer.messages').show,
  }
end

--- Whether a buffer is one of a file, so that the server can be told of it.
---@param buffer integer
---@return boolean
function M.is_of_file(buffer)
  if not vim.api.nvim_buf_is_loaded(buffer) or vim.bo[buffer].buftype ~= '' then
    return false
  end
  local name = vim.api.nvim_buf_get_name(buffer)
  return name ~= '' and not name:match('^%a[%w+.-]+://') and config.get().attach(buffer)
end

---@param path string
---@param directory string
---@return boolean
local function is_below(path, directory)
  return vim.fs.relpath(directory, path) ~= nil
end

--- The workspace folder of a buffer; nil: it belongs to none.
---@param buffer integer
---@return string?
function M.root_of(buffer)
  local root = config.get().root
  if type(root) == 'function' then
    return root(buffer)
  end
  local name = vim.api.nvim_buf_get_name(buffer)
  local path = vim.uv.fs_realpath(name) or name
  local found = root and vim.fs.normalize(root) or vim.fs.root(buffer, '.git') or vim.uv.cwd()
  if found then
    found = vim.uv.fs_realpath(found) or found
  end
  return found and (path == '' or is_below(path, found)) and found or nil
end

---@param root string
---@return table
local function init_options(root)
  local trusted = config.get().workspace_trusted
  if type(trusted) == 'function' then
    trusted = trusted(root)
  end
  local settings = config.get().settings
  return {
    openbuffer = {
      workspaceTrusted = trusted,
      settings = vim.tbl_isempty(settings) and vim.empty_dict() or settings,
    },
  }
end

--- The configuration for |vim.lsp.config()|, but for what depends on the workspace.
---@return vim.lsp.Config
function M.lsp_config()
  return {
    -- A function, so that a server that is installed later is found, and the command is looked for when it is needed.
    cmd = function(dispatchers)
      local command = server.command()
      if not command then
        error('openbuffer: no server was found; :Openbuffer install makes one, :checkhealth openbuffer tells more', 0)
      end
      return vim.lsp.rpc.start(command, dispatchers)
    end,
    capabilities = { experimental = { openbuffer = protocol.CAPABILITIES } },
    handlers = handlers(),
    root_dir = function(buffer, found)
      local root = M.is_of_file(buffer) and server.find() and M.root_of(buffer) or nil
      if root then
        found(root)
      end
    end,
    before_init = function(params, settings)
      params.initializationOptions = init_options(settings.root_dir or vim.fn.getcwd())
    end,
    on_exit = function(code, signal, client_id)
      vim.schedule(function()
        waiting.client_ended(client_id)
        require('openbuffer.calls').client_ended(client_id, code, signal)
      end)
    end,
    workspace_required = true,
  }
end

--- The clients that run or start, of a buffer or all of them.
---@param buffer? integer
---@return vim.lsp.Client[]
local function clients_of(buffer)
  -- Where a version of Neovim does not know the last of these, those that start are left out.
  return vim.lsp.get_clients({ name = M.NAME, bufnr = buffer, _uninitialized = true })
end

--- The clients that run or start, in the order of their start.
---@return vim.lsp.Client[]
function M.all()
  local clients = clients_of()
  table.sort(clients, function(one, other)
    return one.id < other.id
  end)
  return clients
end

--- The client for what is called now: that of the current buffer, else of the current directory, else the first.
---@return vim.lsp.Client?
function M.current()
  local of_buffer = clients_of(0)[1]
  if of_buffer then
    return of_buffer
  end
  local here = vim.uv.fs_realpath(vim.fn.getcwd()) or vim.fn.getcwd()
  local all = M.all()
  for _, client in ipairs(all) do
    if client.root_dir == here then
      return client
    end
  end
  return all[1]
end

--- Start a client for a workspace, or find the one that runs.
---@param root string
---@param options? vim.lsp.start.Opts
---@return integer? client_id
function M.start(root, options)
  local settings = vim.deepcopy(vim.lsp.config[M.NAME])
  settings.root_dir = root
  return vim.lsp.start(settings, vim.tbl_extend('force', { silent = false }, options or {}))
end

local is_missing_told = false

--- Tell the server of a buffer, where it is one of a file in a workspace.
---@param buffer integer
function M.attach(buffer)
  if not M.is_of_file(buffer) or #clients_of(buffer) > 0 then
    return
  end
  if not server.find() then
    if not is_missing_told then
      is_missing_told = true
      vim.notify(
        'openbuffer: there is no server yet; `:Openbuffer install` makes one, after asking',
        vim.log.levels.WARN
      )
    end
    return
  end
  local root = M.root_of(buffer)
  if root then
    M.start(root, { bufnr = buffer })
  end
end

function M.attach_all()
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    M.attach(buffer)
  end
end

--- `vim.lsp` tells nothing of a new name until the buffer is saved: the document of the old one is closed at once.
---@param buffer integer
local function close_document(buffer)
  for _, client in ipairs(vim.lsp.get_clients({ name = M.NAME, bufnr = buffer })) do
    vim.lsp.buf_detach_client(buffer, client.id)
  end
end

--- Tell the whole text where `vim.lsp` tells a wrong one: of several lines that become a single, empty one.
---@param client vim.lsp.Client
---@param buffer integer
local function watch_emptying(client, buffer)
  local count = vim.api.nvim_buf_line_count(buffer)
  vim.api.nvim_buf_attach(buffer, false, {
    on_lines = function()
      if not client.attached_buffers[buffer] then
        return true
      end
      local before = count
      count = vim.api.nvim_buf_line_count(buffer)
      if before > 1 and count == 1 and vim.api.nvim_buf_get_lines(buffer, 0, 1, true)[1] == '' then
        documents.tell_whole(client, buffer)
      end
    end,
    on_reload = function()
      count = vim.api.nvim_buf_line_count(buffer)
    end,
  })
end

--- Have buffers attached as they come.
function M.watch()
  vim.api.nvim_create_autocmd('LspAttach', {
    group = vim.api.nvim_create_augroup('openbuffer.tell', { clear = true }),
    callback = function(event)
      local client = vim.lsp.get_client_by_id(event.data.client_id)
      if client and client.name == M.NAME then
        watch_emptying(client, event.buf)
      end
    end,
  })
  vim.api.nvim_create_autocmd('OptionSet', {
    group = 'openbuffer.tell',
    pattern = { 'fileformat', 'endofline' },
    callback = function()
      local buffer = vim.api.nvim_get_current_buf()
      for _, client in ipairs(vim.lsp.get_clients({ name = M.NAME, bufnr = buffer })) do
        documents.tell_whole(client, buffer)
      end
    end,
  })
  local group = vim.api.nvim_create_augroup('openbuffer.attach', { clear = true })
  -- |vim.lsp.enable()| goes by FileType, which does not come for files of no known type.
  vim.api.nvim_create_autocmd({ 'BufReadPost', 'BufNewFile', 'BufWritePost', 'BufFilePost' }, {
    group = group,
    callback = function(event)
      M.attach(event.buf)
    end,
  })
  vim.api.nvim_create_autocmd('BufFilePre', {
    group = group,
    callback = function(event)
      close_document(event.buf)
    end,
  })
  vim.api.nvim_create_autocmd({ 'BufUnload', 'BufWipeout' }, {
    group = group,
    callback = function(event)
      documents.forget(event.buf)
    end,
  })
end

--- End all clients, and start anew for the buffers that they had.
---@param done fun(failed: string?)
function M.restart(done)
  local clients = M.all()
  local roots, left = {}, 200
  for _, client in ipairs(clients) do
    roots[client.root_dir or vim.fn.getcwd()] = true
    client:stop()
  end
  local function poll()
    left = left - 1
    if #M.all() > 0 and left > 0 then
      if left == 100 then
        for _, client in ipairs(M.all()) do
          client:stop(true)
        end
      end
      return vim.defer_fn(poll, 50)
    elseif left == 0 then
      return done('the server did not end')
    end
    is_missing_told = false
    for root in pairs(roots) do
      M.start(root, { attach = false })
    end
    M.attach_all()
    done(nil)
  end
  poll()
end

return M
