"""Module names as their ids hide them. How values are stepped over is tested with the reader."""

from __future__ import annotations

import pytest

from pyrepl.rdb.types.module import module_name

ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


@pytest.mark.parametrize("name", ["ReJSON-RL", "graphdata", "AAAAAAAAA", "_________", "MBbloom--"])
@pytest.mark.parametrize("encoding_version", [0, 4, 1023])
def test_names(name: str, encoding_version: int) -> None:
    module_id = 0
    for char in name:
        module_id = module_id << 6 | ALPHABET.index(char)
    assert module_name(module_id << 10 | encoding_version) == name
