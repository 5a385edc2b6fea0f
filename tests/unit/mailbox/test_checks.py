"""CHECK. Requirements L6, M5."""

from __future__ import annotations

from pyrepl.mailbox.answers import No, Reason
from pyrepl.mailbox.checks import MOST_OF_PEER
from pyrepl.mailbox.verbs import Check
from pyrepl.mailbox.words import Dot
from tests.scenario.mailbox.cluster import ready, save


def test_l6_check_is_answered_when_all_is_everywhere() -> None:
    cluster = ready("abc")
    cluster.held.add("c>b")
    cluster.say("m3>c * SAVE alice INBOX " + save("G1"))
    cluster.said()
    cluster.say("m1>a 9 CHECK alice")
    assert not [line for line in cluster.said() if line.startswith("a>m1")]
    cluster.held.clear()
    cluster.settle()
    assert "a>m1 9 OK" in cluster.said() and cluster.views()[1] == {"INBOX/G1": (1, ())}


def test_a_check_that_cannot_be_answered_ends() -> None:
    cluster = ready()
    cluster.held.add("b>a")
    cluster.say("m1>a 9 CHECK alice")
    cluster.run(5.1)
    assert "a>m1 9 NO TIMEOUT" in cluster.said()


def test_m5_each_change_that_a_client_did_not_see_has_a_higher_modseq_than_it_saw_elsewhere() -> None:
    """The client was at a. b hears of c's change before a's, so it has a lower modseq there, until a has it too."""
    cluster = ready("abc")
    for guid in ("G1", "G2"):
        cluster.say("m1>a 1 SAVE alice INBOX " + save(guid))
    cluster.held |= {"a>b", "a>c", "c>a", "c>b"}
    for number in range(3):
        cluster.say(f"m1>a * STORE alice INBOX uids=1 add=flag-{number}")
    cluster.say("m3>c * STORE alice INBOX uids=2 add=\\Seen")
    [box] = cluster.names
    seen = cluster.rows["a"].box(box)
    cluster.say("m2>b 9 CHECK alice")
    for way in ("c>b", "a>b"):
        cluster.held.discard(way)
        cluster.settle()
    message = cluster.rows["b"].message(box, "G2")
    assert seen is not None and message is not None and message.modseq <= seen.highest
    assert "b>m2 9 OK" not in cluster.said()
    cluster.held.clear()
    cluster.settle()
    message = cluster.rows["b"].message(box, "G2")
    assert "b>m2 9 OK" in cluster.said() and message is not None and message.modseq > seen.highest


def test_a_check_waits_until_each_message_has_a_uid() -> None:
    cluster = ready()
    cluster.cut("a", "b")
    cluster.run(8.0)
    cluster.say("m1>a 2 SAVE alice INBOX " + save("G1"))
    cluster.say("m2>b 2 SAVE alice INBOX " + save("G2"))
    cluster.link("a", "b")
    cluster.said()
    cluster.say("m1>a 9 CHECK alice")
    cluster.run(4.9)
    said = cluster.said()
    assert said.index("a>m1 9 OK") > max(at for at, line in enumerate(said) if " RENUMBER " in line)


def test_a_mail_process_waits_for_the_store_of_its_own_node() -> None:
    cluster = ready()
    for node in cluster.nodes.values():
        node.core.behind.add("alice")
    for client, user in (("m1", "alice"), ("m2", ""), ("m3", "bob")):
        cluster.say(f"{client}>a 9 CHECK {user}".rstrip())
    assert [line for line in cluster.said() if line.startswith("a>m")] == ["a>m3 9 OK"]
    cluster.nodes["a"].core.behind.clear()
    cluster.run(1.0)
    # The store of b concerns nobody here.
    assert sorted(line for line in cluster.said() if line.startswith("a>m")) == ["a>m1 9 OK", "a>m2 9 OK"]


def test_a_member_that_asks_too_much_is_told_so() -> None:
    cluster = ready()
    a = cluster.nodes["a"]
    for number in range(MOST_OF_PEER + 1):
        a.hear("b", f"c{number}", Check(held=(Dot("b", 99),)), "", cluster.now)
    assert [send.command for send in a.core.sends()] == [No(reason=Reason.BUSY)]
    a.link_down("b", cluster.now)
    a.hear("b", "c0", Check(held=(Dot("b", 99),)), "", cluster.now)
    assert not [send for send in a.core.sends() if isinstance(send.command, No)]


def test_who_is_gone_is_not_answered() -> None:
    cluster = ready()
    cluster.held.add("b>a")
    cluster.say("m1>a 9 CHECK alice")
    cluster.nodes["a"].client_gone("m1", cluster.now)
    cluster.held.clear()
    cluster.settle()
    assert not [line for line in cluster.said("OK", "NO") if line.startswith("a>m1")]


def test_members_say_what_they_hold_when_they_are_hurried() -> None:
    cluster = ready()
    a = cluster.nodes["a"]
    cluster.held.add("a>b")
    cluster.say("m1>a * SAVE alice INBOX " + save("G1"))
    a.checks.hurry()
    cluster.say("m1>a 5 PING")
    assert a.core.peers["b"].held["a"] == 1
    cluster.held.clear()
    cluster.settle()
    assert a.core.peers["b"].held["a"] == a.core.causal.held["a"] == 2
    assert [line for line in cluster.said("OK") if line.startswith("a>m")] == ["a>m1 5 OK"], "nobody asked"


def test_m5_of_a_user_who_is_about_to_log_in_the_members_clocks_are_heard() -> None:
    cluster = ready("abc")
    told: list[bool] = []
    checks = cluster.nodes["a"].checks
    cluster.nodes["b"].checks._clock.heard(5_000_000_000, cluster.now)
    for name, is_whole in (("", True), ("c", False)):
        if name:
            cluster.cut("a", name)
        checks.ask_then("alice", cluster.now + 5, lambda is_whole, now: told.append(is_whole))
        cluster.say("m1>a 5 PING")
        assert told.pop() is is_whole
    assert checks._clock.read(cluster.now) >= 5_000_000_000


def test_a_member_that_goes_meanwhile_was_missing() -> None:
    cluster = ready("abc")
    told: list[bool] = []
    cluster.held.add("c>a")
    cluster.nodes["a"].checks.ask_then("alice", cluster.now + 5, lambda is_whole, now: told.append(is_whole))
    cluster.say("m1>a 5 PING")
    assert told == []
    cluster.cut("a", "c")
    cluster.say("m1>a 5 PING")
    assert told == [False]


def test_what_clients_of_a_member_saw_of_ops_that_are_still_to_come_acknowledges_none() -> None:
    cluster = ready()
    a, b = cluster.nodes["a"], cluster.nodes["b"]
    b.core.journal.reaches([Dot("a", 40)])
    cluster.say("m1>a 9 CHECK alice")
    assert a.core.peers["b"].held["a"] < 40
    assert "a>m1 9 OK" not in cluster.said(), "but is waited for"
