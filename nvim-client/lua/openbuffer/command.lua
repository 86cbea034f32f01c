--- `:Openbuffer`.
local calls = require('openbuffer.calls')
local client_of = require('openbuffer.client')
local server = require('openbuffer.server')

local M = {}

---@param text string
local function complain(text)
  vim.notify('openbuffer: ' .. text, vim.log.levels.ERROR)
end

--- Show text in a scratch buffer of its own window.
---@param name string
---@param lines string[]
---@param filetype? string
local function show(name, lines, filetype)
  local title = 'openbuffer://' .. name
  local known = vim.fn.bufnr('^' .. title .. '$')
  local buffer = known ~= -1 and known or vim.api.nvim_create_buf(false, true)
  vim.bo[buffer].buftype = 'nofile'
  vim.bo[buffer].swapfile = false
  vim.api.nvim_buf_set_name(buffer, title)
  vim.bo[buffer].modifiable = true
  vim.api.nvim_buf_set_lines(buffer, 0, -1, true, lines)
  vim.bo[buffer].modifiable = false
  if filetype then
    vim.bo[buffer].filetype = filetype
  end
  local window = vim.fn.bufwinid(buffer)
  if window == -1 then
    vim.cmd('botright new')
    vim.api.nvim_win_set_buf(0, buffer)
    vim.wo.linebreak = true
    vim.api.nvim_win_set_height(0, math.max(5, math.min(#lines + 1, math.floor(vim.o.lines / 2))))
  else
    vim.api.nvim_set_current_win(window)
  end
end

---@param text string
---@return string[]
local function lines_of(text)
  return vim.split((text:gsub('\n$', '')), '\n', { plain = true })
end

---@type table<string, { run: fun(rest: string), complete?: fun(lead: string): string[] }>
local subcommands = {}

subcommands.call = {
  run = function(rest)
    local name, json = rest:match('^(%S+)%s*(.*)$')
    if not name then
      return complain('which tool? `:Openbuffer call Read {"filePath": "a.txt"}`')
    end
    local is_right, arguments = pcall(vim.json.decode, json == '' and '{}' or json, { luanil = { object = true } })
    if not is_right or type(arguments) ~= 'table' or #arguments > 0 then
      return complain(('the arguments of %s are no JSON object: %s'):format(name, json))
    end
    calls.call(name, arguments, function(failed, result)
      if failed or not result then
        return complain(('%s: %s'):format(name, failed))
      end
      show(name, lines_of(require('openbuffer').text_of(result)))
    end)
  end,
  complete = function(lead)
    if vim.tbl_isempty(calls.known_tools()) and client_of.current() then
      calls.wait(calls.tools, 2000)
    end
    local names = vim.tbl_keys(calls.known_tools())
    table.sort(names)
    return vim.tbl_filter(function(name)
      return vim.startswith(name, lead)
    end, names)
  end,
}

subcommands.tools = {
  run = function()
    calls.tools(function(failed, tools)
      if failed or not tools then
        return complain(failed or 'there is no list of tools')
      end
      local lines = {}
      for _, tool in ipairs(tools) do
        lines[#lines + 1] = ('# %s  (%s)'):format(tool.name, table.concat(tool.capabilities, ', '))
        vim.list_extend(lines, lines_of(tool.description))
        local names = vim.tbl_keys(tool.inputSchema.properties or {})
        table.sort(names)
        lines[#lines + 1] = 'Arguments: ' .. (#names > 0 and table.concat(names, ', ') or 'none')
        lines[#lines + 1] = ''
      end
      show('tools', lines, 'markdown')
    end)
  end,
}

subcommands.log = {
  run = function(rest)
    local arguments = vim.split(vim.trim(rest), '%s+', { trimempty = true })
    local command = server.subcommand(vim.list_extend({ 'log' }, arguments))
    if not command then
      return complain('there is no server; :Openbuffer install makes one')
    end
    if vim.list_contains(arguments, '--follow') then
      return complain('--follow is for a terminal: ' .. table.concat(command, ' '))
    end
    vim.system(
      command,
      { text = true, timeout = 20000 },
      vim.schedule_wrap(function(result)
        if result.code ~= 0 then
          return complain('log: ' .. vim.trim(result.stderr or ''))
        end
        show('log', lines_of(result.stdout ~= '' and result.stdout or 'nothing is recorded yet'))
      end)
    )
  end,
  complete = function(lead)
    return vim.tbl_filter(function(word)
      return vim.startswith(word, lead)
    end, { 'show', '-n', '--tool', '--since', '--outcome', '--session', '--json' })
  end,
}

subcommands.status = {
  run = function()
    show('status', require('openbuffer.status').lines())
  end,
}

subcommands.restart = {
  run = function()
    client_of.restart(function(failed)
      if failed then
        complain(failed)
      else
        require('openbuffer.messages').say('openbuffer: restarted')
      end
    end)
  end,
}

subcommands.install = {
  run = function(rest)
    local what = vim.trim(rest)
    server.install(what ~= '' and vim.fs.normalize(what) or nil, function(failed)
      if failed then
        return complain(failed)
      end
      require('openbuffer.messages').say('openbuffer: installed')
      client_of.attach_all()
    end)
  end,
  complete = function(lead)
    return vim.fn.getcompletion(lead, 'file')
  end,
}

subcommands.answer = {
  run = function()
    if not require('openbuffer').answer() then
      require('openbuffer.messages').say('openbuffer: nothing is asked')
    end
  end,
}

subcommands.changes = {
  run = function()
    require('openbuffer').changes()
  end,
}

subcommands.clear = {
  run = function()
    require('openbuffer').clear()
  end,
}

--- Run `:Openbuffer`.
---@param arguments string
function M.run(arguments)
  if not require('openbuffer.config').is_set() then
    require('openbuffer').setup()
  end
  local name, rest = arguments:match('^%s*(%S*)%s*(.*)$')
  local subcommand = subcommands[name == '' and 'status' or name]
  if not subcommand then
    local names = vim.tbl_keys(subcommands)
    table.sort(names)
    return complain(('there is no :Openbuffer %s; there are %s'):format(name, table.concat(names, ', ')))
  end
  subcommand.run(rest)
end

--- Complete `:Openbuffer`.
---@param lead string
---@param line string
---@param cursor integer
---@return string[]
function M.complete(lead, line, cursor)
  local before = line:sub(1, cursor):gsub('^.-Openbuffer!?%s*', '')
  local name = before:match('^(%S+)%s')
  if not name then
    local names = vim.tbl_filter(function(each)
      return vim.startswith(each, lead)
    end, vim.tbl_keys(subcommands))
    table.sort(names)
    return names
  end
  local complete = subcommands[name] and subcommands[name].complete
  local is_first_word = name ~= 'call' or not before:match('^%S+%s+%S+%s')
  return complete and is_first_word and complete(lead) or {}
end

return M
