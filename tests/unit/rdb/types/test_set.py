"""Sets: which encoding is chosen, and what is refused."""

from __future__ import annotations

import pytest

from pyrepl.errors import CorruptData
from pyrepl.rdb.packed.listpack import encode_listpack
from pyrepl.rdb.settings import PackingSettings
from pyrepl.rdb.types.row import Form
from pyrepl.rdb.types.set import encode_set
from pyrepl.rdb.versions import numbered
from tests.unit.rdb.loading import load
from tests.unit.rdb.old_encodings import key, snapshot, text


def value_of(version: int, kind: int, data: bytes) -> object:
    return load(snapshot(version, key(kind, b"k", data))).values[0][b"k"]


@pytest.mark.parametrize(
    ("members", "version", "kind"),
    [
        ({b"1", b"-2"}, 10, 11),
        ({b"1", b"-2"}, 1, 11),
        ({b"%d" % i for i in range(512)}, 12, 11),
        ({b"%d" % i for i in range(513)}, 12, 2),
        ({b"1", b"01"}, 11, 20),
        ({b"1", b"01"}, 10, 2),
        ({b"9223372036854775807"}, 10, 11),
        ({b"9223372036854775808"}, 10, 2),
        ({b"x" * 64}, 80, 20),
        ({b"x" * 65}, 80, 2),
        ({b"m%d" % i for i in range(128)}, 11, 20),
        ({b"m%d" % i for i in range(129)}, 11, 2),
    ],
)
def test_choice(members: set[bytes], version: int, kind: int) -> None:
    written, body = encode_set(members, Form(numbered(version)))
    assert written == kind
    assert value_of(12, written, body) == members


def test_limits_are_settings() -> None:
    packing = PackingSettings(set_max_intset_entries=1, set_max_listpack_entries=2, set_max_listpack_value=3)
    assert encode_set({b"1", b"2"}, Form(numbered(11), packing=packing))[0] == 20
    assert encode_set({b"1", b"2", b"3"}, Form(numbered(11), packing=packing))[0] == 2
    assert encode_set({b"abcd"}, Form(numbered(11), packing=packing))[0] == 2


@pytest.mark.parametrize(
    ("kind", "data", "message"),
    [
        (2, b"\x02\x01a\x01a", "Duplicate set members"),
        (20, text(encode_listpack([b"a", b"a"])), "Duplicate set members"),
        (11, text(b"\x05" + bytes(7)), "elements of 5 bytes"),
    ],
)
def test_refused(kind: int, data: bytes, message: str) -> None:
    with pytest.raises(CorruptData, match=message):
        value_of(11, kind, data)
