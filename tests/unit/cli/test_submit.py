"""The file that spark-submit runs."""

from __future__ import annotations

import runpy
import sys

import pytest


def test_is_pyrepl_metrics(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["submit.py", "--help"])
    with pytest.raises(SystemExit):
        runpy.run_module("pyrepl_cli.submit", run_name="__main__")
    assert "pyrepl metrics [OPTIONS] LOG..." in capsys.readouterr().out
