--- `openbuffer/requestPermission`: whether a call may do what it is about to do.
local plain = require('openbuffer.plain')
local waiting = require('openbuffer.waiting')
local window = require('openbuffer.window')

local M = {}

---@param value any
---@return any nil for what is not there
local function given(value)
  if value == vim.NIL then
    return nil
  end
  return value
end

---@class openbuffer.Page
---@field lines string[]
---@field groups table<integer, string>
local Page = {}
Page.__index = Page

---@param text string
---@param group? string
function Page:add(text, group)
  self.lines[#self.lines + 1] = text
  self.groups[#self.lines] = group
end

---@param label string
---@param text? string
function Page:fact(label, text)
  if text and text ~= '' then
    local lines = plain.lines(text)
    self:add(('%s: %s'):format(label, lines[1]))
    for place = 2, #lines do
      self:add('  ' .. lines[place])
    end
  end
end

---@return openbuffer.Page
local function page()
  return setmetatable({ lines = {}, groups = {} }, Page)
end

--- A text of whole lines without the empty one behind its last line end.
---@param text string
---@return string[]
local function lines_of(text)
  if text == '' then
    return {}
  end
  local lines = plain.lines(text)
  if lines[#lines] == '' then
    table.remove(lines)
  end
  return lines
end

---@param into openbuffer.Page
---@param change openbuffer.PermissionChange
local function add_diff(into, change)
  into:add('')
  for _, hunk in ipairs(change.hunks) do
    into:add(('@@ line %d @@'):format(hunk.startLine), 'OpenbufferHunk')
    for _, line in ipairs(lines_of(hunk.before)) do
      into:add('-' .. line, 'DiffDelete')
    end
    for _, line in ipairs(lines_of(hunk.after)) do
      into:add('+' .. line, 'DiffAdd')
    end
  end
  if change.isWhole ~= true then
    into:add(('(not all of it: %d of %d hunks are here)'):format(#change.hunks, change.hunkCount), 'WarningMsg')
  end
end

---@param change table openbuffer.PermissionChange
---@return string
local function change_in_words(change)
  local before, after = given(change.beforeBytes), given(change.afterBytes)
  local what = before == nil and 'make' or after == nil and 'delete' or 'change'
  local kind = change.kind ~= 'file' and (change.kind .. ' ') or ''
  return ('%s %s%s (+%d -%d lines%s)'):format(
    what,
    kind,
    plain.line(change.path),
    change.addedLines or 0,
    change.removedLines or 0,
    change.isCounted == false and ', and more' or ''
  )
end

---@param into openbuffer.Page
---@param target openbuffer.PermissionTarget
local function add_target(into, target)
  local where = target.inSandbox and ' (in the sandbox)' or ''
  if target.kind == 'command' then
    into:fact('Command', target.command)
    into:fact('In', target.cwd and target.cwd .. where)
  elseif target.kind == 'url' then
    into:fact(target.method or 'URL', target.url)
  else
    into:fact(target.access == 'FILE_READ' and 'Reads' or 'Writes', plain.line(target.path or '?') .. where)
  end
end

--- What is shown of a request.
---@param params table openbuffer.RequestPermissionParams
---@return openbuffer.Page
local function shown(params)
  local into = page()
  local change = given(params.change)
  local targets = given(params.targets) or {}
  if change then
    into:add(('%s wants to %s'):format(plain.line(params.tool), change_in_words(change)), 'Title')
  elseif #targets == 0 then
    for _, line in ipairs(plain.lines(params.message)) do
      into:add(line)
    end
  else
    into:add(('%s wants to act'):format(plain.line(params.tool)), 'Title')
  end
  for _, target in ipairs(targets) do
    if not (change and target.kind == 'file' and target.path == change.path) then
      add_target(into, target)
    end
  end
  into:fact('Arguments', given(params.arguments))
  into:fact('Containment', given(params.containment))
  into:fact('Why you are asked', given(params.reason))
  local rules = given(params.rules) or {}
  if #rules > 0 then
    into:add('Allowed from then on by session and always:')
    for _, rule in ipairs(rules) do
      into:add('  ' .. plain.line(rule))
    end
  end
  if change then
    add_diff(into, change)
  end
  return into
end

--- Both sides of a change in a tab of their own.
---@param dialog openbuffer.Dialog
---@param change openbuffer.PermissionChange
local function show_side_by_side(dialog, change)
  local sides = { before = {}, after = {} }
  for _, hunk in ipairs(change.hunks) do
    for side, lines in pairs(sides) do
      lines[#lines + 1] = ('@@ line %d @@'):format(hunk.startLine)
      vim.list_extend(lines, lines_of(hunk[side]))
    end
  end
  local keys = table.concat(
    vim.tbl_map(function(key)
      return ('%s %s'):format(key.key, key.words)
    end, dialog.keys),
    ' · '
  )
  local bars = { before = 'before: ' .. vim.fs.basename(change.path), after = 'after · ' .. keys }
  window.move_to_tab(dialog, function()
    for place, side in ipairs({ 'before', 'after' }) do
      if place == 2 then
        vim.cmd('rightbelow vsplit')
      end
      local buffer = window.scratch(sides[side])
      vim.b[buffer].openbuffer_side = side
      vim.api.nvim_win_set_buf(0, buffer)
      window.set_keys(dialog, buffer)
      vim.wo.winbar = plain.line(bars[side]):gsub('%%', '%%%%') .. '%<'
      vim.cmd.diffthis()
    end
  end)
end

---@param params table openbuffer.RequestPermissionParams
---@param answer fun(answer: openbuffer.PermissionAnswer)
---@return openbuffer.DialogKey[]
local function keys_of(params, answer)
  local function gives(outcome)
    return function()
      answer({ outcome = outcome })
    end
  end
  local keys = { { key = 'y', words = 'allow once', act = gives('once') } }
  if #(given(params.rules) or {}) > 0 then
    keys[#keys + 1] = { key = 's', words = 'for this session', act = gives('session') }
    keys[#keys + 1] = { key = 'A', words = 'always', act = gives('always') }
  end
  vim.list_extend(keys, {
    { key = 'n', words = 'deny', act = gives('no') },
    {
      key = 'r',
      words = 'deny with a reason',
      act = function()
        vim.ui.input({ prompt = 'Why not? ' }, function(reason)
          if reason then
            answer({ outcome = 'no', reason = reason })
          end
        end)
      end,
    },
  })
  if given(params.change) and #params.change.hunks > 0 then
    keys[#keys + 1] = {
      key = 'd',
      words = 'side by side',
      act = function(dialog)
        if not dialog.tab then
          show_side_by_side(dialog, params.change)
        end
      end,
    }
  end
  keys[#keys + 1] = { key = 'q', words = 'close', act = gives('dismissed') }
  return keys
end

--- Ask in a way that works while a synchronous call keeps the editor from taking keys.
---@param params table openbuffer.RequestPermissionParams
---@return openbuffer.PermissionAnswer
local function confirmed(params)
  local has_rules = #(given(params.rules) or {}) > 0
  local outcomes = has_rules and { 'once', 'session', 'always', 'no' } or { 'once', 'no' }
  local names = { once = '&Yes, once', session = 'for this &session', always = '&always', no = '&No' }
  local choices = vim.tbl_map(function(outcome)
    return names[outcome]
  end, outcomes)
  local text = table.concat(shown(params).lines, '\n')
  local chosen = vim.fn.confirm(text, table.concat(choices, '\n'), #outcomes, 'Question')
  return { outcome = outcomes[chosen] or 'dismissed' }
end

--- Answer `openbuffer/requestPermission`. Waits for the user.
---@param _ vim.lsp.Client
---@param params table openbuffer.RequestPermissionParams
---@return openbuffer.PermissionAnswer
function M.request(_, params)
  if waiting.is_withdrawn(params.dialogId) then
    return { outcome = 'dismissed' }
  end
  if require('openbuffer.calls').is_waiting_synchronously() then
    return confirmed(params)
  end
  return waiting.await(function(done)
    local dialog ---@type openbuffer.Dialog
    local function answer(value)
      waiting.on_withdrawn(params.dialogId, nil)
      window.close(dialog)
      done(value)
    end
    local what = shown(params)
    dialog = {
      title = ('%s: allow?'):format(plain.short(params.tool, 40)),
      lines = what.lines,
      groups = what.groups,
      keys = keys_of(params, answer),
      dismissed = function()
        answer({ outcome = 'dismissed' })
      end,
    }
    waiting.on_withdrawn(params.dialogId, dialog.dismissed)
    window.open(dialog)
  end)
end

--- The answer where nothing could be shown: an error, which the server tells as that nobody could be asked.
---@param _ vim.lsp.Client
---@param __ table
---@param why string
function M.failed(_, __, why)
  error(why, 0)
end

return M
