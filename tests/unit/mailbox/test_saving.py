"""LOCK, SAVE, UNLOCK. Requirements V1, V6, V9, R4, T2."""

from __future__ import annotations

from pyrepl.mailbox.bounds import MOST_DOTS
from pyrepl.mailbox.uids import SHORT_UID
from pyrepl.mailbox.words import LAST_UID, Token
from tests.scenario.mailbox.cluster import ready, save


def test_v9_who_gives_out_no_uids_saves_without_a_lock() -> None:
    cluster = ready()
    cluster.say("m2>b 1 SAVE alice INBOX " + save("G1"))
    assert [line.split(" ")[0] + " " + line.split(" ")[2] for line in cluster.said("TAKE", "GIVE", "SAVE")] == [
        "m2>b SAVE",
        "b>a TAKE",
        "a>b GIVE",
        "b>a SAVE",
    ]


def test_v6_who_has_a_save_that_waits_is_not_read_on() -> None:
    cluster = ready()
    node = cluster.nodes["a"]
    for client in ("m1", "m2"):
        cluster.say(f"{client}>a 1 LOCK alice INBOX ascending=1")
    assert node.may_read("m1") and node.may_read("m2") and node.may_read("nobody")
    cluster.say("m1>a * SAVE alice INBOX " + save("G5", "5"))
    assert (node.may_read("m1"), node.may_read("m2")) == (False, True)
    cluster.say("m2>a * SAVE alice INBOX " + save("G3", "3"))
    assert (node.may_read("m1"), node.may_read("m2")) == (False, True), "its next one may be the 4"
    cluster.say("m2>a * SAVE alice INBOX " + save("G7", "7"))
    assert (node.may_read("m1"), node.may_read("m2")) == (True, False)
    cluster.say("m1>a * UNLOCK alice INBOX")
    assert node.may_read("m1") and node.may_read("m2")
    cluster.say("m2>a * UNLOCK alice INBOX")
    assert cluster.views()[1] == {"INBOX/G3": (3, ()), "INBOX/G5": (5, ()), "INBOX/G7": (7, ())}


def test_v6_who_has_locks_of_two_mailboxes_is_read_always() -> None:
    cluster = ready()
    cluster.say("m1>a 1 CREATE alice Work")
    for client, boxes in (("m1", ("INBOX", "Work")), ("m2", ("Work", "INBOX"))):
        for tag, box in enumerate(boxes):
            cluster.say(f"{client}>a {tag} LOCK alice {box} ascending=1")
    cluster.say("m1>a * SAVE alice INBOX " + save("G5", "5"))
    cluster.say("m2>a * SAVE alice Work " + save("G6", "5"))
    assert cluster.nodes["a"].may_read("m1") and cluster.nodes["a"].may_read("m2")


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


def test_a_lock_is_of_the_same_mailbox_until_unlock_whatever_becomes_of_its_name() -> None:
    cluster = ready()
    cluster.say("m1>a 1 LOCK alice INBOX")
    cluster.say("m2>b 1 DELETE alice INBOX")
    cluster.say("m1>a 2 SAVE alice INBOX " + save("G1", "1"))
    cluster.say("m1>a * UNLOCK alice INBOX")
    assert "a>m1 2 OK uid=1 at=a:2 acks=1" in cluster.said()
    assert cluster.views() == [{"INBOX/G1": (1, ())}] * 2, "its deleter had not seen the message"
    cluster.say("m3>a 1 LOCK alice INBOX")
    assert "a>m3 1 OK uid=2" in cluster.said(), "no LOCK is left open"


def test_t2_a_lock_that_waits_behind_a_task_has_its_deadline_too() -> None:
    cluster = ready()
    cluster.say("m1>a 1 LOCK alice INBOX")
    cluster.say("m2>a 1 SAVE alice INBOX " + save("G2"))
    cluster.say("m3>a 1 LOCK alice INBOX wait=500")
    cluster.run(0.6)
    assert "a>m3 1 NO TIMEOUT" in cluster.said()
    cluster.say("m1>a * UNLOCK alice INBOX")
    assert "a>m2 1 OK uid=1 at=a:2 acks=1" in cluster.said()


def test_a_save_without_a_tag_is_not_lost_when_its_time_is_over() -> None:
    cluster = ready()
    cluster.say("m1>a 1 LOCK alice INBOX")
    cluster.say("m2>a * SAVE alice INBOX " + save("G2"))
    cluster.run(30.0)
    assert cluster.views() == [{}, {}]
    cluster.say("m1>a * UNLOCK alice INBOX")
    cluster.run(1.1)
    assert cluster.views() == [{"INBOX/G2": (1, ())}] * 2


def test_v1_uids_are_given_out_under_a_lock_that_others_wait_for() -> None:
    cluster = ready()
    cluster.say("m1>a 1 LOCK alice INBOX")
    cluster.say("m2>b 1 LOCK alice INBOX")
    for uid in (1, 2):
        cluster.say("m1>a * SAVE alice INBOX " + save(f"G{uid}", str(uid)))
    assert not [line for line in cluster.said("OK") if line.startswith("b>m2")]
    cluster.say("m1>a * UNLOCK alice INBOX")
    assert "b>m2 1 OK uid=3" in cluster.said()
    assert cluster.views() == [{"INBOX/G1": (1, ()), "INBOX/G2": (2, ())}] * 2


def test_a_mailbox_without_a_uid_left_takes_no_more() -> None:
    cluster = ready("ab")
    [guid] = cluster.names
    box = cluster.rows["a"].box(guid)
    assert box is not None
    cluster.rows["a"].put_box(box._replace(uidnext=LAST_UID + 1))
    cluster.said()
    cluster.say("m1>a 1 SAVE alice INBOX " + save("G1"))
    cluster.say("m1>a 2 LOCK alice INBOX")
    why = "NO FAILED why=no%20UID%20is%20left%20in%20the%20mailbox"
    assert cluster.said("NO") == [f"a>m1 1 {why}", f"a>m1 2 {why}"]
    cluster.say("m1>a 3 STORE alice INBOX uids=1 add=x")
    assert "a>m1 3 OK" in cluster.said("OK"), "and goes on otherwise"


def test_r4_a_change_that_fails_is_answered_as_failed_to_who_asked_for_it() -> None:
    """On the node that was asked, be another one the master; and nothing of it is anywhere."""
    cluster = ready()
    [guid] = cluster.names
    for rows in cluster.rows.values():
        box = rows.box(guid)
        assert box is not None
        rows.put_box(box._replace(uidnext=LAST_UID + 1))
    cluster.said()
    cluster.say("m2>b 7 SAVE alice INBOX " + save("G1"))
    assert [line.split(" why=")[0] for line in cluster.said("NO", "OK") if ">m" in line] == ["b>m2 7 NO FAILED"]
    assert cluster.views() == [{}, {}] and cluster.rows["a"].held() == cluster.rows["b"].held()


def test_few_uids_and_none_are_told_once() -> None:
    cluster = ready("ab")
    [guid] = cluster.names
    node = cluster.nodes["a"]
    node.core.notices()
    for uidnext in (SHORT_UID - 1, SHORT_UID, SHORT_UID + 7, LAST_UID + 1, LAST_UID + 1):
        box = cluster.rows["a"].box(guid)
        assert box is not None
        cluster.rows["a"].put_box(box._replace(uidnext=uidnext))
        node.mastering.first_uid(box._replace(uidnext=uidnext), Token(1, 1))
    told = [(note.name, note.about) for note in node.core.notices()]
    assert told == [("uids_run_short", "alice INBOX"), ("uids_run_out", "alice INBOX")]


def test_who_is_apart_does_not_go_on_where_its_store_was_as_a_master() -> None:
    cluster = ready()
    gap = cluster.nodes["a"].mastering.options.gap
    [box] = [each for each in cluster.rows["a"].boxes("alice") if each.name == "INBOX"]
    cluster.nodes["a"].core.pass_uids(box, gap + 5)
    cluster.run(0.1)
    cluster.say("m2>b 1 LOCK alice INBOX")
    assert f"b>m2 1 OK uid={3 * gap + 6}" in cluster.said(), "the next block of masters"
    cluster.crash("b")
    cluster.start("b")
    cluster.cut("a", "b")
    cluster.run(8.0)
    cluster.say("m2>b 2 LOCK alice INBOX")
    [answer] = [line for line in cluster.said("OK") if line.startswith("b>m2 2 ")]
    assert answer == f"b>m2 2 OK uid={5 * gap + 6}", "behind what the store may have given out as the master's"


def test_a_message_is_saved_only_so_often_in_one_mailbox() -> None:
    cluster = ready()
    for tag in range(MOST_DOTS + 2):
        cluster.say(f"m1>a {tag} SAVE alice INBOX " + save("G1"))
    said = cluster.said("OK", "NO")
    assert [line.split(" why=")[0] for line in said if " NO " in line] == [
        f"a>m1 {tag} NO FAILED" for tag in (MOST_DOTS, MOST_DOTS + 1)
    ]
    [row] = cluster.rows["b"].messages(next(iter(cluster.names)))
    assert len(row.dots) == MOST_DOTS
    cluster.say(f"m1>a 1 EXPUNGE alice INBOX uids={row.uid}")
    cluster.say("m1>a 2 SAVE alice INBOX " + save("G1"))
    assert set(cluster.views()[1]) == {"INBOX/G1"}


def test_a_save_that_cannot_be_an_op_is_told_where_it_has_no_tag() -> None:
    cluster = ready()
    flags = ",".join(f"keyword{number:03d}{'y' * 200}" for number in range(30))
    for _ in range(2):
        cluster.say("m1>a * SAVE alice INBOX " + save("G1", flags=flags))
    assert cluster.views()[0] == {}
    notices = [notice for notice in cluster.nodes["a"].core.notices() if notice.name == "change_unsayable"]
    assert len(notices) == 1 and notices[0].about.startswith("alice INBOX: a message would have had too many keywords")


def test_s5_a_lock_that_is_given_up_before_it_is_granted_is_answered() -> None:
    cluster = ready()
    cluster.say("m1>b 1 LOCK alice INBOX")
    cluster.said()
    cluster.say("m2>a 2 LOCK alice INBOX")
    cluster.say("m2>a 3 UNLOCK alice INBOX")
    cluster.say("m2>a 4 LOCK alice INBOX")
    cluster.say("m2>a 5 SAVE alice INBOX " + save("G1", "7"))
    said = [line.split(" why=")[0] for line in cluster.said("OK", "NO", "BAD") if line.startswith("a>m2")]
    assert said == ["a>m2 2 NO FAILED", "a>m2 3 OK", "a>m2 5 BAD", "a>m2 4 NO FAILED"]
    cluster.say("m1>b 6 UNLOCK alice INBOX")
    assert "b>m1 6 OK" in cluster.said("OK")
    cluster.run(20.0)
    assert not [line for line in cluster.said("OK", "NO") if line.startswith("a>m2")], "each is answered once"
