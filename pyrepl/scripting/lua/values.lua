-- Values between Lua and Redis. `build` makes Lua values of the tokens that Python gives, `encode` makes the wire form of
-- the value that a script returns. Called with the host, before any script runs.

local host, null = ...
local type, rawget, next, select = type, rawget, next, select
local byte, sub, len, gsub, format, concat = string.byte, string.sub, string.len, string.gsub, string.format, table.concat
local fetch, format_double = host.fetch, host.format_double

local DEEPEST = 3900 -- Redis: as deep as Lua's own stack for C, 8000, gives room
local TOO_DEEP = "-ERR reached lua stack limit\r\n"

-- Make the value that tokens describe: `kinds` has a byte for each, Python gives the values by `fetch`, piece by piece.
local function build(kinds)
  local values, count = {}, 0
  local function note(...)
    local size = select("#", ...)
    for i = 1, size do values[count + i] = (select(i, ...)) end
    count = count + size
    return size
  end
  while note(fetch()) > 0 do end
  local at, used = 0, 0
  local function take()
    used = used + 1
    return values[used]
  end
  local function one()
    at = at + 1
    local kind = sub(kinds, at, at)
    if kind == "v" then return take() end
    if kind == "n" then return nil end
    if kind == "N" then return null end
    if kind == "t" then return true end
    if kind == "f" then return false end
    local made = {}
    if kind == "a" then
      for i = 1, take() do made[i] = one() end
    elseif kind == "o" then
      for _ = 1, take() do
        local key = one()
        made[key] = one()
      end
    elseif kind == "m" then
      local map = {}
      for _ = 1, take() do
        local key = one()
        local value = one()
        if key ~= nil then map[key] = value end
      end
      made.map = map
    elseif kind == "S" then
      local set = {}
      for _ = 1, take() do
        local key = one()
        if key ~= nil then set[key] = true end
      end
      made.set = set
    elseif kind == "s" then
      made.ok = take()
    elseif kind == "e" then
      made.err = take()
      made.ignore_error_stats_update = true
    elseif kind == "d" then
      made.double = take()
    elseif kind == "x" then
      made.verbatim_string = { format = take(), string = take() }
    end
    return made
  end
  return one()
end

local function one_line(text) return (gsub(text, "[\r\n]", " ")) end

-- The wire form of a table that a script returns, for a client that speaks RESP version `proto`, from a script that has
-- chosen version `resp`.
local function encode(value, proto, resp)
  local out, n = {}, 0
  local null_text = proto == 2 and "$-1\r\n" or "_\r\n"

  local function add(text)
    n = n + 1
    out[n] = text
  end

  local write
  local function write_map(map, depth)
    add("")
    local place, count = n, 0
    for key, item in next, map do
      write(key, depth)
      write(item, depth)
      count = count + 1
    end
    out[place] = proto == 2 and format("*%d\r\n", 2 * count) or format("%%%d\r\n", count)
  end

  local function write_set(set, depth)
    add("")
    local place, count = n, 0
    for key in next, set do
      write(key, depth)
      count = count + 1
    end
    out[place] = format(proto == 2 and "*%d\r\n" or "~%d\r\n", count)
  end

  local function write_array(array, depth)
    add("")
    local place, count = n, 0
    while true do
      local item = rawget(array, count + 1)
      if item == nil then break end
      write(item, depth)
      count = count + 1
    end
    out[place] = format("*%d\r\n", count)
  end

  local function bulk(text) add("$" .. len(text) .. "\r\n" .. text .. "\r\n") end

  local function write_table(table, depth)
    local err = rawget(table, "err")
    if type(err) == "string" then return add("-" .. one_line(err) .. "\r\n") end
    local ok = rawget(table, "ok")
    if type(ok) == "string" then return add("+" .. one_line(ok) .. "\r\n") end
    local double = rawget(table, "double")
    if type(double) == "number" then
      local text = format_double(double)
      if proto == 2 then return bulk(text) end
      return add("," .. text .. "\r\n")
    end
    local big = rawget(table, "big_number")
    if type(big) == "string" then
      big = one_line(big)
      if proto == 2 then return bulk(big) end
      return add("(" .. big .. "\r\n")
    end
    local verbatim = rawget(table, "verbatim_string")
    if type(verbatim) == "table" then
      local form, text = rawget(verbatim, "format"), rawget(verbatim, "string")
      if type(form) == "string" and type(text) == "string" then
        if proto == 2 then return bulk(text) end
        form = sub(form .. "   ", 1, 3)
        return add("=" .. (len(text) + 4) .. "\r\n" .. form .. ":" .. text .. "\r\n")
      end
    end
    local map = rawget(table, "map")
    if type(map) == "table" then return write_map(map, depth) end
    local set = rawget(table, "set")
    if type(set) == "table" then return write_set(set, depth) end
    return write_array(table, depth)
  end

  function write(item, depth)
    local kind = type(item)
    if kind == "string" then
      bulk(item)
    elseif kind == "number" then
      add(format(":%d\r\n", item))
    elseif kind == "boolean" then
      if resp == 2 then
        add(item and ":1\r\n" or null_text)
      elseif proto == 2 then
        add(item and ":1\r\n" or ":0\r\n")
      else
        add(item and "#t\r\n" or "#f\r\n")
      end
    elseif kind == "table" then
      if depth > DEEPEST then
        add(TOO_DEEP)
      else
        write_table(item, depth + 1)
      end
    else
      add(null_text)
    end
  end

  write(value, 0)
  return concat(out)
end

host.build, host.encode = build, encode
