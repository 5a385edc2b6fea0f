"""What is offered to a master."""

from __future__ import annotations

import pytest

from pyrepl.replication.dialects import DIALECTS, REDIS_RDB_CHANNEL, VALKEY_DUAL_CHANNEL, Dialect
from pyrepl.replication.link_options import LinkOptions


@pytest.mark.parametrize("offers", [(), (REDIS_RDB_CHANNEL,), (VALKEY_DUAL_CHANNEL,), DIALECTS])
def test_offers_stand_in_one_order(offers: tuple[Dialect, ...]) -> None:
    assert LinkOptions(dialects=frozenset(reversed(offers))).offers == offers


def test_nothing_is_offered_unasked() -> None:
    assert LinkOptions().offers == ()
