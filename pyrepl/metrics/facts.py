"""What advice goes by: a few rows for each master and each pair, as plain values.

They are summed up from the result tables by gather.py, and decided and worded by advice.py, which sees these rows
alone. A master has at most three rows of `backlogs` and one of `channels` and of `storms`; a pair has one of
`output_buffers` and of `outages`, and one of `loops` for each reason.
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
    output_buffers  a pair that was cut for its output buffer: count, most (bytes, at the cuts), down_s (summed), open_s
                    (the longest)
    channels        full syncs on one connection and on two: one_n, one_ms, two_n, two_ms (medians)
    storms          of a master's STORMS: count, and summed snapshots, syncs and lasted_s; the largest delay_s
    loops           LOOPS, as they are
    outages         of AVAILABILITY what had lasted OUTAGE_S or more when the logs end, but for pairs whose loop goes on
    """

    backlogs: Sequence[Row] = ()
    output_buffers: Sequence[Row] = ()
    channels: Sequence[Row] = ()
    storms: Sequence[Row] = ()
    loops: Sequence[Row] = ()
    outages: Sequence[Row] = ()
