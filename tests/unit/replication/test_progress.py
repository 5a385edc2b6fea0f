"""Percent, rate, remaining time, and the link's times up and down."""

from __future__ import annotations

import pytest

from pyrepl.replication.progress import LinkProgress, TransferProgress


def test_a_transfer_of_known_size() -> None:
    progress = TransferProgress(100.0, 1000)
    for second in range(1, 5):
        progress.advance(second * 100, 100.0 + second)
    assert progress.percent == 40.0
    assert progress.left_bytes == 600
    assert progress.bytes_per_s(104.0) == pytest.approx(100.0)
    assert progress.eta_s(104.0) == pytest.approx(6.0)
    assert progress.last_io_at == 104.0


def test_the_rate_is_of_the_last_seconds() -> None:
    progress = TransferProgress(0.0, 10_000)
    progress.advance(5000, 1.0)
    for second in range(2, 30):
        progress.advance(5000 + second, float(second))
    assert progress.bytes_per_s(29.0) == pytest.approx(1.0, abs=0.5)


def test_of_unknown_size_only_bytes_are_known() -> None:
    progress = TransferProgress(0.0, None)
    progress.advance(10, 1.0)
    assert (progress.percent, progress.left_bytes, progress.eta_s(1.0)) == (None, None, None)
    assert progress.bytes_per_s(1.0) == 10.0


def test_nothing_can_be_said_at_first() -> None:
    progress = TransferProgress(0.0, 10)
    assert progress.bytes_per_s(0.0) == 0.0 and progress.eta_s(0.0) is None
    assert TransferProgress(0.0, 0).percent == 100.0


def test_times_up_and_down() -> None:
    progress = LinkProgress()
    progress.note_down(10.0)
    progress.note_attempt()
    progress.note_attempt()
    assert (progress.current_sync_attempts, progress.total_sync_attempts) == (2, 2)
    progress.note_up(15.0)
    assert progress.up_since == 15.0 and progress.down_since is None
    assert progress.total_disconnect_s(100.0) == 5.0
    progress.note_down(100.0)
    progress.note_down(101.0)
    assert progress.down_since == 100.0 and progress.total_disconnect_s(103.0) == 8.0
    progress.note_attempt()
    assert (progress.current_sync_attempts, progress.total_sync_attempts) == (1, 3)


def test_next_try() -> None:
    progress = LinkProgress()
    assert progress.next_try_in_s(0.0) is None
    progress.next_try_at = 10.0
    assert progress.next_try_in_s(4.0) == 6.0
    assert progress.next_try_in_s(40.0) == 0.0
    progress.note_attempt()
    assert progress.next_try_in_s(4.0) is None
