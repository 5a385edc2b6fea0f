-- The library cmsgpack, as Redis has it: packing here, where the tables are; unpacking by Python, whose result comes back
-- as tokens (`host.build`).

local host = ...
local type, pairs, error, select, unpack = type, pairs, error, select, unpack
local char, concat, floor, len = string.char, table.concat, math.floor, string.len
local unpack_from, build, pack_float = host.msgpack_unpack, host.build, host.pack_float

local DEEPEST = 16

local function big_endian(value, size)
  local bytes = {}
  for i = size, 1, -1 do
    bytes[i] = value % 256
    value = floor(value / 256)
  end
  return char(unpack(bytes))
end

local function pack_integer(value)
  if value >= 0 then
    if value <= 127 then return char(value) end
    if value <= 0xff then return "\204" .. char(value) end
    if value <= 0xffff then return "\205" .. big_endian(value, 2) end
    if value <= 0xffffffff then return "\206" .. big_endian(value, 4) end
    return "\207" .. big_endian(value, 8)
  end
  if value >= -32 then return char(256 + value) end
  if value >= -128 then return "\208" .. char(256 + value) end
  if value >= -32768 then return "\209" .. big_endian(65536 + value, 2) end
  if value >= -2147483648 then return "\210" .. big_endian(4294967296 + value, 4) end
  -- In halves, as a double has not the digits of 2^64.
  local low = value % 4294967296
  return "\211" .. big_endian(4294967296 + floor(value / 4294967296), 4) .. big_endian(low, 4)
end

local function head(size, fixed, fixed_most, short, long)
  if size <= fixed_most then return char(fixed + size) end
  if size <= 0xffff then return char(short) .. big_endian(size, 2) end
  return char(long) .. big_endian(size, 4)
end

local pack_value
local function pack_table(value, out, depth)
  local count, most = 0, 0
  local is_array = true
  for key in pairs(value) do
    if type(key) ~= "number" or key <= 0 or floor(key) ~= key then
      is_array = false
    elseif key > most then
      most = key
    end
    count = count + 1
  end
  if is_array and most == count then
    out[#out + 1] = head(count, 144, 15, 220, 221)
    for i = 1, count do pack_value(value[i], out, depth) end
  else
    out[#out + 1] = head(count, 128, 15, 222, 223)
    for key, item in pairs(value) do
      pack_value(key, out, depth)
      pack_value(item, out, depth)
    end
  end
end

function pack_value(value, out, depth)
  local kind = type(value)
  if kind == "string" then
    local size = len(value)
    if size >= 32 and size <= 0xff then
      out[#out + 1] = "\217" .. char(size)
    else
      out[#out + 1] = head(size, 160, 31, 218, 219)
    end
    out[#out + 1] = value
  elseif kind == "boolean" then
    out[#out + 1] = value and "\195" or "\194"
  elseif kind == "number" then
    if floor(value) == value and value > -9223372036854775808 and value < 9223372036854775808 then
      out[#out + 1] = pack_integer(value)
    else
      out[#out + 1] = pack_float(value)
    end
  elseif kind == "table" and depth < DEEPEST then
    pack_table(value, out, depth + 1)
  else
    out[#out + 1] = "\192"
  end
end

local function unpack_some(text, most, offset, name)
  if type(text) ~= "string" then
    error("bad argument #1 to '" .. name .. "' (string expected, got " .. type(text) .. ")", 3)
  end
  local kinds, failed = unpack_from(text, most, offset)
  if failed then error(failed, 3) end
  return build(kinds)
end

return {
  pack = function(...)
    local count = select("#", ...)
    if count == 0 then error("bad argument #0 to 'pack' (MessagePack pack needs input.)", 2) end
    local out = {}
    for i = 1, count do pack_value((select(i, ...)), out, 0) end
    return concat(out)
  end,
  unpack = function(text)
    local found = unpack_some(text, 0, 0, "unpack")
    return unpack(found, 2, found[1] + 1)
  end,
  unpack_one = function(text, offset)
    local found = unpack_some(text, 1, offset or 0, "unpack_one")
    return found[found[1] + 2], unpack(found, 2, found[1] + 1)
  end,
  unpack_limit = function(text, most, offset)
    local found = unpack_some(text, most, offset or 0, "unpack_limit")
    return found[found[1] + 2], unpack(found, 2, found[1] + 1)
  end,
  _NAME = "cmsgpack",
  _VERSION = "lua-cmsgpack 0.4.0",
  _COPYRIGHT = "Copyright (C) 2012, Redis Ltd.",
  _DESCRIPTION = "MessagePack C implementation for Lua",
}
