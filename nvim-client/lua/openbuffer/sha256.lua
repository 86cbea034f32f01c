--- SHA-256 of any bytes, also of those that `vim.fn.sha256` does not take: with NUL among them, as files in UTF-16 have.
local band, bnot, bxor = bit.band, bit.bnot, bit.bxor
local ror, rshift, tobit = bit.ror, bit.rshift, bit.tobit

--- The first 32 bits behind the point of roots of the first primes: exact in a double, which has 53.
---@param count integer
---@param power number
---@return integer[]
local function fractions_of_roots(count, power)
  local found, candidate = {}, 2
  while #found < count do
    local is_prime = true
    for divisor = 2, math.floor(math.sqrt(candidate)) do
      is_prime = is_prime and candidate % divisor ~= 0
    end
    if is_prime then
      found[#found + 1] = tobit(math.floor((candidate ^ power % 1) * 2 ^ 32))
    end
    candidate = candidate + 1
  end
  return found
end

local ROUND = fractions_of_roots(64, 1 / 3)
local START = fractions_of_roots(8, 1 / 2)

---@param data string
---@return string
local function padded(data)
  local bits = #data * 8
  local length = {}
  for place = 8, 1, -1 do
    length[place] = string.char(bits % 256)
    bits = math.floor(bits / 256)
  end
  return data .. '\128' .. ('\0'):rep((55 - #data) % 64) .. table.concat(length)
end

---@param data string
---@return string hash in lower-case hex
return function(data)
  -- The function of the editor takes no NUL; as a blob it would hash something else.
  if not data:find('\0', 1, true) then
    return vim.fn.sha256(data)
  end
  local text, state, words = padded(data), { unpack(START) }, {}
  for block = 1, #text, 64 do
    for place = 1, 16 do
      local one, two, three, four = text:byte(block + place * 4 - 4, block + place * 4 - 1)
      words[place] = tobit(one * 2 ^ 24 + two * 2 ^ 16 + three * 2 ^ 8 + four)
    end
    for place = 17, 64 do
      local far, near = words[place - 15], words[place - 2]
      local small = bxor(ror(far, 7), ror(far, 18), rshift(far, 3))
      local large = bxor(ror(near, 17), ror(near, 19), rshift(near, 10))
      words[place] = tobit(words[place - 16] + small + words[place - 7] + large)
    end
    local a, b, c, d, e, f, g, h = unpack(state)
    for place = 1, 64 do
      local choice = bxor(band(e, f), band(bnot(e), g))
      local one = tobit(h + bxor(ror(e, 6), ror(e, 11), ror(e, 25)) + choice + ROUND[place] + words[place])
      local majority = bxor(band(a, b), band(a, c), band(b, c))
      local two = tobit(bxor(ror(a, 2), ror(a, 13), ror(a, 22)) + majority)
      h, g, f, e, d, c, b, a = g, f, e, tobit(d + one), c, b, a, tobit(one + two)
    end
    for place, value in ipairs({ a, b, c, d, e, f, g, h }) do
      state[place] = tobit(state[place] + value)
    end
  end
  return (('%s'):rep(8):format(unpack(vim.tbl_map(bit.tohex, state))))
end
