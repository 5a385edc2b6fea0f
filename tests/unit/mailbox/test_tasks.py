"""Tasks: masterships one after the other, and never beside a mail process's LOCK."""

from __future__ import annotations

from pyrepl.mailbox.tasks import MOST_OF_CLIENT
from pyrepl.mailbox.words import Token
from tests.scenario.mailbox.cluster import ready, save


def test_a_task_waits_for_open_locks_and_later_locks_wait_for_it() -> None:
    cluster = ready()
    cluster.say("m1>a 1 LOCK alice INBOX")
    cluster.say("m2>a 1 SAVE alice INBOX " + save("G2"))
    cluster.say("m3>a 1 LOCK alice INBOX")
    assert "a>m1 1 OK uid=1" in cluster.said()
    cluster.say("m1>a * SAVE alice INBOX " + save("G1", "1"))
    cluster.say("m1>a * UNLOCK alice INBOX")
    said = cluster.said("OK")
    assert "a>m2 1 OK uid=2 at=a:3 acks=1" in said and "a>m3 1 OK uid=3" in said


def test_of_a_mail_process_so_many_wait_and_no_more() -> None:
    cluster = ready()
    cluster.say("m1>a 1 LOCK alice INBOX")
    for number in range(MOST_OF_CLIENT + 1):
        cluster.say(f"m2>a {number} SAVE alice INBOX " + save(f"G{number}"))
    assert cluster.said("NO") == [f"a>m2 {MOST_OF_CLIENT} NO BUSY"]
    cluster.say("m3>a 1 SAVE alice INBOX " + save("other"))
    cluster.say("m1>a * UNLOCK alice INBOX")
    assert len(cluster.said("OK")) >= MOST_OF_CLIENT + 1 and "INBOX/other" in cluster.views()[1]
    cluster.say("m2>a last SAVE alice INBOX " + save("last"))
    assert "a>m2 last OK" in cluster.said("OK")[-1]


def test_a_task_that_cannot_have_the_mastership_fails() -> None:
    cluster = ready(accept=False)
    cluster.cut("a", "b")
    cluster.run(6.0)
    cluster.say("m2>b 1 SAVE alice INBOX " + save("G1"))
    cluster.run(10.1)
    assert "b>m2 1 NO APART" in cluster.said()


def test_a_task_behind_a_lock_that_does_not_end_fails_in_time() -> None:
    cluster = ready()
    cluster.say("m1>a 1 LOCK alice INBOX")
    cluster.say("m2>a 1 SAVE alice INBOX " + save("G2"))
    cluster.run(9.9)
    assert not cluster.said("NO")
    cluster.run(0.2)
    assert cluster.said("NO") == ["a>m2 1 NO TIMEOUT"]
    cluster.say("m3>a 1 LOCK alice INBOX")
    assert "a>m3 1 OK uid=1" in cluster.said(), "nothing waits behind it any more"


def test_a_lock_does_not_wait_for_tasks_that_came_after_it() -> None:
    cluster = ready()
    tasks, [box] = cluster.nodes["a"].saving.tasks, cluster.names
    cluster.say("m1>a 1 LOCK alice INBOX")
    before = tasks.newest
    cluster.say("m2>a 1 SAVE alice INBOX " + save("G2"))
    assert tasks.wants(box, tasks.newest) and not tasks.wants(box, before)


def test_two_transactions_in_the_same_mailboxes_do_not_wait_for_each_other() -> None:
    cluster = ready()
    cluster.say("m1>a 1 CREATE alice Work")
    for box, guid in (("INBOX", "G1"), ("Work", "G2")):
        cluster.say(f"m1>a 2 SAVE alice {box} " + save(guid))
    for way, one, other in (("m1>a", "INBOX", "Work"), ("m2>b", "Work", "INBOX")):
        cluster.say(f"{way} * TX-BEGIN alice tx=1")
        cluster.say(f"{way} 3 COPY alice {one} to={other} uids=1 tx=1")
        cluster.say(f"{way} 4 COPY alice {other} to={one} uids=1 tx=1")
    cluster.held |= {"a>b", "b>a"}
    cluster.say("m1>a 5 TX-END alice tx=1")
    cluster.say("m2>b 5 TX-END alice tx=1")
    cluster.held.clear()
    cluster.settle()
    assert len([line for line in cluster.said("OK") if line.startswith(("a>m1 5", "b>m2 5"))]) == 2


def test_a_mastership_that_ended_while_its_task_waited_is_asked_for_again() -> None:
    cluster = ready()
    node, [box] = cluster.nodes["a"], cluster.names
    ran: list[Token] = []
    cluster.say("m1>a 1 LOCK alice INBOX")
    node.saving.tasks.add({box}, lambda tokens, now: ran.append(tokens[box]), lambda reason, now: None, cluster.now)
    before = node.mastering.root.epoch
    node.mastering.root.renew(cluster.now)
    node.mastering.follow_up(cluster.now)
    cluster.run(3.0)
    assert node.mastering.root.epoch > before and not ran, "a LOCK is open"
    cluster.say("m1>a * UNLOCK alice INBOX")
    cluster.run(5.0)
    assert [token.epoch for token in ran] == [node.mastering.root.epoch]


def test_a_task_gets_two_mailboxes_of_a_dead_master_with_room_in_both() -> None:
    cluster = ready("abc")
    cluster.say("m1>a 1 CREATE alice Work")
    node, rows, boxes = cluster.nodes["b"], cluster.rows["b"], set(cluster.names)
    nexts: list[int] = []

    def run(_tokens: dict[str, Token], _now: float) -> None:
        nexts.extend(row.uidnext for row in map(rows.box, sorted(boxes)) if row is not None)

    for client in ("m2>b", "m1>a"):
        for guid in sorted(boxes):
            cluster.say(f"{client} 2 LOCK alice {cluster.names[guid]}")
            cluster.say(f"{client} * UNLOCK alice {cluster.names[guid]}")
        cluster.run(1.0)
    cluster.crash("a")
    node.saving.tasks.add(boxes, run, lambda reason, now: None, cluster.now)
    cluster.run(9.0)
    assert nexts == [4000, 4000]
