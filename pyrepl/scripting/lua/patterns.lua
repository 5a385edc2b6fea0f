-- string.find, match, gmatch and gsub whose time is bounded. Called with the host, before any script runs.
--
-- The C library matches fast, but while it runs nothing can end it, and a pattern may take exponential time. So the
-- worst case of each call is estimated first: n^k steps for a text of n bytes and a pattern with k loops. What may take
-- too long is matched here, in Lua, where the hook that counts instructions can end it. The results are the same.

local host = ...
local find, match, gmatch, gsub = string.find, string.match, string.gmatch, string.gsub
local byte, sub, len = string.byte, string.sub, string.len
local type, error, tostring, select, unpack = type, error, tostring, select, unpack
local concat = table.concat

local LONGEST_PATTERN = 500 -- the C library recurses along the pattern, on the C stack
local LONGEST_BY_DEGREE = { [0] = 1e9, 1e8, 1e4, 464, 100, 39, 21, 13 }
local LONGEST_OF_ALL = 8
local PLAIN_PRODUCT = 1e8

local degrees, known = {}, 0

-- How many loops a pattern has, the one over the places where it may begin included; nil if it has nothing but plain
-- characters.
local function degree_of(pattern)
  local degree = degrees[pattern]
  if degree ~= nil then return degree end
  if not find(pattern, "[%^%$%*%+%?%.%(%[%%%-]") then
    degree = false
  else
    local _, loops = gsub(pattern, "[%*%+%-]", "")
    local _, options = gsub(pattern, "%?", "")
    local _, others = gsub(pattern, "%%[b1-9]", "")
    degree = loops + others + options / 4
    degree = degree - degree % 1 + (byte(pattern) == 94 and 0 or 1)
  end
  if known >= 1000 then degrees, known = {}, 0 end
  degrees[pattern], known = degree, known + 1
  return degree
end

local function is_cheap(text, pattern)
  local degree = degree_of(pattern)
  if degree == false then return len(text) * len(pattern) <= PLAIN_PRODUCT or len(pattern) < 16 end
  return len(pattern) <= LONGEST_PATTERN and len(text) <= (LONGEST_BY_DEGREE[degree] or LONGEST_OF_ALL)
end

local classes = {
  [97] = "%a", [99] = "%c", [100] = "%d", [108] = "%l", [112] = "%p", [115] = "%s", [117] = "%u", [119] = "%w",
  [120] = "%x", [122] = "%z", [65] = "%A", [67] = "%C", [68] = "%D", [76] = "%L", [80] = "%P", [83] = "%S",
  [85] = "%U", [87] = "%W", [88] = "%X", [90] = "%Z",
}
local members = {}
for letter, class in pairs(classes) do
  local set = {}
  for c = 0, 255 do set[c] = find(string.char(c), class) ~= nil end
  members[letter] = set
end

local function in_class(c, letter)
  local set = members[letter]
  if set then return set[c] end
  return c == letter
end

-- The index behind the single item of a pattern that begins at `p`.
local function item_end(pattern, p)
  local c = byte(pattern, p)
  p = p + 1
  if c == 37 then
    if p > len(pattern) then error("malformed pattern (ends with '%')", 0) end
    return p + 1
  elseif c == 91 then
    if byte(pattern, p) == 94 then p = p + 1 end
    repeat
      local d = byte(pattern, p)
      if not d then error("malformed pattern (missing ']')", 0) end
      p = p + 1
      if d == 37 and p <= len(pattern) then p = p + 1 end
    until byte(pattern, p) == 93
    return p + 1
  end
  return p
end

local function in_set(c, pattern, p, last)
  local found = true
  if byte(pattern, p + 1) == 94 then
    found = false
    p = p + 1
  end
  p = p + 1
  while p < last do
    local d = byte(pattern, p)
    if d == 37 then
      p = p + 1
      if in_class(c, byte(pattern, p)) then return found end
    elseif byte(pattern, p + 1) == 45 and p + 2 < last then
      if d <= c and c <= byte(pattern, p + 2) then return found end
      p = p + 2
    elseif d == c then
      return found
    end
    p = p + 1
  end
  return not found
end

local function is_single(c, pattern, p, ep)
  local d = byte(pattern, p)
  if d == 46 then return true end
  if d == 37 then return in_class(c, byte(pattern, p + 1)) end
  if d == 91 then return in_set(c, pattern, p, ep - 1) end
  return d == c
end

local CAPTURE_OPEN, CAPTURE_PLACE = -1, -2
local go

local function expand(m, s, p, ep, least)
  local text, pattern = m.text, m.pattern
  local i = 0
  while s + i <= m.size and is_single(byte(text, s + i), pattern, p, ep) do i = i + 1 end
  while i >= least do
    local e = go(m, s + i, ep + 1)
    if e then return e end
    i = i - 1
  end
  return nil
end

local function capture_at(m, letter)
  local l = letter - 48
  if l < 1 or l > m.level or m[l].size == CAPTURE_OPEN then error("invalid capture index", 0) end
  return l
end

local function start_capture(m, s, p, size)
  if m.level >= 32 then error("too many captures", 0) end
  m.level = m.level + 1
  m[m.level] = { at = s, size = size }
  local e = go(m, s, p)
  if not e then m.level = m.level - 1 end
  return e
end

local function end_capture(m, s, p)
  local l
  for i = m.level, 1, -1 do
    if m[i].size == CAPTURE_OPEN then
      l = i
      break
    end
  end
  if not l then error("invalid pattern capture", 0) end
  m[l].size = s - m[l].at
  local e = go(m, s, p)
  if not e then m[l].size = CAPTURE_OPEN end
  return e
end

local function balanced(m, s, p)
  local open, close = byte(m.pattern, p, p + 1)
  if not close then error("unbalanced pattern", 0) end
  if byte(m.text, s) ~= open then return nil end
  local depth = 1
  for i = s + 1, m.size do
    local c = byte(m.text, i)
    if c == close then
      depth = depth - 1
      if depth == 0 then return i + 1 end
    elseif c == open then
      depth = depth + 1
    end
  end
  return nil
end

-- The index behind the match that begins at `s`, of the pattern from `p` on; nil if there is none.
function go(m, s, p)
  local text, pattern = m.text, m.pattern
  local size, plen = m.size, len(pattern)
  while p <= plen do
    local c = byte(pattern, p)
    if c == 40 then
      if byte(pattern, p + 1) == 41 then return start_capture(m, s, p + 2, CAPTURE_PLACE) end
      return start_capture(m, s, p + 1, CAPTURE_OPEN)
    elseif c == 41 then
      return end_capture(m, s, p + 1)
    elseif c == 36 and p == plen then
      return s == size + 1 and s or nil
    end
    local d = c == 37 and byte(pattern, p + 1)
    if d == 98 then
      s = balanced(m, s, p + 2)
      if not s then return nil end
      p = p + 4
    elseif d == 102 then
      p = p + 2
      if byte(pattern, p) ~= 91 then error("missing '[' after '%f' in pattern", 0) end
      local ep = item_end(pattern, p)
      local before = s == 1 and 0 or byte(text, s - 1)
      if in_set(before, pattern, p, ep - 1) or not in_set(byte(text, s) or 0, pattern, p, ep - 1) then return nil end
      p = ep
    elseif d and d >= 48 and d <= 57 then
      local l = capture_at(m, d)
      local old = sub(text, m[l].at, m[l].at + m[l].size - 1)
      if sub(text, s, s + len(old) - 1) ~= old then return nil end
      s = s + len(old)
      p = p + 2
    else
      local ep = item_end(pattern, p)
      local fits = s <= size and is_single(byte(text, s), pattern, p, ep)
      local how = byte(pattern, ep)
      if how == 63 then
        if fits then
          local e = go(m, s + 1, ep + 1)
          if e then return e end
        end
        p = ep + 1
      elseif how == 42 then
        return expand(m, s, p, ep, 0)
      elseif how == 43 then
        return expand(m, s, p, ep, 1)
      elseif how == 45 then
        while true do
          local e = go(m, s, ep + 1)
          if e then return e end
          if s <= size and is_single(byte(text, s), pattern, p, ep) then
            s = s + 1
          else
            return nil
          end
        end
      else
        if not fits then return nil end
        s = s + 1
        p = ep
      end
    end
  end
  return s
end

local function captured(m, l, s, e)
  if l > m.level then
    if l ~= 1 then error("invalid capture index", 0) end
    return sub(m.text, s, e - 1)
  end
  local one = m[l]
  if one.size == CAPTURE_OPEN then error("unfinished capture", 0) end
  if one.size == CAPTURE_PLACE then return one.at end
  return sub(m.text, one.at, one.at + one.size - 1)
end

local function captures(m, s, e, whole)
  local count = (m.level == 0 and whole) and 1 or m.level
  local found = {}
  for l = 1, count do found[l] = captured(m, l, s, e) end
  return unpack(found, 1, count)
end

local function start_of(text, init)
  init = init or 1
  if init < 0 then init = len(text) + init + 1 end
  return init < 1 and 1 or init
end

local function seek(text, pattern, init, finding)
  local s = start_of(text, init)
  local anchored = byte(pattern) == 94
  local m = { text = text, pattern = pattern, size = len(text), level = 0 }
  repeat
    m.level = 0
    local e = go(m, s, anchored and 2 or 1)
    if e then
      if finding then return s, e - 1, captures(m, s, e, false) end
      return captures(m, s, e, true)
    end
    s = s + 1
  until s > m.size + 1 or anchored
  return nil
end

local function texts(text, pattern)
  return (type(text) == "string" or type(text) == "number") and (type(pattern) == "string" or type(pattern) == "number")
end

local function slow_gmatch(text, pattern)
  local at = 1
  return function()
    local m = { text = text, pattern = pattern, size = len(text), level = 0 }
    for s = at, m.size + 1 do
      m.level = 0
      local e = go(m, s, 1)
      if e then
        at = e == s and e + 1 or e
        return captures(m, s, e, true)
      end
    end
    at = m.size + 2
    return nil
  end
end

local function replaced(m, s, e, how)
  local kind, value = type(how), nil
  if kind == "function" then
    value = how(captures(m, s, e, true))
  elseif kind == "table" then
    value = how[captured(m, 1, s, e)]
  else
    return (gsub(tostring(how), "%%(.)", function(c)
      if c == "0" then return sub(m.text, s, e - 1) end
      local l = byte(c) - 48
      if l < 1 or l > 9 then return c end
      return tostring(captured(m, l, s, e))
    end))
  end
  if not value then return sub(m.text, s, e - 1) end
  if type(value) ~= "string" and type(value) ~= "number" then
    error("invalid replacement value (a " .. type(value) .. ")", 0)
  end
  return tostring(value)
end

local function slow_gsub(text, pattern, how, most)
  local anchored = byte(pattern) == 94
  local m = { text = text, pattern = pattern, size = len(text), level = 0 }
  local out, count, s = {}, 0, 1
  most = most or m.size + 1
  while count < most do
    m.level = 0
    local e = go(m, s, anchored and 2 or 1)
    if e then
      count = count + 1
      out[#out + 1] = replaced(m, s, e, how)
    end
    if e and e > s then
      s = e
    elseif s <= m.size then
      out[#out + 1] = sub(text, s, s)
      s = s + 1
    else
      break
    end
    if anchored then break end
  end
  out[#out + 1] = sub(text, s)
  return concat(out), count
end

function string.find(text, pattern, init, plain)
  if not texts(text, pattern) then return find(text, pattern, init, plain) end
  text, pattern = tostring(text), tostring(pattern)
  if is_cheap(text, pattern) then return find(text, pattern, init, plain) end
  if plain or degree_of(pattern) == false then
    local at = host.find(text, pattern, start_of(text, init))
    if at then return at, at + len(pattern) - 1 end
    return nil
  end
  return seek(text, pattern, init, true)
end

function string.match(text, pattern, init)
  if not texts(text, pattern) or is_cheap(tostring(text), tostring(pattern)) then return match(text, pattern, init) end
  return seek(tostring(text), tostring(pattern), init, false)
end

function string.gmatch(text, pattern)
  if not texts(text, pattern) or is_cheap(tostring(text), tostring(pattern)) then return gmatch(text, pattern) end
  return slow_gmatch(tostring(text), tostring(pattern))
end

function string.gsub(text, pattern, how, most)
  if not texts(text, pattern) or is_cheap(tostring(text), tostring(pattern)) then
    if most == nil then return gsub(text, pattern, how) end
    return gsub(text, pattern, how, most)
  end
  local kind = type(how)
  if kind ~= "string" and kind ~= "number" and kind ~= "function" and kind ~= "table" then
    return gsub("", "", how)
  end
  return slow_gsub(tostring(text), tostring(pattern), how, most)
end

string.gfind = string.gmatch
