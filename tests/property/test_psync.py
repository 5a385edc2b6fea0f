"""The verdict against the meaning: two streams, all their bytes, and what a replica holds of them."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from pyrepl.replication.backlog import Backlog
from pyrepl.replication.history import History
from pyrepl.replication.psync import (
    Request,
    Verdict,
    decide,
    decode_answer,
    decode_request,
    encode_continue,
    encode_full_resync,
    encode_request,
)
from pyrepl.units import Offset, ReplId

OLD, NEW, OTHER = ReplId("a" * 40), ReplId("b" * 40), ReplId("c" * 40)
replids = st.sampled_from([OLD, NEW, OTHER])
offsets = st.integers(0, 2**62)


@given(fork=st.integers(0, 60), size=st.integers(0, 60), capacity=st.integers(1, 80), data=st.data())
@settings(max_examples=100, deadline=None)
def test_continued_exactly_when_prefix_and_bytes_allow(
    fork: int, size: int, capacity: int, data: st.DataObject
) -> None:
    """The old stream is all `o`, the new one parts from it at `fork` with `n`; a third shares nothing."""
    history = History(OLD)
    backlog = Backlog(capacity)
    backlog.create()
    backlog.append(b"o" * fork)
    history.shift(NEW, Offset(backlog.end))
    backlog.append(b"n" * size)
    ours = b"o" * fork + b"n" * size
    replid = data.draw(replids)
    held = data.draw(st.integers(0, 130))
    theirs = {OLD: b"o" * 200, NEW: ours + b"n" * 200, OTHER: b"x" * 200}[replid][:held]
    is_prefix = ours.startswith(theirs) and replid != OTHER
    is_held = len(ours) - min(capacity, len(ours)) <= held <= len(ours)
    decision = decide(Request(replid, held), history, backlog)
    assert (decision.verdict is Verdict.CONTINUE) == (is_prefix and is_held)
    if decision.verdict is Verdict.CONTINUE:
        missing = b"".join(bytes(piece) for piece in backlog.read(held, 1000))
        assert theirs + missing == ours and decision.missing_bytes == len(missing)


@given(replid=replids, held=offsets)
@settings(max_examples=50, deadline=None)
def test_requests_round_trip(replid: ReplId, held: int) -> None:
    assert decode_request(encode_request(Request(replid, held))) == Request(replid, held)


@given(replid=replids, cut=offsets)
@settings(max_examples=50, deadline=None)
def test_answers_round_trip(replid: ReplId, cut: int) -> None:
    full = decode_answer(encode_full_resync(replid, Offset(cut))[:-2])
    assert (full.replid, full.cut) == (replid, cut)  # type: ignore[union-attr]
    assert decode_answer(encode_continue(replid, with_id=True)[:-2]).replid == replid  # type: ignore[union-attr]
