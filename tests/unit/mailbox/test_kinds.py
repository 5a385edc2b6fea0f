"""Every kind of word gives back what was written."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrepl.errors import PeerError
from pyrepl.mailbox.kinds import ANY_UID, KINDS
from tests.unit.mailbox.wire_strategies import VALUES


@given(st.sampled_from(sorted(KINDS)).flatmap(lambda name: st.tuples(st.just(name), VALUES[name])))
def test_written_and_read(case: tuple[str, Any]) -> None:
    name, value = case
    word = KINDS[name].render(value)
    assert KINDS[name].parse(word) == value
    assert " " not in word and "\n" not in word and word != ""


def test_a_star_is_any_uid() -> None:
    assert KINDS["UidOrNone"].parse("*") == ANY_UID
    with pytest.raises(PeerError):
        KINDS["Uid"].parse("*")
    with pytest.raises(PeerError):
        KINDS["Yes"].parse("yes")
