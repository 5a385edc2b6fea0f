"""Numbers for scripts: the library bit, and the random generator of math.random.

Both are deterministic, and the same as in Redis: `bit` is Mike Pall's BitOp, which computes on 32 bits with a sign; the
generator is drand48's, which begins at the same seed with each interpreter and counts on from script to script.
"""

from __future__ import annotations

import math
from typing import Final, final

_MASK: Final = 0xFFFFFFFF
_MULTIPLIER: Final = 0x5DEECE66D
_ADDEND: Final = 0xB
_STATE_MASK: Final = (1 << 48) - 1
_FIRST_STATE: Final = 0x1234ABCD330E
_LOW_OF_SEED: Final = 0x330E
_LARGEST: Final = 0x7FFFFFFF


@final
class Drand48:
    """The generator behind math.random and math.randomseed."""

    def __init__(self) -> None:
        self._state = _FIRST_STATE

    def draw(self) -> float:
        """The next number, in [0, 1)."""
        self._state = (self._state * _MULTIPLIER + _ADDEND) & _STATE_MASK
        return ((self._state >> 17) % _LARGEST) / _LARGEST

    def seed(self, number: float) -> None:
        """Begin anew, from the lower 32 bits of a number."""
        whole = int(number) if math.isfinite(number) else 0
        self._state = ((whole & _MASK) << 16) | _LOW_OF_SEED


def as_number(value: object) -> float | None:
    """An argument as Lua takes it for a number: a number, or a string that spells one; None for all else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return value
    if isinstance(value, bytes):
        try:
            return float(value)
        except ValueError:
            return None
    return None


def kind_of(value: object) -> str:
    """What Lua calls the type of an argument that is no number."""
    if value is None:
        return "nil"
    return "boolean" if isinstance(value, bool) else "string" if isinstance(value, bytes) else "table"


def signed(number: int) -> int:
    """The lower 32 bits, as a number with a sign."""
    number &= _MASK
    return number - (1 << 32) if number & 0x80000000 else number


def bits_of(number: float) -> int:
    """A number of Lua as 32 bits without a sign: rounded half to even, and wrapped round."""
    if isinstance(number, int):
        return number & _MASK
    return round(number) & _MASK if math.isfinite(number) else 0


def shifted(name: str, number: int, places: int) -> int:
    """lshift, rshift, arshift, rol and ror of 32 bits, by the lower five bits of `places`."""
    places &= 31
    if name == "lshift":
        return number << places
    if name == "rshift":
        return number >> places
    if name == "arshift":
        return signed(number) >> places
    if name == "ror":
        places = -places & 31
    return (number << places) | (number >> ((32 - places) & 31)) if places else number


def as_hex(number: int, digits: int) -> bytes:
    """Lower case for a positive count of digits, upper case for a negative one; 8 at most, the lowest digits."""
    upper = digits < 0
    count = min(8, abs(digits))
    text = f"{number:08x}"[8 - count :] if count else ""
    return (text.upper() if upper else text).encode()
