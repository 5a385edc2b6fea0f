"""The tree as lines of cells for a person: one line a node, and one for each thing that is wrong.

Colours and widths are the screen's (cli/status.py); here is only text, and how grave it is.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from pyrepl.topology.problems import MAX_LAG_S, Problem, problems_in, problems_of
from pyrepl.topology.tree import Tree, TreeNode
from pyrepl.units import format_memory

COLUMNS: Final = ("node", "role", "link", "offset", "lag", "survives a cut of", "writes", "software")

Mood = Literal["good", "busy", "bad"]
"""How grave a line is. good: nothing is wrong; busy: what is wrong passes by itself; bad: somebody must mend it."""

_PASSING: Final = frozenset({"syncing", "loading", "not_online", "failover"})
_SPANS: Final = ((86400, "d"), (3600, "h"), (60, "min"))


class Line(NamedTuple):
    """One node; as many cells as COLUMNS."""

    cells: tuple[str, ...]
    mood: Mood


def lines_of(tree: Tree, max_lag_s: int = MAX_LAG_S) -> list[Line]:
    """A line for each node, each replica below its master, with the branches of the tree drawn before its name."""
    return [line for top in tree.tops for line in _lines(top, "", "", max_lag_s)]


def complaints(tree: Tree, max_lag_s: int = MAX_LAG_S) -> list[str]:
    """What is wrong, a line for each problem: `address: what`."""
    return [
        problem.text if node is None else f"{node.address}: {problem.text}"
        for node, problem in problems_in(tree, max_lag_s)
    ]


def summary(tree: Tree, max_lag_s: int = MAX_LAG_S) -> str:
    """The whole tree in one line: `in sync: 3 nodes`, or `2 problems in 3 nodes`."""
    nodes = _counted(len({node.address for node in tree.nodes() if node.address.port}), "node")
    wrong = len(problems_in(tree, max_lag_s))
    if not wrong:
        return f"in sync: {nodes}"
    return f"{_counted(wrong, 'problem')} in {nodes}"


def span(seconds: float) -> str:
    """A time for people: `0.4 s`, `12 s`, `3 min`, `2 h`, `5 d`."""
    for size, name in _SPANS:
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {name}"
    return f"{seconds:.1f} s" if seconds < 2 else f"{seconds:.0f} s"


def _counted(count: int, thing: str) -> str:
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


def _lines(node: TreeNode, before: str, below: str, max_lag_s: int) -> list[Line]:
    """`before` is drawn before its name, `below` before everything under it."""
    problems = problems_of(node, max_lag_s)
    lines = [Line(_cells(node, before), _mood(problems))]
    for child in node.children:
        is_last = child is node.children[-1]
        lines += _lines(child, below + ("└─ " if is_last else "├─ "), below + ("   " if is_last else "│  "), max_lag_s)
    return lines


def _mood(problems: list[Problem]) -> Mood:
    if not problems:
        return "good"
    return "busy" if all(problem.code in _PASSING for problem in problems) else "bad"


def _cells(node: TreeNode, before: str) -> tuple[str, ...]:
    facts = node.facts
    return (
        before + str(node.address),
        ("replica" if facts.is_replica else "master") if facts is not None else ("replica" if node.row else "?"),
        _link(node),
        "" if node.offset is None else str(node.offset),
        _lag(node),
        _cover(node),
        "" if node.depth or node.write_bytes_per_s is None else f"{format_memory(round(node.write_bytes_per_s))}/s",
        facts.software if facts is not None else "",
    )


def _link(node: TreeNode) -> str:
    facts = node.facts
    if node.closes_loop:
        return "loop"
    if node.elsewhere:
        return "elsewhere"
    if facts is None:
        if node.row is not None and not node.address.port:
            return node.row.state
        return "refused" if node.is_refused else "unreachable"
    if facts.loading_percent is not None:
        return f"loading {facts.loading_percent:.0f}%"
    if not facts.is_replica:
        return "none" if node.depth else ""
    if facts.sync is not None:
        total = facts.sync.total_bytes
        return f"sync {100 * (facts.sync.read_bytes or 0) / total:.0f}%" if total else "sync"
    return "up" if facts.link_up else "down"


def _lag(node: TreeNode) -> str:
    parts = [] if node.lag_bytes is None else [format_memory(node.lag_bytes)]
    if node.lag_s is not None and not node.elsewhere:
        parts.append(span(node.lag_s) if node.lag_s >= 2 else f"{node.lag_s} s")
    return ", ".join(parts)


def _cover(node: TreeNode) -> str:
    """How much may be written during a cut that a partial resync still mends, and how long that takes at the present
    rate: `0.5 s (1.00M)`."""
    if node.cover_bytes is None:
        return ""
    if node.cover_bytes == 0:
        return "nothing"
    size = format_memory(node.cover_bytes)
    return size if node.cover_s is None else f"{span(node.cover_s)} ({size})"
