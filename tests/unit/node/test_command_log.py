"""Logs of commands: newest first, bounded in entries, words and bytes."""

from __future__ import annotations

from pyrepl.node.command_log import CommandLog, shortened


def filled(max_len: int, entries: int) -> CommandLog:
    log = CommandLog(10, max_len)
    for number in range(entries):
        log.add([b"SET", b"%d" % number], 100 + number, 20, "127.0.0.1:1", b"app")
    return log


def test_newest_first_with_running_numbers() -> None:
    log = filled(10, 3)
    assert [entry.number for entry in log.entries] == [2, 1, 0]
    newest = log.entries[0]
    assert (newest.at_s, newest.amount, newest.argv) == (102, 20, [b"SET", b"2"])
    assert (newest.addr, newest.client_name) == ("127.0.0.1:1", b"app")


def test_the_oldest_go() -> None:
    assert [entry.number for entry in filled(2, 5).entries] == [4, 3]


def test_none_are_kept() -> None:
    assert not filled(0, 5).entries


def test_resize_keeps_the_newest() -> None:
    log = filled(5, 5)
    log.resize(2)
    assert [entry.number for entry in log.entries] == [4, 3]
    log.resize(3)
    log.add([b"X"], 1, 1, "", b"")
    assert [entry.number for entry in log.entries] == [5, 4, 3]


def test_clear_does_not_restart_the_numbers() -> None:
    log = filled(5, 2)
    log.clear()
    log.add([b"X"], 1, 1, "", b"")
    assert [entry.number for entry in log.entries] == [2]


def test_long_words_are_cut() -> None:
    assert shortened([b"SET", b"x" * 128]) == [b"SET", b"x" * 128]
    assert shortened([b"SET", b"x" * 130]) == [b"SET", b"x" * 128 + b"... (2 more bytes)"]


def test_many_words_are_cut() -> None:
    """As Redis: 32 entries at most, the last of which says how many words are missing."""
    assert len(shortened([b"a"] * 32)) == 32
    cut = shortened([b"a"] * 33)
    assert len(cut) == 32
    assert cut[-1] == b"... (2 more arguments)"


def test_what_is_wanted() -> None:
    log = CommandLog(10, 5)
    assert [log.wants(amount) for amount in (9, 10, 11)] == [False, True, True]
    log.follow(-1, 2)
    assert not log.wants(1 << 60) and log.entries.maxlen == 2
    log.follow(0, 2)
    assert log.wants(0)
