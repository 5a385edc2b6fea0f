"""Resync by state: what a member was away from for longer than any journal reaches. Requirements L1, L3."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pyrepl.mailbox.answers import No, Ok, Reason
from pyrepl.mailbox.entries import Pages, digest, entries
from pyrepl.mailbox.pulling import PAUSE_S, SILENT_S, SILENT_TEXT_S
from pyrepl.mailbox.pulling_only import Resynced
from pyrepl.mailbox.sending import Notice
from pyrepl.mailbox.store import Ended, Work
from pyrepl.mailbox.verbs import Command, Entry, Expunge, Fetch, Message, State
from pyrepl.mailbox.words import Box, Dot, Stamp
from tests.scenario.mailbox.cluster import Cluster, ready, save
from tests.simulation.mailbox.memory_rows import MemoryRows
from tests.simulation.mailbox.model_store import ModelStore

PAGES = Pages(boxes=10, entries=50, compared=25, messages=10)


def apart(names: str = "ab", pages: Pages = PAGES) -> Cluster:
    """b hears nothing, and a's journal keeps one op of each node."""
    cluster = ready(names, pages=pages)
    cluster.say("m1>a 1 SAVE alice INBOX " + save("G1"))
    for rows in cluster.rows.values():
        rows.most_ops = 1
    for other in names.replace("b", ""):
        cluster.cut(other, "b")
    return cluster


def add(cluster: Cluster, guids: list[str]) -> None:
    for place, guid in enumerate(guids):
        cluster.say(f"m1>a s{place} SAVE alice INBOX " + save(guid))
    cluster.said()


def box_of(cluster: Cluster) -> str:
    return next(guid for guid, name in cluster.names.items() if name == "INBOX")


def known(cluster: Cluster) -> list[str]:
    """The digest of each node's INBOX."""
    return [digest(entries(rows, box_of(cluster), "", "", 10**6)[0]) for rows in cluster.rows.values()]


def count(lines: list[str], verb: str) -> int:
    return sum(line.split(" ")[2] == verb for line in lines)


def test_what_differs_comes_in_the_order_of_uids_and_each_new_text_once() -> None:
    cluster = apart()
    guids = [f"{number * 7919 % 1000:04}" for number in range(2 * PAGES.compared + 30)]
    add(cluster, guids)
    cluster.link("a", "b")
    cluster.run(2.0)
    said = cluster.said()
    assert count(said, "RENUMBER") == 0 and count(said, "FETCH") == len(guids)
    assert count(said, "MESSAGES") == -(-len(guids) // PAGES.messages)
    one, other = cluster.views()
    assert one == other and len(one) == len(guids) + 1
    first, second = known(cluster)
    assert first == second and cluster.rows["a"].held() == cluster.rows["b"].held()


def test_equal_mailboxes_end_with_one_question_each() -> None:
    cluster = ready("ab")
    cluster.say("m1>a 1 SAVE alice INBOX " + save("G1"))
    cluster.say("m1>a 2 CREATE alice Archive")
    cluster.rows["a"].most_ops = 1
    cluster.cut("a", "b")
    for number in range(3):
        cluster.say(f"m1>a {number} RENAME alice #Archive to=A{number}")
    cluster.said()
    cluster.link("a", "b")
    said = cluster.said()
    assert (count(said, "ENTRIES"), count(said, "MESSAGES"), count(said, "FETCH")) == (2, 0, 0)
    assert sorted(cluster.stores["b"].names.values()) == ["A2", "INBOX"]


def test_where_more_differs_than_is_remembered_the_lowest_uids_come_first() -> None:
    cluster = apart(pages=PAGES._replace(wanted=7))
    add(cluster, [f"{number * 7919 % 1000:04}" for number in range(60)])
    cluster.link("a", "b")
    cluster.run(2.0)
    said = cluster.said()
    assert count(said, "RENUMBER") == 0 and count(said, "FETCH") == 60
    one, other = cluster.views()
    assert one == other and len(one) == 61


def test_a_link_that_breaks_loses_nothing_and_what_came_is_not_asked_for_again() -> None:
    cluster = apart()
    add(cluster, [f"{number:04}" for number in range(2 * PAGES.messages)])
    messages = 0
    hear = cluster.nodes["b"].hear

    def breaking(peer: str, tag: str, command: Command, text: str, now: float) -> None:
        nonlocal messages
        messages += isinstance(command, Message)
        if messages == PAGES.messages + 1 and cluster.up:
            cluster.cut("a", "b")
        else:
            hear(peer, tag, command, text, now)

    cluster.hears["b"] = breaking
    cluster.link("a", "b")
    assert not cluster.up and len(cluster.views()[1]) == 1 + PAGES.messages
    del cluster.hears["b"]
    cluster.said()
    cluster.link("a", "b")
    cluster.run(2.0)
    assert count(cluster.said(), "FETCH") == PAGES.messages
    assert len(cluster.views()[1]) == 1 + 2 * PAGES.messages and len(set(known(cluster))) == 1


def test_an_op_about_what_came_by_state_waits_elsewhere_for_what_brought_it() -> None:
    cluster = apart("abc")
    cluster.cut("a", "c")
    add(cluster, ["G2", "G3"])
    cluster.nodes["b"].link_up("c", cluster.now)
    # b gets as far as the messages, then a is gone for a while.
    cluster.held.add("b>a")
    cluster.link("a", "b")
    cluster.held.discard("b>a")
    node = cluster.nodes["b"]
    node.core.journal.reaches([Dot("a", 4)])
    cluster.rows["b"].commit()
    cluster.crash("b")
    cluster.start("b")
    cluster.say("m2>b 1 STORE alice INBOX uids=1 add=work")
    [told] = [line for line in cluster.said("STORE") if line.startswith("b>a")]
    assert "after=a:" in told and int(told.split("after=a:")[1].split(",")[0].split(" ")[0]) >= 4


def test_a_lost_database_is_filled_again_and_its_ops_have_another_name() -> None:
    cluster = apart()
    cluster.say("m2>b 1 STORE alice INBOX uids=1 add=work")
    cluster.link("a", "b")
    cluster.run(1.5)
    before = cluster.rows["a"].held()["b"]
    cluster.crash("b")
    cluster.lose_disk("b")
    cluster.nodes["b"] = type(cluster.nodes["a"])("b", cluster.members, cluster.rows["b"], cluster.now, cluster.options)
    # What is done there before it sees the others is lost neither.
    cluster.say("m2>b 1 CREATE alice New")
    for other in cluster.members.others("b"):
        cluster.link("b", other)
    cluster.run(2.0)
    assert cluster.views()[0] == cluster.views()[1] == {"INBOX/G1": (1, ("work",))}
    assert all("New" in store.names.values() for store in cluster.stores.values())
    cluster.say("m2>b 2 STORE alice INBOX uids=1 add=more")
    cluster.run(1.0)
    held = cluster.rows["a"].held()
    assert held == cluster.rows["b"].held() and held["b"] == before and held["b~5"] >= 2
    assert cluster.views()[0] == {"INBOX/G1": (1, ("more", "work"))}


def test_nothing_is_taken_from_one_who_knows_ops_of_ours_that_we_do_not() -> None:
    cluster = apart()
    for number in range(3):
        cluster.say(f"m2>b {number} STORE alice INBOX uids=1 add=work{number}")
    cluster.link("a", "b")
    cluster.run(1.5)
    cluster.crash("b")
    cluster.rows["b"], cluster.stores["b"] = MemoryRows(), ModelStore(cluster.uids)
    for place, name in enumerate("ab"):
        cluster.rows[name].most_ops = 10**9 if place else 1
    cluster.nodes["b"] = type(cluster.nodes["a"])("b", cluster.members, cluster.rows["b"], cluster.now, cluster.options)
    cluster.say("m2>b 1 CREATE alice New")
    cluster.cut("a", "b")
    cluster.nodes["b"].core.notices()
    cluster.link("a", "b")
    cluster.run(3.0)
    notices = [notice.name for notice in cluster.nodes["b"].core.notices()]
    assert notices.count("database_is_old") == 1 and "resync_by_state_done" not in notices
    assert "New" in cluster.stores["b"].names.values(), "what was done there is not lost"


def test_who_lives_and_answers_nothing_is_left_for_another_one() -> None:
    cluster = apart("abc")
    add(cluster, ["G2", "G3"])
    cluster.held.add("a>b")
    cluster.link("a", "b")
    node = cluster.nodes["b"]
    node.resync.pulling.want(node.core.peers["a"])
    assert node.resync.pulling.peer == "a"
    cluster.link("b", "c")
    assert node.resync.pulling.peer == "a" and len(cluster.views()[1]) == 1
    cluster.run(SILENT_S + 4)
    assert len(cluster.views()[1]) == 3, "c was asked"
    silent = [notice for notice in node.core.notices() if "silent" in notice.name]
    assert silent == [Notice("resync_by_state_silent", "a")]


def test_a_silent_one_is_asked_again_after_a_while() -> None:
    cluster = apart()
    add(cluster, ["G2", "G3"])
    cluster.held.add("a>b")
    cluster.link("a", "b")
    pulling, peer = cluster.nodes["b"].resync.pulling, cluster.nodes["b"].core.peers["a"]
    pulling.want(peer)
    cluster.run(SILENT_S + 2)
    pulling.want(peer)
    assert pulling.peer == ""
    cluster.run(PAUSE_S)
    pulling.want(peer)
    assert pulling.peer == "a"


def test_a_text_may_take_its_time() -> None:
    cluster = apart()
    add(cluster, ["G2", "G3"])
    hear = cluster.nodes["a"].hear
    cluster.hears["a"] = lambda peer, tag, command, text, now: (
        None if isinstance(command, Fetch) else hear(peer, tag, command, text, now)
    )
    cluster.link("a", "b")
    cluster.run(SILENT_TEXT_S - 2)
    assert cluster.nodes["b"].resync.pulling.peer == "a"
    cluster.run(4)
    assert cluster.nodes["b"].resync.pulling.peer == ""


def _state(guid: str, user: str = "alice") -> State:
    stamp = Stamp(1, "a")
    return State(user=user, box=Box("X"), id=guid, uidvalidity=1, uidnext=1, modseq=1, stamp=stamp, created=stamp)


def _entry(cluster: Cluster, guid: str) -> Entry:
    return Entry(user="alice", box=Box(box_of(cluster), True), guid=guid, digest="0", uid=7)


def _message(cluster: Cluster, guid: str) -> Message:
    return Message(user="alice", box=Box(box_of(cluster), True), guid=guid, dots=(Dot("a", 9),), modseq=9)


ODD: dict[str, Callable[[Cluster], list[Command]]] = {
    "mailboxes that do not ascend": lambda c: [_state("2" * 32), _state("1" * 32), Ok()],
    "more mailboxes, and none": lambda c: [Ok(left=1)],
    "an entry where mailboxes were asked for": lambda c: [_entry(c, "G7"), Ok()],
    "too many lines": lambda c: [*(_entry(c, f"G{number}") for number in range(PAGES.lines + 1)), Ok()],
    "no": lambda c: [No(reason=Reason.FAILED)],
}
ODD_OF_BOX: dict[str, Callable[[Cluster], list[Command]]] = {
    "an entry of another user": lambda c: [_entry(c, "G7").replaced(user="bob"), Ok()],
    "an entry twice behind the end": lambda c: [_entry(c, "G7"), Ok(upto="G1")],
    "a message where entries were asked for": lambda c: [_message(c, "G7"), Ok()],
    "no time": lambda c: [No(reason=Reason.BUSY)],
    "an end before the beginning": lambda c: [_entry(c, "G7"), Ok(upto="G7"), Ok(upto="G7")],
}


@pytest.mark.parametrize("what", [*ODD, *ODD_OF_BOX])
def test_who_answers_something_else_is_not_asked_further(what: str) -> None:
    cluster = apart()
    add(cluster, ["G2", "G3"])
    cluster.held.add("b>a")
    cluster.link("a", "b")
    node, box = cluster.nodes["b"], box_of(cluster)
    peer = node.core.peers["a"]
    node.resync.pulling.want(peer)
    held = cluster.rows["b"].held()

    def tag() -> str:
        asked = [send.tag for send in node.core.sends() if send.tag[0] == "p"]
        return asked[-1] if asked else ""

    now = tag()
    if what in ODD_OF_BOX:
        [mine] = cluster.rows["b"].boxes("alice")
        state = _state(box).replaced(box=Box("INBOX"), uidvalidity=mine.uidvalidity)
        for told in (state, Ok()):
            node.hear("a", now, told, "", cluster.now)
        now = tag()
    for command in (ODD | ODD_OF_BOX)[what](cluster):
        node.hear("a", now, command, "", cluster.now)
        now = tag() or now
    assert node.resync.pulling.peer == ""
    assert "resync_by_state_done" not in [notice.name for notice in node.core.notices()]
    assert cluster.rows["b"].held() == held and cluster.rows["b"].message(box, "G7") is None


def test_answers_that_nobody_waits_for_do_nothing() -> None:
    cluster = ready()
    node = cluster.nodes["b"]
    for command in (_state("1" * 32), Ok(), No(reason=Reason.FAILED)):
        node.hear("a", "p1", command, "", cluster.now)
    node.hear("a", "t1", Ok(size=4), "late", cluster.now)
    assert node.core.unneeded() == ["late"] and cluster.rows["b"].box("1" * 32) is None


def resynced(cluster: Cluster, user: str = "alice", box: str = "", on: str = "b") -> str:
    """What an operator's RESYNC on a node is answered, once everything that follows from it has arrived."""
    cluster.nodes[on].resync_by_state("op", "1", user, box, cluster.now)
    cluster._after(on)
    cluster.settle()
    [line] = [line for line in cluster.said() if line.startswith(f"{on}>op 1 ")] or [""]
    return line.removeprefix(f"{on}>op 1 ")


def test_l1_an_operator_has_a_user_compared_at_once_and_hears_what_differed() -> None:
    cluster = ready("ab")
    for number in range(3):
        cluster.say(f"m1>a {number} SAVE alice INBOX " + save(f"G{number}"))
    cluster.say("m1>a 7 CREATE bob INBOX")
    held, node = cluster.rows["b"].held(), cluster.nodes["b"]
    assert resynced(cluster) == "OK" and node.resync.pulling.last == Resynced("a", 1, 0, 0)
    row = cluster.rows["a"].message(box_of(cluster), "G2")
    assert row is not None
    cluster.rows["a"].put_message(row._replace(modseq=99))
    assert len(set(known(cluster))) == 2
    assert resynced(cluster) == "OK" and node.resync.pulling.last == Resynced("a", 1, 1, 0)
    assert len(set(known(cluster))) == 1 and cluster.rows["b"].held() == held
    assert resynced(cluster, box="INBOX") == "OK" and node.resync.pulling.last == Resynced("a", 1, 0, 0)
    assert resynced(cluster, box="Work") == "OK" and node.resync.pulling.last == Resynced("a", 0, 0, 0)
    assert resynced(cluster, "nobody") == "OK" and node.resync.pulling.last == Resynced("a", 0, 0, 0)


def test_who_cannot_be_resynced_is_told_why() -> None:
    cluster = ready("ab")
    cluster.held.add("a>b")
    assert resynced(cluster) == ""
    assert resynced(cluster) == "NO BUSY"
    cluster.cut("a", "b")
    assert cluster.said() == ["b>op 1 NO FAILED"]
    assert resynced(cluster) == "NO APART"
    cluster.held.clear()
    cluster.link("a", "b")
    cluster.said()
    assert resynced(cluster) == "OK"


@pytest.mark.parametrize("is_anywhere", [True, False])
def test_l8_a_text_that_the_member_has_damaged_is_asked_of_another(is_anywhere: bool) -> None:
    cluster = apart("abc")
    cluster.say("m1>a 9 SAVE alice INBOX uid=* guid=G9 size=4 received=1 sum=00000007 {text}")
    cluster.say("m1>a 8 SAVE alice INBOX " + save("G10"))
    cluster.said()
    cluster.held |= {"a>b", "c>b"}
    cluster.link("a", "b")
    cluster.link("c", "b")
    cluster.held.clear()
    wrong, other = No(reason=Reason.FAILED, why="another text"), Ok(size=4, received=1, sum=(8,))
    good = Ok(size=4, received=1, sum=(7,))
    asked: list[str] = []
    hear = cluster.nodes["b"].hear

    def hears(peer: str, tag: str, command: Command, text: str, now: float) -> None:
        if tag[:1] == "t" and isinstance(command, Ok) and command.sum == (7,):
            asked.append(peer)
            command = wrong if peer == "a" else good if is_anywhere else other
            text = "" if peer == "a" else text
        hear(peer, tag, command, text, now)

    cluster.hears["b"] = hears
    cluster.settle()
    cluster.run(3.0)
    assert asked[:2] == ["a", "c"]
    has_it = "G9" in cluster.stores["b"].boxes.get(box_of(cluster), {})
    assert has_it == is_anywhere and (cluster.rows["b"].held() == cluster.rows["a"].held()) == is_anywhere
    if not is_anywhere:
        del cluster.hears["b"]
        cluster.run(61.0)
        assert cluster.rows["b"].held() == cluster.rows["a"].held(), "it is asked again"


@pytest.mark.parametrize("reason", [Reason.NOUID, Reason.NOTEXT, Reason.FAILED])
def test_a_message_whose_text_is_not_there_is_not_taken_for_one_that_is_gone(reason: Reason) -> None:
    cluster = apart("abc")
    add(cluster, ["G2", "G3"])
    cluster.held |= {"a>b", "c>b"}
    cluster.link("a", "b")
    cluster.link("c", "b")
    cluster.held.clear()
    node, box, asked = cluster.nodes["b"], box_of(cluster), list[str]()
    hear, store = node.hear, cluster.stores["b"]

    def hears(peer: str, tag: str, command: Command, text: str, now: float) -> None:
        is_it = tag[:1] in "tm" and bool(text) and len(asked) < 4
        if is_it:
            asked.append(peer)
        hear(peer, tag, No(reason=reason) if is_it else command, "" if is_it else text, now)

    def do(works: list[Work]) -> list[Ended]:
        ended = [Ended(work, result) for work, result in zip(works, store.perform(works), strict=True)]
        node.core.ended(ended)
        return ended

    cluster.hears["b"], store.do = hears, do  # type: ignore[method-assign,assignment]
    cluster.settle()
    cluster.run(1.0)
    rows = cluster.rows["b"]
    assert not any(rows.gone(box, guid) for guid in ("G2", "G3")), "they live on the others"
    assert (rows.held() == cluster.rows["a"].held()) == (reason is not Reason.FAILED)
    cluster.run(130.0)
    assert set(store.boxes[box]) == {"G1", "G2", "G3"} and rows.held() == cluster.rows["a"].held()


def test_a_text_that_was_expunged_as_it_was_asked_for_is_asked_for_once_more() -> None:
    cluster = apart()
    add(cluster, ["G2", "G3"])
    cluster.held.add("a>b")
    cluster.link("a", "b")
    cluster.held.clear()
    hear, told = cluster.nodes["b"].hear, list[Command]()

    def hears(peer: str, tag: str, command: Command, text: str, now: float) -> None:
        if tag[:1] == "t" and not told:
            cluster.say("m1>a 5 EXPUNGE alice INBOX uids=2")
            command = No(reason=Reason.NOUID)
        if tag[:1] == "t":
            told.append(command)
        hear(peer, tag, command, text, now)

    cluster.hears["b"] = hears
    cluster.settle()
    cluster.run(1.0)
    first, *_, second = told
    assert isinstance(first, No) and not first.held and isinstance(second, No) and second.held
    assert cluster.nodes["b"].core.missing == {} and cluster.rows["b"].gone(box_of(cluster), "G2") is not None


def test_an_expunge_that_came_while_its_message_did_is_known_to_clients_of_other_nodes() -> None:
    cluster = apart()
    add(cluster, ["G2", "G3", "G4"])
    box = Box(box_of(cluster), True)
    before = cluster.rows["a"].box(box_of(cluster))
    assert before is not None

    def expunged(peer: str, tag: str, command: Command, text: str, now: float) -> None:
        if isinstance(command, Fetch) and command.guid == "G3":
            expunge = Expunge(user="alice", box=box, uids=((3, 3),), guids=("G3",))
            cluster.nodes["a"].hear_mail("m1", "x", expunge, "", now)
        cluster.nodes["a"].hear(peer, tag, command, text, now)

    cluster.hears["a"] = expunged
    cluster.link("a", "b")
    cluster.run(5.0)
    assert known(cluster)[0] == known(cluster)[1]
    gone = cluster.rows["b"].gone_since(box_of(cluster), before.highest)
    assert [(row.guid, row.uid) for row in gone] == [("G3", 3)]
