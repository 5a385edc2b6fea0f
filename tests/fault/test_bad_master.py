"""A replica against a master that sends wrong things: it says what, keeps what it has, and comes back with patience."""

from __future__ import annotations

import re
import time
from itertools import pairwise

import pytest

from tests.fault import fake_master
from tests.fault.fake_master import EMPTY_RDB, REPLID, FakeMaster, Talk
from tests.fault.processes import resident_bytes
from tests.peers.lab import Lab, Node, wait_until

WATCHED_S = 1.0
MOST_TRIES = 3
"""Real servers ask 10 times a second and more, which would be 10 tries in that time."""

SELECT_0 = ("SELECT", 0)

BAD_SNAPSHOTS = {
    "magic": b"RUDIS0011" + EMPTY_RDB[9:],
    "version 99": b"REDIS0099" + EMPTY_RDB[9:],
    "version of letters": b"REDISabcd" + EMPTY_RDB[9:],
    "foreign version": b"VALKEY099" + EMPTY_RDB[9:],
    "unknown type": EMPTY_RDB[:-9] + b"\x63\x01a\x01b" + EMPTY_RDB[-9:],
    "length beyond the end": EMPTY_RDB[:-9] + b"\x00\x01a\x80\x7f\xff\xff\xff" + EMPTY_RDB[-9:],
    "64-bit length": EMPTY_RDB[:-9] + b"\x00\x01a\x81\x7f\xff\xff\xff\xff\xff\xff\xff" + EMPTY_RDB[-9:],
    "checksum": EMPTY_RDB[:-8] + b"\x01\x02\x03\x04\x05\x06\x07\x08",
    "no end": EMPTY_RDB[:-9],
    "empty": b"",
}

BAD_ANSWERS: dict[str, Talk] = {
    "error": fake_master.raw(b"-ERR out of order\r\n"),
    "not ready": fake_master.raw(b"-NOMASTERLINK Can't SYNC while not connected with my master\r\n"),
    "loading": fake_master.raw(b"-LOADING Redis is loading the dataset in memory\r\n"),
    "http": fake_master.raw(b"HTTP/1.1 400 Bad Request\r\n\r\n"),
    "short id": fake_master.raw(b"+FULLRESYNC abc 0\r\n"),
    "no offset": fake_master.raw(b"+FULLRESYNC %s\r\n" % REPLID),
    "offset of letters": fake_master.raw(b"+FULLRESYNC %s many\r\n" % REPLID),
    "continue of nothing": fake_master.raw(b"+CONTINUE %s\r\n" % REPLID),
    "size of letters": fake_master.raw(b"+FULLRESYNC %s 0\r\n$abc\r\n" % REPLID),
    "no size": fake_master.raw(b"+FULLRESYNC %s 0\r\nREDIS0011" % REPLID),
    "end mark too short": fake_master.raw(b"+FULLRESYNC %s 0\r\n$EOF:abc\r\n" % REPLID),
    "closes": fake_master.raw(b"", close=True),
    "closes within": fake_master.raw(b"+FULLRESYNC %s 0\r\n$5000\r\nREDIS0011" % REPLID, close=True),
    "endless line": fake_master.raw(b"+" + b"x" * 3_000_000),
}


def follow(lab: Lab, master: FakeMaster, **directives: str) -> Node:
    return lab.start("pyrepl", master.port, directives={name.replace("_", "-"): v for name, v in directives.items()})


def most_tries(master: FakeMaster) -> int:
    """How often it was asked within any span of WATCHED_S, at most."""
    return max(sum(0 <= later - at <= WATCHED_S for later in master.asked) for at in master.asked)


def link_info(node: Node) -> dict[str, str]:
    return node.info("replication")


def wait_for_reason(node: Node) -> dict[str, str]:
    """INFO replication once it names an error."""
    wait_until(f"{node.name} says what is wrong", lambda: link_info(node).get("master_last_sync_error"))
    return link_info(node)


@pytest.mark.parametrize("load", ["disabled", "swapdb"])
@pytest.mark.parametrize("what", BAD_SNAPSHOTS)
def test_bad_snapshot_is_refused(lab: Lab, what: str, load: str) -> None:
    """It says what is wrong, serves on, asks again with patience, and follows once the snapshot is good."""
    with FakeMaster(fake_master.snapshot(BAD_SNAPSHOTS[what])) as master:
        replica = follow(lab, master, repl_diskless_load=load)
        info = wait_for_reason(replica)
        assert "load_failed" in info["master_last_sync_error"], info
        assert info["master_link_status"] == "down"
        assert float(info["master_next_try_in_seconds"]) >= 0
        assert replica.call("PING") == "PONG"
        time.sleep(WATCHED_S)
        assert most_tries(master) <= MOST_TRIES

        master.talk = fake_master.snapshot(EMPTY_RDB, fake_master.stream(SELECT_0, ("SET", "a", "1")))
        replica.call("REPLICAOF", "NO", "ONE")
        replica.call("REPLICAOF", "127.0.0.1", master.port)
        replica.wait_link_up(60)
        wait_until("the stream is applied", lambda: replica.call("GET", "a") == b"1")


def test_the_pauses_grow(lab: Lab) -> None:
    with FakeMaster(fake_master.snapshot(BAD_SNAPSHOTS["version 99"])) as master:
        replica = follow(lab, master)
        wait_until("four tries", lambda: len(master.asked) >= 4, 120)
        planned = [float(seconds) for seconds in re.findall(r" again in ([\d.]+) s ", replica.log())]
        assert planned[0] >= 1
        assert planned[2] > planned[1] > planned[0]
        for seconds, (earlier, later) in zip(planned, pairwise(master.asked)):
            assert later - earlier > seconds - 0.1, "it was said, and not kept"


@pytest.mark.parametrize("what", BAD_ANSWERS)
def test_bad_answer_to_psync(lab: Lab, what: str) -> None:
    with FakeMaster(BAD_ANSWERS[what]) as master:
        replica = follow(lab, master, repl_timeout="3")
        wait_for_reason(replica)
        before = resident_bytes(replica)
        time.sleep(WATCHED_S)
        assert most_tries(master) <= MOST_TRIES
        assert replica.call("PING") == "PONG"
        assert link_info(replica)["master_link_status"] == "down"
        assert resident_bytes(replica) < before + 50_000_000


@pytest.mark.parametrize("ping", [b"-NOAUTH Authentication required.\r\n", b"-ERR operation not permitted\r\n"])
def test_refusals_of_ping_that_redis_goes_on_after(lab: Lab, ping: bytes) -> None:
    with FakeMaster(fake_master.snapshot(EMPTY_RDB), ping=ping) as master:
        follow(lab, master).wait_link_up()


PASSWORDS = {
    "wrong": ("mistaken", "Unable to AUTH to MASTER: -WRONGPASS invalid username-password pair or user is disabled."),
    "missing": ("", "Unexpected reply to PSYNC from master: -NOAUTH Authentication required."),
}


@pytest.mark.parametrize("kind", ["pyrepl", "redis8"])
@pytest.mark.parametrize("what", PASSWORDS)
def test_a_password_that_is_none_names_masterauth(lab: Lab, kind: str, what: str) -> None:
    """Redis's line, and what to set, in the log and in INFO."""
    given, line = PASSWORDS[what]
    master = lab.start(kind, directives={"requirepass": "secret"})
    replica = lab.start("pyrepl", master, directives={"masterauth": given})
    info = wait_for_reason(replica)
    assert "masterauth" in info["master_last_sync_error"], info
    assert line in replica.log()
    assert "does not understand REPLCONF ping" not in replica.log()
    assert not given or given not in replica.log()


def test_a_password_for_a_master_that_has_none(lab: Lab) -> None:
    replica = lab.start("pyrepl", lab.start("redis8"), directives={"masterauth": "secret"})
    assert "clear masterauth" in wait_for_reason(replica)["master_last_sync_error"]
    assert "Unable to AUTH to MASTER: -ERR AUTH <password> called without any password" in replica.log()


def test_a_replica_of_itself_is_told(lab: Lab) -> None:
    node = lab.start("pyrepl")
    node.call("SET", "a", "1")
    node.call("REPLICAOF", "localhost", node.port)
    assert "REPLICAOF names its own address" in wait_for_reason(node)["master_last_sync_error"]
    assert "told to follow itself" in node.log()
    time.sleep(WATCHED_S)
    assert node.log().count("Connecting to MASTER") <= MOST_TRIES
    node.call("REPLICAOF", "NO", "ONE")
    assert node.call("GET", "a") == b"1"


def test_replconf_may_be_unknown(lab: Lab) -> None:
    refusal = b"-ERR Unrecognized REPLCONF option: capa\r\n"
    with FakeMaster(fake_master.snapshot(EMPTY_RDB), replconf=refusal) as master:
        follow(lab, master).wait_link_up()


def test_unknown_command_stops_the_link(lab: Lab) -> None:
    """Nothing is guessed: the command is named in the log with its offset, counted, and the data before it is kept."""
    sent = fake_master.stream(SELECT_0, ("SET", "a", "1"), ("FROBNICATE", "b", "2"), ("SET", "c", "3"))
    with FakeMaster(fake_master.snapshot(EMPTY_RDB, sent)) as master:
        replica = follow(lab, master)
        info = wait_for_reason(replica)
        assert info["master_link_status"] == "down"
        assert "frobnicate" in replica.log().lower()
        assert "offset" in next(line for line in replica.log().splitlines() if "frobnicate" in line.lower()).lower()
        counted = [int(value) for name, value in replica.info().items() if "unknown" in name]
        assert counted
        assert max(counted) >= 1
        time.sleep(WATCHED_S)
        assert most_tries(master) <= MOST_TRIES


FOREIGN = (
    ("REPLICAOF", "NO", "ONE"),
    ("SHUTDOWN", "NOSAVE"),
    ("HELLO", "3"),
    ("MONITOR",),
    ("SUBSCRIBE", "a"),
    ("QUIT",),
    ("AUTH", "x"),
    ("CLIENT", "KILL", "TYPE", "master"),
    ("SYNC",),
    ("FAILOVER",),
)


@pytest.mark.parametrize("words", FOREIGN, ids=" ".join)
def test_commands_that_no_master_sends_end_the_link(lab: Lab, words: tuple[str, ...]) -> None:
    """They are not obeyed: what came before is kept, the log and INFO name command and offset, and it is tried again
    with patience."""
    before = fake_master.stream(SELECT_0, ("SET", "a", "1"))
    sent = before + fake_master.stream(words, ("SET", "c", "3"))
    with FakeMaster(fake_master.snapshot(EMPTY_RDB, sent)) as master:
        replica = follow(lab, master, replica_ignore_unknown_commands="yes")
        info = wait_for_reason(replica)
        assert info["role"] == "slave" and info["master_link_status"] == "down"
        assert f"'{words[0]}' at offset {len(before)}" in info["master_last_sync_error"]
        assert "foreign_command" in info["master_last_sync_error"]
        assert int(info["slave_repl_offset"]) == len(before)
        line = next(line for line in replica.log().splitlines() if "no master puts into its stream" in line)
        assert f"'{words[0]}' at offset {len(before)}" in line
        assert replica.call("GET", "a") == b"1" and replica.call("GET", "c") is None
        assert "Internal error" not in replica.log()
        wait_until("it asks again", lambda: len(master.asked) > 1)
        assert most_tries(master) <= MOST_TRIES


def test_unknown_command_is_skipped_when_told_so(lab: Lab) -> None:
    sent = fake_master.stream(SELECT_0, ("SET", "a", "1"), ("FROBNICATE", "b", "2"), ("SET", "c", "3"))
    with FakeMaster(fake_master.snapshot(EMPTY_RDB, sent)) as master:
        replica = follow(lab, master, replica_ignore_unknown_commands="yes")
        replica.wait_link_up()
        wait_until("the command after it is applied", lambda: replica.call("GET", "c") == b"3")
        assert replica.call("GET", "a") == b"1"
        assert "frobnicate" in replica.log().lower()
        assert replica.offset() == len(sent)


@pytest.mark.parametrize(
    "broken",
    [b"*2\r\n$3\r\nSET\r\n", b"*1\r\n$abc\r\n", b"$3\r\nSET\r\n", b"*3\r\n$3\r\nSET\r\n$-7\r\n", b"*99999999999\r\n"],
)
def test_broken_stream_ends_the_link_not_the_node(lab: Lab, broken: bytes) -> None:
    sent = fake_master.stream(SELECT_0, ("SET", "a", "1")) + broken + b"not a word\r\n"
    with FakeMaster(fake_master.snapshot(EMPTY_RDB, sent)) as master:
        replica = follow(lab, master)
        wait_for_reason(replica)
        wait_until("what came before is there", lambda: replica.call("PING") == "PONG")
        time.sleep(WATCHED_S)
        assert most_tries(master) <= MOST_TRIES


def test_nobody_there(lab: Lab) -> None:
    """A master's port that refuses: reads are served, the log says it, and the pauses grow."""
    with FakeMaster(fake_master.snapshot(EMPTY_RDB)) as master:
        port = master.port
    replica = lab.start("pyrepl", port)
    info = wait_for_reason(replica)
    assert info["master_link_status"] == "down"
    assert "refused" in replica.log().lower()
    assert replica.call("GET", "a") is None
