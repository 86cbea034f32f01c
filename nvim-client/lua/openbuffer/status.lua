--- What runs, in words; for `:Openbuffer status` and `:checkhealth openbuffer`.
local client_of = require('openbuffer.client')
local server = require('openbuffer.server')

local M = {}

---@param client vim.lsp.Client
---@return string[]
local function of_client(client)
  local lines = {}
  local state = client:is_stopped() and 'stopped' or client.initialized and 'running' or 'starting'
  lines[#lines + 1] = ('Session %d: %s in %s'):format(client.id, state, client.root_dir or '?')
  local count, unsaved = 0, 0
  for buffer in pairs(client.attached_buffers) do
    count = count + 1
    unsaved = unsaved + (vim.api.nvim_buf_is_loaded(buffer) and vim.bo[buffer].modified and 1 or 0)
  end
  lines[#lines + 1] = ('  %d open document%s, %d with unsaved changes'):format(count, count == 1 and '' or 's', unsaved)
  local spoken = vim.tbl_get(client.server_capabilities, 'experimental', 'openbuffer', 'protocolVersion')
  local ours = require('openbuffer.protocol').VERSION
  if client.initialized and spoken ~= ours then
    lines[#lines + 1] = ('  it speaks version %s of the protocol, this plugin %d: update the older one'):format(
      tostring(spoken),
      ours
    )
  end
  return lines
end

---@return string[]
function M.lines()
  local command, from = server.command()
  local lines = {
    command and ('Server: %s (from %s)'):format(table.concat(command, ' '), from)
      or 'Server: none was found; :Openbuffer install makes one',
  }
  local clients = client_of.all()
  if #clients == 0 then
    lines[#lines + 1] = 'Sessions: none; one starts with the first file, or the first call'
  end
  for _, client in ipairs(clients) do
    vim.list_extend(lines, of_client(client))
  end
  local running = require('openbuffer.calls').running()
  lines[#lines + 1] = 'Calls under way: ' .. (#running > 0 and table.concat(running, ', ') or 'none')
  local asked = require('openbuffer.window').waiting()
  lines[#lines + 1] = 'Waiting for your answer: ' .. (#asked > 0 and table.concat(asked, ', ') or 'nothing')
  for _, message in ipairs(require('openbuffer.messages').told()) do
    local said = require('openbuffer.plain').lines(message)
    lines[#lines + 1] = 'The server said: ' .. said[1]
    for place = 2, #said do
      lines[#lines + 1] = '  ' .. said[place]
    end
  end
  return lines
end

return M
