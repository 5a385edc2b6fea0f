"""What advice goes by: a few rows for each master and each pair, as plain values.

They are summed up from the result tables by gather.py, and decided and worded by advice.py, which sees these rows
alone. A master has at most three rows of `backlogs` and one of `misses`, `freed`, `channels` and `storms`; a pair has
one of `output_buffers` and of `outages`, and one of `loops` for each reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

SHARES: Final = (0.5, 0.9, 0.99)
"""Of the avoidable full resyncs of a master: the sizes that would have done for so many are looked up."""

Row = dict[str, Any]


class Facts(NamedTuple):
    """Rows of plain values by what they speak of; a value is None where the logs do not tell.

    backlogs        of BACKLOG_WHAT_IF the smallest size for each of SHARES; `wanted` is the largest of these shares
                    that it reaches, `now` the node's backlog in bytes
    misses          a master with full resyncs for lack of backlog of which no log tells how much was lacked: their
                    count, now, away_s (the longest time from a cut to a return that lacks the number), bytes_per_s (its
                    write rate while it is high)
    freed           a master with full resyncs of replicas that came back when its backlog had been freed: their count,
                    away_s (the longest time that one of these replicas was away), saved_s (what these syncs took)
    output_buffers  a pair whose stream was cut for the replica's output buffer, and that read on within STALLED_S:
                    count, most (bytes that waited, the largest), lacked (bytes that the replica lacked when it came
                    back, the largest), down_s (summed), open_s (the longest)
    sync_buffers    a pair whose full sync was cut for it: the same; took_s is the longest of the pair's full syncs that
                    ended well, else of the master's; bytes_per_s the master's write rate while it is high; kind and
                    version of both ends (kind, version, replica_kind, replica_version); two_n, its full syncs on two
                    connections
    stalled         a pair whose stream was cut for it, and of whose replica there was no sign of life for STALLED_S, or
                    none ever: count, most, back_s (the longest), lacked, down_s, open_s
    channels        full syncs on one connection and on two: one_n, one_ms, two_n, two_ms (medians), and of the
                    two_n dual_n in Valkey's dialect
    storms          of a master's STORMS: count, and summed snapshots, syncs, on_disk and lasted_s; the largest delay_s
    loops           LOOPS, as they are, with kind and version of both ends; those for the output buffer are sync_buffers
    outages         of AVAILABILITY what had lasted OUTAGE_S or more when the logs end, but for pairs of which one of
                    the others tells
    """

    backlogs: Sequence[Row] = ()
    misses: Sequence[Row] = ()
    freed: Sequence[Row] = ()
    output_buffers: Sequence[Row] = ()
    sync_buffers: Sequence[Row] = ()
    stalled: Sequence[Row] = ()
    channels: Sequence[Row] = ()
    storms: Sequence[Row] = ()
    loops: Sequence[Row] = ()
    outages: Sequence[Row] = ()
