--- Where the server is, and how one is made where there is none.
local config = require('openbuffer.config')

local M = {}

---@class openbuffer.FoundServer
---@field cmd string[] the command without `serve`
---@field from string where it was found

--- The environment that `:Openbuffer install` makes.
---@return string
function M.environment()
  return vim.fs.joinpath(vim.fn.stdpath('data'), 'openbuffer', 'venv')
end

---@param environment string
---@param name string
---@return string
local function program_in(environment, name)
  if vim.fn.has('win32') == 1 then
    return vim.fs.joinpath(environment, 'Scripts', name .. '.exe')
  end
  return vim.fs.joinpath(environment, 'bin', name)
end

--- The command of the server. Nothing of a workspace is looked at: a repository must not choose what is run.
---@return openbuffer.FoundServer?
function M.find()
  local set = config.get().cmd
  if set then
    return { cmd = set, from = 'the option `cmd`' }
  end
  local global = vim.g.openbuffer_cmd
  if type(global) == 'string' then
    return { cmd = { vim.fn.expand(global) }, from = 'g:openbuffer_cmd' }
  elseif type(global) == 'table' then
    return { cmd = global, from = 'g:openbuffer_cmd' }
  end
  local on_path = vim.fn.exepath('openbuffer')
  if on_path ~= '' then
    return { cmd = { on_path }, from = '$PATH' }
  end
  local own = program_in(M.environment(), 'openbuffer')
  if vim.fn.executable(own) == 1 then
    return { cmd = { own }, from = 'the environment of `:Openbuffer install`' }
  end
end

--- The command line of a session. An option `cmd` that names a subcommand is taken as it is.
---@return string[]?
---@return string? from
function M.command()
  local found = M.find()
  if not found then
    return nil
  end
  local command = vim.list_extend({}, found.cmd)
  if not vim.list_contains(command, 'serve') then
    command[#command + 1] = 'serve'
  end
  return vim.list_extend(command, config.get().args), found.from
end

--- The program that `openbuffer log` and other subcommands are called with.
---@param arguments string[]
---@return string[]?
function M.subcommand(arguments)
  local found = M.find()
  if not found then
    return nil
  end
  local command = {}
  for _, word in ipairs(found.cmd) do
    if word == 'serve' then
      break
    end
    command[#command + 1] = word
  end
  return vim.list_extend(command, arguments)
end

--- What is installed: the repository that this plugin is a part of, else the published package.
---@return string
local function source()
  local here = vim.fs.dirname(vim.fs.abspath(debug.getinfo(1, 'S').source:sub(2)))
  local repository = vim.fs.normalize(vim.fs.joinpath(here, '..', '..', '..'))
  local is_there = vim.uv.fs_stat(vim.fs.joinpath(repository, 'pyproject.toml'))
    and vim.uv.fs_stat(vim.fs.joinpath(repository, 'bridge'))
  return is_there and repository or 'openbuffer'
end

---@return string?
local function python()
  for _, name in ipairs({ 'python3.13', 'python3.12', 'python3.11', 'python3', 'python' }) do
    local path = vim.fn.exepath(name)
    local check = 'import sys; sys.exit(sys.version_info < (3, 11))'
    if path ~= '' and vim.system({ path, '-c', check }):wait().code == 0 then
      return path
    end
  end
end

--- The commands that make the environment.
---@param what? string a directory of the repository, a wheel, or whatever else pip takes
---@return string[][]?
---@return string? why not
function M.install_steps(what)
  local target = M.environment()
  what = what or source()
  if vim.fn.executable('uv') == 1 then
    local there = program_in(target, 'python')
    return {
      { 'uv', 'venv', '--clear', '--python', '>=3.11', target },
      { 'uv', 'pip', 'install', '--python', there, what },
    }
  end
  local interpreter = python()
  if not interpreter then
    return nil, 'neither uv nor a Python of version 3.11 or newer is on $PATH'
  end
  local can_bring_pip = vim.system({ interpreter, '-c', 'import ensurepip' }):wait().code == 0
  if can_bring_pip then
    return {
      { interpreter, '-m', 'venv', '--clear', target },
      { program_in(target, 'python'), '-m', 'pip', 'install', '--quiet', what },
    }
  end
  return {
    { interpreter, '-m', 'venv', '--clear', '--without-pip', target },
    { interpreter, '-m', 'pip', '--python', program_in(target, 'python'), 'install', '--quiet', what },
  }
end

---@param steps string[][]
---@param done fun(failed: string?)
local function run(steps, done)
  local step = table.remove(steps, 1)
  if not step then
    return done(nil)
  end
  vim.system(
    step,
    { text = true },
    vim.schedule_wrap(function(result)
      if result.code ~= 0 then
        local said = vim.trim((result.stderr or '') .. '\n' .. (result.stdout or ''))
        return done(('%s\nended with %d: %s'):format(table.concat(step, ' '), result.code, said:sub(-2000)))
      end
      run(steps, done)
    end)
  )
end

--- Make the environment, if the user agrees to exactly these commands.
---@param what? string see `install_steps`
---@param done fun(failed: string?)
function M.install(what, done)
  local steps, why = M.install_steps(what)
  if not steps then
    return done(why)
  end
  local commands = vim.tbl_map(function(step)
    return '  ' .. table.concat(step, ' ')
  end, steps)
  local prompt = 'openbuffer: install the server by these commands?\n' .. table.concat(commands, '\n')
  vim.ui.select({ 'Yes', 'No' }, { prompt = prompt, kind = 'openbuffer_install' }, function(choice)
    if choice ~= 'Yes' then
      return done('not installed, as you wished')
    end
    -- Not by `vim.notify`: behind the lines of the question it would have its user press a key, and all else wait.
    require('openbuffer.messages').say('openbuffer: installing, which takes a minute…')
    run(steps, done)
  end)
end

return M
