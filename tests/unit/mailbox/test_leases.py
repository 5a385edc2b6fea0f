"""Leases are counted from the sending of what was answered."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pyrepl.mailbox.leases import MemberLease, RootLease, surely_over_s


def test_the_root_needs_a_majority() -> None:
    lease = RootLease(5.0, 2)
    lease.answered("b", 10.0)
    assert lease.end(11.0) == float("-inf")
    lease.answered("c", 8.0)
    lease.answered("d", 3.0)
    assert lease.end(11.0) == 8.0 + 4.5, "with itself, b and c are a majority of five: the older of the two counts"
    lease.answered("c", 1.0)
    assert lease.end(11.0) == 12.5, "an answer that comes late does not shorten it"
    lease.forget()
    assert lease.end(11.0) == float("-inf")


def test_alone_there_is_always_a_majority() -> None:
    assert RootLease(5.0, 0).end(7.0) == 11.5


def test_a_member_has_no_longer_than_the_root_had_left() -> None:
    lease = MemberLease(5.0)
    lease.answered(10.0, 2.0)
    assert lease.end == 12.0
    lease.answered(11.0, 100.0)
    assert lease.end == 15.5
    lease.answered(9.0, 1.0)
    assert lease.end == 15.5
    lease.forget()
    assert lease.end == float("-inf")


RATES = st.floats(0.9, 1.1)


@given(root=RATES, member=RATES, waiter=RATES, voted=st.floats(0, 100), asked_ago=st.floats(0, 3), late=st.floats(0, 9))
def test_a_new_root_waits_longer_than_any_lease_lasts(
    root: float, member: float, waiter: float, voted: float, asked_ago: float, late: float
) -> None:
    """Real time: the root's last question before the vote, its lease, and a member's out of what was left of it."""
    lease_s = 5.0
    sent = voted - asked_ago
    root_end = sent + lease_s * 0.9 / root
    member_asked = min(sent + late, root_end)
    left_s = (root_end - member_asked) * root
    member_end = member_asked + min(left_s, lease_s * 0.9) / member
    elected = voted
    assert max(root_end, member_end) <= elected + surely_over_s(lease_s) / waiter + 1e-9
