"""One PostgreSQL server for all unit tests that need one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.peers.postgres import Postgres


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    with Postgres() as running:
        yield running
