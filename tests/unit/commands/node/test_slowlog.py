"""SLOWLOG. Error texts are those of redis-server 7.0.15."""

from __future__ import annotations

import pytest

from pyrepl.resp.reply import OK
from tests.unit.commands.rig import START_MS, Rig


@pytest.fixture
def rig() -> Rig:
    """A node that finds everything slow and has seen twelve commands."""
    rig = Rig(slowlog_log_slower_than=0)
    rig.say("CLIENT SETNAME app")
    rig.say("SLOWLOG RESET")
    rig.step_s = 0.001
    for number in range(12):
        rig.say(f"SET k{number} 1")
    rig.node.change_settings(["slowlog-log-slower-than"], [1_000_000])
    return rig


def numbers(reply: object) -> list[int]:
    assert isinstance(reply, list)
    return [entry[0] for entry in reply]


def test_newest_first_and_ten_at_most(rig: Rig) -> None:
    entries = rig.say("SLOWLOG GET")
    assert numbers(entries) == sorted(numbers(entries), reverse=True)
    assert len(numbers(entries)) == 10


def test_one_entry(rig: Rig) -> None:
    reply = rig.say("SLOWLOG GET 1")
    assert isinstance(reply, list)
    entry = reply[0]
    assert isinstance(entry, list)
    assert entry[1:] == [START_MS // 1000, 1000, [b"SET", b"k11", b"1"], b"127.0.0.1:5001", b"app"]


@pytest.mark.parametrize(("count", "size"), [("3", 3), ("0", 0), ("-1", 13), ("999", 13)])
def test_counts(rig: Rig, count: str, size: int) -> None:
    """Thirteen: SLOWLOG RESET itself was slow."""
    assert len(numbers(rig.say(f"SLOWLOG GET {count}"))) == size


@pytest.mark.parametrize("count", ["-2", "x", "1.5"])
def test_bad_counts(rig: Rig, count: str) -> None:
    assert rig.error(f"SLOWLOG GET {count}") == "ERR count should be greater than or equal to -1"


def test_too_many_words(rig: Rig) -> None:
    text = "ERR unknown subcommand or wrong number of arguments for 'get'. Try SLOWLOG HELP."
    assert rig.error("SLOWLOG get 1 2") == text


def test_len_and_reset(rig: Rig) -> None:
    assert rig.say("SLOWLOG LEN") == 13
    assert rig.say("SLOWLOG RESET") == OK
    assert rig.say("SLOWLOG LEN") == 0


def test_help(rig: Rig) -> None:
    assert rig.wire("SLOWLOG HELP").startswith(b"*12\r\n+SLOWLOG <subcommand>")
