"""A CA for the tests of TLS."""

from __future__ import annotations

import pytest

from tests.peers.certificates import Authority


@pytest.fixture
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("tls"))
