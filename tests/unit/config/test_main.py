"""`python -m pyrepl.config` prints the sample."""

from __future__ import annotations

import runpy

import pytest

from pyrepl.config.render import sample


def test_prints_the_sample(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    runpy.run_module("pyrepl.config", run_name="__main__")
    assert capsysbinary.readouterr().out == sample()
