"""The library struct, and the floats of MessagePack."""

from __future__ import annotations

import pytest

from pyrepl.scripting.packing import PackingError, pack_float, struct_pack, struct_size, struct_unpack


def values(form: str, data: bytes, position: int = 1) -> tuple[object, ...]:
    return struct_unpack(form, data, position).take()[1:]


def test_pack_and_unpack() -> None:
    data = struct_pack(">I2i4bHd", [1, -2, 127, 65535, 1.5], 1000)
    assert data == b"\0\1\xff\xff\xff\xfe\x7f\xff\xff" + b"\x3f\xf8" + bytes(6)
    assert values(">I2i4bHd", data) == (1, -2, 127, 65535, 1.5, len(data) + 1)
    assert values("<s", b"ab\0cd") == (b"ab", 4)
    assert values("<Bc0", b"\2hi") == (b"hi", 4)
    assert values("<B", b"\1\2", 2) == (2, 3)
    assert struct_pack("<i8", [-1], 100) == b"\xff" * 8 and values("<L", b"\xff" * 8) == (2.0**64, 9)
    assert struct_pack("sx c2", [b"a", b"xyz"], 100) == b"a\0\0xy"


def test_alignment() -> None:
    assert struct_size("!4bi") == 8 and struct_size("bi") == 5 and struct_size("!bd") == 16


@pytest.mark.parametrize(
    ("form", "given"),
    [("i", []), ("i", [b"x"]), ("s", [None]), ("c5", [b"abc"]), ("q", [1]), ("i99", [1]), ("!3i", [1])],
)
def test_what_cannot_be_packed(form: str, given: list[object]) -> None:
    with pytest.raises(PackingError):
        struct_pack(form, given, 1000)


def test_bounds() -> None:
    with pytest.raises(PackingError, match="memory"):
        struct_pack("x" * 100, [], 50)
    for form, data, position in (
        ("i", b"abc", 1),
        ("s", b"abc", 1),
        ("i", b"abcd", 0),
        ("c0", b"a", 1),
        ("Bc0", b"\5a", 1),
    ):
        with pytest.raises(PackingError):
            struct_unpack(form, data, position)
    for form in ("s", "c0", "i99999999999"):
        with pytest.raises(PackingError):
            struct_size(form)


def test_floats() -> None:
    assert pack_float(1.5) == b"\xca\x3f\xc0\0\0" and pack_float(0.1)[0] == 0xCB and pack_float(1e300)[0] == 0xCB
