"""The list of members: majority, places, and lists that cannot be."""

from __future__ import annotations

import pytest

from pyrepl.errors import ConfigError, PeerError
from pyrepl.mailbox.members import Member, Members, agreed


def test_a_majority_is_more_than_half_of_the_configured_ones() -> None:
    assert [Members(tuple(Member(f"n{i}") for i in range(count))).majority for count in range(1, 6)] == [1, 2, 2, 3, 3]


def test_a_witness_votes_and_keeps_no_mail() -> None:
    members = Members((Member("a"), Member("b"), Member("w", True)))
    assert members.keepers == ("a", "b") and members.majority == 2 and members.place("w") == 3
    assert members.could_elect_without("a") and not Members((Member("a"), Member("b"))).could_elect_without("a")
    assert "w" in members and "x" not in members and members.others("a") == ("b", "w")


def test_equal_lists_have_equal_digests() -> None:
    one = Members((Member("a"), Member("b")))
    assert one.digest() == Members((Member("a"), Member("b"))).digest()
    assert one.digest() != Members((Member("a"), Member("b", True))).digest()
    assert one.digest() != Members((Member("a"), Member("b")), agreed(1000, 5000)).digest(), "they have to agree"


def test_lists_that_cannot_be() -> None:
    with pytest.raises(ConfigError, match="stands for another"):
        Members((Member("a"), Member("a~1")))
    with pytest.raises(ConfigError, match="twice"):
        Members((Member("a"), Member("a")))
    with pytest.raises(ConfigError, match="no node that keeps mail"):
        Members((Member("w", True),))
    with pytest.raises(PeerError, match="name of a node"):
        Members((Member("a b"),))
