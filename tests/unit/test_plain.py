"""The stand-in for the cython module: decorators leave what they decorate alone, types may be named."""

from __future__ import annotations

from pyrepl import plain


def test_decorators_change_nothing() -> None:
    def double(number: int) -> int:
        return 2 * number

    assert plain.cfunc(double) is double
    assert plain.exceptval(-1)(double) is double
    assert plain.exceptval(check=False)(double)(4) == 8


def test_types_may_be_pointed_at_and_declared() -> None:
    assert plain.pointer[plain.uint] is not None
    plain.declare(plain.pointer[plain.uint], 5)
    plain.struct(size=plain.uint)


def test_it_says_that_nothing_is_compiled() -> None:
    assert plain.compiled is False
