"""A size, or a part of another one."""

from __future__ import annotations

import pytest

from pyrepl.config.share_kinds import MemoryOrPercent
from pyrepl.errors import ConfigError


@pytest.mark.parametrize(
    ("word", "value", "text"),
    [(b"0", 0, b"0"), (b"10mb", 10 << 20, b"10485760"), (b"5%", -5, b"5%"), (b"100%", -100, b"100%")],
)
def test_good(word: bytes, value: int, text: bytes) -> None:
    kind = MemoryOrPercent()
    assert kind.parse([word], -7) == value and kind.text(value) == text
    assert kind.parse(kind.lines(value)[0], 0) == value


def test_no_part_is_none() -> None:
    assert MemoryOrPercent().parse([b"0%"], 5) == 0


@pytest.mark.parametrize("words", [[b"101%"], [b"-5%"], [b"%"], [b"5 %"], [b"5%%"], [b"x"], [b"-1"], [], [b"1", b"2"]])
def test_bad(words: list[bytes]) -> None:
    with pytest.raises(ConfigError):
        MemoryOrPercent().parse(words, 0)
