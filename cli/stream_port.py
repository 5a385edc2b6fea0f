"""Finds the stream port of a node, for somebody who gave `pyrepl tail` its Redis port instead: INFO there names it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from pyrepl.address import Address
from pyrepl.topology.facts import parse_info

from .asking import Credentials, Unreachable, Way, info_of

STREAM_PORT: Final = "Give the port that `stream-port` in the node's configuration names, 7379 for example"
_TIMEOUT_S: Final = 2.0


def where_it_is(nodes: Sequence[str], user: str, password: str) -> str:
    """A sentence that says which port to give, from the INFO of the first of these Redis ports (`host:port`) that
    answers; a general one if none does. Each is asked for at most 2 s. An empty user is `default`."""
    for node in nodes:
        address = Address.parse(node)
        credentials = Credentials(user, password)
        try:
            return advice(address, parse_info(asyncio.run(info_of(address, Way(credentials), _TIMEOUT_S))))
        except Unreachable:
            continue
    return STREAM_PORT


def advice(address: Address, info: dict[str, str]) -> str:
    """The sentence for a node at `address` with this INFO: its stream port, or how it gets one."""
    port = info.get("stream_port", "")
    if port.isdigit() and int(port):
        return f"The stream port of this node is {port}: pyrepl tail {Address(address.host, int(port))}"
    if "pyrepl_version" in info:
        return "This node has none yet: start it with --stream-port 7379, or set stream-port in its configuration"
    return (
        "An ordinary Redis or Valkey has none: a pyrepl that follows it has,"
        f" pyrepl replica --master {address} --port 6380 --stream-port 7379"
    )
