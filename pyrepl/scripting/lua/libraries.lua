-- Function libraries: what redis.register_function takes while a library loads, and calls of what was registered.
-- Called with the host, after the sandbox.

local host = ...
local type, tostring, pairs, error, select, xpcall = type, tostring, pairs, error, select, xpcall
local loadstring, setfenv, string_dump = loadstring, setfenv, string.dump
local lower, find = string.lower, string.find
local globals, protect, environment = host.globals, host.protect, host.environment

local NAME_RULE = "Library names can only contain letters, numbers, or underscores(_) and must be at least one character "
  .. "long"
local FLAGS = { ["no-writes"] = 1, ["allow-oom"] = 2, ["allow-stale"] = 4, ["no-cluster"] = 8,
  ["allow-cross-slot-keys"] = 32 }

local loading -- the functions of the library that loads now: a list, and by name

local function fail(text) error({ err = "ERR " .. text }, 0) end

local function is_text(value) return type(value) == "string" or type(value) == "number" end

local function flags_of(flags)
  local sum, at = 0, 1
  while flags[at] ~= nil do
    local flag = is_text(flags[at]) and FLAGS[lower(tostring(flags[at]))]
    if not flag then fail("unknown flag given") end
    if sum % (2 * flag) < flag then sum = sum + flag end
    at = at + 1
  end
  return sum
end

local function named(arguments)
  if type(arguments) ~= "table" then
    fail("calling redis.register_function with a single argument is only applicable to Lua table (representing named "
      .. "arguments).")
  end
  local name, description, callback, flags = nil, false, nil, 0
  for key, value in pairs(arguments) do
    if not is_text(key) then fail("named argument key given to redis.register_function is not a string") end
    key = lower(tostring(key))
    if key == "function_name" then
      if not is_text(value) then fail("function_name argument given to redis.register_function must be a string") end
      name = tostring(value)
    elseif key == "description" then
      if not is_text(value) then fail("description argument given to redis.register_function must be a string") end
      description = tostring(value)
    elseif key == "callback" then
      if type(value) ~= "function" then
        fail("callback argument given to redis.register_function must be a function")
      end
      callback = value
    elseif key == "flags" then
      if type(value) ~= "table" then
        fail("flags argument to redis.register_function must be a table representing function flags")
      end
      flags = flags_of(value)
    else
      fail("unknown argument given to redis.register_function")
    end
  end
  if not name then fail("redis.register_function must get a function name argument") end
  if not callback then fail("redis.register_function must get a callback argument") end
  return name, callback, description, flags
end

local function positional(name, callback)
  if not is_text(name) then fail("first argument to redis.register_function must be a string") end
  if type(callback) ~= "function" then fail("second argument to redis.register_function must be a function") end
  return tostring(name), callback, false, 0
end

local function register(...)
  if not loading then fail("redis.register_function can only be called on FUNCTION LOAD command") end
  local count = select("#", ...)
  if count < 1 or count > 2 then fail("wrong number of arguments to redis.register_function") end
  local name, callback, description, flags
  if count == 1 then
    name, callback, description, flags = named(...)
  else
    name, callback, description, flags = positional(...)
  end
  if not find(name, "^[%w_]+$") then fail(NAME_RULE) end
  if loading.callbacks[name] then fail("Function already exists in the library") end
  loading.callbacks[name] = callback
  loading[#loading + 1] = { name, description, flags }
end

local full = globals.redis
local shown = { register_function = register, log = full.log, REDIS_VERSION = full.REDIS_VERSION,
  REDIS_VERSION_NUM = full.REDIS_VERSION_NUM, LOG_DEBUG = 0, LOG_VERBOSE = 1, LOG_NOTICE = 2, LOG_WARNING = 3 }
local strict = { __index = function(_, name)
  error("Script attempted to access nonexistent global variable '" .. tostring(name) .. "'", 2)
end }
-- All that a library finds while it loads: what registers its functions.
local at_load = setmetatable({ redis = protect(setmetatable(shown, strict)) }, strict)

local function text_of(failure)
  if type(failure) == "table" then return tostring(failure.err or "ERR unknown error") end
  return "ERR " .. tostring(failure)
end

-- Run a library's code. Returns nil and keeps what it registered until `forget_loaded`, or returns the complaint.
function host.load_library(code)
  local chunk, failure = loadstring(code, "@user_function")
  if not chunk then return "Error compiling function: " .. failure end
  chunk = setfenv(loadstring(host.untail_library(string_dump(chunk)), "@user_function"), environment)
  loading = { callbacks = {} }
  host.watch()
  host.of_environment.__index = at_load
  local ok, complaint = xpcall(chunk, text_of)
  host.of_environment.__index = globals
  if not ok then
    loading = nil
    return "Error registering functions: " .. tostring(complaint)
  end
  return nil
end

-- The function registered at a place, from 1: its name, description or false, and flags. Nothing behind the last one.
function host.registered(place)
  local one = loading[place]
  if one then return one[1], one[2], one[3] end
end

-- What Python calls to run the function registered at a place: see `runner_of` in the sandbox.
function host.runner(place) return host.runner_of(loading.callbacks[loading[place][1]]) end

-- Forget what the last library registered.
function host.forget_loaded() loading = nil end
