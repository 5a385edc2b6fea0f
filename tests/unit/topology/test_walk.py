"""Whom a walk asks, in which order, and that it ends."""

from __future__ import annotations

import pytest

from pyrepl.address import Address
from pyrepl.topology.facts import facts_of
from pyrepl.topology.walk import MOST_NODES, Answer, Walk, write_rates
from tests.unit.topology.infos import GOOD, at, info, listed, replica_info, walked


@pytest.mark.parametrize("start", [1, 2, 3, 4])
def test_all_are_found_from_anywhere(start: int) -> None:
    walk = walked(start, GOOD)
    assert {address.port for address in walk.answers} == {1, 2, 3, 4}
    assert not walk.failures and not walk.left_out


def test_each_is_asked_once() -> None:
    walk = Walk(at(1))
    assert walk.to_ask() == [at(1)]
    assert walk.to_ask() == []
    walk.answered(at(1), facts_of(GOOD[1]), 1.0)
    assert walk.to_ask() == [at(2), at(3)]
    walk.answered(at(2), facts_of(GOOD[2]), 1.0)
    assert walk.to_ask() == [at(4)]
    with pytest.raises(AssertionError):
        walk.answered(at(2), facts_of(GOOD[2]), 1.0)


def test_who_cannot_be_reached_ends_only_that_branch() -> None:
    walk = walked(1, {port: text for port, text in GOOD.items() if port != 2})
    assert walk.failures == {at(2): "Connection refused"}
    assert {address.port for address in walk.answers} == {1, 3}


def test_two_addresses_of_one_node_are_one() -> None:
    walk = Walk(Address("localhost", 2))
    walk.to_ask()
    walk.answered(Address("localhost", 2), facts_of(replica_info("r", 1)), 1.0)
    walk.to_ask()
    walk.answered(at(1), facts_of(info("m", **listed(2))), 1.0)
    assert walk.to_ask() == [at(2)]
    walk.answered(at(2), facts_of(replica_info("r", 1)), 1.0)
    assert walk.to_ask() == []
    assert set(walk.answers) == {Address("localhost", 2), at(1)}
    assert walk.key_of(at(2)) == Address("localhost", 2)


def test_a_circle_ends() -> None:
    walk = walked(1, {1: replica_info("a", 2, **listed(2)), 2: replica_info("b", 1, **listed(1))})
    assert len(walk.answers) == 2


def test_a_sentinel_leads_to_its_masters() -> None:
    nodes = {**GOOD, 9: "run_id:s\r\nredis_mode:sentinel\r\nmaster0:name=m,address=10.0.0.1:1,slaves=2\r\n"}
    assert {address.port for address in walked(9, nodes).answers} == {9, 1, 2, 3, 4}


def test_nobody_is_asked_at_port_0() -> None:
    assert not walked(1, {1: info("m", **listed(0))}).failures


def test_a_topology_without_end_is_cut() -> None:
    nodes = {port: replica_info(f"r{port}", port + 1) for port in range(1, 2 * MOST_NODES)}
    walk = walked(1, nodes)
    assert len(walk.answers) == MOST_NODES
    assert walk.left_out == 1


class TestRates:
    def rate(self, first: str, second: str, span_s: float = 2.0) -> dict[Address, float]:
        """The later look sees the node at another address."""
        return write_rates({at(1): Answer(facts_of(first), 10.0)}, {at(2): Answer(facts_of(second), 10.0 + span_s)})

    def test_bytes_a_second(self) -> None:
        assert self.rate(info("m"), info("m", master_repl_offset=400)) == {at(2): 150.0}

    @pytest.mark.parametrize(
        "second",
        [
            info("other", master_repl_offset=400),
            info("m", master_repl_offset=99),
            info("m", master_repl_offset=400, master_replid="b" * 40),
            info("m", master_repl_offset="?"),
        ],
    )
    def test_what_cannot_be_compared(self, second: str) -> None:
        assert self.rate(info("m"), second) == {}

    def test_nothing_without_a_name_or_time(self) -> None:
        assert self.rate(info(""), info("")) == {}
        assert self.rate(info("m"), info("m"), 0.01) == {}
