"""Result tables that are SQL over others: COSTS, and what other settings would have done (BUFFER_WHAT_IF,
DELAY_WHAT_IF, FLEET_WHAT_IF).

Plain SQL, which Spark, Polars and DuckDB understand alike; whoever computes the tables has the others under their
names. The rules of the columns stand in results.py. A replica that stood still (gather.STALLED_S) is in no what-if.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

COSTS: Final = """
with pairs as (
    select node, count(*) as replicas, sum(coalesce(observed_s, 0.0) - coalesce(online_s, 0.0)) as out_s,
        sum(case when open_outage_s is not null then 1 else 0 end) as out_now
    from availability group by node
),
full_sync as (
    select node, coalesce(bytes_estimate, bytes) as moved,
        case when coalesce(cause, '') = 'first' and coalesce(ok, true) then 0 else 1 end as again,
        case when cause in ('out_of_backlog', 'no_backlog', 'output_buffer')
            or (not coalesce(ok, true) and coalesce(failure, '') not in ('role_change', 'shutdown', 'stopped'))
            then 1 else 0 end as avoidable
    from syncs where coalesce(mode, '') <> 'continue'
),
full_syncs as (
    select node, count(*) as fulls, sum(avoidable) as avoidable,
        sum(case when again = 1 then coalesce(moved, 0) else 0 end) as resent_bytes,
        sum(case when again = 1 and moved is null then 1 else 0 end) as unknown
    from full_sync group by node
),
children as (
    select node, count(*) as forks, max(private_bytes) as private_bytes from forks where why = 'sync' group by node
)
select pairs.node as node, replicas, out_now, out_s, coalesce(fulls, 0) as fulls, coalesce(avoidable, 0) as avoidable,
    coalesce(resent_bytes, 0) as resent_bytes, coalesce(unknown, 0) as unknown, coalesce(forks, 0) as forks,
    private_bytes
from pairs left join full_syncs on pairs.node = full_syncs.node left join children on pairs.node = children.node
"""

_CUT: Final = """
    select node, down_s, greatest(coalesce(lacked_bytes, 0), coalesce(output_buffer_bytes, 0)) as need
    from cuts
    where cause = 'output_buffer' and (phase <> 'stream' or back_s < 10)
"""
_PAIRS: Final = "select node, count(*) as pairs from availability group by node"
_MASTERS: Final = "select count(distinct node) as masters, count(*) as pairs from availability"

BUFFER: Final = f"""
with cut as ({_CUT}),
each_size as (
    select node, need as limit_bytes, count(*) as spared, sum(coalesce(down_s, 0.0)) as down_s
    from cut where need > 0 group by node, need
),
summed as (
    select node, limit_bytes,
        sum(spared) over (partition by node order by limit_bytes) as avoided,
        sum(spared) over (partition by node) as avoidable,
        sum(down_s) over (partition by node order by limit_bytes) as saved_s
    from each_size
),
replicas as ({_PAIRS})
select summed.node, limit_bytes, avoided, avoidable, cast(avoided as double) / avoidable as share, saved_s,
    limit_bytes * pairs as memory_bytes
from summed join replicas on summed.node = replicas.node
"""

DELAY: Final = """
with each_delay as (
    select node, delay_s, sum(snapshots - 1) as spared from storms where on_disk = 0 group by node, delay_s
),
children as (select node, count(*) as forks from forks where why = 'sync' group by node),
full_syncs as (select node, count(*) as fulls from syncs where mode <> 'continue' group by node),
summed as (
    select node, delay_s, sum(spared) over (partition by node order by delay_s) as saved from each_delay
)
select summed.node, delay_s, saved, forks, cast(saved as double) / forks as share, delay_s * fulls as waited_s
from summed join children on summed.node = children.node join full_syncs on summed.node = full_syncs.node
"""


def _power_of_two(size: str) -> str:
    return f"power(2.0, ceil(log2({size})))"


FLEET: Final = f"""
with step as (
    select 'repl-backlog-size' as setting, {_power_of_two("greatest(behind_bytes, 1)")} as value, 1 as spared from syncs
    where cause = 'out_of_backlog' and behind_bytes is not null
    union all
    select 'client-output-buffer-limit' as setting, {_power_of_two("need")} as value, 1 as spared
    from ({_CUT}) as cut where need > 0
    union all
    select 'repl-diskless-sync-delay' as setting, cast(ceil(delay_s) as double) as value, snapshots - 1 as spared
    from storms where on_disk = 0
),
each_value as (select setting, value, sum(spared) as spared from step group by setting, value),
summed as (
    select setting, value, sum(spared) over (partition by setting order by value) as avoided,
        sum(spared) over (partition by setting) as avoidable
    from each_value
)
select setting, value, avoided, avoidable, cast(avoided as double) / avoidable as share,
    case setting when 'repl-backlog-size' then value * masters when 'client-output-buffer-limit' then value * pairs end
        as memory_bytes
from summed cross join ({_MASTERS}) as masters
"""
"""The table FLEET_WHAT_IF, over all masters there are (fleet_sql.py): a step for each setting and value, summed up."""

STATEMENTS: Final[Mapping[str, str]] = {"costs": COSTS, "buffer_what_if": BUFFER, "delay_what_if": DELAY}
"""The tables that have rows of each master, from the tables of those masters alone."""
READS: Final = ("availability", "cuts", "forks", "storms", "syncs")
"""The tables that they read."""
