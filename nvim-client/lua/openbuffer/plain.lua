--- Text of files, commands and agents as a person can trust to see it. Pure.
local M = {}

--- Ranges of code points that are not seen, or change how others are seen.
---@type integer[][]
local UNSEEN = {
  { 0x00, 0x08 },
  { 0x0A, 0x1F },
  { 0x7F, 0x9F },
  { 0xAD, 0xAD },
  { 0x61C, 0x61C },
  { 0x115F, 0x1160 },
  { 0x180B, 0x180E },
  { 0x200B, 0x200F },
  { 0x2028, 0x202E },
  { 0x2060, 0x206F },
  { 0x3164, 0x3164 },
  { 0xFE00, 0xFE0E },
  { 0xFEFF, 0xFEFF },
  { 0xFFA0, 0xFFA0 },
  { 0xFFF0, 0xFFFB },
  { 0xE0000, 0xE0FFF },
}

---@param code integer
local function is_unseen(code)
  return vim.iter(UNSEEN):any(function(range)
    return code >= range[1] and code <= range[2]
  end)
end

---@param character string
local function escaped(character)
  local is_right, code = pcall(vim.fn.char2nr, character)
  if not is_right or not is_unseen(code) then
    return character
  end
  return ('<U+%04X>'):format(code)
end

--- What is not plainly seen is written out, as in `<U+202E>`; bytes that are no character as `<FF>`.
---@param text string of one line
---@return string
function M.line(text)
  if not text:find('[^\32-\126\t]') then
    return text
  end
  local parts, at = {}, 1
  while at <= #text do
    local length = vim.str_utf_end(text, at) + 1
    local character = text:sub(at, at + length - 1)
    if length == 1 and character:byte() >= 0x80 then
      parts[#parts + 1] = ('<%02X>'):format(character:byte())
    else
      parts[#parts + 1] = character == '\t' and character or escaped(character)
    end
    at = at + length
  end
  return table.concat(parts)
end

--- The lines of a text, each for itself.
---@param text string
---@return string[]
function M.lines(text)
  return vim.tbl_map(M.line, vim.split(text, '\n', { plain = true }))
end

--- One line of at most so many cells.
---@param text string
---@param cells integer
---@return string
function M.short(text, cells)
  local line = M.line((text:gsub('%s*\n%s*', ' ⏎ ')))
  if vim.fn.strdisplaywidth(line) <= cells then
    return line
  end
  while line ~= '' and vim.fn.strdisplaywidth(line) >= cells do
    line = vim.fn.strcharpart(line, 0, vim.fn.strchars(line) - 1)
  end
  return line .. '…'
end

return M
