"""Numbers of keys and of elements."""

from __future__ import annotations

import pytest

from pyrepl.commands.engine.key_counts import (
    REPEATS_LIMIT,
    check_pick_count,
    counted_keys,
    limit_argument,
    pick_count_argument,
    pop_count_argument,
)
from pyrepl.errors import CommandError
from pyrepl.resp.numbers import INT64_MAX, INT64_MIN


def test_keys_are_counted() -> None:
    assert counted_keys((b"2", b"a", b"b", b"LIMIT"), "ERR many") == (b"a", b"b")
    for text in (b"0", b"-1", b"x", b"99999999999999999999"):
        with pytest.raises(CommandError, match="ERR numkeys should be greater than 0"):
            counted_keys((text, b"a"), "ERR many")
    with pytest.raises(CommandError, match="ERR many"):
        counted_keys((b"2", b"a"), "ERR many")


def test_limits() -> None:
    assert limit_argument(b"0") == 0
    for text in (b"-1", b"x"):
        with pytest.raises(CommandError, match="ERR LIMIT can't be negative"):
            limit_argument(text)


def test_counts_of_pops() -> None:
    assert pop_count_argument(b"0") == 0
    for text in (b"-1", b"x", b""):
        with pytest.raises(CommandError, match="ERR value is out of range, must be positive"):
            pop_count_argument(text)


def test_counts_of_random_picks() -> None:
    assert pick_count_argument(b"%d" % INT64_MAX) == INT64_MAX
    with pytest.raises(CommandError, match="value must between"):
        pick_count_argument(b"%d" % INT64_MIN)
    check_pick_count(-REPEATS_LIMIT, pairs=True)
    check_pick_count(INT64_MAX, pairs=False)
    check_pick_count(INT64_MAX // 2, pairs=True)
    for count, pairs in ((-REPEATS_LIMIT - 1, False), (INT64_MAX // 2 + 1, True)):
        with pytest.raises(CommandError, match="ERR value is out of range"):
            check_pick_count(count, pairs=pairs)
