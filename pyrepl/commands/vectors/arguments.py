"""The arguments of VADD and VSIM. Which error comes first, and its text, is Redis 8.2's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from pyrepl.commands.engine.arguments import ranged_integer_argument
from pyrepl.errors import CommandError
from pyrepl.keyspace.vector_verbs import Shape, need_numpy
from pyrepl.rdb.vectors import BIN, DEFAULT_M, MAX_DIM, MAX_M, NO_QUANT, Q8
from pyrepl.resp.doubles import parse_double
from pyrepl.resp.numbers import INT64_MAX, parse_integer

if TYPE_CHECKING:
    from pyrepl.keyspace.vector_filter import Filter
    from pyrepl.keyspace.vector_numbers import Floats

_FORMS: Final = {b"NOQUANT": NO_QUANT, b"BIN": BIN, b"Q8": Q8}
_MIN_M: Final = 4
_MAX_EF: Final = 1_000_000
_DEFAULT_EF: Final = 200
_DEFAULT_COUNT: Final = 10
_FARTHEST: Final = 2.0
_EFFORT: Final = 100
"""How many elements FILTER looks at for each one that is wanted, unless FILTER-EF says how many."""


def wrong_arity(name: str) -> CommandError:
    """Redis's error for a wrong number of arguments that only the arguments show."""
    return CommandError(f"ERR wrong number of arguments for '{name}' command")


def _invalid_vector() -> CommandError:
    return CommandError("ERR invalid vector specification")


def vector_argument(words: tuple[bytes, ...]) -> tuple[Floats, int]:
    """(the vector of `FP32 blob` or `VALUES count number ...`, how many words it takes). Raises CommandError."""
    need_numpy()
    from pyrepl.keyspace.vector_numbers import floats_of_bytes, floats_of_doubles

    if len(words) < 2:
        raise _invalid_vector()
    kind, first = words[0].upper(), words[1]
    if kind == b"FP32" and len(first) and not len(first) % 4 and len(first) <= MAX_DIM * 4:
        return floats_of_bytes(first), 2
    count = parse_integer(first) if kind == b"VALUES" else None
    if count is None or not 1 <= count <= MAX_DIM or len(words) < count + 2:
        raise _invalid_vector()
    numbers = [number for word in words[2 : count + 2] if (number := parse_double(word)) is not None]
    if len(numbers) != count:
        raise _invalid_vector()
    return floats_of_doubles(numbers), count + 2


@final
class Addition:
    """What VADD says behind its key."""

    __slots__ = ("attributes", "ef", "floats", "name", "shape")

    def __init__(self, words: tuple[bytes, ...]) -> None:
        """Raises CommandError."""
        reduce = 0
        if len(words) > 2 and words[0].upper() == b"REDUCE":
            reduce = ranged_integer_argument(words[1], 1, MAX_DIM, "ERR invalid vector specification")
            words = words[2:]
        self.floats, taken = vector_argument(words)
        if reduce > len(self.floats):
            raise _invalid_vector()
        if taken == len(words):
            raise wrong_arity("VADD")
        self.name = words[taken]
        self.attributes: bytes | None = None
        self.ef = _DEFAULT_EF
        self.shape = self._options(words[taken + 1 :], reduce)

    def _options(self, words: tuple[bytes, ...], reduce: int) -> Shape:
        """CAS lets Redis look for neighbours in a thread; it changes nothing else, and here nothing."""
        quant, m = Q8, DEFAULT_M
        left = iter(words)
        for word in left:
            option = word.upper()
            if option == b"CAS":
                continue
            if option in _FORMS:
                quant = _FORMS[option]
                continue
            argument = next(left, None) if option in (b"EF", b"M", b"SETATTR") else None
            if argument is None:
                raise CommandError("ERR invalid option after element")
            if option == b"EF":
                self.ef = ranged_integer_argument(argument, 1, _MAX_EF, "ERR invalid EF")
            elif option == b"M":
                m = ranged_integer_argument(argument, _MIN_M, MAX_M, "ERR invalid M")
            else:
                self.attributes = argument
        return Shape(quant, m, reduce)


@final
class Search:
    """The options of VSIM. `epsilon` is the greatest distance from 0 to 1, `effort` how many elements FILTER looks at
    (None: all)."""

    __slots__ = ("count", "effort", "epsilon", "filter", "with_attributes", "with_scores")

    def __init__(self, words: tuple[bytes, ...]) -> None:
        """Raises CommandError."""
        self.count = _DEFAULT_COUNT
        self.epsilon = _FARTHEST
        self.filter: Filter | None = None
        self.with_scores = self.with_attributes = is_exact = False
        effort = 0
        left = iter(words)
        for word in left:
            option = word.upper()
            if option == b"WITHSCORES":
                self.with_scores = True
            elif option == b"WITHATTRIBS":
                self.with_attributes = True
            elif option == b"TRUTH":
                is_exact = True
            elif option == b"NOTHREAD":
                continue  # pyrepl uses no thread for it anyway
            else:
                effort = self._valued(option, next(left, None)) or effort
        self.effort = None if is_exact else effort or min(self.count * _EFFORT, INT64_MAX)

    def _valued(self, option: bytes, argument: bytes | None) -> int:
        """An option with an argument; what FILTER-EF says, and 0 for others. EF is checked alone: a search is exact."""
        if argument is None:
            raise CommandError("ERR syntax error in VSIM command")
        if option == b"COUNT":
            self.count = ranged_integer_argument(argument, 1, INT64_MAX, "ERR invalid COUNT")
        elif option == b"EPSILON":
            epsilon = parse_double(argument)
            if epsilon is None or epsilon <= 0:
                raise CommandError("ERR invalid EPSILON")
            self.epsilon = epsilon
        elif option == b"EF":
            ranged_integer_argument(argument, 1, _MAX_EF, "ERR invalid EF")
        elif option == b"FILTER-EF":
            return ranged_integer_argument(argument, 1, INT64_MAX, "ERR invalid FILTER-EF")
        elif option == b"FILTER":
            from pyrepl.keyspace.vector_filter import compile_filter

            self.filter = compile_filter(argument)
        else:
            raise CommandError("ERR syntax error in VSIM command")
        return 0


@final
class Bound:
    """One end of VRANGE: `-` or `+` (`name` None), `[name` (inclusive) or `(name`."""

    __slots__ = ("inclusive", "is_greatest", "name")

    def __init__(self, text: bytes, place: str) -> None:
        """`place` is `start` or `end`, for the error. Raises CommandError."""
        self.name = text[1:] if len(text) > 1 and text[:1] in (b"[", b"(") else None
        self.inclusive = text[:1] == b"["
        self.is_greatest = text == b"+"
        if self.name is None and text not in (b"-", b"+"):
            raise CommandError(f"ERR invalid {place} range format")

    def is_below(self, name: bytes) -> bool:
        """Does a name lie behind this bound, as a start?"""
        return self.name is None or name > self.name or (self.inclusive and name == self.name)

    def is_above(self, name: bytes) -> bool:
        """Does a name lie before this bound, as an end?"""
        return self.name is None or name < self.name or (self.inclusive and name == self.name)
