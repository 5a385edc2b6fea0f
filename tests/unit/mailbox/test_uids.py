"""Blocks of UIDs: sides that do not hear of each other never give out the same."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pyrepl.mailbox.uids import LAST_UIDVALIDITY, MASTER, NO_UID, UidBlocks, next_uidvalidity
from pyrepl.mailbox.words import LAST_UID


def test_a_master_goes_on_and_others_leave_a_gap() -> None:
    blocks = UidBlocks(100_000, 2)
    assert [blocks.first(51, place) for place in (MASTER, 1, 2)] == [51, 100_051, 200_051]
    assert blocks.first(200_054, MASTER) == 300_054, "what was given out apart is another's block"
    assert [blocks.place(uid) for uid in (1, 99_999, 100_000, 299_999, 300_000)] == [MASTER, MASTER, 1, 2, MASTER]


def test_uids_of_others_are_told_by_their_blocks_and_by_the_parts_of_epochs() -> None:
    blocks = UidBlocks(100_000, 2)
    assert not blocks.are_apart(1, 1999) and not blocks.are_apart(100_001, 199_999)
    assert blocks.are_apart(1, 2000) and blocks.are_apart(1, 300_001), "parts of other epochs"
    assert blocks.are_apart(1, 100_001) and blocks.are_apart(100_001, 200_001)


def test_a_takeover_begins_at_the_place_of_its_epoch() -> None:
    blocks = UidBlocks(100_000, 2)
    assert [blocks.takeover(51, epoch) for epoch in (1, 2, 49, 50, 51)] == [2000, 4000, 98_000, 300_000, 2000]
    assert [blocks.takeover(uidnext, 3) for uidnext in (4999, 5000, 5001)] == [6000, 6000, 306_000], "room for 1,000"
    assert blocks.takeover(250_000, 3) == 306_000, "behind UIDs that were given out apart"
    assert blocks.takeover(LAST_UID, 3) == NO_UID


@given(st.integers(1, 5), st.integers(100, 10_000), st.tuples(*[st.integers(1, 9_000_000)] * 2), st.integers(1, 90))
def test_takeovers_of_two_epochs_give_out_different_uids(
    members: int, gap: int, known: tuple[int, int], epoch: int
) -> None:
    """Whatever each knows, and as many as the least room."""
    blocks = UidBlocks(gap, members)
    first, second = (
        set(blocks.some(blocks.takeover(each, epoch + place), MASTER, blocks.room)) for place, each in enumerate(known)
    )
    assert not first & second
    assert min(first) >= known[0] + blocks.room


@given(st.integers(1, 5), st.integers(1, 50), st.lists(st.tuples(st.integers(1, 9_000), st.integers(0, 5)), min_size=2))
def test_no_uid_is_of_two_places(members: int, gap: int, asked: list[tuple[int, int]]) -> None:
    blocks = UidBlocks(gap, members)
    owner: dict[int, int] = {}
    for uidnext, place in asked:
        for uid in blocks.some(uidnext, place % (members + 1), 3):
            assert uid >= uidnext
            assert owner.setdefault(uid, place % (members + 1)) == place % (members + 1)


def test_uids_run_out() -> None:
    blocks = UidBlocks(100_000, 2)
    assert blocks.first(LAST_UID, 2) == NO_UID == LAST_UID + 1
    last = blocks.first(LAST_UID - 300_000, MASTER)
    assert NO_UID not in blocks.some(last, MASTER, 300_000)


def test_a_new_uidvalidity_is_above_all_others_while_there_is_one() -> None:
    now = 1_795_333_408
    assert next_uidvalidity(0, now) == now and next_uidvalidity(now + 5, now) == now + 6
    assert next_uidvalidity(LAST_UIDVALIDITY - 1, now) == LAST_UIDVALIDITY
    assert next_uidvalidity(LAST_UIDVALIDITY, now) == now
