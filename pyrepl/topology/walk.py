"""Whom to ask next: from one node up to its masters and down to all replicas, each once, until nobody is left.

Pure: the shell asks whoever `to_ask` names, in any order and as many at once as it likes, and reports each with
`answered` or `failed`. A node may be known by several addresses (a name, an IP, an announced one): its run_id tells
that they are one, and the address by which it answered first is its key. A sentinel leads to the masters it watches.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple, final

from pyrepl.address import Address
from pyrepl.topology.facts import Facts

MOST_NODES: Final = 256
"""Addresses asked at most; a topology that never ends (announced addresses that differ each time) must not fill us."""

SHORTEST_SPAN_S: Final = 0.05


class Answer(NamedTuple):
    """What a node said, and when it did, in monotonic seconds."""

    facts: Facts
    at: float


@final
class Walk:
    """One look at a topology.

    Invariants: every address in `answers` and `failures` is in `_seen`, and in one of the two at most; `refusals` is
    part of `failures`; every value of `_keys` is in `answers`.
    """

    def __init__(self, start: Address) -> None:
        self.start: Final = start
        self.answers: dict[Address, Answer] = {}
        """What the nodes said, by the key of each node (`key_of`)."""
        self.failures: dict[Address, str] = {}
        self.refusals: set[Address] = set()
        """Those of `failures` that answered with a refusal: the password is missing or wrong, or protected mode."""
        self.left_out = 0
        """Addresses that were not asked because there were too many."""
        self._seen: set[Address] = {start}
        self._waiting: list[Address] = [start]
        self._keys: dict[Address, Address] = {}
        self._by_run_id: dict[str, Address] = {}

    def to_ask(self) -> list[Address]:
        """The addresses not given out before; empty when the walk waits for answers, or is done."""
        waiting, self._waiting = self._waiting, []
        return waiting

    def answered(self, address: Address, facts: Facts, now: float) -> None:
        """A node has sent its INFO."""
        assert address in self._seen
        assert address not in self._keys and address not in self.failures, "asked once, answered once"
        key = self._by_run_id.setdefault(facts.run_id, address) if facts.run_id else address
        self._keys[address] = key
        if key != address:
            return
        self.answers[key] = Answer(facts, now)
        for found in _neighbours(facts):
            self._find(found)

    def failed(self, address: Address, why: str, *, refused: bool = False) -> None:
        """The node at `address` could not be asked; `refused`: it answered with a refusal."""
        assert address in self._seen and address not in self._keys
        self.failures[address] = why
        if refused:
            self.refusals.add(address)

    def key_of(self, address: Address) -> Address:
        """The one address that stands for this node."""
        return self._keys.get(address, address)

    def facts(self, key: Address) -> Facts | None:
        """What a node says; None when it did not answer."""
        answer = self.answers.get(key)
        return answer.facts if answer is not None else None

    def _find(self, address: Address) -> None:
        if address in self._seen:
            return
        if len(self._seen) >= MOST_NODES:
            self.left_out += 1
            return
        self._seen.add(address)
        self._waiting.append(address)


def _neighbours(facts: Facts) -> list[Address]:
    """Whom to ask next: a sentinel's masters, else the node's master and its replicas, those whose port is known."""
    if facts.is_sentinel:
        return list(facts.watched)
    up = [facts.master] if facts.master is not None and facts.master.port else []
    return up + [row.address for row in facts.replicas if row.address.port]


def write_rates(earlier: Mapping[Address, Answer], later: Mapping[Address, Answer]) -> dict[Address, float]:
    """Stream bytes per second between two looks, by the key in the later one, of whoever can be compared.

    Compared are nodes of the same run_id on the same stream, no shorter than before, over at least SHORTEST_SPAN_S.
    """
    before = {answer.facts.run_id: answer for answer in earlier.values() if answer.facts.run_id}
    rates = {}
    for key, (facts, at) in later.items():
        first = before.get(facts.run_id)
        if first is None or first.facts.replid != facts.replid or at - first.at < SHORTEST_SPAN_S:
            continue
        start, end = first.facts.offset, facts.offset
        if start is not None and end is not None and end >= start:
            rates[key] = (end - start) / (at - first.at)
    return rates
