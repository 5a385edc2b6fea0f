"""FUNCTION, FCALL and FCALL_RO: libraries of Lua functions, which are data: snapshots and replicas have them too.

How a library is loaded stands in `libraries`, how a function runs in `executing`.
"""

from __future__ import annotations

from typing import Final, final

from pyrepl.commands.describe.help import help_reply
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.gates import BUSY_SCRIPT
from pyrepl.commands.engine.table import (
    ALLOW_BUSY,
    DENYOOM,
    LOADING,
    MAY_REPLICATE,
    MOVABLE_KEYS,
    NO_MANDATORY_KEYS,
    NO_MONITOR,
    NOSCRIPT,
    READONLY,
    STALE,
    WRITE,
    Words,
    command,
    container,
    numkeys_at,
)
from pyrepl.commands.scripts.evals import keys_count, show_to_monitors
from pyrepl.commands.scripts.executing import execute_function, size_of
from pyrepl.commands.scripts.libraries import compiled, functions_of, interpreting_functions, interpreting_with_room
from pyrepl.commands.scripts.script_admin import kill
from pyrepl.errors import CommandError
from pyrepl.glob import Glob
from pyrepl.node.functions import Function, Functions, Library
from pyrepl.rdb.function_payload import decode_functions, encode_functions
from pyrepl.resp.reply import OK, Reply, Simple
from pyrepl.scripting.shebang import FLAGS
from pyrepl.words import to_text

_KEYS: Final = numkeys_at(2)
_CALL_FLAGS: Final = NOSCRIPT | STALE | NO_MONITOR | MOVABLE_KEYS | NO_MANDATORY_KEYS
_POLICIES: Final = (b"FLUSH", b"APPEND", b"REPLACE")
_HELP: Final = (
    "DELETE <library-name>",
    "    Delete a library with its functions.",
    "DUMP",
    "    Return all libraries as a payload for RESTORE.",
    "FLUSH [ASYNC|SYNC]",
    "    Delete all libraries.",
    "KILL",
    "    End the function that runs, if it has not written.",
    "LIST [LIBRARYNAME <pattern>] [WITHCODE]",
    "    Describe the libraries and their functions.",
    "LOAD [REPLACE] <function-code>",
    "    Load a library.",
    "RESTORE <payload> [FLUSH|APPEND|REPLACE]",
    "    Load the libraries of a payload: in place of all, beside them, or in place of those of the same name.",
    "STATS",
    "    Describe the function that runs, and count libraries and functions.",
)

function_ = container("FUNCTION", group="scripting", since="7.0.0", summary="A container for commands on functions")


@command("FUNCTION|LOAD", arity=-3, flags=WRITE | DENYOOM | NOSCRIPT, group="scripting", since="7.0.0")
def function_load(call: Call, *words: bytes) -> bytes:
    """Load a library of functions, and answer its name"""
    *options, text = words
    for option in options:
        if option.upper() != b"REPLACE":
            raise CommandError(f"ERR Unknown option given: {to_text(option)}")
    functions = functions_of(call)
    library = compiled(call, text, functions, replace=bool(options))
    functions.add(library)
    call.keyspace.dirty += 1
    return library.name


@command("FUNCTION|DELETE", arity=3, flags=WRITE | NOSCRIPT, group="scripting", since="7.0.0")
def function_delete(call: Call, name: bytes) -> Simple:
    """Delete a library with its functions"""
    functions = functions_of(call)
    if functions.library(name) is None:
        raise CommandError("ERR Library not found")
    functions.remove(name)
    interpreting_functions(call).machine.drop_library(name)
    call.keyspace.dirty += 1
    return OK


@command("FUNCTION|FLUSH", arity=-2, flags=WRITE | NOSCRIPT, group="scripting", since="7.0.0")
def function_flush(call: Call, *mode: bytes) -> Simple:
    """Delete all libraries"""
    if len(mode) > 1 or (mode and mode[0].upper() not in (b"ASYNC", b"SYNC")):
        raise CommandError("ERR FUNCTION FLUSH only supports SYNC|ASYNC option")
    call.node.functions.clear()
    call.node.scripts.functions_interpreter = None
    call.keyspace.dirty += 1
    return OK


@command("FUNCTION|LIST", arity=-2, flags=NOSCRIPT, group="scripting", since="7.0.0")
def function_list(call: Call, *words: bytes) -> list[Reply]:
    """Describe the libraries and their functions"""
    pattern: Glob | None = None
    with_code = False
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word.upper() == b"WITHCODE" and not with_code:
            with_code = True
        elif word.upper() == b"LIBRARYNAME" and pattern is None:
            if not rest:
                raise CommandError("ERR library name argument was not given")
            pattern = Glob(rest.pop(0).lower())
        else:
            raise CommandError(f"ERR Unknown argument {to_text(word)}")
    return [
        _described(library, with_code=with_code)
        for library in functions_of(call).libraries()
        if pattern is None or pattern.matches(library.name.lower())
    ]


def _described(library: Library, *, with_code: bool) -> dict[Reply, Reply]:
    functions: list[Reply] = [_function(function) for function in library.functions]
    described: dict[Reply, Reply] = {
        b"library_name": library.name,
        b"engine": b"LUA",
        b"functions": functions,
    }
    if with_code:
        described[b"library_code"] = library.text
    return described


def _function(function: Function) -> dict[Reply, Reply]:
    flags = frozenset(Simple(name) for name, flag in FLAGS.items() if function.flags & flag)
    return {b"name": function.name, b"description": function.description, b"flags": flags}


@command("FUNCTION|STATS", arity=2, flags=NOSCRIPT | ALLOW_BUSY, group="scripting", since="7.0.0")
def function_stats(call: Call) -> dict[Reply, Reply]:
    """Describe the function that runs, and count libraries and functions"""
    running = call.node.scripts.running
    shown: Reply = None
    if running is not None:
        if running.is_eval:
            raise CommandError(BUSY_SCRIPT)
        elapsed_ms = max(0, int((call.node.process.now - running.started_at) * 1000))
        shown = {b"name": running.name, b"command": list(running.argv), b"duration_ms": elapsed_ms}
        functions = call.node.functions
    else:
        functions = functions_of(call)
    counts: dict[Reply, Reply] = {
        b"libraries_count": len(functions),
        b"functions_count": functions.functions_count,
    }
    return {b"running_script": shown, b"engines": {b"LUA": counts}}


@command("FUNCTION|KILL", arity=2, flags=NOSCRIPT | ALLOW_BUSY, group="scripting", since="7.0.0")
def function_kill(call: Call) -> Simple:
    """End the function that runs"""
    return kill(call.node, is_eval=False, busy_text=BUSY_SCRIPT)


@command("FUNCTION|DUMP", arity=2, flags=NOSCRIPT, group="scripting", since="7.0.0")
def function_dump(call: Call) -> bytes:
    """Dump all libraries into a payload"""
    return encode_functions(call.node.functions.texts())


@command("FUNCTION|RESTORE", arity=-3, flags=WRITE | DENYOOM | NOSCRIPT, group="scripting", since="7.0.0")
def function_restore(call: Call, payload: bytes, *policies: bytes) -> Simple:
    """Load the libraries of a payload"""
    policy = policies[0].upper() if policies else b"APPEND"
    if len(policies) > 1:
        raise CommandError("ERR unknown subcommand or wrong number of arguments for 'RESTORE'. Try FUNCTION HELP.")
    if policy not in _POLICIES:
        raise CommandError("ERR Wrong restore policy given, value should be either FLUSH, APPEND or REPLACE.")
    texts = decode_functions(payload)
    functions = functions_of(call)
    kept = functions.texts()
    result = Functions()
    if policy != b"FLUSH":
        for library in functions.libraries():
            result.add(library)
    call.node.scripts.functions_interpreter = None
    try:
        for text in kept if policy != b"FLUSH" else ():
            result.add(compiled(call, text, result, replace=True))
        fresh = Functions()
        for text in texts:
            library = compiled(call, text, fresh, replace=False)
            fresh.add(library)
            if policy == b"APPEND" and result.library(library.name) is not None:
                raise CommandError(f"ERR Library {library.name.decode()} already exists")
            complaint = result.why_not_add(library)
            if complaint is not None:
                raise CommandError(f"ERR {complaint}")
            result.add(library)
    except CommandError:
        call.node.scripts.functions_interpreter = None
        functions.take(kept)
        raise
    call.node.functions = result
    call.keyspace.dirty += 1
    return OK


@command("FUNCTION|HELP", arity=2, flags=LOADING | STALE, group="scripting", since="7.0.0")
def function_help(call: Call) -> list[Simple]:
    """Show what FUNCTION can do"""
    return help_reply("FUNCTION", *_HELP)


def _fcall(call: Call, name: bytes, numkeys: bytes, words: list[bytes], *, is_read_only: bool) -> Reply:
    show_to_monitors(call)
    if functions_of(call).find(name) is None:
        raise CommandError("ERR Function not found")
    count = keys_count(numkeys, words, "ERR Bad number of keys provided")
    engine = interpreting_with_room(call, size_of(words))
    found = call.node.functions.find(name)
    if found is None:
        raise CommandError("ERR Function not found")
    return execute_function(call, engine, found, words, count, is_read_only=is_read_only)


@final
class _Fcall(Words):
    def run(self, call: Call, argv: list[bytes]) -> object:
        return _fcall(call, argv[1], argv[2], argv[3:], is_read_only=False)


_FCALL: Final = _Fcall()


@command(
    "FCALL", arity=-3, flags=_CALL_FLAGS | MAY_REPLICATE, keys=_KEYS, group="scripting", since="7.0.0", words=_FCALL
)
def fcall(call: Call, name: bytes, numkeys: bytes, *words: bytes) -> object:
    """Call a function"""
    return _FCALL.run(call, [b"FCALL", name, numkeys, *words])


@command("FCALL_RO", arity=-3, flags=_CALL_FLAGS | READONLY, keys=_KEYS, group="scripting", since="7.0.0")
def fcall_ro(call: Call, name: bytes, numkeys: bytes, *words: bytes) -> Reply:
    """Call a function that only reads"""
    return _fcall(call, name, numkeys, list(words), is_read_only=True)
