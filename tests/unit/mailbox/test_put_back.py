"""A node that was put back from a snapshot, and gives its ops numbers that others know for other ops."""

from __future__ import annotations

import copy

import pytest

from pyrepl.mailbox.answers import Ok
from pyrepl.mailbox.put_back import PutBack
from pyrepl.mailbox.verbs import Ack, Sync
from pyrepl.mailbox.words import Dot
from tests.scenario.mailbox.cluster import Cluster, ready


def put_back(*, before: int, after: int) -> Cluster:
    """Node a makes so many mailboxes behind a snapshot, which b gets, and so many when it was put back, alone."""
    cluster = ready("ab")
    snapshot = copy.deepcopy(cluster.rows["a"])
    for number in range(before):
        cluster.say(f"m1>a {number} CREATE alice before-{number}")
    cluster.crash("a")
    cluster.rows["a"] = snapshot
    cluster.start("a", "")
    for number in range(after):
        cluster.say(f"m1>a {number} CREATE alice after-{number}")
    return cluster


def sync(cluster: Cluster) -> Sync:
    """What b asks a."""
    return Sync(held=cluster.nodes["b"].core.journal.vector())


@pytest.mark.parametrize(("before", "after"), [(5, 1), (5, 5), (1, 5)])
def test_ops_of_its_own_before_it_met_the_others_end_all_links_for_good(before: int, after: int) -> None:
    cluster = put_back(before=before, after=after)
    node = cluster.nodes["a"]
    why = node.why_not("b", sync(cluster))
    assert why is not None and "was put back from an older state" in why
    assert [notice.name for notice in node.core.notices()].count("put_back") == 1
    assert node.why_not("b", Ack(held=())) == node.put_back.why == why
    cluster.rows["a"].commit()
    cluster.crash("a")
    cluster.start("a", "")
    assert cluster.nodes["a"].put_back.why == why, "after a start, too"


@pytest.mark.parametrize(("before", "after"), [(5, 0), (0, 5), (0, 0)])
def test_one_that_only_lacks_what_it_had_made_or_that_has_more_takes_part(before: int, after: int) -> None:
    cluster = put_back(before=before, after=after)
    node = cluster.nodes["a"]
    assert node.why_not("b", sync(cluster)) is None and node.put_back.why == ""
    cluster.link("a", "b")
    cluster.run(5.0)
    one, other = cluster.views()
    assert one == other


def test_behind_the_first_meeting_others_have_what_was_made_since() -> None:
    cluster = put_back(before=0, after=3)
    core = cluster.nodes["a"].core
    seen = PutBack(core)
    made = core.causal.held["a"]
    assert seen.why_not("b", Ok(left=9)) is None and seen.why_not("b", Sync(held=(Dot("b", 1),))) is None
    assert seen.why_not("c", Ok(held=(Dot("a", made),), left=0)) is None
    assert seen.why_not("c", Ok(held=(Dot("a", made + 1),), left=0)) is not None, "nobody can have more"
