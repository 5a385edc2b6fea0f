"""Two mailboxes of one name become one: what is the same is found, nothing is lost, nothing is there twice."""

from __future__ import annotations

from collections import Counter
from urllib.parse import quote

from hypothesis import given, settings
from hypothesis import strategies as st

from pyrepl.mailbox.boxes import view
from pyrepl.mailbox.flags import from_set
from pyrepl.mailbox.uniting import WHY_NOT_WHOLE
from pyrepl.mailbox.verbs import Rename
from pyrepl.mailbox.words import Box, Dot, Stamp
from tests.scenario.mailbox.cluster import Cluster, ready

Mail = tuple[str, int, str]
"""GUID, what its text is, flags."""


def doubles(one: list[Mail], other: list[Mail], names: str = "ab") -> Cluster:
    """A cluster whose user has two mailboxes that want the name INBOX, as after JOIN on two nodes."""
    cluster = ready(names)
    for name, mails in (("INBOX", one), ("Other", other)):
        if name == "Other":
            cluster.say("m1>a 0 CREATE alice Other")
        for number, (guid, text, flags) in enumerate(mails):
            what = f"uid=* guid={guid} size=4 received=1 sum={text:08x} flags={flags or '()'}"
            cluster.say(f"m1>a {number} SAVE alice {name} {what} {{text}}")
    cluster.say("m1>a 8 SUBSCRIBE alice Other")
    # A name that is taken is refused to mail programs; two nodes that are apart can give it.
    core = cluster.nodes["a"].core
    [guid] = (guid for guid, (name, _) in view(core.rows, "alice").items() if name == "Other")
    stamp = core.journal.next_stamp("alice")
    core.do([Rename(user="alice", box=Box(guid, True), to=Box("INBOX"), stamp=stamp)])
    cluster._after("a")
    cluster.settle()
    cluster.run(2.0)
    assert sorted(name for name, _ in view(cluster.rows["b"], "alice").values()) == ["INBOX", "INBOX (2)"]
    cluster.said()
    return cluster


def unite(cluster: Cluster, node: str = "b") -> list[str]:
    cluster.nodes[node].unite("op", "1", "alice", cluster.now)
    cluster._after(node)
    cluster.settle()
    cluster.run(2.0)
    return [line.split(" ", 1)[1] for line in cluster.said() if line.startswith(f"{node}>op")]


def test_l1_the_larger_one_keeps_its_uids_and_gets_what_it_lacks() -> None:
    one = [("a1", 1, "\\Seen"), ("a2", 2, "")]
    other = [("b1", 2, "\\Flagged"), ("b2", 3, "work"), ("b3", 4, "")]
    cluster = doubles(one, other)
    assert unite(cluster) == ["1 OK"]
    seen, flagged, work = ("\\Seen",), ("\\Flagged",), ("work",)
    wanted = {"INBOX/b1": (1, flagged), "INBOX/b2": (2, work), "INBOX/b3": (3, ()), "INBOX/a1": (4, seen)}
    assert cluster.views() == [wanted] * 2
    assert [subscribed for _, subscribed in view(cluster.rows["a"], "alice").values()] == [True]
    assert unite(cluster) == ["1 OK"] and cluster.views() == [wanted] * 2
    assert [notice.about for notice in cluster.nodes["b"].core.notices() if notice.name == "united"] == ["alice INBOX"]


def test_the_same_mail_twice_stays_twice_and_the_flags_of_both_are_set() -> None:
    cluster = doubles([("a1", 1, "\\Seen"), ("a2", 1, ""), ("a3", 5, "")], [("b1", 1, "\\Flagged"), ("b2", 1, "")])
    unite(cluster)
    assert cluster.views()[0] == {
        "INBOX/a1": (1, ("\\Flagged", "\\Seen")),
        "INBOX/a2": (2, ()),
        "INBOX/a3": (3, ()),
    }


def test_one_guid_in_both_is_one_message() -> None:
    cluster = doubles([("a1", 1, ""), ("a2", 2, "")], [("a1", 1, "work")])
    unite(cluster)
    assert cluster.views()[1] == {"INBOX/a1": (1, ("work",)), "INBOX/a2": (2, ())}


def test_nothing_is_changed_where_the_masterships_cannot_be_had() -> None:
    cluster = doubles([("a1", 1, "")], [("b1", 2, "")])
    cluster.say("m1>a 5 LOCK alice INBOX")
    before = cluster.views()
    assert unite(cluster) == []
    cluster.run(12.0)
    assert [line for line in cluster.said() if line.startswith("b>op")] == ["b>op 1 NO TIMEOUT"]
    assert cluster.views() == before


MAILS = st.lists(st.tuples(st.integers(1, 5), st.sampled_from(["", "\\Seen", "work"])), max_size=6)


@settings(max_examples=60, deadline=None)
@given(MAILS, MAILS)
def test_each_text_is_as_often_there_as_in_the_mailbox_that_had_more_of_it(
    one: list[tuple[int, str]], other: list[tuple[int, str]]
) -> None:
    cluster = doubles(
        [(f"a{place}", *mail) for place, mail in enumerate(one)],
        [(f"b{place}", *mail) for place, mail in enumerate(other)],
    )
    unite(cluster)
    first, second = cluster.views()
    assert first == second
    [box] = view(cluster.rows["a"], "alice")
    rows = list(cluster.rows["a"].messages(box))
    assert Counter(row.sums[0] for row in rows) == Counter(text for text, _ in one) | Counter(text for text, _ in other)
    flags = {(row.sums[0], flag) for row in rows for flag in row.set_flags()}
    assert flags == {(text, flag) for text, flag in (*one, *other) if flag}
    assert len({row.uid for row in rows}) == len(rows)


def test_a_user_may_have_more_of_them_than_calls_can_be_nested() -> None:
    cluster = ready("ab")
    core = cluster.nodes["a"].core
    names = [f"f{number}" for number in range(250)]
    for name in names:
        cluster.say(f"m1>a 0 CREATE alice {name}")
        cluster.say(f"m1>a 0 CREATE alice {name}-2")
    by_name = {name: guid for guid, (name, _) in view(core.rows, "alice").items()}
    for name in names:
        stamp = core.journal.next_stamp("alice")
        core.do([Rename(user="alice", box=Box(by_name[f"{name}-2"], True), to=Box(name), stamp=stamp)])
    cluster._after("a")
    cluster.settle()
    cluster.run(2.0)
    cluster.said()
    assert unite(cluster, "a") == ["1 OK"]
    assert sorted(name for name, _ in view(cluster.rows["a"], "alice").values()) == sorted(["INBOX", *names])


def test_a_mailbox_is_not_deleted_before_the_ops_of_all_its_messages_came() -> None:
    """They came by state, and one that deletes the mailbox cannot speak of them."""
    cluster = doubles([("a1", 1, ""), ("a2", 2, "")], [("b1", 3, "")])
    rows = cluster.rows["b"]
    [goes] = (box for box in rows.boxes("alice") if rows.message(box.guid, "b1") is not None)
    row = rows.message(goes.guid, "b1")
    assert row is not None
    late = Dot("a", cluster.nodes["b"].core.causal.held["a"] + 5)
    rows.put_message(row._replace(dots=(late,)))
    assert unite(cluster) == [f"1 NO FAILED why={quote(WHY_NOT_WHOLE)}"]
    rows.put_message(row)
    assert unite(cluster) == ["1 OK"]


def test_more_flags_than_a_line_can_say_are_set_by_several_ops() -> None:
    cluster = doubles([("a1", 1, ""), ("a2", 2, "")], [("b1", 1, "")])
    flags = tuple(f"keyword{number:03d}{'y' * 200}" for number in range(400))
    many_flags(cluster, "b1", flags)
    assert unite(cluster) == ["1 OK"]
    assert cluster.views() == [{"INBOX/a1": (1, flags), "INBOX/a2": (2, ())}] * 2


def test_what_no_line_can_say_is_answered_and_changes_nothing() -> None:
    cluster = doubles([("a1", 1, "")], [("b1", 1, "")])
    before = cluster.views()
    many_origins(cluster, "b")
    [answer] = unite(cluster)
    assert answer.startswith("1 NO FAILED why=DELETE") and cluster.views() == before


def many_flags(cluster: Cluster, guid: str, flags: tuple[str, ...]) -> None:
    """A message has these flags on all nodes."""
    for name, rows in cluster.rows.items():
        home = rows.home("alice", guid)
        assert home is not None
        rows.put_message(home._replace(flags=from_set(flags, Stamp(home.modseq, "a"))))
        cluster.stores[name].boxes[home.box][guid] = (home.uid, tuple(sorted(flags)))


def many_origins(cluster: Cluster, name: str) -> None:
    """A node has a vector that is no word of a line."""
    cluster.nodes[name].core.causal.held.update({f"x~{number}": 1 for number in range(10_000)})


def test_what_is_too_large_for_a_transaction_stays_as_it_is() -> None:
    cluster = doubles([("a1", 1, ""), ("a2", 2, "")], [("b1", 3, "")])
    before, journals = cluster.views(), [node.core.journal for node in cluster.nodes.values()]
    most = journals[0].most_tx_bytes
    for journal in journals:
        journal.most_tx_bytes = 3_000
    [answer] = unite(cluster)
    assert answer.startswith("1 NO FAILED why=a%20transaction%20of%20") and cluster.views() == before
    for journal in journals:
        journal.most_tx_bytes = most
    assert unite(cluster) == ["1 OK"] and cluster.views()[1]["INBOX/b1"] == (3, ())
