"""`pytest tests/scenario --rewrite` writes down what the machines say now; read the difference before you keep it."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite", action="store_true", help="rewrite the conversations in tests/scenario")
