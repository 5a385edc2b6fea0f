"""Which clients are cut when all together take too much."""

from __future__ import annotations

import pytest

from pyrepl.acl.identity import OURS
from pyrepl.config.settings import Settings
from pyrepl.node.client import Client
from pyrepl.node.client_limit import LEAST_BYTES, limit_bytes, to_be_cut

MB = 1 << 20


@pytest.mark.parametrize(
    ("wanted", "maxmemory", "limit"),
    [
        (0, 100 * MB, 0),
        (10 * MB, 0, 10 * MB),
        (-5, 100 * MB, 5 * MB),
        (-5, 0, 0),
        (1000, 0, LEAST_BYTES),
        (-1, MB, LEAST_BYTES),
    ],
)
def test_the_limit(wanted: int, maxmemory: int, limit: int) -> None:
    assert limit_bytes(Settings(maxmemory_clients=wanted, maxmemory=maxmemory)) == limit


def clients(*sizes: int) -> list[tuple[Client, int]]:
    return [(Client(number, "a:1", "b:1", 0.0, OURS), size) for number, size in enumerate(sizes)]


def test_the_largest_go_until_the_rest_fits() -> None:
    some = clients(10, 50, 20, 40)
    assert to_be_cut(some, 120) == [], "the bound is inclusive"
    assert [client.id for client in to_be_cut(some, 119)] == [1]
    assert [client.id for client in to_be_cut(some, 70)] == [1]
    assert [client.id for client in to_be_cut(some, 69)] == [1, 3]
    assert [client.id for client in to_be_cut(some, 0)] == [1, 3, 2, 0]


def test_some_stay_and_count() -> None:
    some = clients(10, 50, 20)
    some[1][0].no_evict = True
    assert [client.id for client in to_be_cut(some, 60)] == [2]
    assert [client.id for client in to_be_cut(some, 0)] == [2, 0]
