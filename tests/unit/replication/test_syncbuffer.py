"""The stream held while a snapshot comes."""

from __future__ import annotations

from pyrepl.config.directives import MB
from pyrepl.config.settings import Settings
from pyrepl.replication.syncbuffer import BufferUse, SyncBuffer, sync_buffer_limit

ROOMY = MB


def test_the_same_bytes_come_out_in_pieces_of_the_readers_size() -> None:
    buffer = SyncBuffer(ROOMY, BufferUse())
    for piece in (b"", b"abc", b"defghij", b"k"):
        buffer.add(piece)
    assert buffer.size_bytes == 11
    assert [buffer.take(4), buffer.take(4), buffer.take(2), buffer.take(9), buffer.take(9)] == [
        b"abcd",
        b"efgh",
        b"ij",
        b"k",
        b"",
    ]
    assert buffer.size_bytes == 0


def test_a_piece_of_the_right_size_is_not_copied() -> None:
    buffer = SyncBuffer(ROOMY, BufferUse())
    piece = b"x" * 1000
    buffer.add(piece)
    assert buffer.take(1000) is piece


def test_the_limit_is_reached_when_met() -> None:
    buffer = SyncBuffer(10, BufferUse())
    buffer.add(b"x" * 9)
    assert not buffer.is_full
    buffer.add(b"xyz")
    assert buffer.is_full and buffer.size_bytes == 12
    buffer.take(3)
    assert not buffer.is_full


def test_the_limit_is_the_first_that_is_stated_and_a_share_of_the_memory_if_none_is() -> None:
    settings = Settings()
    settings.assign("maxmemory", 8 * MB)
    settings.assign("replica-full-sync-buffer-limit", 77)
    assert sync_buffer_limit(settings, 64 * MB) == 77
    settings.assign("replica-full-sync-buffer-limit", 0)
    assert sync_buffer_limit(settings, 64 * MB) == 256 * MB, "the hard limit for replicas"
    settings.set("client-output-buffer-limit", b"replica 0 0 0")
    assert sync_buffer_limit(settings, 64 * MB) == 2 * MB, "a quarter of maxmemory"
    settings.assign("maxmemory", 0)
    assert sync_buffer_limit(settings, 64 * MB) == 16 * MB, "a quarter of the machine"
    assert sync_buffer_limit(settings, 0) == MB
    buffer = SyncBuffer(sync_buffer_limit(settings, 0), BufferUse())
    buffer.add(b"x" * (MB - 1))
    assert not buffer.is_full
    buffer.add(b"x")
    assert buffer.is_full


def test_use_counts_all_buffers_and_remembers_the_most() -> None:
    use = BufferUse()
    one, two = SyncBuffer(ROOMY, use), SyncBuffer(ROOMY, use)
    one.add(b"x" * 30)
    two.add(b"x" * 12)
    one.clear()
    assert (use.size_bytes, use.peak_bytes) == (12, 42)
    two.take(5)
    two.clear()
    assert (use.size_bytes, use.peak_bytes) == (0, 42) and two.take(1) == b""
