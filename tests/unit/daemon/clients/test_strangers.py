"""Who makes room: of those that have not logged in, the oldest of the address that has most of the oldest ones."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pyrepl.acl.identity import OURS, Identity, Proof
from pyrepl.daemon.clients.strangers import LOOKED_AT, Strangers
from pyrepl.node.client import Client


def conn(number: int, host: str) -> Any:
    client = Client(number, f"{host}:{number + 1}", "", 0.0, Identity(None, Proof.MISSING))
    return SimpleNamespace(client=client, transport=SimpleNamespace(is_closing=lambda: False))


def is_stranger(one: Any) -> bool:
    return not one.client.authenticated and not one.transport.is_closing()


def filled(hosts: list[str]) -> tuple[Strangers[Any], list[Any]]:
    strangers, conns = Strangers[Any](is_stranger), [conn(number, host) for number, host in enumerate(hosts)]
    for one in conns:
        strangers.add(one.client.id, one.client.addr, one)
    return strangers, conns


def taken(strangers: Strangers[Any]) -> list[int]:
    ids = []
    while (one := strangers.take_one()) is not None:
        ids.append(one.client.id)
    return ids


def test_the_crowd_goes_first() -> None:
    strangers, _ = filled(["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.2", "10.0.0.2"])
    assert taken(strangers) == [1, 3, 0, 2, 4]


def test_who_has_logged_in_or_gone_is_passed_over() -> None:
    strangers, conns = filled(["10.0.0.1"] * 4)
    conns[0].client.identify(OURS)
    conns[1].transport.is_closing = lambda: True
    strangers.drop(2)
    assert strangers.count() == 1
    assert taken(strangers) == [3]


def test_the_half_of_an_address_of_ipv6_is_one_machine() -> None:
    strangers, _ = filled(["10.0.0.1", "[2001:db8::1]", "[2001:db8::2]"])
    assert taken(strangers) == [1, 0, 2]


@given(st.lists(st.sampled_from(["10.0.0.1", "10.0.0.2", "10.0.0.3"]), max_size=3 * LOOKED_AT), st.randoms())
def test_each_is_taken_once_or_has_logged_in(hosts: list[str], rng: Any) -> None:
    strangers, conns = filled(hosts)
    known = {one.client.id for one in conns if rng.random() < 0.5}
    for number in known:
        conns[number].client.identify(OURS)
    assert sorted(taken(strangers)) == sorted(set(range(len(hosts))) - known)
