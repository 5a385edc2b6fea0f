"""SORT and SORT_RO: the elements of a list, set or sorted set in another order, or what other keys say about them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, final

from pyrepl.commands.engine.arguments import integer_argument, syntax_error
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.table import DENYOOM, FIRST_ARG, MOVABLE_KEYS, READONLY, WRITE, Keys, command
from pyrepl.errors import CommandError
from pyrepl.keyspace import list_verbs
from pyrepl.keyspace.elements import read_elements, read_field, read_string
from pyrepl.resp.doubles import parse_double

_SPACES: Final = b" \t\n\v\f\r"
_ARGUMENTS_OF: Final = {b"LIMIT": 2, b"BY": 1, b"GET": 1, b"STORE": 1}


def _sort_keys(argv: list[bytes]) -> list[int]:
    """The key, and the last STORE's; those that BY and GET lead to are not known beforehand."""
    store: list[int] = []
    at = 2
    while at < len(argv):
        word = argv[at].upper()
        if word == b"STORE" and at + 1 < len(argv):
            store = [at + 1]
        at += 1 + _ARGUMENTS_OF.get(word, 0)
    return [1, *store]


@command("SORT", arity=-2, flags=WRITE | DENYOOM | MOVABLE_KEYS, keys=Keys(1, 1, 1, _sort_keys), group="generic")
def sort(call: Call, key: bytes, *arguments: bytes) -> list[bytes | None] | int:
    """Sort the elements of a list, set or sorted set, and return or store the result."""
    options = _Options(arguments, may_store=True)
    found = _sorted(call, key, options)
    return found if options.store is None else _store(call, options.store, found)


@command("SORT_RO", arity=-2, flags=READONLY | MOVABLE_KEYS, keys=FIRST_ARG, group="generic", since="7.0.0")
def sort_ro(call: Call, key: bytes, *arguments: bytes) -> list[bytes | None]:
    """Sort the elements of a list, set or sorted set; never stores."""
    return _sorted(call, key, _Options(arguments, may_store=False))


@final
class _Options:
    """What follows the key. Raises CommandError."""

    __slots__ = ("alpha", "by", "count", "descending", "gets", "keeps_order", "start", "store")

    def __init__(self, arguments: tuple[bytes, ...], *, may_store: bool) -> None:
        self.alpha = self.descending = False
        self.by: bytes | None = None
        self.keeps_order = False
        """A BY without `*` cannot tell elements apart: Redis then does not sort, even if another BY follows."""
        self.gets: list[bytes] = []
        self.start = 0
        self.count = -1
        self.store: bytes | None = None
        at = 0
        while at < len(arguments):
            word = arguments[at].upper()
            size = _ARGUMENTS_OF.get(word, 0)
            given = arguments[at + 1 : at + 1 + size]
            if len(given) < size or (word == b"STORE" and not may_store):
                raise syntax_error()
            self._take(word, given)
            at += 1 + size

    def _take(self, word: bytes, given: Sequence[bytes]) -> None:
        if word in (b"ASC", b"DESC"):
            self.descending = word == b"DESC"
        elif word == b"ALPHA":
            self.alpha = True
        elif word == b"LIMIT":
            self.start, self.count = integer_argument(given[0]), integer_argument(given[1])
        elif word == b"BY":
            self.by = given[0]
            self.keeps_order |= b"*" not in self.by
        elif word == b"GET":
            self.gets.append(given[0])
        elif word == b"STORE":
            self.store = given[0]
        else:
            raise syntax_error()

    def window(self, size: int) -> slice:
        """LIMIT on a result of so many elements."""
        start = min(max(self.start, 0), size)
        return slice(start, size if self.count < 0 else min(start + self.count, size))


def _sorted(call: Call, key: bytes, options: _Options) -> list[bytes | None]:
    elements, is_ordered = read_elements(call.db, key)
    if not options.keeps_order:
        elements = _in_order(call, elements, options)
    elif not is_ordered and options.store is not None:
        # A set has no order of its own, and what is stored must be the same on every replica.
        elements.sort(reverse=options.descending)
    elif options.descending and is_ordered:
        elements.reverse()
    chosen = elements[options.window(len(elements))]
    if not options.gets:
        return list(chosen)
    return [_look_up(call, pattern, element) for element in chosen for pattern in options.gets]


def _in_order(call: Call, elements: list[bytes], options: _Options) -> list[bytes]:
    if options.by is None:
        weights: list[bytes | None] = list(elements)
    else:
        weights = [_look_up(call, options.by, element) for element in elements]
    if not options.alpha:
        numbers = [_weight(weight) for weight in weights]
        return [element for _, element in sorted(zip(numbers, elements), reverse=options.descending)]
    # An element without a weight comes before all others; elements with equal weights stay in their order.
    texts = [b"" if weight is None else b"\1" + _c_string(weight, options) for weight in weights]
    places = sorted(range(len(elements)), key=texts.__getitem__, reverse=options.descending)
    return [elements[place] for place in places]


def _c_string(text: bytes, options: _Options) -> bytes:
    """Redis compares with strcoll, which ends at a zero byte, unless the result is stored."""
    return text if options.store is not None else text.partition(b"\0")[0]


def _weight(text: bytes | None) -> float:
    """A number as C's strtod reads it: spaces before it and nothing at all are fine, a zero byte ends it."""
    if text is None:
        return 0.0
    text = text.partition(b"\0")[0].lstrip(_SPACES)
    number = parse_double(text) if text else 0.0
    if number is None:
        raise CommandError("ERR One or more scores can't be converted into double")
    return number


def _look_up(call: Call, pattern: bytes, element: bytes) -> bytes | None:
    """What a BY or GET pattern means for an element: `#` itself, `a*b` a string's key, `a*b->f` a field of a hash."""
    if pattern == b"#":
        return element
    star = pattern.find(b"*")
    if star < 0:
        return None
    arrow = pattern.find(b"->", star + 1)
    if arrow < 0 or arrow + 2 == len(pattern):
        return read_string(call.db, pattern[:star] + element + pattern[star + 1 :])
    return read_field(call.db, pattern[:star] + element + pattern[star + 1 : arrow], pattern[arrow + 2 :])


def _store(call: Call, key: bytes, found: list[bytes | None]) -> int:
    db = call.db
    if found:
        list_verbs.store(db, key, [b"" if item is None else item for item in found])
        db.changed(key, len(found))
    elif db.delete(key):
        db.changed(key)
    return len(found)
