"""The table of types: complete by version, unique, and closed against what is no plain value."""

from __future__ import annotations

import pytest

from pyrepl.rdb.types.row import Form
from pyrepl.rdb.types.table import VALUE_TYPES, encode_value, types_of
from pyrepl.rdb.versions import WRITABLE_VERSIONS, Version, numbered


def test_types_by_version() -> None:
    assert set(types_of(numbered(1))) == {0, 1, 2, 3, 4, 9, 10, 11, 12, 13}
    assert set(types_of(numbered(7))) - set(types_of(numbered(1))) == {14}
    assert set(types_of(numbered(8))) - set(types_of(numbered(7))) == {5, 6, 7}
    assert set(types_of(numbered(9))) - set(types_of(numbered(8))) == {15}
    assert set(types_of(numbered(10))) - set(types_of(numbered(9))) == {16, 17, 18, 19}
    assert set(types_of(numbered(11))) - set(types_of(numbered(10))) == {20, 21}
    assert set(types_of(numbered(12))) - set(types_of(numbered(11))) == {22, 23, 24, 25}
    assert set(types_of(numbered(80))) - set(types_of(numbered(11))) == {22}
    assert types_of(numbered(80))[22].name != types_of(numbered(12))[22].name


@pytest.mark.parametrize("version", WRITABLE_VERSIONS)
def test_no_version_has_a_number_twice(version: Version) -> None:
    numbers = [row.number for row in VALUE_TYPES if version in row.versions]
    assert len(numbers) == len(set(numbers))


@pytest.mark.parametrize("value", [None, 5, "text", (b"a",), bytearray(b"x")])
def test_what_is_no_plain_value(value: object) -> None:
    with pytest.raises(TypeError, match=f"the snapshot format has no {type(value).__name__}"):
        encode_value(value, Form())


def test_the_kind_of_a_dict_is_that_of_its_values() -> None:
    assert encode_value({b"a": 1.0}, Form())[0] == 17
    assert encode_value({b"a": b"1"}, Form())[0] == 16
