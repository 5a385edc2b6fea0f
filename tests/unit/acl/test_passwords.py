"""How passwords are kept and compared."""

from __future__ import annotations

import pytest

from pyrepl.acl.passwords import hashed, is_hash, is_one_of

OF_PASS = b"d74ff0ee8da3b9806b18c877dbf29bbde50b5bd8e4dad7a3a725000feb82e8f1"


def test_a_hash_is_sha256_in_small_digits() -> None:
    assert hashed(b"pass") == OF_PASS


@pytest.mark.parametrize(
    ("word", "expected"),
    [(OF_PASS, True), (OF_PASS[:-1], False), (OF_PASS + b"0", False), (OF_PASS.upper(), False), (b"g" * 64, False)],
)
def test_what_looks_like_a_hash(word: bytes, expected: bool) -> None:
    assert is_hash(word) is expected
    assert not is_hash(word + b"\n")


def test_any_of_several_fits() -> None:
    assert is_one_of(b"pass", [hashed(b"other"), OF_PASS])
    assert not is_one_of(b"pass", [hashed(b"other")])
    assert not is_one_of(b"pass", [])
