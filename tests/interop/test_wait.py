"""What a master says about its replicas' progress: WAIT, min-replicas-to-write, lag and state in INFO and ROLE."""

from __future__ import annotations

import time

import pytest

from tests.peers.kinds import KINDS, REAL
from tests.peers.lab import Lab, wait_until
from tests.peers.ports import HOST
from tests.peers.proxy import Proxy
from tests.peers.wire import ErrorReply


@pytest.mark.parametrize("kind", KINDS)
def test_wait_counts_replicas_that_have_it(lab: Lab, kind: str) -> None:
    master = lab.start("pyrepl")
    assert master.call("WAIT", 0, 100) == 0
    replica = lab.start(kind, master)
    replica.wait_link_up()
    master.call("SET", "a", "1")
    assert master.call("WAIT", 1, 30_000) == 1
    assert replica.call("GET", "a") == b"1"


def test_wait_ends_at_its_timeout(lab: Lab) -> None:
    master = lab.start("pyrepl")
    with Proxy(master.port) as proxy:
        replica = lab.start("redis7", proxy.port)
        replica.wait_link_up()
        proxy.stall()
        master.call("SET", "a", "1")
        began = time.monotonic()
        assert master.call("WAIT", 1, 500) == 0
        assert time.monotonic() - began > 0.4
        proxy.heal()
        assert master.call("WAIT", 1, 30_000) == 1


def test_pyrepl_acknowledges_to_real_masters(lab: Lab) -> None:
    for kind in REAL:
        master = lab.start(kind)
        lab.start("pyrepl", master).wait_link_up()
        master.call("SET", "a", "1")
        assert master.call("WAIT", 1, 30_000) == 1


def test_min_replicas_to_write(lab: Lab) -> None:
    directives = {"min-replicas-to-write": "1", "min-replicas-max-lag": "2", "repl-ping-replica-period": "1"}
    master = lab.start("pyrepl", directives=directives)
    with pytest.raises(ErrorReply, match="NOREPLICAS Not enough good replicas to write"):
        master.call("SET", "a", "1")
    with Proxy(master.port) as proxy:
        replica = lab.start("redis7", proxy.port)
        replica.wait_link_up()
        wait_until("it is good", lambda: master.info("replication")["min_slaves_good_slaves"] == "1")
        assert master.call("SET", "a", "1") == "OK"
        proxy.stall()
        wait_until("it lags", lambda: master.info("replication")["min_slaves_good_slaves"] == "0")
        with pytest.raises(ErrorReply, match="NOREPLICAS"):
            master.call("SET", "a", "2")


def test_info_and_role_of_both_ends(lab: Lab) -> None:
    # A ping in between would move the offset.
    master = lab.start("pyrepl", directives={"repl-ping-replica-period": "3600"})
    replica = lab.start("pyrepl", master)
    replica.wait_link_up()
    master.call("SET", "a", "1")
    master.call("WAIT", 1, 30_000)
    slave = dict(part.split("=") for part in master.info("replication")["slave0"].split(","))
    assert (slave["ip"], slave["port"], slave["state"]) == (HOST, str(replica.port), "online")
    assert 0 <= int(slave["lag"]) < 60
    role, offset, replicas = master.call("ROLE")
    assert role == b"master"
    assert replicas[0][:2] == [HOST.encode(), str(replica.port).encode()]
    assert replica.call("ROLE") == [b"slave", HOST.encode(), master.port, b"connected", offset]


def test_replicas_refuse_writes(lab: Lab) -> None:
    master = lab.start("pyrepl")
    replica = lab.start("pyrepl", master)
    replica.wait_link_up()
    with pytest.raises(ErrorReply, match=r"^READONLY You can't write against a read only replica"):
        replica.call("SET", "a", "1")


def test_stale_replica_says_so_when_told(lab: Lab) -> None:
    replica = lab.start("pyrepl", 1, directives={"replica-serve-stale-data": "no"})
    with pytest.raises(
        ErrorReply, match=r"^MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to"
    ):
        replica.call("GET", "a")
    assert replica.call("INFO", "replication")


@pytest.mark.parametrize("kind", KINDS)
def test_password_at_both_ends(lab: Lab, kind: str) -> None:
    """masterauth to any kind of master; the password is in no log."""
    master = lab.start(kind, directives={"requirepass": "correct-horse"})
    replica = lab.start("pyrepl", master, directives={"masterauth": "correct-horse", "requirepass": "another"})
    replica.wait_link_up()
    wrong = lab.start("pyrepl", master, directives={"masterauth": "battery-staple"})
    wait_until("it says why", lambda: wrong.info("replication").get("master_last_sync_error"))
    assert not wrong.link_is_up()
    for node in (replica, wrong):
        assert not any(secret in node.log() for secret in ("correct-horse", "battery-staple", "another"))


def test_in_a_script_and_in_a_transaction_nobody_waits(lab: Lab) -> None:
    """Both answer at once what is acknowledged now, as in Redis 8.2; before 7.2 scripts were refused WAIT."""
    replies = []
    for node in (lab.start("pyrepl"), lab.start("redis8")):
        script = (
            "return {redis.call('WAIT', 5, 0), redis.call('WAITAOF', 0, 5, 0), redis.pcall('WAITAOF', 1, 0, 0).err}"
        )
        found = [node.call("EVAL", script, 0)]
        node.call("MULTI")
        node.call("WAIT", 5, 0)
        node.call("WAITAOF", 0, 5, 0)
        replies.append([*found, node.call("EXEC")])
    assert replies[0] == replies[1]
