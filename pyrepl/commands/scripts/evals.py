"""EVAL, EVALSHA, and the forms that only read.

A script goes to replicas and into the append-only file as the commands that it ran, as one unit; never as itself.
Not here: SCRIPT (`script_admin`), how a script is run (`executing`).
"""

from __future__ import annotations

import hashlib
from typing import Final, final

from pyrepl.commands.engine.arguments import NOT_AN_INTEGER, integer_argument
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.table import (
    MAY_REPLICATE,
    MOVABLE_KEYS,
    NO_MANDATORY_KEYS,
    NO_MONITOR,
    NOSCRIPT,
    READONLY,
    STALE,
    Words,
    command,
    numkeys_at,
)
from pyrepl.commands.scripts.executing import execute, load
from pyrepl.errors import CommandError
from pyrepl.node.scripts import CachedScript
from pyrepl.resp.reply import Reply
from pyrepl.scripting.shebang import ShebangError, read_script

NOSCRIPT_TEXT: Final = "NOSCRIPT No matching script. Please use EVAL."
_FLAGS: Final = NOSCRIPT | STALE | NO_MONITOR | MOVABLE_KEYS | NO_MANDATORY_KEYS
_KEYS: Final = numkeys_at(2)
_SHA_BYTES: Final = 40


def script_of(call: Call, text: bytes, *, is_loaded: bool) -> CachedScript:
    """The cached script with this text, which is compiled and cached if it is new. Raises CommandError."""
    sha = hashlib.sha1(text).hexdigest().encode()
    found = call.node.scripts.find(sha)
    if found is not None:
        return found
    try:
        script = read_script(text)
    except ShebangError as error:
        raise CommandError(f"ERR {error}") from None
    return load(call, sha, text, script, is_loaded=is_loaded)


def keys_count(numkeys: bytes, words: list[bytes], complaint: str = NOT_AN_INTEGER) -> int:
    """How many of the words are keys. Raises CommandError, with Redis's text; `complaint` is for what is no integer."""
    count = integer_argument(numkeys, complaint)
    if count > len(words):
        raise CommandError("ERR Number of keys can't be greater than number of args")
    if count < 0:
        raise CommandError("ERR Number of keys can't be negative")
    return count


def show_to_monitors(call: Call) -> None:
    """MONITOR shows a script before the commands that it calls."""
    if call.node.monitors:
        call.node.show_monitors(call.client, call.argv, secret=False)


def _eval(call: Call, text: bytes, numkeys: bytes, words: list[bytes], *, is_read_only: bool) -> Reply:
    show_to_monitors(call)
    count = keys_count(numkeys, words)
    script = script_of(call, text, is_loaded=False)
    reply = execute(call, script, words, count, is_read_only=is_read_only)
    call.node.scripts.note_use(script.sha)
    return reply


def _evalsha(call: Call, sha: bytes, numkeys: bytes, words: list[bytes], *, is_read_only: bool) -> Reply:
    show_to_monitors(call)
    if len(sha) != _SHA_BYTES:
        raise CommandError(NOSCRIPT_TEXT)
    count = keys_count(numkeys, words)
    script = call.node.scripts.find(sha)
    if script is None:
        raise CommandError(NOSCRIPT_TEXT)
    reply = execute(call, script, words, count, is_read_only=is_read_only)
    call.node.scripts.note_use(script.sha)
    return reply


@command("EVAL", arity=-3, flags=_FLAGS | MAY_REPLICATE, keys=_KEYS, group="scripting", since="2.6.0")
def eval_(call: Call, text: bytes, numkeys: bytes, *words: bytes) -> Reply:
    """Run a Lua script"""
    return _eval(call, text, numkeys, list(words), is_read_only=False)


@final
class _Evalsha(Words):
    def run(self, call: Call, argv: list[bytes]) -> object:
        return _evalsha(call, argv[1], argv[2], argv[3:], is_read_only=False)


_EVALSHA: Final = _Evalsha()


@command(
    "EVALSHA", arity=-3, flags=_FLAGS | MAY_REPLICATE, keys=_KEYS, group="scripting", since="2.6.0", words=_EVALSHA
)
def evalsha(call: Call, sha: bytes, numkeys: bytes, *words: bytes) -> object:
    """Run a Lua script that the node has, by its SHA1"""
    return _EVALSHA.run(call, [b"EVALSHA", sha, numkeys, *words])


@command("EVAL_RO", arity=-3, flags=_FLAGS | READONLY, keys=_KEYS, group="scripting", since="7.0.0")
def eval_ro(call: Call, text: bytes, numkeys: bytes, *words: bytes) -> Reply:
    """Run a Lua script that only reads"""
    return _eval(call, text, numkeys, list(words), is_read_only=True)


@command("EVALSHA_RO", arity=-3, flags=_FLAGS | READONLY, keys=_KEYS, group="scripting", since="7.0.0")
def evalsha_ro(call: Call, sha: bytes, numkeys: bytes, *words: bytes) -> Reply:
    """Run a Lua script that only reads and that the node has, by its SHA1"""
    return _evalsha(call, sha, numkeys, list(words), is_read_only=True)
