"""Finds what is wrong with a node in its place in the tree, and says it to the person who is to mend it.

Each rule is a function that returns a text, or an empty one where nothing is wrong. RULES is their table; its codes are
those of the JSON document. A deployment without problems is in sync.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from pyrepl.topology.facts import Sync
from pyrepl.topology.tree import Tree, TreeNode
from pyrepl.units import format_memory

MAX_LAG_S: Final = 10
"""Seconds without an acknowledgement, inclusive: min-replicas-max-lag's default. Replicas acknowledge each second."""


class Problem(NamedTuple):
    """`code` for programs, `text` for people."""

    code: str
    text: str


def _unreachable(node: TreeNode) -> str:
    is_it = node.failure and node.address.port and not node.is_refused
    return f"cannot be asked: {node.failure}" if is_it else ""


def _refused(node: TreeNode) -> str:
    return f"refuses to be asked: {node.failure}" if node.is_refused else ""


def _loop(node: TreeNode) -> str:
    return f"follows in a circle: {node.address} stands above already" if node.closes_loop else ""


def _elsewhere(node: TreeNode) -> str:
    if not node.elsewhere or node.facts is None:
        return ""
    says = f"it follows {node.facts.master}" if node.facts.master is not None else "it is a master"
    return f"{node.parent.address if node.parent is not None else ''} still lists it, but {says}"


def _loading(node: TreeNode) -> str:
    percent = node.facts.loading_percent if node.facts is not None else None
    return "" if percent is None else f"loads its data: {percent:.0f}%"


def _syncing(node: TreeNode) -> str:
    if node.facts is not None:
        return _progress(node.facts.sync) if node.facts.sync is not None else ""
    return ""


def _progress(sync: Sync) -> str:
    """`full resync: 1.50M of 3.00M (50%), 12 s to go`."""
    text = f"full resync: {format_memory(sync.read_bytes or 0)}"
    if sync.total_bytes:
        text += f" of {format_memory(sync.total_bytes)} ({100 * (sync.read_bytes or 0) / sync.total_bytes:.0f}%)"
    if sync.bytes_per_s:
        text += f", {format_memory(sync.bytes_per_s)}/s"
    return text if sync.eta_s is None else f"{text}, {sync.eta_s} s to go"


def _link_down(node: TreeNode) -> str:
    facts = node.facts
    if facts is None or not facts.is_replica or facts.link_up or facts.sync is not None:
        return ""
    text = "link down" if facts.down_s is None else f"link down for {facts.down_s} s"
    if facts.last_error:
        text += f": {facts.last_error}"
    return text if facts.next_try_s is None else f"{text}; next try in {facts.next_try_s} s"


def _full_resync_ahead(node: TreeNode) -> str:
    return "the backlog does not reach back so far: it needs a full resync" if node.cover_bytes == 0 else ""


def _not_online(node: TreeNode) -> str:
    """Its own word is the better one while it has a link that is down or syncs."""
    row, facts = node.row, node.facts
    if row is None or node.elsewhere or row.state == "online" or (facts is not None and not facts.link_up):
        return ""
    return f"its master has it in state {row.state}"


def _not_listed(node: TreeNode) -> str:
    """The link is up on one end only: half-open, or behind an address that is not its own."""
    parent = node.parent.facts if node.parent is not None else None
    if parent is None or node.facts is None or node.row is not None or not node.facts.link_up or node.closes_loop:
        return ""
    return "says that its link is up, but its master does not list it"


def _lagging(node: TreeNode, max_lag_s: int) -> str:
    row = node.row
    if row is None or node.elsewhere or row.state != "online" or row.lag_s is None or row.lag_s <= max_lag_s:
        return ""
    return f"has acknowledged nothing for {row.lag_s} s"


def _other_stream(node: TreeNode) -> str:
    parent = node.parent.facts if node.parent is not None else None
    if parent is None or node.facts is None or not node.facts.link_up or node.elsewhere or node.closes_loop:
        return ""
    if not node.facts.replid or not parent.replid or node.facts.replid == parent.replid:
        return ""
    return f"its stream is {node.facts.replid[:8]}, its master's is {parent.replid[:8]}"


def _failover(node: TreeNode) -> str:
    return f"failover: {node.facts.failover}" if node.facts is not None and node.facts.failover else ""


RULES: Final[tuple[tuple[str, Callable[[TreeNode], str]], ...]] = (
    ("unreachable", _unreachable),
    ("refused", _refused),
    ("loop", _loop),
    ("elsewhere", _elsewhere),
    ("loading", _loading),
    ("syncing", _syncing),
    ("link_down", _link_down),
    ("full_resync_ahead", _full_resync_ahead),
    ("not_online", _not_online),
    ("not_listed", _not_listed),
    ("other_stream", _other_stream),
    ("failover", _failover),
)
"""Code -> the text, empty if it is not so. `lagging`, which has a bound, and `left_out`, of the tree, stand beside."""


def problems_of(node: TreeNode, max_lag_s: int = MAX_LAG_S) -> list[Problem]:
    """All that is wrong with one node; a lag of max_lag_s is still right."""
    found = [Problem(code, text) for code, rule in RULES if (text := rule(node))]
    lagging = _lagging(node, max_lag_s)
    return [*found, Problem("lagging", lagging)] if lagging else found


def problems_in(tree: Tree, max_lag_s: int = MAX_LAG_S) -> list[tuple[TreeNode | None, Problem]]:
    """All that is wrong; None where it is not one node's."""
    found: list[tuple[TreeNode | None, Problem]] = [
        (node, problem) for node in tree.nodes() for problem in problems_of(node, max_lag_s)
    ]
    if tree.left_out:
        found.append((None, Problem("left_out", f"{tree.left_out} more addresses were not asked: too many nodes")))
    if not tree.tops:
        found.append((None, Problem("empty", "the sentinel watches no master")))
    return found
