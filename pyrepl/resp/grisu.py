"""The decimal digits of a double as Redis 8.2 and Valkey 8.0 choose them: the Grisu2 algorithm (Loitsch, 2010).

Grisu2 finds digits that read back as the same double; in about one case in a thousand they are not the shortest, or not
the closest of the shortest. DEBUG DIGEST hashes the printed scores, so equal data needs exactly these digits and
Python's repr() will not do. How digits are laid out as text is in doubles.py.

Theory: the interval of decimals that round to `number` is scaled by a power of ten, taken as a 64-bit significand, so
that its upper end has an exponent in -60..-32. Then its whole part fits 32 bits and the digits come off by division,
until the rest is within the interval; the last digit is lowered while that brings it closer to `number`.
Numbers in here are pairs (significand, exponent), meaning significand * 2**exponent.
"""

from __future__ import annotations

import math
from typing import Final

_HIDDEN_BIT: Final = 1 << 52
_FIRST_POWER: Final = -348
_POWER_STEP: Final = 8
_POWER_COUNT: Final = 87
_LOWEST_EXPONENT: Final = -60
_HIGHEST_EXPONENT: Final = -32
_LOG10_2: Final = math.log10(2)
_TENS: Final[tuple[int, ...]] = tuple(10**power for power in range(20))


def _power_of_ten(power: int) -> tuple[int, int]:
    """10**power rounded to a significand of exactly 64 bits, and its exponent."""
    if power >= 0:
        exact = 10**power
        shift = exact.bit_length() - 64
        if shift <= 0:
            return exact << -shift, shift
        return (exact + (1 << (shift - 1))) >> shift, shift
    divisor: int = 10**-power
    shift = divisor.bit_length() + 63
    quotient = ((1 << (shift + 1)) // divisor + 1) >> 1
    if quotient >> 64:
        shift -= 1
        quotient = ((1 << (shift + 1)) // divisor + 1) >> 1
    return quotient, -shift


_POWERS: Final[tuple[tuple[int, int], ...]] = tuple(
    _power_of_ten(_FIRST_POWER + _POWER_STEP * index) for index in range(_POWER_COUNT)
)


def grisu_digits(number: float) -> tuple[str, int]:
    """(digits, k) with number == int(digits) * 10**k as a reader rounds it; `number` is finite and above 0."""
    fraction, exponent = math.frexp(number)
    # Doubles below 2**-1022 lose leading bits to the fixed lowest exponent.
    exponent = max(exponent - 53, -1074)
    significand = int(math.ldexp(fraction, math.frexp(number)[1] - exponent))
    upper, lower, upper_exponent = _boundaries(significand, exponent)
    scale, scale_exponent, power = _scale_for(upper_exponent)
    shift = 64 - significand.bit_length()
    middle = _multiply(significand << shift, scale)
    upper = _multiply(upper, scale) - 1
    lower = _multiply(lower, scale) + 1
    return _generate(middle, upper, lower, upper_exponent + scale_exponent + 64, -power)


def _boundaries(significand: int, exponent: int) -> tuple[int, int, int]:
    """The ends of the interval of reals that round to the double, with one exponent; the upper one has 64 bits."""
    upper = 2 * significand + 1
    shift = 64 - upper.bit_length()
    upper_exponent = exponent - 1 - shift
    # Just above a power of two the neighbour below is only half as far away.
    lower_shift = 2 if significand == _HIDDEN_BIT else 1
    lower = ((significand << lower_shift) - 1) << (exponent - lower_shift - upper_exponent)
    return upper << shift, lower, upper_exponent


def _scale_for(exponent: int) -> tuple[int, int, int]:
    """(significand, exponent, k) of the power 10**k that brings `exponent` into the range wanted."""
    index = int((-(exponent + _POWER_COUNT) * _LOG10_2 - _FIRST_POWER) / _POWER_STEP)
    while True:
        significand, power_exponent = _POWERS[index]
        scaled = exponent + power_exponent + 64
        if scaled < _LOWEST_EXPONENT:
            index += 1
        elif scaled > _HIGHEST_EXPONENT:
            index -= 1
        else:
            return significand, power_exponent, _FIRST_POWER + _POWER_STEP * index


def _multiply(left: int, right: int) -> int:
    """The upper 64 bits of the product, rounded."""
    return (left * right + (1 << 63)) >> 64


def _generate(middle: int, upper: int, lower: int, exponent: int, k: int) -> tuple[str, int]:
    """Digits of a number between `lower` and `upper`, close to `middle`; all three share `exponent`, below 0."""
    distance = upper - middle
    delta = upper - lower
    one = 1 << -exponent
    whole = upper >> -exponent
    rest = upper & (one - 1)
    digits: list[int] = []
    for kappa in range(9, -1, -1):
        digit, whole = divmod(whole, _TENS[kappa])
        if digit or digits:
            digits.append(digit)
        remainder = (whole << -exponent) + rest
        if remainder <= delta:
            _lower_last(digits, delta, remainder, _TENS[kappa] << -exponent, distance)
            return _joined(digits), k + kappa
    kappa = 0
    while True:
        rest *= 10
        delta *= 10
        kappa += 1
        digit = rest >> -exponent
        if digit or digits:
            digits.append(digit)
        rest &= one - 1
        if rest < delta:
            _lower_last(digits, delta, rest, one, distance * _TENS[kappa])
            return _joined(digits), k - kappa


def _lower_last(digits: list[int], delta: int, rest: int, unit: int, distance: int) -> None:
    """Lower the last digit while the number stays in the interval and comes closer to the middle."""
    while (
        rest < distance
        and delta - rest >= unit
        and (rest + unit < distance or distance - rest > rest + unit - distance)
    ):
        digits[-1] -= 1
        rest += unit


def _joined(digits: list[int]) -> str:
    return "".join(map(str, digits))
