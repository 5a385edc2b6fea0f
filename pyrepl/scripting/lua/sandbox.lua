-- What scripts see and what they do not: their globals, read-only libraries, limits, and the calls of redis.*. Called
-- once with the host, before any script runs; afterwards the interpreter's own globals are empty.
--
-- Libraries are userdata that look like tables: nothing, rawset and table.insert included, can write to them. Functions
-- of Python are called by the functions here alone, which scripts cannot look into; they never raise and never give
-- Python objects to Lua. Before each such call a little memory must be left, as Python cannot bear that Lua runs out of
-- it in the middle of one.

local host, null, cjson, cmsgpack = ...
local type, error, tostring, tonumber, select, unpack = type, error, tostring, tonumber, select, unpack
local next, pairs, ipairs, rawget, rawset, rawequal = next, pairs, ipairs, rawget, rawset, rawequal
local setmetatable, getmetatable, pcall, xpcall, assert = setmetatable, getmetatable, pcall, xpcall, assert
local loadstring, setfenv, newproxy, collectgarbage = loadstring, setfenv, newproxy, collectgarbage
local getinfo, sethook = debug.getinfo, debug.sethook
local find, gsub = string.find, string.gsub
local sub, byte, rep, format, dump = string.sub, string.byte, string.rep, string.format, string.dump
local concat, insert, sort = table.concat, table.insert, table.sort
local create, wrap, resume, yield = coroutine.create, coroutine.wrap, coroutine.resume, coroutine.yield
local floor = math.floor
local build, encode = host.build, host.encode

local HOOK_EVERY = 100000 -- instructions, as in Redis
local READONLY = "Attempt to modify a readonly table"
local NO_MEMORY = "not enough memory"
local KILLED, OWN = host.killed, "=sandbox"
local soft_kb = host.soft_kb
local used_kb = gcinfo -- of whole KB, and quicker than collectgarbage("count"), which compares texts

-- Memory ------------------------------------------------------------------------------------------------------------

-- Raises unless a little memory is left, after a full collection if need be.
local function leave_room()
  if used_kb() > soft_kb then
    collectgarbage()
    if used_kb() > soft_kb then error(NO_MEMORY, 0) end
  end
end

local function guarded(fn)
  return function(...)
    leave_room()
    return fn(...)
  end
end

-- The end of scripts -------------------------------------------------------------------------------------------------

local interrupt = host.interrupt
local is_ended = false -- has `end_script` set a hook that is still there?

-- Once a script is killed, every line of it raises: no pcall keeps it alive.
local function end_line()
  local frame = getinfo(2, "S")
  if frame and frame.source ~= OWN then error(KILLED, 0) end
end

local function end_script(failure)
  is_ended = true
  sethook(end_line, "l", 1000)
  error(failure, 0)
end

local function count_hook()
  if used_kb() > soft_kb then
    collectgarbage()
    if used_kb() > soft_kb then end_script(NO_MEMORY) end
  end
  if interrupt() then end_script(KILLED) end
end

-- Count instructions, also behind a script that was ended. A hook stays from one script to the next.
local function watch()
  if is_ended then
    is_ended = false
    sethook(count_hook, "", HOOK_EVERY)
  end
end

-- Protected tables ----------------------------------------------------------------------------------------------------

local behind = {} -- protected userdata -> the table that it shows

local function refuse() error(READONLY, 2) end

-- `metatable` is what getmetatable gives to scripts.
local function protect(shown, metatable)
  local proxy = newproxy(true)
  local meta = getmetatable(proxy)
  meta.__index, meta.__newindex, meta.__metatable = shown, refuse, metatable or false
  behind[proxy] = shown
  return proxy
end

local globals = {} -- what scripts find under global names

local function absent(_, name)
  error("Script attempted to access nonexistent global variable '" .. tostring(name) .. "'", 2)
end

setmetatable(globals, { __index = absent })
local of_environment = { __index = globals, __newindex = refuse }
local environment = setmetatable({}, of_environment)

-- The basic functions that have to know of all this ---------------------------------------------------------------------

local function check_table(value, name, position)
  if type(value) ~= "table" then
    local kind = value == nil and "no value" or type(value)
    error("bad argument #" .. (position or 1) .. " to '" .. name .. "' (table expected, got " .. kind .. ")", 3)
  end
end

local function script_type(...)
  if select("#", ...) == 0 then error("bad argument #1 to 'type' (value expected)", 2) end
  local value = ...
  if behind[value] then return "table" end
  return type(value)
end

local function script_pairs(value)
  value = behind[value] or value
  check_table(value, "pairs")
  return next, value, nil
end

local function script_next(value, key)
  value = behind[value] or value
  check_table(value, "next")
  return next(value, key)
end

local function script_rawget(value, key)
  value = behind[value] or value
  check_table(value, "rawget")
  return rawget(value, key)
end

local function script_rawset(value, key, new)
  if behind[value] then error(READONLY, 0) end
  check_table(value, "rawset")
  return rawset(value, key, new)
end

local function script_setmetatable(value, meta)
  if behind[value] then error(READONLY, 0) end
  return setmetatable(value, meta)
end

local function script_collectgarbage(what, argument)
  what = what or "collect"
  if what == "count" or what == "collect" or what == "step" then return collectgarbage(what, argument) end
  if what == "stop" or what == "restart" or what == "setpause" or what == "setstepmul" then return 0 end
  return error("bad argument #1 to 'collectgarbage' (invalid option '" .. tostring(what) .. "')", 2)
end

local function plain_error(ok, failure, ...)
  if not ok and type(failure) == "table" then
    local text = failure.err
    if type(text) == "string" or type(text) == "number" then return false, text end
  end
  return ok, failure, ...
end

local function script_pcall(...) return plain_error(pcall(...)) end

local function load_text(text, name)
  if byte(text, 1) == 27 then return nil, "bytecode is not loaded" end
  local chunk, failure = loadstring(text, name)
  if chunk then setfenv(chunk, environment) end
  return chunk, failure
end

local function script_loadstring(text, name)
  if type(text) == "number" then text = tostring(text) end
  if type(text) ~= "string" then
    error("bad argument #1 to 'loadstring' (string expected, got " .. type(text) .. ")", 2)
  end
  return load_text(text, name or text)
end

local function script_load(reader, name)
  if type(reader) ~= "function" then
    error("bad argument #1 to 'load' (function expected, got " .. type(reader) .. ")", 2)
  end
  local pieces = {}
  while true do
    local piece = reader()
    if piece == nil or piece == "" then break end
    if type(piece) ~= "string" then return nil, "reader function must return a string" end
    pieces[#pieces + 1] = piece
  end
  return load_text(concat(pieces), name or "=(load)")
end

-- A hook belongs to one coroutine: each gets its own.
local function script_create(body)
  local made = create(body)
  sethook(made, count_hook, "", HOOK_EVERY)
  return made
end

local function pass_on(ok, ...)
  if not ok then error((...), 0) end
  return ...
end

local function script_wrap(body)
  local made = script_create(body)
  return function(...) return pass_on(resume(made, ...)) end
end

local function script_rep(text, count)
  if text == "" then return "" end
  return rep(text, count)
end

local function script_insert(...)
  if select("#", ...) > 0 and behind[(...)] then error(READONLY, 0) end
  if select("#", ...) == 3 then
    local list, position = ...
    if type(list) == "table" and type(position) == "number" and position < 1 - 1000000 then
      error("bad argument #2 to 'insert' (position out of bounds)", 2)
    end
  end
  return insert(...)
end

-- Redis -----------------------------------------------------------------------------------------------------------------

local resp = 2

-- An error as Redis gives it to scripts: `-CODE text`, or a text that gets the code ERR.
local function failure_of(text)
  if sub(text, 1, 1) == "-" then
    text = sub(text, 2)
    if not find(text, " ", 1, true) then text = "ERR " .. text end
  else
    text = "ERR " .. text
  end
  text = gsub(gsub(text, "[\r\n]+$", ""), "[\r\n]", " ")
  return { err = text }
end

local function fail(text) error(failure_of(text), 0) end

local STATUS, ERROR, FLAT = 1, 2, 3

local function made(value, kind, ...)
  if kind == FLAT then return { ... } end
  if kind == STATUS then return { ok = value } end
  if kind == ERROR then return { err = value, ignore_error_stats_update = true } end
  return build(value)
end

local function settle(value, kind, ...)
  if kind == nil then return value end
  if kind == ERROR then error({ err = value, ignore_error_stats_update = true }, 0) end
  return made(value, kind, ...)
end

local function settle_quietly(value, kind, ...)
  if kind == nil then return value end
  return made(value, kind, ...)
end

local call, call_many = host.call, host.call_many
local MANY = 64

-- Many words go as one table's text each, since one call of Python with n words takes n^2 steps.
local function in_pieces(...)
  local count = select("#", ...)
  local words = { ... }
  for at = 1, count, MANY do
    local last = at + MANY - 1
    call_many(unpack(words, at, last < count and last or count))
  end
  return call()
end

local function redis_call(...)
  if used_kb() > soft_kb then leave_room() end
  if select("#", ...) > MANY then return settle(in_pieces(...)) end
  return settle(call(...))
end

local function redis_pcall(...)
  if used_kb() > soft_kb then leave_room() end
  if select("#", ...) > MANY then return settle_quietly(in_pieces(...)) end
  return settle_quietly(call(...))
end

local function single_field(field)
  return function(...)
    local value = ...
    if select("#", ...) ~= 1 or type(value) ~= "string" then return failure_of("wrong number or type of arguments") end
    if field == "err" then return failure_of(sub(value, 1, 1) == "-" and value or "-" .. value) end
    return { [field] = value }
  end
end

local redis = {
  call = redis_call,
  pcall = redis_pcall,
  error_reply = single_field("err"),
  status_reply = single_field("ok"),
  sha1hex = function(...)
    if select("#", ...) ~= 1 then fail("wrong number of arguments") end
    leave_room()
    local value = ...
    return host.sha1hex(type(value) == "number" and tostring(value) or type(value) == "string" and value or "")
  end,
  log = function(...)
    if select("#", ...) < 2 then fail("redis.log() requires two arguments or more.") end
    local level = tonumber((...))
    if not level then fail("First argument must be a number (log level).") end
    if level < 0 or level > 3 then fail("Invalid log level.") end
    local words = {}
    for i = 2, select("#", ...) do
      local word = (select(i, ...))
      if type(word) == "string" or type(word) == "number" then words[#words + 1] = tostring(word) end
    end
    leave_room()
    host.log(floor(level), concat(words, " "))
  end,
  setresp = function(...)
    if select("#", ...) ~= 1 then fail("redis.setresp() requires one argument.") end
    local version = tonumber((...))
    if version ~= 2 and version ~= 3 then fail("RESP version must be 2 or 3.") end
    resp = version
    host.setresp(version)
  end,
  set_repl = function(...)
    if select("#", ...) ~= 1 then fail("redis.set_repl() requires one argument.") end
    local flags = tonumber((...)) or 0
    if flags ~= 0 and flags ~= 1 and flags ~= 2 and flags ~= 3 then
      fail("Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE.")
    end
    if flags == 1 or flags == 2 then
      fail("redis.set_repl() takes REPL_ALL or REPL_NONE here: replicas and the append-only file get the same commands.")
    end
    host.set_repl(flags)
  end,
  acl_check_cmd = function(...)
    leave_room()
    local value, kind = host.acl_check_cmd(...)
    if kind then error({ err = value }, 0) end
    return value
  end,
  replicate_commands = function() return true end,
  breakpoint = function() return false end,
  debug = function() end,
  LOG_DEBUG = 0, LOG_VERBOSE = 1, LOG_NOTICE = 2, LOG_WARNING = 3,
  REPL_NONE = 0, REPL_AOF = 1, REPL_SLAVE = 2, REPL_REPLICA = 2, REPL_ALL = 3,
  REDIS_VERSION = host.version,
  REDIS_VERSION_NUM = host.version_number,
}

-- Libraries -------------------------------------------------------------------------------------------------------------

local function library(name, functions)
  local shown = {}
  for _, one in ipairs(functions) do
    local fn = host[name .. "_" .. one]
    shown[one] = function(...)
      leave_room()
      local first, failed = fn(...)
      if first == nil and failed then error("bad argument " .. failed, 2) end
      return first
    end
  end
  return shown
end

local struct = {
  pack = function(...)
    leave_room()
    local packed, failed = host.struct_pack(...)
    if failed then error(failed, 2) end
    return packed
  end,
  size = function(...)
    leave_room()
    local size, failed = host.struct_size(...)
    if failed then error(failed, 2) end
    return size
  end,
  unpack = function(...)
    leave_room()
    local kinds, failed = host.struct_unpack(...)
    if failed then error(failed, 2) end
    local found = build(kinds)
    return unpack(found)
  end,
}

local bit = library("bit", { "tobit", "tohex", "bnot", "band", "bor", "bxor", "lshift", "rshift", "arshift", "rol",
  "ror", "bswap" })

local function random(...)
  local count = select("#", ...)
  local r = host.random()
  if count == 0 then return r end
  local low, high = ...
  low = tonumber(low)
  if not low then error("bad argument #1 to 'random' (number expected, got " .. type((...)) .. ")", 2) end
  if count == 1 then
    low, high = 1, low - low % 1
    if high < 1 then error("bad argument #1 to 'random' (interval is empty)", 2) end
  elseif count == 2 then
    high = tonumber(high)
    if not high then error("bad argument #2 to 'random' (number expected)", 2) end
    low, high = low - low % 1, high - high % 1
    if low > high then error("bad argument #2 to 'random' (interval is empty)", 2) end
  else
    error("wrong number of arguments", 2)
  end
  return floor(r * (high - low + 1)) + low
end

local function copied(library)
  local copy = {}
  for name, value in pairs(library) do copy[name] = value end
  return copy
end

local strings, tables, maths = copied(string), copied(table), copied(math)
strings.rep, tables.insert = script_rep, script_insert
maths.random = random
maths.randomseed = function(seed)
  seed = tonumber(seed)
  if not seed then error("bad argument #1 to 'randomseed' (number expected, got no value)", 2) end
  host.randomseed(seed)
end

local new_json = cjson.new
cjson.new = function() return protect(new_json()) end

for name, value in pairs({
  _VERSION = _VERSION,
  assert = assert, error = error, ipairs = ipairs, rawequal = rawequal, select = select, tonumber = tonumber,
  tostring = tostring, unpack = unpack, xpcall = xpcall, gcinfo = gcinfo, getmetatable = getmetatable,
  type = script_type, pairs = script_pairs, next = script_next, rawget = script_rawget, rawset = script_rawset,
  setmetatable = script_setmetatable, collectgarbage = script_collectgarbage, pcall = script_pcall,
  loadstring = script_loadstring, load = script_load,
  string = protect(strings), table = protect(tables), math = protect(maths),
  coroutine = protect({ create = script_create, wrap = script_wrap, resume = resume, yield = yield,
    running = coroutine.running, status = coroutine.status }),
  os = protect({ clock = guarded(host.clock) }),
  redis = protect(redis), cjson = protect(cjson), cmsgpack = protect(cmsgpack), struct = protect(struct),
  bit = protect(bit),
}) do
  globals[name] = value
end
globals._G = protect(globals, protect({ __index = absent }))

local of_strings = getmetatable("")
of_strings.__index = strings
of_strings.__metatable = protect({ __index = globals.string })

-- Running ---------------------------------------------------------------------------------------------------------------

-- The error that goes to the client: with the place in the script, where there is one.
local function place_error(failure)
  local level, frame = 2, nil
  repeat
    frame = getinfo(level, "Sl")
    level = level + 1
  until not frame or (frame.what ~= "C" and frame.what ~= "tail" and frame.source ~= OWN)
  if type(failure) ~= "table" then
    local text = tostring(failure)
    if frame then text = gsub(text, "^sandbox:%d+:", (gsub(frame.short_src .. ":" .. frame.currentline .. ":", "%%", "%%%%"))) end
    failure = { err = "ERR " .. text }
  end
  if frame then
    failure.source, failure.line = frame.source, frame.currentline
  end
  return failure
end

local pending -- words of a call that has more than fit on Lua's stack; nil where a call has none

-- Called before such a call is run, with some of its words each time.
function host.more(...)
  pending = pending or {}
  local size = #pending
  for i = 1, select("#", ...) do pending[size + i] = (select(i, ...)) end
end

local RAW, FAILED, UNKNOWN = 1, 2, 3

local function text_of(value)
  if type(value) == "string" or type(value) == "number" then return tostring(value) end
  return nil
end

-- What goes back to Python where the result is not PLAIN: nil, or (text, kind).
local function outcome(ok, value, proto)
  if ok then
    local kind = type(value)
    if behind[value] then return encode(behind[value], proto, resp), RAW end
    if kind == "table" or kind == "boolean" then return encode(value, proto, resp), RAW end
    return nil
  end
  if type(value) ~= "table" then return tostring(value), UNKNOWN end
  local text = text_of(rawget(value, "err")) or "ERR unknown error"
  local source, line = text_of(rawget(value, "source")), text_of(rawget(value, "line"))
  return text, FAILED, source or false, line or false, rawget(value, "ignore_error_stats_update") == true
end

-- KEYS and ARGV of the words that `host.more` was given.
local function of_pending(count)
  local keys, argv = {}, {}
  for i = 1, count do keys[i] = pending[i] end
  for i = count + 1, #pending do argv[i - count] = pending[i] end
  pending = nil
  return keys, argv
end

local PLAIN = { string = true, number = true, ["nil"] = true } -- the types of results that go back as they are

-- What Python calls to run `body`: with the version of RESP of the client, and words of which the first `count` are keys;
-- without words they are those of `host.more`. `body` finds its keys as `given.KEYS`, and the others as `given.ARGV`.
-- Hot: each function that is called here costs as much as ten steps.
local function runner_of(body, given)
  return function(proto, count, ...)
    local keys, argv = { ... }, nil
    if pending then
      keys, argv = of_pending(count)
    elseif #keys == count then
      argv = {}
    else
      argv = { select(count + 1, ...) }
      for i = count + #argv, count + 1, -1 do keys[i] = nil end
    end
    given.KEYS, given.ARGV = keys, argv
    resp = 2
    if is_ended then watch() end
    local ok, value = xpcall(body, place_error)
    if ok and PLAIN[type(value)] then return value end
    return outcome(ok, value, proto)
  end
end

-- What Python calls to run a function of a library.
function host.runner_of(callback)
  local given = {}
  return runner_of(function() return (callback(given.KEYS, given.ARGV)) end, given)
end

-- Compile a script. Returns what Python calls to run it, as `host.runner_of`, or the compiler's complaint.
function host.compile(text, name)
  local chunk, failure = loadstring(text, name)
  if not chunk then return failure end
  -- `return redis.call(...)` would leave its line before the call: see bytecode.py.
  chunk = setfenv(loadstring(host.untail(dump(chunk)), name), environment)
  return runner_of(chunk, globals)
end

function host.collect() collectgarbage() end

host.environment, host.of_environment, host.globals, host.protect = environment, of_environment, globals, protect
host.watch = watch
sethook(count_hook, "", HOOK_EVERY)
