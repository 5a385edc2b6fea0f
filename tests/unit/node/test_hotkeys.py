"""Sums by key in bounded memory; a collection from its start to its end."""

from __future__ import annotations

from random import Random

from pyrepl.node.hotkeys import WATCHED, CpuTimes, HotKeys, Plan, TopKeys


def started(duration_s: int = 0, sample: int = 1, *, cpu: bool = True, net: bool = True) -> HotKeys:
    return HotKeys(Plan(cpu, net, 10, duration_s, sample), 1000, CpuTimes(0.0, 0.0), Random(1).randrange)


def test_what_was_added_is_shown_by_its_sum() -> None:
    keys = TopKeys()
    for key, amount in ((b"a", 2.0), (b"b", 5.0), (b"a", 4.5), (b"c", 0.5)):
        keys.add(key, amount)
    assert keys.first(10) == [(b"a", 6), (b"b", 5)]
    assert keys.first(1) == [(b"a", 6)]


def test_memory_is_bounded_and_no_hot_key_is_missed() -> None:
    rng = Random(1)
    keys = TopKeys()
    truth: dict[bytes, int] = {}
    for turn in range(60_000):
        key = b"hot%d" % rng.randrange(5) if rng.random() < 0.1 else b"%d" % turn
        truth[key] = truth.get(key, 0) + 1
        keys.add(key, 1)
    assert len(keys) <= 2 * WATCHED
    first = keys.first(5)
    assert {key for key, _ in first} == {b"hot%d" % number for number in range(5)}
    assert all(truth[key] <= amount <= truth[key] + 60_000 // WATCHED for key, amount in first)


def test_each_key_gets_its_share() -> None:
    hotkeys = started()
    hotkeys.note_time([b"a", b"b"], 30.0)
    hotkeys.note_time([], 5.0)
    hotkeys.note_bytes([b"a"], 100)
    hotkeys.note_bytes([], 7)
    assert (hotkeys.all_us, hotkeys.all_bytes, hotkeys.key_bytes) == (35.0, 107, 100)
    assert sorted(hotkeys.by_cpu.first(9)) == [(b"a", 15), (b"b", 15)]
    assert hotkeys.by_net.first(9) == [(b"a", 100)]


def test_only_what_was_asked_for_is_noted() -> None:
    hotkeys = started(cpu=False, sample=4)
    for _ in range(1000):
        hotkeys.note_time([b"a"], 1.0)
        hotkeys.note_bytes([b"a"], 10)
    assert not hotkeys.by_cpu.first(9) and hotkeys.all_us == 1000.0
    assert 1500 < hotkeys.by_net.first(9)[0][1] < 3500


def test_it_ends_when_its_time_has_come() -> None:
    hotkeys = started(duration_s=2)
    assert not hotkeys.has_ended(2999) and hotkeys.duration_ms(2999) == 1999
    assert hotkeys.has_ended(5000) and hotkeys.duration_ms(9000) == 2000
    hotkeys.stop(9000)
    assert hotkeys.duration_ms(9000) == 2000
    endless = started()
    assert not endless.has_ended(1 << 60)
    endless.stop(1500)
    assert not endless.is_running and endless.duration_ms(9000) == 500
