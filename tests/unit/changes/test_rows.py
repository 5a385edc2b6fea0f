"""Rows: JSON on one line, and any bytes unharmed."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrepl.changes.rows import Json, decode_row, encode_row, from_bytes, to_bytes


@given(st.binary())
def test_bytes_come_back(data: bytes) -> None:
    text = encode_row([from_bytes(data)])
    row = decode_row(text)
    assert isinstance(row, list)
    assert to_bytes(row[0]) == data


@given(st.text())
def test_a_row_is_one_line(text: str) -> None:
    encoded = encode_row([text])
    assert "\n" not in encoded and "\r" not in encoded


def test_text_stays_readable() -> None:
    assert encode_row([0, from_bytes("größe".encode()), None, True]) == '[0,"größe",null,true]'
    assert encode_row([from_bytes(b"\xff\x00")]) == '[{"base64":"/wA="}]'
    assert json.loads(encode_row(["a\nb"])) == ["a\nb"]


@pytest.mark.parametrize("value", [None, 5, {}, {"base64": 1}, {"base64": "*"}, {"base64": "YQ==", "x": 1}, ["a"]])
def test_what_is_no_bytes(value: Json) -> None:
    with pytest.raises(ValueError):
        to_bytes(value)


def test_no_numbers_that_json_lacks() -> None:
    with pytest.raises(ValueError):
        encode_row([float("nan")])


def test_json_nested_too_deep_is_refused_like_any_bad_json() -> None:
    with pytest.raises(ValueError, match="nested too deep"):
        decode_row("[" * 100_000)
    with pytest.raises(ValueError):
        decode_row("[")
