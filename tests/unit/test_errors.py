"""Errors: one family, and the place of corrupt data is part of its message."""

from __future__ import annotations

import pytest

from pyrepl.errors import CommandError, ConfigError, CorruptData, PeerError, PyreplError


@pytest.mark.parametrize("error", [PeerError("a"), CorruptData("a", 1), CommandError("a"), ConfigError("a")])
def test_each_is_caught_as_one_of_ours(error: Exception) -> None:
    with pytest.raises(PyreplError):
        raise error


def test_corrupt_data_says_where() -> None:
    error = CorruptData("a list of 3 elements ends after 2", 17)
    assert str(error) == "a list of 3 elements ends after 2 (at byte 17)"
    assert error.offset == 17
