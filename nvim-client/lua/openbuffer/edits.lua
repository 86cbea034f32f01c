--- From the edits of a text, as LSP has them, to the smallest changes of a buffer's lines. Pure.
---
--- LSP counts lines by `\n`, `\r\n` and `\r`; a buffer has lines by its 'fileformat' alone, and no line for what follows
--- the last line end. So positions become offsets in the text, and these become places in the buffer.
local M = {}

---@class openbuffer.Change
---@field first integer offset in the text, from 0
---@field last integer offset behind it
---@field new string

---@class openbuffer.Place
---@field start_row integer from 0
---@field start_col integer in bytes
---@field end_row integer
---@field end_col integer
---@field lines string[] what comes there

---@class openbuffer.Plan
---@field text string the whole text afterwards
---@field places openbuffer.Place[] from the last to the first
---@field endofline boolean what 'endofline' has to be

--- Offsets at which LSP's lines begin, and the texts of the lines.
---@param text string
---@return integer[] starts from 0
---@return string[] lines without their ends
local function lsp_lines(text)
  local starts, lines, at = { 0 }, {}, 1
  while true do
    local found = text:find('[\r\n]', at)
    if not found then
      lines[#lines + 1] = text:sub(at)
      return starts, lines
    end
    lines[#lines + 1] = text:sub(at, found - 1)
    at = found + (text:sub(found, found + 1) == '\r\n' and 2 or 1)
    starts[#starts + 1] = at - 1
  end
end

--- New text with the line ends that the buffer has throughout; between its lines there are no others.
---@param text string
---@param line_end string
---@return string
local function with_line_end(text, line_end)
  if line_end == '\n' then
    return text
  end
  local plain = text:gsub('\r\n', '\n')
  if line_end == '\r' then
    return (plain:gsub('\n', '\r'))
  end
  return (plain:gsub('\n', '\r\n'))
end

---@param text string
---@param edits lsp.TextEdit[]
---@param options { line_end: string, encoding: 'utf-8'|'utf-16'|'utf-32' }
---@return openbuffer.Change[]?
---@return string? why not
local function changes_of(text, edits, options)
  local starts, lines = lsp_lines(text)
  local changes, reached = {}, 0 ---@type openbuffer.Change[], integer
  local function offset(position)
    local line = lines[position.line + 1]
    if not line then
      return #text -- LSP takes a line behind the last one for the end
    end
    return starts[position.line + 1] + vim.str_byteindex(line, options.encoding, position.character, false)
  end
  for _, edit in ipairs(edits) do
    local first, last = offset(edit.range.start), offset(edit.range['end'])
    if first < reached or last < first then
      return nil, 'the edits overlap or are not ascending'
    end
    reached = last
    changes[#changes + 1] = { first = first, last = last, new = with_line_end(edit.newText, options.line_end) }
  end
  return changes
end

---@param text string
---@param changes openbuffer.Change[]
---@return string
local function changed(text, changes)
  local parts, at = {}, 1
  for _, change in ipairs(changes) do
    parts[#parts + 1] = text:sub(at, change.first)
    parts[#parts + 1] = change.new
    at = change.last + 1
  end
  parts[#parts + 1] = text:sub(at)
  return table.concat(parts)
end

--- The text without its last line end, which no buffer has as a line, and whether there was one.
---@param text string
---@param line_end string
---@return string
---@return boolean
local function body_of(text, line_end)
  if text:sub(-#line_end) == line_end then
    return text:sub(1, -#line_end - 1), true
  end
  return text, false
end

---@param byte integer?
local function continues(byte)
  return byte and byte >= 0x80 and byte < 0xC0
end

--- A change without what stays the same at its ends, never cut within a character or a line end.
---@param body string
---@param change openbuffer.Change
---@return openbuffer.Change?
local function trimmed(body, change)
  local old, new = body:sub(change.first + 1, change.last), change.new
  if old == new then
    return nil
  end
  local most = math.min(#old, #new)
  local head = 0
  while head < most and old:byte(head + 1) == new:byte(head + 1) do
    head = head + 1
  end
  while head > 0 and (continues(old:byte(head + 1)) or continues(new:byte(head + 1)) or old:byte(head) == 13) do
    head = head - 1 -- what follows a carriage return may be the rest of a line end
  end
  local tail = 0
  while tail < most - head and old:byte(#old - tail) == new:byte(#new - tail) do
    tail = tail + 1
  end
  local function cuts_line_end()
    return old:byte(#old - tail + 1) == 10 and (old:byte(#old - tail) == 13 or new:byte(#new - tail) == 13)
  end
  while tail > 0 and (continues(old:byte(#old - tail + 1)) or cuts_line_end()) do
    tail = tail - 1
  end
  return { first = change.first + head, last = change.last - tail, new = new:sub(head + 1, #new - tail) }
end

--- The changes of the text as changes of its body; what is said about the last line end becomes part of the last one.
---@param body string
---@param changes openbuffer.Change[]
---@param wanted string the body afterwards
---@return openbuffer.Change[]
local function within_body(body, changes, wanted)
  local inner, grown, reached = {}, 0, 0 ---@type openbuffer.Change[], integer, integer
  for place, change in ipairs(changes) do
    if place == #changes then
      break
    end
    if change.last > #body then
      return { { first = 0, last = #body, new = wanted } }
    end
    inner[#inner + 1] = change
    grown, reached = grown + #change.new - (change.last - change.first), change.last
  end
  local last = changes[#changes]
  local untouched = last.last <= #body and changed(body, changes) == wanted
  if untouched then
    inner[#inner + 1] = last
    return inner
  end
  local first = math.min(last.first, #body, #wanted - grown)
  if first < reached then
    return { { first = 0, last = #body, new = wanted } }
  end
  inner[#inner + 1] = { first = first, last = #body, new = wanted:sub(first + grown + 1) }
  return inner
end

---@param lines string[]
---@param line_end string
---@return fun(offset: integer): integer?, integer?
local function places_in(lines, line_end)
  local starts, at = {}, 0
  for row, line in ipairs(lines) do
    starts[row] = at
    at = at + #line + #line_end
  end
  return function(offset)
    local low, high = 1, #lines
    while low < high do
      local middle = math.ceil((low + high) / 2)
      if starts[middle] <= offset then
        low = middle
      else
        high = middle - 1
      end
    end
    local column = offset - starts[low]
    if column > #lines[low] then
      return nil -- between the two characters of a line end
    end
    return low - 1, column
  end
end

--- What has to be done to a buffer.
---@param lines string[] of the buffer
---@param options { line_end: string, endofline: boolean, fixes_end: boolean, encoding: 'utf-8'|'utf-16'|'utf-32' }
---   `fixes_end`: the buffer gets a final line end when it is written, whatever it holds
---@param edits lsp.TextEdit[] ascending, without overlap
---@return openbuffer.Plan?
---@return string? why not
function M.plan(lines, options, edits)
  local line_end = options.line_end
  local body = table.concat(lines, line_end)
  local text = body .. (options.endofline and line_end or '')
  local changes, why = changes_of(text, edits, options)
  if not changes then
    return nil, why
  end
  local wanted_text = changed(text, changes)
  local wanted, ends = wanted_text, options.endofline
  if options.endofline or options.fixes_end then
    wanted, ends = body_of(wanted_text, line_end)
    -- An undo leaves 'endofline' as it is, so that it changes only where the file would be another.
    ends = ends or (options.endofline and options.fixes_end)
  end
  local places = {} ---@type openbuffer.Place[]
  local place_of = places_in(lines, line_end)
  local inner = #changes > 0 and within_body(body, changes, wanted) or {}
  for index = #inner, 1, -1 do
    local change = trimmed(body, inner[index])
    if change then
      local start_row, start_col = place_of(change.first)
      local end_row, end_col = place_of(change.last)
      if not (start_row and start_col and end_row and end_col) then
        return nil, 'an edit begins or ends within a line end'
      end
      places[#places + 1] = {
        start_row = start_row,
        start_col = start_col,
        end_row = end_row,
        end_col = end_col,
        lines = vim.split(change.new, line_end, { plain = true }),
      }
    end
  end
  return { text = wanted_text, places = places, endofline = ends }
end

return M
