"""Kinds of the rows about the process; texts and refusals are those of Redis 8.2.3's CONFIG SET."""

from __future__ import annotations

import pytest

from pyrepl.config.process_kinds import ShutdownOptions
from pyrepl.errors import ConfigError


@pytest.mark.parametrize(
    ("words", "value", "text"),
    [
        ([b"default"], (), b"default"),
        ([b"default", b"save"], ("save",), b"save"),
        ([b"NOW", b"force"], ("now", "force"), b"now force"),
        ([b"force", b"now", b"nosave"], ("nosave", "now", "force"), b"nosave now force"),
        ([b"save", b"save"], ("save",), b"save"),
    ],
)
def test_shutdown_options(words: list[bytes], value: tuple[str, ...], text: bytes) -> None:
    kind = ShutdownOptions()
    assert kind.parse(words, ()) == value
    assert kind.text(value) == text
    assert kind.parse(kind.lines(value)[0], ("save",)) == value


@pytest.mark.parametrize("words", [[b"bad"], [b""], [], [b"save", b"", b"now"]])
def test_other_shutdown_options_are_refused(words: list[bytes]) -> None:
    with pytest.raises(ConfigError, match=r"must be one of the following: default, save, nosave, now, force$"):
        ShutdownOptions().parse(words, ())


def test_save_and_nosave_exclude_each_other() -> None:
    with pytest.raises(ConfigError, match=r"^shutdown options SAVE and NOSAVE can't be used simultaneously$"):
        ShutdownOptions().parse([b"save", b"nosave"], ())
