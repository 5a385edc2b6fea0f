"""SORT and SORT_RO: the elements of a list, set or sorted set, sorted by themselves or by the values of other keys.

BY names the keys that hold the weights to sort by. GET names the keys or fields whose values are answered in place of
the elements. Rules and error texts are Redis 7.0's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, final

from pyrepl.commands.engine.arguments import integer_argument, syntax_error
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.rights import may_read_any_key
from pyrepl.commands.engine.table import DENYOOM, FIRST_ARG, MOVABLE_KEYS, READONLY, WRITE, Keys, command
from pyrepl.errors import CommandError
from pyrepl.keyspace import list_verbs
from pyrepl.keyspace.elements import read_elements, read_field, read_string
from pyrepl.resp.doubles import parse_double

_SPACES: Final = b" \t\n\v\f\r"
_WORDS_AFTER: Final = {b"LIMIT": 2, b"BY": 1, b"GET": 1, b"STORE": 1}
"""Option -> how many words follow it; none for any other."""


def _sort_keys(argv: list[bytes]) -> list[int]:
    """The positions of the key to sort and of the last STORE's key.

    BY and GET make further keys from the elements, so these cannot be told from the words.
    """
    store: list[int] = []
    at = 2
    while at < len(argv):
        word = argv[at].upper()
        if word == b"STORE" and at + 1 < len(argv):
            store = [at + 1]
        at += 1 + _WORDS_AFTER.get(word, 0)
    return [1, *store]


@command("SORT", arity=-2, flags=WRITE | DENYOOM | MOVABLE_KEYS, keys=Keys(1, 1, 1, _sort_keys), group="generic")
def sort(call: Call, key: bytes, *arguments: bytes) -> list[bytes | None] | int:
    """Sort the elements of a list, set or sorted set, and return or store the result."""
    options = _Options(arguments, may_store=True, may_look_up=_may_look_up(call))
    found = _sorted(call, key, options)
    return found if options.store is None else _store(call, options.store, found)


@command("SORT_RO", arity=-2, flags=READONLY | MOVABLE_KEYS, keys=FIRST_ARG, group="generic", since="7.0.0")
def sort_ro(call: Call, key: bytes, *arguments: bytes) -> list[bytes | None]:
    """Sort the elements of a list, set or sorted set; never stores."""
    return _sorted(call, key, _Options(arguments, may_store=False, may_look_up=_may_look_up(call)))


def _may_look_up(call: Call) -> bool:
    """BY and GET make names of keys from elements: only who may read keys of any name may use them (Redis 7.0)."""
    client = call.client
    if not client.limited:
        return True
    entry = call.runner.find_entry(call.argv)
    return entry is not None and may_read_any_key(client, entry.row, call.argv)


@final
class _Options:
    """The options, which follow the key. Raises CommandError, also for STORE when `may_store` is false, and for BY and
    GET when `may_look_up` is.

    `start` and `count` are the numbers of LIMIT; a negative `count` means no limit. `gets` are the patterns of GET in
    order. `store` is the key to store the result under, None to answer it.
    """

    __slots__ = ("_may_look_up", "alpha", "by", "count", "descending", "gets", "keeps_order", "start", "store")

    def __init__(self, arguments: tuple[bytes, ...], *, may_store: bool, may_look_up: bool) -> None:
        self._may_look_up = may_look_up
        self.alpha = self.descending = False
        self.by: bytes | None = None
        self.keeps_order = False
        """True after a BY without `*`: such a pattern gives all elements the same weight, so Redis does not sort.

        It stays true when another BY follows.
        """
        self.gets: list[bytes] = []
        self.start = 0
        self.count = -1
        self.store: bytes | None = None
        at = 0
        while at < len(arguments):
            word = arguments[at].upper()
            size = _WORDS_AFTER.get(word, 0)
            given = arguments[at + 1 : at + 1 + size]
            if len(given) < size or (word == b"STORE" and not may_store):
                raise syntax_error()
            self._take(word, given)
            at += 1 + size

    def _take(self, word: bytes, given: Sequence[bytes]) -> None:
        """Note one option, in upper case, with the words that follow it."""
        if word in (b"ASC", b"DESC"):
            self.descending = word == b"DESC"
        elif word == b"ALPHA":
            self.alpha = True
        elif word == b"LIMIT":
            self.start, self.count = integer_argument(given[0]), integer_argument(given[1])
        elif word == b"BY":
            self.by = given[0]
            self.keeps_order |= b"*" not in self.by
            if b"*" in self.by and not self._may_look_up:
                raise CommandError("ERR BY option of SORT denied due to insufficient ACL permissions.")
        elif word == b"GET":
            if not self._may_look_up:
                raise CommandError("ERR GET option of SORT denied due to insufficient ACL permissions.")
            self.gets.append(given[0])
        elif word == b"STORE":
            self.store = given[0]
        else:
            raise syntax_error()

    def window(self, size: int) -> slice:
        """The part that LIMIT leaves of a result of `size` elements."""
        start = min(max(self.start, 0), size)
        return slice(start, size if self.count < 0 else min(start + self.count, size))


def _sorted(call: Call, key: bytes, options: _Options) -> list[bytes | None]:
    """The result of a SORT: the elements, or what GET finds for each of them, null for nothing."""
    elements, is_ordered = read_elements(call.db, key)
    if not options.keeps_order:
        elements = _in_order(call, elements, options)
    elif not is_ordered and options.store is not None:
        # A set has no order of its own, but every replica must store the same list. So it is sorted after all.
        elements.sort(reverse=options.descending)
    elif options.descending and is_ordered:
        elements.reverse()
    chosen = elements[options.window(len(elements))]
    if not options.gets:
        return list(chosen)
    return [_look_up(call, pattern, element) for element in chosen for pattern in options.gets]


def _in_order(call: Call, elements: list[bytes], options: _Options) -> list[bytes]:
    """The elements by weight: by number, or by text with ALPHA. Raises CommandError for a weight that is no number.

    Equal numbers are ordered by the elements themselves. With ALPHA an element whose key is missing comes first.
    """
    if options.by is None:
        weights: list[bytes | None] = list(elements)
    else:
        weights = [_look_up(call, options.by, element) for element in elements]
    if not options.alpha:
        numbers = [_weight(weight) for weight in weights]
        return [element for _, element in sorted(zip(numbers, elements), reverse=options.descending)]
    # The \1 puts every weight, even an empty one, behind the elements without a weight. Equal ones stay in their order.
    texts = [b"" if weight is None else b"\1" + _compared_text(weight, options) for weight in weights]
    places = sorted(range(len(elements)), key=texts.__getitem__, reverse=options.descending)
    return [elements[place] for place in places]


def _compared_text(text: bytes, options: _Options) -> bytes:
    """The part of a weight that ALPHA compares.

    Redis compares with strcoll, to which a text ends at the first zero byte. When the result is stored, it compares all
    bytes, because strcoll depends on the locale and replicas may have another one.
    """
    return text if options.store is not None else text.partition(b"\0")[0]


def _weight(text: bytes | None) -> float:
    """A weight as a number, by the rules of C's strtod: leading spaces are skipped, a zero byte ends the text.

    A missing weight and an empty text are 0. Raises CommandError for other texts that are no number.
    """
    if text is None:
        return 0.0
    text = text.partition(b"\0")[0].lstrip(_SPACES)
    number = parse_double(text) if text else 0.0
    if number is None:
        raise CommandError("ERR One or more scores can't be converted into double")
    return number


def _look_up(call: Call, pattern: bytes, element: bytes) -> bytes | None:
    """What a pattern of BY or GET finds for an element, None for nothing.

    The element takes the place of the first `*`. `#` finds the element itself, `a*b` the string under that key, and
    `a*b->f` the field f of the hash under that key.
    """
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
    """Store the result as a list, null as the empty string; how long it is. An empty result deletes the key."""
    db = call.db
    if found:
        list_verbs.store(db, key, [b"" if item is None else item for item in found])
        db.changed(key, len(found))
    elif db.delete(key):
        db.changed(key)
    return len(found)
