--- The highlight groups; links that a colour scheme or its user may replace.
local M = {}

local LINKS = {
  OpenbufferChanged = 'DiffChange',
  OpenbufferChangedSign = 'Added',
  OpenbufferHunk = 'Special',
  OpenbufferKeys = 'Comment',
}

function M.define()
  for name, link in pairs(LINKS) do
    vim.api.nvim_set_hl(0, name, { link = link, default = true })
  end
end

return M
