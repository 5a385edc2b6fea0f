"""Groups are dealt out to tasks: of about the same size, and the same ones when there is more of them."""

from __future__ import annotations

import json

import pytest

from pyrepl.metrics.parts import Piece
from pyrepl.metrics.shares import ENOUGH, LINES, MOST_LINES, ROLLED_UP, Group, shares, weight


def fleet(pairs: int, lines: int) -> tuple[list[Group], dict[str, int]]:
    """Pairs of nodes, so many lines each node."""
    groups: list[Group] = [(f"{number}/master", f"{number}/replica") for number in range(pairs)]
    return groups, {node: lines for group in groups for node in group}


def test_few_lines_are_one_task() -> None:
    groups, weights = fleet(10, 30)
    assert [sorted(own) for own in shares(groups, weights)] == [groups]


def test_no_group_is_left_out_and_none_is_asked_twice() -> None:
    groups, weights = fleet(1000, 200)
    assert sorted(group for own in shares(groups, weights) for group in own) == sorted(groups)
    assert shares([], {}) == []


def test_no_share_has_more_than_a_twentieth_of_a_fleet() -> None:
    groups, weights = fleet(5000, 500)
    sizes = [sum(weights[node] for group in own for node in group) for own in shares(groups, weights)]
    assert max(sizes) < sum(sizes) / 20 and sizes == sorted(sizes, reverse=True)


@pytest.mark.parametrize(("pairs", "most"), [(500, LINES), (20_000, MOST_LINES)])
def test_where_there_are_many_shares_each_has_more(pairs: int, most: int) -> None:
    groups, weights = fleet(pairs, 500)
    sizes = [sum(weights[node] for group in own for node in group) for own in shares(groups, weights)]
    assert most / 4 < sum(sizes) / len(sizes) <= most and (len(sizes) > ENOUGH) == (most == MOST_LINES)


def test_a_large_group_has_a_task_of_its_own() -> None:
    groups, weights = fleet(40, 10)
    weights["7/master"] = LINES
    found = shares(groups, weights)
    assert found[0] == (("7/master", "7/replica"),) and len(found) == 2


def test_a_new_group_moves_no_other() -> None:
    groups, weights = fleet(1000, 100)
    before = {own[0]: own for own in shares(groups, weights)}
    after = shares([*groups, ("new",)], {**weights, "new": 10})
    changed = [own for own in after if before.get(own[0]) != own]
    assert len(changed) == 1 and changed[0][-1] == ("new",)


@pytest.mark.parametrize(("form", "expected"), [("text", 100), ("json", 100 // ROLLED_UP)])
def test_what_is_rolled_up_is_less_work(form: str, expected: int) -> None:
    piece = Piece("a", json.dumps({"node": "a", "form": form, "count": 100, "table": "events"}), {}, ())
    assert weight([piece, piece]) == 2 * expected
