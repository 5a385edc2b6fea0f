"""PFSELFTEST finds nothing wrong, and would."""

from __future__ import annotations

from random import Random

import pytest

from pyrepl.keyspace import hll_selftest
from pyrepl.keyspace.hll_selftest import why_not_right


def test_nothing_is_wrong() -> None:
    assert why_not_right(Random(3).randrange, 1, 1000) is None


def test_estimates_that_are_wrong_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hll_selftest, "count", lambda registers: 500)
    assert why_not_right(Random(3).randrange, 1, 1000) == "Too big error. card:1 abserr:499"


def test_registers_that_are_wrong_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hll_selftest, "packed", lambda header, registers: None)
    assert why_not_right(Random(3).randrange, 1, 10) == "the registers are not those that were written"
