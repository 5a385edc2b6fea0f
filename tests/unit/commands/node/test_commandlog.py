"""COMMANDLOG over the three logs. What is noted is tested with the connection; the texts are Valkey's."""

from __future__ import annotations

from tests.unit.commands.rig import START_MS, Rig


def noted() -> Rig:
    rig = Rig(commandlog_request_larger_than=100, commandlog_reply_larger_than=50, slowlog_log_slower_than=-1)
    for size in (99, 100, 101):
        rig.node.note_sizes(rig.client, [b"SET", b"k", b"%d" % size], START_MS, size, size // 2)
    return rig


def test_what_is_large_is_shown_newest_first() -> None:
    rig = noted()
    assert rig.say("COMMANDLOG GET -1 large-request") == [
        [1, START_MS // 1000, 101, [b"SET", b"k", b"101"], b"127.0.0.1:5001", b""],
        [0, START_MS // 1000, 100, [b"SET", b"k", b"100"], b"127.0.0.1:5001", b""],
    ]
    assert len(rig.say("COMMANDLOG GET 1 LARGE-REPLY")) == 1  # type: ignore[arg-type]
    assert [rig.say(f"COMMANDLOG LEN {kind}") for kind in ("slow", "large-request", "large-reply")] == [0, 2, 2]
    assert rig.say("COMMANDLOG RESET large-reply")
    assert [rig.say(f"COMMANDLOG LEN {kind}") for kind in ("large-request", "large-reply")] == [2, 0]


def test_slow_is_the_slow_log() -> None:
    rig = noted()
    rig.say("CONFIG SET commandlog-execution-slower-than 0")
    rig.say("GET k")
    shown = rig.say("COMMANDLOG GET -1 slow")
    assert isinstance(shown, list) and shown == rig.say("SLOWLOG GET -1")[1:]  # type: ignore[index]
    assert rig.say("CONFIG GET slowlog-log-slower-than") == {b"slowlog-log-slower-than": b"0"}


def test_without_the_settings_nothing_is_measured() -> None:
    rig = Rig()
    assert not rig.node.conditions.measured
    rig.say("CONFIG SET commandlog-reply-larger-than 0")
    assert rig.node.conditions.measured
    rig.say("CONFIG SET commandlog-reply-larger-than -1")
    assert not rig.node.conditions.measured


def test_errors() -> None:
    rig = Rig()
    complaint = "ERR type should be one of the following: slow, large-request, large-reply"
    assert str(rig.say("COMMANDLOG LEN x")) == str(rig.say("COMMANDLOG GET 1 x")) == complaint
    assert str(rig.say("COMMANDLOG GET -2 slow")) == "ERR count should be greater than or equal to -1"
