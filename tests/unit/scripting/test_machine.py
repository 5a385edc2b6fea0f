"""The interpreter: values, errors, and what hostile scripts cannot do."""

from __future__ import annotations

import pytest

from pyrepl.resp.reply import NULL_ARRAY, Reply, Simple, Verbatim
from pyrepl.scripting.machine import KILLED
from pyrepl.scripting.values import ScriptFailed
from tests.unit.scripting.machines import Lua


@pytest.fixture
def lua() -> Lua:
    return Lua()


def test_values_that_come_back(lua: Lua) -> None:
    assert lua.run("return 3.99") == 3
    assert lua.run("return -3.99") == -3
    assert lua.run("return 0/0") == -(1 << 63)
    assert lua.run("return 'a\\0b'") == b"a\0b"
    assert lua.run("return nil") is None
    assert lua.run("return {1, 'x', {true, false}}") == b"*3\r\n:1\r\n$1\r\nx\r\n*2\r\n:1\r\n$-1\r\n"
    assert lua.run("return {map = {k = 1.5}}", proto=3) == b"%1\r\n$1\r\nk\r\n:1\r\n"
    assert lua.run("return {err = 'A b\\r\\nc'}") == b"-A b  c\r\n"


def test_keys_and_argv(lua: Lua) -> None:
    code = "return KEYS[1] .. #KEYS .. ARGV[1] .. #ARGV"
    assert lua.run(code, b"k", b"a", b"b", keys=1) == b"k1a2"
    many = [b"%d" % number for number in range(10_000)]
    assert lua.run("return #KEYS * 100000 + #ARGV", *many, keys=9_000) == 900_001_000
    assert lua.run("return KEYS[9000] .. ARGV[1]", *many, keys=9_000) == b"89999000"
    assert lua.run("return #KEYS * 100000 + #ARGV", *many) == 10_000
    assert lua.run("return #KEYS * 100000 + #ARGV", *many, keys=10_000) == 1_000_000_000
    assert lua.run("return #KEYS + #ARGV") == 0


@pytest.mark.parametrize("keys", range(4))
def test_keys_and_argv_are_ordinary_tables(lua: Lua, keys: int) -> None:
    """They hold what was given and nothing else, and grow at their end."""
    code = """
    local seen = {}
    for _, list in ipairs({KEYS, ARGV}) do
      for place, word in pairs(list) do seen[#seen + 1] = place .. word end
      seen[#seen + 1] = '|'
      table.insert(list, 'x')
      list[#list + 1] = 'y'
    end
    return table.concat(seen) .. #KEYS .. #ARGV
    """
    words = [b"a", b"b", b"c"]
    shown = [b"".join(b"%d%b" % one for one in enumerate(part, 1)) for part in (words[:keys], words[keys:])]
    assert lua.run(code, *words, keys=keys) == b"|".join(shown) + b"|%d%d" % (keys + 2, 5 - keys)


def test_what_commands_answer(lua: Lua) -> None:
    answers: tuple[tuple[Reply, Reply], ...] = (
        (5, 5),
        (b"x", b"x"),
        (None, None),
        (NULL_ARRAY, None),
        (Simple(b"FINE"), b"+FINE\r\n"),
        ([b"a", 1, None], b"*3\r\n$1\r\na\r\n:1\r\n$-1\r\n"),
        ({b"k": [b"v", Simple(b"S")]}, b"*2\r\n$1\r\nk\r\n*2\r\n$1\r\nv\r\n+S\r\n"),
        (1.5, b"1.5"),
        (Verbatim(b"text"), b"text"),
    )
    for given, wire in answers:
        lua.commands.given = given
        reply = lua.run("local r = redis.call('GIVE') if r == false then return nil end return r")
        assert reply == wire, given


def test_what_they_answer_after_setresp(lua: Lua) -> None:
    lua.commands.given = {b"k": None, b"l": [1.5, True, Verbatim(b"text")], b"m": {b"x"}}
    assert (
        lua.run(
            "redis.setresp(3) local r = redis.call('GIVE').map "
            "return tostring(r.k) .. r.l[1].double .. tostring(r.l[2]) .. r.l[3].verbatim_string.string "
            ".. tostring(r.m.set.x)"
        )
        == b"nil1.5truetexttrue"
    )
    assert lua.commands.resp == 3


def test_words_of_calls(lua: Lua) -> None:
    lua.run("redis.call('X', 1, 1.5, 1e20, -0.0, '')")
    assert lua.commands.calls.pop() == [b"X", b"1", b"1.5", b"1e+20", b"0", b""]
    lua.run("local t = {} for i = 1, 7000 do t[i] = i end redis.call('X', unpack(t))")
    assert lua.commands.calls.pop() == [b"X", *(b"%d" % number for number in range(1, 7001))]
    assert lua.error("redis.call('X', {})").startswith(b"ERR Lua redis lib command arguments")
    assert lua.error("local t = {} for i = 1, 100 do t[i] = {} end redis.call(unpack(t))").startswith(b"ERR Lua redis")
    assert lua.error("redis.call()").startswith(b"ERR Please specify")


def test_an_error_has_its_place(lua: Lua) -> None:
    for code in ("\nreturn redis.call('BAD')", "\nlocal r = redis.call('BAD')\nreturn r"):
        with pytest.raises(ScriptFailed) as failed:
            lua.run(code)
        assert failed.value.text == b"ERR no such thing" and failed.value.is_counted
        assert (failed.value.source, failed.value.line) == (b"@user_script", b"2")
    assert lua.run("local ok, e = pcall(redis.call, 'BAD') return e") == b"ERR no such thing"
    assert lua.run("return redis.pcall('BAD')") == b"-ERR no such thing\r\n"
    assert lua.error("return nothing").startswith(b"ERR user_script:1: Script attempted to access nonexistent")


def test_a_defect_of_ours_is_raised_behind_lua(lua: Lua) -> None:
    with pytest.raises(ZeroDivisionError):
        lua.run("pcall(redis.call, 'DEFECT') return 1")
    assert lua.run("return 1") == 1


def test_a_complaint_of_the_compiler(lua: Lua) -> None:
    complaint = lua.machine.compile(b"bad", b"x x", b"@user_script")
    assert complaint is not None and complaint.startswith("user_script:1:")
    lua.machine.forget(b"bad")


@pytest.mark.parametrize(
    "code",
    [
        "while true do end",
        "while true do pcall(function() while true do end end) end",
        "local f = coroutine.wrap(function() while true do end end) while true do pcall(f) end",
        "while true do coroutine.wrap(function() while true do pcall(error) end end)() end",
        "repeat xpcall(function() while true do end end, function() end) until false",
        "return string.find(('a'):rep(40), ('a*'):rep(40) .. 'b')",
        "return (('a'):rep(100000)):gsub('a*a*b', '')",
        "return (('a'):rep(100000)):match('.-.-b')",
        "for x in (('a'):rep(100000)):gmatch('a*a*b') do end",
        "load(function() return ' ' end)",
        "local t = setmetatable({}, {__index = function(t, k) return t[k + 1] end}) "
        "while true do pcall(function() return t[1] end) end",
        "table.sort({3, 1, 2, 5, 4}, function() while true do end end)",
        "return ('x'):gsub('x', function() while true do end end)",
    ],
)
def test_endless_scripts_are_ended(lua: Lua, code: str) -> None:
    error = lua.error(code)
    assert KILLED in error or b"not enough memory" in error
    lua.commands.patience = 20
    assert lua.run("return 'alive'") == b"alive"


@pytest.mark.parametrize(
    "code",
    [
        "return string.rep('x', 1e9)",
        "local s = 'x' while true do s = s .. s end",
        "local t = {} while true do t[#t + 1] = {} end",
        "local t = {} for i = 1, 1e9 do t[i] = tostring(i) end",
        "collectgarbage('stop') local s = ('x'):rep(1e6) while true do s = s .. 'y' end",
        "local t = {} while true do t[#t + 1] = coroutine.create(function() end) end",
        "local s = ('x'):rep(2e7) redis.call('X', s, s .. 'y') local t = {} while true do t[#t + 1] = s .. #t end",
        "local s = cjson.encode({('x'):rep(4e7)}) return cjson.decode(s)[1] .. s",
        "return struct.pack('c1000000000', 'x')",
        "local a = {} for i = 1, 30 do a = {a, a} end return a",
        "local a = {} for i = 1, 30 do a = {a, a} end return cjson.encode(a)",
        "return ('x'):rep(3e7):gsub('x', 'yyyy')",
        "return table.concat({('x'):rep(3e7), ('y'):rep(3e7)})",
        "local function f() return {f(), f()} end return f()",
        "local function f() return f() + 1 end return f()",
        "local t = {} t[1] = t return t",
        "local t = {} t[1] = t return cjson.encode(t)",
    ],
)
def test_bombs_are_bounded(lua: Lua, code: str) -> None:
    lua.commands.patience = 2000
    try:
        lua.run(code)
    except ScriptFailed as failed:
        assert any(word in failed.text for word in (b"memory", b"stack", b"depth", b"short", KILLED))
    lua.machine.make_room(0)
    assert lua.run("return redis.call('X')") is not None
    assert lua.machine.used_bytes < 64 << 20


def test_a_full_memory_before_a_large_reply(lua: Lua) -> None:
    lua.commands.given = b"x" * (50 << 20)
    assert (
        lua.error("local a = redis.call('GIVE') local b = redis.call('GIVE') return a .. b") == b"ERR not enough memory"
    )
    lua.commands.given = [b"x" * 1000] * 100_000
    assert lua.error("return #redis.call('GIVE')") == b"ERR not enough memory"


def test_calls_at_the_edge_of_memory(lua: Lua) -> None:
    """Python is called with memory nearly gone, in every way: it must be refused or work, never break."""
    code = """
    local held, size = {}, 1e6
    while size > 100 do
      local ok, s = pcall(string.rep, 'x', size)
      if ok then held[#held + 1] = s .. #held else size = size / 2 end
      for _, f in ipairs({function() return redis.pcall('GIVE') end, function() return cjson.decode('[1,[2]]') end,
                          function() return struct.pack('i', 1) end, function() return bit.band(1, 2) end}) do
        pcall(f)
      end
    end
    return 1
    """
    lua.commands.given = [b"a", [b"b", 1.5]]
    lua.commands.patience = 100_000
    try:
        lua.run(code)
    except ScriptFailed as failed:
        assert b"memory" in failed.text
    assert lua.machine.make_room(0)
    assert lua.run("return 1") == 1


def test_room(lua: Lua) -> None:
    assert lua.machine.has_room(0) and lua.machine.make_room(1000)
    assert not lua.machine.has_room(1 << 30)


def test_logs_and_flags(lua: Lua) -> None:
    lua.run("redis.log(redis.LOG_WARNING, 'a', 1, 'b') redis.set_repl(redis.REPL_NONE)")
    assert lua.commands.logged == [(3, b"a 1 b")] and lua.commands.repl_flags == 0
    # What goes to replicas is what goes into the file: a script that wants to part them is told so.
    for flags in ("REPL_AOF", "REPL_REPLICA"):
        assert b"takes REPL_ALL or REPL_NONE" in lua.error(f"redis.set_repl(redis.{flags})")
    assert lua.run("return os.clock()") == 1
    assert lua.run("return tostring(redis.acl_check_cmd('GET', 'x'))") == b"true"
    assert lua.error("redis.acl_check_cmd('NOSUCH')") == b"ERR Invalid command passed to redis.acl_check_cmd()"
    assert lua.run("return redis.sha1hex('')") == b"da39a3ee5e6b4b0d3255bfef95601890afd80709"


@pytest.mark.parametrize(
    "name", ["python", "debug", "io", "package", "newproxy", "setfenv", "require", "dofile", "loadfile"]
)
def test_what_is_not_there(lua: Lua, name: str) -> None:
    assert b"nonexistent global" in lua.error(f"return {name}")
    assert lua.run("return os.execute or os.getenv or os.exit") is None


def test_no_object_of_python_can_be_reached(lua: Lua) -> None:
    """Every value that a script can come to, through tables, metatables and environments: none is Python's."""
    found = lua.run(
        """
        local seen, queue, kinds = {}, {_G, getmetatable(''), redis, KEYS}, {}
        while #queue > 0 do
          local value = table.remove(queue)
          local shown = tostring(value)
          if not seen[value] then
            seen[value] = true
            kinds[#kinds + 1] = shown
            local meta = getmetatable(value)
            if meta then queue[#queue + 1] = meta end
            if type(value) == 'table' then
              for k, v in pairs(value) do
                for _, one in ipairs({k, v}) do
                  local kind = type(one)
                  if kind == 'table' or kind == 'userdata' or kind == 'function' then queue[#queue + 1] = one end
                end
              end
            end
          end
        end
        return table.concat(kinds, '\\n')
        """
    )
    assert isinstance(found, bytes) and found.count(b"\n") > 100
    for word in (b"<", b"python", b"Python", b"method", b"lupa"):
        assert word not in found
    lua.error("local ok, e = xpcall(redis.call, function(e) return e end) return e.x.y")


def test_nothing_is_left_for_the_next_script(lua: Lua) -> None:
    for code in (
        "x = 1",
        "_G.x = 1",
        "rawset(_G, 'x', 1)",
        "rawset(string, 'x', 1)",
        "table.insert(redis, 1)",
        "setmetatable(_G, {})",
        "getmetatable('').__index = nil",
        "getmetatable(_G).__index = nil",
        "string.find = nil",
        "loadstring('x = 1')()",
        "cjson.null = 1",
        "table.sort(redis)",
        "table.remove(redis)",
    ):
        lua.error(code)
    assert lua.error("return x").endswith(b"nonexistent global variable 'x'")
    assert lua.run("return ('a'):upper()") == b"A"


def test_bytecode_is_not_loaded(lua: Lua) -> None:
    assert lua.run("local f = string.dump(function() return 1 end) return tostring(loadstring(f))") == b"nil"
    assert (
        lua.run(
            "local f = string.dump(function() return 1 end) local first = true "
            "return tostring(load(function() if first then first = false return f end end))"
        )
        == b"nil"
    )
    assert lua.machine.compile(b"x", b"\x1bLua", b"@user_script") is not None
