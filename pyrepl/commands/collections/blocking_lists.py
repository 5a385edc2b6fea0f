"""Commands that pop from lists and wait where there is nothing: BLPOP, BRPOP, BLMOVE, BRPOPLPUSH, BLMPOP.

Each is tried again, whole, when one of its keys becomes ready (`WaitForKeys`). Where it may not wait, in a transaction
or a script, it answers at once that there is nothing. It propagates what was done: LPOP, RPOP, LMOVE or RPOPLPUSH.
Order of checks, replies and texts are Redis 8.2's.
"""

from __future__ import annotations

from pyrepl.commands.collections.lists import is_left, multi_pop_arguments, pop_of_several
from pyrepl.commands.engine.arguments import timeout_argument
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.effects import WaitForKeys
from pyrepl.commands.engine.table import (
    ALL_BUT_LAST,
    BLOCKING,
    DENYOOM,
    FIRST_TWO,
    MOVABLE_KEYS,
    WRITE,
    command,
    numkeys_at,
)
from pyrepl.keyspace import list_verbs
from pyrepl.resp.reply import NULL_ARRAY, NullArray, Reply


@command("BLPOP", arity=-3, flags=WRITE | BLOCKING, keys=ALL_BUT_LAST, group="list", since="2.0.0")
def blpop(call: Call, *words: bytes) -> WaitForKeys | list[bytes] | NullArray:
    """Remove and return the first element of the first list that has one, or wait for it; its key and the element."""
    return _pop(call, words[:-1], words[-1], True)


@command("BRPOP", arity=-3, flags=WRITE | BLOCKING, keys=ALL_BUT_LAST, group="list", since="2.0.0")
def brpop(call: Call, *words: bytes) -> WaitForKeys | list[bytes] | NullArray:
    """Remove and return the last element of the first list that has one, or wait for it; its key and the element."""
    return _pop(call, words[:-1], words[-1], False)


def _pop(call: Call, keys: tuple[bytes, ...], timeout: bytes, left: bool) -> WaitForKeys | list[bytes] | NullArray:
    timeout_ms = timeout_argument(timeout, call.now_ms)
    for key in keys:
        element = list_verbs.pop(call.db, key, left)
        if element is not None:
            call.rewrite(b"LPOP" if left else b"RPOP", key)
            return [key, element]
    return _wait(call, keys, timeout_ms) if call.may_wait else NULL_ARRAY


@command("BLMOVE", arity=6, flags=WRITE | DENYOOM | BLOCKING, keys=FIRST_TWO, group="list", since="6.2.0")
def blmove(
    call: Call, source: bytes, destination: bytes, from_side: bytes, to_side: bytes, timeout: bytes
) -> WaitForKeys | bytes | None:
    """Move an element from one end of a list to one end of another, or of the same, or wait for it; the element."""
    from_left = is_left(from_side)
    to_left = is_left(to_side)
    timeout_ms = timeout_argument(timeout, call.now_ms)
    element = list_verbs.move(call.db, source, destination, from_left, to_left)
    if element is not None:
        call.rewrite(b"LMOVE", source, destination, from_side, to_side)
        return element
    return _wait(call, (source,), timeout_ms) if call.may_wait else None


@command("BRPOPLPUSH", arity=4, flags=WRITE | DENYOOM | BLOCKING, keys=FIRST_TWO, group="list", since="2.2.0")
def brpoplpush(call: Call, source: bytes, destination: bytes, timeout: bytes) -> WaitForKeys | bytes | None:
    """Move the last element of a list to the head of another, or of the same, or wait for it; the element."""
    timeout_ms = timeout_argument(timeout, call.now_ms)
    element = list_verbs.move(call.db, source, destination, False, True)
    if element is not None:
        call.rewrite(b"RPOPLPUSH", source, destination)
        return element
    return _wait(call, (source,), timeout_ms) if call.may_wait else None


@command("BLMPOP", arity=-5, flags=WRITE | BLOCKING | MOVABLE_KEYS, keys=numkeys_at(2), group="list", since="7.0.0")
def blmpop(call: Call, timeout: bytes, *arguments: bytes) -> Reply | WaitForKeys:
    """Pop elements from the first non-empty list of several, or wait for them; the list's key and the elements."""
    asked = multi_pop_arguments(arguments, (b"LEFT", b"RIGHT"))
    timeout_ms = timeout_argument(timeout, call.now_ms)
    found = pop_of_several(call, asked)
    return _wait(call, asked.keys, timeout_ms) if found is NULL_ARRAY and call.may_wait else found


def _wait(call: Call, keys: tuple[bytes, ...], timeout_ms: int) -> WaitForKeys:
    return WaitForKeys(keys, "list", timeout_ms, tuple(call.argv))
