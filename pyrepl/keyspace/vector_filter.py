"""The expressions of VSIM's option FILTER: which elements to keep, by their attributes (Redis 8).

    .year >= 1980 and .year < 1990 and "action" in .genres

An expression is read once into a program for a stack (`compile_filter`), and that is run on the attributes of each
element, a text in JSON (`Filter.keeps`). Values are numbers, strings, tuples of values, and null.

| strength | operators |
|---|---|
| 6 | `!` `not` |
| 5 | `**`, from the right |
| 4 | `*` `/` `%` |
| 3 | `+` `-` |
| 2 | `>` `>=` `<` `<=` `==` `!=` `in` |
| 1 | `and` `&&` |
| 0 | `or` `||` |

`.name` is a field of the attributes: true is 1, false is 0. An element without that field, or with an object in it, is
not kept, whatever the rest of the expression says. A string that spells no number counts as 0. 0, an empty string and
null are false.

One thing is not as in Redis: attributes must be JSON from their first byte to their last, or they have no fields. Redis
reads them up to the field that it looks for.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Final, TypeAlias, final

from pyrepl.errors import CommandError
from pyrepl.resp.doubles import parse_double

Value: TypeAlias = "float | bytes | tuple[Value, ...] | None"

_BLANK: Final = re.compile(rb"[ \t-\r]*")
_NUMBER: Final = re.compile(rb"-?[0-9.eE]*")
_FIELD: Final = re.compile(rb"\.([A-Za-z0-9_-]+)")
_STRING: Final = re.compile(rb""""((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'""", re.DOTALL)
_SIGNS: Final = re.compile(rb"[A-Za-z+*%/!()<>=|&-]+")
_LONGEST_NUMBER: Final = 255
_STRENGTHS: Final[dict[bytes, int]] = {
    b"!": 6,
    b"**": 5,
    b"*": 4,
    b"/": 4,
    b"%": 4,
    b"+": 3,
    b"-": 3,
    b">": 2,
    b">=": 2,
    b"<": 2,
    b"<=": 2,
    b"==": 2,
    b"!=": 2,
    b"in": 2,
    b"and": 1,
    b"or": 0,
}
_ALSO: Final = {b"not": b"!", b"&&": b"and", b"||": b"or"}
_NAMES: Final = sorted((*_STRENGTHS, *_ALSO, b"(", b")"), key=len, reverse=True)
_MOST_STEPS: Final = 1000
"""How many values and operators an expression may have: more would hold up the node at every element."""


@final
class _Field:
    """A step of a program: push this field of the attributes."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


@final
class _Operator:
    """A step of a program: replace the last one or two values on the stack by a result. `name` is a key of _STRENGTHS,
    or an opening or closing bracket, which stands in no program."""

    __slots__ = ("name",)

    def __init__(self, name: bytes) -> None:
        self.name = name

    @property
    def operands(self) -> int:
        return 1 if self.name == b"!" else 2


@final
class _Constant:
    """A step of a program: push this value."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value


_Step: TypeAlias = _Constant | _Field | _Operator


@final
class Filter:
    """A compiled expression."""

    __slots__ = ("_program",)

    def __init__(self, program: list[_Step]) -> None:
        self._program = program

    def keeps(self, attributes: bytes | None) -> bool:
        """Does the expression hold for an element with these attributes? Never for one without any."""
        if attributes is None:
            return False
        fields = _fields(attributes)
        stack: list[Value] = []
        for step in self._program:
            if isinstance(step, _Constant):
                stack.append(step.value)
            elif isinstance(step, _Field):
                if step.name not in fields:
                    return False
                stack.append(fields[step.name])
            elif step.operands == 1:
                stack.append(float(not _is_true(stack.pop())))
            else:
                right = stack.pop()
                stack.append(_OPERATIONS[step.name](stack.pop(), right))
        return _is_true(stack.pop())


def compile_filter(expression: bytes) -> Filter:
    """Read an expression. Raises CommandError with Redis's text for one that is none, and for a very long one."""
    program: list[_Step] = []
    waiting: list[_Operator] = []
    height = 0
    for token in _tokens(expression):
        if not isinstance(token, _Operator):
            program.append(token)
            height += 1
        elif token.name == b"(":
            waiting.append(token)
        else:
            height = _settle(token, waiting, program, height, expression)
    while waiting:
        height = _move(waiting.pop(), program, height, expression)
    if height != 1:
        raise _near(expression, 0)
    return Filter(program)


def _settle(token: _Operator, waiting: list[_Operator], program: list[_Step], height: int, expression: bytes) -> int:
    """Move the operators that come before `token` from `waiting` to the program; the height of the stack then."""
    if token.name == b")":
        while waiting and waiting[-1].name != b"(":
            height = _move(waiting.pop(), program, height, expression)
        if not waiting:
            raise _near(expression, 0)
        waiting.pop()
        return height
    strength = _STRENGTHS[token.name]
    while waiting and waiting[-1].name != b"(":
        top = _STRENGTHS[waiting[-1].name]
        if top < strength or (token.name == b"**" and top == strength):
            break
        height = _move(waiting.pop(), program, height, expression)
    waiting.append(token)
    return height


def _move(operator: _Operator, program: list[_Step], height: int, expression: bytes) -> int:
    if operator.name == b"(" or height < operator.operands:
        raise _near(expression, 0)
    program.append(operator)
    return height - operator.operands + 1


def _near(expression: bytes, at: int) -> CommandError:
    """The error for an expression that cannot be read at a place; at its end, the whole expression is shown."""
    shown = expression[at:] or expression
    return CommandError(f"ERR syntax error in FILTER expression near: {shown.decode('utf-8', 'replace')}")


# ------------------------------------------------------------------ tokens


def _tokens(expression: bytes) -> list[_Step]:
    """The words of an expression. Raises CommandError."""
    tokens: list[_Step] = []
    at = _after_blank(expression, 0)
    while at < len(expression):
        if len(tokens) == _MOST_STEPS:
            raise CommandError(f"ERR FILTER expression is too long: more than {_MOST_STEPS} values and operators")
        # A minus belongs to a number at the beginning, and behind an operator or an opening bracket.
        signed = not tokens or (isinstance(tokens[-1], _Operator) and tokens[-1].name != b")")
        token, at = _token(expression, at, signed)
        tokens.append(token)
        at = _after_blank(expression, at)
    return tokens


def _after_blank(expression: bytes, at: int) -> int:
    found = _BLANK.match(expression, at)
    assert found is not None
    return found.end()


def _token(expression: bytes, at: int, signed: bool) -> tuple[_Step, int]:
    """(the word at `at`, the place behind it)."""
    first = expression[at : at + 1]
    if first == b"[":
        return _tuple(expression, at + 1)
    if first in (b'"', b"'") or first.isdigit() or (signed and first == b"-" and expression[at + 1 : at + 2].isdigit()):
        value, end = _constant(expression, at)
        return _Constant(value), end
    field = _FIELD.match(expression, at)
    if field is not None:
        return _Field(field[1].decode()), field.end()
    signs = _SIGNS.match(expression, at)
    if signs is None:
        raise _near(expression, at)
    if signs[0] == b"null":
        return _Constant(None), signs.end()
    for name in _NAMES:
        if signs[0].startswith(name):
            return _Operator(_ALSO.get(name, name)), at + len(name)
    raise _near(expression, signs.end())


def _constant(expression: bytes, at: int) -> tuple[Value, int]:
    """(the string or number at `at`, the place behind it)."""
    if expression[at : at + 1] in (b'"', b"'"):
        string = _STRING.match(expression, at)
        if string is None:
            raise _near(expression, len(expression))
        return string[1] if string[1] is not None else string[2], string.end()
    digits = _NUMBER.match(expression, at)
    assert digits is not None
    number = _spelled(digits[0]) if len(digits[0]) <= _LONGEST_NUMBER else None
    if number is None:
        raise _near(expression, digits.end())
    return number, digits.end()


def _tuple(expression: bytes, at: int) -> tuple[_Step, int]:
    """(the tuple whose items begin at `at`, the place behind its bracket). Items are strings and numbers."""
    items: list[Value] = []
    while True:
        at = _after_blank(expression, at)
        first = expression[at : at + 1]
        if first == b"]":
            return _Constant(tuple(items)), at + 1
        if not (first.isdigit() or first in (b"-", b'"', b"'")) or not first:
            raise _near(expression, at)
        value, at = _constant(expression, at)
        items.append(value)
        at = _after_blank(expression, at)
        if expression[at : at + 1] == b",":
            at += 1
        elif expression[at : at + 1] != b"]":
            raise _near(expression, at)


# ------------------------------------------------------------------ values


def _spelled(text: bytes) -> float | None:
    """The number that a whole text spells as C's strtod reads it, which allows blanks in front; None for none."""
    lowered = text.lstrip(b" \t\n\v\f\r").lower()
    if lowered.lstrip(b"+-") == b"nan":
        return math.nan
    number = parse_double(lowered)
    if number is None and lowered and lowered[-1] > 0x20 and b"_" not in lowered:
        # What is too great or too small for a double is infinite, or nearly nothing, here.
        try:
            number = float(lowered)
        except ValueError:
            return None
    return number


def _number(value: Value) -> float:
    if isinstance(value, float):
        return value
    if isinstance(value, bytes) and len(value) <= _LONGEST_NUMBER:
        return _spelled(value) or 0.0
    return 0.0


def _is_true(value: Value) -> bool:
    return value is not None and value != 0.0 and value != b""


def _equal(left: Value, right: Value) -> bool:
    if isinstance(left, bytes) and isinstance(right, bytes):
        return left == right
    if left is None or right is None:
        return left is right
    return _number(left) == _number(right)


def _in(left: Value, right: Value) -> bool:
    return isinstance(right, tuple) and any(_equal(left, item) for item in right)


def _divided(left: float, right: float) -> float:
    if right != 0.0 or left != left:
        return left / right if right else left
    return math.nan if left == 0.0 else math.copysign(math.inf, left) * math.copysign(1.0, right)


def _power(base: float, exponent: float) -> float:
    try:
        return math.pow(base, exponent)
    except OverflowError:
        is_odd = exponent % 2 == 1.0
        return -math.inf if base < 0 and is_odd else math.inf
    except ValueError:
        return math.inf if base == 0.0 else math.nan


def _remainder(left: float, right: float) -> float:
    try:
        return math.fmod(left, right)
    except ValueError:
        return math.nan


def _of_numbers(operation: Callable[[float, float], float]) -> Callable[[Value, Value], float]:
    return lambda left, right: float(operation(_number(left), _number(right)))


_OPERATIONS: Final[dict[bytes, Callable[[Value, Value], float]]] = {
    b"**": _of_numbers(_power),
    b"*": _of_numbers(lambda left, right: left * right),
    b"/": _of_numbers(_divided),
    b"%": _of_numbers(_remainder),
    b"+": _of_numbers(lambda left, right: left + right),
    b"-": _of_numbers(lambda left, right: left - right),
    b">": _of_numbers(lambda left, right: left > right),
    b">=": _of_numbers(lambda left, right: left >= right),
    b"<": _of_numbers(lambda left, right: left < right),
    b"<=": _of_numbers(lambda left, right: left <= right),
    b"==": lambda left, right: float(_equal(left, right)),
    b"!=": lambda left, right: float(not _equal(left, right)),
    b"in": lambda left, right: float(_in(left, right)),
    b"and": lambda left, right: float(_is_true(left) and _is_true(right)),
    b"or": lambda left, right: float(_is_true(left) or _is_true(right)),
}


# ------------------------------------------------------------------ attributes


def _fields(attributes: bytes) -> dict[str, Value]:
    """The fields of an object in JSON that an expression can use; none for another text. The first of a name counts."""
    try:
        pairs = json.loads(attributes, object_pairs_hook=_Pairs)
        if not isinstance(pairs, _Pairs):
            return {}
        # The first of a name is the last one that is put in.
        first = dict(reversed(pairs))
        return {name: _value(item) for name, item in first.items() if _is_usable(item)}
    except (ValueError, RecursionError):
        return {}


@final
class _Pairs(list[tuple[str, object]]):
    """The names and values of an object in JSON, in order."""


def _is_usable(item: object) -> bool:
    """Can an expression use what JSON says? Not an object, nor what holds one."""
    if isinstance(item, list) and not isinstance(item, _Pairs):
        return all(map(_is_usable, item))
    return not isinstance(item, _Pairs)


def _value(item: object) -> Value:
    if isinstance(item, str):
        return item.encode("utf-8", "surrogatepass")
    if isinstance(item, list):
        return tuple(map(_value, item))
    if isinstance(item, int):  # true and false as well
        try:
            return float(item)
        except OverflowError:
            return math.inf if item > 0 else -math.inf
    return item if isinstance(item, float) else None
