"""`python -m pyrepl.observability.eventlog` prints the reference page."""

from __future__ import annotations

import runpy

import pytest

from pyrepl.observability.eventlog.reference import reference


def test_prints_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_module("pyrepl.observability.eventlog", run_name="__main__")
    assert capsys.readouterr().out == reference()
