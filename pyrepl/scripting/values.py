"""Replies of commands as values for Lua, and Lua's arguments as the words of a command (Redis's `script_lua.c`).

Lua gets a value alone where it is a string, a number or a boolean; else a value and a kind. What is nested goes as
tokens, from which `lua/values.lua` makes tables: a string with a byte for each token, and a list of their values.

| reply | RESP2, which scripts begin with | RESP3, after redis.setresp(3) |
|---|---|---|
| integer, bulk string | number, string | the same |
| status, error | {ok=text}, {err=text} | the same |
| null | false | nil |
| array | table | the same |
| map, set | table | {map={...}}, {set={...}} |
| double | string | {double=number} |
| boolean | 1 or 0 | boolean |
| verbatim string | string | {verbatim_string={format=, string=}} |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final, TypeAlias, final

from pyrepl.errors import CommandError
from pyrepl.resp.doubles import format_double
from pyrepl.resp.reply import NullArray, Push, Reply, Simple, Verbatim

STATUS: Final = 1
ERROR: Final = 2
FLAT: Final = 3
NESTED: Final = 4
MOST_AT_ONCE: Final = 2000
"""Values that one step passes to Lua at most: its stack for calls of C functions holds 8000."""
BYTES_EACH: Final = 64
"""What a value takes in Lua beside its text, at most."""
_WHOLE_BOUND: Final = 1 << 62
"""Whole numbers beyond are printed as doubles, with the digits these need (Redis, double2ll)."""

ToLua: TypeAlias = Any
"""bytes, int, float, bool, None, or a tuple of these, which become several values."""


class ScriptFailed(Exception):
    """A script ended by an error. `text` goes to the client; `source` and `line` say where it was raised, if known.
    `is_counted`: the command that failed has counted its error already."""

    def __init__(self, text: bytes, source: bytes = b"", line: bytes = b"", *, is_counted: bool = False) -> None:
        super().__init__(text)
        self.text = text
        self.source = source
        self.line = line
        self.is_counted = is_counted


def word_of(value: object) -> bytes | None:
    """An argument of redis.call as a word; None for what is neither string nor number."""
    if type(value) is bytes:
        return value
    if type(value) is int:
        return b"%d" % value if -_WHOLE_BOUND <= value <= _WHOLE_BOUND else format_double(float(value))
    if type(value) is float:
        return format_double(value)
    return None


def text_of_error(error: CommandError) -> bytes:
    """The text of an error, on one line."""
    return str(error).encode("utf-8", "surrogateescape").replace(b"\r", b" ").replace(b"\n", b" ")


@final
class Tokens:
    """A nested value in pieces: `kinds` has a byte for each token, `take` gives their values, some at a time."""

    def __init__(self) -> None:
        self._kinds = bytearray()
        self._values: list[object] = []
        self._taken = 0
        self.size_bytes = 0
        """About how much memory Lua needs for it."""

    @property
    def kinds(self) -> bytes:
        return bytes(self._kinds)

    def take(self) -> tuple[object, ...]:
        """The next values; an empty tuple at the end."""
        start = self._taken
        self._taken = min(len(self._values), start + MOST_AT_ONCE)
        return tuple(self._values[start : self._taken])

    def add(self, kind: bytes, *values: object) -> None:
        """Append a token: `v` a value, `n` nil, `N` cjson.null, `t`, `f`, `s` status, `e` error, `d` double, `x` a
        verbatim string (format, text); and before their items, with the number: `a` array, `o` pairs, `m` map, `S`
        set."""
        self._kinds += kind
        self._values += values
        self.size_bytes += BYTES_EACH
        for value in values:
            if type(value) is bytes:
                self.size_bytes += len(value)

    def add_reply(self, reply: Reply, resp: int) -> None:
        """Append the reply of a command, for a script that has chosen RESP version `resp`."""
        if type(reply) is bytes or type(reply) is int:
            self.add(b"v", reply)
        elif reply is None or isinstance(reply, NullArray):
            self.add(b"f" if resp == 2 else b"n")
        elif isinstance(reply, Simple):
            self.add(b"s", reply.text)
        elif isinstance(reply, CommandError):
            self.add(b"e", text_of_error(reply))
        elif isinstance(reply, bool):
            self.add(b"v", int(reply)) if resp == 2 else self.add(b"t" if reply else b"f")
        elif isinstance(reply, float):
            self.add(b"v", format_double(reply)) if resp == 2 else self.add(b"d", reply)
        elif isinstance(reply, Verbatim):
            self.add(b"v", reply.text) if resp == 2 else self.add(b"x", reply.format, reply.text)
        elif isinstance(reply, Mapping):
            self.add(b"a", 2 * len(reply)) if resp == 2 else self.add(b"m", len(reply))
            for key, value in reply.items():
                self.add_reply(key, resp)
                self.add_reply(value, resp)
        elif isinstance(reply, AbstractSet):
            self.add(b"a" if resp == 2 else b"S", len(reply))
            for item in reply:
                self.add_reply(item, resp)
        elif isinstance(reply, Push):
            self._add_items(reply.items, resp)
        elif isinstance(reply, Sequence):
            self._add_items(reply, resp)
        else:
            self.add(b"n")

    def _add_items(self, items: Sequence[Reply], resp: int) -> None:
        self.add(b"a", len(items))
        for item in items:
            self.add_reply(item, resp)


def flat_items(reply: Sequence[Reply], resp: int) -> tuple[ToLua, int] | None:
    """(the values of a short array of strings and integers, their size in bytes); None for any other array."""
    if len(reply) > MOST_AT_ONCE:
        return None
    values: list[object] = [0, FLAT]
    size_bytes = BYTES_EACH * len(reply)
    for item in reply:
        if type(item) is bytes:
            size_bytes += len(item)
            values.append(item)
        elif type(item) is int:
            values.append(item)
        elif item is None and resp == 2:
            values.append(False)
        else:
            return None
    return tuple(values), size_bytes
