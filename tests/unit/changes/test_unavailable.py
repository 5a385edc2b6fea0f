"""The error that says why rows cannot be had."""

from __future__ import annotations

from pyrepl.changes.unavailable import Unavailable
from pyrepl.errors import PyreplError


def test_it_is_one_of_ours_and_keeps_its_text() -> None:
    assert issubclass(Unavailable, PyreplError)
    assert str(Unavailable("token 5 is too old")) == "token 5 is too old"
