"""Commands that pop from sorted sets and wait where there is nothing: BZPOPMIN, BZPOPMAX, BZMPOP.

They wait as those on lists do (`collections.blocking_lists`). Propagation: as ZPOPMIN and ZPOPMAX.
"""

from __future__ import annotations

from pyrepl.commands.collections.lists import multi_pop_arguments
from pyrepl.commands.engine.arguments import timeout_argument
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.effects import WaitForKeys
from pyrepl.commands.engine.table import ALL_BUT_LAST, BLOCKING, FAST, MOVABLE_KEYS, WRITE, command, numkeys_at
from pyrepl.commands.zsets.zsets import pop_of_several
from pyrepl.keyspace import zset_verbs
from pyrepl.resp.reply import NULL_ARRAY, Reply


@command("BZPOPMIN", arity=-3, flags=WRITE | FAST | BLOCKING, keys=ALL_BUT_LAST, group="sorted-set", since="5.0.0")
def bzpopmin(call: Call, *words: bytes) -> Reply | WaitForKeys:
    """Remove and return the member with the lowest score of the first sorted set that has one, or wait for it; its key,
    the member and the score."""
    return _pop(call, words[:-1], words[-1], False)


@command("BZPOPMAX", arity=-3, flags=WRITE | FAST | BLOCKING, keys=ALL_BUT_LAST, group="sorted-set", since="5.0.0")
def bzpopmax(call: Call, *words: bytes) -> Reply | WaitForKeys:
    """Remove and return the member with the highest score of the first sorted set that has one, or wait for it; its
    key, the member and the score."""
    return _pop(call, words[:-1], words[-1], True)


def _pop(call: Call, keys: tuple[bytes, ...], timeout: bytes, highest: bool) -> Reply | WaitForKeys:
    timeout_ms = timeout_argument(timeout, call.now_ms)
    for key in keys:
        taken = zset_verbs.pop_several(call.db, key, 1, highest)
        if taken:
            call.rewrite(b"ZPOPMAX" if highest else b"ZPOPMIN", key)
            score, member = taken[0]
            return [key, member, score]
    return _wait(call, keys, timeout_ms) if call.may_wait else NULL_ARRAY


@command(
    "BZMPOP", arity=-5, flags=WRITE | BLOCKING | MOVABLE_KEYS, keys=numkeys_at(2), group="sorted-set", since="7.0.0"
)
def bzmpop(call: Call, timeout: bytes, *arguments: bytes) -> Reply | WaitForKeys:
    """Pop members from the first non-empty sorted set of several, or wait for them; the sorted set's key, the members
    and their scores."""
    asked = multi_pop_arguments(arguments, (b"MIN", b"MAX"))
    timeout_ms = timeout_argument(timeout, call.now_ms)
    found = pop_of_several(call, asked)
    return _wait(call, asked.keys, timeout_ms) if found is NULL_ARRAY and call.may_wait else found


def _wait(call: Call, keys: tuple[bytes, ...], timeout_ms: int) -> WaitForKeys:
    return WaitForKeys(keys, "zset", timeout_ms, tuple(call.argv))
