"""Tail calls that become calls."""

from __future__ import annotations

from pyrepl.scripting.bytecode import without_tail_calls
from tests.unit.scripting.machines import Lua

CODE = "local function f(n) if n == 0 then return 'end' end return f(n - 1) end return f(...)"


def test_deeper_functions_keep_their_tail_calls() -> None:
    assert (
        Lua().run("local function f(n) if n == 0 then return 'end' end return f(n - 1) end return f(100000)") == b"end"
    )


def test_a_chunk_stays_a_chunk() -> None:
    lua = Lua()
    compiled = lua.run(f"return string.dump(loadstring([[{CODE}]]))")
    assert isinstance(compiled, bytes)
    outer, both = without_tail_calls(compiled, 0), without_tail_calls(compiled, 1)
    assert len(outer) == len(both) == len(compiled)
    changed = [sum(a != b for a, b in zip(compiled, one)) for one in (outer, both)]
    assert changed == [1, 2]
    assert without_tail_calls(both, 5) == both
