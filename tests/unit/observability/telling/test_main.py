"""`python -m pyrepl.observability.telling` prints the page of words about mailboxes."""

from __future__ import annotations

import runpy

import pytest

from pyrepl.observability.telling.mailbox_words import page


def test_prints_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_module("pyrepl.observability.telling", run_name="__main__")
    assert capsys.readouterr().out == page()
