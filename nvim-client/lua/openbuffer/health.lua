--- `:checkhealth openbuffer`.
local client_of = require('openbuffer.client')
local config = require('openbuffer.config')
local server = require('openbuffer.server')

local M = {}

local function check_server()
  vim.health.start('openbuffer: the server')
  local command, from = server.command()
  if not command then
    vim.health.error('no server was found', {
      '`:Openbuffer install` makes a virtual environment with it, after asking',
      'or put `openbuffer` on $PATH, or set the option `cmd`, or g:openbuffer_cmd',
    })
    return
  end
  vim.health.ok(('found by %s: %s'):format(from, table.concat(command, ' ')))
  local version = server.subcommand({ '--version' }) or {}
  local is_right, result = pcall(function()
    return vim.system(version, { text = true, timeout = 20000 }):wait()
  end)
  if is_right and result.code == 0 then
    vim.health.ok(vim.trim(result.stdout))
  else
    local said = is_right and vim.trim(result.stderr or '') or tostring(result)
    vim.health.error('it cannot be started: ' .. said, { 'run it in a shell to see more' })
  end
end

local function check_sessions()
  vim.health.start('openbuffer: sessions')
  if not config.is_set() then
    vim.health.warn('require("openbuffer").setup{} was not called, so that no file is shown to the server')
  end
  for _, line in ipairs(require('openbuffer.status').lines()) do
    if not vim.startswith(line, 'Server:') then
      vim.health.info(line)
    end
  end
  local buffer = vim.fn.bufnr('#')
  if buffer > 0 and client_of.is_of_file(buffer) and not client_of.root_of(buffer) then
    vim.health.info(
      'the last file belongs to no workspace: it has no `.git` above it and is not below the current directory'
    )
  end
end

local function check_editor()
  vim.health.start('openbuffer: Neovim')
  if vim.fn.has('nvim-0.11') == 1 then
    vim.health.ok(('Neovim %s'):format(tostring(vim.version())))
  else
    vim.health.error('Neovim 0.11 or newer is needed')
  end
  local is_there, tracking = pcall(require, 'vim.lsp._changetracking')
  if is_there and type(tracking.flush) == 'function' then
    vim.health.ok('typed text is sent before each reading')
  else
    vim.health.info('this version of Neovim sends typed text with a notification of its own before each reading')
  end
end

function M.check()
  check_editor()
  check_server()
  check_sessions()
end

return M
