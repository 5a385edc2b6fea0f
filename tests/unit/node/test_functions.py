"""Libraries of functions."""

from __future__ import annotations

from pyrepl.node.functions import Function, Functions, Library


def library(name: bytes, *functions: bytes) -> Library:
    return Library(name, b"text of " + name, tuple(Function(one, None, 0) for one in functions))


def test_libraries_and_their_functions() -> None:
    functions = Functions()
    functions.add(library(b"a", b"f", b"g"))
    functions.add(library(b"b", b"h"))
    assert functions.why_not_add(library(b"c", b"g")) == "Function g already exists"
    assert functions.why_not_add(library(b"a", b"g")) is None
    functions.add(library(b"a", b"k"))
    assert functions.find(b"f") is None and functions.find(b"k") is not None and functions.functions_count == 2
    assert functions.texts() == (b"text of b", b"text of a") and len(functions) == 2 and functions.text_bytes == 18
    functions.remove(b"b")
    functions.remove(b"b")
    assert [one.name for one in functions.libraries()] == [b"a"] and functions.library(b"b") is None


def test_what_a_snapshot_brings() -> None:
    functions = Functions()
    functions.add(library(b"a", b"f"))
    functions.take([b"one", b"two"])
    assert functions.texts() == (b"one", b"two") and len(functions) == 2 and functions.find(b"f") is None
    functions.clear()
    assert not functions and functions.absent == []
