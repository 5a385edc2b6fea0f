"""Operations on lists: push, pop, move, trim, search. `commands` parses arguments and shapes replies.

A verb takes the database and the key. Only the verb knows whether the list there is packed, plain or absent. It notes
the change, counts hits and misses where it only reads, removes the key with the last element, and raises CommandError
WRONGTYPE when another type is stored. A new list is packed if it is small, and stays packed as long as only `push`,
`extend`, `pop`, `size` and `between` are called for it.

A plain list is a deque: both ends are O(1), and an index costs one step for each 64 elements from the nearer end.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Final

from pyrepl.keyspace.database import Database
from pyrepl.keyspace.packed import PackedList
from pyrepl.keyspace.values import ListValue, Value, wrong_type
from pyrepl.rdb import edits

_APPEND: Final[Callable[[deque[bytes], bytes], None]] = deque.append
_APPENDLEFT: Final[Callable[[deque[bytes], bytes], None]] = deque.appendleft
_PUSH: Final = edits.push
_POP: Final = edits.pop
"""Looked up once: mypyc would look up a method of deque, or a function of a Cython module, by its name at each call."""

# ------------------------------------------------------------------ the ends


def push(db: Database, key: bytes, element: bytes, left: bool) -> int:
    """Put an element at an end; make the list if there is none. Returns the new length of the list."""
    value = db.find_kept(key)
    if type(value) is not ListValue:
        return _extend_small(db, key, value, [element], left)
    assert isinstance(value, ListValue)
    if left:
        _APPENDLEFT(value.items, element)
    else:
        _APPEND(value.items, element)
    db.changed(key, 1)
    return len(value.items)


def extend(db: Database, key: bytes, elements: list[bytes], left: bool) -> int:
    """As `push`, for several elements, one after the other: on the left, the last one becomes the first of the list."""
    value = db.find_kept(key)
    if type(value) is not ListValue:
        return _extend_small(db, key, value, elements, left)
    assert isinstance(value, ListValue)
    return _extend(db, key, value, elements, left)


def extend_existing(db: Database, key: bytes, elements: list[bytes], left: bool) -> int:
    """As `extend`, if there is a list; 0 if there is none."""
    value = db.find_as(ListValue, key)
    return 0 if value is None else _extend(db, key, value, elements, left)


def _extend(db: Database, key: bytes, value: ListValue, elements: list[bytes], left: bool) -> int:
    if left:
        value.items.extendleft(elements)
    else:
        value.items.extend(elements)
    db.changed(key, len(elements))
    return len(value.items)


def _extend_small(db: Database, key: bytes, kept: Value | None, elements: list[bytes], left: bool) -> int:
    """As `extend`; `kept` is the value that `find_kept` returned, which is no ListValue."""
    if kept is None:
        made = edits.packed_list(PackedList, tuple(elements), left)
        db.put(key, ListValue(deque(elements[::-1] if left else elements)) if made is None else made)
        db.changed(key, len(elements))
        return len(elements)
    if type(kept) is not PackedList:
        raise wrong_type()
    edited = _PUSH(kept, tuple(elements), left)
    if edited is None:
        return extend_existing(db, key, elements, left)
    db.repack(key, edited[0], len(elements))
    return edited[1]


def pop(db: Database, key: bytes, left: bool) -> bytes | None:
    """Remove and return the element at an end; None without a list."""
    value = db.find_kept(key)
    if type(value) is not ListValue:
        return _pop_small(db, key, value, left)
    assert isinstance(value, ListValue)
    element = value.items.popleft() if left else value.items.pop()
    if not value.items:
        db.delete(key)
    db.changed(key, 1)
    return element


def _pop_small(db: Database, key: bytes, kept: Value | None, left: bool) -> bytes | None:
    """As `pop`; `kept` is the value that `find_kept` returned, which is no ListValue."""
    if kept is None:
        return None
    if type(kept) is not PackedList:
        raise wrong_type()
    edited = _POP(kept, left)
    if edited is not None:
        db.repack(key, edited[0], 1)
        return edited[1]
    if edits.element_count(kept) == 1:
        # A list of one element is what clients hand over; there is nothing to unpack it for.
        element = edits.elements(kept, 0, 1)[0]
        db.delete(key)
        db.changed(key, 1)
        return element
    value = db.find_as(ListValue, key)
    assert value is not None
    element = value.items.popleft() if left else value.items.pop()
    if not value.items:
        db.delete(key)
    db.changed(key, 1)
    return element


def pop_several(db: Database, key: bytes, count: int, left: bool) -> list[bytes] | None:
    """Remove and return up to `count` (at least 0) elements, in the order of single pops; None without a list."""
    value = db.find_as(ListValue, key)
    if value is None or count == 0:
        return None if value is None else []
    items = value.items
    if count >= len(items):
        taken = list(items) if left else list(reversed(items))
        db.delete(key)
    else:
        pop_one = items.popleft if left else items.pop
        taken = [pop_one() for _ in range(count)]
    db.changed(key, len(taken))
    return taken


def move(db: Database, source: bytes, destination: bytes, from_left: bool, to_left: bool) -> bytes | None:
    """Move an element from an end of `source` to an end of `destination`, which may be the same list.

    Returns the element, None without `source`.
    """
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
    # Redis counts one change, though two keys are touched.
    db.changed(destination, 0)
    db.changed(source, 1)
    return element


# ------------------------------------------------------------------ the whole


def store(db: Database, key: bytes, elements: Iterable[bytes]) -> None:
    """Store a list of `elements`, which are not empty, in place of any old value. The caller notes the change."""
    db.put(key, ListValue(deque(elements)))


def at(db: Database, key: bytes, index: int) -> bytes | None:
    """The element at an index, None beyond the ends or without a list; negative indices count from the end."""
    value = db.read_as(ListValue, key)
    return None if value is None else value.at(index)


def exists(db: Database, key: bytes) -> bool:
    """Is a list stored there? For commands that write: no hit or miss is counted."""
    return db.find_as(ListValue, key) is not None


def replace(db: Database, key: bytes, index: int, element: bytes) -> bool:
    """Replace the element at an index (see `at`); False beyond the ends, or without a list."""
    value = db.find_as(ListValue, key)
    if value is None or not value.replace(index, element):
        return False
    db.changed(key, 1)
    return True


def size(db: Database, key: bytes) -> int:
    """How many elements there are, 0 without a list."""
    kept = db.read_kept(key)
    if kept is None:
        return 0
    if type(kept) is PackedList:
        count = edits.element_count(kept)
        if count >= 0:
            return count
    return len(_unpacked(db, key, kept).items)


def _unpacked(db: Database, key: bytes, kept: Value) -> ListValue:
    """The list that `read_kept` returned; if it is packed, it is unpacked and stored so."""
    value = db.find(key) if type(kept) is PackedList else kept
    if not isinstance(value, ListValue):
        raise wrong_type()
    return value


def between(db: Database, key: bytes, first: int, last: int) -> list[bytes]:
    """The elements between two indices, both inclusive; negative ones count from the end."""
    kept = db.read_kept(key)
    if kept is None:
        return []
    count = edits.element_count(kept) if type(kept) is PackedList else -1
    value = None if count >= 0 else _unpacked(db, key, kept)
    if value is not None:
        count = len(value.items)
    if first < 0:
        first = max(first + count, 0)
    if last < 0:
        last += count
    end = min(last + 1, count)
    if first >= end:
        return []
    return edits.elements(kept, first, end) if value is None else slice_of(value.items, first, end)


def slice_of(items: deque[bytes], start: int, end: int) -> list[bytes]:
    """The elements of the half-open range [start, end), 0 <= start, end <= len(items), walked from the nearer end."""
    count = len(items)
    if start >= end:
        return []
    if end - start == count:
        return list(items)
    if start <= count - end:
        return list(islice(items, start, end))
    taken = list(islice(reversed(items), count - end, count - start))
    taken.reverse()
    return taken


def trim(db: Database, key: bytes, first: int, last: int) -> None:
    """Keep only the elements that `between` would return."""
    value = db.find_as(ListValue, key)
    if value is None:
        return
    count = len(value.items)
    first = max(first + count, 0) if first < 0 else first
    end = min(last + count if last < 0 else last, count - 1) + 1
    if first >= end:
        db.delete(key)
        db.changed(key, count)
    elif end - first < count:
        _keep(value, first, end)
        db.changed(key, count - (end - first))
    else:
        # Nothing is trimmed, and yet Redis tells that the list was touched.
        db.changed(key, 0)


def _keep(value: ListValue, start: int, end: int) -> None:
    """Remove all elements but [start, end): by pops if at most half of them are removed, else by copying the rest."""
    items = value.items
    removed = len(items) - (end - start)
    if removed > end - start:
        value.items = deque(slice_of(items, start, end))
        return
    for _ in range(len(items) - end):
        items.pop()
    for _ in range(start):
        items.popleft()


# ------------------------------------------------------------------ the inside; all verbs are O(n), as in Redis


def insert(db: Database, key: bytes, pivot: bytes, element: bytes, after: bool) -> int:
    """Insert an element beside the first `pivot`; the new length, -1 without the pivot, 0 without a list."""
    value = db.find_as(ListValue, key)
    if value is None:
        return 0
    try:
        position = value.items.index(pivot)
    except ValueError:
        return -1
    value.items.insert(position + after, element)
    db.changed(key, 1)
    return len(value.items)


def remove(db: Database, key: bytes, element: bytes, limit: int) -> int:
    """Remove elements that are equal to `element`: the first `limit`, the last -`limit` if it is negative, all if 0.

    Returns how many were removed.
    """
    value = db.find_as(ListValue, key)
    if value is None:
        return 0
    found = value.items.count(element)
    if found == 0:
        return 0
    removed = min(found, abs(limit)) if limit else found
    value.items = _without(value.items, element, removed, limit < 0)
    if not value.items:
        db.delete(key)
    db.changed(key, removed)
    return removed


def _without(items: deque[bytes], element: bytes, count: int, from_right: bool) -> deque[bytes]:
    """`items` without `count` of the elements that are equal to `element`; `items` has at least as many."""
    kept: deque[bytes] = deque()
    walk = reversed(items) if from_right else iter(items)
    keep = kept.appendleft if from_right else kept.append
    for item in walk:
        if count and item == element:
            count -= 1
        else:
            keep(item)
    return kept


def positions(db: Database, key: bytes, element: bytes, rank: int, wanted: int, looks: int) -> list[int]:
    """Indices of at most `wanted` (0: all) elements that are equal to `element`, in the order of the search.

    Indices count from the left, in both directions of the search.

    The search begins with match number `rank` (not 0, a negative one counts from the end) and compares at most `looks`
    elements (0: all).
    """
    value = db.read_as(ListValue, key)
    found: list[int] = []
    if value is None:
        return found
    items = value.items
    count = len(items)
    from_right = rank < 0
    skipped = abs(rank) - 1
    walk = reversed(items) if from_right else iter(items)
    for i, item in enumerate(islice(walk, looks) if 0 < looks < count else walk):
        if item != element:
            continue
        if skipped:
            skipped -= 1
            continue
        found.append(count - 1 - i if from_right else i)
        if len(found) == wanted:
            break
    return found
