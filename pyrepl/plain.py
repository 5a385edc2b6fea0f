"""Stands in for the `cython` module where the kernels run as they are written: names without effect.

A kernel in Cython's pure Python mode holds both forms in one file: what stands under `cython.compiled` is C when
compiled and is never run otherwise. Cython itself is needed to build only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

T = TypeVar("T")

compiled: Final = False


def _as_it_is(decorated: T) -> T:
    return decorated


def _with_arguments(*_: Any, **__: Any) -> Callable[[T], T]:
    return _as_it_is


cfunc = cclass = inline = final = nogil = _as_it_is
exceptval = locals = _with_arguments


def declare(*_: Any, **__: Any) -> None:
    """A C variable; there is none here."""


def struct(**_: Any) -> None:
    """A C struct; there is none here."""


class _Type:
    """Any C type: may be pointed at and indexed where a module is defined, and does nothing."""

    def __getitem__(self, _: object) -> _Type:
        return self

    def __call__(self, *_: object) -> _Type:
        return self


Py_ssize_t = size_t = uint = uchar = p_uchar = ulonglong = longlong = double = bint = p_void = void = pointer = _Type()
