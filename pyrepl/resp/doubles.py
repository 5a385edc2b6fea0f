"""Floating point as Redis prints and reads it: doubles (scores), and the long doubles of INCRBYFLOAT.

Integers are in numbers.py. The printed form of a double is that of Redis 8.2 and Valkey 8.0, with the digits of
grisu.py; Redis 7.0 prints `%.17g`, which reads back as the same number.

Long double arithmetic follows the x87 format that Redis has on x86-64: a significand of 64 bits, rounded half to
even after each operation, printed with 17 decimals. It is computed exactly, on fractions.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final, final

from pyrepl.resp.grisu import grisu_digits

_INTEGER_BOUND: Final = 2.0**62
"""Integral doubles within this magnitude, inclusive, are printed as plain integers (Redis's double2ll)."""

_LONG_DOUBLE_TEXT_LIMIT: Final = 5 * 1024
_SIGNIFICAND_BITS: Final = 64
_LARGEST_EXPONENT: Final = 16384
"""A long double's magnitude is below 2**_LARGEST_EXPONENT."""
_SMALLEST_EXPONENT: Final = -16445
"""The spacing of the subnormal long doubles is 2**_SMALLEST_EXPONENT."""
_DECIMALS: Final = 17
_MINUS: Final = 0x2D
_POINT: Final = 0x2E
_ZERO: Final = 0x30
_NINE: Final = 0x39
_EXACT_DIGITS: Final = 15
_POWERS: Final = [10.0**exponent for exponent in range(_EXACT_DIGITS + 1)]
"""Integers of so many digits and these powers of ten are exact doubles, so their quotient is the nearest double."""


def format_double(number: float) -> bytes:
    """The text of a double in Redis 8.2's form: `3`, `0.1`, `1e-7`, `1.2345678912345679e+8`, `inf`, `-0`."""
    if -_INTEGER_BOUND <= number <= _INTEGER_BOUND:
        whole = int(number)
        if whole == number:
            if whole == 0 and math.copysign(1.0, number) < 0:
                return b"-0"
            return b"%d" % whole
    elif number != number:
        return b"nan"
    elif number in (math.inf, -math.inf):
        return b"inf" if number > 0 else b"-inf"
    digits, exponent = grisu_digits(abs(number))
    text = _lay_out(digits, exponent)
    return b"-" + text.encode() if number < 0 else text.encode()


def _lay_out(digits: str, exponent: int) -> str:
    """Choose between plain and scientific notation by the rules seen in Redis 8.2 (those of fpconv_dtoa)."""
    count = len(digits)
    scientific = count + exponent - 1
    if exponent >= 0 and scientific < count + 7:
        return digits + "0" * exponent
    if exponent < 0 and (exponent > -7 or abs(scientific) < 4):
        point = count + exponent
        if point <= 0:
            return "0." + "0" * -point + digits
        return digits[:point] + "." + digits[point:]
    mantissa = digits if count == 1 else f"{digits[0]}.{digits[1:]}"
    sign = "-" if scientific < 0 else "+"
    return f"{mantissa}e{sign}{abs(scientific)}"


def parse_double(text: bytes) -> float | None:
    """The double that `text` spells, else None: C's strtod over the whole text, as Redis's string2d.

    Decimal and hexadecimal forms, `inf` and `infinity` in any case, a leading `+`: accepted. Spaces, underscores, nan,
    and finite texts that overflow to infinity or underflow to zero: refused.
    """
    if len(text) <= _EXACT_DIGITS:
        # Nearly all are short and plain, and need none of the checks of the general rule.
        plain = _parse_plain(text)
        if plain == plain:
            return plain
    lowered = text.lower()
    if not lowered or b"_" in lowered or lowered[0] <= 32 or lowered[-1] <= 32:
        return None
    try:
        number = float.fromhex(lowered.decode("ascii")) if b"x" in lowered else float(lowered)
    except (ValueError, OverflowError):
        return None
    if number != number:
        return None
    if number in (math.inf, -math.inf):
        return number if b"n" in lowered else None
    if number == 0.0 and _has_nonzero_digit(lowered):
        return None
    return number


def _parse_plain(text: bytes) -> float:
    """The double that digits, with a point among them or a minus before them, spell; nan for any other text. `text` has
    _EXACT_DIGITS at most (Clinger's fast path)."""
    size = len(text)
    start = 1 if size > 0 and text[0] == _MINUS else 0
    point = -1
    number = 0
    at = start
    while at < size:
        char = text[at]
        if _ZERO <= char <= _NINE:
            number = number * 10 + (char - _ZERO)
        elif char == _POINT and point < 0:
            point = at
        else:
            return math.nan
        at += 1
    digits = size - start - (0 if point < 0 else 1)
    if digits <= 0:
        return math.nan
    value = float(number) if point < 0 else float(number) / _POWERS[size - 1 - point]
    return -value if start else value


def _has_nonzero_digit(lowered: bytes) -> bool:
    """Is the significand of a valid number text other than zero? Then a zero result means underflow."""
    if b"x" in lowered:
        significand = lowered.partition(b"x")[2].partition(b"p")[0]
    else:
        significand = lowered.partition(b"e")[0]
    return bool(significand.strip(b"+-.0"))


@final
class LongDouble:
    """A long double: a finite value held exactly, or an infinity.

    Invariant: `value` is representable in the x87 format; it is 0 when `infinity` is not 0.
    """

    __slots__ = ("infinity", "value")

    def __init__(self, value: Fraction, infinity: int = 0) -> None:
        """`infinity` is 0 for a finite number, else its sign, 1 or -1."""
        self.value: Final = value
        self.infinity: Final = infinity

    def is_finite(self) -> bool:
        """False for the infinities; there is no nan."""
        return self.infinity == 0

    def plus(self, other: LongDouble) -> LongDouble | None:
        """The rounded sum; None where C would give nan (inf - inf)."""
        if self.infinity or other.infinity:
            if self.infinity and other.infinity and self.infinity != other.infinity:
                return None
            return LongDouble(Fraction(0), self.infinity or other.infinity)
        return _rounded(self.value + other.value)


def _rounded(exact: Fraction) -> LongDouble:
    """The nearest long double, half to even."""
    if exact == 0:
        return LongDouble(Fraction(0))
    magnitude = abs(exact)
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length() - _SIGNIFICAND_BITS
    if magnitude >= Fraction(2) ** (exponent + _SIGNIFICAND_BITS):
        exponent += 1
    exponent = max(exponent, _SMALLEST_EXPONENT)
    spacing = Fraction(2) ** exponent
    nearest = round(magnitude / spacing) * spacing
    sign = 1 if exact > 0 else -1
    if nearest >= Fraction(2) ** _LARGEST_EXPONENT:
        return LongDouble(Fraction(0), sign)
    return LongDouble(sign * nearest)


def parse_long_double(text: bytes) -> LongDouble | None:
    """The long double that `text` spells, else None (C's strtold over the whole text, as Redis's string2ld).

    Accepts and refuses what parse_double does, with the wider range; texts of 5 KiB and more are refused.
    """
    lowered = text.lower()
    if not lowered or len(lowered) >= _LONG_DOUBLE_TEXT_LIMIT or b"_" in lowered:
        return None
    if lowered[0] <= 32 or lowered[-1] <= 32:
        return None
    unsigned = lowered[1:] if lowered[:1] in (b"+", b"-") else lowered
    sign = -1 if lowered[:1] == b"-" else 1
    if unsigned in (b"inf", b"infinity"):
        return LongDouble(Fraction(0), sign)
    exact = _parse_hexadecimal(unsigned[2:]) if unsigned[:2] == b"0x" else _parse_decimal(unsigned)
    if exact is None:
        return None
    number = _rounded(sign * exact)
    if not number.is_finite() or (number.value == 0 and exact != 0):
        return None
    return number


def _parse_decimal(unsigned: bytes) -> Fraction | None:
    significand, mark, exponent_text = unsigned.partition(b"e")
    whole, _, fraction = significand.partition(b".")
    if not (whole + fraction).isdigit():
        return None
    exponent = _parse_exponent(exponent_text) if mark else 0
    if exponent is None:
        return None
    digits = int(whole + fraction)
    # Beyond this span the result overflows or underflows whatever the digits are; never compute such a power.
    exponent = max(min(exponent, 12_000), -12_000)
    return Fraction(digits) * Fraction(10) ** (exponent - len(fraction))


def _parse_hexadecimal(unsigned: bytes) -> Fraction | None:
    significand, mark, exponent_text = unsigned.partition(b"p")
    whole, _, fraction = significand.partition(b".")
    digits = whole + fraction
    if not digits or digits.strip(b"0123456789abcdef"):
        return None
    exponent = _parse_exponent(exponent_text) if mark else 0
    if exponent is None:
        return None
    exponent = max(min(exponent, 40_000), -40_000)
    return Fraction(int(digits, 16)) * Fraction(2) ** (exponent - 4 * len(fraction))


def _parse_exponent(text: bytes) -> int | None:
    digits = text[1:] if text[:1] in (b"+", b"-") else text
    if not digits.isdigit():
        return None
    magnitude = int(digits) if len(digits) < 10 else 10**9
    return -magnitude if text[:1] == b"-" else magnitude


def format_long_double(number: LongDouble) -> bytes:
    """`%.17Lf` with trailing zeros and a trailing point removed, as INCRBYFLOAT stores it; `inf` and `-inf` too."""
    if not number.is_finite():
        return b"inf" if number.infinity > 0 else b"-inf"
    # Fraction rounds half to even, and so does printf on an exact tie.
    scaled = round(abs(number.value) * 10**_DECIMALS)
    whole, decimals = divmod(scaled, 10**_DECIMALS)
    text = b"%s.%017d" % (str(whole).encode(), decimals)
    text = text.rstrip(b"0").rstrip(b".")
    return b"-" + text if number.value < 0 and text != b"0" else text
