--- Makes `doc/openbuffer.txt` of `help.template.txt` and the annotations in `lua/`.
---
--- `nvim --clean -l nvim-client/scripts/vimdoc.lua` writes it; with `--print` it goes to stdout.
local here = vim.fs.dirname(vim.fs.abspath(debug.getinfo(1, 'S').source:sub(2)))
local plugin = vim.fs.dirname(here)
vim.opt.runtimepath:append(plugin)

local WIDTH = 78

---@param path string
---@return string
local function read(path)
  local file = assert(io.open(vim.fs.joinpath(plugin, path)))
  local text = file:read('*a')
  file:close()
  return text
end

--- Words in lines of at most the width, each behind an indent.
---@param text string
---@param indent integer
---@return string[]
local function wrapped(text, indent)
  local lines, line = {}, (' '):rep(indent)
  local is_empty = true
  for word in text:gmatch('%S+') do
    if not is_empty and #line + 1 + #word > WIDTH then
      lines[#lines + 1], line, is_empty = line, (' '):rep(indent), true
    end
    line = is_empty and (line .. word) or (line .. ' ' .. word)
    is_empty = false
  end
  lines[#lines + 1] = line
  return lines
end

---@class openbuffer.DocField
---@field name string
---@field kind string
---@field words string

--- The fields of a class as they are annotated.
---@param source string
---@param class string
---@return openbuffer.DocField[]
local function fields_of(source, class)
  local fields, is_inside = {}, false ---@type openbuffer.DocField[], boolean
  for line in vim.gsplit(source, '\n', { plain = true }) do
    if line:match('^%-%-%-@class ' .. vim.pesc(class) .. '$') then
      is_inside = true
    elseif is_inside and line:match('^%-%-%-@field') then
      local name, rest = line:match('^%-%-%-@field (%S+) (.*)$')
      fields[#fields + 1] = { name = name, kind = '', words = rest }
    elseif is_inside and line:match('^%-%-%-   ') then
      fields[#fields].words = fields[#fields].words .. ' ' .. vim.trim(line:sub(4))
    elseif is_inside then
      break
    end
  end
  for _, field in ipairs(fields) do
    -- A type has blanks behind a colon or a comma only.
    local kind, rest = field.words:match('^(%S+)(.*)$')
    while kind:match('[:,]$') do
      local more = rest:match('^ (%S+)')
      kind, rest = kind .. ' ' .. more, rest:sub(#more + 2)
    end
    field.kind, field.words = kind, vim.trim(rest)
  end
  return fields
end

---@param value any
---@return string
local function default_of(value)
  if type(value) == 'function' then
    return 'a function'
  end
  return (vim.inspect(value, { newline = ' ', indent = '' }))
end

---@return string
local function options()
  local source = read('lua/openbuffer/config.lua')
  local values = require('openbuffer.config').get()
  local out = {}
  local function add(class, prefix, defaults)
    for _, field in ipairs(fields_of(source, class)) do
      local name = field.name:gsub('%?$', '')
      local nested = field.kind:match('^openbuffer%.%w+Config$')
      if nested then
        add(nested, prefix .. name .. '.', defaults[name])
      else
        local tag = ('*openbuffer.%s%s*'):format(prefix, name)
        local head = prefix .. name
        out[#out + 1] = head .. (' '):rep(math.max(1, WIDTH - #head - #tag)) .. tag
        local kind = ('(%s, default %s)'):format(field.kind:gsub('|', ' or '), default_of(defaults[name]))
        vim.list_extend(out, wrapped(kind, 4))
        vim.list_extend(out, wrapped(field.words, 4))
        out[#out + 1] = ''
      end
    end
  end
  add('openbuffer.Config', '', values)
  return table.concat(out, '\n')
end

---@return string
local function functions()
  local out, words, notes = {}, {}, {}
  for line in vim.gsplit(read('lua/openbuffer/init.lua'), '\n', { plain = true }) do
    local name, arguments = line:match('^function M%.([%w_]+)%((.-)%)')
    if name then
      local head = ('openbuffer.%s(%s)'):format(name, arguments)
      local tag = ('*openbuffer.%s()*'):format(name)
      out[#out + 1] = head .. (' '):rep(math.max(1, WIDTH - #head - #tag)) .. tag
      vim.list_extend(out, wrapped(table.concat(words, ' '), 4))
      for _, note in ipairs(notes) do
        vim.list_extend(out, wrapped(note, 8))
      end
      out[#out + 1] = ''
      words, notes = {}, {}
    elseif line:match('^%-%-%-@param') or line:match('^%-%-%-@return') then
      notes[#notes + 1] = line:gsub('^%-%-%-@param ', ''):gsub('^%-%-%-@return ', 'returns: ')
    elseif line:match('^%-%-%- ') then
      words[#words + 1] = line:sub(5)
    else
      words, notes = {}, {}
    end
  end
  return table.concat(out, '\n')
end

---@return string
local function codecompanion()
  local lines = vim.split(vim.trim(read('scripts/codecompanion.lua')), '\n', { plain = true })
  return table.concat(
    vim.tbl_map(function(line)
      return line == '' and '' or ('    ' .. line)
    end, lines),
    '\n'
  )
end

local made = { options = options(), functions = functions(), codecompanion = codecompanion() }
local text = read('scripts/help.template.txt'):gsub('{{(%w+)}}', made)

if vim.list_contains(arg, '--print') then
  io.stdout:write(text)
else
  local file = assert(io.open(vim.fs.joinpath(plugin, 'doc', 'openbuffer.txt'), 'w'))
  file:write(text)
  file:close()
  vim.cmd.helptags(vim.fn.fnameescape(vim.fs.joinpath(plugin, 'doc')))
end
