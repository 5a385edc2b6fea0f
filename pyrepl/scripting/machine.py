"""The Lua interpreter: compiles scripts, runs them, and answers the calls they make.

What scripts see stands in lua/sandbox.lua. Python's side gives Lua functions alone, which take and return strings,
numbers and booleans, and never raise: an exception would become an object in Lua. `Door` is who runs the commands.

Memory is bounded by the allocator. Lua may raise in any allocation, by a jump that Python's own code must not be in the
way of. So before Lua calls Python a reserve must be left (`leave_room` in the sandbox); what Python gives back is
measured before; and a script begins with half of the memory free, or in a new interpreter.
"""

from __future__ import annotations

import hashlib
import pkgutil
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, Protocol, TypeAlias, final

from lupa.lua51 import LuaError, LuaRuntime

from pyrepl.errors import CommandError
from pyrepl.resp.doubles import format_double
from pyrepl.resp.reply import NullArray, Raw, Reply, Simple
from pyrepl.scripting import numbers
from pyrepl.scripting.bytecode import without_tail_calls
from pyrepl.scripting.decoding import DecodingError, decode_json, decode_msgpack
from pyrepl.scripting.packing import PackingError, pack_float, struct_pack, struct_size, struct_unpack
from pyrepl.scripting.values import (
    ERROR,
    NESTED,
    STATUS,
    ScriptFailed,
    Tokens,
    ToLua,
    flat_items,
    text_of_error,
    word_of,
)
from pyrepl.words import to_text

KILLED: Final = b"Script killed by user with SCRIPT KILL."
KILLED_FUNCTION: Final = b"Script killed by user with FUNCTION KILL."
NO_MEMORY: Final = b"not enough memory"
_FILES: Final = ("patterns", "values", "cjson", "cmsgpack", "sandbox", "libraries")
_RESERVE: Final = 1 << 20
"""Bytes that must be left before Lua calls Python."""
_SMALL: Final = 1 << 16
"""A reply of so many bytes fits into the reserve, and is not measured."""
_MOST_WORDS: Final = 4000
"""More words than these go to Lua in pieces: its stack holds 8000 values."""
_RAW: Final = 1
_FAILED: Final = 2
_NOT_A_WORD: Final = b"ERR Lua redis lib command arguments must be strings or integers"
_NO_WORDS: Final = b"ERR Please specify at least one argument for this redis lib call"
_INT64: Final = 1 << 63
_INT64_AS_FLOAT: Final = float(1 << 63)


class Door(Protocol):
    """What scripts may ask of the world."""

    def call(self, argv: list[bytes]) -> Reply:
        """Run a command; its error is the reply."""

    def interrupt(self) -> bool:
        """Called every 100000 instructions. Must the script end?"""

    def set_resp(self, version: int) -> None:
        """The commands that follow answer in RESP `version`."""

    def log(self, level: int, text: bytes) -> None:
        """Write a line to the log; `level` from 0, debug, to 3, warning."""

    def set_repl(self, flags: int) -> None:
        """Whether the commands that follow are propagated: 1 to the append-only file, 2 to replicas, 3 to both."""

    def may_call(self, argv: list[bytes]) -> bool | None:
        """Has the user the right to this command? None if there is no such command."""

    def cpu_s(self) -> float:
        """Seconds of processor time."""


Runner: TypeAlias = Callable[..., Any]
"""A function of Lua that runs a script or a function of a library: see `Machine.run`."""


class Registered(NamedTuple):
    """A function that a library has registered; `flags` as in shebang.py."""

    name: bytes
    description: bytes | None
    flags: int


@final
class Machine:
    """One interpreter. Compiled scripts are kept in it under ids that the caller chooses.

    Invariants: `resp` is 2 when a script begins. Nothing of one script is seen by the next, but for the numbers that
    the random generator has given.
    """

    def __init__(
        self, door: Door, version: str, most_bytes: int, drand: numbers.Drand48, killed: bytes = KILLED
    ) -> None:
        """`version` is the Redis that scripts are told; `most_bytes` bounds the memory of all scripts and values;
        `killed` is the error of a script that was ended."""
        self._door = door
        self._most_bytes = most_bytes
        self._drand = drand
        self._ask: Callable[[list[bytes]], Reply] = door.call
        self.resp = 2
        self._scripts: dict[bytes, Runner] = {}
        self._libraries: dict[bytes, dict[bytes, Runner]] = {}
        self._registered: list[Registered] = []
        self._words: list[bytes] = []
        self._words_fit = True
        self._tokens = Tokens()
        self.defect: BaseException | None = None
        """An exception from a defect of ours, while a script ran: it must not reach Lua."""
        self._lua = LuaRuntime(
            encoding=None,
            register_eval=False,
            register_builtins=False,
            unpack_returned_tuples=True,
            attribute_handlers=(_refuse_attribute, _refuse_attribute),
            max_memory=most_bytes,
        )
        self._memory_used = self._lua.get_memory_used
        self._host = host = self._lua.table()
        as_function = self._lua.globals()[b"python"][b"as_function"]
        for name, function in self._functions().items():
            host[name] = as_function(_shielded(self, function))
        host[b"call"] = as_function(self._call)
        host[b"killed"], host[b"soft_kb"] = killed, (most_bytes - _RESERVE) / 1024
        host[b"version"], host[b"version_number"] = version.encode(), _number_of(version)
        self._load()
        self._compile = host[b"compile"]

    def _load(self) -> None:
        """Run the files of the sandbox, then leave the interpreter's own globals empty."""
        null = self._lua.globals()[b"newproxy"](False)
        made: list[Any] = []
        for name in _FILES:
            arguments = (
                (null,) if name in ("values", "cjson", "cmsgpack") else (null, *made) if name == "sandbox" else ()
            )
            result = self._lua.execute(_source_of(name), self._host, *arguments, name=b"=sandbox")
            if name in ("cjson", "cmsgpack"):
                made.append(result)
        self._lua.execute(b"local g = _G for name in pairs(g) do g[name] = nil end", name=b"=sandbox")

    @property
    def used_bytes(self) -> int:
        """The memory that Lua has taken."""
        used: int = self._memory_used(True)
        return used

    def compile(self, script_id: bytes, code: bytes, name: bytes) -> str | None:
        """Keep a script under an id. Returns the compiler's complaint, or None. `name` is `@user_script`."""
        if not self.make_room(len(code)) and not self.fits(len(code)):
            return NO_MEMORY.decode()
        try:
            runner = self._compile(code, name)
        except LuaError:
            return NO_MEMORY.decode()
        if type(runner) is bytes:
            return to_text(runner)
        self._scripts[script_id] = runner
        return None

    def script(self, script_id: bytes) -> Runner | None:
        """What runs the script that is kept under this id; None if there is none."""
        return self._scripts.get(script_id)

    def forget(self, script_id: bytes) -> None:
        """Drop a script. Harmless if there is none."""
        self._scripts.pop(script_id, None)

    def has_room(self, more_bytes: int) -> bool:
        """Is half of the memory free, and as much as these bytes may take?"""
        return self.used_bytes + 2 * more_bytes < self._most_bytes // 2

    def make_room(self, more_bytes: int) -> bool:
        """Collect garbage if memory is short. Returns whether there is room afterwards."""
        if self.has_room(more_bytes):
            return True
        self._host[b"collect"]()
        return self.has_room(more_bytes)

    def fits(self, more_bytes: int) -> bool:
        """Can Lua be given so many bytes? It must not be given more: it would end the process."""
        return self.used_bytes + more_bytes + _RESERVE < self._most_bytes

    def load_library(self, code: bytes) -> tuple[str | None, list[Registered]]:
        """Run the code of a library. Returns its complaint, or None and the functions that it registers, which are kept
        by `keep_library`."""
        if not self.make_room(len(code)) and not self.fits(len(code)):
            return f"Error compiling function: {NO_MEMORY.decode()}", []
        try:
            complaint = self._host[b"load_library"](code)
        except LuaError as error:
            complaint = str(error).encode("latin-1", "replace")
        self._raise_defect()
        if complaint is not None:
            return to_text(complaint), []
        found: list[Registered] = []
        while (one := self._host[b"registered"](len(found) + 1)) is not None:
            name, description, flags = one
            found.append(Registered(name, description or None, int(flags)))
        self._registered = found
        return None, found

    def keep_library(self, name: bytes | None) -> None:
        """Keep what the library that was loaded last registers, in place of what it had; with None, forget it."""
        if name is not None:
            runner = self._host[b"runner"]
            self._libraries[name] = {one.name: runner(place) for place, one in enumerate(self._registered, 1)}
        self._registered = []
        self._host[b"forget_loaded"]()

    def drop_library(self, name: bytes) -> None:
        """Forget a library."""
        del self._libraries[name]

    def function(self, library: bytes, name: bytes) -> Runner:
        """What runs a function of a library that is kept."""
        return self._libraries[library][name]

    def run(self, runner: Runner, words: Sequence[bytes], keys: int, proto: int) -> Reply:
        """Run a script or function with its KEYS, the first `keys` of the words, and its ARGV, the others. The words
        must fit (`fits`), with BYTES_EACH for each. Returns the reply for a client that speaks RESP version `proto`.
        Raises ScriptFailed."""
        self.resp = 2
        if len(words) > _MOST_WORDS:
            for start in range(0, len(words), _MOST_WORDS):
                self._host[b"more"](*words[start : start + _MOST_WORDS])
            words = ()
        # Tuples are added, as mypyc makes a list of what is unpacked beside something else.
        given: tuple[Any, ...] = (proto, keys)
        try:
            result = runner(*(given + tuple(words)))
        except LuaError as error:
            text = str(error).encode("latin-1", "replace")
            raise ScriptFailed(b"ERR " + (text or NO_MEMORY)) from None
        finally:
            self._raise_defect()
        kind = type(result)
        if kind is bytes or kind is int or result is None:
            whole: Reply = result
            return whole
        if kind is tuple:
            text, sort = result[0], result[1]
            if sort == _RAW:
                return Raw(text)
            if sort == _FAILED:
                raise ScriptFailed(text, result[2] or b"", result[3] or b"", is_counted=bool(result[4]))
            raise ScriptFailed(b"ERR " + text)
        return _whole(result)

    def _raise_defect(self) -> None:
        """Raise the exception that was kept from Lua, if there is one."""
        if self.defect is not None:
            defect, self.defect = self.defect, None
            raise defect

    def _functions(self) -> dict[bytes, Callable[..., ToLua]]:
        """What the sandbox calls, by the names it knows."""
        door = self._door
        return {
            b"call_many": self._call_many,
            b"fetch": self._fetch,
            b"interrupt": door.interrupt,
            b"log": door.log,
            b"setresp": self._set_resp,
            b"set_repl": lambda flags: door.set_repl(int(flags)),
            b"acl_check_cmd": self._acl_check_cmd,
            b"clock": door.cpu_s,
            b"sha1hex": lambda text: hashlib.sha1(text).hexdigest().encode(),
            b"format_double": lambda number: format_double(float(number)),
            b"find": _find,
            b"untail": lambda code: without_tail_calls(code, 0),
            b"untail_library": lambda code: without_tail_calls(code, 1),
            b"random": self._drand.draw,
            b"randomseed": self._drand.seed,
            b"json_decode": self._json_decode,
            b"msgpack_unpack": self._msgpack_unpack,
            b"pack_float": lambda number: pack_float(float(number)),
            b"struct_pack": self._struct_pack,
            b"struct_size": _struct_size,
            b"struct_unpack": self._struct_unpack,
            **_bit_functions(),
        }

    def _call(self, *arguments: object) -> ToLua:
        """redis.call and redis.pcall, which differ in Lua alone. Without arguments the words are those collected. Hot,
        so the shield is here (`_shielded`)."""
        try:
            return self._answer(arguments)
        except Exception as error:
            self.defect = error
            return b"ERR internal error", ERROR

    def _answer(self, arguments: tuple[object, ...]) -> ToLua:
        argv: list[bytes] = []
        for argument in arguments:
            if type(argument) is bytes:
                argv.append(argument)
                continue
            word = word_of(argument)
            if word is None:
                return _NOT_A_WORD, ERROR
            argv.append(word)
        if not argv:
            argv, self._words = self._words, []
            fit, self._words_fit = self._words_fit, True
            if not fit:
                return _NOT_A_WORD, ERROR
            if not argv:
                return _NO_WORDS, ERROR
        reply = self._ask(argv)
        kind = type(reply)
        if kind is int:
            return reply
        if kind is bytes:
            if len(reply) > _SMALL and not self.fits(len(reply)):  # type: ignore[arg-type]
                return b"ERR " + NO_MEMORY, ERROR
            return reply
        if kind is Simple:
            return reply.text, STATUS  # type: ignore[union-attr]
        if reply is None or isinstance(reply, NullArray):
            return False if self.resp == 2 else None
        if isinstance(reply, CommandError):
            return text_of_error(reply), ERROR
        return self._aggregate(reply)

    def _call_many(self, *arguments: object) -> None:
        """Collect words of a call that has many."""
        for argument in arguments:
            word = word_of(argument)
            if word is None:
                self._words_fit = False
            else:
                self._words.append(word)

    def _aggregate(self, reply: Reply) -> ToLua:
        if type(reply) is list:
            flat = flat_items(reply, self.resp)
            if flat is not None:
                values, size_bytes = flat
                if size_bytes > _SMALL and not self.fits(size_bytes):
                    return b"ERR " + NO_MEMORY, ERROR
                return values
        tokens = Tokens()
        tokens.add_reply(reply, self.resp)
        return self._given(tokens, b"ERR ")

    def _given(self, tokens: Tokens, prefix: bytes = b"") -> ToLua:
        """Hold tokens for `_fetch`, and return what announces them; an error if they do not fit into memory."""
        if tokens.size_bytes > _SMALL and not self.fits(2 * tokens.size_bytes):
            return (prefix + NO_MEMORY, ERROR) if prefix else (None, NO_MEMORY)
        self._tokens = tokens
        return (tokens.kinds, NESTED) if prefix else tokens.kinds

    def _fetch(self) -> ToLua:
        return self._tokens.take()

    def _set_resp(self, version: float) -> None:
        self.resp = int(version)
        self._door.set_resp(self.resp)

    def _acl_check_cmd(self, *arguments: object) -> ToLua:
        words = [word_of(argument) for argument in arguments]
        if not words:
            return _NO_WORDS, ERROR
        argv = [word for word in words if word is not None]
        if len(argv) < len(words):
            return _NOT_A_WORD, ERROR
        allowed = self._door.may_call(argv)
        return (b"ERR Invalid command passed to redis.acl_check_cmd()", ERROR) if allowed is None else allowed

    def _json_decode(self, text: bytes, deepest: float, invalid_numbers: bool) -> ToLua:
        try:
            return self._given(decode_json(text, int(deepest), invalid_numbers))
        except DecodingError as error:
            return None, str(error).encode()

    def _msgpack_unpack(self, data: bytes, most: object, offset: object) -> ToLua:
        if not isinstance(most, int | float) or not isinstance(offset, int | float):
            return None, b"bad argument (number expected)"
        try:
            return self._given(decode_msgpack(data, int(most), int(offset)))
        except DecodingError as error:
            return None, str(error).encode()

    def _struct_pack(self, form: object = None, *values: object) -> ToLua:
        if not isinstance(form, bytes):
            return None, b"bad argument #1 to 'pack' (string expected)"
        try:
            packed = struct_pack(form.decode("latin-1"), list(values), self._most_bytes // 4)
        except PackingError as error:
            return None, str(error).encode()
        return packed if self.fits(len(packed)) else (None, NO_MEMORY)

    def _struct_unpack(self, form: object = None, data: object = None, position: object = 1) -> ToLua:
        if not isinstance(form, bytes) or not isinstance(data, bytes):
            return None, b"bad argument #2 to 'unpack' (string expected)"
        if not isinstance(position, int | float):
            return None, b"bad argument #3 to 'unpack' (number expected)"
        try:
            return self._given(struct_unpack(form.decode("latin-1"), data, int(position)))
        except PackingError as error:
            return None, str(error).encode()


def _shielded(machine: Machine, function: Callable[..., ToLua]) -> Callable[..., ToLua]:
    """The function as Lua gets it: what it raises ends the script, and is raised again behind Lua."""

    def call(*arguments: object) -> ToLua:
        try:
            return function(*arguments)
        except Exception as error:
            machine.defect = error
            return b"ERR internal error", ERROR

    return call


def _refuse_attribute(*_: object) -> None:
    raise AttributeError("not for Lua")


def _source_of(name: str) -> bytes:
    source = pkgutil.get_data("pyrepl.scripting", f"lua/{name}.lua")
    assert source is not None
    return source


def _number_of(version: str) -> int:
    """8.2.3 as REDIS_VERSION_NUM."""
    major, minor, patch = (int(part) for part in version.split("."))
    return major << 16 | minor << 8 | patch


def _whole(number: float) -> int:
    """A number as the integer of a reply: cut towards zero, as C does it."""
    if -_INT64_AS_FLOAT <= number < _INT64_AS_FLOAT:
        return int(number)
    return -_INT64


def _find(text: bytes, wanted: bytes, start: float) -> int | None:
    """string.find of a plain text, in linear time."""
    at = text.find(wanted, int(start) - 1)
    return None if at < 0 else at + 1


def _struct_size(form: object = None, *_: object) -> ToLua:
    if not isinstance(form, bytes):
        return None, b"bad argument #1 to 'size' (string expected)"
    try:
        return struct_size(form.decode("latin-1"))
    except PackingError as error:
        return None, str(error).encode()


def _bit_functions() -> dict[bytes, Callable[..., ToLua]]:
    """The library bit. An argument that is no number gives (None, what is wrong)."""

    def made(name: str, compute: Callable[[list[int]], ToLua], least: int) -> Callable[..., ToLua]:
        def call(*arguments: object) -> ToLua:
            given: list[int] = []
            for place, argument in enumerate(arguments):
                number = numbers.as_number(argument)
                if number is None:
                    kind = numbers.kind_of(argument)
                    return None, f"#{place + 1} to '{name}' (number expected, got {kind})".encode()
                given.append(numbers.bits_of(number))
            if len(given) < least:
                return None, f"#{len(given) + 1} to '{name}' (number expected, got no value)".encode()
            return compute(given)

        return call

    def folded(fold: Callable[[int, int], int]) -> Callable[[list[int]], int]:
        def compute(given: list[int]) -> int:
            result = given[0]
            for number in given[1:]:
                result = fold(result, number)
            return numbers.signed(result)

        return compute

    functions: dict[bytes, Callable[..., ToLua]] = {
        b"bit_tobit": made("tobit", lambda given: numbers.signed(given[0]), 1),
        b"bit_bnot": made("bnot", lambda given: numbers.signed(~given[0]), 1),
        b"bit_bswap": made(
            "bswap", lambda given: numbers.signed(int.from_bytes(given[0].to_bytes(4, "little"), "big")), 1
        ),
        b"bit_tohex": made(
            "tohex", lambda given: numbers.as_hex(given[0], numbers.signed(given[1]) if given[1:] else 8), 1
        ),
        b"bit_band": made("band", folded(lambda a, b: a & b), 1),
        b"bit_bor": made("bor", folded(lambda a, b: a | b), 1),
        b"bit_bxor": made("bxor", folded(lambda a, b: a ^ b), 1),
    }
    for name in ("lshift", "rshift", "arshift", "rol", "ror"):
        functions[b"bit_" + name.encode()] = made(
            name,
            lambda given, name=name: numbers.signed(numbers.shifted(name, given[0], given[1])),  # type: ignore[misc]
            2,
        )
    return functions
