"""What is offered to a master."""

from __future__ import annotations

import pytest

from pyrepl.replication.dialects import REDIS_RDB_CHANNEL, VALKEY_DUAL_CHANNEL, Dialect
from pyrepl.replication.link_options import LinkOptions


@pytest.mark.parametrize(
    "redis, valkey, offers",
    [
        (False, False, ()),
        (True, False, (REDIS_RDB_CHANNEL,)),
        (False, True, (VALKEY_DUAL_CHANNEL,)),
        (True, True, (REDIS_RDB_CHANNEL, VALKEY_DUAL_CHANNEL)),
    ],
)
def test_each_way_by_its_option(redis: bool, valkey: bool, offers: tuple[Dialect, ...]) -> None:
    assert LinkOptions(rdb_channel=redis, dual_channel=valkey).offers == offers


def test_nothing_is_offered_unasked() -> None:
    assert LinkOptions().offers == ()
