"""LOCK, SAVE, UNLOCK. Requirements V1, V8, V9, T2."""

from __future__ import annotations

from tests.scenario.mailbox.cluster import ready, save


def test_v8_a_tagged_save_is_answered_when_another_node_has_it() -> None:
    cluster = ready()
    cluster.held.add("b>a")
    cluster.say("m1>a 1 SAVE alice INBOX " + save("G1"))
    assert not [line for line in cluster.said("OK") if line.startswith("a>m1")]
    cluster.held.clear()
    cluster.settle()
    assert cluster.said("OK") == ["a>m1 1 OK uid=1 at=a:2 acks=1"]


def test_v8_without_another_node_it_is_told_that_there_is_one_copy() -> None:
    cluster = ready()
    cluster.cut("a", "b")
    cluster.say("m1>a 1 SAVE alice INBOX " + save("G1"))
    assert cluster.said("OK") == ["a>m1 1 OK uid=1 at=a:2 acks=0"]
    assert [notice.name for notice in cluster.nodes["a"].core.notices()][-1] == "single_copy"


def test_v8_who_does_not_answer_in_time_is_not_waited_for() -> None:
    cluster = ready()
    cluster.held.add("b>a")
    cluster.say("m1>a 1 SAVE alice INBOX " + save("G1"))
    cluster.run(4.9)
    assert "a>m1 1 OK uid=1 at=a:2 acks=0" not in cluster.said()
    cluster.run(0.2)
    assert "a>m1 1 OK uid=1 at=a:2 acks=0" in cluster.said()


def test_v9_who_gives_out_no_uids_saves_without_a_lock() -> None:
    cluster = ready()
    cluster.say("m2>b 1 SAVE alice INBOX " + save("G1"))
    assert [line.split(" ")[0] + " " + line.split(" ")[2] for line in cluster.said("TAKE", "GIVE", "SAVE")] == [
        "m2>b SAVE",
        "b>a TAKE",
        "a>b GIVE",
        "b>a SAVE",
    ]


def test_t2_a_mail_process_that_vanishes_is_unlocked_and_its_whole_saves_stand() -> None:
    cluster = ready()
    cluster.say("m1>a 1 LOCK alice INBOX")
    cluster.say("m1>a * SAVE alice INBOX " + save("G1", "1"))
    cluster.say("m2>b 1 LOCK alice INBOX")
    cluster.said()
    cluster.nodes["a"].client_gone("m1", cluster.now)
    cluster._after("a")
    cluster.settle()
    assert "b>m2 1 OK uid=2" in cluster.said() and cluster.views()[1] == {"INBOX/G1": (1, ())}


def test_a_faulty_mail_process_loses_its_lock_and_not_its_message() -> None:
    cluster = ready()
    cluster.say("m1>a 1 SAVE alice INBOX " + save("G1", "7"))
    assert cluster.said("BAD", "OK")[0].startswith("a>m1 1 BAD why=")
    assert cluster.views() == [{"INBOX/G1": (1, ())}] * 2


def test_a_second_lock_of_one_connection_is_refused() -> None:
    cluster = ready()
    cluster.say("m1>a 1 LOCK alice INBOX")
    cluster.say("m1>a 2 LOCK alice INBOX")
    assert [line.split(" ")[:3] for line in cluster.said("OK", "BAD")] == [["a>m1", "1", "OK"], ["a>m1", "2", "BAD"]]
