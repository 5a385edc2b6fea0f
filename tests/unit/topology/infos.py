"""INFO texts as servers write them, made from the few fields that a test is about."""

from __future__ import annotations

from pyrepl.address import Address
from pyrepl.topology.facts import facts_of
from pyrepl.topology.tree import Tree, build
from pyrepl.topology.walk import Walk


def at(port: int) -> Address:
    return Address("10.0.0.1", port)


def listed(*ports: int, **fields: object) -> dict[str, str]:
    """slave0, slave1, ... as their master lists them."""
    values = {"state": "online", "offset": 100, "lag": 0, **fields}
    tail = ",".join(f"{name}={value}" for name, value in values.items())
    return {f"slave{number}": f"ip=10.0.0.1,port={port},{tail}" for number, port in enumerate(ports)}


def info(name: str, **fields: object) -> str:
    """The INFO of the node with that run_id; a master at offset 100 with a backlog of 1000 bytes."""
    lines: dict[str, object] = {
        "redis_version": "7.0.15",
        "run_id": name,
        "role": "master",
        "master_replid": "a" * 40,
        "master_repl_offset": 100,
        "repl_backlog_active": 1,
        "repl_backlog_size": 1000,
        "repl_backlog_histlen": 100,
        **fields,
    }
    return "# Server\r\n" + "".join(f"{field}:{value}\r\n" for field, value in lines.items())


def replica_info(name: str, master: int, **fields: object) -> str:
    """The INFO of a replica in sync."""
    own = {"role": "slave", "master_host": "10.0.0.1", "master_port": master, "master_link_status": "up"}
    return info(name, **{**own, "slave_repl_offset": 100, **fields})


def walked(start: int, nodes: dict[int, str], now: float = 0.0) -> Walk:
    """A finished walk over nodes by port; whoever is not there cannot be reached, an INFO with a "-" is an error."""
    walk = Walk(at(start))
    while addresses := walk.to_ask():
        for address in addresses:
            if nodes.get(address.port, "").startswith("-"):
                walk.failed(address, nodes[address.port][1:], refused=True)
            elif address.port in nodes:
                walk.answered(address, facts_of(nodes[address.port]), now)
            else:
                walk.failed(address, "Connection refused")
    return walk


def tree_of(start: int, nodes: dict[int, str]) -> Tree:
    return build(walked(start, nodes))


GOOD = {
    1: info("m", **listed(2, 3)),
    2: replica_info("r2", 1, **listed(4)),
    3: replica_info("r3", 1),
    4: replica_info("r4", 2),
}
"""A master, two replicas, and one below the first of them."""
