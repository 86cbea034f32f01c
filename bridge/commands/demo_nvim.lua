-- The editor's and the user's part of `openbuffer demo --editor nvim`, in a Neovim without configuration or plugins.
-- One JSON command per line on stdin, one JSON answer per line on stdout: {"ok": result} or {"failed": why}.
-- The server runs under plain vim.lsp.start; its edits go through Neovim's own handler.

local STEP_MS = 5 -- how often the main loop looks whether it is done
local SERVER_MS = 10000 -- how long the server may take to start or to end

local done = false
local typing_ahead -- what the user types at the moment when the next edit of the agent arrives
local apply_answers = {} -- what Neovim told the server about each of its edits

local function answer(message)
  io.stdout:write(vim.json.encode(message), '\n')
  io.stdout:flush()
end

local function buffer_of(path)
  local wanted = vim.uv.fs_realpath(path)
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    if vim.uv.fs_realpath(vim.api.nvim_buf_get_name(buffer)) == wanted then
      return buffer
    end
  end
  error(path .. ' is not open in Neovim')
end

local function type_over(typed)
  vim.api.nvim_buf_set_lines(buffer_of(typed.path), typed.line - 1, typed.line, true, { typed.text })
end

local function apply_edit(err, params, context)
  if typing_ahead then
    type_over(typing_ahead)
    typing_ahead = nil
  end
  local result = vim.lsp.handlers['workspace/applyEdit'](err, params, context)
  table.insert(apply_answers, result)
  return result
end

local commands = {}

function commands.start(request)
  local version = vim.version()
  vim.cmd.edit(vim.fn.fnameescape(request.path))
  local id = vim.lsp.start({
    name = 'openbuffer',
    cmd = request.server,
    root_dir = request.root,
    handlers = { ['workspace/applyEdit'] = apply_edit },
  })
  assert(id, 'vim.lsp.start started nothing')
  local started = vim.wait(SERVER_MS, function()
    local client = vim.lsp.get_client_by_id(id)
    return client and client.initialized and vim.lsp.buf_is_attached(0, id)
  end, STEP_MS)
  assert(started, 'the server did not answer Neovim')
  local own = vim.fn.getpid()
  return {
    name = ('Neovim %d.%d.%d'):format(version.major, version.minor, version.patch),
    processIds = { own, unpack(vim.api.nvim_get_proc_children(own)) },
  }
end

function commands.type_over(request)
  type_over(request)
end

function commands.type_when_edited(request)
  typing_ahead = request
end

function commands.last_apply_answer()
  return apply_answers[#apply_answers]
end

function commands.buffer(request)
  local buffer = buffer_of(request.path)
  local text = table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, true), '\n')
  return { text = text .. (vim.bo[buffer].eol and '\n' or ''), modified = vim.bo[buffer].modified }
end

function commands.save(request)
  vim.api.nvim_buf_call(buffer_of(request.path), function()
    vim.cmd('silent write')
  end)
end

function commands.quit()
  for _, client in ipairs(vim.lsp.get_clients()) do
    client:stop()
  end
  -- A client counts as stopped before its process has ended, so the processes are looked at.
  local ended = vim.wait(SERVER_MS, function()
    return #vim.api.nvim_get_proc_children(vim.fn.getpid()) == 0
  end, STEP_MS)
  assert(ended, 'the server did not end when Neovim asked it to')
  done = true
end

-- A tool call is answered later, when the server answers it.
local function call_tool(request)
  local client = vim.lsp.get_clients({ name = 'openbuffer' })[1]
  local params = { name = request.name, arguments = request.arguments }
  local sent = client and client:request('openbuffer/callTool', params, function(err, result)
    answer(err and { failed = err.message } or { ok = result })
  end)
  if not sent then
    answer({ failed = 'the server is gone' })
  end
end

local function execute(line)
  local request = vim.json.decode(line)
  if request.command == 'call_tool' then
    return call_tool(request)
  end
  local ok, result = pcall(commands[request.command], request)
  answer(ok and { ok = result == nil and vim.NIL or result } or { failed = tostring(result) })
end

local stdin = vim.uv.new_pipe(false)
stdin:open(0)
local unread = ''
stdin:read_start(function(_, data)
  if not data then -- whoever started us wants no more, or is gone
    vim.schedule(function()
      pcall(commands.quit)
      done = true
    end)
    return
  end
  unread = unread .. data
  for line in unread:gmatch('([^\n]*)\n') do
    vim.schedule(function()
      execute(line)
    end)
  end
  unread = unread:match('[^\n]*$')
end)

repeat
  vim.wait(1000, function()
    return done
  end, STEP_MS)
until done
