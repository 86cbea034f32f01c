--- The progress of calls in the message area. `LspProgress` and `vim.lsp.status()` have it without this.
local config = require('openbuffer.config')
local messages = require('openbuffer.messages')

local M = {}

---@param value table
---@return string
local function in_words(value)
  local parts = { 'openbuffer: ' .. (value.title or '') }
  if value.percentage then
    parts[#parts + 1] = ('%d%%'):format(value.percentage)
  end
  if value.message and value.message ~= '' then
    parts[#parts + 1] = value.message
  end
  return table.concat(parts, ' · ')
end

function M.watch()
  vim.api.nvim_create_autocmd('LspProgress', {
    group = vim.api.nvim_create_augroup('openbuffer.progress', { clear = true }),
    callback = function(event)
      local client = vim.lsp.get_client_by_id(event.data.client_id)
      local value = event.data.params.value
      if not client or client.name ~= 'openbuffer' or type(value) ~= 'table' or not config.get().progress then
        return
      end
      if value.kind == 'end' then
        messages.say(in_words({ title = value.title, message = value.message or 'done' }))
      else
        messages.say(in_words(value))
      end
    end,
  })
end

return M
