"""When a client that does not read has to go: the hard limit at once, the soft one after its time."""

from __future__ import annotations

from pyrepl.acl.identity import UNASKED, Identity, Proof
from pyrepl.config.kinds import BufferLimit, BufferLimits
from pyrepl.node.client import UNLIMITED, Client
from pyrepl.node.output_limit import UNCOUNTED_BYTES, OutputWatch, counted_bytes, limit_of, room_for

LIMIT = BufferLimit(hard_bytes=100, soft_bytes=50, soft_seconds=10)


def test_the_hard_limit_is_inclusive_and_at_once() -> None:
    assert not OutputWatch().is_over(LIMIT, 99, 0.0)
    assert OutputWatch().is_over(LIMIT, 100, 0.0)


def test_the_soft_limit_needs_more_than_its_time() -> None:
    watch = OutputWatch()
    assert not watch.is_over(LIMIT, 50, 5.0)
    assert not watch.is_over(LIMIT, 60, 15.0)
    assert watch.is_over(LIMIT, 60, 15.1)


def test_a_moment_below_starts_the_time_anew() -> None:
    watch = OutputWatch()
    assert not watch.is_over(LIMIT, 60, 0.0)
    assert not watch.is_over(LIMIT, 49, 9.0)
    assert not watch.is_over(LIMIT, 60, 11.0)
    assert not watch.is_over(LIMIT, 60, 21.0)
    assert watch.is_over(LIMIT, 60, 21.1)


def test_zero_is_no_limit() -> None:
    watch = OutputWatch()
    none = BufferLimit(0, 0, 0)
    assert not watch.is_over(none, 1 << 40, 0.0)
    assert not watch.is_over(none, 1 << 40, 1e9)
    assert not OutputWatch().is_over(BufferLimit(100, 0, 0), 99, 0.0)
    assert OutputWatch().is_over(BufferLimit(0, 50, 0), 50, 0.0) is False


def test_what_applies_to_whom() -> None:
    limits = BufferLimits(BufferLimit(1000, 0, 0), BufferLimit(2000, 0, 0), BufferLimit(3000, 0, 0))
    client = Client(1, "127.0.0.1:1", "127.0.0.1:2", 0.0, UNASKED)
    assert limit_of(client, limits) == limits.normal
    client.subscribe(b"ch")
    assert limit_of(client, limits) == limits.pubsub
    stranger = Client(2, "127.0.0.1:1", "127.0.0.1:2", 0.0, Identity(None, Proof.MISSING))
    assert limit_of(stranger, limits).hard_bytes == 1


def test_the_first_buffer_does_not_count() -> None:
    assert counted_bytes(0) == counted_bytes(UNCOUNTED_BYTES) == 0
    assert counted_bytes(UNCOUNTED_BYTES + 5) == 5


def test_room_is_what_is_left_before_the_hard_limit() -> None:
    assert room_for(BufferLimit(100, 50, 1), 30) == UNCOUNTED_BYTES + 70
    assert room_for(BufferLimit(0, 50, 1), 1 << 40) == UNLIMITED
