--- The options of `setup`, with their defaults.
local M = {}

---@class openbuffer.MarksConfig
---@field enabled boolean mark the lines that the agent's last call changed
---@field sign string shown in the sign column; "" for none
---@field jump boolean put the place of a change into the jump list

---@class openbuffer.DialogsConfig
---@field notify boolean say in the message area that there is a question
---@field select 'auto'|'ui'|'float' where questions with choices are answered: "ui" is |vim.ui.select()|, "float" the dialog
---   itself, "auto" vim.ui.select() where a picker has taken its place, else the dialog

---@class openbuffer.Config
---@field cmd? string[] the command that starts the server; nil: it is looked for, see |openbuffer-server|
---@field args string[] arguments of the server behind `serve`
---@field root? string|fun(buffer: integer): string? the workspace folder of a buffer; nil: the directory above it that has
---   `.git`, else the current directory if the file is below it
---@field workspace_trusted boolean|fun(root: string): boolean whether a workspace is trusted: where not, tools that have
---   effects are withheld, and `settings` can only make the user's configuration stricter
---@field settings table settings of the server, with the keys of its configuration, such as
---   `{ sandbox = { enabled = true } }`
---@field attach fun(buffer: integer): boolean whether the server is told of a buffer of a file
---@field progress boolean show the progress of calls in the message area
---@field marks openbuffer.MarksConfig
---@field dialogs openbuffer.DialogsConfig

---@return openbuffer.Config
local function defaults()
  return {
    cmd = nil,
    args = {},
    root = nil,
    workspace_trusted = true,
    settings = {},
    attach = function()
      return true
    end,
    progress = true,
    marks = { enabled = true, sign = '▎', jump = true },
    dialogs = { notify = true, select = 'auto' },
  }
end

---@type openbuffer.Config?
local current

---@param options table
local function validate(options)
  local known = vim.tbl_extend('force', defaults(), { cmd = {}, root = '' })
  for name in pairs(options) do
    if known[name] == nil then
      error(('openbuffer: there is no option %q; :help openbuffer-options has those that there are'):format(name), 0)
    end
  end
  vim.validate('cmd', options.cmd, 'table', true)
  vim.validate('args', options.args, 'table')
  vim.validate('root', options.root, { 'string', 'function' }, true)
  vim.validate('workspace_trusted', options.workspace_trusted, { 'boolean', 'function' })
  vim.validate('settings', options.settings, 'table')
  vim.validate('attach', options.attach, 'function')
  vim.validate('progress', options.progress, 'boolean')
  vim.validate('marks', options.marks, 'table')
  vim.validate('marks.enabled', options.marks.enabled, 'boolean')
  vim.validate('marks.sign', options.marks.sign, 'string')
  vim.validate('marks.jump', options.marks.jump, 'boolean')
  vim.validate('dialogs', options.dialogs, 'table')
  vim.validate('dialogs.notify', options.dialogs.notify, 'boolean')
  vim.validate('dialogs.select', options.dialogs.select, function(value)
    return value == 'auto' or value == 'ui' or value == 'float'
  end, "'auto', 'ui' or 'float'")
end

--- Take options over; what is not among them has its default.
---@param options? table
---@return openbuffer.Config
function M.set(options)
  local merged = vim.tbl_deep_extend('force', defaults(), options or {})
  validate(merged)
  current = merged
  return merged
end

---@return openbuffer.Config
function M.get()
  return current or defaults()
end

--- Whether `setup` was called.
---@return boolean
function M.is_set()
  return current ~= nil
end

return M
