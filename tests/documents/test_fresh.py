"""`make demo` on a bare Debian 12; `make fresh` has more."""

from __future__ import annotations

import pytest

from tests.fresh.__main__ import passes


@pytest.mark.matrix
@pytest.mark.timeout(1800)
def test_the_demo_runs_on_a_bare_machine() -> None:
    assert passes("demo", "bookworm")
