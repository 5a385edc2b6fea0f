"""Commands on lists: pushing, popping, reading and moving elements. No blocking forms.

A list is a deque: both ends are O(1), an index costs a hop per 64 elements from the nearer end. Searching, inserting
and removing inside a list (LINSERT, LREM, LPOS, LSET) stand in `list_edits`.
Dirty counts, replies and texts are Redis 7.0's.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from itertools import islice
from typing import Final, final

from pyrepl.commands.arguments import integer_argument, syntax_error
from pyrepl.commands.call import Call
from pyrepl.commands.key_counts import counted_keys, pop_count_argument
from pyrepl.commands.table import (
    DENYOOM,
    FAST,
    FIRST_ARG,
    FIRST_TWO,
    MOVABLE_KEYS,
    READONLY,
    WRITE,
    Words,
    command,
    numkeys_at,
)
from pyrepl.errors import CommandError
from pyrepl.keyspace.packed import PackedList
from pyrepl.keyspace.values import ListValue, Value, wrong_type
from pyrepl.rdb.compiled import edits
from pyrepl.resp.reply import NULL_ARRAY, OK, NullArray, Simple

_COUNT_COMPLAINT: Final = "ERR count should be greater than 0"

_APPEND: Final[Callable[[deque[bytes], bytes], None]] = deque.append
_APPENDLEFT: Final[Callable[[deque[bytes], bytes], None]] = deque.appendleft
"""Looked up once: a method of a type that is not compiled is found by its name, each time."""


@final
class _Lpush(Words):
    def run(self, call: Call, argv: list[bytes]) -> object:
        db = call.db
        key = argv[1]
        count = len(argv) - 2
        value = db.find_kept(key)
        if type(value) is not ListValue:
            return _push_packed(call, key, value, tuple(argv[2:]), True)
        assert isinstance(value, ListValue)
        if count == 1:
            _APPENDLEFT(value.items, argv[2])
        else:
            value.items.extendleft(argv[2:])
        db.changed(key, count)
        return len(value.items)


_LPUSH: Final = _Lpush()


@command("LPUSH", arity=-3, flags=WRITE | DENYOOM | FAST, keys=FIRST_ARG, group="list", words=_LPUSH)
def lpush(call: Call, key: bytes, *elements: bytes) -> object:
    """Prepend elements to a list, creating it if need be; its new length."""
    return _LPUSH.run(call, [b"LPUSH", key, *elements])


@final
class _Rpush(Words):
    def run(self, call: Call, argv: list[bytes]) -> object:
        db = call.db
        key = argv[1]
        count = len(argv) - 2
        value = db.find_kept(key)
        if type(value) is not ListValue:
            return _push_packed(call, key, value, tuple(argv[2:]), False)
        assert isinstance(value, ListValue)
        if count == 1:
            _APPEND(value.items, argv[2])
        else:
            value.items.extend(argv[2:])
        db.changed(key, count)
        return len(value.items)


_RPUSH: Final = _Rpush()


@command("RPUSH", arity=-3, flags=WRITE | DENYOOM | FAST, keys=FIRST_ARG, group="list", words=_RPUSH)
def rpush(call: Call, key: bytes, *elements: bytes) -> object:
    """Append elements to a list, creating it if need be; its new length."""
    return _RPUSH.run(call, [b"RPUSH", key, *elements])


def _push_packed(call: Call, key: bytes, kept: Value | None, elements: tuple[bytes, ...], left: bool) -> int:
    """Push to what `find_kept` gave, which is no ListValue: a list is made packed, and stays so while it is small."""
    db = call.db
    if kept is None:
        made = edits.packed_list(PackedList, elements, left)
        db.put(key, ListValue(deque(elements[::-1] if left else elements)) if made is None else made)
        db.changed(key, len(elements))
        return len(elements)
    if type(kept) is not PackedList:
        raise wrong_type()
    size = edits.push(db.values, key, kept, elements, left)
    if size < 0:
        value = db.find_as(ListValue, key)
        assert value is not None
        if left:
            value.items.extendleft(elements)
        else:
            value.items.extend(elements)
        size = len(value.items)
    db.changed(key, len(elements))
    return size


@command("LPUSHX", arity=-3, flags=WRITE | DENYOOM | FAST, keys=FIRST_ARG, group="list", since="2.2.0")
def lpushx(call: Call, key: bytes, *elements: bytes) -> int:
    """Prepend elements to a list only if it exists; its new length."""
    value = call.db.find_as(ListValue, key)
    if value is None:
        return 0
    value.items.extendleft(elements)
    call.db.changed(key, len(elements))
    return len(value.items)


@command("RPUSHX", arity=-3, flags=WRITE | DENYOOM | FAST, keys=FIRST_ARG, group="list", since="2.2.0")
def rpushx(call: Call, key: bytes, *elements: bytes) -> int:
    """Append elements to a list only if it exists; its new length."""
    value = call.db.find_as(ListValue, key)
    if value is None:
        return 0
    value.items.extend(elements)
    call.db.changed(key, len(elements))
    return len(value.items)


@final
class _Lpop(Words):
    def run(self, call: Call, argv: list[bytes]) -> object:
        if len(argv) > 2:
            return _pop_counted(call, argv[1], tuple(argv[2:]), True, "lpop")
        return _pop_first(call, argv[1])


_LPOP: Final = _Lpop()


@command("LPOP", arity=-2, flags=WRITE | FAST, keys=FIRST_ARG, group="list", words=_LPOP)
def lpop(call: Call, key: bytes, *counts: bytes) -> object:
    """Remove and return the first elements of a list."""
    return _LPOP.run(call, [b"LPOP", key, *counts])


def _pop_first(call: Call, key: bytes) -> bytes | None:
    db = call.db
    value = db.find_kept(key)
    if type(value) is not ListValue:
        return _pop_packed(call, key, value, True)
    assert isinstance(value, ListValue)
    element = value.items.popleft()
    if not value.items:
        db.delete(key)
    db.changed(key, 1)
    return element


@command("RPOP", arity=-2, flags=WRITE | FAST, keys=FIRST_ARG, group="list")
def rpop(call: Call, key: bytes, *counts: bytes) -> bytes | list[bytes] | NullArray | None:
    """Remove and return the last elements of a list."""
    if counts:
        return _pop_counted(call, key, counts, False, "rpop")
    db = call.db
    value = db.find_kept(key)
    if type(value) is not ListValue:
        return _pop_packed(call, key, value, False)
    assert isinstance(value, ListValue)
    element = value.items.pop()
    if not value.items:
        db.delete(key)
    db.changed(key, 1)
    return element


def _pop_packed(call: Call, key: bytes, kept: Value | None, left: bool) -> bytes | None:
    """Pop from what `find_kept` gave, which is no ListValue."""
    if kept is None:
        return None
    if type(kept) is not PackedList:
        raise wrong_type()
    db = call.db
    element: bytes | None = edits.pop(db.values, key, kept, left)
    if element is None:
        value = db.find_as(ListValue, key)
        assert value is not None
        element = value.items.popleft() if left else value.items.pop()
        if not value.items:
            db.delete(key)
    db.changed(key, 1)
    return element


def _pop_counted(call: Call, key: bytes, counts: tuple[bytes, ...], left: bool, name: str) -> list[bytes] | NullArray:
    if len(counts) > 1:
        raise CommandError(f"ERR wrong number of arguments for '{name}' command")
    count = pop_count_argument(counts[0])
    value = call.db.find_as(ListValue, key)
    if value is None:
        return NULL_ARRAY
    return _take(call, key, value, count, left) if count else []


def _take(call: Call, key: bytes, value: ListValue, count: int, left: bool) -> list[bytes]:
    """Remove up to `count` (at least 1) elements from one end, in the order in which single pops would give them."""
    items = value.items
    if count >= len(items):
        taken = list(items) if left else list(reversed(items))
        call.db.delete(key)
    else:
        pop = items.popleft if left else items.pop
        taken = [pop() for _ in range(count)]
    call.db.changed(key, len(taken))
    return taken


@command("LLEN", arity=2, flags=READONLY | FAST, keys=FIRST_ARG, group="list")
def llen(call: Call, key: bytes) -> int:
    """The length of a list."""
    kept = call.db.read_kept(key)
    if kept is None:
        return 0
    if type(kept) is PackedList:
        size = edits.element_count(kept)
        if size >= 0:
            return size
    return len(_unpacked_list(call, key, kept).items)


def _unpacked_list(call: Call, key: bytes, kept: Value) -> ListValue:
    """The list that `read_kept` gave, unpacked for good."""
    value = call.db.find(key) if type(kept) is PackedList else kept
    if not isinstance(value, ListValue):
        raise wrong_type()
    return value


@command("LINDEX", arity=3, flags=READONLY, keys=FIRST_ARG, group="list")
def lindex(call: Call, key: bytes, index: bytes) -> bytes | None:
    """The element at an index; negative ones count from the end."""
    value = call.db.read_as(ListValue, key)
    if value is None:
        return None
    position = integer_argument(index)
    size = len(value.items)
    return value.items[position] if -size <= position < size else None


@final
class _Lrange(Words):
    def run(self, call: Call, argv: list[bytes]) -> object:
        return _lrange(call, argv[1], integer_argument(argv[2]), integer_argument(argv[3]))


_LRANGE: Final = _Lrange()


@command("LRANGE", arity=4, flags=READONLY, keys=FIRST_ARG, group="list", words=_LRANGE)
def lrange(call: Call, key: bytes, start: bytes, stop: bytes) -> object:
    """The elements between two indices, both inclusive."""
    return _LRANGE.run(call, [b"LRANGE", key, start, stop])


def _lrange(call: Call, key: bytes, first: int, last: int) -> list[bytes]:
    kept = call.db.read_kept(key)
    if kept is None:
        return []
    size = edits.element_count(kept) if type(kept) is PackedList else -1
    value = None if size >= 0 else _unpacked_list(call, key, kept)
    if value is not None:
        size = len(value.items)
    if first < 0:
        first = max(first + size, 0)
    if last < 0:
        last += size
    end = min(last + 1, size)
    if first >= end:
        return []
    return edits.elements(kept, first, end) if value is None else slice_of(value.items, first, end)


def slice_of(items: deque[bytes], start: int, end: int) -> list[bytes]:
    """The elements of the half-open range [start, end), 0 <= start, end <= len(items), walked from the nearer end."""
    size = len(items)
    if start >= end:
        return []
    if end - start == size:
        return list(items)
    if start <= size - end:
        return list(islice(items, start, end))
    taken = list(islice(reversed(items), size - end, size - start))
    taken.reverse()
    return taken


@command("LTRIM", arity=4, flags=WRITE, keys=FIRST_ARG, group="list")
def ltrim(call: Call, key: bytes, start: bytes, stop: bytes) -> Simple:
    """Keep only the elements between two indices, both inclusive."""
    first = integer_argument(start)
    last = integer_argument(stop)
    value = call.db.find_as(ListValue, key)
    if value is None:
        return OK
    size = len(value.items)
    first = max(first + size, 0) if first < 0 else first
    end = min(last + size if last < 0 else last, size - 1) + 1
    if first >= end:
        call.db.delete(key)
        call.db.changed(key, size)
    elif end - first < size:
        _keep(value, first, end)
        call.db.changed(key, size - (end - first))
    return OK


def _keep(value: ListValue, start: int, end: int) -> None:
    """Drop all but [start, end), by popping when little goes and by copying when little stays."""
    items = value.items
    removed = len(items) - (end - start)
    if removed > end - start:
        value.items = deque(slice_of(items, start, end))
        return
    for _ in range(len(items) - end):
        items.pop()
    for _ in range(start):
        items.popleft()


def _is_left(word: bytes) -> bool:
    side = word.upper()
    if side == b"LEFT":
        return True
    if side == b"RIGHT":
        return False
    raise syntax_error()


@command("LMOVE", arity=5, flags=WRITE | DENYOOM, keys=FIRST_TWO, group="list", since="6.2.0")
def lmove(call: Call, source: bytes, destination: bytes, from_side: bytes, to_side: bytes) -> bytes | None:
    """Move an element from one end of a list to one end of another, or of the same; the element."""
    from_left = _is_left(from_side)
    to_left = _is_left(to_side)
    return _move(call, source, destination, from_left, to_left)


@command("RPOPLPUSH", arity=3, flags=WRITE | DENYOOM, keys=FIRST_TWO, group="list", since="1.2.0")
def rpoplpush(call: Call, source: bytes, destination: bytes) -> bytes | None:
    """Move the last element of a list to the head of another, or of the same; the element."""
    return _move(call, source, destination, False, True)


def _move(call: Call, source: bytes, destination: bytes, from_left: bool, to_left: bool) -> bytes | None:
    db = call.db
    value = db.find_as(ListValue, source)
    if value is None:
        return None
    target = db.find_as(ListValue, destination)
    element = value.items.popleft() if from_left else value.items.pop()
    if target is None:
        target = ListValue()
        db.put(destination, target)
    if to_left:
        target.items.appendleft(element)
    else:
        target.items.append(element)
    if not value.items:
        db.delete(source)
    # One change for Redis, though two keys are touched.
    db.changed(source, 1)
    db.changed(destination, 0)
    return element


@final
class MultiPop:
    """What LMPOP and its like ask for: `sides[which]` of the first existing key of `keys`, at most `count` elements."""

    __slots__ = ("count", "keys", "which")

    def __init__(self, keys: tuple[bytes, ...], which: int, count: int) -> None:
        self.keys = keys
        self.which = which
        self.count = count


def multi_pop_arguments(arguments: tuple[bytes, ...], sides: tuple[bytes, bytes]) -> MultiPop:
    """Parse `numkeys key [key ...] SIDE [COUNT count]`; `sides` are the two words allowed, upper case."""
    keys = counted_keys(arguments, "ERR syntax error")
    rest = arguments[1 + len(keys) :]
    if not rest or rest[0].upper() not in sides:
        raise syntax_error()
    which = sides.index(rest[0].upper())
    if len(rest) == 1:
        return MultiPop(keys, which, 1)
    if len(rest) == 2 or rest[1].upper() != b"COUNT":
        raise syntax_error()
    count = integer_argument(rest[2], _COUNT_COMPLAINT)
    if count <= 0:
        raise CommandError(_COUNT_COMPLAINT)
    if len(rest) > 3:
        raise syntax_error()
    return MultiPop(keys, which, count)


@command("LMPOP", arity=-4, flags=WRITE | MOVABLE_KEYS, keys=numkeys_at(1), group="list", since="7.0.0")
def lmpop(call: Call, *arguments: bytes) -> list[bytes | list[bytes]] | NullArray:
    """Pop elements from the first non-empty list of several; the list's key and the elements.

    Propagates as LPOP or RPOP with a count.
    """
    asked = multi_pop_arguments(arguments, (b"LEFT", b"RIGHT"))
    for key in asked.keys:
        value = call.db.find_as(ListValue, key)
        if value is None:
            continue
        taken = _take(call, key, value, asked.count, asked.which == 0)
        call.rewrite(b"RPOP" if asked.which else b"LPOP", key, b"%d" % len(taken))
        return [key, taken]
    return NULL_ARRAY
