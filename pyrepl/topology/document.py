"""The tree as a JSON document for programs, of a schema that only grows: names and meanings stay.

    version   1
    start     the address that was asked first
    status    "ok", "trouble"; of the first node "unreachable", or "refused" where it is there and wants a password
    problems  [{"node": address or null, "code", "text"}]; codes are those of problems.RULES, texts may change
    nodes     in the order of the tree, each with the members that _node writes; null is "not known" or "does not apply"

A node's place is its `parent` (an address, null at the top) and `depth`. Sizes in bytes, spans in seconds.
"""

from __future__ import annotations

from typing import Any, Final

from pyrepl.topology.facts import Facts, Sync
from pyrepl.topology.problems import MAX_LAG_S, problems_in
from pyrepl.topology.tree import Tree, TreeNode

SCHEMA_VERSION: Final = 1


def document_of(tree: Tree, max_lag_s: int = MAX_LAG_S) -> dict[str, Any]:
    """Plain values, ready for json.dumps."""
    problems = problems_in(tree, max_lag_s)
    status = "trouble" if problems else "ok"
    if tree.start_failure:
        status = "refused" if tree.start_is_refused else "unreachable"
    return {
        "version": SCHEMA_VERSION,
        "start": str(tree.start),
        "status": status,
        "problems": [
            {"node": str(node.address) if node is not None else None, "code": problem.code, "text": problem.text}
            for node, problem in problems
        ],
        "nodes": [_node(node) for node in tree.nodes()],
    }


def _node(node: TreeNode) -> dict[str, Any]:
    return {
        "address": str(node.address),
        "parent": str(node.parent.address) if node.parent is not None else None,
        "depth": node.depth,
        "reachable": node.facts is not None,
        "error": node.failure or None,
        "loop": node.closes_loop,
        "elsewhere": node.elsewhere,
        "state_at_parent": node.row.state if node.row is not None else None,
        "offset": node.offset,
        "lag_bytes": node.lag_bytes,
        "lag_s": node.lag_s,
        "cover_bytes": node.cover_bytes,
        "cover_s": None if node.cover_s is None else round(node.cover_s, 3),
        "write_bytes_per_s": None if node.write_bytes_per_s is None else round(node.write_bytes_per_s, 1),
        **_own_words(node.facts),
    }


def _own_words(facts: Facts | None) -> dict[str, Any]:
    """What a node says of itself; every member is there for a node that says nothing, too."""
    if facts is None:
        return dict.fromkeys(_OWN_WORDS)
    values = (
        facts.software or None,
        facts.run_id or None,
        "replica" if facts.is_replica else "master",
        str(facts.master) if facts.master is not None else None,
        ("up" if facts.link_up else "down") if facts.is_replica else None,
        facts.silence_s,
        facts.down_s,
        facts.last_error or None,
        facts.next_try_s,
        _sync(facts.sync) if facts.sync is not None else None,
        facts.loading_percent,
        facts.failover or None,
        facts.replid or None,
        facts.backlog_bytes,
        facts.backlog_held_bytes if facts.backlog_bytes is not None else None,
        facts.backlog_first_byte if facts.backlog_bytes is not None else None,
        facts.full_syncs,
        facts.partial_syncs,
    )
    return dict(zip(_OWN_WORDS, values, strict=True))


_OWN_WORDS: Final = (
    "software",
    "run_id",
    "role",
    "master",
    "link",
    "silence_s",
    "down_s",
    "last_error",
    "next_try_s",
    "sync",
    "loading_percent",
    "failover",
    "replid",
    "backlog_bytes",
    "backlog_held_bytes",
    "backlog_first_byte",
    "full_syncs",
    "partial_syncs",
)


def _sync(sync: Sync) -> dict[str, int | None]:
    return {
        "read_bytes": sync.read_bytes,
        "total_bytes": sync.total_bytes or None,
        "bytes_per_s": sync.bytes_per_s,
        "eta_s": sync.eta_s,
    }
