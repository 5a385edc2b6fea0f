"""A stream that is followed: fetched, live, fetched again."""

from __future__ import annotations

import pytest

from pyrepl.changes.following import Following, FollowingState
from pyrepl.errors import PeerError


def live() -> Following:
    following = Following(5, named=False)
    following.ask()
    following.took_rows()
    following.reached_head()
    return following


def test_the_way_to_live() -> None:
    following = Following(5, named=False)
    assert following.may_ask and following.told == following.since == 5
    following.ask()
    assert following.is_asked and not following.may_ask
    following.took_rows()
    assert following.may_ask
    following.reached_head()
    assert following.is_live


def test_a_gap_is_fetched_from_where_it_is() -> None:
    following = live()
    following.at = 9
    following.fell_behind()
    assert following.may_ask and following.since == 9


def test_another_name_forgets_what_was_asked_and_nothing_else() -> None:
    following = Following(5, named=True)
    following.ask()
    following.renamed()
    assert following.state is FollowingState.BEHIND
    following = live()
    following.renamed()
    assert following.is_live


def test_rows_are_asked_for_once() -> None:
    following = Following(5, named=False)
    following.ask()
    with pytest.raises(PeerError, match="ask is not expected of a stream in state asked"):
        following.ask()
