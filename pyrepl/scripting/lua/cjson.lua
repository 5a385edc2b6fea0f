-- The library cjson, as Redis has it: encoding here, where the tables are; decoding by Python's json, whose result comes
-- back as tokens (`host.build`).

local host, null = ...
local type, pairs, error, tostring, tonumber, select = type, pairs, error, tostring, tonumber, select
local huge, pcall, sub = math.huge, pcall, string.sub
local format, gsub, byte, concat, floor = string.format, string.gsub, string.byte, table.concat, math.floor
local decode, build = host.json_decode, host.build

local escapes = { ['"'] = '\\"', ["\\"] = "\\\\", ["/"] = "\\/", ["\b"] = "\\b", ["\f"] = "\\f", ["\n"] = "\\n",
  ["\r"] = "\\r", ["\t"] = "\\t", ["\127"] = "\\u007f" }
for c = 0, 31 do
  local char = string.char(c)
  escapes[char] = escapes[char] or format("\\u%04x", c)
end

local function new()
  local options = { sparse_convert = false, sparse_ratio = 2, sparse_safe = 10, depth = 1000, decode_depth = 1000,
    precision = 14, invalid = false, decode_invalid = true }
  local number_format = "%.14g"

  local function text(value) return '"' .. gsub(value, '[%c"\\/\127]', escapes) .. '"' end

  local function number(value)
    if value ~= value or value == huge or value == -huge then
      if options.invalid == "null" then return "null" end
      if not options.invalid then error("Cannot serialise number: must not be NaN or Inf", 0) end
    end
    return format(number_format, value)
  end

  -- How many items an array has, or nil for a table that is an object.
  local function array_size(table)
    local most, count = 0, 0
    for key in pairs(table) do
      if type(key) ~= "number" or key <= 0 or floor(key) ~= key then return nil end
      if key > most then most = key end
      count = count + 1
    end
    if options.sparse_ratio > 0 and most > count * options.sparse_ratio and most > options.sparse_safe then
      if not options.sparse_convert then error("Cannot serialise table: excessively sparse array", 0) end
      return nil
    end
    return count > 0 and most or nil
  end

  local encode
  local function encode_table(value, out, depth)
    if depth > options.depth then error("Cannot serialise, excessive depth (" .. depth .. ")", 0) end
    local size = array_size(value)
    if size then
      out[#out + 1] = "["
      for i = 1, size do
        if i > 1 then out[#out + 1] = "," end
        encode(value[i], out, depth)
      end
      out[#out + 1] = "]"
      return
    end
    out[#out + 1] = "{"
    local first = true
    for key, item in pairs(value) do
      if not first then out[#out + 1] = "," end
      first = false
      if type(key) == "number" then
        out[#out + 1] = '"' .. number(key) .. '":'
      elseif type(key) == "string" then
        out[#out + 1] = text(key) .. ":"
      else
        error("Cannot serialise " .. type(key) .. ": table key must be a number or string", 0)
      end
      encode(item, out, depth)
    end
    out[#out + 1] = "}"
  end

  function encode(value, out, depth)
    local kind = type(value)
    if kind == "string" then
      out[#out + 1] = text(value)
    elseif kind == "number" then
      out[#out + 1] = number(value)
    elseif kind == "table" then
      encode_table(value, out, depth + 1)
    elseif kind == "boolean" then
      out[#out + 1] = value and "true" or "false"
    elseif value == nil or value == null then
      out[#out + 1] = "null"
    else
      error("Cannot serialise " .. kind .. ": type not supported", 0)
    end
  end

  local function option(name, low, high)
    return function(value)
      if value ~= nil then
        value = tonumber(value)
        if not value or value < low or value > high then
          error("bad argument #1 to '" .. name .. "' (expected integer between " .. low .. " and " .. high .. ")", 2)
        end
        options[name] = value
      end
      return options[name]
    end
  end

  local depth_option = option("depth", 1, 0x7fffffff)
  local decode_depth_option = option("decode_depth", 1, 0x7fffffff)
  local precision_option = option("precision", 1, 16)

  return {
    encode = function(...)
      if select("#", ...) ~= 1 then error("bad argument #1 to 'encode' (expected 1 argument)", 2) end
      local out = {}
      local ok, failure = pcall(encode, (...), out, 0)
      if not ok then error(failure, sub(failure, 1, 6) == "Cannot" and 2 or 0) end
      return concat(out)
    end,
    decode = function(...)
      if select("#", ...) ~= 1 then error("bad argument #1 to 'decode' (expected 1 argument)", 2) end
      local value = ...
      if type(value) == "number" then value = tostring(value) end
      if type(value) ~= "string" then
        error("bad argument #1 to 'decode' (string expected, got " .. (value == nil and "nil" or type(value)) .. ")", 2)
      end
      local kinds, failed = decode(value, options.decode_depth, options.decode_invalid)
      if failed then error(failed, 2) end
      return build(kinds)
    end,
    encode_sparse_array = function(convert, ratio, safe)
      if convert ~= nil then options.sparse_convert = convert and true or false end
      if ratio ~= nil then options.sparse_ratio = ratio end
      if safe ~= nil then options.sparse_safe = safe end
      return options.sparse_convert, options.sparse_ratio, options.sparse_safe
    end,
    encode_max_depth = depth_option,
    decode_max_depth = decode_depth_option,
    encode_number_precision = function(value)
      local precision = precision_option(value)
      number_format = "%." .. precision .. "g"
      return precision
    end,
    encode_keep_buffer = function() return true end,
    encode_invalid_numbers = function(value)
      if value ~= nil then options.invalid = value end
      return options.invalid
    end,
    decode_invalid_numbers = function(value)
      if value ~= nil then options.decode_invalid = value and true or false end
      return options.decode_invalid
    end,
    null = null,
    _NAME = "cjson",
    _VERSION = "2.1.0",
  }
end

local cjson = new()
cjson.new = function() return new() end
return cjson
