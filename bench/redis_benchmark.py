"""redis-benchmark, the load that both sides get."""

from __future__ import annotations

import csv
import hashlib
import subprocess
from collections.abc import Sequence
from typing import Final

from tests.peers import finder
from tests.peers.certificates import Authority
from tests.peers.lab import Node
from tests.peers.ports import HOST

CLIENTS: Final = 50
VALUE_BYTES: Final = 100
KEYS: Final = 1_000_000
TIMEOUT_S: Final = 900

SCRIPT: Final = "return redis.call('INCR', KEYS[1])"
LIBRARY: Final = (
    "#!lua name=counters\nredis.register_function('incr', function(keys) return redis.call('INCR', keys[1]) end)"
)
USER: Final = ("app", "on", ">secret", "~key:*", "+@read", "+@write")
"""The rules of ACL SETUSER for whom `set_as_user` logs in as."""
COMMANDS: Final[dict[str, tuple[str, ...]]] = {
    "pfadd": ("PFADD", "hll:__rand_int__", "element:__rand_int__"),
    "pfadd_one": ("PFADD", "hll", "element:__rand_int__"),
    "evalsha": ("EVALSHA", hashlib.sha1(SCRIPT.encode()).hexdigest(), "1", "counter:__rand_int__"),
    "fcall": ("FCALL", "incr", "1", "counter:__rand_int__"),
    "geosearch": ("GEOSEARCH", "geo", "FROMLONLAT", "5", "45", "BYRADIUS", "10", "km", "ASC"),
    "set_as_user": ("--user", "app", "-a", "secret", "-t", "set"),
}
"""Tests that redis-benchmark does not have, by names of ours: the command that it sends, or as whom it sends which test
of its own. `__rand_int__` are digits, of KEYS different numbers."""


def run_by_tls(node: Node, tests: Sequence[str], requests: int, depth: int, authority: Authority) -> dict[str, float]:
    """As `run`, on the port with TLS, with a certificate of this CA."""
    certificate = authority.folder / "node.pem"
    flags: list[object] = ["-p", node.tls_port, "--tls", "--cacert", authority.ca_file]
    return _run(
        node, [*map(str, [*flags, "--cert", certificate, "--key", certificate]), "-t", ",".join(tests)], requests, depth
    )


def run(node: Node, tests: Sequence[str], requests: int, depth: int) -> dict[str, float]:
    """Test as it is printed (`SET`) -> requests per second, with `depth` requests under way on each connection.

    Raises CalledProcessError when the benchmark met an error reply.
    """
    if len(tests) == 1 and tests[0] in COMMANDS:
        return {tests[0].upper(): next(iter(_run(node, list(COMMANDS[tests[0]]), requests, depth).values()))}
    return _run(node, ["-t", ",".join(tests)], requests, depth)


def _run(node: Node, what: list[str], requests: int, depth: int) -> dict[str, float]:
    """As `run`; `what` are the words that say what to send, and where, if not to the plain port."""
    command = [finder.tool("redis-benchmark"), "-h", HOST, "-p", node.port, "-n", requests]
    command += ["-r", KEYS, "-P", depth, "-c", CLIENTS, "-d", VALUE_BYTES, "--csv", *what]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=TIMEOUT_S, check=True)
    lines = [line for line in done.stdout.splitlines() if line.startswith('"')]
    return {row["test"].partition(" (")[0]: float(row["rps"]) for row in csv.DictReader(lines)}
